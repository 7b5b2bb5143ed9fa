// Along what a collective runs: mesh axes that are manual, or the dimension that a surrounding `vmap(f, axis: @i)` maps
// over.
#pragma once
#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// The dimension that an open `vmap(f, axis: @i)` maps over: its name for collectives, and an element's place along it
// (mapped).
struct MappedAxis {
  std::string name;
  std::int64_t size;
  trace::Tensor place;
};

// Of the vmaps around what is traced (trace::Frame::mapped), innermost first.
std::vector<MappedAxis> mapped_axes(lang::Interpreter& in);

struct Along {
  runtime::MeshRef mesh;
  ir::Ints axes;  // major first
  std::vector<MappedAxis> mapped;
  std::string text;       // "@X", "@(X, Y)"
  std::int64_t size = 1;  // of all together
  bool over_mapped() const { return !mapped.empty(); }
};

// The axes that `v` names: @X, @(X, Y), [@X, @Y].
void add_axis_names(lang::Interpreter& in, const lang::Value& v, std::vector<std::string>& out, const char* who,
                    grammar::Span span);
Along along_axes(lang::Interpreter& in, const lang::Value& v, const char* who, grammar::Span span, bool manual = true);

// What a collective over these mesh axes says, and a value typed as one that differs between their devices.
ir::Attrs written_along(const Along& a);
trace::Tensor varying_along(lang::Interpreter& in, const trace::Tensor& x, const Along& a);

// ---- over a mapped dimension (mapped_collectives.cpp); `dim` counts from the end as for the rows of collective.cpp
trace::Tensor mapped_sum(lang::Interpreter& in, const trace::Tensor& x, const MappedAxis& axis);
trace::Tensor mapped_extreme(lang::Interpreter& in, const trace::Tensor& x, const MappedAxis& axis, bool largest);
trace::Tensor mapped_gather(lang::Interpreter& in, const trace::Tensor& x, const MappedAxis& axis, std::int64_t dim,
                            bool tiled);
trace::Tensor mapped_scatter(lang::Interpreter& in, const trace::Tensor& x, const MappedAxis& axis, std::int64_t dim,
                             bool tiled, grammar::Span span);
trace::Tensor mapped_exchange(lang::Interpreter& in, const trace::Tensor& x, const MappedAxis& axis, std::int64_t split,
                              std::int64_t concat, bool tiled, grammar::Span span);
trace::Tensor mapped_permute(lang::Interpreter& in, const trace::Tensor& x, const MappedAxis& axis,
                             const ir::Pairs& pairs);

}  // namespace shard::stdlib
