// Types such as `~f32[8@X, ..., _]{V:X}`, annotations made of them, and patterns.
#include <boost/spirit/home/x3.hpp>

#include "grammar/rules.h"

namespace shard::grammar {
namespace {

const x3::rule<class dim_id, TypeDim> dim = "a size";
const x3::rule<class group_id, TypeGroup> group = "`V`, `U`, `U_max`, `U_min` or `R`";
const x3::rule<class key_type_id, TypeLit> key_type = "a type";

constexpr auto dtype =
    giving<std::string>([](State& s, Iterator& at, std::string& out) { return take_dtype(s, at, false, out); });
constexpr auto key_dtype =
    giving<std::string>([](State& s, Iterator& at, std::string& out) { return take_dtype(s, at, true, out); });

const auto axis_name = -tight("@") >> word(WordKind::Name, "an axis' name")[push(&TypeDim::axes)];
const auto dim_axes = quiet("@") > ((quiet("(")[flag(&TypeDim::grouped)] > listed(axis_name) > sym(")")) | axis_name);
const auto dim_def =
    quiet("...")[flag(&TypeDim::ellipsis)] | (size[set(&TypeDim::size)] >> -dim_axes) | missing("a size");

constexpr auto tag = giving<Word>([](State& s, Iterator& at, Word& out) {
  const Iterator from = at;
  if (take_word(s, at, WordKind::Any, {}, out) && is_group(out.text)) return true;
  at = from;
  s.expect(at, "`V`, `U`, `U_max`, `U_min` or `R`");
  return false;
});
const auto tagged = [](auto& c) { x3::_val(c).tag = std::move(x3::_attr(c).text); };
const auto group_axis = -tight("@") >> word(WordKind::Name, "an axis' name")[push(&TypeGroup::axes)];
const auto group_def = tag[tagged] > sym(":") >
                       ((-tight("@") >> quiet("(") > listed(group_axis) > sym(")")) | group_axis);
constexpr auto groups_ahead = ahead([](State& s, Iterator at) { return at_groups(s, at); });
const auto groups = groups_ahead >> quiet("{") > listed(group[push(&TypeLit::groups)]) > sym("}");

const auto sizes = sym("[") > listed(spanned<TypeDim>[dim][push(&TypeLit::dims)]) > sym("]") > -groups;
const auto type_def = -tight("~")[flag(&TypeLit::weak)] >> dtype[set(&TypeLit::dtype)] > sizes;
const auto key_type_def = key_dtype[set(&TypeLit::dtype)] > sizes;  // `key[4]`: only an annotation may say it

// ---- annotations ----------------------------------------------------------------------------------------------------
struct Annots {
  std::vector<AnnotPtr> elements;
  bool comma = false;
};
struct SpecPart {
  Operand operand;
};
const x3::rule<class type_annot_id, TypeAnnot> type_annot = "a type";
const x3::rule<class spec_annot_id, SpecAnnot> spec_annot = "a spec";
const x3::rule<class round_annot_id, Annots> round_annot = "annotations";
const x3::rule<class square_annot_id, ListAnnot> square_annot = "annotations";
const x3::rule<class field_annot_id, FieldAnnot> field_annot = "a field";
const x3::rule<class record_annot_id, RecordAnnot> record_annot = "annotations";

const auto type_annot_def = as_expr[type][set(&TypeAnnot::type)] | as_expr[key_type][set(&TypeAnnot::type)];
const auto spec_annot_def = postfix[set_expr(&SpecAnnot::spec)];
const auto round_annot_def = quiet("(") > -(annotation[push(&Annots::elements)] >>
                                            *(sym(",") >> annotation[push(&Annots::elements)]) >>
                                            -quiet(",")[flag(&Annots::comma)]) > sym(")");
const auto square_annot_def = quiet("[") > listed(annotation[push(&ListAnnot::elements)]) > sym("]");
const auto field_annot_def = word(WordKind::Any, "a field's name")[set(&FieldAnnot::name)] >
                             sym(":") > annotation[set(&FieldAnnot::annot)];
const auto record_annot_def = quiet("{") > *newline > listed(field_annot[push(&RecordAnnot::fields)]) > *newline >
                              sym("}");
constexpr auto annot_in_round = maker<AnnotPtr>([](State&, Span span, Annots&& a) -> AnnotPtr {
  if (a.elements.size() == 1 && !a.comma) return std::move(a.elements[0]);
  return std::make_shared<const Annot>(Annot{span, TupleAnnot{std::move(a.elements)}});
});
const auto annotation_def = as_annot[type_annot][all] | annot_in_round[round_annot][all] | as_annot[square_annot][all] |
                            as_annot[record_annot][all] | as_annot[spec_annot][all] | missing("a type or a spec");

// ---- patterns -------------------------------------------------------------------------------------------------------
const x3::rule<class name_pattern_id, NamePattern> name_pattern = "a name";
const x3::rule<class round_pattern_id, TuplePattern> round_pattern = "a pattern";
const x3::rule<class square_pattern_id, ListPattern> square_pattern = "a pattern";
const x3::rule<class field_pattern_id, FieldPattern> field_pattern = "a field";
const x3::rule<class record_pattern_id, RecordPattern> record_pattern = "a pattern";

const auto name_of_pattern = [](auto& c) { x3::_val(c).name = std::move(x3::_attr(c).text); };
const auto name_pattern_def = word(WordKind::New, {})[name_of_pattern];
[[noreturn]] void two_rests(State& s, Iterator end) {
  s.fail(s.span(end - 3, end), "a pattern has one `...`: which part would the other take?");
}
const auto rest_here = [](auto& c) {
  if (x3::_val(c).rest) two_rests(state_of(c), here(c));
  x3::_val(c).rest = x3::_val(c).elements.size();
};
const auto rest_name = as_pattern[name_pattern] | missing("a name");
const auto round_part =
    (quiet("...")[rest_here] > rest_name[push(&TuplePattern::elements)]) | pattern[push(&TuplePattern::elements)];
const auto square_part =
    (quiet("...")[rest_here] > rest_name[push(&ListPattern::elements)]) | pattern[push(&ListPattern::elements)];
const auto round_pattern_def = quiet("(") > listed(round_part) > sym(")");
const auto square_pattern_def = quiet("[") > listed(square_part) > sym("]");
const auto same_name = [](auto& c) {  // `{w}` is `{w: w}`
  FieldPattern& f = x3::_val(c);
  State& s = state_of(c);
  if (f.target) return;
  if (is_keyword(f.name.text))
    s.fail(f.name.span, "`" + f.name.text + "` is a keyword and cannot be a variable",
           {"give it a name: `" + f.name.text + ": name`"});
  f.target = s.make(f.name.span, NamePattern{f.name.text});
};
const auto field_rest = [](auto& c) {
  for (const FieldPattern& f : x3::_val(c).fields)
    if (f.rest) two_rests(state_of(c), here(c));
  x3::_val(c).fields.emplace_back().rest = true;
};
const auto field_rest_name = [](auto& c) { x3::_val(c).fields.back().target = std::move(x3::_attr(c)); };
const auto record_part =
    ((quiet("...")[field_rest] > rest_name[field_rest_name]) | field_pattern[push(&RecordPattern::fields)]) >> *newline;
const auto field_pattern_def = word(WordKind::Any, "a field's name")[set(&FieldPattern::name)] >>
                               -(sym(":") > pattern[set(&FieldPattern::target)]) >> x3::eps[same_name];
const auto record_pattern_def = quiet("{") > *newline > listed(record_part) > sym("}");
const auto pattern_def = as_pattern[name_pattern][all] | as_pattern[round_pattern][all] |
                         as_pattern[square_pattern][all] | as_pattern[record_pattern][all] | missing("a name");

BOOST_SPIRIT_DEFINE(dim, group, key_type, type_annot, spec_annot, round_annot, square_annot, field_annot, record_annot,
                    name_pattern, round_pattern, square_pattern, field_pattern, record_pattern)

}  // namespace

BOOST_SPIRIT_DEFINE(type, annotation, pattern)
BOOST_SPIRIT_INSTANTIATE(TypeRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(AnnotationRule, Iterator, Context)
BOOST_SPIRIT_INSTANTIATE(PatternRule, Iterator, Context)

}  // namespace shard::grammar
