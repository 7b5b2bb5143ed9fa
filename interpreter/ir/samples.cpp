#include "interpreter/ir/samples.h"

#include <charconv>
#include <stdexcept>

namespace shard::ir {
namespace {

class SampleReader {
 public:
  SampleReader(std::string_view text, const Samples& all, std::vector<Sample>& out)
      : text_(text), all_(all), out_(out) {}

  void run() {
    if (!ahead()) return;
    out_.emplace_back();
    while (ahead()) {
      if (take(';')) {
        out_.emplace_back();
        continue;
      }
      const std::string_view name = word();
      if (take('='))
        out_.back().attrs.set(name, value());
      else
        operand(name);
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw std::logic_error("samples: cannot read `" + std::string(text_.substr(at_)) + "`");
  }
  bool ahead() {  // anything but blanks
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size();
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  template <class F>
  std::string_view while_(F&& belongs) {
    const std::size_t from = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return text_.substr(from, at_ - from);
  }
  std::string_view word() {
    return while_([](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
  }
  template <class T>
  T number(std::string_view s) {
    T made{};
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), made);
    if (error != std::errc{} || end != s.data() + s.size()) fail();
    return made;
  }
  static bool of_number(char c) { return (c >= '0' && c <= '9') || c == '-'; }
  std::int64_t integer() {
    if (text_.substr(at_).starts_with("whole")) return at_ += 5, kWhole;
    return number<std::int64_t>(while_(of_number));
  }
  // What stands between brackets, with commas: calls f before each.
  template <class F>
  void listed(char close, F&& f) {
    while (!take(close)) {
      if (!ahead()) fail();
      f();
      take(',');
      ahead();
    }
  }

  void operand(std::string_view name) {
    SampleOperand o;
    if (!name.empty()) {
      const auto dtype = runtime::dtype_named(name);
      if (!dtype) fail();
      o.dtype = *dtype;
      if (o.dtype != runtime::DType::F32) o.low = o.dtype == runtime::DType::I32 ? -4 : 0;
      if (o.dtype != runtime::DType::F32) o.high = o.dtype == runtime::DType::I32 ? 5 : 4;
    }
    if (take('['))
      listed(']', [&] { o.shape.push_back(integer()); });
    else if (name.empty())
      fail();
    if (all_.range) std::tie(o.low, o.high) = *all_.range;
    if (ahead() && of_number(text_[at_])) {
      const std::size_t dots = text_.find("..", at_);
      if (dots == std::string_view::npos) fail();
      o.low = number<double>(text_.substr(at_, dots - at_));
      at_ = dots + 2;
      o.high = number<double>(while_([](char c) { return of_number(c) || c == '.'; }));
    }
    out_.back().operands.push_back(std::move(o));
  }

  AttrValue value() {
    if (take('\'')) return text();
    if (take('[')) return list();
    if (of_number(at_ < text_.size() ? text_[at_] : ' ')) {
      const std::string_view s = while_([](char c) { return of_number(c) || c == '.' || c == 'e'; });
      if (s.find_first_of(".e") != std::string_view::npos) return number<double>(s);
      return number<std::int64_t>(s);
    }
    const std::string_view name = word();
    if (name == "true" || name == "false") return name == "true";
    const auto dtype = runtime::dtype_named(name);
    if (!dtype) fail();
    return *dtype;
  }
  std::string text() {
    const std::string made(while_([](char c) { return c != '\''; }));
    if (!take('\'')) fail();
    return made;
  }
  AttrValue list() {
    Ints ints;
    Pairs pairs;
    listed(']', [&] {
      if (!take('(')) return ints.push_back(integer());
      Ints pair;
      listed(')', [&] { pair.push_back(integer()); });
      if (pair.size() != 2) fail();
      pairs.emplace_back(pair[0], pair[1]);
    });
    if (!pairs.empty()) return pairs;
    return ints;
  }

  std::string_view text_;
  const Samples& all_;
  std::vector<Sample>& out_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Sample> samples_of(const OpDef& row) {
  std::vector<Sample> out;
  for (const std::string_view text : {row.samples.text, row.samples.also}) SampleReader(text, row.samples, out).run();
  return out;
}

}  // namespace shard::ir
