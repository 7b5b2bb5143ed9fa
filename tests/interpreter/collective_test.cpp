// Collectives over blocks of one storage against the evaluator in which every device holds its own block: each kind,
// over one axis and several, for values that differ along all, some or none of the axes, alone and after operations
// that leave strided places.
#include "grammar/diagnostic.h"
#include "tests/interpreter/execute.h"

using namespace shard;
using namespace shard::testing;

namespace {

struct Local {  // a local graph under construction, with types worked out by hand
  explicit Local(MeshRef mesh_) : m(std::move(mesh_)), b(rows()) { b.set_local(m); }
  MeshRef m;
  Builder b;

  Var make(const ir::OpDef& op, Vars in, ir::Attrs attrs, Type out) {
    return b.append(op, std::move(in), std::move(attrs), {}, {std::move(out)}).at(0);
  }
  std::int64_t size(const Axes& axes) const {
    std::int64_t n = 1;
    for (AxisId a : axes) n *= m->size_of(a);
    return n;
  }
  ir::Attrs attrs(const Axes& axes) const {
    ir::Ints ids;
    for (AxisId a : axes) ids.push_back(a);
    return {{"axes", ids}, {"mesh", ir::Layout{m, {}}}};
  }
  Var reduce(const ir::OpDef* op, Var x, const Axes& axes) { return make(*op, {x}, attrs(axes), b.type(x)); }
  Var gather(Var x, const Axes& axes, std::int64_t dim, bool tiled) {
    Type t = b.type(x);
    auto rank = static_cast<std::int64_t>(t.shape.size()) + (tiled ? 0 : 1);
    if (tiled)
      t.shape[static_cast<std::size_t>(dim)] *= size(axes);
    else
      t.shape.insert(t.shape.begin() + dim, size(axes));
    auto a = attrs(axes);
    a.set("axis", dim - rank);
    a.set("tiled", tiled);
    return make(*b.core().all_gather, {x}, a, Type::of(t.dtype, t.shape));
  }
  Var part(const ir::OpDef* op, Var x, const Axes& axes, std::int64_t dim, bool tiled = true) {
    Type t = b.type(x);
    auto rank = static_cast<std::int64_t>(t.shape.size());
    if (tiled)
      t.shape[static_cast<std::size_t>(dim)] /= size(axes);
    else
      t.shape.erase(t.shape.begin() + dim);
    auto a = attrs(axes);
    a.set("axis", dim - rank);
    a.set("tiled", tiled);
    return make(*op, {x}, a, Type::of(t.dtype, t.shape));
  }
  Var exchange(Var x, const Axes& axes, std::int64_t split, std::int64_t concat, bool tiled) {
    Type t = b.type(x);
    auto rank = static_cast<std::int64_t>(t.shape.size());
    if (tiled) {
      t.shape[static_cast<std::size_t>(split)] /= size(axes);
      t.shape[static_cast<std::size_t>(concat)] *= size(axes);
    } else {
      t.shape.erase(t.shape.begin() + split);
      t.shape.insert(t.shape.begin() + concat, size(axes));
    }
    auto a = attrs(axes);
    a.set("split", split - rank);
    a.set("concat", concat - rank);
    a.set("tiled", tiled);
    return make(*b.core().all_to_all, {x}, a, Type::of(t.dtype, t.shape));
  }
  Var permute(Var x, const Axes& axes, ir::Pairs pairs) {
    auto a = attrs(axes);
    a.set("pairs", std::move(pairs));
    return make(*b.core().ppermute, {x}, a, b.type(x));
  }
  Var index(const Axes& axes) { return make(*b.core().axis_index, {}, attrs(axes), Type::of(DType::I32, {})); }
};

// Runs the graph both ways; parameter i differs along differ[i].
void check(Local& l, const Vars& results, const std::vector<AxisSet>& differ, double tolerance = 2e-5) {
  Graph g = l.b.finish(results);
  runtime::Pool pool;
  std::vector<Blocks> blocks;
  std::vector<ArrayRef> args;
  std::vector<exec::ArrayInfo> infos;
  for (std::size_t i = 0; i < g.params.size(); ++i) {
    const Type& t = g.type(g.params[i]);
    Blocks mine;
    for (std::int64_t d = 0; d < l.m->size(); ++d) {
      auto at = coordinates(*l.m, d);
      unsigned seed = 17 * static_cast<unsigned>(i) + 1;
      for (AxisId a : differ[i].list()) seed = seed * 31 + static_cast<unsigned>(at[a]);
      mine.push_back(numbers(t, seed));
    }
    args.push_back(from_blocks(pool, mine, t.shape, l.m, Sharding::replicated(t.shape.size()), differ[i]));
    infos.push_back(exec::array_info(*args.back()));
    blocks.push_back(std::move(mine));
  }
  std::vector<Type> types;
  std::vector<Sharding> layouts;
  for (Var r : g.results) {
    types.push_back(Type::of(g.type(r).dtype, g.type(r).shape));
    layouts.push_back(Sharding::replicated(g.type(r).shape.size()));
  }
  auto want = Lockstep(l.m).run(g, blocks);
  auto plan = compile_local(g, infos, types, layouts, l.m, pool);
  auto got = plan->run(args, {}, {});
  for (std::size_t r = 0; r < got.size(); ++r)
    for (std::int64_t d = 0; d < l.m->size(); ++d) {
      INFO("result " << r << " on device " << d);
      ArrayRef mine = runtime::block_of(pool, got[r], d);
      Array a(mine->type.dtype, mine->type.shape);
      std::memcpy(a.bytes.data(), mine->buffer->data(), a.bytes.size());
      REQUIRE(a.shape == want[r][static_cast<std::size_t>(d)].shape);
      check_close(a.values(), want[r][static_cast<std::size_t>(d)].values(), tolerance);
    }
}

AxisSet set(const Axes& axes) {
  AxisSet s;
  for (AxisId a : axes) s.add(a);
  return s;
}

#ifdef __SANITIZE_ADDRESS__  // a share of the layouts: what it looks for does not hang on the numbers
const std::vector<Axes> kAxes = {{1}, {2, 0}, {2, 0, 1}};
const std::vector<Axes> kDiffer = {{}, {1}, {0, 2}, {0, 1, 2}};
#else
const std::vector<Axes> kAxes = {{0}, {1}, {2}, {0, 1}, {1, 0}, {2, 0}, {0, 1, 2}, {2, 0, 1}};
const std::vector<Axes> kDiffer = {{}, {0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}};
#endif

MeshRef cube() { return mesh({{"X", 2}, {"Y", 3}, {"Z", 2}}); }

}  // namespace

TEST_CASE("reductions over devices") {
  for (const Axes& axes : kAxes)
    for (const Axes& differ : kDiffer) {
      Local l(cube());
      Var x = l.b.param(f32({2, 12}));
      INFO("axes " << axes.size() << " differ " << differ.size());
      check(l,
            {l.reduce(l.b.core().psum, x, axes), l.reduce(l.b.core().pmax, x, axes), l.reduce(l.b.core().pmin, x, axes),
             l.part(l.b.core().psum_scatter, x, axes, 1)},
            {set(differ)});
    }
}

TEST_CASE("gathers and own parts") {
  for (const Axes& axes : kAxes)
    for (const Axes& differ : kDiffer) {
      Local l(cube());
      Var x = l.b.param(f32({12, 24}));
      Vars out;
      for (std::int64_t d : {0, 1}) {
        out.push_back(l.gather(x, axes, d, true));
        out.push_back(l.part(l.b.core().own_slice, x, axes, d));
        out.push_back(l.gather(out.back(), axes, 1 - d, true));
      }
      for (std::int64_t d : {0, 1, 2}) out.push_back(l.gather(x, axes, d, false));
      check(l, out, {set(differ)});
    }
}

TEST_CASE("exchanges") {
  for (const Axes& axes : kAxes)
    for (const Axes& differ : kDiffer) {
      Local l(cube());
      Var x = l.b.param(f32({12, 24}));
      std::int64_t n = l.size(axes);
      Var y = l.b.param(f32({2, n, 3}));
      Vars out = {l.exchange(x, axes, 0, 1, true), l.exchange(x, axes, 1, 0, true), l.exchange(x, axes, 1, 1, true)};
      for (std::int64_t c : {0, 1, 2}) out.push_back(l.exchange(y, axes, 1, c, false));
      out.push_back(l.part(l.b.core().psum_scatter, y, axes, 1, false));
      check(l, out, {set(differ), set(differ)});
    }
}

TEST_CASE("permutations and places") {
  for (const Axes& axes : kAxes)
    for (const Axes& differ : kDiffer) {
      Local l(cube());
      Var x = l.b.param(f32({3, 2}));
      std::int64_t n = l.size(axes);
      ir::Pairs ring, some = {{0, n - 1}, {n - 1, 1 % n}};
      if (n == 2) some = {{0, 1}};
      for (std::int64_t i = 0; i < n; ++i) ring.emplace_back(i, (i + 1) % n);
      Var at = l.index(axes);
      check(l,
            {l.permute(x, axes, ring), l.permute(x, axes, some), at,
             ir::mul(l.b, x, ir::broadcast_to(l.b, ir::convert(l.b, at, DType::F32), {3, 2}))},
            {set(differ)});
    }
}

TEST_CASE("collectives in groups") {
  MeshRef m = mesh({{"X", 4}, {"Y", 2}});
  for (const Axes& axes : std::vector<Axes>{{0}, {0, 1}})
    for (const Axes& differ : std::vector<Axes>{{}, {0}, {1}, {0, 1}}) {
      Local l(m);
      Var x = l.b.param(f32({2, 4}));
      std::int64_t n = l.size(axes), half = n / 2;
      ir::Ints groups;
      for (std::int64_t i = 0; i < half; ++i) groups.push_back(2 * i);
      for (std::int64_t i = 0; i < half; ++i) groups.push_back(2 * i + 1);
      auto grouped = [&](const ir::OpDef* op, Var v, runtime::Shape shape, ir::Attrs more) {
        ir::Attrs a = l.attrs(axes);
        for (const auto& [name, value] : more) a.set(name, value);
        a.set("groups", groups);
        a.set("group_size", half);
        return l.make(*op, {v}, a, f32(std::move(shape)));
      };
      const auto& core = l.b.core();
      Var y = l.b.param(f32({4, 4}));
      check(l,
            {grouped(core.psum, x, {2, 4}, {}), grouped(core.pmax, x, {2, 4}, {}),
             grouped(core.all_gather, x, {2 * half, 4}, {{"axis", std::int64_t{-2}}, {"tiled", true}}),
             grouped(core.psum_scatter, y, {4, 4 / half}, {{"axis", std::int64_t{-1}}, {"tiled", true}}),
             grouped(core.all_to_all, y, {4 / half, 4 * half},
                     {{"split", std::int64_t{-2}}, {"concat", std::int64_t{-1}}, {"tiled", true}})},
            {set(differ), set(differ)});
    }
}

TEST_CASE("a collective that only combines, splits and joins is a row and nothing else") {
  // The largest of all devices' terms, cut: what pmax and then the own part are, over all devices and in groups.
  ir::OpDef row{.name = "pmax_scatter", .signature = "pmax_scatter(x)", .doc = "The largest, split."};
  row.kernel = ir::Structure::Collective;
  row.comm = ir::Collective{.combine = runtime::Reduce::Max, .split = "axis"};
  CHECK(ir::comm_cost(*row.comm, 64, 8).sent == 56);
  for (const Axes& differ : std::vector<Axes>{{}, {0}, {1}, {0, 1}}) {
    Local l(mesh({{"X", 4}, {"Y", 2}}));
    Var x = l.b.param(f32({3, 8}));
    const auto grouped = [&](const ir::OpDef& op, const ir::Attrs& more, std::int64_t size) {
      ir::Attrs a = l.attrs({0});
      for (const auto& [name, value] : more) a.set(name, value);
      a.set("groups", ir::Ints{0, 2, 1, 3});
      a.set("group_size", std::int64_t{2});
      return l.make(op, {x}, a, f32({3, size}));
    };
    const ir::Attrs cut{{"axis", std::int64_t{-1}}, {"tiled", true}};
    Vars results = {l.part(&row, x, {0}, 1), l.part(l.b.core().own_slice, l.reduce(l.b.core().pmax, x, {0}), {0}, 1),
                    grouped(row, cut, 4), grouped(*l.b.core().pmax, {}, 8)};
    Graph g = l.b.finish(results);
    runtime::Pool pool;
    Blocks blocks;
    for (std::int64_t d = 0; d < l.m->size(); ++d) {
      auto at = coordinates(*l.m, d);
      unsigned seed = 5;
      for (AxisId a : differ) seed = seed * 31 + static_cast<unsigned>(at[a]);
      blocks.push_back(numbers(f32({3, 8}), seed));
    }
    std::vector<ArrayRef> args = {from_blocks(pool, blocks, {3, 8}, l.m, spec({{}, {}}), set(differ))};
    std::vector<exec::ArrayInfo> infos = {exec::array_info(*args[0])};
    std::vector<Type> types;
    for (Var r : g.results) types.push_back(Type::of(DType::F32, g.type(r).shape));
    std::vector<Sharding> layouts(4, spec({{}, {}}));
    auto got = compile_local(g, infos, types, layouts, l.m, pool)->run(args, {}, {});
    for (std::int64_t d = 0; d < l.m->size(); ++d) {
      INFO("device " << d);
      std::vector<std::vector<double>> on;
      for (const ArrayRef& r : got) {
        ArrayRef mine = runtime::block_of(pool, r, d);
        Array a(mine->type.dtype, mine->type.shape);
        std::memcpy(a.bytes.data(), mine->buffer->data(), a.bytes.size());
        on.push_back(a.values());
      }
      CHECK(on[0] == on[1]);
      const std::size_t second = coordinates(*l.m, d)[0] / 2 ? 4 : 0;  // positions 2 and 3 come second in their groups
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t k = 0; k < 4; ++k) CHECK(on[2][i * 4 + k] == on[3][i * 8 + second + k]);
    }
  }
}

TEST_CASE("a sum over devices joins the contraction that it alone uses") {
  for (const Axes& axes : kAxes)
    for (const Axes& dx : kDiffer)
      for (const Axes& dy : kDiffer) {
        Local l(cube());
        Var x = l.b.param(f32({4, 3})), y = l.b.param(f32({4, 5}));
        Var dw = l.make(*l.b.core().contract, {x, y}, {{"spec", std::string("bm,bn->mn")}}, f32({3, 5}));
        Var db = l.make(*l.b.core().reduce_sum, {y}, {{"axes", ir::Ints{-2}}}, f32({5}));
        check(l, {l.reduce(l.b.core().psum, dw, axes), l.reduce(l.b.core().psum, db, axes)}, {set(dx), set(dy)});
      }
}

TEST_CASE("a sum over devices moves through linear operations to the contractions behind them") {
  for (const Axes& axes : kAxes)
    for (const Axes& dx : kDiffer)
      for (const Axes& dc : kDiffer) {
        Local l(cube());
        Var x = l.b.param(f32({4, 24})), y = l.b.param(f32({4, 5})), c = l.b.param(f32());
        auto contraction = [&](Var p) {
          return l.make(*l.b.core().contract, {p, y}, {{"spec", std::string("bm,bn->mn")}}, f32({24, 5}));
        };
        Var scaled = ir::mul(l.b, contraction(x), c);
        Var both =
            ir::sub(l.b, ir::neg(l.b, contraction(x)), ir::mul(l.b, ir::constant(l.b, 3, DType::F32), contraction(x)));
        Var turned = ir::transpose(l.b, ir::reshape(l.b, ir::div(l.b, contraction(x), c), {24, 5}), {1, 0});
        Var kept = contraction(x);
        Var shared = ir::add(l.b, kept, c);
        const auto& core = l.b.core();
        check(l,
              {l.reduce(core.psum, scaled, axes), l.reduce(core.psum, both, axes), l.reduce(core.psum, turned, axes),
               l.reduce(core.psum, shared, axes), kept,
               l.part(core.psum_scatter, ir::mul(l.b, contraction(x), c), axes, 0),
               l.part(core.psum_scatter, contraction(x), axes, 0)},
              {set(dx), {}, set(dc)}, 1e-4);  // c is 0.027 somewhere: twelve terms of 30 cancel, each of them rounded
      }
}

TEST_CASE("a branch and a loop whose condition differs run block by block") {
  for (const Axes& differ : std::vector<Axes>{{0}, {1, 2}, {0, 1, 2}})
    for (const Axes& value : kDiffer) {
      Local l(cube());
      Var c = l.b.param(i32()), x = l.b.param(f32({4, 6}));
      // Inside, a device still knows its place and its part.
      auto inner = [&](double by) {
        Local r(l.m);
        Var p = r.b.param(f32({4, 6})), place = ir::convert(r.b, r.index({1}), DType::F32);
        Var part = r.part(r.b.core().own_slice, p, {0}, 0);
        Var scale = ir::add(r.b, place, ir::constant(r.b, by, DType::F32));
        return std::make_shared<const Graph>(r.b.finish({ir::mul(r.b, part, ir::broadcast_to(r.b, scale, {2, 6})), p}));
      };
      Var yes = l.b.emit1(*l.b.core().lt, {c, ir::constant_int(l.b, 0)});
      Vars out = l.b.append(*l.b.core().branch, {yes, x}, {}, {inner(1), inner(5)}, {f32({2, 6}), f32({4, 6})});
      Local cond(l.m), body(l.m);
      Var i = cond.b.param(i32());
      cond.b.param(f32({4, 6}));
      auto less = std::make_shared<const Graph>(
          cond.b.finish({cond.b.emit1(*l.b.core().lt, {i, ir::constant_int(cond.b, 3)})}));
      Var j = body.b.param(i32()), y = body.b.param(f32({4, 6}));
      Var doubled = ir::add(body.b, y, y);
      auto turn =
          std::make_shared<const Graph>(body.b.finish({ir::add(body.b, j, ir::constant_int(body.b, 1)), doubled}));
      for (Var v : l.b.append(*l.b.core().while_loop, {c, x},
                              {{"cond_consts", std::int64_t{0}}, {"body_consts", std::int64_t{0}}}, {less, turn},
                              {i32(), f32({4, 6})}))
        out.push_back(v);
      // Every device alone is the oracle: Lockstep decides a condition once, so it is asked device by device.
      Graph g = l.b.finish(out);
      runtime::Pool pool;
      AxisSet dc = set(differ), dx = set(value);
      std::vector<Blocks> blocks(2);
      for (std::int64_t d = 0; d < l.m->size(); ++d) {
        auto at = coordinates(*l.m, d);
        unsigned sc = 3, sx = 9;
        for (AxisId a : dc.list()) sc = sc * 31 + static_cast<unsigned>(at[a]);
        for (AxisId a : dx.list()) sx = sx * 31 + static_cast<unsigned>(at[a]);
        blocks[0].push_back(numbers(i32(), sc));
        blocks[1].push_back(numbers(f32({4, 6}), sx));
      }
      std::vector<ArrayRef> args = {from_blocks(pool, blocks[0], {}, l.m, spec({}), dc),
                                    from_blocks(pool, blocks[1], {4, 6}, l.m, spec({{}, {}}), dx)};
      std::vector<exec::ArrayInfo> infos = {exec::array_info(*args[0]), exec::array_info(*args[1])};
      std::vector<Type> types;
      std::vector<Sharding> layouts;
      for (Var r : g.results) {
        types.push_back(Type::of(g.type(r).dtype, g.type(r).shape));
        layouts.push_back(Sharding::replicated(g.type(r).shape.size()));
      }
      auto got = compile_local(g, infos, types, layouts, l.m, pool)->run(args, {}, {});
      for (std::int64_t d = 0; d < l.m->size(); ++d) {
        auto u = static_cast<std::size_t>(d);
        INFO("device " << d);
        std::vector<Blocks> alone(2);
        for (std::int64_t k = 0; k < l.m->size(); ++k)
          alone[0].push_back(blocks[0][u]), alone[1].push_back(blocks[1][u]);
        auto want = Lockstep(l.m).run(g, alone);
        for (std::size_t r = 0; r < got.size(); ++r) {
          ArrayRef mine = runtime::block_of(pool, got[r], d);
          Array a(mine->type.dtype, mine->type.shape);
          std::memcpy(a.bytes.data(), mine->buffer->data(), a.bytes.size());
          INFO("result " << r);
          check_close(a.values(), want[r][u].values());
        }
      }
    }
}

TEST_CASE("a region whose condition differs may not communicate") {
  Local l(cube());
  Var c = l.b.param(i32()), x = l.b.param(f32({4}));
  Local r(l.m), s(l.m);
  Var p = r.b.param(f32({4}));
  auto communicating = std::make_shared<const Graph>(r.b.finish({r.reduce(r.b.core().psum, p, {0})}));
  Var q = s.b.param(f32({4}));
  auto quiet = std::make_shared<const Graph>(s.b.finish({q}));
  Var yes = l.b.emit1(*l.b.core().lt, {c, ir::constant_int(l.b, 0)});
  Graph g = l.b.finish(l.b.append(*l.b.core().branch, {yes, x}, {}, {communicating, quiet}, {f32({4})}));
  runtime::Pool pool;
  auto info = [&](const Type& t, AxisSet distinct) {
    Type laid = t;
    laid.mesh = l.m;
    return exec::ArrayInfo{laid, Sharding::replicated(t.shape.size()), distinct, l.m};
  };
  std::vector<exec::ArrayInfo> apart = {info(i32(), set({0})), info(f32({4}), {})},
                               across = {info(i32(), set({1})), info(f32({4}), {})};
  CHECK_THROWS_AS(compile_local(g, apart, {f32({4})}, {spec({{}})}, l.m, pool), grammar::Error);
  CHECK_NOTHROW(compile_local(g, across, {f32({4})}, {spec({{}})}, l.m, pool));
}
