// Files as bytes: read whole, unpacked where they are gzipped (by content, not by name), written whole or not at all.
// Scripts may only read what the engine's options allow. Errors name the path and what is wrong with the file.
#pragma once
#include <string>
#include <string_view>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

std::string read_bytes(lang::Interpreter& in, const std::string& path, grammar::Span span);  // unpacked
// Inflates `packed` (gzip, or raw deflate where `raw`); at most `limit` bytes. Throws RuntimeError("io").
std::string inflate_bytes(std::string_view packed, bool raw, std::size_t limit);
std::string gzip_bytes(std::string_view bytes);
void check_may_write(lang::Interpreter& in, const std::string& path,
                     grammar::Span span);  // an error where it may not be
// Writes beside the target and renames, so that a reader sees the old file or the new one.
void write_bytes(lang::Interpreter& in, const std::string& path, std::string_view bytes, grammar::Span span);
// Adds to the end of a file, which is made where there is none; one write, so that lines of two programs do not mix.
void append_bytes(lang::Interpreter& in, const std::string& path, std::string_view bytes, grammar::Span span);
bool ends_with_lower(const std::string& path, std::string_view ending);  // "X.CSV.GZ": ".csv" too

}  // namespace shard::stdlib
