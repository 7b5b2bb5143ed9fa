#include "interpreter/cli/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace shard::cli {
namespace {

volatile std::sig_atomic_t pending = 0;
std::atomic<runtime::Stop*> listener{nullptr};

volatile std::sig_atomic_t ending = 0;

volatile std::sig_atomic_t at_prompt = 0;
volatile std::sig_atomic_t other_size = 0;

void on_signal(int signal) {
  runtime::Stop* stop = listener.load();
  // Asked twice: the script did not listen. Or nothing runs that would.
  if (pending || (signal == SIGTERM && !stop && !at_prompt)) _exit(128 + signal);
  pending = 1;
  if (signal == SIGTERM) ending = 1;
  if (stop) stop->request();
}

}  // namespace

void install_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a waiting read ends, so that the prompt can be given up
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = [](int) { other_size = 1; };
  sigaction(SIGWINCH, &action, nullptr);
  std::signal(SIGPIPE, SIG_DFL);  // some parents leave it ignored; the default ends the program without a word
}

Listening::Listening(runtime::Stop& stop) : stop_(stop), before_(listener.exchange(&stop)) {
  if (pending) stop.request();
}
Listening::~Listening() {
  listener.store(before_);
  if (!before_) stop_.forget();  // it came when all was over
}

AtPrompt::AtPrompt() { at_prompt = 1; }
AtPrompt::~AtPrompt() { at_prompt = 0; }

bool resized() { return other_size != 0; }
void clear_resized() { other_size = 0; }

bool interrupted() { return pending != 0; }
bool terminated() { return ending != 0; }
void clear_interrupt() { pending = 0; }

}  // namespace shard::cli
