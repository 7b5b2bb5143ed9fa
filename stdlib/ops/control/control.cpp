#include "stdlib/ops/control/control.h"

#include <stdexcept>

#include "interpreter/transform/batch.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

std::string mesh_axes(const runtime::MeshRef& mesh, runtime::AxisSet axes) {
  auto list = axes.list();
  if (!mesh) return "...";
  if (list.size() == 1) return "@" + mesh->axes[list[0]].name;
  std::string out = "@(";
  for (std::size_t i = 0; i < list.size(); ++i) out += (i ? ", " : "") + mesh->axes[list[i]].name;
  return out + ")";
}

}  // namespace

bool same_type(const Type& a, const Type& b) {
  Type x = a, y = b;
  x.weak = y.weak = false;
  // Whole and never laid out are one type, and so is one that code of two modes sees.
  if (!x.mesh || !y.mesh || runtime::same_devices(*x.mesh, *y.mesh)) x.mesh = y.mesh = nullptr;
  return x == y;
}

std::string way_out(const Type& have, const Type& want, std::string_view subject) {
  std::string s(subject);
  if (have.dtype != want.dtype) return "cast one of them: `cast(x, " + std::string(runtime::name(want.dtype)) + ")`";
  if (have.shape != want.shape) return "their shapes must be equal";
  const auto& mesh = want.mesh ? want.mesh : have.mesh;
  if (!(have.sharding == want.sharding) && mesh)
    return "`shard` " + s + " first: `shard x as " + runtime::to_string(*mesh, want.sharding) + "`";
  auto missing = want.varying - have.varying;
  if (!missing.empty()) return "cast " + s + " first: `pcast(x, " + mesh_axes(mesh, missing) + ", to: \"varying\")`";
  return "both must have the same type";
}

// The initial value is what to change, but where only the body's result varies less.
std::string carry_way_out(const Type& in, const Type& out) {
  Type more = out;
  more.varying |= in.varying;
  if (!more.mesh) more.mesh = in.mesh;
  return same_type(in, more) ? way_out(out, in, "what the body gives") : way_out(in, out, "the initial value");
}

std::string leaf_name(const Attrs& attrs, std::size_t i, const std::string& otherwise) {
  auto* named = attrs.find("names");
  auto* names = named ? std::get_if<std::vector<std::string>>(named) : nullptr;
  return names && i < names->size() && !(*names)[i].empty() ? " `" + (*names)[i] + "`" : otherwise;
}

void check_carry(std::string_view loop, const Attrs& attrs, std::span<const Type> in, const Graph& body,
                 std::size_t first_result) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Type& out = body.type(body.results.at(first_result + i));
    if (same_type(in[i], out)) continue;
    const std::string place = " " + std::to_string(i + 1) + " of " + std::to_string(in.size());
    fail("carry", "the carry" + leaf_name(attrs, i, in.size() > 1 ? place : "") + " of " + std::string(loop) +
                      " must keep its type: it comes in as " + runtime::to_string(in[i]) + " and the body gives " +
                      runtime::to_string(out) + "; " + carry_way_out(in[i], out));
  }
}

void check_params(const OpCall& call, std::size_t region, std::span<const Type> params) {
  const Graph& g = *call.regions[region];
  auto broken = [&](const std::string& what) {
    throw std::logic_error(std::string(call.op.name) + ": region " + std::to_string(region) + " " + what);
  };
  if (g.params.size() != params.size())
    broken("takes " + std::to_string(g.params.size()) + " values, gets " + std::to_string(params.size()));
  for (std::size_t i = 0; i < params.size(); ++i)
    if (!same_type(g.type(g.params[i]), params[i]))
      broken("takes " + runtime::to_string(g.type(g.params[i])) + " as value " + std::to_string(i) + ", gets " +
             runtime::to_string(params[i]));
}

void check_quiet(const OpCall& call, const Type& condition, const std::string& what) {
  if (condition.varying.empty()) return;
  for (const auto& r : call.regions)
    if (const ir::Node* n = ir::collective_over(*r, condition.varying)) {
      std::string axes = mesh_axes(condition.mesh, condition.varying);
      fail("varying", "the condition of " + what + " may differ between devices along " + axes + " (" +
                          runtime::to_string(condition) + "), and " + std::string(n->op->name) +
                          " inside it needs all of them: reduce the condition first, `pmax(c, " + axes + ")`");
    }
}

std::size_t count(const Attrs& attrs, std::string_view name) {
  auto n = attrs.integer(name);
  if (n < 0) throw std::logic_error("attribute `" + std::string(name) + "` is negative");
  return static_cast<std::size_t>(n);
}

Type row_type(const Type& t) {
  Type r = t;
  r.shape.erase(r.shape.begin());
  r.sharding.dims.erase(r.sharding.dims.begin());
  return r;
}

Type stacked_type(const Type& t, std::int64_t length) { return transform::with_front(t, length); }

Marks marks_of(const Graph& g, std::span<const Var> vars) {
  Marks m(g.types.size(), 0);
  for (Var v : vars) m[at(v)] = 1;
  return m;
}

std::span<const Var> part(const Vars& vars, std::size_t begin, std::size_t size) {
  return std::span<const Var>(vars).subspan(begin, size);
}

Vars first_of(const Vars& vars, std::size_t size) {
  return {vars.begin(), vars.begin() + static_cast<std::ptrdiff_t>(size)};
}

ir::Pushed halves(const Vars& out) {
  const auto half = static_cast<std::ptrdiff_t>(out.size() / 2);
  return {Vars(out.begin(), out.begin() + half), Vars(out.begin() + half, out.end())};
}

void append(Vars& to, std::span<const Var> more) { to.insert(to.end(), more.begin(), more.end()); }

Var zeros_or(Builder& b, Var v, const Type& type) { return v.valid() ? v : transform::typed_zeros(b, type); }

std::vector<bool> mapped_of(std::span<const Mapped> in, std::size_t begin, std::size_t size) {
  std::vector<bool> out;
  for (std::size_t i = begin; i < begin + size; ++i) out.push_back(in[i].mapped);
  return out;
}

std::vector<Type> result_types(const Graph& g) {
  std::vector<Type> out;
  for (Var r : g.results) out.push_back(g.type(r));
  return out;
}

// Cotangents for the results that may get one, zeros where they did not.
void append_cotangents(Builder& b, Vars& to, const std::vector<Type>& results, const std::vector<bool>& with_ct,
                       std::span<const Var> ct) {
  for (std::size_t r = 0; r < results.size(); ++r)
    if (with_ct[r]) to.push_back(zeros_or(b, ct[r], transform::cotangent_type(results[r])));
}

std::vector<bool> with_cotangents(const std::vector<Type>& results, std::span<const char> given) {
  std::vector<bool> out;
  for (std::size_t r = 0; r < results.size(); ++r) out.push_back(given[r] && transform::differentiable(results[r]));
  return out;
}

Vars scatter_to(const std::vector<int>& places, std::size_t size, std::span<const Var> values) {
  Vars out(size);
  for (std::size_t i = 0; i < places.size(); ++i) out[static_cast<std::size_t>(places[i])] = values[i];
  return out;
}

OpDef region_row(std::string_view signature, std::string_view doc, ir::Structure structure,
                 decltype(ir::Custom::push) push, decltype(ir::Custom::pull) pull, ir::BatchFn batch,
                 std::vector<Type> (*infer)(const OpCall&)) {
  OpDef row = internal_row(signature, doc);
  row.derivative = ir::Custom{.jvp = {}, .vjp = {}, .push = std::move(push), .pull = std::move(pull)};
  row.kernel = structure;
  row.batch = std::move(batch);
  row.infer = infer;
  return row;
}

OpDef passing_row(std::string_view signature, std::string_view doc) {
  OpDef row = internal_row(signature, doc, broadcast_factors);
  row.derivative = ir::Custom{[](Builder&, const NodeView&, std::span<const Var> t) -> Vars { return {t[0]}; },
                              [](Builder&, const NodeView&, std::span<const Var> ct) -> Vars { return {ct[0]}; }};
  row.kernel = runtime::Code::Identity;
  return row;
}

void register_control(ir::OpTable& table) {
  table.add(scan_row());
  table.add(while_row());
  table.add(branch_row());
  table.add(call_row());
  table.add(named_value_row());
  table.add(offload_row());
  table.add(custom_vjp_row());
  table.add(custom_jvp_row());
  table.add(effect_row());
}

}  // namespace shard::stdlib
