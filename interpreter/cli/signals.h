// Signals of the `shard` program: Ctrl-C and SIGTERM ask the running script to stop, a second one ends the program; a
// reader that goes away
// (`shard ... | head`) ends it quietly. The only state of the process that lives outside an engine.
#pragma once
#include "runtime/array/stop.h"

namespace shard::cli {

void install_signals();
class Listening {  // while it lives, Ctrl-C stops what runs with this; one that came before it, at once
 public:
  explicit Listening(runtime::Stop& stop);
  ~Listening();
  Listening(const Listening&) = delete;

 private:
  runtime::Stop &stop_, *before_;
};
// While one lives a line is being read, and whoever reads it asks interrupted() and terminated(): SIGTERM lets the
// terminal be set right first.
struct AtPrompt {
  AtPrompt();
  ~AtPrompt();
  AtPrompt(const AtPrompt&) = delete;
};

bool resized();  // the window, since clear_resized()
void clear_resized();
bool interrupted();  // Ctrl-C or SIGTERM since the last clear
bool terminated();   // SIGTERM: the program is to end, with status 143
void clear_interrupt();

}  // namespace shard::cli
