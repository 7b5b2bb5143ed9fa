#include "interpreter/lang/fixes/assertion.h"

#include "interpreter/lang/fixes/fix.h"
#include "interpreter/lang/names/aliases.h"

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
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(s[end]) & 0xc0) == 0x80) --end;  // not within a character
  return s.substr(0, end) + " ...";
}

}  // namespace

Value Sides::compare(Impl& m, const Expr& e, const Binary& b) {
  Value left = m.eval(*b.left), right = m.eval(*b.right);
  try {
    Value out = m.binary(b.op, left, right, e.span);
    kept_ = {std::move(left), std::move(right), b.op};
    return out;
  } catch (Error& error) {
    mend_binary(m, error, e, left, right);
    throw;
  }
}

Value Sides::eval(Impl& m, const Expr& argument) {
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

void Sides::tell(Impl& m, Error& error) const {
  if (!kept_ || error.diagnostic.code != "assert" || traced(kept_->left) || traced(kept_->right)) return;
  const std::string op = std::string(" of `") + written(kept_->op) + "`: ";
  error.diagnostic.notes.push_back("left" + op + shown(m, kept_->left));
  error.diagnostic.notes.push_back("right" + op + shown(m, kept_->right));
}

void refuse_thrown_away(Impl& m, const Expr& e, const Call& c, const Value& callee, const Value* object) {
  if (object && (object->fields() || callee.is<std::shared_ptr<const Closure>>())) return;
  std::string name;
  if (auto* op = callee.get<const ir::OpDef*>(); op && object)
    name = std::string((*op)->name);
  else if (auto* n = callee.get<std::shared_ptr<const Native>>())
    name = (*n)->name;
  if (!gives_only(name)) return;
  const Expr* target = nullptr;
  if (auto* f = std::get_if<Field>(&c.callee->node))
    target = f->object.get();
  else if (!c.args.empty())
    target = c.args[0].value.get();
  std::vector<Fix> fixes;
  if (target && std::holds_alternative<NameRef>(target->node) && m.in.sources().has(e.span.source)) {
    const auto text = [&](Span s) { return std::string(m.in.sources().text(s)); };
    fixes.push_back({"assign it", e.span, text(target->span) + " = " + text(e.span)});
  }
  Diagnostic d;
  d.code = "form";
  d.span = e.span;
  d.message = "`" + name + "` gives a new value and changes nothing, and nothing uses that value";
  d.notes.push_back("values never change in place");
  d.fixes = std::move(fixes);
  throw Error(std::move(d));
}

}  // namespace shard::lang
