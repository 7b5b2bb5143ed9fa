#include "interpreter/lang/fixes/suggest.h"

#include <algorithm>

#include "grammar/stable_sort.h"
#include "grammar/walk.h"
#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/hooks.h"
#include "interpreter/lang/fixes/conversion.h"
#include "interpreter/lang/report/written.h"

namespace shard::lang {

using namespace grammar;
using runtime::AxisId;
using runtime::Sharding;
using runtime::Type;
using trace::Tensor;

bool is_array(const Value& v) { return v.is_tensor() && v.tensor().valid() && !v.tensor().known(); }

namespace {

std::vector<Operand> operands_of(const std::vector<Part>& parts) {
  std::vector<Operand> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Value& v = parts[i].value;
    if (is_array(v) && parts[i].expr) out.push_back({i, -1, parts[i].expr->span, v.tensor()});
    const auto* items = v.items();
    const auto* written = parts[i].expr ? elements_of(*parts[i].expr) : nullptr;
    if (!items || !written || items->size() != written->size()) continue;
    for (std::size_t k = 0; k < items->size(); ++k)
      if (is_array((*items)[k]) && !(*written)[k].spread)
        out.push_back({i, static_cast<std::ptrdiff_t>(k), (*written)[k].value->span, (*items)[k].tensor()});
  }
  return out;
}

}  // namespace

Candidates::Candidates(Interpreter& in, const std::vector<Part>& parts, const Attempt& attempt)
    : in_(in), parts_(parts), attempt_(attempt), operands_(operands_of(parts)) {
  for (const Operand& o : operands_) {
    types_.push_back(in.context().type_of(o.tensor));
    if (types_.back().mesh && !mesh_) mesh_ = types_.back().mesh;
  }
}

std::optional<Sharding> Candidates::with(std::size_t i, const Sharding& layout) {
  std::vector<Type> types = types_;
  types[i].sharding = layout;
  types[i].mesh = mesh_;
  return run(types, [&](const std::vector<Value>& values) { return attempt_.with(values); });
}

std::optional<Sharding> Candidates::with_all_whole() {
  std::vector<Type> types = types_;
  for (Type& t : types) t.sharding = Sharding::replicated(t.shape.size()), t.mesh = mesh_;
  return run(types, [&](const std::vector<Value>& values) { return attempt_.with(values); });
}

std::optional<Sharding> Candidates::with_out(const Sharding& layout) {
  auto spec = std::make_shared<Spec>();
  auto names = [&](const std::vector<AxisId>& axes) {
    std::vector<std::string> out;
    for (AxisId a : axes) out.push_back(mesh_->axes[a].name);
    return out;
  };
  for (const auto& d : layout.dims) spec->dims.push_back({names(d.axes), false});
  while (!spec->dims.empty() && spec->dims.back() == SpecEntry{}) spec->dims.pop_back();
  const Value out{std::shared_ptr<const Spec>(std::move(spec))};
  return run(types_, [&](const std::vector<Value>&) { return attempt_.with_out(out); });
}

std::vector<Sharding> Candidates::near(std::size_t i) const {
  const Type& mine = types_[i];
  std::vector<Sharding> out;
  auto add = [&](Sharding s) {
    if (s == mine.sharding || std::find(out.begin(), out.end(), s) != out.end()) return;
    try {
      ir::check_layout(mine.shape, {mesh_, s});
    } catch (const runtime::RuntimeError&) { return; }
    out.push_back(std::move(s));
  };
  Sharding finished = mine.sharding;
  finished.unreduced = {};
  finished.unreduced_kind = {};
  add(finished);
  for (std::size_t j = 0; j < types_.size(); ++j) {  // reduced as another operand is, or not at all
    if (j == i) continue;
    Sharding s = mine.sharding;
    s.reduced = types_[j].sharding.reduced | types_[j].sharding.unreduced;
    if ((s.reduced & s.split_axes()).empty() && (s.reduced & s.unreduced).empty()) add(s);
  }
  Sharding bare = finished;
  bare.reduced = {};
  add(bare);
  for (std::size_t d = 0; d < bare.dims.size(); ++d) {
    if (bare.dims[d].axes.empty()) continue;
    Sharding s = bare;
    s.dims[d].axes.clear();
    add(s);
  }
  for (std::size_t j = 0; j < types_.size(); ++j) {
    if (j == i) continue;
    const Type& other = types_[j];  // aligned at the last dimension
    Sharding s = Sharding::replicated(mine.shape.size());
    for (std::size_t d = 0; d < mine.shape.size(); ++d) {
      const std::size_t from_end = mine.shape.size() - d;
      if (from_end > other.shape.size() || mine.shape[d] != other.shape[other.shape.size() - from_end]) continue;
      s.dims[d].axes = other.sharding.dims[other.shape.size() - from_end].axes;
    }
    add(s);
  }
  add(Sharding::replicated(mine.shape.size()));
  return out;
}

std::optional<Type> Candidates::type_of(const std::function<Value()>& operation) {
  return result(types_, [&](const std::vector<Value>&) { return operation(); });
}

std::optional<Sharding> Candidates::run(const std::vector<Type>& types, const Operation& operation) {
  const auto type = result(types, operation);
  return type ? std::optional<Sharding>(type->sharding) : std::nullopt;
}

std::optional<Type> Candidates::result(const std::vector<Type>& types, const Operation& operation) {
  struct Quiet {  // nothing runs and nothing is printed
    trace::Context& ctx;
    grammar::Span span;
    trace::TargetScope types;
    explicit Quiet(trace::Context& c) : ctx(c), span(c.span()), types(c, c.target("types")) {}
    ~Quiet() { ctx.set_span(span); }
  } quiet(in_.context());
  const ErrorsThrown thrown(in_.checker());
  std::optional<Type> out;
  try {
    in_.trace(
        types,
        [&](std::span<const Tensor> given) {
          std::vector<Value> values;
          for (const Part& p : parts_) values.push_back(p.value);
          for (std::size_t i = 0; i < operands_.size(); ++i) {
            Value& v = values[operands_[i].part];
            if (operands_[i].element < 0)
              v = given[i];
            else
              own_items(v)[static_cast<std::size_t>(operands_[i].element)] = given[i];
          }
          for (const Value& leaf : leaves(operation(values))) {
            if (!leaf.is_tensor()) continue;
            out = leaf.tensor().type();
            break;
          }
          return std::vector<Tensor>{};
        },
        true);
  } catch (const grammar::Error&) { return std::nullopt; } catch (const runtime::RuntimeError&) {
    return std::nullopt;
  }
  return out;
}

// ---- fixes made of what they find

namespace {

std::size_t splits(const Sharding& s) { return s.split_axes().list().size() + s.unreduced.list().size(); }

}  // namespace

bool is_fixable(const Error& e, const Expr& at) {
  const Diagnostic& d = e.diagnostic;
  return (d.code == "layout" || d.code == "carry" || d.code == "type") && d.fixes.empty() && d.span == at.span;
}

bool takes_out(Interpreter& in, const ir::OpDef& op) {
  const auto& params = in.context().table().signature(op).params;
  return std::any_of(params.begin(), params.end(), [](const ir::Parameter& p) { return p.name == "out"; });
}

std::optional<Sharding> layout_of_lookup(Interpreter& in, const Value& table, const Value& index, std::int64_t axis) {
  if (!is_array(table) || !is_array(index)) return std::nullopt;
  const runtime::Type t = in.context().type_of(table.tensor()), i = in.context().type_of(index.tensor());
  const auto rank = static_cast<std::int64_t>(t.shape.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  Sharding out;
  runtime::AxisSet used;
  const auto add = [&](const Sharding& from, std::size_t d) {
    out.dims.emplace_back();
    if (d >= from.dims.size()) return;
    for (runtime::AxisId a : from.dims[d].axes)
      if (used.has(a)) return;
    for (runtime::AxisId a : from.dims[d].axes) used.add(a);
    out.dims.back() = from.dims[d];
  };
  const auto at = static_cast<std::size_t>(axis);
  for (std::size_t d = 0; d < at; ++d) add(t.sharding, d);
  for (std::size_t d = 0; d < i.shape.size(); ++d) add(i.sharding, d);
  for (std::size_t d = at + 1; d < t.shape.size(); ++d) add(t.sharding, d);
  return out;
}

std::string whole_text(Interpreter& in, std::vector<Span> operands, Span whole) {
  stable_sort(operands, [](Span a, Span b) { return a.begin > b.begin; });
  std::string text = text_at(in.sources(), whole);
  for (const Span o : operands)
    text.replace(o.begin - whole.begin, o.end - o.begin, shard_fix(in.sources(), "", o, "P()").replacement);
  return text;
}

namespace {

struct Found {
  std::size_t operand;
  Sharding layout, result;
};

// For each operand the layout that leaves most of the result split; the best first.
std::vector<Found> found_among(Candidates& candidates) {
  std::vector<Found> found;
  for (std::size_t i = 0; i < candidates.operands().size(); ++i) {
    std::optional<Found> best;
    for (const Sharding& s : candidates.near(i))
      if (auto result = candidates.with(i, s); result && (!best || splits(*result) > splits(best->result)))
        best = Found{i, s, *result};
    if (best) found.push_back(std::move(*best));
  }
  stable_sort(found, [](const Found& a, const Found& b) { return splits(a.result) > splits(b.result); });
  return found;
}

// Where the blocks of the operand lie already, of a result of this shape with the elements in the same order: the split
// dimension begins after as many elements in both.
std::optional<Sharding> where_they_lie(const runtime::Type& from, const runtime::Shape& to, const runtime::Mesh& mesh) {
  if (runtime::numel(from.shape) != runtime::numel(to)) return std::nullopt;
  Sharding out = Sharding::replicated(to.size());
  for (std::size_t d = 0; d < from.sharding.dims.size(); ++d) {
    const auto& dim = from.sharding.dims[d];
    if (dim.axes.empty()) continue;
    const auto before = [](const runtime::Shape& s, std::size_t n) {
      return runtime::numel(runtime::Shape(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(n)));
    };
    std::size_t e = 0;
    while (e < to.size() && (before(to, e) != before(from.shape, d) || to[e] == 1)) ++e;
    if (e == to.size() || to[e] % runtime::parts(mesh, dim)) return std::nullopt;
    out.dims[e] = dim;
  }
  return out;
}

// The result's layout said with `out:`.
std::optional<Fix> saying_out(Candidates& candidates, const Attempt& attempt, const std::vector<Found>& found) {
  if (!attempt.with_out) return std::nullopt;
  std::vector<Sharding> wanted;
  if (attempt.in_place && candidates.operands().size() == 1) {
    const auto whole = candidates.type_of([&] { return attempt.with_out(Value(std::make_shared<const Spec>())); });
    const auto free = whole ? where_they_lie(candidates.type(0), whole->shape, candidates.mesh()) : std::nullopt;
    if (free && candidates.with_out(*free)) {
      Fix fix = attempt.out_fix(candidates.text(*free));
      fix.advice += ", which sends nothing";
      return fix;
    }
  }
  if (attempt.likely) wanted.push_back(*attempt.likely);
  for (const Found& f : found) wanted.push_back(f.result);
  wanted.push_back({});
  for (Sharding& s : wanted) {
    s.unreduced = {};
    s.reduced = {};
    if (candidates.with_out(s)) return attempt.out_fix(candidates.text(s));
  }
  return std::nullopt;
}

// All operands whole, in one piece of text.
Fix all_whole(Interpreter& in, const Candidates& candidates, Span whole) {
  std::vector<Span> operands;
  for (const Operand& o : candidates.operands()) operands.push_back(o.span);
  return {"lay the operands out anew", whole, whole_text(in, std::move(operands), whole)};
}

}  // namespace

void suggest(Interpreter& in, Error& e, const std::vector<Part>& parts, const Attempt& attempt, Span whole) {
  Candidates candidates(in, parts, attempt);
  if (!candidates.possible()) return;
  const std::vector<Found> found = found_among(candidates);
  std::vector<Fix>& fixes = e.diagnostic.fixes;
  if (auto fix = saying_out(candidates, attempt, found)) fixes.push_back(std::move(*fix));
  for (const Found& f : found) {
    if (fixes.size() >= kFixes) break;
    fixes.push_back(shard_fix(in.sources(), "lay an operand out anew", candidates.operands()[f.operand].span,
                              candidates.text(f.layout)));
  }
  if (fixes.empty() && candidates.with_all_whole())  // no single one helps
    fixes.push_back(all_whole(in, candidates, whole));
}

}  // namespace shard::lang
