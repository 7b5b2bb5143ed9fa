// The compiled calls of one jit function. They are found by what the arguments are (a hash map); among those that agree
// in that, by the target, the mesh, the rules, the variables outside and the guards on host numbers.
#pragma once
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/lang/eval/hooks.h"
#include "interpreter/lang/staging/pattern.h"

namespace shard::lang {

// ---- what a compiled function reads from variables outside of it: treated as arguments, found again at each call

struct Capture {
  CellRef cell;
  Pattern pattern;
};

// Watches the body's reads of variables from outside: their arrays and numbers become parameters, once a variable.
class JitCaptures : public ReadObserver {
 public:
  JitCaptures(Interpreter& in, std::size_t leaves) : in_(in), leaves_(leaves) {}
  void open(trace::FrameRef frame) { frame_ = std::move(frame); }
  // The trace is over, and so all leaves are known: the computed numbers follow them.
  void close() { *base_ = leaves_; }

  Value on_read(const CellRef& cell, const Value& value) override;
  Value on_computed(const trace::Known& number, const std::string& key) override;

  // Of the captured value at this position; -1 where the trace captured it by itself: a constant.
  std::ptrdiff_t leaf_of(std::size_t captured) const;
  const trace::HostNumber* number(std::size_t leaf) const;

  std::vector<Capture> outside;
  std::vector<std::shared_ptr<const trace::HostFormula>> computed;

 private:
  trace::Tensor scalar(const trace::HostNumber& n) { return in_.context().concrete_scalar(n); }
  trace::Tensor parameter(trace::Tensor outer, std::shared_ptr<const trace::Known> known);

  Interpreter& in_;
  std::size_t leaves_;
  trace::FrameRef frame_;
  std::unordered_map<const Cell*, Value> seen_;
  std::unordered_map<std::string, Value> computed_;
  std::unordered_map<std::size_t, std::size_t> leaf_of_, place_of_;  // by position among what is captured
  std::shared_ptr<std::size_t> base_ = std::make_shared<std::size_t>(0);
  std::unordered_map<std::size_t, trace::HostNumber> numbers_;
};

// ---- compiled calls

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

// What the arrays that go into and come out of a compiled function are called, as in a file of the tree:
// "p.layers.0.w". Of the parameters of the plan: an argument's by the name of the function's parameter, one that the
// function takes from outside by that of its variable.
std::vector<std::string> names_given(const Value& function, const std::vector<CallArg>& args, const CompiledEntry& e);
// Of its results: "result", "result.1.w".
std::vector<std::string> names_made(const CompiledEntry& e);

}  // namespace shard::lang
