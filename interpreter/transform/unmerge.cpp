#include "interpreter/transform/unmerge.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/contract_spec.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::ContractSpec;
using ir::Graph;
using ir::Node;
using ir::Var;
using ir::Vars;
using runtime::Shape;

using Parts = std::vector<Shape>;  // by dimension, the sizes that it was merged of; one: it was not

bool merged(const Parts& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const Shape& p) { return p.size() > 1; });
}
Shape fine(const Parts& parts) {
  Shape out;
  for (const Shape& p : parts) out.insert(out.end(), p.begin(), p.end());
  return out;
}

// The dimensions of `from` that each one of `to` was merged of; empty where that is no merge, or there are ones.
Parts merge(const Shape& from, const Shape& to) {
  const auto some = [](std::int64_t n) { return n > 1; };
  if (!std::all_of(from.begin(), from.end(), some) || !std::all_of(to.begin(), to.end(), some)) return {};
  Parts out = runtime::merged_of(from, to);
  return merged(out) ? out : Parts{};
}

class Unmerger {
 public:
  Unmerger(const ir::OpTable& table, const Graph& g)
      : table_(table),
        core_(table.core()),
        g_(g),
        made_(ir::producers(g)),
        parts_(g.types.size()),
        b_(builder_like(table, g)),
        now_(b_, g),
        fine_(g.types.size()) {}

  Graph run() {
    for (const Node& n : g_.nodes) find(n);
    while (prune()) {}
    now_.params();
    for (const Node& n : g_.nodes) node(n);
    return now_.finish();
  }

 private:
  Parts& parts(Var v) { return parts_[at(v)]; }
  const Parts& parts(Var v) const { return parts_[at(v)]; }
  bool is_fine(Var v) const { return !parts(v).empty(); }
  Parts as_is(Var v) const {
    Parts out;
    for (std::int64_t n : g_.type(v).shape) out.push_back({n});
    return out;
  }
  bool plain(Var v) const {  // explicit layouts stay as they are written
    const auto& layout = g_.type(v).sharding;
    return layout.split_axes().empty() && layout.unreduced.empty() && layout.reduced.empty();
  }

  static ContractSpec spec_of(const Node& n) { return ir::read_spec(n.attrs.text("spec")); }

  // ---- which values could have finer dimensions
  void find(const Node& n) {
    if (n.outputs.size() != 1 || !n.regions.empty() || n.attrs.has("out")) return;
    const Var out = n.outputs[0];
    if (!plain(out) || !std::all_of(n.inputs.begin(), n.inputs.end(), [&](Var v) { return plain(v); })) return;
    if (n.op == core_.reshape && !is_fine(n.inputs[0]))
      parts(out) = merge(g_.type(n.inputs[0]).shape, g_.type(out).shape);
    else if (n.op == core_.contract)
      parts(out) = of_contraction(n);
    else if (std::holds_alternative<runtime::Code>(n.op->kernel))
      parts(out) = of_elements(n);
  }

  Parts of_elements(const Node& n) const {
    const Parts* found = nullptr;
    for (Var v : n.inputs) {
      if (!is_fine(v)) continue;
      if (g_.type(v).shape != g_.type(n.outputs[0]).shape || (found && *found != parts(v))) return {};
      found = &parts(v);
    }
    if (!found) return {};
    for (Var v : n.inputs)
      if (!is_fine(v) && !fits(g_.type(v).shape == g_.type(n.outputs[0]).shape ? repeated(v) : v, *found)) return {};
    return *found;
  }
  // What a broadcast repeats, else v itself: of rank so low that it does not reach the merged dimensions.
  Var repeated(Var v) const {
    const Node* n = made_[at(v)];
    return n && n->op == core_.broadcast_to ? n->inputs[0] : v;
  }
  bool fits(Var v, const Parts& all) const {
    const std::size_t rank = g_.type(v).shape.size();
    return rank <= all.size() && std::all_of(all.end() - static_cast<std::ptrdiff_t>(rank), all.end(),
                                             [](const Shape& p) { return p.size() == 1; });
  }

  // By letter; empty where both operands have it and differ.
  std::map<char, Shape> letters(const Node& n) const {
    const ContractSpec spec = spec_of(n);
    std::map<char, Shape> out;
    const auto take = [&](std::string_view text, Var v) {
      const Parts mine = is_fine(v) ? parts(v) : as_is(v);
      for (std::size_t d = 0; d < mine.size(); ++d) {
        const auto [old, fresh] = out.emplace(text[d], mine[d]);
        if (!fresh && old->second != mine[d]) return false;
      }
      return true;
    };
    if (spec.x.size() != g_.type(n.inputs[0]).shape.size() || spec.y.size() != g_.type(n.inputs[1]).shape.size() ||
        !take(spec.x, n.inputs[0]) || !take(spec.y, n.inputs[1]))
      return {};
    constexpr std::size_t kMost = 40;  // so that letters suffice
    std::size_t all = 0;
    for (const auto& [letter, sizes] : out) all += sizes.size();
    return all <= kMost ? out : std::map<char, Shape>{};
  }
  Parts of_contraction(const Node& n) const {
    if (!is_fine(n.inputs[0]) && !is_fine(n.inputs[1])) return {};
    const auto by_letter = letters(n);
    Parts out;
    for (char l : spec_of(n).out) {
      const auto found = by_letter.find(l);
      if (found == by_letter.end()) return {};
      out.push_back(found->second);
    }
    return merged(out) ? out : Parts{};
  }

  // ---- which of them shall: all that use them do as well, or sum them, or split them again
  bool takes(const Node& n, Var v) const {
    if (n.op == core_.reshape && n.outputs.size() == 1)
      return plain(n.outputs[0]) && !n.attrs.has("out") && g_.type(n.outputs[0]).shape == fine(parts(v));
    if (n.outputs.size() != 1 || n.attrs.has("out")) return false;
    if (n.op == core_.contract && plain(n.outputs[0]))
      return !letters(n).empty() && parts(n.outputs[0]) == of_contraction(n);
    return std::holds_alternative<runtime::Code>(n.op->kernel) && is_fine(n.outputs[0]);
  }
  bool prune() {
    bool any = false;
    const auto drop = [&](Var v) {
      any |= is_fine(v);
      parts(v).clear();
    };
    for (Var r : g_.results) drop(r);
    for (const Node& n : g_.nodes) {
      for (Var v : n.inputs)
        if (is_fine(v) && !takes(n, v)) drop(v);
      if (n.outputs.size() != 1 || !is_fine(n.outputs[0]) || n.op == core_.reshape) continue;
      const Parts again = n.op == core_.contract ? of_contraction(n) : of_elements(n);
      if (again != parts(n.outputs[0])) drop(n.outputs[0]);
    }
    return any;
  }

  // ---- the graph
  ir::Type fine_type(Var v) const {
    ir::Type out = g_.type(v);
    if (!is_fine(v)) return out;
    out.shape = fine(parts(v));
    out.sharding = runtime::Sharding::replicated(out.shape.size());
    return out;
  }
  void node(const Node& n) {
    ir::SpanScope scope(b_, n.span);
    const bool uses = std::any_of(n.inputs.begin(), n.inputs.end(), [&](Var v) { return is_fine(v); });
    const bool gives = n.outputs.size() == 1 && is_fine(n.outputs[0]);
    if (!uses && !gives) {
      std::vector<ir::GraphRef> regions;
      for (const auto& r : n.regions) regions.push_back(share(Unmerger(table_, *r).run()));
      return now_.node(n, n.attrs, std::move(regions));
    }
    const Var out = n.outputs[0];
    if (n.op == core_.reshape) {
      (gives ? fine_[at(out)] : now_[out]) = gives ? now_[n.inputs[0]] : fine_[at(n.inputs[0])];
      return;
    }
    Vars inputs;
    ir::Attrs attrs = n.attrs;
    for (Var v : n.inputs) inputs.push_back(is_fine(v) ? fine_[at(v)] : now_[v]);
    if (n.op == core_.contract) {
      attrs.set("spec", finer_spec(n));
    } else {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Var v = n.inputs[i];
        if (!is_fine(v) && repeated(v) != v && g_.type(v).shape == g_.type(out).shape)
          inputs[i] = ir::broadcast_to(b_, now_[repeated(v)], fine(parts(out)));
      }
    }
    const Var made = b_.append(*n.op, std::move(inputs), std::move(attrs), {}, {fine_type(out)}).at(0);
    (gives ? fine_[at(out)] : now_[out]) = made;
  }

  std::string finer_spec(const Node& n) const {
    const ContractSpec spec = spec_of(n);
    std::string used = std::string(spec.x) + std::string(spec.y);
    std::map<char, std::string> finer;
    for (const auto& [letter, sizes] : letters(n)) {
      std::string& mine = finer[letter] = letter;
      for (; mine.size() < sizes.size(); used += mine.back()) mine += ir::fresh_letter(used);
    }
    const auto text = [&](std::string_view letters) {
      return std::accumulate(letters.begin(), letters.end(), std::string(),
                             [&](std::string so_far, char l) { return std::move(so_far) + finer[l]; });
    };
    return text(spec.x) + "," + text(spec.y) + "->" + text(spec.out);
  }

  const ir::OpTable& table_;
  const ir::CoreOps& core_;
  const Graph& g_;
  std::vector<const Node*> made_;
  std::vector<Parts> parts_;  // by value: the finer dimensions that it has; empty: none
  ir::Builder b_;
  ir::GraphCopy now_;
  Vars fine_;  // by value, of those that have: what it has become
};

}  // namespace

ir::Graph without_merges(const ir::OpTable& table, const ir::Graph& graph) { return Unmerger(table, graph).run(); }

}  // namespace shard::transform
