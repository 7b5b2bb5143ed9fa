// Plain text in UTF-8: a string, the one value that a file gives which must be in memory as a whole.
#include <algorithm>

#include "grammar/characters.h"
#include "stdlib/host/files/format.h"

namespace shard::stdlib {
namespace {

bool looks_like_text(std::string_view bytes, std::string_view) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) < 9; });
}

class Text : public Contents {
 public:
  explicit Text(Source& file) : file_(file) {}
  void read(std::size_t, const ArrayPart&) override {}  // there are no arrays
  Value tree(std::vector<Value>) override {
    std::string text = file_.rest(0);
    if (grammar::not_utf8(text) != std::string_view::npos)
      refuse_file("it is no text in UTF-8, nor any of " +
                  format_names("and", [](const Format& f) { return f.name != "text"; }));
    return Value::string(std::move(text));
  }

 private:
  Source& file_;
};

void write_text(Interpreter&, const Value& v, Sink& file) {
  if (!v.is_string()) refuse_file("a text file holds a string, this is " + lang::kind_name(v));
  file.write(v.str());
}

}  // namespace

Format text_format() { return {"text", {".txt"}, "a string", looks_like_text, opened<Text>, write_text}; }

}  // namespace shard::stdlib
