// Products that are better done element by element: those that sum nothing (outer products), those of many matrices of
// up to 3 x 3, and those of many small matrices by vectors: sums of short rows, whose terms lie one after the other, or
// of few.
#include <algorithm>
#include <string>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/collective.h"
#include "interpreter/transform/float_product.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::Node;
using ir::Var;
using runtime::Shape;

constexpr std::int64_t kShortCall = 256;  // elements, for which a call of its own takes no longer
constexpr std::int64_t kManyCalls = 16;   // of them
constexpr std::int64_t kShortRows = 64;   // elements of a matrix whose rows are added up

class Elements {
 public:
  Elements(const ir::OpTable& table, const Graph& g)
      : g_(g), core_(table.core()), b_(builder_like(table, g)), now_(b_, g), sent_(g.types.size(), 0) {
    for (const Node& n : g.nodes)
      if (n.op->comm || ir::sums_all(*n.op))
        for (Var v : n.inputs) sent_[at(v)] = 1;
  }

  std::optional<Graph> run() {
    if (std::none_of(g_.nodes.begin(), g_.nodes.end(), [&](const Node& n) { return sums_of(n).has_value(); }))
      return std::nullopt;
    now_.params();
    for (const Node& n : g_.nodes) {
      const ir::SpanScope scope(b_, n.span);
      if (const auto summed = sums_of(n))
        now_[n.outputs[0]] = made(n, *summed);
      else
        now_.node(n);
    }
    return now_.finish();
  }

 private:
  struct Sums {
    std::string letters;
    bool by_terms = false;     // of one letter: an array for each
    bool before_last = false;  // that letter lies before the last one of the result
  };
  // What is summed, if it is such a product.
  std::optional<Sums> sums_of(const Node& n) const {
    const auto product = float_product(core_, g_, n);
    if (!product || sent_[at(n.outputs[0])]) return std::nullopt;
    const auto& [spec, size] = *product;
    std::string summed;
    for (const char c : spec.x)
      if (spec.out.find(c) == std::string_view::npos) summed += c;
    std::string kept;  // of one operand alone
    std::int64_t terms = 1, both = 1, one = 1, other = 1;
    for (const char c : summed) terms *= size.at(c);
    for (const char c : spec.out) {
      const bool in_x = spec.x.find(c) != std::string_view::npos, in_y = spec.y.find(c) != std::string_view::npos;
      (in_x && in_y ? both : in_x ? one : other) *= size.at(c);
      if (!(in_x && in_y) && size.at(c) > 1) kept += c;
    }
    if (terms == 1) return both * one * other > kShortCall ? std::optional(Sums{summed}) : std::nullopt;
    const auto ends = [&, &size = size](std::string_view letters) {  // with it, but for dimensions of one element
      std::string long_ones;
      for (const char c : letters)
        if (size.at(c) > 1) long_ones += c;
      return long_ones.ends_with(summed);
    };
    const bool last = ends(spec.x) && ends(spec.y);
    const bool by_vector = last && (one == 1 || other == 1) && std::max(one, other) * terms <= kShortCall;
    const bool tiny = summed.size() == 1 && terms <= 3 && one <= terms && other <= terms && (terms == 2 || !by_vector);
    if (both < kManyCalls) return std::nullopt;
    if (by_vector || tiny) return Sums{summed, tiny};
    const bool few = summed.size() == 1 && kept.size() == 1 && terms * one * other <= kShortRows;
    const std::string_view matrix = one > 1 ? spec.x : spec.y;
    return few && matrix.ends_with(summed + kept) && spec.out.ends_with(kept) ? std::optional(Sums{summed, false, true})
                                                                              : std::nullopt;
  }

  // Its dimensions in the order of these letters, 1 where it lacks one.
  Var spread(Var v, std::string_view letters, std::string_view order) {
    ir::Ints perm;
    Shape shape;
    const Shape& from = b_.type(v).shape;
    for (const char c : order) {
      const std::size_t d = letters.find(c);
      if (d != std::string_view::npos) perm.push_back(static_cast<std::int64_t>(d));
      shape.push_back(d == std::string_view::npos ? 1 : from[d]);
    }
    const Var turned = std::is_sorted(perm.begin(), perm.end()) ? v : ir::transpose(b_, v, perm);
    return b_.type(turned).shape == shape ? turned : ir::reshape(b_, turned, shape);
  }
  // Of a sum over one letter the i-th term.
  Var term(const Node& n, const ir::ContractSpec& spec, char summed, std::int64_t i) {
    const auto part = [&](Var v, std::string_view letters) {
      Shape from(letters.size(), 0), to = b_.type(v).shape;
      const std::size_t d = letters.find(summed);
      from[d] = i, to[d] = i + 1;
      const Var one = b_.emit1(*core_.slice, {v}, {{"start", from}, {"limit", to}, {"step", Shape(from.size(), 1)}});
      return spread(one, letters, std::string(spec.out) + summed);
    };
    const Var x = part(now_[n.inputs[0]], spec.x), y = part(now_[n.inputs[1]], spec.y);
    return ir::reshape(b_, ir::mul(b_, x, y), g_.type(n.outputs[0]).shape);
  }
  Var made(const Node& n, const Sums& sums) {
    const auto [spec, size] = *float_product(core_, g_, n);
    std::string order(spec.out);
    order.insert(order.size() - (sums.before_last ? 1 : 0), sums.letters);
    if (sums.by_terms) {
      const char summed = sums.letters[0];
      Var all = term(n, spec, summed, 0);
      for (std::int64_t i = 1; i < size.at(summed); ++i) all = ir::add(b_, all, term(n, spec, summed, i));
      return all;
    }
    const Var x = spread(now_[n.inputs[0]], spec.x, order), y = spread(now_[n.inputs[1]], spec.y, order);
    const Var product = ir::mul(b_, x, y);
    const Shape& shape = g_.type(n.outputs[0]).shape;
    if (runtime::numel(b_.type(product).shape) == runtime::numel(shape)) return ir::reshape(b_, product, shape);
    ir::Ints axes;
    for (const char c : sums.letters) axes.push_back(static_cast<std::int64_t>(order.find(c)));
    return ir::reduce_sum(b_, product, axes);
  }

  const Graph& g_;
  const ir::CoreOps& core_;
  ir::Builder b_;
  ir::GraphCopy now_;
  Marks sent_;  // to other devices: the sum over them and the product are one
};

}  // namespace

std::optional<Graph> with_small_products_by_elements(const ir::OpTable& table, const Graph& graph) {
  auto out = with_regions(graph, [&](const Graph& region) { return with_small_products_by_elements(table, region); });
  if (auto made = Elements(table, out ? *out : graph).run()) out = std::move(made);
  return out;
}

}  // namespace shard::transform
