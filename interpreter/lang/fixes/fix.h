// Fixes for errors of layout, found by trying: an operand is given another layout, or the result's layout is said with
// `out:`, and what the operation then accepts is suggested as source text. No rule is written a second time. The
// evaluator knows the fixer by eval/hooks.h alone.
#pragma once
#include "interpreter/lang/eval/hooks.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

class Fixes final : public Fixer {
 public:
  explicit Fixes(Interpreter& in) : in_(in) {}
  // fix.cpp
  void binary(grammar::Error& error, const grammar::Expr& e, const Value& left, const Value& right) override;
  void assign(grammar::Error& error, const grammar::AssignStmt& s, const Value& value) override;
  void index(grammar::Error& error, const grammar::Expr& e, const Value& object,
             const std::vector<IndexItem>& items) override;
  void rows(grammar::Error& error, const grammar::Expr& sequence, const Value& value) override;
  // call_fix.cpp
  void call(grammar::Error& error, const grammar::Expr& e, const Value& function, const std::vector<CallArg>& args,
            const std::vector<const grammar::Expr*>& written) override;
  void leaf(grammar::Error& error, grammar::Span whole, const Value& tree, const std::string& path,
            const std::string& spec) override;
  // spec_fix.cpp
  void shard(grammar::Error& error, const grammar::Expr& e, const Value& value, const Value& spec,
             const runtime::MeshRef& mesh) override;
  // region_fix.cpp
  void branches(grammar::Error& error, const grammar::Expr& e, const grammar::IfExpr& x,
                const std::vector<Differing>& to_first, const std::vector<Differing>& to_second) override;
  void carry(grammar::Error& error, grammar::Span loop, const grammar::Expr& body, const std::vector<Differing>& at_end,
             const std::vector<Differing>& before) override;

 private:
  Interpreter& in_;
};

// From here on this engine's errors carry fixes. Called where an engine is put together (stdlib::install).
void install_fixes(Interpreter& in);

}  // namespace shard::lang
