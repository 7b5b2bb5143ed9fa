// Elementwise programs: rounding of halves, broadcasting, fusion, aliasing, what is refused, and equal bits for every
// number of threads and every instruction set.
#include <catch2/catch.hpp>

#include <tbb/global_control.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/vector/loop_table.h"
#include "tests/runtime/element_programs.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

TEST_CASE("halves are rounded after every step", "[elementwise]") {
  // (x + y) - x in bf16 loses what f32 would keep.
  for (const DType t : {DType::F16, DType::BF16}) {
    Array x = random_array(t, {1000}, 3, 10), y = random_array(t, {1000}, 4), out(t, {1000});
    run({{t, t, t, t}, {0, 1}, {}, {{Code::Add, t, 2, 0, 1}, {Code::Sub, t, 3, 2, 0}}, {3}}, {x.view(), y.view()},
        {out.view()});
    const auto rounded = [t](float f) {
      return t == DType::F16 ? f16_to_f32(f32_to_f16(f)) : bf16_to_f32(f32_to_bf16(f));
    };
    for (std::int64_t i = 0; i < 1000; ++i) {
      const float a = static_cast<float>(get(x.view(), i)), b = static_cast<float>(get(y.view(), i));
      CHECK(get(out.view(), i) == rounded(rounded(a + b) - a));
    }
  }
  CHECK(two(Code::Add, DType::BF16, {256, 256}, {1, 3}) == std::vector<double>{256, 260});  // JAX
  CHECK(two(Code::Div, DType::BF16, {1}, {3}) == std::vector<double>{0.333984375});
}

TEST_CASE("inputs of every layout", "[elementwise]") {
  const Shape shape{6, 7, 90};
  Array x = random_array(DType::F32, {6, 7, 90}, 1), out(DType::F32, shape),
        half = random_array(DType::BF16, {6, 7, 90}, 2);
  float* p = x.as<float>();
  const std::vector<Strides> layouts{{630, 90, 1}, {0, 0, 0}, {0, 90, 1}, {630, 0, 1},     {90, 0, 1}, {630, 90, 0},
                                     {0, 0, 1},    {1, 0, 0}, {1, 6, 42}, {-630, -90, -1}, {0, 1, 0},  {90, 1, 7}};
  for (const Strides& a : layouts)
    for (const Strides& b : layouts) {
      const auto base = [&](const Strides& s) { return s[0] < 0 ? x.size() - 1 : 0; };
      const View u{DType::F32, shape, a, p + base(a)}, v{DType::BF16, shape, b, half.as<std::uint16_t>() + base(b)};
      run({{DType::F32, DType::BF16, DType::F32, DType::F32},
           {0, 1},
           {},
           {{Code::Convert, DType::BF16, 2, 1}, {Code::Sub, DType::F32, 3, 0, 2}},
           {3}},
          {u, v}, {out.view()});
      int wrong = 0;
      each_index(shape, [&](const Shape& i) {
        wrong += at(out.view(), i) != static_cast<float>(at(u, i)) - static_cast<float>(at(v, i));
      });
      CHECK(wrong == 0);
    }
  Array scalar = of(DType::F32, {3});
  Array result(DType::F32, {});
  run({{DType::F32, DType::F32}, {0}, {}, {{Code::Square, DType::F32, 1, 0}}, {1}},
      {View{DType::F32, {}, {}, scalar.data()}}, {result.view()});
  CHECK(*result.as<float>() == 9);
  run({{DType::F32, DType::F32}, {0}, {}, {{Code::Square, DType::F32, 1, 0}}, {1}}, {contiguous(DType::F32, {0, 3})},
      {contiguous(DType::F32, {0, 3})});
}

TEST_CASE("groups of few elements, in an order of their own, and nothing beside them", "[elementwise]") {
  std::mt19937 random(7);
  const std::vector<Shape> shapes{{50, 2, 2, 2}, {70, 3, 3, 3}, {300, 5},    {40, 8, 8},   {3, 50, 4, 2},
                                  {65, 7},       {2, 33, 3, 5}, {90, 2, 17}, {33, 4, 2, 8}};
  for (const Shape& shape : shapes)
    for (int turn = 0; turn < 40; ++turn) {
      std::vector<std::size_t> order(shape.size());
      std::iota(order.begin(), order.end(), 0);
      if (turn % 2) std::shuffle(order.begin() + 1, order.end(), random);
      Strides strides(shape.size());
      std::int64_t size = 1, first = 0;
      for (std::size_t d = shape.size(); d-- > 0;) {  // some dimensions are repeated, some backwards
        const std::size_t at = order[d];
        const bool repeated = random() % 3 == 0 && at > 0, backward = random() % 4 == 0;
        strides[at] = repeated ? 0 : backward ? -size : size;
        if (backward && !repeated) first += (shape[at] - 1) * size;
        if (!repeated) size *= shape[at];
      }
      const Guarded memory(static_cast<std::size_t>(size + 1023) / 1024);
      float* const data = memory.end() - size;
      for (std::int64_t i = 0; i < size; ++i) data[i] = static_cast<float>(i);
      const View in{DType::F32, shape, strides, data + first};
      Array out(DType::F32, shape);
      run({{DType::F32, DType::F32}, {0}, {}, {{Code::Neg, DType::F32, 1, 0}}, {1}}, {in}, {out.view()});
      std::int64_t wrong = 0;
      each_index(shape, [&](const Shape& i) { wrong += at(out.view(), i) != -at(in, i); });
      CAPTURE(to_string(shape), to_string(Shape(strides.begin(), strides.end())));
      CHECK(wrong == 0);
    }
}

TEST_CASE("inputs that repeat stay where tiles leave them, whatever lies between", "[elementwise]") {
  // By dimension 40 times the same, in stretches that tiles fit and those they do not; with an output over its input.
  for (const Shape& shape :
       {Shape{5, 40, 64}, Shape{3, 40, 192}, Shape{7, 40, 100}, Shape{2, 40, 4, 16}, Shape{40, 512}})
    for (const DType t : {DType::F32, DType::BF16, DType::F64}) {
      Shape small = shape;
      small[shape.size() == 2 ? 0 : 1] = 1;
      Array x = random_array(t, shape, 1), m = random_array(t, small, 2), out(t, shape);
      View repeated = m.view();
      repeated.shape = shape;
      repeated.strides[shape.size() == 2 ? 0 : 1] = 0;
      if (shape.size() == 4) repeated.strides = {4, 0, 1, 0};  // each of four along sixteen
      const ElementProgram p{{t, t, t}, {0, 1}, {}, {{Code::Sub, t, 2, 0, 1}}, {2}};
      for (const bool over : {false, true}) {
        Array given = x;
        const View result = over ? given.view() : out.view();
        run(p, {given.view(), repeated}, {result});
        int wrong = 0;
        each_index(shape, [&](const Shape& i) {
          Array one = of(t, {at(x.view(), i)}), other = of(t, {at(repeated, i)});
          wrong += t == DType::BF16 ? at(result, i) != list(binary(Code::Sub, one, other))[0]
                   : t == DType::F32
                       ? at(result, i) != static_cast<float>(at(x.view(), i)) - static_cast<float>(at(repeated, i))
                       : at(result, i) != at(x.view(), i) - at(repeated, i);
        });
        INFO(to_string(shape) << " " << name(t) << (over ? " over its input" : ""));
        CHECK(wrong == 0);
      }
    }
}

TEST_CASE("transposed inputs whose lines meet in a cache", "[elementwise]") {  // 1,024 bytes from one to the next
  const Shape shape{2, 37, 300};
  Array x = random_array(DType::F32, {2, 300, 256}, 1), half = random_array(DType::BF16, {2, 300, 512}, 2),
        out(DType::F32, shape);
  const View u{DType::F32, shape, {300 * 256, 1, 256}, x.data()},
      v{DType::BF16, shape, {300 * 512, 1, 512}, half.data()};
  run({{DType::F32, DType::BF16, DType::F32, DType::F32},
       {0, 1},
       {},
       {{Code::Convert, DType::BF16, 2, 1}, {Code::Sub, DType::F32, 3, 0, 2}},
       {3}},
      {u, v}, {out.view()});
  int wrong = 0;
  each_index(shape, [&](const Shape& i) {
    wrong += at(out.view(), i) != static_cast<float>(at(u, i)) - static_cast<float>(at(v, i));
  });
  CHECK(wrong == 0);
}

TEST_CASE("fused programs", "[elementwise]") {
  // gelu(x * w + 0.5) and its sign, with a register written twice and an output that is an input.
  const std::int64_t n = 3000;
  Array x = random_array(DType::F32, {n}, 1), w = random_array(DType::F32, {n}, 2), y(DType::F32, {n}),
        b(DType::Bool, {n}), copy_(DType::F32, {n});
  const DType f = DType::F32;
  ElementProgram p{{f, f, f, f, f, DType::Bool, f}, {0, 1}, {{3, 0.5, 0}, {6, 0.7978845608, 0}}, {}, {2, 5, 0}};
  p.code = {{Code::Mul, f, 2, 0, 1}, {Code::Add, f, 2, 2, 3}, {Code::Mul, f, 4, 2, 6},
            {Code::Tanh, f, 4, 4},   {Code::Gt, f, 5, 2, 3},  {Code::Select, f, 2, 5, 4, 2}};
  run(p, {x.view(), w.view()}, {y.view(), b.view(), copy_.view()});
  for (std::int64_t i = 0; i < n; ++i) {
    const float v = x.as<float>()[i] * w.as<float>()[i] + 0.5f;
    CHECK(b.as<std::uint8_t>()[i] == (v > 0.5f));
    CHECK(y.as<float>()[i] == Approx(v > 0.5f ? std::tanh(v * 0.7978845608f) : v).epsilon(1e-5).margin(1e-6));
    CHECK(copy_.as<float>()[i] == x.as<float>()[i]);
  }
}

// y - x, and of each row its sum, of x joined of pieces: the same bits as of x in one.
TEST_CASE("inputs in pieces", "[elementwise]") {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 60; ++round) {
    const DType t = std::array{DType::F32, DType::BF16, DType::F64, DType::I8}[random() % 4];
    const std::size_t along = random() % 3;
    Shape shape{1 + below(3), 1 + below(9), 1 + below(400)};
    std::vector<std::int64_t> sizes{0};
    for (std::size_t k = 0; k < 1 + random() % 4; ++k) sizes.push_back(k == 2 ? 0 : 1 + below(along == 2 ? 300 : 5));
    shape[along] = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    Array x = random_array(t, shape, 2), y = random_array(t, shape, 3), want(t, shape), got = want;
    const bool rows = round % 2 && shape[2] > 1;
    const Shape lead{shape[0], shape[1]};
    Array sums(t, lead), sums_got(t, lead);
    ElementProgram p{{t, t, t, t}, {0, 1}, {}, {{Code::Sub, t, 2, 0, 1}}, {2}};
    if (rows) {
      p.row = shape[2], p.of_row = {false, false, false, true}, p.outputs = {2, 3};
      p.code.push_back({Code::Identity, t, 3, 2});
      p.code.back().reduce = Reduce::Sum;
    }
    const auto outs = [&](Array& all, Array& each) {
      return rows ? std::vector<View>{all.view(), each.view()} : std::vector<View>{all.view()};
    };
    run(p, {y.view(), x.view()}, outs(want, sums));
    // The first piece is a copy of its own, the others are seen in x.
    std::vector<View> in{y.view()};
    std::int64_t begin = 0;
    for (const std::int64_t n : sizes) {
      View piece = x.view();
      piece.shape[along] = n;
      piece.data = static_cast<char*>(x.data()) + begin * piece.strides[along] * static_cast<std::int64_t>(size_of(t));
      in.push_back(piece), begin += n;
    }
    Array copied(t, in[2].shape);
    copy(in[2], copied.view());
    in[2] = copied.view();
    p.inputs.assign(in.size(), 1), p.inputs[0] = 0;
    p.joins = {{1, static_cast<std::uint16_t>(sizes.size()), static_cast<std::uint16_t>(along)}};
    for (const bool generated : {false, true}) {
      const ElementKernel kernel(p, in, outs(got, sums_got));
      if (generated) kernel.generate();
      std::vector<void*> from, to;
      for (const View& v : in) from.push_back(v.data);
      for (const View& v : outs(got, sums_got)) to.push_back(v.data);
      kernel.run(from.data(), to.data());
      CAPTURE(round, name(t), along, sizes, generated);
      CHECK(std::memcmp(got.data(), want.data(), static_cast<std::size_t>(want.size()) * size_of(t)) == 0);
      if (rows)
        CHECK(std::memcmp(sums_got.data(), sums.data(), static_cast<std::size_t>(sums.size()) * size_of(t)) == 0);
    }
  }
  Array a = random_array(DType::F32, {2, 3}, 1), b = random_array(DType::F32, {2, 4}, 2), out(DType::F32, {2, 8});
  ElementProgram p{{DType::F32, DType::F32}, {0, 0}, {}, {{Code::Neg, DType::F32, 1, 0}}, {1}};
  p.joins = {{0, 2, 1}};
  CHECK_THROWS_WITH(ElementKernel(p, std::vector{a.view(), b.view()}, std::vector{out.view()}),
                    Catch::Contains("pieces do not make"));
}

TEST_CASE("outputs in the place of inputs", "[elementwise]") {
  const DType f = DType::F32;
  const std::int64_t n = 2000;
  Array x = random_array(f, {n}, 1), y = random_array(f, {n}, 2);
  Array a = x, b = y;
  // a, b = a + b, a - b in place, then a swap.
  run({{f, f, f, f}, {0, 1}, {}, {{Code::Add, f, 2, 0, 1}, {Code::Sub, f, 3, 0, 1}}, {2, 3}}, {a.view(), b.view()},
      {a.view(), b.view()});
  for (std::int64_t i = 0; i < n; ++i) {
    CHECK(a.as<float>()[i] == x.as<float>()[i] + y.as<float>()[i]);
    CHECK(b.as<float>()[i] == x.as<float>()[i] - y.as<float>()[i]);
  }
  a = x, b = y;
  run({{f, f}, {0, 1}, {}, {}, {1, 0}}, {a.view(), b.view()}, {a.view(), b.view()});
  CHECK(std::memcmp(a.data(), y.data(), static_cast<std::size_t>(n) * 4) == 0);
  CHECK(std::memcmp(b.data(), x.data(), static_cast<std::size_t>(n) * 4) == 0);
  a = x, b = y;
  run({{f, f, f}, {0, 1}, {}, {{Code::Add, f, 2, 0, 1}}, {2, 1}}, {a.view(), b.view()}, {b.view(), a.view()});
  CHECK(std::memcmp(a.data(), y.data(), static_cast<std::size_t>(n) * 4) == 0);
  CHECK(b.as<float>()[7] == x.as<float>()[7] + y.as<float>()[7]);
  Array h = random_array(DType::BF16, {n}, 3), g = h;
  run({{DType::BF16, DType::BF16}, {0}, {}, {{Code::Neg, DType::BF16, 1, 0}}, {1}}, {g.view()}, {g.view()});
  CHECK(get(g.view(), 999) == -get(h.view(), 999));
}

TEST_CASE("programs of many registers", "[elementwise]") {
  const DType f = DType::F64;
  Array x = random_array(f, {1000}, 1), out(f, {1000});
  ElementProgram p{{f}, {0}, {}, {}, {}};
  for (std::uint16_t i = 1; i <= 300; ++i) {  // 300 registers alive at once
    p.registers.push_back(f);
    p.code.push_back({Code::Add, f, i, static_cast<std::uint16_t>(i - 1), 0});
  }
  p.registers.push_back(f);
  p.code.push_back({Code::Identity, f, 301, 0});
  for (std::uint16_t i = 1; i <= 300; ++i) p.code.push_back({Code::Add, f, 301, 301, i});
  p.outputs = {301};
  run(p, {x.view()}, {out.view()});
  CHECK(out.as<double>()[5] == Approx(x.as<double>()[5] * (1 + 301.0 * 302 / 2 - 1)));
}

TEST_CASE("short lines that many rows have in common", "[elementwise]") {
  for (const Shape& shape : {Shape{4, 48, 3}, Shape{1, 5000, 3}, Shape{5, 640, 10}, Shape{2, 50, 3}, Shape{3, 999, 7}})
    for (const DType t : {DType::F32, DType::BF16}) {
      Array x = random_array(t, shape, 1), y = random_array(t, {shape[0], shape[2]}, 2), out(t, shape), want(t, shape);
      const View lines{t, shape, {shape[2], 0, 1}, y.data()};
      each_index(shape, [&](const Shape& i) {
        const std::int64_t k = (i[0] * shape[1] + i[1]) * shape[2] + i[2];
        set(want.view(), k, at(x.view(), i) + at(lines, i));
      });
      run({{t, t, t}, {0, 1}, {}, {{Code::Add, t, 2, 0, 1}}, {2}}, {x.view(), lines}, {out.view()});
      CHECK(list(out) == list(want));
    }
}

TEST_CASE("leaves that a program makes are those of a reduction of the whole", "[elementwise]") {
  struct Sizes {
    std::int64_t outer, reduced, inner;
  };
  for (const Sizes& s : {Sizes{1, 70001, 1}, Sizes{1, 66560, 1}, Sizes{1, 65536 + 40, 1}, Sizes{3, 30001, 1},
                         Sizes{2, 4096, 1}, Sizes{1, 1000, 77}, Sizes{1, 5000, 16}, Sizes{4, 65, 300},
                         Sizes{3, 64, 1024}, Sizes{40, 100, 32}, Sizes{1, 1600, 64}})
    for (const DType t : {DType::F32, DType::F64, DType::I32})
      for (const Reduce how : {Reduce::Sum, Reduce::Max, Reduce::Min}) {
        Array x = random_array(t, {s.outer, s.reduced, s.inner}, 7, 2), squares(t, x.shape),
              want(t, {s.outer, s.inner});
        run({{t, t}, {0}, {}, {{Code::Square, t, 1, 0}}, {1}}, {x.view()}, {squares.view()});
        reduce(how, squares.view(), std::array{1}, want.view());
        const Leaves leaves{s.reduced * s.inner, s.inner};
        for (const std::size_t threads : {1, 3}) {
          const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
          Array made(t, x.shape), parts(t, {s.outer, leaves.count(), s.inner}), got(t, {s.outer, s.inner});
          const ElementKernel kernel({{t, t}, {0}, {}, {{Code::Square, t, 1, 0}}, {1, 1}, 0, {}, {}, {how, {}}, leaves},
                                     std::vector{x.view()}, std::vector{x.view(), made.view()});
          void *in = x.data(), *out[] = {parts.data(), made.data()};
          for (const char* by : {"loops", "machine code"}) {
            kernel.run(&in, out);
            join_leaves(leaves, how, t, s.outer, parts.data(), got.data());
            INFO(s.outer << " " << s.reduced << " " << s.inner << " " << name(t) << " " << static_cast<int>(how) << " "
                         << by);
            CHECK(list(got) == list(want));
            CHECK(list(made) == list(squares));
            kernel.generate();
          }
          const std::int64_t each = kernel.together(), all = numel(x.shape);
          if (each > 0) {  // by parts, the last one first
            std::fill(parts.bytes.begin(), parts.bytes.end(), std::uint8_t{0xff});
            for (std::int64_t from = (all - 1) / each * each; from >= 0; from -= each)
              kernel.run_part(&in, out, from, std::min(from + each, all));
            join_leaves(leaves, how, t, s.outer, parts.data(), got.data());
            CHECK(list(got) == list(want));
          }
        }
      }
}

TEST_CASE("wrong programs are refused", "[elementwise]") {
  Array x(DType::F32, {4}), out(DType::F32, {4}), keys(DType::Key, {4});
  const auto make = [&](const ElementProgram& p, DType t) {
    const View in = t == DType::Key ? keys.view() : x.view(), o = out.view();
    ElementKernel(p, {&in, 1}, {&o, 1});
  };
  CHECK_THROWS_AS(make({{DType::F32, DType::F32}, {0}, {}, {{Code::Neg, DType::F32, 1, 1}}, {1}}, DType::F32),
                  RuntimeError);  // reads what nothing wrote
  CHECK_THROWS_AS(make({{DType::Key, DType::Key}, {0}, {}, {{Code::Exp, DType::Key, 1, 0}}, {1}}, DType::Key),
                  RuntimeError);
  CHECK_THROWS_AS(make({{DType::F32, DType::F32}, {0}, {}, {{Code::BitAnd, DType::F32, 1, 0, 0}}, {1}}, DType::F32),
                  RuntimeError);
  CHECK_THROWS_AS(make({{DType::F32}, {}, {}, {}, {0}}, DType::F32), RuntimeError);
  CHECK_THROWS_AS(make({{DType::F32, DType::F32}, {0}, {}, {{Code::IsNan, DType::F32, 1, 0}}, {1}}, DType::F32),
                  RuntimeError);  // gives bool
  CHECK_THROWS_AS(make({{DType::F32, DType::F32}, {0}, {}, {{Code::Neg, DType::F64, 1, 0}}, {1}}, DType::F32),
                  RuntimeError);
  CHECK_THROWS_AS(make({{DType::F32, DType::F32}, {0}, {}, {{Code::Neg, DType::F32, 9, 0}}, {1}}, DType::F32),
                  RuntimeError);
}

TEST_CASE("selects and keys", "[elementwise]") {
  for (const DType t : number_types()) {
    Array c = random_array(DType::Bool, {100}, 1), x = random_array(t, {100}, 2), y = random_array(t, {100}, 3),
          out(t, {100});
    run({{DType::Bool, t, t, t}, {0, 1, 2}, {}, {{Code::Select, t, 3, 0, 1, 2}}, {3}}, {c.view(), x.view(), y.view()},
        {out.view()});
    for (std::int64_t i = 0; i < 100; ++i)
      CHECK(get(out.view(), i) == get(c.as<std::uint8_t>()[i] ? x.view() : y.view(), i));
  }
  Array c(DType::Bool, {2}), k(DType::Key, {2}), l(DType::Key, {2}), out(DType::Key, {2});
  c.as<std::uint8_t>()[1] = 1;
  k.as<std::uint64_t>()[1] = ~std::uint64_t{0};
  l.as<std::uint64_t>()[0] = 7;
  run({{DType::Bool, DType::Key, DType::Key, DType::Key}, {0, 1, 2}, {}, {{Code::Select, DType::Key, 3, 0, 1, 2}}, {3}},
      {c.view(), k.view(), l.view()}, {out.view()});
  CHECK(out.as<std::uint64_t>()[0] == 7);
  CHECK(out.as<std::uint64_t>()[1] == ~std::uint64_t{0});
}

TEST_CASE("bits depend neither on threads nor on the place of an element", "[elementwise]") {
  Array x = random_array(DType::F32, {300001}, 9, 3);
  for (const Code c : {Code::Exp, Code::Log1p, Code::Tanh, Code::Sin, Code::Erf, Code::Sigmoid, Code::Cbrt}) {
    Array one_(DType::F32, x.shape), four(DType::F32, x.shape);
    const ElementProgram p{{DType::F32, DType::F32}, {0}, {}, {{c, DType::F32, 1, 0}}, {1}};
    {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
      run(p, {x.view()}, {one_.view()});
    }
    {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 4);
      run(p, {x.view()}, {four.view()});
    }
    CHECK(one_.bytes == four.bytes);
    for (const std::int64_t from : {1, 3, 7, 511, 299990}) {  // the same elements at another place of a vector
      Array part(DType::F32, {11});
      run(p, {contiguous(DType::F32, {11}, x.as<float>() + from)}, {part.view()});
      CHECK(std::memcmp(part.data(), one_.as<float>() + from, 44) == 0);
    }
  }
}

TEST_CASE("codes have loops for exactly the types that they take", "[elementwise]") {
  for (const Code c : kCodes)
    for (int t = 0; t < kDTypes; ++t) {
      const DType type = static_cast<DType>(t);
      INFO(facts(c).name << " of " << name(type));
      const bool there = c == Code::Convert ? vector_table().convert(type, DType::F32) != nullptr
                                            : vector_table().loop(c, type) != nullptr;
      CHECK(there == takes(c, type));
    }
  CHECK(to_string(facts(Code::Neg).takes) == "numbers");
  CHECK(to_string(facts(Code::BitAnd).takes) == "integers and bools");
  CHECK(to_string(kAnyType) == "numbers and bools and keys");
}

TEST_CASE("instruction sets agree bit for bit", "[elementwise]") {
  std::vector<const VectorTable*> tables{&sse2::table()};
#ifdef SHARD_X86
  if (__builtin_cpu_supports("x86-64-v3")) tables.push_back(&avx2::table());
  if (__builtin_cpu_supports("x86-64-v4")) tables.push_back(&avx512::table());
#endif
  for (const DType t : {DType::F32, DType::F64, DType::I8, DType::I32, DType::U64, DType::BF16})
    for (const Code c : kCodes) {
      if (!takes(c, t) || facts(c).operands > 2 || facts(c).gives == Gives::Named) continue;
      const DType held = t == DType::BF16 ? DType::F32 : t;
      Array x = random_array(held, {777}, 1, 2), y = random_array(held, {777}, 2, 2);
      if (is_float(held))
        set(x.view(), 5, kNan), set(y.view(), 9, -kInf), set(x.view(), 11, 0), set(x.view(), 12, 1e30);
      Array first(DType::F64, {777}), other(DType::F64, {777});
      tables[0]->loop(c, t)(x.data(), y.data(), nullptr, first.data(), 777);
      for (const VectorTable* table : tables) {
        table->loop(c, t)(x.data(), y.data(), nullptr, other.data(), 777);
        INFO(table->isa << " code " << facts(c).name << " of " << name(t));
        const std::int64_t bytes = 777 * static_cast<std::int64_t>(gives_bool(c) ? 1 : size_of(held));
        int wrong = 0;
        if (gives_bool(c) || !is_float(held)) {
          wrong = std::memcmp(first.data(), other.data(), static_cast<std::size_t>(bytes)) != 0;
        } else {  // nan has many bits
          for (std::int64_t i = 0; i < 777; ++i) {
            const View a{held, {777}, {1}, first.data()}, b{held, {777}, {1}, other.data()};
            wrong += std::isnan(get(a, i))
                         ? !std::isnan(get(b, i))
                         : get(a, i) != get(b, i) || std::signbit(get(a, i)) != std::signbit(get(b, i));
          }
        }
        CHECK(wrong == 0);
      }
    }
  Array x = random_array(DType::F32, {5000}, 3);
  for (const VectorTable* table : tables) {
    double sum = 0, first = 0;
    tables[0]->run(Reduce::Sum, DType::F32)(x.data(), 1000, &first);
    table->run(Reduce::Sum, DType::F32)(x.data(), 1000, &sum);
    CHECK(std::memcmp(&sum, &first, 4) == 0);
    for (const DType narrow : {DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2}) {
      Array a(narrow, {5000}), b(narrow, {5000});
      tables[0]->narrow(narrow).store(x.data(), nullptr, nullptr, a.data(), 5000);
      table->narrow(narrow).store(x.data(), nullptr, nullptr, b.data(), 5000);
      CHECK(a.bytes == b.bytes);
    }
  }
}
