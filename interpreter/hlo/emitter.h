// The walk over a local graph: rows by their column, elementwise codes by the table, structures and collectives here.
// Private to this folder; see module.h.
#pragma once
#include <map>

#include "interpreter/hlo/reports.h"
#include "interpreter/ir/op.h"
#include "interpreter/ir/region_edges.h"

namespace shard::hlo {

// ---- layouts in the words of Shardy (the dialect sdy): where whole arrays meet what one device does
// A whole array and how it is cut.
struct Laid {
  Value value;
  std::string sharding;  // "<@mesh, [{"data"}, {}]>"; empty where nothing is laid out
};

using AxesOfDims = std::vector<std::vector<runtime::AxisId>>;
// Of a value of this rank; dimensions that the layout does not know are whole. `open`: the engine may cut further.
std::string sharding_text(const runtime::Mesh& mesh, const runtime::Sharding& layout, std::size_t rank,
                          bool open = false);
std::string sharding_text(const runtime::Mesh& mesh, const AxesOfDims& dims, bool open = false);
std::string mesh_text(const runtime::Mesh& mesh);

// What each device along these axes does by hand: a region written between Writer::begin and end with "sdy.return".
Values by_hand(Writer& to, const runtime::Mesh& mesh, runtime::AxisSet axes, std::span<const Laid> in,
               std::span<const Laid> out, std::string_view region);

std::string list(std::span<const std::string> items);  // "a, b"

class Emitter {
 public:
  Emitter(Writer& to, const transform::Program& program, const How& how) : to_(to), program_(program), how_(how) {}
  // What is known of a graph and its regions: of a local one distinct axes, of a whole one layouts, of per-device code
  // in a whole one both.
  struct Scope {
    const transform::Distinct* distinct = nullptr;
    const transform::Layouts* layouts = nullptr;
  };
  // The nodes of a graph whose parameters are these values; gives its results, and behind them the values of
  // reports_of(graph), in their order.
  Values graph(const ir::Graph& g, std::span<const Value> params, Scope known);
  std::string location(grammar::Span span) const;

 private:
  struct Inside;  // a node with what it stands in
  Values node(const Inside& at);
  Values row(const ir::Node& n, std::span<const Value> in, std::span<const runtime::Type> out);
  // emit_regions.cpp
  Values structure(const Inside& at);
  Values effect(const Inside& at);
  Values scan(const Inside& at, const ir::RegionEdges& wiring);
  Values loop(const Inside& at, const ir::RegionEdges& wiring);
  Values branch(const Inside& at);
  Values region(const Inside& at, std::size_t which, std::span<const Value> params);
  void refuse_divergence(const Inside& at) const;
  // whole.cpp
  Value constrained(const Value& x, const ir::Node& n, const runtime::Sharding& layout);
  Values per_device(const Inside& at);
  std::vector<std::pair<runtime::AxisId, Laid>> places_along(runtime::AxisSet axes);
  // emit_collectives.cpp
  Value added(const Value& x, const runtime::Sharding& terms);  // the sum that its unreduced axes stand for
  Value collective(const ir::Node& n, std::span<const Value> in, const runtime::Type& out);
  Value position(const std::vector<runtime::AxisId>& axes);  // of this device along them, i32
  std::string groups(const ir::Node& n) const;
  Value combined_over(const Value& x, runtime::Reduce op, const std::string& over);

  Writer& to_;
  const transform::Program& program_;
  const How& how_;
  bool hidden_ = false;                      // the node stands in a region whose runs nobody can count afterwards
  std::map<runtime::AxisId, Value> places_;  // along an axis, where per-device code was told
};

struct Emitter::Inside {
  const ir::Node& node;
  std::span<const Value> in;
  std::span<const runtime::Type> out;
  const transform::Distinct::Inside* distinct;     // of its regions; null where nothing is known
  const std::vector<transform::Layouts>* layouts;  // of its regions; null in a local graph
};

}  // namespace shard::hlo
