// `effect`: print, assert and error of values that only a run has. Attributes say which (`what`) and carry the texts
// and formats; a host hook acts, in the order of the nodes. Effects have no results and no derivative; under vmap they
// act once a row, in order.
#include "interpreter/hlo/writer.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/batch.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

std::vector<Mapped> batch_effect(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  Builder turn = transform::builder_like(b.table(), b.graph());
  turn.set_span(b.span());
  Vars consts, args(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!in[i].mapped) args[i] = turn.param(call.in[i]), consts.push_back(in[i].var);
  std::size_t n = consts.size();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].mapped) args[i] = turn.param(call.in[i]), consts.push_back(in[i].var);
  turn.emit(call.op, args, call.attrs);
  b.emit(*b.core().scan, consts, ir::with_wiring({}, ir::ScanWiring{.consts = n, .length = size}),
         {share(turn.finish({}))});
  return {};
}

}  // namespace

OpDef effect_row() {
  OpDef row{.name = "effect",
            .signature = "effect(values: arrays)",
            .doc = "Acts on values when the program runs: print, assert, error."};
  row.dtype = {Operands::AsIs, {}};
  row.derivative = ir::Zero{};
  row.kernel = ir::Structure::Effect;
  row.batch = batch_effect;
  row.hlo = [](const hlo::Use& u) -> hlo::Values {  // what must hold
    const std::string& what = u.attrs.text("what");
    if (what == "assert") return {u.in[0]};
    if (what == "error") return {u.to.constant(DType::Bool, {}, 0)};
    hlo::refuse(what, "make what it shows a result, and show that after the call");
  };
  row.internal = true;
  row.infer = [](const OpCall&) { return std::vector<Type>{}; };
  return row;
}

}  // namespace shard::stdlib
