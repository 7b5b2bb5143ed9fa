// Checks of one row on one sample in explicit and in manual mode, as op_check.h does for automatic axes: on 2 x 2
// devices, forward and backward, against the same on one device.
#pragma once
#include "tests/stdlib/op_check.h"

namespace shard::testing {

// A graph on arguments of these layouts. Explicit axes: what comes out is laid out as its type says.
inline Arrays run_typed(const ir::OpTable& table, const Graph& g, const Arrays& args, const MeshRef& m,
                        const std::vector<Sharding>& layouts, std::string& why) {
  runtime::Pool pool;
  std::vector<ArrayRef> arrays;
  std::vector<exec::ArrayInfo> infos;
  for (std::size_t i = 0; i < args.size(); ++i) {
    arrays.push_back(laid_out(pool, args[i], m, layouts[i]));
    infos.push_back(exec::array_info(*arrays.back()));
  }
  Arrays out;
  for (const ArrayRef& r : exec::compile(*exec::make_lockstep(table, pool), table, g, infos, m)->run(arrays, {}, {})) {
    const Type& t = g.type(g.results[out.size()]);
    for (std::size_t d = 0; d < t.shape.size(); ++d)
      if (r->type.mesh && r->layout.dims[d].axes != t.sharding.dims[d].axes && why.empty())
        why = "result " + std::to_string(out.size()) + " is laid out otherwise than its type " + runtime::to_string(t) +
              " says";
    out.push_back(read(pool, r));
  }
  return out;
}

struct Tally {
  int tried = 0, refused = 0;
};

inline std::string wrong_explicit(const Use& u, std::size_t most, bool backward, Tally& tally) {
  MeshRef m = mesh({{"X", 2}, {"Y", 2}}, runtime::AxisKind::Explicit);
  const Graph alone = graph_of(u);
  Sides s = sides_of(alone);
  if (backward && !s.any) return "";
  Arrays args = u.args;
  Arrays want = run_alone(*u.table, alone, args);
  if (backward) {
    Graph back;
    try {
      back = transform::vjp(*u.table, alone, s.wrt, s.with_ct, false);
    } catch (const grammar::Error&) { return ""; }
    for (std::size_t r = 0; r < alone.results.size(); ++r)
      if (s.with_ct[r]) args.push_back(numbers(alone.type(alone.results[r]), 40));
    want = run_alone(*u.table, back, args);
  }
  for (auto layouts : combinations(*m, u.types, most, 3)) {
    std::string at;
    for (const Sharding& l : layouts) at += runtime::to_string(*m, l) + " ";
    Use typed = u;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      typed.types[i].mesh = m;
      typed.types[i].sharding = layouts[i];
    }
    Graph f;
    try {
      f = graph_of(typed);
    } catch (const grammar::Error& e) {
      ++tally.refused;
      if (std::string(e.what()).size() < 10) return at + ": refused without saying why";
      continue;
    }
    ++tally.tried;
    std::string why;
    try {
      if (backward) {
        for (std::size_t r = 0; r < f.results.size(); ++r)
          if (s.with_ct[r]) layouts.push_back(f.type(f.results[r]).sharding);
        f = transform::vjp(*u.table, f, s.wrt, s.with_ct, false);
        for (std::size_t w = 0; w < s.wrt.size(); ++w)
          if (!(f.type(f.results[w]).sharding.dims == typed.types[static_cast<std::size_t>(s.wrt[w])].sharding.dims))
            why = "the gradient is " + runtime::to_string(f.type(f.results[w])) + ", the operand " +
                  runtime::to_string(typed.types[static_cast<std::size_t>(s.wrt[w])]);
      }
      Arrays got = run_typed(*u.table, f, args, m, layouts, why);
      if (why.empty()) why = differs(got, want);
    } catch (const std::exception& e) { why = e.what(); }
    if (!why.empty()) return at + ": " + why;
  }
  return "";
}

// Per-device code: every one of four devices uses the row on numbers of its own.
inline std::string wrong_manual(const ir::OpTable& table, const ir::OpDef& op, const ir::Sample& sample, bool backward,
                                int& tried) {
  if (sample.operands.empty()) return "";
  MeshRef m = mesh({{"X", 2}, {"Y", 2}});
  const Use single = use_of(table, op, sample, backward), all = use_of(table, op, sample, backward, 4);
  const Graph alone = graph_of(single);
  Sides s = sides_of(alone);
  if (backward && !s.any) return "";

  Builder body(table);
  body.set_local(m);
  Vars in;
  for (const Type& t : single.types) {
    runtime::Shape shape = t.shape;
    shape.insert(shape.begin(), 1);
    Type local = Type::of(t.dtype, shape);
    local.mesh = m;
    for (AxisId a : {0, 1}) local.varying.add(a);
    in.push_back(ir::reshape(body, body.param(local), t.shape));
  }
  Vars out = body.emit(op, std::span<const Var>(in), sample.attrs);
  for (Var& v : out) {
    runtime::Shape shape = body.type(v).shape;
    shape.insert(shape.begin(), 1);
    v = ir::reshape(body, v, shape);
  }
  const auto region = std::make_shared<const Graph>(body.finish(out));
  const auto split_first = [](std::size_t rank) {
    Sharding layout = Sharding::replicated(rank);
    layout.dims[0].axes = {0, 1};
    return layout;
  };
  Builder b(table);
  Vars params;
  ir::Attrs attrs{{"axes", ir::Ints{0, 1}}};
  for (const Type& t : all.types) {
    attrs.set("in" + std::to_string(params.size()), ir::Layout{m, split_first(t.shape.size())});
    params.push_back(b.param(t));
  }
  for (std::size_t r = 0; r < region->results.size(); ++r)
    attrs.set("out" + std::to_string(r), ir::Layout{m, split_first(region->type(region->results[r]).shape.size())});
  Graph g = b.finish(b.emit(table.at("per_device"), params, attrs, {region}));
  Graph one = alone;
  Arrays args = all.args;
  if (backward) {
    try {
      one = transform::vjp(table, alone, s.wrt, s.with_ct, false);
    } catch (const grammar::Error&) { return ""; }
    for (std::size_t r = 0; r < g.results.size(); ++r)
      if (s.with_ct[r]) args.push_back(numbers(g.type(g.results[r]), 40));
    g = transform::vjp(table, g, s.wrt, s.with_ct, false);
  }
  ++tried;
  std::vector<Sharding> layouts;
  for (const Array& a : args)
    layouts.push_back(tried % 2 ? split_first(a.shape.size()) : Sharding::replicated(a.shape.size()));
  Arrays together = run_on(table, g, args, m, layouts);
  for (std::int64_t device = 0; device < 4; ++device) {
    Arrays mine, part;
    for (const Array& a : args) mine.push_back(row_of(a, device, runtime::Shape(a.shape.begin() + 1, a.shape.end())));
    Arrays want = run_alone(table, one, mine);
    for (std::size_t r = 0; r < want.size(); ++r) part.push_back(row_of(together[r], device, want[r].shape));
    if (std::string why = differs(part, want); !why.empty()) return "device " + std::to_string(device) + ": " + why;
  }
  return "";
}

}  // namespace shard::testing
