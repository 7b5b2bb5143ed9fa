// `effect`: print, assert and error of values that only a run has. Attributes say which (`what`) and carry the texts
// and formats; a host hook acts, in the order of the nodes. Effects have no results and no derivative; under vmap they
// act once a row, in order.
#include "interpreter/hlo/writer.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/batch.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

// As assert_close compares: in f64, nan beside nan and what is equal holds.
hlo::Value close_hlo(const hlo::Use& u) {
  const Shape &sx = u.in[0].shape, &sy = u.in[1].shape;
  if (sx != sy && !sx.empty() && !sy.empty()) return u.to.constant(DType::Bool, {}, 0);
  const Shape& shape = sx.empty() ? sy : sx;
  const auto wide = [&](const hlo::Value& v) { return hlo::convert(hlo::broadcast(v, shape), DType::F64); };
  const hlo::Value x = wide(u.in[0]), y = wide(u.in[1]), by = hlo::unary("abs", x - y);
  const hlo::Value most = hlo::unary("abs", y) * u.attrs.number("rtol") + u.attrs.number("atol");
  const auto is_nan = [](const hlo::Value& v) { return hlo::compare(v, v, "NE"); };
  const hlo::Value same = hlo::either(hlo::compare(x, y, "EQ"), hlo::both(is_nan(x), is_nan(y)));
  const hlo::Value holds = hlo::either(same, hlo::compare(by, most, "LE"));
  return hlo::reduced(holds, runtime::Reduce::And, leading(x.rank()));
}

// Rows that all devices go through: effects see whole values.
Var whole_rows(Builder& b, Var x) {
  const Type& t = b.type(x);
  if (t.sharding.dims[0].axes.empty()) return x;
  Layout layout{t.mesh, t.sharding};
  layout.sharding.dims[0].axes.clear();
  for (auto& d : layout.sharding.dims) d.open = !t.mesh->of_kind(runtime::AxisKind::Auto).empty();
  return b.emit1(*b.core().shard, {x}, {{"layout", std::move(layout)}});
}

std::vector<Mapped> batch_effect(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  Builder turn = transform::builder_like(b.table(), b.graph());
  turn.set_span(b.span());
  Vars consts, args(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!in[i].mapped) args[i] = turn.param(call.in[i]), consts.push_back(in[i].var);
  std::size_t n = consts.size();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].mapped) args[i] = turn.param(call.in[i]), consts.push_back(whole_rows(b, in[i].var));
  turn.emit(call.op, args, call.attrs);
  b.emit(*b.core().scan, consts, ir::with_wiring({}, ir::ScanWiring{.consts = n, .length = size}),
         {share(turn.finish({}))});
  return {};
}

}  // namespace

OpDef effect_row() {
  OpDef row = internal_row("effect(values: arrays)", "Acts on values when the program runs: print, assert, error.");
  row.derivative = ir::Zero{};
  row.kernel = ir::Structure::Effect;
  row.batch = batch_effect;
  row.hlo = [](const hlo::Use& u) -> hlo::Values {  // what must hold
    const std::string& what = u.attrs.text("what");
    if (what == "assert") return {u.in[0]};
    if (what == "assert_close") return {close_hlo(u)};
    if (what == "error") return {u.to.constant(DType::Bool, {}, 0)};
    hlo::refuse(what, "make what it shows a result, and show that after the call");
  };
  row.infer = [](const OpCall&) { return std::vector<Type>{}; };
  return row;
}

}  // namespace shard::stdlib
