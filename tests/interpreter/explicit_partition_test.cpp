// Explicit layouts through the partitioner: types say the layouts, nothing moves unless `shard` or `out:` says so,
// unreduced sums stay unreduced until they are asked for. Cases from JAX's sharding in types (documentation of sharding
// and of its gradients).
#include "tests/interpreter/lockstep.h"

using namespace shard;
using namespace shard::testing;
using S = std::vector<std::string>;

namespace {

Type laid_out(const MeshRef& m, runtime::Shape shape, const Sharding& s) {
  Type t = f32(std::move(shape));
  t.mesh = m;
  t.sharding = s;
  return t;
}
Sharding reduced(std::size_t rank, AxisId a) {
  Sharding s = Sharding::replicated(rank);
  s.reduced.add(a);
  return s;
}
std::string type(const Graph& g, std::size_t r) { return runtime::to_string(g.type(g.results[r])); }

}  // namespace

TEST_CASE("explicit layouts move nothing by themselves") {
  MeshRef m = mesh({{"X", 2}, {"Y", 4}}, runtime::AxisKind::Explicit);
  Sharding s = spec({{0}, {1}}), w = spec({{}, {}});
  Graph g = graph({laid_out(m, {8, 8}, s), laid_out(m, {8, 8}, spec({{0}, {}})), laid_out(m, {8, 4}, w)},
                  [&](Builder& b, const Vars& p) {
                    return Vars{b.call("tanh", {p[0]}), mm(b, p[1], p[2]), ir::transpose(b, p[0], {1, 0})};
                  });
  auto p = check_partitioned(g, m, {s, spec({{0}, {}}), w});
  CHECK(communicates(p.local).empty());
  CHECK(type(g, 0) == "f32[8@X,8@Y]");
  CHECK(p.results[0].layout == s);
  CHECK(p.results[1].layout == spec({{0}, {}}));
  CHECK(p.results[2].layout == spec({{1}, {0}}));
}

TEST_CASE("a product summed over a split dimension: whole, scattered or unreduced, as `out` says") {
  MeshRef m = mesh({{"X", 4}}, runtime::AxisKind::Explicit);
  Sharding x = spec({{}, {0}}), w = spec({{0}, {}});
  auto product = [&](const Sharding& out) {
    return graph({laid_out(m, {4, 8}, x), laid_out(m, {8, 4}, w)}, [&](Builder& b, const Vars& p) {
      return Vars{mm(b, p[0], p[1], ir::Layout{m, out})};
    });
  };
  CHECK(communicates(check_partitioned(product(spec({{}, {}})), m, {x, w}).local) == S{"psum(64)"});
  CHECK(communicates(check_partitioned(product(spec({{0}, {}})), m, {x, w}).local) == S{"psum_scatter(64)"});
  auto unreduced = check_partitioned(product(spec({{}, {}}, {0})), m, {x, w});
  CHECK(communicates(unreduced.local).empty());
  CHECK(unreduced.results[0].layout.unreduced.has(0));
}

TEST_CASE("unreduced sums are added as they are and summed when asked for") {
  MeshRef m = mesh({{"X", 4}}, runtime::AxisKind::Explicit);
  Sharding x = spec({{}, {0}}), w = spec({{0}, {}});
  Graph g = graph({laid_out(m, {4, 8}, x), laid_out(m, {8, 4}, w)}, [&](Builder& b, const Vars& p) {
    ir::Layout out{m, spec({{}, {}}, {0})};
    Var a = mm(b, p[0], p[1], out), c = mm(b, b.call("tanh", {p[0]}), p[1], out);
    return Vars{laid(b, ir::add(b, a, c), m, spec({{0}, {}}))};
  });
  CHECK(communicates(check_partitioned(g, m, {x, w}).local) == S{"psum_scatter(64)"});
}

TEST_CASE("there and back through an unreduced sum keeps the value") {
  MeshRef m = mesh({{"X", 2}, {"Y", 4}}, runtime::AxisKind::Explicit);
  Sharding x = spec({{0}, {}});
  Graph g = graph({laid_out(m, {4, 2}, x)}, [&](Builder& b, const Vars& p) {
    Var u = laid(b, p[0], m, spec({{}, {}}, {0})), v = laid(b, p[0], m, spec({{0}, {}}, {1}));
    return Vars{laid(b, u, m, spec({{}, {0}})), laid(b, v, m, x), u, v};
  });
  auto p = check_partitioned(g, m, {x});
  CHECK(communicates(p.local).size() == 2);  // the ways back; the ways there are free
}

TEST_CASE("gradients of micro-batches are summed once a step") {
  MeshRef m = mesh({{"X", 4}}, runtime::AxisKind::Explicit);
  Type w = laid_out(m, {2, 2}, reduced(2, 0)), x = laid_out(m, {4, 2}, spec({{0}, {}})),
       u = laid_out(m, {2, 2}, spec({{}, {}}, {0}));
  Graph loss = graph({w, x}, [&](Builder& b, const Vars& p) {
    Var y = mm(b, p[1], p[0]);
    return Vars{ir::reduce_sum(b, ir::mul(b, y, y), {0, 1})};
  });
  Graph gradient = transform::vjp(rows(), loss, std::vector<int>{0}, {true}, false);
  CHECK(type(gradient, 0) == "f32[2,2]{U:X}");
  auto body = region({w, u, x}, [&](Builder& b, const Vars& p) {
    Var one = ir::constant(b, 1, DType::F32);
    Vars args{p[0], p[2], one};
    return Vars{ir::add(b, p[1], b.inline_graph(gradient, args)[0])};
  });
  Graph step = graph({w, laid_out(m, {3, 4, 2}, spec({{}, {0}, {}}))}, [&](Builder& b, const Vars& p) {
    Var zero = ir::zeros(b, u);
    Vars out = scan(b, body, {p[0]}, {zero}, {p[1]}, 3);
    return Vars{laid(b, out[0], m, spec({{}, {}}))};
  });
  auto p = check_partitioned(step, m, {spec({{}, {}}), spec({{}, {0}, {}})});
  CHECK(communicates(p.local) == S{"psum(16)"});
}

TEST_CASE("explicit and automatic axes in one mesh") {
  auto both = std::make_shared<runtime::Mesh>(*mesh({{"data", 2}, {"model", 4}}));
  both->axes[0].kind = runtime::AxisKind::Explicit;
  MeshRef m = both;
  Type x = laid_out(m, {8, 4}, spec({{0}, {}})), w = laid_out(m, {4, 8}, spec({{}, {}}));
  Graph g = graph({x, w}, [&](Builder& b, const Vars& p) {
    return Vars{mm(b, p[0], p[1]), ir::reduce_sum(b, p[0], {1})};
  });
  CHECK(type(g, 0) == "f32[8@data,8]");
  auto p = check_partitioned(
      g, m, {spec({{0}, {1}}), spec({{1}, {}})});  // @model splits the summed dimension, unseen by types
  CHECK(p.results[0].layout.dims[0].axes == Axes{0});
  CHECK(p.results[1].layout.dims[0].axes == Axes{0});
}
