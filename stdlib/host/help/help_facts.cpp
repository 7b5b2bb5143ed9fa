// What a row says about itself, in words for help: the shapes of its samples, its gradient, and what explicit axes make
// of a split operand. Nothing is written down twice: the row is used on its samples' types and tells.
#include <algorithm>

#include "grammar/diagnostic.h"
#include "interpreter/ir/builder.h"
#include "interpreter/ir/samples.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/host/help/help.h"

namespace shard::stdlib {
namespace {

using ir::Builder;
using ir::Graph;
using ir::OpDef;
using ir::Sample;
using ir::Vars;

constexpr std::size_t kLayouts = 6;  // lines of the layout rule

std::vector<Type> types_of(const Sample& s) {
  std::vector<Type> out;
  for (const auto& o : s.operands) out.push_back(Type::of(o.dtype, o.shape));
  return out;
}

Graph use(const ir::OpTable& table, const OpDef& op, const Sample& s, const std::vector<Type>& types) {
  Builder b(table);
  Vars in;
  for (const Type& t : types) in.push_back(b.param(t));
  return b.finish(b.emit(op, std::span<const ir::Var>(in), s.attrs));
}

std::string text_of(const std::vector<Type>& types) {
  std::string out;
  for (const Type& t : types) out += (out.empty() ? "" : ", ") + runtime::to_string(t);
  return out;
}
std::vector<Type> results_of(const Graph& g) {
  std::vector<Type> out;
  for (ir::Var r : g.results) out.push_back(g.type(r));
  return out;
}

// A sample's attributes as a call writes them: without what an operand left out says.
std::string written(const Sample& s) {
  std::string out;
  for (const auto& [name, value] : s.attrs)
    if (!name.starts_with("has_") && !std::holds_alternative<std::monostate>(value))
      out += ", " + name + ": " + ir::to_string(value);
  return s.operands.empty() && !out.empty() ? out.substr(2) : out;
}

std::vector<std::string> shapes(const ir::OpTable& table, const OpDef& op) {
  std::vector<std::string> out;
  for (const Sample& s : samples_of(op)) {
    const auto types = types_of(s);
    const std::string line =
        "(" + text_of(types) + written(s) + ") -> " + text_of(results_of(use(table, op, s, types)));
    if (line.size() < 100 && !among(out, line)) out.push_back(line);
    if (out.size() == 2) break;
  }
  return out;
}

std::string gradient(const ir::OpTable& table, const OpDef& op) {
  for (const Sample& s : samples_of(op)) {
    const Graph g = use(table, op, s, types_of(s));
    std::vector<int> wrt;
    std::vector<bool> with_ct;
    for (std::size_t i = 0; i < g.params.size(); ++i)
      if (runtime::is_inexact(g.type(g.params[i]).dtype)) wrt.push_back(static_cast<int>(i));
    for (ir::Var r : g.results) with_ct.push_back(runtime::is_inexact(g.type(r).dtype));
    if (wrt.empty() || std::find(with_ct.begin(), with_ct.end(), true) == with_ct.end()) continue;
    try {
      transform::vjp(table, g, wrt, with_ct, false);
    } catch (const grammar::Error& e) { return std::string("none: ") + e.what(); }
    // Without a step the result is an operand itself.
    const bool flat = !g.nodes.empty() && std::all_of(g.nodes.begin(), g.nodes.end(), [](const ir::Node& n) {
      return std::holds_alternative<ir::Zero>(n.op->derivative) || n.inputs.empty() || n.op->name == "convert";
    });
    return flat ? "zero: the value does not change with small changes" : "forward and reverse, any number of times";
  }
  return "none: the results, or all operands, are no floating point numbers";
}

// What becomes of one operand split over an explicit axis of two devices, dimension by dimension.
std::vector<std::string> layouts(const ir::OpTable& table, const OpDef& op) {
  auto mesh = std::make_shared<const runtime::Mesh>(runtime::Mesh{{{"X", 2, runtime::AxisKind::Explicit}}, {0, 1}});
  std::vector<std::string> out;
  for (const Sample& s : samples_of(op)) {
    const auto whole = types_of(s);
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (std::size_t d = 0; d < whole[i].shape.size(); ++d) {
        if (whole[i].shape[d] % 2 || out.size() == kLayouts) continue;
        // The operand alone; where that is refused, with all operands of its rank split alike.
        std::string line;
        for (bool alike : {false, true}) {
          std::vector<Type> types = whole;
          for (std::size_t j = 0; j < types.size(); ++j) {
            types[j].mesh = mesh;
            const bool same = types[j].shape.size() == whole[i].shape.size() && types[j].shape[d] % 2 == 0;
            if (j == i || (alike && same)) types[j].sharding.dims[d].axes = {0};
          }
          std::string tried = "(" + text_of(types) + written(s) + ") -> ";
          try {
            line = tried + text_of(results_of(use(table, op, s, types)));
            break;
          } catch (const grammar::Error&) {
            if (line.empty()) line = tried + "an error that says what to write";
          }
        }
        if (!among(out, line)) out.push_back(line);
      }
    if (!out.empty()) break;
  }
  return out;
}

}  // namespace

Facts facts_of(const ir::OpTable& table, const OpDef& op) {
  return {shapes(table, op), gradient(table, op), layouts(table, op)};
}

}  // namespace shard::stdlib
