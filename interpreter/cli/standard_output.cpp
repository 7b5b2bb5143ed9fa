#include "interpreter/cli/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "interpreter/cli/terminal.h"
#include "runtime/array/shape.h"
#include "stdlib/host/files/sink.h"

namespace shard::cli {
namespace {

int failure = 0;  // errno of the first write that failed
bool told = false;

std::string sentence() { return std::string("cannot write to standard output: ") + std::strerror(failure); }

void note(bool written) {
  if (written) return;
  if (errno == EINTR)  // Ctrl-C meanwhile: who is asked to stop says so
    std::clearerr(stdout);
  else if (failure == 0)
    failure = errno ? errno : EIO;
}

}  // namespace

bool write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void flush_out() {
  errno = 0;
  note(std::fflush(stdout) == 0);
}

void write_out(std::string_view text) {
  erase_status();
  using clock = std::chrono::steady_clock;
  static clock::time_point flushed = clock::now();
  errno = 0;
  note(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
  if (const auto now = clock::now(); now - flushed > std::chrono::milliseconds(100)) {
    flush_out();
    flushed = now;
  }
  if (failure == 0) return;
  told = true;  // by whoever catches this
  throw runtime::RuntimeError("io", sentence());
}

int print_out(std::string_view text) {
  write_out(text);
  flush_out();
  return 0;
}

int misused(const std::string& error) {
  std::fprintf(stderr, "error: %s\n", error.c_str());
  return 2;
}

bool write_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    write_out(text);
    return true;
  }
  try {
    const std::unique_ptr<stdlib::Sink> file = stdlib::open_sink(path, false);
    file->write(text);
    file->finish();
    return true;
  } catch (const runtime::RuntimeError& e) {
    flush_out();
    std::fprintf(stderr, "error: cannot write '%s': %s\n", path.c_str(), e.what());
    return false;
  }
}

int finish_out(int status) {
  erase_status();
  flush_out();
  note(std::ferror(stdout) == 0);
  if (failure == 0) return status;
  if (!told) std::fprintf(stderr, "error: %s\n", sentence().c_str());
  return status == 0 ? 1 : status;
}

}  // namespace shard::cli
