// scan and associative_scan, loops over a traced body, and eval_shape, which traces and runs nothing.
#include "grammar/parse.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/lang/fixes/conversion.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/staging/jit.h"
#include "interpreter/lang/values/tree.h"
#include "stdlib/host/transforms/transforms.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

using lang::BoundArg;

// A leaf of scan's initial carry: its path, and its place in the text (of no source where the text does not show it).
std::pair<std::string, grammar::Span> carry_leaf(Interpreter& in, const BoundArg& init, std::size_t leaf) {
  if (!init.value.items() && !init.value.fields()) return {"", init.span};
  grammar::SourceMap sources;
  const grammar::ParseResult parsed = grammar::parse(sources, sources.add("", lang::text_at(in.sources(), init.span)));
  const grammar::Expr* tree = nullptr;
  if (parsed.module && parsed.diagnostics.empty() && parsed.module->body.size() == 1)
    if (auto* alone = std::get_if<grammar::ExprStmt>(&parsed.module->body[0]->node)) tree = alone->value.get();
  const lang::LeafAt found = lang::leaf_at(init.value, tree, leaf);
  grammar::Span span;
  if (found.written)
    span = {init.span.source, init.span.begin + found.written->span.begin, init.span.begin + found.written->span.end};
  return {found.path, span};
}

// A body's carry that varies along axes where the initial one does not, or is laid out otherwise: the initial value,
// converted. Shown where the text shows that value.
std::vector<grammar::Fix> carry_fixes(Interpreter& in, grammar::Span span, const Type& have, const Type& want,
                                      const BoundArg& init, const std::string& path) {
  const auto how = lang::conversion(have, want);
  const std::string advice = "bring the initial value to the type of the carry";
  if (!how) return {};
  if (span.known()) return {{advice, span, how->of(in.sources(), span)}};
  if (how->call || !want.mesh) return {};
  const auto fix =
      lang::tree_fix(in.sources(), advice, init.span, init.value, path, runtime::to_string(*want.mesh, want.sharding));
  return fix ? std::vector<grammar::Fix>{*fix} : std::vector<grammar::Fix>{};
}

// The body's carry must come out as it went in; host numbers and weak types are converted.
Tensor as_carry(Interpreter& in, const Tensor& got, const Type& want, std::size_t leaf, const BoundArg& init,
                grammar::Span span) {
  const Type& t = got.type();
  if (t.shape == want.shape && t.dtype == want.dtype && t.sharding == want.sharding && t.varying == want.varying &&
      t.weak == want.weak)
    return got;
  bool convertible = t.shape == want.shape && t.sharding == want.sharding && t.varying == want.varying &&
                     (t.weak || t.dtype == want.dtype);
  auto joined = runtime::promote(t.kind(), want.kind());
  if (convertible && joined && joined->dtype == want.dtype) return converted(in, got, want.dtype, want.weak);
  const auto [path, place] = carry_leaf(in, init, leaf);
  throw grammar::Error(
      grammar::Diagnostic{"carry",
                          span,
                          "the carry of scan must keep its type: " + (path.empty() ? "it" : "its `" + path + "`") +
                              " starts as " + runtime::to_string(want) + " and comes back as " + runtime::to_string(t),
                          {carry_way_out(want, t)},
                          carry_fixes(in, place, want, t, init, path),
                          {}});
}

Value scan(Interpreter& in, BoundArgs& a) {
  auto& ctx = in.context();
  const auto& core = ctx.table().core();
  need_function(in, a, "scan");
  Value f = a[0], init = a[1], xs = a[2];
  std::vector<Tensor> carry = tensor_leaves(in, init, a.span, "scan's initial carry");
  for (Tensor& t : carry) t = converted(in, t, t.type().dtype);
  std::vector<Tensor> rows = tensor_leaves(in, xs, a.span, "scan's sequence");
  std::optional<std::int64_t> length;
  if (!a[3].is_none()) length = in.integer(a[3], a.span, "`length:`");
  std::vector<Type> types = in.context().types_of(carry);
  for (const Tensor& x : rows) {
    Type t = ctx.type_of(x);
    if (t.rank() == 0)
      in.fail("shape", a.span,
              "scan walks along the first dimension of its sequence, and " + runtime::to_string(t) + " has none",
              note_if(xs.is_host_number(), "give the number of steps with `length:`: scan(f, init, length: n)"));
    if (length && *length != t.shape[0])
      in.fail("shape", a.span,
              "scan's sequences must be equally long: " + std::to_string(*length) + " and " +
                  std::to_string(t.shape[0]) + " (" + runtime::to_string(t) + ")");
    length = t.shape[0];
    t.shape.erase(t.shape.begin());
    t.sharding.dims.erase(t.sharding.dims.begin());
    types.push_back(std::move(t));
  }
  if (!length) in.fail("call", a.span, "scan needs a sequence, or `length: n`");
  if (*length < 0) in.fail("call", a.span, "scan cannot run " + std::to_string(*length) + " times");
  lang::TreeStructure ys_tree;
  trace::Traced traced = in.trace(types, [&](std::span<const Tensor> given) {
    Value c = with_tensors(init, given.first(carry.size()));
    Value x = rows.empty() ? Value() : with_tensors(xs, given.subspan(carry.size()));
    Value result = in.call(f, {c, x}, a.span);
    auto* pair = result.items();
    if (!pair || pair->size() != 2)
      in.fail("type", a.span, "scan's function returns (carry, y); this returned " + lang::kind_name(result),
              {"what is carried on and what is collected may be the same: `fn(c, x) = (c + x, c + x)`"});
    if (!lang::same_structure((*pair)[0], init))
      in.fail("carry", a.span,
              "the carry of scan must keep its structure: it starts as " + lang::structure(init) +
                  " and comes back as " + lang::structure((*pair)[0]),
              lang::tree_difference(init, (*pair)[0], "the carry at the start", "the one that comes back"));
    std::vector<Tensor> out = tensor_leaves(in, (*pair)[0], a.span, "scan's carry");
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = as_carry(in, out[i], types[i], i, a.args[1], a.span);
    std::vector<Tensor> ys;
    ys_tree = take_results(in, (*pair)[1], lang::Take::ArraysAndNumbers, ys, a.span);
    out.insert(out.end(), ys.begin(), ys.end());
    return out;
  });
  // The node takes what the body captured first, then the carry, then the sequences.
  ir::Builder b(ctx.table());
  ir::Vars captured, arguments;
  const ir::Graph& g = *traced.graph;
  for (std::size_t i = types.size(); i < g.params.size(); ++i) captured.push_back(b.param(g.type(g.params[i])));
  for (std::size_t i = 0; i < types.size(); ++i) arguments.push_back(b.param(types[i]));
  arguments.insert(arguments.end(), captured.begin(), captured.end());
  auto body = std::make_shared<const ir::Graph>(b.finish(b.inline_graph(g, arguments)));
  std::vector<Tensor> operands = traced.captured;
  operands.insert(operands.end(), carry.begin(), carry.end());
  operands.insert(operands.end(), rows.begin(), rows.end());
  auto results = ctx.apply(
      *core.scan, operands,
      ir::with_wiring({}, ir::ScanWiring{captured.size(), carry.size(), *length, in.truth(a[4], a.span)}), {body});
  std::span<const Tensor> all(results);
  return Value::tuple({with_tensors(init, all.first(carry.size())), ys_tree.filled(all.subspan(carry.size()))});
}

// Outside of traces results have layouts as well: those that a call would give them.
std::vector<Value> result_types(Interpreter& in, const trace::Traced& traced, std::vector<exec::ArrayInfo> arguments) {
  const ir::Graph& g = *traced.graph;
  trace::Context& ctx = in.context();
  std::vector<Value> out;
  if (!ctx.tracing() && ctx.target().passes().partition) {
    for (const Tensor& t : traced.captured) arguments.push_back(exec::array_info(*t.array()));
    if (const runtime::MeshRef mesh = exec::mesh_of(g, arguments, ctx.mesh())) {
      const auto plan = ctx.plans().get(ctx.target("abstract"), traced.graph, arguments, mesh);
      for (const exec::ArrayInfo& r : plan->program().results) out.push_back(lang::type_of(r));
      return out;
    }
  }
  for (ir::Var v : g.results) out.emplace_back(std::make_shared<const Type>(g.type(v)));
  return out;
}

Value eval_shape(Interpreter& in, BoundArgs& a) {
  need_function(in, a, "eval_shape");
  std::vector<Value> args;
  for (CallArg& x : a.rest) args.push_back(std::move(x.value));
  lang::TreeStructure tree(Value::tuple(std::move(args)));
  std::vector<Type> types;
  std::vector<exec::ArrayInfo> infos;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const Value& leaf = tree.leaf(i);
    auto* type = leaf.get<std::shared_ptr<const Type>>();
    if (!type && !leaf.is_tensor()) continue;
    const Tensor array = type ? lang::placeholder(in, **type, a.span) : leaf.tensor();
    tree.take(i, types.size());
    types.push_back(in.context().type_of(array));
    if (!array.traced()) infos.push_back(exec::array_info(*array.array()));
  }
  const TracedCall t = trace_call(
      in, types, lang::Take::ArraysAndNumbers, a.span,
      [&](std::span<const Tensor> given) {
        const Value now = tree.filled(given);
        return in.call(a[0], *now.items(), a.span);
      },
      true);
  const std::vector<Value> results = result_types(in, t.traced, std::move(infos));
  std::size_t i = 0;
  return lang::map_leaves(t.result.tree(), [&](const Value& leaf) {
    const int place = t.result.place(i++);
    return place < 0 ? leaf : results[static_cast<std::size_t>(place)];
  });
}

// ---- associative_scan: what scan gives for an associative function, in a number of steps that grows with the
// logarithm of the length, as JAX takes them: neighbours are joined, what comes out is scanned likewise, and the places
// between are filled in.
using Elements = std::vector<Tensor>;

class AssociativeScan {
 public:
  AssociativeScan(Interpreter& in, const Value& f, const Value& tree, std::int64_t axis, grammar::Span span)
      : in_(in), f_(f), tree_(tree), axis_(axis), span_(span) {}

  Elements run(const Elements& xs) {
    const std::int64_t n = length(xs[0]);
    if (n < 2) return xs;
    const Elements odd = run(joined(parts(xs, 0, n - 1, 2), parts(xs, 1, n, 2)));
    const Elements even = joined(n % 2 == 0 ? parts(odd, 0, length(odd[0]) - 1, 1) : odd, parts(xs, 2, n, 2));
    const Elements first = parts(xs, 0, 1, 1);
    Elements out;
    for (std::size_t i = 0; i < xs.size(); ++i) out.push_back(interleaved(beside(first[i], even[i]), odd[i], n));
    return out;
  }
  Elements reversed(const Elements& xs) const {
    Elements out;
    for (const Tensor& x : xs) out.push_back(in_.context().apply1(*core().rev, {x}, {{"axes", ir::Ints{from_end(x)}}}));
    return out;
  }
  // The axis of each array; all of one length.
  void check(const Elements& xs) const {
    for (const Tensor& x : xs) {
      const int rank = x.type().rank();
      if (axis_ < -rank || axis_ >= rank)
        in_.fail("shape", span_,
                 "associative_scan: " + runtime::to_string(x.type()) + " has no axis " + std::to_string(axis_));
      if (length(x) != length(xs[0]))
        in_.fail("shape", span_,
                 "associative_scan's arrays must be equally long: " + runtime::to_string(xs[0].type()) + " and " +
                     runtime::to_string(x.type()));
    }
  }

 private:
  const ir::CoreOps& core() const { return in_.context().table().core(); }
  std::int64_t from_end(const Tensor& x) const { return axis_ < 0 ? axis_ : axis_ - x.type().rank(); }
  std::int64_t length(const Tensor& x) const {
    return x.type().shape[static_cast<std::size_t>(x.type().rank() + from_end(x))];
  }

  Elements parts(const Elements& xs, std::int64_t from, std::int64_t to, std::int64_t step) const {
    Elements out;
    for (const Tensor& x : xs) {
      const auto count = static_cast<std::size_t>(-from_end(x));
      ir::Ints start(count, 0), limit(count, ir::kWhole), steps(count, 1);
      start[0] = from;
      limit[0] = std::max(from, to);
      steps[0] = step;
      out.push_back(in_.context().apply1(*core().slice, {x}, {{"start", start}, {"limit", limit}, {"step", steps}}));
    }
    return out;
  }
  Tensor beside(const Tensor& x, const Tensor& y) const {
    return in_.context().apply1(*core().concat, {x, y}, {{"axis", from_end(x)}});
  }

  // f of both, whose arrays are as the given ones are.
  Elements joined(const Elements& xs, const Elements& ys) {
    const Value made = in_.call(f_, {with_tensors(tree_, xs), with_tensors(tree_, ys)}, span_);
    if (!lang::same_structure(made, tree_))
      in_.fail("type", span_, "associative_scan's function gives what it takes",
               {"it takes " + lang::structure(tree_), "it gives " + lang::structure(made)});
    Elements out = tensor_leaves(in_, made, span_, "what associative_scan's function gives");
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].type().shape != ys[i].type().shape || out[i].type().dtype != ys[i].type().dtype)
        in_.fail("type", span_,
                 "associative_scan's function keeps the type of its elements: it takes " +
                     runtime::to_string(ys[i].type()) + " and gives " + runtime::to_string(out[i].type()));
    return out;
  }

  // x and y by turns, `n` of both together: each behind the other, and those dimensions merged.
  Tensor interleaved(Tensor x, Tensor y, std::int64_t n) const {
    const std::int64_t axis = from_end(x);
    const auto at = static_cast<std::size_t>(x.type().rank() + axis);
    if (n % 2 != 0) y = beside(y, parts({x}, 0, 1, 1)[0]);  // one more, cut off again
    Shape pair = x.type().shape, line = pair;
    pair.insert(pair.begin() + static_cast<std::ptrdiff_t>(at) + 1, 1);
    line[at] *= 2;
    const auto reshaped = [&](const Tensor& t, const Shape& shape) {
      return in_.context().apply1(*core().reshape, {t}, {{"shape", shape}});
    };
    const Tensor both = in_.context().apply1(*core().concat, {reshaped(x, pair), reshaped(y, pair)}, {{"axis", axis}});
    const Tensor merged = reshaped(both, line);
    return n % 2 == 0 ? merged : parts({merged}, 0, n, 1)[0];
  }

  Interpreter& in_;
  const Value &f_, &tree_;
  std::int64_t axis_;
  grammar::Span span_;
};

Value associative_scan(Interpreter& in, BoundArgs& a) {
  need_function(in, a, "associative_scan");
  const Value tree = a[1];
  Elements xs = tensor_leaves(in, tree, a.span, "what associative_scan goes over");
  if (xs.empty()) in.fail("call", a.span, "associative_scan needs arrays to go over");
  AssociativeScan scan(in, a[0], tree, in.integer(a[3], a.span, "`axis:`"), a.span);
  scan.check(xs);
  const bool reverse = in.truth(a[2], a.span);
  if (reverse) xs = scan.reversed(xs);
  xs = scan.run(xs);
  if (reverse) xs = scan.reversed(xs);
  return with_tensors(tree, xs);
}

}  // namespace

void register_mapping(Interpreter& in) {
  in.define({"scan", "scan(f, init, xs = none, length = none, reverse = false)",
             "Runs (carry, y) = f(carry, x) for each row x of xs and gives the last carry and the ys, stacked. Traced "
             "once, whatever the length.",
             scan});
  in.define(
      {"associative_scan", "associative_scan(f, xs, reverse = false, axis = 0)",
       "All running values of an associative function: x0, f(x0, x1), f(f(x0, x1), x2), ... in a number of steps "
       "that grows with the logarithm of the length. f takes and gives arrays (or trees) of many elements at once.",
       associative_scan});
  in.define({"eval_shape", "eval_shape(f, xs...)",
             "The types of f(xs...), with the layouts that the call would give, without computing it; arguments may be "
             "types: "
             "eval_shape(f, f32[8, 4]).",
             eval_shape});
}

}  // namespace shard::stdlib
