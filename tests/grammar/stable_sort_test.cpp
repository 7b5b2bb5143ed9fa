#include "grammar/stable_sort.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

using shard::stable_sort;

TEST_CASE("what compares equal keeps its order, and things are moved, not copied") {
  std::vector<std::pair<int, std::unique_ptr<std::string>>> things;
  for (const char* word : {"3c", "1a", "2b", "1z", "3a", "1b"})
    things.emplace_back(word[0] - '0', std::make_unique<std::string>(word));
  stable_sort(things, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string words;
  for (const auto& [number, word] : things) words += *word + ' ';
  CHECK(words == "1a 1z 1b 2b 3c 3a ");
}

TEST_CASE("nothing and one thing are in order") {
  std::vector<int> none, one = {4};
  const auto greater = [](int a, int b) { return a > b; };
  stable_sort(none, greater);
  stable_sort(one, greater);
  CHECK(none.empty());
  CHECK(one == std::vector<int>{4});
}
