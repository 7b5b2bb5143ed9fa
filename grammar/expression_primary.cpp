// What an expression begins with: strings with what they interpolate, numbers, axes, names, and everything in brackets.
#include <algorithm>

#include <boost/spirit/home/x3.hpp>

#include "grammar/rules.h"

namespace shard::grammar {
namespace {

struct Listing {
  std::vector<Element> elements;
  bool comma = false;
};  // between brackets; comma: a trailing one
struct Branch {
  ExprPtr condition, body;
  Span span;
};
struct Branches {
  std::vector<Branch> branches;
  ExprPtr otherwise;
};  // if, else if, else if, ..., else

const x3::rule<class element_id, Element> element = "an expression";
const x3::rule<class round_id, Listing> round = "`(`";
const x3::rule<class square_id, ListLit> square = "a list";
const x3::rule<class entry_id, Entry> entry = "a field";
const x3::rule<class record_id, RecordLit> record = "a record";
const x3::rule<class branch_id, Branch> branch = "if";
const x3::rule<class branches_id, Branches> branches = "if";
const x3::rule<class use_id, UseExpr> use = "use";
const x3::rule<class text_id, StringPiece> text_piece = "text";
const x3::rule<class hole_id, StringPiece> hole = "an interpolation";
const x3::rule<class number_id, Node> number_literal = "a number";

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

const auto element_def =
    (quiet("...")[flag(&Element::spread)] > expression[set(&Element::value)]) | expression[set(&Element::value)];
const auto round_def = quiet("(") >>
                       -(element[push(&Listing::elements)] >> *(sym(",") >> element[push(&Listing::elements)]) >>
                         -quiet(",")[flag(&Listing::comma)]) > sym(")");
const auto square_def = quiet("[") >> listed(element[push(&ListLit::elements)]) > sym("]");

constexpr auto record_ahead = ahead([](State& s, Iterator at) { return at_record(s, at); });
const auto key_string = [](auto& c) {
  State& s = state_of(c);
  const auto& [key, span] = x3::_attr(c);
  if (key.pieces.size() > 1 || (key.pieces.size() == 1 && key.pieces[0].value))
    s.fail(span, "a field's name cannot interpolate");
  x3::_val(c).name = Word{key.pieces.empty() ? "" : key.pieces[0].text, span};
};
struct Key {
  StringLit string;
  Span span;
};
constexpr auto as_key = maker<Key>([](State&, Span span, StringLit&& s) { return Key{std::move(s), span}; });
const auto entry_def =
    (quiet("...") > expression[set(&Entry::value)]) |
    (quiet("[") > expression[set(&Entry::key)] > sym("]") > sym(":") > expression[set(&Entry::value)]) |
    ((word(WordKind::Any, "a field's name")[set(&Entry::name)] | as_key[string][key_string]) > sym(":") >
     expression[set(&Entry::value)]);
const auto record_def = quiet("{") >> record_ahead >> *newline > listed(entry[push(&RecordLit::entries)]) > *newline >
                        sym("}");

// `else if` makes no deeper recursion of the rules, so that chains of it may be long.
const auto branch_def = kw("if") > expression[set(&Branch::condition)] > as_expr[block][set(&Branch::body)];
const auto branches_def = spanned<Branch>[branch][push(&Branches::branches)] >>
                          *(kw("else") >> spanned<Branch>[branch][push(&Branches::branches)]) >>
                          -(kw("else") > as_expr[block][set(&Branches::otherwise)]);
const auto use_def = kw("use") > postfix[set_expr(&UseExpr::mesh)] > as_expr[block][set(&UseExpr::body)];

// ---- from the drafts to nodes ---------------------------------------------------------------------------------------
constexpr auto in_round = maker<Operand>([](State& s, Span span, Listing&& l) {
  if (l.elements.size() == 1 && !l.comma && !l.elements[0].spread) return Operand{std::move(l.elements[0].value), span};
  return Operand{s.make(span, TupleLit{std::move(l.elements)}), span};
});
constexpr auto as_if = maker<Operand>([](State& s, Span span, Branches&& b) {
  ExprPtr made = std::move(b.otherwise);
  for (std::size_t i = b.branches.size(); i-- > 0;) {
    Branch& x = b.branches[i];
    made = s.make({span.source, x.span.begin, span.end},
                  IfExpr{std::move(x.condition), std::move(x.body), std::move(made)});
  }
  return Operand{std::move(made), span};
});
// A word alone: a constant, a name, `jit` as a function, an element type. Other keywords begin no operand.
constexpr auto worded = giving<Node>([](State& s, Iterator& at, Node& out) {
  const Iterator from = at;
  Word w;
  if (!take_word(s, at, WordKind::Any, {}, w)) return false;
  if (w.text == "_")
    out = HoleLit{};
  else if (w.text == "true" || w.text == "false")
    out = BoolLit{w.text == "true"};
  else if (w.text == "none")
    out = NoneLit{};
  else if (is_dtype(w.text))
    out = DTypeLit{w.text};
  else if (w.text == "jit" || !is_keyword(w.text))
    out = NameRef{w.text};
  else {
    at = from;
    return false;
  }
  return true;
});
constexpr auto open_entry =
    giving<OpenLit>([](State& s, Iterator& at, OpenLit&) { return take_symbol(s, at, "?", true, true); });

const auto primary_def = as_operand[string][all] | as_operand[number_literal][all] | as_operand[type][all] |
                         as_operand[spec_literal][all] | as_if[branches][all] | as_operand[use][all] |
                         as_operand[worded][all] | in_round[round][all] | as_operand[square][all] |
                         as_operand[record][all] | (&quiet("{") >> as_operand[block][all]) | as_operand[axis][all] |
                         as_operand[open_entry][all] | missing("an expression");

BOOST_SPIRIT_DEFINE(element, round, square, entry, record, branch, branches, use, text_piece, hole, number_literal)

}  // namespace

BOOST_SPIRIT_DEFINE(primary, string, axis)
BOOST_SPIRIT_INSTANTIATE(PrimaryRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(StringRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(AxisRule, Iterator, Context)

}  // namespace shard::grammar
