// shard launch: the same script in several processes, of this machine or of several. The command line becomes a job;
// over TCP the launcher is the place where its processes find each other.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "grammar/characters.h"
#include "interpreter/cli/command.h"
#include "interpreter/cli/launch/launch.h"
#include "runtime/channel/channel.h"
#include "runtime/channel/fault_injection.h"
#include "runtime/channel/progress_board.h"
#include "runtime/channel/tcp/handshake.h"
#include "runtime/channel/tcp/progress_reports.h"

namespace shard::cli {
namespace {

volatile std::sig_atomic_t asked_to_end = 0;
constexpr auto kLeaving = std::chrono::seconds(5);

std::string digits_of(const sockaddr* address) {
  char text[NI_MAXHOST] = {};
  const socklen_t size = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  return getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

// "eth0": its first address; an address is one already. Empty: there is no such interface.
std::string address_of_interface(const std::string& name) {
  in6_addr parsed{};
  if (inet_pton(AF_INET, name.c_str(), &parsed) == 1 || inet_pton(AF_INET6, name.c_str(), &parsed) == 1) return name;
  ifaddrs* all = nullptr;
  std::string out;
  if (getifaddrs(&all) != 0) return out;
  for (const ifaddrs* i = all; i && out.empty(); i = i->ifa_next)
    if (i->ifa_addr && name == i->ifa_name && (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6))
      out = digits_of(i->ifa_addr);
  freeifaddrs(all);
  return out;
}

// The address by which this machine reaches `host`: a datagram socket that is connected sends nothing.
std::string address_towards(const std::string& host) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_DGRAM;
  std::string out;
  if (getaddrinfo(host.c_str(), "9", &wanted, &found) != 0) return out;
  for (const addrinfo* i = found; i && out.empty(); i = i->ai_next) {
    const int s = socket(i->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (s >= 0 && connect(s, i->ai_addr, i->ai_addrlen) == 0 &&
        getsockname(s, reinterpret_cast<sockaddr*>(&own), &size) == 0)
      out = digits_of(reinterpret_cast<sockaddr*>(&own));
    if (s >= 0) close(s);
  }
  freeaddrinfo(found);
  return out;
}

// Where each process runs, from "a,b" or from a file with a host a line ("node1 slots=4"; `#` begins a comment).
std::optional<std::string> read_hosts(const Arguments& a, LaunchJob& job) {
  std::vector<std::string> hosts;
  if (const std::string list = a.value("--hosts"); !list.empty()) {
    hosts = parts_of(list, ',');
  } else if (const std::string path = a.value("--hostfile"); !path.empty()) {
    std::ifstream file(path);
    if (!file) return "cannot read the hosts of '" + path + "'";
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line.substr(0, line.find('#')));
      std::string host, slots;
      if (!(words >> host)) continue;
      words >> slots;
      const auto many = slots.starts_with("slots=") ? number_of(slots.substr(6), 1, 64) : std::optional<int>(1);
      if (!many) return "'" + path + "' says '" + slots + "', which is no number of processes";
      hosts.insert(hosts.end(), static_cast<std::size_t>(*many), host);
    }
  } else {
    return std::nullopt;
  }
  if (hosts.empty()) return "no hosts are named";
  const auto count = static_cast<std::size_t>(job.count);
  if (count % hosts.size() != 0)
    return std::to_string(job.count) + " processes cannot be shared out to " + std::to_string(hosts.size()) + " hosts";
  for (std::size_t i = 0; i < count; ++i) job.hosts.push_back(hosts[i / (count / hosts.size())]);
  return std::nullopt;
}

std::optional<std::string> read_ports(const Arguments& a, LaunchJob& job) {
  if (a.values.contains("--port")) {
    const auto port = number_of(a.value("--port"), 0, 65535);
    if (!port) return "--port takes a port, 0 to 65535, not '" + a.value("--port") + "'";
    job.port = {*port, *port};
  }
  if (const std::string range = a.value("--port-range"); !range.empty()) {
    const std::size_t dash = range.find('-');
    const auto first = number_of(range.substr(0, dash), 1, 65535);
    const auto last = dash == std::string::npos ? first : number_of(range.substr(dash + 1), 1, 65535);
    if (!first || !last || *last < *first) return "--port-range takes A-B, not '" + range + "'";
    job.port = job.range = {*first, *last};
  }
  return std::nullopt;
}

// The transport: memory and Unix sockets on one machine, TCP where hosts or ports are named. Gives what is wrong with
// the options.
std::optional<std::string> read_transport(const Arguments& a, LaunchJob& job) {
  if (auto wrong = read_hosts(a, job)) return wrong;
  if (auto wrong = read_ports(a, job)) return wrong;
  const std::string transport = a.value("--transport");
  job.tcp =
      transport == "tcp" || !job.hosts.empty() || a.values.contains("--port") || a.values.contains("--port-range");
  if (transport == "mpi")
    return "jobs of MPI are started by MPI: `mpirun -n " + std::to_string(job.count) + " shard run ...`";
  if (!transport.empty() && transport != "unix" && transport != "tcp")
    return "--transport takes unix or tcp, not '" + transport + "'";
  if (transport == "unix" && job.tcp) return "Unix sockets lead to no other host and have no ports: --transport tcp";
  if (a.values.contains("--ssh")) job.ssh = a.value("--ssh");
  if (a.values.contains("--start-timeout")) {
    const auto time = time_of(a.value("--start-timeout"));
    if (!time) return "--start-timeout takes a time such as 60s, not '" + a.value("--start-timeout") + "'";
    job.start_timeout = *time;
  }
  if (const std::string name = a.value("--interface"); !name.empty()) {
    job.address = address_of_interface(name);
    if (job.address.empty()) return "this machine has no interface '" + name + "'";
  } else if (!job.hosts.empty()) {
    job.address = address_towards(job.hosts[0]);
    if (job.address.empty())
      return "there is no way from here to the host '" + job.hosts[0] +
             "': it is no name that this machine knows. If only the command of --ssh knows it, say by what the hosts "
             "reach this machine: --interface eth0, or an address";
  }
  return std::nullopt;
}

// A program of the user's own, which joins by Options::processes.
bool is_program(const std::string& file) {
  struct stat info {};
  return !file.ends_with(".shard") && stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         access(file.c_str(), X_OK) == 0;
}

std::vector<std::string> child_words(const Arguments& a, const Settings& s) {
  if (is_program(a.words.at(0))) {
    std::vector<std::string> out = {a.words[0]};
    out.insert(out.end(), s.args.begin(), s.args.end());
    return out;
  }
  std::vector<std::string> out = {"shard"};
  if (a.words[0] == "repl")
    out.emplace_back("repl");
  else
    out.insert(out.end(), {"run", a.words[0]});
  out.insert(out.end(), {"--timeout", std::to_string(s.timeout.count()) + "ms"});
  if (!s.takes_all_devices()) out.insert(out.end(), {"--devices", std::to_string(s.devices)});
  if (!s.engine.empty()) out.insert(out.end(), {"--engine", s.engine});
  if (a.has("--engine-process")) out.emplace_back("--engine-process");
  for (const std::string& fault : s.faults) out.insert(out.end(), {"--fault", fault});
  if (s.exact) out.emplace_back("--exact");
  if (s.debug_nans) out.emplace_back("--debug-nans");
  if (s.deny_warnings) out.emplace_back("--deny-warnings");
  for (const std::string& code : s.allow) out.insert(out.end(), {"--allow", code});
  for (const auto& [name, value] : s.set) out.insert(out.end(), {"--set", name + "=" + value});
  if (!s.args.empty()) out.emplace_back("--");
  out.insert(out.end(), s.args.begin(), s.args.end());
  return out;
}

// On one machine, where the processes have ended well: a program of the user's own may never have joined.
bool all_joined(const LaunchJob& job, int board_fd) {
  const auto board = job.count > 1 ? runtime::ProgressBoard::of(board_fd, job.count, 0) : nullptr;
  std::vector<int> absent;
  for (int i = 0; board && i < job.count; ++i)
    if ((*board)[i].joined == 0) absent.push_back(i);
  if (absent.empty()) return true;
  std::fprintf(stderr,
               "error: process %s ended and never joined the job: each ran as if it were alone\n"
               "note: a program joins by an engine with `Options::processes` (shard.h)\n",
               numbers(absent).c_str());
  return false;
}

// Starts the job and attends to it; over TCP its processes come together meanwhile, in a thread.
Ended run_job(const LaunchJob& job) {
  // Ctrl-C in a loop that reads is for what runs there, which gets it from the terminal too.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(
        signal, signal == SIGINT && job.reads ? [](int) {} : [](int which) { asked_to_end = which; });
  const auto stop = [] { return static_cast<int>(asked_to_end); };
  std::atomic<bool> over = false, apart = false;
  std::vector<int> left;  // who is still there in the end
  Arrival arrival(job.count);
  Meeting at;
  if (job.hosts.empty()) at.board = runtime::ProgressBoard::make(job.count);
  if (!job.tcp) at.memory = runtime::make_channel_memory(job.count);
  const auto close_shared = [&](Ended ended) {
    for (const int fd : {at.board, at.memory})
      if (fd >= 0) close(fd);
    return ended;
  };
  if (!job.tcp) {
    Ended ended = attend(start_all(job, at), job, "", stop, arrival);
    if (ended.status == 0 && !all_joined(job, at.board)) ended.status = 1;
    return close_shared(std::move(ended));
  }
  at.token = runtime::new_token();
  runtime::Coordinator coordinator(job.address, job.port, job.count, at.token);
  const bool six = job.address.find(':') != std::string::npos;
  at.coordinator = (six ? "[" + job.address + "]" : job.address) + ":" + std::to_string(coordinator.port());
  auto children = start_all(job, at);
  std::thread meeting([&] {
    const auto missing = [](const std::vector<int>& who) {
      std::fprintf(stderr, "waiting for process%s %s\n", who.size() > 1 ? "es" : "", numbers(who).c_str());
    };
    const auto stranger = [](const std::string& from) {
      std::fprintf(stderr, "warning: somebody at %s who does not belong to this job was refused\n", from.c_str());
    };
    const auto came = [&](int rank) { arrival.came[static_cast<std::size_t>(rank)] = true; };
    try {
      const auto links =
          coordinator.bring_together(std::chrono::steady_clock::now() + job.start_timeout,
                                     {missing, stranger, [&] { return over || asked_to_end != 0; }, came});
      left = runtime::hand_boards_round(links, [&] { return over.load(); });
    } catch (const runtime::RuntimeError& e) {
      if (arrival.all()) std::fprintf(stderr, "error: %s\n", e.what());
      arrival.broken = true;
    }
    apart = true;
  });
  Ended ended = attend(std::move(children), job, at.coordinator, stop, arrival);
  // The commands have ended; what they started elsewhere has to have, too.
  const auto until = std::chrono::steady_clock::now() + kLeaving;
  while (ended.status == 0 && !apart && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  over = true;
  meeting.join();
  if (ended.status == 0 && !left.empty()) {
    std::fprintf(stderr,
                 "error: process %s still runs, and the command that started it has ended\n"
                 "note: `--ssh` takes a command that ends when what it runs there does, as ssh\n",
                 numbers(left).c_str());
    ended.status = 1;
  }
  return close_shared(std::move(ended));
}

// Hosts of which a process did not come are left out of the job, which has fewer devices then. False: too few are left.
bool leave_out(LaunchJob& job, Settings& settings, const std::vector<int>& absent) {
  if (job.at_least == 0 || absent.empty()) return true;
  std::set<std::string> gone;
  for (const int i : absent) gone.insert(job.hosts[static_cast<std::size_t>(i)]);
  std::vector<std::string> there;
  for (const std::string& host : job.hosts)
    if (!gone.contains(host)) there.push_back(host);
  const auto left = static_cast<int>(there.size());
  if (left < job.at_least) {
    std::fprintf(stderr, "error: without %s %d processes are left, and --min-processes wants %d\n",
                 grammar::separated(gone, ", ").c_str(), left, job.at_least);
    return false;
  }
  if (!settings.takes_all_devices()) settings.devices = settings.devices / job.count * left;
  job.count = left;
  job.hosts = std::move(there);
  std::fprintf(stderr, "note: %s left out: the job goes on with %d processes\n",
               (grammar::separated(gone, ", ") + (gone.size() > 1 ? " are" : " is")).c_str(), left);
  return true;
}

int launch(const Arguments& a) {
  LaunchJob job;
  const std::string n = a.value("-n"), output = a.value("--output");
  const std::optional<int> count = number_of(n, 1, 64);
  if (!count) return misused("-n takes how many processes there shall be, 1 to 64, not '" + n + "'");
  job.count = *count;
  if (a.words[0] == "-")
    return misused("standard input can be read once, and each process reads the script: write it to a file");
  if (!a.settings.takes_all_devices() && a.settings.devices % job.count != 0)
    return misused(std::to_string(a.settings.devices) + " devices cannot be shared out to " + n +
                   " processes: --devices takes a multiple of " + n);
  const auto settings = process_settings(a);
  if (!settings) return 2;
  if (!output.empty() && output != "all") return misused("--output takes `all`, not '" + output + "'");
  job.prefix = output == "all";
  if (const auto wrong = read_transport(a, job)) return misused(*wrong);
  if (a.values.contains("--restarts")) {
    const auto restarts = number_of(a.value("--restarts"), 0, 1'000'000);
    if (!restarts) return misused("--restarts takes how often, not '" + a.value("--restarts") + "'");
    job.restarts = *restarts;
  }
  if (a.values.contains("--min-processes")) {
    const auto least = number_of(a.value("--min-processes"), 1, job.count);
    if (!least)
      return misused("--min-processes takes 1 to " + n + ", the number of -n, not '" + a.value("--min-processes") +
                     "'");
    if (job.hosts.empty() || job.restarts == 0)
      return misused(
          "--min-processes says how many are enough where a host does not come again: it takes --restarts "
          "and --hosts or --hostfile");
    job.at_least = *least;
  }
  job.log_dir = a.value("--log-dir");
  if (std::error_code failed;
      !job.log_dir.empty() && (std::filesystem::create_directories(job.log_dir, failed), failed))
    return misused("cannot make the folder '" + job.log_dir + "': " + failed.message());
  try {
    for (const std::string& fault : settings->faults) runtime::parse_fault(fault, job.count);
  } catch (const runtime::RuntimeError& e) { return misused(e.what()); }
  job.words = child_words(a, *settings);
  job.reads = a.words[0] == "repl";
  if (is_program(a.words[0])) job.program = std::filesystem::absolute(a.words[0]).string();
  Ended ended = run_job(job);
  Settings again = *settings;  // a fault is over once its job has failed
  again.faults.clear();
  for (int i = 1; ended.status != 0 && i <= job.restarts && asked_to_end == 0; ++i) {
    if (!leave_out(job, again, ended.absent)) break;
    job.words = child_words(a, again);
    std::fprintf(stderr, "the job ended with status %d: restart %d of %d\n", ended.status, i, job.restarts);
    ended = run_job(job);
  }
  return ended.status;
}

}  // namespace

Command launch_command() {
  return {
      "launch",
      "Run a script in several processes, of this machine or of several, which share out the devices",
      {{"file", "The script, `repl`, or a program that embeds Shard", Option::Word, true},
       {"-n", "How many processes", Option::Value, true},
       kEngine,
       kEngineProcess,
       kTimeout,
       kFault,
       {"--output", "all: lines of every process, each after its number", Option::Value},
       {"--transport", "unix or tcp; on one machine unix by default", Option::Value},
       {"--hosts", "a,b: where processes run, as many on each", Option::Value},
       {"--hostfile", "The same from a file: a host a line, `node1 slots=4`", Option::Value},
       {"--ssh", "The command that reaches them: ssh", Option::Value},
       {"--interface", "What others reach this machine by: eth0, or an address", Option::Value},
       {"--port", "Where the launcher waits for them; 0: any", Option::Value},
       {"--port-range", "A-B: where all of them wait", Option::Value},
       {"--start-timeout", "How long all may take to come: 60s", Option::Value},
       {"--restarts", "How often a job that failed is started again, to go on from its last checkpoint", Option::Value},
       {"--min-processes", "How many are enough where a host does not come again: restarts leave it out",
        Option::Value},
       {"--log-dir",
        "A folder: all that each process says, in process_0.log and so on; of a job that fails also its last 64 "
        "collectives, in process_0.last",
        Option::Value}},
      true,
      launch};
}

}  // namespace shard::cli
