// Python's format mini-language against goldens of Python 3.11's format() (make_format_goldens.py), and how values
// print.
#include "interpreter/lang/values/value_text.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "interpreter/lang/values/format_spec.h"
#include "runtime/array/shape.h"

using namespace shard;
using lang::Value;

namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts{""};
  for (char c : line) c == '\t' ? (void)parts.emplace_back() : parts.back().push_back(c);
  return parts;
}

Value value_of(const std::string& kind, const std::string& text) {
  if (kind == "s") return Value::string(text);
  if (kind == "i") return Value(static_cast<std::int64_t>(std::strtoll(text.c_str(), nullptr, 10)));
  return Value(std::strtod(text.c_str(), nullptr));
}

}  // namespace

TEST_CASE("formats agree with Python's") {
  std::ifstream in("tests/interpreter/format_goldens.txt");
  REQUIRE(in);
  runtime::Pool pool;
  std::string line;
  int rows = 0;
  while (std::getline(in, line)) {
    const auto row = split(line);
    REQUIRE(row.size() == 4);
    std::string got;
    try {
      got = lang::format_value(value_of(row[0], row[1]), row[2], pool);
    } catch (const runtime::RuntimeError& e) {
      CHECK(e.code == "format");
      got.assign(1, '!');
    }
    INFO("format(" << row[1] << ", '" << row[2] << "')");
    CHECK(got == row[3]);
    ++rows;
  }
  CHECK(rows > 1000);
}

TEST_CASE("values print as Python's str, containers as they are written") {
  runtime::Pool pool;
  const auto s = [&](const Value& v) { return lang::show(v, pool); };
  CHECK(s(Value()) == "none");
  CHECK(s(Value(true)) == "true");
  CHECK(s(Value(std::int64_t{-7})) == "-7");
  CHECK(s(Value(1e16)) == "1e+16");
  CHECK(s(Value(0.1 + 0.2)) == "0.30000000000000004");
  CHECK(s(Value::string("a\"b")) == "a\"b");
  const Value inner = Value::record({{"z", Value(std::int64_t{2})}});
  CHECK(s(Value::record({{"x", Value(std::int64_t{5})}, {"y", inner}, {"t", Value::string("new")}})) ==
        "{x: 5, y: {z: 2}, t: new}");
  CHECK(lang::repr(Value::list({Value::string("a\n{b}"), Value(2.0)}), pool) == "[\"a\\n{{b}}\", 2.0]");
  CHECK(s(Value::tuple({Value(std::int64_t{1}), Value::list({})})) == "(1, [])");
  CHECK(s(Value(lang::Range{0, 4})) == "0..4");
  CHECK(s(Value(runtime::DType::BF16)) == "bf16");
}

TEST_CASE("specs drop trailing entries that say nothing") {
  using lang::Spec;
  CHECK(lang::show(Spec{}) == "P()");
  CHECK(lang::show(Spec{{{{"X"}}, {}}, {}, {}, ""}) == "P(@X)");
  CHECK(lang::show(Spec{{{}, {{"Y"}}}, {}, {}, ""}) == "P(_, @Y)");
  CHECK(lang::show(Spec{{{{"a", "b"}}, {{}, true}}, {}, {}, ""}) == "P(@(a, b), ?)");
  CHECK(lang::show(Spec{{{}}, {"X"}, {}, "max"}) == "P(unreduced: @X, kind: \"max\")");
  CHECK(lang::show(lang::Axis{{"X"}}) == "@X");
}

TEST_CASE("truth values and arrays of rank 0 take formats") {
  runtime::Pool pool;
  CHECK(lang::format_value(Value(true), ">6", pool) == "  true");
  CHECK(lang::format_value(Value(true), "d", pool) == "1");
  const float x = 0.1f;
  const Value scalar(trace::Tensor(runtime::from_host(pool, runtime::DType::F32, {}, &x)));
  CHECK(lang::format_value(scalar, "", pool) == "0.1");
  CHECK(lang::format_value(scalar, ">6", pool) == "   0.1");
  CHECK(lang::format_value(scalar, ".10f", pool) == "0.1000000015");  // the f32 nearest to 0.1
  const float row[2] = {1, 2};
  const Value two(trace::Tensor(runtime::from_host(pool, runtime::DType::F32, {2}, row)));
  CHECK(lang::format_value(two, "", pool) == "[1. 2.]");
  CHECK_THROWS_WITH(lang::format_value(two, ".2f", pool), Catch::Contains("f32[2]"));
}

TEST_CASE("hostile formats are refused") {
  runtime::Pool pool;
  for (const char* spec : {"99999999999d", ".9999999999f", "q", ".", "5.", "d5", ",_", "__"})
    CHECK_THROWS_AS(lang::format_value(Value(std::int64_t{1}), spec, pool), runtime::RuntimeError);
}
