#include "interpreter/ir/samples.h"

#include <charconv>
#include <stdexcept>

#include "interpreter/ir/op_table.h"

namespace shard::ir {
namespace {

class SampleReader {
 public:
  SampleReader(std::string_view text, const Samples& all, std::vector<Sample>& out)
      : text_(text), all_(all), out_(out) {}

  void run() {
    std::string_view word = next();
    if (word.empty()) return;
    out_.emplace_back();
    for (; !word.empty(); word = next()) {
      const std::size_t equals = word.find_first_of("=['");
      if (word == ";")
        out_.emplace_back();
      else if (equals != std::string_view::npos && word[equals] == '=')
        out_.back().attrs.set(word.substr(0, equals), value(word.substr(equals + 1)));
      else if (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'))
        range(word);
      else
        operand(word);
    }
  }

 private:
  [[noreturn]] static void fail(std::string_view word) {
    throw std::logic_error("samples: cannot read `" + std::string(word) + "`");
  }
  // Up to a blank or a `;` that is in no brackets or quotes; a `;` by itself; empty at the end.
  std::string_view next() {
    text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size()));
    std::size_t end = 0;
    bool quoted = false;
    for (int depth = 0; end < text_.size(); ++end) {
      const char c = text_[end];
      if (!quoted && depth == 0 && (c == ' ' || c == ';')) break;
      quoted ^= c == '\'';
      if (!quoted) depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    }
    const std::string_view word = text_.substr(0, end == 0 && !text_.empty() ? 1 : end);
    text_.remove_prefix(word.size());
    return word;
  }
  static AttrValue value(std::string_view word) {
    auto made = literal(word);
    if (!made) fail(word);
    return *std::move(made);
  }

  void operand(std::string_view word) {
    SampleOperand o;
    const std::size_t bracket = std::min(word.find('['), word.size());
    if (bracket > 0) {
      const auto dtype = runtime::dtype_named(word.substr(0, bracket));
      if (!dtype) fail(word);
      o.dtype = *dtype;
      if (o.dtype != runtime::DType::F32) o.low = o.dtype == runtime::DType::I32 ? -4 : 0;
      if (o.dtype != runtime::DType::F32) o.high = o.dtype == runtime::DType::I32 ? 5 : 4;
    }
    if (bracket < word.size()) {
      const AttrValue shape = value(word.substr(bracket));
      if (!std::holds_alternative<Ints>(shape)) fail(word);
      o.shape = std::get<Ints>(shape);
    }
    if (all_.range) std::tie(o.low, o.high) = *all_.range;
    out_.back().operands.push_back(std::move(o));
  }

  // "0..3": of the last operand.
  void range(std::string_view word) {
    const std::size_t dots = word.find("..");
    if (dots == std::string_view::npos || out_.back().operands.empty()) fail(word);
    const auto bound = [&](std::string_view part) {
      double made = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), made);
      if (error != std::errc{} || end != part.data() + part.size()) fail(word);
      return made;
    };
    SampleOperand& o = out_.back().operands.back();
    o.low = bound(word.substr(0, dots));
    o.high = bound(word.substr(dots + 2));
  }

  std::string_view text_;
  const Samples& all_;
  std::vector<Sample>& out_;
};

}  // namespace

std::vector<Sample> samples_of(const OpDef& row) {
  std::vector<Sample> out;
  for (const std::string_view text : {row.samples.text, row.samples.also}) SampleReader(text, row.samples, out).run();
  return out;
}

}  // namespace shard::ir
