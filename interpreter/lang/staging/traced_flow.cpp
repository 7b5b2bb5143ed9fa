// Branches and bodies are traced as regions of the core operations `branch` and `while_loop`; the variables that they
// assign are their results (and, for loops, their carry). Host numbers among them become arrays.
#include "interpreter/lang/staging/traced_flow.h"

#include "interpreter/ir/builder.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/values/traced_range.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using trace::Traced;
using Impl = Interpreter::Impl;

namespace {

using Assigned = Unit::Assigned;

// A value as a region gives it back: which leaves are results, and the tree around them.
struct Result {
  Value tree;
  std::vector<int> index;  // by leaf: into the region's results, or -1 where the leaf is static
};

Result take(Impl& m, const Value& v, std::vector<Tensor>& results, Span span) {
  Result out{v, {}};
  for (const Value& leaf : leaves(v)) {
    if (m.checker && is_nothing(leaf)) only_in_a_run(span);  // an error took it away
    const bool array = leaf.is_tensor() || leaf.is_host_number() || leaf.is<bool>();
    out.index.push_back(array ? static_cast<int>(results.size()) : -1);
    if (array) results.push_back(m.in.tensor(leaf, span));
  }
  return out;
}

Value rebuild(const Result& r, const std::vector<Tensor>& results) {
  std::vector<Value> out = leaves(r.tree);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (r.index[i] >= 0) out[i] = results[static_cast<std::size_t>(r.index[i])];
  return with_leaves(r.tree, std::move(out));
}

// The variables that a region assigns: remembered, set and given back. Their cells count as made inside of the region,
// so that assigning them is allowed there, while every other older cell may not be assigned.
class Variables {
 public:
  Variables(Impl& m, const std::vector<Assigned>& list, Span span) : m_(m), list_(list) {
    for (const Assigned& a : list_) before_.push_back(m_.assignable(a.slot, span));
  }
  std::size_t size() const { return list_.size(); }
  const std::string& name(std::size_t i) const { return list_[i].name; }
  Value& at(std::size_t i) {
    CellRef c = m_.cell_of(list_[i].slot);
    return c ? c->value : m_.frame().locals[list_[i].slot.index];
  }
  const Value& before(std::size_t i) const { return before_[i]; }
  void restore() {
    for (std::size_t i = 0; i < size(); ++i) at(i) = before_[i];
  }

  class Inside {
   public:
    Inside(Impl& m, Variables& v) : m_(m), floor_(m.cells.trace_floor) {
      m.cells.trace_floor = m.cells.next_serial;
      for (const Assigned& a : v.list_)
        if (CellRef c = m.cell_of(a.slot)) {
          cells_.emplace_back(c, c->serial);
          c->serial = m.cells.next_serial++;
        }
    }
    ~Inside() {
      for (auto& [c, serial] : cells_) c->serial = serial;
      m_.cells.trace_floor = floor_;
    }
    Inside(const Inside&) = delete;

   private:
    Impl& m_;
    std::uint64_t floor_;
    std::vector<std::pair<CellRef, std::uint64_t>> cells_;
  };

 private:
  friend class Inside;
  Impl& m_;
  const std::vector<Assigned>& list_;
  std::vector<Value> before_;
};

const std::vector<Assigned>& assigned_by(const Impl& m, const void* node) {
  static const std::vector<Assigned> none;
  auto it = m.frame().unit->assigned.find(node);
  return it == m.frame().unit->assigned.end() ? none : it->second;
}

Value run_region(Impl& m, const Expr& body, const char* what) {
  Value v;
  Flow flow;
  try {
    flow = m.eval_flow(body, v);
  } catch (const FlowSignal& s) { flow = s.flow; }
  if (flow != Flow::Next) {
    const char* word = flow == Flow::Break ? "break" : flow == Flow::Continue ? "continue" : "return";
    m.fail("trace", m.flow_span, std::string("`") + word + "` under a condition that only a run knows",
           {std::string("the ") + what + " is traced: give the value of `if` instead, or use `where`"});
  }
  return v;
}

// What regions capture, without repetition.
class Captures {
 public:
  std::vector<Tensor> all;
  std::vector<std::size_t> add(const std::vector<Tensor>& captured) {
    std::vector<std::size_t> out;
    for (const Tensor& t : captured) {
      std::size_t i = 0;
      while (i < all.size() && !same(all[i], t)) ++i;
      if (i == all.size()) all.push_back(t);
      out.push_back(i);
    }
    return out;
  }

 private:
  static bool same(const Tensor& a, const Tensor& b) {
    return a.traced() ? b.traced() && a.frame() == b.frame() && a.var() == b.var()
                      : !b.traced() && a.array() == b.array();
  }
};

// `g` anew: the captured values first (at `where` among `consts` parameters), then the declared parameters; results
// converted.
ir::GraphRef rearranged(Impl& m, const ir::Graph& g, std::size_t declared, const std::vector<runtime::Type>& consts,
                        const std::vector<std::size_t>& where, const std::vector<runtime::Kind>& kinds) {
  ir::Builder b(m.ctx.table());
  if (g.local) b.set_local(g.mesh);
  ir::Vars params, arguments(g.params.size());
  for (const runtime::Type& t : consts) params.push_back(b.param(t));
  for (std::size_t i = 0; i < declared; ++i) arguments[i] = b.param(g.type(g.params[i]));
  for (std::size_t i = declared; i < g.params.size(); ++i) arguments[i] = params[where[i - declared]];
  ir::Vars results = b.inline_graph(g, arguments);
  for (std::size_t i = 0; i < kinds.size() && i < results.size(); ++i)
    results[i] = ir::convert(b, results[i], kinds[i].dtype, kinds[i].weak);
  return std::make_shared<const ir::Graph>(b.finish(std::move(results)));
}

std::vector<runtime::Type> types_of(const std::vector<Tensor>& tensors) {
  std::vector<runtime::Type> out;
  for (const Tensor& t : tensors) out.push_back(t.type());
  return out;
}

runtime::Kind result_kind(const ir::Graph& g, std::size_t i) { return g.type(g.results[i]).kind(); }

// A weakly typed result (a host number) takes the other's type; the kind that `mine` should have.
runtime::Kind joined(runtime::Kind mine, runtime::Kind other) {
  if (!mine.weak) return mine;
  auto both = runtime::promote(mine, other);
  return both && (other.weak || both->dtype == other.dtype) ? *both : mine;
}

std::string describe(const Value& v) { return v.items() || v.fields() ? structure(v) : kind_name(v); }

// One result of a region: the variable that it is of ("" for the value), and which leaf of it.
struct Owner {
  std::string variable;
  const Value* tree;
  std::size_t leaf;
};
std::vector<Owner> owners(const std::vector<Result>& results, const std::vector<std::string>& names) {
  std::vector<Owner> out;
  for (std::size_t k = 0; k < results.size(); ++k) {
    for (std::size_t i = 0; i < results[k].index.size(); ++i)
      if (results[k].index[i] >= 0) out.push_back({names[k], &results[k].tree, i});
  }
  return out;
}

// As messages name the results: `a`, `s.w`, `[0]`.
void add_names(const std::string& name, const Result& r, std::vector<std::string>& out) {
  for (std::size_t i = 0; i < r.index.size(); ++i)
    if (r.index[i] >= 0) out.push_back(name + leaf_at(r.tree, nullptr, i).path);
}

}  // namespace

Value traced_if(Impl& m, const Expr& e, const IfExpr& x, const Tensor& condition) {
  const bool wanted = !(m.flags(e.id) & kUnused);
  Variables vars(m, assigned_by(m, &x), e.span);
  struct Branch {
    Traced traced;
    std::vector<Result> results;
  };
  auto run = [&](const Expr* body) {
    Branch out;
    vars.restore();
    out.traced = m.ctx.trace({}, [&](std::span<const Tensor>) {
      Variables::Inside inside(m, vars);
      Value v;
      if (body) v = run_region(m, *body, "branch");
      std::vector<Tensor> results;
      out.results.push_back(take(m, wanted ? v : Value(), results, body ? body->span : e.span));
      for (std::size_t i = 0; i < vars.size(); ++i) out.results.push_back(take(m, vars.at(i), results, e.span));
      return results;
    });
    return out;
  };
  Branch yes, no;
  try {
    yes = run(x.then.get());
    no = run(x.otherwise.get());
  } catch (...) {
    vars.restore();
    throw;
  }
  vars.restore();
  for (std::size_t k = 0; k < yes.results.size(); ++k) {
    const Result &a = yes.results[k], &b = no.results[k];
    const std::string what = k == 0 ? "the value" : "`" + vars.name(k - 1) + "`";
    bool fits = same_structure(a.tree, b.tree) && a.index.size() == b.index.size();
    if (!fits)
      m.fail("branch", e.span,
             "both branches of an `if` that is traced must give values of one structure: " + what + " is " +
                 structure(a.tree) + " in the first and " + structure(b.tree) + " in the second",
             {x.otherwise ? "the condition is only known when the program runs"
                          : "without an `else` the second gives none"});
    std::vector<Value> left = leaves(a.tree), right = leaves(b.tree);
    for (std::size_t i = 0; i < left.size(); ++i)
      if ((a.index[i] < 0) != (b.index[i] < 0) || (a.index[i] < 0 && !equal(left[i], right[i])))
        m.fail("branch", e.span,
               "both branches of an `if` that is traced must agree in what is no array: " + what + " has " +
                   kind_name(left[i]) + " in the first and " + kind_name(right[i]) + " in the second",
               {"the condition is only known when the program runs; arrays and numbers may differ"});
  }
  const ir::Graph &first = *yes.traced.graph, &second = *no.traced.graph;
  std::vector<runtime::Kind> kinds_first, kinds_second;
  for (std::size_t i = 0; i < first.results.size(); ++i) {
    const runtime::Kind a = result_kind(first, i), b = result_kind(second, i);
    kinds_first.push_back(joined(a, b));
    kinds_second.push_back(joined(b, a));
  }
  Captures captures;
  const auto where_first = captures.add(yes.traced.captured), where_second = captures.add(no.traced.captured);
  const auto consts = types_of(captures.all);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < yes.results.size(); ++k) add_names(k == 0 ? "" : vars.name(k - 1), yes.results[k], names);
  std::vector<Tensor> operands{condition};
  operands.insert(operands.end(), captures.all.begin(), captures.all.end());
  std::vector<Tensor> out;
  try {
    out = m.at(e.span, [&] {
      return m.ctx.apply(*m.ctx.table().core().branch, operands, {{"names", names}},
                         {rearranged(m, first, 0, consts, where_first, kinds_first),
                          rearranged(m, second, 0, consts, where_second, kinds_second)});
    });
  } catch (Error& error) {
    std::vector<std::string> owned{""};
    for (std::size_t i = 0; i < vars.size(); ++i) owned.push_back(vars.name(i));
    const auto of = owners(yes.results, owned);
    if (!m.fixer || error.diagnostic.code != "branch" || !error.diagnostic.fixes.empty()) throw;
    std::vector<Differing> to_first, to_second;
    for (std::size_t i = 0; i < of.size(); ++i) {
      const runtime::Type a = first.type(first.results[i]), b = second.type(second.results[i]);
      to_first.push_back({a, b, of[i].variable, of[i].tree, of[i].leaf});
      to_second.push_back({b, a, of[i].variable, of[i].tree, of[i].leaf});
    }
    m.fixer->branches(error, e, x, to_first, to_second);
    throw;
  }
  for (std::size_t i = 0; i < vars.size(); ++i) vars.at(i) = rebuild(yes.results[i + 1], out);
  return rebuild(yes.results[0], out);
}

namespace {

// A loop as one node. The carry is `counter`, where there is one, and the variables that the loop assigns; `turn` runs
// the body on a counter and gives the next one, `goes_on` the condition.
struct TracedLoop {
  const void* node;
  const Expr* body;
  std::string word;  // as users write it
  Span span;
  std::optional<Tensor> counter;
  std::function<std::optional<Tensor>(const Tensor* counter)> turn;
  std::function<Tensor(const Tensor* counter)> goes_on;
  std::string why;
};

void trace_loop(Impl& m, const TracedLoop& loop) {
  Variables vars(m, assigned_by(m, loop.node), loop.span);
  const std::size_t first = loop.counter ? 1 : 0;
  std::vector<Tensor> carry;
  std::vector<Result> results;  // of the variables: indices into what follows the counter
  std::vector<std::string> names;
  for (std::size_t i = 0; i < vars.size(); ++i) {
    results.push_back(take(m, vars.before(i), carry, loop.span));
    add_names(vars.name(i), results.back(), names);
  }
  if (loop.counter) {
    carry.insert(carry.begin(), *loop.counter);
    names.insert(names.begin(), "the counter");
  }
  auto set = [&](std::span<const Tensor> params) {
    std::vector<Tensor> given(params.begin() + static_cast<std::ptrdiff_t>(first), params.end());
    for (std::size_t i = 0; i < vars.size(); ++i) vars.at(i) = rebuild(results[i], given);
  };
  Traced body, condition;
  std::vector<runtime::Type> types;
  try {
    for (int attempt = 0;; ++attempt) {
      types = types_of(carry);
      body = m.ctx.trace(types, [&](std::span<const Tensor> params) {
        Variables::Inside inside(m, vars);
        set(params);
        const std::optional<Tensor> next = loop.turn(first ? &params[0] : nullptr);
        std::vector<Tensor> out;
        for (std::size_t i = 0; i < vars.size(); ++i) {
          const Result after = take(m, vars.at(i), out, loop.span);
          if (!same_structure(after.tree, results[i].tree) || after.index != results[i].index)
            m.fail("loop", loop.span,
                   "a variable of a `" + loop.word + "` that is traced keeps its type: `" + vars.name(i) +
                       "` starts as " + describe(results[i].tree) + " and becomes " + describe(after.tree),
                   {loop.why});
        }
        if (next) out.insert(out.begin(), *next);
        return out;
      });
      // A carry that starts as a host number takes the type that the body gives it.
      bool changed = false;
      for (std::size_t i = 0; i < carry.size(); ++i) {
        const runtime::Kind have = carry[i].type().kind(), want = joined(have, result_kind(*body.graph, i));
        if (want.dtype == have.dtype) continue;
        carry[i] = m.at(loop.span, [&] {
          return m.ctx.apply1(*m.ctx.table().core().convert, {carry[i]}, {{"dtype", want.dtype}, {"weak", want.weak}});
        });
        changed = true;
      }
      if (!changed || attempt == 3) break;
    }
    condition = m.ctx.trace(types, [&](std::span<const Tensor> params) {
      Variables::Inside inside(m, vars);
      set(params);
      return std::vector<Tensor>{loop.goes_on(first ? &params[0] : nullptr)};
    });
  } catch (...) {
    vars.restore();
    throw;
  }
  vars.restore();
  std::vector<runtime::Kind> kinds;
  for (std::size_t i = 0; i < carry.size(); ++i) kinds.push_back(joined(result_kind(*body.graph, i), types[i].kind()));
  Captures cond_captures, body_captures;
  const auto where_cond = cond_captures.add(condition.captured), where_body = body_captures.add(body.captured);
  std::vector<Tensor> operands = cond_captures.all;
  operands.insert(operands.end(), body_captures.all.begin(), body_captures.all.end());
  operands.insert(operands.end(), carry.begin(), carry.end());
  std::vector<Tensor> out;
  try {
    out = m.at(loop.span, [&] {
      return m.ctx.apply(*m.ctx.table().core().while_loop, operands,
                         ir::with_wiring({{"names", names}, {"loop", loop.word}},
                                         ir::WhileWiring{cond_captures.all.size(), body_captures.all.size()}),
                         {rearranged(m, *condition.graph, carry.size(), types_of(cond_captures.all), where_cond, {}),
                          rearranged(m, *body.graph, carry.size(), types_of(body_captures.all), where_body, kinds)});
    });
  } catch (Error& error) {
    std::vector<std::string> owned;
    for (std::size_t i = 0; i < vars.size(); ++i) owned.push_back(vars.name(i));
    const auto of = owners(results, owned);
    if (!m.fixer || error.diagnostic.code != "carry" || !error.diagnostic.fixes.empty()) throw;
    std::vector<Differing> at_end, before;
    for (std::size_t i = 0; i < of.size(); ++i) {
      const runtime::Type &given = body.graph->type(body.graph->results[first + i]), &came = types[first + i];
      at_end.push_back({came, given, of[i].variable, of[i].tree, of[i].leaf});
      before.push_back({given, came, of[i].variable, of[i].tree, of[i].leaf});
    }
    m.fixer->carry(error, loop.span, *loop.body, at_end, before);
    throw;
  }
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < vars.size(); ++i) vars.at(i) = rebuild(results[i], out);
}

}  // namespace

void traced_while(Impl& m, const WhileStmt& s, Span span) {
  trace_loop(m, {&s, s.body.get(), "while", span, std::nullopt,
                 [&](const Tensor*) {
                   run_region(m, *s.body, "loop");
                   return std::optional<Tensor>();
                 },
                 [&](const Tensor*) {
                   Value v = m.eval(*s.condition);
                   m.condition(v, s.condition->span);  // must be one truth value
                   return m.in.tensor(v, s.condition->span);
                 },
                 "the condition is only known when the program runs"});
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
  trace_loop(m, {&s, s.body.get(), "for", span, from,
                 [&](const Tensor* i) {
                   m.bind(*s.pattern, Value(*i), true);
                   run_region(m, *s.body, "loop");
                   const Tensor by = counts(m.in.tensor(Value(step), span));
                   return std::optional<Tensor>(m.ctx.apply1(*core.add, {*i, by}));
                 },
                 [&](const Tensor* i) {
                   return step > 0 ? m.ctx.apply1(*core.lt, {*i, to}) : m.ctx.apply1(*core.lt, {to, *i});
                 },
                 "how often it runs is only known when the program runs"});
  return true;
}

}  // namespace shard::lang
