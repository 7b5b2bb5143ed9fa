// The executor against plain evaluators: global graphs on one device and on meshes against Reference (which computes
// whole arrays), local graphs of collectives against Lockstep (in which every device holds its own block).
#include "grammar/diagnostic.h"
#include "tests/interpreter/execute.h"

using namespace shard;
using namespace shard::testing;

namespace {

void check_same(const Arrays& got, const Arrays& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("result " << i);
    CHECK(got[i].shape == want[i].shape);
    CHECK(got[i].dtype == want[i].dtype);
    check_close(got[i].values(), want[i].values());
  }
}

Arrays numbers_for(const Graph& g, unsigned seed = 7) {
  Arrays out;
  for (Var p : g.params) out.push_back(numbers(g.type(p), seed++));
  return out;
}

void check_graph(const Graph& g, const MeshRef& m = nullptr, const std::vector<Sharding>& layouts = {}) {
  Arrays args = numbers_for(g);
  check_same(execute(g, args, m, layouts), Reference().run(g, args));
}

Var tanh_of(Builder& b, Var x) { return b.call("tanh", {x}); }
Var product(Builder& b, Var x, Var y, const char* spec) {
  return b.emit1(*b.core().contract, {x, y}, {{"spec", std::string(spec)}});
}

// A layer, its loss and the gradient written out: chains, broadcasts, a sum with two users.
Vars layer(Builder& b, const Vars& in) {
  Var h = ir::add(b, product(b, in[0], in[1], "mk,kn->mn"), in[2]);
  Var y = tanh_of(b, h);
  Var d = ir::sub(b, y, in[3]);
  Var loss = ir::reduce_sum(b, ir::mul(b, d, d), {0, 1});
  Var one = ir::constant(b, 1, DType::F32);
  Var g = ir::mul(b, d, ir::sub(b, ir::broadcast_to(b, one, b.type(y).shape), ir::mul(b, y, y)));
  return {loss, y, product(b, in[0], g, "mk,mn->kn"), ir::reduce_sum(b, g, {0})};
}
const std::vector<Type> kLayer = {f32({8, 4}), f32({4, 8}), f32({8}), f32({8, 8})};

}  // namespace

TEST_CASE("a graph runs on one device") {
  check_graph(graph(kLayer, layer));
  check_graph(graph({f32({3, 2})}, [](Builder& b, const Vars& in) {
    return Vars{in[0], in[0], ir::transpose(b, in[0], {1, 0}), ir::reshape(b, in[0], {6})};
  }));
  check_graph(graph({f32({0, 2})}, [](Builder& b, const Vars& in) {
    return Vars{ir::neg(b, in[0]), ir::reduce_sum(b, in[0], {0})};
  }));
  check_graph(graph({}, [](Builder& b, const Vars&) {
    Var c = ir::constant(b, 2.5, DType::F32);
    return Vars{c, ir::broadcast_to(b, ir::mul(b, c, c), {2, 3}), ir::convert(b, c, DType::I32), c};
  }));
}

TEST_CASE("a graph gives the same whatever its arguments' layouts") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  Graph g = graph(kLayer, layer);
  const std::vector<Sharding> whole = {spec({{}, {}}), spec({{}, {}}), spec({{}}), spec({{}, {}})};
  check_graph(g, m, whole);
  for (const Sharding& x :
       {spec({{0}, {}}), spec({{}, {0}}), spec({{0, 1}, {}}), spec({{1, 0}, {}}), spec({{1}, {0}}), spec({{0}, {1}})})
    for (const Sharding& w : {spec({{}, {}}), spec({{1}, {}}), spec({{}, {0}}), spec({{0}, {1}})})
      for (const Sharding& b : {spec({{}}), spec({{0}})})
        for (const Sharding& y : {spec({{}, {}}), spec({{0}, {1}})}) {
          INFO(runtime::to_string(*m, x) << " " << runtime::to_string(*m, w) << " " << runtime::to_string(*m, b) << " "
                                         << runtime::to_string(*m, y));
          check_graph(g, m, {x, w, b, y});
        }
}

// qr without q, eigh and svd without vectors: what is read is as it was, and the rest has no memory.
TEST_CASE("results that nobody reads are not made") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  const auto alone = [](const char* row, std::size_t result) {
    return graph({f32({4, 6, 6})},
                 [=](Builder& b, const Vars& in) { return Vars{b.emit(rows().at(row), in)[result]}; });
  };
  for (const auto& [row, results] : {std::pair{"qr_factors", 2U}, {"svd_factors", 3U}, {"eigh_lower", 2U}})
    for (std::size_t k = 0; k < results; ++k) {
      INFO(row << ", result " << k);
      const Graph g = alone(row, k);
      check_graph(g);
      check_graph(g, m, {spec({{}, {}, {}})});
      check_graph(g, m, {spec({{0}, {}, {}})});
      check_graph(g, m, {spec({{1, 0}, {}, {}})});
      check_same(execute(g, numbers_for(g), m, {spec({{1, 0}, {}, {}})}, true), Reference().run(g, numbers_for(g)));
      runtime::Pool pool;
      const std::vector<exec::ArrayInfo> infos{exec::array_info(*plain(pool, numbers_for(g)[0]))};
      CHECK(compile(g, infos, nullptr, pool)->memory().temporaries == 0);
    }
}

TEST_CASE("unreduced sums of arguments are added up") {
  MeshRef m = mesh({{"X", 2}, {"Y", 3}});
  Graph g = graph({f32({6, 4})}, [](Builder& b, const Vars& in) { return Vars{ir::mul(b, in[0], in[0]), in[0]}; });
  check_graph(g, m, {spec({{1}, {}}, {0})});
  check_graph(g, m, {spec({{}, {}}, {0, 1})});
}

TEST_CASE("loops run: scan forwards and backwards, while, branch") {
  auto body = region({f32({3}), f32({3}), f32({3})}, [](Builder& b, const Vars& in) {  // const, carry, row
    Var c = ir::add(b, ir::mul(b, in[1], in[0]), in[2]);
    return Vars{c, ir::sub(b, c, in[1])};
  });
  for (std::int64_t length : {0, 1, 4, 5})
    for (bool reverse : {false, true}) {
      INFO(length << (reverse ? " backwards" : ""));
      check_graph(graph({f32({3}), f32({3}), f32({length, 3})}, [&](Builder& b, const Vars& in) {
        return scan(b, body, {in[0]}, {in[1]}, {in[2]}, length, reverse);
      }));
    }
  // Two carries change places, one is handed through, one is a constant.
  auto swap = region({f32({2}), f32({2}), f32({2}), f32()}, [](Builder& b, const Vars& in) {
    return Vars{in[1], in[0], in[2], ir::constant(b, 3, DType::F32), ir::add(b, in[0], in[2])};
  });
  check_graph(graph({f32({2}), f32({2}), f32({2}), f32()}, [&](Builder& b, const Vars& in) {
    return scan(b, swap, {}, {in[0], in[1], in[2], in[3]}, {}, 3);
  }));

  auto less = region({f32(), f32(), i32()}, [](Builder& b, const Vars& in) {
    return Vars{b.call("lt", {in[1], in[0]})};
  });
  auto grow = region({f32(), i32()}, [](Builder& b, const Vars& in) {
    return Vars{ir::add(b, ir::mul(b, in[0], in[0]), ir::constant(b, 2, DType::F32)),
                ir::add(b, in[1], ir::constant_int(b, 1))};
  });
  check_graph(graph({f32(), i32()}, [&](Builder& b, const Vars& in) {
    Var limit = ir::constant(b, 1000, DType::F32);
    return b.emit(*b.core().while_loop, {limit, in[0], in[1]},
                  {{"cond_consts", std::int64_t{1}}, {"body_consts", std::int64_t{0}}}, {less, grow});
  }));

  auto up = region({f32({2})}, [](Builder& b, const Vars& in) { return Vars{ir::add(b, in[0], in[0]), in[0]}; });
  auto down = region({f32({2})}, [](Builder& b, const Vars& in) {
    return Vars{ir::neg(b, in[0]), ir::broadcast_to(b, ir::constant(b, 1, DType::F32), {2})};
  });
  check_graph(graph({f32({2}), f32()}, [&](Builder& b, const Vars& in) {
    Var yes = b.call("lt", {in[1], ir::constant(b, 100, DType::F32)}),
        no = b.call("lt", {ir::constant(b, 100, DType::F32), in[1]});
    Vars out = b.emit(*b.core().branch, {yes, in[0]}, {}, {up, down});
    for (Var v : b.emit(*b.core().branch, {no, in[0]}, {}, {up, down})) out.push_back(v);
    return out;
  }));
}

TEST_CASE("loops over split values") {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  auto body = region({f32({4, 4}), f32({2, 4}), f32({2, 4})}, [](Builder& b, const Vars& in) {
    Var c = ir::add(b, tanh_of(b, product(b, in[1], in[0], "bk,kn->bn")), in[2]);
    return Vars{c, ir::reduce_sum(b, c, {1})};
  });
  Graph g = graph({f32({4, 4}), f32({2, 4}), f32({3, 2, 4})},
                  [&](Builder& b, const Vars& in) { return scan(b, body, {in[0]}, {in[1]}, {in[2]}, 3); });
  for (const Sharding& w : {spec({{}, {}}), spec({{0}, {}}), spec({{}, {1}})})
    for (const Sharding& c : {spec({{}, {}}), spec({{1}, {}}), spec({{0}, {1}})})
      for (const Sharding& xs : {spec({{}, {}, {}}), spec({{}, {0}, {}}), spec({{}, {}, {0, 1}})})
        check_graph(g, m, {w, c, xs});
}

TEST_CASE("arguments that are given away lend their memory to results") {
  runtime::Pool pool;
  Graph g = graph({f32({64, 64}), f32({64, 64})}, [](Builder& b, const Vars& in) {
    Var step = ir::mul(b, in[1], ir::constant(b, 0.5, DType::F32));
    return Vars{ir::sub(b, in[0], step), ir::reduce_sum(b, in[1], {0, 1})};
  });
  Arrays args = numbers_for(g);
  std::vector<exec::ArrayInfo> infos;
  for (const Array& a : args) infos.push_back(exec::array_info(*plain(pool, a)));
  auto plan = compile(g, infos, nullptr, pool);
  auto want = Reference().run(g, args);
  for (bool keep : {false, true}) {
    std::vector<ArrayRef> arrays = {plain(pool, args[0]), plain(pool, args[1])};
    ArrayRef held = keep ? arrays[0] : nullptr;
    const void* memory = arrays[0]->buffer->data();
    auto out = plan->run(std::move(arrays), {true, false}, {});
    CHECK((out[0]->buffer->data() == memory) == !keep);
    check_same({read(pool, out[0]), read(pool, out[1])}, want);
    if (keep) CHECK(read(pool, held).values() == args[0].values());
  }
  // Not given away: untouched, although nobody else holds it.
  std::vector<ArrayRef> arrays = {plain(pool, args[0]), plain(pool, args[1])};
  const void* memory = arrays[0]->buffer->data();
  auto out = plan->run(std::move(arrays), {}, {});
  CHECK(out[0]->buffer->data() != memory);
}

TEST_CASE("an untouched argument and a repeated result share memory") {
  runtime::Pool pool;
  Graph g = graph({f32({8})}, [](Builder& b, const Vars& in) {
    Var y = ir::neg(b, in[0]);
    return Vars{in[0], y, y};
  });
  ArrayRef x = plain(pool, numbers(f32({8}), 1));
  std::vector<exec::ArrayInfo> infos = {exec::array_info(*x)};
  auto plan = compile(g, infos, nullptr, pool);
  auto out = plan->run({x}, {true}, {});
  CHECK(out[0] == x);
  CHECK(out[1]->buffer == out[2]->buffer);
}

TEST_CASE("effects act in order, with values") {
  runtime::Pool pool;
  Graph g = graph({f32({2})}, [](Builder& b, const Vars& in) {
    b.emit(b.table().at("effect"), {in[0]}, {{"what", std::string("first")}});
    Var y = ir::add(b, in[0], in[0]);
    b.emit(b.table().at("effect"), {y}, {{"what", std::string("second")}});
    return Vars{};
  });
  std::vector<std::pair<std::string, double>> seen;
  exec::Hooks hooks;
  hooks.effect = [&](const ir::Attrs& attrs, const std::vector<ArrayRef>& operands, const std::vector<std::string>&,
                     grammar::Span) {
    seen.emplace_back(attrs.text("what"), runtime::element_double(*operands.at(0), 1));
  };
  ArrayRef x = plain(pool, Array({2}, {1, 2}));
  std::vector<exec::ArrayInfo> infos = {exec::array_info(*x)};
  compile(g, infos, nullptr, pool)->run({x}, {}, hooks);
  CHECK(seen == std::vector<std::pair<std::string, double>>{{"first", 2}, {"second", 4}});
}

TEST_CASE("an endless loop can be stopped") {
  runtime::Pool pool;
  auto always = region({f32()}, [](Builder& b, const Vars&) { return Vars{ir::constant(b, 1, DType::Bool)}; });
  auto same = region({f32()}, [](Builder& b, const Vars& in) { return Vars{ir::add(b, in[0], in[0])}; });
  Graph g = graph({f32()}, [&](Builder& b, const Vars& in) {
    return b.emit(*b.core().while_loop, {in[0]}, {{"cond_consts", std::int64_t{0}}, {"body_consts", std::int64_t{0}}},
                  {always, same});
  });
  ArrayRef x = plain(pool, Array({}, {1}));
  std::vector<exec::ArrayInfo> infos = {exec::array_info(*x)};
  auto plan = compile(g, infos, nullptr, pool);
  const auto code = [&] {
    try {
      plan->run({x}, {}, {});
    } catch (const grammar::Error& e) { return e.diagnostic.code; }
    return std::string();
  };
  pool.stop().begin(0, 100);
  CHECK(code() == "steps");
  pool.stop().begin(0.01, 0);
  CHECK(code() == "seconds");
  pool.stop().begin(0, 0);
  pool.stop().request();
  CHECK(code() == "interrupt");
}

TEST_CASE("the plan cache knows graphs by structure and arguments by layout") {
  runtime::Pool pool;
  exec::PlanCache cache(rows());
  auto target = exec::make_lockstep(rows(), pool);
  auto make = [](double c) {
    return std::make_shared<const Graph>(graph({f32({4})}, [c](Builder& b, const Vars& in) {
      return Vars{ir::mul(b, in[0], ir::constant(b, c, DType::F32))};
    }));
  };
  MeshRef m = mesh({{"X", 2}});
  Array x = numbers(f32({4}), 1);
  std::vector<ArrayRef> whole = {plain(pool, x)}, split = {laid_out(pool, x, m, spec({{0}}))};
  auto first = cache.get(*target, make(2), whole, nullptr);
  CHECK(cache.get(*target, make(2), whole, nullptr) == first);
  CHECK(cache.compiled() == 1);
  cache.get(*target, make(3), whole, nullptr);
  cache.get(*target, make(2), split, nullptr);
  CHECK(cache.compiled() == 3);
  MeshRef other = mesh({{"X", 4}});
  Graph sum = graph({f32({4}), f32({4})}, [](Builder& b, const Vars& in) { return Vars{ir::add(b, in[0], in[1])}; });
  std::vector<exec::ArrayInfo> infos = {exec::array_info(*split[0]),
                                        exec::array_info(*laid_out(pool, x, other, spec({{0}})))};
  CHECK_THROWS_WITH(exec::mesh_of(sum, infos, nullptr), Catch::Contains("(@X: 2)") && Catch::Contains("(@X: 4)"));
}
