// The words that have a meaning of their own: keywords and element types. Declared in parse.h; the only list of them.
#include <algorithm>
#include <array>
#include <string_view>

#include "grammar/parse.h"

namespace shard::grammar {
namespace {

constexpr std::array<std::string_view, 24> keywords = {
    "let",   "fn",    "jit",      "manual", "mesh",   "shard", "as", "use", "if",   "else",  "for",  "in",
    "while", "break", "continue", "return", "import", "and",   "or", "not", "true", "false", "none", "P"};
constexpr std::array<std::string_view, 18> dtypes = {"bool", "i8",  "i16",  "i32",       "i64",     "u8",
                                                     "u16",  "u32", "u64",  "f16",       "bf16",    "f32",
                                                     "f64",  "c64", "c128", "f8_e4m3fn", "f8_e5m2", "i4"};

template <class Words>
bool has(const Words& words, std::string_view word) {
  return !word.empty() && std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::span<const std::string_view> all_keywords() { return keywords; }

bool is_dtype(std::string_view word) { return has(dtypes, word); }

bool is_keyword(std::string_view word) { return has(keywords, word) || is_dtype(word); }

}  // namespace shard::grammar
