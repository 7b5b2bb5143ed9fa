// `call` keeps a function together. With `remat` its backward part computes the values anew instead of keeping them,
// inside a region of its own, so that they are not merged with those of the forward part: whoever inlines such a region
// must not look for common subexpressions across its border.
//   call         regions [body]; attrs remat, policy ("none": keep arguments only, "dots": and contractions, "names":
//                and what carries one of the names in `names`, "except": all but what carries one of them, "all":
//                everything), offload (names, or the word "dots": kept too, in the host's memory)
//   named_value  a value with a name, for that policy
// Functions with a derivative of their own are in custom_rule.cpp.
#include <algorithm>

#include "interpreter/transform/differentiate.h"
#include "stdlib/ops/control/control.h"
#include "stdlib/ops/elementwise.h"

namespace shard::stdlib {
namespace {

constexpr std::string_view kNamed = "named_value";

std::vector<int> indices(std::span<const char> marks) {
  std::vector<int> out;
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (marks[i]) out.push_back(static_cast<int>(i));
  return out;
}

std::vector<Type> infer_call(const OpCall& call) {
  check_params(call, 0, call.in);
  std::string policy = text_or(call.attrs, "policy", "none");
  if (policy != "none" && policy != "dots" && policy != "names" && policy != "except" && policy != "all")
    fail("argument", "there is no remat policy \"" + policy +
                         "\": \"none\" keeps nothing, \"dots\" the results of matrix products, \"all\" everything, and "
                         "a list of names, such as [\"" +
                         policy + "\"], what `checkpoint_name` gave them to, {except: [...]} all but that");
  return result_types(*call.regions[0]);
}

ir::Pushed push_call(Builder& b, const OpCall& call, const Vars& in, std::span<const Var> tangents) {
  std::vector<int> wrt;
  Vars operands = in;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (tangents[i].valid()) wrt.push_back(static_cast<int>(i)), operands.push_back(tangents[i]);
  return halves(b.emit(call.op, operands, call.attrs, {share(transform::jvp(b.table(), *call.regions[0], wrt))}));
}

// Whether a policy means this node: a name of a list, or a product where it is the word "dots".
bool is_meant(const ir::OpTable& table, const ir::AttrValue* policy, const ir::Node& n) {
  if (!policy) return false;
  if (const auto* word = std::get_if<std::string>(policy)) return *word == "dots" && n.op == table.core().contract;
  const auto* names = std::get_if<std::vector<std::string>>(policy);
  return names && n.op->name == kNamed && std::find(names->begin(), names->end(), n.attrs.text("name")) != names->end();
}

// What the backward part of `joint` asks of the forward one, except for what has a name that is left out: that is made
// again of what it was made of. `late`: what depends on cotangents.
Vars all_but_named(const Graph& joint, const Attrs& attrs, const Marks& late, std::size_t results,
                   const ir::OpTable& table) {
  std::vector<char> asked(joint.types.size(), 0), left_out(asked);
  for (std::size_t r = results; r < joint.results.size(); ++r) asked[at(joint.results[r])] = 1;
  for (const ir::Node& n : joint.nodes)
    if (is_meant(table, attrs.find("names"), n)) left_out[at(n.outputs[0])] = left_out[at(n.inputs[0])] = 1;
  Vars saved;
  for (std::size_t i = joint.nodes.size(); i-- > 0;) {
    const ir::Node& n = joint.nodes[i];
    const bool needed = std::any_of(n.outputs.begin(), n.outputs.end(), [&](Var v) { return asked[at(v)] != 0; });
    const bool early = !n.outputs.empty() && !late[at(n.outputs[0])];
    if (early && !needed) continue;
    const bool again = n.inputs.empty() ||
                       std::any_of(n.outputs.begin(), n.outputs.end(), [&](Var v) { return left_out[at(v)] != 0; });
    for (Var v : early && !again ? n.outputs : Vars{})
      if (asked[at(v)]) saved.push_back(v);
    if (!early || again)
      for (Var v : n.inputs) asked[at(v)] = 1;
  }
  return saved;
}

struct Saved {
  Vars vars;
  std::vector<std::size_t> on_host = {};  // those that the host's memory holds, by place
};

Saved saved_by(const std::string& policy, const Graph& joint, const Attrs& attrs, const Marks& late,
               std::size_t results, const ir::OpTable& table) {
  if (policy == "except") return {all_but_named(joint, attrs, late, results, table)};
  Saved saved;
  for (const ir::Node& n : joint.nodes) {
    if (n.outputs.empty() || late[at(n.outputs[0])]) continue;
    const bool away = is_meant(table, attrs.find("offload"), n);
    if (away) saved.on_host.push_back(saved.vars.size());
    if (away || is_meant(table, attrs.find(policy == "names" ? "names" : "policy"), n))
      saved.vars.push_back(n.outputs[0]);
  }
  return saved;
}

// A backward part says which of its values the forward part had already, so that they are not counted as work of the
// function (interpreter/cost_model).
GraphRef said_again(Graph g, std::size_t inputs) {
  const Marks late = transform::reached(g, part(g.params, inputs, g.params.size() - inputs));
  for (ir::Node& n : g.nodes)
    if (!n.outputs.empty() && !late[at(n.outputs[0])]) n.attrs.set("again", true);
  return share(std::move(g));
}

std::vector<std::size_t> moved_by(std::vector<std::size_t> places, std::size_t by) {
  for (std::size_t& p : places) p += by;
  return places;
}

ir::Pullback pull_call(Builder& b, const OpCall& call, const Vars& in, std::span<const char> wanted,
                       std::span<const char> given) {
  const ir::OpTable& table = b.table();
  const Graph& body = *call.regions[0];
  const std::vector<int> wrt = indices(wanted);
  const std::vector<Type> results = result_types(body);
  const std::vector<bool> with_ct = with_cotangents(results, given);
  const std::size_t inputs = in.size();
  const bool remat = flag_or(call.attrs, "remat", false);
  const std::string policy = text_or(call.attrs, "policy", "none");

  if (!remat || policy == "all") {  // nothing special: the parts go into the graph around
    Graph joint = transform::vjp(table, body, wrt, with_ct, true);
    transform::Halves h = transform::cut(table, joint, inputs, results.size());
    Vars out = b.inline_graph(h.first, in), kept(out.begin() + static_cast<std::ptrdiff_t>(results.size()), out.end());
    out.resize(results.size());
    auto second = share(std::move(h.second));
    return {out, [=](Builder& outer, std::span<const Var> ct) {
              Vars operands = kept;
              append_cotangents(outer, operands, results, with_ct, ct);
              return scatter_to(wrt, inputs, outer.inline_graph(*second, operands));
            }};
  }
  Saved saved;
  GraphRef forward = call.regions[0], backward;
  if (policy != "none" || call.attrs.has("offload")) {
    Graph joint = transform::vjp(table, body, wrt, with_ct, true);
    Vars cts(joint.params.begin() + static_cast<std::ptrdiff_t>(inputs), joint.params.end());
    Marks late = transform::reached(joint, cts);
    Vars first_results = first_of(joint.results, results.size()), second_params = first_of(joint.params, inputs);
    saved = saved_by(policy, joint, call.attrs, late, results.size(), table);
    append(first_results, saved.vars);
    append(second_params, saved.vars);
    append(second_params, cts);
    forward = share(transform::extract(table, joint, part(joint.params, 0, inputs), first_results, true));
    backward = said_again(
        transform::extract(table, joint, second_params, part(joint.results, results.size(), wrt.size()), false),
        inputs + saved.vars.size());
    if (!saved.on_host.empty()) {
      forward = share(copied_out(table, *forward, moved_by(saved.on_host, results.size())));
      backward = share(copied_back(table, *backward, moved_by(saved.on_host, inputs), inputs + saved.vars.size()));
    }
  } else {
    backward = said_again(transform::vjp(table, body, wrt, with_ct, false), inputs);
  }
  Vars out = b.emit(call.op, in, call.attrs, {forward}), operands = in;
  append(operands, part(out, results.size(), saved.vars.size()));
  out.resize(results.size());
  const ir::OpDef* op = &call.op;
  const Attrs attrs = call.attrs;
  return {out, [=](Builder& outer, std::span<const Var> ct) {
            Vars args = operands;
            append_cotangents(outer, args, results, with_ct, ct);
            return scatter_to(wrt, inputs, outer.emit(*op, args, attrs, {backward}));
          }};
}

std::vector<Mapped> batch_call(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  const std::vector<bool> none(call.regions[0]->results.size(), false);
  transform::Batched body = transform::batch(b.table(), *call.regions[0], mapped_of(in, 0, in.size()), size, none,
                                             transform::front_of(b, in));
  return with_marks(b.emit(call.op, vars_of(in), call.attrs, {share(std::move(body.graph))}), body.mapped);
}

}  // namespace

OpDef named_value_row() {
  OpDef row = passing_row("named_value(x, name: str)", "The value itself, which `remat` may keep by its name.");
  row.samples = "[4, 6] name='a'; i32[4] name='b'";
  return row;
}

OpDef call_row() {
  return region_row("call(values: arrays)",
                    "A function kept together; with `remat`, computed again for the backward pass.",
                    ir::Structure::Call, push_call, pull_call, batch_call, infer_call);
}

}  // namespace shard::stdlib
