// Along what a collective runs: mesh axes that are manual, or the dimension that a surrounding `vmap(f, axis: @i)` maps
// over.
#pragma once
#include "stdlib/host/host.h"

namespace shard::stdlib {

// The dimension that an open `vmap(f, axis: @i)` maps over: its name for collectives, and an element's place along it
// (mapped).
struct MappedAxis {
  std::string name;
  std::int64_t size;
  Tensor place;
};

// Of the vmaps around what is traced (trace::Frame::mapped), innermost first.
std::vector<MappedAxis> mapped_axes(Interpreter& in);

struct Along {
  runtime::MeshRef mesh;
  ir::Ints axes;  // major first
  std::vector<MappedAxis> mapped;
  std::string text;       // "@X", "@(X, Y)"
  std::int64_t size = 1;  // of all together
  bool over_mapped() const { return !mapped.empty(); }
};

// The axes that `v` names: @X, @(X, Y), [@X, @Y].
void add_axis_names(Interpreter& in, const Value& v, std::vector<std::string>& out, const char* who,
                    grammar::Span span);
Along along_axes(Interpreter& in, const Value& v, const char* who, grammar::Span span, bool manual = true);

// A value typed as one that differs between the devices of these mesh axes, and the row of a collective over them,
// which says this besides: of groups, and what it does.
Tensor varying_along(Interpreter& in, const Tensor& x, const Along& a);
Tensor over_axes(Interpreter& in, const ir::OpDef& op, const Tensor& x, const Along& where,
                 const ir::Attrs& groups = {}, const ir::Attrs& said = {});

// ---- over a mapped dimension (mapped_collectives.cpp); `dim` counts from the end as for the rows of collective.cpp
Tensor mapped_sum(Interpreter& in, const Tensor& x, const MappedAxis& axis);
Tensor mapped_extreme(Interpreter& in, const Tensor& x, const MappedAxis& axis, bool largest);
Tensor mapped_gather(Interpreter& in, const Tensor& x, const MappedAxis& axis, std::int64_t dim, bool tiled);
Tensor mapped_scatter(Interpreter& in, const Tensor& x, const MappedAxis& axis, std::int64_t dim, bool tiled,
                      grammar::Span span);
Tensor mapped_exchange(Interpreter& in, const Tensor& x, const MappedAxis& axis, std::int64_t split,
                       std::int64_t concat, bool tiled, grammar::Span span);
Tensor mapped_permute(Interpreter& in, const Tensor& x, const MappedAxis& axis, const ir::Pairs& pairs);

}  // namespace shard::stdlib
