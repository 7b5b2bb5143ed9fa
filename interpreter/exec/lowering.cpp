// The walk over a local graph: storages, ordinary kernels, values that are only seen differently, and the results.
#include "interpreter/exec/lowering.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "grammar/stable_sort.h"
#include "interpreter/exec/depth_first.h"
#include "interpreter/exec/recompute.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/distinct.h"
#include "interpreter/transform/factor_layout.h"
#include "runtime/array/stop.h"
#include "runtime/kernels/element_lines.h"
#include "runtime/kernels/element_program.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/moves.h"

namespace shard::exec {

using ir::Node;
using ir::Structure;
using runtime::size_of;

namespace {

// Leading dimensions for these axes on all views, merged where all of them allow it.
std::pair<std::vector<View>, int> batched(const std::vector<StridedView>& in, const std::vector<StridedView>& out,
                                          const std::vector<AxisId>& axes, const Mesh* mesh) {
  std::vector<View> views;
  for (const StridedView& p : in) views.push_back(view_of(p, axes, mesh));
  for (const StridedView& p : out) views.push_back(view_of(p, axes, mesh));
  int batch = static_cast<int>(axes.size());
  if (!views.empty()) batch = coalesce(views, batch);
  return {std::move(views), batch};
}

// The kernel of one block for the blocks of all devices along `axes`, one after another.
ir::BoundKernel by_block(ir::BoundKernel one, const std::vector<AxisId>& axes, const Mesh& mesh,
                         const std::vector<StridedView>& in, const std::vector<StridedView>& out) {
  std::vector<std::vector<std::int64_t>> blocks;  // of each where its operands and results begin, in bytes
  for (std::int64_t position = 0; position < mesh.size_of(axes); ++position) {
    auto& begins = blocks.emplace_back();
    for (const auto* places : {&in, &out})
      for (const StridedView& p : *places) begins.push_back(offset_at(p, axes, position, mesh) * item_bytes(p.dtype));
  }
  return [one = std::move(one), blocks = std::move(blocks), ins = in.size()](void* const* i, void* const* o) {
    std::vector<void*> at;
    for (const auto& begins : blocks) {
      at.clear();
      for (std::size_t k = 0; k < begins.size(); ++k)
        at.push_back(static_cast<char*>(k < ins ? i[k] : o[k - ins]) + begins[k]);
      one(at.data(), at.data() + ins);
    }
  };
}

}  // namespace

Lowering::Lowering(const ir::Graph& g, LoweringContext around, const transform::Distinct& distinct)
    : g_(g),
      around_(around),
      mesh_(around.mesh),
      distinct_(distinct),
      places_(g.types.size()),
      needed_(g.types.size(), 0),
      result_(g.types.size(), 0) {
  draft_.params = g.params.size();
  draft_.runs = !around.measure;
  for (std::size_t i = 0; i < g.params.size(); ++i) {
    Storage s;
    s.kind = Storage::Param{i};
    draft_.storages.push_back(s);
  }
}

void Lowering::bind(std::size_t i, StridedView place, std::int64_t whole) {
  Storage& s = draft_.storages[i];
  s.bytes = whole;
  put(g_.params[i], std::move(place));
}

void Lowering::run() {
  if (around_.nan_check) return run(units_alone(g_));
  std::vector<Unit> units =
      units_of(g_, distinct_.of, mesh_, !around_.exact, around_.part ? around_.part->apart : AxisSet());
  if (!around_.exact) units = depth_first(g_, distinct_.of, mesh_, around_.mesh_ref.get(), std::move(units));
  if (!around_.exact) recompute(g_, distinct_.of, mesh_, units);
  run(std::move(units));
}

void Lowering::run(std::vector<Unit> units) {
  std::vector<const Unit*> unit_of(g_.types.size(), nullptr);  // none: a parameter
  for (const Unit& u : units)
    for (int i : u.nodes)
      for (ir::Var v : node(i).outputs) unit_of[at(v)] = &u;
  std::vector<const Unit*> again(unit_of.size(), nullptr);  // the last unit that makes the value for itself too
  for (const Unit& u : units) {
    for (int i : u.again) again[at(node(i).outputs[0])] = &u;
    for (int i : u.all())
      for (ir::Var v : node(i).inputs)
        if (unit_of[at(v)] != &u && again[at(v)] != &u) needed_[at(v)] = 1;
    for (int i : u.again)
      for (ir::Var v : node(i).inputs)
        if (again[at(v)] != &u) read_again_.emplace_back(v, &node(u.nodes.back()));
  }
  for (std::size_t v = 0; v < again.size(); ++v)
    if (again[v] && !needed_[v]) made_again_.push_back({static_cast<std::int32_t>(v)});
  for (ir::Var v : g_.results) needed_[at(v)] = 1, ++result_[at(v)];
  find_pieces(units);
  lay_out_joins(units);
  for (const auto& [id, place] : wanted_places_) needed_[static_cast<std::size_t>(id)] = 1;
  if (around_.part && !around_.nan_check) return lower_together(*this, units);
  for (const Unit& u : units) {
    runtime::Stop::ask_here();
    emit(u);
    if (around_.nan_check) check_nans(*this, node(u.nodes.back()));
  }
}

StridedView Lowering::fresh(DType dtype, AxisSet distinct, Shape shape) {
  return fresh(dtype, anchored(distinct, 0), std::move(shape));
}

StridedView Lowering::fresh(DType dtype, const Anchors& axes, Shape shape) {
  auto item = size_of(dtype);
  auto bytes = around_.measure ? runtime::bytes_of : runtime::checked_bytes;
  std::int64_t one = bytes(shape, item);
  Shape whole = shape;
  if (!axes.empty()) {
    whole.insert(whole.begin(), 1);
    for (const Anchor& a : axes) whole[0] *= mesh_->size_of(a.axis);
  }
  return anchored_place(draft_.temporary(bytes(whole, item), one), dtype, axes, std::move(shape), mesh_);
}

StridedView Lowering::made(const Node& n, ir::Var v, AxisSet distinct) {
  if (const auto it = wanted_places_.find(v.id); it != wanted_places_.end()) return it->second;
  if (n.op->any_order && !result_[at(v)] && !around_.exact)
    return fresh(type(v).dtype, order_for(n, distinct), type(v).shape);
  return fresh(type(v).dtype, distinct, type(v).shape);
}

const StridedView* Lowering::wanted(ir::Var v, const Anchors& order, bool in_lines) const {
  const auto it = wanted_places_.find(v.id);
  if (it == wanted_places_.end()) return nullptr;
  const View place = view_of(it->second, order, mesh_);
  return runtime::is_contiguous(place) || (in_lines && runtime::lines_of(place)) ? &it->second : nullptr;
}

StridedView Lowering::arranged(DType dtype, AxisSet outer, std::optional<std::int64_t> length, AxisSet inner,
                               Shape row) {
  Shape shape = std::move(row);
  if (length) shape.insert(shape.begin(), *length);
  if (around_.alone()) return fresh(dtype, outer | inner, std::move(shape));  // of one device nothing is interleaved
  Anchors axes = anchored(outer, 0), within = anchored(inner, length ? 1 : 0);
  axes.insert(axes.end(), within.begin(), within.end());
  return fresh(dtype, axes, std::move(shape));
}

int Lowering::constant_storage(runtime::BufferRef buffer) {
  Storage s;
  s.kind = Storage::Constant{draft_.constants.size()};
  s.bytes = static_cast<std::int64_t>(buffer->bytes());
  draft_.constants.push_back(std::move(buffer));
  draft_.storages.push_back(s);
  return static_cast<int>(draft_.storages.size()) - 1;
}

StridedView Lowering::constant(DType dtype, Scalar value) {
  int storage = kNoStorage;
  for (const auto& [key, s] : scalars_)
    if (key.first == dtype && key.second == value) storage = s;
  if (storage == kNoStorage) {
    runtime::BufferRef buffer = around_.pool.allocate(size_of(dtype));
    runtime::fill(runtime::contiguous(dtype, {}, buffer->data()), value.value, value.integer);
    storage = constant_storage(std::move(buffer));
    scalars_.push_back({{dtype, value}, storage});
  }
  StridedView p = dense_place(storage, dtype, {}, {}, mesh_);
  p.splat = value;
  return p;
}

void Lowering::add(DraftStep s, const std::vector<StridedView>& in, const std::vector<StridedView>& out,
                   InPlace in_place) {
  const auto ref = [](const StridedView& p) {
    const std::int64_t item = item_bytes(p.dtype);
    Ref r{p.storage, p.offset * item, {}};
    for (auto [axis, step] : p.frozen) r.terms.emplace_back(axis, step * item);
    return r;
  };
  for (const StridedView& p : in) s.ins.push_back(ref(p));
  for (const StridedView& p : out) s.outs.push_back(ref(p));
  s.in_place = std::move(in_place);
  s.span = span_;
  s.node = node_;
  draft_.add(std::move(s));
}

void Lowering::step(ir::BoundKernel kernel, const std::vector<StridedView>& in, const std::vector<StridedView>& out,
                    InPlace in_place) {
  DraftStep s;
  s.kernel = std::move(kernel);
  add(std::move(s), in, out, std::move(in_place));
}

void Lowering::control(std::shared_ptr<const Control> c, const std::vector<StridedView>& in,
                       const std::vector<StridedView>& out, InPlace in_place, Most inside) {
  DraftStep s;
  s.inside = std::move(inside);
  s.control = std::move(c);
  add(std::move(s), in, out, std::move(in_place));
}

void Lowering::copy_into(const StridedView& from, const StridedView& to) {
  std::vector<AxisId> axes = to.distinct.list();
  View in = view_of(from, axes, mesh_), out = view_of(to, axes, mesh_);
  if (runtime::numel(in.shape) == 0) return;
  auto bytes = static_cast<std::size_t>(runtime::numel(in.shape)) * size_of(in.dtype);
  copies(static_cast<std::int64_t>(bytes));
  if (runtime::Moves few; few.add(0, in, 0, out, 0)) return step(std::move(few), {from}, {to});
  step(
      [in, out](void* const* i, void* const* o) {
        View source = in, target = out;
        source.data = *i;
        target.data = *o;
        runtime::copy(source, target);
      },
      {from}, {to});
}

StridedView Lowering::dense(const StridedView& p, AxisSet distinct) {
  if (p.distinct == distinct && is_dense(p, mesh_)) return p;
  StridedView out = fresh(p.dtype, distinct, p.shape);
  copy_into(p, out);
  return out;
}

StridedView Lowering::whole_blocks(const StridedView& p) {
  std::int64_t end = 0;  // of one block
  for (std::size_t d = 0; d < p.shape.size(); ++d) end += p.strides[d] * (p.shape[d] - 1);
  const bool apart = std::all_of(p.device.begin(), p.device.end(), [&](std::int64_t step) { return step > end; });
  return apart ? p : dense(p, p.distinct);
}

// `p` through a program of one operation, whose result is register `registers.size() - 1`.
StridedView Lowering::through(runtime::ElementProgram program, const StridedView& p) {
  StridedView out = fresh(program.registers.back(), p.distinct, p.shape);
  program.inputs = {0};
  program.outputs = {static_cast<std::uint16_t>(program.registers.size() - 1)};
  std::vector<AxisId> batch = p.distinct.list();
  std::vector<View> in{view_of(p, batch, mesh_)}, made{view_of(out, batch, mesh_)};
  std::vector<std::pair<int, int>> in_place;
  if (is_dense(p, mesh_) && out.dtype == p.dtype) in_place.emplace_back(0, 0);
  auto kernel = std::make_shared<runtime::ElementKernel>(std::move(program), in, made);
  step([kernel](void* const* i, void* const* o) { kernel->run(i, o); }, {p}, {out}, std::move(in_place));
  return out;
}

StridedView Lowering::scaled(const StridedView& p, std::int64_t by) {
  if (by == 1) return p;
  runtime::ElementProgram program;
  program.registers = {p.dtype, p.dtype, p.dtype};
  program.constants.push_back({1, static_cast<double>(by), by});
  program.code.push_back({runtime::Code::Mul, p.dtype, 2, 0, 1});
  return through(std::move(program), p);
}

StridedView Lowering::converted(const StridedView& p, DType to) {
  if (to == p.dtype) return p;
  runtime::ElementProgram program;
  program.registers = {p.dtype, to};
  program.code.push_back({runtime::Code::Convert, p.dtype, 1, 0});
  return through(std::move(program), p);
}

void Lowering::emit(const Unit& unit) {
  const Node& last = node(unit.nodes.back());
  of_node(last);
  if (around_.copies) (*around_.copies)[node_] = 0;  // of a loop's body the last time that it is lowered
  if (unit.segment) return lower_depth_first(*this, unit);
  if (unit.summed) {
    const Node& n = node(unit.nodes.front());
    std::vector<AxisId> summed, rest;
    for (AxisId a : transform::axes_of(last, *mesh_, true)) (axes(n.outputs[0]).has(a) ? summed : rest).push_back(a);
    std::sort(summed.begin(), summed.end());
    emit_kernel(n, summed, last.outputs[0]);
    put(last.outputs[0], scaled(place(last.outputs[0]), mesh_->size_of(rest)));
  } else if (unit.elementwise) {
    lower_elementwise(*this, unit);
  } else {
    emit_node(last);
  }
  for (int i : wanted_places_.empty() ? std::vector<int>() : unit.nodes)
    for (ir::Var v : node(i).outputs)
      if (const auto it = wanted_places_.find(v.id);
          it != wanted_places_.end() && place(v).storage != it->second.storage) {
        copy_into(place(v), it->second);
        put(v, it->second);
      }
  for (ir::Var v : around_.alone() ? last.outputs : ir::Vars{})
    if (ir::lies_on_host(last, v)) draft_.at(place(v).storage).host = true;
}

void Lowering::emit_node(const Node& n) {
  if (n.op->comm) return lower_collective(*this, n);
  if (const auto* view = std::get_if<ir::ViewOf>(&n.op->kernel)) return emit_view(n, *view);
  if (!n.outputs.empty() && in_pieces(n.outputs[0])) return;
  if (!n.outputs.empty() && joins_.contains(n.outputs[0].id)) return emit_join(n);
  if (const Structure* s = ir::structure_of(*n.op)) {
    switch (*s) {
      case Structure::Constant: {
        Scalar value{n.attrs.number("value")};
        if (const auto* i = n.attrs.get<std::int64_t>("value"))
          value.integer = *i;
        else if (std::abs(value.value) < 9e18)  // no nan
          value.integer = static_cast<std::int64_t>(value.value);
        return put(n.outputs[0], constant(type(n.outputs[0]).dtype, value));
      }
      case Structure::Effect: return lower_effect(*this, n);
      case Structure::Shard: return put(n.outputs[0], place(n.inputs[0]));  // settled by the partitioner
      case Structure::Call:
      case Structure::Manual:
      case Structure::Collective:
        throw std::logic_error("`" + std::string(n.op->name) + "` cannot be in a local graph");
      default: return lower_loop_or_branch(*this, n);
    }
  }
  emit_kernel(n, {}, n.outputs.empty() ? ir::Var{} : n.outputs[0]);
}

// Blocks lie as the whole array would: an axis stands before the dimension of the result that it stands before in an
// operand. The product of a split batch and a split weight is then one large product, and nothing is copied.
Anchors Lowering::order_for(const Node& n, AxisSet distinct) const {
  const transform::RuleRef rule = transform::local_rule(*n.op, types_of(g_, n.inputs), n.attrs, n.rule);
  if (!rule) return anchored(distinct, 0);
  const auto& result = rule->results[0];
  auto position = [&](const ir::DimFactors& dim) {  // in the result, of what runs along it
    std::optional<std::size_t> first;
    for (int f : dim)
      if (const auto r = ir::dimension_with(result, f); r && (!first || *r < *first)) first = r;
    return first;
  };
  Anchors axes;
  AxisSet unknown = distinct;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    const StridedView& p = place(n.inputs[i]);
    std::vector<AxisId> own = (p.distinct & distinct).list();
    stable_sort(own, [&](AxisId a, AxisId b) { return p.device_stride(a) > p.device_stride(b); });
    for (AxisId a : own) {
      int before = static_cast<int>(result.size());
      std::int64_t nearest = 0;
      for (std::size_t d = 0; d < p.shape.size(); ++d) {
        std::int64_t step = p.strides[d];
        const auto r = position(rule->operands[i][d]);
        // What is whole on a device has a step of its own too: the axis that splits it stands right before it.
        if (!r || step <= nearest || step >= p.device_stride(a) + (p.shape[d] == 1)) continue;
        nearest = step;
        before = static_cast<int>(*r);
      }
      const auto known = std::find_if(axes.begin(), axes.end(), [&](const Anchor& other) { return other.axis == a; });
      if (known == axes.end())
        axes.push_back({a, before});
      else if (before < static_cast<int>(result.size()))
        known->before = std::max(known->before, before);  // 0 is where an axis stands for no reason
      unknown.remove(a);
    }
  }
  for (AxisId a : unknown.list()) axes.push_back({a, 0});  // of operands that lie nowhere yet (lower_depth_first.cpp)
  stable_sort(axes, [](const Anchor& a, const Anchor& b) { return a.before < b.before; });
  return axes;
}

// `summed` (in mesh order): device axes whose terms are added up in the kernel; `out`: the value that is then made.
void Lowering::emit_kernel(const Node& n, const std::vector<AxisId>& summed, ir::Var out) {
  const auto* plain = std::get_if<ir::KernelFn>(&n.op->kernel);
  if (!plain && summed.empty()) throw std::logic_error("`" + std::string(n.op->name) + "` has no kernel");
  AxisSet all;
  std::vector<StridedView> in, made;
  for (ir::Var v : n.inputs) {
    in.push_back(around_.exact ? whole_blocks(place(v)) : place(v));
    all |= in.back().distinct;
  }
  AxisSet rest = all;
  for (AxisId a : summed) rest.remove(a);
  ir::Vars outputs = summed.empty() ? n.outputs : ir::Vars{out};
  std::vector<char> read;
  for (ir::Var v : outputs) {
    made.push_back(this->made(n, v, rest));
    read.push_back(around_.nan_check || needed(v));
    if (n.op->skips_unread && !read.back()) draft_.leave_out(made.back().storage);
  }

  // The summed axes lead; each part of the batch is merged by itself.
  std::vector<AxisId> kept = rest.list();
  auto [inner, batch] = batched(in, made, around_.exact ? std::vector<AxisId>{} : kept, mesh_);
  int groups = 0;
  if (!summed.empty()) {
    std::vector<View> outer;
    for (const StridedView& p : in) {
      StridedView q = p;
      q.shape.clear();
      q.strides.clear();
      outer.push_back(view_of(q, summed, mesh_));
    }
    groups = coalesce(outer, static_cast<int>(summed.size()));
    for (std::size_t i = 0; i < in.size(); ++i) {
      inner[i].shape.insert(inner[i].shape.begin(), outer[i].shape.begin(), outer[i].shape.end());
      inner[i].strides.insert(inner[i].strides.begin(), outer[i].strides.begin(), outer[i].strides.end());
    }
  }
  std::span<const View> views(inner);
  ir::KernelCall call{n.attrs, views.subspan(0, in.size()), views.subspan(in.size()), batch + groups, around_.pool,
                      read};
  const ir::Copied copied = n.op->copies ? n.op->copies(call, groups) : ir::Copied{};
  copies(copied.bytes);
  ir::BoundKernel kernel;
  if (!around_.measure) kernel = summed.empty() ? (*plain)(call) : n.op->kernel_sum(call, groups);
  if (around_.exact && !kept.empty()) kernel = by_block(std::move(kernel), kept, *mesh_, in, made);
  std::vector<std::pair<int, int>> in_place;
  if (n.op->in_place && in[0].distinct == made[0].distinct && lies_as(in[0], made[0]) && alone(in, 0))
    in_place.emplace_back(0, 0);
  step(std::move(kernel), in, made, std::move(in_place));
  draft_.steps.back().scratch = std::min(copied.held, copied.bytes / elements(all, {}, mesh_));  // of a device alone
  put(outputs, made);
}

// The result where it can be named as it lies: nothing has to be copied. `shared`: the first result in the same
// storage.
std::optional<ResultRef> Lowering::as_it_lies(const StridedView& p, std::size_t i, std::optional<std::size_t> shared,
                                              bool same_layout, const Donors* wanted) {
  const Storage& s = draft_.at(p.storage);
  const bool all = s.bytes == bytes_of(p, mesh_);
  if (auto* param = std::get_if<Storage::Param>(&s.kind)) {
    if (!wanted && !all) return std::nullopt;  // a part would keep the whole of it alive
    if (!wanted) return ResultRef{ResultRef::Param{param->index}};
    if ((*wanted)[i] == param->index) return ResultRef{ResultRef::Own{param->index, true}};
  }
  auto* constant = std::get_if<Storage::Constant>(&s.kind);
  if (constant && !wanted) return ResultRef{ResultRef::Constant{draft_.constants[constant->index]}};
  if (shared && !wanted && same_layout && std::holds_alternative<ResultRef::Own>(draft_.results[*shared].from))
    return ResultRef{ResultRef::Same{*shared}};
  return all && s.in_arena() && !shared ? std::optional(ResultRef{ResultRef::Own{}}) : std::nullopt;
}

void Lowering::finish_results(const std::vector<AxisSet>& distinct, const Donors* wanted) {
  // Results that are written at the end are copies: all of them are made first, then what lies in a storage of its own
  // is named.
  std::vector<StridedView> made;
  for (std::size_t i = 0; i < g_.results.size(); ++i) {
    StridedView p = place(g_.results[i]);
    const AxisSet axes = mesh_ ? around_.mesh_ref->real(distinct[i]) : distinct[i];
    std::optional<std::size_t> shared;
    for (std::size_t j = i; j-- > 0;)
      if (made[j].storage == p.storage) shared = j;
    if (const auto it = twins_.find(g_.results[i].id); shared && it != twins_.end() && !it->second.empty()) {
      p = it->second.back();
      it->second.pop_back();
      shared = std::nullopt;
    }
    const bool whole = !p.splat && p.distinct == axes && is_dense(p, mesh_);
    auto r = whole ? as_it_lies(p, i, shared, shared && distinct[*shared] == distinct[i], wanted) : std::nullopt;
    if (!r) {
      StridedView copy = fresh(p.dtype, axes, p.shape);
      span_ = {};
      node_ = nullptr;
      copy_into(p, copy);
      p = copy;
      r = ResultRef{ResultRef::Own{}};
    }
    if (auto* own = std::get_if<ResultRef::Own>(&r->from); own && !own->untouched) {
      Storage& s = draft_.at(p.storage);
      std::get<Storage::Temporary>(s.kind).result = i;
      if (!s.born) s.born = static_cast<int>(draft_.steps.size());  // empty arrays: nothing writes them
      draft_.keep(p.storage);
    } else if (std::holds_alternative<ResultRef::Param>(r->from)) {
      draft_.keep(p.storage);
    }
    r->bytes = elements(axes, p.shape, mesh_) * item_bytes(p.dtype);
    made.push_back(p);
    draft_.results.push_back(*std::move(r));
  }
}

}  // namespace shard::exec
