// libedit (BSD licence) behind Editor. Completion and interrupts use its native interface: the readline one hides both.
#include "interpreter/repl/editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <iostream>

#include "interpreter/repl/history.h"
#include "interpreter/repl/signals.h"

namespace shard::repl {
namespace {

constexpr int kEntries = 2000;  // of the history that are remembered

class Terminal : public Editor {
 public:
  explicit Terminal(Complete complete) : complete_(std::move(complete)) {
    std::setlocale(LC_CTYPE, "");
    edit_ = el_init("shard", stdin, stdout, stderr);
    history_ = history_init();
    HistEvent event;
    history(history_, &event, H_SETSIZE, kEntries);
    history(history_, &event, H_SETUNIQUE, 1);
    file_.shorten(kEntries);
    if (!file_.path().empty()) history(history_, &event, H_LOAD, file_.path().c_str());
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, prompt_of);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, history, history_);
    el_set(edit_, EL_SIGNAL, 0);  // Ctrl-C comes to us
    el_set(edit_, EL_ADDFN, "shard-complete", "complete a name", complete_at);
    el_set(edit_, EL_BIND, "^I", "shard-complete", nullptr);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(edit_, nullptr);
  }

  ~Terminal() override {
    history_end(history_);
    el_end(edit_);
  }

  std::optional<std::string> line(const std::string& prompt) override {
    prompt_ = prompt;
    std::fflush(stdout);
    int count = 0;
    errno = 0;
    const char* text = el_gets(edit_, &count);
    if (interrupted()) {
      clear_interrupt();
      el_reset(edit_);
      throw Abandoned();
    }
    if (!text || count <= 0) return std::nullopt;
    std::string s(text, static_cast<std::size_t>(count));
    while (!s.empty() && (s.back() == '\n' || s.back() == '\r')) s.pop_back();
    return s;
  }

  void remember(const std::string& entry) override {
    if (entry.find_first_not_of(" \t\n") == std::string::npos) return;
    HistEvent event;
    history(history_, &event, H_ENTER, entry.c_str());
    file_.add(entry);
  }

  bool interactive() const override { return true; }
  bool has_more() const override {  // of a paste: the lines behind wait in the terminal
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0 && (input.revents & POLLIN);
  }

 private:
  static Terminal& self(EditLine* e) {
    void* p = nullptr;
    el_get(e, EL_CLIENTDATA, &p);
    return *static_cast<Terminal*>(p);
  }
  static char* prompt_of(EditLine* e) { return self(e).prompt_.data(); }

  static unsigned char complete_at(EditLine* e, int) {
    const LineInfo* info = el_line(e);
    const std::string before(info->buffer, info->cursor);
    const std::string word = last_word(before);
    if (word.empty()) {
      el_insertstr(e, "  ");
      return CC_REFRESH;
    }
    std::vector<std::string> words = self(e).complete_(before);
    std::erase_if(words,
                  [&](const std::string& w) { return w.size() < word.size() || w.compare(0, word.size(), word) != 0; });
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    if (words.empty()) return CC_REFRESH_BEEP;
    std::string common = words.front();
    for (const std::string& w : words) {
      std::size_t n = 0;
      while (n < common.size() && n < w.size() && common[n] == w[n]) ++n;
      common.resize(n);
    }
    if (common.size() > word.size()) {
      el_insertstr(e, common.substr(word.size()).c_str());
      return CC_REFRESH;
    }
    if (words.size() == 1) return CC_REFRESH;
    std::fputc('\n', stdout);
    for (std::size_t i = 0; i < words.size() && i < 60; ++i) std::fprintf(stdout, "%s  ", words[i].c_str());
    std::fputs(words.size() > 60 ? "...\n" : "\n", stdout);
    return CC_REDISPLAY;
  }

  Complete complete_;
  HistoryFile file_;
  std::string prompt_;
  EditLine* edit_;
  History* history_;
};

class Piped : public Editor {
 public:
  std::optional<std::string> line(const std::string&) override {
    std::string s;
    if (!std::getline(std::cin, s)) return std::nullopt;
    if (!s.empty() && s.back() == '\r') s.pop_back();
    return s;
  }
  void remember(const std::string&) override {}
  bool interactive() const override { return false; }
  bool has_more() const override { return !std::cin.eof(); }
};

}  // namespace

std::unique_ptr<Editor> make_editor(Complete complete) {
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) return std::make_unique<Terminal>(std::move(complete));
  return std::make_unique<Piped>();
}

std::string last_word(const std::string& before) {
  auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  std::size_t at = before.size();
  while (at > 0 && part(before[at - 1])) --at;
  if (at > 0 && before[at - 1] == '@') --at;                                               // an axis
  if (at > 0 && before[at - 1] == ':' && before.find_first_not_of(" \t") == at - 1) --at;  // a command
  return before.substr(at);
}

}  // namespace shard::repl
