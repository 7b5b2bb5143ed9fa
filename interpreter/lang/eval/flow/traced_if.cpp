// `if` on a condition that only a run knows. Both branches are traced as regions of the core operation `branch`; the
// variables that they assign are results beside the value. Host numbers among them become arrays.
#include "interpreter/lang/eval/flow/traced_region.h"
#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using trace::Traced;
using Impl = Interpreter::Impl;

namespace {

struct Branch {
  Traced traced;
  std::vector<TreeStructure> results;  // the value, then the variables that a branch assigns
};

class TracedIf {
 public:
  TracedIf(Impl& m, const Expr& e, const IfExpr& x)
      : m_(m), e_(e), x_(x), vars_(m, &x, e.span), wanted_(!(m.flags(e.id) & kUnused)) {}

  Value operator()(const Tensor& condition) {
    try {
      yes_ = trace(x_.then.get());
      no_ = trace(x_.otherwise.get());
    } catch (...) {
      vars_.restore();
      throw;
    }
    vars_.restore();
    for (std::size_t k = 0; k < yes_.results.size(); ++k)
      check_alike(k == 0 ? "the value" : "`" + vars_.name(k - 1) + "`", yes_.results[k], no_.results[k]);
    const std::vector<Tensor> out = emit(condition);
    for (std::size_t i = 0; i < vars_.size(); ++i) vars_.at(i) = yes_.results[i + 1].filled(out);
    return yes_.results[0].filled(out);
  }

 private:
  Branch trace(const Expr* body) {
    Branch out;
    vars_.restore();
    out.traced = m_.ctx.trace({}, [&](std::span<const Tensor>) {
      const Variables::Inside inside(vars_);
      Value v;
      if (body) v = run_region(m_, *body, "branch");
      std::vector<Tensor> results;
      out.results.push_back(take_results(m_, wanted_ ? v : Value(), results, body ? body->span : e_.span));
      for (std::size_t i = 0; i < vars_.size(); ++i)
        out.results.push_back(take_results(m_, vars_.at(i), results, e_.span));
      return results;
    });
    return out;
  }

  void check_alike(const std::string& what, const TreeStructure& a, const TreeStructure& b) {
    if (!same_structure(a.tree(), b.tree()) || a.size() != b.size())
      m_.fail("branch", e_.span,
              "both branches of an `if` that is traced must give values of one structure: " + what + " is " +
                  structure(a.tree()) + " in the first and " + structure(b.tree()) + " in the second",
              {x_.otherwise ? "the condition is only known when the program runs"
                            : "without an `else` the second gives none"});
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool stays = a.place(i) < 0;
      if (stays != (b.place(i) < 0) || (stays && !equal(a.leaf(i), b.leaf(i))))
        m_.fail("branch", e_.span,
                "both branches of an `if` that is traced must agree in what is no array: " + what + " has " +
                    kind_name(a.leaf(i)) + " in the first and " + kind_name(b.leaf(i)) + " in the second",
                {"the condition is only known when the program runs; arrays and numbers may differ"});
    }
  }

  std::vector<Tensor> emit(const Tensor& condition) {
    const ir::Graph &first = *yes_.traced.graph, &second = *no_.traced.graph;
    std::vector<runtime::Kind> kinds_first, kinds_second;
    for (std::size_t i = 0; i < first.results.size(); ++i) {
      const runtime::Kind a = result_kind(first, i), b = result_kind(second, i);
      kinds_first.push_back(joined(a, b));
      kinds_second.push_back(joined(b, a));
    }
    Captures captures;
    const auto where_first = captures.add(yes_.traced.captured), where_second = captures.add(no_.traced.captured);
    const auto consts = m_.ctx.types_of(captures.all);
    std::vector<std::string> names;
    for (std::size_t k = 0; k < yes_.results.size(); ++k)
      add_names(k == 0 ? "" : vars_.name(k - 1), yes_.results[k], names);
    std::vector<Tensor> operands{condition};
    operands.insert(operands.end(), captures.all.begin(), captures.all.end());
    return m_.fixing(
        [&] {
          return m_.at(e_.span, [&] {
            return m_.ctx.apply(*m_.ctx.table().core().branch, operands, {{"names", names}},
                                {rearranged(m_, first, 0, consts, where_first, kinds_first),
                                 rearranged(m_, second, 0, consts, where_second, kinds_second)});
          });
        },
        [&](Error& e) {
          if (e.diagnostic.code == "branch" && e.diagnostic.fixes.empty()) suggest(e);
        });
  }

  void suggest(Error& error) {
    const ir::Graph &first = *yes_.traced.graph, &second = *no_.traced.graph;
    std::vector<std::string> owned{""};
    for (std::size_t i = 0; i < vars_.size(); ++i) owned.push_back(vars_.name(i));
    const auto of = owners(yes_.results, owned);
    std::vector<Differing> to_first, to_second;
    for (std::size_t i = 0; i < of.size(); ++i) {
      const runtime::Type a = first.type(first.results[i]), b = second.type(second.results[i]);
      to_first.push_back(of[i].with(a, b));
      to_second.push_back(of[i].with(b, a));
    }
    m_.fixer->branches(error, e_, x_, to_first, to_second);
  }

  Impl& m_;
  const Expr& e_;
  const IfExpr& x_;
  Variables vars_;
  bool wanted_;
  Branch yes_, no_;
};

}  // namespace

Value traced_if(Impl& m, const Expr& e, const IfExpr& x, const Tensor& condition) {
  return TracedIf(m, e, x)(condition);
}

}  // namespace shard::lang
