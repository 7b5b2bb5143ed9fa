#include "interpreter/cli/repl/history.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

namespace shard::cli {
namespace {

constexpr std::string_view kFirstLine = "_HiStOrY_V2_\n";

std::string path_of_history() {  // "" where there is no home
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (state && *state == '/')
    folder = state;
  else if (home && *home == '/')
    folder = std::string(home) + "/.local/state";
  else
    return {};
  folder += "/shard";
  for (std::size_t at = 1; at != std::string::npos;) {  // make the folders on the way
    at = folder.find('/', at + 1);
    mkdir(folder.substr(0, at).c_str(), 0700);
  }
  return folder + "/history";
}

class Locked {  // against other sessions; beside the history, which is replaced when it is shortened
 public:
  explicit Locked(const std::string& path) : fd_(open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ >= 0)
      while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {}
  }
  ~Locked() {
    if (fd_ >= 0) close(fd_);
  }
  Locked(const Locked&) = delete;

 private:
  int fd_;
};

std::string line_of(const std::string& entry) {  // as strvis writes it
  std::string out;
  for (const char c : entry) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte != '\\' && byte != 0x7f) {
      out += c;
      continue;
    }
    char octal[8];
    std::snprintf(octal, sizeof octal, "\\%03o", byte);
    out += octal;
  }
  return out + "\n";
}

bool write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

HistoryFile::HistoryFile() : path_(path_of_history()) {}

void HistoryFile::add(const std::string& entry) {
  if (path_.empty() || entry == last_) return;
  last_ = entry;
  const Locked lock(path_);
  const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  std::string text = line_of(entry);
  const off_t size = lseek(fd, 0, SEEK_END);
  char end = '\n';
  if (size == 0)
    text.insert(0, kFirstLine);
  else if (pread(fd, &end, 1, size - 1) == 1 && end != '\n')  // of a disk that was full
    text.insert(0, "\n");
  write_whole(fd, text);
  close(fd);
}

void HistoryFile::shorten(std::size_t most) const {
  if (path_.empty()) return;
  const Locked lock(path_);
  std::ifstream in(path_, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  if (lines.size() <= 2 * most + 1 || lines[0] != kFirstLine) return;
  std::string text(kFirstLine);
  for (std::size_t i = lines.size() - most; i < lines.size(); ++i) text += lines[i];
  const std::string beside = path_ + ".new";
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool written = write_whole(fd, text);
  if (close(fd) != 0 || !written || rename(beside.c_str(), path_.c_str()) != 0) unlink(beside.c_str());
}

}  // namespace shard::cli
