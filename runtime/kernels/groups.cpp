#include "runtime/kernels/groups.h"

#include <algorithm>
#include <numeric>

namespace shard::runtime {

std::shared_ptr<const Groups> Groups::of(const Nest<1>& nest, std::size_t item) {
  constexpr std::int64_t kMost = 64, kLeastGroups = 16, kVectors = 4;  // elements of a group; a round's, at least
  const std::int64_t lanes = vector_table().group_lanes;
  if (item != sizeof(std::uint32_t) || lanes == 0) return nullptr;
  std::int64_t n = 1;
  int outer = nest.rank;
  while (outer > 0 && n * nest.size[outer - 1] <= kMost) n *= nest.size[--outer];
  if (n == 1 || outer == 0 || nest.size[outer - 1] < kLeastGroups) return nullptr;
  const std::int64_t line = nest.stride[0][outer - 1];
  if (line == 0) return nullptr;  // one group, as often: copies
  auto made = std::make_shared<Groups>();
  std::vector<std::int64_t> offsets;
  Nest<1> inner;
  for (int d = outer; d < nest.rank; ++d) inner.add(nest.size[d], {nest.stride[0][d]});
  Position<1> at(inner, inner.rank, 0);
  for (std::int64_t i = 0; i < n; ++i, at.next()) offsets.push_back(at.offset[0]);
  std::int64_t round = lanes / std::gcd(lanes, n), most = 0, farthest = 0;
  while (round * n < kVectors * lanes && 2 * round <= nest.size[outer - 1]) round *= 2;
  for (std::int64_t begin = 0; begin < round * n; begin += lanes) {
    const auto place = [&](std::int64_t i) { return i / n * line + offsets[static_cast<std::size_t>(i % n)]; };
    GroupVector v{place(begin), {}};
    std::int64_t high = v.low;
    for (std::int64_t i = begin; i < begin + lanes; ++i)
      v.low = std::min(v.low, place(i)), high = std::max(high, place(i));
    if (high - v.low >= 2 * lanes) return nullptr;
    most = std::max(most, v.low), farthest = std::max(farthest, high - v.low);
    for (std::int64_t l = 0; l < lanes; ++l) v.lanes[l] = static_cast<std::int32_t>(place(begin + l) - v.low);
    made->vectors_.push_back(v);
  }
  const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  made->it_ = {n, line, *low, *high, round, made->vectors_.data(), most, farthest < lanes};
  made->outer_ = outer;
  return made;
}

}  // namespace shard::runtime
