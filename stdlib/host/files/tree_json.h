// Trees as JSON: how files that hold arrays by name say what the tree around them was. A node is
// {"record": [["w", NODE], ...]}, {"list": [...]}, {"tuple": [...]}, {"array": NAME}, {"int": 3}, {"float": 2.5}
// ("nan", "inf", "-inf" as text), {"text": "..."}, {"bool": true} or {"none": true}. NAME is the path: fields and
// indices joined by ".", where ".", "/" and "%" inside a field are %2E, %2F and %25; an array that is the whole tree is
// called "value".
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "interpreter/lang/values/value.h"
#include "stdlib/host/files/json.h"

namespace shard::stdlib {

inline constexpr std::string_view kWholeTree = "value";
std::string field_below(const std::string& path, std::string_view field);  // the path of a field, escaped
std::string name_of(const std::string& path);                              // of the array at this path

// The node of a tree; `array` is told each array with its name and gives the node that stands for it. What cannot be
// written is an error that names its place.
std::string tree_to_json(const lang::Value& tree,
                         const std::function<std::string(const std::string& name, const lang::Value& array)>& array);
// The tree of a node; `array` gives what stands for a name, `key`: the node says that it is keys. Nodes of files that
// an older version wrote are read too. `where` begins the sentence of an error: "the tree in its header".
lang::Value tree_from_json(const Json& node, std::string_view where,
                           const std::function<lang::Value(const std::string& name, bool key)>& array);

}  // namespace shard::stdlib
