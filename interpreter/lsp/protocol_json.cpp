#include "interpreter/lsp/protocol_json.h"

namespace shard::lsp {

std::string object(std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  std::string out = "{";
  for (const auto& [name, value] : fields) {
    if (value.empty()) continue;
    ((((out += out.size() > 1 ? ",\"" : "\"") += name) += "\":") += value);
  }
  return out += '}';
}

std::string list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) (out += out.size() > 1 ? "," : "") += item;
  return out += ']';
}

std::string strings(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& t : texts) out.push_back(json_string(t));
  return list(out);
}

std::string number(std::int64_t n) { return std::to_string(n); }

std::string boolean(bool b) { return b ? "true" : "false"; }

std::optional<Json> find(const std::optional<Json>& in, std::initializer_list<std::string_view> path) {
  std::optional<Json> at = in;
  for (std::string_view name : path) at = at ? at->find(name) : std::nullopt;
  return at;
}

namespace {

[[noreturn]] void missing(std::initializer_list<std::string_view> path, const char* what) {
  std::string name = "params";
  for (std::string_view part : path) (name += '.') += part;
  throw Refused{kInvalidParams, name + " must be " + what};
}

}  // namespace

Json need(const std::optional<Json>& in, std::initializer_list<std::string_view> path) {
  const std::optional<Json> at = find(in, path);
  if (!at) missing(path, "there");
  return *at;
}

std::string need_text(const std::optional<Json>& in, std::initializer_list<std::string_view> path) {
  const std::optional<Json> at = find(in, path);
  const auto text = at ? at->text() : std::nullopt;
  if (!text) missing(path, "a string");
  return std::string(*text);
}

std::int64_t need_number(const std::optional<Json>& in, std::initializer_list<std::string_view> path) {
  const std::optional<Json> at = find(in, path);
  std::int64_t n = 0;
  if (!at || !at->integer(n)) missing(path, "a whole number");
  return n;
}

bool truth(const std::optional<Json>& in, std::initializer_list<std::string_view> path) {
  const std::optional<Json> at = find(in, path);
  return at && at->truth().value_or(false);
}

}  // namespace shard::lsp
