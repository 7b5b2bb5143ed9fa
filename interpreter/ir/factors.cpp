// The einsum text of a rule, read for operands of given shapes; rules that shapes alone give.
#include "interpreter/ir/factors.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>

namespace shard::ir {

using runtime::RuntimeError;
using runtime::Shape;

namespace {

// "3 against 4 in the last place": where two shapes, aligned at their ends, do not fit.
std::string mismatch(const Shape& a, const Shape& b) {
  for (std::size_t back = 1; back <= std::min(a.size(), b.size()); ++back) {
    const std::int64_t x = a[a.size() - back], y = b[b.size() - back];
    if (x == y || x == 1 || y == 1) continue;
    return ": " + std::to_string(x) + " against " + std::to_string(y) +
           (back == 1 ? " in the last place" : " in place -" + std::to_string(back));
  }
  return "";
}

}  // namespace

FactorRule broadcast_rule(std::span<const Shape> operands) {
  FactorRule rule;
  Shape whole;
  for (const auto& s : operands) {
    auto joined = runtime::broadcast(whole, s);
    if (!joined)
      throw RuntimeError("shape", "shapes " + runtime::to_string(whole) + " and " + runtime::to_string(s) +
                                      " do not broadcast" + mismatch(whole, s));
    whole = *joined;
  }
  std::size_t rank = whole.size();
  for (std::size_t d = 0; d < rank; ++d)
    rule.factors.push_back({"d" + std::to_string(d), whole[d], FactorKind::Pass, FactorReduce::Sum});
  for (const auto& s : operands) {
    ValueFactors dims;
    for (std::size_t d = 0; d < s.size(); ++d) {
      std::size_t at = rank - s.size() + d;
      dims.push_back(s[d] == whole[at] ? DimFactors{static_cast<int>(at)} : DimFactors{});
    }
    rule.operands.push_back(std::move(dims));
  }
  ValueFactors out;
  for (std::size_t d = 0; d < rank; ++d) out.push_back({static_cast<int>(d)});
  rule.results.push_back(std::move(out));
  return rule;
}

std::optional<std::size_t> dimension_with(const ValueFactors& value, int factor) {
  for (std::size_t d = 0; d < value.size(); ++d)
    if (std::find(value[d].begin(), value[d].end(), factor) != value[d].end()) return d;
  return std::nullopt;
}

runtime::Shape result_shape(const FactorRule& rule, int result) {
  Shape out;
  for (const auto& dim : rule.results[static_cast<std::size_t>(result)]) {
    std::int64_t n = 1;
    for (int f : dim)
      if (__builtin_mul_overflow(n, rule.factor(f).size, &n))
        throw RuntimeError("shape", "a dimension of the result is too large");
    out.push_back(n);
  }
  return out;
}

namespace {

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
    const std::int64_t known = rule.factor(f).size;
    if (n == 1 && known < 0) return {-1 - f};
    if (n == 1 && known != 1) return {};
    size(f, n);
    return {f};
  }

  std::map<std::string, int> index_;
  std::map<std::string, int> runs_;  // `*b` -> number of dimensions
};

}  // namespace

std::vector<int> fixed_beside_run(std::string_view text) {
  std::vector<int> out;
  for (const auto& dims : values(text.substr(0, text.find("->")))) {
    const auto runs = std::count_if(dims.begin(), dims.end(), [](const std::string& w) { return w[0] == '*'; });
    out.push_back(runs ? static_cast<int>(dims.size()) - static_cast<int>(runs) : -1);
  }
  return out;
}

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

// Compound factors of a reshape: both shapes are walked from the left and cut by common divisors.
namespace {

class Cutter {
 public:
  Cutter(const Shape& from, const Shape& to) : from_(from), to_(to) {
    rule_.operands.resize(1);
    rule_.results.resize(1);
    a().resize(from.size());
    b().resize(to.size());
  }

  FactorRule without_elements() {  // nothing to lay out: equal dimensions pass, the rest has factors of its own
    for (std::size_t i = 0; i < from_.size(); ++i) a()[i] = {add(from_[i])};
    for (std::size_t j = 0; j < to_.size(); ++j)
      b()[j] = {j < from_.size() && from_[j] == to_[j] ? a()[j][0] : add(to_[j])};
    return std::move(rule_);
  }

  FactorRule run() {
    while (true) {
      next_of_operand();
      next_of_result();
      if (x_ <= 1 && y_ <= 1) return std::move(rule_);
      const std::int64_t g = std::gcd(x_, y_);
      if (g == 1)
        join_uneven();
      else
        cut_off(g);
    }
  }

 private:
  ValueFactors& a() { return rule_.operands[0]; }
  ValueFactors& b() { return rule_.results[0]; }
  int add(std::int64_t size, FactorKind kind = FactorKind::Pass) {
    int f = static_cast<int>(rule_.factors.size());
    rule_.factors.push_back({"f" + std::to_string(f), size, kind, FactorReduce::Sum});
    return f;
  }

  // To a dimension of the operand with something left. Those of size 1 keep a factor where both sides have one in this
  // place.
  void next_of_operand() {
    if (x_ == 1) x_ = 0, ++i_;
    while (x_ == 0 && i_ < from_.size()) {
      if (from_[i_] != 1) {
        x_ = from_[i_];
        return;
      }
      a()[i_] = {add(1)};
      if (y_ == 0 && j_ < to_.size() && to_[j_] == 1) b()[j_++] = a()[i_];
      ++i_;
    }
  }
  void next_of_result() {
    if (y_ == 1) y_ = 0, ++j_;
    while (y_ == 0 && j_ < to_.size()) {
      if (to_[j_] != 1) {
        y_ = to_[j_];
        return;
      }
      b()[j_++] = {add(1)};
    }
  }

  void cut_off(std::int64_t g) {
    const int f = add(g);
    a()[i_].push_back(f);
    b()[j_].push_back(f);
    x_ /= g;
    y_ /= g;
    if (x_ == 1) x_ = 0, ++i_;
    if (y_ == 1) y_ = 0, ++j_;
  }

  // The cuts do not line up (6 -> 4 ...): what remains of both sides is one compound that must be whole.
  void join_uneven() {
    const std::size_t first_i = i_, first_j = j_;
    std::int64_t left = x_, right = y_;
    while (left != right)
      if (left < right)
        left *= from_[++i_];
      else
        right *= to_[++j_];
    for (std::size_t d = first_i; d <= i_; ++d) a()[d].push_back(add(d == first_i ? x_ : from_[d], FactorKind::Whole));
    for (std::size_t d = first_j; d <= j_; ++d) b()[d].push_back(add(d == first_j ? y_ : to_[d], FactorKind::Whole));
    x_ = y_ = 0;
    ++i_, ++j_;
  }

  const Shape &from_, &to_;
  FactorRule rule_;
  std::size_t i_ = 0, j_ = 0;
  std::int64_t x_ = 0, y_ = 0;  // what is left of the current dimensions; 0: take the next
};

}  // namespace

FactorRule reshape_rule(const Shape& from, const Shape& to) {
  const std::int64_t elements = runtime::numel(from);
  if (elements != runtime::numel(to))
    throw runtime::RuntimeError("shape", "cannot reshape " + runtime::to_string(from) + " (" +
                                             std::to_string(elements) + " elements) to " + runtime::to_string(to) +
                                             " (" + std::to_string(runtime::numel(to)) + ")");
  Cutter cutter(from, to);
  return elements == 0 ? cutter.without_elements() : cutter.run();
}

}  // namespace shard::ir
