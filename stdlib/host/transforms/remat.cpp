// remat and checkpoint_name: a function whose values are computed again for its gradient. It is traced into a region of
// a `call` node (stdlib/ops/control/function_call.cpp), whose derivative does the rest.
#include <algorithm>

#include "grammar/diagnostic.h"
#include "interpreter/lang/values/wrapped.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

using Names = std::vector<std::string>;

Names names_in(Interpreter& in, const Value& list, grammar::Span span) {
  Names names;
  const auto* items = list.items();
  if (!items)
    in.fail("type", span,
            "`policy:` of remat is \"none\", \"dots\", \"all\", a list of names, {except: [...]}, or {keep: [...], "
            "offload: [...]}; this is " +
                lang::kind_name(list));
  for (const Value& name : *items) names.push_back(in.text(name, span, "a name"));
  return names;
}

// `keep:` and `offload:` beside each other: a word that goes with an offload, or names.
ir::AttrValue words_of(Interpreter& in, const Value& v, bool keep, grammar::Span span) {
  const std::string field = keep ? "keep" : "offload";
  if (v.is_string()) {
    if (v.str() == "dots" || (keep && v.str() == "none")) return v.str();
    in.fail("argument", span,
            "`" + field + ":` of remat's policy is " + (keep ? "\"none\", " : "") +
                "\"dots\", the results of matrix products, or a list of names; this is \"" + v.str() + "\"",
            {field + ": [\"" + v.str() + "\"]"});
  }
  if (!v.items())
    in.fail("type", span,
            "`" + field + ":` of remat's policy is \"dots\" or a list of names; this is " + lang::kind_name(v));
  return names_in(in, v, span);
}

// {keep: [...], offload: [...]}: what the device keeps, and what the host's memory does.
ir::Attrs offload_attrs(Interpreter& in, const lang::Record& fields, grammar::Span span) {
  for (const auto& [name, value] : fields.fields) {
    if (name == "keep" || name == "offload") continue;
    Names notes{"{keep: [\"a\"], offload: [\"b\"]}, or {except: [...]} alone"};
    if (auto near = grammar::near_miss(name, {"keep", "offload", "except"}))
      notes.push_back("did you mean `" + *near + "`?");
    in.fail("argument", span, "`policy:` of remat has no field `" + name + "`", std::move(notes));
  }
  ir::Attrs out{{"remat", true}, {"policy", std::string("none")}};
  const Value *keep = fields.find("keep"), *offload = fields.find("offload");
  if (keep) {
    ir::AttrValue words = words_of(in, *keep, true, span);
    const bool names = std::holds_alternative<Names>(words);
    if (names) out.set("policy", std::string("names"));
    out.set(names ? "names" : "policy", std::move(words));
  }
  if (!offload) return out;
  out.set("offload", words_of(in, *offload, false, span));
  if (keep && keep->is_string() && offload->is_string() && keep->str() == offload->str())
    in.fail("argument", span, "`keep:` and `offload:` of remat's policy are both \"dots\"",
            {"a value lies in the device's memory or in the host's: leave one out"});
  if (keep && keep->items() && offload->items())
    for (const std::string& name : names_in(in, *offload, span))
      for (const std::string& other : names_in(in, *keep, span))
        if (name == other)
          in.fail("argument", span, "\"" + name + "\" is both in `keep:` and in `offload:` of remat's policy",
                  {"a value lies in the device's memory or in the host's: leave one out"});
  return out;
}

// `policy:` is a word, a list of names that checkpoint_name gave, or a record: of what is not kept, or of what is kept
// where.
ir::Attrs remat_attrs(Interpreter& in, const Value& policy, grammar::Span span) {
  if (policy.is_string())
    return {{"remat", true}, {"policy", policy.str() == "nothing" ? std::string("none") : policy.str()}};
  const lang::Record* fields = policy.fields();
  const bool but = fields && fields->fields.size() == 1 && fields->find("except");
  if (fields && !but) return offload_attrs(in, *fields, span);
  return {{"remat", true},
          {"policy", std::string(but ? "except" : "names")},
          {"names", names_in(in, but ? *fields->find("except") : policy, span)}};
}

void names_of(const ir::Graph& g, Names& to) {
  for (const ir::Node& n : g.nodes) {
    if (n.op->name == "named_value" && std::find(to.begin(), to.end(), n.attrs.text("name")) == to.end())
      to.push_back(n.attrs.text("name"));
    for (const auto& r : n.regions) names_of(*r, to);
  }
}

// A name of a policy that no value has would change nothing without a word.
void check_names(Interpreter& in, const ir::Attrs& attrs, const ir::Graph& body, grammar::Span span) {
  Names there;
  names_of(body, there);
  for (const char* list : {"names", "offload"}) {
    const ir::AttrValue* value = attrs.find(list);
    const Names* names = value ? std::get_if<Names>(value) : nullptr;
    for (const std::string& name : names ? *names : Names{}) {
      if (std::find(there.begin(), there.end(), name) != there.end()) continue;
      std::string all;
      for (const std::string& other : there) all += (all.empty() ? "\"" : ", \"") + other + "\"";
      Names notes{there.empty() ? "a value gets one with `checkpoint_name(x, \"" + name + "\")`"
                                : "names that values have: " + all};
      if (auto near = grammar::near_miss(name, there)) notes.push_back("did you mean \"" + *near + "\"?");
      in.fail("argument", span, "no value of this function has the name \"" + name + "\" that the policy of remat says",
              std::move(notes));
    }
  }
}

Value remat(Interpreter& outer, BoundArgs& a) {
  need_function(outer, a, "remat");
  Value f = a[0];
  const grammar::Span said = a.given(1) ? a.args[1].span : a.span;
  const ir::Attrs attrs = remat_attrs(outer, a[1], said);
  return lang::transformed(
      "remat", "Its values are computed again for its gradient.", f,
      [f, attrs, said](Interpreter& in, std::vector<CallArg> given, grammar::Span span) {
        const CallArrays args(std::move(given));
        TracedCall t = trace_call(in, in.context().types_of(args.tensors), lang::Take::Arrays, span,
                                  [&](std::span<const Tensor> now) { return in.call(f, args.with(now), span); });
        if (!args.tensors.empty()) check_names(in, attrs, *t.traced.graph, said);  // host numbers carry no names
        return t.result.filled(in.context().apply(in.context().table().at("call"),
                                                  with_captured(args.tensors, t.traced), attrs, {t.traced.graph}));
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
             "that, \"all\" everything. {keep: [names], offload: [names]} keeps the latter in the host's memory until "
             "the gradient wants it (either may be \"dots\"): the same values, and nothing of it is computed again; "
             "`estimate` counts it there, with its way over the chip's `host` link, engines keep it as the rest.",
             remat,
             {"checkpoint"}});
  in.define({"checkpoint_name", "checkpoint_name(x, name)",
             "x (a tree too), with a name by which a policy of `remat` may keep it.", checkpoint_name});
}

}  // namespace shard::stdlib
