// shard check --fix: the fixes that are what was meant, whatever else the program does (Fix::safe), written into files.
#pragma once
#include <string>
#include <vector>

#include "grammar/diagnostic.h"

namespace shard::cli {

struct Fixed {
  std::string text;                // of the file, with the fixes
  std::vector<std::string> lines;  // what was done, a line each: "FILE:LINE: MESSAGE: `NEW`"
};
// The safe fixes among `found` that lie in `source`; of two that touch, the first.
Fixed with_safe_fixes(const grammar::SourceMap& sources, std::uint32_t source,
                      const std::vector<grammar::Diagnostic>& found);
// Writes a file whole or not at all. False, and a sentence on standard error, where that fails.
bool replace_file(const std::string& path, const std::string& text);

}  // namespace shard::cli
