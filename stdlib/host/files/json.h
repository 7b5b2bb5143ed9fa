// JSON in files: text to a document of values. The parser is nlohmann's; what is stricter than JSON asks for stands
// here: no key twice, a bounded depth, errors that say which file part is damaged. A document takes 16 bytes a value
// and its text: hostile headers are made of many tiny ones. Writing is plain string building where it is needed
// (lang::json_string).
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace shard::stdlib {

inline constexpr int kDeepestJson = 2048;

class JsonDocument;
struct JsonItem;
struct JsonField;
template <class Item>
class JsonRange;
using JsonItems = JsonRange<JsonItem>;
using JsonFields = JsonRange<JsonField>;

// A value of a document, which outlives it. What it is not, it does not give.
class Json {
 public:
  Json(const JsonDocument& of, std::size_t at) : of_(&of), at_(at) {}
  bool null() const;
  std::optional<bool> truth() const;
  std::optional<std::string_view> text() const;
  JsonItems list() const;
  JsonFields object() const;
  std::optional<Json> find(std::string_view key) const;  // of an object
  bool integer(std::int64_t& out) const;                 // false where it is no whole number of 64 bits
  bool number(double& out) const;

 private:
  const JsonDocument* of_;
  std::size_t at_;
};

// `what` begins the sentence of an error: "its JSON header". Throws RuntimeError("io").
JsonDocument parse_json(std::string_view text, std::string_view what);

class JsonDocument {
 public:
  Json root() const { return {*this, 0}; }

 private:
  friend class Json;
  template <class Item>
  friend class JsonRange;
  friend struct JsonField;
  friend class JsonBuilder;
  enum class Kind : std::uint8_t { Null, Bool, Int, Unsigned, Float, Text, List, Object };
  // Containers lie in front of what they hold; of an object a text and a value for each field.
  struct Node {
    Kind kind;
    std::uint32_t count = 0;  // bytes of a text, items of a container
    union {
      std::int64_t integer;
      std::uint64_t whole;  // also: where a text begins, or the node behind a container
      double real;
    };
  };
  std::size_t behind(std::size_t at) const {
    const Node& n = nodes_[at];
    return n.kind >= Kind::List ? static_cast<std::size_t>(n.whole) : at + 1;
  }
  std::string_view text_of(const Node& n) const {
    return std::string_view(texts_).substr(static_cast<std::size_t>(n.whole), n.count);
  }
  std::deque<Node> nodes_;
  std::string texts_;
};

// What a list or an object holds, from front to back; false, and empty, of what is none.
template <class Item>
class JsonRange {
 public:
  class Iterator {
   public:
    Iterator(const JsonDocument* of, std::size_t at) : of_(of), at_(at) {}
    Item operator*() const { return Item::at(*of_, at_); }
    Iterator& operator++() {
      at_ = of_->behind(Item::value_at(at_));
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const JsonDocument* of_;
    std::size_t at_;
  };
  JsonRange() = default;
  JsonRange(const JsonDocument& of, std::size_t container)
      : of_(&of), at_(container + 1), end_(of.behind(container)), size_(of.nodes_[container].count) {}
  explicit operator bool() const { return of_ != nullptr; }
  std::size_t size() const { return size_; }
  Iterator begin() const { return {of_, at_}; }
  Iterator end() const { return {of_, end_}; }
  Item first() const { return *begin(); }  // of one that is not empty
  Item second() const { return *++begin(); }

 private:
  const JsonDocument* of_ = nullptr;
  std::size_t at_ = 0, end_ = 0, size_ = 0;
};

struct JsonItem : Json {
  static JsonItem at(const JsonDocument& of, std::size_t at) { return {Json(of, at)}; }
  static std::size_t value_at(std::size_t at) { return at; }
};

struct JsonField {
  std::string_view key;
  Json value;
  static JsonField at(const JsonDocument& of, std::size_t at) { return {of.text_of(of.nodes_[at]), Json(of, at + 1)}; }
  static std::size_t value_at(std::size_t at) { return at + 1; }
};

}  // namespace shard::stdlib
