// What is typed and pasted at a terminal, sign by sign or line by line. A bracketed paste comes as text: its tabs and
// line ends press no keys.
#pragma once
#include <optional>
#include <string>

namespace shard::cli {

class Keyboard {
 public:
  // One sign; nothing at the end of input, and where a signal came (interrupted() and resized() tell).
  std::optional<wchar_t> next();
  bool waiting() const;  // something is there already
  // Called behind the beginning of a bracketed paste: takes it in, up to its end.
  void take_paste();
  // The next line of what was pasted, or of what was typed ahead.
  std::optional<std::string> peek_line();
  std::optional<std::string> take_line();
  std::string take_pasted();  // what was pasted behind its last line end
  void forget();

 private:
  std::optional<char> byte();
  bool fill();  // reads what is there; waits for it

  std::string bytes_;   // read, and not looked at
  std::string pasted_;  // lines end in '\n'
};

}  // namespace shard::cli
