#include "interpreter/cli/test/test.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "interpreter/cli/signals.h"

namespace shard::cli {
namespace {

// A result as bytes: this, then its name and text.
struct Head {
  TestResult::Status status;
  double seconds;
  std::size_t name, text;
};

std::string bytes_of(const TestResult& r) {
  const Head head{r.status, r.seconds, r.name.size(), r.text.size()};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + r.name + r.text;
}

bool take(std::string_view& in, TestResult& r) {
  Head head;
  if (in.size() < sizeof head) return false;
  std::memcpy(&head, in.data(), sizeof head);
  if (in.size() - sizeof head < head.name + head.text) return false;
  r.status = head.status, r.seconds = head.seconds;
  r.name = in.substr(sizeof head, head.name), r.text = in.substr(sizeof head + head.name, head.text);
  in.remove_prefix(sizeof head + head.name + head.text);
  return true;
}

std::string read_all(int fd) {
  std::string out;
  char buffer[1 << 14];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  return out;
}

class Job {
 public:
  Job(TestScript script, const Settings& settings, const TestFilter& filter)
      : path_(script.path),
        printed_(memfd_create("printed", MFD_CLOEXEC)),
        results_(memfd_create("results", MFD_CLOEXEC)) {
    if (printed_ < 0 || results_ < 0)
      throw runtime::RuntimeError("io", std::string("no room for a process: ") + std::strerror(errno));
    flush_out();
    process_ = fork();
    if (process_ < 0) throw runtime::RuntimeError("io", std::string("cannot start a process: ") + std::strerror(errno));
    if (process_ > 0) return;
    dup2(printed_, STDOUT_FILENO);
    const int status = run_tests(std::move(script), settings, filter, [&](const TestResult& r) {
      if (!write_whole(results_, bytes_of(r))) _exit(1);  // at once: it stays known where the next test crashes
    });
    _exit(finish_out(status));
  }
  Job(const Job&) = delete;
  ~Job() {
    close(printed_);
    close(results_);
  }

  pid_t process() const { return process_; }
  // After its end: what it printed, then its results.
  int tell(int status, const std::function<void(TestResult)>& told) const {
    write_out(read_all(printed_));
    const std::string bytes = read_all(results_);
    std::string_view rest = bytes;
    for (TestResult r; take(rest, r); r = {}) {
      r.file = path_;
      told(std::move(r));
    }
    if (WIFEXITED(status)) return stopped(WEXITSTATUS(status)) ? WEXITSTATUS(status) : 0;
    const int signal = WTERMSIG(status);
    told({TestResult::Failed, path_, "", 0,
          path_ + ": the process ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")\n"});
    return 0;
  }

 private:
  std::string path_;
  int printed_, results_;
  pid_t process_ = -1;
};

}  // namespace

int run_test_jobs(std::vector<TestScript> scripts, int jobs, const Settings& settings, const TestFilter& filter,
                  const std::function<void(TestResult)>& told) {
  std::vector<std::unique_ptr<Job>> all(scripts.size());
  std::vector<std::optional<int>> ended(scripts.size());
  std::size_t started = 0, shown = 0;
  int running = 0, stopped_with = 0;
  while (shown < scripts.size()) {
    while (running < jobs && started < scripts.size() && !interrupted()) {
      all[started] = std::make_unique<Job>(std::move(scripts[started]), settings, filter);
      ++started;
      ++running;
    }
    if (shown == started) break;  // interrupted: the others are not begun
    int status = 0;
    const pid_t process = wait(&status);
    if (process < 0 && errno == EINTR) continue;  // the children have the signal too
    for (std::size_t i = 0; i < started; ++i)
      if (all[i] && all[i]->process() == process) ended[i] = status, --running;
    for (; shown < started && ended[shown]; ++shown) {
      if (const int s = all[shown]->tell(*ended[shown], told)) stopped_with = s;
      all[shown].reset();
    }
  }
  if (interrupted() && !stopped_with) stopped_with = terminated() ? 143 : 130;
  return stopped_with;
}

}  // namespace shard::cli
