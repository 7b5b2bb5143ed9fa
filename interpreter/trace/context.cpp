// The context: operations that run at once, operations that are recorded, and the frames of traces.
#include "interpreter/trace/context.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "grammar/kept.h"
#include "interpreter/ir/core_ops.h"

namespace shard::trace {

using runtime::ArrayRef;
using runtime::DType;

namespace {

constexpr std::size_t kScalars = 64;
constexpr std::int64_t kFew = 4096;  // elements of an array that is computed even where only types are asked for

bool few(const runtime::Type& t) {
  std::int64_t n = 1;
  for (const std::int64_t d : t.shape) {
    if (d > kFew) return false;
    n *= d;
    if (n > kFew) return false;
  }
  return !t.mesh;
}

[[noreturn]] void escaped(grammar::Span span, const runtime::Type& type) {
  throw grammar::Error("trace", span, "a value of a trace that is over, or of another one, is used here",
                       {"it is " + runtime::to_string(type) + " of the traced function",
                        "return it from that function instead of storing it outside"});
}

// The number that a host scalar holds, as operations take it.
std::optional<double> number_of(const runtime::DeviceArray& a) {
  if (!a.type.weak || a.type.rank() != 0 || !a.buffer || !a.distinct.empty()) return std::nullopt;
  if (a.type.dtype == DType::I32) return *static_cast<const std::int32_t*>(a.buffer->data());
  if (a.type.dtype == DType::F32) return *static_cast<const float*>(a.buffer->data());
  return std::nullopt;
}

// Whether the number beside a sum that is unreduced in f16 or bf16 counts: it decides whether the sum passes
// (ir/linear.h).
bool numbers_count(std::span<const ArrayRef> args) {
  return std::any_of(args.begin(), args.end(), [](const ArrayRef& a) {
    return !a->layout.unreduced.empty() && runtime::is_narrow(a->type.dtype);
  });
}

// As code under `mesh` sees it.
runtime::Type typed_by(const runtime::DeviceArray& a, const runtime::MeshRef& mesh) {
  if (!a.type.mesh || !mesh || a.type.mesh == mesh || !runtime::same_devices(*a.type.mesh, *mesh)) return a.type;
  runtime::Type t = a.type;
  t.mesh = mesh;
  runtime::AxisSet typed = mesh->of_kind(runtime::AxisKind::Explicit);
  for (std::size_t d = 0; d < t.sharding.dims.size(); ++d) {
    t.sharding.dims[d].axes.clear();
    for (auto axis : a.layout.dims[d].axes)
      if (typed.has(axis)) t.sharding.dims[d].axes.push_back(axis);
  }
  t.sharding.unreduced = a.layout.unreduced & typed;
  t.sharding.reduced = a.layout.reduced & typed;
  t.sharding.unreduced_kind = a.layout.unreduced_kind;
  return t;
}

runtime::AxisSet foreign_to(const runtime::Type& t, const runtime::MeshRef& here) {
  if (!here || !t.mesh || t.mesh == here || !runtime::same_devices(*t.mesh, *here)) return {};
  return t.mesh->of_kind(runtime::AxisKind::Explicit) & here->of_kind(runtime::AxisKind::Auto);
}

// The type of what comes from explicit code, in code that leaves some of its axes to the partitioner.
runtime::Type over_border(runtime::Type type, const runtime::MeshRef& here) {
  const runtime::AxisSet hidden = foreign_to(type, here);
  if (hidden.empty()) return type;
  for (auto& d : type.sharding.dims) std::erase_if(d.axes, [&](runtime::AxisId a) { return hidden.has(a); });
  type.sharding.unreduced = type.sharding.unreduced - hidden;
  type.sharding.reduced = type.sharding.reduced - hidden;
  type.mesh = type.sharding.used_axes().empty() && type.varying.empty() ? nullptr : here;
  return type;
}

}  // namespace

const runtime::Type& Tensor::type() const {
  if (!valid()) throw runtime::RuntimeError("unknown", "this value is known only in a run");
  if (!frame_) return array_->type;
  return frame_->done ? frame_->done->type(var_) : frame_->builder.type(var_);
}

// ---- the cache of single operations: hashing and comparing without making anything

std::size_t EagerCache::key(const ir::OpDef& op, const ir::Attrs& attrs, std::span<const runtime::ArrayRef> args) {
  std::size_t h = ir::mix(reinterpret_cast<std::size_t>(&op), attrs.empty() ? 0 : ir::hash(attrs));
  for (const auto& a : args) {
    h = ir::mix(h, static_cast<std::size_t>(a->type.dtype) * 2 + a->type.weak);
    for (auto n : a->type.shape) h = ir::mix(h, static_cast<std::size_t>(n));
    h = ir::mix(h, a->distinct.bits());
  }
  return h;
}

const exec::Executable* EagerCache::find(std::size_t key, const exec::Target& target, const ir::OpDef& op,
                                         const ir::Attrs& attrs, std::span<const runtime::ArrayRef> args,
                                         const runtime::MeshRef& current) const {
  auto [begin, end] = entries_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    const Entry& e = it->second;
    if (e.target != &target || e.op != &op || e.args.size() != args.size() || !same_mesh(e.current, current) ||
        !(e.attrs == attrs))
      continue;
    bool fits = true;
    for (std::size_t i = 0; i < args.size() && fits; ++i) fits = exec::matches(e.args[i], *args[i]);
    if (fits) return e.plan.get();
  }
  return nullptr;
}

const exec::Executable* EagerCache::add(std::size_t key, Entry entry) {
  if (entries_.size() >= kLimit) entries_.clear();
  return entries_.emplace(key, std::move(entry))->second.plan.get();
}

Context::Context(const ir::OpTable& table, runtime::Pool& pool, int devices)
    : table_(table), pool_(pool), devices_(devices), plans_(table), scalars_(kScalars), target_(&target("lockstep")) {}

const exec::Target& Context::target(std::string_view name) {
  auto it = targets_.find(name);
  if (it == targets_.end()) it = targets_.emplace(name, exec::make_target(name, table_, pool_)).first;
  return *it->second;
}

runtime::Type Context::type_of(const runtime::DeviceArray& a) const { return typed_by(a, mesh_); }

runtime::AxisSet Context::foreign(const runtime::Type& t) const { return foreign_to(t, mesh_); }

runtime::Type Context::type_of(const Tensor& t) const {
  return t.traced() ? over_border(t.type(), mesh_) : type_of(*t.array());
}

std::vector<runtime::Type> Context::types_of(std::span<const Tensor> tensors) const {
  std::vector<runtime::Type> out;
  out.reserve(tensors.size());
  for (const Tensor& t : tensors) out.push_back(type_of(t));
  return out;
}

// ---- operations

std::vector<Tensor> Context::apply(const ir::OpDef& op, std::span<const Tensor> operands, ir::Attrs attrs,
                                   std::vector<ir::GraphRef> regions) {
  if (!frame_) return eager(op, operands, std::move(attrs), std::move(regions));
  ir::Vars in;
  in.reserve(operands.size());
  const bool border = attrs.has(ir::kFrom);  // goes over it itself
  for (const Tensor& t : operands) in.push_back(border ? captured(t, frame_) : lift(t, frame_));
  ir::SpanScope scope(frame_->builder, span_);
  std::vector<Tensor> out;
  for (ir::Var v : frame_->builder.emit(op, in, std::move(attrs), std::move(regions))) out.emplace_back(frame_, v);
  return out;
}

Tensor Context::apply1(const ir::OpDef& op, std::initializer_list<Tensor> operands, ir::Attrs attrs) {
  return apply(op, std::span<const Tensor>(operands.begin(), operands.size()), std::move(attrs)).at(0);
}

// Of errors: what is told late, of a call before this one, and where the script was stopped.
static bool has_own_line(std::string_view code) { return code == "engine" || code == "memory" || code == "interrupt"; }

std::vector<Tensor> Context::eager(const ir::OpDef& op, std::span<const Tensor> operands, ir::Attrs attrs,
                                   std::vector<ir::GraphRef> regions) {
  std::vector<ArrayRef> args;
  args.reserve(operands.size());
  for (const Tensor& t : operands) {
    if (t.traced()) escaped(span_, t.type());
    args.push_back(t.array());
  }
  try {
    if (ir::is_effect(op)) {  // nothing to compile
      if (types_only()) return {};
      std::vector<std::string> layouts;
      for (const ArrayRef& a : args)
        layouts.push_back(a->type.mesh ? runtime::to_string(*a->type.mesh, a->layout) : "P()");
      if (hooks_.effect) hooks_.effect(attrs, args, layouts, span_);
      return {};
    }
    if (&op == table_.core().shard && args.size() == 1 && args[0]->type.mesh) {  // to another mesh: by way of the host
      const auto& to = attrs.layout("layout").mesh;
      if (to && !runtime::same_devices(*to, *args[0]->type.mesh)) {
        args[0] = types_only() ? unknown(runtime::Type::of(args[0]->type.dtype, args[0]->type.shape)).array()
                               : runtime::to_host(pool_, args[0]);
        if (args[0]->type.mesh) {
          auto whole = std::make_shared<runtime::DeviceArray>(*args[0]);
          whole->type = runtime::Type::of(whole->type.dtype, whole->type.shape, whole->type.weak);
          whole->layout = whole->type.sharding;
          args[0] = std::move(whole);
        }
      }
    }
    std::size_t key = EagerCache::key(op, attrs, args);
    operations_ += types_only();
    const bool by_value = numbers_count(args);
    // A script that is predicted has its own small numbers: what hangs on no data is computed.
    const exec::Target* home = target_->takes_single() || !regions.empty() ? target_ : &target("lockstep");
    const exec::Target* on = home;
    if (types_only() && target_->passes().partition && &op != table_.core().shard && regions.empty() &&
        std::all_of(args.begin(), args.end(), [](const ArrayRef& a) { return a->buffer && few(a->type); }))
      on = &target("lockstep");
    const exec::Executable* plan =
        regions.empty() && !by_value ? eager_.find(key, *on, op, attrs, args, mesh_) : nullptr;
    std::shared_ptr<const exec::Executable> owned;
    if (!plan) {
      ir::Builder b(table_);
      b.set_span(span_);
      b.limit_sizes(!types_only());
      ir::Vars in;
      std::vector<exec::ArrayInfo> infos;
      std::vector<ArrayRef> arrays;
      for (ArrayRef& a : args) {
        if (const auto number = by_value ? number_of(*a) : std::nullopt) {
          in.push_back(ir::constant(b, *number, a->type.dtype, true));
          continue;
        }
        in.push_back(b.param(type_of(*a)));
        infos.push_back(exec::array_info(*a));
        arrays.push_back(std::move(a));
      }
      args = std::move(arrays);
      ir::Vars results = b.emit(op, in, attrs, std::move(regions));
      auto graph = std::make_shared<const ir::Graph>(b.finish(std::move(results)));
      for (ir::Var r : graph->results)
        if (!few(graph->type(r))) on = home;
      bool plain = !by_value && std::all_of(graph->nodes.begin(), graph->nodes.end(),
                                            [](const ir::Node& n) { return n.regions.empty(); });
      runtime::MeshRef mesh = exec::mesh_of(*graph, infos, mesh_);
      owned = plans_.get(*on, graph, infos, mesh);
      plan = plain ? eager_.add(key, {on, &op, std::move(attrs), std::move(infos), mesh_, owned}) : owned.get();
    }
    std::vector<Tensor> out;
    for (ArrayRef& a : plan->run(std::move(args), {}, hooks_)) out.emplace_back(std::move(a));
    return out;
  } catch (const runtime::RuntimeError& e) {
    throw grammar::Error(e.code, span_, e.what());
  } catch (grammar::Error& e) {
    if (regions.empty() && span_.known() && !has_own_line(e.diagnostic.code))
      e.diagnostic.span = span_;  // the plan may be of another line
    throw;
  }
}

std::vector<Tensor> Context::run(const ir::GraphRef& graph, std::vector<Tensor> arguments, std::vector<bool> donate) {
  std::vector<Tensor> out;
  if (frame_) {
    ir::Vars in;
    for (const Tensor& t : arguments) in.push_back(lift(t, frame_));
    for (ir::Var v : frame_->builder.inline_graph(*graph, in)) out.emplace_back(frame_, v);
    return out;
  }
  std::vector<ArrayRef> args;
  args.reserve(arguments.size());
  for (const Tensor& t : arguments) {
    if (t.traced()) escaped(span_, t.type());
    args.push_back(t.array());
  }
  operations_ += types_only();
  arguments.clear();  // what was handed over is held by `args` alone
  try {
    auto plan = plans_.get(*target_, graph, args, mesh_);
    for (ArrayRef& a : plan->run(std::move(args), donate, hooks_)) out.emplace_back(std::move(a));
  } catch (const runtime::RuntimeError& e) { throw grammar::Error(e.code, span_, e.what()); }
  return out;
}

std::vector<Tensor> Context::together(const std::function<std::vector<Tensor>()>& body) {
  if (frame_) return body();
  const Traced t = trace({}, [&](std::span<const Tensor>) { return body(); });
  return run(t.graph, t.captured);
}

Tensor Context::unknown(runtime::Type type) {
  unknown_numbers_ |= type.weak && type.rank() == 0;
  return Tensor(exec::without_elements(std::move(type), nullptr));
}

Tensor Context::unknown(const runtime::Placement& at) {
  runtime::Type type = at.type;
  type.sharding = at.layout;
  return unknown(std::move(type));
}

// ---- scalars and concrete values

Tensor Context::make_scalar(const HostNumber& value, bool weak) {
  if (auto* i = std::get_if<std::int64_t>(&value)) {
    if (*i < INT32_MIN || *i > INT32_MAX)
      throw grammar::Error("overflow", span_, std::to_string(*i) + " does not fit an i32",
                           {"write array(" + std::to_string(*i) + ", dtype: i64), or a float"});
    auto x = static_cast<std::int32_t>(*i);
    return Tensor(runtime::from_host(pool_, DType::I32, {}, &x, weak));
  }
  if (auto* b = std::get_if<bool>(&value)) {
    std::uint8_t x = *b;
    return Tensor(runtime::from_host(pool_, DType::Bool, {}, &x));
  }
  auto x = static_cast<float>(std::get<double>(value));
  return Tensor(runtime::from_host(pool_, DType::F32, {}, &x, weak));
}

Tensor Context::constant_of(const HostNumber& value, bool weak) {
  std::size_t h = value.index() * 2 + weak;
  bool same_bits = false;
  if (auto* i = std::get_if<std::int64_t>(&value)) h += static_cast<std::size_t>(*i) * 7;
  if (auto* b = std::get_if<bool>(&value)) h += *b * std::size_t{7};
  if (auto* d = std::get_if<double>(&value)) h += (std::bit_cast<std::uint64_t>(*d) * 0x9e3779b97f4a7c15ull) >> 40;
  CachedScalar& slot = scalars_[h % kScalars];
  if (slot.array && slot.value.index() == value.index() && slot.weak == weak) {
    if (auto* d = std::get_if<double>(&value))
      same_bits = std::bit_cast<std::uint64_t>(*d) == std::bit_cast<std::uint64_t>(std::get<double>(slot.value));
    else
      same_bits = slot.value == value;
  }
  if (!same_bits) slot = {value, weak, make_scalar(value, weak).array()};
  return Tensor(slot.array);
}

Tensor Context::concrete_scalar(HostNumber value) { return constant_of(value, true); }

Tensor Context::scalar(HostNumber value, bool weak) {
  if (!frame_) return constant_of(value, weak);
  ir::Builder& b = frame_->builder;
  ir::SpanScope scope(b, span_);
  if (auto* i = std::get_if<std::int64_t>(&value)) {
    if (*i < INT32_MIN || *i > INT32_MAX) make_scalar(value, weak);  // throws
    return Tensor(frame_, ir::constant_int(b, *i, DType::I32, weak));
  }
  if (auto* truth = std::get_if<bool>(&value)) return Tensor(frame_, ir::constant(b, *truth, DType::Bool));
  return Tensor(frame_, ir::constant(b, std::get<double>(value), DType::F32, weak));
}

HostNumber Context::need(const Tensor& t) {
  const auto& known = t.known();
  if (!known && unknown_numbers_ && t.type().weak && t.type().rank() == 0)  // perhaps a host number of a run
    throw grammar::Error("unknown", span_, "this number is known only in a run");
  if (!known)
    throw grammar::Error(
        "trace", span_,
        "the value of " + runtime::to_string(t.type()) + " is needed while tracing, and only a run has it",
        {"sizes, axes and ranges must be host numbers: pass an integer instead of an array"});
  if (known->frame) {
    auto& guards = known->frame->guards;
    for (int s : known->sources)
      if (std::find(guards.begin(), guards.end(), s) == guards.end()) guards.push_back(s);
  }
  return known->value;
}

ArrayRef Context::concrete(const Tensor& t, std::string_view what) const {
  if (!t.traced()) return t.array();
  if (unknown_numbers_ && t.type().weak && t.type().rank() == 0)  // perhaps a host number of a run
    throw grammar::Error("unknown", span_, std::string(what) + " is known only in a run");
  throw grammar::Error("trace", span_, std::string(what) + " needs a value that only a run has",
                       {"here it is " + runtime::to_string(t.type()) +
                            " of a function that is being traced (jit, grad, vmap, scan or manual)",
                        "do this outside of that function, with what it returns"});
}

// ---- tracing

ir::Var Context::lift(const Tensor& t, const FrameRef& frame) {
  const ir::Var v = captured(t, frame);
  ir::Builder& b = frame->builder;
  const runtime::Type type = b.type(v);
  const runtime::AxisSet hidden = foreign(type);
  if (hidden.empty()) return v;
  ir::SpanScope scope(b, span_);
  ir::Layout to{mesh_, type.sharding};
  to.sharding.unreduced = to.sharding.unreduced - hidden;
  to.sharding.reduced = to.sharding.reduced - hidden;
  return b.emit1(*b.core().shard, {v}, ir::crossing(std::move(to), type.mesh));
}

// Typed by the code that opened the trace, where that is as manual as the code at hand.
runtime::Type Context::type_in(const Frame& frame, const Tensor& t) const {
  const auto manual = [](const runtime::MeshRef& m) { return m->of_kind(runtime::AxisKind::Manual); };
  const bool alike =
      frame.mesh && mesh_ && runtime::same_devices(*frame.mesh, *mesh_) && manual(frame.mesh) == manual(mesh_);
  const runtime::MeshRef& mesh = alike ? frame.mesh : mesh_;
  return t.traced() ? over_border(t.type(), mesh) : typed_by(*t.array(), mesh);
}

ir::Var Context::captured(const Tensor& t, const FrameRef& frame) {
  if (t.traced() && t.frame() == frame) return t.var();
  Tensor outer = t;
  if (t.traced()) {
    if (!frame->outer()) escaped(span_, t.type());
    outer = Tensor(frame->outer(), captured(t, frame->outer()), t.known());
  }
  for (std::size_t i : frame->lifted) {
    const Tensor& c = frame->captured[i];
    if (outer.traced() ? c.traced() && c.frame() == outer.frame() && c.var() == outer.var()
                       : !c.traced() && c.array() == outer.array())
      return frame->captured_params[i];
  }
  ir::Var v = frame->builder.param(type_in(*frame, outer));
  frame->lifted.push_back(frame->captured.size());
  frame->captured.push_back(std::move(outer));
  frame->captured_params.push_back(v);
  return v;
}

Traced Context::trace(std::span<const runtime::Type> params,
                      const std::function<std::vector<Tensor>(std::span<const Tensor>)>& body,
                      std::span<const std::optional<HostNumber>> known, bool types_only) {
  auto frame = std::make_shared<Frame>(table_, frame_, mesh_);
  frame->types_only = types_only || this->types_only() || (frame_ && frame_->types_only);
  if (frame_) frame->derivatives = frame_->derivatives;
  frame->builder.set_span(span_);
  frame->builder.limit_sizes(!frame->types_only);
  if (frame_ && frame_->builder.graph().local) frame->builder.set_local(frame_->builder.graph().mesh);
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < params.size(); ++i) {
    std::shared_ptr<const Known> host;
    if (i < known.size() && known[i])
      host = std::make_shared<const Known>(Known{*known[i], {static_cast<int>(i)}, frame});
    given.emplace_back(frame, frame->builder.param(params[i]), std::move(host));
  }
  const grammar::Kept scope(frame_, frame);
  ir::Vars results;
  for (const Tensor& t : body(given)) results.push_back(lift(t, frame));
  Traced out;
  out.graph = std::make_shared<const ir::Graph>(frame->builder.finish(std::move(results)));
  frame->done = out.graph;
  out.captured = std::move(frame->captured);
  out.guards = std::move(frame->guards);
  return out;
}

}  // namespace shard::trace
