// Attending to the processes of a job: their output is handed on, the launcher ends with the first bad status, and
// nothing is left behind: who is left is asked to end (TERM), and killed 5 s later.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "grammar/characters.h"
#include "interpreter/cli/launch/launch.h"

namespace shard::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kLast = 2000;                      // bytes of what a process said last
constexpr auto kLastWords = std::chrono::seconds(2);     // the others notice by themselves that one has gone
constexpr auto kPatience = std::chrono::seconds(5);      // from TERM to KILL,
constexpr auto kGone = std::chrono::milliseconds(5800);  // and to KILL from the first failure at the latest

bool all_ended(const std::vector<Child>& children) {
  return std::all_of(children.begin(), children.end(), [](const Child& c) { return c.status.has_value(); });
}

// Whole lines of one process, each behind its number; or what process 0 says as it comes.
void print_lines(Child& c, std::size_t rank, bool prefix, bool ended) {
  const std::string who = prefix ? "[" + std::to_string(rank) + "] " : "";
  const bool shown = prefix || rank == 0;
  if (shown && !prefix) std::fwrite(c.line.data(), 1, c.line.size(), stdout);
  if (!prefix) c.line.clear();
  for (std::size_t end; (end = c.line.find('\n')) != std::string::npos; c.line.erase(0, end + 1))
    std::printf("%s%s\n", who.c_str(), c.line.substr(0, end).c_str());
  const std::string rest = ended ? std::exchange(c.line, {}) : "";
  if (!rest.empty()) std::printf("%s%s\n", who.c_str(), rest.c_str());
  std::fflush(stdout);
}

// What processes say, as it comes: of errors those of process 0; what others say besides is told at the end.
// False: nothing came.
bool hear(std::vector<Child>& children, bool prefix, int milliseconds) {
  std::vector<pollfd> fds;
  std::vector<std::pair<std::size_t, bool>> whose;
  for (std::size_t i = 0; i < children.size(); ++i)
    for (const bool out : {true, false})
      if (const int fd = out ? children[i].out : children[i].err; fd >= 0)
        fds.push_back({fd, POLLIN, 0}), whose.emplace_back(i, out);
  const bool any = poll(fds.data(), fds.size(), milliseconds) > 0;
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
      c.last += text;
      if (c.last.size() > 2 * kLast) c.last.erase(0, c.last.size() - kLast);
      if (c.log) std::fwrite(text.data(), 1, text.size(), c.log);
      if (!out && i == 0) std::fwrite(text.data(), 1, text.size(), stderr);
    } else {
      close(fds[k].fd);
      (out ? c.out : c.err) = -1;
    }
    if (out) print_lines(c, i, prefix, n <= 0);
  }
  return any;
}

// Texts that process 0 did not say, once each, with the processes that had them.
void tell_others(const std::vector<Child>& children) {
  std::map<std::string, std::vector<int>> texts;
  for (std::size_t i = 1; i < children.size(); ++i)
    if (!children[i].said.empty() && children[i].said != children[0].said)
      texts[children[i].said].push_back(static_cast<int>(i));
  for (const auto& [text, who] : texts)
    std::fprintf(stderr, "on process%s %s: %s", who.size() > 1 ? "es" : "", numbers(who).c_str(), text.c_str());
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

}  // namespace

std::string numbers(const std::vector<int>& list) {
  return grammar::separated(list, ", ", [](int i) { return std::to_string(i); });
}

Ended attend(std::vector<Child> children, const LaunchJob& job, const std::string& at, const std::function<int()>& stop,
             const Arrival& arrival) {
  const bool prefix = job.prefix;
  std::optional<int> first_bad;
  std::optional<Clock::time_point> failed, term, kill_at;
  const auto signal_all = [&](int signal) {
    for (Child& c : children)
      if (!c.status) kill(c.pid, signal), c.asked = true;
  };
  while (!all_ended(children)) {
    hear(children, prefix, 50);
    reap(children, first_bad, kill_at.has_value());
    // Nobody goes before all have come.
    if (job.tcp && !first_bad && !arrival.all() &&
        std::any_of(children.begin(), children.end(), [](const Child& c) { return c.status.has_value(); }))
      first_bad = 1;
    const auto now = Clock::now();
    if (const int signal = stop(); signal != 0 && !first_bad) first_bad = 128 + signal, term = now;
    if (arrival.broken && !term) first_bad = first_bad.value_or(1), term = now;
    if (first_bad && !failed) failed = now;
    if (first_bad && !term) term = now + kLastWords;
    if (term && now >= *term && !kill_at) {
      signal_all(SIGTERM);
      for (Child& c : children)
        if (c.in >= 0) close(std::exchange(c.in, -1));
      kill_at = std::min(now + kPatience, *failed + kGone);
    }
    if (kill_at && now >= *kill_at) signal_all(SIGKILL);
  }
  // What they had said is there to be read. Whoever they started may hold the other end for ever.
  const auto enough = Clock::now() + kLastWords;
  while (std::any_of(children.begin(), children.end(), [](const Child& c) { return c.out >= 0 || c.err >= 0; }))
    if (!hear(children, prefix, 50) || Clock::now() > enough) break;
  for (std::size_t i = 0; i < children.size(); ++i) {
    for (int* fd : {&children[i].out, &children[i].err})
      if (*fd >= 0) close(std::exchange(*fd, -1));
    print_lines(children[i], i, prefix, true);
  }
  std::vector<int> absent;
  if (job.tcp && !arrival.all()) {
    absent = tell_absent(children, job, at, arrival, stop() != 0);
    first_bad = first_bad.value_or(1);
  }
  tell_others(children);
  bool cut = false;
  for (Child& c : children)
    if (c.log) cut = std::ferror(c.log) != 0 || cut, cut = std::fclose(c.log) != 0 || cut;
  if (cut) std::fputs("error: not all of what processes said could be written to --log-dir\n", stderr);
  if (cut && !first_bad) first_bad = 1;
  return {first_bad.value_or(0), std::move(absent)};
}

}  // namespace shard::cli
