#include "interpreter/lang/fixes/plain_fix.h"

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/report/written.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

namespace {

// The name that the last statement of a function's body declares or assigns, and where that statement ends.
std::optional<Word> last_declared(const Function& f) {
  const auto* body = std::get_if<Block>(&f.body->node);
  if (!body || body->body.empty()) return std::nullopt;
  const Stmt& last = *body->body.back();
  const Span end{last.span.source, last.span.end, last.span.end};
  if (const auto* l = std::get_if<LetStmt>(&last.node))
    if (const auto* n = std::get_if<NamePattern>(&l->pattern->node)) return Word{n->name, end};
  if (const auto* a = std::get_if<AssignStmt>(&last.node))
    if (const auto* n = std::get_if<NameRef>(&a->target->node)) return Word{n->name, end};
  return std::nullopt;
}

// An integer that the text shows, or a variable that holds one: nothing happens where it is read.
std::optional<std::int64_t> integer_of(Impl& m, const Expr& e) {
  if (const auto* i = std::get_if<IntLit>(&e.node)) return i->value;
  const Value* v = std::holds_alternative<NameRef>(e.node) ? m.peek(e) : nullptr;
  const auto* i = v ? v->get<std::int64_t>() : nullptr;
  return i ? std::optional(*i) : std::nullopt;
}

}  // namespace

void explain_none(Impl& m, Error& error, const Expr& operand, const Value& value) {
  if (!value.is_none()) return;
  Diagnostic& d = error.diagnostic;
  if (const auto* name = std::get_if<NameRef>(&operand.node)) {
    d.notes.push_back("`" + name->name + "` is `none`: begin with a number, as in `let " + name->name + " = 0.0`");
    return;
  }
  const auto* call = std::get_if<Call>(&operand.node);
  const auto* callee = call ? std::get_if<NameRef>(&call->callee->node) : nullptr;
  const Value* f = callee ? m.peek(*call->callee) : nullptr;
  const auto* closure = f ? f->get<std::shared_ptr<const Closure>>() : nullptr;
  const auto last = closure ? last_declared(*(*closure)->function) : std::nullopt;
  if (!last) return;
  d.notes.push_back("`" + callee->name + "` ends in a statement and gives none: end with `" + last->text + "`");
  d.fixes.push_back({"give the value", last->span, "; " + last->text});
}

void fix_broadcast(Impl& m, Error& error, const Binary& b, const Value& left, const Value& right) {
  if (error.diagnostic.code != "shape" || !left.is_tensor() || !right.is_tensor()) return;
  const runtime::Shape &x = left.tensor().type().shape, &y = right.tensor().type().shape;
  if (runtime::broadcast(x, y)) return;
  const auto widened = [&](const Expr& e, runtime::Shape shape, const runtime::Shape& other) {
    std::string index = "[:";
    for (std::size_t i = 1; i < shape.size(); ++i) index += ", :";
    const std::size_t more = other.size() > shape.size() ? other.size() - shape.size() : 0;
    for (std::size_t i = 0; i < more; ++i) {
      shape.push_back(1);
      index += ", none";
      if (!runtime::broadcast(shape, other)) continue;
      error.diagnostic.fixes.push_back({"meet the dimensions further left with new ones at the end", e.span,
                                        operand_at(m.in.sources(), e.span) + index + "]"});
      return;
    }
  };
  if (!x.empty()) widened(*b.left, x, y);
  if (!y.empty()) widened(*b.right, y, x);
}

void fix_division(Impl& m, Error& error, const std::vector<const Expr*>& written) {
  Diagnostic& d = error.diagnostic;
  if (d.code != "type") return;
  for (const Expr* e : written) {
    if (!e || !(d.span.begin <= e->span.begin && e->span.end <= d.span.end)) continue;
    std::vector<const Expr*> parts{e};
    if (const auto* elements = elements_of(e))
      for (const Element& x : *elements) parts.push_back(x.value.get());
    for (const Expr* part : parts) {
      const auto* b = std::get_if<Binary>(&part->node);
      if (!b || b->op != BinaryOp::Div) continue;
      const auto x = integer_of(m, *b->left), y = integer_of(m, *b->right);
      if (!x || !y || *y == 0) continue;
      d.span = part->span;
      d.fixes.push_back({"divide to an integer", b->op_span, "//"});
      return;
    }
  }
}

}  // namespace shard::lang
