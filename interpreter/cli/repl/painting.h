// Colours and a hint over a line that libedit has drawn: it knows neither. It has put the text and the cursor on the
// screen; the same text is written over it in colours, the hint behind it, and the cursor goes back. Before libedit
// draws again, the hint is taken away, so what it believes to be on the screen is there.
#pragma once
#include <string>
#include <string_view>

namespace shard::cli {

struct EditedLine {
  std::string_view prompt, text;
  std::size_t cursor = 0;  // bytes of the text before it
  std::string_view hint;   // dim, behind the text: as much as has room in its last line
  int columns = 80, rows = 24;
};

// What a terminal is told; empty where the text is higher than the window, and for signs that libedit shows otherwise.
std::string painting(const EditedLine& line);
std::string without_hint(const EditedLine& line);

}  // namespace shard::cli
