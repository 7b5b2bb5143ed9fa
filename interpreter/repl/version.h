// What `shard --version` prints.
#pragma once
#include <string>

namespace shard::repl {

std::string version_text();  // version, commit, compiler, processor and instruction sets: what `shard --version` says

}  // namespace shard::repl
