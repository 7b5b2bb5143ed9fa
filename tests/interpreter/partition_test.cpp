// What partitioning makes of the usual ways to train: the collectives, by kind and bytes, and the values, which are
// those of the whole computation. The collectives are what the literature gives for each scheme (Megatron-LM's pair of
// one all-reduce; ZeRO-3's gathers and reduce-scatters; data parallelism's one all-reduce a gradient).
#include <algorithm>

#include "tests/interpreter/lockstep.h"

using namespace shard;
using namespace shard::testing;
using S = std::vector<std::string>;

namespace {

Var total(Builder& b, Var x) {
  std::vector<std::int64_t> all;
  for (int d = 0; d < b.type(x).rank(); ++d) all.push_back(d);
  return ir::reduce_sum(b, x, all);
}
// A bias, repeated over the rows by a node of its own or by the addition.
Var spread_rows(Builder& b, Var v, const runtime::Shape& shape, bool spread) {
  return spread ? ir::broadcast_to(b, v, shape) : v;
}

S sorted(S s) {
  std::sort(s.begin(), s.end());
  return s;
}

// loss(w1, b1, w2, b2, x, y) of two layers: the squared error's mean. `around` may lay the weights and the result of a
// layer out.
using Around = std::function<Var(Builder&, Var, int)>;  // 0: w1, 1: w2, 2: result
Graph two_layers(std::int64_t batch, std::int64_t in, std::int64_t hidden, std::int64_t out, const Around& around,
                 bool spread = true) {
  return graph(
      {f32({in, hidden}), f32({hidden}), f32({hidden, out}), f32({out}), f32({batch, in}), f32({batch, out})},
      [&](Builder& b, const Vars& p) {
        Var h = ir::add(b, mm(b, p[4], around(b, p[0], 0)), spread_rows(b, p[1], {batch, hidden}, spread));
        h = b.call("tanh", {h});
        Var y = around(b, ir::add(b, mm(b, h, around(b, p[2], 1)), spread_rows(b, p[3], {batch, out}, spread)), 2);
        Var d = ir::sub(b, y, p[5]);
        return Vars{ir::div(b, total(b, ir::mul(b, d, d)),
                            ir::constant(b, static_cast<double>(batch * out), DType::F32, true))};
      });
}

// One step of gradient descent with momentum on the first four parameters: new weights, new momenta, loss.
Graph training_step(const Graph& loss, const std::function<Var(Builder&, Var, int)>& settle) {
  Graph gradient = transform::vjp(rows(), loss, std::vector<int>{0, 1, 2, 3}, {true}, true);
  Builder b(rows());
  Vars params, momenta;
  for (std::size_t i = 0; i < 6; ++i) params.push_back(b.param(loss.type(loss.params[i])));
  for (std::size_t i = 0; i < 4; ++i) momenta.push_back(b.param(loss.type(loss.params[i])));
  Vars args = params;
  args.push_back(ir::constant(b, 1, DType::F32));
  Vars got = b.inline_graph(gradient, args), weights, next;
  for (std::size_t i = 0; i < 4; ++i) {
    Var g = settle(b, got[1 + i], static_cast<int>(i));
    auto scale = [&](Var v, double by) {
      return ir::mul(b, v, ir::broadcast_to(b, ir::constant(b, by, DType::F32, true), b.type(v).shape));
    };
    next.push_back(settle(b, ir::add(b, scale(momenta[i], 0.9), g), static_cast<int>(i)));
    weights.push_back(settle(b, ir::sub(b, params[i], scale(next.back(), 0.05)), static_cast<int>(i)));
  }
  weights.insert(weights.end(), next.begin(), next.end());
  weights.push_back(got[0]);
  Graph g = b.finish(weights);
  ir::verify(g);
  return g;
}

Var as_is(Builder&, Var v, int) { return v; }

}  // namespace

TEST_CASE("a contraction over a split dimension is one all-reduce of the result") {
  MeshRef m = mesh({{"X", 8}});
  Graph g = graph({f32({4, 16}), f32({16, 4})}, [&](Builder& b, const Vars& p) {
    return Vars{laid(b, mm(b, p[0], p[1]), m, spec({{}, {}}))};
  });
  CHECK(communicates(check_partitioned(g, m, {spec({{}, {0}}), spec({{0}, {}})}).local) == S{"psum(64)"});
  SECTION("without a constraint the result is whole too") {
    Graph open =
        graph({f32({4, 16}), f32({16, 4})}, [&](Builder& b, const Vars& p) { return Vars{mm(b, p[0], p[1])}; });
    auto p = check_partitioned(open, m, {spec({{}, {0}}), spec({{0}, {}})});
    CHECK(communicates(p.local) == S{"psum(64)"});
    CHECK(p.results[0].layout == spec({{}, {}}));
  }
  SECTION("no operand is gathered to save a sum") {
    CHECK(communicates(check_partitioned(g, m, {spec({{}, {0}}), spec({{}, {}})}).local) == S{"psum(64)"});
  }
  SECTION("a result that is wanted split is scattered") {
    Graph rows_split = graph({f32({8, 16}), f32({16, 4})}, [&](Builder& b, const Vars& p) {
      return Vars{laid(b, mm(b, p[0], p[1]), m, spec({{0}, {}}))};
    });
    CHECK(communicates(check_partitioned(rows_split, m, {spec({{}, {0}}), spec({{0}, {}})}).local) ==
          S{"psum_scatter(128)"});
  }
}

TEST_CASE("an elementwise function keeps the layout and moves nothing") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Graph g = graph({f32({8, 8})}, [&](Builder& b, const Vars& p) {
    Var two = ir::broadcast_to(b, ir::constant(b, 2, DType::F32, true), {8, 8});
    return Vars{ir::add(b, ir::mul(b, two, b.call("sin", {p[0]})), two)};
  });
  for (const Sharding& s : {spec({{0}, {1}}), spec({{}, {1, 0}}), spec({{1}, {}}), spec({{}, {}})}) {
    auto p = check_partitioned(g, m, {s});
    CHECK(communicates(p.local).empty());
    CHECK(p.results[0].layout == s);
  }
}

TEST_CASE("operands in two layouts: the smaller move") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Graph g = graph({f32({8, 8}), f32({8, 8})}, [&](Builder& b, const Vars& p) { return Vars{ir::add(b, p[0], p[1])}; });
  CHECK(communicates(check_partitioned(g, m, {spec({{0}, {}}), spec({{}, {}})}).local).empty());  // a slice
  CHECK(communicates(check_partitioned(g, m, {spec({{0}, {}}), spec({{}, {1}})}).local).size() <= 1);
  CHECK(communicates(check_partitioned(g, m, {spec({{0}, {}}), spec({{}, {0}})}).local) == S{"all_to_all(64)"});
  CHECK(communicates(check_partitioned(g, m, {spec({{0, 1}, {}}), spec({{1, 0}, {}})}).local) == S{"ppermute(32)"});
}

TEST_CASE("the gradient of a whole weight from a split batch is one all-reduce of the weight's size") {
  MeshRef m = mesh({{"data", 8}});
  Graph f = graph({f32({4, 2}), f32({16, 4})}, [&](Builder& b, const Vars& p) {
    Var y = mm(b, p[1], p[0]);
    return Vars{total(b, ir::mul(b, y, y))};
  });
  Graph g = transform::vjp(rows(), f, std::vector<int>{0}, {true}, false);
  CHECK(communicates(check_partitioned(g, m, {spec({{}, {}}), spec({{0}, {}}), spec({})}).local) == S{"psum(32)"});
}

TEST_CASE("data parallel: each gradient one all-reduce, and the loss") {
  MeshRef m = mesh({{"data", 8}});
  Graph step = training_step(two_layers(64, 16, 32, 4, as_is), as_is);
  Sharding whole2 = spec({{}, {}}), whole1 = spec({{}}), split = spec({{0}, {}});
  auto p = check_partitioned(step, m, {whole2, whole1, whole2, whole1, split, split, whole2, whole1, whole2, whole1});
  CHECK(sorted(communicates(p.local)) == sorted({"psum(2048)", "psum(128)", "psum(512)", "psum(16)", "psum(4)"}));
  for (std::size_t r = 0; r < 8; ++r) CHECK(p.results[r].layout.is_replicated());
}

TEST_CASE("fully sharded: each weight gathered where it is used, each gradient scattered") {
  MeshRef m = mesh({{"data", 8}});
  Sharding w = spec({{0}, {}}), b1 = spec({{0}}), b2 = spec({{}}), split = spec({{0}, {}});
  std::vector<Sharding> layout{w, b1, w, b2};
  auto settle = [&](Builder& b, Var v, int i) { return laid(b, v, m, layout[static_cast<std::size_t>(i)]); };
  bool spread = GENERATE(true, false);
  SECTION("with constraints, as train_fsdp says it") {
    Graph step = training_step(two_layers(
                                   64, 16, 32, 4,
                                   [&](Builder& b, Var v, int i) {
                                     return i == 2 ? v : laid(b, v, m, spec({{}, {}}));
                                   },
                                   spread),
                               settle);
    auto p = check_partitioned(step, m, {w, b1, w, b2, split, split, w, b1, w, b2});
    CHECK(sorted(communicates(p.local)) ==
          sorted({"all_gather(2048)", "all_gather(128)", "all_gather(512)", "psum_scatter(2048)", "psum_scatter(128)",
                  "psum_scatter(512)", "psum(16)", "psum(4)"}));
    for (std::size_t r = 0; r < 8; ++r) CHECK(p.results[r].layout == layout[r % 4]);
  }
  SECTION("from the layouts alone") {
    Graph step = training_step(two_layers(64, 16, 32, 4, as_is, spread), as_is);
    auto p = check_partitioned(step, m, {w, b1, w, b2, split, split, w, b1, w, b2});
    CHECK(sorted(communicates(p.local)) ==
          sorted({"all_gather(2048)", "all_gather(128)", "all_gather(512)", "psum_scatter(2048)", "psum_scatter(128)",
                  "psum_scatter(512)", "psum(16)", "psum(4)"}));
    for (std::size_t r = 0; r < 8; ++r) CHECK(p.results[r].layout == layout[r % 4]);
  }
}

TEST_CASE("fully sharded with weights larger than the batch") {  // the batch stays split: the products do not follow
                                                                 // the larger weight
  MeshRef m = mesh({{"data", 8}});
  Sharding w = spec({{0}, {}}), b1 = spec({{0}}), b2 = spec({{}}), split = spec({{0}, {}});
  Graph step = training_step(two_layers(16, 64, 128, 8, as_is, false), as_is);
  auto p = check_partitioned(step, m, {w, b1, w, b2, split, split, w, b1, w, b2});
  CHECK(sorted(communicates(p.local)) ==
        sorted({"all_gather(32768)", "all_gather(512)", "all_gather(4096)", "psum_scatter(32768)", "psum_scatter(512)",
                "psum_scatter(4096)", "psum(32)", "psum(4)"}));
}

TEST_CASE("a gradient is laid out as its argument where nothing else is said") {
  MeshRef m = mesh({{"data", 4}});
  auto gradient = [&](bool follows) {
    Graph f = graph({f32({8, 4}), f32({8, 8})},
                    [&](Builder& b, const Vars& p) { return Vars{total(b, b.call("tanh", {mm(b, p[1], p[0])}))}; });
    Graph g = transform::vjp(rows(), f, std::vector<int>{0}, {true}, false);
    return graph({f32({8, 4}), f32({8, 8}), f32({})}, [&](Builder& b, const Vars& p) {
      Var dw = b.inline_graph(g, p)[0];
      return Vars{follows ? b.call("follow", {dw, p[0]}) : dw};
    });
  };
  std::vector<Sharding> layouts{spec({{0}, {}}), spec({{0}, {}}), spec({})};
  CHECK(communicates(check_partitioned(gradient(true), m, layouts).local) == S{"all_gather(128)", "psum_scatter(128)"});
  CHECK(communicates(check_partitioned(gradient(false), m, layouts).local) == S{"all_gather(128)", "psum(128)"});
  SECTION("a gradient of a gradient too; the layout that is followed has no derivative") {
    Graph g = gradient(true), again = graph({f32({8, 4}), f32({8, 8}), f32({})}, [&](Builder&b, const Vars&p) {
                                return Vars{total(b, b.inline_graph(g, p)[0])};
                              });
    check_partitioned(transform::vjp(rows(), again, std::vector<int>{0, 1}, {true}, false), m,
                      {layouts[0], layouts[1], layouts[2], spec({})});
    check_partitioned(transform::jvp(rows(), again, std::vector<int>{0}), m,
                      {layouts[0], layouts[1], layouts[2], layouts[0]});
  }
}

TEST_CASE("tensor parallel: one all-reduce of the activations forward, one backward where the input needs a gradient") {
  MeshRef m = mesh({{"model", 8}});
  Sharding w1 = spec({{}, {0}}), b1 = spec({{0}}), w2 = spec({{0}, {}}), whole1 = spec({{}}), whole = spec({{}, {}});
  Graph loss = two_layers(16, 16, 32, 4, as_is);
  SECTION("training step") {
    Graph step = training_step(loss, as_is);
    auto p = check_partitioned(step, m, {w1, b1, w2, whole1, whole, whole, w1, b1, w2, whole1});
    CHECK(communicates(p.local) == S{"psum(256)"});  // 16 x 4 outputs
    CHECK(p.results[0].layout == w1);
    CHECK(p.results[2].layout == w2);
  }
  SECTION("with the input's gradient") {
    Graph g = transform::vjp(rows(), loss, std::vector<int>{4}, {true}, false);
    CHECK(communicates(check_partitioned(g, m, {w1, b1, w2, whole1, whole, whole, spec({})}).local) ==
          S{"psum(256)", "psum(1024)"});
  }
}

TEST_CASE("data and tensor parallel together") {
  MeshRef m = mesh({{"data", 4}, {"model", 2}});
  Sharding w1 = spec({{}, {1}}), b1 = spec({{1}}), w2 = spec({{1}, {}}), b2 = spec({{}}), split = spec({{0}, {}});
  Graph step = training_step(two_layers(16, 8, 16, 4, as_is), as_is);
  auto p = check_partitioned(step, m, {w1, b1, w2, b2, split, split, w1, b1, w2, b2});
  // activations over @model (4 rows x 4), gradients over @data: halves of w1, b1 and w2, all of b2; the loss
  CHECK(sorted(communicates(p.local)) ==
        sorted({"psum(64)", "psum(256)", "psum(32)", "psum(128)", "psum(16)", "psum(4)"}));
}

TEST_CASE("two uses of a weight: their gradients are added before one all-reduce") {
  MeshRef m = mesh({{"data", 4}});
  Graph f = graph({f32({4, 4}), f32({8, 4})}, [&](Builder& b, const Vars& p) {
    Var h = b.call("tanh", {mm(b, p[1], p[0])});
    return Vars{total(b, mm(b, h, p[0]))};
  });
  Graph g = transform::vjp(rows(), f, std::vector<int>{0}, {true}, false);
  CHECK(communicates(check_partitioned(g, m, {spec({{}, {}}), spec({{0}, {}}), spec({})}).local) == S{"psum(64)"});
}

TEST_CASE("a maximum over a split dimension, and a truth value") {
  MeshRef m = mesh({{"X", 2}, {"Y", 4}});
  Graph g = graph({f32({4, 8})}, [&](Builder& b, const Vars& p) {
    Var top = b.call("reduce_max", {p[0]}, {{"axes", ir::Ints{-1}}});
    Var bottom = b.call("reduce_min", {p[0]}, {{"axes", ir::Ints{-2}}});
    Var small = b.emit1(*b.core().lt, {p[0], ir::broadcast_to(b, ir::constant(b, 0.9, DType::F32), {4, 8})}, {});
    return Vars{top, bottom, b.call("reduce_and", {small}, {{"axes", ir::Ints{-1, -2}}}),
                b.call("reduce_or", {small}, {{"axes", ir::Ints{-1}}})};
  });
  auto p = check_partitioned(g, m, {spec({{0}, {1}})});
  CHECK(sorted(communicates(p.local)) == sorted({"pmax(8)", "pmin(8)", "pmin(4)", "pmax(8)"}));
}

TEST_CASE("a constraint on a sum over split dimensions") {  // h: P(@X, @Y), the sum of its columns: P(@(X, Y))
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Graph g = graph({f32({8, 8})}, [&](Builder& b, const Vars& p) {
    Var h = laid(b, b.call("tanh", {p[0]}), m, spec({{0}, {1}}));
    return Vars{h, laid(b, ir::reduce_sum(b, h, {1}), m, spec({{0, 1}}))};
  });
  auto p = check_partitioned(g, m, {spec({{0}, {}})});
  CHECK(p.results[0].layout == spec({{0}, {1}}));
  CHECK(p.results[1].layout == spec({{0, 1}}));
  CHECK(communicates(p.local) == S{"psum_scatter(8)"});
}

TEST_CASE("open entries take what comes") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Graph g = graph({f32({8, 8}), f32({8, 8})}, [&](Builder& b, const Vars& p) {
    Sharding half = spec({{}, {1}});
    half.dims[0].open = true;
    return Vars{laid(b, mm(b, p[0], p[1]), m, half)};
  });
  auto p = check_partitioned(g, m, {spec({{0}, {}}), spec({{}, {}})});
  CHECK(p.results[0].layout == spec({{0}, {1}}));
  CHECK(communicates(p.local).empty());
}

TEST_CASE("a scan's constants are gathered once, before the loop") {
  MeshRef m = mesh({{"X", 4}});
  auto body = region({f32({8, 8}), f32({4, 8}), f32({4, 8})}, [&](Builder& b, const Vars& p) {
    Var w = laid(b, p[0], m, spec({{}, {}}));
    Var c = b.call("tanh", {ir::add(b, mm(b, p[1], w), p[2])});
    return Vars{c, ir::reduce_sum(b, c, {1})};
  });
  Graph g = graph({f32({8, 8}), f32({4, 8}), f32({5, 4, 8})},
                  [&](Builder& b, const Vars& p) { return scan(b, body, {p[0]}, {p[1]}, {p[2]}, 5); });
  auto p = check_partitioned(g, m, {spec({{0}, {}}), spec({{}, {}}), spec({{}, {0}, {}})});
  CHECK(communicates(p.local) == S{"all_gather(256)"});
  bool inside = false;
  for (const ir::Node& n : p.local.nodes)
    for (const auto& r : n.regions) inside |= !communicates(*r).empty();
  CHECK(!inside);
  CHECK(p.results[0].layout == spec({{0}, {}}));  // the carry follows the steps' layout
  CHECK(p.results[1].layout == spec({{}, {0}}));
  SECTION("the scanned dimension is never split inside") {
    auto q = check_partitioned(g, m, {spec({{}, {}}), spec({{}, {}}), spec({{}, {}, {0}})});
    CHECK(!communicates(q.local).empty());
  }
}

TEST_CASE("a scan whose steps are split") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  auto body = region({f32({8}), f32({8})}, [&](Builder& b, const Vars& p) {
    Var half = ir::broadcast_to(b, ir::constant(b, 0.5, DType::F32, true), {8});
    return Vars{ir::add(b, ir::mul(b, half, p[0]), p[1]), ir::reduce_sum(b, p[0], {0})};
  });
  Graph g =
      graph({f32({8}), f32({8, 8})}, [&](Builder& b, const Vars& p) { return scan(b, body, {}, {p[0]}, {p[1]}, 8); });
  for (const Sharding& c : {spec({{}}), spec({{0}}), spec({{1, 0}})})
    for (const Sharding& xs : {spec({{}, {}}), spec({{}, {0}}), spec({{0}, {1}}), spec({{0, 1}, {}})})
      check_partitioned(g, m, {c, xs});
}

TEST_CASE("while loops and branches keep fixed layouts") {
  MeshRef m = mesh({{"X", 4}});
  auto test = region({f32({}), f32({8})}, [&](Builder& b, const Vars& p) {
    return Vars{b.emit1(*b.core().lt, {total(b, p[1]), p[0]}, {})};
  });
  auto body = region({f32({8}), f32({8})},
                     [&](Builder& b, const Vars& p) { return Vars{ir::add(b, p[1], ir::mul(b, p[0], p[0]))}; });
  Graph loop = graph({f32({}), f32({8}), f32({8})}, [&](Builder& b, const Vars& p) {
    Var limit = ir::add(b, p[0], ir::constant(b, 3, DType::F32, true));
    return b.emit(*b.core().while_loop, {limit, p[1], p[2]},
                  {{"cond_consts", std::int64_t{1}}, {"body_consts", std::int64_t{1}}}, {test, body});
  });
  for (const Sharding& s : {spec({{}}), spec({{0}})})
    for (const Sharding& t : {spec({{}}), spec({{0}})}) check_partitioned(loop, m, {spec({}), s, t});

  auto yes = region({f32({8, 4})}, [&](Builder& b, const Vars& p) {
    return Vars{b.call("tanh", {p[0]}), ir::reduce_sum(b, p[0], {0})};
  });
  auto no = region({f32({8, 4})}, [&](Builder& b, const Vars& p) {
    return Vars{ir::neg(b, p[0]), ir::reduce_sum(b, ir::mul(b, p[0], p[0]), {0})};
  });
  Graph branch = graph({f32({8, 4}), f32({})}, [&](Builder& b, const Vars& p) {
    Var positive = b.emit1(*b.core().lt, {ir::constant(b, 0, DType::F32), p[1]}, {});
    return b.emit(*b.core().branch, {positive, p[0]}, {}, {yes, no});
  });
  for (unsigned seed : {1u, 2u, 3u})
    for (const Sharding& s : {spec({{}, {}}), spec({{0}, {}}), spec({{}, {0}})})
      check_partitioned(branch, m, {s, spec({})}, seed);
}

TEST_CASE("reshapes and transposes keep what their factors allow") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Graph g = graph({f32({8, 6})}, [&](Builder& b, const Vars& p) { return Vars{ir::transpose(b, p[0], {1, 0})}; });
  auto p = check_partitioned(g, m, {spec({{0}, {1}})});
  CHECK(communicates(p.local).empty());
  CHECK(p.results[0].layout == spec({{1}, {0}}));
  Graph merge = graph({f32({8, 6})}, [&](Builder& b, const Vars& q) {
    return Vars{ir::reshape(b, q[0], {48}), ir::reshape(b, q[0], {6, 8}), ir::reshape(b, q[0], {2, 4, 6})};
  });
  for (const Sharding& s : {spec({{0}, {}}), spec({{}, {1}}), spec({{0}, {1}}), spec({{1, 0}, {}}), spec({{0, 1}, {}})})
    check_partitioned(merge, m, {s});
  auto q = check_partitioned(merge, m, {spec({{1, 0}, {}})});
  CHECK(q.results[0].layout == spec({{1, 0}}));
}

TEST_CASE("random graphs in random layouts compute what the whole computes") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}, {"Z", 2}});
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::uint64_t s = seed * 0x9E3779B97F4A7C15ull;
    auto pick = [&](std::uint64_t n) {
      s = s * 6364136223846793005ull + 1442695040888963407ull;
      return (s >> 33) % n;
    };
    auto layout = [&] {
      Sharding out = spec({{}, {}});
      for (AxisId a = 0; a < 3; ++a)
        if (auto d = pick(3); d < 2)
          out.dims[d].axes.insert(
              out.dims[d].axes.begin() + static_cast<std::ptrdiff_t>(pick(out.dims[d].axes.size() + 1)), a);
      return out;
    };
    std::vector<Sharding> layouts{layout(), layout(), layout()};
    Graph g = graph({f32({8, 8}), f32({8, 8}), f32({8, 8})}, [&](Builder& b, const Vars& p) {
      Vars have = p;
      for (int step = 0; step < 12; ++step) {
        Var x = have[pick(have.size())], y = have[pick(have.size())];
        switch (pick(10)) {
          case 0:
          case 1: x = mm(b, x, y); break;
          case 2: x = ir::transpose(b, x, {1, 0}); break;
          case 3: x = ir::add(b, x, y); break;
          case 4: x = ir::mul(b, x, y); break;
          case 5: x = b.call("tanh", {x}); break;
          case 6: x = ir::broadcast_to(b, ir::reduce_sum(b, x, {0}), {8, 8}); break;
          case 7: x = laid(b, x, m, layout()); break;
          case 8: x = ir::reshape(b, ir::reshape(b, x, {4, 16}), {8, 8}); break;
          case 9:
            x = ir::sub(b, ir::neg(b, x), b.emit1(*b.core().contract, {x, y}, {{"spec", std::string("mk,nk->mn")}}));
            break;
        }
        have.push_back(b.call("sin", {x}));
        if (pick(3) == 0) have.push_back(x);
      }
      return Vars{have.back(), have[have.size() - 2], total(b, have[have.size() - 3])};
    });
    INFO("seed " << seed);
    check_partitioned(g, m, layouts, seed, 2e-3);
  }
}
