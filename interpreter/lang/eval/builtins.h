// What a name means that no scope of a script declares: natives and constants of the host, then operation rows.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interpreter/ir/op_table.h"
#include "interpreter/lang/names/aliases.h"
#include "interpreter/lang/names/resolve.h"
#include "interpreter/lang/values/value.h"

namespace shard::lang {

class Builtins {
 public:
  explicit Builtins(const ir::OpTable& table) : table_(table) {}
  void define(std::string name, Value value);                            // again: in place of the one before
  void reserve(std::string name) { reserved_.insert(std::move(name)); }  // scripts cannot declare it anew
  const std::set<std::string>& reserved() const { return reserved_; }
  void see_variables(std::string name) { see_variables_.insert(std::move(name)); }  // Native::sees_variables
  int find(const std::string& name);  // an index that stays; -1 where there is none
  const Value& operator[](std::int32_t index) const { return values_[static_cast<std::size_t>(index)]; }
  std::vector<std::string> names() const;
  const std::vector<Value>& values() const { return values_; }  // those that were defined or found
  const Aliases& aliases();  // what others call them: for messages, so made when one is written
  ResolveHost for_names();   // what the pass over names asks of all this

 private:
  const ir::OpTable& table_;
  std::unique_ptr<Aliases> aliases_;
  std::vector<std::pair<std::string, std::shared_ptr<const Native>>> with_aliases_;  // that aliases_ does not have yet
  std::vector<Value> values_;
  std::unordered_map<std::string, int> index_;
  std::set<std::string> reserved_, see_variables_;
};

// The field of a record whose function is called so elsewhere (Dense: linear); or empty.
std::string_view member_here(const Record* record, std::string_view name);

}  // namespace shard::lang
