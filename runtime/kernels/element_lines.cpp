#include "runtime/kernels/element_lines.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>

#include "runtime/kernels/nest.h"

namespace shard::runtime {

std::optional<OutputLines> lines_of(const View& v) {
  constexpr std::int64_t kShort = 8;  // of fewer a copy of all is no slower
  Nest<1> nest;
  for (std::size_t d = 0; d < v.shape.size(); ++d) nest.add(v.shape[d], {v.strides[d]});
  if (nest.rank == 0 || (nest.rank == 1 && nest.stride[0][0] == 1)) return OutputLines{};
  if (nest.rank != 2 || nest.stride[0][1] != 1 || nest.size[1] < kShort) return std::nullopt;
  return OutputLines{nest.size[1], nest.stride[0][0]};
}

std::int64_t ElementLines::count() const {
  return std::accumulate(outer.begin(), outer.end(), together, std::multiplies<>());
}

void ElementLines::find(std::int64_t line, std::span<std::int64_t> begins) const {
  for (std::size_t i = 0; i < operands.size(); ++i) begins[i] = line % together * operands[i].apart;
  line /= together;
  for (std::size_t d = outer.size(); d-- > 0; line /= outer[d])
    for (std::size_t i = 0; i < operands.size(); ++i) begins[i] += line % outer[d] * operands[i].outer[d];
}

std::optional<ElementLines> element_lines(std::span<const View> in, std::span<const View> out) {
  constexpr std::int64_t kLeast = 16, kMost = 16 * 1024;  // elements
  const std::size_t n = in.size() + out.size();
  const auto view = [&](std::size_t i) -> const View& { return i < in.size() ? in[i] : out[i - in.size()]; };
  for (std::size_t i = 0; i < n; ++i)
    if (view(i).shape != out[0].shape) return std::nullopt;
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> strides(n);  // neighbours merged where every operand allows it
  for (std::size_t d = 0; d < out[0].shape.size(); ++d) {
    const std::int64_t size = out[0].shape[d];
    if (size == 1) continue;
    bool joins = !sizes.empty();
    for (std::size_t i = 0; i < n && joins; ++i) joins = strides[i].back() == view(i).strides[d] * size;
    if (joins)
      sizes.back() *= size;
    else
      sizes.push_back(size);
    for (std::size_t i = 0; i < n; ++i) {
      if (joins) strides[i].pop_back();
      strides[i].push_back(view(i).strides[d]);
    }
  }
  if (n > ElementLines::kOperands || sizes.size() < 2 || sizes.back() < kLeast || sizes.back() > kMost)
    return std::nullopt;
  ElementLines lines;
  lines.length = sizes.back(), sizes.pop_back();
  lines.together = sizes.back(), sizes.pop_back();
  lines.outer = std::move(sizes);
  for (std::size_t i = 0; i < n; ++i) {
    const auto item = static_cast<std::int64_t>(size_of(view(i).dtype));
    std::vector<std::int64_t>& s = strides[i];
    const bool spread = s.back() == 0;
    if (s.back() != 1 && !(spread && i < in.size())) return std::nullopt;
    for (std::int64_t& stride : s) stride *= item;
    s.pop_back();
    const std::int64_t apart = s.back();
    if (std::abs(apart) > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    s.pop_back();
    lines.operands.push_back({spread, apart, std::move(s)});
  }
  return lines;
}

}  // namespace shard::runtime
