// What the source text says of a value: which expression gives it, and which part of a literal gives a part of it.
// Errors point there, and fixes are written in its place.
#pragma once
#include <string>
#include <vector>

#include "grammar/ast.h"
#include "grammar/source.h"
#include "interpreter/lang/values/value.h"

namespace shard::lang {

// The expression whose value a body gives: itself, or a block's last one; null where the block ends otherwise.
const grammar::Expr* given_by(const grammar::Expr& body);
// The part of a literal (tuple, list; record) that gives this part of its value; null where the text does not show it.
const grammar::Expr* element(const grammar::Expr* e, std::size_t i, std::size_t size);
const grammar::Expr* element(const grammar::Expr* e, const std::string& field);
// The part of an annotation; null where there is none.
const grammar::Annot* element(const grammar::Annot* a, std::size_t i);
const grammar::Annot* element(const grammar::Annot* a, const std::string& field);

// One leaf of a tree: how it is reached (".w", "[0]"; "" for a leaf alone), and the expression that gives it, where the
// literal `e` shows it.
struct LeafAt {
  std::string path;
  const grammar::Expr* written = nullptr;
};
LeafAt leaf_at(const Value& tree, const grammar::Expr* e, std::size_t leaf);

std::string text_at(const grammar::SourceMap& sources, grammar::Span span);
// The same in brackets where it would not read as one operand.
std::string operand_at(const grammar::SourceMap& sources, grammar::Span span);

}  // namespace shard::lang
