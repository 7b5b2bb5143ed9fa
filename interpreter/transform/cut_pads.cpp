// p[2:] of p = pad(x, [(1, 1)]) is x[1:] with an element behind it: the parts of a framed array that elementwise
// operations read, each made of what it has of the array. Of two that are split, blocks then have their neighbours'
// edges and nothing is as long as the frame, which may not divide.
#include <algorithm>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/op.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::Ints;
using ir::Node;
using ir::Pairs;
using ir::Var;

// What a slice of a padded array is: a slice of the array, padded.
struct Part {
  Ints start, limit;
  Pairs widths;
};

class PadCutter {
 public:
  PadCutter(const ir::OpTable& table, const Graph& g)
      : core_(table.core()),
        g_(g),
        made_(ir::producers(g)),
        cut_(g.types.size(), 0),
        b_(builder_like(table, g)),
        now_(b_, g) {}

  // Nothing where there is none.
  std::optional<Graph> run() {
    find();
    std::optional<Graph> inside =
        with_regions(g_, [&](const Graph& region) { return without_cut_pads(b_.table(), region); });
    if (std::none_of(cut_.begin(), cut_.end(), [](char c) { return c; })) return inside;
    now_.params();
    for (const Node& n : inside ? inside->nodes : g_.nodes) {
      const ir::SpanScope scope(b_, n.span);
      const Node* pad = n.op == core_.slice ? made_[at(n.inputs[0])] : nullptr;
      if (pad && cut_[at(n.inputs[0])])
        now_[n.outputs[0]] = emit(*pad, part_of(n, *pad));
      else
        now_.node(n);
    }
    return without_dead_code(b_.table(), now_.finish());
  }

 private:
  // Pads that only slices read, which only elementwise operations read.
  void find() {
    for (const Node& n : g_.nodes)
      if (n.op == core_.pad && frames(n)) cut_[at(n.outputs[0])] = 1;
    std::vector<char> elementwise(g_.types.size(), 1);
    for (Var r : g_.results) elementwise[at(r)] = cut_[at(r)] = 0;
    for (const Node& n : g_.nodes)
      for (Var v : n.inputs)
        if (!std::holds_alternative<runtime::Code>(n.op->kernel)) elementwise[at(v)] = 0;
    for (const Node& n : g_.nodes)
      for (Var v : n.inputs)
        if (cut_[at(v)])
          cut_[at(v)] = n.op == core_.slice && elementwise[at(n.outputs[0])] && !n.attrs.has("barrier") &&
                        !part_of(n, *made_[at(v)]).start.empty();
  }
  bool frames(const Node& n) const {
    const auto plain = [&](Var v) {
      const runtime::Sharding& s = g_.type(v).sharding;
      return s.used_axes().empty();
    };
    const Pairs& widths = n.attrs.pairs("widths");
    return !n.attrs.has("interior") && !n.attrs.has("out") && !n.attrs.has("barrier") && plain(n.inputs[0]) &&
           std::all_of(widths.begin(), widths.end(), [](auto w) { return w.first >= 0 && w.second >= 0; });
  }

  // Empty where some of it lies in no element of the array, or leaves some out.
  Part part_of(const Node& slice, const Node& pad) const {
    const runtime::Shape& shape = g_.type(pad.inputs[0]).shape;
    const std::size_t rank = shape.size();
    const Pairs& widths = pad.attrs.pairs("widths");
    const Ints &starts = slice.attrs.ints("start"), &limits = slice.attrs.ints("limit"),
               &steps = slice.attrs.ints("step");
    Part out;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::size_t lead = rank - starts.size(), bare = rank - widths.size();
      const auto [low, high] = d < bare ? std::pair<std::int64_t, std::int64_t>() : widths[d - bare];
      const std::int64_t all = low + shape[d] + high;
      const bool whole = d < lead || limits[d - lead] == ir::kWhole;
      const std::int64_t start = whole ? 0 : starts[d - lead], limit = whole ? all : limits[d - lead];
      const std::int64_t from = std::max<std::int64_t>(start - low, 0), to = std::min(limit - low, shape[d]);
      if (from >= to || (!whole && steps[d - lead] != 1)) return {};
      out.start.push_back(from);
      out.limit.push_back(from == 0 && to == shape[d] ? ir::kWhole : to);
      out.widths.emplace_back(std::max<std::int64_t>(low - start, 0),
                              std::max<std::int64_t>(limit - low - shape[d], 0));
    }
    return out;
  }

  Var emit(const Node& pad, const Part& part) {
    const Ints ones(part.start.size(), 1);
    const Var x =
        b_.emit1(*core_.slice, {now_[pad.inputs[0]]}, {{"start", part.start}, {"limit", part.limit}, {"step", ones}});
    return b_.emit1(*core_.pad, {x, now_[pad.inputs[1]]}, {{"widths", part.widths}});
  }

  const ir::CoreOps& core_;
  const Graph& g_;
  std::vector<const Node*> made_;
  std::vector<char> cut_;  // by value: a padded array that is taken apart
  ir::Builder b_;
  ir::GraphCopy now_;
};

}  // namespace

std::optional<Graph> without_cut_pads(const ir::OpTable& table, const Graph& graph) {
  return PadCutter(table, graph).run();
}

}  // namespace shard::transform
