// Layouts as propagation finds them, before any node is partitioned.
#include "interpreter/transform/factor_layout.h"
#include "tests/interpreter/lockstep.h"

using namespace shard;
using namespace shard::testing;

namespace {

const Sharding& of(const transform::Layouts& l, Var v) { return l.of[static_cast<std::size_t>(v.id)]; }
Sharding open(Sharding s) {
  for (auto& d : s.dims) d.open = true;
  return s;
}

}  // namespace

TEST_CASE("layouts go forward through what keeps dimensions") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Var t, y, r;
  Graph g = graph({f32({8, 6}), f32({6, 4})}, [&](Builder& b, const Vars& p) {
    t = ir::transpose(b, b.call("tanh", {p[0]}), {1, 0});
    y = mm(b, p[0], p[1]);
    r = ir::reduce_sum(b, p[0], {0});
    return Vars{t, y, r};
  });
  auto l = transform::propagate(g, m, std::vector<Sharding>{spec({{0}, {1}}), spec({{}, {}})});
  CHECK(of(l, t) == spec({{1}, {0}}));
  CHECK(of(l, y) == spec({{0}, {}}));  // the sum over @Y ends whole
  CHECK(of(l, r) == spec({{1}}));
}

TEST_CASE("layouts go backward from a constraint, but not into what has a layout") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Var h, y;
  Graph g = graph({f32({8, 4}), f32({4, 4})}, [&](Builder& b, const Vars& p) {
    h = b.call("tanh", {b.call("sin", {p[0]})});
    y = mm(b, h, p[1]);
    return Vars{laid(b, y, m, spec({{0}, {1}}))};
  });
  auto l = transform::propagate(g, m, std::vector<Sharding>{spec({{}, {}}), spec({{}, {}})});
  CHECK(of(l, y) == spec({{0}, {1}}));
  CHECK(of(l, h) == spec({{0}, {}}));
  CHECK(of(l, g.params[0]) == spec({{}, {}}));  // parameters are as they are
  CHECK(of(l, g.params[1]) == spec({{}, {}}));
}

TEST_CASE("an axis that does not divide is never proposed") {
  MeshRef m = mesh({{"X", 4}});
  Var r;
  Graph g = graph({f32({8, 3})}, [&](Builder& b, const Vars& p) {
    r = ir::reshape(b, p[0], {2, 12});
    return Vars{r};
  });
  auto l = transform::propagate(g, m, std::vector<Sharding>{spec({{0}, {}})});
  CHECK(of(l, r) == spec({{}, {}}));
  Graph fits = graph({f32({8, 3})}, [&](Builder& b, const Vars& p) {
    r = ir::reshape(b, p[0], {24});
    return Vars{r};
  });
  CHECK(of(transform::propagate(fits, m, std::vector<Sharding>{spec({{0}, {}})}), r) == spec({{0}}));
}

TEST_CASE("where two layouts meet, the larger value's is kept, then the first's") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Var y, e;
  Graph g = graph({f32({16, 8}), f32({8, 8}), f32({8, 8}), f32({8, 8})}, [&](Builder& b, const Vars& p) {
    y = mm(b, p[0], p[1]);
    e = ir::add(b, p[2], p[3]);
    return Vars{y, e};
  });
  auto l = transform::propagate(
      g, m, std::vector<Sharding>{spec({{0}, {}}), spec({{}, {0}}), spec({{0, 1}, {}}), spec({{1, 0}, {}})});
  CHECK(of(l, y) == spec({{0}, {}}));  // both want @X for a dimension of the result
  CHECK(of(l, e) == spec({{0, 1}, {}}));
}

TEST_CASE("a split summed dimension is split on both sides") {
  MeshRef m = mesh({{"X", 4}});
  Var w;
  Graph g = graph({f32({4, 8}), f32({8, 4})}, [&](Builder& b, const Vars& p) {
    w = b.call("sin", {laid(b, p[1], m, open(spec({{}, {}})))});
    return Vars{mm(b, p[0], w)};
  });
  CHECK(of(transform::propagate(g, m, std::vector<Sharding>{spec({{}, {0}}), spec({{}, {}})}), w) == spec({{0}, {}}));
}

TEST_CASE("a constraint stops layouts in closed dimensions only") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Var closed, half;
  Graph g = graph({f32({8, 8})}, [&](Builder& b, const Vars& p) {
    Sharding first = spec({{}, {}});
    first.dims[1].open = true;
    closed = b.call("sin", {laid(b, p[0], m, spec({{}, {}}))});
    half = b.call("sin", {laid(b, p[0], m, first)});
    return Vars{closed, half};
  });
  auto l = transform::propagate(g, m, std::vector<Sharding>{spec({{0}, {1}})});
  CHECK(of(l, closed) == spec({{}, {}}));
  CHECK(of(l, half) == spec({{}, {1}}));
}

TEST_CASE("regions are one with what is around them") {
  MeshRef m = mesh({{"X", 4}});
  auto body = region({f32({8}), f32({8})}, [&](Builder& b, const Vars& p) {
    Var c = ir::add(b, p[0], p[1]);
    return Vars{c, b.call("tanh", {c})};
  });
  Graph g =
      graph({f32({8}), f32({5, 8})}, [&](Builder& b, const Vars& p) { return scan(b, body, {}, {p[0]}, {p[1]}, 5); });
  SECTION("from the steps to the carry and out") {
    auto l = transform::propagate(g, m, std::vector<Sharding>{spec({{}}), spec({{}, {0}})});
    const transform::Layouts& inside = l.regions[0][0];
    CHECK(of(inside, body->params[0]) == spec({{0}}));
    CHECK(of(inside, body->results[1]) == spec({{0}}));
    CHECK(of(l, g.results[0]) == spec({{0}}));
    CHECK(of(l, g.results[1]) == spec({{}, {0}}));
  }
  SECTION("from the carry to the outputs; the scanned dimension stays whole inside") {
    auto l = transform::propagate(g, m, std::vector<Sharding>{spec({{0}}), spec({{}, {}})});
    CHECK(of(l, g.results[1]) == spec({{}, {0}}));
  }
}

TEST_CASE("the order of nodes and of equal sizes decides, so the same graph has the same layouts") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}, {"Z", 2}});
  Graph g = graph({f32({8, 8}), f32({8, 8})}, [&](Builder& b, const Vars& p) {
    Var x = mm(b, p[0], p[1]);
    for (int i = 0; i < 4; ++i) x = mm(b, b.call("tanh", {ir::add(b, x, p[0])}), p[1]);
    return Vars{x};
  });
  std::vector<Sharding> params{spec({{0, 2}, {1}}), spec({{1}, {2, 0}})};
  auto first = transform::propagate(g, m, params);
  for (int i = 0; i < 3; ++i) CHECK(transform::propagate(g, m, params).of == first.of);
}
