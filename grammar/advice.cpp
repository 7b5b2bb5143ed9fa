// A form a function: it looks whether it fits and says what to write.
#include "grammar/advice.h"

#include "grammar/operators.h"

namespace shard::grammar {

std::optional<Diagnostic> advise(State&) { return std::nullopt; }

void check_digit_after_dot(State& state, const char* begin, const char* end) {
  if (end >= state.end || *end != '.') return;
  const char next = end + 1 < state.end ? end[1] : '\n';
  if (next == '.' || is_word_start(next)) return;
  const std::string text = std::string(begin, end) + ".0";
  state.fail(state.span(begin, end + 1), "a float has a digit on both sides of the dot: `" + text + "`", {},
             {{"add the digit", state.span(begin, end + 1), text}});
}

void fail_number_runs_on(State& state, const char* begin, const char* end) {
  while (end < state.end && is_word_part(*end)) ++end;
  state.fail(state.span(begin, end), "`" + std::string(begin, end) + "` is neither a number nor a name");
}

void check_after_shard(State&, const char*) {}
void check_lambda(State&, const Function&) {}

}  // namespace shard::grammar
