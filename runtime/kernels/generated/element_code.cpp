#include "runtime/kernels/generated/element_code.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "runtime/kernels/generated/one_row.h"

namespace shard::runtime::generated {
namespace {

using Step = ElementPlan::Step;
constexpr std::size_t kMostNodes = ElementCode::kMostNodes, kMostOperands = ElementCode::kMostOperands, kMostSums = 4;

class Maker {
 public:
  Maker(const ElementPlan& plan, bool in_lines)
      : p_(plan),
        lines_(in_lines ? &*plan.lines : nullptr),
        row_(in_lines ? lines_->length : plan.row),
        constant_(plan.types.size()),
        repeated_(plan.types.size()) {
    for (const ElementPlan::Constant& c : p_.constants) constant_[c.reg] = &c;
    scalar_.resize(p_.types.size(), false);
    for (const ElementPlan::Input& in : p_.inputs) scalar_[in.reg] = in.way == ElementPlan::Way::Scalar;
    outside_.resize(p_.types.size(), false);
    for (const ElementPlan::Input& in : p_.inputs) outside_[in.reg] = true;
    for (const ElementPlan::Output& out : p_.outputs) outside_[out.reg] = true;
    last_read_.resize(p_.types.size(), 0);
    for (std::size_t s = 0; s < p_.steps.size(); ++s)
      for (const std::uint16_t r : {p_.steps[s].a, p_.steps[s].b, p_.steps[s].c}) last_read_[r] = s;
    for (const ElementPlan::Output& o : p_.outputs) last_read_[o.reg] = p_.steps.size();
    for (const Step& s : p_.steps) is_formula_.push_back(is_formula(s));
    find_repeated();
    find_narrow();
  }

  std::unique_ptr<const ElementCode> make() {
    for (std::size_t s = 0; s < p_.steps.size(); ++s) {
      const Step& step = p_.steps[s];
      if (repeated_[step.dst]) continue;
      if (reads_sum(step)) end(s);
      if (add_up(step)) continue;
      const bool full = formula_.nodes.size() > kMostNodes || places_.size() + node_.size() + 4 > kMostOperands;
      if (full || !step.run || p_.of_row[step.dst] != of_row_) end(s);
      of_row_ = p_.of_row[step.dst];
      if (!step.run || wants_loop(step) || !take(step)) {
        end(s);
        made_->parts.push_back({s, s + 1});
        first_ = s + 1;
      }
    }
    end(p_.steps.size());
    const auto generated = [](const ElementCode::Part& part) { return part.code.run != nullptr; };
    if (std::none_of(made_->parts.begin(), made_->parts.end(), generated)) return nullptr;
    made_->loops = !std::all_of(made_->parts.begin(), made_->parts.end(), generated) ||
                   std::any_of(p_.outputs.begin(), p_.outputs.end(), [&](auto& o) { return constant_[o.reg]; });
    const bool there = made_->parts.size() == 1 && reaches_arrays();
    made_->whole = p_.row == 1 && there && !lines_;
    made_->in_lines = lines_ && there && made_->parts[0].code.rows;
    if (((p_.few || lines_) && !made_->whole && !made_->in_lines) || failed_) return nullptr;
    if (made_->whole || made_->in_lines) name_arrays();
    made_->few = p_.few;
    return std::move(made_);
  }

 private:
  // Whether operands can be read and written where the arrays have them.
  bool reaches_arrays() const {
    const auto input = [&](const ElementPlan::Input& in) {
      const bool as_held = !in.load || made_->narrow[in.reg];
      if (in.way == ElementPlan::Way::Scalar) return as_held || !(p_.few || lines_);  // else it is converted before
      return (in.way == ElementPlan::Way::Direct || lines_) && (p_.few || !in.kept) && as_held;
    };
    const auto output = [&](const ElementPlan::Output& o) {
      return (p_.few || o.in_place) && (!o.store || made_->narrow[o.reg]) && (lines_ || o.lines.length == 0);
    };
    return std::all_of(p_.inputs.begin(), p_.inputs.end(), input) &&
           std::all_of(p_.outputs.begin(), p_.outputs.end(), output);
  }
  std::size_t output_of(std::uint16_t reg) const {
    const auto it = std::find_if(p_.outputs.begin(), p_.outputs.end(), [&](const auto& o) { return o.reg == reg; });
    return static_cast<std::size_t>(it - p_.outputs.begin());
  }
  void name_arrays() {
    for (ElementCode::Place& p : made_->parts[0].places)  // inputs have the first registers
      if (!p.stored)
        p.array = p.reg;
      else if (!p_.few)
        p.array = static_cast<std::uint16_t>(output_of(p.reg));
  }
  // Elements that fill no vectors are computed one by one, where there is no AVX-512.
  Turn turn_of_few() const {
    if (has_avx512() && p_.count >= 16 && std::has_single_bit(static_cast<std::uint64_t>(p_.count)))
      return Turn::Vectors;
    if (p_.count % 8 == 0) return Turn::Vector;
    return has_avx512() && p_.count > 4 ? Turn::Ragged : Turn::Element;
  }
  // There are few of rows.
  Turn turn(bool by_row) const {
    if (p_.few) return turn_of_few();
    if (of_row_) return Turn::Vector;
    const bool fill = row_ % 64 == 0 || row_ == 32 || row_ == 16;
    return by_row && !fill && has_avx512() ? Turn::Ragged : Turn::Vectors;
  }

  // Values of a row that only generated code reads along it: they need not be written out.
  void find_repeated() {
    constexpr std::int64_t kShort = 8;  // so few elements fill no vector: they are written out
    for (const Step& s : p_.steps)
      if (!s.run && !s.rows && p_.row >= kShort) repeated_[s.dst] = &s;
    for (const ElementPlan::Output& o : p_.outputs) repeated_[o.reg] = nullptr;
    each_loop([&](const Step& s) {
      for (const std::uint16_t r : {s.a, s.b, s.c}) repeated_[r] = nullptr;
    });
    for (const Step& s : p_.steps)
      if (repeated_[s.dst] == &s) last_read_[s.a] = std::max(last_read_[s.a], last_read_[s.dst]);
  }
  void find_narrow() {
    std::vector<bool>& narrow = made_->narrow;
    narrow.resize(p_.types.size(), false);
    const auto table = [&](std::uint16_t r) { return vector_table().narrow(p_.types[r]); };
    for (const Step& s : p_.steps) narrow[s.dst] = true;
    for (const ElementPlan::Input& in : p_.inputs) {
      const bool there = lines_ || in.way == ElementPlan::Way::Direct || (in.way == ElementPlan::Way::Scalar && p_.few);
      narrow[in.reg] = there && in.load && in.load == table(in.reg).load && in.period == 0;
    }
    std::vector<bool> stored(p_.types.size(), false);
    for (const ElementPlan::Output& o : p_.outputs) stored[o.reg] = o.store && o.store == table(o.reg).store;
    for (const Step& s : p_.steps) narrow[s.dst] = narrow[s.dst] && stored[s.dst];
    for (std::size_t r = 0; r < narrow.size(); ++r) narrow[r] = narrow[r] && kind_of(p_.types[r]) && !p_.of_row[r];
    each_loop([&](const Step& s) {
      for (const std::uint16_t r : {s.a, s.b, s.c, s.dst}) narrow[r] = false;
    });
  }
  // f of the steps that are no formulas.
  template <class F>
  void each_loop(F f) const {
    for (std::size_t s = 0; s < p_.steps.size(); ++s)
      if (!is_formula_[s]) f(p_.steps[s]);
  }
  Form form(std::uint16_t reg) const {
    const DType type = p_.types[reg];
    if (type == DType::Bool) return Form::Truth;
    if (type == DType::I8 || type == DType::U8) return type == DType::I8 ? Form::I8 : Form::U8;
    return !made_->narrow[reg] ? Form::Held : type == DType::F16 ? Form::Half : Form::Brain;
  }
  bool is_formula(const Step& s) const {
    Formula trial;
    std::array<NodeId, 3> operands;
    for (std::size_t i = 0; i < 3; ++i) operands[i] = trial.add(loaded({s.a, s.b, s.c}, i));
    return s.run && !wants_loop(s) && recorded(trial, s, operands);
  }
  // Functions of f32 by way of f64: all of the code would have half the lanes. Loops, which have half of them for a
  // part alone, take less time unless elements are few.
  bool wants_loop(const Step& s) const {
    constexpr std::array kWide{Code::Sin, Code::Cos, Code::Tan, Code::Pow};
    return !p_.few && kind_of(s.type) == Kind::F32 && std::find(kWide.begin(), kWide.end(), s.code) != kWide.end();
  }
  Node loaded(const std::array<std::uint16_t, 3>& regs, std::size_t i) const {
    const DType type = p_.types[regs[i]];
    return {Op::Load, kind_of(type).value_or(Kind::I32), -1, -1, -1, i, type == DType::Bool};
  }
  std::optional<NodeId> recorded(Formula& formula, const Step& s, const std::array<NodeId, 3>& operands) const {
    if (!kind_of(p_.types[s.dst])) return std::nullopt;
    const std::size_t n = static_cast<std::size_t>(facts(s.code).operands);
    const std::array<std::uint16_t, 3> regs{s.a, s.b, s.c};
    for (std::size_t i = 0; i < n; ++i)
      if (!kind_of(p_.types[regs[i]])) return std::nullopt;
    const auto made = record(formula, s.code, s.type, p_.types[s.dst], std::span(operands.data(), n));
    return made && s.round ? record_rounding(formula, p_.types[s.dst], *made) : made;
  }

  bool take(const Step& s) {
    const auto n = static_cast<std::size_t>(facts(s.code).operands);
    const std::array<std::uint16_t, 3> regs{s.a, s.b, s.c};
    std::array<NodeId, 3> operands{};
    for (std::size_t i = 0; i < n; ++i) {
      if (!kind_of(p_.types[regs[i]])) return false;
      operands[i] = value(regs[i]);
    }
    const std::optional<NodeId> made = recorded(formula_, s, operands);
    if (made) node_[s.dst] = *made;
    return made.has_value();
  }

  NodeId value(std::uint16_t reg) {
    if (const auto it = node_.find(reg); it != node_.end()) return it->second;
    const DType type = p_.types[reg];
    const bool truth = type == DType::Bool;
    const Kind kind = *kind_of(type);
    Node n{Op::Constant, kind, -1, -1, -1, 0, truth};
    if (const ElementPlan::Constant* c = constant_[reg]) {
      std::memcpy(&n.value, c->value.data(), c->item);
      if (truth) n.value = n.value ? 0xffffffffu : 0;
      if (type == DType::I8) n.value = static_cast<std::uint32_t>(static_cast<std::int8_t>(n.value));
    } else {
      const Step* along = repeated_[reg];
      const std::uint16_t from = along ? along->a : reg;
      if (along && constant_[from]) return node_[reg] = value(from);
      n.op = Op::Load;
      n.value = places_.size();
      operand({kind, form(from), along || (scalar_[from] && p_.count > 1)}, from, along && !scalar_[from], false);
    }
    return node_[reg] = formula_.add(n);
  }

  void operand(Operand o, std::uint16_t reg, bool of_row, bool stored) {
    if (lines_) {
      const ElementLines::Operand& lines = lines_->operands[stored ? p_.inputs.size() + output_of(reg) : reg];
      o.spread = lines.spread, o.apart = lines.apart;
    } else {
      o.apart = o.bytes() * (of_row ? 1 : o.spread ? 0 : row_);
    }
    operands_.push_back(o);
    places_.push_back({reg, static_cast<std::uint8_t>(o.bytes()), of_row, o.spread, stored});
  }

  // A sum of rows of what the part computes, in the order that loops have for rows of this length.
  bool add_up(const Step& s) {
    const bool sum =
        s.rows && s.rows->how == Reduce::Sum && !s.round && (s.rows->type == DType::F32 || s.rows->type == DType::F64);
    const auto it = node_.find(s.a);
    const std::int64_t least = sum && s.rows->type == DType::F32 ? 8 : 64;
    const bool in_lanes = p_.row % 64 == 0 || (p_.row >= least && has_avx512());
    if (!sum || !in_lanes || p_.row > kReduceRun || of_row_ || it == node_.end() || sums_.size() == kMostSums)
      return false;
    if (const Node& n = formula_.at(it->second); n.op == Op::Load && operands_[n.value].form == Form::Held)
      return false;  // a loop does it where it lies
    sums_.push_back({it->second, places_.size(), 0, true});
    operand({*kind_of(p_.types[s.dst])}, s.dst, true, true);
    return true;
  }
  bool reads_sum(const Step& s) const {
    const auto summed = [&](std::uint16_t r) {
      const std::uint16_t from = repeated_[r] ? repeated_[r]->a : r;
      return std::any_of(sums_.begin(), sums_.end(),
                         [&](const Stored& sum) { return places_[sum.operand].reg == from; });
    };
    return summed(s.a) || summed(s.b) || summed(s.c);
  }

  Stored stored(std::uint16_t reg, NodeId made) {
    const NodeId node =
        form(reg) == Form::Brain ? formula_.stored_upper(made) : formula_.stored(made, p_.types[reg] == DType::Bool);
    const Stored out{node, places_.size()};
    operand({*kind_of(p_.types[reg]), form(reg)}, reg, false, true);
    return out;
  }
  // The steps up to this one are a part.
  void end(std::size_t s) {
    std::vector<Stored> stored = std::move(sums_);
    sums_.clear();
    if (p_.few && s == p_.steps.size()) {  // what is read or known may be a result, and one may be wanted twice
      for (const ElementPlan::Output& o : p_.outputs) {
        if (!kind_of(p_.types[o.reg])) {
          failed_ = true;
          continue;
        }
        stored.push_back(this->stored(o.reg, value(o.reg)));
        places_.back().array = static_cast<std::uint16_t>(&o - p_.outputs.data());
      }
    } else {
      for (std::size_t i = first_; i < s; ++i) {
        const std::uint16_t reg = p_.steps[i].dst;
        const auto it = node_.find(reg);
        if (it != node_.end() && last_read_[reg] >= s && !repeated_[reg])
          stored.push_back(this->stored(reg, it->second));
      }
    }
    if (!stored.empty()) {
      const bool by_row = lines_ || std::any_of(places_.begin(), places_.end(), [](const auto& p) { return p.of_row; });
      ElementCode::Part part{first_,
                             s,
                             encode(formula_, operands_, stored, turn(by_row), by_row ? row_ : p_.count, by_row),
                             std::move(places_),
                             of_row_,
                             by_row};
      if (p_.few)
        made_->several = std::make_unique<const SeveralTurns>(std::move(formula_), std::move(operands_),
                                                              std::move(stored), turn(by_row), p_.count);
      part.padded = of_row_ && std::all_of(part.places.begin(), part.places.end(),
                                           [&](const auto& p) { return p.spread || !outside_[p.reg]; });
      if (part.code.run)
        made_->parts.push_back(std::move(part));
      else  // its loops do it, if they find what they read
        for (std::size_t i = first_; i < s; ++i) made_->parts.push_back({i, i + 1}), failed_ = failed_ || narrows();
    }
    first_ = s;
    formula_ = {};
    node_.clear(), places_.clear(), operands_.clear();
  }

  bool narrows() const { return std::any_of(made_->narrow.begin(), made_->narrow.end(), std::identity()); }

  const ElementPlan& p_;
  const ElementLines* lines_;  // null: operands are to be dense, or in tiles
  std::int64_t row_;           // elements, of a line too
  bool failed_ = false;
  std::unique_ptr<ElementCode> made_ = std::make_unique<ElementCode>();
  std::vector<const ElementPlan::Constant*> constant_;  // by register, as all of these
  std::vector<const Step*> repeated_;
  std::vector<bool> scalar_, outside_;
  std::vector<bool> is_formula_;  // by step
  std::vector<std::size_t> last_read_;
  // The part that is being made.
  std::size_t first_ = 0;
  bool of_row_ = false;
  Formula formula_;
  std::map<std::uint16_t, NodeId> node_;
  std::vector<ElementCode::Place> places_;
  std::vector<Operand> operands_;
  std::vector<Stored> sums_;
};

}  // namespace

std::unique_ptr<const ElementCode> make_element_code(const ElementPlan& plan) {
  if (!can_encode()) return nullptr;
  if (auto code = make_one_row(plan)) return code;
  std::unique_ptr<const ElementCode> code = plan.lines ? Maker(plan, true).make() : nullptr;
  return code ? std::move(code) : Maker(plan, false).make();
}

// Lines [from, to).
void ElementCode::run_lines(const ElementPlan& plan, void* const* inputs, void* const* outputs, std::int64_t from,
                            std::int64_t to) const {
  const Part& part = parts[0];
  std::array<unsigned char*, kMostOperands> at;
  std::array<std::int64_t, ElementLines::kOperands> begins;
  while (from < to) {
    const std::int64_t many = std::min(to - from, plan.lines->together - from % plan.lines->together);
    plan.lines->find(from, begins);
    for (std::size_t i = 0; i < part.places.size(); ++i) {
      const Place& p = part.places[i];
      at[i] = static_cast<unsigned char*>((p.stored ? outputs : inputs)[p.array]) +
              begins[p.stored ? plan.inputs.size() + p.array : p.array];
    }
    part.code.run(at.data(), many * plan.lines->length);
    from += many;
  }
}

void ElementCode::run_few(void* const* inputs, void* const* outputs, std::int64_t count) const {
  const Part& part = parts[0];
  std::array<unsigned char*, kMostOperands> at;
  for (std::size_t i = 0; i < part.places.size(); ++i) {
    const Place& p = part.places[i];
    at[i] = static_cast<unsigned char*>((p.stored ? outputs : inputs)[p.array]);
  }
  part.code.run(at.data(), count);
}

ElementTurns ElementCode::turns(std::size_t inputs, std::int64_t count, std::array<void* const*, 2> operands,
                                std::span<const ElementTurns::Moving> moving) const {
  const Part& part = parts[0];
  std::array<std::vector<unsigned char*>, 2> at;
  std::vector<ElementTurns::Moving> moves;
  std::vector<SeveralTurns::Way> ways(part.places.size());
  for (std::size_t i = 0; i < part.places.size(); ++i) {
    const Place& p = part.places[i];
    const std::size_t operand = p.stored ? inputs + p.array : p.array;
    for (std::size_t odd : {0, 1}) at[odd].push_back(static_cast<unsigned char*>(operands[odd][operand]));
    for (const auto& [moved, bytes] : moving)
      if (moved == operand) moves.emplace_back(i, bytes), ways[i].moves = true;
  }
  // What a turn reads is all of what the one before has written, or nothing of it.
  const auto overlap = [&](std::size_t i, std::size_t o) {
    const auto end = [&](std::size_t odd, std::size_t k) {
      return at[odd][k] + (part.places[k].spread ? 1 : count) * part.places[k].item;
    };
    for (std::size_t odd : {0, 1})
      for (std::size_t other : {0, 1})
        if (at[odd][i] < end(other, o) && at[other][o] < end(odd, i)) return true;
    return false;
  };
  bool apart = several != nullptr;
  for (std::size_t i = 0; i < part.places.size(); ++i)
    for (std::size_t o = 0; o < part.places.size(); ++o) {
      if (part.places[i].stored || !part.places[o].stored || ways[i].moves || ways[o].moves) continue;
      if (at[1][i] == at[0][o] && at[0][i] == at[1][o] && part.places[i].spread == part.places[o].spread)
        ways[i].from = static_cast<int>(o);
      else
        apart = apart && !overlap(i, o);
    }
  return {part.code.run, count, std::move(at), std::move(moves), apart ? several->find(ways) : nullptr};
}

void ElementCode::Part::run(void* const* base, std::int64_t n, std::int64_t row) const {
  std::array<unsigned char*, kMostOperands> at;
  for (std::size_t i = 0; i < places.size(); ++i) at[i] = static_cast<unsigned char*>(base[places[i].reg]);
  if (!by_row) return some(at.data(), n);
  if (code.rows) return code.run(at.data(), n);
  for (std::int64_t done = 0; done < n; done += row) {
    some(at.data(), row);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i].of_row)
        at[i] += places[i].item;
      else if (!places[i].spread)
        at[i] += row * places[i].item;
  }
}

// Whole vectors where the elements lie; the rest in memory of a turn's size, brought there and back.
void ElementCode::Part::some(unsigned char** at, std::int64_t n) const {
  if (padded) return code.run(at, (n + code.lanes - 1) & -code.lanes);  // lanes: a power of two
  const std::int64_t rest = n & (code.lanes - 1), most = n - rest;
  if (most > 0) code.run(at, most);
  if (rest == 0) return;
  constexpr std::size_t kVectors = 512;  // of a turn at most, in bytes
  alignas(kVectors) std::array<unsigned char, kVectors * kMostOperands> room;
  std::array<unsigned char*, kMostOperands> small;
  const auto bytes = [&](const Place& p) { return static_cast<std::size_t>(rest * p.item); };
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& p = places[i];
    small[i] = p.spread ? at[i] : room.data() + i * kVectors;
    if (!p.spread && !p.stored) std::memmove(small[i], at[i] + most * p.item, bytes(p));
  }
  code.run(small.data(), code.lanes);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].stored) std::memmove(at[i] + most * places[i].item, small[i], bytes(places[i]));
}

}  // namespace shard::runtime::generated
