#include "interpreter/cli/apart.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpreter/cli/standard_output.h"

namespace shard::cli {
namespace {

constexpr std::size_t kSharedPage = 4096;

int outcome(int signal, const char* where) {
  if (signal == SIGINT || signal == SIGTERM || signal == SIGKILL || signal == SIGHUP || signal == SIGPIPE)
    return 128 + signal;  // somebody wanted that
  std::fprintf(stderr, "error: the plug-in ended its process (%s)%s%s; what it said stands above\n", strsignal(signal),
               *where ? ", called at " : ", before a script ran", where);
  return 1;
}

}  // namespace

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

}  // namespace shard::cli
