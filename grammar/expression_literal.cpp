// Literals made of characters rather than tokens: strings with what they interpolate, numbers, axes.
#include <boost/spirit/home/x3.hpp>

#include "grammar/rules.h"

namespace shard::grammar {
namespace {

const x3::rule<class text_id, StringPiece> text_piece = "text";
const x3::rule<class hole_id, StringPiece> hole = "an interpolation";

constexpr auto text =
    giving<std::string>([](State& s, Iterator& at, std::string& out) { return take_text(s, at, out); });
constexpr auto format =
    giving<std::string>([](State& s, Iterator& at, std::string& out) { return take_format(s, at, out); });

const auto text_piece_def = text[set(&StringPiece::text)];
const auto hole_def = quiet("{") >> x3::expect[expression[set(&StringPiece::value)]] >>
                      -format[set(&StringPiece::format)] > sym_tight("}");
const auto string_def = tight("\"") >> *(text_piece[push(&StringLit::pieces)] | hole[push(&StringLit::pieces)]) >
                        sym("\"");

// The shape of a number; its value is made of the raw text by number() with std::from_chars, which rounds correctly.
// No character classes: some versions of Boost assert that what they are asked about is ASCII.
const auto digit = x3::char_('0', '9');
const auto hex_digit = digit | x3::char_('a', 'f') | x3::char_('A', 'F');
const auto digits = +digit >> *(x3::char_('_') >> +digit);
const auto hex = +hex_digit >> *(x3::char_('_') >> +hex_digit);
const auto number_shape = (x3::char_('0') >> x3::char_("xX") >> hex) |
                          (digits >> -(x3::char_('.') >> digits) >> -(x3::char_("eE") >> -x3::char_("-+") >> digits));
const auto valued = [](auto& c) { x3::_val(c) = number(state_of(c), x3::_attr(c).begin(), x3::_attr(c).end()); };
const auto number_literal_def = x3::raw[number_shape][valued] >> blanks;

// `@X`, `@(X, Y)`: no blank after the sign.
const auto grouped_name = -tight("@") >> word(WordKind::Name, "an axis' name")[push(&AxisLit::names)];
const auto axis_def = tight("@") >>
                      ((&quiet("(") >> sym("(")[flag(&AxisLit::grouped)] > listed(grouped_name) > sym(")")) |
                       word(WordKind::Name, "an axis' name")[push(&AxisLit::names)]);

BOOST_SPIRIT_DEFINE(text_piece, hole)

}  // namespace

BOOST_SPIRIT_DEFINE(string, number_literal, axis)
BOOST_SPIRIT_INSTANTIATE(StringRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(NumberRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(AxisRule, Iterator, Context)

}  // namespace shard::grammar
