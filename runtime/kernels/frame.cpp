#include "runtime/kernels/frame.h"

#include <cstddef>
#include <utility>

#include "runtime/kernels/kernels.h"

namespace shard::runtime {

void copy_around(View in, View out, const Shape& begin, const Shape& inner) {
  // [from, from + count) of dimension d.
  const auto narrow = [](View& v, std::size_t d, std::int64_t from, std::int64_t count) {
    v.data = v.as<unsigned char>() + from * v.strides[d] * static_cast<std::int64_t>(size_of(v.dtype));
    v.shape[d] = count;
  };
  for (std::size_t d = 0; d < out.shape.size(); ++d) {
    const std::int64_t behind = begin[d] + inner[d];
    for (const auto& [from, count] : {std::pair{std::int64_t{0}, begin[d]}, std::pair{behind, out.shape[d] - behind}}) {
      if (count == 0) continue;
      View some = in, to = out;
      narrow(some, d, from, count);
      narrow(to, d, from, count);
      copy(some, to);
    }
    narrow(in, d, begin[d], inner[d]);
    narrow(out, d, begin[d], inner[d]);
  }
}

}  // namespace shard::runtime
