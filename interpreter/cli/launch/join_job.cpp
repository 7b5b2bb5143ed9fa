// The processes of a job as the `shard` program joins them: over TCP too, where the launcher waits (SHARD_COORDINATOR,
// and a token that is read from SHARD_TOKEN_FILE); one prints, and errors of the others say whose they are.
#include "interpreter/embed/join_processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "interpreter/cli/session.h"
#include "runtime/channel/tcp/progress_reports.h"
#include "runtime/channel/tcp/rendezvous.h"
#include "runtime/channel/tcp/served_values.h"

namespace shard::cli {
namespace {

using embed::cannot_join;
using embed::kLaunch;
using embed::next_number;
using embed::variable;

runtime::Ports ports_of_job;  // where its processes may wait; the environment says so until they have joined

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

// `launcher`: becomes the connection to it.
std::unique_ptr<runtime::Channel> by_tcp(int devices, int& launcher) {
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
  embed::share_out(devices, job.size);
  if (!ports.empty()) {
    job.ports.first = next_number(ports);
    ports.remove_prefix(std::min<std::size_t>(1, ports.size()));
    job.ports.last = next_number(ports);
  }
  ports_of_job = job.ports;
  job.token = read_token(std::string(variable("SHARD_TOKEN_FILE")));
  job.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit > 0 ? limit : 60'000);
  const int rank = job.rank;
  try {
    const runtime::Sockets sockets = runtime::sockets_by_tcp(job);
    launcher = sockets.launcher;
    return job.size == 1 ? nullptr : runtime::socket_channel(rank, sockets.links);
  } catch (const runtime::RuntimeError& e) { cannot_join(e.what(), kLaunch); }
}

// On several machines there is no board that all see: each has one of his own, and the launcher hands round what stands
// there.
void mirror(runtime::Processes& processes, int launcher) {
  const int count = processes.count(), index = processes.index(), fd = runtime::ProgressBoard::make(count);
  auto board = runtime::ProgressBoard::of(fd, count, index), same = runtime::ProgressBoard::of(fd, count, index);
  close(fd);
  if (!board || !same) return;
  board->lag = runtime::report_period(count);
  processes.set_board(std::move(board));
  runtime::report_progress(launcher, std::move(same), count, index);
}

}  // namespace

std::shared_ptr<runtime::Processes> joined_processes(const Settings& settings) {
  try {
    const bool has_board = !variable("SHARD_BOARD").empty();
    int launcher = -1;
    const embed::Joined joined = embed::join(
        {settings.takes_all_devices() ? 0 : settings.devices, settings.timeout, settings.faults, {}, [&](int devices) {
           return by_tcp(devices, launcher);
         }});
    if (!joined.processes) return nullptr;
    if (launcher >= 0 && !has_board)
      mirror(*joined.processes, launcher);
    else if (launcher >= 0)
      close(launcher);
    if (joined.by_mpi && joined.processes->index() > 0) {  // one process prints, as one alone does
      const int nothing = open("/dev/null", O_WRONLY);
      if (nothing >= 0) dup2(nothing, STDOUT_FILENO);
      tell_as("on process " + std::to_string(joined.processes->index()) + ": ");
    }
    joined.processes->set_patience([](const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); });
    return joined.processes;
  } catch (const grammar::Error& e) {
    std::fprintf(stderr, "error: %s\nnote: %s\n", e.diagnostic.message.c_str(), e.diagnostic.notes[0].c_str());
    std::exit(2);
  }
}

std::shared_ptr<runtime::KeyValues> values_of_job(runtime::Processes& processes, bool one_machine) {
  return runtime::served_values(processes, one_machine, ports_of_job, std::chrono::seconds(60));
}

}  // namespace shard::cli
