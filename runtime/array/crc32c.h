// CRC-32C (Castagnoli), the check sum of checkpoints, of TensorBoard's records and of messages between processes. It is
// linear: parts of a whole may be summed up apart and in any order, which is how an array that is read in pieces by
// many devices is checked without reading anything twice.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string_view>

namespace shard::runtime {

// The sum of `before` and what follows it; 0 before anything.
std::uint32_t crc32c(std::uint32_t before, std::string_view bytes);

// What zero bytes do to the register: the tables of a linear map.
class ZeroBytes {
 public:
  explicit ZeroBytes(std::uint64_t count);
  std::uint32_t operator()(std::uint32_t state) const {
    return tables_[0][state & 255] ^ tables_[1][state >> 8 & 255] ^ tables_[2][state >> 16 & 255] ^
           tables_[3][state >> 24];
  }

 private:
  std::array<std::array<std::uint32_t, 256>, 4> tables_;
};

// The sum of some bytes of a whole whose others count as zero: runs from front to back, then `finish`. Sums of parts
// that do not overlap are combined by ^, and `whole` says what all of them must come to.
class PartialSum {
 public:
  void run(std::uint64_t offset, std::string_view bytes);
  // The same of a run that somebody else has summed up, by `apart`.
  void run(std::uint64_t offset, std::uint64_t size, std::uint32_t sum);
  static std::uint32_t apart(std::string_view bytes);
  std::uint32_t finish(std::uint64_t size);
  static std::uint32_t whole(std::uint32_t crc, std::uint64_t size);  // of `size` bytes with this check sum

 private:
  void skip(std::uint64_t count);
  std::uint32_t state_ = 0;
  std::uint64_t at_ = 0;
  std::map<std::uint64_t, ZeroBytes> gaps_;  // few: one a dimension of what is read
};

}  // namespace shard::runtime
