// JSON in files: text to a tree of values. The parser is nlohmann's; what is stricter than JSON asks for stands here:
// no key twice, a bounded depth, errors that say which file part is damaged. Writing is plain string building where it
// is needed (lang::json_string).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shard::stdlib {

inline constexpr int kDeepestJson = 2048;

struct Json {
  using List = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, List, Object> value = nullptr;
  const Json* find(std::string_view key) const;
  const std::string* text() const { return std::get_if<std::string>(&value); }
  const List* list() const { return std::get_if<List>(&value); }
  const Object* object() const { return std::get_if<Object>(&value); }
  bool integer(std::int64_t& out) const;  // false where it is no whole number of 64 bits
  bool number(double& out) const;
};

// `what` begins the sentence of an error: "its JSON header". Throws RuntimeError("io").
Json parse_json(std::string_view text, std::string_view what);

}  // namespace shard::stdlib
