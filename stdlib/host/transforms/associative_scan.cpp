// associative_scan: what scan gives for an associative function, in a number of steps that grows with the logarithm of
// the length, as JAX takes them: neighbours are joined, what comes out is scanned likewise, and the places between are
// filled in.
#include "stdlib/host/transforms/traced_call.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;
using trace::Tensor;
using Elements = std::vector<Tensor>;

class AssociativeScan {
 public:
  AssociativeScan(Interpreter& in, const Value& f, const Value& tree, std::int64_t axis, grammar::Span span)
      : in_(in), f_(f), tree_(tree), axis_(axis), span_(span) {}

  Elements run(const Elements& xs) {
    const std::int64_t n = length(xs[0]);
    if (n < 2) return xs;
    const Elements odd = run(joined(parts(xs, 0, n - 1, 2), parts(xs, 1, n, 2)));
    const Elements even = joined(n % 2 == 0 ? parts(odd, 0, length(odd[0]) - 1, 1) : odd, parts(xs, 2, n, 2));
    const Elements first = parts(xs, 0, 1, 1);
    Elements out;
    for (std::size_t i = 0; i < xs.size(); ++i) out.push_back(interleaved(beside(first[i], even[i]), odd[i], n));
    return out;
  }
  Elements reversed(const Elements& xs) const {
    Elements out;
    for (const Tensor& x : xs) out.push_back(in_.context().apply1(*core().rev, {x}, {{"axes", ir::Ints{from_end(x)}}}));
    return out;
  }
  // The axis of each array; all of one length.
  void check(const Elements& xs) const {
    for (const Tensor& x : xs) {
      const int rank = x.type().rank();
      if (axis_ < -rank || axis_ >= rank)
        in_.fail("shape", span_,
                 "associative_scan: " + runtime::to_string(x.type()) + " has no axis " + std::to_string(axis_));
      if (length(x) != length(xs[0]))
        in_.fail("shape", span_,
                 "associative_scan's arrays must be equally long: " + runtime::to_string(xs[0].type()) + " and " +
                     runtime::to_string(x.type()));
    }
  }

 private:
  const ir::CoreOps& core() const { return in_.context().table().core(); }
  std::int64_t from_end(const Tensor& x) const { return axis_ < 0 ? axis_ : axis_ - x.type().rank(); }
  std::int64_t length(const Tensor& x) const {
    return x.type().shape[static_cast<std::size_t>(x.type().rank() + from_end(x))];
  }

  Elements parts(const Elements& xs, std::int64_t from, std::int64_t to, std::int64_t step) const {
    Elements out;
    for (const Tensor& x : xs) {
      const auto count = static_cast<std::size_t>(-from_end(x));
      ir::Ints start(count, 0), limit(count, ir::kWhole), steps(count, 1);
      start[0] = from;
      limit[0] = std::max(from, to);
      steps[0] = step;
      out.push_back(in_.context().apply1(*core().slice, {x}, {{"start", start}, {"limit", limit}, {"step", steps}}));
    }
    return out;
  }
  Tensor beside(const Tensor& x, const Tensor& y) const {
    return in_.context().apply1(*core().concat, {x, y}, {{"axis", from_end(x)}});
  }

  // f of both, whose arrays are as the given ones are.
  Elements joined(const Elements& xs, const Elements& ys) {
    const Value made = in_.call(f_, {with_tensors(tree_, xs), with_tensors(tree_, ys)}, span_);
    if (!lang::same_structure(made, tree_))
      in_.fail("type", span_, "associative_scan's function gives what it takes",
               {"it takes " + lang::structure(tree_), "it gives " + lang::structure(made)});
    Elements out = tensor_leaves(in_, made, span_, "what associative_scan's function gives");
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].type().shape != ys[i].type().shape || out[i].type().dtype != ys[i].type().dtype)
        in_.fail("type", span_,
                 "associative_scan's function keeps the type of its elements: it takes " +
                     runtime::to_string(ys[i].type()) + " and gives " + runtime::to_string(out[i].type()));
    return out;
  }

  // x and y by turns, `n` of both together: each behind the other, and those dimensions merged.
  Tensor interleaved(Tensor x, Tensor y, std::int64_t n) const {
    const std::int64_t axis = from_end(x);
    const auto at = static_cast<std::size_t>(x.type().rank() + axis);
    if (n % 2 != 0) y = beside(y, parts({x}, 0, 1, 1)[0]);  // one more, cut off again
    runtime::Shape pair = x.type().shape, line = pair;
    pair.insert(pair.begin() + static_cast<std::ptrdiff_t>(at) + 1, 1);
    line[at] *= 2;
    const auto reshaped = [&](const Tensor& t, const runtime::Shape& shape) {
      return in_.context().apply1(*core().reshape, {t}, {{"shape", shape}});
    };
    const Tensor both = in_.context().apply1(*core().concat, {reshaped(x, pair), reshaped(y, pair)}, {{"axis", axis}});
    const Tensor merged = reshaped(both, line);
    return n % 2 == 0 ? merged : parts({merged}, 0, n, 1)[0];
  }

  Interpreter& in_;
  const Value &f_, &tree_;
  std::int64_t axis_;
  grammar::Span span_;
};

Value associative_scan(Interpreter& in, BoundArgs& a) {
  need_function(in, a, "associative_scan");
  const Value tree = a[1];
  Elements xs = tensor_leaves(in, tree, a.span, "what associative_scan goes over");
  if (xs.empty()) in.fail("call", a.span, "associative_scan needs arrays to go over");
  AssociativeScan scan(in, a[0], tree, in.integer(a[3], a.span, "`axis:`"), a.span);
  scan.check(xs);
  const bool reverse = in.truth(a[2], a.span);
  if (reverse) xs = scan.reversed(xs);
  xs = scan.run(xs);
  if (reverse) xs = scan.reversed(xs);
  return with_tensors(tree, xs);
}

}  // namespace

void register_associative_scan(Interpreter& in) {
  in.define(
      {"associative_scan", "associative_scan(f, xs, reverse = false, axis = 0)",
       "All running values of an associative function: x0, f(x0, x1), f(f(x0, x1), x2), ... in a number of steps "
       "that grows with the logarithm of the length. f takes and gives arrays (or trees) of many elements at once.",
       associative_scan});
}

}  // namespace shard::stdlib
