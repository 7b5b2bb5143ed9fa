// The rows of collectives: types, what they compute and batching. Values by their definitions (jax.lax under
// shard_map). Their transposes are in transpose_test.cpp.
#include "tests/interpreter/per_device.h"

using namespace shard;
using namespace shard::testing;

namespace {

ir::Attrs with(Axes axes, std::initializer_list<std::pair<std::string, ir::AttrValue>> more = {}) {
  ir::Attrs attrs{{"axes", ir::Ints(axes.begin(), axes.end())}};
  for (const auto& [name, value] : more) attrs.set(name, value);
  return attrs;
}
const std::int64_t kLast = -1, kFirst = -2;

}  // namespace

TEST_CASE("types of collectives") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  Type x = varying(m, {4, 8}, {0});
  auto type = [&](std::string_view op, ir::Attrs attrs) {
    Graph g = local(m, {x}, [&](Builder& b, const Vars& p) { return Vars{b.call(op, {p[0]}, attrs)}; });
    return runtime::to_string(g.type(g.results[0]));
  };
  CHECK(type("psum", with({0})) == "f32[4,8]");
  CHECK(type("psum", with({1})) == "f32[4,8]{V:X}");
  CHECK(type("pmax", with({0, 1})) == "f32[4,8]");
  CHECK(type("all_gather", with({0}, {{"axis", kLast}, {"tiled", true}})) == "f32[4,32]{V:X}");
  CHECK(type("all_gather", with({0}, {{"axis", std::int64_t{-3}}})) == "f32[4,4,8]{V:X}");
  CHECK(type("all_gather", with({0, 1}, {{"axis", kFirst}, {"tiled", true}, {"to", std::string("same")}})) ==
        "f32[32,8]");
  CHECK(type("psum_scatter", with({0}, {{"axis", kLast}, {"tiled", true}})) == "f32[4,2]{V:X}");
  CHECK(type("psum_scatter", with({0}, {{"axis", kFirst}})) == "f32[8]{V:X}");
  CHECK(type("all_to_all", with({0}, {{"split", kLast}, {"concat", kFirst}, {"tiled", true}})) == "f32[16,2]{V:X}");
  CHECK(type("all_to_all", with({0}, {{"split", kFirst}, {"concat", kLast}})) == "f32[8,4]{V:X}");
  CHECK(type("ppermute", with({0}, {{"pairs", ir::Pairs{{0, 1}}}})) == "f32[4,8]{V:X}");
  CHECK(type("pcast", with({1}, {{"to", std::string("varying")}})) == "f32[4,8]{V:(X,Y)}");
  CHECK(type("own_slice", with({1}, {{"axis", kLast}})) == "f32[4,4]{V:(X,Y)}");
}

TEST_CASE("what does not fit a collective is said") {
  MeshRef m = mesh({{"X", 4}});
  Type x = varying(m, {6, 3}, {0});
  auto fails = [&](std::string_view op, ir::Attrs attrs, const std::string& words) {
    CHECK_THROWS_WITH(local(m, {x}, [&](Builder& b, const Vars& p) { return Vars{b.call(op, {p[0]}, attrs)}; }),
                      Catch::Contains(words));
  };
  fails("psum_scatter", with({0}, {{"axis", kFirst}, {"tiled", true}}), "size 6, which does not divide by 4");
  fails("psum_scatter", with({0}, {{"axis", kLast}}), "size 3, which must be 4");
  fails("all_to_all", with({0}, {{"split", kLast}, {"concat", kFirst}, {"tiled", true}}), "does not divide by 4");
  fails("ppermute", with({0}, {{"pairs", ir::Pairs{{0, 1}, {2, 1}}}}), "a second time");
  fails("ppermute", with({0}, {{"pairs", ir::Pairs{{0, 4}}}}), "beyond the 4");
}

TEST_CASE("a layout that does not fit is said") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}}), other = mesh({{"X", 8}});
  auto fails = [&](const MeshRef& on, const Sharding& s, const std::string& words) {
    Type x = f32({8, 6});
    x.mesh = m;
    CHECK_THROWS_WITH(graph({x},
                            [&](Builder& b, const Vars& p) {
                              return Vars{b.emit1(*b.core().shard, {p[0]}, {{"layout", ir::Layout{on, s}}})};
                            }),
                      Catch::Contains(words));
  };
  const MeshRef typed = mesh({{"X", 4}, {"Y", 2}}, runtime::AxisKind::Explicit);  // on auto axes it need not divide
  fails(typed, spec({{1}, {0}}), "dimension 1");
  fails(typed, spec({{1}, {0}}), "@X");
  fails(m, spec({{}, {}, {0}}), "3 entries");
  fails(other, spec({{0}, {}}), "lives on");
}

TEST_CASE("the gradient of an extreme is shared among ties") {  // 2 of 4 devices have the largest value: half each
  MeshRef m = mesh({{"X", 4}});
  Type v = varying(m, {}, {0});
  Graph f = local(m, {v}, [&](Builder& b, const Vars& p) { return Vars{b.call("pmax", {p[0]}, with({0}))}; });
  Graph back = transform::vjp(rows(), f, std::vector<int>{0}, {true}, true);
  auto scalar = [](double x) { return Array(runtime::Shape{}, std::vector<double>{x}); };
  Blocks x{scalar(1), scalar(3), scalar(3), scalar(2)}, ct(4, scalar(8));
  auto got = Lockstep(m).run(back, {x, ct});
  for (std::size_t d = 0; d < 4; ++d) {
    CHECK(got[0][d].get(0) == 3);
    CHECK(got[1][d].get(0) == (d == 1 || d == 2 ? 4 : 0));
  }
}

TEST_CASE("collectives map over a leading dimension") {
  MeshRef m = mesh({{"X", 2}});
  Type v = varying(m, {4, 2}, {0});
  struct Case {
    const char* op;
    ir::Attrs attrs;
  };
  for (const Case& c :
       {Case{"psum", with({0})}, Case{"pmax", with({0})},
        Case{"all_gather", with({0}, {{"axis", kLast}, {"tiled", true}})},
        Case{"all_gather", with({0}, {{"axis", std::int64_t{-3}}})}, Case{"psum_scatter", with({0}, {{"axis", kLast}})},
        Case{"all_to_all", with({0}, {{"split", kLast}, {"concat", kFirst}})},
        Case{"ppermute", with({0}, {{"pairs", ir::Pairs{{0, 1}, {1, 0}}}})}}) {
    INFO(c.op << "(" << ir::to_string(c.attrs) << ")");
    Graph f = local(m, {v}, [&](Builder& b, const Vars& p) { return Vars{b.call(c.op, {p[0]}, c.attrs)}; });
    transform::Batched g = transform::batch(rows(), f, {true}, 3, true);
    Blocks x = per_device(m, varying(m, {3, 4, 2}, {0}), 3);
    Blocks together = Lockstep(m).run(g.graph, {x})[0];
    for (std::int64_t row = 0; row < 3; ++row) {
      auto part = [&](const Array& a) {
        std::vector<std::int64_t> start(a.shape.size(), 0);
        runtime::Shape one = a.shape;
        start[0] = row;
        one[0] = 1;
        Array r = cut(a, start, one);
        r.shape.erase(r.shape.begin());
        return r;
      };
      Blocks mine, want;
      for (const Array& a : x) mine.push_back(part(a));
      want = Lockstep(m).run(f, {mine})[0];
      for (std::size_t d = 0; d < 2; ++d) {
        CHECK(part(together[d]).shape == want[d].shape);
        CHECK(part(together[d]).values() == want[d].values());
      }
    }
  }
}

TEST_CASE("per-device code becomes part of the program, and what it leaves alone is partitioned") {
  MeshRef m = mesh({{"data", 2}, {"model", 4}});
  // manual(@data): x is cut by rows, its squares are summed over @data; @model stays with the partitioner.
  auto body = [&] {
    Builder b(rows());
    b.set_local(m);
    Var x = b.param(varying(m, {2, 8}, {0}));
    Var s = ir::reduce_sum(b, ir::mul(b, x, x), {0});
    return std::make_shared<const Graph>(b.finish({b.call("psum", {s}, with({0}))}));
  }();
  Graph g = graph({f32({4, 8})}, [&](Builder& b, const Vars& p) {
    return b.emit(*rows().find("per_device"), {p[0]},
                  {{"axes", ir::Ints{0}}, {"in0", ir::Layout{m, spec({{0}, {}})}}, {"out0", ir::Layout{m, spec({{}})}}},
                  {body});
  });
  for (const Sharding& s : {spec({{0}, {1}}), spec({{}, {}}), spec({{1}, {}}), spec({{0}, {}})}) {
    auto p = lowered(g, m, {s});
    Array x = numbers(f32({4, 8}), 3);
    Array got = join(Lockstep(m).run(p.local, {split(x, *m, s)})[0], {8}, *m, p.results[0].layout);
    for (std::size_t c = 0; c < 8; ++c) {
      double want = 0;
      for (std::size_t r = 0; r < 4; ++r) want += x.get(r * 8 + c) * x.get(r * 8 + c);
      CHECK(got.get(c) == Approx(want).epsilon(1e-5));
    }
  }
  auto p = lowered(g, m, {spec({{0}, {1}})});
  CHECK(communicates(p.local) == std::vector<std::string>{"psum(8)"});  // the columns stay split over @model
  CHECK(p.results[0].layout == spec({{1}}));
}
