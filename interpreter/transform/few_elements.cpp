// Arrays of few elements that a loop joins of numbers (`stack([x, y, z])`) and takes apart again, as these numbers:
// what is done to them is then one program of scalars, and no array is made between. Products of few elements are such
// programs, too, and a dot product of a few more is a sum of a row.
#include <algorithm>
#include <map>

#include "interpreter/ir/builder.h"
#include "interpreter/transform/float_product.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::Node;
using ir::Var;
using ir::Vars;
using runtime::Shape;

constexpr std::int64_t kFew = 9;        // of more a vector's instructions are fewer
constexpr std::int64_t kFewTerms = 27;  // of all sums of a product: of two matrices of 3 x 3
constexpr std::int64_t kRow = 16;       // elements, of which a vector holds a row

class Apart {
 public:
  Apart(const ir::OpTable& table, const Graph& g)
      : g_(g), core_(table.core()), b_(builder_like(table, g)), now_(b_, g) {}

  // Nothing where no join is taken apart.
  std::optional<Graph> run() {
    if (std::none_of(g_.nodes.begin(), g_.nodes.end(),
                     [&](const Node& n) { return of_numbers(n) || terms(n) > 0 || is_dot(n); }))
      return std::nullopt;
    now_.params();
    for (const Node& n : g_.nodes) {
      const ir::SpanScope scope(b_, n.span);
      if (joins(n) || computes(n) || multiplies(n) || reduces(n) || shows(n)) continue;
      for (Var v : n.inputs) whole(v);
      now_.node(n);
    }
    for (Var v : g_.results) whole(v);
    return any_ ? std::optional(without_dead_code(b_.table(), now_.finish())) : std::nullopt;
  }

 private:
  std::int64_t count(Var v) const { return runtime::numel(g_.type(v).shape); }
  bool apart(Var v) const { return parts_.contains(v.id); }
  bool few(const Node& n) const {
    return n.outputs.size() == 1 && count(n.outputs[0]) <= kFew && count(n.outputs[0]) > 0;
  }

  Var scalar(Var made) { return b_.type(made).shape.empty() ? made : ir::reshape(b_, made, {}); }
  // Element i of a value of the old graph, row-major.
  Var element(Var v, std::int64_t i) {
    if (const auto it = parts_.find(v.id); it != parts_.end()) return it->second[static_cast<std::size_t>(i)];
    if (count(v) == 1) return scalar(now_[v]);
    const Var flat = ir::reshape(b_, now_[v], {count(v)});
    return scalar(
        b_.emit1(*core_.slice, {flat}, {{"start", ir::Ints{i}}, {"limit", ir::Ints{i + 1}}, {"step", ir::Ints{1}}}));
  }
  // The value as an array again, for who wants one.
  void whole(Var v) {
    if (!apart(v) || now_[v].valid()) return;
    Vars ones;
    for (Var part : parts_[v.id]) ones.push_back(ir::reshape(b_, part, {1}));
    const Var line = ones.size() == 1 ? ones[0] : b_.emit(*core_.concat, ones, {{"axis", std::int64_t{-1}}}).at(0);
    now_[v] = ir::reshape(b_, line, g_.type(v).shape);
  }

  bool of_numbers(const Node& n) const {
    return n.op == core_.concat && few(n) &&
           std::all_of(n.inputs.begin(), n.inputs.end(), [&](Var v) { return count(v) == 1; });
  }
  bool joins(const Node& n) {
    if (!of_numbers(n)) return false;
    Vars parts;
    for (Var v : n.inputs) parts.push_back(element(v, 0));
    parts_[n.outputs[0].id] = std::move(parts);
    return true;
  }

  // The same operation for each element.
  bool computes(const Node& n) {
    if (!std::holds_alternative<runtime::Code>(n.op->kernel) || !few(n) ||
        std::none_of(n.inputs.begin(), n.inputs.end(), [&](Var v) { return apart(v); }) ||
        std::any_of(n.inputs.begin(), n.inputs.end(), [&](Var v) { return count(v) > kFew; }))
      return false;
    const Shape& shape = g_.type(n.outputs[0]).shape;
    Vars parts;
    for (std::int64_t i = 0; i < count(n.outputs[0]); ++i) {
      Vars in;
      for (Var v : n.inputs) {
        const runtime::Strided seen =
            runtime::broadcast({g_.type(v).shape, runtime::row_major(g_.type(v).shape), 0}, shape);
        in.push_back(element(v, place(seen, i)));
      }
      parts.push_back(b_.emit(*n.op, in, n.attrs).at(0));
    }
    parts_[n.outputs[0].id] = std::move(parts);
    any_ = any_ || count(n.outputs[0]) > 1;
    return true;
  }

  bool shows(const Node& n) {
    const auto* view = std::get_if<ir::ViewOf>(&n.op->kernel);
    if (!view || view->frame || !few(n) || !(apart(n.inputs[0]) || count(n.inputs[0]) == 1)) return false;
    const Shape &from = g_.type(n.inputs[0]).shape, &to = g_.type(n.outputs[0]).shape;
    const auto seen = view->strides({from, runtime::row_major(from), 0}, n.attrs, to);
    if (!seen) return false;
    Vars parts;
    for (std::int64_t i = 0; i < count(n.outputs[0]); ++i) parts.push_back(element(n.inputs[0], place(*seen, i)));
    parts_[n.outputs[0].id] = std::move(parts);
    any_ = any_ || count(n.inputs[0]) > 1;
    return true;
  }

  // How many terms its sums have together; 0: more than a few, or it is no such product.
  std::int64_t terms(const Node& n) const {
    const auto product = float_product(core_, g_, n);
    if (!product) return 0;
    std::int64_t all = 1;
    for (const auto& [letter, size] : product->size) all *= size;
    return all <= kFewTerms ? all : 0;
  }
  // Of two vectors.
  bool is_dot(const Node& n) const {
    return float_product(core_, g_, n) && g_.type(n.outputs[0]).shape.empty() &&
           g_.type(n.inputs[0]).shape.size() == 1 && count(n.inputs[0]) > kFew && count(n.inputs[0]) <= kRow;
  }
  // One of all, by pairs, which wait less for one another.
  Var joined(Vars all, const ir::OpDef& op) {
    for (; all.size() > 1; all.resize((all.size() + 1) / 2))
      for (std::size_t k = 0; 2 * k < all.size(); ++k)
        all[k] = 2 * k + 1 < all.size() ? b_.emit(op, {all[2 * k], all[2 * k + 1]}, {}).at(0) : all[2 * k];
    return all[0];
  }
  // All elements of an array that is apart, to one.
  bool reduces(const Node& n) {
    if (!n.op->reduces || n.inputs.size() != 1 || !apart(n.inputs[0]) || count(n.outputs[0]) != 1) return false;
    const auto& rows = b_.table().rows();
    const auto op = std::find_if(rows.begin(), rows.end(), [&](const ir::OpDef& row) {
      const auto* code = std::get_if<runtime::Code>(&row.kernel);
      return code && *code == runtime::joins(*n.op->reduces);
    });
    if (op == rows.end()) return false;
    parts_[n.outputs[0].id] = {joined(parts_[n.inputs[0].id], *op)};
    return any_ = true;
  }
  bool multiplies(const Node& n) {
    const Var out = n.outputs[0];
    if (is_dot(n)) {
      for (Var v : n.inputs) whole(v);
      now_[out] = ir::reduce_sum(b_, ir::mul(b_, now_[n.inputs[0]], now_[n.inputs[1]]), {0});
      return any_ = true;
    }
    if (terms(n) == 0) return false;
    const auto [spec, size] = *float_product(core_, g_, n);
    std::string summed;
    for (const auto& [letter, many] : size)
      if (spec.out.find(letter) == std::string_view::npos) summed += letter;
    // The place of each letter: of those of the result and then of what is summed, the last one fastest.
    const std::string letters = std::string(spec.out) + summed;
    std::map<char, std::int64_t> at;
    const auto operand = [&](std::string_view of, Var v) {
      std::int64_t i = 0;
      for (const char c : of) i = i * size.at(c) + at[c];
      return element(v, i);
    };
    std::int64_t each = 1;
    for (const char c : summed) each *= size.at(c);
    Vars parts, sum;
    for (std::int64_t i = 0; i < count(out) * each; ++i) {
      std::int64_t rest = i;
      for (std::size_t d = letters.size(); d-- > 0; rest /= size.at(letters[d]))
        at[letters[d]] = rest % size.at(letters[d]);
      sum.push_back(ir::mul(b_, operand(spec.x, n.inputs[0]), operand(spec.y, n.inputs[1])));
      if (static_cast<std::int64_t>(sum.size()) < each) continue;
      parts.push_back(joined(std::move(sum), *core_.add));
      sum.clear();
    }
    parts_[out.id] = std::move(parts);
    return any_ = true;
  }

  // Where element i of what is seen lies.
  static std::int64_t place(const runtime::Strided& seen, std::int64_t i) {
    std::int64_t at = seen.offset;
    for (std::size_t d = seen.shape.size(); d-- > 0; i /= seen.shape[d]) at += i % seen.shape[d] * seen.strides[d];
    return at;
  }

  const Graph& g_;
  const ir::CoreOps& core_;
  ir::Builder b_;
  ir::GraphCopy now_;
  std::map<std::int32_t, Vars> parts_;  // by value of the old graph: its elements
  bool any_ = false;
};

}  // namespace

std::optional<Graph> without_small_joins(const ir::OpTable& table, const Graph& graph) {
  return with_regions(graph, [&](const Graph& region) {
    auto inside = without_small_joins(table, region);
    if (auto apart = Apart(table, inside ? *inside : region).run()) inside = std::move(apart);
    return inside;
  });
}

}  // namespace shard::transform
