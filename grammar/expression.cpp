// Expressions as a whole: chains of operators, pipes, `shard ... as`, lambdas. Operands are in expression_operand.cpp.
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

BOOST_SPIRIT_DEFINE(chain, size_chain, piped, sharding, spec, lambda)

}  // namespace

BOOST_SPIRIT_DEFINE(expression, size)
BOOST_SPIRIT_INSTANTIATE(ExpressionRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(SizeRule, Iterator, Context)

}  // namespace shard::grammar
