// The idx format of the MNIST files: two zero bytes, an element type, the rank, sizes and elements, all big-endian.
#include <algorithm>

#include "stdlib/host/formats.h"
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
  return b.size() >= 4 && b[0] == 0 && b[1] == 0 && element_type(static_cast<unsigned char>(b[2])) && b[3] >= 1 && b[3] <= 8;
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
    throw runtime::RuntimeError("io", "it is an idx file of shape " + runtime::to_string(shape) + ", which takes " + std::to_string(need) + " bytes, but it has " + std::to_string(have));
  std::string data(b.substr(4 + 4 * rank));
  if (item > 1)
    for (std::size_t at = 0; at < data.size(); at += item) std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(at + item));
  return new_array(in, dtype, shape, data.data());
}

}  // namespace shard::stdlib
