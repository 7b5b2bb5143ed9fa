// What a file is written to: bytes, piece by piece, each write checked. A file stands under its name when all of it is
// on the disk, or not at all.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "stdlib/host/host.h"

namespace shard::stdlib {

class Sink {  // a write that fails throws RuntimeError("io")
 public:
  virtual ~Sink() = default;
  Sink() = default;
  Sink(const Sink&) = delete;
  virtual void write(std::string_view bytes) = 0;
  virtual void finish() = 0;  // called once, behind the last byte
};

// Writes beside `path`; finish() brings it to the disk and gives it the name, so that a reader sees the old file or the
// new one, behind a link too, with the rights that the old one had. Not finished, it leaves nothing. Devices and pipes
// are written as they are. `packed`: through gzip.
std::unique_ptr<Sink> open_sink(const std::string& path, bool packed);
std::unique_ptr<Sink> no_sink();  // keeps nothing
// Writes under its name, which must be new: into a folder that has no good name yet.
std::unique_ptr<Sink> open_in_new_folder(const std::string& path);
void folder_to_disk(const std::string& path);  // its names; an error where that fails

// Adds to the end of a file, which is made where there is none; one write, so that lines of two programs do not mix.
void append_bytes(Interpreter& in, const std::string& path, std::string_view bytes, grammar::Span span);

}  // namespace shard::stdlib
