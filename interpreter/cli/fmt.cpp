// shard fmt: scripts in the one style (grammar/style). A file is replaced whole or left as it is.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "grammar/parse.h"
#include "grammar/style/style.h"
#include "interpreter/cli/command.h"

namespace shard::cli {
namespace {

// ---- what differs between two texts, line by line, as `diff -u` writes it

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

struct Step {
  char sign;  // ' ' of both, '-' of the first, '+' of the second
  std::size_t a, b;
};

// A shortest way from a to b (Myers, "An O(ND) difference algorithm", 1986). `ends[d]` holds how far each diagonal
// comes with d changes; beyond kMost changes everything that is left is taken out and put in.
class Ways {
 public:
  Ways(const Lines& a, const Lines& b) : a_(a), b_(b), n_(std::ssize(a)), m_(std::ssize(b)) {}

  std::vector<Step> shortest() {
    std::vector<std::ptrdiff_t> end{0};  // of diagonal 1 before the first step
    for (std::ptrdiff_t d = 0; d <= std::min(n_ + m_, kMost); ++d) {
      std::vector<std::ptrdiff_t> reached(static_cast<std::size_t>(2 * d + 1));
      for (std::ptrdiff_t k = -d; k <= d; k += 2) {
        std::ptrdiff_t x = d == 0 ? 0 : from(end, d, k);
        while (x < n_ && x - k < m_ && a_[at(x)] == b_[at(x - k)]) ++x;
        reached[at(k + d)] = x;
        if (x >= n_ && x - k >= m_) {
          ends_.push_back(std::move(reached));
          return back(d, k);
        }
      }
      end = reached;
      ends_.push_back(std::move(reached));
    }
    return all_anew();
  }

 private:
  static constexpr std::ptrdiff_t kMost = 4000;
  static std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

  // Where diagonal k begins with d changes, from those of d - 1: down (a line of b) or right (one of a).
  bool down(const std::vector<std::ptrdiff_t>& end, std::ptrdiff_t d, std::ptrdiff_t k) const {
    return k == -d || (k != d && end[at(k - 1 + d - 1)] < end[at(k + 1 + d - 1)]);
  }
  std::ptrdiff_t from(const std::vector<std::ptrdiff_t>& end, std::ptrdiff_t d, std::ptrdiff_t k) const {
    return down(end, d, k) ? end[at(k + 1 + d - 1)] : end[at(k - 1 + d - 1)] + 1;
  }

  std::vector<Step> back(std::ptrdiff_t d, std::ptrdiff_t k) const {
    std::vector<Step> out;
    for (std::ptrdiff_t x = n_, y = m_; x > 0 || y > 0; --d) {
      const std::ptrdiff_t begin = d == 0 ? 0 : from(ends_[at(d - 1)], d, k);
      for (; x > begin; --x, --y) out.push_back({' ', at(x - 1), at(y - 1)});
      if (d == 0) break;
      if (down(ends_[at(d - 1)], d, k))
        out.push_back({'+', at(x), at(--y)}), ++k;
      else
        out.push_back({'-', at(--x), at(y)}), --k;
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  std::vector<Step> all_anew() const {
    std::vector<Step> out;
    for (std::ptrdiff_t i = 0; i < n_; ++i) out.push_back({'-', at(i), 0});
    for (std::ptrdiff_t i = 0; i < m_; ++i) out.push_back({'+', at(n_), at(i)});
    return out;
  }

  const Lines &a_, &b_;
  std::ptrdiff_t n_, m_;
  std::vector<std::vector<std::ptrdiff_t>> ends_;
};

std::string place(std::size_t from, std::size_t count) {
  return std::to_string(count == 0 ? from : from + 1) + (count == 1 ? "" : "," + std::to_string(count));
}

// Empty where nothing differs. Three lines stand around each change.
std::string difference(const std::string& name, std::string_view before, std::string_view after) {
  if (before == after) return "";
  constexpr std::size_t kAround = 3;
  const Lines a = lines_of(before), b = lines_of(after);
  const std::vector<Step> steps = Ways(a, b).shortest();
  std::string out = "--- " + name + "\n+++ " + name + " (formatted)\n";
  for (std::size_t i = 0; i < steps.size();) {
    if (steps[i].sign == ' ') {
      ++i;
      continue;
    }
    const std::size_t begin = i - std::min(i, kAround);
    std::size_t last = i;  // the last change of this piece: the next one is near
    for (std::size_t k = i; k < steps.size() && k <= last + 2 * kAround; ++k)
      if (steps[k].sign != ' ') last = k;
    const std::size_t end = std::min(steps.size(), last + kAround + 1);
    std::string text;
    std::size_t olds = 0, news = 0;
    for (std::size_t k = begin; k < end; ++k) {
      olds += steps[k].sign != '+', news += steps[k].sign != '-';
      text += steps[k].sign;
      text += steps[k].sign == '+' ? b[steps[k].b] : a[steps[k].a];
      text += '\n';
    }
    out += "@@ -" + place(steps[begin].a, olds) + " +" + place(steps[begin].b, news) + " @@\n" + text;
    i = end;
  }
  return out;
}

// ----

// The script in the one style; nothing, and its errors on standard error, where it is no program.
bool restyle(const std::string& name, const std::string& text, std::string& out) {
  Restyled styled = restyled(name, text);
  for (const grammar::Diagnostic& d : styled.errors) tell(d, styled.sources);
  out = std::move(styled.text);
  if (styled.same_program) return styled.parses;
  flush_out();
  std::fprintf(stderr,
               "error: a fault in Shard itself: '%s' would be another program when formatted; it is left as it is\n",
               name.c_str());
  return false;
}

class Formatting {
 public:
  Formatting(bool check, bool diff) : check_(check), diff_(diff) {}

  void file(const std::string& path) {
    std::string text, styled;
    if (!read_script(path, text) || !restyle(path == "-" ? "<standard input>" : path, text, styled)) {
      failed_ = true;
      return;
    }
    if (path == "-" && !check_ && !diff_) return write_out(styled);
    if (styled == text) return;
    ++changed_;
    if (diff_) write_out(difference(path, text, styled));
    if (check_ && !diff_) write_out(path + "\n");
    if (check_ || diff_) return;
    if (!write_file(path, styled))
      failed_ = true;
    else
      write_out("formatted " + path + "\n");
  }

  int status() const { return failed_ || (check_ && changed_ > 0) ? 1 : 0; }

 private:
  bool check_, diff_, failed_ = false;
  int changed_ = 0;
};

int fmt(const Arguments& a) {
  Formatting all(a.has("--check"), a.has("--diff"));
  for (const std::string& path : scripts_of(a.words)) all.file(path);
  return all.status();
}

}  // namespace

Restyled restyled(const std::string& name, const std::string& text) {
  Restyled out;
  const grammar::ParseResult before = grammar::parse(out.sources, out.sources.add(name, text));
  out.parses = before.module != nullptr;
  if (!out.parses) {
    out.errors = before.diagnostics;
    return out;
  }
  out.text = grammar::style::formatted(text);
  const grammar::ParseResult after = grammar::parse(out.sources, out.sources.add(name, out.text));
  out.same_program = after.module && grammar::print(*after.module) == grammar::print(*before.module);
  return out;
}

Command fmt_command() {
  return {"fmt",
          "Write scripts in the one style: 100 columns, comments and blank lines where they stand",
          {{"paths", "Scripts, folders, or - for standard input (then to standard output)", Option::Words, true},
           {"--check", "Change nothing: name the files that would change, with status 1"},
           {"--diff", "Change nothing: show what would change"}},
          false,
          fmt};
}

}  // namespace shard::cli
