#include "interpreter/repl/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace shard::repl {
namespace {

volatile std::sig_atomic_t pending = 0;
std::atomic<runtime::Stop*> listener{nullptr};

void on_interrupt(int) {
  if (pending) _exit(130);  // asked twice: the script did not listen
  pending = 1;
  if (runtime::Stop* stop = listener.load()) stop->request();
}

}  // namespace

void install_signals() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a waiting read ends, so that the prompt can be given up
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_DFL);  // some parents leave it ignored; the default ends the program without a word
}

Listening::Listening(runtime::Stop& stop) : stop_(stop), before_(listener.exchange(&stop)) {
  if (pending) stop.request();
}
Listening::~Listening() {
  listener.store(before_);
  if (!before_) stop_.forget();  // it came when all was over
}

bool interrupted() { return pending != 0; }
void clear_interrupt() { pending = 0; }

}  // namespace shard::repl
