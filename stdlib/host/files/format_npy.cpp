// NumPy's npy: one array. Source: NumPy's "NEP 1". Arrays of Python objects are refused: they are pickles, which run
// code.
#include "stdlib/host/files/format_npy.h"

#include <charconv>

#include "stdlib/host/files/format_safetensors.h"

namespace shard::stdlib {
namespace {

using runtime::DType;

// The text behind 'key': in the header's dictionary, up to the matching comma.
std::string_view entry(std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "'");
  if (at == std::string_view::npos) refuse_file("its npy header has no '" + key + "'");
  std::size_t from = header.find(':', at);
  if (from == std::string_view::npos) refuse_file("its npy header is damaged");
  ++from;
  int depth = 0;
  std::size_t to = from;
  for (; to < header.size(); ++to) {
    const char c = header[to];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth <= 0 && (c == ',' || c == '}')) break;
  }
  std::string_view s = header.substr(from, to - from);
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

DType dtype_of(std::string_view descr, bool& swap) {
  if (descr.size() < 4 || descr.front() != '\'' || descr.back() != '\'')
    refuse_file("its npy type " + std::string(descr.substr(0, 40)) + " is not read here (only plain numbers)");
  const char order = descr[1];
  const std::string_view kind = descr.substr(2, descr.size() - 3);
  swap = order == '>';
  static constexpr std::pair<const char*, DType> kTypes[] = {
      {"b1", DType::Bool}, {"i1", DType::I8},  {"i2", DType::I16}, {"i4", DType::I32},  {"i8", DType::I64},
      {"u1", DType::U8},   {"u2", DType::U16}, {"u4", DType::U32}, {"u8", DType::U64},  {"f2", DType::F16},
      {"f4", DType::F32},  {"f8", DType::F64}, {"c8", DType::C64}, {"c16", DType::C128}};
  for (const auto& [name, type] : kTypes)
    if (kind == name) return type;
  if (kind.starts_with("O")) refuse_file("it holds Python objects, which are never loaded");
  refuse_file("its npy type " + std::string(descr.substr(0, 40)) + " is not read here (only plain numbers)");
}

runtime::Shape shape_of(std::string_view s) {
  runtime::Shape shape;
  if (s.size() < 2 || s.front() != '(' || s.back() != ')') refuse_file("its npy shape is damaged");
  s = s.substr(1, s.size() - 2);
  while (!s.empty()) {
    const std::size_t comma = std::min(s.find(','), s.size());
    std::string_view one = s.substr(0, comma);
    s.remove_prefix(std::min(comma + 1, s.size()));
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && (one.back() == ' ' || one.back() == 'L')) one.remove_suffix(1);
    if (one.empty() && s.empty()) break;
    std::int64_t n = 0;
    const auto r = std::from_chars(one.data(), one.data() + one.size(), n);
    if (r.ec != std::errc() || r.ptr != one.data() + one.size() || n < 0) refuse_file("its npy shape is damaged");
    if (shape.size() == static_cast<std::size_t>(runtime::kMaxRank)) refuse_file("it has more than 16 dimensions");
    shape.push_back(n);
  }
  return shape;
}

}  // namespace

bool is_npy(std::string_view head) { return head.starts_with("\x93NUMPY"); }

Npy read_npy_header(Source& file, bool or_text) {
  const std::string head = file.text(0, 12);
  if (head.size() < 10) refuse_file("it is an npy file that ends too early");
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  const int version = byte(6);
  if (version < 1 || version > 3) refuse_file("its npy version is not known");
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (head.size() < prefix) refuse_file("it ends too early");
  std::uint64_t length = 0;
  for (std::size_t i = prefix; i-- > 8;) length = length << 8 | byte(i);
  const std::string header = length > (1u << 20) ? "" : file.text(prefix, length);
  if (header.size() != length) refuse_file("its npy header is damaged");
  Npy out;
  const std::string_view descr = entry(header, "descr");
  out.text = or_text && descr.size() > 3 && (descr[2] == 'U' || descr[2] == 'S');
  if (out.text) return out;
  out.header.dtype = dtype_of(descr, out.stored.big_endian);
  out.stored.fortran = entry(header, "fortran_order") == "True";
  out.header.shape = shape_of(entry(header, "shape"));
  out.stored.at = prefix + length;
  const runtime::Shape& shape = out.header.shape;
  file.expect(out.stored.at,
              static_cast<std::uint64_t>(runtime::checked_bytes(shape, runtime::size_of(out.header.dtype))),
              "its shape " + runtime::to_string(shape) + " takes");
  return out;
}

std::string npy_header(const runtime::Type& t, std::string_view name) {
  static constexpr const char* kNames[runtime::kDTypes] = {
      "|b1", "|i1", "<i2", "<i4", "<i8", "|u1",  "<u2", "<u4", "<u8", "<f2",
      "",    "<f4", "<f8", "",    "<c8", "<c16", "",    "",    ""};  // keys: their words, "<u4"
  const std::string type = t.dtype == DType::Key ? "<u4" : kNames[static_cast<int>(t.dtype)];
  if (type.empty())
    refuse_file((name.empty() ? "" : "`" + std::string(name) + "`: ") + "npy has no type for " +
                std::string(runtime::name(t.dtype)) + ": cast it to f32, or save with another ending");
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t n : shape_as_stored(t)) header += std::to_string(n) + ",";
  header += "), }";
  while ((10 + header.size() + 1) % 64) header += ' ';
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return out + header;
}

namespace {

class NpyFile : public Contents {
 public:
  explicit NpyFile(Source& file) : file_(file), npy_(read_npy_header(file)) { arrays.push_back(npy_.header); }
  void read(std::size_t, const ArrayPart& block) override { read_stored(file_, npy_.stored, arrays[0], block); }
  void check_end() override { file_.check_end(); }
  bool in_parts() const override { return file_.anywhere(); }
  lang::Value tree(lang::Interpreter&, std::vector<lang::Value> values) override { return std::move(values[0]); }

 private:
  Source& file_;
  Npy npy_;
};

}  // namespace

Format npy_format() {
  return {"npy",
          {".npy"},
          "one array",
          [](std::string_view head, std::string_view) { return is_npy(head); },
          [](Source& file) -> std::unique_ptr<Contents> { return std::make_unique<NpyFile>(file); },
          [](lang::Interpreter& in, const lang::Value& v, Sink& file) {
            const runtime::ArrayRef a = only_array(in, v, "an npy");
            file.write(npy_header(a->type));
            write_pieces(in, a, file);
          }};
}

}  // namespace shard::stdlib
