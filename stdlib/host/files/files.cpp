// load, save and what reads text: files to values. What a file is, is told by its content, for text by its ending.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>

#include "interpreter/lang/layouts/shard_expr.h"
#include "stdlib/host/files/file_bytes.h"
#include "stdlib/host/files/formats.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

// Runs a reader; what it finds wrong is told with the path.
Value reading(Interpreter& in, const std::string& path, grammar::Span span, const std::function<Value()>& read,
              const char* doing = "read") {
  try {
    return read();
  } catch (const runtime::RuntimeError& e) {
    in.fail(e.code, span, std::string("cannot ") + doing + " '" + path + "': " + e.what());
  }
}

bool looks_like_text(const std::string& bytes) {
  const std::size_t n = std::min<std::size_t>(bytes.size(), 4096);
  return std::none_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n),
                      [](char c) { return static_cast<unsigned char>(c) < 9; });
}

bool valid_utf8(const std::string& s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    const int more = c < 0x80                ? 0
                     : c >= 0xc2 && c < 0xe0 ? 1
                     : c >= 0xe0 && c < 0xf0 ? 2
                     : c >= 0xf0 && c < 0xf5 ? 3
                                             : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) >= s.size()) return false;
    for (int k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(s[i + static_cast<std::size_t>(k)]) & 0xc0) != 0x80) return false;
    i += static_cast<std::size_t>(more) + 1;
  }
  return true;
}

Value load(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  const std::string bytes = read_bytes(in, path, a.args[0].span);
  return reading(in, path, a.args[0].span, [&]() -> Value {
    if (is_npy(bytes)) return read_npy(in, bytes);
    if (is_zip(bytes)) return read_npz(in, bytes);
    if (is_idx(bytes)) return read_idx(in, bytes);
    if (is_safetensors(bytes)) return read_safetensors(in, bytes);
    if (ends_with_lower(path, ".csv") || ends_with_lower(path, ".tsv")) return read_csv_array(in, bytes);
    if (looks_like_text(bytes)) {
      if (!valid_utf8(bytes))
        throw runtime::RuntimeError("io", "it is no text in UTF-8, nor any of npz, npy, safetensors, csv and idx");
      return Value::string(bytes);
    }
    throw runtime::RuntimeError("io", "its content is none of npz, npy, safetensors, csv, idx and text");
  });
}

// `specs` names fields of what was saved; what it leaves out stays as it is, without a layout.
Value lay_out(Interpreter& in, const Value& tree, const Value& specs, grammar::Span span) {
  const lang::Record *fields = tree.fields(), *wanted = specs.fields();
  if (specs.is_none()) return tree;
  if (!fields || !wanted) return lang::shard_tree(in, tree, specs, nullptr, span);
  for (const auto& [name, unused] : wanted->fields)
    if (!fields->find(name))
      in.fail("call", span, "the file has no field `" + name + "`", {"it holds " + lang::structure(tree)});
  std::vector<std::pair<std::string, Value>> out;
  for (const auto& [name, v] : fields->fields) {
    const Value* spec = wanted->find(name);
    out.emplace_back(name, spec ? lay_out(in, v, *spec, span) : v);
  }
  return Value::record(std::move(out));
}

Value load_laid_out(Interpreter& in, BoundArgs& a) { return lay_out(in, load(in, a), a[1], a.args[1].span); }

// What a file of this name holds.
std::string encoded(Interpreter& in, const std::string& path, const Value& v) {
  const auto one = [&](const char* format) {
    if (!v.is_tensor())
      throw runtime::RuntimeError("io", std::string(format) + " file holds one array, this is " + lang::kind_name(v));
    return runtime::to_host(in.context().pool(), in.context().concrete(v.tensor(), "save"));
  };
  if (ends_with_lower(path, ".npy")) return write_npy(*one("an npy"));
  if (ends_with_lower(path, ".idx")) return write_idx(*one("an idx"));
  if (ends_with_lower(path, ".npz")) return write_npz(in, v);
  if (ends_with_lower(path, ".csv")) return write_csv(in, v);
  if (ends_with_lower(path, ".txt")) {
    if (!v.is_string()) throw runtime::RuntimeError("io", "a text file holds a string, this is " + lang::kind_name(v));
    return v.str();
  }
  return write_safetensors(in, v);
}

Value save(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  if (in.context().types_only()) return {};  // a program that is checked writes nothing
  return reading(
      in, path, a.span,
      [&]() -> Value {
        std::string bytes = encoded(in, path, a[1]);
        if (path.ends_with(".gz")) bytes = gzip_bytes(bytes);
        write_bytes(in, path, bytes, a.span);
        return {};
      },
      "write");
}

Value exists(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  if (in.options().may_read && !in.options().may_read(path)) return Value(false);
  struct stat info {};
  return Value(stat(path.c_str(), &info) == 0);
}

Value read_text(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  std::string bytes = read_bytes(in, path, a.args[0].span);
  if (!valid_utf8(bytes)) in.fail("io", a.args[0].span, "'" + path + "' is no text in UTF-8");
  return Value::string(std::move(bytes));
}

Value read_csv(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  const std::string bytes = read_bytes(in, path, a.args[0].span);
  return reading(in, path, a.args[0].span, [&] { return read_csv_columns(in, bytes); });
}

// Each character of a text in UTF-8: its bytes, the first in front, so that they sort as code points do.
template <class F>
void each_character(const std::string& text, F f) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t n = std::min<std::size_t>(c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1, text.size() - i);
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
  const runtime::Shape shape{static_cast<std::int64_t>(count)};
  if (in.context().types_only())  // what the codes are, nobody asks
    return Value::tuple({Value(in.context().unknown(runtime::Type::of(runtime::DType::I32, shape))),
                         Value::list(std::move(vocabulary))});
  std::vector<std::int32_t> out;
  out.reserve(count);
  each_character(text,
                 [&](std::uint32_t bytes) { out.push_back(bytes >> 24 < 128 ? ascii[bytes >> 24] : codes.at(bytes)); });
  return Value::tuple(
      {Value(new_array(in, runtime::DType::I32, shape, out.data())), Value::list(std::move(vocabulary))});
}

}  // namespace

void register_files(Interpreter& in) {
  in.define({"load", "load(path, as = none)",
             "The content of a file: npz, npy, safetensors, csv, idx or text, gzipped or not. csv gives one array of "
             "rank 2. as: specs for the tree, or for some fields of it, on the current mesh.",
             load_laid_out});
  in.define({"save", "save(path, tree)",
             "Writes arrays, numbers, text and trees of them (safetensors); load gives them back. By its ending: .npy "
             "and .idx hold one array, "
             ".npz a record of arrays, .csv an array or a record of columns, .txt a string; .gz packs any of them.",
             save});
  in.define({"exists", "exists(path)", "Whether there is a file or folder of this name.", exists});
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
