// The compiled calls of one jit function. They are found by what the arguments are (a hash map); among those that agree
// in that, by the target, the mesh, the rules, the variables outside and the guards on host numbers.
#pragma once
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "interpreter/lang/staging/captures.h"

namespace shard::lang {

// Where a parameter of the plan comes from at each call: a leaf of the arguments and outside variables, or of the
// numbers computed from them, which follow; or a constant.
struct Source {
  std::ptrdiff_t leaf = -1;
  runtime::ArrayRef constant = nullptr;
};

struct CompiledEntry {
  const exec::Target* target = nullptr;
  Pattern arguments;
  std::vector<std::optional<std::int32_t>> becomes;  // of each argument (CallArg)
  std::vector<Capture> outside;
  runtime::MeshRef mesh;
  Value rules;
  std::vector<std::pair<std::size_t, trace::HostNumber>> guards;    // leaf, and the number it must be
  std::vector<std::shared_ptr<const trace::HostFormula>> computed;  // each from leaves and those before it
  std::vector<Source> sources;                                      // one a parameter of the plan
  std::vector<exec::ArrayInfo> given;                               // the same
  std::shared_ptr<const exec::Executable> plan;
  ir::GraphRef graph;                   // the plan's
  const ir::Graph* recorded = nullptr;  // what it was made of: which trace that was (Frame::done)
  runtime::MeshRef runs_on;             // the plan's mesh
  TreeStructure result;                 // places: among the results of the plan
};

class JitCache {
 public:
  // The entry that fits the arguments, as one value and as they are passed, or null; `leaves` become those of the
  // arguments, then of the outside variables.
  const CompiledEntry* find(Interpreter& in, const Value& arguments, const std::vector<CallArg>& args,
                            Gathered& leaves);
  const CompiledEntry& add(const Value& arguments, CompiledEntry entry);

 private:
  static constexpr std::size_t kEntries = 256;  // the oldest goes first
  struct Slot {
    std::size_t key;
    CompiledEntry entry;
  };
  std::list<Slot> entries_;                                           // in order of age
  std::unordered_map<std::size_t, std::vector<const Slot*>> by_key_;  // the newest last
  const Slot* last_ = nullptr;                                        // the one found last: mostly the next one too
};

}  // namespace shard::lang
