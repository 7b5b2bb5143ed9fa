// Writing a checkpoint folder: shard.json and the arrays' blocks in safetensors files (docs: README.md of this folder).
// Everything goes into a temporary folder beside, is brought to the disk, and gets its name by one rename.
#pragma once
#include <string>
#include <vector>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// A tree as it was: arrays are immutable and shared, so that holding them is all it takes.
struct Snapshot {
  struct Array {
    std::string name;
    runtime::ArrayRef array;
  };
  std::string tree;  // its JSON node
  std::vector<Array> arrays;
};
Snapshot snapshot_of(lang::Interpreter& in, const lang::Value& tree);

// The files that write_folder makes: a host is asked for each before.
std::vector<std::string> files_of_folder(const std::string& path);
// Any thread may call it. Throws RuntimeError("io"); then nothing is left behind and what was there is untouched.
void write_folder(runtime::Pool& pool, const std::string& path, const Snapshot& what);

std::string without_slashes(std::string path);      // at its end
void remove_unfinished(const std::string& folder);  // temporary folders of processes that are no more
void remove_checkpoint(const std::string& path);    // a folder that write_folder made

}  // namespace shard::stdlib
