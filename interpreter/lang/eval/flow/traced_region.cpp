#include "interpreter/lang/eval/flow/traced_region.h"

#include "interpreter/ir/builder.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

const std::vector<Unit::Assigned>& assigned_by(const Impl& m, const void* node) {
  static const std::vector<Unit::Assigned> none;
  auto it = m.frame().unit->assigned.find(node);
  return it == m.frame().unit->assigned.end() ? none : it->second;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.traced() ? b.traced() && a.frame() == b.frame() && a.var() == b.var()
                    : !b.traced() && a.array() == b.array();
}

}  // namespace

Variables::Variables(Impl& m, const void* node, Span span) : m_(m), list_(assigned_by(m, node)) {
  for (const Unit::Assigned& a : list_) before_.push_back(m_.assignable(a.slot, span));
}

Variables::Inside::Inside(Variables& v) : floor_(v.m_.cells.trace_floor, v.m_.cells.next_serial) {
  for (const Unit::Assigned& a : v.list_)
    if (CellRef c = v.m_.cell_of(a.slot)) {
      cells_.emplace_back(c, c->serial);
      c->serial = v.m_.cells.next_serial++;
    }
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

TreeStructure take_results(Impl& m, const Value& v, std::vector<Tensor>& results, Span span) {
  for (const Value& leaf : leaves(v))
    if (m.checker && is_nothing(leaf)) only_in_a_run(span);  // an error took it away
  return take_leaves(v, Take::ArraysAndNumbers, results, [&](const Value& leaf) { return m.in.tensor(leaf, span); });
}

void add_names(const std::string& variable, const TreeStructure& r, std::vector<std::string>& out) {
  for (std::size_t i = 0; i < r.size(); ++i)
    if (r.place(i) >= 0) out.push_back(variable + leaf_at(r.tree(), nullptr, i).path);
}

std::vector<std::size_t> Captures::add(const std::vector<Tensor>& captured) {
  std::vector<std::size_t> out;
  for (const Tensor& t : captured) {
    std::size_t i = 0;
    while (i < all.size() && !same(all[i], t)) ++i;
    if (i == all.size()) all.push_back(t);
    out.push_back(i);
  }
  return out;
}

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

runtime::Kind result_kind(const ir::Graph& g, std::size_t i) { return g.type(g.results[i]).kind(); }

runtime::Kind joined(runtime::Kind mine, runtime::Kind other) {
  if (!mine.weak) return mine;
  auto both = runtime::promote(mine, other);
  return both && (other.weak || both->dtype == other.dtype) ? *both : mine;
}

std::vector<Owner> owners(const std::vector<TreeStructure>& results, const std::vector<std::string>& variables) {
  std::vector<Owner> out;
  for (std::size_t k = 0; k < results.size(); ++k) {
    for (std::size_t i = 0; i < results[k].size(); ++i)
      if (results[k].place(i) >= 0) out.push_back({variables[k], &results[k].tree(), i});
  }
  return out;
}

}  // namespace shard::lang
