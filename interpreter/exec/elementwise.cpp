// A unit of elementwise nodes becomes one program: operands from outside are inputs (broadcast by strides), constants
// are embedded, values that something outside reads are outputs. Registers are handed out again as soon as their value
// is dead.
#include <algorithm>
#include <map>

#include "interpreter/exec/lowering.h"
#include "runtime/kernels/elementwise.h"

namespace shard::exec {
namespace {

using ir::Node;
using runtime::Code;
using runtime::ElementProgram;
using Register = std::uint16_t;

bool same_place(const Place& a, const Place& b) {
  return a.storage == b.storage && a.offset == b.offset && a.distinct == b.distinct && a.device == b.device &&
         a.strides == b.strides && a.frozen == b.frozen && a.dtype == b.dtype;
}

// All of its storage, in the order of `b`.
bool lies_as(const Place& a, const Place& b) {
  return a.offset == 0 && a.frozen.empty() && a.device == b.device && a.strides == b.strides;
}

// Results lie as the operands do, so that all are read and written in one line; dense where operands are, or have to
// be.
Anchors order_of(const std::vector<Place>& operands, const Place& dense, bool must, const Mesh* mesh) {
  std::optional<Anchors> order;
  for (const Place& p : operands) {
    auto lies = p.distinct == dense.distinct ? anchors_of(p, mesh) : std::nullopt;
    must |= lies && p.device == dense.device;
    if (!order) order = std::move(lies);
  }
  return must || !order ? anchored(dense.distinct, 0) : *order;
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

}  // namespace

void Lowering::emit_elementwise(const Unit& unit) {
  const Node& first = g_.nodes[static_cast<std::size_t>(unit.nodes.front())];
  const Shape& shape = type(first.outputs[0]).shape;
  AxisSet distinct = axes(first.outputs[0]);
  if (unit.nodes.size() == 1 && std::get<Code>(first.op->kernel) == Code::Convert &&
      type(first.inputs[0]).dtype == type(first.outputs[0]).dtype)
    return put(first.outputs[0], place(first.inputs[0]));  // only the weakness changed

  ElementProgram program;
  Registers registers(program);
  std::map<std::int32_t, Register> held;  // values of the unit
  std::map<std::int32_t, int> last;       // the last node of the unit that reads it
  for (std::size_t k = 0; k < unit.nodes.size(); ++k)
    for (ir::Var v : g_.nodes[static_cast<std::size_t>(unit.nodes[k])].inputs) last[v.id] = static_cast<int>(k);

  // Operands from outside first: inputs and constants are in their registers from the start and stay there.
  std::vector<Place> inputs;
  std::vector<std::pair<std::pair<DType, Scalar>, Register>> constants;
  std::map<std::int32_t, Register> outside;
  std::map<std::int32_t, int> inner;
  for (int i : unit.nodes) inner[g_.nodes[static_cast<std::size_t>(i)].outputs[0].id] = 1;
  for (int i : unit.nodes)
    for (ir::Var v : g_.nodes[static_cast<std::size_t>(i)].inputs) {
      if (inner.count(v.id) || outside.count(v.id)) continue;
      const Place& p = place(v);
      Register reg = 0;
      if (p.splat) {
        auto key = std::pair(p.dtype, *p.splat);
        auto it = std::find_if(constants.begin(), constants.end(), [&](const auto& c) { return c.first == key; });
        if (it == constants.end()) {
          reg = registers.take(p.dtype);
          constants.push_back({key, reg});
          program.constants.push_back({reg, p.splat->value, p.splat->integer});
        } else {
          reg = it->second;
        }
      } else {
        Place seen = broadcast(p, shape);
        auto it = std::find_if(inputs.begin(), inputs.end(), [&](const Place& q) { return same_place(q, seen); });
        if (it == inputs.end()) {
          reg = registers.take(p.dtype);
          inputs.push_back(std::move(seen));
          program.inputs.push_back(reg);
        } else {
          reg = program.inputs[static_cast<std::size_t>(it - inputs.begin())];
        }
      }
      outside[v.id] = reg;
    }

  std::vector<ir::Var> outputs;
  for (std::size_t k = 0; k < unit.nodes.size(); ++k) {
    const Node& n = g_.nodes[static_cast<std::size_t>(unit.nodes[k])];
    ir::Var out = n.outputs[0];
    auto reg = [&](std::size_t i) {
      return inner.count(n.inputs[i].id) ? held.at(n.inputs[i].id) : outside.at(n.inputs[i].id);
    };
    runtime::Instr code{std::get<Code>(n.op->kernel), type(n.inputs[n.inputs.size() == 3 ? 1 : 0]).dtype,
                        registers.take(type(out).dtype), reg(0)};
    if (n.inputs.size() > 1) code.b = reg(1);
    if (n.inputs.size() > 2) code.c = reg(2);
    if (code.code == Code::Convert && code.type == type(out).dtype) code.code = Code::Identity;
    program.code.push_back(code);
    held[out.id] = code.dst;
    if (needed_[at(out)]) {
      outputs.push_back(out);
      program.outputs.push_back(code.dst);
    }
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      ir::Var v = n.inputs[i];
      bool again = std::find(n.inputs.begin(), n.inputs.begin() + static_cast<std::ptrdiff_t>(i), v) !=
                   n.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      if (inner.count(v.id) && last[v.id] == static_cast<int>(k) && !needed_[at(v)] && !again)
        registers.give(held[v.id]);
    }
    if (!needed_[at(out)] && !last.count(out.id)) registers.give(code.dst);  // dead code
  }
  if (outputs.empty()) return;

  if (inputs.empty()) {  // a constant: computed now
    std::vector<View> views;
    std::vector<runtime::BufferRef> buffers;
    std::vector<void*> pointers;
    for (ir::Var v : outputs) {
      buffers.push_back(around_.pool.allocate(runtime::size_of(type(v).dtype)));
      pointers.push_back(buffers.back()->data());
      views.push_back(runtime::contiguous(type(v).dtype, {}, nullptr));
    }
    runtime::ElementKernel(program, {}, views).run(nullptr, pointers.data());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      put(outputs[i], broadcast(constant(type(outputs[i]).dtype, read(type(outputs[i]).dtype, buffers[i])), shape));
    return;
  }

  bool result = std::any_of(outputs.begin(), outputs.end(), [&](ir::Var v) { return result_[at(v)] != 0; });
  Anchors order = order_of(inputs, dense_place(-1, DType::F32, distinct, shape, mesh_), result, mesh_);
  std::vector<Place> made;
  for (ir::Var v : outputs) made.push_back(fresh(type(v).dtype, order, shape));
  std::vector<View> in, out;
  for (const Place& p : inputs) in.push_back(view_of(p, order, mesh_));
  for (const Place& p : made) out.push_back(view_of(p, order, mesh_));
  // An output may go over an input that is read element for element, by nothing else in another way.
  std::vector<std::pair<int, int>> in_place;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    bool alone = std::count_if(inputs.begin(), inputs.end(),
                               [&](const Place& q) { return q.storage == inputs[i].storage; }) == 1;
    if (!alone || inputs[i].distinct != distinct || !lies_as(inputs[i], made[0])) continue;
    for (std::size_t o = 0; o < made.size(); ++o)
      if (made[o].dtype == inputs[i].dtype) in_place.emplace_back(static_cast<int>(o), static_cast<int>(i));
  }
  auto kernel = std::make_shared<runtime::ElementKernel>(std::move(program), in, out);
  step([kernel](void* const* i, void* const* o) { kernel->run(i, o); }, inputs, made, std::move(in_place));
  for (std::size_t i = 0; i < outputs.size(); ++i) put(outputs[i], made[i]);
}

}  // namespace shard::exec
