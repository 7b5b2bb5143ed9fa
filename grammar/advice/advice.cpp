// The order in which the forms are tried, and the checks that the rules call.
#include "grammar/advice/advice.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "grammar/advice/forms.h"
#include "grammar/operator_table.h"

namespace shard::grammar {

std::optional<Diagnostic> advise(State& state) {
  NearText t(state, static_cast<std::size_t>(state.furthest - state.begin));
  if (t.at >= t.text.size()) return std::nullopt;
  for (auto form : {c_style_for,    lambda,           arrow_function, foreign_word,
                    shard_call,     mesh_call,        ranged_for,     dotted,
                    opening_word,   decorator,        string_prefix,  print_statement,
                    in_text,        logical,          increment,      operator_and_more,
                    colon_equals,   in_for,           closed_range,   comprehension,
                    ternary,        blanks_in_list,   lone_else,      in_parameters,
                    in_let,         several_targets,  record_fields,  named_argument,
                    axis_sign,      in_mesh,          in_import,      result_annotation,
                    in_parentheses, in_operator,      spread,         compare,
                    block_place,    leading_operator, unknown_sign,   lone_as,
                    comment_behind, two_statements}) {
    if (Advice d = form(t)) return d;
  }
  return std::nullopt;
}

std::optional<Diagnostic> advise_loop(State& state, Span where) {
  NearText t(state, where.begin);
  if (t.at >= t.text.size()) return std::nullopt;
  Advice loop = c_style_for(t);
  return loop ? loop : mesh_call(t);
}

void check_digit_after_dot(State& state, const char* begin, const char* end) {
  if (end >= state.end || *end != '.') return;
  const char next = end + 1 < state.end ? end[1] : '\n';
  if (next == '.' || is_word_start(next)) return;
  const std::string text = std::string(begin, end) + ".0";
  state.fail(state.span(begin, end + 1), "a float has a digit on both sides of the dot: `" + text + "`", {},
             {{"add the digit", state.span(begin, end + 1), text, true}});
}

void fail_number_runs_on(State& state, const char* begin, const char* end) {
  while (end < state.end && is_word_part(*end)) ++end;
  if (const char mark = end - begin > 2 ? begin[1] : '\0';
      begin[0] == '0' && end - begin < 60 && (mark == 'b' || mark == 'B' || mark == 'o' || mark == 'O')) {
    const unsigned base = mark == 'b' || mark == 'B' ? 2 : 8;  // 0b101, 0o17
    std::uint64_t value = 0;
    const bool digits = std::all_of(begin + 2, end, [&](char c) {
      if (c == '_') return true;
      value = value * base + static_cast<std::uint64_t>(c - '0');
      return c >= '0' && c < static_cast<char>('0' + base);
    });
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    if (digits)
      state.fail(state.span(begin, end), std::string("numbers are written in tens or in hexadecimal: `") + text + "`",
                 {}, {{"write it in hexadecimal", state.span(begin, end), text, true}});
  }
  state.fail(state.span(begin, end),
             quote(std::string_view(begin, static_cast<std::size_t>(end - begin))) + " is neither a number nor a name");
}

void check_after_shard(State& state, const Shard& shard, const char* at) {
  const std::string_view rest(at, static_cast<std::size_t>(state.end - at));
  if (rest.empty()) return;
  const bool follows = binary_at(rest) || rest[0] == '(' || rest[0] == '[' ||
                       (rest[0] == '.' && rest.size() > 1 && is_word_start(rest[1]));
  if (!follows) return;
  const std::string_view text(state.begin, static_cast<std::size_t>(state.end - state.begin));
  const std::size_t from = std::min<std::size_t>(text.rfind("shard", shard.value->span.begin), shard.value->span.begin);
  const Span span = state.span(state.begin + from, at);
  const std::string fixed = "(" + std::string(state.text(span)) + ")";
  state.fail(span, "only `|>` may follow `shard ... as ...`: put it in parentheses: " + quote(fixed), {},
             {{"put it in parentheses", span, fixed, true}});
}

void check_lambda(State& state, const Function& function) {
  if (function.name.empty()) return;
  state.fail(function.name_span,
             "a function within an expression has no name: write `fn(...)`, and name it with `let` or in a statement",
             {}, {{"drop the name", function.name_span, ""}});
}

}  // namespace shard::grammar
