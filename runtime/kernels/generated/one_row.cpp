#include "runtime/kernels/generated/one_row.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace shard::runtime::generated {
namespace {

// All registers of the program are vectors: one element a row is the same in all lanes.
class OneRow {
 public:
  explicit OneRow(const ElementPlan& plan) : p_(plan) {}
  static bool fits(const ElementPlan& p) {
    return p.row == p.count && (has_avx512() ? p.row > 1 && p.row <= 16 : p.row == 8);
  }

  std::unique_ptr<const ElementCode> make() {
    for (const ElementPlan::Constant& c : p_.constants) constant(c);
    if (!std::all_of(p_.inputs.begin(), p_.inputs.end(), [&](const auto& in) { return load(in); })) return nullptr;
    if (!std::all_of(p_.steps.begin(), p_.steps.end(), [&](const auto& s) { return step(s); })) return nullptr;
    if (!std::all_of(p_.outputs.begin(), p_.outputs.end(), [&](const auto& o) { return store(o); })) return nullptr;
    if (formula_.nodes.size() > ElementCode::kMostNodes || places_.size() > ElementCode::kMostOperands) return nullptr;
    const auto wide = [](const Node& n) { return bytes_of(n.kind) == 8; };
    const bool halves = std::any_of(formula_.nodes.begin(), formula_.nodes.end(), wide);
    if (halves && (!has_avx512() || p_.row > 8)) return nullptr;
    const Turn turn = p_.row == 8 && !halves ? Turn::Vector : p_.row == 16 ? Turn::Vectors : Turn::Ragged;
    auto made = std::make_unique<ElementCode>();
    ElementCode::Part part{0, p_.steps.size(), encode(formula_, operands_, stored_, turn, 1), std::move(places_)};
    if (!part.code.run) return nullptr;
    made->parts.push_back(std::move(part));
    made->whole = made->few = true;
    made->several =
        std::make_unique<const SeveralTurns>(std::move(formula_), std::move(operands_), std::move(stored_), turn, 1);
    return made;
  }

 private:
  std::optional<Kind> kind(std::uint16_t reg) const {
    const std::optional<Kind> k = kind_of(p_.types[reg]);
    const std::size_t bytes = size_of(p_.types[reg]);
    return bytes == 4 || p_.types[reg] == DType::Bool ? k : std::nullopt;
  }
  Form form(std::uint16_t reg) const { return p_.types[reg] == DType::Bool ? Form::Truth : Form::Held; }
  std::size_t place(std::uint16_t reg, bool one, bool stored, std::size_t array) {
    const Operand o{*kind(reg), form(reg), one};
    operands_.push_back(o);
    places_.push_back(
        {reg, static_cast<std::uint8_t>(o.bytes()), false, one, stored, static_cast<std::uint16_t>(array)});
    return places_.size() - 1;
  }
  void constant(const ElementPlan::Constant& c) {
    if (!kind(c.reg)) return;
    const bool truth = p_.types[c.reg] == DType::Bool;
    Node n{Op::Constant, *kind(c.reg), -1, -1, -1, 0, truth};
    std::memcpy(&n.value, c.value.data(), c.item);
    if (truth) n.value = n.value ? 0xffffffffu : 0;
    node_[c.reg] = formula_.add(n);
  }
  bool load(const ElementPlan::Input& in) {
    const bool of_row = p_.of_row[in.reg];
    if (in.load || in.kept || in.period || in.way == ElementPlan::Way::Gather || !kind(in.reg)) return false;
    const std::size_t at = place(in.reg, of_row || in.way == ElementPlan::Way::Scalar, false,
                                 static_cast<std::size_t>(&in - p_.inputs.data()));
    node_[in.reg] = formula_.add({Op::Load, *kind(in.reg), -1, -1, -1, at, p_.types[in.reg] == DType::Bool});
    return true;
  }
  bool step(const ElementPlan::Step& s) {
    if (s.round || !kind(s.dst)) return false;
    const std::array<std::uint16_t, 3> regs{s.a, s.b, s.c};
    std::array<NodeId, 3> operands{};
    const auto n = s.run ? static_cast<std::size_t>(facts(s.code).operands) : 1;
    for (std::size_t i = 0; i < n; ++i) {
      const auto it = node_.find(regs[i]);
      if (it == node_.end()) return false;
      operands[i] = it->second;
    }
    std::optional<NodeId> made = operands[0];  // along the row: it is there
    if (s.run) made = record(formula_, s.code, s.type, p_.types[s.dst], std::span(operands.data(), n));
    if (s.rows) made = reduced(*s.rows, operands[0]);
    if (made) node_[s.dst] = *made;
    return made.has_value();
  }
  // All lanes have the result, in the order of loops for short rows: of fewer than 8 one after the other, else halves
  // of the lanes, on and on.
  std::optional<NodeId> reduced(const ReducePlan& plan, NodeId x) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    constexpr std::array<std::pair<Reduce, float>, 3> kNothing{
        {{Reduce::Sum, -0.0f}, {Reduce::Max, -kInf}, {Reduce::Min, kInf}}};  // what changes nothing
    const auto it = std::find_if(kNothing.begin(), kNothing.end(), [&](auto& k) { return k.first == plan.how; });
    if (it == kNothing.end() || plan.type != DType::F32) return std::nullopt;
    const auto joined = [&](NodeId a, NodeId b) {
      return record(formula_, joins(plan.how), DType::F32, DType::F32, std::array{a, b});
    };
    if (p_.row < 8) {
      const auto lane = [&](std::int64_t i) {
        return formula_.add({Op::Lane, Kind::F32, x, -1, -1, static_cast<std::uint64_t>(i)});
      };
      std::optional<NodeId> all = lane(0);
      for (std::int64_t i = 1; all && i < p_.row; ++i) all = joined(*all, lane(i));
      return all;
    }
    if (p_.row != 8 && p_.row != 16)
      x = formula_.add({Op::Fill, Kind::F32, x, -1, -1, std::bit_cast<std::uint32_t>(it->second)});
    for (std::uint64_t half = p_.row > 8 ? 8 : 4; half > 0; half /= 2) {
      const auto both = joined(x, formula_.add({Op::Swap, Kind::F32, x, -1, -1, half}));
      if (!both) return std::nullopt;
      x = *both;
    }
    return x;
  }
  bool store(const ElementPlan::Output& o) {
    const auto it = node_.find(o.reg);
    const bool one = p_.of_row[o.reg];
    if (!o.in_place || o.store || o.reduce || o.lines.length > 0 || it == node_.end() || !kind(o.reg)) return false;
    const bool truth = form(o.reg) == Form::Truth;
    if (one && truth) return false;
    Stored s{formula_.stored(it->second, truth),
             place(o.reg, one, true, static_cast<std::size_t>(&o - p_.outputs.data()))};
    s.first = one;
    stored_.push_back(s);
    return true;
  }

  const ElementPlan& p_;
  Formula formula_;
  std::map<std::uint16_t, NodeId> node_;
  std::vector<ElementCode::Place> places_;
  std::vector<Operand> operands_;
  std::vector<Stored> stored_;
};

}  // namespace

std::unique_ptr<const ElementCode> make_one_row(const ElementPlan& plan) {
  return OneRow::fits(plan) ? OneRow(plan).make() : nullptr;
}

}  // namespace shard::runtime::generated
