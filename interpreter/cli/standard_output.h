// Standard output of the `shard` program. What is written there arrives, or the program says that it did not and ends
// with status 1: a full disk is no success.
#pragma once
#include <string>
#include <string_view>

namespace shard::cli {

// Buffered; flushed at least every 0.1 s of printing. Throws RuntimeError("io") where nothing can be written any more.
void write_out(std::string_view text);
void flush_out();                       // failures are told by finish_out
int print_out(std::string_view text);   // all that a command has to say: 0
int misused(const std::string& error);  // on standard error, what is wrong with the command line: 2
// A file, behind a link too, whole or not at all: beside it first, then in its place. Devices and pipes are written as
// they are; "-" is standard output. False, and a sentence, where it cannot be written.
bool write_file(const std::string& path, std::string_view text);
bool write_whole(int fd, std::string_view text);  // past signals; false where not all of it went
int finish_out(int status);  // at the end of the program: the exit status, 1 where something did not arrive

}  // namespace shard::cli
