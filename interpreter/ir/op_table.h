// The operations there are: rows by name. An engine owns one table; stdlib fills it; nothing else adds to it.
#pragma once
#include <deque>
#include <memory>
#include <mutex>
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
  // The rows are made when one is first asked for: many a script has no arrays. Called once, on an empty table; threads
  // may share it then.
  void fill_when_asked(void (*fill)(OpTable&)) { fill_ = fill; }

  // Throws std::logic_error with a sentence saying what to write where a REQUIRED column is empty, or for a second row
  // of the name. Gives the row as it is kept, for a column that the function which made it does not take.
  OpDef& add(OpDef row);
  const OpDef* find(std::string_view name) const;  // null where there is none
  const OpDef& at(std::string_view name) const;    // throws std::logic_error
  // Parsed when it is first asked for; throws std::logic_error where it is malformed or does not fit its row.
  const Signature& signature(const OpDef& op) const;
  const std::deque<OpDef>& rows() const { return filled().rows_; }
  const CoreOps& core() const { return filled().core_; }  // valid after freeze()
  void freeze();  // looks up the core operations; called once, when stdlib is in

 private:
  const OpTable& filled() const { return fill_ ? fill() : *this; }
  const OpTable& fill() const;

  struct Parsed {
    std::once_flag once;
    Signature signature;
  };
  std::deque<OpDef> rows_;  // addresses are stable: nodes point to rows
  std::unordered_map<std::string_view, const OpDef*> by_name_;
  mutable std::unordered_map<const OpDef*, Parsed> signatures_;  // one for every row
  CoreOps core_;
  void (*fill_)(OpTable&) = nullptr;
  mutable std::once_flag once_;
  mutable std::unique_ptr<OpTable> made_;  // has the rows in place of this one, where it fills itself
};

}  // namespace shard::ir
