// What the rows with regions share: checks of carried and returned types, and small helpers for building regions.
// Rows: scan.cpp, while.cpp, branch.cpp, function_call.cpp, custom_rule.cpp, effect.cpp; control.cpp registers them.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/transform/batch.h"
#include "interpreter/transform/regions.h"
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

using ir::Graph;
using ir::GraphRef;
using transform::Marks;

OpDef scan_row();
OpDef while_row();
OpDef branch_row();
OpDef call_row();
OpDef named_value_row();
OpDef offload_row();
OpDef custom_vjp_row();
OpDef custom_jvp_row();
OpDef effect_row();
OpDef shard_row();   // constraint.cpp: the layout of a value
OpDef follow_row();  // constraint.cpp: the layout of another value

// Equal but for weakness, which is a matter of literals and not of values.
bool same_type(const Type& a, const Type& b);
// What to write where two types that must be equal are not: a cast, a `shard`, a `pcast` of `subject`.
std::string way_out(const Type& have, const Type& want, std::string_view subject);
// The i-th of the values that `attrs` may name (`names`), as " `name`".
std::string leaf_name(const Attrs& attrs, std::size_t i, const std::string& otherwise);
// The carry of a loop must come out as it went in.
void check_carry(std::string_view loop, const Attrs& attrs, std::span<const Type> in, const Graph& body,
                 std::size_t first_result);
std::string carry_way_out(const Type& in, const Type& out);
// A region takes exactly these; anything else is a defect of who made the node (std::logic_error).
void check_params(const OpCall& call, std::size_t region, std::span<const Type> params);
// A loop or branch whose condition differs between devices may not communicate inside; throws naming the collective.
void check_quiet(const OpCall& call, const Type& condition, const std::string& what);  // what: "`if`"

std::size_t count(const Attrs& attrs, std::string_view name);  // a non-negative integer attribute
Type row_type(const Type& t);                                  // without its leading dimension
Type stacked_type(const Type& t, std::int64_t length);         // with one, whole
Marks marks_of(const Graph& g, std::span<const Var> vars);
std::span<const Var> part(const Vars& vars, std::size_t begin, std::size_t size);
Vars first_of(const Vars& vars, std::size_t size);
ir::Pushed halves(const Vars& out);  // values, then as many tangents
void append(Vars& to, std::span<const Var> more);
Var zeros_or(Builder& b, Var v, const Type& type);  // v, or zeros where it is a symbolic zero
std::vector<bool> mapped_of(std::span<const Mapped> in, std::size_t begin, std::size_t size);

// ---- rows
OpDef region_row(std::string_view signature, std::string_view doc, ir::Structure structure,
                 decltype(ir::Custom::push) push, decltype(ir::Custom::pull) pull, ir::BatchFn batch,
                 std::vector<Type> (*infer)(const OpCall&));
OpDef passing_row(std::string_view signature, std::string_view doc);  // of a value that stays as it is

// ---- calls
std::vector<Type> result_types(const Graph& g);
std::vector<bool> with_cotangents(const std::vector<Type>& results,
                                  std::span<const char> given);  // results that may get one
// Appends cotangents for the results that may get one, zeros where they did not.
void append_cotangents(Builder& b, Vars& to, const std::vector<Type>& results, const std::vector<bool>& with_ct,
                       std::span<const Var> ct);
Vars scatter_to(const std::vector<int>& places, std::size_t size, std::span<const Var> values);  // the others invalid

// ---- what a policy of `remat` keeps in the host's memory between the forward and the backward part (offload.cpp)
// `forward` with a copy to the host behind what makes result i, which takes its place, for each i in `results`.
Graph copied_out(const ir::OpTable& table, const Graph& forward, std::span<const std::size_t> results);
// `backward` with a copy from the host before the first node that reads parameter i, for each i in `params`. What hangs
// on no cotangent (parameters from `cotangents` on) is made where it is wanted first, and not all of it before the
// rest: everything would be fetched then.
Graph copied_back(const ir::OpTable& table, const Graph& backward, std::span<const std::size_t> params,
                  std::size_t cotangents);

}  // namespace shard::stdlib
