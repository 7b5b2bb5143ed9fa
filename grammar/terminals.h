// The grammar's terminals as plain functions over the text laid out: a take_ function moves `at` past what it takes and
// the blanks after it, or leaves it and says false; an at_ function only looks. lexical.h makes X3 parsers of them.
#pragma once
#include <string>
#include <string_view>

#include "grammar/operator_table.h"
#include "grammar/state.h"

namespace shard::grammar {

using Iterator = const char*;

enum class WordKind { Any, Name, New };  // New: a name that the program gives; a keyword there is an error of its own

bool take_symbol(State& s, Iterator& at, std::string_view symbol, bool quiet, bool blanks);
bool take_keyword(State& s, Iterator& at, std::string_view word, bool quiet);
bool take_word(State& s, Iterator& at, WordKind kind, std::string_view expected, Word& out);
bool take_newline(State& s, Iterator& at);
bool take_end(State& s, Iterator& at);
bool take_operator(State& s, Iterator& at, bool sizes, Link& out);
bool take_sign(State& s, Iterator& at, Link& out);
bool take_dtype(State& s, Iterator& at, bool keys, std::string& out);  // before a `[`; keys: `key` too
bool take_text(State& s, Iterator& at, std::string& out);              // the literal part of a string
bool take_format(State& s, Iterator& at, std::string& out);            // after the `:` of an interpolation
void skip_blanks(State& s, Iterator& at);
bool at_record(State& s, Iterator at);                                 // after a `{`
bool at_groups(State& s, Iterator at);                                 // `{V:` and the like
bool at_function(State& s, Iterator at, bool named);                   // modifiers, `fn` and, if named, a word
bool at_statement_word(State& s, Iterator at, std::string_view word);  // `rules` or `test` where it opens a statement
Node number(State& s, Iterator begin, Iterator end);
std::string_view found(State& s, Iterator at);  // the token there, for messages

}  // namespace shard::grammar
