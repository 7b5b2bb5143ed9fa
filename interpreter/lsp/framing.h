// Messages of the protocol as bytes: `Content-Length: N`, an empty line, N bytes. What is broken on the way is skipped.
#pragma once
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace shard::lsp {

class Wire {
 public:
  Wire(int in, int out) : in_(in), out_(out) {}
  // The body of the next message; empty for one that is too long; nothing where the input ends.
  std::optional<std::string> read();
  void write(std::string_view body);  // of any thread; what cannot be written is lost: the reader is gone

 private:
  std::optional<std::string> line();  // without its end
  bool fill();

  int in_, out_;
  std::string buffer_;
  std::size_t at_ = 0;  // of the buffer, up to which it was read
  std::mutex writing_;
};

}  // namespace shard::lsp
