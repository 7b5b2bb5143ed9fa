// What is said where the memory of a device is full.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "grammar/source.h"
#include "interpreter/exec/executable.h"

namespace shard::xla {

// The largest arrays that a call holds on each device, as this program's own plan of it has them: what the plug-in
// makes of the call may hold others. Notes of an error; `sources` may be null.
std::vector<std::string> largest_arrays(const exec::Executable& call, std::span<const exec::ArrayInfo> arguments,
                                        const grammar::SourceMap* sources);

}  // namespace shard::xla
