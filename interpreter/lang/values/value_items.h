// What values that are no lists consist of when they are gone through: the characters of a string, the fields of a
// record, the entries of a spec.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/lang/values/value.h"

namespace shard::lang {

// Code points of a UTF-8 string; broken bytes count one each.
std::vector<std::string> code_points(std::string_view s);
// An entry of a spec: an axis, or none where nothing splits the dimension (or the partitioner may).
Value entry_of(const SpecEntry& entry);
// Of a record pairs (name, value), of a string its characters, of a spec its entries; nothing of any other value.
std::optional<std::vector<Value>> parts_of(const Value& v);

}  // namespace shard::lang
