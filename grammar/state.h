// What the rules of one parse share: the text, the ids and heights of the nodes made so far, how far the parse came and
// what would have let it go on. No Spirit here: the rules (expression*.cpp, types.cpp, statement.cpp) reach it through
// their context.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/ast.h"
#include "grammar/diagnostic.h"
#include "grammar/logical_lines.h"

namespace shard::grammar {

using Node = decltype(Expr::node);

// An expression and what it covers in the text: more than the node's own span where it stands in parentheses.
struct Operand {
  ExprPtr expr;
  Span span;
};

constexpr int recursion_limit = 300;  // expressions within each other; 200 brackets, which bound the blocks, take 200
constexpr int height_limit = 1000;    // levels of the tree: whoever walks it may recurse

class State {
 public:
  State(std::uint32_t source, const Layout& layout)
      : source(source), layout(layout), begin(layout.text.data()), end(begin + layout.text.size()), furthest(begin) {}
  State(const State&) = delete;

  // From `first` to `last`, without the blanks before `last`.
  Span span(const char* first, const char* last);
  Span span(const char* first, std::size_t length) { return at(first, first + length); }
  std::string_view text(Span s) const { return std::string_view(begin + s.begin, s.end - s.begin); }
  const char* place(std::uint32_t offset) const { return begin + offset; }

  ExprPtr make(Span span, Node node);  // throws Error where the tree gets too high
  FunctionPtr make(Span span, Function function);
  PatternPtr make(Span span, decltype(Pattern::node) node);
  std::int32_t next_id() {
    heights.push_back(0);
    return static_cast<std::int32_t>(heights.size()) - 1;
  }

  // A token in the user's words that would have fitted at `at`; only those at the furthest place are kept.
  // `what` must be text that stays (a literal); a token is shown between back quotes.
  void expect(const char* at, std::string_view what, bool token = false) {
    if (at < furthest) return;
    if (at > furthest) {
      furthest = at;
      expected.clear();
    }
    for (const Expected& e : expected)
      if (e.what == what) return;
    expected.push_back({what, token});
  }

  [[noreturn]] void fail(Span span, std::string message, std::vector<std::string> notes = {},
                         std::vector<Fix> fixes = {}) const;

  const std::uint32_t source;
  const Layout& layout;
  const char* const begin;
  const char* const end;
  const char* furthest;
  struct Expected {
    std::string_view what;
    bool token;
  };
  std::vector<Expected> expected;
  std::vector<int> heights;  // by id
  int depth = 0;             // of the recursion of the rules: see guard in lexical.h

 private:
  Span at(const char* first, const char* last) const {
    const auto size = static_cast<std::ptrdiff_t>(layout.text.size()) - 1;  // of the source, which has no last newline
    return {source, static_cast<std::uint32_t>(std::min(first - begin, size)),
            static_cast<std::uint32_t>(std::min(last - begin, size))};
  }
  const char* trimmed_from_ = nullptr;  // the last place that span() walked back from: long comments are walked once
  const char* trimmed_to_ = nullptr;
};

// What form alone shows to be wrong (form.cpp), once the whole text is parsed. `whole`: no statement was left out for
// an error; else what stands outside of its loop or function is not told.
std::vector<Diagnostic> check_form(const Module& module, const State& state, bool whole);

}  // namespace shard::grammar
