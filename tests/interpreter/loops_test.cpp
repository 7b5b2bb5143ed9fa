// Loops and branches lose what nobody uses and what does not change; the values stay.
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/passes.h"
#include "tests/interpreter/lockstep.h"

using namespace shard;
using namespace shard::testing;

namespace {

const ir::Node& loop_of(const Graph& g) {
  for (const ir::Node& n : g.nodes)
    if (!n.regions.empty()) return n;
  throw std::logic_error("no loop");
}

void check_same(const Graph& f, const Graph& g) {
  Arrays args;
  for (std::size_t i = 0; i < f.params.size(); ++i)
    args.push_back(numbers(f.type(f.params[i]), 3 + static_cast<unsigned>(i)));
  CHECK(run(g, args) == run(f, args));
}

}  // namespace

TEST_CASE("what a scan gives and nobody uses is not computed") {
  auto body = region({f32({4, 4}), f32({4}), f32({4}), f32({4}), f32({4})}, [](Builder& b, const Vars& p) {
    Var c = ir::add(b, p[1], p[4]);  // wanted
    Var d = ir::mul(b, p[2], p[2]);  // a carry of its own, not wanted
    Var e = ir::add(b, p[3], p[2]);  // reads the second carry
    return Vars{c, d, e, ir::reduce_sum(b, mm(b, p[0], p[0]), {0}), b.call("sin", {c})};
  });
  auto f = [&](std::vector<int> wanted) {
    return graph({f32({4, 4}), f32({4}), f32({4}), f32({4}), f32({5, 4})}, [&](Builder& b, const Vars& p) {
      Vars all = scan(b, body, {p[0]}, {p[1], p[2], p[3]}, {p[4]}, 5), out;
      for (int w : wanted) out.push_back(all[static_cast<std::size_t>(w)]);
      return out;
    });
  };
  struct Case {
    std::vector<int> wanted;
    std::size_t inputs, outputs;
  };
  for (const Case& c :
       {Case{{0}, 2, 1}, Case{{4}, 2, 2}, Case{{2}, 2, 2}, Case{{0, 3}, 3, 2}, Case{{0, 1, 2, 3, 4}, 5, 5}}) {
    Graph whole = f(c.wanted), less = transform::trim_loops(rows(), whole);
    ir::verify(less);
    CHECK(loop_of(less).inputs.size() == c.inputs);
    CHECK(loop_of(less).outputs.size() == c.outputs);
    check_same(whole, less);
  }
}

TEST_CASE("effects keep their loop") {
  auto body = region({f32({4}), f32({4})}, [](Builder& b, const Vars& p) {
    b.emit(*rows().find("effect"), {p[0]}, {{"what", std::string("print")}});
    return Vars{ir::add(b, p[0], p[1]), p[1]};
  });
  Graph g = graph({f32({4}), f32({5, 4})}, [&](Builder& b, const Vars& p) {
    scan(b, body, {}, {p[0]}, {p[1]}, 5);
    return Vars{p[0]};
  });
  Graph less = transform::trim_loops(rows(), g);
  CHECK(loop_of(less).outputs.size() == 1);
  Reference r;
  r.run(less, {numbers(f32({4}), 1), numbers(f32({5, 4}), 2)});
  CHECK(r.effects == 5);
}

TEST_CASE("results of branches that nobody uses") {
  auto yes = region({f32({4}), f32({4})}, [](Builder& b, const Vars& p) {
    return Vars{b.call("sin", {p[0]}), b.call("cos", {p[1]})};
  });
  auto no = region({f32({4}), f32({4})}, [](Builder& b, const Vars& p) { return Vars{ir::neg(b, p[0]), p[1]}; });
  Graph g = graph({Type::of(DType::Bool, {}), f32({4}), f32({4})}, [&](Builder& b, const Vars& p) {
    return Vars{b.emit(*b.core().branch, {p[0], p[1], p[2]}, {}, {yes, no})[0]};
  });
  Graph less = transform::trim_loops(rows(), g);
  CHECK(loop_of(less).inputs.size() == 2);
  CHECK(loop_of(less).outputs.size() == 1);
  check_same(g, less);
}

TEST_CASE("what a while loop carries and nobody reads is not computed") {
  const Type count = Type::of(DType::I32, {});
  auto test = region({count, f32({4}), f32({4}), f32({4})}, [](Builder& b, const Vars& p) {
    return Vars{b.emit1(*b.core().lt, {p[0], ir::constant_int(b, 3)})};
  });
  auto body = region({f32({4}), f32({4}), count, f32({4}), f32({4}), f32({4})}, [](Builder& b, const Vars& p) {
    return Vars{ir::add(b, p[2], ir::constant_int(b, 1)), ir::mul(b, p[3], p[0]),
                ir::add(b, p[4], p[1]),   // nobody wants it
                ir::add(b, p[5], p[3])};  // reads the wanted one; nobody wants it
  });
  auto f = [&](std::size_t wanted) {
    return graph({f32({4}), f32({4}), f32({4}), f32({4}), f32({4})}, [&](Builder& b, const Vars& p) {
      Vars in{p[0], p[1], ir::constant_int(b, 0), p[2], p[3], p[4]};
      Vars all = b.emit(*b.core().while_loop, in, ir::with_wiring({}, ir::WhileWiring{0, 2}), {test, body});
      return Vars{all[wanted]};
    });
  };
  const auto check = [&](std::size_t wanted, std::size_t inputs, std::size_t outputs) {
    Graph whole = f(wanted), less = transform::trim_loops(rows(), whole);
    ir::verify(less);
    CHECK(loop_of(less).inputs.size() == inputs);
    CHECK(loop_of(less).outputs.size() == outputs);
    check_same(whole, less);
  };
  check(1, 3, 2);  // the constant that it reads, the counter, itself
  check(2, 3, 2);
  check(3, 4, 3);
}

TEST_CASE("what does not change in a loop is computed before it") {
  auto body = region({f32({4, 4}), f32({2, 4}), f32({2, 4})}, [](Builder& b, const Vars& p) {
    Var w = b.call("sin", {ir::transpose(b, mm(b, p[0], p[0]), {1, 0})});
    Var wide = ir::broadcast_to(b, ir::reduce_sum(b, p[0], {0}), {2, 4});  // larger than what it is made of: stays
    return Vars{ir::add(b, mm(b, p[1], w), wide), ir::add(b, p[2], p[1])};
  });
  Graph g = graph({f32({4, 4}), f32({2, 4}), f32({3, 2, 4})},
                  [&](Builder& b, const Vars& p) { return scan(b, body, {p[0]}, {p[1]}, {p[2]}, 3); });
  Graph moved = transform::hoist_invariants(rows(), g);
  ir::verify(moved);
  check_same(g, moved);
  int inside = 0;
  for (const ir::Node& n : loop_of(moved).regions[0]->nodes) inside += n.op == rows().core().contract;
  CHECK(inside == 1);
}

TEST_CASE("a gather of what a loop computes from its constants is outside too") {
  MeshRef m = mesh({{"X", 4}});
  auto body = region({f32({8, 8}), f32({4, 8})}, [&](Builder& b, const Vars& p) {
    Var w = b.emit1(*b.core().shard, {b.call("tanh", {p[0]})}, {{"layout", ir::Layout{m, spec({{}, {}})}}});
    return Vars{mm(b, p[1], w)};
  });
  Graph g = graph({f32({8, 8}), f32({4, 8})},
                  [&](Builder& b, const Vars& p) { return scan(b, body, {p[0]}, {p[1]}, {}, 5); });
  auto p = check_partitioned(g, m, {spec({{0}, {}}), spec({{0}, {}})});
  CHECK(communicates(p.local) == std::vector<std::string>{"all_gather(256)"});
  CHECK(communicates(*loop_of(p.local).regions[0]).empty());
}
