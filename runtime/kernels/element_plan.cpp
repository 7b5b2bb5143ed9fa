// Preparing elementwise programs. Registers are renamed so that each is written once; then lifetimes give the slots.
#include "runtime/kernels/element_plan.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace shard::runtime {
namespace {

class Renamer {
 public:
  explicit Renamer(const ElementProgram& p) : p_(p), name_(p.registers.size(), kNone) {}
  std::uint16_t read(std::uint16_t r) const {
    if (r >= name_.size() || name_[r] == kNone)
      throw RuntimeError("kernel", "an elementwise program reads a register before it is written");
    return name_[r];
  }
  std::uint16_t write(std::uint16_t r) {
    if (r >= name_.size() || types.size() >= kNone)
      throw RuntimeError("kernel", "an elementwise program has too many registers");
    types.push_back(p_.registers[r]);
    of_row.push_back(p_.is_of_row(r));
    return name_[r] = static_cast<std::uint16_t>(types.size() - 1);
  }
  void same(std::uint16_t to, std::uint16_t from) { name_.at(to) = read(from); }
  std::vector<DType> types;
  std::vector<bool> of_row;

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  const ElementProgram& p_;
  std::vector<std::uint16_t> name_;
};

// Registers must be as wide and as many as the code takes and gives them, or a step would write beyond its slot.
void check(const ElementProgram& p, const Instr& i) {
  const CodeFacts& code = facts(i.code);
  if (i.reduce || i.repeat) {
    const bool good = p.row > 1 && i.a < p.registers.size() && i.dst < p.registers.size() &&
                      p.registers[i.a] == i.type && p.registers[i.dst] == i.type && p.is_of_row(i.a) == i.repeat &&
                      p.is_of_row(i.dst) != i.repeat;
    if (good) return;
    throw RuntimeError("kernel", "an elementwise program takes rows where there are none");
  }
  const bool of_row = p.is_of_row(i.dst);
  const auto holds = [&](std::uint16_t r, std::size_t bytes) {
    return r < p.registers.size() && held_bytes(p.registers[r]) == bytes && p.is_of_row(r) == of_row;
  };
  const std::size_t width = held_bytes(i.type), first = code.operands == 3 ? 1 : width;
  bool good =
      code.gives == Gives::Named ? i.dst < p.registers.size() : holds(i.dst, code.gives == Gives::Truth ? 1 : width);
  good =
      good && holds(i.a, first) && (code.operands < 2 || holds(i.b, width)) && (code.operands < 3 || holds(i.c, width));
  if (!good)
    throw RuntimeError("kernel", std::string("elementwise code ") + code.name + " of " + std::string(name(i.type)) +
                                     " has registers of other types");
  if (!takes(i.code, i.type))
    throw RuntimeError(
        "kernel", std::string("elementwise code ") + code.name + " does not exist for " + std::string(name(i.type)));
}

// x ** 2 and x ** -1 by a constant have cheaper codes of the same bits.
Code cheaper(const ElementProgram& p, const Instr& i) {
  if (i.code != Code::Pow) return i.code;
  for (const Instr& other : p.code)
    if (other.dst == i.b) return i.code;
  for (const ElementProgram::Constant& c : p.constants) {
    if (c.reg != i.b) continue;
    const double y = is_float(i.type) ? c.value : static_cast<double>(c.integer);
    if (y == 2) return Code::Square;
    if (y == -1 && is_float(i.type)) return Code::Reciprocal;
  }
  return i.code;
}

// A sigmoid of halves is 1 / (1 + exp(-x)), rounded at each step, as XLA's CPU has it.
ElementProgram spelled_out(const ElementProgram& p) {
  ElementProgram out = p;
  out.code.clear();
  for (const Instr& i : p.code) {
    if (i.code != Code::Sigmoid || !is_narrow(i.type)) {
      out.code.push_back(i);
      continue;
    }
    const auto one = static_cast<std::uint16_t>(out.registers.size());
    out.registers.push_back(i.type);
    out.of_row.resize(out.registers.size());
    out.of_row[one] = p.is_of_row(i.dst);
    out.constants.push_back({one, 1, 1});
    out.code.push_back({Code::Neg, i.type, i.dst, i.a});
    out.code.push_back({Code::Exp, i.type, i.dst, i.dst});
    out.code.push_back({Code::Add, i.type, i.dst, i.dst, one});
    out.code.push_back({Code::Reciprocal, i.type, i.dst, i.dst});
  }
  return out;
}

// Whether neighbours lie in the dimension before the last, and those of the last so far apart that a line of them does
// not stay in a cache, which maps addresses a power of two apart onto few of its lines.
bool turned(const Nest<1>& n, std::int64_t item) {
  const int last = n.rank - 1;
  const std::int64_t step = n.stride[0][last] * item;
  return n.stride[0][last - 1] == 1 && step > 0 && step % 1024 == 0 && n.size[last - 1] >= ElementPlan::kPanel &&
         n.size[last] >= ElementPlan::kPanel && n.size[last] * item <= ElementPlan::kPanelLine;
}

ElementPlan::Input make_input(const View& v, std::uint16_t reg, std::int64_t row) {
  ElementPlan::Input in{
      ElementPlan::Way::Gather,           false, false, static_cast<std::uint8_t>(size_of(v.dtype)), reg, {},
      vector_table().narrow(v.dtype).load};
  for (std::size_t d = 0; d < v.shape.size(); ++d) in.nest.add(v.shape[d], {v.strides[d]});
  const Nest<1>& n = in.nest;
  if (n.rank == 0 || (n.rank == 1 && n.stride[0][0] == 0))
    in.way = ElementPlan::Way::Scalar;
  else if (n.rank == 1 && n.stride[0][0] == 1)
    in.way = ElementPlan::Way::Direct;
  else
    in.fits = n.stride[0][n.rank - 1] == 1 && !in.load;
  if (row > 1 && n.rank == 2 && n.stride[0][0] == 0 && n.size[1] == row && !in.load) in.way = ElementPlan::Way::Row;
  if (in.way == ElementPlan::Way::Gather && n.rank > 1) in.turned = turned(n, in.item);
  if (in.way == ElementPlan::Way::Gather && !in.turned) in.groups = Groups::of(n, in.item);
  std::int64_t inner = 1;
  for (int d = n.rank; d-- > 0 && in.way == ElementPlan::Way::Gather; inner *= n.size[d])
    if (n.stride[0][d] == 0 && d + 1 < n.rank) {
      in.cycle = inner, in.cycles = inner * n.size[d];
      break;
    }
  return in;
}

ElementPlan::Constant make_constant(const ElementProgram::Constant& c, DType t, std::uint16_t reg) {
  ElementPlan::Constant out{reg, static_cast<std::uint8_t>(held_bytes(t)), {}};
  fill(View{t, {}, {}, out.value.data()}, c.value, c.integer);
  if (const Loop load = vector_table().narrow(t).load) {
    alignas(16) std::array<unsigned char, 16> wide{};
    load(out.value.data(), nullptr, nullptr, wide.data(), 1);
    out.value = wide;
  }
  return out;
}

// Piece k of a join, which `view` is.
ElementPlan::Input make_piece(const ElementProgram::Join& join, std::size_t k, std::span<const View> in,
                              std::uint16_t reg) {
  ElementPlan::Input out = make_input(in[join.first + k], reg, 1);
  if (out.way == ElementPlan::Way::Scalar) {
    out.nest.rank = 1;
    out.nest.size[0] = std::max<std::int64_t>(numel(in[join.first + k].shape), 1);
    out.nest.stride[0][0] = 0;
  }
  out.fits = out.nest.stride[0][out.nest.rank - 1] == 1 && !out.load;
  out.way = ElementPlan::Way::Gather;
  out.turned = false;
  out.cycle = 0;
  const auto line = [&](const View& v) {  // elements from one index before the dimension to the next
    return numel(Shape(v.shape.begin() + join.dim, v.shape.end()));
  };
  for (std::size_t other = 0; other < join.count; ++other) {
    const std::int64_t each = line(in[join.first + other]);
    if (other < k) out.begin += each;
    out.period += each;
  }
  out.length = line(in[join.first + k]);
  if (k + 1 == join.count) out.pieces = join.count;
  return out;
}

// Which one input i is a piece of; null: it is whole.
const ElementProgram::Join* join_of(const ElementProgram& p, std::size_t i) {
  for (const ElementProgram::Join& j : p.joins)
    if (i >= j.first && i < std::size_t{j.first} + j.count) return &j;
  return nullptr;
}

void check_join(const ElementProgram& p, const ElementProgram::Join& j, std::span<const View> in, std::int64_t count) {
  bool good = j.count > 0 && std::size_t{j.first} + j.count <= in.size() && j.dim < in[j.first].shape.size();
  Shape whole = good ? in[j.first].shape : Shape();
  for (std::size_t i = j.first + std::size_t{1}; good && i < std::size_t{j.first} + j.count; ++i) {
    Shape shape = in[i].shape;
    good = p.inputs[i] == p.inputs[j.first] && !p.is_of_row(p.inputs[i]) && shape.size() == whole.size() &&
           in[i].dtype == in[j.first].dtype;
    if (!good) break;
    whole[j.dim] += std::exchange(shape[j.dim], in[j.first].shape[j.dim]);
    good = shape == in[j.first].shape;
  }
  if (!good || numel(whole) != count) throw RuntimeError("kernel", "pieces do not make what they are joined to");
}

void check_arrays(const ElementProgram& p, std::span<const View> in, std::span<const View> out) {
  if (in.size() != p.inputs.size() || out.size() != p.outputs.size() || out.empty())
    throw RuntimeError("kernel", "an elementwise program was given a wrong number of arrays");
  const std::int64_t row = std::max<std::int64_t>(p.row, 1);
  const auto points = [&](std::uint16_t r, const View& v) { return numel(v.shape) * (p.is_of_row(r) ? row : 1); };
  const std::int64_t count = points(p.outputs[0], out[0]);
  const auto fits = [&](std::uint16_t r, const View& v) {
    return r < p.registers.size() && held_bytes(p.registers[r]) == held_bytes(v.dtype) && points(r, v) == count;
  };
  bool good = true;
  for (std::size_t i = 0; i < p.reduced.size(); ++i)
    good = good && (!p.reduced[i] ||
                    (i < out.size() && !is_narrow(out[i].dtype) && !p.is_of_row(p.outputs[i]) && p.leaves.length > 0 &&
                     count % p.leaves.length == 0 && p.leaves.length % p.leaves.inner == 0));
  for (const ElementProgram::Join& j : p.joins) check_join(p, j, in, count);
  for (std::size_t i = 0; i < in.size(); ++i) good = good && (join_of(p, i) || fits(p.inputs[i], in[i]));
  for (std::size_t i = 0; i < out.size(); ++i) good = good && fits(p.outputs[i], out[i]);
  for (const ElementProgram::Constant& c : p.constants) good = good && c.reg < p.registers.size();
  if (!good)
    throw RuntimeError("kernel", "an elementwise program was given arrays of other types or sizes than its registers");
}

OutputLines where(const View& out, bool of_row) {
  if (numel(out.shape) == 0) return {};
  const std::optional<OutputLines> lines = lines_of(out);
  if (!lines || (of_row && lines->length > 0))
    throw RuntimeError("kernel", "an elementwise program cannot write where its output lies");
  return *lines;
}

ElementPlan::Step make_step(const ElementProgram& p, Instr i, Renamer& names) {
  const VectorTable& table = vector_table();
  check(p, i);
  const DType to = p.registers[i.dst];
  if (i.reduce || i.repeat) {
    ElementPlan::Step s{};
    s.a = s.b = s.c = names.read(i.a);
    s.dst = names.write(i.dst);
    s.cost = 1;
    s.item = held_bytes(i.type);
    if (i.reduce) s.rows = std::make_shared<const ReducePlan>(reduce_plan(*i.reduce, i.type));
    if (i.reduce) s.round = table.narrow(to).round;
    return s;
  }
  i.code = cheaper(p, i);
  const CodeFacts& code = facts(i.code);
  ElementPlan::Step s{};
  s.run = i.code == Code::Convert ? table.convert(i.type, to) : table.loop(i.code, i.type);
  if (!s.run)
    throw RuntimeError("kernel", std::string("elementwise code ") + code.name + " has no loop from " +
                                     std::string(name(i.type)) + " to " + std::string(name(to)));
  s.a = names.read(i.a);
  s.b = code.operands > 1 ? names.read(i.b) : s.a;
  s.c = code.operands > 2 ? names.read(i.c) : s.a;
  s.dst = names.write(i.dst);
  if (i.code != Code::Identity && i.code != Code::Select) s.round = table.narrow(to).round;
  s.cost = code.cost;
  s.code = i.code, s.type = i.type;
  return s;
}

// Reductions of whole leaves become rows of that many elements, of which each leaves one: machine code keeps the sums
// of rows in registers. The same leaves, in the same order.
void leaves_as_rows(ElementProgram& p, std::span<const View> in, std::vector<View>& out) {
  const auto brought = [](const View& v) { return make_input(v, 0, 1).way == ElementPlan::Way::Gather; };
  if (p.leaves.length == 0 || p.leaves.length % kReduceRun != 0 || p.leaves.inner != 1 || p.row > 1) return;
  if (!p.joins.empty() || std::any_of(in.begin(), in.end(), brought)) return;
  p.row = kReduceRun;
  for (std::size_t i = 0; i < p.reduced.size(); ++i) {
    if (!p.reduced[i]) continue;
    const auto leaf = static_cast<std::uint16_t>(p.registers.size());
    p.registers.push_back(out[i].dtype);
    p.of_row.resize(p.registers.size());
    p.of_row[leaf] = true;
    p.code.push_back({Code::Identity, out[i].dtype, leaf, p.outputs[i], 0, 0, p.reduced[i]});
    p.outputs[i] = leaf;
    out[i] = contiguous(out[i].dtype, {numel(out[i].shape) / kReduceRun}, nullptr);
  }
  p.reduced.clear();
  p.leaves = {};
}

// Bytes that the slots of a tile may take, so that they stay in the first cache with what streams through.
std::size_t near_bytes() {
  static const std::size_t half = [] {
    long cache = 0;
#ifdef _SC_LEVEL1_DCACHE_SIZE
    cache = sysconf(_SC_LEVEL1_DCACHE_SIZE);  // 0 where the system does not know
#endif
    return static_cast<std::size_t>(std::clamp(cache, 32L * 1024, 64L * 1024)) / 2;
  }();
  return half;
}

}  // namespace

ElementPlan::ElementPlan(const ElementProgram& given, std::span<const View> in, std::span<const View> given_out) {
  ElementProgram p = spelled_out(given);
  const VectorTable& table = vector_table();
  check_arrays(p, in, given_out);
  std::vector<View> out(given_out.begin(), given_out.end());
  leaves_as_rows(p, in, out);
  row = std::max<std::int64_t>(p.row, 1);
  count = numel(out[0].shape) * (p.is_of_row(p.outputs[0]) ? row : 1);
  Renamer names(p);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint16_t reg = names.write(p.inputs[i]);  // of pieces the last one's is read
    if (const ElementProgram::Join* j = join_of(p, i))
      inputs.push_back(make_piece(*j, i - j->first, in, reg));
    else
      inputs.push_back(make_input(in[i], reg, p.is_of_row(p.inputs[i]) ? 1 : row));
  }
  for (const ElementProgram::Constant& c : p.constants)
    constants.push_back(make_constant(c, p.registers[c.reg], names.write(c.reg)));
  for (const Instr& i : p.code) {
    if (i.code == Code::Identity && !i.reduce && !i.repeat && p.registers.at(i.dst) == p.registers.at(i.a)) {
      check(p, i);
      names.same(i.dst, i.a);  // nothing is done
      continue;
    }
    steps.push_back(make_step(p, i, names));
    cost += p.is_of_row(i.dst) && !i.reduce ? 0 : steps.back().cost;
  }
  leaves = p.leaves;
  const auto to_leaves = [&](std::size_t i) { return i < p.reduced.size() && p.reduced[i]; };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool again = std::any_of(outputs.begin(), outputs.end(),
                                   [&](const Output& o) { return o.reg == names.read(p.outputs[i]) && !o.reduce; });
    // Each in a register of its own, which may be its place.
    if (again && !to_leaves(i) && table.loop(Code::Identity, out[i].dtype))
      steps.push_back(make_step(p, {Code::Identity, out[i].dtype, p.outputs[i], p.outputs[i]}, names));
    outputs.push_back({names.read(p.outputs[i]), static_cast<std::uint8_t>(size_of(out[i].dtype)), false, false,
                       table.narrow(out[i].dtype).store});
    if (to_leaves(i))
      outputs.back().reduce = std::make_shared<const ReducePlan>(reduce_plan(*p.reduced[i], out[i].dtype));
    else
      outputs.back().lines = where(out[i], p.is_of_row(p.outputs[i]));
  }
  std::size_t cycles = 0;
  for (Input& i : inputs)
    if (i.cycle > kTile || cycles == kCycles || (row > 1 && names.of_row[i.reg]))
      i.cycle = 0;
    else if (i.cycle > 0)
      i.memo = cycles++;
  of_row = std::move(names.of_row);
  types = std::move(names.types);
  const auto wide = [&](std::uint16_t r) { return static_cast<std::uint8_t>(held_bytes(types[r])); };
  for (Step& s : steps) s.wide = {wide(s.a), wide(s.b), wide(s.c), wide(s.dst)};
  place_registers();
  size_tile();
  find_lines(p, in, out);
  const auto room = [](std::int64_t n) { return static_cast<std::size_t>((n + 15) / 16 * 16); };
  for (std::size_t r = 0; r < slot.size(); ++r)
    offset.push_back(of_row[r] ? slot_bytes * room(tile) + slot[r] * room(tile / row) : slot[r] * room(tile));
  scratch_bytes = slot_bytes * room(tile) + row_bytes * room(tile / row);
  together = row;
  least = tile;
  for (Output& o : outputs)
    if (o.reduce) {
      o.lanes = std::exchange(scratch_bytes, scratch_bytes + Leaves::kLanes * 8);
      least = together = std::lcm(leaves.together(count), row);
    }
  few = count <= kFewElements && row == 1 && slot.size() <= kFewRegisters && slot_bytes * few_room() <= kFewBytes &&
        std::none_of(inputs.begin(), inputs.end(), [](const Input& i) { return i.way == Way::Gather; }) &&
        std::all_of(outputs.begin(), outputs.end(), [](const Output& o) { return o.lines.length == 0 && !o.reduce; });
  for (const Constant& c : constants)
    for (std::size_t i = 0; few && i < few_room(); ++i)
      filled.insert(filled.end(), c.value.begin(), c.value.begin() + c.item);
}

// Where something would be brought together, or apart.
void ElementPlan::find_lines(const ElementProgram& p, std::span<const View> in, std::span<const View> out) {
  const bool brought =
      std::any_of(inputs.begin(), inputs.end(), [](const Input& i) { return i.way == Way::Gather && i.cycle == 0; }) ||
      std::any_of(outputs.begin(), outputs.end(), [](const Output& o) { return o.lines.length > 0; });
  if (brought && row == 1 && p.joins.empty() && p.reduced.empty() && count > 0) lines = element_lines(in, out);
}

void ElementPlan::size_tile() {
  const auto all = [&](const Output& o) { return o.reduce && leaves.inner == 1; };
  if (row > 1)
    tile = kTileOfRows;
  else if (std::any_of(outputs.begin(), outputs.end(), all))
    tile = kReduceRun;  // whole leaves
  while (tile > kNearTile && slot_bytes * static_cast<std::size_t>(tile) > near_bytes()) tile /= 2;
  while (tile > kLeastTile && slot_bytes * static_cast<std::size_t>(tile) > kScratch) tile /= 2;
  std::int64_t whole = row;  // a tile is of whole rows, and of whole cycles where it has room for them
  for (Input& i : inputs) {
    if (i.cycle == 0) continue;
    const auto fits = [&](std::int64_t cycle) {
      const std::int64_t both = std::lcm(whole, cycle);
      return both <= std::max(tile, row) && (both == row || cycle % kLeastTile == 0);
    };
    // Several of a short one are one too, where stretches begin with them.
    const std::int64_t several = std::lcm(i.cycle, kLeastTile);
    if (!fits(i.cycle)) i.cycle = i.cycles % several == 0 || i.cycles >= count ? several : 0;
    if (i.cycle > 0 && !fits(i.cycle)) i.cycle = 0;
    if (i.cycle > 0) whole = std::lcm(whole, i.cycle);
  }
  tile = std::max<std::int64_t>(tile / whole, 1) * whole;
}

// Step s happens at time s + 1; inputs and constants are there at time 0, outputs are stored at time `end`.
void ElementPlan::place_registers() {
  const std::size_t registers = types.size(), end = steps.size() + 1;
  std::vector<std::size_t> born(registers, 0), dies(registers, 0);
  std::size_t last_input_read = 0;
  const auto use = [&](std::uint16_t r, std::size_t at) {
    dies[r] = std::max(dies[r], at);
    if (r < inputs.size()) last_input_read = std::max(last_input_read, at);
  };
  for (std::size_t s = 0; s < steps.size(); ++s) {
    use(steps[s].a, s + 1), use(steps[s].b, s + 1), use(steps[s].c, s + 1);
    born[steps[s].dst] = dies[steps[s].dst] = s + 1;
  }
  for (const Constant& c : constants) dies[c.reg] = end;  // filled once for many tiles
  for (const Input& i : inputs)
    if (i.once() || i.cycle > 0) dies[i.reg] = end;
  for (Output& o : outputs) {
    use(o.reg, end);
    if (o.reg < inputs.size()) inputs[o.reg].kept = true;
  }
  for (std::size_t s = steps.size(); s-- > 0;)  // generated code reads a value of a row where it is wanted along it
    if (!steps[s].run && !steps[s].rows) dies[steps[s].a] = std::max(dies[steps[s].a], dies[steps[s].dst]);
  std::vector<bool> placed(registers, false);
  for (Output& o : outputs) {
    if (o.reduce) continue;
    o.in_place = born[o.reg] > 0 && !placed[o.reg];
    o.early = born[o.reg] < last_input_read;
    placed[o.reg] = true;
  }
  struct Slot {
    std::size_t offset, width, busy;
    bool of_row;
  };
  std::vector<Slot> slots;
  for (std::size_t r = 0; r < registers; ++r) {                                // in the order of their births
    if (r < inputs.size() && inputs[r].period > 0 && inputs[r].pieces == 0) {  // it lies in the last piece's
      slot.push_back(0);
      continue;
    }
    const std::size_t width = held_bytes(types[r]);
    std::size_t& bytes = of_row[r] ? row_bytes : slot_bytes;
    auto it = std::find_if(slots.begin(), slots.end(), [&](const Slot& s) {
      return s.width == width && s.busy < born[r] && s.of_row == of_row[r];
    });
    if (it == slots.end()) {
      slots.push_back({bytes, width, 0, of_row[r]});
      bytes += width;
      it = slots.end() - 1;
    }
    it->busy = dies[r];
    slot.push_back(it->offset);
  }
}

}  // namespace shard::runtime
