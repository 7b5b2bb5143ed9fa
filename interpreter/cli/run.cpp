// shard run: a script from its first line to its last, or the words of -e; with --engine-process in a process of its
// own, so that a plug-in that ends its process ends that one: this one tells which, and where the script was.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpreter/cli/cost/profile.h"
#include "interpreter/cli/repl/repl.h"
#include "runtime/channel/processes.h"

namespace shard::cli {
namespace {

// Called in the new process before the plug-in is entered: "train.shard:12".
using Entering = std::function<void(const std::string& where)>;

constexpr std::size_t kSharedPage = 4096;

int outcome(int signal, const char* where) {
  if (signal == SIGINT || signal == SIGTERM || signal == SIGKILL || signal == SIGHUP || signal == SIGPIPE)
    return 128 + signal;  // somebody wanted that
  std::fprintf(stderr, "error: the plug-in ended its process (%s)%s%s; what it said stands above\n", strsignal(signal),
               *where ? ", called at " : ", before a script ran", where);
  return 1;
}

// The exit status of `body`, which runs in a new process; 1, and told, where a fault ended that.
int run_apart(const std::function<int(const Entering&)>& body) {
  void* page = mmap(nullptr, kSharedPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t parent = getpid(), child = page == MAP_FAILED ? -1 : fork();
  if (child < 0) {
    std::fprintf(stderr, "error: cannot start a process: %s\n", std::strerror(errno));
    return 1;
  }
  char* where = static_cast<char*>(page);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died in between
    const int status = body([where](const std::string& place) {
      std::snprintf(where, kSharedPage, "%s", place.c_str());
      flush_out();  // what was printed before it, also where it ends here
    });
    flush_out();
    if (work_is_left()) _exit(status);
    std::exit(status);
  }
  std::signal(SIGINT, SIG_IGN);  // the terminal sends it to both
  static volatile std::sig_atomic_t whom;
  whom = child;
  for (const int s : {SIGTERM, SIGHUP}) std::signal(s, [](int which) { kill(whom, which); });
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFSIGNALED(status) ? outcome(WTERMSIG(status), where) : WEXITSTATUS(status);
}

int run(const Arguments& a) {
  const bool inline_code = a.values.contains("-e");
  if (inline_code == !a.words.empty())
    return misused("run takes a script, or code after -e: `shard run file.shard`, `shard run -e 'print(1)'`");
  std::string path = inline_code ? "-e" : a.words[0], text = a.value("-e");
  if (!inline_code && !read_script(path, text)) return 1;
  const auto settings = process_settings(a);
  if (!settings) return 2;
  const auto go = [&](const Entering& entering) {
    lang::Options options;
    options.breakpoint = stand_still;
    options.processes = joined_processes(*settings);
    if (options.processes && options.processes->index() > 0)
      options.warning = [](const grammar::Diagnostic&, const grammar::SourceMap&) {};  // process 0 tells them
    std::optional<RunProfile> profile;
    if (const std::string file = a.value("--profile"); !file.empty()) {
      const auto chips = read_chips(a.value("--chip").empty() ? "cpu" : a.value("--chip"), a.settings.devices);
      if (chips.empty()) return 1;
      profile.emplace(file, chips[0]).watch(options);
    }
    const auto machine = make_machine(*settings, std::move(options), entering);
    if (profile) profile->time(machine->interpreter());
    const int status = guarded(machine->interpreter(), [&] {
      machine->interpreter().run(path, std::move(text));
      machine->leave();
    });
    return status || !profile || profile->write(machine->interpreter().sources()) ? status : 1;
  };
  if (!a.has("--engine-process")) return go(nullptr);
  if (!settings->engine.starts_with("xla")) return misused("--engine-process is for --engine xla");
  return run_apart(go);
}

}  // namespace

Command run_command() {
  return {
      "run",
      "Run a script (- reads it from standard input); words after -- reach it as `args`",
      {{"file", "The script", Option::Word},
       {"-e", "Code to run in place of a script", Option::Value},
       kEngine,
       kEngineProcess,
       {"--profile",
        "Time every instruction, and write a page for a browser (.json: a timeline) that compares it with the "
        "prediction",
        Option::Value},
       {"--chip", "What --profile compares with: a chip of `shard estimate`; `shard calibrate` measures this machine",
        Option::Value},
       kTimeout,
       kFault},
      true,
      run};
}

}  // namespace shard::cli
