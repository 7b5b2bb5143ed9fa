// Finding the other processes. `shard launch` gives a process a connected socket to each of them: its number in
// SHARD_RANK, how many there are in SHARD_SIZE, the descriptors in SHARD_LINKS; nobody else has the other ends, so
// there is nobody to be told from them. Where a launcher of a cluster started it, they talk through MPI. There is no
// silent way back to one process: who was started as one of four and does not find the others ends.
#include "interpreter/embed/join_processes.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "grammar/diagnostic.h"
#include "runtime/array/shape.h"

namespace shard::embed {
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

// Over sockets that are connected already, the one to process i at i. `memory`: a descriptor of what all of them see;
// -1: there is none.
std::unique_ptr<runtime::Channel> by_sockets(int rank, int size, const std::vector<int>& sockets, int memory,
                                             int devices) {
  if (size < 1 || rank < 0 || rank >= size || sockets.size() < static_cast<std::size_t>(size))
    cannot_join("this is process " + std::to_string(rank) + " of " + std::to_string(size) + ", with " +
                    std::to_string(sockets.size()) + " links",
                "`links` has a socket for each process, and anything in its own place");
  share_out(devices, size);
  for (int i = 0; i < size; ++i) {
    struct stat info {};
    const int fd = sockets[static_cast<std::size_t>(i)];
    if (i == rank) continue;
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode))
      cannot_join(
          "there are " + std::to_string(size) + " processes, and there is no link to process " + std::to_string(i),
          kLaunch);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  if (size == 1) return nullptr;
  auto channel = runtime::memory_channel(rank, sockets, memory);
  return channel ? std::move(channel) : runtime::socket_channel(rank, sockets);
}

std::unique_ptr<runtime::Channel> by_links(int devices) {
  std::string_view size_text = variable("SHARD_SIZE"), rank_text = variable("SHARD_RANK"),
                   links = variable("SHARD_LINKS"), memory_text = variable("SHARD_MEMORY");
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
  }
  const int memory = next_number(memory_text);
  auto channel = by_sockets(rank, size, sockets, memory, devices);
  if (memory >= 0) close(memory);
  return channel;
}

// Of the processors that its machine has for the job a process takes its share, "1/4" the second of four, so that none
// runs where another one does: woken by a message, two of them would else meet on one processor.
void take_processors(std::string_view share) {
  cpu_set_t all, own;
  const int index = next_number(share);
  if (!share.empty()) share.remove_prefix(1);
  const int count = next_number(share);
  if (index < 0 || count < 2 || index >= count || sched_getaffinity(0, sizeof all, &all) != 0) return;
  const int processors = CPU_COUNT(&all);
  const int first = index * processors / count, behind = std::max(first + 1, (index + 1) * processors / count);
  CPU_ZERO(&own);
  for (int cpu = 0, i = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    if (i >= first && i < behind) CPU_SET(cpu, &own);
    ++i;
  }
  sched_setaffinity(0, sizeof own, &own);
}

// Where the module for MPI may lie: beside the program, or where the program or the library was installed.
std::vector<std::string> module_places() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::string folder = program.substr(0, program.rfind('/') + 1);
  std::vector<std::string> out = {folder + "libshard_mpi.so", folder + "../" SHARD_LIBDIR "/shard/libshard_mpi.so"};
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&module_places), &library) != 0 && library.dli_fname) {
    const std::string here = library.dli_fname;
    out.push_back(here.substr(0, here.rfind('/') + 1) + "shard/libshard_mpi.so");
  }
  out.emplace_back("libshard_mpi.so");
  return out;
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
    return channel;
  }
  return nullptr;
}

}  // namespace

void cannot_join(std::string why, std::string fix) {
  throw grammar::Error("process", {}, std::move(why), {std::move(fix)});
}

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

void share_out(int devices, int size) {
  if (devices % size != 0)
    cannot_join(std::to_string(devices) + " devices cannot be shared out to " + std::to_string(size) + " processes",
                "take " + std::to_string((devices / size + 1) * size) + " devices, a multiple of them");
}

Joined join(const Group& group) {
  const bool launched = !variable("SHARD_SIZE").empty(), tcp = !variable("SHARD_COORDINATOR").empty();
  if (!group.linked && launched && tcp && !group.by_tcp)
    cannot_join("this program cannot find the others over TCP", "start it on one machine, or connect them: `links`");
  std::unique_ptr<runtime::Channel> channel;
  if (group.linked)
    channel = by_sockets(group.linked->rank, group.linked->size, group.linked->sockets, -1, group.devices);
  else if (launched)
    channel = tcp ? group.by_tcp(group.devices) : by_links(group.devices);
  else
    channel = by_mpi(group.devices);
  if (!channel) return {};
  const auto calls = std::make_shared<long>(0);
  if (!group.faults.empty()) {
    std::vector<runtime::Fault> faults;
    try {
      for (const std::string& text : group.faults) faults.push_back(runtime::parse_fault(text, channel->count()));
    } catch (const runtime::RuntimeError& e) { cannot_join(e.what(), kLaunch); }
    channel = runtime::with_faults(std::move(channel), std::move(faults), calls);
  }
  Joined out{std::make_shared<runtime::Processes>(std::move(channel), group.timeout), !group.linked && !launched};
  out.processes->count_calls(calls);
  if (!group.faults.empty()) out.processes->set_checked();
  if (group.linked) return out;
  std::string_view board_text = variable("SHARD_BOARD");
  if (const int fd = next_number(board_text); fd >= 0) {
    auto board = runtime::ProgressBoard::of(fd, out.processes->count(), out.processes->index());
    close(fd);
    if (board) board->own().joined = 1;
    out.processes->set_board(std::move(board));
  }
  out.processes->set_record(std::string(variable("SHARD_RECORD")));
  take_processors(variable("SHARD_SHARE"));
  for (const char* name : {"SHARD_BOARD", "SHARD_MEMORY", "SHARD_RECORD", "SHARD_SIZE", "SHARD_RANK", "SHARD_LINKS",
                           "SHARD_SHARE", "SHARD_COORDINATOR", "SHARD_TOKEN_FILE"})
    unsetenv(name);  // a program that the script's host starts is none of the job
  return out;
}

}  // namespace shard::embed
