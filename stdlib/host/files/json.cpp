#include "stdlib/host/files/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/array/shape.h"

namespace shard::stdlib {
namespace {

// Takes what nlohmann's parser finds, which does not recurse, and builds the tree on a stack of its own.
class JsonBuilder {
 public:
  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  explicit JsonBuilder(std::string_view what) : what_(what) {}
  Json take() { return std::move(root_); }

  bool null() { return put(nullptr); }
  bool boolean(bool x) { return put(x); }
  bool number_integer(std::int64_t x) { return put(x); }
  bool number_unsigned(std::uint64_t x) {
    return x <= static_cast<std::uint64_t>(INT64_MAX) ? put(static_cast<std::int64_t>(x)) : put(x);
  }
  bool number_float(double x, const std::string&) { return put(x); }
  bool string(std::string& x) { return put(std::move(x)); }
  bool binary(binary_t&) { return put(nullptr); }
  bool start_object(std::size_t) { return open(Json::Object()); }
  bool start_array(std::size_t) { return open(Json::List()); }
  bool key(std::string& x) {
    keys_.push_back(std::move(x));
    return true;
  }
  bool end_object() {
    std::vector<std::string_view> names;
    for (const auto& field : std::get<Json::Object>(open_.back()->value)) names.push_back(field.first);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) bad("is ambiguous (the key \"" + std::string(twice->substr(0, 60)) + "\" stands twice)");
    open_.pop_back();
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) {
    bad("is damaged at byte " + std::to_string(at));
  }

 private:
  [[noreturn]] void bad(const std::string& how) const {
    throw runtime::RuntimeError("io", std::string(what_) + " " + how);
  }

  template <class T>
  bool put(T x) {
    place() = Json{std::move(x)};
    return true;
  }
  template <class T>
  bool open(T x) {
    if (open_.size() >= static_cast<std::size_t>(kDeepestJson)) bad("is nested too deeply");
    Json& here = place();
    here.value = std::move(x);
    open_.push_back(&here);  // stays where it is: only the innermost container grows
    return true;
  }
  Json& place() {
    if (open_.empty()) return root_;
    if (auto* list = std::get_if<Json::List>(&open_.back()->value)) return list->emplace_back();
    auto& object = std::get<Json::Object>(open_.back()->value);
    object.emplace_back(std::move(keys_.back()), Json());
    keys_.pop_back();
    return object.back().second;
  }

  std::string_view what_;
  Json root_;
  std::vector<Json*> open_;
  std::vector<std::string> keys_;
};

}  // namespace

const Json* Json::find(std::string_view key) const {
  if (const Object* o = object())
    for (const auto& f : *o)
      if (f.first == key) return &f.second;
  return nullptr;
}

bool Json::integer(std::int64_t& out) const {
  const auto* x = std::get_if<std::int64_t>(&value);
  if (x) out = *x;
  return x != nullptr;
}

bool Json::number(double& out) const {
  if (const auto* x = std::get_if<double>(&value)) return out = *x, true;
  if (const auto* x = std::get_if<std::int64_t>(&value)) return out = static_cast<double>(*x), true;
  if (const auto* x = std::get_if<std::uint64_t>(&value)) return out = static_cast<double>(*x), true;
  return false;
}

Json parse_json(std::string_view text, std::string_view what) {
  JsonBuilder builder(what);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace shard::stdlib
