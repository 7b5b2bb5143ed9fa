#include "stdlib/host/storage/convert_tree.h"

#include <algorithm>
#include <map>

#include "stdlib/host/files/paths.h"
#include "stdlib/host/storage/folder_writer.h"
#include "stdlib/host/storage/loading.h"
#include "stdlib/host/storage/writing.h"

namespace shard::stdlib {
namespace {

using lang::Value;

// Names split at their dots, as a tree that is being put together.
struct NameTree {
  Value value;  // of a leaf
  bool leaf = false;
  std::vector<std::string> order;
  std::map<std::string, NameTree> fields;

  bool put(std::string_view name, const Value& v) {  // false where a name is both a leaf and a field
    if (leaf) return false;
    if (name.empty()) {
      if (!fields.empty()) return false;
      leaf = true, value = v;
      return true;
    }
    const std::size_t dot = std::min(name.find('.'), name.size());
    const std::string first(name.substr(0, dot));
    if (first.empty()) return false;
    const auto [it, fresh] = fields.try_emplace(first);
    if (fresh) order.push_back(first);
    return it->second.put(name.substr(std::min(dot + 1, name.size())), v);
  }

  Value tree() const {
    if (leaf) return value;
    std::vector<Value> items;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (const auto it = fields.find(std::to_string(i)); it != fields.end()) items.push_back(it->second.tree());
    if (items.size() == fields.size()) return Value::list(std::move(items));
    std::vector<std::pair<std::string, Value>> out;
    for (const std::string& name : order) out.emplace_back(name, fields.at(name).tree());
    return Value::record(std::move(out));
  }
};

Value nested(const Value& flat) {
  const lang::Record* r = flat.fields();
  if (!r) return flat;
  NameTree root;
  constexpr std::ptrdiff_t kDeepest = 100;
  for (const auto& [name, v] : r->fields)
    if (std::count(name.begin(), name.end(), '.') > kDeepest || !root.put(name, v)) return flat;
  return root.tree();
}

}  // namespace

void convert(lang::Interpreter& in, const std::string& from, const std::string& to) {
  check_ending(in, to, {});
  const Value tree = reading_from(in, from, {}, [&] {
    const auto file = open_tree(in, from, {}, std::nullopt);
    Wanted all = all_of(in, *file->contents);
    const bool flat = file->contents->flat();
    Value v = file->contents->in_parts() ? mapped(file, std::move(all)) : filled(in, *file->contents, std::move(all));
    return flat ? nested(v) : v;
  });
  write_tree(in, to, tree, {});
}

}  // namespace shard::stdlib
