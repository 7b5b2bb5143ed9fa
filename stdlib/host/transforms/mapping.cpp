// vmap, scan and eval_shape: transforms whose result is a function (or a loop) over a traced body.
#include "grammar/parse.h"
#include "interpreter/ir/explicit_law.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/fixes/conversion.h"
#include "interpreter/lang/fixes/tree_fix.h"
#include "interpreter/lang/report/written.h"
#include "interpreter/transform/batch.h"
#include "stdlib/host/devices/along.h"
#include "stdlib/host/transforms/traced_call.h"
#include "stdlib/host/transforms/transforms.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

using lang::BoundArg;
using lang::BoundArgs;
using lang::CallArg;
using lang::Interpreter;
using lang::Native;
using lang::Value;
using runtime::Type;
using trace::Tensor;

Value native(std::string name, std::string signature, std::string doc,
             std::function<Value(Interpreter&, BoundArgs&)> call) {
  return Value(
      std::make_shared<const Native>(Native{std::move(name), std::move(signature), std::move(doc), std::move(call)}));
}

// ---- vmap -----------------------------------------------------------------------------------------------------------
// The mapped dimension of each leaf of `tree`: an integer, none (not mapped), or a tree of these that is a prefix of
// it.
void axes_of(Interpreter& in, const Value& axes, const Value& tree, std::vector<std::optional<int>>& out,
             const char* what, grammar::Span span) {
  bool one = axes.is_none() || axes.is<std::int64_t>() || axes.is_tensor();
  if (one) {
    std::optional<int> axis;
    if (!axes.is_none()) axis = static_cast<int>(in.integer(axes, span, what));
    out.resize(out.size() + lang::leaves(tree).size(), axis);
    return;
  }
  if (auto* items = axes.items()) {
    auto* children = tree.items();
    if (!children || children->size() != items->size())
      in.fail("call", span,
              std::string(what) + " " + in.repr(axes) + " does not fit the arguments " + lang::structure(tree));
    for (std::size_t i = 0; i < items->size(); ++i) axes_of(in, (*items)[i], (*children)[i], out, what, span);
    return;
  }
  if (auto* fields = axes.fields()) {
    auto* record = tree.fields();
    for (std::size_t i = 0; record && i < record->fields.size(); ++i) {
      const Value* axis = fields->find(record->fields[i].first);
      if (!axis) in.fail("call", span, std::string(what) + " has no field `" + record->fields[i].first + "`");
      axes_of(in, *axis, record->fields[i].second, out, what, span);
    }
    if (record) return;
  }
  in.fail(
      "call", span,
      std::string(what) + " takes integers, none, or a tree of them that fits the arguments " + lang::structure(tree));
}

// x with dimension `from` moved to `to` (positions from the front).
Tensor move_axis(Interpreter& in, const Tensor& x, int from, int to) {
  if (from == to) return x;
  std::vector<std::int64_t> perm;
  int rank = x.type().rank();
  for (int d = 0; d < rank; ++d)
    if (d != from) perm.push_back(d - rank);
  perm.insert(perm.begin() + to, from - rank);
  return in.context().apply1(*in.context().table().core().transpose, {x}, {{"perm", std::move(perm)}});
}

int from_front(Interpreter& in, int axis, int rank, const char* what, const Type& t, grammar::Span span) {
  if (axis < -rank || axis >= rank)
    in.fail("shape", span,
            std::string(what) + " " + std::to_string(axis) + " is out of range for " + runtime::to_string(t));
  return axis < 0 ? axis + rank : axis;
}

// Whether `axis:` names axes of the mesh (or of the rules), and not just the mapped dimension.
bool of_mesh(Interpreter& in, const Value& axis, grammar::Span span) {
  auto* names = axis.get<std::shared_ptr<const lang::Axis>>();
  if (!names) in.fail("type", span, "`axis:` of vmap is an axis, such as @data; this is " + lang::kind_name(axis));
  const runtime::MeshRef& mesh = in.context().mesh();
  const lang::Record* rules = in.impl().surroundings.rules().fields();
  for (const std::string& name : (*names)->names) {
    auto id = mesh ? mesh->find(name) : std::nullopt;
    if (id && mesh->axes[*id].kind == runtime::AxisKind::Manual)
      in.fail("mode", span, "`axis:` of vmap: @" + name + " is manual here, and collectives over it mean the devices",
              {"choose another name"});
    if (!id && !(rules && rules->find(name)) && (*names)->names.size() == 1) return false;
  }
  return true;
}

// `axis: @X`: the mapped dimension is split over these axes. On explicit axes x must be so already; on auto axes it is
// asked for.
Tensor along_axis(Interpreter& in, const Tensor& x, const Value& axis, grammar::Span span) {
  if (axis.is_none() || !of_mesh(in, axis, span)) return x;
  auto* names = axis.get<std::shared_ptr<const lang::Axis>>();
  lang::Spec spec;
  spec.dims.push_back({(*names)->names, false});
  ir::Layout layout = in.resolve(spec, x.type().rank(), span);
  layout.sharding.dims.resize(x.type().shape.size());
  const auto& mesh = *layout.mesh;
  std::vector<runtime::AxisId> typed;
  bool asks = false;
  for (auto a : layout.sharding.dims[0].axes)
    if (mesh.axes[a].kind == runtime::AxisKind::Explicit)
      typed.push_back(a);
    else
      asks = true;
  if (typed != x.type().sharding.dims[0].axes)
    in.fail("layout", span,
            "vmap's `axis:` says that the mapped dimension is split over " + in.repr(axis) + ", and this argument is " +
                runtime::to_string(x.type()),
            {"`shard` it first, or leave `axis:` out"});
  if (!asks) return x;
  for (std::size_t d = 1; d < layout.sharding.dims.size(); ++d) {
    layout.sharding.dims[d] = x.type().sharding.dims[d];
    layout.sharding.dims[d].open = true;
  }
  return in.context().apply1(*in.context().table().core().shard, {x}, {{"layout", layout}});
}

// One call of a function that vmap made.
class MappedCall {
 public:
  MappedCall(Interpreter& in, grammar::Span span, const Value& named) : in_(in), span_(span), named_(named) {}

  Value run(const Value& f, const Value& in_axes, const Value& out_axes, std::vector<CallArg> call) {
    std::vector<Value> args;
    for (CallArg& a : call) args.push_back(std::move(a.value));
    const Value tree = Value::tuple(args);
    std::vector<Value> leaves = lang::leaves(tree);
    const bool for_one = args.size() == 1 && in_axes.fields();  // a record for a single argument
    std::vector<std::optional<int>> axes;  // `in: 0` for all arguments, or a tuple with one entry an argument
    axes_of(in_, for_one ? Value::tuple({in_axes}) : in_axes, tree, axes, "`in:`", span_);
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (axes[i]) take(leaves[i], *axes[i], i);
    if (!size_) in_.fail("call", span_, "vmap needs at least one argument that is mapped");
    // One axis' name is also the mapped dimension's; an element's place along it is one more mapped argument.
    auto* names = named_.get<std::shared_ptr<const lang::Axis>>();
    const bool is_named = names && (*names)->names.size() == 1;
    if (is_named) take_places();
    TracedCall t = trace_call(in_, types_, true, span_, [&](std::span<const Tensor> given) {
      std::optional<MappedScope> scope;  // collectives take the name
      if (is_named) scope.emplace(in_, MappedAxis{(*names)->names[0], *size_, given.back()});
      std::vector<Value> now = leaves;
      for (std::size_t k = 0; k < where_.size(); ++k) now[where_[k]] = given[k];
      Value rebuilt = lang::with_leaves(tree, std::move(now));
      return in_.call(f, *rebuilt.items(), span_);
    });
    return results(t, out_axes);
  }

 private:
  // An argument that is mapped, its mapped dimension in front; traced as one element of it.
  void take(const Value& leaf, int mapped_axis, std::size_t index) {
    if (leaf.is_host_number())
      in_.fail("shape", span_,
               "vmap maps over a dimension of its arguments, and a number has none: write `in: none` for it");
    if (!leaf.is_tensor()) return;
    Tensor x = leaf.tensor();
    const int axis = from_front(in_, mapped_axis, x.type().rank(), "the mapped dimension", x.type(), span_);
    const std::int64_t n = x.type().shape[static_cast<std::size_t>(axis)];
    if (size_ && *size_ != n)
      in_.fail("shape", span_,
               "vmap maps over dimensions of one size; these have " + std::to_string(*size_) + " (" +
                   runtime::to_string(sized_by_) + ") and " + std::to_string(n) + " (" + runtime::to_string(x.type()) +
                   ")");
    size_ = n;
    x = along_axis(in_, move_axis(in_, x, axis, 0), named_, span_);
    Type t = x.type();
    if (params_.empty())
      front_ = {t.sharding.dims[0], t.mesh};
    else if (!(t.sharding.dims[0].axes == front_.dim.axes))
      in_.fail("layout", span_,
               "vmap maps over dimensions that are split alike; these arguments are " + runtime::to_string(sized_by_) +
                   " and " + runtime::to_string(t),
               {"`shard` one of them first"});
    if (!front_.mesh) front_.mesh = t.mesh;
    sized_by_ = t;
    t.shape.erase(t.shape.begin());
    t.sharding.dims.erase(t.sharding.dims.begin());
    if (t.sharding.used_axes().empty() && t.varying.empty()) t.mesh = nullptr;
    where_.push_back(index);
    types_.push_back(std::move(t));
    params_.push_back(std::move(x));
  }

  void take_places() {
    auto& ctx = in_.context();
    Tensor places =
        ctx.apply1(*ctx.table().core().iota, {},
                   {{"shape", ir::Ints{*size_}}, {"axis", std::int64_t{-1}}, {"dtype", runtime::DType::I32}});
    if (!front_.dim.axes.empty()) {
      runtime::Sharding split;
      split.dims = {front_.dim};
      places = ctx.apply1(*ctx.table().core().shard, {places}, {{"layout", ir::Layout{front_.mesh, split}}});
    }
    types_.push_back(Type::of(runtime::DType::I32, {}));
    params_.push_back(std::move(places));
  }

  transform::Batched batched(const ir::Graph& g, const std::vector<bool>& wanted) const {
    std::vector<bool> mapped(g.params.size(), false);
    std::fill_n(mapped.begin(), params_.size(), true);
    try {
      return transform::batch(in_.context().table(), g, mapped, *size_, wanted, front_);
    } catch (const grammar::Error& e) {
      if (e.diagnostic.code != "layout" || front_.dim.axes.empty()) throw;
      grammar::Diagnostic d = e.diagnostic;  // of the elements of all places together
      d.message =
          "vmap over a dimension that is split over " + ir::axes_text(*front_.mesh, front_.dim.axes) + ": " + d.message;
      d.notes.push_back(
          "inside of vmap no value that meets the mapped ones may be split over the axis that is mapped over");
      throw grammar::Error(std::move(d));
    }
  }

  Value results(TracedCall& t, const Value& out_axes) {
    const ir::Graph& g = *t.traced.graph;
    std::vector<std::optional<int>> places;  // by leaf of the result
    axes_of(in_, out_axes, t.result.tree, places, "`out:`", span_);
    std::vector<bool> wanted(g.results.size(), true);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (t.result.index[i] >= 0 && !places[i]) wanted[static_cast<std::size_t>(t.result.index[i])] = false;
    transform::Batched made = batched(g, wanted);
    for (std::size_t r = 0; r < wanted.size(); ++r)
      if (!wanted[r] && made.mapped[r])
        in_.fail("call", span_,
                 "`out: none` is for results that are the same for all; this one, " +
                     runtime::to_string(g.type(g.results[r])) + ", depends on what is mapped");
    params_.insert(params_.end(), t.traced.captured.begin(), t.traced.captured.end());
    auto values = in_.context().run(std::make_shared<const ir::Graph>(std::move(made.graph)), std::move(params_));
    Value out = t.result.rebuild(values);
    std::vector<Value> leaves = lang::leaves(out);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].is_tensor() || !places[i]) continue;
      const Tensor& x = leaves[i].tensor();
      leaves[i] = move_axis(in_, x, 0, from_front(in_, *places[i], x.type().rank(), "`out:`", x.type(), span_));
    }
    return lang::with_leaves(out, std::move(leaves));
  }

  Interpreter& in_;
  grammar::Span span_;
  const Value& named_;
  std::vector<Tensor> params_;
  std::vector<Type> types_;         // of one element of each
  std::vector<std::size_t> where_;  // the leaf that each is
  std::optional<std::int64_t> size_;
  Type sized_by_;
  transform::Front front_;
};

Value vmap(Interpreter& in, BoundArgs& a) {
  need_function(in, a, "vmap");
  Value f = a[0], in_axes = a[1], out_axes = a[2], named = a[3];
  return native("vmap(...)", "mapped(xs...)", "A function mapped over a dimension of its arguments.",
                [=](Interpreter& i, BoundArgs& b) {
                  return MappedCall(i, b.span, named).run(f, in_axes, out_axes, std::move(b.rest));
                });
}

// ---- scan -----------------------------------------------------------------------------------------------------------
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
  if (convertible && joined && joined->dtype == want.dtype)
    return in.context().apply1(*in.context().table().core().convert, {got},
                               {{"dtype", want.dtype}, {"weak", want.weak}});
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
  for (Tensor& t : carry)
    if (t.type().weak) t = ctx.apply1(*core.convert, {t}, {{"dtype", t.type().dtype}, {"weak", false}});
  std::vector<Tensor> rows = tensor_leaves(in, xs, a.span, "scan's sequence");
  std::optional<std::int64_t> length;
  if (!a[3].is_none()) length = in.integer(a[3], a.span, "`length:`");
  std::vector<Type> types = types_of(carry);
  for (const Tensor& x : rows) {
    Type t = x.type();
    if (t.rank() == 0)
      in.fail("shape", a.span,
              "scan walks along the first dimension of its sequence, and " + runtime::to_string(t) + " has none",
              xs.is_host_number()
                  ? std::vector<std::string>{"a number of steps is told by `length:`: scan(f, init, length: n)"}
                  : std::vector<std::string>{});
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
  ResultTree ys_tree;
  trace::Traced traced = in.trace(types, [&](std::span<const Tensor> given) {
    Value c = with_tensors(init, given.first(carry.size()));
    Value x = rows.empty() ? Value() : with_tensors(xs, given.subspan(carry.size()));
    Value result = in.call(f, {c, x}, a.span);
    auto* pair = result.items();
    if (!pair || pair->size() != 2)
      in.fail("type", a.span, "scan's function returns (carry, y); this returned " + lang::kind_name(result));
    if (!lang::same_structure((*pair)[0], init))
      in.fail("carry", a.span,
              "the carry of scan must keep its structure: it starts as " + lang::structure(init) +
                  " and comes back as " + lang::structure((*pair)[0]));
    std::vector<Tensor> out = tensor_leaves(in, (*pair)[0], a.span, "scan's carry");
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = as_carry(in, out[i], types[i], i, a.args[1], a.span);
    for (const Tensor& y : ys_tree.take(in, (*pair)[1], true, a.span)) out.push_back(y);
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
  return Value::tuple({with_tensors(init, all.first(carry.size())), ys_tree.rebuild(all.subspan(carry.size()))});
}

// ---- eval_shape -----------------------------------------------------------------------------------------------------
Value eval_shape(Interpreter& in, BoundArgs& a) {
  need_function(in, a, "eval_shape");
  std::vector<Value> args;
  for (CallArg& x : a.rest) args.push_back(std::move(x.value));
  Value tree = Value::tuple(std::move(args));
  std::vector<Value> leaves = lang::leaves(tree);
  std::vector<Type> types;
  std::vector<std::size_t> where;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (auto* t = leaves[i].get<std::shared_ptr<const Type>>())
      types.push_back(**t);
    else if (leaves[i].is_tensor())
      types.push_back(leaves[i].tensor().type());
    else
      continue;
    where.push_back(i);
  }
  TracedCall t = trace_call(
      in, types, true, a.span,
      [&](std::span<const Tensor> given) {
        for (std::size_t k = 0; k < where.size(); ++k) leaves[where[k]] = given[k];
        return in.call(a[0], *lang::with_leaves(tree, leaves).items(), a.span);
      },
      true);
  std::vector<Value> out = lang::leaves(t.result.tree);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (t.result.index[i] >= 0) {
      Type type = t.traced.graph->type(t.traced.graph->results[static_cast<std::size_t>(t.result.index[i])]);
      out[i] = std::make_shared<const Type>(std::move(type));
    }
  return lang::with_leaves(t.result.tree, std::move(out));
}

}  // namespace

void register_mapping(Interpreter& in) {
  in.define({"vmap", "vmap(f, in = 0, out = 0, axis = none)",
             "A function that maps f over a dimension of its arguments: `in:` and `out:` say which (none: not mapped), "
             "as integers or trees of them.",
             vmap});
  in.define({"scan", "scan(f, init, xs = none, length = none, reverse = false)",
             "Runs (carry, y) = f(carry, x) for each row x of xs and gives the last carry and the ys, stacked. Traced "
             "once, whatever the length.",
             scan});
  in.define({"eval_shape", "eval_shape(f, xs...)",
             "The types of f(xs...), without computing it; arguments may be types: eval_shape(f, f32[8, 4]).",
             eval_shape});
}

}  // namespace shard::stdlib
