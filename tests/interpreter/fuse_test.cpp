// Fusion: what becomes one instruction and what must not, and random graphs of chains, broadcasts, sums and
// rearrangements that give the same as one operation after another does, on one device and on meshes.
#include "interpreter/exec/fuse.h"

#include <chrono>

#include "interpreter/exec/recompute.h"
#include "interpreter/transform/distinct.h"
#include "tests/interpreter/execute.h"

using namespace shard;
using namespace shard::testing;

namespace {

std::vector<exec::Unit> units(const Graph& g) {
  std::vector<AxisSet> none(g.params.size());
  return exec::units_of(g, transform::distinct_axes(g, none, nullptr).of, nullptr);
}
std::size_t programs(const Graph& g) {
  std::size_t n = 0;
  for (const auto& u : units(g)) n += u.elementwise;
  return n;
}

// No unit may need what a later one makes.
void check_order(const Graph& g) {
  std::vector<char> made(g.types.size(), 0);
  for (Var p : g.params) made[static_cast<std::size_t>(p.id)] = 1;
  for (const auto& u : units(g)) {
    std::vector<Var> mine;
    for (int i : u.nodes)
      for (Var v : g.nodes[static_cast<std::size_t>(i)].outputs) mine.push_back(v);
    for (int i : u.nodes)
      for (Var v : g.nodes[static_cast<std::size_t>(i)].inputs)
        REQUIRE((made[static_cast<std::size_t>(v.id)] || std::find(mine.begin(), mine.end(), v) != mine.end()));
    for (Var v : mine) made[static_cast<std::size_t>(v.id)] = 1;
  }
}

struct Random {
  std::uint64_t s;
  std::uint64_t next() { return s = s * 6364136223846793005ull + 1442695040888963407ull, s >> 33; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
};

// A graph over arrays of m x n and what they reduce and spread to.
Graph random_graph(Random& r, int nodes, std::int64_t m = 4, std::int64_t n = 6) {
  return graph({f32({m, n}), f32({m, n}), f32({n}), f32({m, 1})}, [&](Builder& b, const Vars& in) {
    Vars have = in;
    auto any = [&] { return have[r.below(have.size())]; };
    auto like = [&](Var x) {  // another value of that shape, or x
      Vars same;
      for (Var v : have)
        if (b.type(v).shape == b.type(x).shape) same.push_back(v);
      return same[r.below(same.size())];
    };
    for (int i = 0; i < nodes; ++i) {
      Var x = any();
      runtime::Shape s = b.type(x).shape;
      switch (r.below(12)) {
        case 0: have.push_back(ir::add(b, x, like(x))); break;
        case 1: have.push_back(b.call("tanh", {ir::mul(b, x, like(x))})); break;
        case 2: have.push_back(b.call("tanh", {x})); break;
        case 3: have.push_back(ir::neg(b, x)); break;
        case 4: have.push_back(ir::select(b, b.call("lt", {x, like(x)}), x, like(x))); break;
        case 5:
          have.push_back(ir::convert(b, ir::convert(b, b.call("lt", {x, like(x)}), DType::I32), DType::F32));
          break;
        case 6:
          if (!s.empty())
            have.push_back(b.call("tanh", {ir::reduce_sum(b, x, {static_cast<std::int64_t>(r.below(s.size()))})}));
          break;
        case 7:
          if (s == runtime::Shape{n} || s == runtime::Shape{m, 1} || s.empty())
            have.push_back(ir::broadcast_to(b, x, {m, n}));
          break;
        case 8:
          if (s.size() == 2) have.push_back(ir::transpose(b, x, {1, 0}));
          break;
        case 9:
          if (s == runtime::Shape{m, n})
            have.push_back(ir::reshape(b, x, {n, m}));
          else if (s == runtime::Shape{n, m})
            have.push_back(ir::reshape(b, x, {m, n}));
          break;
        case 10:
          if (s == runtime::Shape{m, n} || s == runtime::Shape{n, m}) {  // the two halves change places
            const auto wide = s[1];
            auto part = [&](std::int64_t from, std::int64_t to) {
              return b.emit1(*b.core().slice, {x},
                             {{"start", ir::Ints{from}}, {"limit", ir::Ints{to}}, {"step", ir::Ints{1}}});
            };
            have.push_back(
                b.emit1(*b.core().concat, {part(wide / 2, wide), part(0, wide / 2)}, {{"axis", std::int64_t{-1}}}));
          }
          break;
        default:
          if (s == runtime::Shape{m, n}) {
            Var y = like(x);
            Var p = b.emit1(*b.core().contract, {x, y}, {{"spec", std::string("mk,nk->mn")}});
            have.push_back(b.call("tanh", {b.emit1(*b.core().contract, {p, y}, {{"spec", std::string("mk,kn->mn")}})}));
          }
      }
    }
    Vars out = {have.back()};
    for (int i = 0; i < 4; ++i) out.push_back(any());
    return out;
  });
}

}  // namespace

TEST_CASE("a chain is one program, whatever feeds it") {
  CHECK(programs(graph({f32({8, 4}), f32({4}), f32()}, [](Builder& b, const Vars& in) {
          Var x = ir::mul(b, in[0], ir::constant(b, 2, DType::F32));
          x = ir::add(b, x, ir::broadcast_to(b, in[1], {8, 4}));
          return Vars{b.call("tanh", {ir::mul(b, x, in[2])})};
        })) == 1);
}

TEST_CASE("an optimizer's update of one array is one program with three results") {
  Graph g = graph({f32({8, 4}), f32({8, 4}), f32({8, 4}), f32({8, 4})}, [](Builder& b, const Vars& in) {
    auto c = [&](double v) { return ir::constant(b, v, DType::F32); };
    Var m = ir::add(b, ir::mul(b, c(0.9), in[1]), ir::mul(b, c(0.1), in[3]));
    Var v = ir::add(b, ir::mul(b, c(0.999), in[2]), ir::mul(b, ir::mul(b, c(0.001), in[3]), in[3]));
    Var p = ir::sub(b, in[0], ir::div(b, ir::mul(b, c(0.01), m), ir::add(b, b.call("sqrt", {v}), c(1e-8))));
    return Vars{p, m, v};
  });
  CHECK(programs(g) == 1);
}

TEST_CASE("sums of rows and what is made of them are one program, sums of columns are not") {
  const auto shares = [](std::int64_t axis, runtime::Shape kept) {
    return graph({f32({8, 4})}, [&](Builder& b, const Vars& in) {
      Var e = b.call("exp", {in[0]});
      Var s = ir::reshape(b, ir::reduce_sum(b, e, {axis}), kept);
      return Vars{ir::div(b, e, ir::broadcast_to(b, s, {8, 4}))};
    });
  };
  const Graph rows = shares(-1, {8, 1}), columns = shares(-2, {1, 4});
  CHECK(programs(rows) == 1);
  CHECK(programs(columns) == 2);
  check_order(rows);
  check_order(columns);
  const Graph added = graph({f32({8, 8})}, [&](Builder& b, const Vars& in) {  // along the rows, and not by row
    return Vars{ir::add(b, b.call("tanh", {in[0]}), b.call("tanh", {ir::reduce_sum(b, in[0], {-1})}))};
  });
  CHECK(programs(added) == 2);
}

TEST_CASE("what is made of sums alone is one program beside them") {
  const Graph g = graph({f32({64, 32})}, [](Builder& b, const Vars& in) {
    Var mean = ir::mul(b, ir::reduce_sum(b, in[0], {-1}), ir::constant(b, 1.0 / 32, DType::F32));
    return Vars{b.call("tanh", {ir::add(b, mean, ir::constant(b, 1, DType::F32))})};
  });
  CHECK(units(g).size() == 4);  // the sum, two constants, and the three operations
  CHECK(programs(g) == 1);
  check_order(g);
}

TEST_CASE("a program of rows has the bits that its operations have one by one, rows of any length") {
  for (const std::int64_t n : {2, 3, 64, 511, 512, 1024, 1500, 5000})
    for (const DType t : {DType::F32, DType::F64, DType::BF16}) {
      const Type x = Type::of(DType::F32, {40, n}), scale = Type::of(DType::F32, {n});
      const Graph g = graph({x, scale}, [&](Builder& b, const Vars& given) {
        const Vars in{ir::convert(b, given[0], t), ir::convert(b, given[1], t)};
        const auto mean = [&](Var v) {
          Var s = ir::reshape(b, ir::reduce_sum(b, v, {-1}), {40, 1});
          return b.call("tanh", {s});
        };
        Var centred = ir::sub(b, in[0], mean(in[0]));
        Var most = b.call("reduce_max", {centred}, {{"axes", ir::Ints{-1}}});
        Var scaled = ir::mul(b, ir::mul(b, centred, mean(ir::mul(b, centred, centred))), in[1]);
        Var sums = ir::add(b, most, ir::reduce_sum(b, scaled, {-1}));
        return Vars{ir::convert(b, scaled, DType::F32), ir::convert(b, sums, DType::F32)};
      });
      const Arrays given{numbers(x, 1), numbers(scale, 2)};
      CHECK(programs(g) <= 2);  // the cast of the scale is one
      CHECK(flat(execute(g, given, nullptr, {})) == flat(execute(g, given, nullptr, {}, true)));  // exact: one by one
    }
}

TEST_CASE("a long reduction is one instruction with what makes its elements") {
  // Of columns; of everything; in the middle, whose mean is subtracted: then the difference is made twice, not kept.
  const auto loss = [](const runtime::Shape& shape, const ir::Ints& axes) {
    return graph({f32(shape), f32(shape)}, [&](Builder& b, const Vars& in) {
      Var d = b.call("tanh", {ir::sub(b, in[0], in[1])});
      return Vars{ir::reduce_sum(b, ir::mul(b, d, d), axes), b.call("reduce_max", {ir::mul(b, d, d)}, {{"axes", axes}}),
                  d};
    });
  };
  for (const auto& [shape, axes] : std::vector<std::pair<runtime::Shape, ir::Ints>>{{{1000, 80}, {-2}},
                                                                                    {{300, 301}, {-1, -2}},
                                                                                    {{90001}, {-1}},
                                                                                    {{3, 500, 64}, {-2}},
                                                                                    {{10, 100, 100}, {-3, -2}}}) {
    const Graph g = loss(shape, axes);
    INFO(runtime::to_string(shape));
    CHECK(units(g).size() == 1);
    check_order(g);
    const Arrays given{numbers(f32(shape), 1), numbers(f32(shape), 2)};
    CHECK(flat(execute(g, given, nullptr, {})) == flat(execute(g, given, nullptr, {}, true)));
  }
  CHECK(units(loss({1000, 8}, {-2})).size() > 1);         // few columns
  CHECK(units(loss({40, 8, 300}, {-3, -1})).size() > 1);  // not side by side
  CHECK(units(loss({40, 2000}, {-2})).size() > 1);        // a short dimension
}

TEST_CASE("long reductions of parts on devices") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  const Type x = f32({400, 512});
  for (const ir::Ints& axes : {ir::Ints{-2}, ir::Ints{-1, -2}}) {
    const Graph g = graph({x}, [&](Builder& b, const Vars& in) {
      Var c = b.call("tanh", {in[0]});
      return Vars{ir::reduce_sum(b, ir::mul(b, c, c), axes), c};
    });
    const Arrays given{numbers(x, 3)};
    const auto want = flat(execute(g, given, nullptr, {}));
    for (const Sharding& layout :
         {spec({{}, {}}), spec({{0}, {}}), spec({{}, {1}}), spec({{0}, {1}}), spec({{}, {1, 0}})})
      check_close(flat(execute(g, given, m, {layout})), want, 1e-4);
  }
}

// The forward part ends in a product, and what goes back reads what came before it.
TEST_CASE("cheap values are made again where they are read, of what is read there") {
  const std::int64_t n = 256;
  const Graph g = graph({f32({n, n}), f32({n, n})}, [](Builder& b, const Vars& in) {
    const auto c = [&](double v) { return ir::constant(b, v, DType::F32); };
    Var u = b.emit1(*b.core().contract, {in[0], in[1]}, {{"spec", std::string("mk,kn->mn")}});
    Var square = ir::mul(b, u, u), inner = ir::add(b, u, ir::mul(b, square, c(0.04)));
    Var t = b.call("tanh", {inner}), half = ir::mul(b, u, c(0.5)), one = ir::add(b, t, c(1));
    Var y = b.emit1(*b.core().contract, {ir::mul(b, half, one), in[1]}, {{"spec", std::string("mk,kn->mn")}});
    Var slope = ir::sub(b, c(1), ir::mul(b, t, t));
    Var back = ir::add(b, ir::mul(b, one, y), ir::mul(b, ir::mul(b, half, slope), square));
    return Vars{ir::mul(b, ir::mul(b, back, inner), u)};
  });
  std::vector<exec::Unit> all = units(g);
  const std::vector<AxisSet> none(g.params.size());
  exec::recompute(g, transform::distinct_axes(g, none, nullptr).of, nullptr, all);
  std::vector<std::string_view> again;
  for (const exec::Unit& u : all)
    for (int i : u.again) again.push_back(g.nodes[static_cast<std::size_t>(i)].op->name);
  std::sort(again.begin(), again.end());
  // Of square, inner, half, one and the tanh, which is dear: the first four, with the product that inner is made of.
  CHECK(again == std::vector<std::string_view>{"add", "add", "mul", "mul", "mul"});
  const Arrays given{numbers(f32({n, n}), 1), numbers(f32({n, n}), 2)};
  CHECK(flat(execute(g, given, nullptr, {})) == flat(execute(g, given, nullptr, {}, true)));
}

TEST_CASE("what one other program reads is made there again, unless that keeps more") {
  const auto deviation = [](DType kept) {
    return graph({f32({512, 256})}, [&](Builder& b, const Vars& in) {
      Var mean = b.call("tanh", {ir::reshape(b, ir::reduce_sum(b, in[0], {-2}), {1, 256})});
      Var d = ir::convert(b, ir::sub(b, in[0], mean), kept);
      Var s = ir::reshape(
          b, ir::reduce_sum(b, ir::mul(b, ir::convert(b, d, DType::F32), ir::convert(b, d, DType::F32)), {-2}),
          {1, 256});
      return Vars{ir::div(b, ir::convert(b, d, DType::F32), s)};
    });
  };
  for (const auto& [kept, times] : {std::pair{DType::F32, 1}, std::pair{DType::BF16, 0}}) {
    const Graph g = deviation(kept);
    std::vector<exec::Unit> all = units(g);
    exec::recompute(g, transform::distinct_axes(g, std::vector<AxisSet>(1), nullptr).of, nullptr, all);
    int made = 0;
    for (const exec::Unit& u : all)
      for (int i : u.again) made += g.nodes[static_cast<std::size_t>(i)].op->name == "sub";
    CHECK(made == times);
    const Arrays given{numbers(f32({512, 256}), 1)};
    CHECK(flat(execute(g, given, nullptr, {})) == flat(execute(g, given, nullptr, {}, true)));
  }
}

TEST_CASE("random graphs of large arrays have the bits of one operation after another") {
  Random r{1234};
  for (int round = 0; round < 60; ++round) {
    INFO("round " << round);
    const std::int64_t m = round < 30 ? 160 : 320;  // of long reductions too
    const Graph g = random_graph(r, 8 + static_cast<int>(r.below(40)), m, 224);
    Arrays args;
    for (Var p : g.params)
      args.push_back(numbers(g.type(p), static_cast<unsigned>(round) + static_cast<unsigned>(p.id)));
    CHECK(flat(execute(g, args, nullptr, {})) == flat(execute(g, args, nullptr, {}, true)));
  }
}

TEST_CASE("two groups that need each other by turns stay apart") {
  // a -> sum -> c and b -> c, a feeds b: {a, b, c} would need the sum of its own value.
  Graph g = graph({f32({4, 4})}, [](Builder& b, const Vars& in) {
    Var a = ir::neg(b, in[0]);
    Var q = ir::add(b, a, in[0]);
    Var s = ir::broadcast_to(b, ir::reduce_sum(b, a, {0, 1}), {4, 4});
    Var t = ir::reshape(b, ir::neg(b, ir::reshape(b, q, {16})), {4, 4});
    return Vars{ir::add(b, ir::mul(b, q, s), t)};
  });
  check_order(g);
  Arrays args = {numbers(f32({4, 4}), 3)};
  check_close(flat(execute(g, args, nullptr, {})), run(g, args));
}

// Forward from x to sin(x), and back by cos(x): what is computed early and used late leads past every other group.
TEST_CASE("the gradient of a long chain is few programs, found in time that grows with its length") {
  constexpr int kSteps = 20000;
  Graph g = graph({f32({4})}, [](Builder& b, const Vars& in) {
    Vars x = in;
    for (int i = 0; i < kSteps; ++i) x.push_back(b.call("sin", {x.back()}));
    Var d = x.back();
    for (int i = kSteps; i-- > 0;) d = ir::mul(b, d, b.call("cos", {x[static_cast<std::size_t>(i)]}));
    return Vars{d};
  });
  const auto begin = std::chrono::steady_clock::now();
  CHECK(programs(g) < 3 * kSteps / 40);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));  // 0.1 s; it was 40
}

TEST_CASE("random graphs are ordered soundly and give the same fused") {
  Random r{4711};
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  const std::vector<Sharding> wide = {spec({{}, {}}), spec({{0}, {}}), spec({{}, {1}}), spec({{0}, {1}}),
                                      spec({{0, 1}, {}})};
  const std::vector<Sharding> row = {spec({{}}), spec({{0}}), spec({{1}})},
                              column = {spec({{}, {}}), spec({{0}, {}}), spec({{1, 0}, {}})};
  for (int round = 0; round < 120; ++round) {
    INFO("round " << round);
    Graph g = random_graph(r, 4 + static_cast<int>(r.below(40)));
    check_order(g);
    Arrays args;
    for (Var p : g.params)
      args.push_back(numbers(g.type(p), static_cast<unsigned>(round) + static_cast<unsigned>(p.id)));
    auto want = run(g, args);
    check_close(flat(execute(g, args, nullptr, {})), want, 1e-4);
    check_close(flat(execute(g, args, m, {wide[r.below(5)], wide[r.below(5)], row[r.below(3)], column[r.below(3)]})),
                want, 1e-4);
  }
}
