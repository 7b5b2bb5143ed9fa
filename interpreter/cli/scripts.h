// The scripts that commands are given by a folder's name.
#pragma once
#include <string>
#include <vector>

namespace shard::cli {

// The scripts of a folder and of those within, but for hidden ones, in the order of their names.
std::vector<std::string> scripts_in(const std::string& folder);
// The words of a command: scripts as they are named, folders as the scripts in them.
std::vector<std::string> scripts_of(const std::vector<std::string>& words);

}  // namespace shard::cli
