// The terminal of the `shard` program: how wide it is, whether colours are wanted, and the line of progress, which
// leaves before anything else is written.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "interpreter/lang/values/screen.h"

namespace shard::cli {

bool is_terminal(int fd);
// Columns of the window; 80 where there is none.
int window_width(int fd);
// `--color`: always, never, or empty: on terminals, unless NO_COLOR is set or the terminal is dumb.
void set_color(std::string_view when);
bool colored(int fd);
bool dumb();  // a terminal that moves no cursor

// Words in lines that fit the window; all but the first line are set in.
std::string in_lines(const std::string& text, int window, std::size_t set_in);
// Sentences so, where standard output is a terminal; code, which stands further right, as it is.
std::string fitted(const std::string& text);

std::shared_ptr<lang::Screen> terminal_screen();
void erase_status();

}  // namespace shard::cli
