// A plan: instructions bound to kernels, with addresses as (slot, offset). A run fills in the slots and calls one
// kernel after another; nothing is looked up, nothing but results and one block for all temporaries (the arena) is
// allocated. Plans nest: bodies of loops and branches are plans whose arena is a part of the outer one's. Made by
// lowering.h, run by executable.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "interpreter/exec/executable.h"
#include "runtime/kernels/element_program.h"

namespace shard::exec {

// What one run carries along.
struct Run {
  const Hooks& hooks;
  runtime::Pool& pool;
  std::vector<std::int64_t> coordinates;  // by mesh axis: where a region that runs block by block stands
  void ask() const;                       // throws an Error where the run is to end (runtime/array/stop.h)
  // Counts turns of a loop, and asks; endless: patience ends nothing.
  void turn(bool endless = false, std::int64_t many = 1) const;
};

// Address of the first element: base[slot] + offset (+ stride times coordinate of each term). Slot 0 is address 0:
// constants.
struct Loc {
  static constexpr std::int32_t kNoTerms = -1;
  std::int32_t slot = 0;
  std::int32_t terms = kNoTerms;  // index into Plan::terms
  std::int64_t offset = 0;        // bytes
};

struct RunElements {  // the kernel of an elementwise program
  std::shared_ptr<const runtime::ElementKernel> kernel;
  const runtime::Stop* stop;
  void operator()(void* const* in, void* const* out) const { kernel->run(in, out, stop); }
};

struct ScanLoop;
struct WhileLoop;
struct BranchChoice;
struct ControlReader {  // who wants to know what a control is
  virtual ~ControlReader() = default;
  virtual void read(const ScanLoop& loop) = 0;
  virtual void read(const WhileLoop& loop) = 0;
  virtual void read(const BranchChoice& choice) = 0;
};

class Control {  // an instruction that is more than one kernel call
 public:
  virtual ~Control() = default;
  virtual bool shown_to(ControlReader&) const { return false; }  // whether it is one of those
  virtual void run(Run& run, void* const* in, void* const* out, char* scratch) const = 0;
  virtual std::int64_t scratch_bytes() const { return 0; }
};

struct Step {
  ir::BoundKernel kernel;  // exactly one of the two
  std::shared_ptr<const Control> control;
  std::uint32_t first = 0, ins = 0, outs = 0;  // locs: operands, results, then the scratch of a control
  grammar::Span span;
  const ir::Node* node = nullptr;  // that it is, or the last of those that it is; none: a copy
};

struct Plan {
  std::vector<Step> steps;
  std::vector<Loc> locs;
  std::vector<std::vector<std::pair<runtime::AxisId, std::int64_t>>> terms;  // bytes a coordinate
  std::vector<runtime::BufferRef> constants;                                 // what slot 0 points into
  std::size_t params = 0, results = 0;  // slots 1 .. params, then the arena, then the results
  std::int64_t arena = 0;               // bytes
  std::size_t arena_slot() const { return params + 1; }
  std::size_t result_slot(std::size_t i) const { return params + 2 + i; }
  std::size_t slots() const { return params + results + 2; }
  void run(Run& run, char* const* base) const;  // base[slot]
};

// ---- Instructions with plans inside: loops over rows, loops on a condition, branches, effects; and the one that runs
// another block by block where its condition differs between devices.
class NativeLoop;
// What loops share: values that go round, and where they lie.
struct Loop : Control {
  Plan body;
  std::size_t carry = 0;
  std::vector<std::int64_t> carry_bytes, buffers;  // by carry: its bytes; offset of the second buffer in the scratch
  std::vector<char> in_place;                      // by carry: the body overwrites what it reads
  std::int64_t scratch = 0;
  std::shared_ptr<NativeLoop> native;  // its machine code, if there will be any
  Loop();
  std::int64_t scratch_bytes() const override { return scratch; }
};

// Operands: consts, carry (dense), rows (first row). Results: carry, stacked (first row). The body's results: carry,
// rows.
struct ScanLoop : Loop {
  std::size_t consts = 0, rows = 0, stacked = 0;
  std::int64_t length = 0;
  bool reverse = false;
  std::vector<std::int64_t> row_step, stacked_step;  // bytes
  void run(Run& run, void* const* in, void* const* out, char* scratch) const override;
  bool shown_to(ControlReader& to) const override { return to.read(*this), true; }
};

// Operands: what the condition takes, what the body takes, carry (dense). Results: carry.
struct WhileLoop : Loop {
  Plan condition;
  std::size_t condition_consts = 0, body_consts = 0;
  std::int64_t condition_at = 0, verdict = 0;  // offsets in the scratch: the condition's arena, what it gave
  void run(Run& run, void* const* in, void* const* out, char* scratch) const override;
  bool shown_to(ControlReader& to) const override { return to.read(*this), true; }
};

// Operands: a bool, then what both regions take.
struct BranchChoice : Control {
  Plan then, otherwise;
  bool shown_to(ControlReader& to) const override { return to.read(*this), true; }
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

// Runs `body` once a block (depth_first.h), a block a thread. Its parameters are the operands, then the results.
struct DepthFirst : Control {
  Plan body;
  const ir::Node* node = nullptr;                // the last of those that it is
  std::vector<std::int64_t> counts;              // of blocks, by loop, outer ones first
  std::vector<std::vector<std::int64_t>> steps;  // by loop, by parameter: bytes a block
  std::int64_t blocks = 1, lanes = 1;            // lanes: threads at most, each with an arena
  std::size_t ins = 0;                           // operands
  void run(Run& run, void* const* in, void* const* out, char* scratch) const override;
  std::int64_t scratch_bytes() const override { return lanes * arena(); }

 private:
  std::int64_t arena() const { return (body.arena + 63) / 64 * 64; }
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
