// A plan while it is being made: storages with their lives, steps that name storages. The lowering fills it in order of
// execution; `finish` (memory.cpp) then decides where each storage lies: temporaries in one arena by the intervals of
// their lives, results in slots of their own, in place of an operand or an argument where that dies.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "interpreter/exec/plan.h"
#include "interpreter/exec/strided_view.h"

namespace shard::exec {

struct Storage {
  struct Constant {
    std::size_t index;  // of Draft::constants
  };
  struct Param {
    std::size_t index;
  };
  struct Temporary {
    std::optional<std::size_t> result;  // the result that it is; else it is a part of the arena
  };
  std::variant<Temporary, Constant, Param> kind;
  std::int64_t bytes = 0;         // all blocks
  std::int64_t device_bytes = 0;  // one block
  std::optional<int> born, last;  // steps: the first one that writes it, the last one that names it
  ir::Var value = {};             // the first that lies in it
  bool host = false;              // it lies in the host's memory, where what a device holds is asked for
  static constexpr int kForever = 1 << 30;
  bool in_arena() const {
    auto* t = std::get_if<Temporary>(&kind);
    return t && !t->result;
  }
};

struct Ref {  // an address in a draft
  int storage = kNoStorage;
  std::int64_t offset = 0;                                  // bytes
  std::vector<std::pair<AxisId, std::int64_t>> terms = {};  // bytes a coordinate
  bool operator==(const Ref&) const = default;
};

struct DraftStep {
  ir::BoundKernel kernel;
  std::shared_ptr<const Control> control;
  std::vector<Ref> ins, outs;
  // (result, operand): the result may be written over the operand where this step is its last use.
  std::vector<std::pair<int, int>> in_place;
  bool writes_over(int operand, int result) const {  // of these storages
    return std::any_of(in_place.begin(), in_place.end(), [&](auto pair) {
      return outs[static_cast<std::size_t>(pair.first)].storage == result &&
             ins[static_cast<std::size_t>(pair.second)].storage == operand;
    });
  }
  grammar::Span span;
  const ir::Node* node = nullptr;
  Most inside = {};          // of a control: what one device holds in it
  std::int64_t scratch = 0;  // what the kernel takes for itself, for one device
};

struct ResultRef {  // where a result of the plan comes from
  struct Own {      // memory of its own; that of a parameter, where its caller gives it away
    std::optional<std::size_t> donor;
    bool untouched;  // bodies: it is that parameter, as it came
  };
  struct Param {
    std::size_t index;
  };
  struct Constant {
    runtime::BufferRef buffer;
  };
  struct Same {
    std::size_t earlier;  // another result
  };
  std::variant<Own, Param, Constant, Same> from;
  std::int64_t bytes = 0;
};

// Whose memory the results of a body take over: of each the parameter, or none's. (At top level: that of any that
// fits.)
using Donors = std::vector<std::optional<std::size_t>>;

struct Draft {
  std::vector<Storage> storages;
  std::vector<DraftStep> steps;
  std::vector<ResultRef> results;
  std::vector<runtime::BufferRef> constants;
  std::size_t params = 0;
  bool runs = true;  // else nobody asks where its storages lie

  int temporary(std::int64_t bytes, std::int64_t device_bytes);
  void add(DraftStep step);  // keeps the lives of what it names
  Storage& at(int storage) { return storages[static_cast<std::size_t>(storage)]; }
  const Storage& at(int storage) const { return storages[static_cast<std::size_t>(storage)]; }
  void keep(int storage) { at(storage).last = Storage::kForever; }
  void leave_out(int storage) { at(storage).bytes = at(storage).device_bytes = 0; }  // nobody writes or reads it
};

// A product and the elementwise program right behind it that reads its result become one step where the result comes in
// pieces: the program is the epilogue of each. Where nobody else reads the result it lies where the program writes, or
// nowhere. (epilogues.cpp)
void join_epilogues(Draft& d);

struct Finished {
  Plan plan;
  Most most;  // of one device's temporaries
  std::vector<std::pair<const ir::Node*, std::int64_t>> curve;
};
// Settles the results' donors and gives every storage its place. `wanted`: null at top level.
Finished finish(Draft draft, const Donors* wanted, std::vector<ResultRef>& results);

}  // namespace shard::exec
