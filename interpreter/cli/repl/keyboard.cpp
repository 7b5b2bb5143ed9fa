#include "interpreter/cli/repl/keyboard.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cwchar>
#include <string_view>
#include <utility>

#include "interpreter/cli/signals.h"

namespace shard::cli {
namespace {

constexpr std::string_view kPasteEnds = "\x1b[201~";

bool there() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) > 0 && (input.revents & POLLIN);
}

// Waits for input; false where a signal came, also one that came before: it is let in while we wait, and not else.
bool wait_for_input() {
  sigset_t stops, before;
  sigemptyset(&stops);
  sigaddset(&stops, SIGINT);
  sigaddset(&stops, SIGTERM);
  sigaddset(&stops, SIGWINCH);
  pthread_sigmask(SIG_BLOCK, &stops, &before);
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (!interrupted() && !resized() && ppoll(&input, 1, nullptr, &before) < 0 && errno == EINTR) {}
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !interrupted() && !resized();
}

// Lines that end in '\n', without tabs and other signs that a terminal takes for orders.
std::string plain(const std::string& pasted) {
  std::string out;
  for (std::size_t i = 0; i < pasted.size(); ++i) {
    const char c = pasted[i];
    if (c == '\r' && i + 1 < pasted.size() && pasted[i + 1] == '\n') continue;
    if (c == '\t')
      out += "    ";
    else if (c == '\r' || c == '\n')
      out += '\n';
    else if (static_cast<unsigned char>(c) >= 32 && c != 0x7f)
      out += c;
  }
  return out;
}

}  // namespace

bool Keyboard::fill() {
  char buffer[4096];
  for (;;) {
    if (!wait_for_input()) return false;
    const ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes_.append(buffer, static_cast<std::size_t>(n));
    return true;
  }
}

std::optional<char> Keyboard::byte() {
  if (bytes_.empty() && !fill()) return std::nullopt;
  const char c = bytes_[0];
  bytes_.erase(0, 1);
  return c;
}

std::optional<wchar_t> Keyboard::next() {
  std::mbstate_t state{};
  wchar_t out = 0;
  for (auto c = byte(); c; c = byte()) {
    const std::size_t n = std::mbrtowc(&out, &*c, 1, &state);
    if (n == static_cast<std::size_t>(-2)) continue;  // more of it comes
    if (n == static_cast<std::size_t>(-1)) {          // no sign of this encoding
      state = {};
      continue;
    }
    return out;
  }
  return std::nullopt;
}

bool Keyboard::waiting() const { return !bytes_.empty() || there(); }

void Keyboard::take_paste() {
  std::size_t end;
  while ((end = bytes_.find(kPasteEnds)) == std::string::npos)
    if (!fill()) return forget();
  pasted_ += plain(bytes_.substr(0, end));
  bytes_.erase(0, end + kPasteEnds.size());
}

std::optional<std::string> Keyboard::peek_line() {
  if (const std::size_t end = pasted_.find('\n'); end != std::string::npos) return pasted_.substr(0, end);
  if (!pasted_.empty()) return pasted_;  // its last line, which is still to be edited
  if (bytes_.empty() && (!there() || !fill())) return std::nullopt;
  const std::size_t end = bytes_.find_first_of("\r\n");
  const bool typed =
      end != std::string::npos && std::all_of(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(end),
                                              [](char c) { return static_cast<unsigned char>(c) >= 32; });
  return typed ? std::optional(bytes_.substr(0, end)) : std::nullopt;
}

std::optional<std::string> Keyboard::take_line() {
  const std::size_t end = pasted_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = pasted_.substr(0, end);
  pasted_.erase(0, end + 1);
  return line;
}

std::string Keyboard::take_pasted() { return std::exchange(pasted_, {}); }

void Keyboard::forget() {
  bytes_.clear();
  pasted_.clear();
}

}  // namespace shard::cli
