// Matrix products against sums in f64, over sizes, batches, transposed and broadcast operands; and that bits are the
// same for any number of threads, and for rows computed alone in eights.
#include <catch2/catch.hpp>

#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/unpacked.h"
#include "runtime/kernels/vector/loop_table.h"
#include "tests/runtime/arrays.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

namespace {

void check_product(const View& a, const View& w, const View& out) {
  const double eps = out.dtype == DType::F64   ? 1e-14
                     : out.dtype == DType::F32 ? 1e-6
                     : out.dtype == DType::F16 ? 1e-3
                                               : 8e-3;
  int wrong = 0;
  each_index(out.shape, [&](const Shape& i) {
    double sum = 0, scale = 0;
    Shape left = i, right = i;  // [b..., m, k] and [b..., k, n]
    for (std::int64_t k = 0; k < a.shape.back(); ++k) {
      left.back() = *(right.end() - 2) = k;
      const double p = at(a, left) * at(w, right);
      sum += p;
      scale += std::fabs(p);
    }
    const double got = at(out, i);
    if (out.dtype == DType::Bool) sum = sum != 0;
    if (!(std::fabs(got - sum) <= (is_float(out.dtype) ? eps * scale + 1e-30 : 0)) && ++wrong < 4) {
      INFO(name(out.dtype) << " " << to_string(a.shape) << " " << to_string(w.shape) << " at " << to_string(i)
                           << " got " << got << " want " << sum);
      CHECK(false);
    }
  });
  CHECK(wrong == 0);
}
void check_matmul(const View& a, const View& w) {
  Array out(a.dtype, {a.shape[0], a.shape[1], w.shape[2]});
  std::fill(out.bytes.begin(), out.bytes.end(), std::uint8_t{0xff});
  matmul(a, w, out.view());
  check_product(a, w, out.view());
}
View turned(View v) {  // the same matrices, stored by columns
  const std::size_t r = v.shape.size();
  std::swap(v.strides[r - 1], v.strides[r - 2]);
  v.strides[r - 2] = 1;
  v.strides[r - 1] = v.shape[r - 2];
  return v;
}
// Each row of `a`, stored by columns, has alone the bits that it has among `all`.
void check_rows_alone(View a, const View& w, Array& all) {
  const auto rows = static_cast<std::size_t>(a.shape[1]), item = size_of(a.dtype);
  Array one(a.dtype, {1, 1, w.shape[2]});
  const std::size_t bytes = static_cast<std::size_t>(w.shape[2]) * item;
  auto* first = static_cast<unsigned char*>(a.data);
  a.shape[1] = 1;
  for (std::size_t i = 0; i < rows; ++i) {
    a.data = first + i * item;
    matmul(a, w, one.view());
    CHECK(std::memcmp(one.data(), all.as<unsigned char>() + i * bytes, bytes) == 0);
  }
}

}  // namespace

TEST_CASE("products of every size and order", "[matmul]") {
  for (const std::vector<std::int64_t>& s : std::vector<std::vector<std::int64_t>>{
           {1, 1, 1, 1},    {1, 2, 3, 4},    {1, 1, 50, 7},    {1, 50, 1, 7},    {1, 5, 6, 1},     {3, 4, 5, 6},
           {1, 33, 17, 65}, {2, 70, 70, 70}, {1, 130, 9, 200}, {1, 1, 300, 300}, {1, 300, 1, 300}, {1, 1, 1, 500},
           {5, 1, 9, 9},    {5, 9, 1, 9},    {4, 8, 8, 8},     {1, 4, 16, 16},   {1, 3, 21, 40},   {1, 6, 10, 33},
           {2, 9, 5, 70},   {2, 1, 37, 20},  {1, 37, 1, 20},   {1, 9, 100, 64},  {1, 11, 3, 77},   {1, 8, 700, 100},
           {1, 70, 3, 50},  {2, 67, 13, 20}, {1, 0, 3, 3},     {2, 3, 0, 3},     {2, 3, 3, 0},     {1, 64, 1, 8},
           {1, 37, 1, 5},   {1, 1, 19, 13},  {1, 16, 1, 15},   {1, 70, 1, 3},    {1, 70, 3, 20},   {1, 67, 7, 9},
           {1, 130, 2, 8},  {1, 64, 5, 31},  {1, 33, 1, 27},   {1, 66, 1, 2}}) {
    const std::int64_t b = s[0], m = s[1], n = s[2], k = s[3];
    for (const DType t : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::I32, DType::U8, DType::Bool}) {
      if (m * n * k > 20000 && t != DType::F32) continue;
      Array a = random_array(t, {b, m, k}, 1), w = random_array(t, {b, k, n}, 2);
      if (t == DType::U8) fill(a.view(), 1, 1), fill(w.view(), 1, 1);
      if (t == DType::U8 && k > 255) continue;
      check_matmul(a.view(), w.view());
      check_matmul(turned(a.view()), w.view());
      check_matmul(a.view(), turned(w.view()));
      check_matmul(turned(a.view()), turned(w.view()));
    }
  }
}

TEST_CASE("products of packed operands, whose sums and edges are in parts", "[matmul]") {
  const std::int64_t n = 337, k = 801;
  for (const auto& [t, m] :
       {std::pair{DType::F32, 9}, {DType::F64, 9}, {DType::BF16, 9}, {DType::F32, 70}, {DType::BF16, 300}}) {
    Array a = random_array(t, {1, m, k}, 1), w = random_array(t, {1, k, n}, 2);
    check_matmul(a.view(), w.view());  // of few rows w is read where it lies
    check_matmul(turned(a.view()), w.view());
    if (m != 70) check_matmul(turned(a.view()), turned(w.view()));
  }
}

TEST_CASE("halves of many blocks, each rounded by itself", "[matmul]") {
  for (const DType t : {DType::BF16, DType::F16}) {
    Array a = random_array(t, {2, 300, 40}, 1), w = random_array(t, {1, 40, 500}, 2);
    check_matmul(a.view(), {t, {2, 40, 500}, {0, 500, 1}, w.data()});
  }
}

TEST_CASE("a transposed operand whose lines meet in a cache", "[matmul]") {  // 1,024 bytes from one to the next
  for (const auto& [t, m, n] : {std::tuple{DType::F32, 256, 64}, {DType::F64, 128, 64}, {DType::F32, 256, 9}}) {
    Array a = random_array(t, {1, m, 130}, 1), w = random_array(t, {1, 130, n}, 2);
    check_matmul(turned(a.view()), w.view());
    Array all(t, {1, m, n});
    matmul(turned(a.view()), w.view(), all.view());
    check_rows_alone(turned(a.view()), w.view(), all);
  }
}

TEST_CASE("operands with other strides", "[matmul]") {
  Array x = random_array(DType::F32, {40, 40, 40}, 3), y = random_array(DType::F32, {40, 40, 40}, 4);
  float *p = x.as<float>(), *q = y.as<float>();
  const View w{DType::F32, {3, 6, 7}, {42, 7, 1}, q};
  check_matmul({DType::F32, {3, 5, 6}, {0, 6, 1}, p}, w);  // one left matrix for all
  check_matmul({DType::F32, {3, 5, 6}, {30, 6, 1}, p}, {DType::F32, {3, 6, 7}, {0, 7, 1}, q});
  check_matmul({DType::F32, {3, 5, 6}, {30, 12, 2}, p}, w);  // no stride is 1
  check_matmul({DType::F32, {3, 5, 6}, {6, 18, 1}, p}, w);   // batch in the middle
  check_matmul({DType::F32, {3, 5, 6}, {-30, -6, -1}, p + 200}, w);
  check_matmul({DType::F32, {3, 5, 6}, {30, 0, 1}, p}, w);  // one row for all
  check_matmul({DType::F32, {3, 5, 6}, {30, 6, 0}, p}, w);
  check_matmul({DType::F32, {3, 5, 6}, {0, 0, 0}, p}, {DType::F32, {3, 6, 7}, {0, 0, 0}, q});
  check_matmul({DType::F32, {3, 5, 6}, {30, 1, 1}, p}, w);  // overlapping windows
  check_matmul({DType::F32, {3, 1, 6}, {1, 99, 5}, p}, {DType::F32, {3, 6, 7}, {0, 1, 6}, q});
  check_matmul({DType::F32, {3, 5, 1}, {77, 3, 99}, p}, {DType::F32, {3, 1, 7}, {0, 99, 4}, q});
  check_matmul({DType::F32, {30, 4, 6}, {24, 6, 1}, p}, {DType::F32, {30, 6, 1}, {0, 2, 5}, q});
  for (const std::int64_t m : {1, 3, 64, 100})
    check_matmul({DType::F32, {9, m, 60}, {m * 60, 60, 1}, p}, {DType::F32, {9, 60, 70}, {0, 70, 1}, q});
}

TEST_CASE("batches of several dimensions, and results that lie apart", "[matmul]") {
  for (const DType t : {DType::F32, DType::F64, DType::BF16, DType::I32}) {
    // As attention has them: x [b, rows, h, k] and y [b, columns, h, k] to [b, h, rows, columns], or [b, rows, h,
    // columns].
    for (const auto& [b, m, n, h, k] : std::vector<std::array<std::int64_t, 5>>{{2, 5, 6, 3, 4}, {3, 70, 40, 2, 90}}) {
      Array x = random_array(t, {b, m, h, k}, 5), y = random_array(t, {b, n, h, k}, 6), out(t, {b, m, h, n});
      const View left{t, {b, h, m, k}, {m * h * k, k, h * k, 1}, x.data()};
      const View right{t, {b, h, k, n}, {n * h * k, k, 1, h * k}, y.data()};
      for (const Strides& to : {Strides{h * m * n, m * n, n, 1}, Strides{m * h * n, n, h * n, 1}}) {
        std::fill(out.bytes.begin(), out.bytes.end(), std::uint8_t{0xff});
        const View made{t, {b, h, m, n}, to, out.data()};
        matmul(left, right, made);
        check_product(left, right, made);
      }
    }
  }
  Array a = random_array(DType::F32, {2, 3}, 7), out(DType::F32, {2, 2});
  CHECK_THROWS_AS(matmul(a.view(), turned(a.view()), {DType::F32, {2, 2}, {1, 2}, out.data()}), RuntimeError);
}

TEST_CASE("long sums of few columns, by parts", "[matmul]") {  // the gradient of a layer by its weights
  for (const auto& [t, m, n, k] :
       std::vector<std::tuple<DType, std::int64_t, std::int64_t, std::int64_t>>{{DType::F32, 10, 3, 8200},
                                                                                {DType::F32, 2, 2, 12288},
                                                                                {DType::F32, 40, 1, 8193},
                                                                                {DType::F32, 3, 1, 9000},
                                                                                {DType::F32, 70, 5, 8192},
                                                                                {DType::F64, 17, 2, 8200},
                                                                                {DType::F64, 4, 3, 8200},
                                                                                {DType::BF16, 20, 3, 8200},
                                                                                {DType::F16, 5, 2, 8200}}) {
    Array a = random_array(t, {1, m, k}, 1), w = random_array(t, {1, k, n}, 2), all(t, {1, m, n});
    check_matmul(turned(a.view()), w.view());
    {
      const Alone here;
      matmul(turned(a.view()), w.view(), all.view());
    }
    check_rows_alone(turned(a.view()), w.view(), all);
  }
  Array a = random_array(DType::F32, {1, 700, 8200}, 1), w = random_array(DType::F32, {1, 8200, 10}, 2),
        all(DType::F32, {1, 700, 10}), some(DType::F32, {1, 100, 10});  // of more rows than parts are kept of
  matmul(turned(a.view()), w.view(), all.view());
  View rows = turned(a.view());
  rows.shape[1] = 100;
  for (const std::int64_t from : {0, 600}) {
    rows.data = a.as<float>() + from;
    matmul(rows, w.view(), some.view());
    CHECK(std::memcmp(some.data(), all.as<float>() + from * 10, 1000 * sizeof(float)) == 0);
  }
}

TEST_CASE("bits depend neither on threads nor on how rows are cut", "[matmul]") {
  const auto check = [](std::int64_t m, std::int64_t n, std::int64_t k, bool turns) {
    INFO(m << " x " << k << " by " << k << " x " << n << (turns ? ", turned" : ""));
    Array a = random_array(DType::F32, {1, m, k}, 11), w_memory = random_array(DType::F32, {1, k, n}, 12),
          one(DType::F32, {1, m, n}), four(DType::F32, {1, m, n});
    const View w = turns ? turned(w_memory.view()) : w_memory.view();
    {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
      matmul(a.view(), w, one.view());
    }
    {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 4);
      matmul(a.view(), w, four.view());
    }
    CHECK(one.bytes == four.bytes);
    Array alone(DType::F32, {1, m, n});
    {
      const Alone here;
      matmul(a.view(), w, alone.view());
    }
    CHECK(alone.bytes == four.bytes);
    if (m % 64 != 0) return;  // shards of the rows, as devices hold them
    for (const std::int64_t rows : {64, 8}) {
      Array part(DType::F32, {1, rows, n});
      for (std::int64_t i = 0; i < m; i += rows) {
        matmul(contiguous(DType::F32, {1, rows, k}, a.as<float>() + i * k), w, part.view());
        CHECK(std::memcmp(part.data(), one.as<float>() + i * n, static_cast<std::size_t>(rows * n) * 4) == 0);
      }
    }
  };
  for (const auto& [m, n, k] : std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{{256, 200, 300},
                                                                                                 {1, 5000, 400},
                                                                                                 {5000, 1, 400},
                                                                                                 {40, 3000, 100},
                                                                                                 {1000, 64, 64},
                                                                                                 {64, 64, 200},
                                                                                                 {128, 256, 50}})
    check(m, n, k, false);
  for (const auto& [m, n, k] : std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
           {320, 128, 200}, {256, 64, 257}, {256, 48, 40}, {40, 3000, 100}, {64, 500, 200}})
    check(m, n, k, true);
}

TEST_CASE("rows of a small product have the bits of a large one", "[matmul]") {
  for (const auto& [n, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{{45, 60}, {100, 200}, {1, 300}}) {
    Array a = random_array(DType::F32, {1, 168, k}, 13), w = random_array(DType::F32, {1, k, n}, 14),
          all(DType::F32, {1, 168, n}), part(DType::F32, {1, 21, n});
    matmul(a.view(), w.view(), all.view());
    for (const std::int64_t rows : {1, 3, 8, 21})
      for (std::int64_t i = 0; i < 168; i += rows) {
        matmul(contiguous(DType::F32, {1, rows, k}, a.as<float>() + i * k), w.view(),
               contiguous(DType::F32, {1, rows, n}, part.data()));
        CHECK(std::memcmp(part.data(), all.as<float>() + i * n, static_cast<std::size_t>(rows * n) * sizeof(float)) ==
              0);
      }
  }
}

TEST_CASE("windows read where they lie", "[matmul]") {  // of 3 x 3 elements, two apart downwards
  constexpr std::int64_t kDown = 12, kAcross = 40, kChannels = 3, kLine = kAcross * kChannels;
  for (const DType t : {DType::F32, DType::F64})
    for (const std::int64_t places : {8, 9, 13, 31, 38})
      for (const std::int64_t n : {4, 7, 16, 32, 50}) {
        Array x = random_array(t, {2, kDown, kAcross, kChannels}, 21), w = random_array(t, {9 * kChannels, n}, 22);
        Array all(t, {2, 8, places, 3, 3 * kChannels}), out(t, {2, 8, places, n});
        copy({t, all.view().shape, {kDown * kLine, kLine, kChannels, 2 * kLine, 1}, x.data()}, all.view());
        std::fill(out.bytes.begin(), out.bytes.end(), std::uint8_t{0xff});
        const Unpacked p{t,
                         places,
                         n,
                         3 * kChannels,
                         kChannels,
                         1,
                         n,
                         n,
                         {0, 2 * kLine, 4 * kLine},
                         {{2, kDown * kLine, 0, 8 * places * n}, {8, kLine, 0, places * n}}};
        REQUIRE(unpacked_pays(p));
        multiply_unpacked(p, x.data(), w.data(), out.data(), nullptr);
        check_product(contiguous(t, {1, 16 * places, 9 * kChannels}, all.data()),
                      contiguous(t, {1, 9 * kChannels, n}, w.data()), contiguous(t, {1, 16 * places, n}, out.data()));
      }
}

// Of each piece the epilogue sees what the whole product is, once; pieces begin where they shall.
TEST_CASE("pieces of a product, for an epilogue", "[matmul]") {
  const auto check = [](DType type, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                        std::int64_t together) {
    INFO(name(type) << " " << batch << " x " << m << " x " << k << " by " << n << ", " << together << " together");
    Array a = random_array(type, {batch, m, k}, 11), w = random_array(type, {batch, k, n}, 12),
          whole(type, {batch, m, n}), out(type, {batch, m, n});
    matmul(a.view(), w.view(), whole.view());
    const MatrixProduct product(a.view(), w.view(), out.view());
    REQUIRE(product.has_pieces(together));
    const auto item = static_cast<std::int64_t>(size_of(type));
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(batch * m * n));
    std::atomic<int> wrong = 0, pieces = 0;
    const Epilogue epilogue{together, [&](std::int64_t from, std::int64_t to, void* data) {
                              ++pieces;
                              wrong +=
                                  from % together != 0 || (to % together != 0 && to != batch * m * n) ||
                                  std::memcmp(static_cast<char*>(data) + from * item, whole.bytes.data() + from * item,
                                              static_cast<std::size_t>((to - from) * item)) != 0;
                              for (std::int64_t i = from; i < to; ++i) ++seen[static_cast<std::size_t>(i)];
                            }};
    product.run(a.data(), w.data(), out.data(), nullptr, &epilogue);
    CHECK(out.bytes == whole.bytes);
    product.run(a.data(), w.data(), nullptr, nullptr, &epilogue);  // pieces are all that there is
    CHECK(wrong == 0);
    CHECK(pieces > 6);
    CHECK(std::all_of(seen.begin(), seen.end(), [](const std::atomic<int>& times) { return times == 2; }));
  };
  check(DType::F32, 1, 4100, 72, 16, 72);
  check(DType::F32, 1, 4100, 72, 16, 1024);  // leaves of a reduction
  check(DType::F64, 1, 3000, 100, 10, 100 * 64);
  check(DType::BF16, 1, 10000, 72, 16, 72);
  check(DType::F16, 3, 1500, 128, 20, 1);
  check(DType::F32, 40, 120, 64, 32, 64);
  check(DType::F64, 1, 80, 8000, 2, 8000);  // eight rows at least
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
  check(DType::F32, 1, 4200, 600, 200, 600);  // blocks of columns beside each other
}

TEST_CASE("nan and infinity go through products", "[matmul]") {
  Array a(DType::F32, {1, 20, 20}), w(DType::F32, {1, 20, 20}), out(DType::F32, {1, 20, 20});
  a.as<float>()[0] = NAN;
  a.as<float>()[20] = INFINITY;
  fill(w.view(), 1, 1);
  matmul(a.view(), w.view(), out.view());
  CHECK(std::isnan(out.as<float>()[5]));
  CHECK(out.as<float>()[25] == INFINITY);
  CHECK(out.as<float>()[45] == 0);
}

TEST_CASE("integers of many columns and of several batches", "[matmul]") {
  for (const DType t : {DType::I32, DType::U32, DType::I64}) {
    Array a = random_array(t, {3, 19, 7}, 3), w = random_array(t, {3, 7, 530}, 4);
    check_matmul(a.view(), w.view());
    check_matmul(turned(a.view()), turned(w.view()));
    check_matmul(a.view(), {t, {3, 7, 530}, {0, 530, 1}, w.data()});
  }
}

TEST_CASE("integer products wrap, and the instruction set has a name", "[matmul]") {
  Array a(DType::I32, {1, 1, 2}), out(DType::I32, {1, 1, 1});
  fill(a.view(), 0, 1 << 30);
  Array w(DType::I32, {1, 2, 1});
  fill(w.view(), 0, 3);
  matmul(a.view(), w.view(), out.view());
  CHECK(*out.as<std::int32_t>() == static_cast<std::int32_t>(6u << 30));
  const std::string isa = matmul_isa();
  CHECK((isa == "sse2" || isa == "avx2" || isa == "avx512"));
}
