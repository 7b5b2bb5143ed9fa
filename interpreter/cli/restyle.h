// A script in the one style (grammar/style). What comes out must be the same program: that is looked at, not believed.
#pragma once
#include <string>
#include <vector>

#include "grammar/diagnostic.h"

namespace shard::cli {

struct Restyled {
  std::string text;
  bool parses = false;       // else: its errors
  bool same_program = true;  // false: a fault in Shard itself
  grammar::SourceMap sources;
  std::vector<grammar::Diagnostic> errors;
};
Restyled restyled(const std::string& name, const std::string& text);

}  // namespace shard::cli
