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

// What a comparison of numbers of the host says; nothing where the walk must say it.
template <class T>
std::optional<bool> quick_comparison(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::Lt: return a < b;
    case BinaryOp::Gt: return a > b;
    case BinaryOp::Eq: return a == b;
    default: return std::nullopt;
  }
}

class CodeRun {
 public:
  CodeRun(Impl& m, const Code& code)
      : m_(m),
        code_(code),
        temporaries_(code.temporaries),
        base_{m.frame().locals, temporaries_.begin(), const_cast<Value*>(code.literals.data())},
        next_(code.steps.data()) {}

  Flow operator()(const Range& range) {
    temporaries_.begin()[0].put(range.begin);
    temporaries_.begin()[1].put(range.end);
    return (*this)(nullptr);
  }

  Flow operator()(Value* out) {
    while (true) {
      try {
        const Flow flow = steps(out);
        if (flow != Flow::Next) clear(code_.first_local, code_.end_local);  // at its end a block does so itself
        return flow;
      } catch (const FlowSignal& s) {
        if (!stays(s.flow)) throw;
      }
    }
  }

 private:
  const CodeStep* step(std::int32_t i) const { return code_.steps.data() + i; }
  Value& at(Operand o) const { return base_[o.kind][o.index]; }
  void drop(Operand o) {
    if (o.kind == Operand::Temporary) at(o) = Value();
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
    for (const Code::Loop& loop : code_.loops) {
      if (next_ <= step(loop.begin) || next_ > step(loop.end)) continue;
      clear(loop.first_local, loop.end_local);
      next_ = step(flow == Flow::Break ? loop.end : loop.begin);
      return true;
    }
    return false;
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
        case CodeStep::Branch: branch(s); break;
        case CodeStep::While: turn(s); break;
        case CodeStep::Next: next(s); break;
        case CodeStep::Callee: callee(s); break;
        case CodeStep::Call: call(s); break;
        case CodeStep::Walk: at(s.dst) = m_.eval(node<Expr>(s)); break;
        case CodeStep::Flow:
          if (const Flow flow = walk(s); flow != Flow::Next && !stays(flow)) return flow;
          break;
        case CodeStep::Execute:
          if (const Flow flow = m_.exec(node<Stmt>(s), nullptr); flow != Flow::Next && !stays(flow)) return flow;
          break;
        case CodeStep::Update: update(s); break;
        case CodeStep::Assign: assign(s); break;
        case CodeStep::Drop: at(s.dst) = Value(); break;
        case CodeStep::Clear: clear(s.to, s.end); break;
        case CodeStep::Jump: next_ = step(s.to); break;
        case CodeStep::Break:
        case CodeStep::Continue: {
          const Flow flow = s.op == CodeStep::Break ? Flow::Break : Flow::Continue;
          if (stays(flow)) break;
          m_.flow_span = s.span;
          return flow;
        }
        case CodeStep::Return:
          m_.returned = taken(s.a);
          m_.flow_span = s.span;
          return Flow::Return;
        case CodeStep::Result:
          if (out) s.a.kind == Operand::Temporary ? move(at(s.a), *out) : copy(at(s.a), *out);
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

  // The condition of a branch or a turn: quickly, or as a value in `slow`.
  [[gnu::always_inline]] std::optional<bool> decided(const CodeStep& s, const Expr* (*condition)(const CodeStep&),
                                                     Value& slow) {
    const Value& l = at(s.a);
    if (!s.compares) {
      if (const bool* b = l.get<bool>()) return *b;
      slow = taken(s.a);
      return std::nullopt;
    }
    const Value& r = at(s.b);
    if (const auto* i = l.get<std::int64_t>(), *j = r.get<std::int64_t>(); i && j) {
      if (const auto b = quick_comparison(*s.compares, *i, *j)) return b;
    } else if (const auto* x = l.get<double>(), *y = r.get<double>(); x && y) {
      if (const auto b = quick_comparison(*s.compares, *x, *y)) return b;
    }
    const Expr& e = *condition(s);
    slow = binary_of(m_, e, std::get<Binary>(e.node), l, r);
    drop(s.a), drop(s.b);
    if (const bool* b = slow.get<bool>()) return *b;
    return std::nullopt;
  }

  void branch(const CodeStep& s) {
    Value c;
    if (const auto b = decided(
            s, [](const CodeStep& of) { return &*form<IfExpr>(of).condition; }, c)) {
      if (!*b) next_ = step(s.to);
      return;
    }
    const auto& x = form<IfExpr>(s);
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

  void turn(const CodeStep& s) {
    Value c;
    const auto b = decided(
        s, [](const CodeStep& of) { return &*node<WhileStmt>(of).condition; }, c);
    const auto& loop = node<WhileStmt>(s);
    const Truth t = b ? (*b ? Truth::True : Truth::False) : m_.condition(c, loop.condition->span);
    c = {};
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
    const auto& c = form<grammar::Call>(s);
    const CellRef* cell = m_.cell_at(m_.slot(c.callee->id));
    const bool seen = cell && *cell && (*cell)->set && !m_.cells.observed(**cell);
    const Value* f = seen ? &(*cell)->value : m_.peek(*c.callee);
    if (const auto* closure = f ? f->get<ClosureRef>() : nullptr;
        closure && (*closure)->information().simple && c.args.size() == (*closure)->function->params.size()) {
      if (closure->get() == m_.frame().closure)
        at(s.dst) = Value();  // the running function, which its own call keeps
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
    {
      FrameMemory memory(m_.frames, f);
      Value* argument = &at(s.b);
      for (const Param& p : f.function->params) {
        const Slot to = f.unit->slots[static_cast<std::size_t>(p.pattern->id)];
        if (to.where == Where::Local)
          move(*argument++, memory.frame.locals[to.index]);
        else
          set_parameter(m_, memory.frame, to, std::move(*argument++));
      }
      run_bound(m_, memory.frame, f, s.span, at(s.dst));
    }
    if (kept) drop(s.a);
  }

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

  Impl& m_;
  const Code& code_;
  Temporaries temporaries_;
  std::array<Value*, 3> base_;  // by Operand::Kind
  const CodeStep* next_;        // the step to come
};

}  // namespace

Flow run_code(Impl& m, const Code& code, Value* out) { return CodeRun(m, code)(out); }
Flow run_code(Impl& m, const Code& loop, const Range& range) { return CodeRun(m, loop)(range); }

}  // namespace shard::lang
