// The attribute `spec` of `contract`, as text and in parts.
#pragma once
#include <string_view>

namespace shard::ir {

// "bmk,bkn->bmn": one letter a dimension, covering the last dimensions of each array. Parts of the text that was read.
struct ContractSpec {
  std::string_view x, y, out;
};
inline ContractSpec read_spec(std::string_view text) {
  const auto comma = text.find(','), arrow = text.find("->");
  return {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
}

// The first letter that is not among these: lower case, then upper case.
inline char fresh_letter(std::string_view used) {
  char fresh = 'a';
  while (used.find(fresh) != std::string_view::npos) fresh = fresh == 'z' ? 'A' : static_cast<char>(fresh + 1);
  return fresh;
}

}  // namespace shard::ir
