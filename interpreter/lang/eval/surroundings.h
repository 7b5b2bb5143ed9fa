// What stands around code without being named in it: the current mesh (the context's) and the rules.
#pragma once
#include <set>
#include <string>

#include "interpreter/lang/values/value.h"
#include "interpreter/trace/context.h"

namespace shard::lang {

class Surroundings {
 public:
  explicit Surroundings(trace::Context& context) : context_(context) {}
  const Value& rules() const { return rules_; }  // a record: axis, or none for `_`; none where there are no rules
  void set_rules(Value rules) { rules_ = std::move(rules); }
  // Names of mesh axes and of rules that were declared so far, anywhere: what `--set @name=...` may mean.
  std::set<std::string> declared;

  // Restores both where a block, a file or a test ends.
  class Restore {
   public:
    explicit Restore(Surroundings& s) : s_(s), mesh_(s.context_.mesh()), rules_(s.rules_) {}
    ~Restore() {
      s_.context_.set_mesh(std::move(mesh_));
      s_.rules_ = std::move(rules_);
    }
    Restore(const Restore&) = delete;

   private:
    Surroundings& s_;
    runtime::MeshRef mesh_;
    Value rules_;
  };

 private:
  trace::Context& context_;
  Value rules_;
};

}  // namespace shard::lang
