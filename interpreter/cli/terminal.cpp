#include "interpreter/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace shard::cli {
namespace {

std::string color_when;
int status_columns = 0;  // of the line of progress that stands on the terminal

class Window : public lang::Screen {
 public:
  int width() const override { return window_width(STDOUT_FILENO); }
  bool color() const override { return colored(STDOUT_FILENO); }
  int status_width() const override { return window_width(STDERR_FILENO); }
  double status_every() const override { return is_terminal(STDERR_FILENO) ? 0.1 : 30; }

  void status(const std::string& line, bool last) override {
    std::fflush(stdout);
    const bool stays = last || !is_terminal(STDERR_FILENO);
    erase_status();
    std::fprintf(stderr, "%s%s", line.c_str(), stays ? "\n" : "");
    std::fflush(stderr);
    status_columns = stays ? 0 : window_width(STDERR_FILENO) - 1;
  }
};

}  // namespace

bool is_terminal(int fd) { return isatty(fd) == 1; }

int window_width(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::max<int>(size.ws_col, 20);
  return 80;
}

void set_color(std::string_view when) { color_when = when; }

bool dumb() {
  const char* term = std::getenv("TERM");
  return !term || !*term || std::strcmp(term, "dumb") == 0;
}

bool colored(int fd) {
  if (!color_when.empty()) return color_when == "always";
  const char* no = std::getenv("NO_COLOR");
  return is_terminal(fd) && !(no && *no) && !dumb();
}

std::string in_lines(const std::string& text, int window, std::size_t set_in) {
  std::string out, line;
  std::istringstream words(text.substr(std::min(text.find_first_not_of(' '), text.size())));
  line = text.substr(0, text.find_first_not_of(' '));
  const std::size_t room = static_cast<std::size_t>(std::min(window, 100)) - 1;
  bool fresh = true;
  for (std::string word; words >> word; fresh = false) {
    if (!fresh && line.size() + 1 + word.size() > room) {
      out += line + "\n";
      line = std::string(set_in, ' ');
    } else if (!fresh) {
      line += " ";
    }
    line += word;
  }
  return out + line + "\n";
}

std::string fitted(const std::string& text) {
  constexpr std::size_t kCode = 4;  // blanks before a line that stays as it is
  if (!is_terminal(STDOUT_FILENO)) return text;
  const int window = window_width(STDOUT_FILENO);
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    out += indent >= kCode || static_cast<int>(line.size()) < window ? line + "\n" : in_lines(line, window, indent);
  }
  return out;
}

std::shared_ptr<lang::Screen> terminal_screen() { return std::make_shared<Window>(); }

void erase_status() {
  if (status_columns == 0) return;
  // Blanks do it on any terminal.
  std::fprintf(stderr, "\r%*s\r", status_columns, "");
  std::fflush(stderr);
  status_columns = 0;
}

}  // namespace shard::cli
