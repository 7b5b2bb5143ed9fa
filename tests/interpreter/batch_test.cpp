// vmap of graphs by the columns of their rows: the batched graph on stacked arguments gives what the graph gives on
// each of them.
#include "tests/interpreter/graphs.h"

using namespace shard;
using namespace shard::testing;

TEST_CASE("elementwise operations of different rank align behind the new dimension") {
  Graph f = graph({f64({2, 3}), f64({3}), f64()}, [](Builder& b, const Vars& in) -> Vars {
    return {ir::add(b, ir::mul(b, in[0], in[1]), in[2]), ir::mul(b, in[1], in[2]), b.call("sin", {in[2]})};
  });
  for (unsigned bits = 1; bits < 8; ++bits) {
    INFO("mapped " << bits);
    check_batched(f, {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0},
                  3);  // as many as a dimension has: misalignment would fit
  }
}

TEST_CASE("results that do not depend on a mapped parameter stay as they are, unless forced") {
  Graph f = graph({f64({2}), f64({2})}, [](Builder& b, const Vars& in) -> Vars {
    return {ir::mul(b, in[0], in[0]), ir::add(b, in[1], in[1])};
  });
  transform::Batched g = transform::batch(rows(), f, {true, false}, 4, false);
  CHECK(g.mapped == std::vector<bool>{true, false});
  CHECK(g.graph.type(g.graph.results[0]).shape == runtime::Shape{4, 2});
  CHECK(g.graph.type(g.graph.results[1]).shape == runtime::Shape{2});
  CHECK(transform::batch(rows(), f, {true, false}, 4, true).graph.type(f.results[1]).dtype == DType::F64);
  check_batched(f, {true, false}, 4);
}

TEST_CASE("shapes: broadcast, reshape, transpose, reductions") {
  Graph f = graph({f64({2, 3}), f64({3})}, [](Builder& b, const Vars& in) -> Vars {
    Var wide = ir::broadcast_to(b, in[1], {4, 2, 3});
    return {ir::reshape(b, in[0], {3, 2}), ir::transpose(b, in[0], {1, 0}), ir::reduce_sum(b, in[0], {0}),
            ir::reduce_sum(b, ir::mul(b, wide, in[0]), {1}), ir::reduce_sum(b, in[1], {0})};
  });
  check_batched(f, {true, false}, 2);
  check_batched(f, {false, true}, 2);
  check_batched(f, {true, true}, 3);
}

TEST_CASE("contractions, with either side mapped") {
  Graph f = graph({f64({2, 3}), f64({3, 4})}, [](Builder& b, const Vars& in) -> Vars {
    return {b.call("matmul", {in[0], in[1]})};
  });
  check_batched(f, {true, false}, 3);
  check_batched(f, {false, true}, 3);
  check_batched(f, {true, true}, 3);
}

TEST_CASE("twice mapped, and gradients of each row") {
  Graph f = graph({f64({3}), f64({3})}, [](Builder& b, const Vars& in) -> Vars {
    return {ir::reduce_sum(b, b.call("tanh", {ir::mul(b, in[0], in[1])}), {0})};
  });
  transform::Batched once = transform::batch(rows(), f, {true, false}, 4, true);
  check_batched(once.graph, {false, true}, 2);
  Graph g = transform::vjp(rows(), f, std::vector<int>{0, 1}, {true}, true);
  check_batched(g, {true, false, false}, 4);
  check_derivatives(once.graph);
}

TEST_CASE("a new dimension that is split carries its layout") {
  runtime::Mesh m;
  m.axes = {{"X", 2, runtime::AxisKind::Explicit}};
  m.devices = {0, 1};
  auto mesh = std::make_shared<const runtime::Mesh>(m);
  Type row = f32({3});
  Graph f = graph({row, row}, [](Builder& b, const Vars& in) -> Vars {
    return {ir::mul(b, in[0], in[0]), ir::add(b, in[1], in[1])};
  });
  transform::Batched g = transform::batch(rows(), f, {true, false}, 4, {true, true}, {{{0}, false}, mesh});
  CHECK(runtime::to_string(g.graph.type(g.graph.results[0])) == "f32[4@X,3]");
  CHECK(runtime::to_string(g.graph.type(g.graph.results[1])) == "f32[4@X,3]");
}
