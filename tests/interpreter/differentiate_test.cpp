// Forward and reverse derivatives of graphs. Figures computed with JAX 0.10.2 (jax.grad, jax.jvp, f32); the property
// tests compare both modes with each other and with central differences in f64.
#include "tests/interpreter/graphs.h"

#include "grammar/diagnostic.h"
#include "interpreter/transform/regions.h"

using namespace shard;
using namespace shard::testing;

namespace {

Graph grad_of(const Graph& f, std::vector<int> wrt = {0}) {  // of a scalar
  Graph g = transform::vjp(rows(), f, wrt, {true}, false);
  return graph(
      [&] {
        std::vector<Type> t;
        for (Var p : f.params) t.push_back(f.type(p));
        return t;
      }(),
      [&](Builder& b, const Vars& in) {
        Vars args = in;
        args.push_back(ir::ones(b, f.type(f.results[0])));
        return b.inline_graph(g, args);
      });
}

int count_of(const Graph& g, std::string_view name) {
  int n = 0;
  for (const Node& node : g.nodes) n += node.op->name == name;
  return n;
}

}  // namespace

TEST_CASE("a dense layer: broadcasting, fan-out, reduction") {
  // x [2, 3], w [3], b []: s = sum(tanh(x * w + b) * x)
  Graph f = graph({f32({2, 3}), f32({3}), f32()}, [](Builder& b, const Vars& in) -> Vars {
    Var t = b.call("tanh", {ir::add(b, ir::mul(b, in[0], in[1]), in[2])});
    return {ir::reduce_sum(b, ir::mul(b, t, in[0]), {0, 1})};
  });
  Graph g = grad_of(f, {0, 1, 2});
  CHECK(g.type(g.results[0]) == f32({2, 3}));
  CHECK(g.type(g.results[1]) == f32({3}));
  CHECK(g.type(g.results[2]) == f32());
  // jax.grad(lambda x, w, b: jnp.sum(jnp.tanh(x * w + b) * x), (0, 1, 2)) of x = [[.1, .2, .3], [.4, .5, .6]], w = [1,
  // -2, .5], b = .25
  check_close(
      run(g, {Array({2, 3}, {.1, .2, .3, .4, .5, .6}), Array({3}, {1, -2, .5}), Array(runtime::Shape{}, {.25})}),
      {0.42506069, -0.54001832, 0.50829482, 0.84094733, -1.23173475, 0.72536409, 0.11657947, 0.18825977, 0.34682015,
       1.55820131});
}

TEST_CASE("gradients of gradients, in both orders of modes") {
  // f(x) = x^4 + sin(x) at 0.5
  Graph f = graph({f32()}, [](Builder& b, const Vars& in) -> Vars {
    Var x2 = ir::mul(b, in[0], in[0]);
    return {ir::add(b, ir::mul(b, x2, x2), b.call("sin", {in[0]}))};
  });
  Graph g1 = grad_of(f), g2 = grad_of(g1), g3 = grad_of(g2);
  Array x(runtime::Shape{}, {0.5});
  check_close(run(g1, {x}), {1.3775826});  // 4 x^3 + cos x
  check_close(run(g2, {x}), {2.5205746});  // 12 x^2 - sin x
  check_close(run(g3, {x}), {11.122417});  // 24 x - cos x
  Graph over = transform::jvp(rows(), g1, std::vector<int>{0});
  check_close(run(over, {x, Array(runtime::Shape{}, {2.0})}), {1.3775826, 2 * 2.5205746});
  Graph under = transform::jvp(rows(), f, std::vector<int>{0});
  Graph reverse_over = transform::vjp(rows(), under, std::vector<int>{0}, {false, true}, false);
  check_close(run(reverse_over, {x, Array(runtime::Shape{}, {2.0}), Array(runtime::Shape{}, {1.0})}), {2 * 2.5205746});
}

TEST_CASE("what no gradient reaches is zero, and costs nothing") {
  Graph f = graph({f32({2}), i32({2}), f32({3})}, [](Builder& b, const Vars& in) -> Vars {
    Var n = ir::convert(b, in[1], DType::F32);
    return {ir::reduce_sum(b, ir::mul(b, in[0], n), {0}), b.call("sin", {in[2]})};
  });
  Graph g = transform::vjp(rows(), f, std::vector<int>{0, 1, 2}, {true, false}, false);
  CHECK(g.params.size() == 4);
  CHECK(g.type(g.results[1]) == i32({2}));
  CHECK(count_of(g, "sin") == 0);
  CHECK(count_of(g, "cos") == 0);
  check_close(
      run(g, {Array({2}, {1, 2}), Array({2}, {3, 4}, DType::I32), Array({3}, {1, 2, 3}), Array(runtime::Shape{}, {2})}),
      {6, 8, 0, 0, 0, 0, 0});
}

TEST_CASE("the forward part is in the backward graph once") {
  Graph f =
      graph({f32({4})}, [](Builder& b, const Vars& in) -> Vars { return {b.call("exp", {b.call("exp", {in[0]})})}; });
  Graph g = transform::vjp(rows(), f, std::vector<int>{0}, {true}, true);
  CHECK(count_of(g, "exp") == 2);
  CHECK(count_of(g, "mul") == 2);
}

TEST_CASE("element types and weak types of cotangents are those of the operands") {
  Graph f = graph({Type::of(DType::F32, {}, true), f64({2})}, [](Builder& b, const Vars& in) -> Vars {
    return {ir::reduce_sum(b, ir::mul(b, ir::convert(b, in[0], DType::F64), in[1]), {0})};
  });
  Graph g = transform::vjp(rows(), f, std::vector<int>{0, 1}, {true}, false);
  CHECK(g.type(g.results[0]) == Type::of(DType::F32, {}, true));
  CHECK(g.type(g.results[1]) == f64({2}));
}

TEST_CASE("spans of the backward part are those of what caused it") {
  grammar::Span here{1, 10, 20};
  Graph f = graph({f32()}, [&](Builder& b, const Vars& in) -> Vars {
    ir::SpanScope scope(b, here);
    return {b.call("sin", {in[0]})};
  });
  Graph g = transform::vjp(rows(), f, std::vector<int>{0}, {true}, false);
  for (const Node& n : g.nodes) CHECK(n.span == here);
}

TEST_CASE("effects are in the forward part only") {
  Graph f = graph({f32()}, [](Builder& b, const Vars& in) -> Vars {
    b.emit(b.table().at("effect"), {in[0]}, {{"what", std::string("print")}});
    return {ir::mul(b, in[0], in[0])};
  });
  Graph with = transform::vjp(rows(), f, std::vector<int>{0}, {true}, true),
        without = transform::vjp(rows(), f, std::vector<int>{0}, {true}, false);
  CHECK(transform::has_effects(with));
  CHECK_FALSE(transform::has_effects(without));
  Reference r;
  r.run(with, {Array(runtime::Shape{}, {3}), Array(runtime::Shape{}, {1})});
  CHECK(r.printed == std::vector<double>{3});
}

TEST_CASE("both modes agree with differences") {
  check_derivatives(graph({f64({3, 4}), f64({4}), f64({3, 1})}, [](Builder& b, const Vars& in) -> Vars {
    Var y = b.call("tanh", {ir::add(b, ir::mul(b, in[0], in[1]), in[2])});
    Var z = ir::div(b, y, ir::add(b, b.call("exp", {in[1]}), ir::mul(b, in[2], in[2])));
    Var w = ir::mul(b, b.call("sin", {in[2]}),
                    b.call("sin", {in[0]}));  // a partial of shape [3, 4] for an operand of [3, 1]
    return {ir::reduce_sum(b, z, {0}), ir::transpose(b, ir::sub(b, y, z), {1, 0}), b.call("maximum", {in[0], in[1]}), w,
            ir::div(b, in[0], b.call("exp", {in[2]}))};
  }));
}

TEST_CASE("a graph cut in two computes the same") {
  Graph f = graph({f64({3}), f64({3})}, [](Builder& b, const Vars& in) -> Vars {
    return {b.call("exp", {ir::mul(b, in[0], b.call("sin", {in[1]}))})};
  });
  Graph g = transform::vjp(rows(), f, std::vector<int>{0, 1}, {true}, true);
  transform::Halves h = transform::cut(rows(), g, 2, 1);
  Arrays args{numbers(f64({3}), 1), numbers(f64({3}), 2)}, ct{numbers(f64({3}), 3)};
  Arrays first = Reference().run(h.first, args), whole_args = args;
  whole_args.push_back(ct[0]);
  Arrays whole = Reference().run(g, whole_args), second_args(first.begin() + 1, first.end());
  CHECK(second_args.size() == h.residuals);
  second_args.push_back(ct[0]);
  Arrays second = Reference().run(h.second, second_args);
  check_close(flat({first[0], second[0], second[1]}), flat(whole), 1e-12);
}

TEST_CASE("an operation without a derivative says why") {
  Graph f = graph({f32({2})}, [](Builder& b, const Vars& in) -> Vars {
    auto body = region({f32({2})}, [](Builder& r, const Vars& p) -> Vars { return {ir::mul(r, p[0], p[0])}; });
    auto cond = region({f32({2})}, [](Builder& r, const Vars& p) -> Vars {
      return {r.emit1(*r.core().lt, {ir::reduce_sum(r, p[0], {0}), ir::constant(r, 100, DType::F32)})};
    });
    return b.emit(*b.core().while_loop, {in[0]}, {{"cond_consts", std::int64_t{0}}, {"body_consts", std::int64_t{0}}},
                  {cond, body});
  });
  CHECK_THROWS_WITH(transform::vjp(rows(), f, std::vector<int>{0}, {true}, true), Catch::Contains("while"));
  Graph g = transform::jvp(rows(), f, std::vector<int>{0});
  // (2, 3), (4, 9), (16, 81), whose sum is 97, (256, 6561): x^8
  check_close(run(g, {Array({2}, {2, 3}), Array({2}, {1, 1})}), {256, 6561, 8 * 128, 8 * 2187});
}

TEST_CASE("rules given in one direction serve both") {
  // reduce_max, reduce_prod and logsumexp say how tangents go through; reverse mode transposes that.
  Graph f = graph({f64({3, 4})}, [](Builder& b, const Vars& in) -> Vars {
    Var largest = b.call("reduce_max", {in[0]}, {{"axes", ir::Ints{-1}}}),
        product = b.call("reduce_prod", {in[0]}, {{"axes", ir::Ints{-2}}});
    return {b.call("sin", {largest}), b.call("logsumexp", {ir::mul(b, in[0], product)}), b.call("softmax", {in[0]})};
  });
  check_derivatives(f);
  check_derivatives(transform::vjp(rows(), f, std::vector<int>{0}, {true, true, true}, true));

  // A row that says how cotangents go through; forward mode transposes that.
  ir::OpTable table;
  stdlib::register_all(table);
  ir::OpDef row = table.at("sin");
  row.name = "only_back";
  row.signature = "only_back(x)";
  row.derivative = ir::Custom{{}, [](Builder& b, const ir::NodeView& n, std::span<const Var> ct) -> Vars {
                                return {ir::mul(b, ct[0], b.call("cos", {n.in[0]}))};
                              }};
  table.add(std::move(row));
  table.freeze();
  Builder b(table);
  Var x = b.param(f64({2}));
  Graph g = b.finish({b.call("only_back", {ir::mul(b, x, x)})});
  Graph push = transform::jvp(table, g, std::vector<int>{0});
  // sin(x^2) and 2 x cos(x^2) t at x = (1, 2), t = (1, 0.5)
  check_close(run(push, {Array({2}, {1, 2}, DType::F64), Array({2}, {1, 0.5}, DType::F64)}),
              {0.8414709848, -0.7568024953, 1.0806046117, -1.3072872417}, 1e-9);
}

TEST_CASE("explicit axes: a cotangent has the layout of its primal, reduced and unreduced change places") {
  runtime::Mesh m;
  m.axes = {{"X", 2, runtime::AxisKind::Explicit}, {"Y", 4, runtime::AxisKind::Explicit}};
  m.devices = {0, 1, 2, 3, 4, 5, 6, 7};
  auto mesh = std::make_shared<const runtime::Mesh>(m);
  auto laid = [&](runtime::Shape shape, std::vector<std::vector<runtime::AxisId>> axes, runtime::AxisSet reduced = {}) {
    Type t = f32(std::move(shape));
    for (std::size_t d = 0; d < axes.size(); ++d) t.sharding.dims[d].axes = axes[d];
    t.sharding.reduced = reduced;
    t.mesh = t.sharding.used_axes().empty() ? nullptr : mesh;
    return t;
  };
  auto grads = [&](const std::vector<Type>& params, const Body& body) {
    Graph f = graph(params, body);
    std::vector<int> wrt;
    for (std::size_t i = 0; i < params.size(); ++i) wrt.push_back(static_cast<int>(i));
    Graph g = transform::vjp(rows(), f, wrt, std::vector<bool>(f.results.size(), true), false);
    std::vector<std::string> out;
    for (Var r : g.results) out.push_back(runtime::to_string(g.type(r)));
    return out;
  };
  using Texts = std::vector<std::string>;
  Body scaled = [](Builder& b, const Vars& in) -> Vars {
    return {ir::reduce_sum(b, ir::mul(b, in[0], in[1]), {0, 1})};
  };
  CHECK(grads({laid({8, 4}, {{0}, {}}), laid({4}, {{}})}, scaled) == Texts{"f32[8@X,4]", "f32[4]"});
  CHECK(grads({laid({8, 4}, {{0}, {1}}), laid({4}, {{1}})}, scaled) == Texts{"f32[8@X,4@Y]", "f32[4@Y]"});
  CHECK(grads({laid({8, 4}, {{0}, {1}}), laid({8, 4}, {{}, {}})}, scaled) == Texts{"f32[8@X,4@Y]", "f32[8,4]"});
  // jax: a weight cast to reduced over X before x @ w has the gradient f32[4,2]{U:X}
  Body product = [](Builder& b, const Vars& in) -> Vars { return {b.call("matmul", {in[0], in[1]})}; };
  CHECK(grads({laid({8, 4}, {{0}, {}}), laid({4, 2}, {{}, {}}, runtime::AxisSet::of(0))}, product) ==
        Texts{"f32[8@X,4]", "f32[4,2]{U:X}"});
  CHECK(grads({laid({8, 4}, {{0}, {}}), laid({4, 2}, {{}, {}})}, product) == Texts{"f32[8@X,4]", "f32[4,2]"});
  CHECK(grads({laid({8, 4}, {{0}, {1}}), laid({4, 2}, {{}, {}})}, product) == Texts{"f32[8@X,4@Y]", "f32[4,2]"});
  // A bias that is reduced: its gradient is summed within each device only.
  Body biased = [](Builder& b, const Vars& in) -> Vars {
    Var bias = b.emit1(*b.core().shard, {in[1]},
                       {{"layout", ir::Layout{b.type(in[0]).mesh, runtime::Sharding::replicated(1)}}});
    return {ir::add(b, in[0], bias)};
  };
  CHECK(grads({laid({8, 4}, {{0}, {}}), laid({4}, {{}})}, biased) == Texts{"f32[8@X,4]", "f32[4]"});
}

TEST_CASE("explicit axes: scan accumulates an unreduced gradient") {
  runtime::Mesh m;
  m.axes = {{"X", 2, runtime::AxisKind::Explicit}};
  m.devices = {0, 1};
  auto mesh = std::make_shared<const runtime::Mesh>(m);
  Type w = f32({4, 2}), x = f32({8, 4}), xs = f32({3, 8, 4});
  w.sharding.reduced = runtime::AxisSet::of(0);
  x.sharding.dims[0].axes = xs.sharding.dims[1].axes = {0};
  w.mesh = x.mesh = xs.mesh = mesh;
  auto body = region({w, f32(), x}, [](Builder& b, const Vars& p) -> Vars {
    Var y = b.call("matmul", {p[2], p[0]});
    return {ir::add(b, p[1], ir::reduce_sum(b, ir::mul(b, y, y), {0, 1}))};
  });
  Graph f = graph({w, xs}, [&](Builder& b, const Vars& in) -> Vars {
    return scan(b, body, {in[0]}, {ir::constant(b, 0, DType::F32)}, {in[1]}, 3);
  });
  Graph g = transform::vjp(rows(), f, std::vector<int>{0, 1}, {true}, false);
  CHECK(runtime::to_string(g.type(g.results[0])) == "f32[4,2]{U:X}");
  CHECK(runtime::to_string(g.type(g.results[1])) == "f32[3,8@X,4]");
}
