// `while_loop`: a body run as long as a condition of the carry holds. Forward mode carries tangents along; reverse mode
// would have to keep a number of values that only the run knows, and is refused with the way out. Mapped over a
// condition that differs from element to element, the loop runs until all are done, and those that are keep their
// carry.
#include "grammar/diagnostic.h"
#include "interpreter/ir/collective.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/batch.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

using transform::fit;

struct WhileParts {  // one use of while_loop, read
  std::size_t cond_consts, body_consts, carry;
  const Graph &cond, &body;
  explicit WhileParts(const OpCall& call)
      : cond_consts(ir::while_wiring(call.attrs).cond_consts),
        body_consts(ir::while_wiring(call.attrs).body_consts),
        carry(call.in.size() - cond_consts - body_consts),
        cond(*call.regions[0]),
        body(*call.regions[1]) {}
  std::size_t first_carry() const { return cond_consts + body_consts; }
};

// The loop that is written: `while`, or `for` over a range that only a run knows.
std::string written(const Attrs& attrs) {
  const auto* word = attrs.find("loop");
  const auto* text = word ? std::get_if<std::string>(word) : nullptr;
  return text ? *text : "while";
}

std::vector<Type> infer_while(const OpCall& call) {
  WhileParts w(call);
  auto carry = call.in.subspan(w.first_carry());
  std::vector<Type> cond_in(call.in.begin(), call.in.begin() + static_cast<std::ptrdiff_t>(w.cond_consts));
  std::vector<Type> body_in(call.in.begin() + static_cast<std::ptrdiff_t>(w.cond_consts), call.in.end());
  cond_in.insert(cond_in.end(), carry.begin(), carry.end());
  check_params(call, 0, cond_in);
  check_params(call, 1, body_in);
  const Type& condition = w.cond.type(w.cond.results.at(0));
  if (condition.dtype != DType::Bool || !condition.shape.empty())
    fail("condition", "the condition of a loop must be one truth value, and it is " + runtime::to_string(condition));
  check_quiet(call, condition, "`" + written(call.attrs) + "`");
  check_carry(written(call.attrs), call.attrs, carry, w.body, 0);
  std::vector<Type> out(carry.begin(), carry.end());
  for (std::size_t j = 0; j < out.size(); ++j) {
    out[j].weak = out[j].weak && w.body.type(w.body.results[j]).weak;
    out[j].varying |= condition.varying;
    if (!out[j].varying.empty() && !out[j].mesh) out[j].mesh = condition.mesh;
  }
  return out;
}

ir::Pushed push_while(Builder& b, const OpCall& call, const Vars& in, std::span<const Var> tangents) {
  WhileParts w(call);
  const std::size_t first = w.first_carry(), nb = w.body_consts;
  std::vector<char> carried(w.carry);
  for (std::size_t j = 0; j < w.carry; ++j) carried[j] = tangents[first + j].valid();
  const auto is_wanted = [&](std::size_t i) {  // of the body's parameters
    return i < nb ? tangents[w.cond_consts + i].valid() : carried[i - nb] != 0;
  };
  for (bool changed = true; changed;) {
    changed = false;
    Vars from;
    for (std::size_t i = 0; i < nb + w.carry; ++i)
      if (is_wanted(i)) from.push_back(w.body.params[i]);
    Marks live = transform::active(w.body, from);
    for (std::size_t j = 0; j < w.carry; ++j)
      if (live[at(w.body.results[j])] && !carried[j]) carried[j] = 1, changed = true;
  }
  std::vector<int> wrt;
  for (std::size_t i = 0; i < nb + w.carry; ++i)
    if (is_wanted(i)) wrt.push_back(static_cast<int>(i));
  Graph both = transform::jvp(b.table(), w.body, wrt);

  Builder c = transform::builder_like(b.table(), w.cond), r = transform::builder_like(b.table(), w.body);
  Vars cond_args, body_args(both.params.size()), operands = first_of(in, w.cond_consts);
  for (Var p : w.cond.params) cond_args.push_back(c.param(w.cond.type(p)));
  auto pass = [&](std::size_t begin, std::size_t end) {  // values of a kind, then their tangents
    for (std::size_t i = begin; i < end; ++i)
      body_args[i] = r.param(both.type(both.params[i])), operands.push_back(in[w.cond_consts + i]);
    for (std::size_t k = 0; k < wrt.size(); ++k) {
      auto i = static_cast<std::size_t>(wrt[k]);
      if (i < begin || i >= end) continue;
      const Type& t = call.in[w.cond_consts + i];
      body_args[nb + w.carry + k] = r.param(t);
      operands.push_back(zeros_or(b, tangents[w.cond_consts + i], t));
      if (begin == nb) c.param(t);
    }
  };
  pass(0, nb);
  std::size_t body_consts = operands.size() - w.cond_consts;
  pass(nb, nb + w.carry);
  Vars values = r.inline_graph(both, body_args), results = first_of(values, w.carry);
  for (std::size_t j = 0; j < w.carry; ++j)
    if (carried[j]) results.push_back(fit(r, values[w.carry + j], call.in[first + j]));
  Vars condition = c.inline_graph(w.cond, cond_args);
  Attrs attrs = call.attrs;
  attrs.erase("names");
  attrs = ir::with_wiring(std::move(attrs), ir::WhileWiring{w.cond_consts, body_consts});
  Vars out = b.emit(
      call.op, operands, std::move(attrs),
      {share(c.finish(condition)), share(transform::without_dead_code(b.table(), r.finish(std::move(results))))});
  ir::Pushed pushed{first_of(out, w.carry), Vars(w.carry)};
  for (std::size_t j = 0, t = w.carry; j < w.carry; ++j)
    if (carried[j]) pushed.tangents[j] = out[t++];
  return pushed;
}

ir::Pullback pull_while(Builder& b, const OpCall& call, const Vars&, std::span<const char>, std::span<const char>) {
  const std::string word = written(call.attrs);
  const std::string loop = word == "while" ? "a `while` loop" : "a `" + word + "` over a range that only a run knows";
  throw grammar::Error("not_differentiable", b.span(),
                       loop + " has no gradient: how often it runs is only known when it runs",
                       {"use `scan`, or `for` over a known range; `jvp` goes through it"});
}

// v cast along these axes. To "varying": a type that holds where devices stop at different turns. To "same": what an
// element holds while it runs on, which is what it holds on every device that runs it as long.
Var cast_along(Builder& b, Var v, runtime::AxisSet axes, const char* to, const runtime::MeshRef& mesh) {
  if (axes.empty()) return v;
  Attrs attrs = ir::to_varying(axes, mesh);
  attrs.set("to", std::string(to));
  return b.emit1(*b.core().pcast, {v}, std::move(attrs));
}

// The condition, which differs from element to element, becomes part of the carry, so that it is computed once a turn.
std::vector<Mapped> batch_divergent(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size,
                                    const Graph& cond, const Graph& body, const std::vector<bool>& cond_mapped,
                                    const transform::Front& front) {
  WhileParts w(call);
  Vars cond_consts, body_consts, carry;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (i < w.cond_consts)
      cond_consts.push_back(cond_mapped[i] ? transform::front_mapped(b, in[i], size, front) : in[i].var);
    else if (i < w.first_carry())
      body_consts.push_back(in[i].var);
    else
      carry.push_back(transform::front_mapped(b, in[i], size, front));
  }
  auto condition_of = [&](Builder& to, std::span<const Var> consts, std::span<const Var> values) {
    Vars args(consts.begin(), consts.end());
    append(args, values);
    return to.inline_graph(cond, args).at(0);
  };
  Var first = condition_of(b, cond_consts, carry);
  const Type flags = b.type(first);
  std::vector<runtime::AxisSet> apart;  // by carry: where it comes to differ because elements stop apart
  for (Var& v : carry) {
    apart.push_back(flags.varying - b.type(v).varying);
    v = cast_along(b, v, apart.back(), "varying", flags.mesh);
  }

  // What is made of the condition stands where it does.
  const grammar::Span at = cond.nodes.empty() ? b.span() : cond.nodes.back().span;
  Builder any = transform::builder_like(b.table(), cond);
  any.set_span(at);
  for (Var v : carry) any.param(b.type(v));
  Var running = ir::reduce_sum(any, ir::convert(any, any.param(flags), DType::I32), {-1});
  Var some = any.emit1(*any.core().lt, {ir::constant_int(any, 0), running});

  Builder turn = transform::builder_like(b.table(), body);
  turn.set_span(at);
  Vars cc, bc, old;
  for (Var v : cond_consts) cc.push_back(turn.param(b.type(v)));
  for (Var v : body_consts) bc.push_back(turn.param(b.type(v)));
  for (Var v : carry) old.push_back(turn.param(b.type(v)));
  Var going = turn.param(flags);
  const auto running_on = [&](Vars values) {
    for (std::size_t j = 0; j < values.size(); ++j)
      values[j] = cast_along(turn, values[j], apart[j], "same", flags.mesh);
    return values;
  };
  Vars args = bc;
  append(args, running_on(old));
  Vars fresh = turn.inline_graph(body, args), next;
  for (std::size_t j = 0; j < old.size(); ++j) {
    const Type kept = turn.type(old[j]);  // a copy: types move when the graph grows
    runtime::Shape shape(kept.shape.size(), 1);
    shape[0] = size;
    next.push_back(fit(turn, ir::select(turn, ir::reshape(turn, going, shape), fresh[j], old[j]), kept));
  }
  Var still = turn.emit1(*turn.core().logical_and, {going, condition_of(turn, cc, running_on(next))});
  next.push_back(fit(turn, still, flags));

  Vars operands = cond_consts;
  append(operands, body_consts);
  append(operands, carry);
  operands.push_back(first);
  Attrs attrs = call.attrs;
  attrs.erase("names");
  attrs = ir::with_wiring(std::move(attrs), ir::WhileWiring{0, cond_consts.size() + body_consts.size()});
  Vars out =
      b.emit(call.op, operands, std::move(attrs), {share(any.finish({some})), share(turn.finish(std::move(next)))});
  out.resize(carry.size());
  return with_marks(out, std::vector<bool>(carry.size(), true));
}

std::vector<Mapped> batch_while(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  WhileParts w(call);
  auto front = transform::front_of(b, in);
  std::vector<bool> carried = mapped_of(in, w.first_carry(), w.carry), cond_in = mapped_of(in, 0, w.cond_consts);
  std::vector<bool> body_in = mapped_of(in, w.cond_consts, w.body_consts);
  transform::Batched cond, body;
  bool divergent = false;
  for (bool changed = true; changed;) {
    changed = false;
    auto with_carry = [&](std::vector<bool> consts) {
      consts.insert(consts.end(), carried.begin(), carried.end());
      return consts;
    };
    cond = transform::batch(b.table(), w.cond, with_carry(cond_in), size, {false}, front);
    divergent = cond.mapped[0];
    if (divergent && carried != std::vector<bool>(w.carry, true)) carried.assign(w.carry, true), changed = true;
    if (!changed) {
      body = transform::batch(b.table(), w.body, with_carry(body_in), size, carried, front);
      for (std::size_t j = 0; j < w.carry; ++j)
        if (body.mapped[j] && !carried[j]) carried[j] = true, changed = true;
    }
  }
  if (divergent) {
    if (transform::has_effects(w.body) || transform::has_effects(w.cond))
      throw grammar::Error(
          "vmap", b.span(),
          "`print` and `assert` in a `" + written(call.attrs) + "` loop whose condition vmap maps over are not defined",
          {"take them out of the loop"});
    return batch_divergent(b, call, in, size, cond.graph, body.graph, mapped_of(in, 0, w.cond_consts), front);
  }
  Vars operands;
  for (std::size_t i = 0; i < in.size(); ++i) {
    bool mapped = i >= w.first_carry() && carried[i - w.first_carry()];
    operands.push_back(mapped ? transform::front_mapped(b, in[i], size, front) : in[i].var);
  }
  return with_marks(b.emit(call.op, operands, call.attrs, {share(std::move(cond.graph)), share(std::move(body.graph))}),
                    carried);
}

}  // namespace

OpDef while_row() {
  return region_row("while_loop(values: arrays)", "A body run as long as a condition of its carry holds.",
                    ir::Structure::While, push_while, pull_while, batch_while, infer_while);
}

}  // namespace shard::stdlib
