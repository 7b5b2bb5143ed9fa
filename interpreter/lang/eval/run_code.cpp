// Runs code (code.h). Straight paths are for host numbers; what else comes goes through the walk's own functions, so
// that an array, a traced number or an error is as it is there.
#include <array>
#include <type_traits>

#include "interpreter/lang/eval/code.h"
#include "interpreter/lang/eval/operators.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;
using ClosureRef = std::shared_ptr<const Closure>;

namespace {

class Temporaries {
 public:
  explicit Temporaries(int n) : n_(n) {
    for (int i = 0; i < n_; ++i) std::construct_at(begin() + i);
  }
  ~Temporaries() { std::destroy_n(begin(), n_); }
  Temporaries(const Temporaries&) = delete;
  Value* begin() { return reinterpret_cast<Value*>(memory_); }

 private:
  int n_;
  alignas(Value) unsigned char memory_[Code::kTemporaries * sizeof(Value)];
};

template <class T>
const T& node(const CodeStep& s) {
  return *static_cast<const T*>(s.node);
}
template <class T>
const T& form(const CodeStep& s) {
  return *std::get_if<T>(&node<Expr>(s).node);
}

// What the operator gives of two integers or two floats where it is quick to say; false: the walk does it.
template <class T>
[[gnu::always_inline]] inline bool quick(BinaryOp op, T a, T b, Value& out) {
  constexpr bool kFloat = std::is_floating_point_v<T>;
  T n = 0;
  switch (op) {
    case BinaryOp::Add:
      if constexpr (kFloat)
        n = a + b;
      else if (__builtin_add_overflow(a, b, &n))
        return false;
      break;
    case BinaryOp::Sub:
      if constexpr (kFloat)
        n = a - b;
      else if (__builtin_sub_overflow(a, b, &n))
        return false;
      break;
    case BinaryOp::Mul:
      if constexpr (kFloat)
        n = a * b;
      else if (__builtin_mul_overflow(a, b, &n))
        return false;
      break;
    case BinaryOp::Lt: return out.put(a < b), true;
    case BinaryOp::Gt: return out.put(a > b), true;
    case BinaryOp::Eq: return out.put(a == b), true;
    default: return false;
  }
  return out.put(n), true;
}
[[gnu::always_inline]] inline bool quick(BinaryOp op, const Value& l, const Value& r, Value& out) {
  if (const auto* i = l.get<std::int64_t>(), *j = r.get<std::int64_t>(); i && j) return quick(op, *i, *j, out);
  if (const auto* x = l.get<double>(), *y = r.get<double>(); x && y) return quick(op, *x, *y, out);
  return false;
}

// A function of the script whose body is run by the loop that runs its caller's. Temporaries lie behind its variables.
struct OpenCall {
  ActiveFrame frame;
  std::size_t locals, cells;
  const CodeStep* at;  // of the caller
  ActiveFrame* caller;
  const Code* caller_code;
  Value* caller_temporaries;
};

class CodeRun {
 public:
  CodeRun(Impl& m, const Code& code)
      : m_(m),
        code_(&code),
        temporaries_(code.temporaries),
        base_{m.frame().locals, temporaries_.begin(), const_cast<Value*>(code.literals.data())},
        next_(code.steps.data()),
        deepest_(m.frame().module->of_library ? 0 : std::min(m.in.options().recursion, m.calls.depth + kOpen)) {}
  ~CodeRun() {
    while (open_ > 0) close(code_->temporaries);
  }
  CodeRun(const CodeRun&) = delete;

  Flow operator()(const Range& range) {
    temporaries_.begin()[0].put(range.begin);
    temporaries_.begin()[1].put(range.end);
    return (*this)(nullptr);
  }

  Flow operator()(Value* out) {
    while (true) {
      try {
        const Flow flow = steps(out);
        if (flow != Flow::Next) clear(code_->first_local, code_->end_local);  // at its end a block does so itself
        return flow;
      } catch (const FlowSignal& s) {
        if (!goes_on(s.flow)) throw;
      } catch (Error& e) {
        for (; open_ > 0; close(code_->temporaries)) add_frame(e, *last().frame.closure->function, last().at->span);
        throw;
      }
    }
  }

 private:
  const CodeStep* step(std::int32_t i) const { return code_->steps.data() + i; }
  Value& at(Operand o) const { return base_[o.kind][o.index]; }
  void drop(Operand o) {
    if (o.kind == Operand::Temporary) at(o).let_go();
  }
  static void copy(const Value& from, Value& to) {
    if (auto* i = from.get<std::int64_t>())
      to.put(*i);
    else
      to = from;
  }
  static void move(Value& from, Value& to) {
    if (auto* i = from.get<std::int64_t>())
      to.put(*i);
    else
      to = std::move(from);
  }
  Value taken(Operand o) { return o.kind == Operand::Temporary ? std::move(at(o)) : at(o); }
  void clear(std::int32_t first, std::int32_t end) {
    for (std::int32_t i = first; i < end; ++i) base_[Operand::Local][i] = Value();
  }

  // Where a statement was left: whether that ends here, at a loop of this code.
  bool stays(Flow flow) {
    if (flow == Flow::Return) return false;
    for (const Code::Loop& loop : code_->loops) {
      if (next_ <= step(loop.begin) || next_ > step(loop.end)) continue;
      clear(loop.first_local, loop.end_local);
      next_ = step(flow == Flow::Break ? loop.end : loop.begin);
      return true;
    }
    return false;
  }

  // The same, or at the call that is run here.
  bool goes_on(Flow flow) {
    if (stays(flow)) return true;
    if (open_ == 0) return false;
    leave(flow == Flow::Return ? std::move(m_.returned) : Value());
    return true;
  }

  Flow steps(Value* out) {
    while (true) {
      const CodeStep& s = *next_++;
      switch (s.op) {
        case CodeStep::Poll: m_.poll(s.span); break;
        case CodeStep::Copy: copy(at(s.a), at(s.dst)); break;
        case CodeStep::Read: read(s); break;
        case CodeStep::Unary: unary(s); break;
        case CodeStep::Binary: binary(s); break;
        case CodeStep::Truth: truth(s); break;
        case CodeStep::Decides: decides(s); break;
        case CodeStep::Branch:
        case CodeStep::While:
          if (const int b = quickly(s); b == 0)
            next_ = step(s.to);
          else if (b == kSlow)
            s.op == CodeStep::Branch ? slow_branch(s) : slow_turn(s);
          break;
        case CodeStep::Next: next(s); break;
        case CodeStep::Callee: callee(s); break;
        case CodeStep::Call: call(s); break;
        case CodeStep::Walk: at(s.dst) = m_.eval(node<Expr>(s)); break;
        case CodeStep::Flow:
          if (const Flow flow = walk(s); flow != Flow::Next && !goes_on(flow)) return flow;
          break;
        case CodeStep::Execute:
          if (const Flow flow = m_.exec(node<Stmt>(s), nullptr); flow != Flow::Next && !goes_on(flow)) return flow;
          break;
        case CodeStep::Update: update(s); break;
        case CodeStep::Assign: assign(s); break;
        case CodeStep::Drop: at(s.dst) = Value(); break;
        case CodeStep::Clear: clear(s.to, s.end); break;
        case CodeStep::Jump: next_ = step(s.to); break;
        case CodeStep::Break:
        case CodeStep::Continue: {
          const Flow flow = s.op == CodeStep::Break ? Flow::Break : Flow::Continue;
          if (goes_on(flow)) break;
          m_.flow_span = s.span;
          return flow;
        }
        case CodeStep::Return:
          if (open_ > 0) {
            leave(s.a, code_->temporaries);
            break;
          }
          m_.returned = taken(s.a);
          m_.flow_span = s.span;
          return Flow::Return;
        case CodeStep::Result:
          if (open_ > 0) {
            leave(s.a, 0);
            break;
          }
          if (out) give(s.a, *out);
          return Flow::Next;
        case CodeStep::End: return Flow::Next;
      }
    }
  }

  void read(const CodeStep& s) {
    const auto& e = node<Expr>(s);
    if (const Value* v = m_.peek(e))
      copy(*v, at(s.dst));
    else
      at(s.dst) = m_.read(m_.slot(e.id), e);
  }

  Flow walk(const CodeStep& s) {
    Value v;
    const Flow flow = m_.eval_flow(node<Expr>(s), v);
    at(s.dst) = std::move(v);
    return flow;
  }

  void unary(const CodeStep& s) {
    const auto& u = form<Unary>(s);
    Value v = m_.unary(u.op, at(s.a), node<Expr>(s).span);
    drop(s.a);
    at(s.dst) = std::move(v);
  }

  void binary(const CodeStep& s) {
    const Value &l = at(s.a), &r = at(s.b);
    if (quick(static_cast<BinaryOp>(s.to), l, r, at(s.dst))) return;
    Value v = binary_of(m_, node<Expr>(s), form<Binary>(s), l, r);
    drop(s.a), drop(s.b);
    at(s.dst) = std::move(v);
  }

  void truth(const CodeStep& s) {
    const Truth t = m_.condition(at(s.a), node<Expr>(s).span);
    Value v = t == Truth::True || t == Truth::False ? Value(t == Truth::True) : taken(s.a);
    at(s.dst) = std::move(v);
  }

  void decides(const CodeStep& s) {
    const auto& b = form<Binary>(s);
    if (const bool* left = at(s.a).get<bool>()) {
      if (*left == (b.op == BinaryOp::And)) return;
      at(s.dst) = Value(*left);
    } else {
      Value v = logic_of(m_, node<Expr>(s), b, taken(s.a));
      at(s.dst) = std::move(v);
    }
    next_ = step(s.to);
  }

  // What the condition of a branch or a turn says, 0 or 1, where that is quick to say, else kSlow.
  static constexpr int kSlow = 2;
  template <class T>
  [[gnu::always_inline]] static int compared(BinaryOp op, T a, T b) {
    return op == BinaryOp::Lt ? a < b : op == BinaryOp::Gt ? a > b : op == BinaryOp::Eq ? a == b : kSlow;
  }
  [[gnu::always_inline]] int quickly(const CodeStep& s) const {
    const Value& l = at(s.a);
    if (!s.compares) {
      const bool* b = l.get<bool>();
      return b ? *b : kSlow;
    }
    const Value& r = at(s.b);
    if (const auto* i = l.get<std::int64_t>(), *j = r.get<std::int64_t>(); i && j) return compared(*s.compares, *i, *j);
    if (const auto* x = l.get<double>(), *y = r.get<double>(); x && y) return compared(*s.compares, *x, *y);
    return kSlow;
  }
  // The condition as a value.
  Value slowly(const CodeStep& s, const Expr& condition) {
    if (!s.compares) return taken(s.a);
    Value v = binary_of(m_, condition, std::get<Binary>(condition.node), at(s.a), at(s.b));
    drop(s.a), drop(s.b);
    return v;
  }

  [[gnu::noinline]] void slow_branch(const CodeStep& s) {
    const auto& x = form<IfExpr>(s);
    Value c = slowly(s, *x.condition);
    const Truth t = m_.condition(c, x.condition->span);
    if (t == Truth::False) {
      next_ = step(s.to);
    } else if (t != Truth::True) {
      const trace::Tensor condition = std::exchange(c, {}).tensor();
      Value v = traced_if(m_, node<Expr>(s), x, condition);
      at(s.dst) = std::move(v);
      next_ = step(s.end);
    }
  }

  [[gnu::noinline]] void slow_turn(const CodeStep& s) {
    const auto& loop = node<WhileStmt>(s);
    Truth t;
    {
      const Value c = slowly(s, *loop.condition);
      t = m_.condition(c, loop.condition->span);
    }
    if (t == Truth::True) return;
    if (t != Truth::False) traced_while(m_, loop, s.span);
    next_ = step(s.to);
  }

  void next(const CodeStep& s) {
    std::int64_t& i = *at(s.a).get<std::int64_t>();
    if (i >= *at(s.b).get<std::int64_t>())
      next_ = step(s.to);
    else
      at(s.dst).put(i++);
  }

  void callee(const CodeStep& s) {
    const CellRef* cell = m_.cell_at({s.where, s.b.index});
    const bool seen = cell && *cell && (*cell)->set && !m_.cells.observed(**cell);
    const Value* f = seen ? &(*cell)->value : m_.peek(*form<grammar::Call>(s).callee);
    if (const auto* closure = f ? f->get<ClosureRef>() : nullptr;
        closure && (*closure)->information().simple &&
        static_cast<std::size_t>(s.end) == (*closure)->function->params.size()) {
      if (closure->get() == m_.frame().closure)
        at(s.dst).let_go();  // the running function, which its own call keeps
      else
        at(s.dst) = *f;
      return;
    }
    Value v = m_.eval(node<Expr>(s));
    at(s.a) = std::move(v);
    next_ = step(s.to);
  }

  void call(const CodeStep& s) {
    const auto* kept = at(s.a).get<ClosureRef>();
    const Closure& f = kept ? **kept : *m_.frame().closure;
    if (open(s, f)) return;
    {
      FrameMemory memory(m_.frames, f);
      Value* argument = &at(s.b);
      for (const Param& p : f.function->params)
        set_parameter(m_, memory.frame, f.unit->slots[static_cast<std::size_t>(p.pattern->id)], std::move(*argument++));
      run_bound(m_, memory.frame, f, s.span, at(s.dst));
    }
    if (kept) drop(s.a);
  }

  // Goes on in the function, which is simple. False, and nothing done, where it has no code yet, where there are too
  // many calls for here or at all, and where it is the library's, whose calls say where they come from.
  [[gnu::always_inline]] bool open(const CodeStep& s, const Closure& f) {
    const FunctionInfo& info = f.information();
    const Code* code = info.code.get();
    if (!code || m_.calls.depth >= deepest_ || f.module->of_library) return false;
    // With its first statement, but where processes ask for the line.
    const bool both = code->steps[0].op == CodeStep::Poll && !m_.ctx.processes();
    m_.poll(s.span, both ? 2 : 1);
    const auto locals = static_cast<std::size_t>(info.locals), cells = static_cast<std::size_t>(info.cells);
    OpenCall& c = *new (calls() + open_)
                      OpenCall{{m_.frames.values.push(locals + static_cast<std::size_t>(code->temporaries)),
                                m_.frames.cells.push(cells), f.captured.data(), f.unit.get(), f.module.get(), &f},
                               locals,
                               cells,
                               &s,
                               m_.frames.active,
                               code_,
                               base_[Operand::Temporary]};
    Value* argument = &at(s.b);
    for (const Slot to : code->parameters)
      if (to.where == Where::Local)
        move(*argument++, c.frame.locals[to.index]);
      else
        set_parameter(m_, c.frame, to, std::move(*argument++));
    ++open_;
    ++m_.calls.depth;
    m_.frames.active = &c.frame;
    stand(*code, c.frame.locals, c.frame.locals + info.locals);
    next_ = code->steps.data() + both;
    return true;
  }
  OpenCall* calls() { return reinterpret_cast<OpenCall*>(calls_); }
  OpenCall& last() { return calls()[open_ - 1]; }
  void stand(const Code& code, Value* locals, Value* temporaries) {
    code_ = &code;
    base_ = {locals, temporaries, const_cast<Value*>(code.literals.data())};
  }
  // Back to the caller; what the function had goes. Temporaries: where it did not come to its end, between whose steps
  // they hold nothing.
  [[gnu::always_inline]] void close(int temporaries) {
    const OpenCall& c = last();
    m_.frames.cells.pop(c.frame.cells, c.cells);
    m_.frames.values.pop(c.frame.locals, c.locals + static_cast<std::size_t>(temporaries));
    m_.frames.active = c.caller;
    --m_.calls.depth;
    --open_;
    stand(*c.caller_code, c.caller->locals, c.caller_temporaries);
    next_ = c.at + 1;
    drop(c.at->a);  // which kept the function
  }
  // Where the open call's result belongs.
  Value& result() {
    const OpenCall& c = last();
    const Operand dst = c.at->dst;
    return (dst.kind == Operand::Temporary ? c.caller_temporaries : c.caller->locals)[dst.index];
  }
  void leave(Operand o, int temporaries) {
    give(o, result());
    close(temporaries);
  }
  void leave(Value v) {
    result() = std::move(v);
    close(code_->temporaries);
  }
  void give(Operand o, Value& to) { o.kind == Operand::Temporary ? move(at(o), to) : copy(at(o), to); }

  void update(const CodeStep& s) {
    const auto& a = node<AssignStmt>(s);
    Value& variable = at(s.dst);
    if (quick(static_cast<BinaryOp>(s.to), variable, at(s.a), variable)) return;
    assign_value(m_, a, taken(s.a));
  }

  void assign(const CodeStep& s) {
    const auto& a = node<AssignStmt>(s);
    const auto* i = at(s.a).get<std::int64_t>();
    if (i && a.op == AssignOp::Set && std::holds_alternative<NameRef>(a.target->node))
      m_.assignable(m_.slot(a.target->id), a.target->span).put(*i);
    else
      assign_value(m_, a, taken(s.a));
  }

  static constexpr int kOpen = 32;  // beyond, a loop of its own

  Impl& m_;
  const Code* code_;  // that is running
  Temporaries temporaries_;
  std::array<Value*, 3> base_;  // by Operand::Kind
  const CodeStep* next_;        // the step to come
  int open_ = 0;                // calls that are run here, the last one now
  int deepest_;                 // calls as deep as this are not
  alignas(OpenCall) unsigned char calls_[kOpen * sizeof(OpenCall)];
};

}  // namespace

Flow run_code(Impl& m, const Code& code, Value* out) { return CodeRun(m, code)(out); }
Flow run_code(Impl& m, const Code& loop, const Range& range) { return CodeRun(m, loop)(range); }

}  // namespace shard::lang
