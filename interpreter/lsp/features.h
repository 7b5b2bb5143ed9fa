// What an editor asks about a text; a method of the protocol each (methods.cpp). They give the JSON of the answer.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "interpreter/lsp/editor_session.h"

namespace shard::lsp {

using Params = std::optional<Json>;

// diagnostics.cpp
std::string diagnostics_of(Session& s, const Document& d);  // the parameters of textDocument/publishDiagnostics
std::string code_actions(Session& s, const Params& p);
std::string formatting(Session& s, const Params& p);
// One edit that makes a text of the other, as small as one edit can be; none where they are the same.
std::vector<std::string> edits_to(Session& s, const Text& from, const std::string& to);
// hover.cpp
std::string hover(Session& s, const Params& p);
// complete.cpp
std::string completion(Session& s, const Params& p);
std::string completion_resolve(Session& s, const Params& p);
std::string signature_help(Session& s, const Params& p);
// navigation.cpp
std::string definition(Session& s, const Params& p);
std::string references(Session& s, const Params& p);
std::string highlights(Session& s, const Params& p);
std::string prepare_rename(Session& s, const Params& p);
std::string rename(Session& s, const Params& p);
// outline.cpp
std::string document_symbols(Session& s, const Params& p);
std::string folding_ranges(Session& s, const Params& p);
// tokens.cpp
std::string semantic_tokens(Session& s, const Params& p);
std::string token_legend();
// hints.cpp
std::string inlay_hints(Session& s, const Params& p);
std::string code_lenses(Session& s, const Params& p);
// The types of the variable that is declared there (a place of the tree's text), as the last check found them.
std::string types_of(const Document& d, grammar::Span declared);

// ---- names.cpp: which variable a word of a text is, in its own file or in one that it imports, and where else that is
// written. The word at an offset of the tree's text; null where there is none.
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
