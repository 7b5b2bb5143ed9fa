// The seam between programs and what runs them: two targets on one program, the plan cache, a target of this file that
// holds its arrays elsewhere; and what a program knows of itself: distinct axes of nested loops, passes, the cost of
// collectives.
#include "grammar/diagnostic.h"
#include "interpreter/exec/executable.h"
#include "interpreter/ir/collective.h"
#include "interpreter/trace/context.h"
#include "tests/interpreter/execute.h"

using namespace shard;
using namespace shard::testing;
using exec::ArrayInfo;
using exec::Executable;

namespace {

// A layer and a half, with a loop: products, sums over devices, gathers.
Graph layers() {
  auto body = region({f32({4, 4}), f32({8, 4})}, [](Builder& b, const Vars& in) {
    return Vars{b.call("tanh", {b.call("matmul", {in[1], in[0]})})};
  });
  return graph({f32({8, 16}), f32({16, 4}), f32({4, 4})}, [&](Builder& b, const Vars& in) {
    Var h = b.call("matmul", {in[0], in[1]});
    Var y = scan(b, body, {in[2]}, {h}, {}, 3)[0];
    return Vars{y, ir::reduce_sum(b, y, {0, 1})};
  });
}
const std::vector<Sharding> kLayouts = {spec({{0}, {1}}), spec({{1}, {}}), spec({{}, {1}})};

std::vector<ArrayInfo> infos_of(const std::vector<ArrayRef>& arrays) {
  std::vector<ArrayInfo> out;
  for (const ArrayRef& a : arrays) out.push_back(exec::array_info(*a));
  return out;
}

// ---- a target as one would be added: this class, and make_counting below in the place of a line of targets.cpp

struct Counts {
  int compiled = 0, instructions = 0, fetched = 0;
};

class There final
    : public runtime::RemoteBlocks {  // an array on the devices of the target: here, a copy that looks away
 public:
  There(runtime::BufferRef blocks, Counts& counts) : blocks_(std::move(blocks)), counts_(counts) {}
  runtime::BufferRef fetch(runtime::Pool&, const runtime::DeviceArray&) const override {
    ++counts_.fetched;
    return blocks_;
  }

 private:
  runtime::BufferRef blocks_;
  Counts& counts_;
};

class Counting final : public exec::Target {
 public:
  Counting(const ir::OpTable& table, runtime::Pool& pool, Counts& counts)
      : inner_(exec::make_lockstep(table, pool)), counts_(counts) {}
  transform::Passes passes() const override { return inner_->passes(); }
  std::shared_ptr<const Executable> compile(std::shared_ptr<const exec::Program> program,
                                            std::span<const ArrayInfo> arguments) const override {
    ++counts_.compiled;
    return std::make_shared<Plan>(inner_->compile(program, arguments), program, counts_);
  }

 private:
  class Plan final : public Executable {
   public:
    Plan(std::shared_ptr<const Executable> inner, std::shared_ptr<const exec::Program> program, Counts& counts)
        : Executable(std::move(program)), inner_(std::move(inner)), counts_(counts) {}
    std::vector<ArrayRef> compute(std::vector<ArrayRef>& args, const std::vector<bool>&,
                                  const exec::Hooks& hooks) const override {
      counts_.instructions += static_cast<int>(program().local.nodes.size());
      std::vector<ArrayRef> out;
      for (const ArrayRef& r : inner_->run(std::move(args), {}, hooks)) {
        auto there = std::make_shared<runtime::DeviceArray>(*r);
        there->elsewhere = std::make_shared<There>(r->buffer, counts_);
        there->buffer = nullptr;
        out.push_back(std::move(there));
      }
      return out;
    }
    const exec::MemoryUse& memory() const override { return inner_->memory(); }

   private:
    std::shared_ptr<const Executable> inner_;
    Counts& counts_;
  };
  std::unique_ptr<const exec::Target> inner_;
  Counts& counts_;
};

}  // namespace

TEST_CASE("two targets make of one program what runs, and what says the same of a run") {
  MeshRef m = mesh({{"X", 2}, {"Y", 4}});
  Graph g = layers();
  runtime::Pool pool;
  std::vector<ArrayRef> args;
  for (std::size_t i = 0; i < g.params.size(); ++i)
    args.push_back(laid_out(pool, numbers(g.type(g.params[i]), static_cast<unsigned>(i)), m, kLayouts[i]));
  auto infos = infos_of(args);
  auto lockstep = exec::make_lockstep(rows(), pool), abstract = exec::make_abstract(rows(), pool);
  auto program = std::make_shared<exec::Program>(lowered(g, m, kLayouts, lockstep->passes()));
  auto runs = lockstep->compile(program, infos), says = abstract->compile(program, infos);

  auto results = runs->run(args, {}, {}), types = says->run(args, {}, {});
  REQUIRE(results.size() == 2);
  REQUIRE(types.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(exec::array_info(*types[i]) == exec::array_info(*results[i]));
    CHECK(results[i]->has_elements());
    CHECK(!types[i]->has_elements());
    CHECK_THROWS_WITH(runtime::to_host(pool, types[i]), Catch::Contains("known only in a run"));
    CHECK_THROWS_WITH(runtime::block_of(pool, types[i], 3), Catch::Contains("known only in a run"));
  }
  CHECK(!runs->comm().empty());
  CHECK(runs->comm().size() == says->comm().size());
  CHECK(runs->flops() == says->flops());
  CHECK(runs->memory().arguments == says->memory().arguments);
  CHECK(runs->memory().results == says->memory().results);
  CHECK(runs->memory().temporaries == says->memory().temporaries);
  CHECK(runs->memory().arguments == 4 * 4 * 4 + 4 * 4 * 4 + 4 * 1 * 4);  // local f32[4,4], f32[4,4], f32[4,1]
}

TEST_CASE("types alone are what the target `types` gives, and nothing else is known of them") {
  runtime::Pool pool;
  Graph g = layers();
  MeshRef m = mesh({{"X", 2}, {"Y", 4}});
  auto target = exec::make_target("types", rows(), pool);
  std::vector<ArrayInfo> infos;
  for (std::size_t i = 0; i < g.params.size(); ++i)
    infos.push_back(exec::array_info(*exec::without_elements(g.type(g.params[i]), m)));
  auto plan = exec::compile(*target, rows(), g, infos, m);
  auto types = plan->run({}, {}, {});
  CHECK(runtime::to_string(types[0]->type) == "f32[8,4]");
  CHECK_THROWS_WITH(plan->comm(), Catch::Contains("only types"));
  CHECK_THROWS_WITH(plan->memory(), Catch::Contains("only types"));
}

TEST_CASE("an array larger than any may be has a type and a layout") {
  runtime::Pool pool;
  MeshRef m = mesh({{"X", 4096}});
  Graph g = graph({f32({1 << 20, 1 << 20})}, [](Builder& b, const Vars& in) { return Vars{ir::mul(b, in[0], in[0])}; });
  Type t = f32({1 << 20, 1 << 20});
  t.sharding = spec({{0}, {}});
  std::vector<ArrayInfo> infos = {exec::array_info(*exec::without_elements(t, m))};
  CHECK(infos[0].layout == spec({{0}, {}}));
  CHECK(infos[0].type.sharding.is_replicated());  // an automatic axis is no part of the type
  auto plan = exec::compile(*exec::make_abstract(rows(), pool), rows(), g, infos, m);
  CHECK(plan->run({}, {}, {})[0]->layout == spec({{0}, {}}));
  CHECK(plan->memory().results == std::int64_t{1} << 30);
  CHECK_THROWS_WITH(exec::compile(*exec::make_lockstep(rows(), pool), rows(), g, infos, m),
                    Catch::Contains("more than the largest array may have"));
}

TEST_CASE("the plan cache keeps targets apart") {
  runtime::Pool pool;
  exec::PlanCache cache(rows());
  auto lockstep = exec::make_lockstep(rows(), pool), abstract = exec::make_abstract(rows(), pool);
  auto make = [] {
    return std::make_shared<const Graph>(
        graph({f32({4})}, [](Builder& b, const Vars& in) { return Vars{ir::add(b, in[0], in[0])}; }));
  };
  std::vector<ArrayRef> x = {plain(pool, numbers(f32({4}), 1))};
  auto runs = cache.get(*lockstep, make(), x, nullptr), says = cache.get(*abstract, make(), x, nullptr);
  CHECK(runs != says);
  CHECK(cache.compiled() == 2);
  CHECK(cache.get(*lockstep, make(), x, nullptr) == runs);
  CHECK(cache.get(*abstract, make(), x, nullptr) == says);
  CHECK(cache.compiled() == 2);
  CHECK(runs->run(x, {}, {})[0]->has_elements());
  CHECK(!says->run(x, {}, {})[0]->has_elements());
}

TEST_CASE("a target that holds its arrays elsewhere is looked at through them") {
  runtime::Pool pool;
  trace::Context ctx(rows(), pool, 8);
  Counts counts;
  Counting counting(rows(), pool, counts);
  MeshRef m = mesh({{"X", 4}});
  Array a = numbers(f32({8}), 3);
  trace::Tensor x(laid_out(pool, a, m, spec({{0}})));
  auto add = [&](const trace::Tensor& l, const trace::Tensor& r) { return ctx.apply1(rows().at("add"), {l, r}); };
  trace::Tensor here = add(x, x);
  {
    trace::TargetScope scope(ctx, counting);
    trace::Tensor y = add(x, x);
    CHECK(counts.compiled == 1);  // not the plan of the other target, though the operation is known
    CHECK(counts.instructions == 1);
    CHECK(!y.array()->buffer);
    CHECK(y.array()->layout == here.array()->layout);
    trace::Tensor z = add(y, y);
    CHECK(counts.compiled == 1);  // laid out alike: found again
    CHECK(counts.instructions == 2);
    int before = counts.fetched;
    for (std::size_t i = 0; i < 8; ++i) CHECK(read(pool, z.array()).get(i) == Approx(4 * a.get(i)));
    CHECK(counts.fetched == before + 8);
    ArrayRef block = runtime::block_of(pool, z.array(), 2);
    CHECK(runtime::element_double(*block, 1) == Approx(4 * a.get(5)));
    here = y;
  }
  CHECK(read(pool, add(here, x).array()).get(7) == Approx(3 * a.get(7)));  // lockstep takes it from there
  CHECK(counts.compiled == 1);
}

TEST_CASE("the list of targets") {
  runtime::Pool pool;
  for (const exec::TargetRow& row : exec::targets()) {
    CHECK(!row.doc.empty());
    CHECK(exec::make_target(row.name, rows(), pool) != nullptr);
  }
  CHECK_THROWS_AS(exec::make_target("nowhere", rows(), pool), std::logic_error);
}

TEST_CASE("sums over devices that move early are a pass like the others, in regions too") {
  MeshRef m = mesh({{"X", 4}});
  auto body = region({f32({16, 16}), f32({8, 16})}, [](Builder& b, const Vars& in) {
    Var half = ir::broadcast_to(b, ir::constant(b, 0.5, DType::F32), {8, 16});
    return Vars{ir::mul(b, b.call("matmul", {in[1], in[0]}), half)};
  });
  Graph g = graph({f32({16, 16}), f32({8, 16})},
                  [&](Builder& b, const Vars& in) { return scan(b, body, {in[0]}, {in[1]}, {}, 2); });
  std::vector<Sharding> layouts = {spec({{0}, {}}), spec({{}, {0}})};  // the sum is scattered
  auto passes = [&](transform::Passes wanted) {
    std::vector<std::string> names;
    std::vector<ArrayInfo> args;
    for (std::size_t i = 0; i < 2; ++i) args.push_back({g.type(g.params[i]), layouts[i], layouts[i].split_axes(), m});
    auto program = transform::lower(rows(), g, m, args,
                                    {[&](std::string_view pass, const Graph&) { names.emplace_back(pass); }, wanted});
    return std::pair(names, program);
  };
  auto [plain, without] = passes({});
  auto [early, with] = passes({.early_sums = true});
  CHECK(std::count(plain.begin(), plain.end(), "early sums") == 0);
  REQUIRE(!early.empty());
  CHECK(std::count(early.begin(), early.end(), "early sums") == 1);
  // The account is of what was partitioned: the same either way.
  REQUIRE(without.communication.size() == with.communication.size());
  for (std::size_t i = 0; i < with.communication.size(); ++i) {
    CHECK(with.communication[i].bytes == without.communication[i].bytes);
    CHECK(with.communication[i].kind == without.communication[i].kind);
  }
  // In the loop the sum is one of products now, and what scales them comes after it.
  auto sums_products = [](const Graph& local) {
    for (const ir::Node& loop : local.nodes)
      for (const auto& r : loop.regions)
        for (const ir::Node& sum : r->nodes)
          if (ir::sums_all(*sum.op))
            for (const ir::Node& n : r->nodes)
              if (n.outputs == sum.inputs) return n.op->kernel_sum != nullptr;
    return false;
  };
  INFO(ir::to_string(with.local));
  CHECK(sums_products(with.local));
  transform::verify(with.distinct, with.local, m.get());
}

TEST_CASE("distinct axes of loops in loops are found in one go") {
  // At each level the carry starts the same everywhere and differs after a turn, so that each fixed point takes a turn
  // more: two turns a level would be 2^40 visits of the innermost body.
  MeshRef m = mesh({{"X", 2}});
  const int depth = 40;
  GraphRef body;
  auto local = [&](const std::function<Vars(Builder&, const Vars&)>& make) {
    Builder b(rows());
    b.set_local(m);
    Vars in{b.param(f32()), b.param(f32())};
    return std::make_shared<const Graph>(b.finish(make(b, in)));
  };
  auto loop = [&](Builder& b, const Vars& in) {
    return b.append(
        *b.core().scan, in,
        {{"consts", std::int64_t{0}}, {"carry", std::int64_t{2}}, {"length", std::int64_t{1}}, {"reverse", false}},
        {body}, {f32(), f32()});
  };
  body = local([&](Builder& b, const Vars& in) {
    Var here = b.append(*b.core().axis_index, {}, {{"axes", ir::Ints{0}}}, {}, {i32()}).at(0);
    return Vars{in[1], b.append(*b.core().convert, {here}, {{"dtype", DType::F32}}, {}, {f32()}).at(0)};
  });
  for (int i = 1; i < depth; ++i) body = local([&](Builder& b, const Vars& in) { return loop(b, in); });
  GraphRef g = local([&](Builder& b, const Vars& in) { return loop(b, in); });
  transform::Distinct d = transform::distinct_axes(*g, std::vector<AxisSet>(2), m.get());
  transform::verify(d, *g, m.get());
  CHECK(d.of[static_cast<std::size_t>(g->results[0].id)] == AxisSet::of(0));
  const transform::Distinct* inner = &d;
  const Graph* at = g.get();
  for (int i = 0; i < depth; ++i) {
    inner = &inner->inside[0].regions[0];
    at = at->nodes[0].regions[0].get();
    CHECK(inner->of[static_cast<std::size_t>(at->params[0].id)] == AxisSet::of(0));
  }
}

TEST_CASE("what a collective moves and costs") {
  // By hand, 8 devices with 64 bytes each. A ring sends all parts but its own once to gather or to scatter, twice for a
  // sum that all have in the end.
  auto comm = [](const char* row) { return *rows().at(row).comm; };
  auto check = [&](const char* row, std::int64_t bytes, std::int64_t sent) {
    ir::CommCost c = ir::comm_cost(comm(row), 64, 8);
    INFO(row);
    CHECK(c.bytes == bytes);
    CHECK(c.sent == sent);
  };
  for (const char* row : {"psum", "pmax", "pmin"}) check(row, 64, 2 * 56);
  check("psum_scatter", 64, 56);
  check("all_to_all", 64, 56);
  check("all_gather", 512, 7 * 64);
  check("ppermute", 64, 64);
  for (const char* row : {"axis_index", "pcast", "own_slice"}) check(row, 0, 0);
  CHECK(ir::comm_cost(comm("psum"), 64, 1).sent == 0);
  CHECK(ir::comm_cost(comm("all_gather"), INT64_MAX / 64, 4096).bytes > 0);  // sizes saturate
}
