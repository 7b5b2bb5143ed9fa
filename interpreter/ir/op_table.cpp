#include "interpreter/ir/op_table.h"

#include <algorithm>
#include <stdexcept>

namespace shard::ir {

namespace {

[[noreturn]] void refuse_row(const OpDef& row, const std::string& what) {
  throw std::logic_error("row `" + std::string(row.name) + "`: " + what);
}

Signature signature_of(const OpDef& row) {
  Signature out = parse_signature(row.signature);
  if (out.name != row.name) refuse_row(row, "its signature is for `" + out.name + "`");
  if (const auto* code = std::get_if<runtime::Code>(&row.kernel)) {
    const auto arrays = std::count_if(out.params.begin(), out.params.end(),
                                      [](const Parameter& p) { return p.kind == ParamKind::Array; });
    if (const auto& facts = runtime::facts(*code); arrays != facts.operands)
      refuse_row(row, "its signature has " + std::to_string(arrays) + " arrays, and the code " + facts.name +
                          " takes " + std::to_string(facts.operands));
  }
  return out;
}

}  // namespace

const OpTable& OpTable::fill() const {
  std::call_once(once_, [this] {
    auto made = std::make_unique<OpTable>();
    fill_(*made);
    made_ = std::move(made);
  });
  return *made_;
}

OpDef& OpTable::add(OpDef row) {
  auto refuse = [&](const std::string& what) { refuse_row(row, what); };
  if (row.name.empty()) refuse("`name` is empty: write the name as users write it");
  if (by_name_.count(row.name)) refuse("there already is a row of this name");
  if (row.signature.empty()) refuse("`signature` is empty: write e.g. \"tanh(x)\"");
  if (row.doc.empty()) refuse("`doc` is empty: write one sentence on what it computes");
  if (std::holds_alternative<std::monostate>(row.kernel))
    refuse("`kernel` is empty: write a code, a function, a view, a composition or a structure");
  bool composite = is_composite(row), structural = structure_of(row) != nullptr;
  if (std::holds_alternative<std::monostate>(row.derivative)) {
    if (!composite)
      refuse("`derivative` is empty: write partials, transposes, a custom pair, Zero{} or NotDifferentiable{why}");
    row.derivative = FromParts{};
  }
  bool factors = !std::holds_alternative<std::monostate>(row.factors);
  if (composite && factors) refuse("`factors` are derived from the parts of a composite: leave them out");
  if (!composite && !structural && !factors)
    refuse("`factors` is empty: write an einsum over named factors, or a function that gives one");
  if (structural && !row.infer && !factors) refuse("`infer` is empty: a structural row says its results' types");
  if (!structural && row.samples.text.empty()) refuse("`samples` is empty: give inputs that exercise it");
  const auto* structure = structure_of(row);
  const bool reads_hlo =
      structure ? *structure == Structure::Effect : !std::holds_alternative<runtime::Code>(row.kernel);
  if (!composite && reads_hlo && std::holds_alternative<std::monostate>(row.hlo))
    refuse("`hlo` is empty: write the name of its StableHLO operation, a function that emits it, or Refused{why}");
  if (row.comm && row.comm->combine && row.comm->join) refuse("`comm` joins what it combines: that is whole already");
  rows_.push_back(std::move(row));
  OpDef& stored = rows_.back();
  by_name_.emplace(stored.name, &stored);
  signatures_.try_emplace(&stored);
  return stored;
}

const OpDef* OpTable::find(std::string_view name) const {
  const OpTable& t = filled();
  const auto it = t.by_name_.find(name);
  return it == t.by_name_.end() ? nullptr : it->second;
}

const OpDef& OpTable::at(std::string_view name) const {
  if (const OpDef* op = find(name)) return *op;
  throw std::logic_error("there is no row `" + std::string(name) + "`");
}

const Signature& OpTable::signature(const OpDef& op) const {
  Parsed& p = filled().signatures_.at(&op);
  std::call_once(p.once, [&] { p.signature = signature_of(op); });
  return p.signature;
}

void OpTable::freeze() { core_ = find_core_ops(*this); }

FactorRule factors_of(const OpCall& call) {
  if (auto* f = std::get_if<FactorFn>(&call.op.factors)) return (*f)(call);
  if (auto* text = std::get_if<std::string_view>(&call.op.factors)) {
    std::vector<runtime::Shape> shapes;
    for (const Type& t : call.in) shapes.push_back(t.shape);
    std::vector<runtime::Shape> results;
    if (call.op.shape) results = call.op.shape(call);
    return parse_factors(*text, shapes, results);
  }
  throw std::logic_error("row `" + std::string(call.op.name) + "` has no factors");
}

}  // namespace shard::ir
