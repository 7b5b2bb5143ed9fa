// Starting the processes of a job: on this machine as children, on others through ssh. If the launcher dies, the system
// kills its children, and those elsewhere see their standard input end.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "grammar/characters.h"
#include "interpreter/cli/command.h"
#include "interpreter/cli/launch/launch.h"

namespace shard::cli {
namespace {

void launch_failed(const char* what) {
  std::fprintf(stderr, "error: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

// One socket pair for every two processes: links[a][b] is a's end of the one to b.
std::vector<std::vector<int>> make_links(int count) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  std::vector<std::vector<int>> links(static_cast<std::size_t>(count),
                                      std::vector<int>(static_cast<std::size_t>(count), -1));
  for (std::size_t a = 0; a < links.size(); ++a)
    for (std::size_t b = a + 1; b < links.size(); ++b) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) launch_failed("cannot connect the processes");
      links[a][b] = pair[0], links[b][a] = pair[1];
    }
  return links;
}

std::string log_path(const LaunchJob& job, int rank, const char* ending) {
  return job.log_dir + "/process_" + std::to_string(rank) + ending;
}

// Of its machine's processors: which of as many parts as there are processes on it.
std::string share_of(const LaunchJob& job, int rank) {
  if (job.hosts.empty()) return std::to_string(rank) + "/" + std::to_string(job.count);
  const auto own = job.hosts.begin() + rank;
  return std::to_string(std::count(job.hosts.begin(), own, *own)) + "/" +
         std::to_string(std::count(job.hosts.begin(), job.hosts.end(), *own));
}

// What a process is told: variables, and over TCP the token through a pipe that it reads.
std::vector<std::pair<std::string, std::string>> variables_of(const LaunchJob& job, const Meeting& at, int rank,
                                                              const std::vector<int>& links,
                                                              const std::string& token_file) {
  std::vector<std::pair<std::string, std::string>> out = {{"SHARD_RANK", std::to_string(rank)},
                                                          {"SHARD_SIZE", std::to_string(job.count)},
                                                          {"SHARD_SHARE", share_of(job, rank)}};
  if (at.board >= 0) out.emplace_back("SHARD_BOARD", std::to_string(at.board));
  if (at.memory >= 0) out.emplace_back("SHARD_MEMORY", std::to_string(at.memory));
  if (!job.log_dir.empty() && job.hosts.empty()) out.emplace_back("SHARD_RECORD", log_path(job, rank, ".last"));
  if (job.tcp) {
    out.insert(out.end(), {{"SHARD_COORDINATOR", at.coordinator},
                           {"SHARD_TOKEN_FILE", token_file},
                           {"SHARD_START_TIMEOUT_MS", std::to_string(job.start_timeout.count())}});
    if (job.range.last > 0)
      out.emplace_back("SHARD_PORT_RANGE", std::to_string(job.range.first) + "-" + std::to_string(job.range.last));
    return out;
  }
  out.emplace_back("SHARD_LINKS", grammar::separated(links, ",", [](int fd) { return std::to_string(fd); }));
  return out;
}

std::string own_path(const char* link) {
  char path[4096];
  const ssize_t n = readlink(link, path, sizeof path);
  return {path, n > 0 ? static_cast<std::size_t>(n) : 0};
}

// The same folder and program there as here.
std::vector<std::string> remote_words(const LaunchJob& job, const Meeting& at, int rank) {
  std::string command = "cd " + shell_quoted(working_folder()) + " && exec env";
  for (const auto& [name, value] : variables_of(job, at, rank, {}, "/dev/stdin")) command += " " + name + "=" + value;
  command += " " + shell_quoted(program_path(job));
  for (std::size_t i = 1; i < job.words.size(); ++i) command += " " + shell_quoted(job.words[i]);
  return remote_command(job, rank, command);
}

struct Ends {  // of the pipes, on the child's side; -1: none
  int out, err, token;
};

// In the child: does not return.
[[noreturn]] void become(const LaunchJob& job, const Meeting& at, int rank, const std::vector<int>& links, Ends ends,
                         pid_t launcher) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(1);  // it died in between
  for (const int fd : links)
    if (fd >= 0) fcntl(fd, F_SETFD, 0);
  const bool elsewhere = !job.hosts.empty();
  if (ends.out < 0 && rank > 0) ends.out = open("/dev/null", O_WRONLY);
  if (ends.out >= 0) dup2(ends.out, STDOUT_FILENO);
  dup2(ends.err, STDERR_FILENO);
  if (rank > 0 || elsewhere) {
    const int in = elsewhere ? ends.token : open("/dev/null", O_RDONLY);
    if (in >= 0) dup2(in, STDIN_FILENO);
  }
  std::vector<std::string> words = job.words;
  std::string program = job.program;
  if (elsewhere) {
    words = remote_words(job, at, rank);
    program = words[0];
  } else {
    for (const int fd : {ends.token, at.board, at.memory})
      if (fd >= 0) fcntl(fd, F_SETFD, 0);
    for (const auto& [name, value] : variables_of(job, at, rank, links, "/dev/fd/" + std::to_string(ends.token)))
      setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  // A prompt may stand before the last process listens to signals, and Ctrl-C there is for the line alone.
  if (job.reads) std::signal(SIGINT, SIG_IGN);
  execvp(program.c_str(), argv.data());
  std::fprintf(stderr, "error: cannot start '%s': %s\n", program.c_str(), std::strerror(errno));
  _exit(127);
}

}  // namespace

std::string working_folder() { return own_path("/proc/self/cwd"); }

std::string program_path(const LaunchJob& job) {
  return job.program == "/proc/self/exe" ? own_path("/proc/self/exe") : job.program;
}

std::vector<std::string> remote_command(const LaunchJob& job, int rank, const std::string& there) {
  std::vector<std::string> out = parts_of(job.ssh, ' ');  // --ssh "ssh -p 2222"
  out.insert(out.end(), {job.hosts[static_cast<std::size_t>(rank)], there});
  return out;
}

std::vector<Child> start_all(const LaunchJob& job, const Meeting& at) {
  const std::vector<std::vector<int>> links =
      job.tcp ? std::vector<std::vector<int>>(static_cast<std::size_t>(job.count)) : make_links(job.count);
  const pid_t launcher = getpid();
  std::vector<Child> children(static_cast<std::size_t>(job.count));
  for (std::size_t i = 0; i < children.size(); ++i) {
    int out[2] = {-1, -1}, err[2], token[2] = {-1, -1};
    const bool heard = job.prefix || !job.log_dir.empty() || !job.hosts.empty();
    if (!job.log_dir.empty()) {
      const std::string path = log_path(job, static_cast<int>(i), ".log");
      children[i].log = std::fopen(path.c_str(), "ae");
      if (!children[i].log) launch_failed(("cannot write to '" + path + "'").c_str());
      std::setvbuf(children[i].log, nullptr, _IOLBF, BUFSIZ);
    }
    if ((heard && pipe2(out, O_CLOEXEC) != 0) || pipe2(err, O_CLOEXEC) != 0 ||
        (job.tcp && pipe2(token, O_CLOEXEC) != 0))
      launch_failed("cannot start processes");
    // Before there is a process, which may end at once: the pipe has room for it, and somebody who could read.
    if (job.tcp && write(token[1], at.token.data(), at.token.size()) < 0) launch_failed("cannot hand on the token");
    children[i].pid = fork();
    if (children[i].pid < 0) launch_failed("cannot start processes");
    if (children[i].pid == 0) become(job, at, static_cast<int>(i), links[i], {out[1], err[1], token[0]}, launcher);
    if (out[1] >= 0) close(out[1]);
    close(err[1]);
    children[i].out = out[0], children[i].err = err[0];
    if (!job.tcp) continue;
    close(token[0]);
    if (job.hosts.empty())
      close(token[1]);
    else
      children[i].in = token[1];
  }
  for (const auto& of : links)
    for (const int fd : of)
      if (fd >= 0) close(fd);
  return children;
}

}  // namespace shard::cli
