#include "interpreter/lang/staging/placeholders.h"

#include "interpreter/exec/abstract.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/values/tree.h"

namespace shard::lang {

trace::Tensor placeholder(Interpreter& in, const runtime::Type& type, grammar::Span span) {
  if (type.mesh) {
    check_divides({type.mesh, type.sharding}, type.shape, span);
    const runtime::AxisSet owed =
        (type.sharding.unreduced | type.sharding.reduced) & type.mesh->of_kind(runtime::AxisKind::Auto);
    for (runtime::AxisId a : owed.list())
      in.fail("spec", span,
              runtime::to_string(type) + " is unreduced over @" + type.mesh->axes[a].name + ", which is auto",
              {"sums are unreduced over explicit axes: declare the mesh `explicit`"});
  }
  return trace::Tensor(exec::without_elements(type, nullptr));
}

Value type_of(const exec::ArrayInfo& info) {
  runtime::Type t = info.type;
  t.sharding = info.layout;
  t.mesh = info.mesh;
  return Value(std::make_shared<const runtime::Type>(std::move(t)));
}

Placeholders::Placeholders(Interpreter& in, const std::vector<CallArg>& args) : args_(args) {
  bool any = false;
  for (CallArg& a : args_)
    a.value = map_leaves(a.value, [&](const Value& leaf) {
      auto* type = leaf.get<std::shared_ptr<const runtime::Type>>();
      if (!type) return leaf;
      any = true;
      return Value(placeholder(in, **type, a.span));
    });
  trace::Context& ctx = in.context();
  if (any && ctx.target().holds_elements()) scope_.emplace(ctx, ctx.target("abstract"));
}

}  // namespace shard::lang
