// Loops on the host: over ranges, lists, rows of arrays, loaders, and `while`. A loop whose range or condition only a
// run knows is handed to flow/traced_loop.cpp.
#include "interpreter/lang/eval/code.h"
#include "interpreter/lang/eval/index/index.h"
#include "interpreter/lang/values/native.h"
#include "interpreter/lang/values/tree.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

constexpr std::int64_t kLooked = 100;  // turns of a loop that is predicted: twice as many stand for all

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
  if (out == Flow::Break) out = Flow::Next;
  return false;
}

Flow run_body(Impl& m, const Expr& body) {
  if (m.checker) return m.checker->body(body);
  Value unused;
  return m.eval_flow(body, unused);
}

// The turns of one `for`.
class Turns {
 public:
  Turns(Impl& m, const ForStmt& s) : m_(m), s_(s), watch_(m.checker ? m.checker->loop(&s) : nullptr) {}

  // False where the loop ends with it.
  bool one(Value item) {
    m_.poll(s_.sequence->span);
    const bool last = watch_ && watch_->last();
    if (last) item = watch_->blurred(item);
    const bool goes_on = turn(
        [&] {
          m_.bind(*s_.pattern, std::move(item), true);
          return run_body(m_, *s_.body);
        },
        flow);
    return goes_on && !last && !(watch_ && watch_->left());
  }

  void over(const Range& r) {
    if (watch_ && (is_unknown_size(r.begin) || is_unknown_size(r.end))) {  // as often as data say
      watch_->blur();
      one(watch_->blurred(Value(r.begin)));
      watch_->blur();
      return;
    }
    const auto* name = std::get_if<NamePattern>(&s_.pattern->node);
    if (const BlockInfo& info = m_.block(*s_.body);
        name && m_.slot(s_.pattern->id).where == Where::Local && info.plain())
      if (const Code* code = code_for(m_, info.loop, s_)) {
        flow = run_code(m_, *code, r);
        return;
      }
    const auto& counts = m_.in.options().counts;
    std::map<const exec::Executable*, std::int64_t> before;
    for (std::int64_t i = r.begin; i < r.end; ++i) {
      if (!one(Value(i))) return;
      if (!counts || watch_ || m_.ctx.tracing()) continue;  // a trace has each turn
      if (i - r.begin + 1 == kLooked) before = *counts;
      if (i - r.begin + 1 == 2 * kLooked && before.size() == counts->size()) {  // nothing new came up
        for (auto& [plan, n] : *counts)
          n += static_cast<std::int64_t>(static_cast<double>(n - before[plan]) / kLooked *
                                         static_cast<double>(r.end - 1 - i));
        return;
      }
    }
  }

  void over(const std::vector<Value>& items) {
    for (std::size_t i = 0; i < items.size(); ++i)
      if (!one(items[i])) return;
  }

  void over_rows(const Value& array) {
    const Tensor& t = array.tensor();
    if (t.type().shape.empty())
      m_.fail("type", s_.sequence->span, "an array of rank 0 has no rows to go through",
              {t.type().dtype == runtime::DType::I32 ? "did you mean a range, `0..n`?"
                                                     : "it is " + runtime::to_string(t.type())});
    const std::int64_t n = t.type().shape[0];
    for (std::int64_t i = 0; i < n; ++i) {
      Value item = m_.fixing([&] { return row(m_.in, t, i, s_.sequence->span); },
                             [&](Error& e) { m_.fixer->rows(e, *s_.sequence, array); });
      if (!one(std::move(item))) return;
    }
  }

  void over(Loader& loader) {
    loader.restart();
    while (std::optional<Value> item = m_.at(s_.sequence->span, [&] { return loader.next(m_.in); }))
      if (!one(std::move(*item))) return;
  }

  Flow flow = Flow::Next;

 private:
  Impl& m_;
  const ForStmt& s_;
  std::unique_ptr<LoopWatch> watch_;
};

// What a `for` goes through; nothing where only a run knows how long it is, and the whole loop was traced.
std::optional<Value> sequence_of(Impl& m, const ForStmt& s, Span span) {
  if (const auto* range = std::get_if<Binary>(&s.sequence->node); range && range->op == BinaryOp::Range) {
    const Value begin = m.eval(*range->left), end = m.eval(*range->right);
    if (traced_for(m, s, begin, end, 1, span)) return std::nullopt;
    return m.binary(BinaryOp::Range, begin, end, s.sequence->span);
  }
  Value sequence = m.eval(*s.sequence);
  if (const auto* l = sequence.get<std::shared_ptr<Loader>>())
    if (const auto* r = (*l)->traced(); r && traced_for(m, s, r->begin, r->end, r->step, span)) return std::nullopt;
  if (auto parts = parts_of(sequence)) return Value::list(std::move(*parts));
  return sequence;
}

[[noreturn]] void no_sequence(Impl& m, const ForStmt& s, const Value& given) {
  Error e("type", s.sequence->span,
          "`for` goes through ranges, lists, tuples, records, strings, arrays and loaders, and this is " +
              kind_name(given));
  if (given.is<std::int64_t>()) {
    const std::string n(m.in.sources().text(s.sequence->span));
    e.diagnostic.fixes.push_back({"go through the numbers before it", s.sequence->span, "0.." + n});
  }
  throw e;
}

}  // namespace

Flow exec_for(Impl& m, const ForStmt& s, Span span) {
  const std::optional<Value> sequence = sequence_of(m, s, span);
  if (!sequence) return Flow::Next;
  Turns turns(m, s);
  if (auto* r = sequence->get<Range>())
    turns.over(*r);
  else if (auto* items = sequence->items())
    turns.over(*items);
  else if (sequence->is_tensor())
    turns.over_rows(*sequence);
  else if (auto* loader = sequence->get<std::shared_ptr<Loader>>())
    turns.over(**loader);
  else
    no_sequence(m, s, *sequence);
  return turns.flow;
}

Flow exec_while(Impl& m, const WhileStmt& s, Span span) {
  if (const BlockInfo& info = m.block(*s.body); info.plain())
    if (const Code* code = code_for(m, info.loop, s, span)) return run_code(m, *code, nullptr);
  Flow out = Flow::Next;
  const std::unique_ptr<LoopWatch> watch = m.checker ? m.checker->loop(&s) : nullptr;
  while (true) {
    m.poll(s.condition->span);
    const bool last = watch && watch->last();
    Value scratch;
    const Value* c = m.peek(*s.condition);
    if (!c) scratch = m.eval(*s.condition), c = &scratch;
    const Truth truth = m.condition(*c, s.condition->span);
    if (truth == Truth::False) return out;
    if (truth == Truth::Traced) {
      traced_while(m, s, span);
      return Flow::Next;
    }
    auto body = [&] { return run_body(m, *s.body); };
    if (truth == Truth::Unknown) {  // while checking
      watch->perhaps([&] { turn(body, out); });
      return out;
    }
    if (!turn(body, out) || last || (watch && watch->left())) return out;
  }
}

}  // namespace shard::lang
