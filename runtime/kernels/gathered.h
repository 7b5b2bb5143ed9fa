// What an elementwise program brings together before it computes: elements of a broadcast array in their order, and
// lines of a transposed one.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/kernels/element_plan.h"
#include "runtime/kernels/line.h"
#include "runtime/kernels/transpose.h"
#include "runtime/kernels/types.h"

namespace shard::runtime {

// Elements [from, from + n) of the broadcast array, in order.
template <class T>
void gather_lines(const Nest<1>& nest, const T* in, std::int64_t from, std::int64_t n, T* out) {
  const int last = nest.rank - 1;
  const std::int64_t length = nest.size[last], step = nest.stride[0][last];
  const auto part = [&](std::int64_t line, std::int64_t skip, std::int64_t w) {
    read_line(in + Position<1>(nest, last, line).offset[0] + skip * step, step, out, w);
    out += w;
  };
  const std::int64_t to = from + n, first = (from + length - 1) / length, end = to / length;  // whole lines
  if (first > end) return part(from / length, from % length, n);
  if (const std::int64_t skip = from % length; skip > 0) part(from / length, skip, length - skip);
  const std::int64_t row = last > 0 ? nest.stride[0][last - 1] : 0;
  each_stretch(nest, last, first, end, [&](const auto& offset, std::int64_t lines) {
    copy_lines(in + offset[0], row, step, out, length, 1, lines, length);
    out += lines * length;
  });
  if (to % length > 0) part(end, 0, to % length);
}

// Some lines of a transposed operand, brought together: read one by one they would touch each line of the cache as
// often as it has elements, with all others in between.
class Panel {
 public:
  void begin() { lines_ = 0; }
  // Elements [from, from + n), which lie in one line.
  const unsigned char* line(const ElementPlan::Input& in, const unsigned char* data, std::int64_t from) {
    const Nest<1>& nest = in.nest;
    const int last = nest.rank - 1;
    const std::int64_t length = nest.size[last], row = from / length, item = in.item, step = length + kApart;
    memory_.resize(std::max(memory_.size(), static_cast<std::size_t>(ElementPlan::kPanel * step * item)));
    if (row < first_ || row >= first_ + lines_) {
      first_ = row;
      lines_ = std::min(ElementPlan::kPanel, nest.size[last - 1] - row % nest.size[last - 1]);
      const std::int64_t offset = Position<1>(nest, last, row).offset[0];
      by_width(static_cast<std::size_t>(item), [&](auto t) {
        using T = decltype(t);
        transpose(reinterpret_cast<const T*>(data) + offset, nest.stride[0][last], reinterpret_cast<T*>(memory_.data()),
                  step, lines_, length);
      });
    }
    return memory_.data() + ((row - first_) * step + from % length) * item;
  }

 private:
  static constexpr std::int64_t kApart = 16;  // elements: lines of a power of two would meet in the cache
  std::vector<unsigned char> memory_;
  std::int64_t first_ = 0, lines_ = 0;
};

inline void gather(const Nest<1>& nest, std::size_t item, const void* in, std::int64_t from, std::int64_t n,
                   void* out) {
  by_width(item, [&](auto t) {
    gather_lines(nest, static_cast<const decltype(t)*>(in), from, n, static_cast<decltype(t)*>(out));
  });
}

// The same where there are groups.
inline void gather(const Groups& groups, const Nest<1>& nest, const void* in, std::int64_t from, std::int64_t n,
                   void* out) {
  const std::int64_t to = from + n, each = groups.elements(), first = (from + each - 1) / each * each,
                     end = to / each * each;
  auto* at = static_cast<std::uint32_t*>(out);
  if (first >= end) return gather(nest, sizeof *at, in, from, n, out);
  if (from < first) gather(nest, sizeof *at, in, from, first - from, at);
  groups.bring(nest, static_cast<const std::uint32_t*>(in), first, end, at + (first - from));
  if (end < to) gather(nest, sizeof *at, in, end, to - end, at + (end - from));
}

}  // namespace shard::runtime
