// Signals of the `shard` program: Ctrl-C asks the running script to stop, a second one ends the program; a reader that
// goes away
// (`shard ... | head`) ends it quietly. The only state of the process that lives outside an engine.
#pragma once

namespace shard::repl {

void install_signals();
bool interrupted();  // Ctrl-C since the last clear
void clear_interrupt();

}  // namespace shard::repl
