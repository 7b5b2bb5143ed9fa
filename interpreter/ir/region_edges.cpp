#include "interpreter/ir/region_edges.h"

#include <algorithm>
#include <stdexcept>

namespace shard::ir {
namespace {

constexpr const char *kConsts = "consts", *kCarry = "carry", *kLength = "length", *kReverse = "reverse";
constexpr const char *kCondConsts = "cond_consts", *kBodyConsts = "body_consts";

std::size_t count(const Attrs& attrs, const char* name) {
  const std::int64_t n = attrs.integer(name);
  if (n < 0) throw std::logic_error("attribute `" + std::string(name) + "` is negative");
  return static_cast<std::size_t>(n);
}
std::int64_t whole(std::size_t n) { return static_cast<std::int64_t>(n); }

RegionEdges scan_edges(const ScanWiring& w, std::size_t operands, std::size_t results) {
  RegionEdges out{.edges = {}, .repeats = true, .reverse = w.reverse, .turns = w.length};
  for (std::size_t i = 0; i < operands; ++i) {
    RegionEdge e{.operand = i, .params = {{0, i}}, .rows = i >= w.consts + w.carry};
    if (i >= w.consts && !e.rows) {
      e.results = {{0, i - w.consts}};
      e.output = i - w.consts;
    }
    out.edges.push_back(std::move(e));
  }
  for (std::size_t i = w.carry; i < results; ++i) out.edges.push_back({.results = {{0, i}}, .output = i, .rows = true});
  return out;
}

RegionEdges while_edges(const WhileWiring& w, std::size_t operands) {
  RegionEdges out{.edges = {}, .verdict = RegionPort{0, 0}, .repeats = true};
  for (std::size_t i = 0; i < w.cond_consts; ++i) out.edges.push_back({.operand = i, .params = {{0, i}}});
  for (std::size_t i = 0; i < w.body_consts; ++i)
    out.edges.push_back({.operand = w.cond_consts + i, .params = {{1, i}}});
  const std::size_t first = w.cond_consts + w.body_consts;
  for (std::size_t i = 0; first + i < operands; ++i)
    out.edges.push_back({.operand = first + i,
                         .params = {{0, w.cond_consts + i}, {1, w.body_consts + i}},
                         .results = {{1, i}},
                         .output = i});
  return out;
}

// All regions take the operands from `first` on and give the results.
RegionEdges plain_edges(std::span<const GraphRef> regions, std::size_t operands, std::size_t first) {
  RegionEdges out;
  if (first > 0) out.chooser = 0;
  const auto ports = [&](std::size_t index) {
    std::vector<RegionPort> all;
    for (std::size_t r = 0; r < regions.size(); ++r) all.push_back({r, index});
    return all;
  };
  for (std::size_t i = first; i < operands; ++i) out.edges.push_back({.operand = i, .params = ports(i - first)});
  for (std::size_t i = 0; i < regions[0]->results.size(); ++i) out.edges.push_back({.results = ports(i), .output = i});
  return out;
}

}  // namespace

std::size_t RegionEdges::carried() const {
  return static_cast<std::size_t>(
      std::count_if(edges.begin(), edges.end(), [](const RegionEdge& e) { return e.carried(); }));
}

RegionEdges::Operands RegionEdges::constants(std::size_t region) const {
  Operands out;
  for (const RegionEdge& e : edges) {
    if (!e.constant() || e.params[0].region > region) continue;
    if (e.params[0].region == region)
      ++out.count;
    else
      ++out.first;
  }
  return out;
}

void RegionEdges::add_constants(std::size_t region, std::size_t count) {
  const Operands now = constants(region);
  for (RegionEdge& e : edges) {
    if (e.operand && *e.operand >= now.first + now.count) *e.operand += count;
    for (RegionPort& p : e.params)
      if (p.region == region && p.index >= now.count) p.index += count;
  }
  std::vector<RegionEdge> more;
  for (std::size_t i = 0; i < count; ++i)
    more.push_back({.operand = now.first + now.count + i, .params = {{region, now.count + i}}});
  edges.insert(edges.begin() + static_cast<std::ptrdiff_t>(now.first + now.count), more.begin(), more.end());
}

RegionEdges region_edges(const OpDef& op, const Attrs& attrs, std::span<const GraphRef> regions, std::size_t operands) {
  const Structure* kind = structure_of(op);
  if (!kind || regions.empty()) return {};
  switch (*kind) {
    case Structure::Scan: return scan_edges(scan_wiring(attrs), operands, regions[0]->results.size());
    case Structure::While: return while_edges(while_wiring(attrs), operands);
    case Structure::Branch: return plain_edges(regions, operands, 1);
    case Structure::Call:
    case Structure::Manual: return plain_edges(regions, operands, 0);
    case Structure::Constant:
    case Structure::Shard:
    case Structure::Effect:
    case Structure::Collective: break;
  }
  return {};
}

RegionEdges region_edges(const Node& node) {
  return region_edges(*node.op, node.attrs, node.regions, node.inputs.size());
}

void set_edges(const OpDef& op, Attrs& attrs, const RegionEdges& edges) {
  const Structure kind = *structure_of(op);
  if (kind == Structure::Scan) {
    ScanWiring w = scan_wiring(attrs);
    w.consts = edges.constants(0).count;
    w.carry = edges.carried();
    attrs = with_wiring(std::move(attrs), w);
  } else if (kind == Structure::While) {
    attrs = with_wiring(std::move(attrs), WhileWiring{edges.constants(0).count, edges.constants(1).count});
  }
}

ScanWiring scan_wiring(const Attrs& attrs) {
  return {count(attrs, kConsts), count(attrs, kCarry), attrs.integer(kLength), attrs.says(kReverse)};
}

Attrs with_wiring(Attrs attrs, const ScanWiring& w) {
  attrs.set(kConsts, whole(w.consts));
  attrs.set(kCarry, whole(w.carry));
  attrs.set(kLength, w.length);
  attrs.set(kReverse, w.reverse);
  return attrs;
}

WhileWiring while_wiring(const Attrs& attrs) { return {count(attrs, kCondConsts), count(attrs, kBodyConsts)}; }

Attrs with_wiring(Attrs attrs, const WhileWiring& w) {
  attrs.set(kCondConsts, whole(w.cond_consts));
  attrs.set(kBodyConsts, whole(w.body_consts));
  return attrs;
}

std::string operand_spec(std::size_t operand) { return "in" + std::to_string(operand); }
std::string result_spec(std::size_t result) { return "out" + std::to_string(result); }

HostCopy host_copy(const Node& n) {
  if (!n.attrs.has("memory")) return HostCopy::None;
  return n.attrs.text("memory") == "host" ? HostCopy::Out : HostCopy::Back;
}

bool lies_on_host(const Node& n, Var v) {
  if (n.regions.empty()) return host_copy(n) == HostCopy::Out;
  for (const RegionEdge& e : region_edges(n).edges) {
    if (!e.output || !e.rows || n.outputs[*e.output] != v) continue;
    const Graph& body = *n.regions[e.results[0].region];
    const Var row = body.results[e.results[0].index];
    for (const Node& m : body.nodes)
      if (std::find(m.outputs.begin(), m.outputs.end(), row) != m.outputs.end()) return lies_on_host(m, row);
  }
  return false;
}

}  // namespace shard::ir
