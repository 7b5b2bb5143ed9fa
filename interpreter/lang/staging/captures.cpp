#include "interpreter/lang/staging/captures.h"

namespace shard::lang {

using trace::Tensor;

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

}  // namespace shard::lang
