// Compound factors of a reshape: both shapes are walked from the left and cut by common divisors.
#include "interpreter/ir/factors.h"

#include <numeric>

namespace shard::ir {
namespace {

using runtime::Shape;

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
