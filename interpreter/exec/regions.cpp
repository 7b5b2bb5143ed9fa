// Lowering of nodes with regions: each region becomes a plan of its own, for parameters as they lie in the surrounding
// plan. A region whose condition differs between devices runs once for each block along those axes; there it may not
// communicate.
#include <algorithm>
#include <stdexcept>

#include "grammar/diagnostic.h"
#include "interpreter/exec/control.h"
#include "interpreter/exec/lowering.h"
#include "interpreter/transform/distinct.h"

namespace shard::exec {

using ir::Node;

namespace {

std::int64_t in_cache_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// As the value lies behind a pointer to its first element, for one block along `blocks`.
Place behind(const Place& p, std::size_t slot, AxisSet blocks) {
  Place q = p;
  q.storage = static_cast<int>(slot);
  q.offset = 0;
  q.frozen.clear();
  q.distinct = p.distinct - blocks;
  q.device.clear();
  for (AxisId a : q.distinct.list()) q.device.push_back(p.device_stride(a));
  return q;
}

// One row of it.
Place row_of(Place p) {
  p.shape.erase(p.shape.begin());
  p.strides.erase(p.strides.begin());
  return p;
}

std::int64_t bytes_of(const Place& p, const Mesh* mesh) {
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
    if (const Node* found = transform::collective_over(*region, blocks, *mesh))
      throw grammar::Error("collective", n.span,
                           "the condition differs between the devices along " + names(blocks, *mesh) +
                               ", so what it decides may not communicate there",
                           {"it holds `" + std::string(found->op->name) + "`",
                            "make the condition the same everywhere first, for example with pmax"});
}

std::size_t count(const Node& n, const char* name) { return static_cast<std::size_t>(n.attrs.integer(name)); }

}  // namespace

Body compile_body(const BodyCall& call, const LoweringContext& around) {
  Lowering lowering(*call.region, around, call.distinct);
  for (std::size_t i = 0; i < call.params.size(); ++i) lowering.bind(i, call.params[i], call.whole[i]);
  lowering.run();
  lowering.finish_results(call.results, &call.wanted);
  Body body;
  body.results = lowering.draft().results;
  Finished done = finish(std::move(lowering.draft()), call.wanted, body.results);
  body.plan = std::move(done.plan);
  body.peak_device_bytes = done.peak_device_bytes;
  return body;
}

Place Lowering::arranged(DType dtype, AxisSet outer, std::int64_t length, AxisSet inner, Shape row) {
  Shape shape = std::move(row);
  if (length >= 0) shape.insert(shape.begin(), length);
  Anchors axes = anchored(outer, 0), within = anchored(inner, length >= 0 ? 1 : 0);
  axes.insert(axes.end(), within.begin(), within.end());
  return fresh(dtype, axes, std::move(shape));
}

void Lowering::blockwise(std::shared_ptr<const Control> c, AxisSet blocks, const std::vector<Place>& in,
                         const std::vector<Place>& out, std::vector<std::pair<int, int>> in_place,
                         std::int64_t extra_device_bytes) {
  if (blocks.empty()) return control(std::move(c), in, out, std::move(in_place), extra_device_bytes);
  auto b = std::make_shared<Blockwise>();
  b->inner = std::move(c);
  b->axes = blocks.list();
  for (AxisId a : b->axes) {
    b->sizes.push_back(mesh_->size_of(a));
    auto& from = b->in_step.emplace_back();
    auto& to = b->out_step.emplace_back();
    for (const Place& p : in) from.push_back(p.device_stride(a) * static_cast<std::int64_t>(runtime::size_of(p.dtype)));
    for (const Place& p : out) to.push_back(p.device_stride(a) * static_cast<std::int64_t>(runtime::size_of(p.dtype)));
  }
  control(std::move(b), in, out, std::move(in_place), extra_device_bytes);
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
Carried carry_of(const std::vector<Place>& in, std::size_t first, std::size_t carry, const Body& body, AxisSet blocks,
                 const Mesh* mesh) {
  Carried c;
  c.scratch = in_cache_lines(body.plan.arena);
  for (std::size_t i = 0; i < carry; ++i) {
    Place one = behind(in[first + i], 0, blocks);
    c.bytes.push_back(bytes_of(one, mesh));
    c.same.push_back(body.results[i].donor >= 0);
    c.buffers.push_back(c.scratch);
    if (!c.same.back()) c.scratch += in_cache_lines(c.bytes.back());
    bool alone =
        std::count_if(in.begin(), in.end(), [&](const Place& p) { return p.storage == in[first + i].storage; }) == 1;
    if (alone && blocks.empty()) c.in_place.emplace_back(static_cast<int>(i), static_cast<int>(first + i));
  }
  return c;
}

std::int64_t extra(const Body& body, const Carried& c, const std::vector<Place>& in, std::size_t first) {
  std::int64_t bytes = body.peak_device_bytes;
  for (std::size_t i = 0; i < c.bytes.size(); ++i)
    if (!c.same[i])
      bytes += runtime::numel(in[first + i].shape) * static_cast<std::int64_t>(runtime::size_of(in[first + i].dtype));
  return bytes;
}

}  // namespace

void Lowering::emit_scan(const Node& n) {
  auto s = std::make_shared<ScanLoop>();
  s->consts = count(n, "consts");
  s->carry = count(n, "carry");
  s->rows = n.inputs.size() - s->consts - s->carry;
  s->stacked = n.outputs.size() - s->carry;
  s->length = n.attrs.integer("length");
  s->reverse = n.attrs.has("reverse") && n.attrs.flag("reverse");

  BodyCall call{n.regions[0], inside(n).regions[0]};
  std::vector<Place> in, out;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    bool carried = i >= s->consts && i < s->consts + s->carry, row = i >= s->consts + s->carry;
    Place p = carried ? dense(place(n.inputs[i]), axes(n.outputs[i - s->consts])) : place(n.inputs[i]);
    if (row) s->row_step.push_back(p.strides[0] * static_cast<std::int64_t>(runtime::size_of(p.dtype)));
    in.push_back(p);
    Place seen = behind(row ? row_of(p) : p, i, {});
    if (carried) seen.splat.reset();
    call.whole.push_back(carried ? bytes_of(seen, mesh_) : 0);
    call.params.push_back(std::move(seen));
  }
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    bool carried = i < s->carry;
    const AxisSet differs = axes(n.outputs[i]);
    call.results.push_back(differs);
    call.wanted.push_back(carried ? static_cast<int>(s->consts + i) : -2);
    const ir::Type& t = type(n.outputs[i]);
    if (carried) {
      out.push_back(fresh(t.dtype, differs, t.shape));
    } else {
      out.push_back(arranged(t.dtype, {}, t.shape[0], differs, Shape(t.shape.begin() + 1, t.shape.end())));
      s->stacked_step.push_back(out.back().strides[0] * static_cast<std::int64_t>(runtime::size_of(t.dtype)));
    }
  }
  Body body = compile_body(call, around_);
  Carried c = carry_of(in, s->consts, s->carry, body, {}, mesh_);
  std::int64_t more = extra(body, c, in, s->consts);
  s->carry_bytes = c.bytes;
  s->in_place = c.same;
  s->buffers = c.buffers;
  s->scratch = c.scratch;
  s->body = std::move(body.plan);
  span_ = n.span;
  control(s, in, out, c.in_place, more);
  for (std::size_t i = 0; i < out.size(); ++i) put(n.outputs[i], out[i]);
}

void Lowering::emit_while(const Node& n) {
  const AxisSet blocks = inside(n).blocks;
  refuse_communication(n, blocks, mesh_);
  auto w = std::make_shared<WhileLoop>();
  w->condition_consts = count(n, "cond_consts");
  w->body_consts = count(n, "body_consts");
  std::size_t first = w->condition_consts + w->body_consts;
  w->carry = n.inputs.size() - first;
  LoweringContext around = around_;
  around.frozen |= blocks;

  BodyCall ask{n.regions[0], inside(n).regions[0]}, call{n.regions[1], inside(n).regions[1]};
  std::vector<Place> in, out;
  auto give = [&](BodyCall& to, const Place& p, std::int64_t whole) {
    Place seen = behind(p, to.params.size(), blocks);
    if (whole) seen.splat.reset();
    to.params.push_back(std::move(seen));
    to.whole.push_back(whole);
  };
  for (std::size_t i = 0; i < first; ++i) {
    in.push_back(place(n.inputs[i]));
    give(i < w->condition_consts ? ask : call, in.back(), 0);
  }
  for (std::size_t i = 0; i < w->carry; ++i) {
    const AxisSet differs = axes(n.outputs[i]);
    ir::Var v = n.inputs[first + i];
    const ir::Type& t = type(v);
    Place start = dense(place(v), differs);
    if (!blocks.empty()) {  // each block's part in one piece
      Place ordered = arranged(t.dtype, blocks, -1, differs - blocks, t.shape);
      copy_into(start, ordered);
      start = ordered;
    }
    in.push_back(start);
    std::int64_t whole = bytes_of(behind(start, 0, blocks), mesh_);
    give(ask, start, 0);
    give(call, start, whole);
    call.results.push_back(differs - blocks);
    call.wanted.push_back(static_cast<int>(w->body_consts + i));
    out.push_back(blocks.empty() ? fresh(t.dtype, differs, t.shape)
                                 : arranged(t.dtype, blocks, -1, differs - blocks, t.shape));
  }
  ask.results.push_back({});
  ask.wanted.push_back(-2);
  Body condition = compile_body(ask, around), body = compile_body(call, around);
  Carried c = carry_of(in, first, w->carry, body, blocks, mesh_);
  std::int64_t more = extra(body, c, in, first) + condition.peak_device_bytes;
  w->carry_bytes = c.bytes;
  w->in_place = c.same;
  w->buffers = c.buffers;
  w->verdict = c.scratch;
  w->condition_at = c.scratch + 64;
  w->scratch = w->condition_at + in_cache_lines(condition.plan.arena);
  w->condition = std::move(condition.plan);
  w->body = std::move(body.plan);
  span_ = n.span;
  blockwise(w, blocks, in, out, c.in_place, more);
  for (std::size_t i = 0; i < out.size(); ++i) put(n.outputs[i], out[i]);
}

void Lowering::emit_branch(const Node& n) {
  const AxisSet blocks = inside(n).blocks;
  refuse_communication(n, blocks, mesh_);
  LoweringContext around = around_;
  around.frozen |= blocks;
  std::vector<Place> in, out;
  for (ir::Var v : n.inputs) in.push_back(place(v));
  for (ir::Var v : n.outputs) {
    const ir::Type& t = type(v);
    out.push_back(blocks.empty() ? fresh(t.dtype, axes(v), t.shape)
                                 : arranged(t.dtype, blocks, -1, axes(v) - blocks, t.shape));
  }
  auto choice = std::make_shared<BranchChoice>();
  std::int64_t more = 0;
  for (std::size_t r = 0; r < 2; ++r) {
    BodyCall call{n.regions[r], inside(n).regions[r]};
    for (std::size_t i = 1; i < in.size(); ++i) {
      call.params.push_back(behind(in[i], i - 1, blocks));
      call.whole.push_back(0);
    }
    for (ir::Var v : n.outputs) {
      call.results.push_back(axes(v) - blocks);
      call.wanted.push_back(-2);
    }
    Body body = compile_body(call, around);
    more = std::max(more, body.peak_device_bytes);
    (r == 0 ? choice->then : choice->otherwise) = std::move(body.plan);
  }
  span_ = n.span;
  blockwise(choice, blocks, in, out, {}, more);
  for (std::size_t i = 0; i < out.size(); ++i) put(n.outputs[i], out[i]);
}

void Lowering::emit_effect(const Node& n) {
  auto e = std::make_shared<EffectCall>();
  e->attrs = n.attrs;
  e->frozen = around_.frozen;
  e->mesh_axes = mesh_ ? mesh_->axes.size() : 0;
  e->span = n.span;
  if (const ir::AttrValue* v = n.attrs.find("layouts"))
    if (auto* texts = std::get_if<std::vector<std::string>>(v)) e->layouts = *texts;
  e->layouts.resize(n.inputs.size(), "P()");
  std::vector<Place> in;
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
