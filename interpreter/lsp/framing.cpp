#include "interpreter/lsp/framing.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>

namespace shard::lsp {
namespace {

constexpr std::size_t kLongestLine = 4096, kLongestBody = 64u << 20;

// The number of a line "Content-Length: 12", in any case; nothing for other lines and numbers that are none.
std::optional<std::size_t> length_in(std::string_view line) {
  constexpr std::string_view kName = "content-length:";
  const auto alike = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  if (line.size() < kName.size() ||
      !std::equal(kName.begin(), kName.end(), line.begin(), [&](char b, char a) { return alike(a, b); }))
    return std::nullopt;
  line.remove_prefix(kName.size());
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), n);
  return error == std::errc() && end == line.data() + line.size() ? std::optional(n) : std::nullopt;
}

}  // namespace

bool Wire::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  char bytes[1 << 16];
  ssize_t n = 0;
  do n = ::read(in_, bytes, sizeof bytes);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(n));
  return true;
}

std::optional<std::string> Wire::line() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n', at_); end != std::string::npos) {
      std::string out = buffer_.substr(at_, end - at_);
      at_ = end + 1;
      if (out.ends_with('\r')) out.pop_back();
      return out;
    }
    if (buffer_.size() - at_ > kLongestLine) at_ = buffer_.size();  // no header is as long
    if (!fill()) return std::nullopt;
  }
}

std::optional<std::string> Wire::read() {
  std::optional<std::size_t> length;
  for (;;) {
    const std::optional<std::string> header = line();
    if (!header) return std::nullopt;
    if (const auto n = length_in(*header)) length = n;
    if (header->empty() && length) break;
  }
  std::string body;
  const bool kept = *length <= kLongestBody;
  for (std::size_t wanted = *length; wanted > 0;) {
    if (at_ == buffer_.size() && !fill()) return std::nullopt;
    const std::size_t n = std::min(wanted, buffer_.size() - at_);
    if (kept) body.append(buffer_, at_, n);
    at_ += n;
    wanted -= n;
  }
  return body;
}

void Wire::write(std::string_view body) {
  const std::string all = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  const std::lock_guard lock(writing_);
  for (std::size_t done = 0; done < all.size();) {
    const ssize_t n = ::write(out_, all.data() + done, all.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace shard::lsp
