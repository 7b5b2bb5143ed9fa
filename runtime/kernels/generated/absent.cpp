// Where there is no code generator: the loops do everything.
#include "runtime/kernels/generated/element_code.h"
#include "runtime/kernels/loop_code.h"

namespace shard::runtime::generated {

ExecutableMemory::~ExecutableMemory() = default;
std::unique_ptr<const ElementCode> make_element_code(const ElementPlan&) { return nullptr; }
void ElementCode::run_few(void* const*, void* const*, std::int64_t) const {}
void ElementCode::run_lines(const ElementPlan&, void* const*, void* const*, std::int64_t, std::int64_t) const {}
ElementTurns ElementCode::turns(std::size_t, std::int64_t, std::array<void* const*, 2>,
                                std::span<const ElementTurns::Moving>) const {
  return {nullptr, 0, {}, {}, nullptr};
}
void ElementCode::Part::run(void* const*, std::int64_t, std::int64_t) const {}

}  // namespace shard::runtime::generated

std::unique_ptr<const shard::runtime::LoopCode> shard::runtime::make_loop_code(const LoopPart::Loop&) {
  return nullptr;
}
