// Files of text, and whether there is one; floats and XML as text, and the characters of a text as codes. Trees of
// arrays are read and written in storage/.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>

#include "grammar/characters.h"
#include "stdlib/host/files/format.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/files/text.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

Value exists(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  if (in.options().may_read && !in.options().may_read(path)) return Value(false);
  struct stat info {};
  const bool there = stat(path.c_str(), &info) == 0;
  if (!there && in.context().types_only() && (in.checker() || not_written(in, path)))  // a run may write it
    return Value(in.context().unknown(Type::of(DType::Bool, {})));
  return Value(there);
}

// Beside the script that asks; where it is no file (typed, or standard input), in the folder of the program.
Value here(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  if (path.starts_with("/") || !in.sources().has(a.span.source)) return Value::string(path);
  const std::string folder = folder_of(in.sources().at(a.span.source).name());
  return Value::string(folder == "." ? path : folder == "/" ? "/" + path : folder + "/" + path);
}

Value read_text(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  Value text = reading_from(in, path, a.args[0].span, [&] { return Value::string(open_source(path)->rest(0)); });
  if (grammar::not_utf8(text.str()) != std::string_view::npos)
    in.fail("io", a.args[0].span, "'" + path + "' is no text in UTF-8");
  return text;
}

Value read_csv(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  return reading_from(in, path, a.args[0].span, [&] { return read_csv_columns(in, *open_source(path)); });
}

// Each character of a text in UTF-8: its bytes, the first in front, so that they sort as code points do.
template <class F>
void each_character(const std::string& text, F f) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = grammar::character_bytes(text, i);
    std::uint32_t bytes = 0;
    for (std::size_t k = 0; k < n; ++k)
      bytes |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[i + k])) << (24 - 8 * k);
    f(bytes);
    i += n;
  }
}

// The text's characters as codes into the sorted list of the characters that occur.
Value chars(Interpreter& in, BoundArgs& a) {
  const std::string& text = in.text(a[0], a.args[0].span, "the text of chars");
  std::map<std::uint32_t, std::int32_t> codes;
  std::array<std::int32_t, 128> ascii{};
  ascii.fill(-1);
  std::size_t count = 0;
  each_character(text, [&](std::uint32_t bytes) {
    if (bytes >> 24 < 128)
      ascii[bytes >> 24] = 0;
    else
      codes.try_emplace(bytes, 0);
    ++count;
  });
  for (std::uint32_t c = 0; c < 128; ++c)
    if (ascii[c] >= 0) codes.emplace(c << 24, 0);
  std::vector<Value> vocabulary;
  for (auto& [bytes, code] : codes) {
    std::string c;
    for (int shift = 24; shift >= 0 && (c.empty() || (bytes >> shift & 0xff)); shift -= 8)
      c += static_cast<char>(bytes >> shift & 0xff);
    code = static_cast<std::int32_t>(vocabulary.size());
    if (bytes >> 24 < 128) ascii[bytes >> 24] = code;
    vocabulary.push_back(Value::string(std::move(c)));
  }
  const Shape shape{static_cast<std::int64_t>(count)};
  if (in.context().types_only())  // what the codes are, nobody asks
    return Value::tuple({Value(in.context().unknown(Type::of(DType::I32, shape))), Value::list(std::move(vocabulary))});
  std::vector<std::int32_t> out;
  out.reserve(count);
  each_character(text,
                 [&](std::uint32_t bytes) { out.push_back(bytes >> 24 < 128 ? ascii[bytes >> 24] : codes.at(bytes)); });
  return Value::tuple({Value(new_array(in, DType::I32, shape, out.data())), Value::list(std::move(vocabulary))});
}

}  // namespace

std::string float_text(double x, bool single) {
  char text[40], *end = text + sizeof text;
  std::string out(text, (single ? std::to_chars(text, end, static_cast<float>(x)) : std::to_chars(text, end, x)).ptr);
  if (std::isfinite(x) && out.find_first_of(".ei") == std::string::npos) out += ".0";
  return out;
}

std::string xml_text(std::string_view text, std::string_view kept, std::string_view escaped) {
  static constexpr std::pair<char, std::string_view> kForms[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  std::string out;
  for (const char c : text) {
    const auto form = std::find_if(std::begin(kForms), std::end(kForms), [&](const auto& f) { return f.first == c; });
    if (form != std::end(kForms) && escaped.find(c) != std::string_view::npos)
      out += form->second;
    else if (static_cast<unsigned char>(c) >= 32 || kept.find(c) != std::string_view::npos)
      out += c;
  }
  return out;
}

void register_files(Interpreter& in) {
  in.define({"exists", "exists(path)", "Whether there is a file or folder of this name.", exists});
  in.define(
      {"here", "here(path)", "The path of a file in the folder of the script that calls: here(\"data.csv\").", here});
  in.define({"read_text", "read_text(path)", "A text file in UTF-8, gzipped or not, as a string.", read_text});
  in.define({"read_csv", "read_csv(path)",
             "A table whose first line names its columns, as a record of arrays (lists of strings where a column holds "
             "text).",
             read_csv});
  in.define({"chars", "chars(text)",
             "The characters of a text as i32 codes, and the sorted list of the characters that the codes index.",
             chars});
}

}  // namespace shard::stdlib
