// The printer's parts, shared by print.cpp (statements, functions) and print_expression.cpp. Nobody else includes it.
#pragma once
#include <string>
#include <vector>

#include "grammar/operators.h"
#include "grammar/overloaded.h"
#include "grammar/parse.h"

namespace shard::grammar {

class Printer {
 public:
  std::string out;
  void statements(const std::vector<StmtPtr>& body);
  void whole(const Expr& e) { expr(e, loosest); }

 private:
  // How tightly an expression must hold together to stand without parentheses: a Level, or one of these below all
  // levels.
  static constexpr int loosest = -2;     // a lambda, which reaches as far as it can
  static constexpr int pipe_level = -1;  // `|>` and `shard`

  // print_expression.cpp
  static int level_of(const Expr& e);
  void expr(const Expr& e, int at_least);
  void expr(const ExprPtr& e, int at_least = loosest);
  void operand(const ExprPtr& e);
  void binary(const Binary& top);
  void node(const Expr& e);
  void indexed(const ExprPtr& e);
  static const Expr& leftmost(const Expr& e);
  void sharding(const Shard& x);
  void number(double v);
  void string(const StringLit& x);
  void literal(const std::string& text);
  void axes(const std::vector<Word>& names, bool grouped);
  void args(const std::vector<Arg>& all);
  void type(const TypeLit& t);
  void size(const Expr& e);
  static bool has_matmul(const Expr& e);
  void element(const Element& x);
  void entry(const Entry& x);
  static bool is_word(const std::string& s);
  void item(const Item& x);
  void branches(const IfExpr& top);

  // print.cpp
  void block(const Block& b);
  void function(const Function& f);
  void annot(const Annot& a);
  void pattern(const Pattern& p);
  void statement(const Stmt& s);
  void mesh(const MeshStmt& x);
  void doc(const std::string& text);
  void line();

  template <class Items, class F>
  void list(const Items& items, F&& each) {
    bool first = true;
    for (const auto& i : items) {
      if (!first) out += ", ";
      first = false;
      each(i);
    }
  }
  int indent_ = 0;
  int inline_ = 0;  // within strings, which stand on one line
};

}  // namespace shard::grammar
