#include "interpreter/ir/explicit_law.h"

#include <algorithm>
#include <optional>

#include "interpreter/ir/linear.h"

namespace shard::ir {
namespace {

using runtime::AxisId;
using runtime::AxisSet;
using runtime::Mesh;
using runtime::RuntimeError;
using Axes = std::vector<AxisId>;

[[noreturn]] void refuse(const std::string& message) { throw RuntimeError("layout", message); }

std::string operand_types(const OpCall& call) {
  std::string out;
  for (std::size_t i = 0; i < call.in.size(); ++i)
    out += (i == 0 ? "" : i + 1 == call.in.size() ? " and " : ", ") + runtime::to_string(call.in[i]);
  return out;
}

std::string use(const OpCall& call) {
  return std::string(call.op.name) + (call.in.empty() ? "" : " of " + operand_types(call));
}

bool is_elementwise(const OpDef& op) { return std::holds_alternative<runtime::Code>(op.kernel); }

// Whether an operand is a term of what is added up or scaled, rather than what tells how: a condition, a position.
bool is_term(const std::optional<Linear>& lin, std::size_t operand) { return !lin || lin->scales || lin->in[operand]; }

// Hands a dimension's axes out to its factors, the major one first; false where an axis does not divide what is left.
bool hand_out(const Mesh& mesh, const Axes& axes, const DimFactors& dim, const FactorRule& rule,
              std::vector<Axes>& given) {
  std::size_t at = 0;
  for (int f : dim) {
    std::int64_t left = rule.factor(f).size;
    while (at < axes.size() && (left != 1 || mesh.size_of(axes[at]) == 1)) {
      if (left % mesh.size_of(axes[at])) return false;
      left /= mesh.size_of(axes[at]);
      given[static_cast<std::size_t>(f)].push_back(axes[at++]);
    }
  }
  return at == axes.size();
}

// The factor that a broadcast dimension becomes in the result, where dimensions align from the last one; -1 where they
// do not.
int grown_to(const FactorRule& rule, std::size_t operand, std::size_t d) {
  const ValueFactors &mine = rule.operands[operand], &out = rule.results[0];
  if (rule.results.size() != 1 || mine.size() > out.size()) return -1;
  const std::size_t extra = out.size() - mine.size();
  for (std::size_t k = 0; k < mine.size(); ++k)
    if (!mine[k].empty() && mine[k] != out[extra + k]) return -1;
  return out[extra + d].size() == 1 ? out[extra + d][0] : -1;
}

// Where a factor stands in the result.
std::string dimension_of(const FactorRule& rule, int f) {
  for (const ValueFactors& r : rule.results)
    if (const auto d = dimension_with(r, f)) return "dimension " + std::to_string(*d) + " of the result";
  return "the same dimension";
}

// What each factor is split over, agreed on by all operands.
std::vector<Axes> agree(const OpCall& call, const FactorRule& rule, const Mesh& mesh) {
  std::vector<Axes> chosen(rule.factors.size());
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    std::vector<Axes> given(rule.factors.size());
    for (std::size_t d = 0; d < call.in[i].sharding.dims.size(); ++d) {
      const Axes& axes = call.in[i].sharding.dims[d].axes;
      if (rule.operands[i][d].empty() && !axes.empty() && runtime::parts(mesh, call.in[i].sharding.dims[d]) == 1) {
        if (const int f = grown_to(rule, i, d); f >= 0) given[static_cast<std::size_t>(f)] = axes;
        continue;  // one part: of a dimension of size 1 that is repeated
      }
      if (!axes.empty() && !hand_out(mesh, axes, rule.operands[i][d], rule, given))
        refuse(use(call) + ": its parts are not divisible by " + axes_text(mesh, axes) +
               ". Say the result's layout with `out: P(...)`, or `shard` the operand first");
    }
    for (std::size_t f = 0; f < given.size(); ++f) {
      if (given[f].empty()) continue;
      if (chosen[f].empty()) {
        chosen[f] = given[f];
        continue;
      }
      if (rule.factors[f].kind == FactorKind::Reduced)
        refuse(use(call) + ": the summed dimension is split on both sides (" + axes_text(mesh, chosen[f]) + " and " +
               axes_text(mesh, given[f]) +
               "), so the result's layout is ambiguous. Say it with `out: P(...)`, or `shard` an operand first");
      if (chosen[f] != given[f])
        refuse(use(call) + ": " + dimension_of(rule, static_cast<int>(f)) + " is split over " +
               axes_text(mesh, chosen[f]) + " and over " + axes_text(mesh, given[f]) + ". `shard` one of them first");
    }
  }
  return chosen;
}

// A result's dimensions from those of the factors.
void lay_out(const OpCall& call, const FactorRule& rule, const std::vector<Axes>& chosen, const Mesh& mesh,
             std::size_t r, Type& t) {
  AxisSet used;
  auto place = [&](AxisId a) {  // of an axis among the dimensions before
    for (std::size_t d = 0; d < t.shape.size(); ++d)
      for (AxisId b : t.sharding.dims[d].axes)
        if (a == b) return std::to_string(d);
    return std::string("0");
  };
  for (std::size_t d = 0; d < t.shape.size(); ++d) {
    Axes axes;
    bool whole_before = false;  // a factor before this one is not split: what follows it would not be contiguous
    for (int f : rule.results[r][d]) {
      const Axes& more = chosen[static_cast<std::size_t>(f)];
      if (!more.empty() && whole_before)
        refuse(use(call) + ": a whole dimension before one that is split over " + axes_text(mesh, more) +
               " cannot be merged with it. Say the result's layout with `out: P(...)`, or `shard` the operand first");
      whole_before |= more.empty() && rule.factor(f).size > 1;
      axes.insert(axes.end(), more.begin(), more.end());
    }
    const std::int64_t n = mesh.size_of(axes);
    if (t.shape[d] % n)
      refuse(use(call) + ": dimension " + std::to_string(d) + " of the result has size " + std::to_string(t.shape[d]) +
             ", which " + axes_text(mesh, axes) + " (" + std::to_string(n) +
             ") does not divide. `shard` the operand first, or say the layout with `out: P(...)`");
    for (AxisId a : axes) {
      if (used.has(a))
        refuse(use(call) + " would split two dimensions of its result over @" + mesh.axes[a].name + ", " + place(a) +
               " and " + std::to_string(d) + ". `shard` one operand first" +
               (call.op.signature.find("out:") != std::string_view::npos
                    ? ", or say the result's layout with `out: P(...)`"
                    : ""));
      used.add(a);
    }
    t.sharding.dims[d].axes = std::move(axes);
  }
}

std::string with_axes(const char* word, const Mesh& mesh, AxisSet axes) {
  return std::string(word) + " over " + axes_text(mesh, axes.list());
}

// A product, or a sum of products: linear in each operand while the others are fixed, the summed dimensions inside.
bool is_contraction(const OpCall& call, const std::optional<Linear>& lin) {
  return lin && lin->scales && !is_elementwise(call.op);
}

const char* const kFinish = ". Finish the sum first: `shard x as P(...)`";

// Terms of operands that are added up: all unreduced alike.
void pass_added(const OpCall& call, const Linear& lin, AxisSet unreduced, const std::string& axes) {
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const AxisSet mine = call.in[i].sharding.unreduced;
    const bool number = !is_elementwise(call.op) && call.in.size() > 1 && call.in[i].rank() == 0;
    if (number && mine.empty() && (!lin.in[i] || known_number(call, i) == 0.0)) continue;  // to pad with
    if (lin.in[i] ? !(mine == unreduced) : !mine.empty())
      refuse(use(call) +
             (lin.in[i] ? ": one is a sum unreduced over " + axes +
                              " and the other is not, so adding them would count it once a device"
                        : ": what it depends on is a sum unreduced over " + axes) +
             kFinish);
  }
}

// A term and what it is multiplied or divided by.
void pass_scaled(const OpCall& call, const Linear& lin, AxisSet unreduced, const std::string& axes) {
  int holders = 0;
  bool quotient = false;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    holders += !call.in[i].sharding.unreduced.empty();
    quotient |= !lin.in[i];
  }
  for (const Type& t : call.in)
    if (t.sharding.unreduced.empty() && t.rank() > 0 && !t.sharding.reduced.contains(unreduced))
      refuse(use(call) + ": a sum unreduced over " + axes + " may be " + (quotient ? "divided" : "multiplied") +
             " by a value that is `reduced` over " + axes + " or by a number" + kFinish);
  if (holders > 1) refuse(use(call) + ": a product of two unreduced sums is not a sum of products" + kFinish);
}

// Whether a sum unreduced over `unreduced` may pass.
void pass_unreduced(const OpCall& call, const std::optional<Linear>& lin, const Mesh& mesh, AxisSet unreduced,
                    runtime::UnreducedKind kind) {
  const std::string axes = axes_text(mesh, unreduced.list());
  bool may = lin && kind == runtime::UnreducedKind::Sum && !is_contraction(call, lin);
  for (std::size_t i = 0; may && !lin->jointly && i < call.in.size(); ++i)
    may = lin->in[i] || call.in[i].sharding.unreduced.empty();
  if (!may) refuse(use(call) + " is not linear, so it cannot be taken of a sum unreduced over " + axes + kFinish);
  if (lin->jointly) pass_added(call, *lin, unreduced, axes);
  if (lin->scales) pass_scaled(call, *lin, unreduced, axes);
  if (call.attrs.has("rounds")) return;  // a `cast` of the script says itself that terms are rounded (JAX lets it pass)
  if (!lin->exact)
    refuse(use(call) + " would round the terms of a sum unreduced over " + axes + " one by one" + kFinish);
}

// Over which axes the operands are reduced, beside those of an unreduced sum that they scale: they agree.
AxisSet pass_reduced(const OpCall& call, const std::optional<Linear>& lin, const Mesh& mesh, AxisSet unreduced) {
  bool only_numbers = true;  // a condition between numbers: the result is as the condition is
  for (std::size_t i = 0; i < call.in.size(); ++i) only_numbers &= !is_term(lin, i) || call.in[i].rank() == 0;
  AxisSet reduced;
  for (std::size_t i = 0; i < call.in.size(); ++i)
    if (is_term(lin, i) || only_numbers) reduced |= call.in[i].sharding.reduced - unreduced;
  if (reduced.empty() || !(is_elementwise(call.op) || (lin && lin->jointly))) return reduced;
  bool writes = false;  // into an array, at places: what was never laid out follows it
  for (std::size_t i = 0; i < call.in.size(); ++i) writes |= !is_elementwise(call.op) && !is_term(lin, i);
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const Type& t = call.in[i];
    const AxisSet mine = t.sharding.reduced - unreduced;
    if (mine == reduced || !is_term(lin, i) || (t.rank() == 0 && mine.empty()) || (writes && !t.mesh)) continue;
    const std::string all = axes_text(mesh, reduced.list());
    const bool split = !(t.sharding.split_axes() & reduced).empty();
    refuse(use(call) + ": one is reduced over " + all + ", the other " +
           (split          ? "split over it"
            : mine.empty() ? "is not"
                           : with_axes("is", mesh, mine) + " only") +
           ". Bring both to one layout with `shard x as P(...)` or `shard x as P(reduced: " + all + ")`");
  }
  return reduced;
}

// Unreduced sums and reduced values (jax: sharding in types, unreduced and reduced).
void pass_unreduced_sums(const OpCall& call, const Mesh& mesh, std::vector<Type>& results) {
  AxisSet unreduced, reduced;
  runtime::UnreducedKind kind = runtime::UnreducedKind::Sum;
  for (const Type& t : call.in) {
    unreduced |= t.sharding.unreduced;
    reduced |= t.sharding.reduced;
    if (!t.sharding.unreduced.empty()) kind = t.sharding.unreduced_kind;
  }
  if (unreduced.empty() && reduced.empty()) {
    for (Type& t : results) t.sharding.unreduced = t.sharding.reduced = {};
    return;
  }
  const std::optional<Linear> lin = linear(call);
  if (!unreduced.empty()) pass_unreduced(call, lin, mesh, unreduced, kind);
  reduced = reduced.empty() || is_contraction(call, lin) ? AxisSet{} : pass_reduced(call, lin, mesh, unreduced);
  for (Type& t : results) {
    t.sharding.unreduced = unreduced;
    if (!unreduced.empty()) t.sharding.unreduced_kind = kind;
    t.sharding.reduced = reduced;
  }
}

// What is left unreduced must be of the kind that the operation reduces by, and truth values have no sum.
void check_kind(const OpCall& call, const FactorRule& rule, const Layout& out, const Type& t) {
  using runtime::UnreducedKind;
  const UnreducedKind asked = out.sharding.unreduced_kind;
  const auto name = [](UnreducedKind p) {
    return p == UnreducedKind::Sum ? "sum" : p == UnreducedKind::Max ? "maximum" : "minimum";
  };
  if (asked == UnreducedKind::Sum) check_summable(t.dtype, std::string(call.op.name));
  for (const Factor& f : rule.factors) {
    if (f.kind != FactorKind::Reduced) continue;
    if (f.reduce == FactorReduce::Prod)
      refuse(use(call) + " gives a product, which cannot be left unreduced: leave `unreduced` out of `out:`");
    const UnreducedKind mine = f.reduce == FactorReduce::Max   ? UnreducedKind::Max
                               : f.reduce == FactorReduce::Min ? UnreducedKind::Min
                                                               : UnreducedKind::Sum;
    if (mine == asked) continue;
    const std::string said = mine == UnreducedKind::Sum   ? "without `kind:`"
                             : mine == UnreducedKind::Max ? "with `kind: \"max\"`"
                                                          : "with `kind: \"min\"`";
    refuse(use(call) + " leaves a " + name(mine) + " unreduced, not a " + name(asked) + ": write `out:` " + said);
  }
}

// `out: P(...)`: it is the result's layout; an unreduced sum must be over axes that the sum really runs over.
void apply_out(const OpCall& call, const FactorRule& rule, const Layout& out, Type& t) {
  check_layout(t.shape, out);
  AxisSet used = out.sharding.unreduced | out.sharding.reduced;
  for (const auto& d : out.sharding.dims)
    for (AxisId a : d.axes) {
      if (used.has(a))
        refuse(use(call) + ": `out:` lays the result out over @" + out.mesh->axes[a].name + " in two ways");
      used.add(a);
    }
  for (AxisId a : out.sharding.used_axes().list())
    if (out.mesh->axes[a].kind != runtime::AxisKind::Explicit && !out.sharding.unreduced.empty())
      refuse(std::string(call.op.name) + ": `unreduced` is for explicit axes, @" + out.mesh->axes[a].name +
             " is not one");
  const std::optional<Linear> lin = linear(call);
  AxisSet unreduced = out.sharding.unreduced & out.mesh->of_kind(runtime::AxisKind::Explicit);
  if (!unreduced.empty()) {
    check_kind(call, rule, out, t);
    const AxisSet summed = summed_axes(call, rule);
    const bool sums = std::any_of(rule.factors.begin(), rule.factors.end(),
                                  [](const Factor& f) { return f.kind == FactorKind::Reduced; });
    // Where the result is no sum of all that is given, a whole value is placed: the first device of the axes keeps it.
    const bool placed = out.sharding.unreduced_kind == runtime::UnreducedKind::Sum &&
                        (!sums || (lin && std::find(lin->in.begin(), lin->in.end(), false) != lin->in.end()));
    if (!summed.contains(unreduced) && !placed)
      refuse(use(call) + ": `out:` leaves a sum unreduced over " + axes_text(*out.mesh, out.sharding.unreduced.list()) +
             (summed.empty() ? std::string(", but no summed dimension is split")
                             : ", but the summed dimensions are split over " + axes_text(*out.mesh, summed.list())) +
             (call.in.size() > 1 ? " on both sides alike" : ""));
  }
  AxisSet left;  // unreduced by the operands
  runtime::UnreducedKind kind = runtime::UnreducedKind::Sum;
  for (const Type& in : call.in) {
    left |= in.sharding.unreduced;
    if (!in.sharding.unreduced.empty()) kind = in.sharding.unreduced_kind;
  }
  const bool moves = lin && !lin->scales && lin->exact;
  if (!left.empty() && (!moves || kind != runtime::UnreducedKind::Sum))
    pass_unreduced(call, lin, *out.mesh, left, kind);
  if (!out.sharding.reduced.empty() && is_contraction(call, lin)) {
    const std::string axes = axes_text(*out.mesh, out.sharding.reduced.list());
    refuse(use(call) + ": a product is not reduced over " + axes +
           ". `shard` what comes out: `shard x as P(reduced: " + axes + ")`");
  }
  const bool sum = lin && lin->jointly && std::any_of(rule.factors.begin(), rule.factors.end(), [](const Factor& f) {
                     return f.kind == FactorKind::Reduced;
                   });
  left = sum ? left - out.sharding.unreduced : AxisSet{};  // a sum of an unreduced sum stays unreduced (JAX)
  if (!(left & out.sharding.used_axes()).empty())
    refuse(use(call) + ": a sum unreduced over " + axes_text(*out.mesh, left.list()) +
           " stays so, and `out:` names the same axes. Finish the sum first: `shard x as P(...)`");
  t = with_explicit_layout(std::move(t), out);
  t.sharding.unreduced |= left;
  if (!left.empty()) t.mesh = out.mesh;
}

}  // namespace

void check_summable(runtime::DType dtype, const std::string& what) {
  if (dtype == runtime::DType::Bool || dtype == runtime::DType::Key)
    refuse(what + ": a sum of " + (dtype == runtime::DType::Bool ? "truth values" : "keys") + " cannot be unreduced" +
           (dtype == runtime::DType::Bool ? ": make them numbers first, `cast(x, i32)`" : ""));
}

AxisSet summed_axes(const OpCall& call, const FactorRule& rule) {
  // By factor what splits it; one that several operands have counts where they split it alike.
  std::vector<std::optional<Axes>> by_factor(rule.factors.size());
  for (std::size_t i = 0; i < call.in.size(); ++i)
    for (std::size_t d = 0; d < call.in[i].sharding.dims.size(); ++d) {
      std::vector<Axes> given(rule.factors.size());
      if (call.in[i].mesh)
        hand_out(*call.in[i].mesh, call.in[i].sharding.dims[d].axes, rule.operands[i][d], rule, given);
      for (int f : rule.operands[i][d]) {
        const auto at = static_cast<std::size_t>(f);
        if (rule.factors[at].kind != FactorKind::Reduced) continue;
        if (!by_factor[at])
          by_factor[at] = given[at];
        else if (*by_factor[at] != given[at])
          by_factor[at] = Axes{};
      }
    }
  AxisSet summed;
  for (const auto& axes : by_factor) summed |= AxisSet::of(axes.value_or(Axes{}));
  for (const Type& in : call.in) summed |= in.sharding.unreduced;
  return summed;
}

void check_layout(const runtime::Shape& shape, const Layout& layout) {
  const auto& dims = layout.sharding.dims;
  if (dims.size() > shape.size())
    throw RuntimeError("spec", runtime::to_string(*layout.mesh, layout.sharding) + " has " +
                                   std::to_string(dims.size()) + " entries, the array has " +
                                   std::to_string(shape.size()) + " dimensions " + runtime::to_string(shape));
  for (std::size_t d = 0; d < dims.size(); ++d) {
    std::int64_t n = runtime::parts(*layout.mesh, dims[d]);
    if (shape[d] % n)
      throw RuntimeError("spec", "dimension " + std::to_string(d) + " of size " + std::to_string(shape[d]) +
                                     " cannot be split over " + axes_text(*layout.mesh, dims[d].axes) + " of size " +
                                     std::to_string(n) + ": " + std::to_string(n) + " does not divide " +
                                     std::to_string(shape[d]));
  }
}

Type with_explicit_layout(Type type, const Layout& layout) {
  const Mesh& mesh = *layout.mesh;
  AxisSet shown = mesh.of_kind(runtime::AxisKind::Explicit);
  type.sharding = runtime::Sharding::replicated(type.shape.size());
  for (std::size_t d = 0; d < layout.sharding.dims.size(); ++d)
    for (AxisId a : layout.sharding.dims[d].axes)
      if (shown.has(a)) type.sharding.dims[d].axes.push_back(a);
  type.sharding.unreduced = layout.sharding.unreduced & shown;
  type.sharding.reduced = layout.sharding.reduced & shown;
  type.sharding.unreduced_kind = layout.sharding.unreduced_kind;
  bool shows = !type.sharding.used_axes().empty() || !type.varying.empty();
  type.mesh = shows ? layout.mesh : nullptr;
  return type;
}

void apply_explicit_law(const OpCall& call, const FactorRule& rule, std::vector<Type>& results) {
  runtime::MeshRef mesh;
  bool laid_out = false;
  for (const Type& t : call.in) {
    laid_out |= !t.sharding.used_axes().empty();
    if (!t.mesh) continue;
    if (mesh && !same_devices(*mesh, *t.mesh))
      throw RuntimeError("mesh", use(call) + ": they live on two meshes, " + runtime::to_string(*mesh) + " and " +
                                     runtime::to_string(*t.mesh) + ". Move one with `shard x as P(...) on m`");
    if (!mesh) mesh = t.mesh;
  }
  const Layout* out = call.attrs.has("out") ? &call.attrs.layout("out") : nullptr;
  if (out && out->mesh) {
    apply_out(call, rule, *out, results.at(0));
    return;
  }
  if (!mesh) return;
  for (Type& t : results)
    if (!t.varying.empty()) t.mesh = mesh;
  if (!laid_out) return;
  if (call.op.explicit_refuses)
    if (auto why = call.op.explicit_refuses(call, rule)) refuse(*why);
  std::vector<Axes> chosen = agree(call, rule, *mesh);
  for (std::size_t r = 0; r < results.size(); ++r) lay_out(call, rule, chosen, *mesh, r, results[r]);
  pass_unreduced_sums(call, *mesh, results);
  for (const Type& t : results)
    if (AxisSet both = t.sharding.split_axes() & (t.sharding.unreduced | t.sharding.reduced); !both.empty())
      refuse(use(call) + " would split its result over " + axes_text(*mesh, both.list()) + ", over which it is also " +
             (t.sharding.unreduced.empty() ? "reduced" : "an unreduced sum") +
             ". `shard` an operand first: `shard x as P(...)`");
  for (Type& t : results) t.mesh = t.sharding.used_axes().empty() && t.varying.empty() ? nullptr : mesh;
}

}  // namespace shard::ir
