// What is known of a variable where the paths of a script come together: after a branch that a run may not take, after
// a loop that was left early.
#pragma once
#include <optional>

#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/values/closure.h"

namespace shard::lang {

// The kind of a number, of the script or of a run.
std::optional<runtime::DType> number_kind(const Value& v);
// One value that stands for both; nothing() where there is none.
Value joined(Interpreter::Impl& m, const Value& a, const Value& b);
// Numbers become those of a run, of which only the kind is known.
Value blurred(Interpreter::Impl& m, const Value& v);

// The outer variables that a statement assigns (Unit::assigned).
class AssignedVariables {
 public:
  AssignedVariables(Interpreter::Impl& m, const void* statement);
  std::vector<Value> values() const;  // nothing() where one has no value
  void set(const std::vector<Value>& values);
  void join(const std::vector<Value>& before);  // with what they are now
  // Where a loop is left early: numbers, which differ from turn to turn, become numbers of a run, and of lists that
  // grow nothing is known. `before`: their values when it began.
  void blur(const std::vector<Value>& before);

 private:
  Interpreter::Impl& m_;
  const std::vector<Unit::Assigned>* list_;  // null: none
};

// Where a variable's value is; null before it has one.
Value* place_of(Interpreter::Impl& m, const Slot& s);

}  // namespace shard::lang
