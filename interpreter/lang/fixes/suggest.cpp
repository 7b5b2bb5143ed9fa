#include "interpreter/lang/fixes/suggest.h"

#include <algorithm>

#include "grammar/stable_sort.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/fixes/conversion.h"
#include "interpreter/lang/report/written.h"

namespace shard::lang {

using namespace grammar;
using runtime::Sharding;
using Impl = Interpreter::Impl;

namespace {

std::size_t splits(const Sharding& s) { return s.split_axes().list().size() + s.unreduced.list().size(); }

}  // namespace

bool is_fixable(const Error& e, const Expr& at) {
  const Diagnostic& d = e.diagnostic;
  return (d.code == "layout" || d.code == "carry" || d.code == "type") && d.fixes.empty() && d.span == at.span;
}

bool takes_out(Impl& m, const ir::OpDef& op) {
  const auto& params = m.ctx.table().signature(op).params;
  return std::any_of(params.begin(), params.end(), [](const ir::Parameter& p) { return p.name == "out"; });
}

std::optional<Sharding> layout_of_lookup(Impl& m, const Value& table, const Value& index, std::int64_t axis) {
  if (!is_array(table) || !is_array(index)) return std::nullopt;
  const runtime::Type t = m.ctx.type_of(table.tensor()), i = m.ctx.type_of(index.tensor());
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

std::string whole_text(Impl& m, std::vector<Span> operands, Span whole) {
  stable_sort(operands, [](Span a, Span b) { return a.begin > b.begin; });
  std::string text = text_at(m.in.sources(), whole);
  for (const Span o : operands)
    text.replace(o.begin - whole.begin, o.end - o.begin, shard_fix(m.in.sources(), "", o, "P()").replacement);
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
Fix all_whole(Impl& m, const Candidates& candidates, Span whole) {
  std::vector<Span> operands;
  for (const Operand& o : candidates.operands()) operands.push_back(o.span);
  return {"lay the operands out anew", whole, whole_text(m, std::move(operands), whole)};
}

}  // namespace

void suggest(Impl& m, Error& e, const std::vector<Part>& parts, const Attempt& attempt, Span whole) {
  Candidates candidates(m, parts, attempt);
  if (!candidates.possible()) return;
  const std::vector<Found> found = found_among(candidates);
  std::vector<Fix>& fixes = e.diagnostic.fixes;
  if (auto fix = saying_out(candidates, attempt, found)) fixes.push_back(std::move(*fix));
  for (const Found& f : found) {
    if (fixes.size() >= kFixes) break;
    fixes.push_back(shard_fix(m.in.sources(), "lay an operand out anew", candidates.operands()[f.operand].span,
                              candidates.text(f.layout)));
  }
  if (fixes.empty() && candidates.with_all_whole())  // no single one helps
    fixes.push_back(all_whole(m, candidates, whole));
}

}  // namespace shard::lang
