// The targets `lockstep` and `exact`: a plan of instructions over physical arrays (runtime/mesh/device_array.h), each
// done for the blocks of all devices at once. Here what compiling and a run are from outside: arguments become slots,
// results get memory (of a donated argument where one fits), the plan runs, and arrays are made around the results.
#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "interpreter/exec/lowering.h"
#include "interpreter/exec/target.h"
#include "interpreter/exec/timing.h"

namespace shard::exec {

namespace {

using runtime::BufferRef;
using runtime::DeviceArray;

class Compiled final : public Measured {
 public:
  std::vector<ArrayRef> compute(std::vector<ArrayRef>& args, const std::vector<bool>& donate,
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
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (!args[i]->buffer) args[i] = runtime::here(pool, args[i]);
      base[1 + i] = static_cast<char*>(args[i]->buffer->data());
    }

    Run r{hooks, pool, {}};
    std::optional<runtime::Stop::Patience> overwriting;
    std::vector<BufferRef> memory(results.size());
    std::vector<char> given(results.size(), 0);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Result& result = results[i];
      base[plan.result_slot(i)] = nullptr;
      const auto* own = std::get_if<ResultRef::Own>(&result.from.from);
      if (!own) continue;
      if (own->donor && *own->donor < donate.size() && donate[*own->donor]) {
        const ArrayRef& donor = args[*own->donor];
        if (donor.use_count() == 1 && runtime::writable(donor->buffer)) {
          memory[i] = donor->buffer;
          given[i] = 1;
          if (!overwriting) overwriting.emplace(pool.stop());
        }
      }
      if (!memory[i]) memory[i] = pool.allocate(static_cast<std::size_t>(result.from.bytes));
      base[plan.result_slot(i)] = static_cast<char*>(memory[i]->data());
    }
    BufferRef arena;
    if (plan.arena > 0) arena = pool.allocate(static_cast<std::size_t>(plan.arena));
    base[plan.arena_slot()] = arena ? static_cast<char*>(arena->data()) : nullptr;
    r.ask();
    Timing* const timing = hooks.timing;
    if (timing) timing->begins(*this);
    if (const runtime::Mesh* mesh = program().mesh.get(); mesh && mesh->part) mesh->part->processes->call_begins();
    try {
      plan.run(r, base);
    } catch (...) {
      for (std::size_t i = 0; i < results.size(); ++i)
        if (given[i]) args[*std::get<ResultRef::Own>(results[i].from.from).donor] = nullptr;
      throw;
    }
    if (timing) timing->ends();

    std::vector<ArrayRef> out(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Result& result = results[i];
      const auto as = [&](const ArrayRef& like) { return result.like_donor ? like : array(result, like->buffer); };
      if (auto* own = std::get_if<ResultRef::Own>(&result.from.from))
        out[i] = given[i] && result.like_donor ? args[*own->donor] : array(result, std::move(memory[i]));
      else if (auto* param = std::get_if<ResultRef::Param>(&result.from.from))
        out[i] = as(args[param->index]);
      else if (auto* constant = std::get_if<ResultRef::Constant>(&result.from.from))
        out[i] = array(result, constant->buffer);
      else
        out[i] = as(out[std::get<ResultRef::Same>(result.from.from).earlier]);
    }
    return out;
  }

  struct Result {
    ResultRef from;
    DeviceArray like;         // without a buffer
    bool like_donor = false;  // the array of the donor (or of what it is the same as) is described alike
  };
  using Measured::Measured;
  Plan plan;
  std::vector<Result> results;

 private:
  static ArrayRef array(const Result& r, BufferRef buffer) {
    auto a = std::make_shared<DeviceArray>(r.like);
    a->buffer = std::move(buffer);
    return a;
  }
};

DeviceArray like(const ArrayInfo& info) {
  DeviceArray a;
  a.type = info.type;
  a.layout = info.layout;
  a.distinct = info.distinct;
  return a;
}

// Lowered, with results dense and distinct as the program says.
// `mesh`: with the sizes here.
void lower(Lowering& lowering, const Program& p, std::span<const ArrayInfo> args, const Mesh* mesh) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const ir::Type& t = p.local.type(p.local.params[i]);
    const AxisSet differs = p.mesh ? p.mesh->real(args[i].distinct) : AxisSet{};
    StridedView place = dense_place(static_cast<int>(i), t.dtype, differs, t.shape, mesh);
    const std::int64_t bytes = bytes_of(place, mesh);
    lowering.bind(i, std::move(place), bytes);
  }
  lowering.run();
  std::vector<AxisSet> differ;
  for (const ArrayInfo& r : transform::laid_on(p.mesh, p.results)) differ.push_back(r.distinct);
  lowering.finish_results(differ, nullptr);
}

class Lockstep final : public Target {
 public:
  Lockstep(const ir::OpTable& table, runtime::Pool& pool, bool exact, bool nan_check)
      : table_(table), pool_(pool), exact_(exact), nan_check_(nan_check) {}
  transform::Passes passes() const override {
    return {.early_sums = !exact_, .join_sums = false, .both_ways = !nan_check_, .uneven = !nan_check_};
  }

  std::shared_ptr<const Executable> compile(std::shared_ptr<const Program> program,
                                            std::span<const ArrayInfo> args) const override {
    auto out = std::make_shared<Compiled>(std::move(program), args, table_, pool_);
    const Program& p = out->program();
    const runtime::MeshPart* part = p.mesh ? p.mesh->part.get() : nullptr;
    const Mesh* mesh = part ? &part->here : p.mesh.get();
    Lowering lowering(p.local, {table_, mesh, p.mesh, pool_, {}, false, exact_, part, nan_check_}, p.distinct);
    lower(lowering, p, args, mesh);
    std::vector<ResultRef> refs = lowering.draft().results;
    Finished done = finish(std::move(lowering.draft()), nullptr, refs);
    out->plan = std::move(done.plan);
    const std::vector<ArrayInfo> results = transform::laid_on(p.mesh, p.results);
    for (std::size_t i = 0; i < refs.size(); ++i) {
      Compiled::Result& r = out->results.emplace_back(Compiled::Result{refs[i], like(results[i])});
      if (auto* own = std::get_if<ResultRef::Own>(&r.from.from); own && own->donor)
        r.like_donor = matches(args[*own->donor], r.like);
      else if (auto* param = std::get_if<ResultRef::Param>(&r.from.from))
        r.like_donor = matches(args[param->index], r.like);
      else if (auto* same = std::get_if<ResultRef::Same>(&r.from.from))
        r.like_donor = matches(results[same->earlier], r.like);
    }
    return out;
  }

 private:
  const ir::OpTable& table_;
  runtime::Pool& pool_;
  bool exact_, nan_check_;
};

}  // namespace

const MemoryUse& Measured::memory() const {
  if (memory_) return *memory_;
  const Program& p = partitioned();
  Lowering lowering(p.local, {table_, p.mesh.get(), p.mesh, pool, {}, true}, p.distinct);
  lower(lowering, p, arguments_, p.mesh.get());
  std::vector<ResultRef> refs = lowering.draft().results;
  auto one = [](const ArrayInfo& a) {
    return runtime::bytes_of(a.mesh ? runtime::local_shape(*a.mesh, a.type.shape, a.layout) : a.type.shape,
                             runtime::size_of(a.type.dtype));
  };
  MemoryUse use;
  lowering.tell_again(use);
  const std::vector<int> uses = ir::count_uses(p.local);
  for (std::size_t i = 0; i < arguments_.size(); ++i)  // one that nothing reads need not be there
    if (uses[at(p.local.params[i])] > 0) use.arguments += one(arguments_[i]);
  for (const ArrayInfo& r : p.results) use.results += one(r);
  Finished done = finish(std::move(lowering.draft()), nullptr, refs);
  use.temporaries = done.most.bytes;
  use.working = done.most.working - done.most.bytes;
  use.host = done.most.host;
  use.most = std::move(done.most);
  use.curve = std::move(done.curve);
  return memory_.emplace(use);
}

Copies Measured::copies() const {
  Copies out;
  const Program& p = partitioned();
  LoweringContext context{table_, p.mesh.get(), p.mesh, pool, {}, true};
  context.copies = &out;
  Lowering lowering(p.local, context, p.distinct);
  lower(lowering, p, arguments_, p.mesh.get());
  return out;
}

std::unique_ptr<const Target> make_lockstep(const ir::OpTable& table, runtime::Pool& pool, bool exact, bool nan_check) {
  return std::make_unique<Lockstep>(table, pool, exact, nan_check);
}

}  // namespace shard::exec
