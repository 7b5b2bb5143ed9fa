// What traced branches and loops share (traced_if.cpp, traced_loop.cpp): a part of a script that is recorded as a
// region, with the variables that it assigns as results.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "grammar/kept.h"
#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

// The variables that a region assigns: remembered, set and given back. Their cells count as made inside of the region,
// so that assigning them is allowed there, while every other older cell may not be assigned.
class Variables {
 public:
  // `node`: the statement or expression, as the resolver knows it.
  Variables(Interpreter::Impl& m, const void* node, grammar::Span span);
  std::size_t size() const { return list_.size(); }
  const std::string& name(std::size_t i) const { return list_[i].name; }
  Value& at(std::size_t i) { return *m_.place_of(list_[i].slot); }
  const Value& before(std::size_t i) const { return before_[i]; }
  void restore() {
    for (std::size_t i = 0; i < size(); ++i) at(i) = before_[i];
  }

  class Inside {
   public:
    explicit Inside(Variables& v);
    ~Inside() {
      for (auto& [c, serial] : cells_) c->serial = serial;
    }
    Inside(const Inside&) = delete;

   private:
    grammar::Kept<std::uint64_t> floor_;
    std::vector<std::pair<CellRef, std::uint64_t>> cells_;
  };

 private:
  friend class Inside;
  Interpreter::Impl& m_;
  const std::vector<Unit::Assigned>& list_;
  std::vector<Value> before_;
};

// Runs the part; leaving it by `break`, `continue` or `return` is an error. `what`: "branch", "loop".
Value run_region(Interpreter::Impl& m, const grammar::Expr& body, const char* what);
// A value as a region gives it back: its arrays and numbers are results, behind those that are there.
TreeStructure take_results(Interpreter::Impl& m, const Value& v, std::vector<trace::Tensor>& results,
                           grammar::Span span);
// Adds how messages name the results: `a`, `s.w`, `[0]`.
void add_names(const std::string& variable, const TreeStructure& r, std::vector<std::string>& out);

// What regions capture, without repetition.
class Captures {
 public:
  std::vector<trace::Tensor> all;
  std::vector<std::size_t> add(const std::vector<trace::Tensor>& captured);  // where each is among `all`
};
// `g` anew: the captured values first (at `where` among `consts` parameters), then the declared parameters; results
// converted.
ir::GraphRef rearranged(Interpreter::Impl& m, const ir::Graph& g, std::size_t declared,
                        const std::vector<runtime::Type>& consts, const std::vector<std::size_t>& where,
                        const std::vector<runtime::Kind>& kinds);

runtime::Kind result_kind(const ir::Graph& g, std::size_t i);
// A weakly typed result (a host number) takes the other's type; the kind that `mine` should have.
runtime::Kind joined(runtime::Kind mine, runtime::Kind other);

// One result of a region: the variable that it is of ("" for the value), and which leaf of it.
struct Owner {
  std::string variable;
  const Value* tree;
  std::size_t leaf;
  Differing with(const runtime::Type& want, const runtime::Type& have) const {
    return {want, have, variable, tree, leaf};
  }
};
std::vector<Owner> owners(const std::vector<TreeStructure>& results, const std::vector<std::string>& variables);

}  // namespace shard::lang
