// From what a file holds to values: each array goes to the blocks of its layout, which are read where they lie in the
// file. Nothing brings an array together that is split.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "stdlib/host/files/format.h"
#include "stdlib/host/storage/open_tree.h"

namespace shard::stdlib {

// A tree to be filled: a leaf is a value, or an array of the file with its layout.
struct Wanted {
  struct Leaf {
    Value value;
    std::size_t array = 0;
    std::shared_ptr<const runtime::Placement> at;  // of an array; none: `value` it is
    bool as_number = false;                        // an array of rank 0 that is wanted as a number of the host
  };
  Value tree;                // its structure
  std::vector<Leaf> leaves;  // in order
};
Wanted all_of(Interpreter& in, Contents& file);
// Specs: one for the tree, a tree of them that is a prefix of it, or for some fields of a record.
Wanted laid_out(Interpreter& in, Contents& file, const Value& specs, grammar::Span span);
// As `like`, whose arrays and types say which array lies how. All that does not fit is one error.
struct Fitting {
  std::string path;  // for messages
  bool strict = true;
  Value rename;  // a function of a name in the file, or none
};
Wanted fitted(Interpreter& in, Contents& file, const Value& like, const Fitting& how, grammar::Span span);

// The same for a program that is only checked: arrays without elements, and no file is read.
Value types_like(Interpreter& in, const Value& like);

Value filled(Interpreter& in, Contents& file, Wanted wanted);
// The same with arrays that stay in the file until they are looked at. An error where the file cannot be read in parts.
Value mapped(std::shared_ptr<OpenTree> file, Wanted wanted);

}  // namespace shard::stdlib
