// Groups of few elements of four bytes, which a broadcast or a permutation of short dimensions reads in an order of its
// own: all groups in the same one, so that vectors of them are shuffles of what lies there.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/kernels/nest.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

class Groups {
 public:
  Groups() = default;
  Groups(const Groups&) = delete;  // it points into itself
  // Of the innermost dimensions of a nest; null where they are no groups that vectors suit.
  static std::shared_ptr<const Groups> of(const Nest<1>& nest, std::size_t item);

  // Elements [from, to) of the array `in`, in order; both ends of groups.
  void bring(const Nest<1>& nest, const std::uint32_t* in, std::int64_t from, std::int64_t to,
             std::uint32_t* out) const {
    each_stretch(nest, outer_, from / it_.n, to / it_.n, [&](const auto& offset, std::int64_t groups) {
      vector_table().short_groups(it_, in + offset[0], out, groups);
      out += groups * it_.n;
    });
  }
  std::int64_t elements() const { return it_.n; }

 private:
  ShortGroups it_{};
  std::vector<GroupVector> vectors_;
  int outer_ = 0;  // dimensions of groups
};

}  // namespace shard::runtime
