// The table, with the keywords beside it (declared in parse.h), and the climb from flat chains to trees (two stacks;
// see "shunting yard").
#include "grammar/operator_table.h"

#include <algorithm>
#include <array>

#include "grammar/advice/near_text.h"
#include "grammar/parse.h"

namespace shard::grammar {
namespace {

using enum BinaryOp;

constexpr std::array<BinaryRow, 21> binaries = {{
    {"or", Or, Level::Or, Side::Left, false},           {"and", And, Level::And, Side::Left, false},
    {"==", Eq, Level::Compare, Side::None, false},      {"!=", Ne, Level::Compare, Side::None, false},
    {"<=", Le, Level::Compare, Side::None, false},      {">=", Ge, Level::Compare, Side::None, false},
    {"<", Lt, Level::Compare, Side::None, false},       {">", Gt, Level::Compare, Side::None, false},
    {"..", Range, Level::Range, Side::None, false},     {"|", BitOr, Level::BitOr, Side::Left, false},
    {"&", BitAnd, Level::BitAnd, Side::Left, false},    {"<<", Shl, Level::Shift, Side::Left, false},
    {">>", Shr, Level::Shift, Side::Left, false},       {"+", Add, Level::Sum, Side::Left, true},
    {"-", Sub, Level::Sum, Side::Left, true},           {"*", Mul, Level::Product, Side::Left, true},
    {"//", FloorDiv, Level::Product, Side::Left, true}, {"/", Div, Level::Product, Side::Left, true},
    {"%", Mod, Level::Product, Side::Left, true},       {"@", MatMul, Level::Product, Side::Left, false},
    {"**", Pow, Level::Power, Side::Right, true},
}};
constexpr std::array<UnaryRow, 4> unaries = {{
    {"not", UnaryOp::Not, Level::Not},
    {"-", UnaryOp::Neg, Level::Sign},
    {"+", UnaryOp::Pos, Level::Sign},
    {"~", UnaryOp::BitNot, Level::Sign},
}};
// What is no operator.
struct OtherRow {
  std::string_view token;
  bool goes_on;
};
constexpr std::array<OtherRow, 16> others = {{
    {"|>", true},
    {"->", true},
    {"+=", true},
    {"-=", true},
    {"*=", true},
    {"/=", true},
    {"=", true},
    {",", true},
    {":", true},
    {"...", false},
    {".", false},
    {";", false},
    {"as", true},
    {"in", true},
    {"shard", true},
    {"?", false},
}};

// The words that have a meaning of their own, and the element types.
constexpr std::array<std::string_view, 24> keywords = {
    "let",   "fn",    "jit",      "manual", "mesh",   "shard", "as", "use", "if",   "else",  "for",  "in",
    "while", "break", "continue", "return", "import", "and",   "or", "not", "true", "false", "none", "P"};
constexpr std::array<std::string_view, 18> dtypes = {"bool", "i8",  "i16",  "i32",       "i64",     "u8",
                                                     "u16",  "u32", "u64",  "f16",       "bf16",    "f32",
                                                     "f64",  "c64", "c128", "f8_e4m3fn", "f8_e5m2", "i4"};

template <class Words>
bool has(const Words& words, std::string_view word) {
  return !word.empty() && std::find(words.begin(), words.end(), word) != words.end();
}

bool starts(std::string_view text, std::string_view token) {
  if (text.empty() || text[0] != token[0] || text.substr(0, token.size()) != token) return false;
  return !is_word_start(token[0]) || text.size() == token.size() || !is_word_part(text[token.size()]);
}

class Climber {
 public:
  explicit Climber(State& state, const std::vector<Link>& chain) : state_(state), chain_(chain) {}

  Operand run() {
    for (at_ = 0; at_ < chain_.size(); ++at_) {
      const Link& link = chain_[at_];
      if (link.prefix)
        prefix(link);
      else if (link.binary)
        binary(link);
      else
        values_.push_back(link.operand);
    }
    while (!waiting_.empty()) reduce();
    return values_.back();
  }

 private:
  static Level level(const Link& l) { return l.prefix ? l.prefix->level : l.binary->level; }

  void prefix(const Link& link) {
    // `-` may follow any operator, `not` only `or`, `and` and itself: `a == not b` would hide what it compares.
    if (link.prefix->level == Level::Not && !waiting_.empty() && level(*waiting_.back()) > Level::Not) {
      const Span all = cover(link.span, chain_[end_of(at_, Level::Not) - 1]);
      const std::string text = "(" + std::string(state_.text(all)) + ")";
      state_.fail(link.span, "`not` binds loosest here, so it needs parentheses: `" + shortened(text) + "`", {},
                  {{"put it in parentheses", all, text}});
    }
    waiting_.push_back(&link);
  }

  void binary(const Link& link) {
    while (!waiting_.empty()) {
      const Level before = level(*waiting_.back());
      if (before < link.binary->level || (before == link.binary->level && link.binary->side == Side::Right)) break;
      if (before == link.binary->level && link.binary->side == Side::None) refuse(link);
      reduce();
    }
    waiting_.push_back(&link);
  }

  void reduce() {
    const Link& link = *waiting_.back();
    waiting_.pop_back();
    Operand right = std::move(values_.back());
    values_.pop_back();
    if (link.prefix) {
      const Span span{state_.source, link.span.begin, right.span.end};
      values_.push_back({state_.make(span, Unary{link.prefix->op, std::move(right.expr)}), span});
      return;
    }
    Operand left = std::move(values_.back());
    values_.pop_back();
    const Span span{state_.source, left.span.begin, right.span.end};
    values_.push_back(
        {state_.make(span, Binary{link.binary->op, std::move(left.expr), std::move(right.expr), link.span}), span});
  }

  // A second comparison or range. waiting_ ends with the first; values_ with its operands.
  [[noreturn]] void refuse(const Link& link) {
    const Link& first = *waiting_.back();
    const std::string a(state_.text(values_[values_.size() - 2].span)), b(state_.text(values_.back().span));
    const std::size_t end = end_of(at_ + 1, link.binary->level);
    const Span rest =
        cover(chain_[at_ + 1].prefix ? chain_[at_ + 1].span : chain_[at_ + 1].operand.span, chain_[end - 1]);
    const Span all{state_.source, values_[values_.size() - 2].span.begin, rest.end};
    if (link.binary->level == Level::Range)
      state_.fail(link.span, "a range has two ends: `" + shortened(a + ".." + b) + "` cannot go on with `..`");
    if (const Link* bits = bits_between(first)) {
      const std::string left(state_.text({state_.source, all.begin, bits->span.begin})),
          right(state_.text({state_.source, bits->span.end, all.end}));
      const std::string apart = "(" + std::string(trimmed(left)) + ") " + std::string(bits->binary->token) + " (" +
                                std::string(trimmed(right)) + ")";
      state_.fail(all,
                  "`" + std::string(bits->binary->token) +
                      "` binds closer than a comparison, so these need parentheses: `" + shortened(apart) + "`",
                  {}, {{"put both in parentheses", all, apart, true}});
    }
    std::string text = a + " " + std::string(first.binary->token) + " " + b;
    text += " and " + b + " " + std::string(link.binary->token) + " " + std::string(state_.text(rest));
    state_.fail(all, "comparisons do not chain: write `" + shortened(text) + "`", {},
                {{"compare twice", all, text, true}});
  }

  // `x > 0 & x < 3`: the `&` or `|` between both comparisons, where there is no other.
  const Link* bits_between(const Link& first) const {
    const Link* found = nullptr;
    for (const Link& l : chain_) {
      if (!l.binary || (l.binary->op != BitAnd && l.binary->op != BitOr)) continue;
      if (found || &l < &first || &l > &chain_[at_]) return nullptr;
      found = &l;
    }
    return found;
  }

  static Span cover(Span from, const Link& last) {
    return {from.source, from.begin, last.prefix || last.binary ? last.span.end : last.operand.span.end};
  }

  // One past the last link of the operand at `from` of an operator of this level.
  std::size_t end_of(std::size_t from, Level of) const {
    std::size_t end = from;
    while (end < chain_.size() && !(chain_[end].binary && chain_[end].binary->level <= of)) ++end;
    return end;
  }

  State& state_;
  const std::vector<Link>& chain_;
  std::size_t at_ = 0;
  std::vector<Operand> values_;
  std::vector<const Link*> waiting_;
};

}  // namespace

const BinaryRow& row(BinaryOp op) {
  return *std::find_if(binaries.begin(), binaries.end(), [&](const BinaryRow& r) { return r.op == op; });
}

const UnaryRow& row(UnaryOp op) {
  return *std::find_if(unaries.begin(), unaries.end(), [&](const UnaryRow& r) { return r.op == op; });
}

std::string_view sign_at(std::string_view text) {
  std::string_view best;
  const auto see = [&](const auto& rows) {
    for (const auto& r : rows)
      if (r.token.size() > best.size() && starts(text, r.token)) best = r.token;
  };
  see(binaries);
  see(unaries);
  see(others);
  return best;
}

bool goes_on_after(std::string_view sign) {
  const auto has = [&](const auto& rows) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& r) { return r.token == sign; });
  };
  const auto other = std::find_if(others.begin(), others.end(), [&](const OtherRow& r) { return r.token == sign; });
  return other == others.end() ? has(binaries) || has(unaries) : other->goes_on;
}

const BinaryRow* binary_at(std::string_view text) {
  const std::string_view sign = sign_at(text);
  const auto found =
      std::find_if(binaries.begin(), binaries.end(), [&](const BinaryRow& r) { return r.token == sign; });
  return found == binaries.end() ? nullptr : &*found;
}

const UnaryRow* unary_at(std::string_view text) {
  for (const UnaryRow& r : unaries)
    if (starts(text, r.token)) return &r;
  return nullptr;
}

std::span<const std::string_view> all_keywords() { return keywords; }

bool is_dtype(std::string_view word) { return has(dtypes, word); }
bool is_group(std::string_view word) { return one_of(word, {"V", "U", "U_max", "U_min", "R"}); }

bool is_keyword(std::string_view word) { return has(keywords, word) || is_dtype(word); }

Operand climb(State& state, std::vector<Link> chain) {
  if (chain.size() == 1) return std::move(chain.front().operand);
  return Climber(state, chain).run();
}

}  // namespace shard::grammar
