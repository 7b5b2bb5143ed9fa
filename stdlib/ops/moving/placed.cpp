#include "stdlib/ops/moving/placed.h"

namespace shard::stdlib {

ir::Compose placed_last(ir::Compose inner) {
  return [inner = std::move(inner)](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    if (!attrs.has("out") || attrs.layout("out").sharding.unreduced.empty()) return inner(b, in, attrs);
    Layout whole = attrs.layout("out");
    whole.sharding.unreduced = {};
    whole.sharding.unreduced_kind = runtime::UnreducedKind::Sum;
    Attrs less = attrs;
    less.set("out", whole);
    Vars made = inner(b, in, less);
    for (Var& v : made) {
      Layout asked = attrs.layout("out");
      asked.sharding.dims.resize(b.type(v).shape.size());  // `shard` reads shorter ones from the end
      v = b.emit1(*b.core().shard, {v}, {{"layout", std::move(asked)}});
    }
    return made;
  };
}

ir::Compose laid_out_last(ir::Compose inner) {
  return [inner = std::move(inner)](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Attrs less = attrs;
    less.erase("out");
    Vars made = inner(b, in, less);
    if (!attrs.has("out")) return made;
    for (Var& v : made) {
      Layout asked = attrs.layout("out");
      asked.sharding.dims.resize(b.type(v).shape.size());  // `shard` reads shorter ones from the end
      v = b.emit1(*b.core().shard, {v}, {{"layout", std::move(asked)}});
    }
    return made;
  };
}

Attrs with_mapped_out(const Builder& b, const Attrs& attrs, std::span<const Mapped> in) {
  Attrs made = with_leading_out(attrs);
  if (!made.has("out")) return made;
  Layout out = made.layout("out");
  for (const Mapped& m : in)
    if (m.mapped) {
      out.sharding.dims[0].axes = b.type(m.var).sharding.dims[0].axes;
      break;
    }
  out.sharding.dims[0].open = out.mesh && !out.mesh->of_kind(runtime::AxisKind::Auto).empty();
  made.set("out", out);
  return made;
}

}  // namespace shard::stdlib
