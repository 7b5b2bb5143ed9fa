// Texts that the program holds, packed: the modules in Shard, and the examples of `help`.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace shard::stdlib {

struct PackedText {
  std::string_view name;  // of its file, without the ending
  std::span<const unsigned char> packed;
  std::size_t size;  // unpacked, bytes
};

std::span<const PackedText> packed_texts();  // made by pack.cpp while building
std::string unpacked(const PackedText& text);

}  // namespace shard::stdlib
