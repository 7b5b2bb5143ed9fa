#include "stdlib/host/storage/loading.h"

#include <algorithm>

#include "grammar/stable_sort.h"
#include "interpreter/lang/eval/layouts/shard_expr.h"
#include "interpreter/lang/values/tree.h"

namespace shard::stdlib {

using lang::Interpreter;
using lang::Value;
using TypeRef = std::shared_ptr<const runtime::Type>;

Wanted all_of(Interpreter& in, Contents& file) {
  std::vector<Value> types;
  std::vector<std::pair<const runtime::Type*, std::size_t>> which;
  for (const ArrayHeader& a : file.arrays) {
    auto type = std::make_shared<const runtime::Type>(runtime::Type::of(a.dtype, a.shape));
    which.emplace_back(type.get(), which.size());
    types.emplace_back(TypeRef(std::move(type)));
  }
  std::sort(which.begin(), which.end());
  Wanted out;
  const std::vector<Value> held = types;  // their addresses stay theirs
  out.tree = file.tree(in, std::move(types));
  std::vector<Value> leaves = lang::leaves(out.tree);
  out.leaves.reserve(leaves.size());
  for (Value& leaf : leaves) {
    Wanted::Leaf one;
    if (const auto* type = leaf.get<TypeRef>()) {
      const auto at = std::lower_bound(which.begin(), which.end(), std::pair(type->get(), std::size_t{0}));
      one.array = at->second;
      one.at = std::make_shared<const runtime::Placement>(runtime::placement_of(**type));
    }
    one.value = std::move(leaf);
    out.leaves.push_back(std::move(one));
  }
  return out;
}

namespace {

// `specs` names fields of what was saved; what it leaves out stays as it is, without a layout.
Value with_layouts(Interpreter& in, const Value& tree, const Value& specs, grammar::Span span) {
  const lang::Record *fields = tree.fields(), *wanted = specs.fields();
  if (specs.is_none()) return tree;
  if (!fields || !wanted) return lang::shard_tree(in, tree, specs, nullptr, span);
  for (const auto& [name, unused] : wanted->fields)
    if (!fields->find(name))
      in.fail("call", span, "the file has no field `" + name + "`", {"it holds " + lang::structure(tree)});
  std::vector<std::pair<std::string, Value>> out;
  for (const auto& [name, v] : fields->fields) {
    const Value* spec = wanted->find(name);
    out.emplace_back(name, spec ? with_layouts(in, v, *spec, span) : v);
  }
  return Value::record(std::move(out));
}

}  // namespace

Wanted laid_out(Interpreter& in, Contents& file, const Value& specs, grammar::Span span) {
  Wanted out = all_of(in, file);
  const std::vector<Value> types = lang::leaves(with_layouts(in, out.tree, specs, span));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (out.leaves[i].at)
      out.leaves[i].at = std::make_shared<const runtime::Placement>(runtime::placement_of(**types[i].get<TypeRef>()));
  return out;
}

namespace {

constexpr std::int64_t kSmall = 1 << 16;  // bytes

ArrayPart as_words(ArrayPart keys) {
  keys.origin.push_back(0);
  keys.to.dtype = runtime::DType::U32;
  for (std::int64_t& stride : keys.to.strides) stride *= 2;
  keys.to.shape.push_back(2);
  keys.to.strides.push_back(1);
  return keys;
}

}  // namespace

namespace {

Value number_of(Contents& file, std::size_t array) {
  const runtime::DType dtype = file.arrays[array].dtype;
  alignas(16) char element[16] = {};
  file.read(array, {{}, runtime::contiguous(dtype, {}, element)});
  if (dtype == runtime::DType::Bool) return Value(runtime::element_int(dtype, element) != 0);
  if (runtime::is_integer(dtype)) return Value(runtime::element_int(dtype, element));
  return Value(runtime::element_double(dtype, element));
}

}  // namespace

Value mapped(std::shared_ptr<OpenTree> file, Wanted wanted) {
  if (!file->contents->in_parts())
    refuse_file(
        "`map: true` leaves npy, idx, safetensors, folders and raw numbers on the disk, not packed; this is none");
  std::vector<Value> values;
  for (Wanted::Leaf& leaf : wanted.leaves) {
    if (leaf.as_number) {
      values.push_back(number_of(*file->contents, leaf.array));
      continue;
    }
    if (leaf.at && file->contents->arrays[leaf.array].dtype != leaf.at->type.dtype)
      refuse_file("keys that a foreign file holds as words are not left on the disk: load them without `map: true`");
    values.push_back(leaf.at ? Value(trace::Tensor(mapped_array(file, leaf.array, *leaf.at))) : std::move(leaf.value));
  }
  return lang::with_leaves(wanted.tree, std::move(values));
}

Value filled(Interpreter& in, Contents& file, Wanted wanted) {
  trace::Context& c = in.context();
  std::vector<Wanted::Leaf*> order;
  for (Wanted::Leaf& leaf : wanted.leaves)
    if (leaf.at) order.push_back(&leaf);
  stable_sort(order, [&](const Wanted::Leaf* a, const Wanted::Leaf* b) {
    return file.arrays[a->array].place < file.arrays[b->array].place;
  });
  for (Wanted::Leaf* leaf : order) {
    const runtime::Type& type = leaf->at->type;
    if (leaf->as_number) {
      leaf->value = number_of(file, leaf->array);
      continue;
    }
    // A program that is checked or predicted needs the type alone, and small numbers.
    if (c.types_only() && (type.mesh || runtime::bytes_of(type.shape, runtime::size_of(type.dtype)) > kSmall)) {
      leaf->value = Value(c.unknown(*leaf->at));
      continue;
    }
    const bool words = file.arrays[leaf->array].dtype != leaf->at->type.dtype;  // of keys
    leaf->value = Value(trace::Tensor(
        runtime::new_placed(c.pool(), *leaf->at, [&](const runtime::Shape& origin, const runtime::View& to) {
          file.read(leaf->array, words ? as_words({origin, to}) : ArrayPart{origin, to});
        })));
  }
  file.check_end();
  std::vector<Value> values;
  values.reserve(wanted.leaves.size());
  for (Wanted::Leaf& leaf : wanted.leaves) values.push_back(std::move(leaf.value));
  return lang::with_leaves(wanted.tree, std::move(values));
}

}  // namespace shard::stdlib
