// estimate and cost: what a call would take on a chip, as records. A page of text is `shard estimate`'s.
#include "interpreter/cost_model/estimate.h"

#include <algorithm>
#include <numeric>

#include "grammar/stable_sort.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/jit.h"
#include "stdlib/host/cost/chips.h"
#include "stdlib/host/host.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

using cost_model::Chip;
using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

lang::CompiledCall call_of(Interpreter& in, BoundArgs& a, const std::string& who, bool simulated = false) {
  need_call(in, a, who);
  return call_apart(in, a[0], a, simulated);
}

Value line_number(Interpreter& in, grammar::Span at) {
  return Value(std::int64_t{lang::source_line(in.sources(), at)});
}

Value line_of(Interpreter& in, grammar::Span at, const cost_model::LineCost& c, bool seconds) {
  const bool known = in.sources().has(at.source);
  auto record = std::make_shared<lang::Record>();
  record->fields = {{"line", line_number(in, at)}};
  if (seconds)
    record->fields.insert(record->fields.end(), {{"compute_seconds", Value(c.compute)},
                                                 {"exposed_communication_seconds", Value(c.exposed)},
                                                 {"communication_seconds", Value(c.communication)}});
  record->fields.emplace_back("flops", Value(c.flops));
  record->fields.emplace_back("bytes", Value(c.bytes));
  auto more = std::make_shared<lang::Record>();
  std::vector<std::pair<std::string, Value>> parts;
  for (const auto& [name, part] : c.parts)
    if (name) parts.emplace_back(*name, Value(part.compute + part.exposed));
  more->fields = {{"file", Value::string(known ? in.sources().at(at.source).name() : "")},
                  {"parts", Value::record(std::move(parts))}};
  record->unshown = std::move(more);
  return Value(std::move(record));
}

Value lines_of(Interpreter& in, const cost_model::Profile& t, bool seconds) {
  std::vector<Value> out;
  for (const auto& [span, cost] : t.lines) out.push_back(line_of(in, span, cost, seconds));
  return Value::list(std::move(out));
}

Value whys_of(const cost_model::Memory& m) {
  std::vector<std::pair<std::string, Value>> fields;
  for (std::size_t w = 0; w < cost_model::kWhys; ++w)
    fields.emplace_back(cost_model::words_of(static_cast<cost_model::MemoryCause>(w)), Value(m.whys[w]));
  return Value::record(std::move(fields));
}

Value causes_of(Interpreter& in, const cost_model::Memory& m) {
  std::vector<Value> out;
  for (const cost_model::Cause& c : m.causes)
    out.push_back(Value::record({{"line", line_number(in, c.where)},
                                 {"why", Value::string(std::string(cost_model::words_of(c.why)))},
                                 {"bytes", Value(c.bytes)}}));
  return Value::list(std::move(out));
}

Chip need_chip(Interpreter& in, BoundArgs& a, const std::string& who) {
  const std::optional<Chip> chip = take_chip(in, a);
  if (!chip)
    in.fail("call", a.span, who + " wants to know the chip", {who + "(f, x, chip: \"h100\"); `help chips` shows them"});
  return *chip;
}

Value collectives_of(Interpreter& in, const Chip& chip, const lang::CompiledCall& call) {
  std::vector<Value> out;
  for (const exec::CommRecord& r : call.plan->comm())
    out.push_back(comm_record(in, r, cost_model::collective_seconds(chip, call.plan->program(), r)));
  return Value::list(std::move(out));
}

Value estimate(Interpreter& in, BoundArgs& a) {
  const Chip chip = need_chip(in, a, "estimate");
  const lang::CompiledCall call = call_of(in, a, "estimate", chip.simulated > 0);
  const cost_model::Estimate e = predicted(chip, call);
  auto out = std::make_shared<lang::Record>();
  out->fields = {{"step_seconds", Value(e.time.seconds)},
                 {"compute_seconds", Value(e.time.compute)},
                 {"exposed_communication_seconds", Value(e.time.waits())},
                 {"peak_bytes_per_device", Value(e.memory.peak)},
                 {"fits", Value(e.fits)},
                 {"model_flops_per_device", Value(e.time.flops)}};
  auto more = std::make_shared<lang::Record>();
  const auto [low, high] = chip.range(e.time.seconds);
  more->fields = {{"low", Value(low)},
                  {"high", Value(high)},
                  {"basis", Value::string(chip.basis)},
                  {"peak_bytes", Value(e.memory.peak)},
                  {"lines", lines_of(in, e.time, true)},
                  {"collectives", collectives_of(in, chip, call)},
                  {"host_bytes", Value(e.memory.host)},
                  {"peak_line", line_number(in, e.memory.where)},
                  {"memory", whys_of(e.memory)},
                  {"memory_lines", causes_of(in, e.memory)}};
  out->unshown = std::move(more);
  return Value(std::move(out));
}

// The same arguments on a mesh of the same axes: types in place of arrays.
Value on_mesh(const Value& v, const runtime::MeshRef& mesh) {
  return lang::map_leaves(v, [&](const Value& leaf) {
    const auto* known = leaf.get<std::shared_ptr<const runtime::Type>>();
    const bool array = leaf.is_tensor() && leaf.tensor().array();
    if (!known && !array) return leaf;
    runtime::Type t = known ? **known : leaf.tensor().array()->type;
    if (array) t.sharding = leaf.tensor().array()->layout;
    if (t.mesh) t.mesh = mesh;
    return Value(std::make_shared<const runtime::Type>(std::move(t)));
  });
}

struct Planned {
  int rank;  // 0 fits, 1 does not, 2 cannot be
  double seconds;
  Value record;
};

Planned planned(Interpreter& in, BoundArgs& a, const Chip& chip, const runtime::MeshRef& mesh) {
  std::vector<std::pair<std::string, Value>> axes;
  for (const runtime::MeshAxis& axis : mesh->axes) axes.emplace_back(axis.name, Value(axis.size));
  const auto as = [&](int rank, double seconds, std::int64_t bytes, std::string why) {
    return Planned{rank, seconds,
                   Value::record({{"axes", Value::record(axes)},
                                  {"step_seconds", rank < 2 ? Value(seconds) : Value()},
                                  {"peak_bytes_per_device", rank < 2 ? Value(bytes) : Value()},
                                  {"fits", Value(rank == 0)},
                                  {"why", Value::string(std::move(why))}})};
  };
  try {
    in.context().set_mesh(mesh);
    BoundArgs here = a;
    for (lang::CallArg& x : here.rest) x.value = on_mesh(x.value, mesh);
    const lang::CompiledCall call = call_of(in, here, "plan", chip.simulated > 0);
    const cost_model::Estimate e = predicted(chip, call);
    return as(e.fits ? 0 : 1, e.time.seconds, e.memory.peak,
              cost_model::shortcoming(*call.plan, e, chip, in.sources()));
  } catch (const grammar::Error& e) {
    if (e.diagnostic.code == "interrupt") throw;
    return as(2, 0, 0, e.diagnostic.message);
  } catch (const runtime::RuntimeError& e) {
    if (e.code == "unknown") throw;
    return as(2, 0, 0, e.what());
  }
}

Value plan(Interpreter& in, BoundArgs& a) {
  const Chip chip = need_chip(in, a, "plan");
  const runtime::MeshRef mesh = in.context().mesh();
  if (!mesh)
    in.fail("mesh", a.span, "plan divides the devices of a mesh, and none is declared",
            {"mesh m = (@data: 8, @model: 1)"});
  std::int64_t devices = mesh->size();
  if (const auto x = take_named(a, "devices")) {
    devices = in.integer(x->value, x->span, "`devices:` of plan");
    if (devices < 1 || devices > (1 << 20))
      in.fail("mesh", x->span, "`devices:` counts devices, and there is one at least");
  }
  struct RestoreMesh {
    trace::Context& context;
    runtime::MeshRef mesh;
    ~RestoreMesh() { context.set_mesh(mesh); }
  } const kept{in.context(), mesh};
  std::vector<Planned> all;
  for (const std::vector<std::int64_t>& sizes : runtime::ways_to_divide(devices, mesh->axes.size())) {
    auto other = std::make_shared<runtime::Mesh>(*mesh);
    for (std::size_t i = 0; i < sizes.size(); ++i) other->axes[i].size = sizes[i];
    if (devices != mesh->size()) {
      other->devices.resize(static_cast<std::size_t>(devices));
      std::iota(other->devices.begin(), other->devices.end(), 0);
    }
    all.push_back(planned(in, a, chip, other));
  }
  stable_sort(all, [](const Planned& x, const Planned& y) {
    return std::pair(x.rank, x.seconds) < std::pair(y.rank, y.seconds);
  });
  std::vector<Value> out;
  for (Planned& p : all) out.push_back(std::move(p.record));
  return Value::list(std::move(out));
}

Value cost(Interpreter& in, BoundArgs& a) {
  const lang::CompiledCall call = call_of(in, a, "cost");
  const transform::Program& program = call.plan->program();
  Chip any;  // what there is to do hangs on no chip
  any.flops = {{runtime::DType::F32, 1}};
  any.bandwidth = any.link = any.network = 1;
  const cost_model::Profile t = cost_model::play(any, *cost_model::instructions_of(program), program.mesh.get());
  double bytes = 0;
  for (const auto& [span, c] : t.lines) bytes += c.bytes;
  return Value::record(
      {{"flops", Value(t.flops + t.again)}, {"bytes", Value(bytes)}, {"lines", lines_of(in, t, false)}});
}

// What a script that is predicted takes for a value that only a run has.
Value assume(Interpreter& in, BoundArgs& a) {
  const bool here = a[0].is_tensor() && a[0].tensor().valid() && !a[0].tensor().traced();
  if (!here || a[0].tensor().array()->has_elements() || in.checker()) return a[0];
  const runtime::Type& type = a[0].tensor().type();
  const trace::Tensor taken = array_of(in, a[1], type.dtype, a.args[1].span);
  if (taken.type().shape != type.shape)
    in.fail("shape", a.args[1].span,
            "this is " + runtime::to_string(taken.type()) + ", and assumed of " + runtime::to_string(type));
  return Value(taken);
}

}  // namespace

cost_model::Estimate predicted(const Chip& chip, const lang::CompiledCall& call) {
  return cost_model::estimate(chip, *call.plan, call.given, cost_model::handed_over(call.given, call.plan->program()));
}

lang::CompiledCall call_apart(Interpreter& in, const Value& f, const BoundArgs& a, bool simulated) {
  std::optional<trace::TargetScope> scope;
  if (in.context().target().passes().partition)
    scope.emplace(in.context(), in.context().target(simulated ? "abstract" : "apart"));
  lang::CompiledCall call = lang::compiled_call(in, f, a.rest, a.span);
  call.plan->comm();  // where it is not laid out, what is asked of it is known only in a run
  return call;
}

void register_estimates(Interpreter& in) {
  in.define({"estimate", "estimate(f, xs...)",
             "What a call f(xs...) would take on a chip, `chip: \"h100\"` (a name of the module `chips`, or a record; "
             "`stack: "
             "\"nemo-2025\"`: one of its `stacks` runs there): "
             "{step_seconds, compute_seconds, exposed_communication_seconds, peak_bytes_per_device, fits, "
             "model_flops_per_device}; `lines` has the same by source line, `collectives` each collective as `comm(f, "
             "xs..., by: \"line\")` has it, with its `seconds`, `memory` the peak by cause (parameters, "
             "optimizer_state, gradients, kept for the backward part, communication, temporaries), `memory_lines` by "
             "line, `host_bytes` what `remat` offloads to the host's memory, which is not in the peak, `peak_line` "
             "where the peak is. An "
             "argument whose type a result has gives its memory to it. Nothing is run, types may stand for arrays.",
             estimate});
  in.define({"cost", "cost(f, xs...)",
             "What one device does in a call f(xs...): {flops, bytes, lines}: operations of its products, bytes that "
             "they and the pointwise stretches between them read and write, and both by source line. Nothing is run, "
             "types may stand for arrays.",
             cost});
  in.define({"plan", "plan(f, xs...)",
             "Predicts a call f(xs...) on a chip (`chip:`, as for estimate) for all ways to divide the devices of the "
             "mesh, or `devices: 64` of them, among its axes: a list of {axes, step_seconds, peak_bytes_per_device, "
             "fits, why}, the best first. Nothing is run, types may stand for arrays.",
             plan});
  in.define({"assume", "assume(x, value)",
             "x; but `value` where a script is predicted without its data (`shard estimate`) and x is not known.",
             assume});
}

}  // namespace shard::stdlib
