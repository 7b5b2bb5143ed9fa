// Rows with regions: loops, branches, calls with rules of their own. Figures from JAX 0.10.2 (lax.scan, lax.cond,
// jax.checkpoint, custom_vjp); derivatives also against central differences, batching against its meaning.
#include "tests/interpreter/execute.h"

#include "grammar/diagnostic.h"
#include "interpreter/transform/regions.h"

using namespace shard;
using namespace shard::testing;

namespace {

GraphRef rnn_body(Type scalar, Type vector) {  // (a, w; h; x) -> tanh(a h + w x), that times x
  return region({scalar, vector, vector, vector}, [](Builder& b, const Vars& p) -> Vars {
    Var h = b.call("tanh", {ir::add(b, ir::mul(b, p[0], p[2]), ir::mul(b, p[1], p[3]))});
    return {h, ir::mul(b, h, p[3])};
  });
}

// loss(a, w, h, xs) = sum h + sum ys^2
Graph rnn(Type scalar, Type vector, Type rows_of) {
  return graph({scalar, vector, vector, rows_of}, [&](Builder& b, const Vars& in) -> Vars {
    Vars out = scan(b, rnn_body(scalar, vector), {in[0], in[1]}, {in[2]}, {in[3]}, rows_of.shape[0]);
    return {ir::add(b, ir::reduce_sum(b, out[0], {0}), ir::reduce_sum(b, ir::mul(b, out[1], out[1]), {0, 1}))};
  });
}

const Node& node_of(const Graph& g, std::string_view name, int nth = 0) {
  for (const Node& n : g.nodes)
    if (n.op->name == name && nth-- == 0) return n;
  throw std::logic_error("no such node");
}

Var sum(Builder& b, Var x) {
  std::vector<std::int64_t> axes;
  for (int d = 0; d < b.type(x).rank(); ++d) axes.push_back(d);
  return ir::reduce_sum(b, x, axes);
}

Array scalar(double v) { return Array(runtime::Shape{}, {v}); }

Graph call_graph(const std::string& policy, bool remat = true) {  // sum sin(sin(x @ w))
  auto body = region({f64({3, 4}), f64({4, 2})}, [](Builder& b, const Vars& p) -> Vars {
    Var y = b.call("matmul", {p[0], p[1]});
    return {sum(b, b.call("sin", {b.call("sin", {y})}))};
  });
  return graph({f64({3, 4}), f64({4, 2})}, [&](Builder& b, const Vars& in) -> Vars {
    return b.emit(b.table().at("call"), in, {{"remat", remat}, {"policy", policy}}, {body});
  });
}

Graph custom_vjp_graph(Type t) {  // log(1 + e^x) with a backward rule that keeps x; the second region's result is x
  auto value = [](Builder& b, Var x) { return b.call("log1p", {b.call("exp", {x})}); };
  auto body = region({t}, [&](Builder& b, const Vars& p) -> Vars { return {value(b, p[0])}; });
  auto forward = region({t}, [&](Builder& b, const Vars& p) -> Vars { return {value(b, p[0]), p[0]}; });
  auto backward =
      region({t, t}, [](Builder& b, const Vars& p) -> Vars { return {ir::mul(b, p[1], b.call("sigmoid", {p[0]}))}; });
  return graph({t}, [&](Builder& b, const Vars& in) -> Vars {
    return b.emit(b.table().at("custom_vjp_call"), in, {{"args", std::int64_t{1}}}, {body, forward, backward});
  });
}

Graph branch_graph() {  // x, y -> if sum x > 0 { (sin x * y, y) } else { (x, exp x) }
  auto yes = region({f64({3}), f64({3})}, [](Builder& b, const Vars& p) -> Vars {
    return {ir::mul(b, b.call("sin", {p[0]}), p[1]), p[1]};
  });
  auto no = region({f64({3}), f64({3})}, [](Builder& b, const Vars& p) -> Vars {
    return {p[0], b.call("exp", {b.call("exp", {p[0]})})};
  });
  return graph({f64({3}), f64({3})}, [&](Builder& b, const Vars& in) -> Vars {
    Var positive = b.emit1(*b.core().lt, {ir::constant(b, 0, DType::F64), sum(b, in[0])});
    return b.emit(*b.core().branch, {positive, in[0], in[1]}, {}, {yes, no});
  });
}

Graph while_graph() {  // x, k: x doubles (and grows by k) while sum x < 20; how often is a second result
  auto cond = region({f64({2}), i32()}, [](Builder& b, const Vars& p) -> Vars {
    return {b.emit1(*b.core().lt, {sum(b, p[0]), ir::constant(b, 20, DType::F64)})};
  });
  auto body = region({f64(), f64({2}), i32()}, [](Builder& b, const Vars& p) -> Vars {
    return {ir::add(b, ir::mul(b, p[1], ir::constant(b, 2, DType::F64)), p[0]),
            ir::add(b, p[2], ir::constant_int(b, 1))};
  });
  return graph({f64({2}), f64()}, [&](Builder& b, const Vars& in) -> Vars {
    Var start = ir::add(b, ir::mul(b, in[0], in[0]), ir::constant(b, 0.5, DType::F64)), step = ir::mul(b, in[1], in[1]);
    return b.emit(*b.core().while_loop, {step, start, ir::constant_int(b, 0)},
                  {{"cond_consts", std::int64_t{0}}, {"body_consts", std::int64_t{1}}}, {cond, body});
  });
}

}  // namespace

TEST_CASE("scan: values and gradients of a recurrent net") {
  Graph f = rnn(f32(), f32({2}), f32({3, 2}));
  Graph g = transform::vjp(rows(), f, std::vector<int>{0, 1, 2, 3}, {true}, true);
  Arrays args{scalar(.5), Array({2}, {1, -1}), Array({2}, {.1, .2}), Array({3, 2}, {1, 2, .5, -.5, .25, 1}), scalar(1)};
  check_close(run(g, args), {4.771167755, 0.845793426, 1.047820926, -1.488347173, 0.339110583, -0.329566658,
                             1.900663495, 4.316693783, 0.868472099, 0.098260157, 0.901361167, 1.365431905});
}

TEST_CASE("scan: both modes agree with differences") { check_derivatives(rnn(f64(), f64({2}), f64({5, 2}))); }

TEST_CASE("scan: a value active through the carry only, integers, and ys that do not depend on it") {
  auto body = region({f64({2}), f64({2}), i32(), f64({2})}, [](Builder& b, const Vars& p) -> Vars {  // carry u, v, n; x
    Var u = ir::mul(b, p[0], ir::convert(b, p[2], DType::F64));
    Var v = ir::add(b, b.call("sin", {p[1]}), p[0]);
    return {u, v, ir::add(b, p[2], ir::constant_int(b, 1)), p[3], ir::mul(b, v, p[3]), p[2]};
  });
  check_derivatives(graph({f64({2}), f64({4, 2})}, [&](Builder& b, const Vars& in) -> Vars {
    return scan(b, body, {}, {in[0], ir::zeros(b, f64({2})), ir::constant_int(b, 1)}, {in[1]}, 4, true);
  }));
}

TEST_CASE("scan: second derivatives, and loops in loops") {
  Graph f = graph({f32()}, [](Builder& b, const Vars& in) -> Vars {  // h <- tanh(a h + x), a = 0.5
    auto body = region({f32(), f32(), f32()}, [](Builder& r, const Vars& p) -> Vars {
      return {r.call("tanh", {ir::add(r, ir::mul(r, p[0], p[1]), p[2])})};
    });
    Var xs = ir::mul(
        b,
        ir::convert(b,
                    ir::add(b,
                            b.emit1(*b.core().iota, {},
                                    {{"shape", ir::Ints{3}}, {"axis", std::int64_t{-1}}, {"dtype", DType::I32}}),
                            ir::constant_int(b, 1)),
                    DType::F32),
        ir::constant(b, 0.1, DType::F32));
    return scan(b, body, {in[0]}, {ir::constant(b, 0, DType::F32)}, {xs}, 3);
  });
  Graph g = transform::vjp(rows(), f, std::vector<int>{0}, {true}, false);
  check_close(run(g, {scalar(.5), scalar(1)}), {0.24520154});
  check_close(run(transform::jvp(rows(), g, std::vector<int>{0}), {scalar(.5), scalar(1), scalar(1)}),
              {0.24520154, 0.09859807});
  check_close(run(transform::vjp(rows(), g, std::vector<int>{0}, {true}, false), {scalar(.5), scalar(1), scalar(1)}),
              {0.09859807});

  auto inner = region({f64(), f64(), f64()}, [](Builder& b, const Vars& p) -> Vars {
    return {ir::add(b, ir::mul(b, p[0], p[1]), b.call("sin", {p[2]})), p[1]};
  });
  auto outer = region({f64(), f64(), f64({3})}, [&](Builder& b, const Vars& p) -> Vars {
    Vars out = scan(b, inner, {p[0]}, {p[1]}, {p[2]}, 3);
    return {b.call("tanh", {out[0]}), sum(b, out[1])};
  });
  Graph nested = graph({f64(), f64(), f64({2, 3})}, [&](Builder& b, const Vars& in) -> Vars {
    return scan(b, outer, {in[0]}, {in[1]}, {in[2]}, 2);
  });
  check_derivatives(nested);
  check_derivatives(transform::vjp(rows(), nested, std::vector<int>{0, 1, 2}, {true, true}, true));
}

TEST_CASE("scan: the backward pass is handed little") {
  // h <- h * exp(k) * x: exp(k) is computed outside, x comes again, only h is stored.
  auto body = region({f64({2}), f64({2}), f64({2})}, [](Builder& b, const Vars& p) -> Vars {
    return {ir::mul(b, ir::mul(b, p[1], b.call("exp", {p[0]})), p[2])};
  });
  Graph f = graph({f64({2}), f64({2}), f64({6, 2})},
                  [&](Builder& b, const Vars& in) -> Vars { return scan(b, body, {in[0]}, {in[1]}, {in[2]}, 6); });
  Graph g = transform::vjp(rows(), f, std::vector<int>{0, 1, 2}, {true}, true);
  CHECK(node_of(g, "scan").outputs.size() == 2);
  check_derivatives(f);
  Graph only_x = transform::vjp(rows(), f, std::vector<int>{2}, {true}, true);
  CHECK(node_of(only_x, "scan", 1).attrs.integer("carry") == 1);  // no sum for the constant
}

TEST_CASE("scan: a carry that changes its type says both types and what to do") {
  auto body = region({f32({2}), f32({2})}, [](Builder& b, const Vars& p) -> Vars {
    return {ir::convert(b, p[0], DType::F64), p[1]};
  });
  Builder b(rows());
  Var init = b.param(f32({2})), xs = b.param(f32({3, 2}));
  CHECK_THROWS_WITH(scan(b, body, {}, {init}, {xs}, 3), Catch::Contains("carry") && Catch::Contains("f32[2]") &&
                                                            Catch::Contains("f64[2]") && Catch::Contains("cast"));
  CHECK_THROWS_WITH(scan(b, body, {}, {init}, {xs}, 4), Catch::Contains("f32[3,2]") && Catch::Contains("4 turns"));
  CHECK_THROWS_WITH(scan(b, body, {}, {init}, {b.param(f32())}, 4), Catch::Contains("first dimension"));
}

TEST_CASE("scan: effects act once a turn, forward only") {
  auto body = region({f32(), f32()}, [](Builder& b, const Vars& p) -> Vars {
    b.emit(b.table().at("effect"), {p[1]}, {});
    return {ir::mul(b, p[0], p[1])};
  });
  Graph f = graph({f32(), f32({3})},
                  [&](Builder& b, const Vars& in) -> Vars { return scan(b, body, {}, {in[0]}, {in[1]}, 3); });
  Reference r;
  r.run(transform::vjp(rows(), f, std::vector<int>{0, 1}, {true}, true), {scalar(1), Array({3}, {1, 2, 3}), scalar(1)});
  CHECK(r.printed == std::vector<double>{1, 2, 3});
}

TEST_CASE("scan: batching") {
  Graph f = rnn(f64(), f64({2}), f64({5, 2}));
  for (unsigned bits = 1; bits < 16; ++bits) {
    INFO("mapped " << bits);
    check_batched(f, {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0}, 3);
  }
  Graph g = transform::vjp(rows(), f, std::vector<int>{0, 1, 2, 3}, {true}, true);
  check_batched(g, {false, true, false, true, false}, 3);
  check_derivatives(transform::batch(rows(), f, {false, true, false, true}, 3, true).graph);
}

TEST_CASE("branch: derivatives on both sides, also of derivatives") {
  Graph f = branch_graph();
  for (unsigned seed = 1; seed < 6; ++seed) check_derivatives(f, seed);
  for (unsigned seed = 1; seed < 6; ++seed)
    check_derivatives(transform::vjp(rows(), f, std::vector<int>{0, 1}, {true, true}, true), seed);
}

TEST_CASE("branch: batching with and without the condition") {
  Graph f = branch_graph();
  for (unsigned seed = 1; seed < 4; ++seed) {
    check_batched(f, {true, false}, 4, seed);
    check_batched(f, {false, true}, 4, seed);
    check_batched(f, {true, true}, 4, seed);
  }
}

TEST_CASE("branch: sides of different types are named") {
  auto yes = region({f32({2})}, [](Builder&, const Vars& p) -> Vars { return {p[0]}; });
  auto no = region({f32({2})}, [](Builder& b, const Vars& p) -> Vars { return {sum(b, p[0])}; });
  Builder b(rows());
  Var x = b.param(f32({2})), p = b.param(Type::of(DType::Bool, {})), many = b.param(Type::of(DType::Bool, {2}));
  CHECK_THROWS_WITH(b.emit(*b.core().branch, {p, x}, {}, {yes, no}),
                    Catch::Contains("f32[2]") && Catch::Contains("f32[]"));
  CHECK_THROWS_WITH(b.emit(*b.core().branch, {many, x}, {}, {yes, yes}),
                    Catch::Contains("one truth value") && Catch::Contains("bool[2]"));
}

TEST_CASE("while: forward mode, and batching until the last is done") {
  Graph f = while_graph();
  Graph g = transform::jvp(rows(), f, std::vector<int>{0, 1});
  // start = x^2 + 1/2 = (1.5, 4.5), step 1/4: sums 6, 12.5, 25.5: two turns, 4 start + 3 step
  check_close(run(g, {Array({2}, {1, 2}, DType::F64), Array(runtime::Shape{}, {.5}, DType::F64),
                      Array({2}, {1, 0}, DType::F64), Array(runtime::Shape{}, {1}, DType::F64)}),
              {6.75, 18.75, 2, 4 * 2 + 3, 3, 0});
  for (unsigned seed = 1; seed < 5; ++seed) {
    check_batched(f, {true, false}, 4, seed);
    check_batched(f, {true, true}, 4, seed);
    check_batched(f, {false, true}, 4, seed);
  }
}

TEST_CASE("remat: the same gradients, values computed again in a region of their own") {
  for (std::string policy : {"none", "dots", "all"}) {
    Graph f = call_graph(policy);
    check_derivatives(f);
    check_derivatives(transform::vjp(rows(), f, std::vector<int>{0, 1}, {true}, true));
    check_batched(f, {true, false}, 3);
    Graph g = transform::vjp(rows(), f, std::vector<int>{0, 1}, {true}, true);
    int calls = 0;
    for (const Node& n : g.nodes) calls += n.op->name == "call";
    CHECK(calls == (policy == "all" ? 0 : 2));
    if (policy == "none") CHECK(node_of(g, "call").outputs.size() == 1);
    if (policy == "dots") CHECK(node_of(g, "call").outputs.size() == 2);
  }
  CHECK_THROWS_WITH(call_graph("everything"), Catch::Contains("everything") && Catch::Contains("dots"));
}

TEST_CASE("custom_vjp: its own rule backward, batched too") {
  Graph f = custom_vjp_graph(f64({3}));
  Graph g = transform::vjp(rows(), f, std::vector<int>{0}, {true}, true);
  // log(1 + e^x) and its derivative at 1, 0, -1
  check_close(run(g, {Array({3}, {1, 0, -1}, DType::F64), Array({3}, {1, 1, 1}, DType::F64)}),
              {1.3132616875, 0.6931471806, 0.3132616875, 0.7310585786, 0.5, 0.2689414214}, 1e-9);
  check_batched(g, {true, true}, 3);
  CHECK_THROWS_WITH(transform::jvp(rows(), f, std::vector<int>{0}), Catch::Contains("custom_vjp"));
  // An argument that is the same for all: the gradient is the sum of theirs.
  Graph scaled = graph({f64({3}), f64()}, [&](Builder& b, const Vars& in) -> Vars {
    auto body = region({f64({3}), f64()}, [](Builder& r, const Vars& p) -> Vars { return {ir::mul(r, p[0], p[1])}; });
    auto forward = region({f64({3}), f64()}, [](Builder& r, const Vars& p) -> Vars {
      return {ir::mul(r, p[0], p[1]), p[0], p[1]};
    });
    auto backward = region({f64({3}), f64(), f64({3})}, [](Builder& r, const Vars& p) -> Vars {
      return {ir::mul(r, p[2], p[1]), sum(r, ir::mul(r, p[2], p[0]))};
    });
    return b.emit(b.table().at("custom_vjp_call"), in, {{"args", std::int64_t{2}}}, {body, forward, backward});
  });
  Graph batched = transform::batch(rows(), scaled, {true, false}, 2, true).graph;
  Graph back = transform::vjp(rows(), batched, std::vector<int>{1}, {true}, false);
  check_close(run(back, {Array({2, 3}, {1, 2, 3, 4, 5, 6}, DType::F64), Array(runtime::Shape{}, {2}, DType::F64),
                         Array({2, 3}, {1, 1, 1, 1, 1, 1}, DType::F64)}),
              {21});
}

TEST_CASE("custom_vjp: rules that do not fit are refused with both types") {
  auto body = region({f32({3})}, [](Builder& b, const Vars& p) -> Vars { return {sum(b, p[0])}; });
  auto forward = region({f32({3})}, [](Builder& b, const Vars& p) -> Vars { return {sum(b, p[0]), p[0]}; });
  auto wrong = region({f32({3}), f32()}, [](Builder&, const Vars& p) -> Vars { return {p[1]}; });
  auto right = region({f32({3}), f32()}, [](Builder&, const Vars& p) -> Vars { return {p[0]}; });
  Builder b(rows());
  Var x = b.param(f32({3}));
  auto with = [&](GraphRef fwd, GraphRef bwd) {
    return b.emit(b.table().at("custom_vjp_call"), {x}, {{"args", std::int64_t{1}}}, {body, fwd, bwd});
  };
  CHECK_THROWS_WITH(with(forward, wrong),
                    Catch::Contains("bwd") && Catch::Contains("f32[]") && Catch::Contains("f32[3]"));
  auto other = region({f32({3})}, [](Builder&, const Vars& p) -> Vars { return {p[0], p[0]}; });
  CHECK_THROWS_WITH(with(other, right),
                    Catch::Contains("fwd") && Catch::Contains("f32[3]") && Catch::Contains("f32[]"));
  CHECK_NOTHROW(with(forward, right));
}

TEST_CASE("custom_jvp: its own rule in both directions") {
  // sqrt with the rule t / (2 y)
  auto body = region({f64({3})}, [](Builder& b, const Vars& p) -> Vars { return {b.call("sqrt", {p[0]})}; });
  auto rule = region({f64({3}), f64({3})}, [](Builder& b, const Vars& p) -> Vars {
    Var y = b.call("sqrt", {p[0]});
    return {y, ir::div(b, p[1], ir::mul(b, y, ir::constant(b, 2, DType::F64)))};
  });
  Graph f = graph({f64({3})}, [&](Builder& b, const Vars& in) -> Vars {
    return b.emit(b.table().at("custom_jvp_call"),
                  {ir::add(b, ir::mul(b, in[0], in[0]), ir::constant(b, 1, DType::F64))}, {{"args", std::int64_t{1}}},
                  {body, rule});
  });
  check_derivatives(f);
  check_batched(f, {true}, 3);
  check_derivatives(transform::vjp(rows(), f, std::vector<int>{0}, {true}, true));
}

TEST_CASE("effects under vmap act once a row, in order") {
  Graph f = graph({f32(), f32()}, [](Builder& b, const Vars& in) -> Vars {
    b.emit(b.table().at("effect"), {in[0], in[1]}, {});
    return {in[0]};
  });
  Reference r;
  r.run(transform::batch(rows(), f, {true, false}, 3, true).graph, {Array({3}, {1, 2, 3}), scalar(9)});
  CHECK(r.printed == std::vector<double>{1, 9, 2, 9, 3, 9});
  CHECK(r.effects == 3);
}

TEST_CASE("derived graphs run as they compute: on one device, and split over a mesh") {
  struct Case {
    std::string what;
    Graph graph;
  };
  std::vector<Case> cases;
  auto derive = [&](const std::string& what, const Graph& f, std::vector<bool> mapped, bool reverse = true) {
    std::vector<int> wrt;
    std::vector<bool> with_ct;
    for (std::size_t i = 0; i < f.params.size(); ++i)
      if (runtime::is_float(f.type(f.params[i]).dtype)) wrt.push_back(static_cast<int>(i));
    for (Var r : f.results) with_ct.push_back(runtime::is_float(f.type(r).dtype));
    cases.push_back({what + ", forward", transform::jvp(rows(), f, wrt)});
    if (reverse) {
      Graph g = transform::vjp(rows(), f, wrt, with_ct, true);
      cases.push_back({what + ", reverse", g});
      cases.push_back({what + ", forward over reverse", transform::jvp(rows(), g, std::vector<int>{0})});
      mapped.resize(g.params.size(), false);
      cases.push_back({what + ", reverse, mapped", transform::batch(rows(), g, mapped, 4, true).graph});
    }
    mapped.resize(f.params.size(), false);
    cases.push_back({what + ", mapped", transform::batch(rows(), f, mapped, 4, true).graph});
  };
  derive("scan", rnn(f64(), f64({4}), f64({6, 4})), {false, true, false, true});
  derive("branch", branch_graph(), {true, false});
  derive("remat", call_graph("none"), {true, false});
  derive("remat dots", call_graph("dots"), {true, false});
  derive("while", while_graph(), {true, false}, false);
  auto m = mesh({{"X", 2}, {"Y", 2}});
  for (const Case& c : cases) {
    INFO(c.what);
    Arrays args;
    std::vector<runtime::Sharding> layouts;
    for (Var p : c.graph.params) {
      const Type& t = c.graph.type(p);
      args.push_back(numbers(t, 3 + static_cast<unsigned>(args.size())));
      layouts.push_back(runtime::Sharding::replicated(t.shape.size()));
      for (std::size_t d = 0, axis = 0; d < t.shape.size() && axis < 2; ++d)  // the first even dimensions are split
        if (t.shape[d] % 2 == 0) layouts.back().dims[d].axes.push_back(static_cast<runtime::AxisId>(axis++));
    }
    std::vector<double> want = run(c.graph, args);
    check_close(flat(execute(c.graph, args, nullptr, {})), want, 1e-9);
    check_close(flat(execute(c.graph, args, m, layouts)), want, 1e-9);
  }
}
