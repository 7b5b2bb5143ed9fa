// What a block reads of its neighbours': edges are sent, and neither the block with them nor a framed array is ever
// made. Values are those of the whole computation; bytes and memory by derivation.
#include "interpreter/transform/passes.h"
#include "tests/interpreter/execute.h"

using namespace shard;
using namespace shard::testing;

namespace {

const MeshRef kRod = mesh({{"X", 8}});
const std::int64_t kRow = 32 * 4, kBlock = 8 * kRow;  // bytes, of [64, 32] in f32

Var padded(Builder& b, Var x, ir::Pairs widths) {
  return b.emit1(*b.core().pad, {x, ir::constant(b, 0, DType::F32, true)}, {{"widths", std::move(widths)}});
}
Var part(Builder& b, Var x, ir::Ints start, ir::Ints limit) {
  ir::Ints step(start.size(), 1);
  return b.emit1(*b.core().slice, {x},
                 {{"start", std::move(start)}, {"limit", std::move(limit)}, {"step", std::move(step)}});
}

struct Costs {
  std::int64_t sent = 0, temporaries = 0;
};
Costs costs(const Graph& g, const Sharding& layout) {
  const transform::Program p = check_partitioned(g, kRod, {layout});
  Costs out;
  for (const auto& r : p.communication) out.sent += r.sent;
  runtime::Pool pool;
  const std::vector<ArrayRef> args{laid_out(pool, numbers(g.type(g.params[0]), 1), kRod, layout)};
  const std::vector<exec::ArrayInfo> infos{exec::array_info(*args[0])};
  const auto plan = compile(g, infos, kRod, pool);
  out.temporaries = plan->memory().temporaries;
  std::vector<ArrayRef> given = args;
  check_close(read(pool, plan->run(given, {}, {})[0]).values(),
              Reference().run(g, {numbers(g.type(g.params[0]), 1)})[0].values(), 1e-5);
  return out;
}

}  // namespace

TEST_CASE("a rolled block is read in pieces") {
  const Costs s =
      costs(graph({f32({64, 32})},
                  [](Builder& b, const Vars& p) {
                    const Var up = b.call("rotate", {p[0]}, {{"axis", std::int64_t{-2}}, {"shift", std::int64_t{1}}});
                    return Vars{ir::sub(b, b.call("sin", {up}), p[0])};
                  }),
            spec({{0}, {}}));
  CHECK(s.sent == kRow);
  CHECK(s.temporaries < kBlock);  // the row that came, and what was sent
}

TEST_CASE("windows of an array between zeros are windows with these zeros") {  // a causal convolution
  const Graph g = graph({f32({64, 32})}, [](Builder& b, const Vars& p) {
    const Var w =
        b.call("windows", {padded(b, p[0], {{3, 0}, {0, 0}})}, {{"window", ir::Ints{4}}, {"stride", ir::Ints{1}}});
    return Vars{ir::reduce_sum(b, b.call("sin", {w}), {1})};
  });
  CHECK(costs(g, spec({{0}, {}})).sent == 3 * kRow);  // 67 rows would have blocks of 9
  const auto apart = [](Var (*value)(Builder&), ir::Pairs widths) {
    const Graph other = graph({f32({8, 4})}, [&](Builder& b, const Vars& p) {
      const Var framed = b.emit1(*b.core().pad, {p[0], value(b)}, {{"widths", widths}});
      return Vars{b.call("windows", {framed}, {{"window", ir::Ints{2}}, {"stride", ir::Ints{1}}})};
    });
    return !transform::with_makers(rows(), other);
  };
  const auto zero = [](Builder& b) { return ir::constant(b, 0, DType::F32, true); };
  CHECK_FALSE(apart(zero, {{1, 1}, {0, 0}}));
  CHECK(apart([](Builder& b) { return ir::constant(b, 1, DType::F32, true); }, {{1, 1}, {0, 0}}));
  CHECK(apart(zero, {{1, 1}, {0, 1}}));  // channels
}

TEST_CASE("parts of a framed array are parts of the array between zeros") {
  const auto points = [](Builder& b, const Vars& p) {
    const Var f = padded(b, p[0], {{1, 1}, {0, 0}});
    return Vars{
        ir::sub(b, ir::add(b, part(b, f, {2, 0}, {66, ir::kWhole}), part(b, f, {0, 0}, {64, ir::kWhole})), p[0])};
  };
  const Graph g = graph({f32({64, 32})}, points);
  const Costs s = costs(g, spec({{0}, {}}));
  CHECK(s.sent == 2 * kRow);  // a framed array of 66 rows would have blocks of 9
  CHECK(s.temporaries < kBlock);
  SECTION("on one device too") {
    runtime::Pool pool;
    const Array x = numbers(f32({64, 32}), 1);
    std::vector<ArrayRef> args{plain(pool, x)};
    const std::vector<exec::ArrayInfo> infos{exec::array_info(*args[0])};
    const auto plan = compile(g, infos, nullptr, pool);
    CHECK(plan->memory().temporaries == 0);
    check_close(read(pool, plan->run(args, {}, {})[0]).values(), Reference().run(g, {x})[0].values(), 1e-5);
  }
  const auto cut = [](const Body& body) {
    return transform::without_cut_pads(rows(), graph({f32({6, 5})}, body)).has_value();
  };
  SECTION("of two dimensions") {
    const Graph five = graph({f32({6, 5})}, [](Builder& b, const Vars& p) {
      const Var f = padded(b, p[0], {{2, 1}, {1, 3}});
      return Vars{ir::mul(b, part(b, f, {0, 1}, {6, 6}), part(b, f, {3, 4}, {9, 9}))};
    });
    const auto made = transform::without_cut_pads(rows(), five);
    REQUIRE(made);
    const Array x = numbers(f32({6, 5}), 3);
    CHECK(Reference().run(*made, {x})[0].values() == Reference().run(five, {x})[0].values());
  }
  SECTION("not where something else wants it whole, or a part has nothing of the array") {
    CHECK_FALSE(cut([](Builder& b, const Vars& p) {
      const Var f = padded(b, p[0], {{1, 1}, {0, 0}});
      return Vars{b.call("sin", {part(b, f, {1, 0}, {7, 5})}), f};
    }));
    CHECK_FALSE(cut([](Builder& b, const Vars& p) {
      const Var f = padded(b, p[0], {{3, 1}, {0, 0}});
      return Vars{b.call("sin", {part(b, f, {0, 0}, {2, 5})})};
    }));
    CHECK_FALSE(cut([](Builder& b, const Vars& p) {
      const Var f = padded(b, p[0], {{1, 1}, {0, 0}});
      return Vars{ir::reduce_sum(b, part(b, f, {0, 0}, {6, 5}), {0})};
    }));
  }
}
