// shard lsp: the language server, on standard input and output.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "interpreter/cli/command.h"
#include "interpreter/lsp/server.h"

namespace shard::cli {
namespace {

int lsp(const Arguments& a) {
  std::signal(SIGTERM, SIG_DFL);  // no script runs that would have to be stopped first
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);  // the end of input tells that the editor is gone
  // Whatever a check reads or prints, it is not the protocol's.
  const int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in < 0 || out < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    std::perror("error: standard input and output cannot be used");
    return 1;
  }
  // Never destroyed: its threads may wait for input that never comes.
  const int status = (new lsp::Server(a.settings, in, out))->serve();
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

Command lsp_command() {
  return {"lsp",
          "The language server for editors, on standard input and output (grammar/editors says how they start it)",
          {{"--stdio", "Nothing more: editors write it"}},
          true,
          lsp};
}

}  // namespace shard::cli
