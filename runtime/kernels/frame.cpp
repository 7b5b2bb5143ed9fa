#include "runtime/kernels/frame.h"

#include <cstddef>
#include <utility>

#include "runtime/kernels/kernels.h"

namespace shard::runtime {

std::vector<Block> around(const Shape& whole, const Shape& begin, const Shape& inner) {
  std::vector<Block> all;
  Block left{Shape(whole.size(), 0), whole};
  for (std::size_t d = 0; d < whole.size(); ++d) {
    const std::int64_t behind = begin[d] + inner[d];
    for (const auto& [from, count] : {std::pair{std::int64_t{0}, begin[d]}, std::pair{behind, whole[d] - behind}}) {
      if (count == 0) continue;
      Block& some = all.emplace_back(left);
      some.begin[d] = from, some.shape[d] = count;
    }
    left.begin[d] = begin[d], left.shape[d] = inner[d];
  }
  return all;
}

std::int64_t first_element(const Block& block, const View& of) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < block.begin.size(); ++d) at += block.begin[d] * of.strides[d];
  return at;
}

void copy_around(View in, View out, const Shape& begin, const Shape& inner) {
  const auto part = [](const View& v, const Block& block) {
    void* const first = v.as<unsigned char>() + first_element(block, v) * static_cast<std::int64_t>(size_of(v.dtype));
    return View{v.dtype, block.shape, v.strides, first};
  };
  for (const Block& block : around(out.shape, begin, inner)) copy(part(in, block), part(out, block));
}

}  // namespace shard::runtime
