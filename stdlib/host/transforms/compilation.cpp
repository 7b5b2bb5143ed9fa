// jit, comm and memory_stats: compiled functions, what a call of one says between the devices, and what it
// holds on each.
#include "interpreter/ir/graph.h"
#include "interpreter/lang/eval/builtins.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/explanation.h"
#include "interpreter/lang/staging/exported.h"
#include "interpreter/lang/staging/jit.h"

#include <map>
#include <set>

#include "stdlib/host/host.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

Value jit(Interpreter& in, BoundArgs& a) {
  if (!a[0].callable()) in.fail("type", a.span, "jit takes a function, and this is " + lang::kind_name(a[0]));
  return lang::make_jit(a[0], a[1], a[2], a.span);
}

// Kinds that do not occur read as {count: 0, bytes: 0} and are not shown, nor are the sums over all kinds.
Value totals(Interpreter& in, const std::vector<exec::CommRecord>& records) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> sums;
  std::int64_t count = 0, bytes = 0;
  for (const auto& r : records) {
    auto [it, fresh] = sums.try_emplace(r.kind);
    if (fresh) order.push_back(r.kind);
    it->second.first += r.count;
    it->second.second += r.bytes;
    count += r.count, bytes += r.bytes;
  }
  std::vector<std::pair<std::string, Value>> fields;
  for (const auto& kind : order)
    fields.emplace_back(kind, Value::record({{"count", Value(sums[kind].first)}, {"bytes", Value(sums[kind].second)}}));
  auto out = std::make_shared<lang::Record>(lang::Record{std::move(fields), nullptr});
  auto zeros = std::make_shared<lang::Record>();
  std::set<std::string> kinds;
  for (const std::string& kind : in.builtins().reserved()) kinds.insert(kind);
  for (const ir::OpDef& row : in.context().table().rows())  // those that only the partitioner makes
    if (row.comm && row.comm->communicates()) kinds.emplace(row.name);
  for (const std::string& kind : kinds)
    zeros->fields.emplace_back(kind,
                               Value::record({{"count", Value(std::int64_t{0})}, {"bytes", Value(std::int64_t{0})}}));
  zeros->fields.emplace_back("count", Value(count));
  zeros->fields.emplace_back("bytes", Value(bytes));
  out->unshown = std::move(zeros);
  return Value(std::move(out));
}

Value by_line(Interpreter& in, const std::vector<exec::CommRecord>& records) {
  std::vector<Value> out;
  for (const auto& r : records) out.push_back(comm_record(in, r, {}));
  return Value::list(std::move(out));
}

Value comm(Interpreter& in, BoundArgs& a) {
  const auto by = take_named(a, "by");
  if (by && (!by->value.is_string() || by->value.str() != "line"))
    in.fail("call", by->span, "comm knows `by: \"line\"` only");
  need_call(in, a, "comm");
  const auto plan = lang::compiled(in, a[0], a.rest, a.span);
  return by ? by_line(in, plan->comm()) : totals(in, plan->comm());
}

Value export_stablehlo(Interpreter& in, BoundArgs& a) {
  const auto form = take_named(a, "form");
  if (form && !form->value.is_string()) in.fail("call", form->span, "a form is \"manual\", \"replica\" or \"auto\"");
  const hlo::Form wanted = form ? lang::form_named(form->value.str()) : hlo::Form::Manual;
  need_call(in, a, "export_stablehlo");
  const trace::TargetScope scope(in.context(), in.context().target("apart"));
  const lang::CompiledCall call = lang::compiled_call(in, a[0], a.rest, a.span);
  return Value::string(lang::exported(call, wanted, in.context().table(), in.sources()).text);
}

Value trace(Interpreter& in, BoundArgs& a) {
  if (!a[0].callable()) return pass_on(in, "trace", a);  // of an array the row of that name: the sum of a diagonal
  const lang::Placeholders given(in, a.rest);
  const CallArrays arrays(given.args());
  const TracedCall t = trace_call(in, in.context().types_of(arrays.tensors), lang::Take::ArraysAndNumbers, a.span,
                                  [&](std::span<const Tensor> now) { return in.call(a[0], arrays.with(now), a.span); });
  in.write(ir::as_function(*t.traced.graph, arrays.tensors.size()) + "\n");
  return Value();
}

Value memory_stats(Interpreter& in, BoundArgs& a) {
  if (a[0].is_none()) {
    if (in.context().types_only())
      throw runtime::RuntimeError("unknown", "nothing is held where only types are computed");
    const runtime::PoolStats s = in.context().pool().stats();
    std::vector<std::pair<std::string, Value>> fields = {
        {"bytes_in_use", Value(s.live)}, {"peak_bytes_in_use", Value(s.peak)}, {"bytes_cached", Value(s.cached)}};
    if (const auto there = in.context().target().device_bytes())
      fields.emplace_back("device", Value::record({{"bytes_in_use", Value(there->in_use)},
                                                   {"peak_bytes_in_use", Value(there->peak)},
                                                   {"bytes_limit", Value(there->limit)}}));
    return Value::record(std::move(fields));
  }
  if (!a[0].callable())
    in.fail("type", a.span, "memory_stats takes nothing, or a function and its arguments: memory_stats(f, x, y)");
  need_call(in, a, "memory_stats");
  const auto plan = lang::compiled(in, a[0], a.rest, a.span);
  const exec::MemoryUse& m = plan->memory();
  return Value::record(
      {{"arguments", Value(m.arguments)}, {"results", Value(m.results)}, {"temporaries", Value(m.temporaries)}});
}

}  // namespace

void need_call(Interpreter& in, BoundArgs& a, const std::string& who) {
  if (!a[0].callable()) in.fail("type", a.span, who + " takes a function and its arguments: " + who + "(f, x, y)");
  if (in.context().tracing())
    in.fail("trace", a.span, who + " needs a call that could be run, and here a function is being traced",
            {"ask outside of that function: " + who + "(f, x)"});
}

Value comm_record(Interpreter& in, const exec::CommRecord& r, std::optional<double> seconds) {
  std::vector<Value> axes;
  for (const auto& name : r.axes) axes.push_back(std::make_shared<const lang::Axis>(lang::Axis{{name}}));
  auto record = std::make_shared<lang::Record>();
  record->fields = {
      {"kind", Value::string(r.kind)},        {"bytes", Value(r.bytes)},
      {"axes", Value::list(std::move(axes))}, {"line", Value(std::int64_t{lang::source_line(in.sources(), r.span)})},
      {"written", Value(r.written)},          {"count", Value(r.count)}};
  if (seconds) record->fields.emplace_back("seconds", Value(*seconds));
  auto more = std::make_shared<lang::Record>();  // a program may be several files
  more->fields = {{"file", Value::string(in.sources().has(r.span.source) ? in.sources().at(r.span.source).name() : "")},
                  {"sent", Value(r.sent)},
                  {"backward", Value(r.span.backward)},
                  {"part", r.span.part ? Value::string(*r.span.part) : Value()},
                  {"why", r.why ? lang::why_record(*r.why, in.sources()) : Value()}};
  record->unshown = std::move(more);
  return Value(std::move(record));
}

void register_compilation(Interpreter& in) {
  in.define({"jit",
             "jit(f, in = none, out = none)",
             "f compiled: traced once for each kind of arguments, laid out by the partitioner, run as one plan. `in:`, "
             "`out:`: layouts of arguments "
             "and result (a spec for all of them, or a tuple with an entry for each argument).",
             jit,
             {{"pjit", "use `jit`: layouts come from the arguments, annotations, or `in:` and `out:`"}}});
  in.define({"comm", "comm(f, xs...)",
             "The collectives of a call f(xs...), written and inserted, as {psum: {count: 1, bytes: 64}}; `.count` and "
             "`.bytes` of it are the sums over all kinds; `by: \"line\"` gives a list with kind, bytes, axes, "
             "line, and whether it was written. Nothing is run; types may stand for arrays.",
             comm});
  in.define({"export_stablehlo", "export_stablehlo(f, xs...)",
             "A call f(xs...) as StableHLO text, which JAX and other engines load; `form:` \"manual\" (the default) "
             "takes and "
             "gives whole arrays, \"replica\" the blocks of one device. Nothing is run; types may stand for arrays.",
             export_stablehlo});
  in.define(
      {"trace",
       "trace(f, xs...)",
       "Prints what a call f(xs...) computes, as a function in Shard: one operation a line, with its type; nothing is "
       "run, types may stand for arrays. Of an array (offset:, axis1:, axis2:) the sum of a diagonal.",
       trace,
       {{"make_jaxpr", "`trace(f, x)` prints what a call computes"}}});
  in.define({"memory_stats", "memory_stats(f = none, xs...)",
             "Bytes of arrays: in use, the most ever in use, and freed but kept for reuse; on engine xla, where the "
             "plug-in counts, `device` with those of the fullest one. Of a call f(xs...): what "
             "one device holds, as "
             "{arguments, results, temporaries}; nothing is run, types may stand for arrays.",
             memory_stats});
}

}  // namespace shard::stdlib
