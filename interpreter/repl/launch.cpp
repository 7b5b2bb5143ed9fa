// shard launch: the same script in several processes of this machine. The launcher starts them with a socket between
// every two, hands their output on, ends with the first bad status, and leaves nothing behind: what is left is asked to
// end (TERM), and killed 5 s later; if the launcher itself dies, the system kills them.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>

#include "interpreter/repl/command.h"

namespace shard::repl {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLastWords = std::chrono::seconds(2);  // the others notice by themselves that one has gone
constexpr auto kPatience = std::chrono::seconds(5);   // from TERM to KILL

volatile std::sig_atomic_t asked_to_end = 0;

struct Child {
  pid_t pid = 0;
  int out = -1, err = -1;  // pipes; -1 once they have ended. `out`: where lines get a prefix
  std::string line, said;  // of out: begun; of err: all
  std::optional<int> status;
};

bool all_ended(const std::vector<Child>& children) {
  return std::all_of(children.begin(), children.end(), [](const Child& c) { return c.status.has_value(); });
}

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

struct LaunchJob {
  std::vector<std::string> words;  // of the children
  int count = 0;
  bool prefix = false;
};

// In the child: does not return.
[[noreturn]] void become(const LaunchJob& job, int rank, const std::vector<int>& links, int out, int err,
                         pid_t launcher) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(1);  // it died in between
  std::string ends;
  for (const int fd : links) {
    if (fd >= 0) fcntl(fd, F_SETFD, 0);
    ends += (ends.empty() ? "" : ",") + std::to_string(fd);
  }
  setenv("SHARD_RANK", std::to_string(rank).c_str(), 1);
  setenv("SHARD_SIZE", std::to_string(job.count).c_str(), 1);
  setenv("SHARD_LINKS", ends.c_str(), 1);
  if (out < 0 && rank > 0) out = open("/dev/null", O_WRONLY);
  if (out >= 0) dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (rank > 0) {
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  }
  std::vector<char*> argv;
  for (const std::string& w : job.words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  _exit(127);
}

std::vector<Child> start_all(const LaunchJob& job) {
  const std::vector<std::vector<int>> links = make_links(job.count);
  const pid_t launcher = getpid();
  std::vector<Child> children(static_cast<std::size_t>(job.count));
  for (std::size_t i = 0; i < children.size(); ++i) {
    int out[2] = {-1, -1}, err[2];
    if ((job.prefix && pipe2(out, O_CLOEXEC) != 0) || pipe2(err, O_CLOEXEC) != 0)
      launch_failed("cannot start processes");
    children[i].pid = fork();
    if (children[i].pid < 0) launch_failed("cannot start processes");
    if (children[i].pid == 0) become(job, static_cast<int>(i), links[i], out[1], err[1], launcher);
    if (out[1] >= 0) close(out[1]);
    close(err[1]);
    children[i].out = out[0], children[i].err = err[0];
  }
  for (const auto& of : links)
    for (const int fd : of)
      if (fd >= 0) close(fd);
  return children;
}

// Whole lines of one process, each behind its number.
void print_lines(Child& c, std::size_t rank, bool ended) {
  for (std::size_t end; (end = c.line.find('\n')) != std::string::npos; c.line.erase(0, end + 1))
    std::printf("[%zu] %s\n", rank, c.line.substr(0, end).c_str());
  if (ended && !c.line.empty()) std::printf("[%zu] %s\n", rank, std::exchange(c.line, {}).c_str());
  std::fflush(stdout);
}

// What processes say, as it comes: of errors those of process 0; what others say besides is told at the end.
void hear(std::vector<Child>& children, int milliseconds) {
  std::vector<pollfd> fds;
  std::vector<std::pair<std::size_t, bool>> whose;
  for (std::size_t i = 0; i < children.size(); ++i)
    for (const bool out : {true, false})
      if (const int fd = out ? children[i].out : children[i].err; fd >= 0)
        fds.push_back({fd, POLLIN, 0}), whose.emplace_back(i, out);
  poll(fds.data(), fds.size(), milliseconds);
  for (std::size_t k = 0; k < fds.size(); ++k) {
    if (fds[k].revents == 0) continue;
    auto [i, out] = whose[k];
    Child& c = children[i];
    char buffer[1 << 14];
    const ssize_t n = read(fds[k].fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) {
      const std::string_view text(buffer, static_cast<std::size_t>(n));
      (out ? c.line : c.said) += text;
      if (!out && i == 0) std::fwrite(text.data(), 1, text.size(), stderr);
    } else {
      close(fds[k].fd);
      (out ? c.out : c.err) = -1;
    }
    if (out) print_lines(c, i, n <= 0);
  }
}

// Texts that process 0 did not say, once each, with the processes that had them.
void tell_others(const std::vector<Child>& children) {
  std::map<std::string, std::vector<std::size_t>> texts;
  for (std::size_t i = 1; i < children.size(); ++i)
    if (!children[i].said.empty() && children[i].said != children[0].said) texts[children[i].said].push_back(i);
  for (const auto& [text, who] : texts) {
    std::string list;
    for (const std::size_t i : who) list += (list.empty() ? "" : ", ") + std::to_string(i);
    std::fprintf(stderr, "on process%s %s: %s", who.size() > 1 ? "es" : "", list.c_str(), text.c_str());
  }
}

// Takes note of who has ended; gives the first bad status. One that a signal ended, which was not the launcher's, comes
// before those that end because of it and may be seen to end sooner.
void reap(std::vector<Child>& children, std::optional<int>& first_bad, bool signalled) {
  for (std::size_t i = 0; i < children.size(); ++i) {
    Child& c = children[i];
    int status = 0;
    if (c.status || waitpid(c.pid, &status, WNOHANG) != c.pid) continue;
    c.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    const bool by_signal = WIFSIGNALED(status) && !signalled;
    if (by_signal)
      std::fprintf(stderr, "error: process %zu was ended by a signal: %s\n", i, strsignal(WTERMSIG(status)));
    if (*c.status != 0 && (!first_bad || (by_signal && *first_bad < 128))) first_bad = c.status;
  }
}

int attend(std::vector<Child> children) {
  std::optional<int> first_bad;
  std::optional<Clock::time_point> term, kill_at;
  const auto signal_all = [&](int signal) {
    for (const Child& c : children)
      if (!c.status) kill(c.pid, signal);
  };
  while (!all_ended(children)) {
    hear(children, 50);
    reap(children, first_bad, kill_at.has_value());
    const auto now = Clock::now();
    if (asked_to_end != 0 && !first_bad) first_bad = 128 + asked_to_end, term = now;
    if (first_bad && !term) term = now + kLastWords;
    if (term && now >= *term && !kill_at) {
      signal_all(SIGTERM);
      kill_at = now + kPatience;
    }
    if (kill_at && now >= *kill_at) signal_all(SIGKILL);
  }
  while (std::any_of(children.begin(), children.end(), [](const Child& c) { return c.out >= 0 || c.err >= 0; }))
    hear(children, 50);
  tell_others(children);
  return first_bad.value_or(0);
}

int misused(const std::string& why) {
  std::fprintf(stderr, "error: %s\n", why.c_str());
  return 2;
}

int launch(const Arguments& a) {
  LaunchJob job;
  const std::string n = a.value("-n"), output = a.value("--output");
  const std::optional<int> count = number_of(n, 1, 64);
  if (!count) return misused("-n takes how many processes there shall be, 1 to 64, not '" + n + "'");
  job.count = *count;
  if (a.settings.devices % job.count != 0)
    return misused(std::to_string(a.settings.devices) + " devices cannot be shared out to " + n +
                   " processes: --devices takes a multiple of " + n);
  const auto settings = with_timeout(a);
  if (!settings) return 2;
  if (!output.empty() && output != "all") return misused("--output takes `all`, not '" + output + "'");
  job.prefix = output == "all";
  job.words = {"shard",
               "run",
               a.words.at(0),
               "--devices",
               std::to_string(a.settings.devices),
               "--timeout",
               std::to_string(settings->timeout.count()) + "ms"};
  if (a.settings.exact) job.words.emplace_back("--exact");
  if (a.settings.debug_nans) job.words.emplace_back("--debug-nans");
  if (a.settings.deny_warnings) job.words.emplace_back("--deny-warnings");
  for (const std::string& code : a.settings.allow) job.words.insert(job.words.end(), {"--allow", code});
  for (const auto& [name, value] : a.settings.set) job.words.insert(job.words.end(), {"--set", name + "=" + value});
  if (!a.settings.args.empty()) job.words.emplace_back("--");
  job.words.insert(job.words.end(), a.settings.args.begin(), a.settings.args.end());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, [](int which) { asked_to_end = which; });
  return attend(start_all(job));
}

}  // namespace

Command launch_command() {
  return {"launch",
          "Run a script in several processes of this machine, which share out the devices",
          {{"file", "The script", Option::Word, true},
           {"-n", "How many processes", Option::Value, true},
           kTimeout,
           {"--output", "all: lines of every process, each behind its number", Option::Value}},
          true,
          launch};
}

}  // namespace shard::repl
