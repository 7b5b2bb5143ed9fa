// The column `aliases` of rows and host functions: what users of other languages and libraries write for them. Only
// messages read it (lang/names/aliases.h). Texts are literals.
#pragma once
#include <string_view>

namespace shard::ir {

struct Alias {
  std::string_view name;
  // How it is done here, where our name cannot simply be put in its place. Under the function's own name: what a call
  // of it does elsewhere and not here.
  std::string_view say;
  constexpr Alias(const char* elsewhere, std::string_view here = {}) : name(elsewhere), say(here) {}
};

}  // namespace shard::ir
