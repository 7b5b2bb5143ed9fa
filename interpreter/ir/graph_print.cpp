// Text of a graph, one node a line:  %3: f32[4,2] = mul(%0, %1)
#include "interpreter/ir/graph.h"
#include "interpreter/ir/op.h"

namespace shard::ir {
namespace {

std::string name(Var v) { return v.valid() ? "%" + std::to_string(v.id) : "%none"; }

void print(const Graph& g, const std::string& indent, std::string& out) {
  out += indent + "(";
  for (std::size_t i = 0; i < g.params.size(); ++i)
    out += (i ? ", " : "") + name(g.params[i]) + ": " + runtime::to_string(g.type(g.params[i]));
  out += ") {\n";
  for (const Node& n : g.nodes) {
    out += indent + "  ";
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      out += (i ? ", " : "") + name(n.outputs[i]) + ": " + runtime::to_string(g.type(n.outputs[i]));
    if (!n.outputs.empty()) out += " = ";
    out += std::string(n.op->name) + "(";
    for (std::size_t i = 0; i < n.inputs.size(); ++i) out += (i ? ", " : "") + name(n.inputs[i]);
    std::string attrs = to_string(n.attrs);
    if (!attrs.empty()) out += (n.inputs.empty() ? "" : "; ") + attrs;
    out += ")\n";
    for (const auto& r : n.regions) print(*r, indent + "    ", out);
  }
  out += indent + "  return ";
  for (std::size_t i = 0; i < g.results.size(); ++i) out += (i ? ", " : "") + name(g.results[i]);
  out += "\n" + indent + "}\n";
}

}  // namespace

std::string to_string(const Graph& g) {
  std::string out;
  print(g, "", out);
  return out;
}

}  // namespace shard::ir
