#include "interpreter/lang/staging/jit.h"

#include <algorithm>

#include "interpreter/exec/executable.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/eval/surroundings.h"
#include "interpreter/lang/staging/jit_cache.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {
namespace {

using trace::Tensor;

// Which parameters a node or a result of `g` takes.
std::vector<bool> used_params(const ir::Graph& g) {
  std::vector<bool> used(g.types.size(), false);
  for (const ir::Node& n : g.nodes)
    for (ir::Var v : n.inputs) used[static_cast<std::size_t>(v.id)] = true;
  for (ir::Var v : g.results) used[static_cast<std::size_t>(v.id)] = true;
  std::vector<bool> out;
  for (ir::Var p : g.params) out.push_back(used[static_cast<std::size_t>(p.id)]);
  return out;
}

// An argument as its type with its layout; trees in their own form.
std::string described(Interpreter& in, const Value& v) {
  if (v.is_tensor() && v.tensor().array()) {
    runtime::Type t = v.tensor().array()->type;
    t.sharding = v.tensor().array()->layout;
    return runtime::to_string(t);
  }
  if (v.is<bool>()) return "bool[]";
  if (v.is<std::int64_t>()) return "i32[]";
  if (v.is<double>()) return "f32[]";
  if (v.fields() || v.items()) return bracketed(v, [&](const Value& x) { return described(in, x); });
  return v.callable() ? kind_name(v) : in.repr(v);
}

bool has_names(const std::vector<CallArg>& args) {
  return std::any_of(args.begin(), args.end(), [](const CallArg& a) { return !a.name.empty(); });
}

// The arguments as one value: the key's first part.
Value tree_of(const std::vector<CallArg>& args) {
  const bool named = has_names(args);
  std::vector<Value> values;
  for (const CallArg& a : args) values.push_back(named ? Value::tuple({Value::string(a.name), a.value}) : a.value);
  return Value::tuple(std::move(values));
}

// The same arguments with the values of such a tree.
std::vector<CallArg> with_values(const std::vector<CallArg>& args, const Value& tree) {
  const bool named = has_names(args);
  std::vector<CallArg> out = args;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Value& item = (*tree.items())[i];
    out[i].value = named ? (*item.items())[1] : item;
  }
  return out;
}

// A compiled function runs on the devices of the current mesh.
void check_devices(trace::Context& ctx, const runtime::ArrayRef& a, grammar::Span span) {
  if (!a || !a->type.mesh || !ctx.mesh()) return;
  std::vector<int> have = a->type.mesh->devices, want = ctx.mesh()->devices;
  std::sort(have.begin(), have.end());
  std::sort(want.begin(), want.end());
  if (have != want)
    throw grammar::Error("mesh", span,
                         "an argument lives on the mesh " + runtime::to_string(*a->type.mesh) + ", the current mesh " +
                             runtime::to_string(*ctx.mesh()) + " has other devices",
                         {"call it under that mesh, `use m { ... }`, or move the argument: `shard x as P(...)`"});
}

std::vector<runtime::ArrayRef> inputs_of(Interpreter& in, const CompiledEntry& e, Gathered& leaves) {
  std::vector<runtime::ArrayRef> inputs;
  inputs.reserve(e.sources.size());
  for (const auto& formula : e.computed) leaves.numbers.push_back((*formula)(leaves.numbers));
  for (const Source& s : e.sources) {
    if (s.leaf < 0) {
      inputs.push_back(s.constant);
      continue;
    }
    auto leaf = static_cast<std::size_t>(s.leaf);
    inputs.push_back(leaves.numbers[leaf] ? in.context().concrete_scalar(*leaves.numbers[leaf]).array()
                                          : leaves.arrays[leaf]);
  }
  return inputs;
}

// The arguments of a call that failed, as they were; what it was overwriting is none.
void give_back(const CompiledEntry& e, const std::vector<runtime::ArrayRef>& inputs,
               const std::vector<std::optional<trace::HostNumber>>& numbers, std::vector<CallArg>& args) {
  std::vector<Value> gathered;
  for (std::size_t i = 0; i < inputs.size() && e.sources[i].leaf == static_cast<std::ptrdiff_t>(i); ++i) {
    if (numbers[i])
      gathered.push_back(std::visit([](auto n) { return Value(n); }, *numbers[i]));
    else
      gathered.push_back(inputs[i] ? Value(Tensor(inputs[i])) : Value());
  }
  std::size_t at = 0;
  args = with_values(args, e.arguments.filled(gathered, at));
}

bool says_result(const Value& f) {
  auto* closure = f.get<std::shared_ptr<const Closure>>();
  return closure && (*closure)->function->result;
}

// A value of the trace on the automatic axes of the array that it replaces; as it is where a `shard` made it.
Tensor laid_as(Interpreter& in, const Tensor& x, const runtime::DeviceArray& old) {
  const auto& ctx = in.context();
  const runtime::MeshRef& mesh = old.type.mesh;
  if (!x.traced() || x.known() || !mesh || !ctx.mesh() || *mesh != *ctx.mesh() || x.type().shape != old.type.shape ||
      mesh->of_kind(runtime::AxisKind::Auto).count() != static_cast<int>(mesh->axes.size()))
    return x;
  const ir::OpDef* shard = ctx.table().core().shard;
  const ir::Graph& g = x.frame()->builder.graph();
  for (const ir::Node& n : g.nodes)
    if (n.op == shard && n.outputs[0] == x.var()) return x;
  return in.context().apply1(*shard, {x}, {{"layout", ir::Layout{mesh, old.layout}}});
}
Value laid_as(Interpreter& in, const Value& made, const Value& replaced, grammar::Span span) {
  if (!same_structure(made, replaced)) return made;
  in.context().set_span(span);
  const std::vector<Value> old = leaves(replaced);
  std::size_t i = 0;
  return map_leaves(made, [&](const Value& leaf) {
    const Value& was = old[i++];
    if (!leaf.is_tensor() || !was.is_tensor() || !was.tensor().array()) return leaf;
    return Value(laid_as(in, leaf.tensor(), *was.tensor().array()));
  });
}

class JitFunction final : public Wrapped {
 public:
  JitFunction(Value f, Value in_specs, Value out_specs, grammar::Span where)
      : Wrapped(Kind::Jit, "jit", std::move(f)),
        in_specs_(std::move(in_specs)),
        out_specs_(std::move(out_specs)),
        where_(where) {}

  Value call(Interpreter& in, std::vector<CallArg>& args, grammar::Span span) const override {
    if (in.context().tracing()) return body(in, args, span);  // inside of a trace: the callee is part of it
    Gathered leaves;
    Value tree = tree_of(args);
    const CompiledEntry& e = find(in, tree, args, leaves, span);
    if (const auto& counts = in.options().counts) ++(*counts)[e.plan.get()];
    std::vector<runtime::ArrayRef> inputs = inputs_of(in, e, leaves);
    leaves.arrays.clear();
    tree = Value();
    for (CallArg& a : args) a.value = Value();  // what was handed over is now held by `inputs` alone
    std::vector<bool> donate(inputs.size(), true);
    std::vector<runtime::ArrayRef> results;
    try {
      results = e.plan->run(inputs, donate, in.context().hooks());
    } catch (...) {
      give_back(e, inputs, leaves.numbers, args);
      throw;
    }
    std::vector<Tensor> out;
    out.reserve(results.size());
    for (runtime::ArrayRef& r : results) out.emplace_back(std::move(r));
    return e.result.filled(out);
  }

  std::shared_ptr<const exec::Executable> compiled(Interpreter& in, const std::vector<CallArg>& args,
                                                   grammar::Span span) const {
    Gathered leaves;
    return find(in, tree_of(args), args, leaves, span).plan;
  }

  CompiledCall compiled_call(Interpreter& in, const std::vector<CallArg>& args, grammar::Span span) const {
    Gathered leaves;
    return as_known(in, find(in, tree_of(args), args, leaves, span), args);
  }

 private:
  Value body(Interpreter& in, std::vector<CallArg>& args, grammar::Span span) const {
    std::vector<CallArg> laid_out;
    if (!in_specs_.is_none()) laid_out = with_layouts(in, args, span);
    const Value result = in.hand_on(function, in_specs_.is_none() ? args : laid_out, span);
    return out_specs_.is_none() ? result : shard_tree(in, result, out_specs_, nullptr, span);
  }

  std::vector<CallArg> with_layouts(Interpreter& in, std::vector<CallArg> args, grammar::Span span) const {
    std::vector<Value> values;
    for (const CallArg& a : args) values.push_back(a.value);
    const bool tree_of_one = values.size() == 1 && (in_specs_.fields() || in_specs_.is<std::shared_ptr<List>>());
    const Value specs = tree_of_one ? Value::tuple({in_specs_}) : in_specs_;  // a tuple: an entry for each argument
    const Value laid = shard_tree(in, Value::tuple(std::move(values)), specs, nullptr, span);
    for (std::size_t i = 0; i < args.size(); ++i) args[i].value = (*laid.items())[i];
    return args;
  }

  // What takes an argument's place is laid out as that is, unless the function says otherwise: a layout that only
  // propagation chose would drift from call to call.
  Value kept_in_place(Interpreter& in, Value result, const std::vector<CallArg>& args, grammar::Span span) const {
    if (!out_specs_.is_none() || says_result(function)) return result;
    for (const CallArg& a : args) {
      if (!a.becomes) continue;
      if (*a.becomes == kWholeResult) {
        result = laid_as(in, result, a.value, span);
      } else if (const auto* items = result.items(); items && static_cast<std::size_t>(*a.becomes) < items->size()) {
        std::vector<Value> parts(items->begin(), items->end());
        Value& part = parts[static_cast<std::size_t>(*a.becomes)];
        part = laid_as(in, part, a.value, span);
        result = result.with_items(std::move(parts));
      }
    }
    return result;
  }

  // The entry that fits, compiled where there is none yet; `leaves` are those of the arguments, then of the outside
  // variables.
  const CompiledEntry& find(Interpreter& in, const Value& tree, const std::vector<CallArg>& args, Gathered& leaves,
                            grammar::Span span) const {
    if (const CompiledEntry* e = cache_.find(in, tree, args, leaves)) return *e;
    CompiledEntry made = trace(in, tree, args, span);
    if (const auto& told = in.options().compiled) told(as_known(in, made, args));
    const CompiledEntry& e = cache_.add(tree, std::move(made));
    leaves = {};
    Pattern::gather(tree, leaves);
    for (const Capture& o : e.outside) Pattern::gather(o.cell->value, leaves);
    return e;
  }

  CompiledCall as_known(Interpreter& in, const CompiledEntry& e, const std::vector<CallArg>& args) const {
    CompiledCall out{called(function), where_,  {},         e.runs_on, e.plan,
                     e.given,          e.graph, e.recorded, {},        names_given(function, args, e),
                     names_made(e)};
    if (auto* closure = function.get<std::shared_ptr<const Closure>>()) {
      const grammar::Function& f = *(*closure)->function;
      out.where = f.name_span.known() ? f.name_span : f.span;
    }
    for (const CallArg& a : args)
      out.arguments.push_back((a.name.empty() ? "" : a.name + ": ") + described(in, a.value));
    for (const CallArg& a : args) {
      Gathered leaves;
      Pattern::gather(a.value, leaves);
      out.becomes.insert(out.becomes.end(), leaves.arrays.size(), a.becomes.has_value());
    }
    out.becomes.resize(out.given.size(), false);
    return out;
  }

  CompiledEntry trace(Interpreter& in, const Value& tree, const std::vector<CallArg>& args, grammar::Span span) const {
    auto& ctx = in.context();
    CompiledEntry e;
    e.arguments = Pattern::of(tree);
    for (const CallArg& a : args) e.becomes.push_back(a.becomes);
    e.mesh = ctx.mesh();
    e.rules = in.surroundings().rules();
    Gathered leaves;
    Pattern::gather(tree, leaves);
    for (const auto& a : leaves.arrays) check_devices(ctx, a, span);
    std::vector<runtime::Type> types;
    for (std::size_t i = 0; i < leaves.arrays.size(); ++i)
      types.push_back(leaves.arrays[i] ? ctx.type_of(*leaves.arrays[i])
                                       : ctx.concrete_scalar(*leaves.numbers[i]).type());
    JitCaptures captures(in, leaves.arrays.size());
    trace::Traced traced = in.trace(
        types,
        [&](std::span<const Tensor> given) {
          captures.open(ctx.frame());
          std::vector<Value> now(given.begin(), given.end());
          std::size_t at = 0;
          Value replaced = Pattern::replace(tree, now, at);
          std::vector<CallArg> again = with_values(args, replaced);
          std::vector<Tensor> out;
          e.result = take_leaves(kept_in_place(in, body(in, again, span), args, span), Take::ArraysAndNumbers, out,
                                 [&](const Value& leaf) { return in.tensor(leaf, span); });
          return out;
        },
        false, leaves.numbers, &captures);
    e.result.forget();
    captures.close();
    e.outside = std::move(captures.outside);
    e.computed = std::move(captures.computed);
    compile(ctx, e, traced, leaves, captures);
    return e;
  }

  // Guards, where parameters come from, and the plan.
  static void compile(trace::Context& ctx, CompiledEntry& e, const trace::Traced& traced, const Gathered& leaves,
                      const JitCaptures& captures) {
    const std::size_t n = leaves.arrays.size();
    for (int g : traced.guards) {
      auto leaf = static_cast<std::size_t>(g);
      e.guards.emplace_back(leaf, leaf < n ? *leaves.numbers[leaf] : *captures.number(leaf));
    }
    std::vector<exec::ArrayInfo> infos;
    for (std::size_t i = 0; i < n; ++i) {
      e.sources.push_back({static_cast<std::ptrdiff_t>(i)});
      infos.push_back(
          exec::array_info(leaves.arrays[i] ? *leaves.arrays[i] : *ctx.concrete_scalar(*leaves.numbers[i]).array()));
    }
    auto graph = std::make_shared<ir::Graph>(*traced.graph);  // without what was read only on the host
    graph->params.resize(n);
    const std::vector<bool> used = used_params(*traced.graph);
    for (std::size_t k = 0; k < traced.captured.size(); ++k) {
      if (!used[n + k]) continue;
      graph->params.push_back(traced.graph->params[n + k]);
      const std::ptrdiff_t leaf = captures.leaf_of(k);
      e.sources.push_back({leaf, leaf < 0 ? traced.captured[k].array() : nullptr});
      infos.push_back(exec::array_info(*traced.captured[k].array()));
    }
    const runtime::MeshRef mesh = exec::mesh_of(*graph, infos, e.mesh);
    e.runs_on = mesh;
    e.target = &ctx.target();
    e.given = infos;
    e.graph = graph;
    e.recorded = traced.graph.get();
    e.plan = ctx.plans().get(ctx.target(), graph, infos, mesh);
  }

  Value in_specs_, out_specs_;
  grammar::Span where_;
  mutable JitCache cache_;
};

// The compiled function behind f, or one made for this call.
std::shared_ptr<const JitFunction> behind(const Value& f) {
  if (auto* w = f.get<std::shared_ptr<const Wrapped>>(); w && (*w)->kind == Wrapped::Kind::Jit)
    return std::static_pointer_cast<const JitFunction>(*w);
  return std::make_shared<JitFunction>(f, Value(), Value(), grammar::Span{});
}

}  // namespace

Value make_jit(Value function, Value in_specs, Value out_specs, grammar::Span span) {
  return Value(std::shared_ptr<const Wrapped>(
      std::make_shared<JitFunction>(std::move(function), std::move(in_specs), std::move(out_specs), span)));
}

std::shared_ptr<const exec::Executable> compiled(Interpreter& in, const Value& f, const std::vector<CallArg>& args,
                                                 grammar::Span span) {
  return behind(f)->compiled(in, Placeholders(in, args).args(), span);
}

CompiledCall compiled_call(Interpreter& in, const Value& f, const std::vector<CallArg>& args, grammar::Span span) {
  return behind(f)->compiled_call(in, Placeholders(in, args).args(), span);
}

// ---- types in place of arrays

trace::Tensor placeholder(Interpreter& in, const runtime::Type& type, grammar::Span span) {
  if (type.mesh) {
    check_divides({type.mesh, type.sharding}, type.shape, span);
    const runtime::AxisSet owed =
        (type.sharding.unreduced | type.sharding.reduced) & type.mesh->of_kind(runtime::AxisKind::Auto);
    for (runtime::AxisId a : owed.list())
      in.fail("spec", span,
              runtime::to_string(type) + " is unreduced over @" + type.mesh->axes[a].name + ", which is auto",
              {"sums are unreduced over explicit axes: declare the mesh `explicit`"});
  }
  return trace::Tensor(exec::without_elements(type, nullptr));
}

Value type_of(const exec::ArrayInfo& info) {
  runtime::Type t = info.type;
  t.sharding = info.layout;
  t.mesh = info.mesh;
  return Value(std::make_shared<const runtime::Type>(std::move(t)));
}

Placeholders::Placeholders(Interpreter& in, const std::vector<CallArg>& args) : args_(args) {
  bool any = false;
  for (CallArg& a : args_)
    a.value = map_leaves(a.value, [&](const Value& leaf) {
      auto* type = leaf.get<std::shared_ptr<const runtime::Type>>();
      if (!type) return leaf;
      any = true;
      return Value(placeholder(in, **type, a.span));
    });
  trace::Context& ctx = in.context();
  if (any && ctx.target().holds_elements()) scope_.emplace(ctx, ctx.target("abstract"));
}

}  // namespace shard::lang
