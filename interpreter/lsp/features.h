// What an editor asks about a text; a method of the protocol each (methods.cpp). They give the JSON of the answer.
#pragma once
#include <optional>
#include <string>

#include "interpreter/lsp/editor_session.h"

namespace shard::lsp {

using Params = std::optional<Json>;

std::string null();

// diagnostics.cpp
std::string diagnostics_of(Session& s, const Document& d);  // the parameters of textDocument/publishDiagnostics
std::string code_actions(Session& s, const Params& p);
// formatting.cpp
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
// semantic_tokens.cpp
std::string semantic_tokens(Session& s, const Params& p);
std::string token_legend();
// hints.cpp
std::string inlay_hints(Session& s, const Params& p);
std::string code_lenses(Session& s, const Params& p);
// The types of the variable that is declared there (a place of the tree's text), as the last check found them.
std::string types_of(const Document& d, grammar::Span declared);

}  // namespace shard::lsp
