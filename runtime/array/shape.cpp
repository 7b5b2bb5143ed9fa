// Checked arithmetic on sizes, NumPy's broadcasting rule, and shapes as text.
#include "runtime/array/shape.h"

#include <algorithm>

namespace shard::runtime {

std::int64_t numel(const Shape& shape) {
  bool zero = false, overflow = false;
  std::int64_t n = 1;
  for (const std::int64_t d : shape) {
    if (d < 0) throw RuntimeError("shape", "a size is negative in the shape " + to_string(shape));
    if (d == 0)
      zero = true;
    else if (__builtin_mul_overflow(n, d, &n)) {
      overflow = true;
      n = 1;
    }
  }
  if (zero) return 0;
  if (overflow) throw RuntimeError("shape", "the shape " + to_string(shape) + " has more elements than 64 bits count");
  return n;
}

std::int64_t bytes_of(const Shape& shape, std::size_t item) {
  if (shape.size() > static_cast<std::size_t>(kMaxRank))
    throw RuntimeError("shape", "an array has at most " + std::to_string(kMaxRank) +
                                    " dimensions, this one would have " + std::to_string(shape.size()));
  const std::int64_t n = numel(shape);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(n, static_cast<std::int64_t>(item), &bytes))
    throw RuntimeError("memory", "an array of shape " + to_string(shape) + " needs more bytes than 64 bits count");
  return bytes;
}

std::int64_t checked_bytes(const Shape& shape, std::size_t item) {
  const std::int64_t bytes = bytes_of(shape, item);
  if (bytes > kMaxBytes)
    throw RuntimeError("memory", "an array of shape " + to_string(shape) + " needs " + std::to_string(bytes) +
                                     " bytes, more than the largest array may have (" + std::to_string(kMaxBytes) +
                                     ")");
  return bytes;
}

Strides row_major(const Shape& shape) {
  Strides strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(shape[i], 1), &step))
      step = 0;  // numel() refuses such a shape
  }
  return strides;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const std::size_t skip = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& d = out[skip + i];
    if (d == shorter[i] || shorter[i] == 1) continue;
    if (d != 1) return std::nullopt;
    d = shorter[i];
  }
  return out;
}

std::vector<Shape> merged_of(const Shape& from, const Shape& to) {
  std::vector<Shape> out;
  std::size_t next = 0;
  for (const std::int64_t n : to) {
    Shape& part = out.emplace_back();
    std::int64_t product = 1;
    for (; product < n && next < from.size(); ++next) product *= from[next], part.push_back(from[next]);
    if (product != n) return {};
  }
  return next == from.size() ? out : std::vector<Shape>();
}

std::string to_string(const Shape& shape) {
  std::string s = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + ")";
}

}  // namespace shard::runtime
