#include "interpreter/ir/builder.h"

#include <cctype>
#include <unordered_map>

#include "grammar/diagnostic.h"
#include "interpreter/ir/complex_parts.h"
#include "interpreter/ir/infer.h"
#include "interpreter/ir/linear.h"
#include "interpreter/ir/varying.h"

namespace shard::ir {
namespace {

std::string use_of(const OpDef& op, const Builder& b, std::span<const Var> operands) {
  std::string out = std::string(op.name) + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) out += (i ? ", " : "") + runtime::to_string(b.type(operands[i]));
  return out + ")";
}

// An error of a row that scripts cannot name. The row that they called, made of it, says it in its own name.
struct InnerError : grammar::Error {
  std::string row;
  InnerError(std::string code, grammar::Span span, std::string message, std::string_view name)
      : Error(std::move(code), span, std::move(message)), row(name) {}
};

std::string renamed(const std::string& text, const std::string& from, std::string_view to) {
  const auto in_word = [&](std::size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
  };
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool here =
        text.compare(i, from.size(), from) == 0 && !(i > 0 && in_word(i - 1)) && !in_word(i + from.size());
    if (here)
      out += to, i += from.size();
    else
      out += text[i++];
  }
  return out;
}

// In manual code a value that does not vary becomes varying by itself where it meets one that does; the cast says so in
// the graph, because its transpose is the sum over the devices. Structural rows (loops, branches, collectives) say
// themselves what they take.
void vary_alike(Builder& b, const OpDef& op, Vars& inputs) {
  if (structure_of(op)) return;
  runtime::AxisSet all;
  for (Var v : inputs) all |= b.type(v).varying;
  if (all.empty()) return;
  for (Var& v : inputs) {
    runtime::AxisSet missing = all - b.type(v).varying;
    if (missing.empty()) continue;
    runtime::MeshRef mesh;
    for (Var w : inputs)
      if (b.type(w).mesh) mesh = b.type(w).mesh;
    v = b.emit1(*b.core().pcast, {v}, to_varying(missing, std::move(mesh)));
  }
}

void finish_rounded(Builder& b, const OpDef& op, Vars& inputs, const Attrs& attrs) {
  std::vector<Type> types;
  bool any = false;
  for (Var v : inputs) {
    types.push_back(b.type(v));
    any |=
        !types.back().sharding.unreduced.empty() && types.back().sharding.unreduced_kind == runtime::UnreducedKind::Sum;
  }
  if (!any) return;
  const auto lin = linear(OpCall{op, types, attrs, {}, &b.graph(), inputs});
  if (!lin || lin->exact) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (types[i].sharding.unreduced.empty()) continue;
    Layout done{types[i].mesh, types[i].sharding};
    done.sharding.unreduced = {};
    if (!done.mesh->of_kind(runtime::AxisKind::Auto).empty())
      for (auto& d : done.sharding.dims) d.open = true;  // left to the partitioner
    inputs[i] = b.emit1(*b.core().shard, {inputs[i]}, {{"layout", std::move(done)}});
  }
}

}  // namespace

Var Builder::param(Type type) {
  Var v{static_cast<std::int32_t>(graph_.types.size())};
  graph_.types.push_back(std::move(type));
  graph_.params.push_back(v);
  return v;
}

Vars Builder::append(const OpDef& op, Vars inputs, Attrs attrs, std::vector<GraphRef> regions,
                     std::vector<Type> result_types) {
  Node n;
  n.op = &op;
  n.attrs = std::move(attrs);
  if (barrier_ && !n.attrs.has("barrier")) n.attrs.set("barrier", barrier_);
  if (why_ && op.comm && op.comm->communicates()) n.attrs.set("why", Note{why_});
  n.inputs = std::move(inputs);
  n.regions = std::move(regions);
  n.span = span_;
  for (Type& t : result_types) {
    n.outputs.push_back(Var{static_cast<std::int32_t>(graph_.types.size())});
    graph_.types.push_back(std::move(t));
  }
  graph_.nodes.push_back(std::move(n));
  return graph_.nodes.back().outputs;
}

Vars Builder::emit(const OpDef& op, std::span<const Var> operands, Attrs attrs, std::vector<GraphRef> regions) {
  try {
    // What fails within a row that scripts can name is told in its name.
    const auto named = [&](const auto& part) {
      try {
        return part();
      } catch (const InnerError& e) {
        if (op.internal) throw;
        throw grammar::Error(e.diagnostic.code, e.diagnostic.span, renamed(e.what(), e.row, op.name),
                             {"in " + use_of(op, *this, operands)});
      }
    };
    if (auto* compose = std::get_if<Compose>(&op.kernel))
      return named([&] { return (*compose)(*this, operands, attrs); });
    if (told_by_parts(*this, op, operands, attrs)) return named([&] { return by_parts(*this, op, operands, attrs); });
    Vars inputs(operands.begin(), operands.end());
    if (op.dtype.operands != Operands::AsIs && !inputs.empty()) {
      runtime::Kind kind = type(inputs[0]).kind();
      for (std::size_t i = 1; i < inputs.size(); ++i) {
        auto joined = runtime::promote(kind, type(inputs[i]).kind());
        if (!joined)
          throw runtime::RuntimeError("dtype", std::string(op.name) + " cannot join " +
                                                   runtime::to_string(type(inputs[0])) + " and " +
                                                   runtime::to_string(type(inputs[i])));
        kind = *joined;
      }
      if (op.dtype.operands == Operands::Inexact && !runtime::is_float(kind.dtype)) {
        if (!runtime::is_number(kind.dtype))
          throw runtime::RuntimeError(
              "dtype", std::string(op.name) + " is not defined for " + runtime::to_string(type(inputs[0])));
        kind.dtype = runtime::to_inexact(kind.dtype);
      }
      // An integer array with a weak float is a weak float (JAX): the result, too, gives way to bf16.
      named([&] {
        for (Var& v : inputs) v = convert(*this, v, kind.dtype, kind.weak);
      });
    }
    if (!graph_.local) vary_alike(*this, op, inputs);
    if (finishes_sums_) finish_rounded(*this, op, inputs, attrs);
    std::vector<Type> types;
    types.reserve(inputs.size());
    for (Var v : inputs) types.push_back(type(v));
    std::vector<Type> results = infer(OpCall{op, types, attrs, regions, &graph_, inputs});
    if (limit_sizes_)
      for (const Type& t : results) runtime::checked_bytes(t.shape, runtime::size_of(t.dtype));
    return append(op, std::move(inputs), attrs, regions, std::move(results));
  } catch (const runtime::RuntimeError& e) {
    if (op.internal) throw InnerError(e.code, span_, e.what(), op.name);
    throw grammar::Error(e.code, span_, e.what(), {"in " + use_of(op, *this, operands)});
  }
}

Vars Builder::emit(const OpDef& op, std::initializer_list<Var> operands, Attrs attrs, std::vector<GraphRef> regions) {
  return emit(op, std::span<const Var>(operands.begin(), operands.size()), std::move(attrs), std::move(regions));
}

Var Builder::emit1(const OpDef& op, std::initializer_list<Var> operands, Attrs attrs) {
  return emit(op, std::span<const Var>(operands.begin(), operands.size()), std::move(attrs)).at(0);
}

Var Builder::call(std::string_view name, std::initializer_list<Var> operands, Attrs attrs) {
  return emit1(table_.at(name), operands, std::move(attrs));
}

Vars Builder::inline_graph(const Graph& g, std::span<const Var> arguments) {
  if (arguments.size() != g.params.size())
    throw std::logic_error("inline_graph: another number of arguments than parameters");
  Vars now(g.types.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) now[static_cast<std::size_t>(g.params[i].id)] = arguments[i];
  for (const Node& n : g.nodes) {
    SpanScope scope(*this, n.span);
    Vars inputs;
    for (Var v : n.inputs) inputs.push_back(now[static_cast<std::size_t>(v.id)]);
    std::vector<Type> types;
    for (Var v : n.outputs) types.push_back(g.type(v));
    Vars outputs = append(*n.op, std::move(inputs), n.attrs, n.regions, std::move(types));
    for (std::size_t i = 0; i < outputs.size(); ++i) now[static_cast<std::size_t>(n.outputs[i].id)] = outputs[i];
  }
  Vars results;
  for (Var r : g.results) results.push_back(now[static_cast<std::size_t>(r.id)]);
  return results;
}

Graph Builder::finish(Vars results) {
  graph_.results = std::move(results);
  Graph out = std::move(graph_);
  graph_ = Graph{};
  return out;
}

}  // namespace shard::ir
