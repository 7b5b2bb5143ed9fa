// The idx format of the MNIST files: two zero bytes, an element type, the rank, sizes and elements, all big-endian.
#include <algorithm>

#include "stdlib/host/files/format.h"

namespace shard::stdlib {
namespace {

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

bool looks_like_idx(std::string_view b, std::string_view) {
  return b.size() >= 4 && b[0] == 0 && b[1] == 0 && element_type(static_cast<unsigned char>(b[2])) && b[3] >= 1 &&
         b[3] <= 8;
}

class Idx : public OneArray {
 public:
  explicit Idx(Source& file) : OneArray(file) {
    const std::string head = file.text(0, 36);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
    ArrayHeader a{"", *element_type(byte(2)), {}};
    const std::size_t rank = byte(3);
    stored_ = {4 + 4 * rank, true, false};
    if (head.size() < stored_.at) refuse_file("it is an idx file that ends within its sizes");
    for (std::size_t i = 0; i < rank; ++i) {
      std::uint32_t n = 0;
      for (std::size_t k = 0; k < 4; ++k) n = n << 8 | byte(4 + 4 * i + k);
      a.shape.push_back(n);
    }
    file.expect(stored_.at, a.bytes(), "it is an idx file of shape " + runtime::to_string(a.shape) + ", which takes");
    arrays.push_back(std::move(a));
  }
};

void write_idx(Interpreter& in, const Value& v, Sink& file) {
  const ArrayRef a = only_array(in, v, "an idx");
  const Type& type = a->type;
  unsigned char code = 0;
  for (unsigned char c = 0x08; c <= 0x0e; ++c)
    if (element_type(c) == type.dtype) code = c;
  if (!code)
    refuse_file("idx has no type for " + std::string(runtime::name(type.dtype)) +
                "; u8 i8 i16 i32 f32 f64 can be saved");
  if (type.shape.empty() || type.shape.size() > 8) refuse_file("idx files hold arrays of rank 1 to 8");
  std::string head{'\0', '\0', static_cast<char>(code), static_cast<char>(type.shape.size())};
  for (const std::int64_t n : type.shape) {
    if (n > 0xffffffff) refuse_file("idx files hold sizes below 2 ** 32");
    for (int shift = 24; shift >= 0; shift -= 8) head += static_cast<char>(n >> shift & 255);
  }
  file.write(head);
  const std::size_t item = runtime::size_of(type.dtype);
  each_piece(in, a, [&](std::string_view piece) {
    std::string swapped(piece);
    for (std::size_t at = 0; at < swapped.size(); at += item)
      std::reverse(swapped.data() + at, swapped.data() + at + item);
    file.write(swapped);
  });
}

}  // namespace

Format idx_format() { return {"idx", {".idx"}, "one array", looks_like_idx, opened<Idx>, write_idx, true}; }

}  // namespace shard::stdlib
