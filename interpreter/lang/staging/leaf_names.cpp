#include "interpreter/lang/staging/leaf_names.h"

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {
namespace {

// One name an array or number in a value.
void add_names(const std::string& root, const Value& v, std::vector<std::string>& to) {
  const std::vector<std::string> paths = leaf_paths(v);
  const std::vector<Value> all = leaves(v);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Gathered held;
    Pattern::gather(all[i], held);
    to.insert(to.end(), held.arrays.size(), below(root, paths[i]));
  }
}

std::string parameter_name(const Closure* f, std::size_t i) {
  if (f && i < f->function->params.size())
    if (const auto* name = std::get_if<grammar::NamePattern>(&f->function->params[i].pattern->node)) return name->name;
  return "argument" + std::to_string(i);
}

std::string variable_name(const Closure* f, const CellRef& cell, std::size_t i) {
  if (f && f->module)
    for (std::size_t k = 0; k < f->module->cells.size(); ++k)
      if (f->module->cells[k] == cell) return f->module->variables[k].name;
  return "outside" + std::to_string(i);
}

}  // namespace

std::vector<std::string> names_given(const Value& function, const std::vector<CallArg>& args, const CompiledEntry& e) {
  const Closure* f = written_function(function);
  std::vector<std::string> leaves, out;
  for (std::size_t i = 0; i < args.size(); ++i)
    add_names(args[i].name.empty() ? parameter_name(f, i) : args[i].name, args[i].value, leaves);
  for (std::size_t i = 0; i < e.outside.size(); ++i)
    add_names(variable_name(f, e.outside[i].cell, i), e.outside[i].cell->value, leaves);
  for (std::size_t i = 0; i < e.sources.size(); ++i) {
    const auto leaf = static_cast<std::size_t>(e.sources[i].leaf);
    const bool named = e.sources[i].leaf >= 0 && leaf < leaves.size();
    out.push_back(named ? leaves[leaf] : "constant" + std::to_string(i));
  }
  return out;
}

std::vector<std::string> names_made(const CompiledEntry& e) {
  const std::vector<std::string> paths = leaf_paths(e.result.tree());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < e.result.size() && i < paths.size(); ++i) {
    const int place = e.result.place(i);
    if (place < 0) continue;
    out.resize(std::max(out.size(), static_cast<std::size_t>(place) + 1), "result");
    out[static_cast<std::size_t>(place)] = below("result", paths[i]);
  }
  return out;
}

}  // namespace shard::lang
