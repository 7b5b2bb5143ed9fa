// How a process that `shard launch` started finds the others: its number in SHARD_RANK, how many there are in
// SHARD_SIZE, and in SHARD_LINKS the descriptors that it was given, a connected socket to each of the others. Nobody
// else has the other ends, so there is nobody to be told from them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "interpreter/repl/session.h"
#include "runtime/channel/processes.h"

namespace shard::repl {
namespace {

// A number, and what is behind it; -1 where there is none.
int next_number(std::string_view& text) {
  int out = -1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
  text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
  return end.ec == std::errc() ? out : -1;
}

std::string_view launch_variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

[[noreturn]] void cannot_join(const std::string& why) {
  std::fprintf(stderr, "error: %s\nnote: processes are started by `shard launch -n 4 file.shard`\n", why.c_str());
  std::exit(2);
}

}  // namespace

std::shared_ptr<runtime::Processes> joined_processes(int devices) {
  std::string_view size_text = launch_variable("SHARD_SIZE"), rank_text = launch_variable("SHARD_RANK"),
                   links = launch_variable("SHARD_LINKS"), limit_text = launch_variable("SHARD_TIMEOUT_MS");
  if (size_text.empty()) return nullptr;
  const int size = next_number(size_text), rank = next_number(rank_text), limit = next_number(limit_text);
  if (size < 1 || rank < 0 || rank >= size)
    cannot_join("SHARD_SIZE and SHARD_RANK say that this is process " + std::string(launch_variable("SHARD_RANK")) +
                " of " + std::string(launch_variable("SHARD_SIZE")));
  if (devices % size != 0)
    cannot_join(std::to_string(devices) + " devices cannot be shared out to " + std::to_string(size) + " processes");
  std::vector<int> sockets;
  for (int i = 0; i < size; ++i) {
    sockets.push_back(next_number(links));
    if (!links.empty()) links.remove_prefix(1);  // the comma
    struct stat info {};
    if (i == rank) continue;
    if (sockets.back() < 0 || fstat(sockets.back(), &info) != 0 || !S_ISSOCK(info.st_mode))
      cannot_join("SHARD_SIZE says that there are " + std::to_string(size) +
                  " processes, and there is no link to process " + std::to_string(i));
    fcntl(sockets.back(), F_SETFD, FD_CLOEXEC);
  }
  for (const char* name : {"SHARD_SIZE", "SHARD_RANK", "SHARD_LINKS", "SHARD_TIMEOUT_MS"}) unsetenv(name);
  if (size == 1) return nullptr;
  return std::make_shared<runtime::Processes>(runtime::socket_channel(rank, sockets),
                                              std::chrono::milliseconds(limit > 0 ? limit : 10'000));
}

}  // namespace shard::repl
