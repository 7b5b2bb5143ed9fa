#include "interpreter/lang/staging/jit_cache.h"

#include "interpreter/lang/eval/surroundings.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {

using trace::Tensor;

namespace {

bool fits(Interpreter& in, const CompiledEntry& e, const Value& tree, const std::vector<CallArg>& args,
          Gathered& leaves) {
  leaves.arrays.clear();
  leaves.numbers.clear();
  if (e.target != &in.context().target()) return false;
  if (!same_mesh(e.mesh, in.context().mesh()) || !equal(e.rules, in.surroundings().rules())) return false;
  if (!e.arguments.match(tree, leaves)) return false;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (args[i].becomes != e.becomes[i]) return false;
  for (const Capture& o : e.outside)
    if (!o.pattern.match(o.cell->value, leaves)) return false;
  for (const auto& [leaf, number] : e.guards)
    if (leaves.numbers[leaf] != number) return false;
  return true;
}

}  // namespace

const CompiledEntry* JitCache::find(Interpreter& in, const Value& arguments, const std::vector<CallArg>& args,
                                    Gathered& leaves) {
  if (last_ && fits(in, last_->entry, arguments, args, leaves)) return &last_->entry;
  const auto found = by_key_.find(Pattern::hash(arguments));
  if (found == by_key_.end()) return nullptr;
  for (auto it = found->second.rbegin(); it != found->second.rend(); ++it)
    if (*it != last_ && fits(in, (*it)->entry, arguments, args, leaves)) {
      last_ = *it;
      return &last_->entry;
    }
  return nullptr;
}

const CompiledEntry& JitCache::add(const Value& arguments, CompiledEntry entry) {
  if (entries_.size() >= kEntries) {
    const Slot& oldest = entries_.front();
    auto bucket = by_key_.find(oldest.key);
    std::erase(bucket->second, &oldest);
    if (bucket->second.empty()) by_key_.erase(bucket);
    entries_.pop_front();
  }
  entries_.push_back({Pattern::hash(arguments), std::move(entry)});
  last_ = &entries_.back();
  by_key_[last_->key].push_back(last_);
  return last_->entry;
}

// ---- what is read from outside

Value JitCaptures::on_read(const CellRef& cell, const Value& value) {
  auto it = seen_.find(cell.get());
  if (it != seen_.end()) return it->second;
  Gathered gathered;
  Pattern::gather(value, gathered);
  std::vector<Value> now;
  for (std::size_t i = 0; i < gathered.arrays.size(); ++i) {
    Tensor outer = gathered.arrays[i] ? Tensor(gathered.arrays[i]) : scalar(*gathered.numbers[i]);
    const std::size_t leaf = leaves_ + i;
    std::shared_ptr<const trace::Known> known;
    if (gathered.numbers[i]) {
      trace::HostFormula itself = [leaf](std::span<const std::optional<trace::HostNumber>> leaves) {
        return *leaves[leaf];
      };
      known = std::make_shared<const trace::Known>(
          trace::Known{*gathered.numbers[i],
                       {static_cast<int>(leaf)},
                       frame_,
                       std::make_shared<const trace::HostFormula>(std::move(itself))});
      numbers_[leaf] = *gathered.numbers[i];
    }
    leaf_of_[frame_->captured.size()] = leaf;
    now.push_back(parameter(std::move(outer), std::move(known)));
  }
  std::size_t at = 0;
  Value replaced = now.empty() ? value : Pattern::replace(value, now, at);
  outside.push_back({cell, Pattern::of(value)});
  leaves_ += gathered.arrays.size();
  seen_.emplace(cell.get(), replaced);
  return replaced;
}

Value JitCaptures::on_computed(const trace::Known& number, const std::string& key) {
  auto it = computed_.find(key);
  if (it == computed_.end()) {
    // What is computed from it reads its value: none is computed twice.
    trace::Known known = number;
    trace::HostFormula itself = [base = base_,
                                 k = computed.size()](std::span<const std::optional<trace::HostNumber>> leaves) {
      return *leaves[*base + k];
    };
    known.formula = std::make_shared<const trace::HostFormula>(std::move(itself));
    place_of_[frame_->captured.size()] = computed.size();
    computed.push_back(number.formula);
    Tensor t = parameter(scalar(number.value), std::make_shared<const trace::Known>(std::move(known)));
    it = computed_.emplace(key, Value(std::move(t))).first;
  }
  return it->second;
}

std::ptrdiff_t JitCaptures::leaf_of(std::size_t captured) const {
  if (auto it = leaf_of_.find(captured); it != leaf_of_.end()) return static_cast<std::ptrdiff_t>(it->second);
  if (auto it = place_of_.find(captured); it != place_of_.end())
    return static_cast<std::ptrdiff_t>(*base_ + it->second);
  return -1;
}

const trace::HostNumber* JitCaptures::number(std::size_t leaf) const {
  auto it = numbers_.find(leaf);
  return it == numbers_.end() ? nullptr : &it->second;
}

// A parameter of its own, also where the same array is captured under two names: they may differ in a later call.
Tensor JitCaptures::parameter(Tensor outer, std::shared_ptr<const trace::Known> known) {
  ir::Var v = frame_->builder.param(in_.context().type_in(*frame_, outer));
  frame_->captured.push_back(std::move(outer));
  frame_->captured_params.push_back(v);
  return Tensor(frame_, v, std::move(known));
}

// ---- names

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
