// Names and numbers in sentences.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace shard::lang {

std::string joined(const std::vector<std::string>& names);  // "a, b, c"; "none" where there is none
std::string listed_fields(std::vector<std::string> names);  // of many (a module has dozens) the first
std::string counted(std::int64_t n);                        // "1,048,576"

}  // namespace shard::lang
