// Texts that the program holds, packed: the modules in Shard, the examples of `help`, what commands write or run.
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

// Made by pack.cpp while building: of the library, and of the `shard` program alone.
std::span<const PackedText> packed_texts();
std::span<const PackedText> program_texts();
std::string unpacked(const PackedText& text);
std::string unpacked(std::span<const PackedText> texts, std::string_view name);  // of one that there is

}  // namespace shard::stdlib
