#include "stdlib/host/files/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/array/shape.h"

namespace shard::stdlib {

// Takes what nlohmann's parser finds, which does not recurse.
class JsonBuilder {
 public:
  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;
  using Kind = JsonDocument::Kind;

  explicit JsonBuilder(std::string_view what) : what_(what) {}
  JsonDocument take() { return std::move(made_); }

  bool null() { return put(Kind::Null, 0); }
  bool boolean(bool x) { return put(Kind::Bool, x); }
  bool number_integer(std::int64_t x) { return put(Kind::Int, static_cast<std::uint64_t>(x)); }
  bool number_unsigned(std::uint64_t x) {
    return put(x <= static_cast<std::uint64_t>(INT64_MAX) ? Kind::Int : Kind::Unsigned, x);
  }
  bool number_float(double x, const std::string&) {
    put(Kind::Float, 0);
    made_.nodes_.back().real = x;
    return true;
  }
  bool string(std::string& x) {
    count();
    return text(x);
  }
  bool binary(binary_t&) { return put(Kind::Null, 0); }
  bool start_object(std::size_t) { return open(Kind::Object); }
  bool start_array(std::size_t) { return open(Kind::List); }
  bool key(std::string& x) { return text(x); }
  bool end_object() {
    const std::size_t at = close();
    std::vector<std::string_view> names;
    for (const auto& [name, unused] : JsonFields(made_, at)) names.push_back(name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) bad("is ambiguous (the key \"" + std::string(twice->substr(0, 60)) + "\" stands twice)");
    return true;
  }
  bool end_array() {
    close();
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) {
    bad("is damaged at byte " + std::to_string(at));
  }

 private:
  static constexpr std::size_t kMostText = std::numeric_limits<std::uint32_t>::max();

  [[noreturn]] void bad(const std::string& how) const {
    throw runtime::RuntimeError("io", std::string(what_) + " " + how);
  }
  void count() {  // one more in the innermost container
    if (!open_.empty()) ++made_.nodes_[open_.back()].count;
  }
  bool put(Kind kind, std::uint64_t x) {
    count();
    JsonDocument::Node& n = made_.nodes_.emplace_back();
    n.kind = kind, n.whole = x;
    return true;
  }
  bool text(const std::string& x) {
    if (x.size() > kMostText) bad("holds a text that is too long");
    JsonDocument::Node& n = made_.nodes_.emplace_back();
    n.kind = Kind::Text, n.count = static_cast<std::uint32_t>(x.size()), n.whole = made_.texts_.size();
    made_.texts_ += x;
    return true;
  }
  bool open(Kind kind) {
    if (open_.size() >= static_cast<std::size_t>(kDeepestJson)) bad("is nested too deeply");
    put(kind, 0);
    open_.push_back(made_.nodes_.size() - 1);
    return true;
  }
  std::size_t close() {
    const std::size_t at = open_.back();
    open_.pop_back();
    made_.nodes_[at].whole = made_.nodes_.size();
    return at;
  }

  std::string_view what_;
  JsonDocument made_;
  std::vector<std::size_t> open_;
};

bool Json::null() const { return of_->nodes_[at_].kind == JsonDocument::Kind::Null; }

std::optional<bool> Json::truth() const {
  const auto& n = of_->nodes_[at_];
  return n.kind == JsonDocument::Kind::Bool ? std::optional(n.whole != 0) : std::nullopt;
}

std::optional<std::string_view> Json::text() const {
  const auto& n = of_->nodes_[at_];
  return n.kind == JsonDocument::Kind::Text ? std::optional(of_->text_of(n)) : std::nullopt;
}

JsonItems Json::list() const {
  return of_->nodes_[at_].kind == JsonDocument::Kind::List ? JsonItems(*of_, at_) : JsonItems();
}

JsonFields Json::object() const {
  return of_->nodes_[at_].kind == JsonDocument::Kind::Object ? JsonFields(*of_, at_) : JsonFields();
}

std::optional<Json> Json::find(std::string_view key) const {
  for (const auto& [name, value] : object())
    if (name == key) return value;
  return std::nullopt;
}

bool Json::integer(std::int64_t& out) const {
  const auto& n = of_->nodes_[at_];
  if (n.kind == JsonDocument::Kind::Int) out = n.integer;
  return n.kind == JsonDocument::Kind::Int;
}

bool Json::number(double& out) const {
  const auto& n = of_->nodes_[at_];
  switch (n.kind) {
    case JsonDocument::Kind::Float: out = n.real; return true;
    case JsonDocument::Kind::Int: out = static_cast<double>(n.integer); return true;
    case JsonDocument::Kind::Unsigned: out = static_cast<double>(n.whole); return true;
    default: return false;
  }
}

JsonDocument parse_json(std::string_view text, std::string_view what) {
  JsonBuilder builder(what);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace shard::stdlib
