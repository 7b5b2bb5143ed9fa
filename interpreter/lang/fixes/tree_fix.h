// One leaf of a tree that has to be laid out otherwise, as source text: in the literal where it stands, or by a tree
// made anew of a variable, `{...p, w: shard p.w as P(@X)}`.
#pragma once
#include <optional>
#include <string>

#include "grammar/diagnostic.h"
#include "interpreter/lang/values/value.h"

namespace shard::lang {

// `whole`: where the tree is written; `path`: how the leaf is reached in it (".w[0]"; "" for a leaf alone).
std::optional<grammar::Fix> tree_fix(const grammar::SourceMap& all, std::string advice, grammar::Span whole,
                                     const Value& tree, const std::string& path, const std::string& spec);

}  // namespace shard::lang
