// Windows over the spatial dimensions of x [lead..., spatial..., C], for convolutions and pools: the row `windows`,
// which shows every window beside its position, and where windows lie by strides, dilation and padding.
#pragma once
#include <optional>

#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/moving/halo.h"

namespace shard::stdlib {

// How windows lie: their sizes and strides, how far apart their elements are, and what is put around.
struct WindowPlan {
  Ints window, stride, dilation;
  Pairs widths;
  std::int64_t reach(std::size_t i) const { return (window[i] - 1) * dilation[i] + 1; }
  bool padded() const;
};

// Windows of x [lead..., n..., C], as the attributes of a row say.
struct Spatial {
  const Ints &window, &stride;
  std::size_t count, lead = 0;
  Pairs padding;
  Ints dilation;  // how far apart the elements of a window are
  Spatial(const Attrs& attrs, std::size_t rank);
  std::int64_t reach(std::size_t i) const { return (window[i] - 1) * dilation[i] + 1; }  // what a window reaches over
  Shape places(Shape x) const;                                                           // [lead..., positions..., C]
};
// What a device's own windows along dimension i, `each` of them, reach over, with `beyond` behind the ends of the
// whole.
Var reached(Builder& b, Var x, const SplitDim& of, const Spatial& s, std::size_t i, std::int64_t each, double beyond);

// One number for each spatial dimension, from an attribute.
Ints per_dimension(const Attrs& attrs, std::string_view name, std::size_t count, std::int64_t otherwise);
// `pads:` says the widths, or `padding:` how many windows there are: as many as elements and strides, or those that
// fit.
WindowPlan plan_of(const Builder& b, Var x, const Ints& window, const Attrs& attrs);
// On explicit axes a spatial dimension that is split keeps its layout where the result's size allows it (JAX looks at
// nothing else): what windows are cut from is laid out whole there, and what is made of them as x was (`back`).
struct LaidBetween {
  Var x;
  std::optional<ir::Layout> back;
};
LaidBetween between(Builder& b, Var x, const WindowPlan& plan);
// [lead..., positions..., window..., C], with zeros around x.
Var windowed(Builder& b, Var x, const WindowPlan& plan);

// windows_sum.cpp: the transpose. Windows [lead..., positions..., window..., C] laid over each other and added, each
// element where `windows` took it from: [lead..., size..., C].
struct Overlay {
  Ints size, stride, dilation, before;  // before: elements of padding, which are left out
};
Var windows_sum(Builder& b, Var windows, const Overlay& how);

}  // namespace shard::stdlib
