#include <algorithm>

#include "interpreter/lang/check/check.h"
#include "interpreter/lang/staging/jit.h"
#include "interpreter/transform/pipeline.h"
#include "interpreter/transform/prepare.h"
#include "interpreter/transform/value_layouts.h"

namespace shard::lang {
namespace {

using runtime::Sharding;
using trace::Tensor;

const trace::Frame* outermost(const Value& v) {
  for (const Value& leaf : leaves(v))
    if (const auto* t = leaf.get<Tensor>(); t && t->traced()) {
      const trace::Frame* out = t->frame().get();
      while (out->outer()) out = out->outer().get();
      return out;
    }
  return nullptr;
}

// The layouts of one compiled call.
class CallLayouts {
 public:
  CallLayouts(const trace::Context& ctx, const CompiledCall& call) : ctx_(ctx), call_(call) {
    for (const exec::ArrayInfo& a : call.given) given_.push_back(a.layout);
    used_.emplace(transform::whole_graph(ctx.table(), *call.graph), call.mesh, given_);
  }

  std::optional<exec::ArrayInfo> operator()(const Tensor& t) {
    const ir::GraphRef& graph = t.frame()->done;
    if (!graph || graph->local) return std::nullopt;
    auto layout = t.frame()->outer() ? std::nullopt : argument(t.var());
    for (std::size_t i = 0; i < graph->nodes.size() && !layout; ++i) {
      const ir::Node& n = graph->nodes[i];
      const auto takes = [&](const ir::Vars& values) {
        return std::find(values.begin(), values.end(), t.var()) != values.end();
      };
      if (!takes(n.outputs) && !takes(n.inputs)) continue;
      layout = used_->of(*graph, n, t.var());
      if (!layout) layout = all().of(*graph, n, t.var());
    }
    if (!layout) return std::nullopt;
    return exec::ArrayInfo{graph->type(t.var()), *layout, {}, call_.mesh};
  }

 private:
  std::optional<Sharding> argument(ir::Var v) const {
    const ir::Vars& params = call_.graph->params;
    const auto at = std::find(params.begin(), params.end(), v);
    return at == params.end() ? std::nullopt : std::optional(given_[static_cast<std::size_t>(at - params.begin())]);
  }

  // While a function is being written much in it is used by nothing yet: laid out as if it were.
  const transform::ValueLayouts& all() {
    if (!all_) all_.emplace(transform::inline_calls(ctx_.table(), *call_.graph), call_.mesh, given_);
    return *all_;
  }

  const trace::Context& ctx_;
  const CompiledCall& call_;
  std::vector<Sharding> given_;
  std::optional<transform::ValueLayouts> used_, all_;
};

}  // namespace

bool is_traced(const Value& v) { return outermost(v) != nullptr; }

void TracedValues::lay_out(const trace::Context& ctx, const CompiledCall& call, const Told& told) {
  const auto first = std::stable_partition(values_.begin(), values_.end(), [&](const TracedLet& k) {
    return outermost(k.value)->done.get() != call.recorded;
  });
  if (first == values_.end()) return;
  std::optional<CallLayouts> layouts;
  if (call.mesh) layouts.emplace(ctx, call);
  const LayoutOf of = [&](const Tensor& t) { return layouts ? (*layouts)(t) : std::nullopt; };
  for (auto it = first; it != values_.end(); ++it) told(it->let, type_text(ctx, it->value, of));
  values_.erase(first, values_.end());
}

void TracedValues::rest(const std::function<void(std::size_t let, const Value& value)>& told) {
  for (const TracedLet& k : values_) told(k.let, k.value);
  values_.clear();
}

}  // namespace shard::lang
