// Rules that shapes alone give, and what is read off a rule. Texts: factors_text.cpp; reshapes: reshape_rule.cpp.
#include "interpreter/ir/factors.h"

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
