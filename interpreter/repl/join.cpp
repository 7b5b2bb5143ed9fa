// How a process finds the others that run the same script. `shard launch` gives it a connected socket to each of them:
// its number in SHARD_RANK, how many there are in SHARD_SIZE, the descriptors in SHARD_LINKS; nobody else has the other
// ends, so there is nobody to be told from them. Or it says where it waits itself (SHARD_COORDINATOR, and a token that
// is read from SHARD_TOKEN_FILE), and they connect over TCP. Where a launcher of a cluster started it, they talk
// through MPI. There is no silent way back to one process: who was started as one of four and does not find the others
// ends.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "interpreter/repl/session.h"
#include "runtime/channel/drill.h"
#include "runtime/channel/processes.h"
#include "runtime/channel/tcp/rendezvous.h"

namespace shard::repl {
namespace {

// What launchers say to the processes that they start, in the order in which they are asked.
struct Starter {
  const char *name, *rank, *size;
};
constexpr Starter kStarters[] = {{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                 {"PMI (MPICH, Slurm)", "PMI_RANK", "PMI_SIZE"},
                                 // SLURM_NTASKS is also set where nothing but the job's own shell runs
                                 {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                 {"torchrun", "RANK", "WORLD_SIZE"}};

constexpr const char* kLaunch = "processes are started by `shard launch -n 4 file.shard`";

// A number, and what is behind it; -1 where there is none.
int next_number(std::string_view& text) {
  int out = -1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
  text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
  return end.ec == std::errc() ? out : -1;
}

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

[[noreturn]] void cannot_join(const std::string& why, const char* fix) {
  std::fprintf(stderr, "error: %s\nnote: %s\n", why.c_str(), fix);
  std::exit(2);
}

void share_out(int devices, int size) {
  if (devices % size != 0)
    cannot_join(std::to_string(devices) + " devices cannot be shared out to " + std::to_string(size) + " processes",
                ("write --devices " + std::to_string((devices / size + 1) * size)).c_str());
}

std::unique_ptr<runtime::Channel> by_links(int devices) {
  std::string_view size_text = variable("SHARD_SIZE"), rank_text = variable("SHARD_RANK"),
                   links = variable("SHARD_LINKS");
  const int size = next_number(size_text), rank = next_number(rank_text);
  if (size < 1 || rank < 0 || rank >= size)
    cannot_join("SHARD_SIZE and SHARD_RANK say that this is process " + std::string(variable("SHARD_RANK")) + " of " +
                    std::string(variable("SHARD_SIZE")),
                kLaunch);
  share_out(devices, size);
  std::vector<int> sockets;
  for (int i = 0; i < size; ++i) {
    sockets.push_back(next_number(links));
    if (!links.empty()) links.remove_prefix(1);  // the comma
    struct stat info {};
    if (i == rank) continue;
    if (sockets.back() < 0 || fstat(sockets.back(), &info) != 0 || !S_ISSOCK(info.st_mode))
      cannot_join("SHARD_SIZE says that there are " + std::to_string(size) +
                      " processes, and there is no link to process " + std::to_string(i),
                  kLaunch);
    fcntl(sockets.back(), F_SETFD, FD_CLOEXEC);
  }
  return size == 1 ? nullptr : runtime::socket_channel(rank, sockets);
}

// The token of the job. Where it came through standard input, that stays open until the launcher has gone: then this
// process leaves too.
std::string read_token(const std::string& path) {
  std::string out(64, '\0');
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::size_t got = 0;
  for (ssize_t n; fd >= 0 && got < out.size() && (n = read(fd, out.data() + got, out.size() - got)) > 0;)
    got += static_cast<std::size_t>(n);
  if (fd >= 0) close(fd);
  if (got < out.size()) cannot_join("there is no token in SHARD_TOKEN_FILE, '" + path + "'", kLaunch);
  if (path == "/dev/stdin")
    std::thread([] {
      char byte;
      while (read(STDIN_FILENO, &byte, 1) > 0) {}
      kill(getpid(), SIGTERM);
    }).detach();
  return out;
}

std::unique_ptr<runtime::Channel> by_tcp(int devices) {
  runtime::Joining job;
  std::string_view size_text = variable("SHARD_SIZE"), rank_text = variable("SHARD_RANK"),
                   where = variable("SHARD_COORDINATOR"), ports = variable("SHARD_PORT_RANGE"),
                   limit_text = variable("SHARD_START_TIMEOUT_MS");
  job.size = next_number(size_text), job.rank = next_number(rank_text);
  const int limit = next_number(limit_text);
  const std::size_t colon = where.rfind(':');
  std::string_view port_text = where.substr(std::min(where.size(), colon + 1));
  job.host = where.substr(0, colon);
  if (job.host.starts_with('[')) job.host = job.host.substr(1, job.host.size() - 2);  // [::1]:4000
  job.port = next_number(port_text);
  if (job.size < 1 || job.rank < 0 || job.rank >= job.size || colon == std::string_view::npos || job.port < 1)
    cannot_join(
        "SHARD_SIZE, SHARD_RANK and SHARD_COORDINATOR do not say which process this is and where the others are",
        kLaunch);
  share_out(devices, job.size);
  if (!ports.empty()) {
    job.ports.first = next_number(ports);
    ports.remove_prefix(std::min<std::size_t>(1, ports.size()));
    job.ports.last = next_number(ports);
  }
  job.token = read_token(std::string(variable("SHARD_TOKEN_FILE")));
  job.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit > 0 ? limit : 60'000);
  const int rank = job.rank;
  std::vector<int> sockets;
  try {
    sockets = runtime::sockets_by_tcp(job);
  } catch (const runtime::RuntimeError& e) { cannot_join(e.what(), kLaunch); }
  return job.size == 1 ? nullptr : runtime::socket_channel(rank, sockets);
}

// Where the module for MPI may lie: beside the program, or where it was installed.
std::vector<std::string> module_places() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::string folder = program.substr(0, program.rfind('/') + 1);
  return {folder + "libshard_mpi.so", folder + "../" SHARD_LIBDIR "/shard/libshard_mpi.so", "libshard_mpi.so"};
}

std::unique_ptr<runtime::Channel> by_mpi(int devices) {
  for (const Starter& s : kStarters) {
    std::string_view size_text = variable(s.size), rank_text = variable(s.rank);
    const int size = next_number(size_text), rank = next_number(rank_text);
    if (size < 0 || rank < 0) continue;
    if (size <= 1) return nullptr;
    const std::string said = std::string(s.name) + " started this as process " + std::to_string(rank) + " of " +
                             std::to_string(size) + " (" + s.size + ")";
    share_out(devices, size);
    std::string why;
    auto channel = runtime::mpi_channel(module_places(), why);
    if (!channel)
      cannot_join(said + ", and there is no MPI to reach the others: " + why,
                  "the module is built where MPI is found (Debian: libopenmpi-dev); on one machine "
                  "`shard launch -n 4 file.shard` needs none");
    if (channel->count() != size || channel->index() != rank)
      cannot_join(said + ", and MPI says process " + std::to_string(channel->index()) + " of " +
                      std::to_string(channel->count()),
                  "launcher and library are of different kinds: start with the `mpirun` of the MPI that Shard was "
                  "built with, or with `srun --mpi=pmix`");
    if (rank > 0) {  // one process prints, as one alone does
      const int nothing = open("/dev/null", O_WRONLY);
      if (nothing >= 0) dup2(nothing, STDOUT_FILENO);
      tell_as("on process " + std::to_string(rank) + ": ");
    }
    return channel;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<runtime::Processes> joined_processes(const Settings& settings) {
  const bool launched = !variable("SHARD_SIZE").empty(), tcp = !variable("SHARD_COORDINATOR").empty();
  auto channel = !launched ? by_mpi(settings.devices) : tcp ? by_tcp(settings.devices) : by_links(settings.devices);
  if (!channel) return nullptr;
  std::vector<runtime::Drill> drills;
  try {
    for (const std::string& text : settings.drills) drills.push_back(runtime::parse_drill(text, channel->count()));
  } catch (const runtime::RuntimeError& e) { cannot_join(e.what(), kLaunch); }
  const auto calls = std::make_shared<long>(0);
  if (!drills.empty()) channel = runtime::drilled(std::move(channel), std::move(drills), calls);
  auto out = std::make_shared<runtime::Processes>(std::move(channel), settings.timeout);
  out->count_calls(calls);
  if (!settings.drills.empty()) out->set_checked();
  std::string_view board_text = variable("SHARD_BOARD");
  if (const int fd = next_number(board_text); fd >= 0) {
    out->set_board(runtime::Board::of(fd, out->count(), out->index()));
    close(fd);
  }
  out->set_patience([](const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); });
  for (const char* name :
       {"SHARD_BOARD", "SHARD_SIZE", "SHARD_RANK", "SHARD_LINKS", "SHARD_COORDINATOR", "SHARD_TOKEN_FILE"})
    unsetenv(name);  // a program that the script's host starts is none of the job
  return out;
}

}  // namespace shard::repl
