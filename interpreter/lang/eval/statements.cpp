// Statements and blocks. Break, continue and return travel as a Flow from statement to statement; only where one stands
// inside an operand (`1 + if c { return 2 } else { 3 }`) a FlowSignal is thrown, to the nearest loop or call.
#include "grammar/overloaded.h"
#include "interpreter/lang/eval/code.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

namespace {

runtime::MeshRef used_mesh(Impl& m, const Expr& e) {
  Value v = m.eval(e);
  auto* mesh = v.get<std::shared_ptr<const MeshValue>>();
  if (!mesh) m.fail("type", e.span, "`use` takes a mesh, and this is " + kind_name(v));
  return (*mesh)->mesh;
}

void exec_test(Impl& m, const TestStmt& s, Span span) {
  if (!m.in.options().test || !m.modules.loading.empty()) return;  // an imported file's tests are its own
  m.in.options().test(s, span, [&] {
    if (const auto wrong = m.modules.wrong_tests.find(&s); wrong != m.modules.wrong_tests.end())
      throw Errors(wrong->second);
    Surroundings::Restore kept(m.surroundings);
    Value unused;
    m.eval_flow(*s.body, unused);
  });
}

Flow exec_body(Impl& m, const std::vector<StmtPtr>& body, Value* out) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    Value* wanted = i + 1 == body.size() ? out : nullptr;
    if (Flow flow = m.checker ? m.checker->statement(*body[i], wanted) : m.exec(*body[i], wanted); flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

// A function of the script in a cell, behind all that wraps it, and by how many it is held at most on the way to it.
struct CellFunction {
  const Closure* closure = nullptr;
  long holders = 0;
};

CellFunction function_in(const CellRef& c) {
  CellFunction out;
  const Value* at = c && c->set ? &c->value : nullptr;
  while (at) {
    if (auto* f = at->get<std::shared_ptr<const Closure>>()) {
      out.closure = f->get();
      out.holders = std::max(out.holders, f->use_count());
      return out;
    }
    auto* w = at->get<std::shared_ptr<const Wrapped>>();
    if (w) out.holders = std::max(out.holders, w->use_count());
    at = w ? &(*w)->function : nullptr;
  }
  return {};
}

// A function that refers to itself is held by its own cell. Where nothing outside of the block's cells and functions
// holds them, the block's end is theirs too.
void release_cycles(Impl& m, const BlockInfo& info) {
  std::vector<const Closure*> inside;
  for (std::int32_t i : info.cells)
    if (const CellFunction f = function_in(m.frame().cells[i]); f.closure && f.holders == 1)
      inside.push_back(f.closure);
  bool all_inside = true;
  for (std::int32_t i : info.cells) {
    const CellRef& c = m.frame().cells[i];
    const CellFunction f = function_in(c);
    if (!f.closure) continue;
    long known = 1;  // the frame's
    for (const Closure* closure : inside)
      for (const CellRef& held : closure->captured) known += held == c;
    if (f.holders != 1 || c.use_count() != known) all_inside = false;
  }
  for (std::int32_t i : info.cells) {
    CellRef& c = m.frame().cells[i];
    const bool holds = function_in(c).closure != nullptr;
    if (all_inside && holds)
      c->value = Value();
    else if (holds)
      m.modules.cyclic.push_back(c);  // emptied with the engine
    c.reset();
  }
  if (m.modules.cyclic.size() > 1024) std::erase_if(m.modules.cyclic, [](const auto& w) { return w.expired(); });
}

}  // namespace

Flow exec_block(Impl& m, const Expr& e, const Block& b, Value* out) {
  const BlockInfo& info = m.block(e);
  if (info.plain())
    if (const Code* code = code_for(m, info.code, e)) return run_code(m, *code, out);
  for (std::int32_t c : info.cells) m.frame().cells[c] = m.cells.make();
  Flow flow;
  if (info.surroundings) {
    Surroundings::Restore kept(m.surroundings);
    flow = exec_body(m, b.body, out);
  } else {
    flow = exec_body(m, b.body, out);
  }
  for (std::int32_t i = info.first_local; i < info.end_local; ++i) m.frame().locals[i] = Value();
  if (info.cyclic) release_cycles(m, info);
  return flow;
}

Flow eval_use(Impl& m, const UseExpr& u, Value& out) {
  runtime::MeshRef mesh = used_mesh(m, *u.mesh);
  Surroundings::Restore kept(m.surroundings);
  m.ctx.set_mesh(std::move(mesh));
  return m.eval_flow(*u.body, out);
}

void Impl::stop(Span span) {
  at(span, [&] { ctx.pool().stop().raise(); });
}

Flow Impl::exec(const Stmt& s, Value* value) {
  poll(s.span);
  const auto left = [&](Flow flow) {
    flow_span = s.span;
    return flow;
  };
  const Overloaded step{
      [&](const LetStmt& x) {
        Value v;
        if (Flow flow = eval_flow(*x.value, v); flow != Flow::Next) return flow;
        bind(*x.pattern, std::move(v), false);
        if (checker) checker->declared(x, s.span);
        return Flow::Next;
      },
      [&](const FnStmt& x) { declare(slot(x.function->id), eval_function(*this, x.function), false); },
      [&](const MeshStmt& x) { exec_mesh(*this, x, s.span); },
      [&](const UseStmt& x) { ctx.set_mesh(used_mesh(*this, *x.mesh)); },
      [&](const RulesStmt& x) { exec_rules(*this, x); },
      [&](const TestStmt& x) { exec_test(*this, x, s.span); },
      [&](const ImportStmt& x) { declare(slot(x.id), import_module(*this, x, s.span), false); },
      [&](const ForStmt& x) { return exec_for(*this, x, s.span); },
      [&](const WhileStmt& x) { return exec_while(*this, x, s.span); },
      [&](const BreakStmt&) { return left(Flow::Break); },
      [&](const ContinueStmt&) { return left(Flow::Continue); },
      [&](const ReturnStmt& x) {
        Value v;
        if (x.value)
          if (Flow flow = eval_flow(*x.value, v); flow != Flow::Next) return flow;
        returned = std::move(v);
        return left(Flow::Return);
      },
      [&](const AssignStmt& x) { return exec_assign(*this, x); },
      [&](const ExprStmt& x) {
        Value unused;
        return eval_flow(*x.value, value ? *value : unused);
      }};
  return std::visit(
      [&](const auto& x) {
        if constexpr (std::is_void_v<decltype(step(x))>) {
          step(x);
          return Flow::Next;
        } else {
          return step(x);
        }
      },
      s.node);
}

}  // namespace shard::lang
