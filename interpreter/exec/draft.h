// A plan while it is being made: storages with their lives, steps that name storages. The lowering fills it in order of
// execution; `finish` (memory.cpp) then decides where each storage lies: temporaries in one arena by the intervals of
// their lives, results in slots of their own, in place of an operand or an argument where that dies.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "interpreter/exec/place.h"
#include "interpreter/exec/plan.h"

namespace shard::exec {

struct Storage {
  enum class Kind : std::uint8_t { Constant, Param, Temporary };
  Kind kind = Kind::Temporary;
  int param = -1;
  void* data = nullptr;           // of a constant
  std::int64_t bytes = 0;         // all blocks
  std::int64_t device_bytes = 0;  // one block
  int born = -1, last = -1;       // steps; Temporary only (last also of params)
  int result = -1;                // the result it is
};

struct Ref {  // an address in a draft
  int storage = -1;
  std::int64_t offset = 0;                                  // bytes
  std::vector<std::pair<AxisId, std::int64_t>> terms = {};  // bytes a coordinate
};

struct DraftStep {
  ir::BoundKernel kernel;
  std::shared_ptr<const Control> control;
  std::vector<Ref> ins, outs;
  // (result, operand): the result may be written over the operand where this step is its last use.
  std::vector<std::pair<int, int>> in_place;
  grammar::Span span;
  std::int64_t extra_device_bytes = 0;  // what one device holds inside a control
};

struct ResultRef {  // where a result of the plan comes from
  enum class Kind : std::uint8_t { Own, Param, Constant, Same };
  Kind kind = Kind::Own;
  int index = -1;        // Param: which; Constant: storage; Same: an earlier result
  int donor = -1;        // Own: the parameter whose memory may be taken over where its caller gives it away
  bool through = false;  // bodies: the parameter `donor` itself, untouched
  std::int64_t bytes = 0;
};

struct Draft {
  std::vector<Storage> storages;
  std::vector<DraftStep> steps;
  std::vector<ResultRef> results;
  std::vector<runtime::BufferRef> constants;
  std::size_t params = 0;

  int temporary(std::int64_t bytes, std::int64_t device_bytes);
  void add(DraftStep step);  // keeps the lives of what it names
  void keep(int storage) { storages[static_cast<std::size_t>(storage)].last = kForever; }
  static constexpr int kForever = 1 << 30;
};

struct Finished {
  Plan plan;
  std::int64_t peak_device_bytes = 0;  // most of one device's temporaries that live at once
};
// `wanted[i]`: the parameter whose memory result i would like to take over (-1: any that fits).
Finished finish(Draft draft, const std::vector<int>& wanted, std::vector<ResultRef>& results);

}  // namespace shard::exec
