#include "stdlib/host/storage/loading.h"

#include <algorithm>

#include "grammar/stable_sort.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/values/tree.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/storage/folder.h"

namespace shard::stdlib {
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

constexpr std::int64_t kSmall = 1 << 16;  // bytes

ArrayPart as_words(ArrayPart keys) {
  keys.origin.push_back(0);
  keys.to.dtype = DType::U32;
  for (std::int64_t& stride : keys.to.strides) stride *= 2;
  keys.to.shape.push_back(2);
  keys.to.strides.push_back(1);
  return keys;
}

Value number_of(Contents& file, std::size_t array) {
  const DType dtype = file.arrays[array].dtype;
  alignas(16) char element[16] = {};
  file.read(array, {{}, runtime::contiguous(dtype, {}, element)});
  if (dtype == DType::Bool) return Value(runtime::element_int(dtype, element) != 0);
  if (runtime::is_integer(dtype)) return Value(runtime::element_int(dtype, element));
  return Value(runtime::element_double(dtype, element));
}

// ---- arrays that stay in their file until they are looked at
// Elements in a file. They are read by `pread` and not by touching pages: a file that shrinks is an error, not a
// signal.
class InFile final : public runtime::RemoteBlocks {
 public:
  InFile(std::shared_ptr<OpenTree> file, std::size_t which) : file_(std::move(file)), which_(which) {}

  runtime::BufferRef fetch(runtime::Pool& pool, const runtime::DeviceArray& array) const override {
    return runtime::new_placed(pool, runtime::placement_of(array),
                               [this](const Shape& origin, const runtime::View& to) { read(origin, to); })
        ->buffer;
  }
  bool in_parts() const override { return true; }
  void read(const Shape& origin, const runtime::View& to) const override {
    const std::scoped_lock lock(file_->reading);
    try {
      file_->contents->read(which_, {origin, to});
    } catch (const runtime::RuntimeError& e) {
      throw runtime::RuntimeError(e.code, "cannot read '" + file_->path + "': " + e.what());
    }
  }

 private:
  std::shared_ptr<OpenTree> file_;
  std::size_t which_;
};

// Array `which` of the file, laid out; its elements are read when they are needed.
ArrayRef mapped_array(std::shared_ptr<OpenTree> file, std::size_t which, const runtime::Placement& at) {
  auto out = std::make_shared<runtime::DeviceArray>();
  out->type = at.type;
  out->layout = at.layout;
  if (at.type.mesh) out->distinct = at.layout.split_axes() | at.layout.unreduced;
  out->elsewhere = std::make_shared<InFile>(std::move(file), which);
  return out;
}

}  // namespace

std::shared_ptr<OpenTree> open_tree(Interpreter& in, const std::string& path, grammar::Span span,
                                    std::optional<DType> raw) {
  auto out = std::make_shared<OpenTree>();
  out->path = path;
  const MayRead may_read = [&in, span](const std::string& file) { check_may_read(in, file, span); };
  if (is_folder(path)) {
    if (raw) refuse_file("it is a folder, and `dtype:` is for a file of numbers");
    out->contents = open_folder(path, may_read);
  } else if (is_hub_index(path)) {
    out->contents = open_hub_index(path, may_read);
  } else if (raw) {
    out->source = open_source(path);
    const Format* format = format_of(*out->source, "");
    if (format && format->name != "safetensors")
      refuse_file("it is " + std::string(format->name) + ", which says its own type: leave out `dtype:`");
    out->contents = raw_contents(*out->source, *raw);
  } else {
    out->source = open_source(path);
    const Format* format = format_of(*out->source, path);
    if (!format) refuse_file("its content is none of " + format_names("and"));
    out->contents = format->reads(*out->source);
    for (const std::string& what : out->contents->left_out) in.warn("warned", span, path + ": " + what);
  }
  return out;
}

Wanted all_of(Contents& file) {
  std::vector<Value> types;
  std::vector<std::pair<const Type*, std::size_t>> which;
  for (const ArrayHeader& a : file.arrays) {
    auto type = std::make_shared<const Type>(Type::of(a.dtype, a.shape));
    which.emplace_back(type.get(), which.size());
    types.emplace_back(TypeRef(std::move(type)));
  }
  std::sort(which.begin(), which.end());
  Wanted out;
  const std::vector<Value> held = types;  // their addresses stay theirs
  out.tree = file.tree(std::move(types));
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

Wanted laid_out(Interpreter& in, Contents& file, const Value& specs, grammar::Span span) {
  Wanted out = all_of(file);
  const std::vector<Value> types = lang::leaves(with_layouts(in, out.tree, specs, span));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (out.leaves[i].at)
      out.leaves[i].at = std::make_shared<const runtime::Placement>(runtime::placement_of(**types[i].get<TypeRef>()));
  return out;
}

Value held(Interpreter& in, const std::shared_ptr<OpenTree>& file) {
  Wanted all = all_of(*file->contents);
  return file->contents->in_parts() ? mapped(file, std::move(all)) : filled(in, *file->contents, std::move(all));
}

Value mapped(std::shared_ptr<OpenTree> file, Wanted wanted) {
  if (!file->contents->in_parts())
    refuse_file("`map: true` leaves " + format_names("and", [](const Format& f) { return f.in_parts; }) +
                ", folders and raw numbers on the disk, not packed; this is none");
  std::vector<Value> values;
  for (Wanted::Leaf& leaf : wanted.leaves) {
    if (leaf.as_number) {
      values.push_back(number_of(*file->contents, leaf.array));
      continue;
    }
    if (leaf.at && file->contents->arrays[leaf.array].dtype != leaf.at->type.dtype)
      refuse_file("keys that a foreign file holds as words are not left on the disk: load them without `map: true`");
    values.push_back(leaf.at ? Value(Tensor(mapped_array(file, leaf.array, *leaf.at))) : std::move(leaf.value));
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
    const Type& type = leaf->at->type;
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
    leaf->value =
        Value(Tensor(runtime::new_placed(c.pool(), *leaf->at, [&](const Shape& origin, const runtime::View& to) {
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
