// Trees as JSON: how files that hold arrays by name say what the tree around them was. A node is
// {"record": [["w", NODE], ...]}, {"list": [...]}, {"tuple": [...]}, {"array": NAME}, {"int": 3}, {"float": 2.5}
// ("nan", "inf", "-inf" as text), {"text": "..."}, {"bool": true} or {"none": true}. NAME is what the file calls the
// array.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stdlib/host/files/json.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {

// What files call the leaves of a tree: their paths, "layers.0.w"; "value" where the tree is one. An older version
// escaped the dots of fields.
std::vector<std::string> names_in_files(const Value& tree);

// The node of a tree; `array` is told each array with its name and gives the node that stands for it. What cannot be
// written is an error that names its place.
std::string tree_to_json(const Value& tree,
                         const std::function<std::string(const std::string& name, const Value& array)>& array);
// The tree of a node; `array` gives what stands for a name, `key`: the node says that it is keys. Nodes of files that
// an older version wrote are read too. `where` begins the sentence of an error: "the tree in its header".
Value tree_from_json(const Json& node, std::string_view where,
                     const std::function<Value(const std::string& name, bool key)>& array);

}  // namespace shard::stdlib
