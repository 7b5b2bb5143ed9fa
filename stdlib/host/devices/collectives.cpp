// Collectives as per-device code calls them. Each maps over trees, finds the axes in the current mesh (where manual
// code has made them manual), and applies the row; a value that does not vary along the axes is first cast to one that
// does, as JAX does.
#include "interpreter/ir/collective.h"
#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/staging/modes.h"
#include "stdlib/host/devices/along.h"
#include "stdlib/host/host.h"

#include <algorithm>

namespace shard::stdlib {
namespace {

using runtime::AxisId;

// `groups: [[0, 1], [2, 3]]`: equal parts that cover every position once.
ir::Attrs read_groups(Interpreter& in, const Value& v, const Along& a, const char* who, grammar::Span span) {
  if (v.is_none()) return {};
  ir::Ints flat;
  std::vector<bool> seen(static_cast<std::size_t>(a.size), false);
  std::int64_t size = -1;
  const auto list_in = [&](const Value& list) -> const std::vector<Value>& {
    if (!list.items())
      in.fail("type", span, std::string(who) + ": `groups:` is a list of lists of positions, like [[0, 1], [2, 3]]");
    return *list.items();
  };
  const auto need_cover = [&](bool covers) {
    if (!covers)
      in.fail("argument", span,
              std::string(who) + ": groups must cover each of the " + std::to_string(a.size) + " positions along " +
                  a.text + " exactly once");
  };
  for (const Value& g : list_in(v)) {
    const auto& members = list_in(g);
    if (size >= 0 && size != static_cast<std::int64_t>(members.size()))
      in.fail("argument", span, std::string(who) + ": all groups must be equally large");
    size = static_cast<std::int64_t>(members.size());
    for (const Value& m : members) {
      const std::int64_t i = in.integer(m, span, "a position in `groups:`");
      need_cover(i >= 0 && i < a.size && !seen[static_cast<std::size_t>(i)]);
      seen[static_cast<std::size_t>(i)] = true;
      flat.push_back(i);
    }
  }
  need_cover(static_cast<std::int64_t>(flat.size()) == a.size);
  return {{"groups", flat}, {"group_size", size}};
}

Value over_tree(Interpreter& in, const Value& tree, grammar::Span span, const std::function<Value(const Tensor&)>& f) {
  return lang::map_leaves(tree, [&](const Value& leaf) { return f(in.tensor(leaf, span)); });
}

std::int64_t dimension(Interpreter& in, const Value& v, int rank, const char* who, const char* what, const Tensor& x,
                       grammar::Span span) {
  std::int64_t d = in.integer(v, span, what);
  if (d < -rank || d >= rank)
    in.fail("shape", span,
            std::string(who) + ": " + what + " " + std::to_string(d) + " is out of range for " +
                runtime::to_string(x.type()));
  return d < 0 ? d : d - rank;
}

Tensor as_number(Interpreter& in, const Tensor& x) {
  return x.type().dtype == DType::Bool ? converted(in, x, DType::I32) : x;
}

// Over one mapped dimension or over mesh axes; only reductions take both at once.
bool over_mapped(Interpreter& in, const Along& where, const char* who, const Value& groups, grammar::Span span) {
  if (!where.over_mapped()) return false;
  if (where.mapped.size() > 1 || !where.axes.empty())
    in.fail("spec", span,
            std::string(who) + " over " + where.text +
                ": a dimension that vmap maps over goes alone; do one after the other");
  if (!groups.is_none())
    in.fail("argument", span,
            std::string(who) + ": `groups:` are parts of a mesh axis, and vmap maps over @" + where.mapped[0].name);
  return true;
}

enum class Reduction { Sum, Mean, Max, Min };

Tensor reduced(Interpreter& in, Tensor x, const Along& where, Reduction kind, const ir::Attrs& groups = {}) {
  const auto& core = in.context().table().core();
  const bool sum = kind == Reduction::Sum || kind == Reduction::Mean;
  for (const MappedAxis& axis : where.mapped)
    x = sum ? mapped_sum(in, x, axis) : mapped_extreme(in, x, axis, kind == Reduction::Max);
  if (where.axes.empty()) return x;
  return over_axes(in, sum ? *core.psum : kind == Reduction::Max ? *core.pmax : *core.pmin, x, where, groups);
}

Value reduce(Interpreter& in, BoundArgs& a, const char* who, Reduction kind) {
  Along where = along_axes(in, a[1], who, a.args[1].span);
  if (!a[2].is_none()) over_mapped(in, where, who, a[2], a.span);
  const ir::Attrs groups = read_groups(in, a[2], where, who, a.span);
  const std::int64_t n = groups.has("group_size") ? groups.integer("group_size") : where.size;
  const bool sum = kind == Reduction::Sum;
  return lang::map_leaves(a[0], [&](const Value& leaf) -> Value {
    // A host number is the same on every device: its sum is known while tracing.
    if (auto* i = leaf.get<std::int64_t>()) return sum ? Value(*i * n) : leaf;
    if (auto* d = leaf.get<double>()) return sum ? Value(*d * static_cast<double>(n)) : leaf;
    Tensor x = in.tensor(leaf, a.span);
    if (sum || kind == Reduction::Mean) x = as_number(in, x);
    Tensor total = reduced(in, x, where, kind, groups);
    if (kind == Reduction::Mean)
      total =
          in.context().apply1(*in.context().table().core().div, {total, in.context().scalar(static_cast<double>(n))});
    return total;
  });
}

Value all_gather(Interpreter& in, BoundArgs& a) {
  Along where = along_axes(in, a[1], "all_gather", a.args[1].span);
  bool tiled = in.truth(a[3], a.span);
  std::string to = in.text(a[4], a.span, "`to:`");
  if (to != "varying" && to != "same")
    in.fail("argument", a.span, "all_gather: `to:` is \"varying\" or \"same\", got \"" + to + "\"");
  const bool mapped = over_mapped(in, where, "all_gather", a[5], a.span);
  const ir::Attrs groups = read_groups(in, a[5], where, "all_gather", a.span);
  return over_tree(in, a[0], a.span, [&](const Tensor& x) -> Value {
    const std::int64_t dim = dimension(in, a[2], x.type().rank() + (tiled ? 0 : 1), "all_gather", "`axis:`", x, a.span);
    if (mapped) return mapped_gather(in, x, where.mapped[0], dim, tiled);
    return over_axes(in, *in.context().table().core().all_gather, x, where, groups,
                     {{"axis", dim}, {"tiled", tiled}, {"to", to}});
  });
}

Value psum_scatter(Interpreter& in, BoundArgs& a) {
  Along where = along_axes(in, a[1], "psum_scatter", a.args[1].span);
  bool tiled = in.truth(a[3], a.span);
  const bool mapped = over_mapped(in, where, "psum_scatter", a[4], a.span);
  const ir::Attrs groups = read_groups(in, a[4], where, "psum_scatter", a.span);
  return over_tree(in, a[0], a.span, [&](const Tensor& x) -> Value {
    const std::int64_t dim = dimension(in, a[2], x.type().rank(), "psum_scatter", "`axis:`", x, a.span);
    if (mapped) return mapped_scatter(in, as_number(in, x), where.mapped[0], dim, tiled, a.span);
    return over_axes(in, *in.context().table().core().psum_scatter, as_number(in, x), where, groups,
                     {{"axis", dim}, {"tiled", tiled}});
  });
}

Value all_to_all(Interpreter& in, BoundArgs& a) {
  Along where = along_axes(in, a[1], "all_to_all", a.args[1].span);
  bool tiled = in.truth(a[4], a.span);
  const bool mapped = over_mapped(in, where, "all_to_all", a[5], a.span);
  const ir::Attrs groups = read_groups(in, a[5], where, "all_to_all", a.span);
  return over_tree(in, a[0], a.span, [&](const Tensor& x) -> Value {
    const std::int64_t split = dimension(in, a[2], x.type().rank(), "all_to_all", "`split:`", x, a.span);
    const std::int64_t concat = dimension(in, a[3], x.type().rank(), "all_to_all", "`concat:`", x, a.span);
    if (mapped) return mapped_exchange(in, x, where.mapped[0], split, concat, tiled, a.span);
    return over_axes(in, *in.context().table().core().all_to_all, x, where, groups,
                     {{"split", split}, {"concat", concat}, {"tiled", tiled}});
  });
}

// Each source and each destination once, of those that there are.
void check_pairs(Interpreter& in, const ir::Pairs& pairs, const Along& where, const char* who, grammar::Span span) {
  std::vector<bool> sends(static_cast<std::size_t>(where.size), false), gets(sends);
  for (auto [from, to] : pairs) {
    const std::string pair = "(" + std::to_string(from) + ", " + std::to_string(to) + ")";
    if (from < 0 || from >= where.size || to < 0 || to >= where.size)
      in.fail("argument", span,
              std::string(who) + " over " + where.text + ": the pair " + pair + " names a device beyond the " +
                  std::to_string(where.size) + " there are (0 to " + std::to_string(where.size - 1) + ")");
    const bool source = sends[static_cast<std::size_t>(from)];
    if (source || gets[static_cast<std::size_t>(to)])
      in.fail("argument", span,
              std::string(who) + " over " + where.text + ": in " + pair + " the " +
                  (source ? "source " : "destination ") + std::to_string(source ? from : to) +
                  " comes a second time; each source and each destination may occur once");
    sends[static_cast<std::size_t>(from)] = gets[static_cast<std::size_t>(to)] = true;
  }
}

Value permuted(Interpreter& in, const Value& tree, const Along& where, ir::Pairs pairs, const char* who,
               grammar::Span span) {
  const bool mapped = over_mapped(in, where, who, Value(), span);
  check_pairs(in, pairs, where, who, span);
  return over_tree(in, tree, span, [&](const Tensor& x) -> Value {
    if (mapped) return mapped_permute(in, x, where.mapped[0], pairs);
    return over_axes(in, *in.context().table().core().ppermute, x, where, {}, {{"pairs", pairs}});
  });
}

Value ppermute(Interpreter& in, BoundArgs& a) {
  Along where = along_axes(in, a[1], "ppermute", a.args[1].span);
  ir::Pairs pairs;
  if (a[2].is_none() == a[3].is_none())
    in.fail("call", a.span, "ppermute takes a list of (source, destination) pairs, or `shift: k`");
  if (!a[3].is_none()) {
    std::int64_t k = in.integer(a[3], a.span, "`shift:`") % where.size;
    for (std::int64_t i = 0; i < where.size; ++i) pairs.emplace_back(i, (i + k + where.size) % where.size);
  } else {
    auto* list = a[2].items();
    if (!list)
      in.fail("type", a.span, "ppermute takes a list of (source, destination) pairs, this is " + lang::kind_name(a[2]));
    for (const Value& item : *list) {
      auto* pair = item.items();
      if (!pair || pair->size() != 2)
        in.fail("type", a.span, "ppermute takes pairs (source, destination), one of these is " + in.repr(item));
      pairs.emplace_back(in.integer((*pair)[0], a.span, "a source"), in.integer((*pair)[1], a.span, "a destination"));
    }
  }
  return permuted(in, a[0], where, std::move(pairs), "ppermute", a.span);
}

// [n - 1, 0, 1, ...]: from the device before.
ir::Ints round_the_ring(std::int64_t n) {
  ir::Ints out;
  for (std::int64_t k = 0; k < n; ++k) out.push_back((k + n - 1) % n);
  return out;
}

Value pshuffle(Interpreter& in, BoundArgs& a) {
  Along where = along_axes(in, a[1], "pshuffle", a.args[1].span);
  auto* sources = a[2].items();
  ir::Pairs pairs;
  std::vector<bool> seen(static_cast<std::size_t>(where.size), false);
  bool good = sources && static_cast<std::int64_t>(sources->size()) == where.size;
  for (std::int64_t k = 0; good && k < where.size; ++k) {
    std::int64_t from = in.integer((*sources)[static_cast<std::size_t>(k)], a.span, "a source");
    good = from >= 0 && from < where.size && !seen[static_cast<std::size_t>(from)];
    if (good) seen[static_cast<std::size_t>(from)] = true;
    pairs.emplace_back(from, k);
  }
  if (!good)
    in.fail("argument", a.span,
            "pshuffle takes the source of each of the " + std::to_string(where.size) + " devices along " + where.text +
                ", each once; this is " + in.repr(a[2]),
            note_if(where.size <= 16, "for example " + in.repr(list_of(round_the_ring(where.size)))));
  return permuted(in, a[0], where, std::move(pairs), "pshuffle", a.span);
}

// The place along mesh axes, or along mapped dimensions; along several, the first is the slowest.
Tensor place(Interpreter& in, const Value& v, const char* who, grammar::Span span) {
  auto& ctx = in.context();
  const auto& core = ctx.table().core();
  Along where = along_axes(in, v, who, span);
  if (!where.over_mapped())
    return ctx.apply1(*core.axis_index, {}, {{"axes", where.axes}, {"mesh", ir::Layout{where.mesh, {}}}});
  if (where.axes.empty() && where.mapped.size() == 1) return where.mapped[0].place;
  std::vector<std::string> names;
  add_axis_names(in, v, names, who, span);
  std::optional<Tensor> all;
  for (const std::string& name : names) {
    const Value one(std::shared_ptr<const lang::Axis>(std::make_shared<const lang::Axis>(lang::Axis{{name}})));
    Tensor at = place(in, one, who, span);
    Tensor size = ctx.scalar(along_axes(in, one, who, span).size);
    all = all ? ctx.apply1(*core.add, {ctx.apply1(*core.mul, {*all, size}), at}) : at;
  }
  return *all;
}

Value axis_index(Interpreter& in, BoundArgs& a) { return place(in, a[0], "axis_index", a.span); }

// The source keeps its value, the others give zeros, and the sum is what everybody gets.
Value pbroadcast(Interpreter& in, BoundArgs& a) {
  Along where = along_axes(in, a[1], "pbroadcast", a.args[1].span);
  std::int64_t source = in.integer(a[2], a.span, "`source:`");
  if (source < 0 || source >= where.size)
    in.fail("argument", a.span,
            "pbroadcast: there is no device " + std::to_string(source) + " along " + where.text + ", which has " +
                std::to_string(where.size));
  auto& ctx = in.context();
  const auto& core = ctx.table().core();
  Tensor chosen = ctx.apply1(*core.eq, {place(in, a[1], "pbroadcast", a.span), ctx.scalar(source)});
  return over_tree(in, a[0], a.span, [&](const Tensor& given) -> Value {
    Tensor x = as_number(in, given);
    Tensor zero =
        ctx.apply1(*core.convert, {ctx.scalar(std::int64_t{0})}, {{"dtype", x.type().dtype}, {"weak", false}});
    Tensor total = reduced(in, ctx.apply1(*core.select, {chosen, x, zero}), where, Reduction::Sum);
    return where.axes.empty() ? total : varying_along(in, total, where);
  });
}

Value axis_size(Interpreter& in, BoundArgs& a) { return along_axes(in, a[0], "axis_size", a.args[0].span, false).size; }

// What is cast to vary does not yet: of several axes the others are named alone.
void varies_nowhere(const Type& x, const Along& where, const BoundArgs& a) {
  std::vector<AxisId> already, others;
  for (auto id : where.axes)
    (x.varying.has(static_cast<AxisId>(id)) ? already : others).push_back(static_cast<AxisId>(id));
  if (already.empty()) return;
  grammar::Error e("varying", a.span,
                   "pcast: " + runtime::to_string(x) + " varies along " + runtime::axes_text(*where.mesh, already) +
                       " already" + (others.empty() ? ": leave the `pcast` out" : ""));
  if (!others.empty())
    e.diagnostic.fixes.push_back({"name the others alone", a.args[1].span, runtime::axes_text(*where.mesh, others)});
  throw e;
}

// Outside of per-device code nothing differs between devices: along axes that are not manual, to: "varying" is x
// itself.
Value pcast(Interpreter& in, BoundArgs& a) {
  std::string to = in.text(a[2], a.span, "`to:`");
  if (to != "varying" && to != "reduced" && to != "unreduced")
    in.fail("argument", a.span, "pcast: `to` is \"varying\", \"reduced\" or \"unreduced\", got \"" + to + "\"");
  const bool varying = to == "varying";
  Along where = along_axes(in, a[1], "pcast", a.args[1].span, !varying);
  if (where.over_mapped()) over_mapped(in, where, "pcast", Value(), a.span);
  std::erase_if(where.axes, [&](std::int64_t id) {
    return where.mesh->axes[static_cast<std::size_t>(id)].kind != runtime::AxisKind::Manual;
  });
  if (where.axes.empty()) return a[0];              // types say nothing of mapped dimensions either
  const bool tree = a[0].items() || a[0].fields();  // there, leaves that vary already pass
  return over_tree(in, a[0], a.span, [&](const Tensor& x) -> Value {
    if (tree && varying) return varying_along(in, x, where);
    if (varying) varies_nowhere(x.type(), where, a);
    return in.context().apply1(*in.context().table().core().pcast, {x},
                               {{"axes", where.axes}, {"to", to}, {"mesh", ir::Layout{where.mesh, {}}}});
  });
}

Value shard_map(Interpreter& in, BoundArgs& a) {
  lang::ManualSpecs specs;
  if (!a[0].callable()) in.fail("type", a.span, "shard_map takes a function, this is " + lang::kind_name(a[0]));
  if (a[1].is<std::shared_ptr<lang::Tuple>>())
    specs.in = *a[1].items();
  else if (a[1].is_none())
    specs.in_unknown = true;
  else
    specs.in = {a[1]}, specs.one_for_all = true;
  specs.out = a[2];
  if (!a[3].is_none()) {
    specs.all_axes = false;
    add_axis_names(in, a[3], specs.axes, "`axes:`", a.span);
  }
  if (!a[4].is_none()) {
    auto* mesh = a[4].get<std::shared_ptr<const lang::MeshValue>>();
    if (!mesh) in.fail("type", a.span, "`mesh:` takes a mesh, this is " + lang::kind_name(a[4]));
    specs.mesh = (*mesh)->mesh;
  }
  specs.check = in.truth(a[5], a.span);
  return lang::manual_function(a[0], "shard_map", std::move(specs), a.span);
}

}  // namespace

Tensor varying_along(Interpreter& in, const Tensor& x, const Along& a) {
  runtime::AxisSet missing;
  for (auto id : a.axes) missing.add(static_cast<AxisId>(id));
  missing = missing - x.type().varying;
  if (missing.empty()) return x;
  return in.context().apply1(*in.context().table().core().pcast, {x}, ir::to_varying(missing, a.mesh));
}

Tensor over_axes(Interpreter& in, const ir::OpDef& op, const Tensor& x, const Along& where, const ir::Attrs& groups,
                 const ir::Attrs& said) {
  ir::Attrs attrs{{"axes", where.axes}, {"mesh", ir::Layout{where.mesh, {}}}, {"written", true}};
  for (const ir::Attrs* more : {&said, &groups})
    for (const auto& [name, value] : *more) attrs.set(name, value);
  return in.context().apply1(op, {varying_along(in, x, where)}, std::move(attrs));
}

void add_axis_names(Interpreter& in, const Value& v, std::vector<std::string>& out, const char* who,
                    grammar::Span span) {
  if (auto* axis = v.get<std::shared_ptr<const lang::Axis>>()) {
    out.insert(out.end(), (*axis)->names.begin(), (*axis)->names.end());
    return;
  }
  if (auto* items = v.items()) {
    for (const Value& item : *items) add_axis_names(in, item, out, who, span);
    return;
  }
  grammar::Diagnostic d{
      "type",
      span,
      std::string(who) + " takes a mesh axis, like @X, @(X, Y) or [@X, @Y]; this is " + lang::kind_name(v),
      {},
      {},
      {}};
  if (v.is_string() && in.sources().text(span).starts_with('"'))
    d.fixes.push_back({"write the axis", span, "@" + v.str(), true});
  throw grammar::Error(std::move(d));
}

Along along_axes(Interpreter& in, const Value& v, const char* who, grammar::Span span, bool manual) {
  Along a;
  a.mesh = in.context().mesh();
  std::vector<std::string> names;
  add_axis_names(in, v, names, who, span);
  if (names.empty()) in.fail("spec", span, std::string(who) + " needs at least one axis");
  a.text = names.size() == 1 ? "@" + names[0] : "@(";
  for (std::size_t i = 0; names.size() > 1 && i < names.size(); ++i)
    a.text += (i ? ", " : "") + names[i] + (i + 1 == names.size() ? ")" : "");
  auto twice = [&](const std::string& name) { in.fail("spec", span, std::string(who) + " names @" + name + " twice"); };
  const std::vector<MappedAxis> around = mapped_axes(in);
  for (const std::string& name : names) {
    auto id = a.mesh ? a.mesh->find(name) : std::nullopt;
    const bool is_manual = id && a.mesh->axes[*id].kind == runtime::AxisKind::Manual;
    auto named = [&](const MappedAxis& m) { return m.name == name; };
    auto mapped = std::find_if(around.begin(), around.end(), named);
    if (mapped != around.end() && !is_manual) {
      if (std::any_of(a.mapped.begin(), a.mapped.end(), named)) twice(name);
      a.mapped.push_back(*mapped);
      a.size *= mapped->size;
      continue;
    }
    if (!a.mesh)
      in.fail("mesh", span,
              std::string(who) + " over @" + name + " needs a mesh: declare one, `mesh m = (@" + name + ": 8)`");
    for (AxisId axis : lang::axes_named(in, {name}, *a.mesh, span, who)) {
      const std::string& of_mesh = a.mesh->axes[axis].name;
      if (manual && a.mesh->axes[axis].kind != runtime::AxisKind::Manual)
        in.fail("mode", span,
                std::string(who) + " runs in per-device code only, and @" + of_mesh + " is not manual here",
                {"call it inside a `manual fn`, or `manual(@" + of_mesh + ") fn`"});
      if (std::find(a.axes.begin(), a.axes.end(), std::int64_t{axis}) != a.axes.end()) twice(of_mesh);
      a.axes.push_back(axis);
      a.size *= a.mesh->size_of(axis);
    }
  }
  return a;
}

void register_collectives(Interpreter& in) {
  auto reduction = [](const char* who, Reduction kind) {
    return [who, kind](Interpreter& i, BoundArgs& a) { return reduce(i, a, who, kind); };
  };
  // Their names are words of the language.
  auto define = [&](lang::Native native) {
    native.reserved = true;
    in.define(std::move(native));
  };
  define({"psum",
          "psum(x, along, groups = none)",
          "The sum of x over the devices along a mesh axis, on each of them: psum(x, @X). A host number counts once "
          "a device: psum(1, @X) is the axis size.",
          reduction("psum", Reduction::Sum),
          {"all_reduce", "allreduce"}});
  define({"pmean", "pmean(x, along, groups = none)", "The mean of x over the devices along a mesh axis.",
          reduction("pmean", Reduction::Mean)});
  define({"pmax", "pmax(x, along, groups = none)",
          "The largest x along a mesh axis; its gradient is shared among ties.", reduction("pmax", Reduction::Max)});
  define({"pmin", "pmin(x, along, groups = none)",
          "The smallest x along a mesh axis; its gradient is shared among ties.", reduction("pmin", Reduction::Min)});
  define({"all_gather", "all_gather(x, along, axis = 0, tiled = false, to = \"varying\", groups = none)",
          "The x of all devices along a mesh axis, joined along dimension `axis` (tiled) or stacked as a new one. "
          "`to: \"same\"`: typed as equal everywhere.",
          all_gather});
  define({"psum_scatter",
          "psum_scatter(x, along, axis = 0, tiled = false, groups = none)",
          "The sum over the devices along a mesh axis, split along dimension `axis`: the dual of all_gather.",
          psum_scatter,
          {"reduce_scatter"}});
  define({"all_to_all", "all_to_all(x, along, split = 0, concat = 0, tiled = false, groups = none)",
          "Piece i of the x of every device, joined.", all_to_all});
  define({"ppermute", "ppermute(x, along, pairs = none, shift = none)",
          "The x of the source device, for (source, destination) pairs, zeros without a source; `shift: k` sends "
          "from i to i + k, round the ring.",
          ppermute});
  define({"pshuffle", "pshuffle(x, along, sources)", "Device k gets the x of device sources[k].", pshuffle});
  define({"pbroadcast", "pbroadcast(x, along, source = 0)", "Every device gets the source's x.", pbroadcast});
  define({"axis_index", "axis_index(along)",
          "Where this device is along a mesh axis, counted from 0; over several axes, row-major.", axis_index});
  define({"axis_size", "axis_size(along)", "How many devices there are along a mesh axis.", axis_size});
  in.define({"shard_map", "shard_map(f, in = none, out = none, axes = none, mesh = none, check = true)",
             "f as the program of one device, as `manual fn` is: `in:` and `out:` are specs (trees, prefixes), `axes:` "
             "the mesh axes that become manual.",
             shard_map});
  in.define({"pcast", "pcast(x, along, to = \"varying\")",
             "x typed as a value that may differ between devices; moves nothing. Of a tree, leaves that differ already "
             "pass. Its gradient is the sum over the devices. Along axes that are not manual it is x, so that one "
             "function with a loop serves all modes.",
             pcast});
}

}  // namespace shard::stdlib
