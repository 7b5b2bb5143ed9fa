// A tree as one vector, and back. Source: jax.flatten_util.ravel_pytree, whose promotion and dtypes these are.
#include "interpreter/lang/eval/index/index.h"
#include "interpreter/lang/values/tree.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

struct Leaf {
  DType dtype;
  Shape shape;
};

// What a vector is made of: the tree with a number in place of each leaf.
struct Raveled {
  Value tree;
  std::vector<Leaf> leaves;
  DType dtype = DType::F32;
  bool mixed = false;
  std::int64_t size = 0;
};

void check_whole(Interpreter& in, const Tensor& x, const std::string& who, const std::string& fix, grammar::Span span) {
  if (x.type().sharding.split_axes().empty()) return;
  in.fail("layout", span,
          "on explicit axes the vector of a tree is whole, and " + who + " is " + runtime::to_string(x.type()),
          {"lay it out whole first: " + fix});
}

Tensor leaf_of(Interpreter& in, const Value& v, const std::string& path, grammar::Span span) {
  const bool number = v.is_host_number() || v.is<bool>();
  if (!number && (!v.is_tensor() || v.tensor().type().dtype == DType::Key))
    in.fail("type", span,
            "tree_ravel joins arrays and numbers, and " + (path.empty() ? "this" : "`" + path + "`") + " is " +
                lang::kind_name(v));
  return number ? array_of(in, v, std::nullopt, span) : v.tensor();
}

Value unravel(Interpreter& in, const Raveled& from, const Value& given, grammar::Span span) {
  const Tensor x = in.tensor(given, span);
  const Type& type = x.type();
  if (type.shape != Shape{from.size} || type.dtype == DType::Key)
    in.fail("shape", span,
            "the tree takes a vector of " + std::to_string(from.size) + " numbers, this is " + runtime::to_string(type),
            {"the tree is " + lang::structure(from.tree)});
  if (from.mixed && type.dtype != from.dtype)
    in.fail("type", span,
            "the tree takes a vector of " + std::string(runtime::name(from.dtype)) +
                ", to which its leaves were promoted, this is " + runtime::to_string(type),
            {"cast it: `cast(v, " + std::string(runtime::name(from.dtype)) + ")`"});
  check_whole(in, x, "this", "`unravel(shard v as P())`", span);
  std::vector<Value> leaves;
  std::int64_t at = 0;
  for (const Leaf& leaf : from.leaves) {
    const std::int64_t end = at + runtime::numel(leaf.shape);
    lang::IndexItem slice;
    slice.slice = true, slice.span = span;
    slice.start = Value(at), slice.stop = Value(end);
    Value part(lang::index_array(in, x, {slice}, span));
    part = call_row(in, "reshape", {part, list_of(leaf.shape)}, span);
    if (from.mixed && runtime::is_complex(from.dtype) && !runtime::is_complex(leaf.dtype))
      part = call_row(in, "real", {part}, span);
    leaves.push_back(from.mixed ? Value(converted(in, part.tensor(), leaf.dtype)) : part);
    at = end;
  }
  return lang::with_leaves(from.tree, std::move(leaves));
}

Value tree_ravel(Interpreter& in, BoundArgs& a) {
  const std::vector<Value> given = lang::leaves(a[0]);
  const std::vector<std::string> paths = lang::leaf_paths(a[0]);
  auto out = std::make_shared<Raveled>();
  std::vector<Tensor> parts;
  std::optional<DType> common;
  for (std::size_t i = 0; i < given.size(); ++i) {
    parts.push_back(leaf_of(in, given[i], paths[i], a.span));
    const Type& type = parts.back().type();
    const auto both = common ? runtime::promote({*common, false}, {type.dtype, false})
                             : std::optional(runtime::Kind{type.dtype, false});
    if (!both)
      in.fail("type", a.span,
              "`" + paths[i] + "` is " + runtime::to_string(type) + ", which has no type in common with " +
                  std::string(runtime::name(*common)) + ": `cast` one of them");
    check_whole(in, parts.back(), paths[i].empty() ? "this" : "`" + paths[i] + "`", "`tree_ravel(shard tree as P())`",
                a.span);
    common = both->dtype;
    out->leaves.push_back({type.dtype, type.shape});
    out->size += runtime::numel(type.shape);
  }
  out->dtype = common.value_or(DType::F32);
  std::vector<Value> rows, places;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out->mixed = out->mixed || out->leaves[i].dtype != out->dtype;
    places.emplace_back(static_cast<std::int64_t>(i));
    const Value line = list_of({runtime::numel(out->leaves[i].shape)});
    rows.push_back(call_row(in, "reshape", {Value(converted(in, parts[i], out->dtype)), line}, a.span));
  }
  out->tree = lang::with_leaves(a[0], std::move(places));
  Value flat = rows.empty() ? Value(new_array(in, DType::F32, {0}, nullptr))
                            : call_row(in, "concat", {Value::list(std::move(rows))}, a.span);
  lang::Native back{"unravel", "unravel(v)", "The tree whose leaves, one after the other, are the numbers of v.",
                    [out](Interpreter& at, BoundArgs& x) { return unravel(at, *out, x[0], x.span); }};
  return Value::tuple({std::move(flat), Value(std::make_shared<const lang::Native>(std::move(back)))});
}

}  // namespace

void register_ravel(Interpreter& in) {
  in.define(
      {"tree_ravel",
       "tree_ravel(tree)",
       "All numbers of a tree in one vector, leaf after leaf, in the type that all promote to, and the function "
       "that makes such a vector the tree again: let (v, unravel) = tree_ravel(p). On explicit axes leaves and "
       "vector are whole.",
       tree_ravel,
       {"ravel_pytree",
        "parameters_to_vector",
        {"vector_to_parameters", "it is the second part of what tree_ravel gives: let (v, unravel) = tree_ravel(p)"}}});
}

}  // namespace shard::stdlib
