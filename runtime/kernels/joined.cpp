#include "runtime/kernels/joined.h"

#include <algorithm>
#include <numeric>

#include "runtime/kernels/spread.h"

namespace shard::runtime {

std::optional<JoinedLines> JoinedLines::of(const View& first, const View& second, const View& out, std::size_t axis) {
  constexpr std::int64_t kLongest = 32, kLeastLines = 64;
  const std::int64_t lanes = vector_table().group_lanes;
  const bool dense = is_contiguous(first) && is_contiguous(second) && is_contiguous(out);
  if (lanes == 0 || !dense || size_of(out.dtype) != sizeof(std::uint32_t)) return std::nullopt;
  const auto line = [&](const View& v) {
    return numel(Shape(v.shape.begin() + static_cast<std::ptrdiff_t>(axis), v.shape.end()));
  };
  JoinedLines made;
  made.first_ = line(first), made.second_ = line(second);
  const std::int64_t n = made.first_ + made.second_;
  if (made.first_ == 0 || made.second_ == 0 || n > kLongest) return std::nullopt;
  made.lines_ = numel(out.shape) / n;
  if (made.lines_ < kLeastLines) return std::nullopt;
  made.round_ = lanes / std::gcd(lanes, n);
  std::int64_t x = 0, y = 0;  // taken of both
  for (std::int64_t begin = 0; begin < made.round_ * n; begin += lanes) {
    JoinedVector v{x, y, {}};
    for (std::int64_t l = 0; l < lanes; ++l)
      v.lanes[l] = static_cast<std::int32_t>((begin + l) % n < made.first_ ? x++ - v.first : lanes + y++ - v.second);
    made.vectors_.push_back(v);
  }
  return made;
}

void JoinedLines::run(const void* first, const void* second, void* out) const {
  constexpr std::int64_t kPiece = 1 << 14;  // elements
  const std::int64_t n = first_ + second_, rounds = (lines_ + round_ - 1) / round_;
  spread(rounds, std::max<std::int64_t>(1, kPiece / (round_ * n)), [&](std::int64_t lo, std::int64_t hi) {
    const std::int64_t from = lo * round_;
    vector_table().joined_lines({first_, second_, round_, lines_ - from, vectors_.data()},
                                static_cast<const std::uint32_t*>(first) + from * first_,
                                static_cast<const std::uint32_t*>(second) + from * second_,
                                static_cast<std::uint32_t*>(out) + from * n, std::min(hi * round_, lines_) - from);
  });
}

}  // namespace shard::runtime
