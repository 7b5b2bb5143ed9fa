// Remedies for values that vary (manual mode), as source text: where the text shows which expression gives a value, an error can carry a replacement that mends it.
#pragma once
#include <optional>

#include "interpreter/ir/graph.h"
#include "interpreter/lang/interpreter.h"
#include "grammar/ast.h"

namespace shard::lang {

// The expression whose value a body gives: itself, or a block's last one; null where the block ends otherwise.
const grammar::Expr* given_by(const grammar::Expr& body);
// The part of a literal (tuple, list; record) that gives this part of its value; null where the text does not show it.
const grammar::Expr* element(const grammar::Expr* e, std::size_t i, std::size_t size);
const grammar::Expr* element(const grammar::Expr* e, const std::string& field);
// The part of an annotation; null where there is none.
const grammar::Annot* element(const grammar::Annot* a, std::size_t i);
const grammar::Annot* element(const grammar::Annot* a, const std::string& field);

std::string text_at(Interpreter& in, grammar::Span span);

// `have` would be `want` if it varied along more axes: "@X", "@(X, Y)"; nothing where that is not all that differs.
std::optional<std::string> axes_to_vary(const runtime::Type& have, const runtime::Type& want);
std::string cast_text(const std::string& value, const std::string& axes);   // pcast(value, axes, to: "varying")

}  // namespace shard::lang
