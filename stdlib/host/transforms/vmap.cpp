// vmap: a function mapped over a dimension of its arguments. It is traced on one element; the graph is then given a
// batch dimension in front (transform/batch.h).
#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/surroundings.h"
#include "interpreter/lang/values/wrapped.h"
#include "interpreter/transform/batch.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

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
  const lang::Record* rules = in.surroundings().rules().fields();
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

// One call of a mapped function.
class MappedCall {
 public:
  MappedCall(Interpreter& in, const Value& axis, grammar::Span span) : in_(in), axis_(axis), span_(span) {}

  Value operator()(const Value& f, const Value& in_axes, const Value& out_axes, std::vector<CallArg> call) {
    std::vector<Value> args;
    for (CallArg& a : call) args.push_back(std::move(a.value));
    take_arguments(std::move(args), in_axes);
    if (!size_) in_.fail("call", span_, "vmap needs at least one argument that is mapped");
    // One axis' name is also the mapped dimension's; an element's place along it is one more mapped argument.
    auto* names = axis_.get<std::shared_ptr<const lang::Axis>>();
    const bool named = names && (*names)->names.size() == 1;
    if (named) add_places();
    TracedCall t = trace_call(in_, types_, lang::Take::ArraysAndNumbers, span_, [&](std::span<const Tensor> given) {
      if (named) in_.context().frame()->mapped = {(*names)->names[0], *size_, given.back().var()};
      const Value now = args_.filled(given);
      return in_.call(f, *now.items(), span_);
    });
    return results(t, out_axes);
  }

 private:
  // Mapped arrays become parameters, without the dimension that is mapped over (which then is their first).
  void take_arguments(std::vector<Value> args, const Value& in_axes) {
    // `in: 0` for all arguments, or a tuple with one entry an argument.
    const bool for_one = args.size() == 1 && in_axes.fields();  // a record for a single argument
    args_ = lang::TreeStructure(Value::tuple(std::move(args)));
    std::vector<std::optional<int>> axes;
    axes_of(in_, for_one ? Value::tuple({in_axes}) : in_axes, args_.tree(), axes, "`in:`", span_);
    for (std::size_t i = 0; i < args_.size(); ++i) {
      if (!axes[i]) continue;
      const Value& leaf = args_.leaf(i);
      if (leaf.is_host_number())
        in_.fail("shape", span_,
                 "vmap maps over a dimension of its arguments, and a number has none: write `in: none` for it");
      if (!leaf.is_tensor()) continue;
      args_.take(i, params_.size());
      take(leaf.tensor(), *axes[i]);
    }
  }

  void take(Tensor x, int mapped) {
    const int axis = from_front(in_, mapped, x.type().rank(), "the mapped dimension", x.type(), span_);
    const std::int64_t n = x.type().shape[static_cast<std::size_t>(axis)];
    if (size_ && *size_ != n)
      in_.fail("shape", span_,
               "vmap maps over dimensions of one size; these have " + std::to_string(*size_) + " (" +
                   runtime::to_string(sized_by_) + ") and " + std::to_string(n) + " (" + runtime::to_string(x.type()) +
                   ")");
    size_ = n;
    x = along_axis(in_, moved_axis(in_, x, axis, 0), axis_, span_);
    Type t = in_.context().type_of(x);
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
    types_.push_back(std::move(t));
    params_.push_back(std::move(x));
  }

  void add_places() {
    auto& ctx = in_.context();
    Tensor places = ctx.apply1(*ctx.table().core().iota, {},
                               {{"shape", ir::Ints{*size_}}, {"axis", std::int64_t{-1}}, {"dtype", DType::I32}});
    if (!front_.dim.axes.empty()) {
      runtime::Sharding split;
      split.dims = {front_.dim};
      places = ctx.apply1(*ctx.table().core().shard, {places}, {{"layout", ir::Layout{front_.mesh, split}}});
    }
    types_.push_back(Type::of(DType::I32, {}));
    params_.push_back(std::move(places));
  }

  // Runs what was traced on all elements; the mapped dimension goes where `out:` says.
  Value results(const TracedCall& t, const Value& out_axes) {
    const ir::Graph& g = *t.traced.graph;
    std::vector<std::optional<int>> places;  // by leaf of the result
    axes_of(in_, out_axes, t.result.tree(), places, "`out:`", span_);
    std::vector<bool> wanted(g.results.size(), true);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (t.result.place(i) >= 0 && !places[i]) wanted[static_cast<std::size_t>(t.result.place(i))] = false;
    transform::Batched batched = batch(g, wanted);
    for (std::size_t r = 0; r < wanted.size(); ++r)
      if (!wanted[r] && batched.mapped[r])
        in_.fail("call", span_,
                 "`out: none` is for results that are the same for all; this one, " +
                     runtime::to_string(g.type(g.results[r])) + ", depends on what is mapped");
    const auto found = in_.context().run(std::make_shared<const ir::Graph>(std::move(batched.graph)),
                                         with_captured(std::move(params_), t.traced));
    std::size_t i = 0;
    return lang::map_leaves(t.result.filled(found), [&](const Value& leaf) -> Value {
      const std::optional<int> place = places[i++];
      if (!leaf.is_tensor() || !place) return leaf;
      const Tensor& x = leaf.tensor();
      return moved_axis(in_, x, 0, from_front(in_, *place, x.type().rank(), "`out:`", x.type(), span_));
    });
  }

  transform::Batched batch(const ir::Graph& g, const std::vector<bool>& wanted) {
    std::vector<bool> mapped(g.params.size(), false);
    std::fill_n(mapped.begin(), params_.size(), true);
    try {
      return transform::batch(in_.context().table(), g, mapped, *size_, wanted, front_);
    } catch (const grammar::Error& e) {
      if (e.diagnostic.code != "layout" || front_.dim.axes.empty()) throw;
      grammar::Diagnostic d = e.diagnostic;  // of the elements of all places together
      d.message = "vmap over a dimension that is split over " + runtime::axes_text(*front_.mesh, front_.dim.axes) +
                  ": " + d.message;
      d.notes.push_back(
          "inside of vmap no value that meets the mapped ones may be split over the axis that is mapped over");
      throw grammar::Error(std::move(d));
    }
  }

  Interpreter& in_;
  const Value& axis_;
  grammar::Span span_;
  lang::TreeStructure args_;
  std::vector<Tensor> params_;
  std::vector<Type> types_;  // of one element
  std::optional<std::int64_t> size_;
  Type sized_by_;
  transform::Front front_;
};

Value vmap(Interpreter& in, BoundArgs& a) {
  need_function(in, a, "vmap");
  Value f = a[0], in_axes = a[1], out_axes = a[2], named = a[3];
  return lang::transformed("vmap", "It is mapped over a dimension of its arguments.", f,
                           [=](Interpreter& i, std::vector<CallArg> args, grammar::Span span) {
                             return MappedCall(i, named, span)(f, in_axes, out_axes, std::move(args));
                           });
}

}  // namespace

void register_vmap(Interpreter& in) {
  in.define({"vmap", "vmap(f, in = 0, out = 0, axis = none)",
             "A function that maps f over a dimension of its arguments: `in:` and `out:` say which (none: not mapped), "
             "as integers or trees of them.",
             vmap});
}

}  // namespace shard::stdlib
