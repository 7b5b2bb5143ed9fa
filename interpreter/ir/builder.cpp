#include "interpreter/ir/builder.h"

#include <algorithm>
#include <cctype>

#include "grammar/diagnostic.h"
#include "interpreter/ir/collective.h"
#include "interpreter/ir/complex_parts.h"
#include "interpreter/ir/explicit_law.h"
#include "interpreter/ir/linear.h"
#include "runtime/array/stop.h"

namespace shard::ir {
namespace {

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
  const std::vector<Type> types = types_of(b.graph(), inputs);
  if (std::none_of(types.begin(), types.end(), [](const Type& t) {
        return !t.sharding.unreduced.empty() && t.sharding.unreduced_kind == runtime::UnreducedKind::Sum;
      }))
    return;
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

const Node* Builder::maker(Var v) const {
  const auto gives = [v](const Node& n) { return std::find(n.outputs.begin(), n.outputs.end(), v) != n.outputs.end(); };
  const auto it = std::find_if(graph_.nodes.rbegin(), graph_.nodes.rend(), gives);
  return it == graph_.nodes.rend() ? nullptr : &*it;
}

Var Builder::param(Type type) {
  Var v{static_cast<std::int32_t>(graph_.types.size())};
  graph_.types.push_back(std::move(type));
  graph_.params.push_back(v);
  return v;
}

const Vars& Builder::append(const OpDef& op, Vars inputs, Attrs attrs, std::vector<GraphRef> regions,
                            std::vector<Type> result_types, std::shared_ptr<const FactorRule> rule) {
  runtime::Stop::ask_here();
  Node& n = graph_.nodes.emplace_back();
  n.op = &op;
  n.attrs = std::move(attrs);
  if (barrier_ && !n.attrs.has("barrier")) n.attrs.set("barrier", barrier_);
  if (why_ && op.comm && op.comm->communicates()) n.attrs.set("why", Note{why_});
  n.inputs = std::move(inputs);
  n.regions = std::move(regions);
  n.span = span_;
  n.rule = std::move(rule);
  n.outputs.reserve(result_types.size());
  for (Type& t : result_types) {
    n.outputs.push_back(Var{static_cast<std::int32_t>(graph_.types.size())});
    graph_.types.push_back(std::move(t));
  }
  return n.outputs;
}

void Builder::expect(const Graph& g) {
  graph_.nodes.reserve(g.nodes.size());
  graph_.types.reserve(g.types.size());
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
                             {"in " + use_of(op, types_of(graph_, operands))});
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
    const std::vector<Type> types = types_of(graph_, inputs);
    std::shared_ptr<const FactorRule> rule;
    std::vector<Type> results = infer(OpCall{op, types, attrs, regions, &graph_, inputs}, &rule);
    if (limit_sizes_)
      for (const Type& t : results) runtime::checked_bytes(t.shape, runtime::size_of(t.dtype));
    return append(op, std::move(inputs), attrs, regions, std::move(results), std::move(rule));
  } catch (const runtime::RuntimeError& e) {
    if (op.internal) throw InnerError(e.code, span_, e.what(), op.name);
    throw grammar::Error(e.code, span_, e.what(), {"in " + use_of(op, types_of(graph_, operands))});
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
  GraphCopy copy(*this, g);
  copy.become(g.params, {arguments.begin(), arguments.end()});
  for (const Node& n : g.nodes) copy.node(n);
  return copy(g.results);
}

void GraphCopy::params() {
  for (Var p : g_.params) now[at(p)] = b_.param(g_.type(p));
}

Vars GraphCopy::operator()(const Vars& vars) const {
  Vars out;
  out.reserve(vars.size());
  for (Var v : vars) out.push_back(now[at(v)]);
  return out;
}

void GraphCopy::become(const Vars& vars, const Vars& made) {
  for (std::size_t i = 0; i < vars.size(); ++i) now[at(vars[i])] = made[i];
}

void GraphCopy::node(const Node& n, Attrs attrs, std::vector<GraphRef> regions) {
  node(n, (*this)(n.inputs), std::move(attrs), std::move(regions));
}

void GraphCopy::node(const Node& n, Vars inputs, Attrs attrs, std::vector<GraphRef> regions) {
  const SpanScope scope(b_, n.span);
  become(n.outputs,
         b_.append(*n.op, std::move(inputs), std::move(attrs), std::move(regions), types_of(g_, n.outputs), n.rule));
}

Graph Builder::finish(Vars results) {
  graph_.results = std::move(results);
  Graph out = std::move(graph_);
  graph_ = Graph{};
  return out;
}

// ---- the law of one operation
using runtime::Kind;
using runtime::RuntimeError;

namespace {

// What the code of an elementwise row does not take is refused here, where a row does not say it in its own words.
void check_taken(const OpCall& call, runtime::Code code) {
  const std::size_t first = runtime::facts(code).operands == 3 ? 1 : 0;
  for (const Type& t : call.in.subspan(first))
    if (!runtime::takes(code, t.dtype))
      throw RuntimeError("type", std::string(call.op.name) + " is for " +
                                     runtime::to_string(runtime::facts(code).takes) + ", got " + runtime::to_string(t));
}

}  // namespace

std::string use_of(const OpDef& op, std::span<const Type> in) {
  std::string out = std::string(op.name) + "(";
  for (std::size_t i = 0; i < in.size(); ++i) out += (i ? ", " : "") + runtime::to_string(in[i]);
  return out + ")";
}

FactorRule factors_of(const OpCall& call) {
  if (auto* f = std::get_if<FactorFn>(&call.op.factors)) return (*f)(call);
  if (auto* text = std::get_if<std::string_view>(&call.op.factors)) {
    std::vector<runtime::Shape> shapes;
    for (const Type& t : call.in) shapes.push_back(t.shape);
    std::vector<runtime::Shape> results;
    if (call.op.shape) results = call.op.shape(call);
    return parse_factors(*text, shapes, results);
  }
  throw std::logic_error("row `" + std::string(call.op.name) + "` has no factors");
}

std::vector<Kind> result_kinds(const OpCall& call, std::size_t results) {
  if (call.op.dtype.result) return call.op.dtype.result(call);
  if (const auto* code = std::get_if<runtime::Code>(&call.op.kernel)) {
    check_taken(call, *code);
    if (runtime::facts(*code).gives == runtime::Gives::Truth) return {{runtime::DType::Bool, false}};
  }
  if (call.in.empty())
    throw std::logic_error("row `" + std::string(call.op.name) + "` has no operands and no dtype column");
  return std::vector<Kind>(results, call.in[0].kind());
}

std::vector<Type> infer(const OpCall& call, std::shared_ptr<const FactorRule>* kept) {
  if (call.op.infer) return call.op.infer(call);
  FactorRule rule = factors_of(call);
  if (rule.operands.size() != call.in.size())
    throw RuntimeError("arity", std::string(call.op.name) + " takes " + std::to_string(rule.operands.size()) +
                                    " arrays, got " + std::to_string(call.in.size()));
  std::vector<runtime::Shape> shapes;
  if (call.op.shape)
    shapes = call.op.shape(call);
  else
    for (std::size_t r = 0; r < rule.results.size(); ++r) shapes.push_back(result_shape(rule, static_cast<int>(r)));
  std::vector<Kind> kinds = result_kinds(call, shapes.size());
  std::vector<Type> out;
  runtime::AxisSet varying;
  for (const Type& t : call.in) varying |= t.varying;
  for (std::size_t r = 0; r < shapes.size(); ++r) {
    if (shapes[r].size() > static_cast<std::size_t>(runtime::kMaxRank))
      throw RuntimeError("shape", "the result has " + std::to_string(shapes[r].size()) + " dimensions, at most " +
                                      std::to_string(runtime::kMaxRank) + " are possible");
    runtime::bytes_of(shapes[r], runtime::size_of(kinds[r].dtype));
    Type t = Type::of(kinds[r].dtype, shapes[r], kinds[r].weak);
    t.varying = varying;
    out.push_back(std::move(t));
  }
  apply_explicit_law(call, rule, out);
  if (kept) *kept = std::make_shared<const FactorRule>(std::move(rule));
  return out;
}

// ---- complex numbers, told by their parts
Var real_part(Builder& b, Var x) { return is_complex(b, x) ? b.emit1(*b.core().real_part, {x}) : x; }
Var imag_part(Builder& b, Var x) { return is_complex(b, x) ? b.emit1(*b.core().imag_part, {x}) : zeros(b, b.type(x)); }
Var complex_of(Builder& b, Var re, Var im) { return b.emit1(*b.core().complex_pair, {re, im}); }

bool told_by_parts(const Builder& b, const OpDef& op, std::span<const Var> operands, const Attrs& attrs) {
  bool any = std::any_of(operands.begin(), operands.end(), [&](Var v) { return is_complex(b, v); });
  const bool said = !std::holds_alternative<std::monostate>(op.of_complex);
  if (!any && std::holds_alternative<Compose>(op.of_complex)) {  // what is to become complex
    const AttrValue* to = attrs.find("dtype");
    const auto* dtype = to ? std::get_if<runtime::DType>(to) : nullptr;
    any = dtype && runtime::is_complex(*dtype);
  }
  if (std::holds_alternative<InKernel>(op.of_complex)) return false;
  if (!any || said) return any;
  if (structure_of(op) || std::holds_alternative<ViewOf>(op.kernel)) return false;
  const auto* code = std::get_if<runtime::Code>(&op.kernel);
  if (code && (runtime::facts(*code).takes & runtime::kComplexes)) return false;
  throw runtime::RuntimeError(
      "dtype", std::string(op.name) + " is not for complex numbers: take `real(x)`, `imag(x)` or `abs(x)`");
}

Vars by_parts(Builder& b, const OpDef& op, std::span<const Var> operands, const Attrs& attrs) {
  Vars in(operands.begin(), operands.end());
  if (op.dtype.operands != Operands::AsIs && !in.empty()) {
    std::optional<runtime::Kind> kind = b.type(in[0]).kind();
    for (Var v : in) kind = kind ? runtime::promote(*kind, b.type(v).kind()) : kind;
    if (!kind) throw runtime::RuntimeError("dtype", std::string(op.name) + " cannot join complex numbers and these");
    for (Var& v : in) v = convert(b, v, kind->dtype, kind->weak);
  }
  if (auto* compose = std::get_if<Compose>(&op.of_complex)) return (*compose)(b, in, attrs);
  Vars re = in, im = in;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (is_complex(b, in[i])) re[i] = real_part(b, in[i]), im[i] = imag_part(b, in[i]);
  re = b.emit(op, re, attrs), im = b.emit(op, im, attrs);
  for (std::size_t i = 0; i < re.size(); ++i) re[i] = complex_of(b, re[i], im[i]);
  return re;
}

}  // namespace shard::ir
