// Lowering of nodes with regions: each region becomes a plan of its own, for parameters as they lie in the surrounding
// plan. A region whose condition differs between devices runs once for each block along those axes; there it may not
// communicate.
#include <algorithm>
#include <stdexcept>

#include "grammar/diagnostic.h"
#include "interpreter/exec/control_flow.h"
#include "interpreter/exec/lowering.h"
#include "interpreter/ir/region_edges.h"

namespace shard::exec {

using ir::Node;

namespace {

std::int64_t in_cache_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// As the value lies behind a pointer to its first element, for one block along `blocks`.
StridedView behind(const StridedView& p, std::size_t slot, AxisSet blocks) {
  StridedView q = p;
  q.storage = static_cast<int>(slot);
  q.offset = 0;
  q.frozen.clear();
  q.distinct = p.distinct - blocks;
  q.device.clear();
  for (AxisId a : q.distinct.list()) q.device.push_back(p.device_stride(a));
  return q;
}

// One row of it.
StridedView row_of(StridedView p) {
  p.shape.erase(p.shape.begin());
  p.strides.erase(p.strides.begin());
  return p;
}

std::int64_t bytes_of(const StridedView& p, const Mesh* mesh) {
  return elements(p.distinct, p.shape, mesh) * static_cast<std::int64_t>(runtime::size_of(p.dtype));
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

}  // namespace

Body compile_body(const BodyCall& call, const LoweringContext& around) {
  Lowering lowering(*call.region, around, call.distinct);
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

StridedView Lowering::arranged(DType dtype, AxisSet outer, std::optional<std::int64_t> length, AxisSet inner,
                               Shape row) {
  Shape shape = std::move(row);
  if (length) shape.insert(shape.begin(), *length);
  if (around_.alone()) return fresh(dtype, outer | inner, std::move(shape));  // of one device nothing is interleaved
  Anchors axes = anchored(outer, 0), within = anchored(inner, length ? 1 : 0);
  axes.insert(axes.end(), within.begin(), within.end());
  return fresh(dtype, axes, std::move(shape));
}

void Lowering::blockwise(std::shared_ptr<const Control> c, AxisSet blocks, const std::vector<StridedView>& in,
                         const std::vector<StridedView>& out, std::vector<std::pair<int, int>> in_place, Most inside) {
  if (blocks.empty()) return control(std::move(c), in, out, std::move(in_place), std::move(inside));
  auto b = std::make_shared<Blockwise>();
  b->inner = std::move(c);
  b->axes = blocks.list();
  for (AxisId a : b->axes) {
    b->sizes.push_back(mesh_->size_of(a));
    auto& from = b->in_step.emplace_back();
    auto& to = b->out_step.emplace_back();
    for (const StridedView& p : in)
      from.push_back(p.device_stride(a) * static_cast<std::int64_t>(runtime::size_of(p.dtype)));
    for (const StridedView& p : out)
      to.push_back(p.device_stride(a) * static_cast<std::int64_t>(runtime::size_of(p.dtype)));
  }
  control(std::move(b), in, out, std::move(in_place), std::move(inside));
}

namespace {

struct Carried {  // what loops share: the carry among the parameters and results of a body
  std::vector<std::pair<int, int>> in_place;
  std::vector<std::int64_t> bytes, buffers;
  std::vector<char> same;
  std::int64_t scratch = 0;
};

// `first`: the first carry among the operands of the step. A carry may start in its operand's memory where nothing else
// reads it.
Carried carry_of(const std::vector<StridedView>& in, std::size_t first, std::size_t carry, const Body& body,
                 AxisSet blocks, const Mesh* mesh) {
  Carried c;
  c.scratch = in_cache_lines(body.plan.arena);
  for (std::size_t i = 0; i < carry; ++i) {
    StridedView one = behind(in[first + i], 0, blocks);
    c.bytes.push_back(bytes_of(one, mesh));
    c.same.push_back(std::get<ResultRef::Own>(body.results[i].from).donor.has_value());
    c.buffers.push_back(c.scratch);
    if (!c.same.back()) c.scratch += in_cache_lines(c.bytes.back());
    if (alone(in, first + i) && blocks.empty())
      c.in_place.emplace_back(static_cast<int>(i), static_cast<int>(first + i));
  }
  return c;
}

// A body's, and the second buffers of what goes round in it. `n`: the loop.
Most extra(const Node& n, Most of_body, const Carried& c, const std::vector<StridedView>& in, std::size_t first) {
  for (std::size_t i = 0; i < c.bytes.size(); ++i)
    if (!c.same[i]) {
      const StridedView& p = in[first + i];
      of_body.pieces.push_back(
          {&n, {}, runtime::numel(p.shape) * static_cast<std::int64_t>(runtime::size_of(p.dtype))});
      of_body.bytes += of_body.pieces.back().bytes;
    }
  return of_body;
}

}  // namespace

void Lowering::emit_scan(const Node& n) {
  const ir::ScanWiring says = ir::scan_wiring(n.attrs);
  auto s = std::make_shared<ScanLoop>();
  s->consts = says.consts;
  s->carry = says.carry;
  s->rows = n.inputs.size() - s->consts - s->carry;
  s->stacked = n.outputs.size() - s->carry;
  s->length = says.length;
  s->reverse = says.reverse;

  BodyCall call{n.regions[0], inside(n).regions[0]};
  std::vector<StridedView> in, out;
  const auto row_bytes = [](const StridedView& p) {
    return p.strides[0] * static_cast<std::int64_t>(runtime::size_of(p.dtype));
  };
  for (const ir::RegionEdge& e : ir::region_edges(n).edges) {
    if (e.operand) {
      StridedView p = place(n.inputs[*e.operand]);
      if (e.carried()) p = dense(p, axes(n.outputs[*e.output]));
      if (e.rows) s->row_step.push_back(row_bytes(p));
      in.push_back(p);
      StridedView seen = behind(e.rows ? row_of(p) : p, *e.operand, {});
      if (e.carried()) seen.splat.reset();
      call.whole.push_back(e.carried() ? bytes_of(seen, mesh_) : 0);
      call.params.push_back(std::move(seen));
    }
    if (!e.output) continue;
    const ir::Type& t = type(n.outputs[*e.output]);
    const AxisSet differs = axes(n.outputs[*e.output]);
    call.results.push_back(differs);
    call.wanted.push_back(e.carried() ? e.operand : std::nullopt);
    if (e.rows) {
      out.push_back(arranged(t.dtype, {}, t.shape[0], differs, Shape(t.shape.begin() + 1, t.shape.end())));
      s->stacked_step.push_back(row_bytes(out.back()));
    } else {
      out.push_back(fresh(t.dtype, differs, t.shape));
    }
  }
  Body body = compile_body(call, around_);
  Carried c = carry_of(in, s->consts, s->carry, body, {}, mesh_);
  Most more = extra(n, std::move(body.most), c, in, s->consts);
  s->carry_bytes = c.bytes;
  s->in_place = c.same;
  s->buffers = c.buffers;
  s->scratch = c.scratch;
  s->body = std::move(body.plan);
  span_ = n.span;
  control(s, in, out, c.in_place, std::move(more));
  for (std::size_t i = 0; i < out.size(); ++i) put(n.outputs[i], out[i]);
}

void Lowering::emit_while(const Node& n) {
  const AxisSet blocks = inside(n).blocks;
  refuse_communication(n, blocks, mesh_);
  const ir::RegionEdges wiring = ir::region_edges(n);
  const ir::WhileWiring says = ir::while_wiring(n.attrs);
  auto w = std::make_shared<WhileLoop>();
  w->condition_consts = says.cond_consts;
  w->body_consts = says.body_consts;
  std::size_t first = w->condition_consts + w->body_consts;
  w->carry = n.inputs.size() - first;
  LoweringContext around = around_;
  around.frozen |= blocks;

  BodyCall calls[] = {{n.regions[0], inside(n).regions[0]}, {n.regions[1], inside(n).regions[1]}};
  std::vector<StridedView> in, out;
  for (const ir::RegionEdge& e : wiring.edges) {
    const ir::Var v = n.inputs[*e.operand];
    StridedView start = place(v);
    if (e.carried()) {
      const ir::Type& t = type(v);
      const AxisSet differs = axes(n.outputs[*e.output]);
      start = dense(start, differs);
      if (!blocks.empty()) {  // each block's part in one piece
        StridedView ordered = arranged(t.dtype, blocks, std::nullopt, differs - blocks, t.shape);
        copy_into(start, ordered);
        start = ordered;
      }
      out.push_back(blocks.empty() ? fresh(t.dtype, differs, t.shape)
                                   : arranged(t.dtype, blocks, std::nullopt, differs - blocks, t.shape));
      BodyCall& body = calls[e.results[0].region];
      body.results.push_back(differs - blocks);
      body.wanted.emplace_back(e.params.back().index);
    }
    in.push_back(start);
    for (const ir::RegionPort& p : e.params) {
      const bool overwritten = e.carried() && p.region == e.results[0].region;
      StridedView seen = behind(start, p.index, blocks);
      if (overwritten) seen.splat.reset();
      calls[p.region].whole.push_back(overwritten ? bytes_of(seen, mesh_) : 0);
      calls[p.region].params.push_back(std::move(seen));
    }
  }
  calls[wiring.verdict->region].results.push_back({});
  calls[wiring.verdict->region].wanted.push_back(std::nullopt);
  Body condition = compile_body(calls[0], around), body = compile_body(calls[1], around);
  Carried c = carry_of(in, first, w->carry, body, blocks, mesh_);
  Most more = extra(n, std::move(body.most), c, in, first);
  more.bytes += condition.most.bytes;
  more.pieces.insert(more.pieces.end(), condition.most.pieces.begin(), condition.most.pieces.end());
  w->carry_bytes = c.bytes;
  w->in_place = c.same;
  w->buffers = c.buffers;
  w->verdict = c.scratch;
  w->condition_at = c.scratch + 64;
  w->scratch = w->condition_at + in_cache_lines(condition.plan.arena);
  w->condition = std::move(condition.plan);
  w->body = std::move(body.plan);
  span_ = n.span;
  blockwise(w, blocks, in, out, c.in_place, std::move(more));
  for (std::size_t i = 0; i < out.size(); ++i) put(n.outputs[i], out[i]);
}

void Lowering::emit_branch(const Node& n) {
  const AxisSet blocks = inside(n).blocks;
  refuse_communication(n, blocks, mesh_);
  LoweringContext around = around_;
  around.frozen |= blocks;
  std::vector<StridedView> in, out;
  for (ir::Var v : n.inputs) in.push_back(place(v));
  for (ir::Var v : n.outputs) {
    const ir::Type& t = type(v);
    out.push_back(blocks.empty() ? fresh(t.dtype, axes(v), t.shape)
                                 : arranged(t.dtype, blocks, std::nullopt, axes(v) - blocks, t.shape));
  }
  auto choice = std::make_shared<BranchChoice>();
  Most more;
  for (std::size_t r = 0; r < 2; ++r) {
    BodyCall call{n.regions[r], inside(n).regions[r]};
    for (const ir::RegionEdge& e : ir::region_edges(n).edges) {
      if (!e.operand) continue;
      call.params.push_back(behind(in[*e.operand], call.params.size(), blocks));
      call.whole.push_back(0);
    }
    for (ir::Var v : n.outputs) {
      call.results.push_back(axes(v) - blocks);
      call.wanted.push_back(std::nullopt);
    }
    Body body = compile_body(call, around);
    const std::int64_t host = std::max(more.host, body.most.host);
    if (body.most.bytes > more.bytes) more = std::move(body.most);
    more.host = host;
    (r == 0 ? choice->then : choice->otherwise) = std::move(body.plan);
  }
  span_ = n.span;
  blockwise(choice, blocks, in, out, {}, std::move(more));
  for (std::size_t i = 0; i < out.size(); ++i) put(n.outputs[i], out[i]);
}

void Lowering::emit_effect(const Node& n) {
  auto e = std::make_shared<EffectCall>();
  e->attrs = n.attrs;
  e->frozen = around_.frozen;
  e->mesh_axes = mesh_ ? mesh_->axes.size() : 0;
  e->first = around_.part ? around_.part->first : std::vector<std::int64_t>(e->mesh_axes, 0);
  e->span = n.span;
  if (const ir::AttrValue* v = n.attrs.find("layouts"))
    if (auto* texts = std::get_if<std::vector<std::string>>(v)) e->layouts = *texts;
  e->layouts.resize(n.inputs.size(), "P()");
  std::vector<StridedView> in;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    const ir::Type& t = type(n.inputs[i]);
    runtime::DeviceArray a;
    a.type = runtime::Type::of(t.dtype, t.shape, t.weak);
    a.type.varying = t.varying;
    a.layout = runtime::Sharding::replicated(t.shape.size());
    if (mesh_) a.type.mesh = around_.mesh_ref;
    a.distinct = axes(n.inputs[i]);
    in.push_back(dense(place(n.inputs[i]), a.distinct));
    e->bytes.push_back(bytes_of(in.back(), mesh_));
    e->operands.push_back(std::move(a));
  }
  span_ = n.span;
  control(e, in, {});
}

}  // namespace shard::exec
