// Machine code of elementwise programs beside the loops, bit for bit.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string_view>

#include "runtime/kernels/vector/loop_table.h"
#include "tests/runtime/element_programs.h"

using namespace shard::runtime;
using namespace shard::runtime::test;

namespace {

// Equal bits, or both nan.
int differing(const Array& a, const Array& b) {
  int wrong = 0;
  Array x = a, y = b;
  const auto size = static_cast<std::int64_t>(size_of(a.dtype));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const bool same = std::memcmp(x.bytes.data() + i * size, y.bytes.data() + i * size, size_of(a.dtype)) == 0;
    if (!same && !(is_float(a.dtype) && std::isnan(get(x.view(), i)) && std::isnan(get(y.view(), i)))) ++wrong;
  }
  return wrong;
}

struct Outcome {
  int differ = 0;
  bool generated = false;
};
// A run of loops beside one of machine code; of lines of the results, where it is said of how many elements.
Outcome compared(const ElementProgram& p, const std::vector<View>& in, std::vector<Array> first,
                 std::int64_t line = 0) {
  std::vector<Array> last = first;
  std::vector<View> views;
  for (Array& a : first) {
    std::fill(a.bytes.begin(), a.bytes.end(), static_cast<unsigned char>(0xcd));
    views.push_back(a.view());
    if (line > 0) views.back().shape.back() = line;
  }
  const ElementKernel kernel(p, in, views);
  std::vector<void*> from, to, to_last;
  for (const View& v : in) from.push_back(v.data);
  for (Array& a : first) to.push_back(a.data());
  for (Array& a : last) to_last.push_back(a.data());
  kernel.run(from.data(), to.data());
  Outcome out{0, kernel.generate()};
  for (Array& a : last) std::fill(a.bytes.begin(), a.bytes.end(), static_cast<unsigned char>(0xcd));
  kernel.run(from.data(), to_last.data());
  for (std::size_t i = 0; i < first.size(); ++i) {
    out.differ += differing(first[i], last[i]);
    for (std::size_t b = last[i].bytes.size() - 64; b < last[i].bytes.size(); ++b)
      out.differ += last[i].bytes[b] != 0xcd;
  }
  return out;
}

bool can_generate() {
  const char* wish = std::getenv("SHARD_KERNELS");
  return SHARD_GENERATED && std::string_view(vector_table().isa) != "sse2" &&
         !(wish && std::string_view(wish) == "loops");
}

const std::vector<double> kSpecial{0.0,    -0.0, 1.0,     -1.0, 0.5,   -0.5, 2.0,  -2.0, 1e-40,
                                   -1e-40, 1e30, -1e30,   kInf, -kInf, kNan, 88.7, 89.5, -103.9,
                                   -104.5, 0.3,  -0.9999, 3.0,  4.0,   -4.5, 7.25, 1e-7, -88.1};
Array filled(DType t, Shape shape, std::uint32_t seed) {
  Array a(t, shape);
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = random() % 4 == 0 ? kSpecial[random() % kSpecial.size()] : (random() / 4294967296.0 - 0.5) * 12;
    if (is_float(t))
      set(a.view(), i, x);
    else if (t == DType::Bool)
      set(a.view(), i, random() % 2);
    else if (size_of(t) == 1)
      set(a.view(), i, static_cast<double>(random() % 256) - (t == DType::U8 ? 0 : 128));
    else
      set(a.view(), i,
          random() % 8 == 0 ? (random() % 2 ? 2147483647.0 : -2147483648.0) : static_cast<double>(random() % 41) - 20);
  }
  return a;
}

}  // namespace

TEST_CASE("machine code of each code agrees with its loop", "[elementwise][generated]") {
  int generated = 0;
  for (const DType t : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::Bool})
    for (const Code c : kCodes) {
      if (!takes(c, t) || facts(c).gives == Gives::Named) continue;
      for (const std::int64_t n : {1, 3, 8, 16, 17, 64, 100, 256, 1003}) {
        Array x = filled(t, {n}, 1), y = filled(t, {n}, 2), b = filled(DType::Bool, {n}, 3);
        const DType to = gives_bool(c) ? DType::Bool : t;
        const int operands = facts(c).operands;
        ElementProgram p{{operands == 3 ? DType::Bool : t, t, t, to}, {0}, {}, {{c, t, 3, 0, 1, 2}}, {3}};
        std::vector<View> in{operands == 3 ? b.view() : x.view()};
        if (operands > 1) p.inputs.push_back(1), in.push_back(y.view());
        if (operands > 2) p.inputs.push_back(2), in.push_back(x.view());
        const Outcome out = compared(p, in, {Array(to, {n})});
        CAPTURE(facts(c).name, name(t), n);
        CHECK(out.differ == 0);
        generated += out.generated;
      }
    }
  if (can_generate()) CHECK(generated > 600);
}

TEST_CASE("machine code of conversions agrees with their loops", "[elementwise][generated]") {
  for (const DType from :
       {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I8, DType::U8, DType::Bool})
    for (const DType to :
         {DType::F32, DType::F64, DType::I32, DType::I8, DType::U8, DType::Bool, DType::BF16, DType::F16, DType::I64})
      for (const std::int64_t n : {3, 8, 64, 1003, 4096}) {
        Array x = filled(from, {n}, 5);
        for (std::int64_t i = 0; from == DType::F32 && i < n; i += 3) set(x.view(), i, std::ldexp(get(x.view(), i), 6));
        ElementProgram p{{from, to}, {0}, {}, {{Code::Convert, from, 1, 0}}, {1}};
        CAPTURE(name(from), name(to), n);
        CHECK(compared(p, {x.view()}, {Array(to, {n})}).differ == 0);
      }
}

TEST_CASE("machine code reads and writes narrow floats where they lie", "[elementwise][generated]") {
  for (const DType narrow : {DType::BF16, DType::F16})
    for (const std::int64_t n : {1, 3, 8, 16, 17, 64, 100, 256, 1003, 5000}) {
      const DType f = DType::F32;
      Array x = filled(narrow, {n}, 1), y = filled(f, {n}, 2), one = of(narrow, {1.5});
      const View same{narrow, {n}, {0}, one.data()};
      CAPTURE(name(narrow), n);
      // x * s of narrow ones, s one for all, stored twice; and the same of y, which is not narrow, stored as both.
      const ElementProgram alike{{narrow, narrow, narrow}, {0, 1}, {}, {{Code::Mul, narrow, 2, 0, 1}}, {2, 2}};
      CHECK(compared(alike, {x.view(), same}, {Array(narrow, {n}), Array(narrow, {n})}).differ == 0);
      const ElementProgram mixed{{f, narrow, f, f, narrow},
                                 {0, 1},
                                 {},
                                 {{Code::Convert, narrow, 2, 1}, {Code::Mul, f, 3, 0, 2}, {Code::Convert, f, 4, 3}},
                                 {3, 4}};
      CHECK(compared(mixed, {y.view(), same}, {Array(f, {n}), Array(narrow, {n})}).differ == 0);
      // In place; and given back as it is.
      const ElementProgram kept{{narrow, narrow}, {0}, {}, {{Code::Abs, narrow, 1, 0}}, {1, 0}};
      CHECK(compared(kept, {x.view()}, {Array(narrow, {n}), Array(narrow, {n})}).differ == 0);
      const ElementKernel kernel({{narrow, narrow}, {0}, {}, {{Code::Neg, narrow, 1, 0}}, {1}},
                                 std::vector<View>{x.view()}, std::vector<View>{x.view()});
      Array z = x;
      void* const at[]{z.data()};
      kernel.run(at, at);
      if (can_generate()) CHECK(kernel.generate());
      kernel.run(at, at);
      CHECK(differing(x, z) == 0);
    }
}

namespace {

// Straight-line code over registers of all kinds, with rows or without.
struct RandomProgram {
  ElementProgram p;
  std::vector<Array> arrays, results;
  std::vector<View> in;

  RandomProgram(std::uint32_t seed, std::int64_t lines, std::int64_t row, bool singles = false) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const DType types[]{DType::F32, DType::F32, DType::BF16, DType::Bool, DType::I32, DType::F64, DType::F16};
    const std::size_t kinds = singles ? 2 : seed % 3 == 0 ? 7 : seed % 3 == 1 ? 5 : 4;
    p.row = row > 1 ? row : 0;
    const Shape whole = row > 1 ? Shape{lines, row} : Shape{lines * row};
    const auto reg = [&](DType t, bool of_row) {
      p.registers.push_back(t), p.of_row.push_back(of_row);
      return static_cast<std::uint16_t>(p.registers.size() - 1);
    };
    const std::size_t inputs = 2 + below(4);
    for (std::size_t i = 0; i < inputs; ++i) {
      const DType t = types[below(kinds)];
      const bool of_row = row > 1 && below(4) == 0;
      const Shape shape = of_row ? Shape{lines} : whole;
      arrays.push_back(filled(t, whole, seed + static_cast<std::uint32_t>(i)));
      Strides strides(shape.size(), 0);
      const std::size_t way = below(6);  // dense, one for all, the same for each row, backwards
      if (way != 0) strides.back() = 1;
      if (way > 1 && shape.size() > 1) strides[0] = row;
      View v{t, shape, strides, arrays.back().bytes.data()};
      if (way == 2 && shape.size() == 1)
        v.strides[0] = -1,
        v.data = arrays.back().bytes.data() + (numel(shape) - 1) * static_cast<std::int64_t>(size_of(t));
      in.push_back(v);
      p.inputs.push_back(reg(t, of_row));
    }
    for (int i = 0; i < 3; ++i) {
      const double value = kSpecial[below(kSpecial.size())];
      const DType t = types[below(kinds)];
      p.constants.push_back({reg(t, false), value, static_cast<std::int64_t>(below(2))});
    }
    for (std::size_t i = 0, steps = 3 + below(30); i < steps; ++i) step(random, row);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto out = static_cast<std::uint16_t>(below(p.registers.size()));
      p.outputs.push_back(out);
      results.emplace_back(p.registers[out], p.is_of_row(out) ? Shape{lines} : whole);
    }
  }

 private:
  void step(std::mt19937& random, std::int64_t row) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const auto any = [&](auto wanted) -> int {  // a register that is
      std::vector<int> found;
      for (std::size_t r = 0; r < p.registers.size(); ++r)
        if (wanted(r)) found.push_back(static_cast<int>(r));
      return found.empty() ? -1 : found[below(found.size())];
    };
    const auto add = [&](Instr i, DType to, bool of_row) {
      p.registers.push_back(to), p.of_row.push_back(of_row);
      i.dst = static_cast<std::uint16_t>(p.registers.size() - 1);
      p.code.push_back(i);
    };
    const int a = any([&](std::size_t) { return true; });
    const auto r = static_cast<std::uint16_t>(a);
    const DType t = p.registers[r];
    const bool of_row = p.is_of_row(r);
    if (row > 1 && below(5) == 0) {
      Instr i{Code::Identity, t, 0, r};
      if (of_row)
        i.repeat = true;
      else
        i.reduce = t == DType::Bool ? (below(2) ? Reduce::And : Reduce::Or) : static_cast<Reduce>(below(4));
      return add(i, t, !of_row);
    }
    const Code c = kCodes[below(kCodes.size())];
    if (!takes(c, t) || c == Code::Complex) return;
    const auto like = [&](DType type) {
      return static_cast<std::uint16_t>(any([&](std::size_t k) {
        return p.registers[k] == type && p.is_of_row(static_cast<std::uint16_t>(k)) == of_row;
      }));
    };
    if (c == Code::Convert) {
      const DType to = std::array{DType::F32, DType::Bool, DType::I32, DType::BF16}[below(4)];
      return add({c, t, 0, r}, to, of_row);
    }
    Instr i{c, t, 0, r, like(t), like(t)};
    if (facts(c).operands == 3) {
      i.a = like(DType::Bool);
      if (i.a == 0xffff) return;
    }
    add(i, gives_bool(c) ? DType::Bool : t, of_row);
  }
};

}  // namespace

TEST_CASE("machine code of random programs agrees with the loops", "[elementwise][generated]") {
  int generated = 0;
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    const std::int64_t rows[]{1, 1, 5, 8, 33, 100, 700, 64, 128, 448, 1024};  // sums of some are in the code
    const std::int64_t row = rows[seed % 11],
                       most = row < 100   ? 23
                              : row < 700 ? 9
                                          : 2,
                       lines = row == 1 ? 1 + seed * 7 : 1 + seed % most;  // little enough for a first run of loops
    RandomProgram r(seed, lines, row);
    const Outcome out = compared(r.p, r.in, r.results);
    CAPTURE(seed, row, lines);
    CHECK(out.differ == 0);
    generated += out.generated;
  }
  if (can_generate()) CHECK(generated > 300);
}

TEST_CASE("machine code of one short row agrees with the loops", "[elementwise][generated]") {
  int generated = 0;
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    const std::int64_t row = 2 + seed % 16;
    RandomProgram r(seed, 1, row, seed % 4 != 0);
    const Outcome out = compared(r.p, r.in, r.results);
    CAPTURE(seed, row);
    CHECK(out.differ == 0);
    generated += out.generated;
  }
  if (can_generate()) CHECK(generated > 300);
}

TEST_CASE("machine code reads and writes lines as the loops do", "[elementwise][generated]") {
  const DType b = DType::Bool;
  std::mt19937 random(3);
  for (const DType t : {DType::F32, DType::BF16, DType::F16, DType::F64, DType::I32, b})
    for (const std::int64_t length : {16, 17, 32, 40, 64, 100, 128, 700})
      for (std::size_t gap = 0; gap < 4; ++gap) {
        const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 5), outer = 1 + random() % 3,
                           apart = length + static_cast<std::int64_t>(gap);
        // x y + z; whether x < z; z where it is, else the sum.
        const ElementProgram p{
            {t, t, t, t, t, b, t},
            {0, 1, 2},
            {},
            {{Code::Mul, t, 3, 0, 1}, {Code::Add, t, 4, 3, 2}, {Code::Lt, t, 5, 0, 2}, {Code::Select, t, 6, 5, 2, 4}},
            {4, 5, 6}};
        std::vector<Array> arrays, results;
        for (std::uint32_t i = 0; i < 3; ++i) arrays.push_back(filled(t, {rows, outer, apart}, i));
        for (const DType out : {t, b, t}) results.emplace_back(out, Shape{outer, rows, length + 3});
        std::vector<View> in;
        for (Array& a : arrays) {
          in.push_back({t, {outer, rows, length}, {apart, outer * apart, 1}, a.bytes.data()});
          for (std::int64_t& stride : in.back().strides)
            if (random() % 4 == 0) stride = 0;
        }
        const Outcome out = compared(p, in, results, length);
        CAPTURE(name(t), length, rows, outer, gap);
        CHECK(out.differ == 0);
        if (can_generate()) CHECK(out.generated);
      }
}

TEST_CASE("machine code of quotients by one number gives what the divider gives", "[elementwise][generated]") {
  constexpr std::int64_t kMany = 1 << 16;
  std::mt19937 random(1);
  Array any(DType::F32, {kMany}), near(DType::F32, {kMany});  // of all bits; of magnitudes from 2^-12 to 2^12
  for (std::int64_t i = 0; i < kMany; ++i) {
    const std::uint32_t all = random(), some = (all & 0x807fffffu) | (115 + all % 24) << 23;
    std::memcpy(any.bytes.data() + 4 * i, &all, 4);
    std::memcpy(near.bytes.data() + 4 * i, &some, 4);
  }
  std::vector<double> divisors = kSpecial;
  for (const double x : {1.0 + 0x1p-23, 2.0 - 0x1p-23, 3.0, 1024.0, 1.0 / 1024, 0x1p-25, 0x1p25, 0x1.8p25,
                         0x1.fffffep-26, -0.7, 1e7, 0x1p-126, 0x1p127, 0x1p126})
    divisors.push_back(x);
  for (int i = 0; i < 20; ++i)
    divisors.push_back(std::ldexp(1.0 + (random() >> 9) * 0x1p-23, static_cast<int>(random() % 8)));
  const DType f = DType::F32;
  for (const double d : divisors)
    for (Array* x : {&any, &near}) {
      Array by = of(f, {d});
      const View same{f, {kMany}, {0}, by.bytes.data()};
      CAPTURE(d);
      CHECK(compared({{f, f, f}, {0, 1}, {}, {{Code::Div, f, 2, 0, 1}}, {2}}, {x->view(), same}, {Array(f, {kMany})})
                .differ == 0);
      CHECK(compared({{f, f, f}, {0}, {{1, d, 0}}, {{Code::Div, f, 2, 0, 1}}, {2}}, {x->view()}, {Array(f, {kMany})})
                .differ == 0);
    }
}

TEST_CASE("machine code of quotients of integers gives what their loops give", "[elementwise][generated]") {
  constexpr std::int32_t kTop = 2147483647, kLow = -kTop - 1;
  std::mt19937 random(2);
  const DType t = DType::I32;
  std::vector<std::int32_t> divisors{0, 1, -1, 2, -2, 3, -3, 7, -7, 10, 1000, 46341, kTop, -kTop, kLow, kTop - 1};
  for (int i = 0; i < 20; ++i) divisors.push_back(static_cast<std::int32_t>(random() >> (random() % 31)));
  for (const std::int32_t d : divisors) {
    std::vector<std::int32_t> values{0, 1, -1, kTop, kLow, kTop - 1, kLow + 1};
    for (int i = 0; i < 500; ++i) {
      values.push_back(static_cast<std::int32_t>(random()));
      const auto multiple = static_cast<std::uint32_t>(d) * (random() >> (random() % 32));  // and what is next to it
      for (const std::uint32_t next : {0u, 1u, ~0u}) values.push_back(static_cast<std::int32_t>(multiple + next));
    }
    const auto n = static_cast<std::int64_t>(values.size());
    Array x(t, {n}), y(t, {n});
    std::copy(values.begin(), values.end(), x.as<std::int32_t>());
    for (std::int64_t i = 0; i < n; ++i)  // this divisor and others
      y.as<std::int32_t>()[i] = i % 2 ? d : divisors[static_cast<std::size_t>(i) % divisors.size()];
    for (const Code code : {Code::Div, Code::FloorDiv, Code::Mod}) {
      CAPTURE(facts(code).name, d);
      const ElementProgram known{{t, t, t}, {0}, {{1, 0, d}}, {{code, t, 2, 0, 1}}, {2}};
      const ElementProgram unknown{{t, t, t}, {0, 1}, {}, {{code, t, 2, 0, 1}}, {2}};
      for (const Outcome& out :
           {compared(known, {x.view()}, {Array(t, {n})}), compared(unknown, {x.view(), y.view()}, {Array(t, {n})})}) {
        CHECK(out.differ == 0);
        if (can_generate()) CHECK(out.generated);
      }
    }
  }
}

TEST_CASE("machine code of shifts by a known number gives what their loops give", "[elementwise][generated]") {
  const DType t = DType::I32;
  Array x = filled(t, {1003}, 1);
  for (const double by : {0.0, 1.0, 7.0, 30.0, 31.0, 32.0, 33.0, 64.0, -1.0, -2147483648.0})
    for (const Code code : {Code::Shl, Code::Shr}) {
      CAPTURE(facts(code).name, by);
      const ElementProgram p{{t, t, t}, {0}, {{1, by, static_cast<std::int64_t>(by)}}, {{code, t, 2, 0, 1}}, {2}};
      const Outcome out = compared(p, {x.view()}, {Array(t, {1003})});
      CHECK(out.differ == 0);
      if (can_generate()) CHECK(out.generated);
    }
}

TEST_CASE("machine code compares floats whose signs were made as bits as floats", "[elementwise][generated]") {
  const DType f = DType::F32, b = DType::Bool;
  Array x = filled(f, {1003}, 1), y = filled(f, {1003}, 2);
  for (const Code c : {Code::Tanh, Code::Abs, Code::Neg, Code::Sign}) {
    const ElementProgram less{
        {f, f, f, b, f}, {0, 1}, {}, {{c, f, 2, 0}, {Code::Lt, f, 3, 2, 1}, {Code::Select, f, 4, 3, 0, 1}}, {4}};
    const ElementProgram smaller{{f, f, f, f, b, f},
                                 {0, 1},
                                 {},
                                 {{c, f, 2, 0}, {c, f, 3, 1}, {Code::Lt, f, 4, 2, 3}, {Code::Select, f, 5, 4, 2, 3}},
                                 {5}};
    for (const ElementProgram& p : {less, smaller}) {
      const Outcome out = compared(p, {x.view(), y.view()}, {Array(f, {1003})});
      CAPTURE(facts(c).name);
      CHECK(out.differ == 0);
    }
  }
}

TEST_CASE("machine code of more operands than addresses fit into registers", "[elementwise][generated]") {
  constexpr std::uint16_t kMany = 30;
  for (const std::int64_t n : {1, 8, 1003}) {
    ElementProgram p{};
    std::vector<Array> arrays, results;
    std::vector<View> in;
    for (std::uint16_t i = 0; i < kMany; ++i) arrays.push_back(filled(DType::F32, {n}, i));
    for (std::uint16_t i = 0; i < kMany; ++i) {
      p.registers.insert(p.registers.end(), 2, DType::F32);
      p.inputs.push_back(static_cast<std::uint16_t>(2 * i));
      const auto before = static_cast<std::uint16_t>(i == 0 ? 0 : 2 * i - 1);
      p.code.push_back(
          {Code::Add, DType::F32, static_cast<std::uint16_t>(2 * i + 1), static_cast<std::uint16_t>(2 * i), before});
      p.outputs.push_back(static_cast<std::uint16_t>(2 * i + 1));
      in.push_back(arrays[i].view());
      results.emplace_back(DType::F32, Shape{n});
    }
    const Outcome out = compared(p, in, results);
    CAPTURE(n);
    CHECK(out.differ == 0);
    CHECK(out.generated == can_generate());
  }
}
