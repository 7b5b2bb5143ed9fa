// Standard output of the `shard` program. What is written there arrives, or the program says that it did not and ends
// with status 1: a full disk is no success.
#pragma once
#include <string_view>

namespace shard::repl {

// Buffered; flushed at least every 0.1 s of printing. Throws RuntimeError("io") where nothing can be written any more.
void write_out(std::string_view text);
void flush_out();            // failures are told by finish_out
int finish_out(int status);  // at the end of the program: the exit status, 1 where something did not arrive

}  // namespace shard::repl
