// Calls, indices and fields after a primary expression.
#include <boost/spirit/home/x3.hpp>

#include "grammar/rules.h"

namespace shard::grammar {
namespace {

const x3::rule<class arg_id, Arg> arg = "an argument";
const x3::rule<class item_id, Item> item = "an index";
const x3::rule<class items_id, Index> items = "indices";

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

BOOST_SPIRIT_DEFINE(arg, item, items)

}  // namespace

BOOST_SPIRIT_DEFINE(postfix, args, spec_literal)
BOOST_SPIRIT_INSTANTIATE(PostfixRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(ArgsRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(SpecLitRule, Iterator, Context)

}  // namespace shard::grammar
