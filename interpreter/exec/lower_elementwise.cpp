// A unit of elementwise nodes, and of reductions of rows between them, becomes one program: operands from outside are
// inputs (broadcast by strides), constants are embedded, values that something outside reads are outputs. Registers are
// handed out again as soon as their value is dead.
#include <algorithm>
#include <map>
#include <set>

#include "interpreter/exec/lowering.h"
#include "interpreter/exec/plan.h"
#include "interpreter/ir/region_edges.h"
#include "runtime/kernels/element_program.h"
#include "runtime/kernels/nest.h"

namespace shard::exec {
namespace {

using ir::Node;
using runtime::Code;
using runtime::ElementProgram;
using Register = std::uint16_t;

bool same_place(const StridedView& a, const StridedView& b) {
  return a.storage == b.storage && a.offset == b.offset && a.distinct == b.distinct && a.device == b.device &&
         a.strides == b.strides && a.frozen == b.frozen && a.dtype == b.dtype;
}

// Results lie as the operands do, so that all are read and written in one line; dense where operands are, or have to
// be.
Anchors order_of(const std::vector<StridedView>& operands, const StridedView& dense, bool must, const Mesh* mesh) {
  std::optional<Anchors> order;
  for (const StridedView& p : operands) {
    auto lies = p.distinct == dense.distinct ? anchors_of(p, mesh) : std::nullopt;
    must |= lies && p.device == dense.device;
    if (!order) order = std::move(lies);
  }
  return must || !order ? anchored(dense.distinct, 0) : *order;
}

// Bytes that the kernel brings together from single elements and short lines.
std::int64_t gathered(const View& v) {
  constexpr std::int64_t kLine = 16;
  runtime::Nest<1> nest;
  for (std::size_t d = 0; d < v.shape.size(); ++d) nest.add(v.shape[d], {v.strides[d]});
  if (nest.rank == 0) return 0;
  const std::int64_t step = nest.stride[0][nest.rank - 1];
  if (step == 0 || (step == 1 && nest.size[nest.rank - 1] >= kLine)) return 0;
  return runtime::numel(v.shape) * item_bytes(v.dtype);
}

// What an element of a constant array is, read back from memory.
Scalar read(DType dtype, const runtime::BufferRef& buffer) {
  runtime::DeviceArray a;
  a.type = runtime::Type::of(dtype, {});
  a.buffer = buffer;
  Scalar s;
  if (runtime::is_float(dtype))
    s.value = runtime::element_double(a, 0);
  else
    s.integer = runtime::element_int(a, 0), s.value = static_cast<double>(s.integer);
  return s;
}

// Registers by type; one that is free is taken again.
class Registers {
 public:
  explicit Registers(ElementProgram& program) : program_(program) {}
  Register take(DType t, bool of_row) {
    auto& free = free_[{t, of_row}];
    if (!free.empty()) {
      Register r = free.back();
      free.pop_back();
      return r;
    }
    program_.registers.push_back(t);
    program_.of_row.push_back(of_row);
    return static_cast<Register>(program_.registers.size() - 1);
  }
  void give(Register r) { free_[{program_.registers[r], program_.is_of_row(r)}].push_back(r); }

 private:
  ElementProgram& program_;
  std::map<std::pair<DType, bool>, std::vector<Register>> free_;
};

// A unit on its way to a program.
class ElementUnit {
 public:
  ElementUnit(Lowering& lowering, const Unit& unit)
      : l_(lowering), unit_(unit), nodes_(unit.all()), shape_(unit.points.shape), registers_(program_) {
    if (unit.points.row > 0)
      program_.row = runtime::numel(Shape(shape_.end() - static_cast<std::ptrdiff_t>(unit.points.row), shape_.end()));
    for (int i : unit.again) again_.insert(l_.node(i).outputs[0].id);
    // What others make again for themselves is not made here unless somebody wants it.
    std::vector<int> live;
    for (std::size_t k = nodes_.size(); k-- > 0;)
      if (const ir::Var out = node(k).outputs[0]; gives(out) || last_.count(out.id)) {
        live.push_back(nodes_[k]);
        for (ir::Var v : node(k).inputs) last_.try_emplace(v.id, 0);
      }
    nodes_.assign(live.rbegin(), live.rend());
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      for (ir::Var v : node(k).inputs) last_[v.id] = k;
      inner_.insert(node(k).outputs[0].id);
    }
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      if (reduced(k)) last_[node(k).inputs[0].id] = nodes_.size();  // its register stays
  }

  void emit() {
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const bool of_row = !node(k).op->reduces && is_of_row(node(k).outputs[0]);
      for (ir::Var v : node(k).inputs)
        if (!inner_.count(v.id) && !held_[of_row].count(v.id))
          held_[of_row][v.id] =
              of_row ? operand(broadcast(l_.place(v), l_.type(node(k).outputs[0]).shape), true) : of_points(v);
    }
    for (std::size_t k = 0; k < nodes_.size(); ++k) instruction(k);
    if (outputs_.empty()) return;
    const bool parts =
        std::any_of(outputs_.begin(), outputs_.end(), [&](ir::Var v) { return runtime::is_complex(dtype(v)); });
    if (inputs_.empty() && !parts && program_.row == 0 && program_.reduced.empty())  // a splat is one number
      constants();
    else
      kernel();
  }

 private:
  const Node& node(std::size_t k) const { return l_.node(nodes_[k]); }
  bool gives(ir::Var v) const { return l_.needed(v) && !again_.count(v.id); }
  bool reduced(std::size_t k) const { return unit_.points.reduced_by(node(k)); }
  DType dtype(ir::Var v) const { return l_.type(v).dtype; }

  bool is_of_row(ir::Var v) const { return unit_.points.of(l_.type(v).shape) == Points::Class::OfRow; }

  // Operands from outside: inputs and constants are in their registers from the start and stay there; what is the same
  // is there once.
  Register operand(StridedView seen, bool of_row) {
    if (seen.splat) {
      for (const auto& [key, reg] : constants_)
        if (key == std::pair(seen.dtype, *seen.splat) && program_.is_of_row(reg) == of_row) return reg;
      const Register reg = registers_.take(seen.dtype, of_row);
      constants_.push_back({{seen.dtype, *seen.splat}, reg});
      program_.constants.push_back({reg, seen.splat->value, seen.splat->integer});
      return reg;
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (!is_piece(i) && same_place(inputs_[i], seen) && program_.is_of_row(program_.inputs[i]) == of_row)
        return program_.inputs[i];
    inputs_.push_back(std::move(seen));
    program_.inputs.push_back(registers_.take(inputs_.back().dtype, of_row));
    return program_.inputs.back();
  }

  // An operand from outside for all points; what is the same along each row is read once a row.
  Register of_points(ir::Var v) {
    if (const Node* join = l_.in_pieces(v)) return pieces(*join);
    StridedView seen = broadcast(l_.place(v), shape_);
    const std::size_t lead = shape_.size() - unit_.points.row;
    bool along = program_.row > 1 && !seen.splat;
    for (std::size_t d = lead; d < shape_.size(); ++d) along = along && (seen.strides[d] == 0 || shape_[d] == 1);
    if (!along) return operand(std::move(seen), false);
    seen.shape.resize(lead), seen.strides.resize(lead);
    return repeated(dtype(v), operand(std::move(seen), true));
  }

  Register pieces(const Node& join) {
    const Register reg = registers_.take(dtype(join.outputs[0]), false);
    Lowering::Pieces pieces = l_.pieces(join);
    program_.joins.push_back({static_cast<std::uint16_t>(inputs_.size()),
                              static_cast<std::uint16_t>(pieces.places.size()),
                              static_cast<std::uint16_t>(pieces.along)});
    for (StridedView& p : pieces.places) {
      inputs_.push_back(std::move(p));
      program_.inputs.push_back(reg);
    }
    return reg;
  }
  bool is_piece(std::size_t input) const {
    return std::any_of(program_.joins.begin(), program_.joins.end(), [&](const ElementProgram::Join& j) {
      return input >= j.first && input < std::size_t{j.first} + j.count;
    });
  }

  // What has one element a row, along each row.
  Register repeated(DType t, Register of_row) {
    const Register all = registers_.take(t, false);
    program_.code.push_back({Code::Identity, t, all, of_row});
    program_.code.back().repeat = true;
    return all;
  }

  // What node k reads as operand i, of the kind that it computes with.
  Register taken(const Node& n, std::size_t i, bool of_row) {
    const ir::Var v = n.inputs[i];
    if (!inner_.count(v.id)) return held_[of_row].at(v.id);
    if (of_row || !is_of_row(v)) return held_[is_of_row(v)].at(v.id);
    const auto [it, fresh] = held_[0].try_emplace(v.id);
    if (fresh) it->second = repeated(dtype(v), held_[1].at(v.id));
    return it->second;
  }

  void instruction(std::size_t k) {
    const Node& n = node(k);
    const ir::Var out = n.outputs[0];
    if (reduced(k)) {
      outputs_.push_back(out);
      program_.outputs.push_back(taken(n, 0, false));
      program_.reduced.resize(outputs_.size());
      program_.reduced.back() = n.op->reduces;
      return;
    }
    const bool of_row = is_of_row(out);
    std::vector<Register> from;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) from.push_back(taken(n, i, of_row && !n.op->reduces));
    const auto* elementwise = std::get_if<Code>(&n.op->kernel);  // else of a view: the same elements, or along rows
    runtime::Instr code{elementwise ? *elementwise : Code::Identity, dtype(n.inputs[n.inputs.size() == 3 ? 1 : 0]), 0,
                        from[0]};
    code.reduce = n.op->reduces;
    if (from.size() > 1) code.b = from[1];
    if (from.size() > 2) code.c = from[2];
    if (code.code == Code::Convert && code.type == dtype(out)) code.code = Code::Identity;
    code.dst = registers_.take(dtype(out), of_row);
    program_.code.push_back(code);
    held_[of_row][out.id] = code.dst;
    if (gives(out)) {
      const auto places = static_cast<std::size_t>(l_.places_wanted(out));
      outputs_.insert(outputs_.end(), places, out);
      program_.outputs.insert(program_.outputs.end(), places, code.dst);
    }
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const ir::Var v = n.inputs[i];
      const auto before = n.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      if (!inner_.count(v.id) || last_[v.id] != k || std::find(n.inputs.begin(), before, v) != before) continue;
      if (!gives(v)) registers_.give(held_[is_of_row(v)].at(v.id));
      if (is_of_row(v) && held_[0].count(v.id)) registers_.give(held_[0].at(v.id));
    }
  }

  void constants() {  // the same everywhere: computed now
    std::vector<View> views;
    std::vector<runtime::BufferRef> buffers;
    std::vector<void*> pointers;
    for (ir::Var v : outputs_) {
      buffers.push_back(l_.around().pool.allocate(runtime::size_of(dtype(v))));
      pointers.push_back(buffers.back()->data());
      views.push_back(runtime::contiguous(dtype(v), {}, nullptr));
    }
    runtime::ElementKernel(program_, {}, views).run(nullptr, pointers.data());
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      l_.put(outputs_[i], broadcast(l_.constant(dtype(outputs_[i]), read(dtype(outputs_[i]), buffers[i])), shape_));
  }

  void kernel() {
    const Mesh* mesh = l_.mesh();
    const AxisSet distinct = l_.axes(node(0).outputs[0]);
    const bool result = std::any_of(outputs_.begin(), outputs_.end(), [&](ir::Var v) { return l_.is_result(v); });
    std::vector<StridedView> each;  // operands of one element a row lie in another order
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (!program_.is_of_row(program_.inputs[i]) && !is_piece(i)) each.push_back(inputs_[i]);
    Anchors order = order_of(each, dense_place(kNoStorage, DType::F32, distinct, shape_, mesh), result, mesh);
    const auto lead = static_cast<int>(unit_.points.last > 0 ? unit_.points.first : shape_.size() - unit_.points.row);
    if (std::any_of(order.begin(), order.end(), [&](const Anchor& a) { return a.before > lead; }))
      order = anchored(distinct, 0);  // what is reduced is not taken apart
    std::vector<StridedView> made, results;
    std::vector<bool> own;
    std::vector<View> in, out;
    for (const StridedView& p : inputs_) in.push_back(view_of(p, order, mesh));
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      const ir::Var v = outputs_[o];
      const bool to_leaves = o < program_.reduced.size() && program_.reduced[o];
      const StridedView* wanted = is_again(o) ? nullptr : l_.wanted(v, order, !to_leaves && !is_of_row(v));
      results.push_back(wanted ? *wanted : l_.fresh(dtype(v), order, l_.type(v).shape));
      if (to_leaves) {
        made.push_back(fresh_leaves(dtype(v), order));
        own.push_back(false);
        out.push_back(runtime::contiguous(dtype(v), {points(shape_.size())}, nullptr));
      } else {
        made.push_back(results.back());
        own.push_back(!wanted);
        out.push_back(view_of(made.back(), order, mesh));
      }
    }
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!is_piece(i)) l_.copies(gathered(in[i]));
    for (ElementProgram::Join& j : program_.joins)  // of the views, which have axes before it
      j.dim = static_cast<std::uint16_t>(j.dim + std::count_if(order.begin(), order.end(), [&](const Anchor& a) {
                                           return a.before <= static_cast<int>(j.dim);
                                         }));
    if (!program_.reduced.empty()) program_.leaves = leaves();
    const std::vector<std::optional<runtime::Reduce>> reduced = program_.reduced;
    ir::BoundKernel run;
    if (!l_.around().measure)
      run =
          RunElements{std::make_shared<runtime::ElementKernel>(std::move(program_), in, out), &l_.around().pool.stop()};
    l_.step(std::move(run), inputs_, made, in_place(made, own, distinct));
    for (std::size_t o = 0; o < reduced.size(); ++o)
      if (reduced[o]) join(*reduced[o], made[o], results[o]);
    for (std::size_t o = 0; o < outputs_.size(); ++o)
      is_again(o) ? l_.put_again(outputs_[o], results[o]) : l_.put(outputs_[o], results[o]);
  }
  // Output o is the value of one before it.
  bool is_again(std::size_t o) const {
    const auto it = outputs_.begin() + static_cast<std::ptrdiff_t>(o);
    return std::find(outputs_.begin(), it, *it) != it;
  }

  // Points of all devices in the first dimensions.
  std::int64_t points(std::size_t dims) const {
    const AxisSet distinct = unit_.points.distinct;
    return runtime::numel(Shape(shape_.begin(), shape_.begin() + static_cast<std::ptrdiff_t>(dims))) *
           (distinct.empty() ? 1 : l_.mesh()->size_of(distinct));
  }
  runtime::Leaves leaves() const {
    const auto from = [&](std::size_t d) {
      return Shape(shape_.begin() + static_cast<std::ptrdiff_t>(d), shape_.end());
    };
    return {runtime::numel(from(unit_.points.first)), runtime::numel(from(unit_.points.last))};
  }
  StridedView fresh_leaves(DType type, const Anchors& order) {
    Shape shape(shape_.begin(), shape_.begin() + static_cast<std::ptrdiff_t>(unit_.points.first));
    shape.push_back(leaves().count() * leaves().inner);
    return l_.fresh(type, order, std::move(shape));
  }
  void join(runtime::Reduce how, const StridedView& parts, const StridedView& result) {
    l_.step([l = leaves(), how, type = result.dtype, outer = points(unit_.points.first)](
                void* const* in, void* const* out) { runtime::join_leaves(l, how, type, outer, in[0], out[0]); },
            {parts}, {result});
  }

  // An output may go over an input that is read element for element, by nothing else in another way.
  Lowering::InPlace in_place(const std::vector<StridedView>& made, const std::vector<bool>& own,
                             AxisSet distinct) const {
    Lowering::InPlace pairs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (is_piece(i) || !alone(inputs_, i) || inputs_[i].distinct != distinct) continue;
      for (std::size_t o = 0; o < made.size(); ++o)
        if (own[o] && made[o].dtype == inputs_[i].dtype && made[o].shape == inputs_[i].shape &&
            lies_as(inputs_[i], made[o]))
          pairs.emplace_back(static_cast<int>(o), static_cast<int>(i));
    }
    return pairs;
  }

  Lowering& l_;
  const Unit& unit_;
  std::vector<int> nodes_;  // with those that it does again, without those that nobody wants
  const Shape& shape_;      // of the points
  ElementProgram program_;
  Registers registers_;
  // By value: of operands from outside, and of the unit's own so far. First those with all elements, then one a row.
  std::map<std::int32_t, Register> held_[2];
  std::map<std::int32_t, std::size_t> last_;  // the last node of the unit that reads it
  std::set<std::int32_t> inner_, again_;      // values of the unit, and of these those that others make
  std::vector<StridedView> inputs_;
  std::vector<std::pair<std::pair<DType, Scalar>, Register>> constants_;
  ir::Vars outputs_;
};

}  // namespace

bool changes_nothing(const Lowering& l, const Unit& unit) {
  const Node& n = l.node(unit.nodes.front());
  if (unit.nodes.size() != 1 || !unit.again.empty()) return false;
  const auto* code = std::get_if<Code>(&n.op->kernel);
  const bool same_type = code && *code == Code::Convert &&
                         l.type(n.inputs[0]).dtype == l.type(n.outputs[0]).dtype;  // only the weakness changed
  return same_type || (ir::host_copy(n) != ir::HostCopy::None && !l.around().alone());
}

void lower_elementwise(Lowering& l, const Unit& unit) {
  const Node& first = l.node(unit.nodes.front());
  if (changes_nothing(l, unit)) return l.put(first.outputs[0], l.place(first.inputs[0]));
  ElementUnit(l, unit).emit();
}

}  // namespace shard::exec
