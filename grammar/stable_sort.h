#pragma once
// A stable sort of a vector, for lists that are short and sorted seldom: std::stable_sort is 2 KB of code for each
// element type and comparison, this is compiled once.
#include <cstddef>
#include <utility>
#include <vector>

namespace shard {

// Positions of n things in their order; before(of, a, b) says whether the thing at a comes before that at b.
std::vector<std::size_t> stable_order(std::size_t n, const void* of,
                                      bool (*before)(const void* of, std::size_t a, std::size_t b));

template <class T, class Before>
void stable_sort(std::vector<T>& things, const Before& before) {
  const std::pair<const std::vector<T>&, const Before&> both(things, before);
  const auto order = stable_order(things.size(), &both, [](const void* of, std::size_t a, std::size_t b) -> bool {
    const auto& [all, compare] = *static_cast<const decltype(both)*>(of);
    return compare(all[a], all[b]);
  });
  std::vector<T> sorted;
  sorted.reserve(things.size());
  for (std::size_t i : order) sorted.push_back(std::move(things[i]));
  things = std::move(sorted);
}

}  // namespace shard
