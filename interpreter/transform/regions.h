// Surgery on whole graphs, knowing no operation: what depends on what, the part that computes some values from others,
// and the cut of a graph in two (a forward part that keeps values, a backward part that uses them). Called by the
// derivative and batching passes and by rows with regions.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "interpreter/ir/builder.h"

namespace shard::transform {

using Marks = std::vector<char>;  // by Var::id

bool has_effects(const ir::Node& node);  // itself or inside its regions
bool has_effects(const ir::Graph& graph);

// Values that depend on one of `from` (which are marked too).
Marks reached(const ir::Graph& g, std::span<const ir::Var> from);
// The same along differentiable values only: `Zero` rows and values that are not floats stop it.
Marks active(const ir::Graph& g, std::span<const ir::Var> from);
// Values that one of `results` depends on through differentiable values (which are marked too).
Marks useful(const ir::Graph& g, std::span<const ir::Var> results);

// An empty builder at the level of `like`.
ir::Builder builder_like(const ir::OpTable& table, const ir::Graph& like);

// The part of `g` that computes `results` from `params` (values of g, taken as given; the order is kept). Everything
// that the results need must follow from the params. `effects`: effects that follow from them come along.
ir::Graph extract(const ir::OpTable& table, const ir::Graph& g, std::span<const ir::Var> params,
                  std::span<const ir::Var> results, bool effects);
// The graph with each region as `change` has it; nothing where it changes none.
std::optional<ir::Graph> with_regions(const ir::Graph& g,
                                      const std::function<std::optional<ir::Graph>(const ir::Graph&)>& change);
bool has_regions(const ir::Graph& g);
// The graph with what `make` gives, from what the operands have become, in place of the nodes that `chosen` says.
ir::Graph with_nodes_made(const ir::OpTable& table, const ir::Graph& g,
                          const std::function<bool(const ir::Node&)>& chosen,
                          const std::function<ir::Vars(ir::Builder&, const ir::Node&, const ir::Vars&)>& make);
ir::Graph without_dead_code(const ir::OpTable& table, ir::Graph g);  // effects stay

// Which values a backward part must be handed. `late`: values that only the backward part has; `results`: those that it
// must give; `free`: values that it has anyhow; `steady`: values that need not be stored a turn of the loop (may be
// empty). Elementwise operations and rearrangements of what is there are done again rather than kept.
struct Residuals {
  ir::Vars stored;   // computed by the forward part
  ir::Vars hoisted;  // the same, but steady
};
Residuals keep(const ir::Graph& g, const Marks& late, std::span<const ir::Var> results, const Marks& free,
               const Marks& steady);

// g cut after its first `params` parameters and `results` results: first(params...) gives those results, then
// residuals; second(residuals..., the other params...) gives the other results.
struct Halves {
  ir::Graph first, second;
  std::size_t residuals = 0;
};
Halves cut(const ir::OpTable& table, const ir::Graph& g, std::size_t params, std::size_t results);

}  // namespace shard::transform
