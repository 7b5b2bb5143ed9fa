// A unit of elementwise nodes becomes one program: operands from outside are inputs (broadcast by strides), constants
// are embedded, values that something outside reads are outputs. Registers are handed out again as soon as their value
// is dead.
#include <algorithm>
#include <map>
#include <set>

#include "interpreter/exec/lowering.h"
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
  Register take(DType t) {
    auto& free = free_[t];
    if (!free.empty()) {
      Register r = free.back();
      free.pop_back();
      return r;
    }
    program_.registers.push_back(t);
    return static_cast<Register>(program_.registers.size() - 1);
  }
  void give(Register r) { free_[program_.registers[r]].push_back(r); }

 private:
  ElementProgram& program_;
  std::map<DType, std::vector<Register>> free_;
};

// A unit on its way to a program.
class ElementUnit {
 public:
  ElementUnit(Lowering& lowering, const Unit& unit)
      : l_(lowering), unit_(unit), shape_(l_.type(node(0).outputs[0]).shape), registers_(program_) {
    for (std::size_t k = 0; k < unit_.nodes.size(); ++k) {
      for (ir::Var v : node(k).inputs) last_[v.id] = k;
      inner_.insert(node(k).outputs[0].id);
    }
  }

  void emit() {
    for (std::size_t k = 0; k < unit_.nodes.size(); ++k)
      for (ir::Var v : node(k).inputs)
        if (!inner_.count(v.id) && !held_.count(v.id)) held_[v.id] = operand(l_.place(v));
    for (std::size_t k = 0; k < unit_.nodes.size(); ++k) instruction(k);
    if (outputs_.empty()) return;
    const bool parts =
        std::any_of(outputs_.begin(), outputs_.end(), [&](ir::Var v) { return runtime::is_complex(dtype(v)); });
    if (inputs_.empty() && !parts)  // a splat is one number
      constants();
    else
      kernel();
  }

 private:
  const Node& node(std::size_t k) const { return l_.node(unit_.nodes[k]); }
  DType dtype(ir::Var v) const { return l_.type(v).dtype; }

  // Operands from outside: inputs and constants are in their registers from the start and stay there; what is the same
  // is there once.
  Register operand(const StridedView& p) {
    if (p.splat) {
      for (const auto& [key, reg] : constants_)
        if (key == std::pair(p.dtype, *p.splat)) return reg;
      const Register reg = registers_.take(p.dtype);
      constants_.push_back({{p.dtype, *p.splat}, reg});
      program_.constants.push_back({reg, p.splat->value, p.splat->integer});
      return reg;
    }
    StridedView seen = broadcast(p, shape_);
    auto it = std::find_if(inputs_.begin(), inputs_.end(), [&](const StridedView& q) { return same_place(q, seen); });
    if (it != inputs_.end()) return program_.inputs[static_cast<std::size_t>(it - inputs_.begin())];
    inputs_.push_back(std::move(seen));
    program_.inputs.push_back(registers_.take(p.dtype));
    return program_.inputs.back();
  }

  void instruction(std::size_t k) {
    const Node& n = node(k);
    const ir::Var out = n.outputs[0];
    const auto reg = [&](std::size_t i) { return held_.at(n.inputs[i].id); };
    runtime::Instr code{std::get<Code>(n.op->kernel), dtype(n.inputs[n.inputs.size() == 3 ? 1 : 0]),
                        registers_.take(dtype(out)), reg(0)};
    if (n.inputs.size() > 1) code.b = reg(1);
    if (n.inputs.size() > 2) code.c = reg(2);
    if (code.code == Code::Convert && code.type == dtype(out)) code.code = Code::Identity;
    program_.code.push_back(code);
    held_[out.id] = code.dst;
    if (l_.needed(out)) {
      outputs_.push_back(out);
      program_.outputs.push_back(code.dst);
    }
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const ir::Var v = n.inputs[i];
      const auto before = n.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      const bool again = std::find(n.inputs.begin(), before, v) != before;
      if (inner_.count(v.id) && last_[v.id] == k && !l_.needed(v) && !again) registers_.give(held_[v.id]);
    }
    if (!l_.needed(out) && !last_.count(out.id)) registers_.give(code.dst);  // dead code
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
    const Anchors order = order_of(inputs_, dense_place(kNoStorage, DType::F32, distinct, shape_, mesh), result, mesh);
    std::vector<StridedView> made;
    for (ir::Var v : outputs_) made.push_back(l_.fresh(dtype(v), order, shape_));
    std::vector<View> in, out;
    for (const StridedView& p : inputs_) in.push_back(view_of(p, order, mesh));
    for (const StridedView& p : made) out.push_back(view_of(p, order, mesh));
    for (const View& v : in) l_.copies(gathered(v));
    ir::BoundKernel run;
    if (!l_.around().measure)
      run = [kernel = std::make_shared<runtime::ElementKernel>(std::move(program_), in, out),
             stop = &l_.around().pool.stop()](void* const* i, void* const* o) { kernel->run(i, o, stop); };
    l_.step(std::move(run), inputs_, made, in_place(made, distinct));
    l_.put(outputs_, made);
  }

  // An output may go over an input that is read element for element, by nothing else in another way.
  Lowering::InPlace in_place(const std::vector<StridedView>& made, AxisSet distinct) const {
    Lowering::InPlace pairs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!alone(inputs_, i) || inputs_[i].distinct != distinct || !lies_as(inputs_[i], made[0])) continue;
      for (std::size_t o = 0; o < made.size(); ++o)
        if (made[o].dtype == inputs_[i].dtype) pairs.emplace_back(static_cast<int>(o), static_cast<int>(i));
    }
    return pairs;
  }

  Lowering& l_;
  const Unit& unit_;
  const Shape& shape_;
  ElementProgram program_;
  Registers registers_;
  std::map<std::int32_t, Register> held_;     // by value: of operands from outside, and of the unit's own so far
  std::map<std::int32_t, std::size_t> last_;  // the last node of the unit that reads it
  std::set<std::int32_t> inner_;              // values of the unit
  std::vector<StridedView> inputs_;
  std::vector<std::pair<std::pair<DType, Scalar>, Register>> constants_;
  ir::Vars outputs_;
};

}  // namespace

void lower_elementwise(Lowering& l, const Unit& unit) {
  const Node& first = l.node(unit.nodes.front());
  const bool same_type = std::get<Code>(first.op->kernel) == Code::Convert &&
                         l.type(first.inputs[0]).dtype == l.type(first.outputs[0]).dtype;  // only the weakness changed
  const bool same_memory = ir::host_copy(first) != ir::HostCopy::None && !l.around().alone();
  if (unit.nodes.size() == 1 && (same_type || same_memory)) return l.put(first.outputs[0], l.place(first.inputs[0]));
  ElementUnit(l, unit).emit();
}

}  // namespace shard::exec
