// What is known of a variable where the paths of a script come together: after a branch that a run may not take, after
// a loop that was left early.
#pragma once
#include "interpreter/lang/eval/checking/checking.h"

namespace shard::lang {

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

}  // namespace shard::lang
