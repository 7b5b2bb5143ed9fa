// Reading trees that lie in several files: checkpoint folders, and the sharded files of model hubs. Headers are read
// and held against each other first; blocks are read where they lie.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "stdlib/host/files/format.h"

namespace shard::stdlib {

using MayRead = std::function<void(const std::string& path)>;  // throws where a file may not be read

// A checkpoint folder. What is read as a whole, in whatever pieces, is held against its check sums by
// check_end(). Errors are RuntimeError("io"), as those of every format.
std::unique_ptr<Contents> open_folder(const std::string& path, const MayRead& may_read);
// Reads everything once and throws where something is missing or does not fit its check sum.
void check_folder(const std::string& path, const MayRead& may_read);
// The sharded files that model hubs serve: a JSON index, "model.safetensors.index.json", of names to files beside it.
std::unique_ptr<Contents> open_hub_index(const std::string& path, const MayRead& may_read);
bool is_hub_index(const std::string& path);
bool is_folder(const std::string& path);  // written with a "/" at the end, or one that is there

}  // namespace shard::stdlib
