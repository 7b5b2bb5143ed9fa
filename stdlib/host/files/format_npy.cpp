// NumPy's npy: one array. Source: NumPy's "NEP 1". Arrays of Python objects are refused: they are pickles, which run
// code.
#include <algorithm>
#include <charconv>

#include "stdlib/host/files/format_safetensors.h"

namespace shard::stdlib {
namespace {

std::string_view without_blanks(std::string_view s, std::string_view at_the_end) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && at_the_end.find(s.back()) != std::string_view::npos) s.remove_suffix(1);
  return s;
}

// Without their order of bytes.
constexpr std::pair<std::string_view, DType> kNumbers[] = {
    {"b1", DType::Bool}, {"i1", DType::I8},  {"i2", DType::I16}, {"i4", DType::I32},  {"i8", DType::I64},
    {"u1", DType::U8},   {"u2", DType::U16}, {"u4", DType::U32}, {"u8", DType::U64},  {"f2", DType::F16},
    {"f4", DType::F32},  {"f8", DType::F64}, {"c8", DType::C64}, {"c16", DType::C128}};

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
  return without_blanks(header.substr(from, to - from), " ");
}

DType dtype_of(std::string_view descr, bool& swap) {
  if (descr.size() < 4 || descr.front() != '\'' || descr.back() != '\'')
    refuse_file("its npy type " + std::string(descr.substr(0, 40)) + " is not read here (only plain numbers)");
  const char order = descr[1];
  const std::string_view kind = descr.substr(2, descr.size() - 3);
  swap = order == '>';
  for (const auto& [name, type] : kNumbers)
    if (kind == name) return type;
  if (kind.starts_with("O")) refuse_file("it holds Python objects, which are never loaded");
  refuse_file("its npy type " + std::string(descr.substr(0, 40)) + " is not read here (only plain numbers)");
}

Shape shape_of(std::string_view s) {
  Shape shape;
  if (s.size() < 2 || s.front() != '(' || s.back() != ')') refuse_file("its npy shape is damaged");
  s = s.substr(1, s.size() - 2);
  while (!s.empty()) {
    const std::size_t comma = std::min(s.find(','), s.size());
    const std::string_view one = without_blanks(s.substr(0, comma), " L");
    s.remove_prefix(std::min(comma + 1, s.size()));
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
  const int version = static_cast<unsigned char>(head[6]);
  if (version < 1 || version > 3) refuse_file("its npy version is not known");
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (head.size() < prefix) refuse_file("it ends too early");
  const std::uint64_t length = little(std::string_view(head).substr(8, prefix - 8));
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
  file.expect(out.stored.at, out.header.bytes(), "its shape " + runtime::to_string(out.header.shape) + " takes");
  return out;
}

std::string npy_header(const Type& t, std::string_view name) {
  const DType stored = t.dtype == DType::Key ? DType::U32 : t.dtype;  // keys: their words
  const auto* type =
      std::find_if(std::begin(kNumbers), std::end(kNumbers), [&](const auto& x) { return x.second == stored; });
  if (type == std::end(kNumbers))
    refuse_file((name.empty() ? "" : "`" + std::string(name) + "`: ") + "npy has no type for " +
                std::string(runtime::name(t.dtype)) + ": cast it to f32, or save with another ending");
  const std::string descr = (runtime::size_of(stored) == 1 ? "|" : "<") + std::string(type->first);
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t n : shape_as_stored(t)) header += std::to_string(n) + ",";
  header += "), }";
  while ((10 + header.size() + 1) % 64) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + little(header.size(), 2) + header;
}

namespace {

class NpyFile : public OneArray {
 public:
  explicit NpyFile(Source& file) : OneArray(file) {
    Npy npy = read_npy_header(file);
    arrays.push_back(std::move(npy.header));
    stored_ = npy.stored;
  }
};

void write_npy(Interpreter& in, const Value& v, Sink& file) {
  const ArrayRef a = only_array(in, v, "an npy");
  file.write(npy_header(a->type));
  write_pieces(in, a, file);
}

}  // namespace

Format npy_format() {
  const auto recognises = [](std::string_view head, std::string_view) { return is_npy(head); };
  return {"npy", {".npy"}, "one array", recognises, opened<NpyFile>, write_npy, true};
}

}  // namespace shard::stdlib
