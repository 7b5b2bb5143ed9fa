// What `shard --version` prints.
#pragma once
#include <string>

namespace shard::cli {

std::string version_text();  // version, commit, compiler, processor and instruction sets: what `shard --version` says

}  // namespace shard::cli
