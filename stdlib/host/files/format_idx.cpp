// The idx format of the MNIST files: two zero bytes, an element type, the rank, sizes and elements, all big-endian.
#include <algorithm>

#include "stdlib/host/files/formats.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using runtime::DType;

std::optional<DType> element_type(unsigned char code) {
  switch (code) {
    case 0x08: return DType::U8;
    case 0x09: return DType::I8;
    case 0x0b: return DType::I16;
    case 0x0c: return DType::I32;
    case 0x0d: return DType::F32;
    case 0x0e: return DType::F64;
    default: return std::nullopt;
  }
}

}  // namespace

bool is_idx(std::string_view b) {
  return b.size() >= 4 && b[0] == 0 && b[1] == 0 && element_type(static_cast<unsigned char>(b[2])) && b[3] >= 1 &&
         b[3] <= 8;
}

lang::Value read_idx(lang::Interpreter& in, std::string_view b) {
  const DType dtype = *element_type(static_cast<unsigned char>(b[2]));
  const auto rank = static_cast<std::size_t>(b[3]);
  if (b.size() < 4 + 4 * rank) throw runtime::RuntimeError("io", "it is an idx file that ends within its sizes");
  runtime::Shape shape;
  for (std::size_t i = 0; i < rank; ++i) {
    std::uint32_t n = 0;
    for (std::size_t k = 0; k < 4; ++k) n = n << 8 | static_cast<unsigned char>(b[4 + 4 * i + k]);
    shape.push_back(n);
  }
  const std::size_t item = runtime::size_of(dtype), have = b.size() - 4 - 4 * rank;
  const auto need = static_cast<std::size_t>(runtime::checked_bytes(shape, item));
  if (need != have)
    throw runtime::RuntimeError("io", "it is an idx file of shape " + runtime::to_string(shape) + ", which takes " +
                                          std::to_string(need) + " bytes, but it has " + std::to_string(have));
  std::string data(b.substr(4 + 4 * rank));
  if (item > 1)
    for (std::size_t at = 0; at < data.size(); at += item)
      std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at),
                   data.begin() + static_cast<std::ptrdiff_t>(at + item));
  return new_array(in, dtype, shape, data.data());
}

std::string write_idx(const runtime::DeviceArray& host) {
  unsigned char code = 0;
  for (unsigned char c = 0x08; c <= 0x0e; ++c)
    if (element_type(c) == host.type.dtype) code = c;
  if (!code)
    throw runtime::RuntimeError("io", "idx has no type for " + std::string(runtime::name(host.type.dtype)) +
                                          "; u8 i8 i16 i32 f32 f64 can be saved");
  if (host.type.shape.empty() || host.type.shape.size() > 8)
    throw runtime::RuntimeError("io", "idx files hold arrays of rank 1 to 8");
  std::string out{'\0', '\0', static_cast<char>(code), static_cast<char>(host.type.shape.size())};
  for (const std::int64_t n : host.type.shape) {
    if (n > 0xffffffff) throw runtime::RuntimeError("io", "idx files hold sizes below 2 ** 32");
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift & 255);
  }
  const std::size_t item = runtime::size_of(host.type.dtype), head = out.size();
  out.append(static_cast<const char*>(host.buffer->data()),
             static_cast<std::size_t>(runtime::checked_bytes(host.type.shape, item)));
  for (std::size_t at = head; item > 1 && at < out.size(); at += item)
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(at + item));
  return out;
}

}  // namespace shard::stdlib
