// One kind of error for everything that a user can see: what is wrong, where, which facts disagree, and what to write
// instead. A Diagnostic is a value (it is rendered by interpreter/lang/report/report.h, as text or JSON); Error carries
// one through C++.
#pragma once
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grammar/source.h"

namespace shard::grammar {

struct Fix {           // the program is right when `span` is replaced by it
  std::string advice;  // "shard one operand first"
  Span span;
  std::string replacement;
  bool safe = false;  // it is what was meant, whatever else the program does: `shard check --fix` writes it
};

struct Frame {
  std::string function;
  Span call;
};  // one call on the way to the error, innermost first

struct Diagnostic {
  std::string code;  // stable, e.g. "syntax", "name", "shape", "spec", "io"
  Span span;
  std::string message;             // one sentence without a full stop
  std::vector<std::string> notes;  // facts: operand types, sizes, axes; and advice
  std::vector<Fix> fixes;
  std::vector<Frame> calls;
  bool warning = false;  // the program runs, and does perhaps not what was meant: no error
};

class Error : public std::exception {
 public:
  explicit Error(Diagnostic d) : diagnostic(std::move(d)) {}
  Error(std::string code, Span span, std::string message, std::vector<std::string> notes = {})
      : diagnostic{std::move(code), span, std::move(message), std::move(notes), {}, {}} {}
  const char* what() const noexcept override { return diagnostic.message.c_str(); }
  virtual std::span<const Diagnostic> all() const { return {&diagnostic, 1}; }  // where there are several
  Diagnostic diagnostic;
};

// The candidate nearest to `name` by edit distance, if it is near enough to be what was meant.
std::optional<std::string> near_miss(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace shard::grammar
