// Compiled graphs and their runs: arguments become slots, results get memory (of a donated argument where one fits),
// the plan runs, and arrays are made around the results.
#include "interpreter/exec/compile.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "interpreter/exec/comm.h"
#include "interpreter/exec/lowering.h"
#include "interpreter/transform/early_sums.h"
#include "interpreter/transform/pipeline.h"

namespace shard::exec {

namespace {

using runtime::BufferRef;
using runtime::DeviceArray;

bool same_mesh(const runtime::MeshRef& a, const runtime::MeshRef& b) { return a == b || (a && b && *a == *b); }

class Compiled final : public Executable {
 public:
  std::vector<ArrayRef> run(std::vector<ArrayRef> args, const std::vector<bool>& donate,
                            const Hooks& hooks) const override {
    if (args.size() != plan.params)
      throw std::logic_error("a plan for " + std::to_string(plan.params) + " arguments was given " +
                             std::to_string(args.size()));
    constexpr std::size_t kFew = 64;
    std::array<char*, kFew> few;
    std::vector<char*> many;
    char** base = few.data();
    if (plan.slots() > kFew) {
      many.resize(plan.slots());
      base = many.data();
    }
    base[0] = nullptr;
    for (std::size_t i = 0; i < args.size(); ++i) base[1 + i] = static_cast<char*>(args[i]->buffer->data());

    Run r{hooks, pool, true, {}};
    std::vector<BufferRef> memory(results.size());
    std::vector<char> given(results.size(), 0);
    auto first = static_cast<std::size_t>(plan.arena_slot()) + 1;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Result& result = results[i];
      base[first + i] = nullptr;
      if (result.from.kind != ResultRef::Kind::Own) continue;
      if (int d = result.from.donor; d >= 0) {
        auto donor = static_cast<std::size_t>(d);
        if (donor < donate.size() && donate[donor] && args[donor].use_count() == 1 &&
            args[donor]->buffer.use_count() == 1) {
          memory[i] = args[donor]->buffer;
          given[i] = 1;
          r.may_stop = false;
        }
      }
      if (!memory[i]) memory[i] = pool.allocate(static_cast<std::size_t>(result.from.bytes));
      base[first + i] = static_cast<char*>(memory[i]->data());
    }
    BufferRef arena;
    if (plan.arena > 0) arena = pool.allocate(static_cast<std::size_t>(plan.arena));
    base[plan.arena_slot()] = arena ? static_cast<char*>(arena->data()) : nullptr;
    r.ask();
    plan.run(r, base);

    std::vector<ArrayRef> out(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Result& result = results[i];
      auto index = static_cast<std::size_t>(result.from.index);
      switch (result.from.kind) {
        case ResultRef::Kind::Own:
          if (given[i] && result.like_donor)
            out[i] = args[static_cast<std::size_t>(result.from.donor)];
          else
            out[i] = array(result, std::move(memory[i]));
          break;
        case ResultRef::Kind::Param:
          out[i] = result.like_donor ? args[index] : array(result, args[index]->buffer);
          break;
        case ResultRef::Kind::Constant: out[i] = array(result, constants[i]); break;
        case ResultRef::Kind::Same: out[i] = result.like_donor ? out[index] : array(result, out[index]->buffer); break;
      }
    }
    return out;
  }
  const std::vector<CommRecord>& comm() const override { return account_.comm; }
  const MemoryUse& memory() const override { return use; }
  std::int64_t flops() const override { return static_cast<std::int64_t>(account_.flops); }
  const ir::Graph& local() const override { return graph; }
  std::vector<runtime::Sharding> result_layouts() const override { return layouts; }

  struct Result {
    ResultRef from;
    DeviceArray like;         // without a buffer
    bool like_donor = false;  // the array of the donor (or of what it is the same as) is described alike
  };
  Compiled(ir::Graph g, runtime::Pool& p) : graph(std::move(g)), pool(p) {}
  ir::Graph graph;
  runtime::Pool& pool;
  Plan plan;
  std::vector<Result> results;
  std::vector<BufferRef> constants;  // by result
  std::vector<runtime::Sharding> layouts;
  Account account_;
  MemoryUse use;

 private:
  static ArrayRef array(const Result& r, BufferRef buffer) {
    auto a = std::make_shared<DeviceArray>(r.like);
    a->buffer = std::move(buffer);
    return a;
  }
};

bool described_alike(const DeviceArray& a, const ArgInfo& b) {
  return a.type == b.type && a.layout == b.layout && a.distinct == b.distinct && same_mesh(a.type.mesh, b.mesh);
}

std::int64_t local_bytes(const runtime::Type& t, const runtime::Sharding& layout, const Mesh* mesh) {
  return runtime::checked_bytes(mesh ? runtime::local_shape(*mesh, t.shape, layout) : t.shape,
                                runtime::size_of(t.dtype));
}

bool places(const ir::Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(), [](const ir::Node& n) {
    const ir::Structure* s = ir::structure_of(*n.op);
    return (s && ((*s == ir::Structure::Shard && n.attrs.has("layout")) || *s == ir::Structure::Manual)) ||
           std::any_of(n.regions.begin(), n.regions.end(), [](const auto& r) { return places(*r); });
  });
}

// Values of a global graph that live on its mesh: laid out by a constraint, or computed from such. The others stay on
// no mesh.
void mark_placed(const ir::Graph& g, std::vector<char>& known) {
  for (const ir::Node& n : g.nodes) {
    const ir::Structure* s = ir::structure_of(*n.op);
    bool here = s && ((*s == ir::Structure::Shard && n.attrs.has("layout")) || *s == ir::Structure::Manual);
    for (ir::Var v : n.inputs) here |= known[static_cast<std::size_t>(v.id)] != 0;
    for (const auto& r : n.regions) here |= places(*r);
    for (ir::Var v : n.outputs) known[static_cast<std::size_t>(v.id)] = here;
  }
}

}  // namespace

ArgInfo arg_info(const runtime::DeviceArray& a) { return {a.type, a.layout, a.distinct, a.type.mesh}; }

std::shared_ptr<const Executable> compile_local(const ir::OpTable& table, ir::Graph local,
                                                std::span<const ArgInfo> args, const std::vector<ir::Type>& types,
                                                std::vector<runtime::Sharding> layouts, runtime::MeshRef mesh,
                                                runtime::Pool& pool) {
  auto out = std::make_shared<Compiled>(std::move(local), pool);
  std::vector<AxisSet> distinct;
  for (const ArgInfo& a : args) distinct.push_back(a.distinct);
  ir::Graph rewritten;
  if (mesh) rewritten = transform::with_early_sums(table, out->graph, distinct, *mesh, {});
  const ir::Graph& g = mesh ? rewritten : out->graph;
  if (args.size() != g.params.size())
    throw std::logic_error("a graph of " + std::to_string(g.params.size()) + " parameters was given " +
                           std::to_string(args.size()));
  Surroundings around{table, mesh.get(), mesh, pool, {}};
  Lowering lowering(g, around, distinct);
  for (std::size_t i = 0; i < args.size(); ++i) {
    AxisSet real = distinct[i];
    for (AxisId a : real.list())
      if (!mesh || mesh->size_of(a) == 1) real.remove(a);
    Place p = dense_place(static_cast<int>(i), g.type(g.params[i]).dtype, real, g.type(g.params[i]).shape, mesh.get());
    std::int64_t bytes = elements(real, p.shape, mesh.get()) * static_cast<std::int64_t>(runtime::size_of(p.dtype));
    lowering.bind(i, std::move(p), bytes);
    out->use.arguments += local_bytes(args[i].type, args[i].layout, args[i].mesh.get());
  }
  lowering.run();

  std::vector<AxisSet> differ;
  for (std::size_t i = 0; i < g.results.size(); ++i) {
    Compiled::Result r;
    AxisSet own = lowering.distinct()[static_cast<std::size_t>(g.results[i].id)];
    r.like.type = types[i];
    r.like.type.varying = {};
    r.like.layout = layouts[i];
    for (auto& d : r.like.layout.dims) d.open = false;
    r.like.distinct = own | layouts[i].split_axes() | layouts[i].unreduced;
    bool placed = types[i].mesh || !r.like.distinct.empty() || !layouts[i].reduced.empty();
    r.like.type.mesh = placed ? mesh : nullptr;
    differ.push_back(r.like.distinct);
    out->use.results += local_bytes(types[i], layouts[i], mesh.get());
    out->results.push_back(std::move(r));
  }
  lowering.finish_results(differ, nullptr);
  std::vector<ResultRef> refs = lowering.draft().results;
  std::vector<Storage> storages = lowering.draft().storages;
  std::vector<BufferRef> held = lowering.draft().constants;
  Finished done = finish(std::move(lowering.draft()), {}, refs);
  out->plan = std::move(done.plan);
  out->constants.resize(refs.size());
  for (std::size_t i = 0; i < refs.size(); ++i) {
    Compiled::Result& r = out->results[i];
    r.from = refs[i];
    if (refs[i].kind == ResultRef::Kind::Constant)
      for (const BufferRef& b : held)
        if (b->data() == storages[static_cast<std::size_t>(refs[i].index)].data) out->constants[i] = b;
    int like = refs[i].kind == ResultRef::Kind::Own     ? refs[i].donor
               : refs[i].kind == ResultRef::Kind::Param ? refs[i].index
                                                        : -1;
    if (like >= 0) r.like_donor = described_alike(r.like, args[static_cast<std::size_t>(like)]);
    if (refs[i].kind == ResultRef::Kind::Same) {
      const DeviceArray& other = out->results[static_cast<std::size_t>(refs[i].index)].like;
      r.like_donor = described_alike(r.like, arg_info(other));
    }
  }
  out->layouts = std::move(layouts);
  out->account_ = account(out->graph, mesh.get());
  out->use.temporaries = done.peak_device_bytes;
  return out;
}

std::shared_ptr<const Executable> compile(const ir::OpTable& table, const ir::Graph& graph,
                                          std::span<const ArgInfo> args, runtime::MeshRef mesh, runtime::Pool& pool) {
  std::vector<runtime::Sharding> params;
  for (const ArgInfo& a : args) params.push_back(a.layout);
  transform::Partitioned low = transform::lower(table, graph, mesh, params);
  std::vector<char> known(graph.types.size(), 0);
  for (std::size_t i = 0; i < args.size(); ++i)
    known[static_cast<std::size_t>(graph.params[i].id)] = args[i].mesh != nullptr;
  mark_placed(graph, known);
  std::vector<ir::Type> types;
  for (ir::Var r : graph.results) {
    types.push_back(graph.type(r));
    types.back().mesh = known[static_cast<std::size_t>(r.id)] ? mesh : nullptr;
  }
  return compile_local(table, std::move(low.local), args, types, std::move(low.results), std::move(mesh), pool);
}

}  // namespace shard::exec
