// Functions over the leaves of trees: lists, tuples and records are the branches, `none` is an empty tree.
#include <algorithm>

#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

Value tree_map(Interpreter& in, BoundArgs& a) {
  if (!a[0].callable() && !a.rest.empty() && a.rest[0].value.callable())
    std::swap(a[0], a.rest[0].value);  // after `.` or `|>`
  if (!a[0].callable() || a.rest.empty())
    in.fail("type", a.span, "tree_map takes a function and trees: tree_map(fn(x) = ..., params)");
  std::vector<std::vector<Value>> leaves;
  for (const lang::CallArg& x : a.rest) {
    if (!x.name.empty()) in.fail("call", x.span, "tree_map has no argument called `" + x.name + "`");
    leaves.push_back(lang::leaves(x.value));
    if (leaves.size() > 1 && !lang::same_structure(a.rest[0].value, x.value))
      in.fail("type", a.span, "the trees differ in structure",
              {"the first is " + lang::structure(a.rest[0].value),
               "number " + std::to_string(leaves.size()) + " is " + lang::structure(x.value)});
  }
  std::vector<Value> out;
  for (std::size_t i = 0; i < leaves[0].size(); ++i) {
    std::vector<Value> args;
    for (auto& l : leaves) args.push_back(l[i]);
    out.push_back(in.call(a[0], std::move(args), a.span));
  }
  return lang::with_leaves(a.rest[0].value, std::move(out));
}

Value tree_leaves(Interpreter&, BoundArgs& a) { return Value::list(lang::leaves(a[0])); }

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
  in.define({"tree_map",
             "tree_map(f, trees...)",
             "The tree with f(leaf) in place of each leaf; several trees of one structure give f(leaf, leaf2).",
             tree_map,
             {{"keys", "the fields of a record are known where it is written: `p.w`; `tree_map` goes over all values"},
              {"items", "`tree_map(f, r)` goes over all values of a record"}}});
  in.define({"tree_leaves",
             "tree_leaves(tree)",
             "The leaves of a tree in order, as a list.",
             tree_leaves,
             {{"values", "the values of a record are `tree_leaves(r)`"}}});
  in.define({"tree_reduce", "tree_reduce(f, tree, init = none)",
             "f(f(init, leaf), leaf2) ...: one value from all leaves; without init it begins with the first leaf.",
             tree_reduce});
}

}  // namespace shard::stdlib
