// The sole entry to the grammar: text in, a tree or diagnostics out. It never throws for bad input and never crashes,
// whatever the text: brackets nest 200 deep, unbracketed chains (`----x`, `else if`, `2**2**`) are limited alike.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/ast.h"
#include "grammar/diagnostic.h"

namespace shard::grammar {

struct ParseResult {
  std::shared_ptr<const Module> module;  // null where there is an error
  std::vector<Diagnostic> diagnostics;
  bool incomplete = false;  // more text could complete it (an open bracket, a trailing operator): the REPL asks on
};

ParseResult parse(const SourceMap& sources, std::uint32_t source);

// Canonical text of a tree; parse(print(tree)) is the same tree but for spans. Used by tests and, later, by `fmt`.
std::string print(const Module& module);
std::string print(const Expr& expr);

bool is_keyword(std::string_view word);
std::span<const std::string_view> all_keywords();  // but the element types
bool is_dtype(std::string_view word);
bool is_group(std::string_view word);  // behind the sizes of a type: `{V:X}`

}  // namespace shard::grammar
