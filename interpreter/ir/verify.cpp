// The laws of a graph. Broken ones are defects of a pass or a row, never of a script.
#include <stdexcept>

#include "interpreter/ir/graph.h"
#include "interpreter/ir/op.h"

namespace shard::ir {
namespace {

[[noreturn]] void broken(const char* law, const Graph& g, const Node* n) {
  std::string where = n ? " at " + std::string(n->op ? n->op->name : "a node without an operation") : "";
  throw std::logic_error(std::string("broken graph: ") + law + where + "\n" + to_string(g));
}

bool is_manual(const OpDef& op) {
  const Structure* s = structure_of(op);
  return s && *s == Structure::Manual;
}

// `per_device`: the graph is local, or lies in the body of per-device code.
void verify(const Graph& g, bool per_device) {
  std::vector<bool> defined(g.types.size(), false);
  auto define = [&](Var v, const Node* n) {
    if (!v.valid() || static_cast<std::size_t>(v.id) >= g.types.size()) broken("L1 a value is out of range", g, n);
    if (defined[static_cast<std::size_t>(v.id)]) broken("L2 a value is defined twice", g, n);
    defined[static_cast<std::size_t>(v.id)] = true;
  };
  auto use = [&](Var v, const Node* n) {
    if (!v.valid() || static_cast<std::size_t>(v.id) >= g.types.size() || !defined[static_cast<std::size_t>(v.id)])
      broken("L3 a value is used before it is defined", g, n);
  };
  for (Var p : g.params) define(p, nullptr);
  for (const Node& n : g.nodes) {
    if (!n.op) broken("L4 a node has no operation", g, &n);
    if (is_composite(*n.op)) broken("L5 a composite was not expanded", g, &n);
    if (n.op->comm && !per_device) broken("L6 a collective in a global graph", g, &n);
    for (Var v : n.inputs) use(v, &n);
    for (Var v : n.outputs) define(v, &n);
    for (const auto& r : n.regions) {
      if (!r) broken("L7 a region is missing", g, &n);
      verify(*r, per_device || is_manual(*n.op));
    }
  }
  for (Var r : g.results) use(r, nullptr);
  for (const Type& t : g.types) {
    if (t.sharding.dims.size() != t.shape.size())
      broken("L8 a type's layout has another rank than its shape", g, nullptr);
    for (auto n : t.shape)
      if (n < 0) broken("L9 a negative size", g, nullptr);
  }
}

}  // namespace

void verify(const Graph& g) { verify(g, g.local); }

}  // namespace shard::ir
