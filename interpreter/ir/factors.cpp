#include "interpreter/ir/factors.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
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

class Reader {
 public:
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
  FactorRule rule;

 private:
  std::map<std::string, int> index_;
};

}  // namespace

FactorRule parse_factors(std::string_view text, std::span<const Shape> operands, std::span<const Shape> result_shapes) {
  std::size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) throw std::logic_error("factors without `->`: " + std::string(text));
  auto left = values(text.substr(0, arrow));
  // Clauses follow the results: the first clause word that is followed by a factor's name ends them.
  std::string_view right_text = text.substr(arrow + 2), clause_text;
  {
    std::size_t at = 0;
    while (at < right_text.size()) {
      std::size_t start = right_text.find_first_not_of(" ,", at);
      if (start == std::string_view::npos) break;
      std::size_t end = right_text.find_first_of(" ,", start);
      if (end == std::string_view::npos) end = right_text.size();
      if (clauses().count(right_text.substr(start, end - start))) {
        clause_text = right_text.substr(start);
        right_text = right_text.substr(0, start);
        break;
      }
      at = end;
    }
  }
  auto right = values(right_text);
  if (left.size() == 1 && left[0].empty() && operands.empty()) left.clear();
  if (left.size() != operands.size())
    throw std::logic_error("factors for " + std::to_string(left.size()) + " operands, " +
                           std::to_string(operands.size()) + " given: " + std::string(text));

  Reader r;
  std::map<std::string, int> runs;  // `*b` -> number of dimensions, the most of any operand
  for (std::size_t i = 0; i < left.size(); ++i) {
    int fixed = 0;
    std::string run;
    for (const auto& w : left[i]) w[0] == '*' ? void(run = w) : void(++fixed);
    int rank = static_cast<int>(operands[i].size());
    if (rank < fixed || (run.empty() && rank != fixed))
      throw RuntimeError("shape", "operand " + std::to_string(i + 1) + " has " + std::to_string(rank) +
                                      " dimensions, needs " + (run.empty() ? "" : "at least ") + std::to_string(fixed));
    if (!run.empty()) runs[run] = std::max(runs[run], rank - fixed);
  }
  auto place = [&](const std::vector<std::string>& dims, const Shape* shape) {
    ValueFactors out;
    int fixed = 0;
    for (const auto& w : dims) fixed += w[0] != '*';
    for (const auto& w : dims) {
      if (w[0] != '*') {
        int f = r.named(w);
        if (shape) r.size(f, (*shape)[out.size()]);
        out.push_back({f});
        continue;
      }
      int width = runs[w], have = shape ? static_cast<int>(shape->size()) - fixed : width;
      for (int j = width - have; j < width; ++j) {  // right-aligned within the run
        int f = r.named(w.substr(1) + std::to_string(width - j));
        if (shape) {
          std::int64_t n = (*shape)[out.size()];
          Factor& factor = r.rule.factors[static_cast<std::size_t>(f)];
          if (n == 1 && factor.size != 1 && factor.size >= 0) {
            out.push_back({});
            continue;
          }
          if (n == 1 && factor.size < 0) {
            out.push_back({-1 - f});
            continue;
          }  // size not known yet: settled below
          r.size(f, n);
        }
        out.push_back({f});
      }
    }
    return out;
  };
  for (std::size_t i = 0; i < left.size(); ++i) r.rule.operands.push_back(place(left[i], &operands[i]));
  for (std::size_t i = 0; i < right.size(); ++i) {
    const Shape* shape = i < result_shapes.size() ? &result_shapes[i] : nullptr;
    r.rule.results.push_back(place(right[i], shape));
  }
  // Dimensions of size 1 in a run: the factor itself where every operand has 1, else they broadcast.
  for (auto* side : {&r.rule.operands, &r.rule.results})
    for (auto& value : *side)
      for (auto& dim : value)
        if (dim.size() == 1 && dim[0] < 0) {
          int f = -1 - dim[0];
          Factor& factor = r.rule.factors[static_cast<std::size_t>(f)];
          if (factor.size < 0 || factor.size == 1) {
            factor.size = 1;
            dim = {f};
          } else
            dim = {};
        }
  auto tail = words(clause_text);
  for (std::size_t i = 0; i < tail.size(); ++i) {
    auto it = clauses().find(tail[i]);
    if (it == clauses().end() || i + 1 == tail.size())
      throw std::logic_error("clause `" + tail[i] + "` in factors: " + std::string(text));
    while (i + 1 < tail.size() && !clauses().count(tail[i + 1])) {
      Factor& f = r.rule.factors[static_cast<std::size_t>(r.named(tail[++i]))];
      f.kind = it->second.kind;
      f.reduce = it->second.reduce;
    }
  }
  for (const auto& f : r.rule.factors)
    if (f.size < 0) throw std::logic_error("factor `" + f.name + "` has no size: " + std::string(text));
  return r.rule;
}

FactorRule broadcast_rule(std::span<const Shape> operands) {
  FactorRule rule;
  Shape whole;
  for (const auto& s : operands) {
    auto joined = runtime::broadcast(whole, s);
    if (!joined)
      throw RuntimeError("shape",
                         "shapes " + runtime::to_string(whole) + " and " + runtime::to_string(s) + " do not broadcast");
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

FactorRule reshape_rule(const Shape& from, const Shape& to) {
  FactorRule rule;
  rule.operands.resize(1);
  rule.results.resize(1);
  ValueFactors &a = rule.operands[0], &b = rule.results[0];
  a.resize(from.size());
  b.resize(to.size());
  if (runtime::numel(from) != runtime::numel(to))
    throw RuntimeError("shape", "cannot reshape " + runtime::to_string(from) + " (" +
                                    std::to_string(runtime::numel(from)) + " elements) to " + runtime::to_string(to) +
                                    " (" + std::to_string(runtime::numel(to)) + ")");
  auto add = [&](std::int64_t size) {
    int f = static_cast<int>(rule.factors.size());
    rule.factors.push_back({"f" + std::to_string(f), size, FactorKind::Pass, FactorReduce::Sum});
    return f;
  };
  if (runtime::numel(from) ==
      0) {  // nothing to lay out: equal leading dimensions pass, the rest has factors of its own
    for (std::size_t i = 0; i < from.size(); ++i) a[i] = {add(from[i])};
    for (std::size_t j = 0; j < to.size(); ++j) b[j] = {j < from.size() && from[j] == to[j] ? a[j][0] : add(to[j])};
    return rule;
  }
  std::size_t i = 0, j = 0;
  std::int64_t x = 0, y = 0;  // what is left of the current dimensions; 0: take the next
  while (true) {
    while (x <= 1 && i < from.size()) {
      if (x == 1) {
        x = 0;
        ++i;
        continue;
      }
      x = from[i];
      if (x == 1) {
        // A dimension of size 1 keeps a factor where both sides have one in this place.
        if (y == 0 && j < to.size() && to[j] == 1) {
          int f = add(1);
          a[i] = {f};
          b[j] = {f};
          ++j;
        } else
          a[i] = {add(1)};
        x = 0;
        ++i;
      } else
        break;
    }
    while (y <= 1 && j < to.size()) {
      if (y == 1) {
        y = 0;
        ++j;
        continue;
      }
      y = to[j];
      if (y == 1) {
        b[j] = {add(1)};
        y = 0;
        ++j;
      } else
        break;
    }
    if (x <= 1 && y <= 1) return rule;
    std::int64_t g = std::gcd(x, y);
    if (g == 1) {
      // The cuts do not line up (6 -> 4 ...): what remains of both sides is one compound that must be whole.
      std::int64_t left = x, right = y;
      std::vector<std::size_t> ai{i}, bj{j};
      while (left != right) {
        if (left < right)
          left *= from[++i], ai.push_back(i);
        else
          right *= to[++j], bj.push_back(j);
      }
      for (auto d : ai) {
        int f = add(from[d]);
        rule.factors.back().kind = FactorKind::Whole;
        a[d].push_back(f);
      }
      for (auto d : bj) {
        int f = add(to[d]);
        rule.factors.back().kind = FactorKind::Whole;
        b[d].push_back(f);
      }
      rule.factors[static_cast<std::size_t>(a[ai[0]].back())].size = x;  // of the first ones only what is left
      rule.factors[static_cast<std::size_t>(b[bj[0]].back())].size = y;
      x = y = 0;
      ++i, ++j;
      continue;
    }
    int f = add(g);
    a[i].push_back(f);
    b[j].push_back(f);
    x /= g;
    y /= g;
    if (x == 1) x = 0, ++i;
    if (y == 1) y = 0, ++j;
  }
}

runtime::Shape result_shape(const FactorRule& rule, int result) {
  Shape out;
  for (const auto& dim : rule.results[static_cast<std::size_t>(result)]) {
    std::int64_t n = 1;
    for (int f : dim)
      if (__builtin_mul_overflow(n, rule.factors[static_cast<std::size_t>(f)].size, &n))
        throw RuntimeError("shape", "a dimension of the result is too large");
    out.push_back(n);
  }
  return out;
}

std::int64_t points(const FactorRule& rule) {
  std::int64_t n = 1;
  for (const auto& f : rule.factors)
    if (__builtin_mul_overflow(n, f.size, &n)) return INT64_MAX;
  return n;
}

std::string to_string(const FactorRule& rule) {
  auto side = [&](const std::vector<ValueFactors>& values) {
    std::string out;
    for (std::size_t v = 0; v < values.size(); ++v) {
      if (v) out += ", ";
      for (std::size_t d = 0; d < values[v].size(); ++d) {
        if (d) out += ' ';
        const DimFactors& dim = values[v][d];
        if (dim.empty())
          out += '1';
        else if (dim.size() > 1)
          out += '(';
        for (std::size_t k = 0; k < dim.size(); ++k)
          out += (k ? " " : "") + rule.factors[static_cast<std::size_t>(dim[k])].name;
        if (dim.size() > 1) out += ')';
      }
    }
    return out;
  };
  std::string out = side(rule.operands) + " -> " + side(rule.results);
  static const char* const reduce_names[] = {"sum", "prod", "max", "min", "and", "or"};
  for (const auto& f : rule.factors) {
    if (f.kind == FactorKind::Reduced)
      out += std::string("  ") + reduce_names[static_cast<int>(f.reduce)] + " " + f.name;
    if (f.kind == FactorKind::Whole) out += "  whole " + f.name;
    if (f.kind == FactorKind::Halo) out += "  halo " + f.name;
    if (f.kind == FactorKind::Masked) out += "  masked " + f.name;
  }
  return out;
}

}  // namespace shard::ir
