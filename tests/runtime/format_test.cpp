// Arrays as text. Goldens are NumPy's own output (make_format_goldens.py); bf16, which NumPy lacks, by hand.
#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/array/array_text.h"
#include "runtime/array/half.h"

using namespace shard::runtime;

TEST_CASE("arrays print as NumPy prints them", "[format]") {
  std::ifstream in("tests/runtime/format_goldens.txt");
  REQUIRE(in);
  std::string line;
  std::getline(in, line);
  int cases = 0, wrong = 0;
  while (in) {
    std::istringstream head(line);
    std::string word, type;
    head >> word >> type;
    REQUIRE(word == "case");
    Shape shape;
    for (std::int64_t d; head >> d;) shape.push_back(d);
    const DType t = *dtype_named(type);
    std::getline(in, line);
    std::istringstream body(line);
    std::vector<unsigned char> data(static_cast<std::size_t>(numel(shape)) * size_of(t) + 8);
    std::size_t at = 0;
    for (std::uint64_t bits; body >> std::hex >> bits; at += size_of(t))
      std::memcpy(data.data() + at, &bits, size_of(t));
    std::string expected;
    while (std::getline(in, line) && line[0] == '|') expected += (expected.empty() ? "" : "\n") + line.substr(1);
    ++cases;
    const std::string got = format_array(contiguous(t, shape, data.data()));
    if (got != expected && ++wrong <= 10) {
      INFO(type << " " << to_string(shape));
      CHECK(got == expected);
    }
  }
  CHECK(wrong == 0);
  CHECK(cases > 250);
}

TEST_CASE("strides and other types in text", "[format]") {
  std::vector<float> x{1, 2, 3, 4, 5, 6};
  View v = contiguous(DType::F32, {2, 3}, x.data());
  std::swap(v.shape[0], v.shape[1]);
  std::swap(v.strides[0], v.strides[1]);
  CHECK(format_array(v) == "[[1. 4.]\n [2. 5.]\n [3. 6.]]");
  CHECK(format_array(View{DType::F32, {3}, {-1}, x.data() + 2}) == "[3. 2. 1.]");
  CHECK(format_array(View{DType::F32, {3}, {0}, x.data() + 1}) == "[2. 2. 2.]");
  // 0.1 in bf16 is 0.10009765625; the fewest digits that name it are "0.1".
  std::vector<std::uint16_t> b{f32_to_bf16(0.1f), f32_to_bf16(1.5f), f32_to_bf16(3.14159f)};
  CHECK(format_array(contiguous(DType::BF16, {3}, b.data())) == "[0.1  1.5  3.14]");
  CHECK(format_element(View{DType::BF16, {}, {}, b.data()}) == "0.1");
  std::uint32_t key[4] = {0, 42, 1832780943, 270669613};
  CHECK(format_array(contiguous(DType::Key, {2}, key)) == "[[         0         42]\n [1832780943  270669613]]");
  CHECK(format_array(View{DType::Key, {}, {}, key}) == "[ 0 42]");
}

TEST_CASE("host floats print as Python's", "[format]") {  // str() of CPython 3.11
  CHECK(format_double(0.1) == "0.1");
  CHECK(format_double(1e16) == "1e+16");
  CHECK(format_double(123456789012345680.0) == "1.2345678901234568e+17");
  CHECK(format_double(1e15) == "1000000000000000.0");
  CHECK(format_double(-2.5e-7) == "-2.5e-07");
  CHECK(format_double(0.0001) == "0.0001");
  CHECK(format_double(-0.0) == "-0.0");
  CHECK(format_double(5e-324) == "5e-324");
  CHECK(format_double(1.7976931348623157e308) == "1.7976931348623157e+308");
  CHECK(format_double(__builtin_inf()) == "inf");
  CHECK(format_double(3) == "3.0");
}
