#include "grammar/stable_sort.h"

#include <algorithm>
#include <numeric>

namespace shard {

std::vector<std::size_t> stable_order(std::size_t n, const void* of,
                                      bool (*before)(const void* of, std::size_t a, std::size_t b)) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return before(of, a, b); });
  return order;
}

}  // namespace shard
