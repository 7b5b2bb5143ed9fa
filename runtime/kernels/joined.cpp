#include "runtime/kernels/joined.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "runtime/kernels/spread.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kLongestLine = 32, kLeastLines = 64;

std::int64_t from_axis(const Shape& shape, std::size_t axis) {  // elements of a line
  return numel(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end()));
}

}  // namespace

std::optional<JoinedLines> JoinedLines::of_lines(const std::vector<From>& line, bool all_alike, const View& out) {
  const std::int64_t lanes = vector_table().group_lanes;
  JoinedLines made;
  made.n_ = static_cast<std::int64_t>(line.size());
  made.lines_ = numel(out.shape) / made.n_;
  if (lanes == 0 || made.lines_ < kLeastLines || !is_contiguous(out) || size_of(out.dtype) != sizeof(std::uint32_t))
    return std::nullopt;
  made.first_ = std::count(line.begin(), line.end(), kFirst);
  made.second_ = all_alike ? 0 : made.n_ - made.first_;
  if (made.first_ == 0 || made.first_ == made.n_) return std::nullopt;
  made.all_alike_ = all_alike;
  made.round_ = lanes / std::gcd(lanes, made.n_);
  std::int64_t x = 0, y = 0;  // taken of both
  for (std::int64_t begin = 0; begin < made.round_ * made.n_; begin += lanes) {
    JoinedVector v{x, y, {}};
    for (std::int64_t l = 0; l < lanes; ++l) {
      const bool second = line[static_cast<std::size_t>((begin + l) % made.n_)] == kSecond;
      v.lanes[l] = static_cast<std::int32_t>(!second ? x++ - v.first : all_alike ? lanes : lanes + y++ - v.second);
    }
    made.vectors_.push_back(v);
  }
  return made;
}

std::optional<JoinedLines> JoinedLines::of(const View& first, const View& second, const View& out, std::size_t axis) {
  const bool swapped = all_alike(first), alike = swapped || all_alike(second);
  if (!is_contiguous(swapped ? second : first) || (!alike && !is_contiguous(second)) ||
      from_axis(out.shape, axis) > kLongestLine || numel(out.shape) == 0)
    return std::nullopt;
  std::vector<From> line(static_cast<std::size_t>(from_axis(first.shape, axis)), swapped ? kSecond : kFirst);
  line.resize(static_cast<std::size_t>(from_axis(out.shape, axis)), swapped ? kFirst : kSecond);
  auto made = of_lines(line, alike, out);
  if (made) made->swapped_ = swapped;
  return made;
}

std::optional<JoinedLines> JoinedLines::padded(const View& x, std::int64_t low, std::int64_t high, const View& out,
                                               std::size_t axis) {
  if (!is_contiguous(x) || from_axis(out.shape, axis) > kLongestLine || numel(out.shape) == 0) return std::nullopt;
  const std::int64_t place = from_axis(x.shape, axis + 1);
  std::vector<From> line;
  for (const auto& [elements, from] :
       {std::pair{low * place, kSecond}, {x.shape[axis] * place, kFirst}, {high * place, kSecond}})
    line.insert(line.end(), static_cast<std::size_t>(elements), from);
  return of_lines(line, true, out);
}

void JoinedLines::run(const void* first, const void* second, void* out) const {
  constexpr std::int64_t kPiece = 1 << 14;  // elements
  if (swapped_) std::swap(first, second);
  const auto *x = static_cast<const std::uint32_t*>(first), *y = static_cast<const std::uint32_t*>(second);
  std::array<std::uint32_t, 16> alike;
  if (all_alike_) alike.fill(*y), y = alike.data();
  const std::int64_t rounds = (lines_ + round_ - 1) / round_;
  spread(rounds, std::max<std::int64_t>(1, kPiece / (round_ * n_)), [&](std::int64_t lo, std::int64_t hi) {
    const std::int64_t from = lo * round_, there = lines_ - from;
    const auto other_end = all_alike_ ? static_cast<std::int64_t>(alike.size()) : there * second_;
    vector_table().joined_lines({n_, first_, second_, round_, there * first_, other_end, vectors_.data()},
                                x + from * first_, y + from * second_, static_cast<std::uint32_t*>(out) + from * n_,
                                std::min(hi * round_, lines_) - from);
  });
}

}  // namespace shard::runtime
