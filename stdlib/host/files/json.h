// A strict reader of JSON for the headers of files: no comments, no duplicate keys, at most 64 levels deep. Writing is
// plain string building where it is needed (lang::json_string).
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shard::stdlib {

struct Json {
  using List = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;
  std::variant<std::nullptr_t, bool, std::string, List, Object> value = nullptr;
  bool number = false;  // then `value` is the number's text
  const Json* find(std::string_view key) const;
  const std::string* text() const { return number ? nullptr : std::get_if<std::string>(&value); }
  const List* list() const { return std::get_if<List>(&value); }
  const Object* object() const { return std::get_if<Object>(&value); }
  bool integer(std::int64_t& out) const;  // false where it is no whole number of 64 bits
};

Json parse_json(std::string_view text);  // throws RuntimeError("io")

}  // namespace shard::stdlib
