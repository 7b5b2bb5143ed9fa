// The einsum text of a rule, read for operands of given shapes.
#include "interpreter/ir/factors.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

namespace shard::ir {
namespace {

using runtime::RuntimeError;
using runtime::Shape;

struct Clause {
  FactorKind kind;
  FactorReduce reduce;
};

const std::map<std::string_view, Clause>& clauses() {
  static const std::map<std::string_view, Clause> table = {
      {"sum", {FactorKind::Reduced, FactorReduce::Sum}},  {"prod", {FactorKind::Reduced, FactorReduce::Prod}},
      {"max", {FactorKind::Reduced, FactorReduce::Max}},  {"min", {FactorKind::Reduced, FactorReduce::Min}},
      {"and", {FactorKind::Reduced, FactorReduce::And}},  {"or", {FactorKind::Reduced, FactorReduce::Or}},
      {"whole", {FactorKind::Whole, FactorReduce::Sum}},  {"halo", {FactorKind::Halo, FactorReduce::Sum}},
      {"masked", {FactorKind::Masked, FactorReduce::Sum}}};
  return table;
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

// "a b, c d" -> {{a, b}, {c, d}}; an empty side has one value without dimensions.
std::vector<std::vector<std::string>> values(std::string_view text) {
  std::vector<std::vector<std::string>> out;
  std::size_t from = 0;
  while (true) {
    std::size_t comma = text.find(',', from);
    out.push_back(words(text.substr(from, comma == std::string_view::npos ? comma : comma - from)));
    if (comma == std::string_view::npos) return out;
    from = comma + 1;
  }
}

// "a b, c d   sum k": where the clauses begin, the first clause word that is followed by a factor's name.
std::size_t end_of_values(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t start = text.find_first_not_of(" ,", at);
    if (start == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" ,", start), text.size());
    if (clauses().count(text.substr(start, end - start))) return start;
    at = end;
  }
  return text.size();
}

class Reader {
 public:
  // The runs of leading dimensions (`*b`) are as long as in the operand that has most of them.
  void measure_runs(const std::vector<std::vector<std::string>>& left, std::span<const Shape> operands) {
    for (std::size_t i = 0; i < left.size(); ++i) {
      int fixed = 0;
      std::string run;
      for (const auto& w : left[i]) w[0] == '*' ? void(run = w) : void(++fixed);
      int rank = static_cast<int>(operands[i].size());
      if (rank < fixed || (run.empty() && rank != fixed))
        throw RuntimeError("shape", "operand " + std::to_string(i + 1) + " has " + std::to_string(rank) +
                                        " dimensions, needs " + (run.empty() ? "" : "at least ") +
                                        std::to_string(fixed));
      if (!run.empty()) runs_[run] = std::max(runs_[run], rank - fixed);
    }
  }

  ValueFactors value(const std::vector<std::string>& dims, const Shape* shape) {
    ValueFactors out;
    int fixed = 0;
    for (const auto& w : dims) fixed += w[0] != '*';
    for (const auto& w : dims) {
      if (w[0] != '*') {
        int f = named(w);
        if (shape) size(f, (*shape)[out.size()]);
        out.push_back({f});
        continue;
      }
      int width = runs_[w], have = shape ? static_cast<int>(shape->size()) - fixed : width;
      for (int j = width - have; j < width; ++j) {  // right-aligned within the run
        int f = named(w.substr(1) + std::to_string(width - j));
        out.push_back(shape ? of_run(f, (*shape)[out.size()]) : DimFactors{f});
      }
    }
    return out;
  }

  // Dimensions of size 1 in a run: the factor itself where every operand has 1, else they broadcast.
  void settle_ones() {
    for (auto* side : {&rule.operands, &rule.results})
      for (auto& value : *side)
        for (auto& dim : value) {
          if (dim.size() != 1 || dim[0] >= 0) continue;
          const int f = -1 - dim[0];
          Factor& factor = rule.factors[static_cast<std::size_t>(f)];
          const bool one = factor.size < 0 || factor.size == 1;
          if (one) factor.size = 1;
          dim = one ? DimFactors{f} : DimFactors{};
        }
  }

  void read_clauses(std::string_view text, std::string_view whole) {
    auto tail = words(text);
    for (std::size_t i = 0; i < tail.size(); ++i) {
      auto it = clauses().find(tail[i]);
      if (it == clauses().end() || i + 1 == tail.size())
        throw std::logic_error("clause `" + tail[i] + "` in factors: " + std::string(whole));
      while (i + 1 < tail.size() && !clauses().count(tail[i + 1])) {
        Factor& f = rule.factors[static_cast<std::size_t>(named(tail[++i]))];
        f.kind = it->second.kind;
        f.reduce = it->second.reduce;
      }
    }
  }

  FactorRule rule;

 private:
  int named(const std::string& name) {
    auto [it, fresh] = index_.try_emplace(name, static_cast<int>(rule.factors.size()));
    if (fresh) rule.factors.push_back({name, -1, FactorKind::Pass, FactorReduce::Sum});
    return it->second;
  }
  void size(int f, std::int64_t n) {
    Factor& factor = rule.factors[static_cast<std::size_t>(f)];
    if (factor.size < 0)
      factor.size = n;
    else if (factor.size != n)
      throw RuntimeError("shape", "dimension `" + factor.name + "` has sizes " + std::to_string(factor.size) + " and " +
                                      std::to_string(n));
  }
  // A dimension of a run: 1 broadcasts where another operand has more (-1 - f: not known yet).
  DimFactors of_run(int f, std::int64_t n) {
    const std::int64_t known = rule.factors[static_cast<std::size_t>(f)].size;
    if (n == 1 && known < 0) return {-1 - f};
    if (n == 1 && known != 1) return {};
    size(f, n);
    return {f};
  }

  std::map<std::string, int> index_;
  std::map<std::string, int> runs_;  // `*b` -> number of dimensions
};

}  // namespace

FactorRule parse_factors(std::string_view text, std::span<const Shape> operands, std::span<const Shape> result_shapes) {
  std::size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) throw std::logic_error("factors without `->`: " + std::string(text));
  auto left = values(text.substr(0, arrow));
  const std::string_view behind = text.substr(arrow + 2);
  const std::size_t end = end_of_values(behind);
  auto right = values(behind.substr(0, end));
  if (left.size() == 1 && left[0].empty() && operands.empty()) left.clear();
  if (left.size() != operands.size())
    throw std::logic_error("factors for " + std::to_string(left.size()) + " operands, " +
                           std::to_string(operands.size()) + " given: " + std::string(text));
  Reader r;
  r.measure_runs(left, operands);
  for (std::size_t i = 0; i < left.size(); ++i) r.rule.operands.push_back(r.value(left[i], &operands[i]));
  for (std::size_t i = 0; i < right.size(); ++i)
    r.rule.results.push_back(r.value(right[i], i < result_shapes.size() ? &result_shapes[i] : nullptr));
  r.settle_ones();
  r.read_clauses(behind.substr(end), text);
  for (const auto& f : r.rule.factors)
    if (f.size < 0) throw std::logic_error("factor `" + f.name + "` has no size: " + std::string(text));
  return r.rule;
}

}  // namespace shard::ir
