// Sums over devices keep to their law (kernels.h): bits worked out by hand for 2 to 9 devices, and for every shape of a
// block, layout of memory, number of threads and element type against the tree written as the law says it, level by
// level.
#include <catch2/catch.hpp>

#include <tbb/global_control.h>

#include <cmath>

#include "runtime/kernels/kernels.h"
#include "tests/runtime/arrays.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

namespace {

double rounded(DType t, double x) { return t == DType::F64 ? x : static_cast<double>(static_cast<float>(x)); }

// Neighbours pairwise, level after level. Each join in the accumulating type: an f32 sum of two f32 is the rounded
// double sum of them.
double by_the_law(DType t, std::vector<double> terms) {
  while (terms.size() > 1) {
    std::vector<double> next;
    for (std::size_t i = 0; i + 1 < terms.size(); i += 2) next.push_back(rounded(t, terms[i] + terms[i + 1]));
    if (terms.size() % 2) next.push_back(terms.back());
    terms = std::move(next);
  }
  return terms[0];
}

double stored(DType t, double x) {
  Array a(t, {});
  set(a.view(), 0, x);
  return get(a.view(), 0);
}

double sum_of(DType t, const std::vector<double>& terms) {
  Array in(t, {static_cast<std::int64_t>(terms.size())}), out(t, {});
  for (std::size_t i = 0; i < terms.size(); ++i) set(in.view(), static_cast<std::int64_t>(i), terms[i]);
  reduce_blocks(Reduce::Sum, in.view(), 1, out.view());
  return get(out.view(), 0);
}

}  // namespace

TEST_CASE("sums over devices: bits by hand") {
  // 1 and then h, half a unit in the last place of 1. By hand, in units of h beside the 1 (a tie goes to the even of
  // two multiples of 2 h): 3: (1 + h) + h = 1. 4: (1 + h) + 2h = 1 + 2h. 5: (1 + 2h) + h, a tie, 1 + 4h.
  // 6: (1 + 2h) + 2h. 7: (1 + 2h) + (2h + h) = 1 + 5h, a tie, 1 + 4h. 8: (1 + 2h) + (2h + 2h). 9: (1 + 6h) + h, a
  // tie, 1 + 8h. One after the other they would all be 1.
  const int beside[] = {0, 0, 0, 0, 2, 4, 4, 4, 6, 8};
  for (int n = 2; n <= 9; ++n)
    for (const DType t : {DType::F32, DType::F64}) {
      const double h = t == DType::F32 ? 0x1p-24 : 0x1p-53;
      std::vector<double> terms(static_cast<std::size_t>(n), h);
      terms[0] = 1;
      INFO(n << " of " << name(t));
      CHECK(sum_of(t, terms) == 1 + beside[n] * h);
    }
  // The 1 at the end: it waits, alone or with others of its subtree. 3: 2h + 1. 5: 4h + 1. 6: 4h + (h + 1) = 4h + 1.
  // 7: 4h + (2h + 1) = 1 + 6h. 8: 4h + (2h + (h + 1)) = 4h + (2h + 1). 9: 8h + 1.
  const int at_the_end[] = {0, 0, 0, 2, 2, 4, 4, 6, 6, 8};
  for (int n = 2; n <= 9; ++n) {
    std::vector<double> terms(static_cast<std::size_t>(n), 0x1p-24);
    terms.back() = 1;
    INFO(n);
    CHECK(sum_of(DType::F32, terms) == 1 + at_the_end[n] * 0x1p-24);
  }
  // Halves are joined in f32 and rounded once. With h = 2^-24, a number of both kinds, and a -1 at the end, what is
  // left of the h is exact: 3: (1 + h) - 1 = 0. 4: 1 + (h - 1) = h. 5: (1 + 2h) - 1. 6: (1 + 2h) + (h - 1) = 3h. 7: (1
  // + 2h) + (2h - 1). 8: (1 + 2h) + (2h + (h - 1)). 9: (1 + 6h) - 1.
  const int left[] = {0, 0, 0, 0, 1, 2, 3, 4, 5, 6};
  for (int n = 2; n <= 9; ++n)
    for (const DType t : {DType::F16, DType::BF16}) {
      std::vector<double> terms(static_cast<std::size_t>(n), 0x1p-24);
      terms[0] = 1;
      terms.back() = -1;
      INFO(n << " of " << name(t));
      CHECK(sum_of(t, terms) == left[n] * 0x1p-24);
    }
  // And rounded: 1 + 2^-9 + 2^-9 is 1 + 2^-8 in f16; in bf16, whose units are 2^-7, a tie that goes to 1.
  CHECK(sum_of(DType::F16, {1, 0x1p-9, 0x1p-9}) == 1 + 0x1p-8);
  CHECK(sum_of(DType::BF16, {1, 0x1p-9, 0x1p-9}) == 1);
}

TEST_CASE("sums over devices: the same tree for all shapes, layouts and threads") {
  const std::vector<Shape> blocks = {{}, {1}, {3}, {7, 5}, {300}, {2, 513}, {4, 1, 9}, {5000}, {64, 257}};
  for (const DType t : {DType::F32, DType::F64, DType::F16, DType::BF16})
    for (std::int64_t n = 1; n <= 9; ++n)
      for (const Shape& block : blocks)
        for (int layout = 0; layout < 3; ++layout) {  // devices before, behind, and the block transposed
          Shape shape = block;
          shape.insert(layout == 1 ? shape.end() : shape.begin(), n);
          if (layout == 2) std::reverse(shape.begin() + 1, shape.end());
          Array in(t, shape), out(t, block);
          std::mt19937 random(static_cast<unsigned>(n) * 100 + static_cast<unsigned>(block.size()));
          for (std::int64_t i = 0; i < in.size(); ++i)
            set(in.view(), i,
                std::ldexp(static_cast<double>(random() % 2048) - 1024, -static_cast<int>(random() % 12)));
          View seen = in.view();
          if (layout == 1) {
            std::rotate(seen.shape.begin(), seen.shape.end() - 1, seen.shape.end());
            std::rotate(seen.strides.begin(), seen.strides.end() - 1, seen.strides.end());
          } else if (layout == 2) {
            std::reverse(seen.shape.begin() + 1, seen.shape.end());
            std::reverse(seen.strides.begin() + 1, seen.strides.end());
          }
          reduce_blocks(Reduce::Sum, seen, 1, out.view());
          Array alone(t, block);
          {
            tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
            reduce_blocks(Reduce::Sum, seen, 1, alone.view());
          }
          int wrong = out.bytes != alone.bytes;
          each_index(block, [&](const Shape& at) {
            std::vector<double> terms;
            for (std::int64_t d = 0; d < n; ++d) {
              Shape full = at;
              full.insert(full.begin(), d);
              terms.push_back(test::at(seen, full));
            }
            const double want = stored(t, by_the_law(t, terms)), got = test::at(out.view(), at);
            wrong += std::signbit(want) != std::signbit(got) || want != got;
          });
          INFO(name(t) << " " << n << " blocks of " << to_string(block) << ", layout " << layout);
          CHECK(wrong == 0);
        }
}

TEST_CASE("several axes are one, the first of them the slowest") {
  Array in(DType::F32, {2, 3, 5});
  for (std::int64_t i = 0; i < in.size(); ++i) in.as<float>()[i] = i < 5 ? 1.0f : 0x1p-24f;
  const auto sum = [&](View seen) {
    Array out(DType::F32, {5});
    reduce_blocks(Reduce::Sum, seen, 2, out.view());
    return out.as<float>()[0];
  };
  CHECK(sum(in.view()) == 1 + 4 * 0x1p-24f);  // six terms, as above
  View turned = in.view();
  std::swap(turned.shape[0], turned.shape[1]);
  std::swap(turned.strides[0], turned.strides[1]);
  in.as<float>()[10] = 1.0f;  // the third, or with the axes turned the fifth
  in.as<float>()[0] = 0x1p-24f;
  CHECK(sum(in.view()) == 1 + 4 * 0x1p-24f);  // 2h + (1 + h) = 1 + 2h, and 2h
  CHECK(sum(turned) == 1 + 4 * 0x1p-24f);     // 4h + (1 + h)
  turned.strides[1] = 0;                      // one block that two devices hold: two terms
  CHECK(sum(turned) == 2 + 4 * 0x1p-24f);     // (h + h) + (h + h), and 1 + 1
}

TEST_CASE("maxima, minima and integers over devices") {
  Array x(DType::F32, {3, 2}), y(DType::F32, {2});
  const float values[] = {1, NAN, 3, 2, -1, 5};
  std::copy(std::begin(values), std::end(values), x.as<float>());
  reduce_blocks(Reduce::Max, x.view(), 1, y.view());
  CHECK(y.as<float>()[0] == 3);
  CHECK(std::isnan(y.as<float>()[1]));
  reduce_blocks(Reduce::Min, x.view(), 1, y.view());
  CHECK(y.as<float>()[0] == -1);
  Array i(DType::I8, {5, 1}), s(DType::I8, {1});
  for (int k = 0; k < 5; ++k) i.as<std::int8_t>()[k] = 100;
  reduce_blocks(Reduce::Sum, i.view(), 1, s.view());
  CHECK(s.as<std::int8_t>()[0] == static_cast<std::int8_t>(500 - 512));
}
