// Where a value has the right shape and dtype but another layout, or varies along too few axes: the text that brings it
// to the type that is wanted, and the fixes made of it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "grammar/diagnostic.h"
#include "interpreter/lang/values/value.h"
#include "runtime/mesh/type.h"

namespace shard::lang {

struct Conversion {
  std::string before, after;  // what stands around the value
  bool call;                  // which are a call's: its argument needs no brackets
  std::string of(const std::string& value) const { return before + value + after; }
  std::string of(const grammar::SourceMap& sources, grammar::Span written) const;
};
// From `have` to `want`; nothing where more differs than the layout or the axes to vary along.
std::optional<Conversion> conversion(const runtime::Type& have, const runtime::Type& want);

// `(shard TEXT as SPEC)` in place of what is written at `span`.
grammar::Fix shard_fix(const grammar::SourceMap& sources, std::string advice, grammar::Span span,
                       const std::string& spec);

// One leaf of a tree that has to be laid out otherwise, as source text: in the literal where it stands, or by a tree
// made anew of a variable, `{...p, w: shard p.w as P(@X)}`.
// `whole`: where the tree is written; `path`: how the leaf is reached in it (".w[0]"; "" for a leaf alone).
std::optional<grammar::Fix> tree_fix(const grammar::SourceMap& all, std::string advice, grammar::Span whole,
                                     const Value& tree, const std::string& path, const std::string& spec);

}  // namespace shard::lang
