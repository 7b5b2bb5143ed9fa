// What differs between two texts, line by line, as `diff -u` writes it.
#pragma once
#include <string>
#include <string_view>

namespace shard::cli {

// Empty where nothing differs. Three lines stand around each change.
std::string difference(const std::string& name, std::string_view before, std::string_view after);

}  // namespace shard::cli
