// The texts that the program holds: modules that `import` finds by name (stdlib/*.shard), and the examples and lessons
// of `help`.
#include <zlib.h>

#include <stdexcept>

#include "stdlib/packed_text.h"
#include "stdlib/stdlib.h"

namespace shard::stdlib {
namespace {

constexpr std::string_view kExamples = "examples", kLessons = "lessons";

bool is_module(std::string_view name) { return name != kExamples && name != kLessons; }

const PackedText* find(std::span<const PackedText> texts, std::string_view name) {
  for (const PackedText& t : texts)
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace

std::string unpacked(const PackedText& text) {
  std::string out(text.size, '\0');
  uLongf size = out.size();
  if (uncompress(reinterpret_cast<Bytef*>(out.data()), &size, text.packed.data(), text.packed.size()) != Z_OK ||
      size != text.size)
    throw std::logic_error("the text '" + std::string(text.name) + "' in this program is damaged");
  return out;
}

std::string unpacked(std::span<const PackedText> texts, std::string_view name) { return unpacked(*find(texts, name)); }

// Those that no other module takes: the others are parts.
std::vector<std::string> public_modules() {
  std::string all;
  for (const PackedText& t : packed_texts())
    if (is_module(t.name)) all += unpacked(t);
  std::vector<std::string> out;
  for (const PackedText& t : packed_texts())
    if (is_module(t.name) && all.find("\nimport " + std::string(t.name) + "\n") == std::string::npos)
      out.emplace_back(t.name);
  return out;
}

std::optional<std::string> embedded_module(const std::string& name) {
  const PackedText* text = is_module(name) ? find(packed_texts(), name) : nullptr;
  return text ? std::optional(unpacked(*text)) : std::nullopt;
}

std::string examples_text() { return unpacked(packed_texts(), kExamples); }

std::string lessons_text() { return unpacked(packed_texts(), kLessons); }

}  // namespace shard::stdlib
