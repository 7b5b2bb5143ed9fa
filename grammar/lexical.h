// Tokens and directives for the rules, as Spirit X3 parsers; no skipper: each token eats the blanks after it.
// A token that does not fit tells the State what it would have been, unless it is a quiet one. What the tokens do is in
// terminals.cpp. Included (through rules.h) by the rules' .cpp files and parse.cpp only: no other header brings in
// Spirit.
#pragma once
#include <boost/spirit/home/x3.hpp>

#include "grammar/kept.h"
#include "grammar/parse.h"
#include "grammar/terminals.h"

namespace shard::grammar {

namespace x3 = boost::spirit::x3;

struct StateTag;
using Context = x3::context<StateTag, State>;

template <class C>
State& state_of(const C& context) {
  return x3::get<StateTag>(context);
}

// ---- tokens ---------------------------------------------------------------------------------------------------------
// A parser without attribute made of a function (State&, Iterator&) -> bool.
template <class F>
struct Silent : x3::parser<Silent<F>> {
  using attribute_type = x3::unused_type;
  static bool const has_attribute = false;
  F take;
  constexpr explicit Silent(F f) : take(f) {}
  template <class C, class R, class A>
  bool parse(Iterator& at, const Iterator&, const C& context, R&, A&) const {
    return take(state_of(context), at);
  }
};
// A parser with an attribute of type T, made of a function (State&, Iterator&, T&) -> bool.
template <class T, class F>
struct Giving : x3::parser<Giving<T, F>> {
  using attribute_type = T;
  static bool const has_attribute = true;
  static bool const handles_container = false;
  F take;
  constexpr explicit Giving(F f) : take(f) {}
  template <class C, class R, class A>
  bool parse(Iterator& at, const Iterator&, const C& context, R&, A& out) const {
    T value{};
    if (!take(state_of(context), at, value)) return false;
    x3::traits::move_to(std::move(value), out);
    return true;
  }
};
template <class F>
constexpr Silent<F> silent(F f) {
  return Silent<F>(f);
}
template <class T, class F>
constexpr Giving<T, F> giving(F f) {
  return Giving<T, F>(f);
}

constexpr auto symbol(std::string_view text, bool quiet, bool blanks) {
  return silent([=](State& s, Iterator& at) { return take_symbol(s, at, text, quiet, blanks); });
}
constexpr auto sym(std::string_view text) { return symbol(text, false, true); }
constexpr auto quiet(std::string_view text) { return symbol(text, true, true); }
constexpr auto tight(std::string_view text) { return symbol(text, true, false); }
constexpr auto sym_tight(std::string_view text) { return symbol(text, false, false); }
constexpr auto keyword(std::string_view word, bool quiet) {
  return silent([=](State& s, Iterator& at) { return take_keyword(s, at, word, quiet); });
}
constexpr auto kw(std::string_view word) { return keyword(word, true); }
constexpr auto need(std::string_view word) { return keyword(word, false); }
constexpr auto word(WordKind kind, std::string_view expected) {
  return giving<Word>([=](State& s, Iterator& at, Word& out) { return take_word(s, at, kind, expected, out); });
}
constexpr auto ahead(bool (*test)(State&, Iterator)) {
  return silent([test](State& s, Iterator& at) { return test(s, at); });
}
// Fails quietly; tells what would have fitted here.
constexpr auto missing(std::string_view what) {
  return silent([what](State& s, Iterator& at) {
    s.expect(at, what);
    return false;
  });
}

constexpr auto newline = silent([](State& s, Iterator& at) { return take_newline(s, at); });
constexpr auto text_end = silent([](State& s, Iterator& at) { return take_end(s, at); });
constexpr auto blanks = silent([](State& s, Iterator& at) {
  skip_blanks(s, at);
  return true;
});

// Items separated by commas; a trailing one is allowed.
template <class P>
auto listed(const P& item) {
  return -(item >> *(sym(",") >> item) >> -quiet(","));
}

// ---- actions: into a member of the rule's attribute -----------------------------------------------------------------
template <class M>
auto set(M member) {
  return [member](auto& c) { x3::_val(c).*member = std::move(x3::_attr(c)); };
}
template <class M>
auto set_expr(M member) {
  return [member](auto& c) { x3::_val(c).*member = std::move(x3::_attr(c).expr); };
}
template <class M>
auto push(M member) {
  return [member](auto& c) { (x3::_val(c).*member).push_back(std::move(x3::_attr(c))); };
}
template <class M>
auto flag(M member) {
  return [member](auto& c) { x3::_val(c).*member = true; };
}
constexpr auto all = [](auto& c) { x3::_val(c) = std::move(x3::_attr(c)); };
constexpr auto append = [](auto& c) { x3::_val(c).push_back(std::move(x3::_attr(c))); };

// Where an action stands in the text: the end of what its parser took.
template <class C>
Iterator here(const C& c) {
  return x3::_where(c).begin();
}

// ---- directives -----------------------------------------------------------------------------------------------------
// Made[rule] gives what `make(state, span, attribute of the rule)` returns. It stays a call of its own: inlined, the
// drafts of all alternatives would lie in one frame, once at every level of an expression within expressions.
template <class Subject, class T, class Make>
struct Made : x3::unary_parser<Subject, Made<Subject, T, Make>> {
  using base = x3::unary_parser<Subject, Made<Subject, T, Make>>;
  using attribute_type = T;
  static bool const has_attribute = true;
  static bool const has_action = false;
  static bool const handles_container = false;
  Make make;
  constexpr Made(const Subject& subject, Make m) : base(subject), make(m) {}
  template <class C, class R, class A>
  [[gnu::noinline]] bool parse(Iterator& at, const Iterator& last, const C& context, R&, A& out) const {
    typename Subject::attribute_type value{};
    const Iterator from = at;
    if (!this->subject.parse(at, last, context, x3::unused, value)) return false;
    State& s = state_of(context);
    x3::traits::move_to(make(s, s.span(from, at), std::move(value)), out);
    return true;
  }
};
template <class T, class Make>
struct Maker {
  Make make;
  template <class Subject>
  constexpr auto operator[](const Subject& subject) const {
    using P = typename x3::extension::as_parser<Subject>::value_type;
    return Made<P, T, Make>(x3::as_parser(subject), make);
  }
};
template <class T, class Make>
constexpr Maker<T, Make> maker(Make m) {
  return {m};
}

// as_expr[r]: a node of r's attribute; as_operand[r]: the same with what it covers; spanned: sets the member `span`.
constexpr auto as_expr = maker<ExprPtr>([](State& s, Span span, auto&& node) { return s.make(span, std::move(node)); });
constexpr auto as_operand = maker<Operand>([](State& s, Span span, auto&& node) {
  return Operand{s.make(span, std::move(node)), span};
});
constexpr auto as_pattern =
    maker<PatternPtr>([](State& s, Span span, auto&& node) { return s.make(span, std::move(node)); });
constexpr auto as_annot = maker<AnnotPtr>([](State&, Span span, auto&& node) -> AnnotPtr {
  return std::make_shared<const Annot>(Annot{span, std::move(node)});
});
constexpr auto as_stmt = maker<StmtPtr>([](State&, Span span, auto&& node) -> StmtPtr {
  return std::make_shared<const Stmt>(Stmt{span, std::move(node)});
});
template <class T>
constexpr auto spanned = maker<T>([](State&, Span span, T&& value) {
  value.span = span;
  return std::move(value);
});

// Counts how deep the rules stand within each other; X3 recurses in C++ for each.
template <class Subject>
struct Guard : x3::unary_parser<Subject, Guard<Subject>> {
  using base = x3::unary_parser<Subject, Guard<Subject>>;
  static bool const is_pass_through_unary = true;
  constexpr explicit Guard(const Subject& subject) : base(subject) {}
  template <class C, class R, class A>
  bool parse(Iterator& at, const Iterator& last, const C& context, R& rule, A& out) const {
    State& s = state_of(context);
    if (s.depth >= recursion_limit) {
      s.fail(s.span(at, std::size_t{1}), "this nests more than " + std::to_string(recursion_limit) + " deep",
             {"give the inner parts names with `let`"});
    }
    const Kept depth(s.depth, s.depth + 1);
    return this->subject.parse(at, last, context, rule, out);
  }
};
struct GuardGen {
  template <class Subject>
  constexpr auto operator[](const Subject& subject) const {
    return Guard<typename x3::extension::as_parser<Subject>::value_type>(x3::as_parser(subject));
  }
};
constexpr GuardGen guard{};

}  // namespace shard::grammar
