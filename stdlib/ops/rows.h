// What the families of rows share: reading attributes as users gave them, axes, factor rules by hand, views for
// kernels. Not a place for operations.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/ir/builder.h"

namespace shard::stdlib {

using ir::Attrs;
using ir::AttrValue;
using ir::BoundKernel;
using ir::Builder;
using ir::FactorKind;
using ir::FactorReduce;
using ir::FactorRule;
using ir::Ints;
using ir::KernelCall;
using ir::Layout;
using ir::Mapped;
using ir::NodeView;
using ir::OpCall;
using ir::OpDef;
using ir::Operands;
using ir::OpTable;
using ir::Pairs;
using ir::Transposes;
using ir::Type;
using ir::Var;
using ir::Vars;
using runtime::DType;
using runtime::Kind;
using runtime::RuntimeError;
using runtime::Shape;
using runtime::View;

// A row with the name that its signature begins with; an internal one cannot be called by name in scripts, and takes
// its operands as they are.
OpDef row_of(std::string_view signature, std::string_view doc, ir::Factors factors = {});
OpDef internal_row(std::string_view signature, std::string_view doc, ir::Factors factors = {});
std::string_view name_in(std::string_view signature);

[[noreturn]] void fail(std::string_view code, const std::string& facts);  // throws RuntimeError

// ---- attributes; missing ones and none read as the default, so that samples and rows calling rows may leave them out
bool flag_or(const Attrs& attrs, std::string_view name, bool otherwise);
std::int64_t integer_or(const Attrs& attrs, std::string_view name, std::int64_t otherwise);
std::optional<Ints> ints_if(const Attrs& attrs, std::string_view name);  // one integer reads as a list of one
std::optional<DType> dtype_if(const Attrs& attrs, std::string_view name);
std::optional<double> number_if(const Attrs& attrs, std::string_view name);
bool is_whole_number(const Attrs& attrs, std::string_view name);  // given as an integer, or left out
std::string text_or(const Attrs& attrs, std::string_view name, std::string_view otherwise);
Attrs with_out(Attrs attrs, const Attrs& from);  // passes `out` on where it was given
Attrs with_leading_out(const Attrs& attrs);      // `out` for one more dimension in front (batching)

// ---- axes
std::int64_t from_end(std::int64_t axis, std::int64_t rank,
                      std::string_view op);  // -1 is the last; throws for one out of range
Ints axes_from_end(const std::optional<Ints>& axes, std::int64_t rank,
                   std::string_view op);                   // none: all; sorted, no repeats
int from_front(std::int64_t negative, std::int64_t rank);  // -1 -> rank - 1
std::vector<int> from_front(const Ints& negative, std::int64_t rank);
Shape shape_of(const Ints& sizes, std::string_view op);      // throws for negative sizes
Shape erase_axes(const Shape& shape, const Ints& negative);  // without these dimensions
Shape ones_at(const Shape& shape, const Ints& negative);     // size 1 at these dimensions
Ints last(std::int64_t count);                               // -count, ..., -1
Ints leading(std::int64_t count);                            // 0, ..., count - 1

// ---- factor rules
class RuleBuilder {
 public:
  int factor(std::int64_t size, FactorKind kind = FactorKind::Pass, FactorReduce reduce = FactorReduce::Sum);
  // One factor a dimension, all passing.
  ir::ValueFactors dims(const Shape& shape);
  FactorRule made(std::vector<ir::ValueFactors> operands, std::vector<ir::ValueFactors> results);
  // Further operands of the call are numbers.
  FactorRule made(const OpCall& call, std::vector<ir::ValueFactors> operands, ir::ValueFactors result);
  FactorRule rule;

 private:
  int next_ = 0;
};
std::vector<Shape> shapes_of(const OpCall& call);
FactorRule broadcast_factors(const OpCall& call);  // NumPy broadcasting of all operands
// The axes that split dimension `dim` of a type, as text `@X` or `@(X, Y)`; empty where it is whole.
bool is_split(const Type& t, int dim);
std::string axes_text(const Type& t, int dim);
bool laid_out(const Type& t);                    // on a mesh with explicit axes
bool same_layout(const Type& a, const Type& b);  // dimension by dimension
// The `out` attribute that makes a derivative come out laid out like `want`: whole where nothing was said, unreduced
// where `want` is reduced. `others` lend their mesh where `want` was never laid out. Nothing where no explicit axis is
// about.
std::optional<Layout> wanted_layout(const Builder& b, const Type& want, std::span<const Var> others);
// The operation with its result laid out so. What it sums is left unreduced there; what else is to be unreduced is
// placed afterwards.
Var emit_wanted(Builder& b, const OpDef& op, const Vars& in, Attrs attrs, const Type& want,
                std::span<const Var> others);

// Why an operation refuses a split dimension that it needs whole; of the last one, for explicit_refuses.
inline constexpr std::string_view kMakeWhole = "`shard` the array so that this dimension is whole first";
std::string split_along(std::string_view op, const Type& x, int d, std::string_view way_out = kMakeWhole);
std::function<std::optional<std::string>(const OpCall&, const FactorRule&)> refuses_split_last(std::string_view op);

// A split dimension that changes its size (slices, pads, windows; ranks equal): the new size must be divisible by its
// axes, or every size of the result be 1 (JAX). For explicit_refuses.
std::optional<std::string> size_change_refuses(std::string_view op, const Type& from, const Shape& to);

// ---- batching
Vars vars_of(std::span<const Mapped> in);
std::vector<Mapped> with_marks(const Vars& made, const std::vector<bool>& mapped);

// ---- derivatives
// Of an operation that is linear in its one operand: the operand's cotangent, of type `want`, from the result's.
template <class F>
Transposes linear(F of) {
  return {{}, false, [of](Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type& want) -> Var {
            return of(b, n, ct[0], want);
          }};
}
// Forwards, of an operation of one operand: the results' tangents from the operand's.
template <class F>
ir::Custom pushed(F of) {
  return {[of](Builder& b, const NodeView& n, std::span<const Var> tangents) -> Vars {
            return tangents[0].valid() ? of(b, n, tangents[0]) : Vars(n.out.size());
          },
          {}};
}

// ---- values
Var promote_to(Builder& b, Var x, Kind kind);
Kind promoted(const Builder& b, std::span<const Var> xs);
Var expand(Builder& b, Var x, const Shape& kept);  // reshape, nothing where the shape is the same
Var spread(Builder& b, Var x, const Ints& axes,
           const Shape& full);  // a reduced value over the dimensions that were reduced (broadcast)
Var scalar_i32(Builder& b, std::int64_t value);
Attrs over_devices(const Builder& b, std::span<const runtime::AxisId> axes);  // of a collective that nobody wrote
// Position of this device along `axes` taken together (the first the slowest), an i32 scalar; local graphs only.
Var device_position(Builder& b, std::span<const runtime::AxisId> axes);
Var require_integer_index(Builder& b, Var index, std::string_view op);  // i32 or i64
Var wrap_negative(Builder& b, Var index, std::int64_t n);               // i < 0 counts from the end

// ---- kernels
inline View shifted(View v, std::int64_t elements) {
  v.data = static_cast<char*>(v.data) + elements * static_cast<std::int64_t>(runtime::size_of(v.dtype));
  return v;
}
// A kernel's own view, put where its operand lies in this call: to copy its sizes at every call would cost more than
// many a kernel does.
inline const View& at(View& v, void* data, std::int64_t elements = 0) {
  v.data = data;
  if (elements != 0)
    v.data = static_cast<char*>(data) + elements * static_cast<std::int64_t>(runtime::size_of(v.dtype));
  return v;
}
// The view with runs of adjacent dimensions merged: groups {2, 1} of [a, b, c] gives [ab, c]; nothing where strides do
// not allow it.
std::optional<View> merged(const View& v, std::span<const int> groups);
// A view so merged; copied first where strides do not allow it.
struct MergedView {
  View view;
  std::optional<View> from;
  MergedView(const View& v, std::span<const int> groups);
  // Where its elements lie in this call; `held` keeps the copy.
  void* data(runtime::Pool& pool, void* given, runtime::BufferRef& held);
};
// An operand's view with the result's shape, strides of 0 where it broadcasts.
View over_result(const View& operand, const KernelCall& c);
// Calls f(offsets) for each index of `shape`; one offset (in elements) for each list of strides.
template <class F>
void for_each_block(const Shape& shape, const std::vector<runtime::Strides>& strides, F f) {
  std::vector<std::int64_t> offsets(strides.size(), 0), index(shape.size(), 0);
  for (auto n : shape)
    if (n == 0) return;
  while (true) {
    f(offsets);
    std::size_t d = shape.size();
    while (d > 0) {
      --d;
      for (std::size_t s = 0; s < strides.size(); ++s) offsets[s] += strides[s][d];
      if (++index[d] < shape[d]) break;
      for (std::size_t s = 0; s < strides.size(); ++s) offsets[s] -= strides[s][d] * shape[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (shape.empty()) return;
  }
}

}  // namespace shard::stdlib
