// Trees: lists, tuples and records hold leaves; none is an empty tree. The one protocol of all that sends arrays of a
// value through a graph: take leaves out in order, keep what holds them, and put others in their places.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grammar/characters.h"
#include "interpreter/lang/values/value.h"

namespace shard::lang {

std::vector<Value> leaves(const Value& tree);
Value with_leaves(const Value& tree, std::vector<Value> leaves);  // the same structure with new leaves
bool same_structure(const Value& a, const Value& b);
// The paths of the leaves, in order: fields and indices joined by dots, "layers.0.w", as model hubs name arrays; ""
// where the tree is a leaf. Two that would be the same, of {"a.b": x, a: {b: y}}, are told apart: "a%2Eb" and "a.b".
std::vector<std::string> leaf_paths(const Value& tree);
std::string below(const std::string& root, const std::string& path);  // "p" and "layers.0.w" are "p.layers.0.w"
// What stands in `tree` where `prefix` has its leaves; nothing where `prefix` is not a prefix of it.
std::optional<std::vector<Value>> parts_under(const Value& prefix, const Value& tree);
std::string structure(const Value& tree);  // "{w: *, b: *}" for messages and keys
// A list, tuple or record as it is written, of what stands in its brackets; and of what `text` says of its children.
std::string bracketed(const Value& container, const std::string& inside);
template <class F>
std::string bracketed(const Value& container, const F& text) {
  if (const Record* r = container.fields())
    return bracketed(container, grammar::separated(r->fields, ", ", [&](const auto& f) -> std::string {
                       return f.first + ": " + text(f.second);
                     }));
  return bracketed(container, grammar::separated(*container.items(), ", ", text));
}

template <class F>
Value map_leaves(const Value& tree, F f) {
  std::vector<Value> all = leaves(tree);
  for (Value& leaf : all) leaf = f(leaf);
  return with_leaves(tree, std::move(all));
}

// A tree some of whose leaves were taken out: each has a place among what `filled` is given. The others stay.
class TreeStructure {
 public:
  TreeStructure() = default;
  explicit TreeStructure(Value tree)
      : tree_(std::move(tree)), leaves_(lang::leaves(tree_)), place_(leaves_.size(), -1) {}

  const Value& tree() const { return tree_; }
  std::size_t size() const { return leaves_.size(); }
  const Value& leaf(std::size_t i) const { return leaves_[i]; }
  int place(std::size_t leaf) const { return place_[leaf]; }  // -1: the leaf stays
  void take(std::size_t leaf, std::size_t place) { place_[leaf] = static_cast<int>(place); }
  bool same_places(const TreeStructure& other) const { return place_ == other.place_; }

  Value filled(std::span<const trace::Tensor> given) const;
  void forget();  // what was taken out: values of a trace that is over

 private:
  Value tree_;
  std::vector<Value> leaves_;
  std::vector<int> place_;  // by leaf
};

enum class Take : std::uint8_t { Arrays, ArraysAndNumbers };  // numbers: of the host, and truth values

// Takes leaves out of a tree and appends them to `taken`, made tensors by `as_tensor`; their places are those in
// `taken`.
TreeStructure take_leaves(Value tree, Take which, std::vector<trace::Tensor>& taken,
                          const std::function<trace::Tensor(const Value&)>& as_tensor);

// ---- where two trees come apart, for messages

// "`layers[0].b` is f32[3] in the first and missing in the second"; nothing where the trees have one structure, or
// differ as a whole, which their structures show. `prefix`: where the first has a leaf, the second may have a tree.
std::vector<std::string> tree_difference(const Value& a, const Value& b, const std::string& in_a,
                                         const std::string& in_b, bool prefix = false);

// ---- what values that are no lists consist of when they are gone through

// Code points of a UTF-8 string; broken bytes count one each.
std::vector<std::string> code_points(std::string_view s);
// An entry of a spec: an axis, or none where nothing splits the dimension (or the partitioner may).
Value entry_of(const SpecEntry& entry);
// Of a record pairs (name, value), of a string its characters, of a spec its entries; nothing of any other value.
std::optional<std::vector<Value>> parts_of(const Value& v);

}  // namespace shard::lang
