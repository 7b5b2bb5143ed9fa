// Functions over the leaves of trees: lists, tuples and records are the branches, `none` is an empty tree.
#include <algorithm>

#include "interpreter/lang/values/tree.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

// An error of f says which leaf it was called for, and what stands there in each tree: those within one another once.
[[noreturn]] void throw_at_leaf(grammar::Error e, const std::string& path, const std::vector<Value>& args) {
  const std::string start = "at the leaf `";
  for (const std::string& note : e.diagnostic.notes)
    if (note.starts_with(start)) throw e;
  std::string kinds;
  for (const Value& v : args)
    kinds += (kinds.empty()        ? ""
              : &v == &args.back() ? " and "
                                   : ", ") +
             (v.items() || v.fields() ? lang::structure(v) : lang::kind_name(v));
  e.diagnostic.notes.push_back(start + path + "`: " + kinds);
  throw e;
}

// The tree that ends where `is_leaf` says, with a number in place of what stands there. What has no branches and is not
// none ends in any case.
Value cut(Interpreter& in, const Value& v, const Value& is_leaf, grammar::Span span, int depth = 0) {
  if (depth > lang::kMaxNesting) lang::too_deep();
  if (in.truth(in.call(is_leaf, {v}, span), span)) return Value(std::int64_t{0});
  if (const auto* items = v.items()) {
    std::vector<Value> out;
    for (const Value& x : *items) out.push_back(cut(in, x, is_leaf, span, depth + 1));
    return v.is<std::shared_ptr<lang::List>>() ? Value::list(std::move(out)) : Value::tuple(std::move(out));
  }
  if (const auto* r = v.fields()) {
    std::vector<std::pair<std::string, Value>> out;
    for (const auto& [name, x] : r->fields) out.emplace_back(name, cut(in, x, is_leaf, span, depth + 1));
    return Value::record(std::move(out));
  }
  return v.is_none() ? v : Value(std::int64_t{0});
}

Value cut_where_asked(Interpreter& in, const Value& tree, const Value& is_leaf, grammar::Span span) {
  if (is_leaf.is_none()) return tree;
  if (!is_leaf.callable())
    in.fail("type", span,
            "is_leaf is a function: `is_leaf: fn(x) = has_field(x, \"w\")`, this is " + lang::kind_name(is_leaf));
  return cut(in, tree, is_leaf, span);
}

// f(leaf of the first tree, what stands there in the others), with the leaf's path before it where asked.
Value mapped(Interpreter& in, BoundArgs& a, const std::string& name, bool with_path) {
  if (!a[0].callable() && !a.rest.empty() && a.rest[0].value.callable())
    std::swap(a[0], a.rest[0].value);  // after `.` or `|>`
  const std::string form = name + (with_path ? "(fn(path, x) = ..., params)" : "(fn(x) = ..., params)");
  if (!a[0].callable() || a.rest.empty() || !a.rest[0].name.empty())
    in.fail("type", a.span, name + " takes a function and trees: " + form);
  std::vector<std::vector<Value>> parts;
  Value is_leaf;
  for (const CallArg& x : a.rest) {
    if (x.name == "is_leaf")
      is_leaf = x.value;
    else if (!x.name.empty())
      in.fail("call", x.span, "`" + name + "` has no parameter `" + x.name + "`",
              {name + "(f, trees..., is_leaf: fn(x) = ...)"});
  }
  const Value first = cut_where_asked(in, a.rest[0].value, is_leaf, a.span);
  for (const CallArg& x : a.rest) {
    if (!x.name.empty()) continue;
    auto here = lang::parts_under(first, x.value);
    if (!here) {
      const std::string number = "number " + std::to_string(parts.size() + 1);
      auto notes = lang::tree_difference(first, x.value, "the first", number, true);
      notes.push_back("the first is " + lang::structure(first));
      notes.push_back(number + " is " + lang::structure(x.value));
      in.fail("type", a.span, "the trees differ in structure", std::move(notes));
    }
    parts.push_back(std::move(*here));
  }
  const std::vector<std::string> paths = with_path ? lang::leaf_paths(first) : std::vector<std::string>{};
  std::vector<Value> out;
  for (std::size_t i = 0; i < parts[0].size(); ++i) {
    std::vector<Value> args;
    for (auto& p : parts) args.push_back(p[i]);
    std::vector<Value> given = args;
    if (with_path) given.insert(given.begin(), Value::string(paths[i]));
    try {
      out.push_back(in.call(a[0], std::move(given), a.span));
    } catch (grammar::Error& e) {
      const std::string path = lang::leaf_paths(first)[i];
      if (path.empty()) throw;
      throw_at_leaf(std::move(e), path, args);
    }
  }
  return lang::with_leaves(first, std::move(out));
}

Value tree_map(Interpreter& in, BoundArgs& a) { return mapped(in, a, "tree_map", false); }
Value tree_map_with_path(Interpreter& in, BoundArgs& a) { return mapped(in, a, "tree_map_with_path", true); }

Value tree_paths(Interpreter&, BoundArgs& a) {
  std::vector<Value> out;
  for (const std::string& path : lang::leaf_paths(a[0])) out.push_back(Value::string(path));
  return Value::list(std::move(out));
}

// The structure is a tree of numbers: each leaf's place in the list.
Value tree_flatten(Interpreter& in, BoundArgs& a) {
  const Value shape = cut_where_asked(in, a[0], a[1], a.args[1].span);
  const std::vector<Value> all = *lang::parts_under(shape, a[0]);
  std::vector<Value> places;
  for (std::size_t i = 0; i < all.size(); ++i) places.emplace_back(static_cast<std::int64_t>(i));
  return Value::tuple({Value::list(all), lang::with_leaves(shape, std::move(places))});
}

Value tree_unflatten(Interpreter& in, BoundArgs& a) {
  const auto* items = a[1].items();
  const std::size_t wanted = lang::leaves(a[0]).size();
  if (!items || items->size() != wanted)
    in.fail("value", a.span,
            "tree_unflatten puts a list of leaves into a tree: " + lang::structure(a[0]) + " has " +
                std::to_string(wanted) + ", and this is " +
                (items ? "a list of " + std::to_string(items->size()) : lang::kind_name(a[1])));
  return lang::with_leaves(a[0], std::vector<Value>(items->begin(), items->end()));
}

Value tree_leaves(Interpreter& in, BoundArgs& a) {
  return Value::list(*lang::parts_under(cut_where_asked(in, a[0], a[1], a.args[1].span), a[0]));
}

Value tree_reduce(Interpreter& in, BoundArgs& a) {
  if (!a[0].callable() && a[1].callable()) std::swap(a.args[0], a.args[1]);
  if (!a[0].callable())
    in.fail("type", a.span, "tree_reduce takes a function and a tree: tree_reduce(fn(total, x) = ..., tree, 0)");
  std::vector<Value> items = lang::leaves(a[1]);
  std::size_t first = 0;
  Value total;
  if (a.given(2))
    total = a[2];
  else if (items.empty())
    in.fail("value", a.span, "a tree without leaves needs a first value: tree_reduce(f, tree, 0)");
  else
    total = items[first++];
  for (std::size_t i = first; i < items.size(); ++i) total = in.call(a[0], {total, items[i]}, a.span);
  return total;
}

}  // namespace

void register_trees(Interpreter& in) {
  in.define(
      {"tree_map",
       "tree_map(f, trees...)",
       "The tree with f(leaf) in place of each leaf; further trees give f(leaf, leaf2): they have the same structure, "
       "or go deeper where the first has leaves. is_leaf: a function that says of a part of the first that it is one.",
       tree_map,
       {{"keys", "`for (name, v) in r` goes over the fields of a record, `tree_paths(r)` names all leaves"},
        {"items", "`for (name, v) in r` goes over the fields of a record"}}});
  in.define({"tree_map_with_path",
             "tree_map_with_path(f, trees...)",
             "As tree_map with f(path, leaf, ...), where the path is text such as \"layers.0.w\", as files name it.",
             tree_map_with_path,
             {"named_tree_map"}});
  in.define({"tree_paths", "tree_paths(tree)",
             "The path of each leaf of a tree, in order, as a list of texts: fields and indices joined by dots.",
             tree_paths});
  in.define({"tree_flatten", "tree_flatten(tree, is_leaf = none)",
             "The leaves of a tree in a list, and its structure: the tree with a number in place of each leaf.",
             tree_flatten});
  in.define({"tree_unflatten", "tree_unflatten(structure, leaves)",
             "A tree of this structure with the leaves of a list in their places.", tree_unflatten});
  in.define({"tree_leaves",
             "tree_leaves(tree, is_leaf = none)",
             "The leaves of a tree in order, as a list; is_leaf: a function that says where it ends earlier.",
             tree_leaves,
             {{"values", "the values of a record are `tree_leaves(r)`"}}});
  in.define({"tree_reduce", "tree_reduce(f, tree, init = none)",
             "f(f(init, leaf), leaf2) ...: one value from all leaves; without init it begins with the first leaf.",
             tree_reduce});
}

}  // namespace shard::stdlib
