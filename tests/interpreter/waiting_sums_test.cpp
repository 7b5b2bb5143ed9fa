// Sums that wait: what is added to a whole value, or goes round a loop, is summed over the devices once. The
// collectives are a derivation (terms add up in any order); values are those of the whole computation.
#include <algorithm>

#include "tests/interpreter/lockstep.h"

using namespace shard;
using namespace shard::testing;
using S = std::vector<std::string>;

namespace {

// A product whose inner dimension is split: its terms are still to be added up.
Var gram(Builder& b, Var x, Var y) { return b.emit1(*b.core().contract, {x, y}, {{"spec", std::string("km,kn->mn")}}); }
Var scaled(Builder& b, Var x, double by) {
  return ir::mul(b, x, ir::broadcast_to(b, ir::constant(b, by, b.type(x).dtype, true), b.type(x).shape));
}
Var whole_zeros(Builder& b, const Type& t) { return ir::broadcast_to(b, ir::constant(b, 0, t.dtype, true), t.shape); }

const Type kSum = f64({4, 4}), kRows = f64({8, 4}), kSteps = f64({3, 8, 4});

// Adds to what it carries what `term` makes of the step's rows.
GraphRef adding(const std::function<Var(Builder&, Var sum, Var rows)>& next) {
  return region({kSum, kRows}, [&](Builder& b, const Vars& p) { return Vars{next(b, p[0], p[1])}; });
}
Var added(Builder& b, Var sum, Var rows) { return ir::add(b, sum, gram(b, rows, rows)); }

// What a loop over three steps of rows that are split says, inside and in all.
struct Said {
  S inside, all;
};
Said loop(
    const GraphRef& body, const std::function<Var(Builder&, Var given)>& start,
    const std::function<Var(Builder&, Var)>& behind = [](Builder&, Var v) { return v; },
    const Sharding& given = spec({{}, {}})) {
  MeshRef m = mesh({{"X", 4}});
  Graph g = graph({kSum, kSteps}, [&](Builder& b, const Vars& p) {
    return Vars{behind(b, scan(b, body, {}, {start(b, p[0])}, {p[1]}, 3)[0])};
  });
  auto p = check_partitioned(g, m, {given, spec({{}, {0}, {}})}, 1, 1e-12);
  Said out;
  out.all = communicates(p.local);
  for (const ir::Node& n : p.local.nodes)
    for (const auto& r : n.regions) collect_communication(*r, out.inside);
  return out;
}
Var as_given(Builder&, Var v) { return v; }
Var as_zeros(Builder& b, Var) { return whole_zeros(b, kSum); }

}  // namespace

TEST_CASE("terms that are added to a whole value are summed once") {
  MeshRef m = mesh({{"X", 4}});
  const std::vector<Sharding> layouts{spec({{}, {}}), spec({{0}, {}}), spec({{0}, {}})};
  const auto says = [&](const std::function<Var(Builder&, const Vars&)>& f) {
    Graph g = graph({kSum, kRows, kRows}, [&](Builder& b, const Vars& p) { return Vars{f(b, p)}; });
    return communicates(check_partitioned(g, m, layouts, 1, 1e-12).local);
  };
  CHECK(says([](Builder& b, const Vars& p) {
          return ir::add(b, ir::add(b, p[0], gram(b, p[1], p[2])), gram(b, p[2], p[1]));
        }) == S{"psum(128)"});
  CHECK(says([](Builder& b, const Vars& p) {  // every sign
          Var s = ir::sub(b, gram(b, p[1], p[1]), p[0]);
          return ir::sub(b, ir::sub(b, p[0], gram(b, p[1], p[2])), ir::add(b, s, gram(b, p[2], p[2])));
        }) == S{"psum(128)"});
  CHECK(says([](Builder& b, const Vars& p) {  // others need what is between
          Var s = ir::add(b, p[0], gram(b, p[1], p[2]));
          return ir::mul(b, s, ir::add(b, s, gram(b, p[2], p[2])));
        }) == S{"psum(128)", "psum(128)"});
  CHECK(says([](Builder& b, const Vars& p) { return ir::add(b, p[0], gram(b, p[1], p[2])); }) == S{"psum(128)"});
}

TEST_CASE("what is wanted split is scattered") {
  MeshRef m = mesh({{"X", 4}});
  Graph g = graph({kSum, kRows, kRows}, [&](Builder& b, const Vars& p) {
    return Vars{ir::add(b, ir::add(b, p[0], gram(b, p[1], p[2])), gram(b, p[2], p[1]))};
  });
  auto split = check_partitioned(g, m, {spec({{0}, {}}), spec({{0}, {}}), spec({{0}, {}})}, 1, 1e-12);
  for (const std::string& c : communicates(split.local)) CHECK(c == "psum_scatter(128)");
}

TEST_CASE("a loop that adds to zeros, or to a whole value, sums behind it") {
  for (const auto& start : {as_zeros, as_given}) {
    const Said said = loop(adding(added), start);
    CHECK(said.inside.empty());
    CHECK(said.all == S{"psum(128)"});
  }
  SECTION("and what is linear behind it comes before the sum") {
    const Said said = loop(adding(added), as_zeros, [](Builder& b, Var v) { return scaled(b, v, 0.25); });
    CHECK(said.all == S{"psum(128)"});
    CHECK(said.inside.empty());
  }
  SECTION("what comes out of a whole value too") {
    CHECK(loop(adding(added), as_given, [](Builder& b, Var v) { return b.call("tanh", {v}); }).all == S{"psum(128)"});
  }
  SECTION("a sum that is there already goes in as it is") {
    MeshRef m = mesh({{"X", 4}});
    Graph g = graph({kRows, kSteps}, [&](Builder& b, const Vars& p) {
      return Vars{scan(b, adding(added), {}, {gram(b, p[0], p[0])}, {p[1]}, 3)[0]};
    });
    CHECK(communicates(check_partitioned(g, m, {spec({{0}, {}}), spec({{}, {0}, {}})}, 1, 1e-12).local) ==
          S{"psum(128)"});
  }
}

TEST_CASE("a loop that weakens what it carries") {
  const auto body =
      adding([](Builder& b, Var sum, Var rows) { return ir::add(b, scaled(b, sum, 0.5), gram(b, rows, rows)); });
  // A whole start would be weakened with it: it is summed in each turn.
  CHECK(loop(body, as_given).inside == S{"psum(128)"});
  loop(body, as_zeros);
}

TEST_CASE("a loop that looks at what it carries sums in each turn") {
  for (const auto& start : {as_zeros, as_given}) {
    CHECK(loop(adding([](Builder& b, Var sum, Var rows) {
                 return ir::add(b, b.call("tanh", {sum}), gram(b, rows, rows));
               }),
               start)
              .inside == S{"psum(128)"});
    CHECK(loop(adding([](Builder& b, Var sum, Var rows) {
                 return ir::add(b, ir::add(b, sum, gram(b, rows, rows)), ir::mul(b, sum, sum));
               }),
               start)
              .inside == S{"psum(128)"});
  }
}

TEST_CASE("a loop that carries a split value scatters in each turn") {
  const Said said = loop(
      adding(added), as_given, [](Builder&, Var v) { return v; }, spec({{0}, {}}));
  CHECK(said.inside == S{"psum_scatter(128)"});
  CHECK(said.all == said.inside);
}

TEST_CASE("loops in loops sum behind the outer one") {
  MeshRef m = mesh({{"X", 4}});
  const auto outer = region({kSum, kSteps}, [&](Builder& b, const Vars& p) {
    return Vars{scan(b, adding(added), {}, {p[0]}, {p[1]}, 3)[0]};
  });
  for (const auto& start : {as_zeros, as_given}) {
    Graph g = graph({kSum, f64({2, 3, 8, 4})}, [&](Builder& b, const Vars& p) {
      return Vars{scan(b, outer, {}, {start(b, p[0])}, {p[1]}, 2)[0]};
    });
    auto p = check_partitioned(g, m, {spec({{}, {}}), spec({{}, {}, {0}, {}})}, 1, 1e-12);
    CHECK(communicates(p.local) == S{"psum(128)"});
    CHECK(std::none_of(p.local.nodes.begin(), p.local.nodes.end(), [](const ir::Node& n) {
      return std::any_of(n.regions.begin(), n.regions.end(), [](const auto& r) { return !communicates(*r).empty(); });
    }));
  }
}

TEST_CASE("while loops: no turn at all, and conditions that look") {
  MeshRef m = mesh({{"X", 4}});
  const Type count = f64({});
  const auto body = region({kRows, count, kSum}, [&](Builder& b, const Vars& p) {
    return Vars{ir::add(b, p[1], ir::constant(b, 1, DType::F64, true)),
                added(b, p[2], ir::mul(b, p[0], ir::broadcast_to(b, p[1], {8, 4})))};
  });
  const auto counts = region({count, count, kSum}, [&](Builder& b, const Vars& p) {
    return Vars{b.emit1(*b.core().lt, {p[1], p[0]}, {})};
  });
  const auto looks = region({count, count, kSum}, [&](Builder& b, const Vars& p) {
    Var small = b.emit1(*b.core().lt, {ir::reduce_sum(b, p[2], {0, 1}), ir::constant(b, 1e6, DType::F64, true)}, {});
    return Vars{b.emit1(*b.core().logical_and, {small, b.emit1(*b.core().lt, {p[1], p[0]}, {})}, {})};
  });
  for (const double turns : {0.0, 1.0, 5.0})
    for (const bool sees : {false, true}) {
      Graph g = graph({kRows, kSum}, [&](Builder& b, const Vars& p) {
        Var limit = ir::constant(b, turns, DType::F64), none = ir::constant(b, 0, DType::F64);
        return Vars{b.emit(*b.core().while_loop, {limit, p[0], none, p[1]},
                           {{"cond_consts", std::int64_t{1}}, {"body_consts", std::int64_t{1}}},
                           {sees ? looks : counts, body})[1]};
      });
      auto p = check_partitioned(g, m, {spec({{0}, {}}), spec({{}, {}})}, 1, 1e-12);
      CHECK(communicates(p.local) == S{"psum(128)"});
      const bool inside = std::any_of(p.local.nodes.begin(), p.local.nodes.end(), [](const ir::Node& n) {
        return n.regions.size() == 2 && !communicates(*n.regions[1]).empty();
      });
      CHECK(inside == sees);
    }
}

TEST_CASE("gradients of micro batches and the loss: one sum each") {
  MeshRef m = mesh({{"X", 4}});
  const Type w = f64({4, 4}), xs = f64({5, 8, 4});
  Graph loss = graph({w, kRows}, [&](Builder& b, const Vars& p) {
    Var y = b.call("tanh", {mm(b, p[1], p[0])});
    return Vars{ir::reduce_sum(b, ir::mul(b, y, y), {0, 1})};
  });
  Graph back = transform::vjp(rows(), loss, std::vector<int>{0}, {true}, true);
  const auto body = region({w, f64({}), w, kRows}, [&](Builder& b, const Vars& p) {
    Vars got = b.inline_graph(back, Vars{p[0], p[3], ir::constant(b, 1, DType::F64)});
    return Vars{ir::add(b, p[1], got[0]), ir::add(b, p[2], got[1])};
  });
  Graph step = graph({w, xs}, [&](Builder& b, const Vars& p) {
    Vars sums = scan(b, body, {p[0]}, {ir::constant(b, 0, DType::F64), whole_zeros(b, w)}, {p[1]}, 5);
    return Vars{scaled(b, sums[0], 0.2), ir::sub(b, p[0], scaled(b, sums[1], 0.02))};
  });
  auto p = check_partitioned(step, m, {spec({{}, {}}), spec({{}, {0}, {}})}, 1, 1e-12);
  S said = communicates(p.local);
  std::sort(said.begin(), said.end());
  CHECK(said == S{"psum(128)", "psum(8)"});
}
