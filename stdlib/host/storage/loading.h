// From what a file holds to values: each array goes to the blocks of its layout, which are read where they lie in the
// file. Nothing brings an array together that is split.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/mesh/device_blocks.h"
#include "stdlib/host/files/format.h"

namespace shard::stdlib {

using TypeRef = std::shared_ptr<const Type>;

// ---- a file or folder with its headers read, and arrays that stay there until they are looked at
struct OpenTree {
  std::string path;
  std::unique_ptr<Source> source;  // outlives the contents; none of a folder
  std::unique_ptr<Contents> contents;
  std::mutex reading;  // of mapped arrays: one thread at a time
};
// `raw`: the file holds numbers of this type and nothing else. Throws RuntimeError("io").
std::shared_ptr<OpenTree> open_tree(Interpreter& in, const std::string& path, grammar::Span span,
                                    std::optional<DType> raw);

// ---- what is taken of it

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
Wanted all_of(Contents& file);
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
// All of it: left in the file where that can be read in parts.
Value held(Interpreter& in, const std::shared_ptr<OpenTree>& file);

}  // namespace shard::stdlib
