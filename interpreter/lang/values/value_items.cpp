#include "interpreter/lang/values/value_items.h"

#include "grammar/characters.h"

namespace shard::lang {

std::vector<std::string> code_points(std::string_view s) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t n = grammar::character_bytes(s, i);
    out.emplace_back(s.substr(i, n));
    i += n;
  }
  return out;
}

Value entry_of(const SpecEntry& entry) {
  if (entry.axes.empty()) return {};
  return Value(std::shared_ptr<const Axis>(std::make_shared<Axis>(Axis{entry.axes})));
}

std::optional<std::vector<Value>> parts_of(const Value& v) {
  std::vector<Value> out;
  if (const Record* r = v.fields()) {
    for (const auto& [name, field] : r->fields) out.push_back(Value::tuple({Value::string(name), field}));
  } else if (v.is_string()) {
    for (std::string& c : code_points(v.str())) out.push_back(Value::string(std::move(c)));
  } else if (auto* s = v.get<std::shared_ptr<const Spec>>()) {
    for (const SpecEntry& entry : (*s)->dims) out.push_back(entry_of(entry));
  } else {
    return std::nullopt;
  }
  return out;
}

}  // namespace shard::lang
