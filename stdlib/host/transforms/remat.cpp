// remat and checkpoint_name: a function whose values are computed again for its gradient. It is traced into a region of
// a `call` node (stdlib/ops/control/call.cpp), whose derivative does the rest.
#include "interpreter/lang/values/wrapped.h"
#include "stdlib/host/transforms/call_arrays.h"
#include "stdlib/host/transforms/traced_call.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::CallArg;
using lang::Interpreter;
using lang::Value;
using trace::Tensor;

std::vector<std::string> names_in(Interpreter& in, const Value& list, grammar::Span span) {
  std::vector<std::string> names;
  const auto* items = list.items();
  if (!items)
    in.fail("type", span,
            "`policy:` of remat is \"none\", \"dots\", \"all\", a list of names, or {except: [...]}; this is " +
                lang::kind_name(list));
  for (const Value& name : *items) names.push_back(in.text(name, span, "a name"));
  return names;
}

// `policy:` is a word, a list of names that checkpoint_name gave, or a record of one: what is not kept.
ir::Attrs remat_attrs(Interpreter& in, const Value& policy, grammar::Span span) {
  if (policy.is_string())
    return {{"remat", true}, {"policy", policy.str() == "nothing" ? std::string("none") : policy.str()}};
  const lang::Record* fields = policy.fields();
  const bool but = fields && fields->fields.size() == 1 && fields->find("except");
  std::vector<std::string> names = names_in(in, but ? *fields->find("except") : policy, span);
  return {{"remat", true}, {"policy", std::string(but ? "except" : "names")}, {"names", std::move(names)}};
}

Value remat(Interpreter& outer, BoundArgs& a) {
  need_function(outer, a, "remat");
  Value f = a[0];
  const ir::Attrs attrs = remat_attrs(outer, a[1], a.span);
  return lang::transformed(
      "remat", "Its values are computed again for its gradient.", f,
      [f, attrs](Interpreter& in, std::vector<CallArg> given, grammar::Span span) {
        const CallArrays args(std::move(given));
        TracedCall t = trace_call(in, types_of(args.tensors), lang::Take::Arrays, span,
                                  [&](std::span<const Tensor> now) { return in.call(f, args.with(now), span); });
        std::vector<Tensor> operands = args.tensors;
        operands.insert(operands.end(), t.traced.captured.begin(), t.traced.captured.end());
        return t.result.filled(in.context().apply(in.context().table().at("call"), operands, attrs, {t.traced.graph}));
      });
}

Value checkpoint_name(Interpreter& in, BoundArgs& a) {
  const std::string name = in.text(a[1], a.args[1].span, "the name of a value");
  return lang::map_leaves(a[0], [&](const Value& leaf) -> Value {
    if (!leaf.is_tensor()) return leaf;
    return in.context().apply1(in.context().table().at("named_value"), {leaf.tensor()}, {{"name", name}});
  });
}

}  // namespace

void register_remat(Interpreter& in) {
  in.define({"remat",
             "remat(f, policy = \"none\")",
             "f, but its gradient computes the values inside again instead of keeping them. `policy:` \"none\" keeps "
             "the arguments only, \"dots\" the results of "
             "matrix products too, a list of names what `checkpoint_name` gave them to, {except: [names]} all but "
             "that, \"all\" everything.",
             remat,
             {"checkpoint"}});
  in.define({"checkpoint_name", "checkpoint_name(x, name)",
             "x (a tree too), with a name by which a policy of `remat` may keep it.", checkpoint_name});
}

}  // namespace shard::stdlib
