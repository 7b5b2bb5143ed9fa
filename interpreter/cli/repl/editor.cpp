// libedit (BSD licence) behind Editor. Completion, interrupts and the keys themselves use its native interface: the
// readline one hides them. Colours, hints and pastes are ours (painting.h, keyboard.h): it asks us for each key, so we
// know when it has drawn.
#include "interpreter/cli/repl/editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <utility>

#include "grammar/characters.h"
#include "interpreter/cli/repl/colours.h"
#include "interpreter/cli/repl/keyboard.h"
#include "interpreter/cli/repl/painting.h"
#include "interpreter/cli/signals.h"
#include "interpreter/cli/standard_output.h"
#include "interpreter/cli/terminal.h"
#include "runtime/array/late_library.h"

namespace shard::cli {
namespace {

constexpr int kEntries = 2000;  // of the history that are remembered

constexpr std::string_view kFirstLine = "_HiStOrY_V2_\n";

std::string path_of_history() {  // "" where there is no home
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (state && *state == '/')
    folder = state;
  else if (home && *home == '/')
    folder = std::string(home) + "/.local/state";
  else
    return {};
  folder += "/shard";
  for (std::size_t at = 1; at != std::string::npos;) {  // make the folders on the way
    at = folder.find('/', at + 1);
    mkdir(folder.substr(0, at).c_str(), 0700);
  }
  return folder + "/history";
}

class Locked {  // against other sessions; beside the history, which is replaced when it is shortened
 public:
  explicit Locked(const std::string& path) : fd_(open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ >= 0)
      while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {}
  }
  ~Locked() {
    if (fd_ >= 0) close(fd_);
  }
  Locked(const Locked&) = delete;

 private:
  int fd_;
};

std::string line_of(const std::string& entry) {  // as strvis writes it
  std::string out;
  for (const char c : entry) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte != '\\' && byte != 0x7f) {
      out += c;
      continue;
    }
    char octal[8];
    std::snprintf(octal, sizeof octal, "\\%03o", byte);
    out += octal;
  }
  return out + "\n";
}

// The REPL's history on disk: entries are added one by one, each as soon as it is made and under a lock, so that
// neither a session that is killed nor two at once lose any. The format is libedit's, which reads it (H_LOAD).
class HistoryFile {
 public:
  HistoryFile();  // of this user; nothing is kept where there is no home
  const std::string& path() const { return path_; }
  void add(const std::string& entry);
  void shorten(std::size_t most) const;  // to the last entries, where there are more than twice as many

 private:
  std::string path_;
  std::string last_;  // is not added twice in a row
};

HistoryFile::HistoryFile() : path_(path_of_history()) {}

void HistoryFile::add(const std::string& entry) {
  if (path_.empty() || entry == last_) return;
  last_ = entry;
  const Locked lock(path_);
  const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  std::string text = line_of(entry);
  const off_t size = lseek(fd, 0, SEEK_END);
  char end = '\n';
  if (size == 0)
    text.insert(0, kFirstLine);
  else if (pread(fd, &end, 1, size - 1) == 1 && end != '\n')  // of a disk that was full
    text.insert(0, "\n");
  write_whole(fd, text);
  close(fd);
}

void HistoryFile::shorten(std::size_t most) const {
  if (path_.empty()) return;
  const Locked lock(path_);
  std::ifstream in(path_, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  if (lines.size() <= 2 * most + 1 || lines[0] != kFirstLine) return;
  std::string text(kFirstLine);
  for (std::size_t i = lines.size() - most; i < lines.size(); ++i) text += lines[i];
  const std::string beside = path_ + ".new";
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool written = write_whole(fd, text);
  if (close(fd) != 0 || !written || rename(beside.c_str(), path_.c_str()) != 0) unlink(beside.c_str());
}

// Words as rows of columns that fit the window.
std::string columned(const std::vector<std::string>& words, int window) {
  constexpr std::size_t kMost = 60;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < words.size() && i < kMost; ++i) widest = std::max(widest, words[i].size() + 2);
  const std::size_t columns =
      std::max<std::size_t>(1, static_cast<std::size_t>(window - 1) / std::max<std::size_t>(1, widest));
  std::string out;
  for (std::size_t i = 0; i < words.size() && i < kMost; ++i) {
    const bool last = (i + 1) % columns == 0 || i + 1 == words.size() || i + 1 == kMost;
    out += words[i] + (last ? "\n" : std::string(widest - words[i].size(), ' '));
  }
  return out + (words.size() > kMost ? "...\n" : "");
}

// libedit, loaded where a terminal needs it.
struct LibEdit {
  runtime::LateLibrary library{SHARD_LIBEDIT};
  decltype(&::el_cursor) cursor = library.find("el_cursor");
  decltype(&::el_end) end = library.find("el_end");
  decltype(&::el_get) get = library.find("el_get");
  decltype(&::el_gets) gets = library.find("el_gets");
  decltype(&::el_init) init = library.find("el_init");
  decltype(&::el_insertstr) insertstr = library.find("el_insertstr");
  decltype(&::el_line) line = library.find("el_line");
  decltype(&::el_push) push = library.find("el_push");
  decltype(&::el_reset) reset = library.find("el_reset");
  decltype(&::el_resize) resize = library.find("el_resize");
  decltype(&::el_set) set = library.find("el_set");
  decltype(&::el_source) source = library.find("el_source");
  decltype(&::history) history = library.find("history");
  decltype(&::history_end) history_end = library.find("history_end");
  decltype(&::history_init) history_init = library.find("history_init");
};
std::optional<LibEdit> lib;

class Terminal : public Editor {
 public:
  explicit Terminal(Complete complete) : complete_(std::move(complete)), moves_(!dumb()) {
    std::setlocale(LC_CTYPE, "");
    if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
    edit_ = lib->init("shard", stdin, stdout, stderr);
    history_ = lib->history_init();
    HistEvent event;
    lib->history(history_, &event, H_SETSIZE, kEntries);
    lib->history(history_, &event, H_SETUNIQUE, 1);
    file_.shorten(kEntries);
    if (!file_.path().empty()) lib->history(history_, &event, H_LOAD, file_.path().c_str());
    lib->set(edit_, EL_CLIENTDATA, this);
    lib->set(edit_, EL_PROMPT, prompt_of);
    lib->set(edit_, EL_EDITOR, "emacs");
    lib->set(edit_, EL_HIST, lib->history, history_);
    lib->set(edit_, EL_SIGNAL, 0);  // Ctrl-C comes to us
    lib->set(edit_, EL_GETCFN, next_sign);
    bind("shard-complete", "complete a name", complete_at, {"^I"});
    bind("shard-forward", "a sign forward, or the hint", forward_at, {"^F", "^[[C", "^[OC"});
    bind("shard-end", "to the end, or the hint", end_at, {"^E", "^[[F", "^[OF"});
    bind("shard-paste", "take a bracketed paste", paste_at, {"^[[200~"});
    lib->set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    lib->source(edit_, nullptr);
  }

  ~Terminal() override {
    lib->history_end(history_);
    lib->end(edit_);
  }

  std::optional<std::string> line(const std::string& prompt) override {
    prompt_ = prompt;
    if (auto pasted = keyboard_.take_line()) {
      std::printf("%s%s\n", prompt.c_str(), colored(STDOUT_FILENO) ? inked(*pasted).c_str() : pasted->c_str());
      return pasted;
    }
    lib->resize(edit_);
    clear_resized();
    const AtPrompt here;
    int count = 0;
    errno = 0;
    if (const std::string begun = keyboard_.take_pasted(); !begun.empty()) lib->push(edit_, begun.c_str());
    const char* text = lib->gets(edit_, &count);
    std::clearerr(stdout);  // painting that a signal broke off (Ctrl-C, another size) is no output that is lost
    if (std::exchange(bracketed_, false)) say("\x1b[?2004l");
    if (interrupted()) {
      clear_interrupt();
      keyboard_.forget();
      lib->reset(edit_);
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
    lib->history(history_, &event, H_ENTER, entry.c_str());
    file_.add(entry);
  }

  bool interactive() const override { return true; }
  std::optional<std::string> peek() override { return keyboard_.peek_line(); }

 private:
  using Function = unsigned char (*)(EditLine*, int);
  void bind(const char* name, const char* what, Function function, std::initializer_list<const char*> keys) {
    lib->set(edit_, EL_ADDFN, name, what, function);
    for (const char* key : keys) lib->set(edit_, EL_BIND, key, name, nullptr);
  }

  static Terminal& self(EditLine* e) {
    void* p = nullptr;
    lib->get(e, EL_CLIENTDATA, &p);
    return *static_cast<Terminal*>(p);
  }
  static char* prompt_of(EditLine* e) { return self(e).prompt_.data(); }
  static void say(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  // libedit has drawn what it knows, and asks for a key.
  static int next_sign(EditLine* e, wchar_t* out) {
    Terminal& t = self(e);
    if (t.moves_ && !std::exchange(t.bracketed_, true)) say("\x1b[?2004h");  // pastes come in brackets from now on
    const bool paint = t.moves_ && colored(STDOUT_FILENO) && !t.keyboard_.waiting();
    const std::string text = t.text(), hint = paint ? t.hint() : "";
    const LineInfo* info = lib->line(e);
    EditedLine line{t.prompt_, text, static_cast<std::size_t>(info->cursor - info->buffer), hint, 80, 24};
    if (paint) {
      lib->get(e, EL_GETTC, "co", &line.columns, nullptr);
      lib->get(e, EL_GETTC, "li", &line.rows, nullptr);
      say(painting(line));
    }
    const std::optional<wchar_t> sign = t.keyboard_.next();
    if (paint) say(without_hint(line));
    if (!sign && resized() && !interrupted()) {
      clear_resized();
      if (t.moves_) say("\r\x1b[J");
      lib->resize(e);
      lib->set(e, EL_REFRESH);
      return next_sign(e, out);
    }
    if (!sign) return interrupted() ? -1 : 0;
    *out = *sign;
    return 1;
  }

  std::string text() const {
    const LineInfo* info = lib->line(edit_);
    return {info->buffer, info->lastchar};
  }

  // The end of the newest entry that begins as the line does, where the cursor stands behind it.
  std::string hint() const {
    const LineInfo* info = lib->line(edit_);
    const std::string begun = text();
    if (info->cursor != info->lastchar || begun.find_first_not_of(' ') == std::string::npos) return "";
    HistEvent event;
    for (int found = lib->history(history_, &event, H_FIRST); found >= 0;
         found = lib->history(history_, &event, H_NEXT)) {
      const std::string_view entry = event.str;
      if (entry.size() > begun.size() && entry.starts_with(begun)) return std::string(entry.substr(begun.size()));
    }
    return "";
  }

  bool take_hint() {
    const std::string more = colored(STDOUT_FILENO) ? hint() : "";  // none is seen without colours
    return !more.empty() && lib->insertstr(edit_, more.c_str()) == 0;
  }
  static unsigned char forward_at(EditLine* e, int) {
    const LineInfo* info = lib->line(e);
    if (info->cursor == info->lastchar) return self(e).take_hint() ? CC_REFRESH : CC_ERROR;
    lib->cursor(e, 1);
    return CC_REFRESH;
  }
  static unsigned char end_at(EditLine* e, int) {
    const LineInfo* info = lib->line(e);
    if (info->cursor == info->lastchar) return self(e).take_hint() ? CC_REFRESH : CC_NORM;
    lib->cursor(e, static_cast<int>(
                       grammar::characters({info->cursor, static_cast<std::size_t>(info->lastchar - info->cursor)})));
    return CC_REFRESH;
  }

  // The first line of the paste goes into the one that is edited; the others are read without editing.
  static unsigned char paste_at(EditLine* e, int) {
    Keyboard& k = self(e).keyboard_;
    k.take_paste();
    const std::optional<std::string> first = k.take_line();
    const std::string text = first ? *first : k.take_pasted();
    if (!text.empty()) lib->insertstr(e, text.c_str());
    if (first) lib->push(e, "\n");
    return CC_REFRESH;
  }

  static unsigned char complete_at(EditLine* e, int) {
    const LineInfo* info = lib->line(e);
    const std::string before(info->buffer, info->cursor);
    const std::string word = last_word(before);
    if (word.empty()) {
      lib->insertstr(e, "  ");
      return CC_REFRESH;
    }
    std::vector<std::string> words = self(e).complete_(before);
    only_those_of(words, word);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    if (words.empty()) return CC_REFRESH_BEEP;
    std::string common = words.front();
    for (const std::string& w : words) {
      std::size_t n = 0;
      while (n < common.size() && n < w.size() && common[n] == w[n]) ++n;
      common.resize(n);
    }
    if (common.size() > word.size()) {
      lib->insertstr(e, common.substr(word.size()).c_str());
      return CC_REFRESH;
    }
    if (words.size() == 1) return CC_REFRESH;
    say("\n" + columned(words, window_width(STDOUT_FILENO)));
    return CC_REDISPLAY;
  }

  Complete complete_;
  bool moves_;              // the terminal knows escapes
  bool bracketed_ = false;  // and was told to send pastes in brackets
  HistoryFile file_;
  Keyboard keyboard_;
  std::string prompt_;
  EditLine* edit_;
  History* history_;
};

class Piped : public Editor {
 public:
  std::optional<std::string> line(const std::string&) override {
    Piped::peek();
    return std::exchange(ahead_, std::nullopt);
  }
  void remember(const std::string&) override {}
  bool interactive() const override { return false; }
  std::optional<std::string> peek() override {
    std::string s;
    if (ahead_ || !std::getline(std::cin, s)) return ahead_;
    if (!s.empty() && s.back() == '\r') s.pop_back();
    return ahead_ = s;
  }

 private:
  static inline std::optional<std::string> ahead_;  // of all loops, one in another at a breakpoint: they read one input
};

class Unedited : public Piped {  // a terminal where libedit is missing
 public:
  std::optional<std::string> line(const std::string& prompt) override {
    std::fputs(prompt.c_str(), stdout);
    std::fflush(stdout);
    return Piped::line(prompt);
  }
  bool interactive() const override { return true; }
  std::optional<std::string> peek() override { return std::nullopt; }
};

}  // namespace

std::unique_ptr<Editor> make_editor(Complete complete) {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return std::make_unique<Piped>();
  if (lib.emplace().library.missing().empty()) return std::make_unique<Terminal>(std::move(complete));
  std::fputs("note: " SHARD_LIBEDIT " is not there: lines are read as they are typed, without editing\n", stderr);
  return std::make_unique<Unedited>();
}

void only_those_of(std::vector<std::string>& words, const std::string& word) {
  std::erase_if(words, [&](const std::string& w) { return !w.starts_with(word); });
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

std::string last_word(const std::string& before) {
  auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  std::size_t at = before.size();
  while (at > 0 && part(before[at - 1])) --at;
  if (at > 0 && before[at - 1] == '@') --at;                                               // an axis
  if (at > 0 && before[at - 1] == ':' && before.find_first_not_of(" \t") == at - 1) --at;  // a command
  return before.substr(at);
}

}  // namespace shard::cli
