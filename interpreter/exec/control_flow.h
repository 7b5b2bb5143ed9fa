// Instructions with plans inside: loops over rows, loops on a condition, branches, effects; and the one that runs
// another block by block where its condition differs between devices. Made by control_flow.cpp, run by plan.cpp.
#pragma once
#include "interpreter/exec/plan.h"

namespace shard::exec {

// Operands: consts, carry (dense), rows (first row). Results: carry, stacked (first row). The body's results: carry,
// rows.
struct ScanLoop : Control {
  Plan body;
  std::size_t consts = 0, carry = 0, rows = 0, stacked = 0;
  std::int64_t length = 0;
  bool reverse = false;
  std::vector<std::int64_t> row_step, stacked_step, carry_bytes;  // bytes
  std::vector<char> in_place;                                     // by carry: the body overwrites what it reads
  std::vector<std::int64_t> buffers;  // by carry: offset of the second buffer in the scratch
  std::int64_t scratch = 0;
  void run(Run& run, void* const* in, void* const* out, char* scratch) const override;
  std::int64_t scratch_bytes() const override { return scratch; }
};

// Operands: what the condition takes, what the body takes, carry (dense). Results: carry.
struct WhileLoop : Control {
  Plan condition, body;
  std::size_t condition_consts = 0, body_consts = 0, carry = 0;
  std::vector<std::int64_t> carry_bytes;
  std::vector<char> in_place;
  std::vector<std::int64_t> buffers;
  std::int64_t condition_at = 0, verdict = 0,
               scratch = 0;  // offsets in the scratch: the condition's arena, what it gave
  void run(Run& run, void* const* in, void* const* out, char* scratch) const override;
  std::int64_t scratch_bytes() const override { return scratch; }
};

// Operands: a bool, then what both regions take.
struct BranchChoice : Control {
  Plan then, otherwise;
  void run(Run& run, void* const* in, void* const* out, char* scratch) const override;
  std::int64_t scratch_bytes() const override { return std::max(then.arena, otherwise.arena); }
};

// Runs `inner` once for each block along `axes`.
struct Blockwise : Control {
  std::shared_ptr<const Control> inner;
  std::vector<runtime::AxisId> axes;
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> in_step, out_step;  // by axis, by operand: bytes a block
  void run(Run& run, void* const* in, void* const* out, char* scratch) const override;
  std::int64_t scratch_bytes() const override { return inner->scratch_bytes(); }
};

// Hands copies of its operands to the host. `frozen`: axes along which it runs block by block; the attribute `at` then
// says where.
struct EffectCall : Control {
  ir::Attrs attrs;
  std::vector<runtime::DeviceArray> operands;  // without buffers
  std::vector<std::int64_t> bytes;
  std::vector<std::string> layouts;
  runtime::AxisSet frozen;
  std::size_t mesh_axes = 0;
  std::vector<std::int64_t> first;  // by axis: where the devices of this process begin
  grammar::Span span;
  void run(Run& run, void* const* in, void* const* out, char* scratch) const override;
};

}  // namespace shard::exec
