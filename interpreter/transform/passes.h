// The passes of the pipeline, each in a file of its own: graph in, graph out.
#pragma once
#include <optional>

#include "interpreter/ir/builder.h"
#include "interpreter/transform/factor_layout.h"
#include "interpreter/transform/program.h"

namespace shard::transform {

// ---- prepare.cpp
// Calls become part of the graph around them, in regions too. Nodes of a call that says `remat` get an attribute
// `barrier`, a number of their own: equal nodes outside are not merged with them.
ir::Graph inline_calls(const ir::OpTable& table, const ir::Graph& graph);
// Values made of nothing (constants, counts, what is only spread from them) are made anew for each use, so that their
// layouts do not tie together what has nothing to do with each other.
ir::Graph split_constants(const ir::OpTable& table, const ir::Graph& graph);
// A graph that was never laid out, as the program of its one device: constraints mean nothing.
ir::Graph on_one_device(const ir::OpTable& table, const ir::Graph& graph);

// ---- simplify.cpp: at either level. A reader of columns only.
// Dead code goes (effects stay), common subexpressions, conversions and broadcasts that change nothing, equal
// collectives.
ir::Graph simplify(const ir::OpTable& table, const ir::Graph& graph);

// ---- cut_pads.cpp
// Slices of padded arrays as padded slices, where elementwise operations read them. Regions too; nothing where none is.
std::optional<ir::Graph> without_cut_pads(const ir::OpTable& table, const ir::Graph& graph);

// ---- loop_cleanup.cpp: loops and branches made smaller, before propagation.
// Results that nobody uses, and what only they need, go: steps, carries and results of branches.
ir::Graph trim_loops(const ir::OpTable& table, ir::Graph graph);
// What does not change in a loop is computed before it, where that makes nothing larger.
ir::Graph hoist_invariants(const ir::OpTable& table, ir::Graph graph);

// ---- partition.cpp
// From a global graph with layouts to the program of one device: local shapes, explicit collectives (`uneven`: blocks
// need not divide sizes). Here the modes
// meet. For each node a map from factors to axes is settled; operands that differ are resharded; reduced factors that
// are split leave an unreduced sum, carried through linear operations and finished as an all-reduce, or as a
// reduce-scatter where the value is wanted split.
struct Partitioned {
  ir::Graph local;                         // params and results as those of the global graph
  std::vector<runtime::Sharding> results;  // their layouts
};
Partitioned partition(const ir::OpTable& table, const ir::Graph& graph, const runtime::MeshRef& mesh,
                      const Layouts& layouts, bool uneven = true);

// ---- axis_parts.cpp
// The same on a mesh that has some axes in parts, where that is cheaper: dimensions are merged or split whose factors
// an axis does not divide by. `plain`: as it is without, simplified. Results lie over whole axes. All axes are
// automatic.
struct OnParts {
  runtime::MeshRef mesh;
  Partitioned program;  // layouts of results are those of `mesh`; simplified
};
std::optional<OnParts> on_parts_of_axes(const ir::OpTable& table, const ir::Graph& graph, const runtime::MeshRef& mesh,
                                        const Layouts& layouts, const Partitioned& plain, bool uneven);

// Appends the shortest sequence of slice, permute, all-to-all and gather (reduce, reduce-scatter for unreduced sums)
// that brings the local value x of global type `type` from one layout to another. Never replicates and slices.
// (reshard.cpp)
ir::Var reshard(ir::Builder& b, ir::Var x, const runtime::Type& global, const runtime::Mesh& mesh,
                const runtime::Sharding& from, const runtime::Sharding& to);
// What one device sends on that way.
std::int64_t bytes_moved(const runtime::Type& global, const runtime::Mesh& mesh, const runtime::Sharding& from,
                         const runtime::Sharding& to);

// ---- with_makers.cpp
// Pairs of nodes, of which the second alone uses what the first makes, as their rows would rather be written (the
// column `with_maker`): what lies between them is never made. Regions too. Nothing where no pair is.
std::optional<ir::Graph> with_makers(const ir::OpTable& table, const ir::Graph& graph);

// ---- few_elements.cpp
// In loops and branches arrays of up to nine elements that are joined of numbers are these numbers, where something is
// done to them or they are taken apart again; products of few terms are made of numbers, and dot products of a few more
// are sums of a row. Nothing where none is.
std::optional<ir::Graph> without_small_joins(const ir::OpTable& table, const ir::Graph& graph);

// ---- small_products.cpp
// Products that sum nothing, and those of many small matrices by vectors, as what is done to elements. Regions too.
// Nothing where none is.
std::optional<ir::Graph> with_small_products_by_elements(const ir::OpTable& table, const ir::Graph& graph);

// ---- rotated_loops.cpp
// Loops on a condition, of few elements and without effects, as loops whose turns end with the condition. Regions too.
// Nothing where none is.
std::optional<ir::Graph> with_rotated_loops(const ir::OpTable& table, const ir::Graph& graph);

// ---- passed_on.cpp
// What a turn of a loop passes on unchanged to another place, where it is few elements, as a node of its body. Nothing
// where no loop does.
std::optional<ir::Graph> with_passed_on(const ir::OpTable& table, const ir::Graph& graph);

// ---- small_branches.cpp
// Branches in loops that compute a few numbers either way: both of them, and a choice; loops of few turns in loops,
// that compute a few numbers: these turns. For targets that ask for it. Nothing where none is.
std::optional<ir::Graph> without_small_branches(const ir::OpTable& table, const ir::Graph& graph);

// ---- small_sums.cpp
// Small sums of gradients over the same devices that were inserted, and do not depend on one another, as one sum of
// what they have one after another. Regions too. Nothing where no two stand together.
std::optional<ir::Graph> with_small_sums_joined(const ir::OpTable& table, const ir::Graph& graph);

// ---- early_sums.cpp
// Sums over devices brought to the contractions whose terms they add up: psum(c * dot(x, y)) becomes c * psum(dot(x,
// y)), and a psum_scatter a psum of which each device sees its part. So that the terms of single devices are never
// stored where one process runs all devices (exec/fuse.h makes one instruction of a contraction and its sum); a
// psum_scatter between processes of one device each stays. For targets that ask for it; the account of what is
// communicated is made before. Regions too. Nothing where no sum moves.
std::optional<ir::Graph> with_early_sums(const ir::OpTable& table, const ir::Graph& g, const Distinct& distinct,
                                         const runtime::Mesh& mesh);

// ---- early_shrinks.cpp
// What makes a value smaller comes as soon as its operands are there: partitioning finishes an unreduced gradient where
// it is needed, most often at the end, and a whole one would be held for each weight until then. The graph, local or of
// one device, with the same nodes in an order that holds less at a time; in regions too. Nothing where no node moves.
std::optional<ir::Graph> with_early_shrinks(const ir::Graph& graph);

// ---- communication.cpp
// What one call of a local graph says between devices and computes, read from the graph: collectives with their bytes,
// floating point operations. The length of a scan multiplies, a while body counts once, of branches the costlier
// counts.
struct Account {
  std::vector<CommRecord> comm;
  double flops = 0;  // over all devices
};
Account account(const ir::Graph& local, const runtime::Mesh* mesh);
// Floating point operations of a global graph on one device: what devices compute above it is computed more than once.
double work_of_one(const ir::Graph& global, const runtime::Mesh& mesh);

}  // namespace shard::transform
