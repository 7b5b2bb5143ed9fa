// Attributes of an operation: a small record of named constants, equal and hashed by value, printed as scripts write
// them. Three laws make attributes hold at every level (global, local to a device, batched), so that no pass needs to
// know an operation:
//  1. axes count from the end (negative), lists for dimensions cover the *last* dimensions; further leading dimensions
//  pass through;
//  2. an attribute called `shape` is the shape of the (first) result: the partitioner puts the local shape in its
//  place;
//  3. a dimension that is taken whole is said by kWhole, not by its size.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/array/dtype.h"
#include "runtime/mesh/type.h"

namespace shard::ir {

using runtime::mix;

inline constexpr std::int64_t kWhole = INT64_MAX;

struct Layout {  // a spec that has met its mesh
  runtime::MeshRef mesh;
  runtime::Sharding sharding;
};
bool operator==(const Layout& a, const Layout& b);

struct Why;    // ir/why.h
struct Note {  // what people are told of a node, and no part of it: all are equal, and none is printed
  std::shared_ptr<const Why> why;
  bool operator==(const Note&) const { return true; }
};

using Ints = std::vector<std::int64_t>;
using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
using AttrVariant = std::variant<std::monostate, bool, std::int64_t, double, std::string, Ints, Pairs, runtime::DType,
                                 Layout, std::vector<std::string>, Note>;
struct AttrValue : AttrVariant {  // whose copies are made in one place (attrs.cpp), not in each file that has some
  using AttrVariant::AttrVariant;
  AttrValue();
  AttrValue(const AttrValue&);
  AttrValue(AttrValue&&) noexcept;
  AttrValue& operator=(const AttrValue&);
  AttrValue& operator=(AttrValue&&) noexcept;
  ~AttrValue();
};

class Attrs {
 public:
  struct Item {
    std::string_view name;
    AttrValue value;
  };
  Attrs() = default;
  Attrs(std::initializer_list<Item> items);
  void set(std::string_view name, AttrValue value);  // keeps the order of first setting
  void erase(std::string_view name);
  const AttrValue* find(std::string_view name) const;
  template <class T>
  const T* get(std::string_view name) const {  // null where it is missing or of another kind
    const AttrValue* v = find(name);
    return v ? std::get_if<T>(v) : nullptr;
  }
  bool has(std::string_view name) const;   // present and not none (monostate)
  bool says(std::string_view name) const;  // present and true
  runtime::AxisSet axes() const;           // what `axes` lists
  // Typed access; a missing name or another kind is a defect of a row and throws std::logic_error naming it.
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;  // an integer too
  const std::string& text(std::string_view name) const;
  const Ints& ints(std::string_view name) const;
  const Pairs& pairs(std::string_view name) const;
  runtime::DType dtype(std::string_view name) const;
  const Layout& layout(std::string_view name) const;
  bool empty() const { return !items_ || items_->empty(); }
  const auto* begin() const { return items_ ? items_->data() : nullptr; }
  const auto* end() const { return items_ ? items_->data() + items_->size() : nullptr; }
  bool operator==(const Attrs& other) const;

 private:
  using Items = std::vector<std::pair<std::string, AttrValue>>;
  const AttrValue& need(std::string_view name) const;
  Items& own();
  std::shared_ptr<Items> items_;  // shared by copies until one of them is changed: passes copy nodes and change few
};

// Of a `shard` at the border between code whose axes have other kinds (`auto fn`, `explicit fn`): the value comes from
// `from`. Without it both sides are typed by one mesh.
Attrs crossing(Layout to, runtime::MeshRef from);
inline constexpr const char* kFrom = "from";

std::size_t hash(const Attrs& attrs);
std::string to_string(const AttrValue& value);
std::string to_string(const Attrs& attrs);  // "axes: [-1], keepdims: false"

}  // namespace shard::ir
