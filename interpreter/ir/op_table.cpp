#include "interpreter/ir/op_table.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <stdexcept>

#include "grammar/characters.h"

namespace shard::ir {

namespace {

[[noreturn]] void malformed(std::string_view text, const std::string& why) {
  throw std::logic_error("signature `" + std::string(text) + "`: " + why);
}

const std::map<std::string_view, ParamKind>& kinds() {
  static const std::map<std::string_view, ParamKind> table = {
      {"array", ParamKind::Array}, {"arrays", ParamKind::Arrays}, {"int", ParamKind::Int},
      {"ints", ParamKind::Ints},   {"float", ParamKind::Float},   {"bool", ParamKind::Bool},
      {"str", ParamKind::Str},     {"dtype", ParamKind::DType},   {"spec", ParamKind::Spec},
      {"pairs", ParamKind::Pairs}, {"number", ParamKind::Number}};
  return table;
}

template <class T>
std::optional<T> number(std::string_view word) {
  T n{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(n) : std::nullopt;
}

// What stands between two brackets, cut at commas; a pair within is one item.
std::vector<std::string_view> items(std::string_view list) {
  std::vector<std::string_view> out;
  for (std::string_view rest = grammar::trimmed(list.substr(1, list.size() - 2)); !rest.empty();) {
    const std::size_t comma = rest.find(',', rest.front() == '(' ? rest.find(')') : 0);
    out.push_back(grammar::trimmed(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view() : grammar::trimmed(rest.substr(comma + 1));
  }
  return out;
}

std::optional<std::int64_t> integer(std::string_view word) {
  return word == "whole" ? std::optional(kWhole) : number<std::int64_t>(word);
}

std::optional<AttrValue> list(std::string_view word) {
  Ints ints;
  Pairs pairs;
  for (const std::string_view item : items(word)) {
    const bool pair = item.starts_with('(') && item.ends_with(')');
    const std::vector<std::string_view> parts = pair ? items(item) : std::vector{item};
    const auto first = parts.empty() ? std::nullopt : integer(parts[0]), second = integer(parts.back());
    if (!first || !second || parts.size() != (pair ? 2 : 1)) return std::nullopt;
    if (pair)
      pairs.emplace_back(*first, *second);
    else
      ints.push_back(*first);
  }
  return pairs.empty() ? AttrValue(std::move(ints)) : AttrValue(std::move(pairs));
}

}  // namespace

std::optional<AttrValue> literal(std::string_view word) {
  const auto within = [&](char open, char close) {
    return word.size() >= 2 && word.front() == open && word.back() == close;
  };
  if (word == "none") return std::monostate{};
  if (word == "true" || word == "false") return word == "true";
  if (within('"', '"') || within('\'', '\'')) return std::string(word.substr(1, word.size() - 2));
  if (within('[', ']')) return list(word);
  if (auto t = runtime::dtype_named(word)) return *t;
  if (auto n = integer(word)) return *n;
  if (auto d = number<double>(word)) return *d;
  return std::nullopt;
}

Signature parse_signature(std::string_view text) {
  Signature s;
  s.text = std::string(text);
  std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    malformed(text, "needs `name(...)`");
  s.name = std::string(grammar::trimmed(text.substr(0, open)));
  std::string_view rest = text.substr(open + 1, close - open - 1);
  while (!grammar::trimmed(rest).empty()) {
    int depth = 0;
    std::size_t end = 0;
    for (; end < rest.size() && !(rest[end] == ',' && depth == 0); ++end)
      depth += rest[end] == '[' ? 1 : rest[end] == ']' ? -1 : 0;
    std::string_view item = grammar::trimmed(rest.substr(0, end));
    rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
    Parameter p;
    if (std::size_t eq = item.find('='); eq != std::string_view::npos) {
      const std::string_view word = grammar::trimmed(item.substr(eq + 1));
      p.default_value = literal(word);
      if (!p.default_value) malformed(text, "default `" + std::string(word) + "` is no literal");
      item = grammar::trimmed(item.substr(0, eq));
    }
    if (item.ends_with("...")) {
      p.rest = true;
      item = grammar::trimmed(item.substr(0, item.size() - 3));
    }
    if (item.ends_with("?")) {
      p.optional = true;
      item = grammar::trimmed(item.substr(0, item.size() - 1));
    }
    std::size_t colon = item.find(':');
    p.name = std::string(grammar::trimmed(item.substr(0, colon)));
    if (p.name.empty()) malformed(text, "a parameter has no name");
    if (colon != std::string_view::npos) {
      auto it = kinds().find(grammar::trimmed(item.substr(colon + 1)));
      if (it == kinds().end())
        malformed(text, "`" + std::string(grammar::trimmed(item.substr(colon + 1))) + "` is no kind of parameter");
      p.kind = it->second;
    }
    if (p.optional && !p.default_value) p.default_value = std::monostate{};
    s.params.push_back(std::move(p));
  }
  return s;
}

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
  if (row.signature.empty()) refuse("`signature` is empty: write e.g. \"tanh(x)\"");
  if (row.doc.empty()) refuse("`doc` is empty: write one sentence on what it computes");
  if (std::holds_alternative<std::monostate>(row.kernel))
    refuse("`kernel` is empty: write a code, a function, a view, a composition or a structure");
  bool composite = is_composite(row), structural = structure_of(row) != nullptr;
  auto& named = composite ? composites_ : held_;
  if (named.count(row.name)) refuse("there already is a row of this name");
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
    refuse("`hlo` is empty: write the name of its StableHLO operation or a function that emits it");
  if (row.comm && row.comm->combine && row.comm->join) refuse("`comm` joins what it combines: that is whole already");
  rows_.push_back(std::move(row));
  OpDef& stored = rows_.back();
  named.emplace(stored.name, &stored);
  signatures_.try_emplace(&stored);
  return stored;
}

const OpDef* OpTable::find(std::string_view name) const {
  const OpTable& t = filled();
  for (const auto* named : {&t.composites_, &t.held_})
    if (const auto it = named->find(name); it != named->end()) return it->second;
  return nullptr;
}

const OpDef& OpTable::at(std::string_view name) const {
  const OpTable& t = filled();
  if (const auto it = t.held_.find(name); it != t.held_.end()) return *it->second;
  if (const OpDef* op = find(name)) return *op;
  throw std::logic_error("there is no row `" + std::string(name) + "`");
}

const Signature& OpTable::signature(const OpDef& op) const {
  Parsed& p = filled().signatures_.at(&op);
  std::call_once(p.once, [&] { p.signature = signature_of(op); });
  return p.signature;
}

void OpTable::freeze() { core_ = find_core_ops(*this); }

}  // namespace shard::ir
