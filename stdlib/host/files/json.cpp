#include "stdlib/host/files/json.h"

#include <charconv>

#include "runtime/array/shape.h"

namespace shard::stdlib {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Json whole() {
    Json j = value(0);
    blanks();
    if (at_ != text_.size()) bad();
    return j;
  }

 private:
  [[noreturn]] void bad(const char* why = "damaged") {
    throw runtime::RuntimeError("io", "its JSON header is " + std::string(why) + " at byte " + std::to_string(at_));
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    blanks();
    return at_ < text_.size() && text_[at_] == c ? (++at_, true) : false;
  }
  void need(char c) {
    if (!take(c)) bad();
  }
  bool word(std::string_view w) { return text_.substr(at_).starts_with(w) ? (at_ += w.size(), true) : false; }

  Json value(int depth) {
    if (depth > 64) bad("nested too deeply");
    blanks();
    if (at_ >= text_.size()) bad("cut short");
    Json j;
    const char c = text_[at_];
    if (c == '{') {
      ++at_;
      Json::Object o;
      if (!take('}')) {
        do {
          blanks();
          std::string key = string();
          for (const auto& f : o)
            if (f.first == key) bad("ambiguous (a key stands twice)");
          need(':');
          o.emplace_back(std::move(key), value(depth + 1));
          if (o.size() > 1000000) bad("too large");
        } while (take(','));
        need('}');
      }
      j.value = std::move(o);
    } else if (c == '[') {
      ++at_;
      Json::List l;
      if (!take(']')) {
        do l.push_back(value(depth + 1));
        while (take(','));
        need(']');
      }
      j.value = std::move(l);
    } else if (c == '"') {
      j.value = string();
    } else if (word("true")) {
      j.value = true;
    } else if (word("false")) {
      j.value = false;
    } else if (!word("null")) {
      const std::size_t from = at_;
      while (at_ < text_.size() && std::string_view("+-0123456789.eE").find(text_[at_]) != std::string_view::npos)
        ++at_;
      if (from == at_) bad();
      j.value = std::string(text_.substr(from, at_ - from));
      j.number = true;
    }
    return j;
  }

  unsigned hex4() {
    unsigned x = 0;
    const char* b = text_.data() + at_;
    if (at_ + 4 > text_.size() || std::from_chars(b, b + 4, x, 16).ptr != b + 4) bad();
    at_ += 4;
    return x;
  }

  static void utf8(std::string& s, unsigned c) {
    const auto put = [&](unsigned b) { s += static_cast<char>(b); };
    if (c < 0x80)
      put(c);
    else if (c < 0x800)
      put(0xc0 | c >> 6), put(0x80 | (c & 63));
    else if (c < 0x10000)
      put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
    else
      put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
  }

  std::string string() {
    if (at_ >= text_.size() || text_[at_] != '"') bad();
    ++at_;
    std::string s;
    for (;;) {
      if (at_ >= text_.size()) bad("cut short");
      const char c = text_[at_++];
      if (c == '"') return s;
      if (static_cast<unsigned char>(c) < 0x20) bad();
      if (c != '\\') {
        s += c;
        continue;
      }
      if (at_ >= text_.size()) bad("cut short");
      const char e = text_[at_++];
      static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
      if (const auto i = kFrom.find(e); i != std::string_view::npos) {
        s += kTo[i];
        continue;
      }
      if (e != 'u') bad();
      unsigned u = hex4();
      if (u >= 0xd800 && u < 0xdc00 && word("\\u")) u = 0x10000 + ((u - 0xd800) << 10) + (hex4() - 0xdc00);
      utf8(s, u & 0x1fffff);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view key) const {
  if (const Object* o = object())
    for (const auto& f : *o)
      if (f.first == key) return &f.second;
  return nullptr;
}

bool Json::integer(std::int64_t& out) const {
  if (!number) return false;
  const std::string& s = std::get<std::string>(value);
  const auto r = std::from_chars(s.data(), s.data() + s.size(), out);
  return r.ec == std::errc() && r.ptr == s.data() + s.size();
}

Json parse_json(std::string_view text) { return Reader(text).whole(); }

}  // namespace shard::stdlib
