#include "interpreter/lang/eval/builtins.h"

#include <utility>

#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/native.h"

namespace shard::lang {

const Aliases& Builtins::aliases() {
  if (!aliases_) {
    aliases_ = std::make_unique<Aliases>();
    for (const ir::OpDef& row : table_.rows()) aliases_->add(row.name, row.aliases);
  }
  for (const auto& [name, native] : std::exchange(with_aliases_, {})) aliases_->add(name, native->aliases);
  return *aliases_;
}

void Builtins::define(std::string name, Value value) {
  if (const auto* native = value.get<std::shared_ptr<const Native>>(); native && !(*native)->aliases.empty())
    with_aliases_.emplace_back(name, *native);
  if (auto it = index_.find(name); it != index_.end()) {
    values_[static_cast<std::size_t>(it->second)] = std::move(value);
    return;
  }
  index_.emplace(std::move(name), static_cast<int>(values_.size()));
  values_.push_back(std::move(value));
}

int Builtins::find(const std::string& name) {
  if (auto it = index_.find(name); it != index_.end()) return it->second;
  const ir::OpDef* op = table_.find(name);
  if (!op || op->internal) return -1;
  define(name, Value(op));
  return static_cast<int>(values_.size()) - 1;
}

ResolveHost Builtins::for_names() {
  const auto is_function = [this](int b) { return (*this)[b].callable(); };
  const auto communicates = [this](int b) {  // a function of the host that passes on to the row of its name
    const auto* native = (*this)[b].get<std::shared_ptr<const Native>>();
    if (!native || !reserved_.contains((*native)->name)) return false;
    const ir::OpDef* op = table_.find((*native)->name);
    return op && op->comm;
  };
  return {[this](const std::string& name) { return find(name); },
          [this] { return names(); },
          is_function,
          communicates,
          [this]() -> const Aliases& { return aliases(); },
          reserved_,
          see_variables_};
}

std::vector<std::string> Builtins::names() const {
  std::vector<std::string> out;
  for (const auto& [name, index] : index_) out.push_back(name);
  for (const auto& row : table_.rows())
    if (!row.internal) out.emplace_back(row.name);
  return out;
}

std::string_view member_here(const Record* record, std::string_view name) {
  if (!record) return {};
  for (const auto& [field, v] : record->fields)
    if (const auto* f = v.get<std::shared_ptr<const Closure>>(); f && names_elsewhere((*f)->function->doc, name))
      return field;
  return {};
}

}  // namespace shard::lang
