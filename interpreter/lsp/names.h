// Which variable a word of a text is, in its own file or in one that it imports, and where else that is written.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "interpreter/lsp/editor_session.h"

namespace shard::lsp {

// The word at an offset of the tree's text; null where there is none.
const lang::NameUse* use_at(const Tree& tree, std::size_t offset);
// The import whose variable is declared there; null where none is.
const grammar::ImportStmt* import_at(const Tree& tree, grammar::Span declared);
std::string imported_path(const grammar::ImportStmt& import, const std::string& path);  // of a file
const grammar::Function* function_at(const Tree& tree, grammar::Span name);             // null: none has its name there
// The innermost functions around an offset, outermost first.
std::vector<const grammar::Function*> functions_around(const Tree& tree, std::size_t offset);

// Where the variable is declared that a use means: a name in a file, or a file that is imported (begin == end). Nothing
// for builtins and what the library has.
std::optional<Location> declaration(Session& s, const std::string& path, const Tree& tree, const lang::NameUse& use);
// Everywhere it is written, its declaration too, in all files that are known.
std::vector<Location> places_of(Session& s, const Location& declared);
// A word of the text in whole: `nn.linear` for each of its parts; empty where no word stands.
struct Dotted {
  std::string text;
  std::size_t begin = 0, end = 0;  // of the part at the offset
};
Dotted word_at(const std::string& text, std::size_t offset);

}  // namespace shard::lsp
