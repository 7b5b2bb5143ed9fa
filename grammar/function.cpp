// Functions: modifiers, parameters, result, body. A definition has a name, a lambda none; who may have one is up to the
// caller.
#include <boost/spirit/home/x3.hpp>

#include "grammar/rules.h"

namespace shard::grammar {
namespace {

const x3::rule<class modifier_id, Modifier> modifier = "`fn`";
const x3::rule<class param_id, Param> param = "a parameter";
const x3::rule<class draft_id, Function> draft = "a function";

const auto kind = [](ModifierKind k) { return [k](auto& c) { x3::_val(c).kind = k; }; };
const auto some_axes = [](auto& c) { x3::_val(c).all_axes = false; };
const auto modifier_axes = quiet("(")[some_axes] >
                           listed(as_expr[axis][push(&Modifier::axes)] | missing("an axis such as `@X`")) > sym(")");
const auto modifier_def = kw("jit")[kind(ModifierKind::Jit)] |
                          ((kw("manual")[kind(ModifierKind::Manual)] | kw("auto")[kind(ModifierKind::Auto)] |
                            kw("explicit")[kind(ModifierKind::Explicit)]) >>
                           -modifier_axes);

const auto param_def = pattern[set(&Param::pattern)] >> -(quiet(":") > annotation[set(&Param::annot)]) >>
                       -(quiet("=") > expression[set(&Param::default_value)]);

const auto named = [](auto& c) {
  x3::_val(c).name = std::move(x3::_attr(c).text);
  x3::_val(c).name_span = x3::_attr(c).span;
};
const auto header = [](auto& c) { x3::_val(c).header.end = static_cast<std::uint32_t>(here(c) - state_of(c).begin); };
const auto draft_def = *spanned<Modifier>[modifier][push(&Function::modifiers)] >> need("fn") >
                       -(!quiet("(") >> word(WordKind::New, "a name")[named]) > sym("(") >
                       listed(spanned<Param>[param][push(&Function::params)]) > sym(")") >
                       -(quiet("->") > annotation[set(&Function::result)]) > x3::eps[header] >
                       (as_expr[block][set(&Function::body)] | (sym("=") > expression[set(&Function::body)]));

constexpr auto as_function = maker<FunctionPtr>([](State& s, Span span, Function&& f) {
  const Iterator header_end = s.place(f.header.end);
  f.header = s.span(s.place(span.begin), header_end);
  if (!f.name.empty()) f.doc = s.layout.doc_above(span.begin);
  return s.make(span, std::move(f));
});
const auto function_def = as_function[draft][all];

BOOST_SPIRIT_DEFINE(modifier, param, draft)

}  // namespace

BOOST_SPIRIT_DEFINE(function)
BOOST_SPIRIT_INSTANTIATE(FunctionRule, Iterator, Context)

}  // namespace shard::grammar
