// `while` and `for` on conditions and ranges that only a run knows. The body is traced as a region of the core
// operation `while_loop`; the variables that it assigns are its carry. Host numbers among them become arrays.
#include "interpreter/ir/region_edges.h"
#include "interpreter/lang/eval/flow/traced_region.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/values/native.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using trace::Traced;
using Impl = Interpreter::Impl;

namespace {

std::string describe(const Value& v) { return v.items() || v.fields() ? structure(v) : kind_name(v); }

// A loop as one node. The carry is `counter`, where there is one, and the variables that the loop assigns; `turn` runs
// the body on a counter and gives the next one, `goes_on` the condition.
struct Loop {
  const void* node;
  const Expr* body;
  std::string word;  // as users write it
  Span span;
  std::optional<Tensor> counter;
  std::function<std::optional<Tensor>(const Tensor* counter)> turn;
  std::function<Tensor(const Tensor* counter)> goes_on;
  std::string why;
};

class TracedLoop {
 public:
  TracedLoop(Impl& m, const Loop& loop)
      : m_(m), loop_(loop), vars_(m, loop.node, loop.span), first_(loop.counter ? 1 : 0) {}

  void operator()() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < vars_.size(); ++i) {
      results_.push_back(take_results(m_, vars_.before(i), carry_, loop_.span));
      add_names(vars_.name(i), results_.back(), names);
    }
    if (loop_.counter) {
      carry_.insert(carry_.begin(), *loop_.counter);
      names.insert(names.begin(), "the counter");
    }
    try {
      for (int attempt = 0;; ++attempt) {
        trace_body();
        if (!widen_carry() || attempt == 3) break;
      }
      condition_ = m_.ctx.trace(types_, [&](std::span<const Tensor> params) {
        const Variables::Inside inside(vars_);
        set(params);
        return std::vector<Tensor>{loop_.goes_on(first_ ? &params[0] : nullptr)};
      });
    } catch (...) {
      vars_.restore();
      throw;
    }
    vars_.restore();
    std::vector<Tensor> out = emit(names);
    out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(first_));
    for (std::size_t i = 0; i < vars_.size(); ++i) vars_.at(i) = results_[i].filled(out);
  }

 private:
  void set(std::span<const Tensor> params) {
    for (std::size_t i = 0; i < vars_.size(); ++i) vars_.at(i) = results_[i].filled(params.subspan(first_));
  }

  void trace_body() {
    types_ = m_.ctx.types_of(carry_);
    body_ = m_.ctx.trace(types_, [&](std::span<const Tensor> params) {
      const Variables::Inside inside(vars_);
      set(params);
      const std::optional<Tensor> next = loop_.turn(first_ ? &params[0] : nullptr);
      std::vector<Tensor> out;
      for (std::size_t i = 0; i < vars_.size(); ++i) {
        const TreeStructure after = take_results(m_, vars_.at(i), out, loop_.span);
        if (!same_structure(after.tree(), results_[i].tree()) || !after.same_places(results_[i]))
          m_.fail("loop", loop_.span,
                  "a variable of a `" + loop_.word + "` that is traced keeps its type: `" + vars_.name(i) +
                      "` starts as " + describe(results_[i].tree()) + " and becomes " + describe(after.tree()),
                  {loop_.why});
      }
      if (next) out.insert(out.begin(), *next);
      return out;
    });
  }

  // A carry that starts as a host number takes the type that the body gives it: whether one did.
  bool widen_carry() {
    bool changed = false;
    for (std::size_t i = 0; i < carry_.size(); ++i) {
      const runtime::Kind have = carry_[i].type().kind(), want = joined(have, result_kind(*body_.graph, i));
      if (want.dtype == have.dtype) continue;
      carry_[i] = m_.at(loop_.span, [&] {
        return m_.ctx.apply1(*m_.ctx.table().core().convert, {carry_[i]}, {{"dtype", want.dtype}, {"weak", want.weak}});
      });
      changed = true;
    }
    return changed;
  }

  std::vector<Tensor> emit(const std::vector<std::string>& names) {
    std::vector<runtime::Kind> kinds;
    for (std::size_t i = 0; i < carry_.size(); ++i)
      kinds.push_back(joined(result_kind(*body_.graph, i), types_[i].kind()));
    Captures of_cond, of_body;
    const auto where_cond = of_cond.add(condition_.captured), where_body = of_body.add(body_.captured);
    std::vector<Tensor> operands = of_cond.all;
    operands.insert(operands.end(), of_body.all.begin(), of_body.all.end());
    operands.insert(operands.end(), carry_.begin(), carry_.end());
    return m_.fixing(
        [&] {
          return m_.at(loop_.span, [&] {
            return m_.ctx.apply(
                *m_.ctx.table().core().while_loop, operands,
                ir::with_wiring({{"names", names}, {"loop", loop_.word}},
                                ir::WhileWiring{of_cond.all.size(), of_body.all.size()}),
                {rearranged(m_, *condition_.graph, carry_.size(), m_.ctx.types_of(of_cond.all), where_cond, {}),
                 rearranged(m_, *body_.graph, carry_.size(), m_.ctx.types_of(of_body.all), where_body, kinds)});
          });
        },
        [&](Error& e) {
          if (e.diagnostic.code == "carry" && e.diagnostic.fixes.empty()) suggest(e);
        });
  }

  void suggest(Error& error) {
    std::vector<std::string> owned;
    for (std::size_t i = 0; i < vars_.size(); ++i) owned.push_back(vars_.name(i));
    const auto of = owners(results_, owned);
    std::vector<Differing> at_end, before;
    for (std::size_t i = 0; i < of.size(); ++i) {
      const runtime::Type &given = body_.graph->type(body_.graph->results[first_ + i]), &came = types_[first_ + i];
      at_end.push_back(of[i].with(came, given));
      before.push_back(of[i].with(given, came));
    }
    m_.fixer->carry(error, loop_.span, *loop_.body, at_end, before);
  }

  Impl& m_;
  const Loop& loop_;
  Variables vars_;
  std::size_t first_;                   // of the variables' values in the carry: behind the counter
  std::vector<Tensor> carry_;           // what comes in
  std::vector<TreeStructure> results_;  // of the variables; places behind the counter
  std::vector<runtime::Type> types_;
  Traced body_, condition_;
};

}  // namespace

void traced_while(Impl& m, const WhileStmt& s, Span span) {
  TracedLoop(m, {&s, s.body.get(), "while", span, std::nullopt,
                 [&](const Tensor*) {
                   run_region(m, *s.body, "loop");
                   return std::optional<Tensor>();
                 },
                 [&](const Tensor*) {
                   Value v = m.eval(*s.condition);
                   m.condition(v, s.condition->span);  // must be one truth value
                   return m.in.tensor(v, s.condition->span);
                 },
                 "the condition is only known when the program runs"})();
}

bool traced_for(Impl& m, const ForStmt& s, const Value& begin, const Value& end, std::int64_t step, Span span) {
  if (!only_a_run_knows(begin) && !only_a_run_knows(end)) return false;
  Tensor from = m.in.tensor(begin, s.sequence->span), to = m.in.tensor(end, s.sequence->span);
  for (const Tensor* t : {&from, &to})
    if (!t->type().shape.empty() || !runtime::is_integer(t->type().dtype))
      m.fail("type", s.sequence->span,
             "a range goes from an integer to an integer, and this is " + kind_name(begin) + " .. " + kind_name(end));
  const auto& core = m.ctx.table().core();
  const runtime::Kind kind = *runtime::promote(from.type().kind(), to.type().kind());
  const auto counts = [&](const Tensor& t) {
    return m.ctx.apply1(*core.convert, {t}, {{"dtype", kind.dtype}, {"weak", false}});
  };
  m.at(s.sequence->span, [&] { from = counts(from), to = counts(to); });
  TracedLoop(m, {&s, s.body.get(), "for", span, from,
                 [&](const Tensor* i) {
                   m.bind(*s.pattern, Value(*i), true);
                   run_region(m, *s.body, "loop");
                   const Tensor by = counts(m.in.tensor(Value(step), span));
                   return std::optional<Tensor>(m.ctx.apply1(*core.add, {*i, by}));
                 },
                 [&](const Tensor* i) {
                   return step > 0 ? m.ctx.apply1(*core.lt, {*i, to}) : m.ctx.apply1(*core.lt, {to, *i});
                 },
                 "how often it runs is only known when the program runs"})();
  return true;
}

}  // namespace shard::lang
