// Names in sentences.
#pragma once
#include <string>
#include <vector>

namespace shard::lang {

std::string joined(const std::vector<std::string>& names);  // "a, b, c"; "none" where there is none
std::string listed_fields(std::vector<std::string> names);  // of many (a module has dozens) the first

}  // namespace shard::lang
