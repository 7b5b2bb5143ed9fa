// Sizes of dimensions, and arithmetic on them that is checked: sizes come from scripts and files and are hostile until
// checked.
#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace shard::runtime {

using Shape = std::vector<std::int64_t>;  // every size >= 0

// Sizes that only data say are multiples of this where nothing is run: no real array has them, and every mesh divides
// them.
inline constexpr std::int64_t kUnknownSize = (std::int64_t{1} << 22) * 315;
inline bool is_unknown_size(std::int64_t n) { return n >= kUnknownSize; }
using Strides = std::vector<std::int64_t>;  // in elements, row-major unless said otherwise
inline constexpr int kMaxRank = 16;
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 38;  // 256 GiB: no array of a script is larger

// What the runtime throws for bad sizes, bad files and exhausted memory; it knows no spans, the interpreter adds them.
class RuntimeError : public std::runtime_error {
 public:
  RuntimeError(std::string code_, const std::string& message) : std::runtime_error(message), code(std::move(code_)) {}
  std::string code;
};

std::int64_t numel(const Shape& shape);  // throws RuntimeError("shape") on overflow or a negative size
// Of an array that need not exist: throws where 64 bits do not count them, or beyond kMaxRank dimensions.
std::int64_t bytes_of(const Shape& shape, std::size_t item);
// Of an array that shall exist: throws beyond kMaxBytes, naming the shape and the bytes.
std::int64_t checked_bytes(const Shape& shape, std::size_t item);
Strides row_major(const Shape& shape);
std::optional<Shape> broadcast(const Shape& a, const Shape& b);  // NumPy's rule; nullopt where they do not match
// By dimension of `to` the ones of `from` that were merged to it, none for one of size 1; empty where that is no merge.
std::vector<Shape> merged_of(const Shape& from, const Shape& to);
std::string to_string(const Shape& shape);  // "(2, 3)", "(512)", "()"

}  // namespace shard::runtime
