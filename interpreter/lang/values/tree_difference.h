// Where two trees come apart, for messages: the path of the first place, and what stands there in each.
#pragma once
#include <string>
#include <vector>

#include "interpreter/lang/values/value.h"

namespace shard::lang {

// "`layers[0].b` is f32[3] in the first and missing in the second"; nothing where the trees have one structure, or
// differ as a whole, which their structures show. `prefix`: where the first has a leaf, the second may have a tree.
std::vector<std::string> tree_difference(const Value& a, const Value& b, const std::string& in_a,
                                         const std::string& in_b, bool prefix = false);

}  // namespace shard::lang
