#include "interpreter/lang/staging/jit.h"

#include <algorithm>
#include <unordered_map>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/layouts/shard_expr.h"
#include "interpreter/lang/staging/pattern.h"

namespace shard::lang {
namespace {

using trace::Tensor;

constexpr std::size_t kEntries = 256;  // compiled calls that one jit function keeps; the oldest goes first

struct Outside {
  CellRef cell;
  Pattern pattern;
  std::size_t first;
};  // first: index of its first leaf among all leaves

// Where a parameter of the plan comes from at each call: a leaf of the arguments and outside variables, or of the
// numbers computed from them, which follow; or a constant.
struct Source {
  std::ptrdiff_t leaf = -1;
  runtime::ArrayRef constant = nullptr;
};

struct Result {
  std::size_t index;
  bool traced;
};

struct Entry {
  Pattern arguments;
  std::vector<Outside> outside;
  runtime::MeshRef mesh;
  Value rules;
  std::vector<std::pair<std::size_t, trace::HostNumber>> guards;    // leaf, and the number it must be
  std::vector<std::shared_ptr<const trace::HostFormula>> computed;  // each from leaves and those before it
  std::vector<Source> sources;                                      // one a parameter of the plan
  std::shared_ptr<const exec::Executable> plan;
  runtime::MeshRef runs_on;  // the plan's mesh
  Value tree;                // of the result
  std::vector<int> index;    // by leaf of the result: which result of the plan, or -1
};

bool same_mesh(const runtime::MeshRef& a, const runtime::MeshRef& b) { return a == b || (a && b && *a == *b); }

// Watches the body's reads of variables from outside: their arrays and numbers become parameters, once a variable.
class Outsiders : public ReadObserver {
 public:
  Outsiders(Interpreter& in, std::size_t leaves) : in_(in), leaves_(leaves) {}

  Value on_read(const CellRef& cell, const Value& value) override {
    auto it = seen_.find(cell.get());
    if (it != seen_.end()) return it->second;
    Gathered gathered;
    Pattern::gather(value, gathered);
    std::vector<Value> now;
    for (std::size_t i = 0; i < gathered.arrays.size(); ++i) {
      Tensor outer = gathered.arrays[i] ? Tensor(gathered.arrays[i]) : scalar(*gathered.numbers[i]);
      const std::size_t leaf = leaves_ + i;
      std::shared_ptr<const trace::Known> known;
      if (gathered.numbers[i]) {
        trace::HostFormula itself = [leaf](std::span<const std::optional<trace::HostNumber>> leaves) {
          return *leaves[leaf];
        };
        known = std::make_shared<const trace::Known>(
            trace::Known{*gathered.numbers[i],
                         {static_cast<int>(leaf)},
                         frame_,
                         std::make_shared<const trace::HostFormula>(std::move(itself))});
        numbers_[leaf] = *gathered.numbers[i];
      }
      leaf_of_[frame_->captured.size()] = leaf;
      now.push_back(parameter(std::move(outer), std::move(known)));
    }
    std::size_t at = 0;
    Value replaced = now.empty() ? value : Pattern::replace(value, now, at);
    outside.push_back({cell, Pattern::of(value), leaves_});
    leaves_ += gathered.arrays.size();
    seen_.emplace(cell.get(), replaced);
    return replaced;
  }

  Value on_computed(const trace::Known& number, const std::string& key) override {
    auto it = computed_.find(key);
    if (it == computed_.end()) {
      // What is computed from it reads its value: none is computed twice.
      trace::Known known = number;
      trace::HostFormula itself = [base = base_,
                                   k = computed.size()](std::span<const std::optional<trace::HostNumber>> leaves) {
        return *leaves[*base + k];
      };
      known.formula = std::make_shared<const trace::HostFormula>(std::move(itself));
      place_of_[frame_->captured.size()] = computed.size();
      computed.push_back(number.formula);
      Tensor t = parameter(scalar(number.value), std::make_shared<const trace::Known>(std::move(known)));
      it = computed_.emplace(key, Value(std::move(t))).first;
    }
    return it->second;
  }

  void open(trace::FrameRef frame) { frame_ = std::move(frame); }
  // The trace is over, and so all leaves are known: the computed numbers follow them.
  void close() { *base_ = leaves_; }
  // Of the captured value at this position; -1 where the trace captured it by itself: a constant.
  std::ptrdiff_t leaf_of(std::size_t captured) const {
    if (auto it = leaf_of_.find(captured); it != leaf_of_.end()) return static_cast<std::ptrdiff_t>(it->second);
    if (auto it = place_of_.find(captured); it != place_of_.end())
      return static_cast<std::ptrdiff_t>(*base_ + it->second);
    return -1;
  }
  const trace::HostNumber* number(std::size_t leaf) const {
    auto it = numbers_.find(leaf);
    return it == numbers_.end() ? nullptr : &it->second;
  }
  std::vector<Outside> outside;
  std::vector<std::shared_ptr<const trace::HostFormula>> computed;

 private:
  Tensor scalar(const trace::HostNumber& n) { return in_.context().concrete_scalar(n); }

  // A parameter of its own, also where the same array is captured under two names: they may differ in a later call.
  Tensor parameter(Tensor outer, std::shared_ptr<const trace::Known> known) {
    ir::Var v = frame_->builder.param(in_.context().type_of(outer));
    frame_->captured.push_back(std::move(outer));
    frame_->captured_params.push_back(v);
    return Tensor(frame_, v, std::move(known));
  }

  Interpreter& in_;
  std::size_t leaves_;
  trace::FrameRef frame_;
  std::unordered_map<const Cell*, Value> seen_;
  std::unordered_map<std::string, Value> computed_;
  std::unordered_map<std::size_t, std::size_t> leaf_of_, place_of_;  // by position among what is captured
  std::shared_ptr<std::size_t> base_ = std::make_shared<std::size_t>(0);
  std::unordered_map<std::size_t, trace::HostNumber> numbers_;
};

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

class ReadScope {  // installs an observer, and the floor that says which cells are outside
 public:
  ReadScope(Interpreter::Impl& impl, ReadObserver* observer)
      : impl_(impl),
        old_observer_(impl.cells.observer),
        old_floor_(impl.cells.trace_floor),
        old_observer_floor_(impl.cells.observer_floor) {
    if (observer != impl.cells.observer) impl.cells.observer_floor = impl.cells.next_serial;
    impl.cells.observer = observer;
    impl.cells.trace_floor = impl.cells.next_serial;
  }
  ~ReadScope() {
    impl_.cells.observer = old_observer_;
    impl_.cells.trace_floor = old_floor_;
    impl_.cells.observer_floor = old_observer_floor_;
  }
  ReadScope(const ReadScope&) = delete;

 private:
  Interpreter::Impl& impl_;
  ReadObserver* old_observer_;
  std::uint64_t old_floor_, old_observer_floor_;
};

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
  std::string out;
  if (const Record* record = v.fields()) {
    for (const auto& [name, field] : record->fields)
      out += (out.empty() ? "" : ", ") + name + ": " + described(in, field);
    return "{" + out + "}";
  }
  if (const auto* items = v.items()) {
    for (const Value& item : *items) out += (out.empty() ? "" : ", ") + described(in, item);
    return v.is<std::shared_ptr<List>>() ? "[" + out + "]" : "(" + out + (items->size() == 1 ? ",)" : ")");
  }
  return v.callable() ? kind_name(v) : in.repr(v);
}

class JitFunction {
 public:
  JitFunction(Value f, Value in_specs, Value out_specs, grammar::Span where)
      : function_(std::move(f)), in_specs_(std::move(in_specs)), out_specs_(std::move(out_specs)), where_(where) {}

  Value call(Interpreter& in, std::vector<CallArg> args, grammar::Span span) {
    if (in.context().tracing())
      return body(in, std::move(args), span);  // already inside a trace: the callee is part of it
    Gathered leaves;
    Value tree = tree_of(args);
    const Entry& e = find(in, tree, args, leaves, span);
    std::vector<runtime::ArrayRef> inputs = inputs_of(in, e, leaves);
    leaves = {};
    tree = Value();
    args.clear();  // what was handed over is now held by `inputs` alone
    std::vector<bool> donate(inputs.size(), true);
    auto results = e.plan->run(std::move(inputs), donate, in.context().hooks());
    std::vector<Value> out = lang::leaves(e.tree);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (e.index[i] >= 0) out[i] = Tensor(results[static_cast<std::size_t>(e.index[i])]);
    return with_leaves(e.tree, std::move(out));
  }

  std::shared_ptr<const exec::Executable> compiled(Interpreter& in, std::vector<CallArg> args, grammar::Span span) {
    Gathered leaves;
    return find(in, tree_of(args), args, leaves, span).plan;
  }

  Compiled compiled_call(Interpreter& in, std::vector<CallArg> args, grammar::Span span) {
    Gathered leaves;
    return as_known(in, find(in, tree_of(args), args, leaves, span), args);
  }

 private:
  static Value tree_of(const std::vector<CallArg>& args) {
    std::vector<Value> values;
    bool named = false;
    for (const CallArg& a : args) named |= !a.name.empty();
    for (const CallArg& a : args) values.push_back(named ? Value::tuple({Value::string(a.name), a.value}) : a.value);
    return Value::tuple(std::move(values));
  }

  Value body(Interpreter& in, std::vector<CallArg> args, grammar::Span span) {
    if (!in_specs_.is_none()) {
      std::vector<Value> values;
      for (CallArg& a : args) values.push_back(a.value);
      const bool tree_of_one = values.size() == 1 && (in_specs_.fields() || in_specs_.is<std::shared_ptr<List>>());
      const Value specs =
          tree_of_one ? Value::tuple({in_specs_}) : in_specs_;  // a tuple has an entry for each argument
      Value laid = shard_tree(in, Value::tuple(std::move(values)), specs, nullptr, span);
      for (std::size_t i = 0; i < args.size(); ++i) args[i].value = (*laid.items())[i];
    }
    Value result = in.call(function_, std::move(args), span);
    return out_specs_.is_none() ? result : shard_tree(in, result, out_specs_, nullptr, span);
  }

  // The entry that fits, compiled where there is none yet; `leaves` are those of the arguments, then of the outside
  // variables.
  const Entry& find(Interpreter& in, const Value& tree, const std::vector<CallArg>& args, Gathered& leaves,
                    grammar::Span span) {
    for (auto it = entries_.rbegin(); it != entries_.rend(); ++it)
      if (fits(in, *it, tree, leaves)) return *it;
    leaves = {};
    Entry e = trace(in, tree, args, span);
    if (const auto& told = in.options().compiled) told(as_known(in, e, args));
    if (entries_.size() >= kEntries) entries_.erase(entries_.begin());
    entries_.push_back(std::move(e));
    Pattern::gather(tree, leaves);
    for (const Outside& o : entries_.back().outside) Pattern::gather(o.cell->value, leaves);
    return entries_.back();
  }

  Compiled as_known(Interpreter& in, const Entry& e, const std::vector<CallArg>& args) const {
    Compiled out{"a function", where_, {}, e.runs_on, e.plan};
    if (auto* closure = function_.get<std::shared_ptr<const Closure>>()) {
      const grammar::Function& f = *(*closure)->function;
      out.where = f.name_span.known() ? f.name_span : f.span;
      out.name = f.name.empty() ? "fn" : f.name;
    } else if (auto* native = function_.get<std::shared_ptr<const Native>>()) {
      out.name = (*native)->name;
    } else if (auto* row = function_.get<const ir::OpDef*>()) {
      out.name = (*row)->name;
    }
    for (const CallArg& a : args)
      out.arguments.push_back((a.name.empty() ? "" : a.name + ": ") + described(in, a.value));
    return out;
  }

  static bool fits(Interpreter& in, const Entry& e, const Value& tree, Gathered& leaves) {
    leaves.arrays.clear();
    leaves.numbers.clear();
    if (!same_mesh(e.mesh, in.context().mesh()) || !equal(e.rules, in.impl().surroundings.rules())) return false;
    if (!e.arguments.match(tree, leaves)) return false;
    for (const Outside& o : e.outside)
      if (!o.pattern.match(o.cell->value, leaves)) return false;
    for (const auto& [leaf, number] : e.guards)
      if (leaves.numbers[leaf] != number) return false;
    return true;
  }

  Entry trace(Interpreter& in, const Value& tree, const std::vector<CallArg>& args, grammar::Span span) {
    auto& ctx = in.context();
    Entry e;
    e.arguments = Pattern::of(tree);
    e.mesh = ctx.mesh();
    e.rules = in.impl().surroundings.rules();
    Gathered leaves;
    Pattern::gather(tree, leaves);
    for (const auto& a : leaves.arrays) check_devices(ctx, a, span);
    std::vector<runtime::Type> types;
    std::vector<std::optional<trace::HostNumber>> known = leaves.numbers;
    for (std::size_t i = 0; i < leaves.arrays.size(); ++i)
      types.push_back(leaves.arrays[i] ? ctx.type_of(*leaves.arrays[i])
                                       : ctx.concrete_scalar(*leaves.numbers[i]).type());
    Outsiders outsiders(in, leaves.arrays.size());
    std::vector<Tensor> results;
    trace::Traced traced = ctx.trace(
        types,
        [&](std::span<const Tensor> given) {
          outsiders.open(ctx.frame());
          ReadScope scope(in.impl(), &outsiders);
          std::vector<Value> now(given.begin(), given.end());
          std::size_t at = 0;
          Value replaced = Pattern::replace(tree, now, at);
          std::vector<CallArg> again = args;
          for (std::size_t i = 0; i < again.size(); ++i) {
            const Value& item = (*replaced.items())[i];
            again[i].value = again[i].name.empty() && !has_names(args) ? item : (*item.items())[1];
          }
          Value result = body(in, std::move(again), span);
          e.tree = result;
          std::vector<Tensor> out;
          for (const Value& leaf : lang::leaves(result)) {
            bool array = leaf.is_tensor() || leaf.is_host_number() || leaf.is<bool>();
            e.index.push_back(array ? static_cast<int>(out.size()) : -1);
            if (array) out.push_back(in.tensor(leaf, span));
          }
          return out;
        },
        known);
    // Tensors in the remembered tree belong to the trace, which is over.
    std::vector<Value> blank = lang::leaves(e.tree);
    for (std::size_t i = 0; i < blank.size(); ++i)
      if (e.index[i] >= 0) blank[i] = Value(std::int64_t{0});
    e.tree = with_leaves(e.tree, std::move(blank));

    outsiders.close();
    e.outside = std::move(outsiders.outside);
    e.computed = std::move(outsiders.computed);
    for (int g : traced.guards) {
      auto leaf = static_cast<std::size_t>(g);
      const trace::HostNumber* n = leaf < leaves.numbers.size() ? &*leaves.numbers[leaf] : outsiders.number(leaf);
      e.guards.emplace_back(leaf, *n);
    }
    std::vector<exec::ArrayInfo> infos;
    for (std::size_t i = 0; i < types.size(); ++i) {
      e.sources.push_back({static_cast<std::ptrdiff_t>(i)});
      infos.push_back(
          exec::array_info(leaves.arrays[i] ? *leaves.arrays[i] : *ctx.concrete_scalar(*leaves.numbers[i]).array()));
    }
    auto graph = std::make_shared<ir::Graph>(*traced.graph);  // without what was read only on the host
    graph->params.resize(types.size());
    const std::vector<bool> used = used_params(*traced.graph);
    for (std::size_t k = 0; k < traced.captured.size(); ++k) {
      if (!used[types.size() + k]) continue;
      graph->params.push_back(traced.graph->params[types.size() + k]);
      const std::ptrdiff_t leaf = outsiders.leaf_of(k);
      e.sources.push_back({leaf, leaf < 0 ? traced.captured[k].array() : nullptr});
      infos.push_back(exec::array_info(*traced.captured[k].array()));
    }
    runtime::MeshRef mesh = exec::mesh_of(*graph, infos);
    if (mesh && e.mesh && runtime::same_devices(*mesh, *e.mesh)) mesh = e.mesh;  // which says what axes are explicit
    e.runs_on = mesh;
    e.plan = ctx.plans().get(ctx.target(), graph, infos, mesh);
    return e;
  }

  // A compiled function runs on the devices of the current mesh.
  static void check_devices(trace::Context& ctx, const runtime::ArrayRef& a, grammar::Span span) {
    if (!a || !a->type.mesh || !ctx.mesh()) return;
    std::vector<int> have = a->type.mesh->devices, want = ctx.mesh()->devices;
    std::sort(have.begin(), have.end());
    std::sort(want.begin(), want.end());
    if (have != want)
      throw grammar::Error("mesh", span,
                           "an argument lives on the mesh " + runtime::to_string(*a->type.mesh) +
                               ", the current mesh " + runtime::to_string(*ctx.mesh()) + " has other devices",
                           {"call it under that mesh, `use m { ... }`, or move the argument: `shard x as P(...)`"});
  }

  static bool has_names(const std::vector<CallArg>& args) {
    for (const CallArg& a : args)
      if (!a.name.empty()) return true;
    return false;
  }

  static std::vector<runtime::ArrayRef> inputs_of(Interpreter& in, const Entry& e, Gathered& leaves) {
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

  Value function_, in_specs_, out_specs_;
  grammar::Span where_;
  std::vector<Entry> entries_;
};

// What a jit value is behind its Native: found again by `compiled`.
struct JitNative : Native {
  std::shared_ptr<JitFunction> jit;
};

}  // namespace

trace::Traced Interpreter::trace(std::span<const runtime::Type> params,
                                 const std::function<std::vector<Tensor>(std::span<const Tensor>)>& body,
                                 bool types_only) {
  return context_.trace(
      params,
      [&](std::span<const Tensor> given) {
        ReadScope scope(impl(), impl().cells.observer);
        return body(given);
      },
      {}, types_only);
}

Value make_jit(Interpreter&, Value function, Value in_specs, Value out_specs, grammar::Span span) {
  auto jit = std::make_shared<JitFunction>(std::move(function), std::move(in_specs), std::move(out_specs), span);
  auto native = std::make_shared<JitNative>();
  native->name = "jit(...)";
  native->signature = "jit(xs...)";
  native->doc = "A function compiled once a key.";
  native->compiled = true;
  native->call = [jit](Interpreter& in, BoundArgs& a) { return jit->call(in, std::move(a.rest), a.span); };
  native->jit = jit;
  return Value(std::shared_ptr<const Native>(native));
}

namespace {

// The compiled function behind f, or one made for this call.
std::shared_ptr<JitFunction> behind(const Value& f) {
  if (auto* native = f.get<std::shared_ptr<const Native>>(); native && (*native)->compiled)
    return static_cast<const JitNative&>(**native).jit;
  return std::make_shared<JitFunction>(f, Value(), Value(), grammar::Span{});
}

}  // namespace

std::shared_ptr<const exec::Executable> compiled(Interpreter& in, const Value& f, std::vector<CallArg> args,
                                                 grammar::Span span) {
  return behind(f)->compiled(in, std::move(args), span);
}

Compiled compiled_call(Interpreter& in, const Value& f, std::vector<CallArg> args, grammar::Span span) {
  return behind(f)->compiled_call(in, std::move(args), span);
}

}  // namespace shard::lang
