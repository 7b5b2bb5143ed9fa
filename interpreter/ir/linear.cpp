#include "interpreter/ir/linear.h"

#include <algorithm>
#include <cmath>

namespace shard::ir {
namespace {

using runtime::Code;
using runtime::DType;

bool is_code(const OpDef& op, Code code) {
  auto* mine = std::get_if<Code>(&op.kernel);
  return mine && *mine == code;
}

// Operands, and whether jointly, as the columns say. An Identity hands its operand on, whatever its derivative is.
struct Said {
  std::vector<int> operands;  // empty: all
  bool jointly = false;
};
std::optional<Said> said(const OpCall& call) {
  if (is_code(call.op, Code::Identity)) return Said{};
  if (auto* t = std::get_if<Transposes>(&call.op.derivative); t && !(t->affine && t->affine(call)))
    return Said{t->operands, t->jointly};
  if (auto* p = std::get_if<Partials>(&call.op.derivative); p && !p->linear.empty()) return Said{p->linear, false};
  return std::nullopt;
}

// Whether every number of `from` is one of `to`, and their sums are: integers wrap, each kind in its own way.
bool keeps(DType from, DType to) {
  if (from == to) return true;
  const auto a = runtime::float_form(from), b = runtime::float_form(to);
  return a && b && a->fraction <= b->fraction && a->low >= b->low && a->high <= b->high;
}

bool is_power_of_two(double x, DType t) {
  int exponent = 0;
  const auto kind = runtime::float_form(t);
  return kind && std::fabs(std::frexp(x, &exponent)) == 0.5 && exponent - 1 >= kind->low && exponent - 1 <= kind->high;
}

// Scaling terms of this type by the operands that are not terms.
bool scales_exactly(const OpCall& call, const std::vector<bool>& term, DType t) {
  if (!runtime::is_narrow(t)) return true;
  if (!std::holds_alternative<Code>(call.op.kernel)) return false;  // a sum of many that are scaled
  // Of a product each factor may be the sum; it is exact in one where the others are known.
  std::size_t unknown = 0, others = 0;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const auto number = known_number(call, i);
    const bool fits = number && is_power_of_two(*number, t);
    unknown += !fits;
    others += !fits && !term[i];
  }
  return others == 0 && unknown <= 1;
}

const Node* producer(const Graph& g, Var v) {
  for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n)
    if (std::find(n->outputs.begin(), n->outputs.end(), v) != n->outputs.end()) return &*n;
  return nullptr;
}

}  // namespace

std::optional<double> known_number(const OpCall& call, std::size_t operand) {
  if (!call.graph || operand >= call.vars.size()) return std::nullopt;
  const Node* n = producer(*call.graph, call.vars[operand]);
  while (n && n->inputs.size() == 1 &&
         (is_code(*n->op, Code::Identity) || is_code(*n->op, Code::Convert) || shows_all(*n->op)))
    n = producer(*call.graph, n->inputs[0]);
  if (!n || !is(*n, Structure::Constant)) return std::nullopt;
  if (auto* d = n->attrs.get<double>("value")) return *d;
  if (auto* i = n->attrs.get<std::int64_t>("value")) return static_cast<double>(*i);
  return std::nullopt;
}

std::optional<Linear> linear(const OpCall& call) {
  const std::size_t count = call.in.size();
  if (count == 0 || structure_of(call.op)) return std::nullopt;
  const auto columns = said(call);
  if (!columns) return std::nullopt;
  Linear out;
  out.in.assign(count, columns->operands.empty());
  for (int i : columns->operands)
    if (static_cast<std::size_t>(i) < count) out.in[static_cast<std::size_t>(i)] = true;
  out.jointly = columns->jointly || count == 1;
  const auto first = static_cast<std::size_t>(std::find(out.in.begin(), out.in.end(), true) - out.in.begin());
  if (first == count) return std::nullopt;
  // Positions and conditions are integers and truth values that it is not linear in: they scale nothing.
  for (std::size_t i = 0; i < count && !out.jointly; ++i)
    out.scales |= i != first && (out.in[i] || runtime::is_float(call.in[i].dtype));
  const DType dtype = call.in[first].dtype;
  out.exact = keeps(dtype, result_kinds(call, 1).at(0).dtype) && (!out.scales || scales_exactly(call, out.in, dtype));
  return out;
}

}  // namespace shard::ir
