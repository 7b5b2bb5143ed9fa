#include "stdlib/ops/rows.h"

#include <algorithm>
#include <numeric>

#include "interpreter/ir/explicit_law.h"
#include "runtime/kernels/kernels.h"

namespace shard::stdlib {

using runtime::AxisKind;
using runtime::Sharding;

void fail(std::string_view code, const std::string& facts) { throw RuntimeError(std::string(code), facts); }

std::string_view name_in(std::string_view signature) { return signature.substr(0, signature.find('(')); }

OpDef row_of(std::string_view signature, std::string_view doc, ir::Factors factors) {
  return {.name = name_in(signature), .signature = signature, .doc = doc, .factors = std::move(factors)};
}

OpDef internal_row(std::string_view signature, std::string_view doc, ir::Factors factors) {
  OpDef row = row_of(signature, doc, std::move(factors));
  row.internal = true;
  row.dtype.operands = Operands::AsIs;
  return row;
}

// ---- attributes

bool flag_or(const Attrs& attrs, std::string_view name, bool otherwise) {
  return attrs.has(name) ? attrs.flag(name) : otherwise;
}

std::int64_t integer_or(const Attrs& attrs, std::string_view name, std::int64_t otherwise) {
  if (!attrs.has(name)) return otherwise;
  if (auto* list = std::get_if<Ints>(attrs.find(name)); list && list->size() == 1) return list->front();
  return attrs.integer(name);
}

std::optional<Ints> ints_if(const Attrs& attrs, std::string_view name) {
  if (!attrs.has(name)) return std::nullopt;
  if (auto* one = std::get_if<std::int64_t>(attrs.find(name))) return Ints{*one};
  return attrs.ints(name);
}

std::optional<DType> dtype_if(const Attrs& attrs, std::string_view name) {
  if (!attrs.has(name)) return std::nullopt;
  return attrs.dtype(name);
}

std::optional<double> number_if(const Attrs& attrs, std::string_view name) {
  if (!attrs.has(name)) return std::nullopt;
  return attrs.number(name);
}

bool is_whole_number(const Attrs& attrs, std::string_view name) {
  return !attrs.has(name) || std::holds_alternative<std::int64_t>(*attrs.find(name));
}

std::string text_or(const Attrs& attrs, std::string_view name, std::string_view otherwise) {
  return attrs.has(name) ? attrs.text(name) : std::string(otherwise);
}

Attrs with_out(Attrs attrs, const Attrs& from) {
  if (from.has("out")) attrs.set("out", *from.find("out"));
  return attrs;
}

Attrs with_leading_out(const Attrs& attrs) {
  Attrs made = attrs;
  if (attrs.has("out")) {
    Layout out = attrs.layout("out");
    out.sharding.dims.insert(out.sharding.dims.begin(), runtime::DimSharding{});
    made.set("out", out);
  }
  return made;
}

// ---- axes

std::int64_t from_end(std::int64_t axis, std::int64_t rank, std::string_view op) {
  if (axis < -rank || axis >= rank)
    fail("shape", std::string(op) + ": axis " + std::to_string(axis) + " is out of range for an array of rank " +
                      std::to_string(rank));
  return axis < 0 ? axis : axis - rank;
}

Ints axes_from_end(const std::optional<Ints>& axes, std::int64_t rank, std::string_view op) {
  if (!axes) return last(rank);
  Ints made;
  for (auto a : *axes) made.push_back(from_end(a, rank, op));
  std::sort(made.begin(), made.end());
  auto twice = std::adjacent_find(made.begin(), made.end());
  if (twice != made.end())
    fail("shape", std::string(op) + ": axis " + std::to_string(*twice + rank) + " is named twice");
  return made;
}

int from_front(std::int64_t negative, std::int64_t rank) { return static_cast<int>(negative + rank); }

std::vector<int> from_front(const Ints& negative, std::int64_t rank) {
  std::vector<int> made;
  for (auto a : negative) made.push_back(from_front(a, rank));
  return made;
}

Shape shape_of(const Ints& sizes, std::string_view op) {
  for (auto n : sizes)
    if (n < 0) fail("shape", std::string(op) + ": a size cannot be negative, got " + std::to_string(n));
  if (static_cast<int>(sizes.size()) > runtime::kMaxRank)
    fail("shape", std::string(op) + ": rank " + std::to_string(sizes.size()) + " is more than " +
                      std::to_string(runtime::kMaxRank));
  return sizes;
}

Shape erase_axes(const Shape& shape, const Ints& negative) {
  auto rank = static_cast<std::int64_t>(shape.size());
  Shape made;
  for (std::int64_t d = 0; d < rank; ++d)
    if (std::find(negative.begin(), negative.end(), d - rank) == negative.end())
      made.push_back(shape[static_cast<std::size_t>(d)]);
  return made;
}

Shape ones_at(const Shape& shape, const Ints& negative) {
  Shape made = shape;
  for (auto a : negative) made.at(static_cast<std::size_t>(a + static_cast<std::int64_t>(shape.size()))) = 1;
  return made;
}

Ints last(std::int64_t count) {
  Ints made;
  for (std::int64_t i = -count; i < 0; ++i) made.push_back(i);
  return made;
}

Ints leading(std::int64_t count) {
  Ints made(static_cast<std::size_t>(count));
  std::iota(made.begin(), made.end(), 0);
  return made;
}

// ---- factor rules

int RuleBuilder::factor(std::int64_t size, FactorKind kind, FactorReduce reduce) {
  rule.factors.push_back({"d" + std::to_string(next_++), size, kind, reduce});
  return static_cast<int>(rule.factors.size()) - 1;
}

ir::ValueFactors RuleBuilder::dims(const Shape& shape) {
  ir::ValueFactors made;
  for (auto n : shape) made.push_back({factor(n)});
  return made;
}

FactorRule RuleBuilder::made(std::vector<ir::ValueFactors> operands, std::vector<ir::ValueFactors> results) {
  rule.operands = std::move(operands);
  rule.results = std::move(results);
  return std::move(rule);
}

FactorRule RuleBuilder::made(const OpCall& call, std::vector<ir::ValueFactors> operands, ir::ValueFactors result) {
  operands.resize(call.in.size());
  return made(std::move(operands), {std::move(result)});
}

std::vector<Shape> shapes_of(const OpCall& call) {
  std::vector<Shape> made;
  for (auto& t : call.in) made.push_back(t.shape);
  return made;
}

FactorRule broadcast_factors(const OpCall& call) { return ir::broadcast_rule(shapes_of(call)); }

bool is_split(const Type& t, int dim) {
  auto d = static_cast<std::size_t>(dim);
  return d < t.sharding.dims.size() && !t.sharding.dims[d].axes.empty();
}

std::string axes_text(const Type& t, int dim) {
  if (!is_split(t, dim) || !t.mesh) return "";
  auto& axes = t.sharding.dims[static_cast<std::size_t>(dim)].axes;
  std::string made;
  for (auto a : axes) made += (made.empty() ? "" : ", ") + t.mesh->axes[a].name;
  return axes.size() == 1 ? "@" + made : "@(" + made + ")";
}

bool laid_out(const Type& t) { return t.mesh && !t.mesh->of_kind(AxisKind::Explicit).empty(); }

bool same_layout(const Type& a, const Type& b) {
  if (a.sharding.dims.size() != b.sharding.dims.size()) return a.sharding.is_replicated() && b.sharding.is_replicated();
  for (std::size_t d = 0; d < a.sharding.dims.size(); ++d)
    if (a.sharding.dims[d].axes != b.sharding.dims[d].axes) return false;
  return true;
}

std::optional<Layout> wanted_layout(const Builder& b, const Type& want, std::span<const Var> others) {
  runtime::MeshRef mesh = want.mesh;
  for (auto v : others)
    if (!mesh) mesh = b.type(v).mesh;
  if (!mesh || mesh->of_kind(AxisKind::Explicit).empty()) return std::nullopt;
  Layout made{mesh, Sharding::replicated(want.shape.size())};
  if (want.sharding.dims.size() == want.shape.size()) made.sharding.dims = want.sharding.dims;
  // A cotangent is never `reduced`: that of a reduced value is unreduced, whichever of the two the caller wrote.
  made.sharding.unreduced = want.sharding.unreduced | want.sharding.reduced;
  if (!mesh->of_kind(AxisKind::Auto).empty())
    for (auto& d : made.sharding.dims) d.open = true;
  return made;
}

Var emit_wanted(Builder& b, const OpDef& op, const Vars& in, Attrs attrs, const Type& want,
                std::span<const Var> others) {
  std::optional<Layout> out = wanted_layout(b, want, others);
  if (!out) return b.emit(op, in, std::move(attrs)).at(0);
  Layout summed = *out;
  if (!out->sharding.unreduced.empty()) {
    std::vector<Type> types;
    for (auto v : in) types.push_back(b.type(v));
    const OpCall call{op, types, attrs};
    summed.sharding.unreduced = out->sharding.unreduced & ir::summed_axes(call, ir::factors_of(call));
  }
  attrs.set("out", summed);
  Var made = b.emit(op, in, std::move(attrs)).at(0);
  if (summed.sharding.unreduced == out->sharding.unreduced) return made;
  return b.emit1(*b.core().shard, {made}, {{"layout", *out}});
}

std::string split_along(std::string_view op, const Type& x, int d, std::string_view way_out) {
  return std::string(op) + " along dimension " + std::to_string(d) + " of " + runtime::to_string(x) +
         ", which is split over " + axes_text(x, d) + ": " + std::string(way_out);
}

std::function<std::optional<std::string>(const OpCall&, const FactorRule&)> refuses_split_last(std::string_view op) {
  return [op](const OpCall& call, const FactorRule&) -> std::optional<std::string> {
    for (const Type& x : call.in)
      if (is_split(x, x.rank() - 1)) return split_along(op, x, x.rank() - 1);
    return std::nullopt;
  };
}

std::optional<std::string> size_change_refuses(std::string_view op, const Type& from, const Shape& to) {
  if (std::all_of(to.begin(), to.end(), [](auto n) { return n == 1; })) return std::nullopt;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (from.shape[d] == to[d] || !is_split(from, static_cast<int>(d))) continue;
    std::int64_t n = runtime::parts(*from.mesh, from.sharding.dims[d]);
    if (to[d] % n == 0) continue;
    return std::string(op) + " of " + runtime::to_string(from) + " gives dimension " + std::to_string(d) +
           " the size " + std::to_string(to[d]) + ", which " + axes_text(from, static_cast<int>(d)) + " of size " +
           std::to_string(n) + " does not divide: `shard` the array first";
  }
  return std::nullopt;
}

// ---- batching

Vars vars_of(std::span<const Mapped> in) {
  Vars made;
  for (const Mapped& m : in) made.push_back(m.var);
  return made;
}

std::vector<Mapped> with_marks(const Vars& made, const std::vector<bool>& mapped) {
  std::vector<Mapped> marked;
  for (std::size_t i = 0; i < made.size(); ++i) marked.push_back({made[i], mapped[i]});
  return marked;
}

// ---- values

Var promote_to(Builder& b, Var x, Kind kind) { return ir::convert(b, x, kind.dtype, kind.weak); }

Kind promoted(const Builder& b, std::span<const Var> xs) {
  Kind kind = b.type(xs[0]).kind();
  for (auto v : xs) {
    auto next = runtime::promote(kind, b.type(v).kind());
    if (!next)
      fail("type", runtime::to_string(b.type(xs[0])) + " and " + runtime::to_string(b.type(v)) +
                       " do not combine: keys are no numbers");
    kind = *next;
  }
  return kind;
}

Var expand(Builder& b, Var x, const Shape& kept) { return b.type(x).shape == kept ? x : ir::reshape(b, x, kept); }

Var spread(Builder& b, Var x, const Ints& axes, const Shape& full) {
  return ir::broadcast_to(b, expand(b, x, ones_at(full, axes)), full);
}

Var scalar_i32(Builder& b, std::int64_t value) { return ir::constant_int(b, value, DType::I32); }

Attrs over_devices(const Builder& b, std::span<const runtime::AxisId> axes) {
  return {{"axes", Ints(axes.begin(), axes.end())}, {"mesh", Layout{b.graph().mesh, {}}}, {"written", false}};
}

Var device_position(Builder& b, std::span<const runtime::AxisId> axes) {
  if (axes.empty()) return scalar_i32(b, 0);
  return b.emit1(*b.core().axis_index, {}, over_devices(b, axes));
}

Var require_integer_index(Builder& b, Var index, std::string_view op) {
  DType t = b.type(index).dtype;
  if (!runtime::is_integer(t))
    fail("type", std::string(op) + ": an index is of an integer type, got " + runtime::to_string(b.type(index)));
  if (t == DType::I64 || t == DType::I32) return ir::convert(b, index, t);
  return ir::convert(b, index, t == DType::U32 || t == DType::U64 ? DType::I64 : DType::I32);
}

Var wrap_negative(Builder& b, Var index, std::int64_t n) {
  DType t = b.type(index).dtype;
  Var zero = ir::constant_int(b, 0, t);
  Var below = b.emit1(*b.core().lt, {index, zero});
  return ir::select(b, below, ir::add(b, index, ir::constant_int(b, n, t)), index);
}

// ---- kernels

std::optional<View> merged(const View& v, std::span<const int> groups) {
  View made{v.dtype, {}, {}, v.data};
  std::size_t d = 0;
  for (int count : groups) {
    std::int64_t size = 1, stride = 0;
    bool any = false;
    for (int i = 0; i < count; ++i, ++d) {
      std::int64_t n = v.shape[d], s = v.strides[d];
      if (n == 1) continue;
      if (any && stride != s * n) return std::nullopt;
      size = any ? size * n : n;
      stride = s;
      any = true;
    }
    made.shape.push_back(size);
    made.strides.push_back(stride);
  }
  return made;
}

MergedView::MergedView(const View& v, std::span<const int> groups) {
  if (auto made = merged(v, groups)) {
    view = *made;
  } else {
    from = v;
    view = *merged(runtime::contiguous(v.dtype, v.shape), groups);
  }
}

void* MergedView::data(runtime::Pool& pool, void* given, runtime::BufferRef& held) {
  if (!from) return given;
  held = pool.scratch(static_cast<std::size_t>(runtime::checked_bytes(from->shape, runtime::size_of(from->dtype))));
  runtime::copy(at(*from, given), runtime::contiguous(from->dtype, from->shape, held->data()));
  return held->data();
}

View over_result(const View& operand, const KernelCall& c) {
  View made = operand;
  const Shape& shape = c.out[0].shape;
  const std::size_t extra = shape.size() - made.shape.size();
  made.strides.insert(made.strides.begin() + c.batch, extra, 0);
  made.shape.insert(made.shape.begin() + c.batch, extra, 1);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (made.shape[d] == 1) made.strides[d] = 0;
  made.shape = shape;
  return made;
}

}  // namespace shard::stdlib
