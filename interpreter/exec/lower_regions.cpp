// Lowering of nodes with regions: each region becomes a plan of its own, for parameters as they lie in the surrounding
// plan. A region whose condition differs between devices runs once for each block along those axes; there it may not
// communicate.
#include <algorithm>
#include <stdexcept>

#include "grammar/diagnostic.h"
#include "interpreter/exec/lowering.h"
#include "interpreter/exec/plan.h"
#include "interpreter/ir/region_edges.h"

namespace shard::exec {

using ir::Node;

namespace {

std::int64_t in_cache_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// As the value lies behind a pointer to its first element, for one block along `blocks`.
StridedView behind(const StridedView& p, std::size_t slot, AxisSet blocks) {
  StridedView q = seen_along(p, p.distinct - blocks);
  q.storage = static_cast<int>(slot);
  q.offset = 0;
  q.frozen.clear();
  return q;
}

// One row of it.
StridedView row_of(StridedView p) {
  p.shape.erase(p.shape.begin());
  p.strides.erase(p.strides.begin());
  return p;
}

// A region to be compiled: its parameters as they lie behind their slots, what its results must be, and which
// parameter's memory a result may take over.
struct BodyCall {
  const ir::GraphRef& region;
  const transform::Distinct& distinct;
  std::vector<StridedView> params = {};
  std::vector<std::int64_t> whole = {};  // bytes of a parameter that may be overwritten, else 0
  std::vector<AxisSet> results = {};
  Donors wanted = {};
  void param(StridedView place, bool overwritten, const Mesh* mesh) {
    if (overwritten) place.splat.reset();
    whole.push_back(overwritten ? bytes_of(place, mesh) : 0);
    params.push_back(std::move(place));
  }
  void result(AxisSet distinct, std::optional<std::size_t> param) {
    results.push_back(distinct);
    wanted.push_back(param);
  }
};

struct Body {  // a compiled region
  Plan plan;
  std::vector<ResultRef> results;
  Most most;
};
Body compile_body(const BodyCall& call, const LoweringContext& around) {
  Lowering lowering(*call.region, around, call.distinct);
  lowering.of_body();
  for (std::size_t i = 0; i < call.params.size(); ++i) lowering.bind(i, call.params[i], call.whole[i]);
  lowering.run();
  lowering.finish_results(call.results, &call.wanted);
  Body body;
  body.results = lowering.draft().results;
  Finished done = finish(std::move(lowering.draft()), &call.wanted, body.results);
  body.plan = std::move(done.plan);
  body.most = std::move(done.most);
  return body;
}

std::string names(AxisSet axes, const Mesh& mesh) {
  std::string out;
  for (AxisId a : axes.list()) out += (out.empty() ? "@" : ", @") + mesh.axes[a].name;
  return out;
}

void refuse_communication(const Node& n, AxisSet blocks, const Mesh* mesh) {
  if (blocks.empty()) return;
  for (const auto& region : n.regions)
    if (const Node* found = ir::collective_over(*region, blocks))
      throw grammar::Error("collective", n.span,
                           "the condition differs between the devices along " + names(blocks, *mesh) +
                               ", so what it decides may not communicate there",
                           {"it holds `" + std::string(found->op->name) + "`",
                            "make the condition the same everywhere first, for example with pmax"});
}

// A control once for each block along these axes.
void blockwise(Lowering& l, std::shared_ptr<const Control> c, AxisSet blocks, const std::vector<StridedView>& in,
               const std::vector<StridedView>& out, Lowering::InPlace in_place, Most inside) {
  if (blocks.empty()) return l.control(std::move(c), in, out, std::move(in_place), std::move(inside));
  auto b = std::make_shared<Blockwise>();
  b->inner = std::move(c);
  b->axes = blocks.list();
  const auto steps = [](const std::vector<StridedView>& places, AxisId a) {
    std::vector<std::int64_t> bytes;
    for (const StridedView& p : places) bytes.push_back(p.device_stride(a) * item_bytes(p.dtype));
    return bytes;
  };
  for (AxisId a : b->axes) {
    b->sizes.push_back(l.mesh()->size_of(a));
    b->in_step.push_back(steps(in, a));
    b->out_step.push_back(steps(out, a));
  }
  l.control(std::move(b), in, out, std::move(in_place), std::move(inside));
}

// What comes out of a control that runs block by block: each block's part in one piece.
StridedView result_of(Lowering& l, ir::Var v, AxisSet differs, AxisSet blocks) {
  const ir::Type& t = l.type(v);
  return blocks.empty() ? l.fresh(t.dtype, differs, t.shape)
                        : l.arranged(t.dtype, blocks, std::nullopt, differs - blocks, t.shape);
}

LoweringContext within(const Lowering& l, AxisSet blocks) {
  LoweringContext around = l.around();
  around.frozen |= blocks;
  return around;
}

// The carry among the parameters and results of a loop's body, for its runs. `first`: the first carry among the
// operands of the step. A carry may start in its operand's memory where nothing else reads it: these pairs are given.
Lowering::InPlace lay_out_carry(Loop& loop, const std::vector<StridedView>& in, std::size_t first, Body& body,
                                AxisSet blocks, const Mesh* mesh) {
  Lowering::InPlace in_place;
  loop.scratch = in_cache_lines(body.plan.arena);
  for (std::size_t i = 0; i < loop.carry; ++i) {
    loop.carry_bytes.push_back(bytes_of(behind(in[first + i], 0, blocks), mesh));
    loop.in_place.push_back(std::get<ResultRef::Own>(body.results[i].from).donor.has_value());
    loop.buffers.push_back(loop.scratch);
    if (!loop.in_place.back()) loop.scratch += in_cache_lines(loop.carry_bytes.back());
    if (alone(in, first + i) && blocks.empty()) in_place.emplace_back(static_cast<int>(i), static_cast<int>(first + i));
  }
  loop.body = std::move(body.plan);
  return in_place;
}

// A body's, and the second buffers of what goes round in it. `n`: the loop.
Most extra(const Node& n, Most of_body, const Loop& loop, const std::vector<StridedView>& in, std::size_t first) {
  for (std::size_t i = 0; i < loop.carry; ++i)
    if (!loop.in_place[i]) {
      const StridedView& p = in[first + i];
      of_body.pieces.push_back({&n, {}, runtime::numel(p.shape) * item_bytes(p.dtype)});
      of_body.bytes += of_body.pieces.back().bytes;
    }
  return of_body;
}

void lower_scan(Lowering& l, const Node& n) {
  const ir::RegionEdges wiring = ir::region_edges(n);
  auto s = std::make_shared<ScanLoop>();
  s->consts = wiring.constants(0).count;
  s->carry = wiring.carried();
  s->rows = n.inputs.size() - s->consts - s->carry;
  s->stacked = n.outputs.size() - s->carry;
  s->length = wiring.turns;
  s->reverse = wiring.reverse;

  BodyCall call{n.regions[0], l.inside(n).regions[0]};
  std::vector<StridedView> in, out;
  const auto row_bytes = [](const StridedView& p) { return p.strides[0] * item_bytes(p.dtype); };
  for (const ir::RegionEdge& e : wiring.edges) {
    if (e.operand) {
      StridedView p = l.place(n.inputs[*e.operand]);
      if (e.carried()) p = l.dense(p, l.axes(n.outputs[*e.output]));
      if (e.rows) s->row_step.push_back(row_bytes(p));
      in.push_back(p);
      call.param(behind(e.rows ? row_of(p) : p, *e.operand, {}), e.carried(), l.mesh());
    }
    if (!e.output) continue;
    const ir::Var v = n.outputs[*e.output];
    const ir::Type& t = l.type(v);
    call.result(l.axes(v), e.carried() ? e.operand : std::nullopt);
    if (e.rows) {
      out.push_back(l.arranged(t.dtype, {}, t.shape[0], l.axes(v), Shape(t.shape.begin() + 1, t.shape.end())));
      s->stacked_step.push_back(row_bytes(out.back()));
    } else {
      out.push_back(l.fresh(t.dtype, l.axes(v), t.shape));
    }
  }
  Body body = compile_body(call, l.around());
  auto in_place = lay_out_carry(*s, in, s->consts, body, {}, l.mesh());
  Most more = extra(n, std::move(body.most), *s, in, s->consts);
  l.control(s, in, out, std::move(in_place), std::move(more));
  l.put(n.outputs, out);
}

void lower_while(Lowering& l, const Node& n) {
  const AxisSet blocks = l.inside(n).blocks;
  refuse_communication(n, blocks, l.mesh());
  const ir::RegionEdges wiring = ir::region_edges(n);
  auto w = std::make_shared<WhileLoop>();
  w->condition_consts = wiring.constants(0).count;
  w->body_consts = wiring.constants(1).count;
  const std::size_t first = w->condition_consts + w->body_consts;
  w->carry = wiring.carried();

  BodyCall calls[] = {{n.regions[0], l.inside(n).regions[0]}, {n.regions[1], l.inside(n).regions[1]}};
  std::vector<StridedView> in, out;
  for (const ir::RegionEdge& e : wiring.edges) {
    const ir::Var v = n.inputs[*e.operand];
    StridedView start = l.place(v);
    if (e.carried()) {
      const AxisSet differs = l.axes(n.outputs[*e.output]);
      start = l.dense(start, differs);
      if (!blocks.empty()) {
        StridedView ordered = result_of(l, v, differs, blocks);
        l.copy_into(start, ordered);
        start = std::move(ordered);
      }
      out.push_back(result_of(l, v, differs, blocks));
      calls[e.results[0].region].result(differs - blocks, e.params.back().index);
    }
    in.push_back(start);
    for (const ir::RegionPort& p : e.params)
      calls[p.region].param(behind(start, p.index, blocks), e.carried() && p.region == e.results[0].region, l.mesh());
  }
  calls[wiring.verdict->region].result({}, std::nullopt);
  const LoweringContext around = within(l, blocks);
  Body condition = compile_body(calls[0], around), body = compile_body(calls[1], around);
  auto in_place = lay_out_carry(*w, in, first, body, blocks, l.mesh());
  Most more = extra(n, std::move(body.most), *w, in, first);
  more.bytes += condition.most.bytes;
  more.pieces.insert(more.pieces.end(), condition.most.pieces.begin(), condition.most.pieces.end());
  w->verdict = w->scratch;
  w->condition_at = w->scratch + 64;
  w->scratch = w->condition_at + in_cache_lines(condition.plan.arena);
  w->condition = std::move(condition.plan);
  blockwise(l, w, blocks, in, out, std::move(in_place), std::move(more));
  l.put(n.outputs, out);
}

void lower_branch(Lowering& l, const Node& n) {
  const AxisSet blocks = l.inside(n).blocks;
  refuse_communication(n, blocks, l.mesh());
  const LoweringContext around = within(l, blocks);
  std::vector<StridedView> in, out;
  for (ir::Var v : n.inputs) in.push_back(l.place(v));
  for (ir::Var v : n.outputs) out.push_back(result_of(l, v, l.axes(v), blocks));
  auto choice = std::make_shared<BranchChoice>();
  Most more;
  for (std::size_t r = 0; r < 2; ++r) {
    BodyCall call{n.regions[r], l.inside(n).regions[r]};
    for (const ir::RegionEdge& e : ir::region_edges(n).edges)
      if (e.operand) call.param(behind(in[*e.operand], call.params.size(), blocks), false, l.mesh());
    for (ir::Var v : n.outputs) call.result(l.axes(v) - blocks, std::nullopt);
    Body body = compile_body(call, around);
    const std::int64_t host = std::max(more.host, body.most.host);
    if (body.most.bytes > more.bytes) more = std::move(body.most);
    more.host = host;
    (r == 0 ? choice->then : choice->otherwise) = std::move(body.plan);
  }
  blockwise(l, choice, blocks, in, out, {}, std::move(more));
  l.put(n.outputs, out);
}

}  // namespace

void lower_loop_or_branch(Lowering& l, const Node& n) {
  const ir::RegionEdges wiring = ir::region_edges(n);
  return wiring.chooser ? lower_branch(l, n) : wiring.verdict ? lower_while(l, n) : lower_scan(l, n);
}

void lower_effect(Lowering& l, const Node& n) {
  const Mesh* mesh = l.mesh();
  auto e = std::make_shared<EffectCall>();
  e->attrs = n.attrs;
  e->frozen = l.around().frozen;
  e->mesh_axes = mesh ? mesh->axes.size() : 0;
  e->first = l.around().part ? l.around().part->first : std::vector<std::int64_t>(e->mesh_axes, 0);
  e->span = n.span;
  if (const auto* texts = n.attrs.get<std::vector<std::string>>("layouts")) e->layouts = *texts;
  e->layouts.resize(n.inputs.size(), "P()");
  std::vector<StridedView> in;
  for (ir::Var v : n.inputs) {
    const ir::Type& t = l.type(v);
    runtime::DeviceArray a;
    a.type = runtime::Type::of(t.dtype, t.shape, t.weak);
    a.type.varying = t.varying;
    a.layout = runtime::Sharding::replicated(t.shape.size());
    if (mesh) a.type.mesh = l.around().mesh_ref;
    a.distinct = l.axes(v);
    in.push_back(l.dense(l.place(v), a.distinct));
    e->bytes.push_back(bytes_of(in.back(), mesh));
    e->operands.push_back(std::move(a));
  }
  l.control(e, in, {});
}

}  // namespace shard::exec
