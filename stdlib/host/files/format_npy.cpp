// NumPy's npy (one array) and npz (a zip of them). Source: NumPy's "NEP 1" and the zip application note, section 4.3.
// Arrays of Python objects are refused: they are pickles, which run code.
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "stdlib/host/files/file_bytes.h"
#include "stdlib/host/files/formats.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::Value;
using runtime::DType;
using runtime::RuntimeError;

[[noreturn]] void bad(const std::string& why) { throw RuntimeError("io", why); }

std::uint64_t little(std::string_view b, std::size_t at, std::size_t n) {
  if (at + n > b.size() || at + n < at) bad("it ends too early");
  std::uint64_t x = 0;
  for (std::size_t i = n; i-- > 0;) x = x << 8 | static_cast<unsigned char>(b[at + i]);
  return x;
}

// The text behind 'key': in the header's dictionary, up to the matching comma.
std::string_view entry(std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "'");
  if (at == std::string_view::npos) bad("its npy header has no '" + key + "'");
  std::size_t from = header.find(':', at);
  if (from == std::string_view::npos) bad("its npy header is damaged");
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
    bad("its npy type " + std::string(descr.substr(0, 40)) + " is not read here (only plain numbers)");
  const char order = descr[1];
  const std::string_view kind = descr.substr(2, descr.size() - 3);
  swap = order == '>';
  static constexpr std::pair<const char*, DType> kTypes[] = {
      {"b1", DType::Bool}, {"i1", DType::I8},  {"i2", DType::I16}, {"i4", DType::I32},
      {"i8", DType::I64},  {"u1", DType::U8},  {"u2", DType::U16}, {"u4", DType::U32},
      {"u8", DType::U64},  {"f2", DType::F16}, {"f4", DType::F32}, {"f8", DType::F64}};
  for (const auto& [name, type] : kTypes)
    if (kind == name) return type;
  if (kind.starts_with("O")) bad("it holds Python objects, which are never loaded");
  bad("its npy type " + std::string(descr.substr(0, 40)) + " is not read here (only plain numbers)");
}

runtime::Shape shape_of(std::string_view s) {
  runtime::Shape shape;
  if (s.size() < 2 || s.front() != '(' || s.back() != ')') bad("its npy shape is damaged");
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
    if (r.ec != std::errc() || r.ptr != one.data() + one.size() || n < 0) bad("its npy shape is damaged");
    if (shape.size() == static_cast<std::size_t>(runtime::kMaxRank)) bad("it has more than 16 dimensions");
    shape.push_back(n);
  }
  return shape;
}

// Column-major elements to row-major ones.
std::string to_row_major(const std::string& data, const runtime::Shape& shape, std::size_t item) {
  std::string out(data.size(), '\0');
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::size_t at = 0; at < data.size(); at += item) {
    std::size_t from = 0, stride = 1;
    for (std::size_t d = 0; d < shape.size(); ++d)
      from += static_cast<std::size_t>(index[d]) * stride, stride *= static_cast<std::size_t>(shape[d]);
    std::memcpy(out.data() + at, data.data() + from * item, item);
    for (std::size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
  return out;
}

std::uint32_t checksum(std::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t n = std::min<std::size_t>(bytes.size() - at, 1u << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data() + at), static_cast<uInt>(n));
    at += n;
  }
  return static_cast<std::uint32_t>(crc);
}

}  // namespace

bool is_npy(std::string_view b) { return b.starts_with("\x93NUMPY"); }
bool is_zip(std::string_view b) { return b.starts_with("PK\x03\x04") || b.starts_with("PK\x05\x06"); }

Value read_npy(lang::Interpreter& in, std::string_view b) {
  if (b.size() < 10) bad("it is an npy file that ends too early");
  const int version = b[6];
  if (version < 1 || version > 3) bad("its npy version is not known");
  const std::size_t prefix = version == 1 ? 10 : 12;
  const std::uint64_t length = little(b, 8, version == 1 ? 2 : 4);
  if (length > (1u << 20) || prefix + length > b.size()) bad("its npy header is damaged");
  const std::string_view header = b.substr(prefix, length);
  bool swap = false;
  const DType dtype = dtype_of(entry(header, "descr"), swap);
  const bool fortran = entry(header, "fortran_order") == "True";
  const runtime::Shape shape = shape_of(entry(header, "shape"));
  const std::size_t item = runtime::size_of(dtype);
  const auto need = static_cast<std::size_t>(runtime::checked_bytes(shape, item));
  std::string data(b.substr(prefix + length));
  if (need != data.size())
    bad("its shape " + runtime::to_string(shape) + " takes " + std::to_string(need) + " bytes, but it has " +
        std::to_string(data.size()));
  if (swap && item > 1)
    for (std::size_t at = 0; at < data.size(); at += item) std::reverse(data.data() + at, data.data() + at + item);
  if (fortran && shape.size() > 1) data = to_row_major(data, shape, item);
  if (dtype == DType::Bool)
    for (char& c : data) c = c != 0;
  return new_array(in, dtype, shape, data.data());
}

std::string write_npy(const runtime::DeviceArray& host) {
  static constexpr const char* kNames[] = {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2",
                                           "<u4", "<u8", "<f2", "",    "<f4", "<f8", ""};
  const std::string type = kNames[static_cast<int>(host.type.dtype)];
  if (type.empty())
    bad("npy has no type for " + std::string(runtime::name(host.type.dtype)) +
        ": cast it to f32, or save with another ending");
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t n : host.type.shape) header += std::to_string(n) + ",";
  header += "), }";
  while ((10 + header.size() + 1) % 64) header += ' ';
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  return out.append(
      static_cast<const char*>(host.buffer->data()),
      static_cast<std::size_t>(runtime::checked_bytes(host.type.shape, runtime::size_of(host.type.dtype))));
}

std::string write_npz(lang::Interpreter& in, const Value& record) {
  const lang::Record* r = record.fields();
  if (!r) bad("an npz file holds a record of arrays, this is " + lang::kind_name(record));
  std::string out, directory;
  const auto number = [](std::string& s, std::uint64_t x, int bytes) {
    for (; bytes > 0; --bytes, x >>= 8) s += static_cast<char>(x & 255);
  };
  for (const auto& [field, v] : r->fields) {
    if (!v.is_tensor())
      bad("an npz file holds arrays, the field " + field + " is " + lang::kind_name(v) +
          "; another ending saves trees");
    const std::string name = field + ".npy",
                      body =
                          write_npy(*runtime::to_host(in.context().pool(), in.context().concrete(v.tensor(), "save")));
    if (out.size() + body.size() > 0xf0000000)
      bad("npz files of 4 GiB and more are not written here; another ending saves them");
    std::string common;  // what a member's head and its entry in the directory share
    number(common, 20, 2), number(common, 0x800, 2), number(common, 0, 2);  // version 2.0, names in UTF-8, not packed
    number(common, 0, 2), number(common, 0x21, 2);  // a time that does not depend on time: 1980-01-01
    number(common, checksum(body), 4), number(common, body.size(), 4), number(common, body.size(), 4),
        number(common, name.size(), 2);
    number(directory, 0x02014b50, 4), number(directory, 20, 2);
    directory += common;
    for (int i = 0; i < 5; ++i) number(directory, 0, i == 4 ? 4 : 2);  // no extra, comment, disk, attributes
    number(directory, out.size(), 4);
    directory += name;
    number(out, 0x04034b50, 4);
    out += common;
    number(out, 0, 2);
    out += name + body;
  }
  const std::size_t at = out.size(), count = r->fields.size();
  out += directory;
  number(out, 0x06054b50, 4), number(out, 0, 4), number(out, count, 2), number(out, count, 2),
      number(out, directory.size(), 4), number(out, at, 4);
  number(out, 0, 2);
  return out;
}

Value read_npz(lang::Interpreter& in, std::string_view b) {
  const std::string_view mark("PK\x05\x06", 4);
  const std::size_t tail = b.substr(b.size() - std::min<std::size_t>(b.size(), 65557)).rfind(mark);
  if (tail == std::string_view::npos) bad("it is a zip file without its directory");
  const std::size_t end = b.size() - std::min<std::size_t>(b.size(), 65557) + tail;
  const std::uint64_t count = little(b, end + 10, 2);
  std::size_t at = little(b, end + 16, 4);
  std::vector<std::pair<std::string, Value>> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (little(b, at, 4) != 0x02014b50) bad("its zip directory is damaged");
    const std::uint64_t method = little(b, at + 10, 2), packed = little(b, at + 20, 4), size = little(b, at + 24, 4);
    const std::uint64_t name_size = little(b, at + 28, 2), extra = little(b, at + 30, 2),
                        comment = little(b, at + 32, 2), local = little(b, at + 42, 4);
    if (at + 46 + name_size > b.size()) bad("its zip directory is damaged");
    std::string name(b.substr(at + 46, name_size));
    if (packed == 0xffffffff || size == 0xffffffff || local == 0xffffffff)
      bad("zip files with members of 4 GiB and more are not read here");
    const std::size_t begin = local + 30 + little(b, local + 26, 2) + little(b, local + 28, 2);
    if (begin + packed > b.size()) bad("its member " + name + " ends beyond the file");
    const std::string_view body = b.substr(begin, packed);
    std::string unpacked;
    if (method == 8)
      unpacked = inflate_bytes(body, true, size);
    else if (method != 0)
      bad("its member " + name + " is packed in a way that is not read here");
    const std::string_view bytes = method == 0 ? body : std::string_view(unpacked);
    if (bytes.size() != size || checksum(bytes) != little(b, at + 16, 4))
      bad("its member " + name + " is damaged: the checksum does not fit");
    if (!is_npy(bytes)) bad("its member " + name + " is no npy array");
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    for (const auto& f : out)
      if (f.first == name) bad("it has two members called " + name);
    out.emplace_back(std::move(name), read_npy(in, bytes));
    at += 46 + name_size + extra + comment;
  }
  return Value::record(std::move(out));
}

}  // namespace shard::stdlib
