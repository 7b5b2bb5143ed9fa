#include "interpreter/xla/showing.h"

#include <cstring>

namespace shard::xla {
namespace {

using hlo::Shown;
using runtime::DeviceArray;

bool is_branch(const Shown& s) { return s.inside.size() == 2; }

std::size_t operands_of(const Shown& s) {
  std::size_t n = s.types.size() + (is_branch(s) ? 1 : 0);
  for (const auto& list : s.inside)
    for (const Shown& inner : list) n += operands_of(inner);
  return n;
}

}  // namespace

DeviceArray Showing::block(const ir::Type& type, runtime::AxisSet differs) const {
  DeviceArray out;
  out.type = ir::Type::of(type.dtype, type.shape, type.weak);
  out.type.varying = type.varying;
  out.type.mesh = program_.mesh;
  out.layout = runtime::Sharding::replicated(type.shape.size());
  out.distinct = differs;
  return out;
}

const DeviceArray& Showing::all_turns(std::size_t at, const DeviceArray& block, Turn turn) {
  runtime::ArrayRef& out = here_[at];
  if (out) return *out;
  auto array = std::make_shared<DeviceArray>(block);
  array->type.shape.insert(array->type.shape.begin(), turn.count);
  array->layout = runtime::Sharding::replicated(array->type.shape.size());
  array->elsewhere = blocks_(at);
  out = runtime::here(pool_, std::move(array));
  return *out;
}

void Showing::effect(const Shown& one, std::size_t at, Turn turn) {
  std::vector<runtime::ArrayRef> operands;
  for (std::size_t i = 0; i < one.types.size(); ++i) {
    auto array = std::make_shared<DeviceArray>(block(one.types[i], one.differs[i]));
    const DeviceArray& all = all_turns(at + i, *array, turn);
    const auto bytes = static_cast<std::size_t>(runtime::checked_bytes(array->local(), size_of(array->type.dtype)));
    const auto blocks = static_cast<std::size_t>(runtime::checked_bytes(array->physical(), size_of(array->type.dtype)));
    array->buffer = pool_.allocate(blocks);
    const auto* from = static_cast<const char*>(all.buffer->data()) + static_cast<std::size_t>(turn.index) * bytes;
    for (std::size_t to = 0; to < blocks; to += bytes, from += static_cast<std::size_t>(turn.count) * bytes)
      std::memcpy(static_cast<char*>(array->buffer->data()) + to, from, bytes);
    operands.push_back(runtime::whole(pool_, array));
  }
  std::vector<std::string> layouts;
  if (const auto* texts = one.node->attrs.get<std::vector<std::string>>("layouts")) layouts = *texts;
  layouts.resize(operands.size(), "P()");
  hooks_.effect(one.node->attrs, operands, layouts, one.node->span);
}

void Showing::show(std::span<const Shown> all, std::size_t at, Turn turn) {
  for (const Shown& s : all) {
    if (s.node) {
      effect(s, at, turn);
    } else if (is_branch(s)) {
      const DeviceArray& taken = all_turns(at, block(ir::Type::of(runtime::DType::Bool, {}), {}), turn);
      const bool first = static_cast<const bool*>(taken.buffer->data())[turn.index];
      std::size_t skipped = 1;
      for (const Shown& inner : s.inside[0]) skipped += first ? 0 : operands_of(inner);
      show(s.inside[first ? 0 : 1], at + skipped, turn);
    } else {
      for (std::int64_t t = 0; t < s.turns; ++t)
        show(s.inside[0], at, {turn.index * s.turns + t, turn.count * s.turns});
    }
    at += operands_of(s);
  }
}

}  // namespace shard::xla
