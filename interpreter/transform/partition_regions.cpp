// Partitioning of operations with structure: constraints, effects, loops, branches, calls, per-device code. A region is
// partitioned once, with fixed layouts of what it carries; what does not change in a loop is brought into its layout
// outside.
#include <algorithm>

#include "interpreter/transform/flow.h"
#include "interpreter/transform/partitioner.h"

namespace shard::transform {

using ir::Graph;
using ir::Node;
using ir::Structure;
using ir::Type;
using ir::Var;
using ir::Vars;

namespace {

std::size_t at(Var v) { return static_cast<std::size_t>(v.id); }
std::size_t count(const Node& n, const char* name) { return static_cast<std::size_t>(n.attrs.integer(name)); }
ir::GraphRef share(Graph g) { return std::make_shared<const Graph>(std::move(g)); }

// Parameters were made in the order consts, the others, further consts: these go behind the consts.
void move_extra(Graph& g, std::size_t consts, std::size_t extra) {
  std::rotate(g.params.begin() + static_cast<std::ptrdiff_t>(consts),
              g.params.end() - static_cast<std::ptrdiff_t>(extra), g.params.end());
}

AxisSet all_varying(const ir::Builder& b, const Vars& vars) {
  AxisSet out;
  for (Var v : vars) out |= b.type(v).varying;
  return out;
}

}  // namespace

void Partitioner::structure(const Node& n, std::size_t index, Structure kind) {
  switch (kind) {
    case Structure::Constant: return whole_operation(n);
    case Structure::Shard: return constrain(n);
    case Structure::Scan: return scan(n, index);
    case Structure::While: return while_loop(n, index);
    case Structure::Branch: return branch(n, index);
    case Structure::Call: return call(n, index);
    case Structure::Manual: return per_device(n, index);
    case Structure::Effect: return effect(n);
    case Structure::Collective: return operation(n);
  }
}

// A pending sum that nobody else uses goes straight into the layout that is asked for.
void Partitioner::constrain(const Node& n) {
  Var x = n.inputs[0];
  if (!n.attrs.has("layout")) {  // laid out as another value, which was settled by propagation
    values_[at(n.outputs[0])] = values_[at(x)];
    if (uses_[at(x)] == 1) return;
    finish(x);
    values_[at(n.outputs[0])] = values_[at(x)];
    return;
  }
  if (uses_[at(x)] > 1) finish(x);
  const Sharding& to = wanted(n.outputs[0]);
  set(n.outputs[0], need(x, to), to, n.span);
}

// Effects see whole values, and the layouts that these had (attribute `layouts`); those that ask for layouts only
// (`layout_only`) move nothing.
void Partitioner::effect(const Node& n) {
  ir::Attrs attrs = n.attrs;
  bool layouts_only = attrs.has("layout_only") && attrs.flag("layout_only");
  std::vector<std::string> layouts;
  Vars inputs;
  for (Var v : n.inputs) {
    finish(v);
    Sharding now = values_[at(v)].layout;
    layouts.push_back(runtime::to_string(*low_.mesh, now));
    inputs.push_back(need(v, layouts_only ? now : Sharding::replicated(now.dims.size())));
  }
  attrs.set("layouts", std::move(layouts));
  std::vector<Sharding> out;
  for (Var v : n.outputs) out.push_back(Sharding::replicated(g_.type(v).shape.size()));
  Vars outputs = b_.append(*n.op, inputs, std::move(attrs), n.regions, result_types(n, inputs, out));
  for (std::size_t r = 0; r < outputs.size(); ++r) set(n.outputs[r], outputs[r], out[r], n.span);
}

Vars Partitioner::extra_inputs(const Partitioner& body, std::size_t first_input, const Node& n) {
  Vars out;
  for (const ExtraConst& e : body.extra())
    out.push_back(need(n.inputs[first_input + static_cast<std::size_t>(e.outer)], e.layout));
  return out;
}

void Partitioner::scan(const Node& n, std::size_t index) {
  const Graph& body = *n.regions[0];
  const Layouts& inside = wanted_.regions[index][0];
  std::size_t consts = count(n, "consts"), carry = count(n, "carry");
  for (Var v : n.inputs) finish(v);

  ir::Builder builder(low_.table);
  builder.set_local(low_.mesh);
  Partitioner inner(low_, builder, body, inside, blocked_, this);
  Vars inputs;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    Var p = body.params[i];
    Sharding layout = inside.of[at(p)];
    inner.set(p, inner.add_param(body.type(p), layout), layout, {});
    if (i < consts) inner.set_steady(p, static_cast<int>(i));
    inputs.push_back(need(n.inputs[i], i < consts + carry ? layout : with_whole_front(layout)));
  }
  inner.run();
  Vars results;
  std::vector<Sharding> layouts;
  for (std::size_t i = 0; i < body.results.size(); ++i) {
    Sharding layout = i < carry ? inside.of[at(body.params[consts + i])] : inside.of[at(body.results[i])];
    results.push_back(inner.need(body.results[i], layout));
    layouts.push_back(i < carry ? layout : with_whole_front(layout));
  }
  AxisSet varying = all_varying(builder, results) | all_varying(b_, inputs);
  Vars extra = extra_inputs(inner, 0, n);
  Graph local = builder.finish(std::move(results));
  move_extra(local, consts, extra.size());
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(consts), extra.begin(), extra.end());
  ir::Attrs attrs = n.attrs;
  attrs.set("consts", static_cast<std::int64_t>(consts + extra.size()));
  std::vector<Type> types;
  for (std::size_t i = 0; i < n.outputs.size(); ++i)
    types.push_back(local_type(g_.type(n.outputs[i]), layouts[i], varying));
  Vars outputs = b_.append(*n.op, std::move(inputs), std::move(attrs), {share(std::move(local))}, std::move(types));
  for (std::size_t i = 0; i < outputs.size(); ++i) set(n.outputs[i], outputs[i], layouts[i], n.span);
}

void Partitioner::while_loop(const Node& n, std::size_t index) {
  const Graph &test = *n.regions[0], &body = *n.regions[1];
  const Layouts &in_test = wanted_.regions[index][0], &in_body = wanted_.regions[index][1];
  std::size_t test_consts = count(n, "cond_consts"), body_consts = count(n, "body_consts"), carry = n.outputs.size();
  for (Var v : n.inputs) finish(v);

  ir::Builder test_builder(low_.table), body_builder(low_.table);
  test_builder.set_local(low_.mesh);
  body_builder.set_local(low_.mesh);
  Partitioner tester(low_, test_builder, test, in_test, blocked_, this),
      inner(low_, body_builder, body, in_body, blocked_, this);
  Vars inputs;
  auto give = [&](Partitioner& p, const Graph& region, std::size_t param, Var outer, const Sharding& layout,
                  int steady) {
    Var v = region.params[param];
    p.set(v, p.add_param(region.type(v), layout), layout, {});
    if (steady >= 0) p.set_steady(v, steady);
    if (outer.valid()) inputs.push_back(need(outer, layout));
  };
  for (std::size_t i = 0; i < test_consts; ++i)
    give(tester, test, i, n.inputs[i], in_test.of[at(test.params[i])], static_cast<int>(i));
  for (std::size_t i = 0; i < body_consts; ++i)
    give(inner, body, i, n.inputs[test_consts + i], in_body.of[at(body.params[i])], static_cast<int>(i));
  std::vector<Sharding> layouts;
  for (std::size_t i = 0; i < carry; ++i) {
    Sharding layout = in_body.of[at(body.params[body_consts + i])];
    give(inner, body, body_consts + i, n.inputs[test_consts + body_consts + i], layout, -1);
    give(tester, test, test_consts + i, Var{}, layout, -1);
    layouts.push_back(layout);
  }
  tester.run();
  inner.run();
  Vars verdict{tester.need(test.results[0], Sharding::replicated(0))}, results;
  for (std::size_t i = 0; i < carry; ++i) results.push_back(inner.need(body.results[i], layouts[i]));
  AxisSet varying = all_varying(body_builder, results) | all_varying(b_, inputs);
  Vars extra_test = extra_inputs(tester, 0, n), extra_body = extra_inputs(inner, test_consts, n);
  Graph local_test = test_builder.finish(std::move(verdict)), local_body = body_builder.finish(std::move(results));
  move_extra(local_test, test_consts, extra_test.size());
  move_extra(local_body, body_consts, extra_body.size());
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(test_consts + body_consts), extra_body.begin(),
                extra_body.end());
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(test_consts), extra_test.begin(), extra_test.end());
  ir::Attrs attrs = n.attrs;
  attrs.set("cond_consts", static_cast<std::int64_t>(test_consts + extra_test.size()));
  attrs.set("body_consts", static_cast<std::int64_t>(body_consts + extra_body.size()));
  std::vector<Type> types;
  for (std::size_t i = 0; i < carry; ++i) types.push_back(local_type(g_.type(n.outputs[i]), layouts[i], varying));
  Vars outputs = b_.append(*n.op, std::move(inputs), std::move(attrs),
                           {share(std::move(local_test)), share(std::move(local_body))}, std::move(types));
  for (std::size_t i = 0; i < carry; ++i) set(n.outputs[i], outputs[i], layouts[i], n.span);
}

// Both regions take their operands in the layouts of the first and give results in those of the node. The regions'
// collectives are run by all devices: in automatic code the condition is the same everywhere.
void Partitioner::branch(const Node& n, std::size_t index) {
  for (Var v : n.inputs) finish(v);
  Vars inputs{need(n.inputs[0], Sharding::replicated(g_.type(n.inputs[0]).shape.size()))};
  const Graph& first = *n.regions[0];
  for (std::size_t i = 1; i < n.inputs.size(); ++i)
    inputs.push_back(need(n.inputs[i], wanted_.regions[index][0].of[at(first.params[i - 1])]));
  std::vector<ir::GraphRef> regions;
  AxisSet varying = all_varying(b_, inputs);
  for (std::size_t r = 0; r < n.regions.size(); ++r) {
    const Graph& region = *n.regions[r];
    ir::Builder builder(low_.table);
    builder.set_local(low_.mesh);
    Partitioner inner(low_, builder, region, wanted_.regions[index][r], blocked_, nullptr);
    for (std::size_t i = 0; i < region.params.size(); ++i) {
      Sharding layout = wanted_.regions[index][0].of[at(first.params[i])];
      inner.set(region.params[i], inner.add_param(region.type(region.params[i]), layout), layout, {});
    }
    inner.run();
    Vars results;
    for (std::size_t i = 0; i < region.results.size(); ++i)
      results.push_back(inner.need(region.results[i], wanted(n.outputs[i])));
    varying |= all_varying(builder, results);
    regions.push_back(share(builder.finish(std::move(results))));
  }
  std::vector<Type> types;
  for (Var v : n.outputs) types.push_back(local_type(g_.type(v), wanted(v), varying));
  Vars outputs = b_.append(*n.op, std::move(inputs), n.attrs, std::move(regions), std::move(types));
  for (std::size_t i = 0; i < outputs.size(); ++i) set(n.outputs[i], outputs[i], wanted(n.outputs[i]), n.span);
}

// A call's body becomes part of the graph around.
void Partitioner::call(const Node& n, std::size_t index) {
  const Graph& body = *n.regions[0];
  const Layouts& inside = wanted_.regions[index][0];
  Partitioner inner(low_, b_, body, inside, blocked_, nullptr);
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    finish(n.inputs[i]);
    const Sharding& layout = inside.of[at(body.params[i])];
    inner.set(body.params[i], need(n.inputs[i], layout), layout, n.span);
  }
  inner.run();
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    const Sharding& layout = inside.of[at(body.results[i])];
    set(n.outputs[i], inner.need(body.results[i], layout), layout, n.span);
  }
}

// Per-device code too: its values are blocks already, as the specs say; the axes that it has not taken are partitioned
// as outside.
void Partitioner::per_device(const Node& n, std::size_t index) {
  const Graph& body = *n.regions[0];
  const Layouts& inside = wanted_.regions[index][0];
  Partitioner inner(low_, b_, body, inside, blocked_ | axes_attr(n.attrs), nullptr);
  auto joined = [](Sharding spec, const Sharding& more) {  // the spec's axes are the major ones
    for (std::size_t d = 0; d < spec.dims.size() && d < more.dims.size(); ++d)
      spec.dims[d].axes.insert(spec.dims[d].axes.end(), more.dims[d].axes.begin(), more.dims[d].axes.end());
    spec.unreduced |= more.unreduced;
    return spec;
  };
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    finish(n.inputs[i]);
    const Sharding& layout = inside.of[at(body.params[i])];
    Sharding whole = joined(spec_of(n.attrs, "in", i, g_.type(n.inputs[i]).shape.size()), layout);
    inner.set(body.params[i], need(n.inputs[i], whole), layout, n.span);
  }
  inner.run();
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    const Sharding& layout = inside.of[at(body.results[i])];
    Var local = inner.need(body.results[i], layout);
    set(n.outputs[i], local, joined(spec_of(n.attrs, "out", i, g_.type(n.outputs[i]).shape.size()), layout), n.span);
  }
}

}  // namespace shard::transform
