// Statements, blocks and loops on the host. Break, continue and return travel as a Flow from statement to statement;
// only where one stands inside an operand (`1 + if c { return 2 } else { 3 }`) a FlowSignal is thrown, to the nearest
// loop or call.
#include "interpreter/lang/check/check.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/fixes/fix.h"
#include "interpreter/lang/index/index.h"
#include "interpreter/lang/staging/traced_flow.h"
#include "interpreter/lang/values/host_math.h"
#include "interpreter/lang/values/traced_range.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using Impl = Interpreter::Impl;

void Impl::poll(Span span) {
  if (interrupted.load(std::memory_order_relaxed) || (ctx.hooks().interrupted && ctx.hooks().interrupted())) {
    interrupted.store(false, std::memory_order_relaxed);
    fail("interrupt", span, "interrupted");
  }
}

Flow Impl::exec(const Stmt& s, Value* value) {
  struct Visitor {
    Impl& m;
    const Stmt& s;
    Value* value;
    Flow operator()(const LetStmt& x) const {
      Value v;
      if (Flow flow = m.eval_flow(*x.value, v); flow != Flow::Next) return flow;
      m.bind(*x.pattern, std::move(v), false);
      if (m.check) m.check->declared(m, x, s.span);
      return Flow::Next;
    }
    Flow operator()(const FnStmt& x) const {
      m.declare(m.slot(x.function->id), m.eval_function(x.function), false);
      return Flow::Next;
    }
    Flow operator()(const MeshStmt& x) const {
      m.exec_mesh(x, s.span);
      return Flow::Next;
    }
    Flow operator()(const UseStmt& x) const {
      Value v = m.eval(*x.mesh);
      auto* mesh = v.get<std::shared_ptr<const MeshValue>>();
      if (!mesh) m.fail("type", x.mesh->span, "`use` takes a mesh, and this is " + kind_name(v));
      m.ctx.set_mesh((*mesh)->mesh);
      return Flow::Next;
    }
    Flow operator()(const RulesStmt& x) const {
      m.exec_rules(x, s.span);
      return Flow::Next;
    }
    Flow operator()(const TestStmt& x) const {
      m.exec_test(x, s.span);
      return Flow::Next;
    }
    Flow operator()(const ImportStmt& x) const {
      m.declare(m.slot(x.id), m.import_module(x, s.span), false);
      return Flow::Next;
    }
    Flow operator()(const ForStmt& x) const { return m.exec_for(x, s.span); }
    Flow operator()(const WhileStmt& x) const { return m.exec_while(x, s.span); }
    Flow operator()(const BreakStmt&) const {
      m.flow_span = s.span;
      return Flow::Break;
    }
    Flow operator()(const ContinueStmt&) const {
      m.flow_span = s.span;
      return Flow::Continue;
    }
    Flow operator()(const ReturnStmt& x) const {
      Value v;
      if (x.value)
        if (Flow flow = m.eval_flow(*x.value, v); flow != Flow::Next) return flow;
      m.returned = std::move(v);
      m.flow_span = s.span;
      return Flow::Return;
    }
    Flow operator()(const AssignStmt& x) const { return m.exec_assign(x, s.span); }
    Flow operator()(const ExprStmt& x) const {
      if (value) return m.eval_flow(*x.value, *value);
      Value unused;
      return m.eval_flow(*x.value, unused);
    }
  };
  return std::visit(Visitor{*this, s, value}, s.node);
}

Flow Impl::exec_body(const std::vector<StmtPtr>& body, Value* out) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    Value* wanted = i + 1 == body.size() ? out : nullptr;
    if (Flow flow = check ? check->statement(*this, *body[i], wanted) : exec(*body[i], wanted); flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

Flow Impl::exec_block(const Expr& e, const Block& b, Value* out) {
  const BlockInfo& info = frame->unit->blocks[static_cast<std::size_t>(extra(e.id))];
  for (std::int32_t c : info.cells) frame->cells[c] = new_cell();
  Flow flow;
  if (info.surroundings) {
    Surroundings restore(*this);
    flow = exec_body(b.body, out);
  } else {
    flow = exec_body(b.body, out);
  }
  for (std::int32_t i = info.first_local; i < info.end_local; ++i) frame->locals[i] = Value();
  if (info.cyclic) release_cycles(info);
  return flow;
}

// A function that refers to itself is held by its own cell. Where nothing outside of the block's cells and functions
// holds them, the block's end is theirs too.
void Impl::release_cycles(const BlockInfo& info) {
  std::vector<std::pair<const Closure*, long>> inside;
  auto closure_in = [](const CellRef& c) -> const std::shared_ptr<const Closure>* {
    return c && c->set ? c->value.get<std::shared_ptr<const Closure>>() : nullptr;
  };
  for (std::int32_t i : info.cells)
    if (auto* f = closure_in(frame->cells[i]); f && f->use_count() == 1) inside.emplace_back(f->get(), 1);
  bool all_inside = true;
  for (std::int32_t i : info.cells) {
    const CellRef& c = frame->cells[i];
    auto* f = closure_in(c);
    if (!f) continue;
    long known = 1;  // the frame's
    for (auto& [closure, n] : inside)
      for (const CellRef& held : closure->captured) known += held == c;
    if (f->use_count() != 1 || c.use_count() != known) all_inside = false;
  }
  for (std::int32_t i : info.cells) {
    CellRef& c = frame->cells[i];
    if (all_inside && closure_in(c))
      c->value = Value();
    else if (closure_in(c))
      cyclic.push_back(c);  // emptied with the engine
    c.reset();
  }
  if (cyclic.size() > 1024) std::erase_if(cyclic, [](const auto& w) { return w.expired(); });
}

namespace {

// One turn; true where the loop goes on. A flow other than break and continue is left in `out`.
template <class F>
bool turn(F body, Flow& out) {
  try {
    out = body();
  } catch (const FlowSignal& s) { out = s.flow; }
  if (out == Flow::Next || out == Flow::Continue) {
    out = Flow::Next;
    return true;
  }
  if (out == Flow::Break) {
    out = Flow::Next;
    return false;
  }
  return false;
}

}  // namespace

namespace {

// A loop while a script is checked: it ends early where it would go on for long, or where a `break` may be taken.
class Watch {
 public:
  Watch(Impl& m, const void* node) : m_(m), node_(node) {
    if (!m.check) return;
    loop_ = m.check->enter_loop(m);
    before_ = m.check->assigned(m, node);
  }
  ~Watch() {
    if (m_.check) m_.check->leave_loop(loop_);
  }
  Watch(const Watch&) = delete;
  // Before a turn: true where it shall be the last one, with numbers that only a run has.
  bool last() {
    if (!m_.check || !m_.check->spent(m_, loop_)) return false;
    m_.check->blur(m_, node_, before_);
    return true;
  }
  bool left() const {  // after a turn
    if (!m_.check || !m_.check->may_leave()) return false;
    m_.check->blur(m_, node_, before_);
    return true;
  }

 private:
  Impl& m_;
  const void* node_;
  Check::Loop loop_{};
  std::vector<Value> before_;
};

}  // namespace

Flow Impl::exec_for(const ForStmt& s, Span span) {
  Value sequence;
  if (const auto* range = std::get_if<Binary>(&s.sequence->node); range && range->op == BinaryOp::Range) {
    const Value begin = eval(*range->left), end = eval(*range->right);
    if (traced_for(*this, s, begin, end, 1, span)) return Flow::Next;
    sequence = binary(BinaryOp::Range, begin, end, s.sequence->span);
  } else {
    sequence = eval(*s.sequence);
    if (const auto* l = sequence.get<std::shared_ptr<Loader>>())
      if (const auto* r = dynamic_cast<const TracedRange*>(l->get());
          r && traced_for(*this, s, r->begin, r->end, r->step, span))
        return Flow::Next;
  }
  Flow out = Flow::Next;
  Value unused;
  Watch watch(*this, &s);
  auto one = [&](Value item) {
    poll(s.sequence->span);
    const bool last = watch.last();
    if (last) item = Check::blurred(*this, item);
    return turn(
               [&] {
                 bind(*s.pattern, std::move(item), true);
                 return check ? check->body(*this, *s.body) : eval_flow(*s.body, unused);
               },
               out) &&
           !last && !watch.left();
  };
  if (auto* r = sequence.get<Range>()) {
    if (check && (Check::is_size(r->begin) || Check::is_size(r->end))) {  // as often as data say
      const std::vector<Value> before = check->assigned(*this, &s);
      check->blur(*this, &s, before);
      one(Check::blurred(*this, Value(r->begin)));
      check->blur(*this, &s, before);
      return out;
    }
    for (std::int64_t i = r->begin; i < r->end; ++i)
      if (!one(Value(i))) return out;
    return out;
  }
  if (auto* items = sequence.items()) {
    for (std::size_t i = 0; i < items->size(); ++i)
      if (!one((*items)[i])) return out;
    return out;
  }
  if (auto* t = sequence.get<Tensor>()) {
    if (t->type().shape.empty())
      fail("type", s.sequence->span, "an array of rank 0 has no rows to go through",
           {t->type().dtype == runtime::DType::I32 ? "did you mean a range, `0..n`?"
                                                   : "it is " + runtime::to_string(t->type())});
    const std::int64_t n = t->type().shape[0];
    for (std::int64_t i = 0; i < n; ++i) {
      Value item;
      try {
        item = row(in, *t, i, s.sequence->span);
      } catch (Error& error) {
        mend_rows(*this, error, *s.sequence, sequence);
        throw;
      }
      if (!one(std::move(item))) return out;
    }
    return out;
  }
  if (auto* l = sequence.get<std::shared_ptr<Loader>>()) {
    (*l)->restart();
    while (std::optional<Value> item = at(s.sequence->span, [&] { return (*l)->next(in); }))
      if (!one(std::move(*item))) return out;
    return out;
  }
  fail("type", s.sequence->span,
       "`for` goes through ranges, lists, tuples, arrays and loaders, and this is " + kind_name(sequence),
       sequence.is<std::int64_t>() ? std::vector<std::string>{"did you mean `0..n`?"}
       : sequence.fields()         ? std::vector<std::string>{"the values of a record are a list: tree_leaves(r)"}
                                   : std::vector<std::string>{});
}

Flow Impl::exec_while(const WhileStmt& s, Span span) {
  Flow out = Flow::Next;
  Value unused;
  Watch watch(*this, &s);
  while (true) {
    poll(s.condition->span);
    const bool last = watch.last();
    Truth truth = Truth::False;
    Value scratch;
    const Value* c = peek(*s.condition);
    if (!c) scratch = eval(*s.condition), c = &scratch;
    truth = condition(*c, s.condition->span);
    if (truth == Truth::False) return out;
    if (truth == Truth::Traced) {
      const Tensor t = c->tensor();
      traced_while(s, t, span);
      return Flow::Next;
    }
    if (truth == Truth::Unknown) {
      const std::vector<Value> before = check->assigned(*this, &s);
      turn([&] { return check->body(*this, *s.body); }, out);
      check->join(*this, &s, before);
      return out;
    }
    if (!turn([&] { return check ? check->body(*this, *s.body) : eval_flow(*s.body, unused); }, out) || last ||
        watch.left())
      return out;
  }
}

Flow Impl::eval_use(const UseExpr& u, Value& out) {
  Value v = eval(*u.mesh);
  auto* mesh = v.get<std::shared_ptr<const MeshValue>>();
  if (!mesh) fail("type", u.mesh->span, "`use` takes a mesh, and this is " + kind_name(v));
  Surroundings restore(*this);
  ctx.set_mesh((*mesh)->mesh);
  return eval_flow(*u.body, out);
}

void Impl::exec_test(const TestStmt& s, Span span) {
  if (!in.options().test || !loading.empty()) return;  // an imported file's tests are its own
  in.options().test(s.name, span, [&] {
    Surroundings restore(*this);
    Value unused;
    eval_flow(*s.body, unused);
  });
}

}  // namespace shard::lang
