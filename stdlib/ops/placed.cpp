#include "stdlib/ops/placed.h"

namespace shard::stdlib {

ir::Compose placed_last(ir::Compose inner) {
  return [inner = std::move(inner)](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    if (!attrs.has("out") || attrs.layout("out").sharding.unreduced.empty()) return inner(b, in, attrs);
    Layout whole = attrs.layout("out");
    whole.sharding.unreduced = {};
    whole.sharding.pending = runtime::Pending::Sum;
    Attrs less = attrs;
    less.set("out", whole);
    Vars made = inner(b, in, less);
    for (Var& v : made) {
      Layout asked = attrs.layout("out");
      asked.sharding.dims.resize(b.type(v).shape.size());   // `shard` reads shorter ones from the end
      v = b.emit1(*b.core().shard, {v}, {{"layout", std::move(asked)}});
    }
    return made;
  };
}

}  // namespace shard::stdlib
