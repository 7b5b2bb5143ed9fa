// Where the REPL's lines come from: a terminal with editing, history and completion (libedit), or any other input, line
// by line.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shard::cli {

struct Abandoned {};  // thrown by line() when Ctrl-C gives up the entry

class Editor {
 public:
  virtual ~Editor() = default;
  virtual std::optional<std::string> line(
      const std::string& prompt) = 0;                   // without its newline; nothing at the end of input
  virtual void remember(const std::string& entry) = 0;  // into the history
  virtual bool interactive() const = 0;
  // The next line where it is there already: of a paste, in a pipe. line() gives it again.
  virtual std::optional<std::string> peek() = 0;
};

// `complete` gives the words that could stand where the last word of `before` (the line up to the cursor) is being
// written.
using Complete = std::function<std::vector<std::string>(const std::string& before)>;
std::unique_ptr<Editor> make_editor(Complete complete);

// The last word of `before`: letters, digits, `_` and the dots between names.
std::string last_word(const std::string& before);
void only_those_of(std::vector<std::string>& words, const std::string& word);  // that begin so, each once

}  // namespace shard::cli
