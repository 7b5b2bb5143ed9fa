// Colours of an entry while it is written, and of types that are shown. Tokens are looked at one by one, not parsed:
// the text is seldom whole.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shard::cli {

enum class Ink : std::uint8_t { Plain, Keyword, Type, Number, String, Comment, Axis };

std::vector<Ink> inks_of(std::string_view text);  // one a byte
std::string_view escape_of(Ink ink);              // what a terminal is told
std::string inked(std::string_view text);         // for a terminal

}  // namespace shard::cli
