#include "interpreter/lang/check/static_check.h"

#include <algorithm>

#include "grammar/walk.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/jit.h"
#include "interpreter/transform/factor_layout.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/pipeline.h"

namespace shard::lang {

using namespace grammar;
using runtime::Sharding;
using trace::Tensor;

// ---- variables of functions that are compiled

namespace {

// Which layout each value of a recorded graph gets: asked by the nodes as they were recorded, for an editor that shows
// the values' names. The passes renumber, merge and move nodes; what stays is the operation, its place in the source
// and its types, by which a node is found again.
class ValueLayouts {
 public:
  // A graph without calls (whole_graph, inline_calls); `arguments`: the layouts of its parameters.
  ValueLayouts(ir::Graph graph, const runtime::MeshRef& mesh, std::span<const Sharding> arguments);
  ValueLayouts(const ValueLayouts&) = delete;
  // Of an input or output of a node of the graph, or of one whose nodes became a part of it (a function that was
  // differentiated); nothing where no such node is left.
  std::optional<Sharding> of(const ir::Graph& recorded, const ir::Node& node, ir::Var value) const;

 private:
  struct Placed {
    const ir::Graph* graph;
    const ir::Node* node;
    const transform::Layouts* layouts;
  };
  void list(const ir::Graph& graph, const transform::Layouts& layouts);

  ir::Graph graph_;
  transform::Layouts layouts_;
  std::vector<Placed> nodes_;  // of the graph and its regions, in order
};

ValueLayouts::ValueLayouts(ir::Graph graph, const runtime::MeshRef& mesh, std::span<const Sharding> arguments)
    : graph_(std::move(graph)), layouts_(transform::propagate(graph_, mesh, arguments)) {
  list(graph_, layouts_);
}

void ValueLayouts::list(const ir::Graph& graph, const transform::Layouts& layouts) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    if (node.span.known()) nodes_.push_back({&graph, &node, &layouts});
    for (std::size_t r = 0; r < node.regions.size(); ++r) list(*node.regions[r], layouts.regions[n][r]);
  }
}

std::optional<Sharding> ValueLayouts::of(const ir::Graph& recorded, const ir::Node& node, ir::Var value) const {
  const auto alike = [&](const Placed& p) {
    if (p.node->op != node.op || !(p.node->span == node.span) || p.node->inputs.size() != node.inputs.size() ||
        p.node->outputs.size() != node.outputs.size())
      return false;
    const auto same = [&](ir::Var a, ir::Var b) {
      return recorded.type(a).shape == p.graph->type(b).shape && recorded.type(a).dtype == p.graph->type(b).dtype;
    };
    return std::equal(node.inputs.begin(), node.inputs.end(), p.node->inputs.begin(), same) &&
           std::equal(node.outputs.begin(), node.outputs.end(), p.node->outputs.begin(), same);
  };
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), alike);
  if (found == nodes_.end()) return std::nullopt;
  const auto in = [&](const ir::Vars& values, const ir::Vars& there) -> std::optional<Sharding> {
    const auto here = std::find(values.begin(), values.end(), value);
    if (here == values.end()) return std::nullopt;
    return found->layouts->of[at(there[static_cast<std::size_t>(here - values.begin())])];
  };
  auto out = in(node.outputs, found->node->outputs);
  return out ? out : in(node.inputs, found->node->inputs);
}

const trace::Frame* outermost(const Value& v) {
  for (const Value& leaf : leaves(v))
    if (const auto* t = leaf.get<Tensor>(); t && t->traced()) {
      const trace::Frame* out = t->frame().get();
      while (out->outer()) out = out->outer().get();
      return out;
    }
  return nullptr;
}

// The layouts of one compiled call.
class CallLayouts {
 public:
  CallLayouts(const trace::Context& ctx, const CompiledCall& call) : ctx_(ctx), call_(call) {
    for (const exec::ArrayInfo& a : call.given) given_.push_back(a.layout);
    used_.emplace(transform::whole_graph(ctx.table(), *call.graph), call.mesh, given_);
  }

  std::optional<exec::ArrayInfo> operator()(const Tensor& t) {
    const ir::GraphRef& graph = t.frame()->done;
    if (!graph || graph->local) return std::nullopt;
    auto layout = t.frame()->outer() ? std::nullopt : argument(t.var());
    for (std::size_t i = 0; i < graph->nodes.size() && !layout; ++i) {
      const ir::Node& n = graph->nodes[i];
      const auto takes = [&](const ir::Vars& values) {
        return std::find(values.begin(), values.end(), t.var()) != values.end();
      };
      if (!takes(n.outputs) && !takes(n.inputs)) continue;
      layout = used_->of(*graph, n, t.var());
      if (!layout) layout = all().of(*graph, n, t.var());
    }
    if (!layout) return std::nullopt;
    return exec::ArrayInfo{graph->type(t.var()), *layout, {}, call_.mesh};
  }

 private:
  std::optional<Sharding> argument(ir::Var v) const {
    const ir::Vars& params = call_.graph->params;
    const auto at = std::find(params.begin(), params.end(), v);
    return at == params.end() ? std::nullopt : std::optional(given_[static_cast<std::size_t>(at - params.begin())]);
  }

  // While a function is being written much in it is used by nothing yet: laid out as if it were.
  const ValueLayouts& all() {
    if (!all_) all_.emplace(transform::inline_calls(ctx_.table(), *call_.graph), call_.mesh, given_);
    return *all_;
  }

  const trace::Context& ctx_;
  const CompiledCall& call_;
  std::vector<Sharding> given_;
  std::optional<ValueLayouts> used_, all_;
};

}  // namespace

bool is_traced(const Value& v) { return outermost(v) != nullptr; }

void TracedValues::lay_out(const trace::Context& ctx, const CompiledCall& call, const Told& told) {
  const auto first = std::stable_partition(values_.begin(), values_.end(), [&](const TracedLet& k) {
    return outermost(k.value)->done.get() != call.recorded;
  });
  if (first == values_.end()) return;
  std::optional<CallLayouts> layouts;
  if (call.mesh) layouts.emplace(ctx, call);
  const LayoutOf of = [&](const Tensor& t) { return layouts ? (*layouts)(t) : std::nullopt; };
  for (auto it = first; it != values_.end(); ++it) told(it->let, type_text(ctx, it->value, of));
  values_.erase(first, values_.end());
}

void TracedValues::rest(const std::function<void(std::size_t let, const Value& value)>& told) {
  for (const TracedLet& k : values_) told(k.let, k.value);
  values_.clear();
}

// ---- all of it

void Check::enter(const Closure& f, Span call) {
  Checking::enter(f, call);
  const std::uint32_t source = f.function->span.source;
  if (!with_parameters || !in_.sources().has(source) || in_.sources().at(source).name().starts_with(kLibrary)) return;
  for (const Param& p : f.function->params) note(*p.pattern, {}, true);
}

void Check::declared(const LetStmt& s, Span span) {
  if (!throws()) note(*s.pattern, span, false);
}

void Check::note(const Pattern& pattern, Span statement, bool parameter) {
  each_name(pattern, [&](const Pattern& p, const NamePattern& n) {
    const Value value = value_of(p);
    const Span span = parameter ? p.span : statement;
    const auto same = [&](const Let& l) { return l.span == span && l.name == n.name; };
    auto it = std::find_if(lets.begin(), lets.end(), same);
    if (it == lets.end()) it = lets.insert(lets.end(), {span, n.name, {}, p.span, parameter});
    const auto let = static_cast<std::size_t>(it - lets.begin());
    if (with_parameters && is_traced(value))
      traced_.add(let, value);
    else
      add_type(let, type_text(in_.context(), value));
  });
}

void Check::add_type(std::size_t let, std::string text) {
  std::vector<std::string>& types = lets[let].types;
  if (std::find(types.begin(), types.end(), text) == types.end()) types.push_back(std::move(text));
}

void Check::lay_out(const CompiledCall& call) {
  traced_.lay_out(in_.context(), call, [this](std::size_t let, std::string text) { add_type(let, std::move(text)); });
}

// What no compiled call has laid out (a gradient that is computed at once) has its type alone, where nothing is known.
void Check::finish() {
  traced_.rest([this](std::size_t let, const Value& v) {
    if (lets[let].types.empty()) add_type(let, type_text(in_.context(), v));
  });
}

std::string type_text(const trace::Context& ctx, const Value& v, const LayoutOf& layout) {
  if (is_nothing(v)) return "_";
  if (auto* t = v.get<Tensor>()) {
    if (const auto kind = number_kind(v))
      return *kind == runtime::DType::Bool ? "bool[]" : *kind == runtime::DType::F32 ? "float" : "int";
    runtime::Type type = ctx.type_of(*t);
    const auto info = !t->traced() ? std::optional(exec::array_info(*t->array())) : layout ? layout(*t) : std::nullopt;
    if (info) type = **type_of(*info).get<std::shared_ptr<const runtime::Type>>();
    type.weak = false;
    const bool of_data = std::any_of(type.shape.begin(), type.shape.end(), is_unknown_size);
    return of_data ? blank(runtime::to_string(type)) : runtime::to_string(type);
  }
  auto list = [&](const std::vector<Value>& items) {
    std::vector<std::string> parts;
    for (const Value& x : items) parts.push_back(type_text(ctx, x, layout));
    const auto alike = [&](const std::string& p) { return p == parts[0]; };
    if (parts.size() > 3 && std::all_of(parts.begin(), parts.end(), alike))
      return std::to_string(parts.size()) + " * " + parts[0];
    return separated(parts);
  };
  if (auto* items = v.items()) return bracketed(v, list(*items));
  if (v.fields()) return bracketed(v, [&](const Value& x) { return type_text(ctx, x, layout); });
  if (v.is<std::shared_ptr<const runtime::Type>>()) return "type";
  return kind_name(v);
}

}  // namespace shard::lang
