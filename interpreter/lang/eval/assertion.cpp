#include "interpreter/lang/eval/assertion.h"

#include "grammar/characters.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

namespace {

const char* written(BinaryOp op) {
  switch (op) {
    case BinaryOp::Eq: return "==";
    case BinaryOp::Ne: return "!=";
    case BinaryOp::Lt: return "<";
    case BinaryOp::Le: return "<=";
    case BinaryOp::Gt: return ">";
    case BinaryOp::Ge: return ">=";
    default: return nullptr;
  }
}

const Binary* comparison(const Expr& e) {
  const auto* b = std::get_if<Binary>(&e.node);
  return b && written(b->op) ? b : nullptr;
}

bool traced(const Value& v) {
  for (const Value& leaf : leaves(v))
    if (leaf.is_tensor() && leaf.tensor().traced()) return true;
  return false;
}

std::string shown(Impl& m, const Value& v) {
  constexpr std::size_t most = 600;
  std::string s = m.in.repr(v);
  if (s.size() <= most) return s;
  return std::string(grammar::whole_characters(s, most)) + " ...";
}

}  // namespace

Value AssertedOperands::compare(Impl& m, const Expr& e, const Binary& b) {
  Value left = m.eval(*b.left), right = m.eval(*b.right);
  if (m.ctx.types_only() && (is_size_of_data(left) || is_size_of_data(right))) only_in_a_run(e.span);
  try {
    Value out = m.binary(b.op, left, right, e.span);
    kept_ = {std::move(left), std::move(right), b.op};
    return out;
  } catch (Error& error) {
    if (m.fixer) m.fixer->binary(error, e, left, right);
    throw;
  }
}

Value AssertedOperands::eval(Impl& m, const Expr& argument) {
  if (const Binary* b = comparison(argument)) return compare(m, argument, *b);
  const auto* c = std::get_if<Call>(&argument.node);
  if (!c || c->args.size() != 1 || c->args[0].spread || c->args[0].name) return m.eval(argument);
  const Binary* b = comparison(*c->args[0].value);
  if (!b || !std::holds_alternative<NameRef>(c->callee->node)) return m.eval(argument);
  const Value f = m.eval(*c->callee);
  if (!f.is<const ir::OpDef*>()) return m.eval(argument);
  std::vector<CallArg> args;
  args.push_back({"", compare(m, *c->args[0].value, *b), c->args[0].value->span});
  return m.call(f, args, argument.span);
}

void AssertedOperands::show(Impl& m, Error& error) const {
  if (!kept_ || error.diagnostic.code != "assert" || traced(kept_->left) || traced(kept_->right)) return;
  const std::string op = std::string(" of `") + written(kept_->op) + "`: ";
  error.diagnostic.notes.push_back("left" + op + shown(m, kept_->left));
  error.diagnostic.notes.push_back("right" + op + shown(m, kept_->right));
}

}  // namespace shard::lang
