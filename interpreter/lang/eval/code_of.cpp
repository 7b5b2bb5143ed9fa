// From a tree to its code. Temporaries are given out and taken back as a stack.
#include "interpreter/lang/eval/code.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "interpreter/lang/eval/operators.h"

namespace shard::lang {

using namespace grammar;

namespace {

constexpr Operand temporary(int i) { return {Operand::Temporary, i}; }

template <class T>
const T* as(const Expr& e) {
  return std::get_if<T>(&e.node);
}

bool is_logic(const Binary& b) { return b.op == BinaryOp::And || b.op == BinaryOp::Or; }

// Arguments by place alone, of a function that a name stands for.
bool is_plain(const Call& c) {
  for (const Arg& a : c.args)
    if (a.name || a.spread) return false;
  return std::holds_alternative<NameRef>(c.callee->node);
}

// Nothing that evaluating `e` does can change a variable that no function shares.
bool is_quiet(const Expr& e) {
  if (auto* u = as<Unary>(e)) return is_quiet(*u->operand);
  if (auto* b = as<Binary>(e)) return is_quiet(*b->left) && is_quiet(*b->right);
  if (auto* c = as<Call>(e)) {
    for (const Arg& a : c->args)
      if (!is_quiet(*a.value)) return false;
    return is_plain(*c);
  }
  return as<NameRef>(e) || as<IntLit>(e) || as<FloatLit>(e) || as<BoolLit>(e) || as<NoneLit>(e);
}

class Compiler {
 public:
  explicit Compiler(const Unit& unit) : unit_(unit) {}

  std::shared_ptr<const Code> body(const Expr& e) {
    const Operand out = fresh();
    expression(e, out);
    step({CodeStep::Result, {}, out});
    return finished(e);
  }

  std::shared_ptr<const Code> body(const Function& f) {
    for (const Param& p : f.params)
      if (std::holds_alternative<NamePattern>(p.pattern->node)) code_.parameters.push_back(slot(p.pattern->id));
    tail(*f.body);
    return finished(*f.body);
  }

  std::shared_ptr<const Code> loop(const WhileStmt& s, Span span) {
    while_loop(s, span);
    return finished(*s.body);
  }

  std::shared_ptr<const Code> loop(const ForStmt& s) {
    const Operand next = fresh(), last = fresh();
    const std::int32_t begin = step({CodeStep::Next, *local(s.pattern->id), next, last});
    step({CodeStep::Poll, {}, {}, {}, 0, 0, s.sequence->span});
    turns(*s.body, begin, begin);
    return finished(*s.body);
  }

 private:
  struct Full {};  // more temporaries than there are
  struct Mark {
    int used;
    std::size_t steps, loops;
  };
  Mark mark() const { return {used_, code_.steps.size(), code_.loops.size()}; }
  void go_back(const Mark& m) {
    used_ = m.used;
    code_.steps.resize(m.steps);
    code_.loops.resize(m.loops);
  }

  std::int32_t here() const { return static_cast<std::int32_t>(code_.steps.size()); }
  std::int32_t step(CodeStep s) {
    code_.steps.push_back(s);
    return here() - 1;
  }
  void comes_here(std::int32_t jump) { code_.steps[static_cast<std::size_t>(jump)].to = here(); }

  Operand fresh() {
    if (used_ == Code::kTemporaries) throw Full();
    code_.temporaries = std::max(code_.temporaries, used_ + 1);
    return temporary(used_++);
  }
  Operand literal(Value v) {
    code_.literals.push_back(std::move(v));
    return {Operand::Literal, static_cast<std::int32_t>(code_.literals.size()) - 1};
  }

  const BlockInfo& info(const Expr& block) const {
    return unit_.blocks[static_cast<std::size_t>(unit_.extra[static_cast<std::size_t>(block.id)])];
  }
  Slot slot(std::int32_t id) const { return unit_.slots[static_cast<std::size_t>(id)]; }
  std::optional<Operand> local(std::int32_t id) const {
    const Slot s = slot(id);
    if (s.where != Where::Local) return std::nullopt;
    return Operand{Operand::Local, s.index};
  }

  std::shared_ptr<const Code> finished(const Expr& body) {
    step({CodeStep::End});
    if (as<Block>(body)) code_.first_local = info(body).first_local, code_.end_local = info(body).end_local;
    return std::make_shared<const Code>(std::move(code_));
  }

  // ---- expressions

  // Where the value of `e` is to be found: a variable in place, a literal, or the next temporary.
  Operand operand(const Expr& e) {
    if (auto* n = as<IntLit>(e)) return literal(n->value);
    if (auto* n = as<FloatLit>(e)) return literal(n->value);
    if (auto* n = as<BoolLit>(e)) return literal(n->value);
    if (as<NoneLit>(e)) return literal({});
    if (as<NameRef>(e))
      if (auto at = local(e.id)) return *at;
    const Operand out = fresh();
    expression(e, out);
    return out;
  }

  void expression(const Expr& e, Operand to) {
    const Mark before = mark();
    try {
      form(e, to);
    } catch (const Full&) {
      go_back(before);
      step({CodeStep::Flow, to, {}, {}, 0, 0, {}, &e});
    }
    used_ = before.used;
  }

  void form(const Expr& e, Operand to) {
    if (auto* b = as<Binary>(e)) return is_logic(*b) ? logic(e, *b, to) : binary(e, *b, to);
    if (auto* u = as<Unary>(e)) {
      const Operand a = operand(*u->operand);
      step({CodeStep::Unary, to, a, {}, 0, 0, {}, &e});
    } else if (auto* x = as<IfExpr>(e)) {
      branch(e, *x, to);
    } else if (auto* c = as<Call>(e); c && is_plain(*c) && !(unit_.flags[static_cast<std::size_t>(e.id)] & kUnused)) {
      call(e, *c, to);
    } else if (as<Block>(e) && info(e).plain()) {
      block(e, &to);
    } else if (as<Block>(e) || as<UseExpr>(e)) {
      step({CodeStep::Flow, to, {}, {}, 0, 0, {}, &e});
    } else if (as<NameRef>(e) && slot(e.id).where != Where::Local) {
      step({CodeStep::Read, to, {}, {}, 0, 0, {}, &e});
    } else if (is_quiet(e) && !as<Call>(e)) {
      step({CodeStep::Copy, to, operand(e)});
    } else {
      step({CodeStep::Walk, to, {}, {}, 0, 0, {}, &e});
    }
  }

  std::pair<Operand, Operand> sides(const Binary& b) {
    Operand l = operand(*b.left);
    if (l.kind == Operand::Local && !is_quiet(*b.right)) {
      const Operand kept = fresh();
      step({CodeStep::Copy, kept, l});
      l = kept;
    }
    return {l, operand(*b.right)};
  }
  void binary(const Expr& e, const Binary& b, Operand to) {
    const auto [l, r] = sides(b);
    step({CodeStep::Binary, to, l, r, static_cast<std::int32_t>(b.op), 0, {}, &e});
  }

  void logic(const Expr& e, const Binary& b, Operand to) {
    const Operand l = operand(*b.left);
    const std::int32_t decides = step({CodeStep::Decides, to, l, {}, 0, 0, {}, &e});
    const Operand r = operand(*b.right);
    step({CodeStep::Truth, to, r, {}, 0, 0, {}, b.right.get()});
    comes_here(decides);
  }

  // The value of a function: each way to it ends with it, and what variables hold goes with the frame.
  void tail(const Expr& e) {
    const Mark before = mark();
    try {
      if (auto* x = as<IfExpr>(e)) {
        const Operand to = fresh();  // where only a run knows the condition
        const std::int32_t branches = decision({CodeStep::Branch, to, {}, {}, 0, 0, {}, &e}, *x->condition);
        tail(*x->then);
        comes_here(branches);
        if (x->otherwise)
          tail(*x->otherwise);
        else
          step({CodeStep::Result, {}, literal({})});
        code_.steps[static_cast<std::size_t>(branches)].end = step({CodeStep::Result, {}, to});
      } else if (auto* b = as<Block>(e); b && info(e).plain()) {
        tail(b->body);
      } else {
        step({CodeStep::Result, {}, operand(e)});
      }
    } catch (const Full&) {
      go_back(before);
      const Operand to = fresh();
      expression(e, to);
      step({CodeStep::Result, {}, to});
    }
    used_ = before.used;
  }

  void tail(const std::vector<StmtPtr>& block) {
    for (const StmtPtr& s : block) {
      const int used = used_;
      const auto* last = &s == &block.back() ? std::get_if<ExprStmt>(&s->node) : nullptr;
      if (last) {
        step({CodeStep::Poll, {}, {}, {}, 0, 0, s->span});
        return tail(*last->value);
      }
      statement(*s, nullptr);
      used_ = used;
    }
    step({CodeStep::Result, {}, literal({})});
  }

  // A step that goes on or elsewhere by a condition; a comparison is a part of it.
  std::int32_t decision(CodeStep s, const Expr& condition) {
    const int used = used_;
    if (const auto* b = as<Binary>(condition); b && !is_logic(*b)) {
      std::tie(s.a, s.b) = sides(*b);
      s.compares = b->op;
    } else {
      s.a = operand(condition);
    }
    used_ = used;
    return step(s);
  }

  void branch(const Expr& e, const IfExpr& x, Operand to) {
    const std::int32_t branches = decision({CodeStep::Branch, to, {}, {}, 0, 0, {}, &e}, *x.condition);
    expression(*x.then, to);
    const std::int32_t jump = step({CodeStep::Jump});
    comes_here(branches);
    if (x.otherwise)
      expression(*x.otherwise, to);
    else
      step({CodeStep::Copy, to, literal({})});
    comes_here(jump);
    code_.steps[static_cast<std::size_t>(branches)].end = here();
  }

  void call(const Expr& e, const Call& c, Operand to) {
    const Operand f = fresh();
    const Slot at = slot(c.callee->id);
    const std::int32_t callee = step({CodeStep::Callee,
                                      f,
                                      to,
                                      {Operand::Local, at.index},
                                      0,
                                      static_cast<std::int32_t>(c.args.size()),
                                      {},
                                      &e,
                                      {},
                                      at.where});
    const Operand first = temporary(used_);
    for (const Arg& a : c.args) {
      const Operand argument = fresh();
      expression(*a.value, argument);
    }
    step({CodeStep::Call, to, f, first, 0, 0, e.span, &c});
    comes_here(callee);
  }

  // ---- statements

  void block(const Expr& e, const Operand* to) {
    const auto& body = as<Block>(e)->body;
    for (std::size_t i = 0; i < body.size(); ++i) {
      const int used = used_;
      statement(*body[i], i + 1 == body.size() ? to : nullptr);
      used_ = used;
    }
    if (to && (body.empty() || !std::holds_alternative<ExprStmt>(body.back()->node)))
      step({CodeStep::Copy, *to, literal({})});
    clear(info(e).first_local, info(e).end_local);
  }

  void clear(std::int32_t first, std::int32_t end) {
    if (first != end) step({CodeStep::Clear, {}, {}, {}, first, end});
  }

  void statement(const Stmt& s, const Operand* to) {
    const Mark before = mark();
    try {
      step({CodeStep::Poll, {}, {}, {}, 0, 0, s.span});
      if (statement_form(s, to)) return;
    } catch (const Full&) {}
    go_back(before);  // the walk polls by itself
    step({CodeStep::Execute, {}, {}, {}, 0, 0, {}, &s});
  }

  // False where no step is for it; what was added until then goes.
  bool statement_form(const Stmt& s, const Operand* to) {
    if (auto* x = std::get_if<ExprStmt>(&s.node)) {
      if (to) return expression(*x->value, *to), true;
      const Operand unused = fresh();
      expression(*x->value, unused);
      step({CodeStep::Drop, unused});
    } else if (auto* l = std::get_if<LetStmt>(&s.node)) {
      const auto at = std::holds_alternative<NamePattern>(l->pattern->node) ? local(l->pattern->id) : std::nullopt;
      if (!at) return false;
      expression(*l->value, *at);
    } else if (auto* a = std::get_if<AssignStmt>(&s.node)) {
      const auto at = std::holds_alternative<NameRef>(a->target->node) ? local(a->target->id) : std::nullopt;
      if (at && a->op == AssignOp::Set)
        expression(*a->value, *at);
      else if (at)
        step({CodeStep::Update, *at, operand(*a->value), {}, static_cast<std::int32_t>(operator_of(a->op)), 0, {}, a});
      else
        step({CodeStep::Assign, {}, operand(*a->value), {}, 0, 0, {}, a});
    } else if (auto* r = std::get_if<ReturnStmt>(&s.node)) {
      const Operand v = r->value ? operand(*r->value) : literal({});
      step({CodeStep::Return, {}, v, {}, 0, 0, s.span});
    } else if (auto* w = std::get_if<WhileStmt>(&s.node)) {
      return while_loop(*w, s.span);
    } else if (std::holds_alternative<BreakStmt>(s.node)) {
      step({CodeStep::Break, {}, {}, {}, 0, 0, s.span});
    } else if (std::holds_alternative<ContinueStmt>(s.node)) {
      step({CodeStep::Continue, {}, {}, {}, 0, 0, s.span});
    } else {
      return false;
    }
    return true;
  }

  bool while_loop(const WhileStmt& s, Span span) {
    if (!info(*s.body).plain()) return false;
    const std::int32_t begin = step({CodeStep::Poll, {}, {}, {}, 0, 0, s.condition->span});
    turns(*s.body, begin, decision({CodeStep::While, {}, {}, {}, 0, 0, span, &s}, *s.condition));
    return true;
  }

  void turns(const Expr& body, std::int32_t begin, std::int32_t ends) {
    block(body, nullptr);
    step({CodeStep::Jump, {}, {}, {}, begin});
    comes_here(ends);
    code_.loops.push_back({begin, here(), info(body).first_local, info(body).end_local});
  }

  const Unit& unit_;
  Code code_;
  int used_ = 0;
};

}  // namespace

std::shared_ptr<const Code> code_of(const Unit& unit, const Expr& body) { return Compiler(unit).body(body); }
std::shared_ptr<const Code> code_of(const Unit& unit, const Function& f) { return Compiler(unit).body(f); }
std::shared_ptr<const Code> code_of(const Unit& unit, const WhileStmt& loop, Span span) {
  return Compiler(unit).loop(loop, span);
}
std::shared_ptr<const Code> code_of(const Unit& unit, const ForStmt& loop) { return Compiler(unit).loop(loop); }

}  // namespace shard::lang
