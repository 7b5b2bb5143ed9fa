// Units that are done depth first: a graph of one block, whose values have the types of a block, becomes a plan of its
// own, which runs once a block. What comes from outside is seen by strides; what outside needs is written where it
// lies.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "interpreter/exec/depth_first.h"
#include "interpreter/exec/lowering.h"
#include "interpreter/exec/plan.h"
#include "runtime/kernels/spread.h"

namespace shard::exec {
namespace {

using ir::Node;

// As a block lies behind a pointer to its first element.
StridedView block_of(const StridedView& p, ir::Var v, const Segment& s, std::size_t slot) {
  StridedView q = seen_along(p, p.distinct - s.axes);
  q.storage = static_cast<int>(slot);
  q.offset = 0;
  q.frozen.clear();
  for (const Segment::Cut& c : s.cuts)
    if (const int d = c.dim[at(v)]; d != Segment::kWhole) q.shape[static_cast<std::size_t>(d)] = c.each;
  return q;
}

// What comes from outside, and what outside needs, each once.
std::pair<ir::Vars, ir::Vars> edges(const Lowering& l, const Unit& unit) {
  ir::Vars in, out;
  std::set<std::int32_t> seen;
  for (int i : unit.nodes)
    for (ir::Var v : l.node(i).outputs) {
      seen.insert(v.id);
      if (l.needed(v)) out.push_back(v);
    }
  for (int i : unit.nodes)
    for (ir::Var v : l.node(i).inputs)
      if (seen.insert(v.id).second) in.push_back(v);
  return {in, out};
}

// The nodes of the unit alone, for one block.
struct Block {
  ir::Graph graph;
  transform::Distinct distinct;
  ir::Vars from;                           // by value of the graph: the value that it is a block of
  std::map<std::int32_t, ir::Var> values;  // and back

  ir::Var value(const Lowering& l, const Segment& s, ir::Var v) {
    const auto [it, fresh] = values.try_emplace(v.id, ir::Var{static_cast<std::int32_t>(from.size())});
    if (fresh) {
      from.push_back(v);
      distinct.of.push_back(l.axes(v) - s.axes);
      ir::Type& type = graph.types.emplace_back(l.type(v));
      for (const Segment::Cut& c : s.cuts)
        if (const int d = c.dim[at(v)]; d != Segment::kWhole) type.shape[static_cast<std::size_t>(d)] = c.each;
    }
    return it->second;
  }
};

// `params`: what comes from outside, then what outside needs.
Block block_of(const Lowering& l, const Unit& unit, const ir::Vars& params) {
  const Segment& s = *unit.segment;
  Block b;
  b.graph.local = true;
  b.graph.mesh = l.around().mesh_ref;
  for (ir::Var v : params) b.graph.params.push_back(b.value(l, s, v));
  for (int i : unit.nodes) {
    Node& n = b.graph.nodes.emplace_back(l.node(i));
    n.rule = nullptr;  // of other sizes
    for (ir::Vars* all : {&n.inputs, &n.outputs})
      for (ir::Var& v : *all) v = b.value(l, s, v);
  }
  return b;
}

// The units of that graph.
std::vector<Unit> block_units(const Lowering& l, const Unit& unit) {
  const Segment& s = *unit.segment;
  std::vector<Unit> out = s.parts;
  for (Unit& u : out) {
    const ir::Var made = l.node(u.nodes.front()).outputs[0];
    if (u.elementwise) {
      u.points.distinct = u.points.distinct - s.axes;
      for (const Segment::Cut& c : s.cuts) u.points.shape[static_cast<std::size_t>(c.dim[at(made)])] = c.each;
    }
    for (int& i : u.nodes)
      i = static_cast<int>(std::lower_bound(unit.nodes.begin(), unit.nodes.end(), i) - unit.nodes.begin());
  }
  return out;
}

// Whether nobody reads the operand any more once the result is written, both storages of the draft of one block.
bool dies_into(const Draft& d, int operand, int result) {
  bool written = false;
  for (const DraftStep& s : d.steps) {
    const auto lies_in = [](int storage) { return [storage](const Ref& r) { return r.storage == storage; }; };
    const bool reads = std::any_of(s.ins.begin(), s.ins.end(), lies_in(operand));
    const bool writes = std::any_of(s.outs.begin(), s.outs.end(), lies_in(result));
    if (reads && (written || (writes && !s.writes_over(operand, result)))) return false;
    written |= writes;
  }
  return written;
}

}  // namespace

void lower_depth_first(Lowering& l, const Unit& unit) {
  const Segment& s = *unit.segment;
  const auto [ins, outs] = edges(l, unit);
  std::vector<StridedView> in, out;
  for (ir::Var v : ins) in.push_back(l.place(v));
  for (int i : unit.nodes)
    for (ir::Var v : l.node(i).outputs)
      if (l.needed(v)) out.push_back(l.made(l.node(i), v, l.axes(v)));

  ir::Vars params = ins;
  params.insert(params.end(), outs.begin(), outs.end());
  const Block one = block_of(l, unit, params);
  LoweringContext around = l.around();
  around.frozen |= s.axes;
  Copies copies;
  if (around.copies) around.copies = &copies;
  Lowering block(one.graph, around, one.distinct);
  for (int i : unit.nodes) block.stands_for(l.node(i));
  for (std::size_t i = 0; i < ins.size(); ++i) block.bind(i, block_of(in[i], ins[i], s, i), 0);
  for (std::size_t i = 0; i < outs.size(); ++i)
    block.write_to(one.graph.params[ins.size() + i], block_of(out[i], outs[i], s, ins.size() + i));
  block.run(block_units(l, unit));

  auto c = std::make_shared<DepthFirst>();
  const auto loop = [&](std::int64_t count, auto step) {
    c->counts.push_back(count);
    auto& steps = c->steps.emplace_back();
    for (std::size_t i = 0; i < params.size(); ++i) {
      const StridedView& p = i < in.size() ? in[i] : out[i - in.size()];
      steps.push_back(step(p, params[i]) * item_bytes(p.dtype));
    }
    c->blocks *= count;
  };
  for (AxisId a : s.axes.list())
    loop(l.mesh()->size_of(a), [a](const StridedView& p, ir::Var) { return p.device_stride(a); });
  for (const Segment::Cut& cut : s.cuts)
    loop(cut.count, [&](const StridedView& p, ir::Var v) {
      const int d = cut.dim[at(v)];
      return d == Segment::kWhole ? 0 : p.strides[static_cast<std::size_t>(d)] * cut.each;
    });
  for (const auto& [node, bytes] : copies) (*l.around().copies)[node] = bytes * c->blocks;
  // Block by block a result may take over an operand's memory: blocks of both lie at the same places.
  Lowering::InPlace in_place;
  const auto cut_alike = [&](ir::Var a, ir::Var b) {
    return std::all_of(s.cuts.begin(), s.cuts.end(), [&](const Segment::Cut& cut) {
      return cut.dim[at(a)] == cut.dim[at(b)] && cut.dim[at(a)] != Segment::kWhole;
    });
  };
  for (std::size_t r = 0; r < outs.size(); ++r)
    for (std::size_t i = 0; i < ins.size(); ++i)
      if (in[i].dtype == out[r].dtype && in[i].shape == out[r].shape && lies_as(in[i], out[r]) && alone(in, i) &&
          cut_alike(ins[i], outs[r]) && dies_into(block.draft(), static_cast<int>(i), static_cast<int>(ins.size() + r)))
        in_place.emplace_back(static_cast<int>(r), static_cast<int>(i));
  std::vector<ResultRef> results;
  Finished done = finish(std::move(block.draft()), nullptr, results);
  c->body = std::move(done.plan);
  c->ins = ins.size();
  c->node = &l.node(unit.nodes.back());
  c->lanes = std::min<std::int64_t>(c->blocks, runtime::threads());
  for (Piece& p : done.most.pieces)
    if (p.value.valid()) p.value = one.from[at(p.value)];
  l.control(std::move(c), in, out, std::move(in_place), std::move(done.most));
  l.put(outs, out);
}

}  // namespace shard::exec
