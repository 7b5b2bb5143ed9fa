// The context: operations at once and through the cache, traces and what they capture, host numbers whose value a trace
// needed.
#include "interpreter/trace/context.h"
#include "grammar/diagnostic.h"
#include "tests/interpreter/execute.h"

using namespace shard;
using namespace shard::testing;
using trace::Context;
using trace::HostNumber;
using trace::Tensor;

namespace {

struct Fixture {
  runtime::Pool pool;
  Context ctx{rows(), pool, 8};
  const ir::OpDef& op(const char* name) { return rows().at(name); }
  Tensor array(const Array& a) { return Tensor(plain(pool, a)); }
  std::vector<double> values(const Tensor& t) { return read(pool, t.array()).values(); }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "an operation runs at once, and is compiled once a kind of operands") {
  Tensor x = array(Array({3}, {1, 2, 3})), y = array(Array({3}, {4, 5, 6}));
  CHECK(values(ctx.apply1(op("add"), {x, y})) == std::vector<double>{5, 7, 9});
  std::size_t compiled = ctx.plans().compiled();
  CHECK(values(ctx.apply1(op("add"), {y, y})) == std::vector<double>{8, 10, 12});
  CHECK(ctx.plans().compiled() == compiled);
  Tensor z = ctx.apply1(op("mul"), {x, ctx.scalar(0.5)});
  CHECK(values(z) == std::vector<double>{0.5, 1, 1.5});
  CHECK(z.type().dtype == DType::F32);
  CHECK(!z.type().weak);
  CHECK(values(ctx.apply1(op("reduce_sum"), {x}, {{"axes", ir::Ints{-1}}})) == std::vector<double>{6});
}

TEST_CASE_METHOD(Fixture, "operations follow their operands to a mesh") {
  MeshRef m = mesh({{"X", 2}});
  Array a = numbers(f32({4, 2}), 1);
  Tensor x(laid_out(pool, a, m, spec({{0}, {}})));
  Tensor y = ctx.apply1(op("add"), {x, x});
  CHECK(y.array()->distinct == AxisSet::of(0));
  CHECK(y.array()->layout == spec({{0}, {}}));
  Tensor s = ctx.apply1(op("reduce_sum"), {y}, {{"axes", ir::Ints{-2}}});
  CHECK(s.array()->distinct.empty());
  check_close(values(s),
              {2 * (a.get(0) + a.get(2) + a.get(4) + a.get(6)), 2 * (a.get(1) + a.get(3) + a.get(5) + a.get(7))});
  Tensor elsewhere(laid_out(pool, a, mesh({{"Y", 4}}), spec({{0}, {}})));
  CHECK_THROWS_AS(ctx.apply1(op("add"), {x, elsewhere}), grammar::Error);
}

TEST_CASE_METHOD(Fixture, "placing moves nothing where memory is in order already, and between meshes it does") {
  MeshRef m = mesh({{"X", 2}}), n = mesh({{"Y", 4}});
  Array a = numbers(f32({4, 2}), 1);
  Tensor x = array(a);
  auto place = [&](const Tensor& t, const MeshRef& to, const Sharding& s) {
    return ctx.apply1(op("shard"), {t}, {{"layout", ir::Layout{to, s}}});
  };
  Tensor y = place(x, m, spec({{0}, {}}));
  CHECK(y.array()->buffer == x.array()->buffer);
  CHECK(y.array()->layout == spec({{0}, {}}));
  CHECK(values(y) == a.values());
  Tensor z = place(y, n, spec({{0}, {}}));
  CHECK(*z.array()->type.mesh == *n);
  CHECK(values(z) == a.values());
  CHECK(values(place(x, m, spec({{}, {0}}))) == a.values());
}

TEST_CASE_METHOD(Fixture, "a trace records, captures what it uses from outside, and runs") {
  Tensor outside = array(Array({2}, {10, 20}));
  std::vector<Type> params = {f32({2})};
  auto traced = ctx.trace(params, [&](std::span<const Tensor> in) {
    CHECK(ctx.tracing());
    Tensor y = ctx.apply1(op("add"), {in[0], outside});
    return std::vector<Tensor>{ctx.apply1(op("mul"), {y, outside}), ctx.scalar(std::int64_t{3})};
  });
  CHECK(!ctx.tracing());
  REQUIRE(traced.captured.size() == 1);
  CHECK(traced.captured[0].array() == outside.array());
  CHECK(traced.graph->params.size() == 2);
  auto out = ctx.run(traced.graph, {array(Array({2}, {1, 2})), traced.captured[0]});
  CHECK(values(out[0]) == std::vector<double>{110, 440});
  CHECK(values(out[1]) == std::vector<double>{3});
  std::size_t compiled = ctx.plans().compiled();
  ctx.run(traced.graph, {array(Array({2}, {1, 2})), traced.captured[0]});
  CHECK(ctx.plans().compiled() == compiled);
}

TEST_CASE_METHOD(Fixture, "values of an outer trace are captured at each level") {
  std::vector<Type> one = {f32({2})};
  auto traced = ctx.trace(one, [&](std::span<const Tensor> outer) {
    std::vector<Tensor> captured;
    auto inner = ctx.trace(one, [&](std::span<const Tensor> middle) {
      auto innermost = ctx.trace(one, [&](std::span<const Tensor> in) {
        return std::vector<Tensor>{ctx.apply1(op("sub"), {ctx.apply1(op("mul"), {in[0], outer[0]}), middle[0]})};
      });
      REQUIRE(innermost.captured.size() == 2);
      return ctx.run(innermost.graph, {middle[0], innermost.captured[0], innermost.captured[1]});
    });
    REQUIRE(inner.captured.size() == 1);
    CHECK(inner.captured[0].frame() == ctx.frame());
    return ctx.run(inner.graph, {ctx.apply1(op("neg"), {outer[0]}), inner.captured[0]});
  });
  CHECK(traced.captured.empty());
  // x = -o:  x * o - x
  CHECK(values(ctx.run(traced.graph, {array(Array({2}, {2, 3}))})[0]) == std::vector<double>{-2, -6});
}

TEST_CASE_METHOD(Fixture, "a host number that a trace needs guards the arguments it came from") {
  std::vector<Type> params = {Type::of(DType::I32, {}, true), Type::of(DType::F32, {}, true), f32({2})};
  std::vector<std::optional<HostNumber>> known = {HostNumber{std::int64_t{5}}, HostNumber{2.5}, std::nullopt};
  auto traced = ctx.trace(
      params,
      [&](std::span<const Tensor> in) {
        CHECK(std::get<std::int64_t>(ctx.need(in[0])) == 5);
        CHECK_THROWS_AS(ctx.need(in[2]), grammar::Error);
        return std::vector<Tensor>{in[2]};
      },
      known);
  CHECK(traced.guards == std::vector<int>{0});
}

TEST_CASE_METHOD(Fixture, "what only a run has cannot be had while tracing, nor a traced value afterwards") {
  Tensor kept;
  std::vector<Type> params = {f32({2})};
  ctx.trace(params, [&](std::span<const Tensor> in) {
    CHECK_THROWS_WITH(ctx.concrete(in[0], "float"), Catch::Contains("float needs a value that only a run has"));
    kept = in[0];
    return std::vector<Tensor>{in[0]};
  });
  CHECK(runtime::to_string(kept.type()) == "f32[2]");
  CHECK_THROWS_AS(ctx.apply1(op("neg"), {kept}), grammar::Error);
  CHECK_THROWS_AS(ctx.trace(params, [&](std::span<const Tensor>) { return std::vector<Tensor>{kept}; }),
                  grammar::Error);
  CHECK(!ctx.tracing());
  CHECK_THROWS_WITH(ctx.scalar(std::int64_t{1} << 40), Catch::Contains("does not fit an i32"));
}

TEST_CASE_METHOD(Fixture, "an error inside a trace closes it") {
  std::vector<Type> params = {f32({2})};
  CHECK_THROWS(ctx.trace(params, [&](std::span<const Tensor> in) {
    return std::vector<Tensor>{ctx.apply1(op("add"), {in[0], array(Array({3}, {1, 2, 3}))})};
  }));
  CHECK(!ctx.tracing());
}
