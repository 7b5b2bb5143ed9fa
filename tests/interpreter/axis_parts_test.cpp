// Parts of axes: dimensions whose factors an axis does not divide by are split over a part of it. Values are those of
// the whole computation; collectives by derivation.
#include "runtime/mesh/axis_parts.h"
#include "interpreter/transform/regions.h"
#include "tests/interpreter/execute.h"

using namespace shard;
using namespace shard::testing;
using S = std::vector<std::string>;

namespace {

const MeshRef kTwoByFour = mesh({{"D", 2}, {"M", 4}});

// Of [6, 8] in 2 groups of 4: the sum over the groups of what each has.
Graph groups() {
  return graph({f32({6, 8})}, [](Builder& b, const Vars& p) {
    Var x = b.call("sin", {ir::reshape(b, p[0], {6, 2, 4})});
    return Vars{ir::reduce_sum(b, ir::mul(b, x, x), {1, 2})};
  });
}

std::vector<std::string> axes_of(const transform::Program& p) {
  S out;
  for (const transform::CommRecord& r : p.communication) {
    out.push_back(r.kind);
    for (const std::string& axis : r.axes) out.back() += " @" + axis;
  }
  return out;
}

}  // namespace

TEST_CASE("two groups on an axis of four are split over half of it, what is in a group over the other half") {
  const transform::Program p = check_partitioned(groups(), kTwoByFour, {spec({{}, {1}})});
  CHECK(axes_of(p) == S{"psum @M"});  // of six numbers; whole axes would gather 6 x 8
  REQUIRE(p.mesh->whole);
  CHECK(*p.mesh->whole == *kTwoByFour);
  CHECK(runtime::to_string(*p.mesh) == "(@D: 2, @M:(1)2: 2, @M:(2)2: 2)");
  CHECK(*p.results[0].mesh == *kTwoByFour);  // callers see axes as they were declared
  CHECK(p.results[0].layout == runtime::Sharding::replicated(1));
  SECTION("a sum over the groups alone has a collective over a part") {
    Graph g = graph({f32({6, 8})}, [](Builder& b, const Vars& q) {
      Var x = ir::reduce_sum(b, b.call("sin", {ir::reshape(b, q[0], {6, 2, 4})}), {1});
      return Vars{ir::reduce_sum(b, b.call("sin", {x}), {1})};
    });
    CHECK(axes_of(check_partitioned(g, kTwoByFour, {spec({{}, {1}})})) == S{"psum @M:(1)2", "psum @M:(2)2"});
  }
  SECTION("in a loop too") {
    Graph body = graph({f32({6}), f32({6, 8})}, [](Builder& b, const Vars& q) {
      Var x = b.call("sin", {ir::reshape(b, q[1], {6, 2, 4})});
      return Vars{ir::add(b, q[0], ir::reduce_sum(b, ir::mul(b, x, x), {1, 2}))};
    });
    Graph g = graph({f32({6}), f32({3, 6, 8})},
                    [&](Builder& b, const Vars& q) { return scan(b, share(body), {}, {q[0]}, {q[1]}, 3); });
    const transform::Program loop = check_partitioned(g, kTwoByFour, {spec({{}}), spec({{}, {}, {1}})});
    CHECK(loop.mesh->whole);
  }
}

TEST_CASE(
    "results lie over whole axes that come together again") {  // the mean of a group over two devices, as XLA has it
  const Graph g = graph({f32({6, 8})}, [](Builder& b, const Vars& p) {
    const Var y = ir::reshape(b, p[0], {6, 2, 4});
    const Var mean = ir::reshape(b, ir::reduce_sum(b, y, {2}), {6, 2, 1});
    return Vars{ir::reshape(b, ir::sub(b, y, ir::broadcast_to(b, mean, {6, 2, 4})), {6, 8})};
  });
  const transform::Program p = check_partitioned(g, kTwoByFour, {spec({{}, {1}})});
  CHECK(axes_of(p) == S{"psum @M:(2)2"});
  CHECK(p.results[0].layout == spec({{}, {1}}));
  CHECK(*p.results[0].mesh == *kTwoByFour);
}

TEST_CASE("parts are taken where they are cheaper, and where only constraints name the mesh") {
  const auto whole = [](const Graph& g) { return !check_partitioned(g, kTwoByFour, {spec({{}, {1}})}).mesh->whole; };
  CHECK(whole(graph({f32({6, 8})}, [](Builder& b, const Vars& p) {  // four groups divide
    return Vars{ir::reduce_sum(b, b.call("sin", {ir::reshape(b, p[0], {6, 4, 2})}), {1, 2})};
  })));
  CHECK(whole(graph({f32({6, 8})}, [](Builder& b, const Vars& p) {  // all is wanted everywhere
    return Vars{ir::reshape(b, p[0], {6, 2, 4})};
  })));
  CHECK(whole(graph({f32({6, 12})}, [](Builder& b, const Vars& p) {  // 3 and 4 have no factor in common
    return Vars{ir::reduce_sum(b, b.call("sin", {ir::reshape(b, p[0], {6, 3, 4})}), {1, 2})};
  })));
}

TEST_CASE("a program on parts takes and gives arrays on the mesh that was declared") {
  runtime::Pool pool;
  Graph g = graph({f32({6, 8}), f32({6, 8})}, [](Builder& b, const Vars& p) {
    Var x = b.call("sin", {ir::reshape(b, p[0], {6, 2, 4})});
    return Vars{ir::reduce_sum(b, ir::mul(b, x, x), {1, 2}), ir::neg(b, p[1])};
  });
  const Array x = numbers(f32({6, 8}), 1), y = numbers(f32({6, 8}), 2);
  std::vector<ArrayRef> args{laid_out(pool, x, kTwoByFour, spec({{}, {1}})),
                             laid_out(pool, y, kTwoByFour, spec({{}, {1}}))};
  std::vector<exec::ArrayInfo> infos{exec::array_info(*args[0]), exec::array_info(*args[1])};
  const auto plan = compile(g, infos, kTwoByFour, pool);
  REQUIRE(plan->program().mesh->whole);
  const void* given = args[1]->buffer->data();
  const Arrays want = Reference().run(g, {x, y});
  const std::vector<ArrayRef> out = plan->run(args, {false, true}, {});
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(*out[i]->type.mesh == *kTwoByFour);
    check_close(read(pool, out[i]).values(), want[i].values(), 1e-5);
  }
  CHECK(out[1]->layout == spec({{}, {1}}));
  CHECK(out[1]->buffer->data() == given);  // donated
}

TEST_CASE("axes in parts have the names of Shardy's sub-axes, and all parts together that of the axis") {
  const MeshRef parts = runtime::with_parts(kTwoByFour, 1, 2);
  CHECK(runtime::names_of(*parts, {0, 1, 2}) == S{"D", "M"});
  CHECK(runtime::names_of(*parts, {2, 1}) == S{"M:(2)2", "M:(1)2"});
  CHECK(runtime::axes_of(*parts, {"M", "M:(2)2"}) == std::vector<AxisId>{1, 2, 2});
  CHECK(runtime::to_string(*parts, spec({{0}, {1, 2}, {}})) == "P(@D, @M)");
  CHECK(runtime::to_parts(spec({{1}, {0}}), *parts) == spec({{1, 2}, {0}}));
  CHECK(runtime::to_wholes(spec({{1, 2}, {0}}), *parts) == spec({{1}, {0}}));
}
