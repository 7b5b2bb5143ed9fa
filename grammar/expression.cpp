// Expressions as a whole: chains of operators, pipes, `shard ... as`, lambdas; calls, indices and fields after a
// primary expression.
#include <boost/spirit/home/x3.hpp>

#include "grammar/advice/advice.h"
#include "grammar/rules.h"

namespace shard::grammar {
namespace {

const x3::rule<class chain_id, Chain> chain = "an expression";
const x3::rule<class size_chain_id, Chain> size_chain = "a size";
const x3::rule<class piped_id, Operand> piped = "an expression";
const x3::rule<class sharding_id, Shard> sharding = "shard";
const x3::rule<class spec_id, ExprPtr> spec = "a spec";
const x3::rule<class lambda_id, FunctionLit> lambda = "a function";
const x3::rule<class arg_id, Arg> arg = "an argument";
const x3::rule<class item_id, Item> item = "an index";
const x3::rule<class items_id, Index> items = "indices";
const x3::rule<class args_id, SpecLit> args = "arguments";  // "(" arg,* ")"

// ---- calls, indices, fields -----------------------------------------------------------------------------------------
constexpr auto arg_name = giving<Word>([](State& s, Iterator& at, Word& out) {
  const Iterator from = at;
  if (take_word(s, at, WordKind::Any, {}, out) && take_symbol(s, at, ":", true, true)) return true;
  at = from;
  return false;
});
const auto arg_def = (arg_name[set(&Arg::name)] > expression[set(&Arg::value)]) |
                     (quiet("...")[flag(&Arg::spread)] > expression[set(&Arg::value)]) | expression[set(&Arg::value)];
const auto spec_literal_def = kw("P") > args[all];
const auto args_def = sym("(") > listed(arg[push(&SpecLit::args)]) > sym(")");

// `...`, a slice with any of its parts left out, or an expression.
const auto start = [](auto& c) {  // the first `:`: what came before it was no value but the start
  Item& i = x3::_val(c);
  i.slice = true;
  i.start = std::move(i.value);
};
const auto slice_rest = quiet(":")[start] >> -expression[set(&Item::stop)] >>
                        -(quiet(":") >> -expression[set(&Item::step)]);
const auto item_def = quiet("...")[flag(&Item::ellipsis)] | (expression[set(&Item::value)] >> -slice_rest) | slice_rest;
const auto one_item = spanned<Item>[item][push(&Index::items)];
const auto items_def = sym("[") > one_item > *(sym(",") >> one_item) > -quiet(",") > sym("]");

// Each step takes the operand so far into a new node, which begins where the first one does.
template <class C>
void grow(C& c, Node node) {
  State& s = state_of(c);
  const Span span = s.span(s.place(x3::_val(c).span.begin), here(c));
  x3::_val(c) = {s.make(span, std::move(node)), span};
}
const auto called = [](auto& c) { grow(c, Call{std::move(x3::_val(c).expr), std::move(x3::_attr(c).args)}); };
const auto indexed = [](auto& c) {
  Index index = std::move(x3::_attr(c));
  index.object = std::move(x3::_val(c).expr);
  grow(c, std::move(index));
};
const auto field = [](auto& c) { grow(c, Field{std::move(x3::_val(c).expr), std::move(x3::_attr(c))}); };
const auto postfix_def = primary[all] >> *((&quiet("(") >> args[called]) | (&quiet("[") >> items[indexed]) |
                                           (quiet(".") > word(WordKind::Any, "a field's name")[field]));

// ---- operators, pipes, lambdas --------------------------------------------------------------------------------------
constexpr auto binary =
    giving<Link>([](State& s, Iterator& at, Link& out) { return take_operator(s, at, false, out); });
constexpr auto size_binary =
    giving<Link>([](State& s, Iterator& at, Link& out) { return take_operator(s, at, true, out); });
constexpr auto sign = giving<Link>([](State& s, Iterator& at, Link& out) { return take_sign(s, at, out); });

const auto link = push(&Chain::links);
const auto operand_link = [](auto& c) {
  Link l;
  l.operand = std::move(x3::_attr(c));
  x3::_val(c).links.push_back(std::move(l));
};
const auto climbed = [](auto& c) { x3::_val(c) = climb(state_of(c), std::move(x3::_attr(c).links)); };
const auto climbed_expr = [](auto& c) { x3::_val(c) = climb(state_of(c), std::move(x3::_attr(c).links)).expr; };

const auto chain_def = *sign[link] >> postfix[operand_link] >> *(binary[link] > *sign[link] > postfix[operand_link]);
const auto size_chain_def = *sign[link] >> postfix[operand_link] >>
                            *(size_binary[link] > *sign[link] > postfix[operand_link]);
const auto size_def = size_chain[climbed_expr];

const auto spec_def =
    as_expr[spec_literal][all] | postfix[([](auto& c) { x3::_val(c) = std::move(x3::_attr(c).expr); })];
const auto alone = [](auto& c) { check_after_shard(state_of(c), x3::_val(c), here(c)); };
const auto sharding_def = kw("shard") > expression[set(&Shard::value)] > need("as") > spec[set(&Shard::spec)] >
                          -(kw("on") > postfix[set_expr(&Shard::mesh)]) > x3::eps[alone];

const auto to_pipe = [](auto& c) {
  State& s = state_of(c);
  Operand& left = x3::_val(c);
  const Span span = s.span(s.place(left.span.begin), here(c));
  left = {s.make(span, Pipe{std::move(left.expr), std::move(x3::_attr(c).expr)}), span};
};
const auto piped_def = (as_operand[sharding][all] | chain[climbed]) >> *(quiet("|>") > postfix[to_pipe]);

const auto unnamed = [](auto& c) {
  check_lambda(state_of(c), *x3::_attr(c));
  x3::_val(c).function = std::move(x3::_attr(c));
};
constexpr auto function_ahead = ahead([](State& s, Iterator at) { return at_function(s, at, false); });
const auto lambda_def = function_ahead >> function[unnamed];
const auto expression_def =
    guard[as_expr[lambda][all] | piped[([](auto& c) { x3::_val(c) = std::move(x3::_attr(c).expr); })]];

BOOST_SPIRIT_DEFINE(chain, size_chain, piped, sharding, spec, lambda, arg, item, items, args)

}  // namespace

BOOST_SPIRIT_DEFINE(expression, size, postfix, spec_literal)
BOOST_SPIRIT_INSTANTIATE(ExpressionRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(SizeRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(PostfixRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(SpecLitRule, Iterator, Context)

}  // namespace shard::grammar
