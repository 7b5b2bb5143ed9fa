#include "stdlib/host/values/regular.h"

#include <algorithm>
#include <string>
#include <vector>

#include "interpreter/lang/values/tree.h"

namespace shard::stdlib {
namespace {

struct Characters {
  std::vector<std::pair<char32_t, char32_t>> ranges;
  bool negated = false;
};
enum class Do { Take, Split, Jump, Begin, End };
struct Instruction {
  Do what;
  std::int32_t to = 0, or_to = 0;  // steps from here; of Take the number of its characters
};
using Program = std::vector<Instruction>;  // behind its last instruction it has found what it looks for

constexpr std::size_t kLargest = 20000;  // instructions
constexpr int kDeepest = 100;            // groups in groups

std::u32string signs_of(std::string_view text) {
  std::u32string out;
  for (const std::string& c : lang::code_points(text)) {
    const auto first = static_cast<unsigned char>(c[0]);
    char32_t sign = c.size() == 1 ? first : first & (0xffU >> (c.size() + 1));
    for (std::size_t i = 1; i < c.size(); ++i) sign = sign << 6 | (static_cast<unsigned char>(c[i]) & 0x3fU);
    out += sign;
  }
  return out;
}

Instruction split(std::size_t to, std::size_t or_to) {
  return {Do::Split, static_cast<std::int32_t>(to), static_cast<std::int32_t>(or_to)};
}
void append(Program& to, const Program& more) {
  if (to.size() + more.size() > kLargest) throw BadPattern("it is too large");
  to.insert(to.end(), more.begin(), more.end());
}

Program either(const Program& a, const Program& b) {
  Program out = {split(1, a.size() + 2)};
  append(out, a);
  out.push_back({Do::Jump, static_cast<std::int32_t>(b.size() + 1)});
  append(out, b);
  return out;
}
Program optional(const Program& a) {
  Program out = {split(1, a.size() + 1)};
  append(out, a);
  return out;
}
Program any_number(const Program& a) {
  Program out = {split(1, a.size() + 2)};
  append(out, a);
  out.push_back({Do::Jump, -static_cast<std::int32_t>(a.size() + 1)});
  return out;
}

class Reader {
 public:
  Reader(std::string_view pattern, std::vector<Characters>& characters)
      : signs_(signs_of(pattern)), characters_(characters) {}

  Program read() {
    Program out = alternatives(0);
    if (!done()) throw BadPattern("a `)` closes nothing");
    return out;
  }

 private:
  bool done() const { return at_ == signs_.size(); }
  bool next(char32_t c) { return !done() && signs_[at_] == c && ++at_; }
  char32_t take(const char* what) {
    if (done()) throw BadPattern(std::string("it ends inside of ") + what);
    return signs_[at_++];
  }

  Program alternatives(int depth) {
    if (depth > kDeepest) throw BadPattern("groups stand more than 100 deep in each other");
    std::vector<Program> all = {sequence(depth)};
    while (next('|')) all.push_back(sequence(depth));
    Program out = std::move(all.back());
    for (std::size_t i = all.size() - 1; i-- > 0;) out = either(all[i], out);
    return out;
  }

  Program sequence(int depth) {
    Program out;
    while (!done() && signs_[at_] != '|' && signs_[at_] != ')') append(out, counted(one(depth)));
    return out;
  }

  Program one(int depth) {
    const char32_t c = signs_[at_++];
    if (c == '(') {
      if (next('?') && !next(':')) throw BadPattern("`(?` begins nothing but `(?:`");
      Program inside = alternatives(depth + 1);
      if (!next(')')) throw BadPattern("a `(` is not closed");
      return inside;
    }
    if (c == '^') return {{Do::Begin}};
    if (c == '$') return {{Do::End}};
    if (c == '*' || c == '+' || c == '?') throw BadPattern("nothing stands before a count");
    Characters these;
    if (c == '.')
      these = {{{U'\n', U'\n'}}, true};
    else if (c == '[')
      these = a_class();
    else if (c == '\\')
      these = escaped();
    else
      these.ranges = {{c, c}};
    characters_.push_back(std::move(these));
    return {{Do::Take, static_cast<std::int32_t>(characters_.size() - 1)}};
  }

  // Digits, letters of words, blanks: of ASCII. A letter that means none of them is an error, any other sign itself.
  Characters escaped() {
    const char32_t c = take("a `\\`");
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    Characters out;
    out.negated = c >= 'A' && c <= 'Z';
    switch (c) {
      case 'd':
      case 'D': out.ranges = {{'0', '9'}}; break;
      case 'w':
      case 'W': out.ranges = {{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'_', '_'}}; break;
      case 's':
      case 'S': out.ranges = {{' ', ' '}, {'\t', '\r'}}; break;
      case 'n': out.ranges = {{'\n', '\n'}}; break;
      case 't': out.ranges = {{'\t', '\t'}}; break;
      default:
        if (letter) throw BadPattern("`\\" + std::string(1, static_cast<char>(c)) + "` has no meaning");
        out.ranges = {{c, c}};
    }
    return out;
  }

  Characters a_class() {
    Characters out;
    out.negated = next('^');
    for (bool first = true; first || !next(']'); first = false) {
      char32_t from = take("a `[`");
      if (from == '\\') {
        const Characters some = escaped();
        if (some.negated) throw BadPattern("`[...]` takes no `\\D`, `\\W` or `\\S`");
        out.ranges.insert(out.ranges.end(), some.ranges.begin(), some.ranges.end());
        continue;
      }
      const bool range = at_ + 1 < signs_.size() && signs_[at_] == '-' && signs_[at_ + 1] != ']';
      const char32_t to = range ? signs_[at_ + 1] : from;
      if (range) at_ += 2;
      if (to < from) throw BadPattern("a range of `[...]` ends before it begins");
      out.ranges.emplace_back(from, to);
    }
    return out;
  }

  std::size_t number() {
    std::size_t n = 0;
    const std::size_t from = at_;
    while (!done() && signs_[at_] >= '0' && signs_[at_] <= '9')
      n = std::min(n * 10 + (signs_[at_++] - '0'), kLargest + 1);
    if (at_ == from) throw BadPattern("a number stands in `{m,n}`");
    return n;
  }

  Program counted(Program a) {
    for (;;) {
      if (next('*')) {
        a = any_number(a);
      } else if (next('?')) {  // behind another count: as few as possible, which fits the same
        a = optional(a);
      } else if (next('+')) {
        a = times(a, 1, 0, false);
      } else if (next('{')) {
        const std::size_t least = number();
        const bool more = next(','), bounded = !more || (!done() && signs_[at_] != '}');
        const std::size_t most = more && bounded ? number() : least;
        if (!next('}')) throw BadPattern("a `{` is not closed");
        if (most < least) throw BadPattern("`{m,n}` ends before it begins");
        a = times(a, least, most, bounded);
      } else {
        return a;
      }
    }
  }

  static Program times(const Program& a, std::size_t least, std::size_t most, bool bounded) {
    Program out;
    if (a.empty()) return out;
    for (std::size_t i = 0; i < least; ++i) append(out, a);
    if (!bounded) append(out, any_number(a));
    const Program maybe = bounded && most > least ? optional(a) : Program();
    for (std::size_t i = least; bounded && i < most; ++i) append(out, maybe);
    return out;
  }

  std::u32string signs_;
  std::size_t at_ = 0;
  std::vector<Characters>& characters_;
};

bool holds(const Characters& these, char32_t c) {
  const bool in = std::any_of(these.ranges.begin(), these.ranges.end(),
                              [&](const auto& range) { return range.first <= c && c <= range.second; });
  return in != these.negated;
}

}  // namespace

std::optional<bool> fits_part_of(std::string_view text, std::string_view pattern, std::size_t most_steps) {
  std::vector<Characters> characters;  // filled while the program is made
  const Program program = Reader(pattern, characters).read();
  if (text.size() > most_steps / std::max<std::size_t>(program.size(), 1)) return std::nullopt;
  const std::u32string signs = signs_of(text);
  std::vector<std::size_t> now, open, seen(program.size() + 1, 0), then;
  for (std::size_t at = 0;; ++at) {
    open = std::move(then);
    then.clear();
    now.clear();
    open.push_back(0);  // what fits may begin anywhere
    while (!open.empty()) {
      const std::size_t i = open.back();
      open.pop_back();
      if (seen[i] == at + 1) continue;
      seen[i] = at + 1;
      if (i == program.size()) return true;
      const Instruction& x = program[i];
      const auto go = [&](std::int32_t steps) {
        open.push_back(static_cast<std::size_t>(static_cast<std::int64_t>(i) + steps));
      };
      switch (x.what) {
        case Do::Take: now.push_back(i); break;
        case Do::Jump: go(x.to); break;
        case Do::Split: go(x.to), go(x.or_to); break;
        case Do::Begin:
          if (at == 0) go(1);
          break;
        case Do::End:
          if (at == signs.size()) go(1);
      }
    }
    if (at == signs.size()) return false;
    for (const std::size_t i : now)
      if (holds(characters[static_cast<std::size_t>(program[i].to)], signs[at])) then.push_back(i + 1);
  }
}

}  // namespace shard::stdlib
