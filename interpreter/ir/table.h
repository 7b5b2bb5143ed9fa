// The operations there are: rows by name. An engine owns one table; stdlib fills it; nothing else adds to it.
#pragma once
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interpreter/ir/core_ops.h"
#include "interpreter/ir/op.h"
#include "interpreter/ir/signature.h"

namespace shard::ir {

class OpTable {
 public:
  // Throws std::logic_error with a sentence saying what to write where a REQUIRED column is empty, or for a second row
  // of the name. Gives the row as it is kept, for a column that the function which made it does not take.
  OpDef& add(OpDef row);
  const OpDef* find(std::string_view name) const;     // null where there is none
  const OpDef& at(std::string_view name) const;       // throws std::logic_error
  const Signature& signature(const OpDef& op) const;  // parsed once
  const std::deque<OpDef>& rows() const { return rows_; }
  const CoreOps& core() const { return core_; }  // valid after freeze()
  void freeze();                                 // looks up the core operations; called once, when stdlib is in

 private:
  std::deque<OpDef> rows_;  // addresses are stable: nodes point to rows
  std::unordered_map<std::string_view, const OpDef*> by_name_;
  std::unordered_map<const OpDef*, Signature> signatures_;
  CoreOps core_;
};

}  // namespace shard::ir
