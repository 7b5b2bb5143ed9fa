#include "stdlib/host/data/loader_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace shard::stdlib {

using runtime::DeviceArray;
using runtime::RuntimeError;

namespace {

std::string row_text(const RowTable::RowType& t) { return runtime::to_string(Type::of(t.dtype, t.shape)); }

}  // namespace

std::size_t RowTable::RowType::bytes() const {
  return static_cast<std::size_t>(runtime::checked_bytes(shape, runtime::size_of(dtype)));
}

void RowTable::add(std::vector<ArrayRef> arrays, const std::string& name) {
  const std::string who = name.empty() ? "" : "'" + name + "': ";
  Part part{count_, 0, std::move(arrays)};
  for (std::size_t i = 0; i < part.arrays.size(); ++i) {
    const Type& type = part.arrays[i]->type;
    if (type.shape.empty())
      throw RuntimeError("shape", who + "a loader takes arrays with rows, one of these has rank 0");
    RowType row{type.dtype, Shape(type.shape.begin() + 1, type.shape.end())};
    std::int64_t rows = type.shape[0];
    if (window_ > 0) {
      if (!row.shape.empty())
        throw RuntimeError("shape", who + "windows are runs of a sequence, and this is " + runtime::to_string(type));
      row.shape = {window_};
      rows = rows < window_ ? 0 : (rows - window_) / stride_ + 1;
    }
    if (i > 0 && rows != part.count)
      throw RuntimeError("shape", who + "the arrays of a loader have one number of rows; these are " +
                                      runtime::to_string(part.arrays[0]->type) + " and " + runtime::to_string(type));
    part.count = rows;
    far_ = far_ || !part.arrays[i]->buffer;
    if (parts_.empty())
      types_.push_back(row);
    else if (i >= types_.size() || types_[i].dtype != row.dtype || types_[i].shape != row.shape)
      throw RuntimeError("shape", who + "its rows are " + row_text(row) + ", those of the first file " +
                                      (i < types_.size() ? row_text(types_[i]) : "fewer arrays"));
  }
  if (part.arrays.size() != types_.size())
    throw RuntimeError("shape", who + "it holds " + std::to_string(part.arrays.size()) + " arrays, the first file " +
                                    std::to_string(types_.size()));
  count_ += part.count;
  parts_.push_back(std::move(part));
}

const RowTable::Part& RowTable::part_of(std::int64_t row) const {
  return *std::prev(
      std::upper_bound(parts_.begin(), parts_.end(), row, [](std::int64_t r, const Part& p) { return r < p.first; }));
}

void RowTable::copy_rows(const DeviceArray& from, std::int64_t row, std::int64_t n, const RowType& type,
                         char* to) const {
  const std::int64_t begin = window_ > 0 ? row * stride_ : row;
  if (from.buffer) {
    const std::size_t step = window_ > 0 ? runtime::size_of(type.dtype) : type.bytes();
    std::memcpy(to, static_cast<const char*>(from.buffer->data()) + static_cast<std::size_t>(begin) * step,
                static_cast<std::size_t>(n) * type.bytes());
    return;
  }
  Shape shape = type.shape, origin(from.type.shape.size(), 0);
  origin[0] = begin;
  if (window_ == 0) shape.insert(shape.begin(), n);
  from.elsewhere->read(origin, runtime::contiguous(type.dtype, shape, to));
}

std::vector<std::string> RowTable::gather(const std::vector<std::int64_t>& which, std::int64_t batch,
                                          const WantedRows& wanted) const {
  const WantedRows all(wanted.empty() ? types_.size() : 0, {{0, batch}});
  std::vector<std::string> out;
  for (const RowType& type : types_) out.emplace_back(static_cast<std::size_t>(batch) * type.bytes(), '\0');
  for (std::size_t i = 0; i < which.size();) {
    const Part& part = part_of(which[i]);
    const std::int64_t row = which[i] - part.first;
    std::int64_t n = 1;  // neighbours are read at once
    while (window_ == 0 && i + static_cast<std::size_t>(n) < which.size() && row + n < part.count &&
           which[i + static_cast<std::size_t>(n)] == which[i] + n)
      ++n;
    const auto at = static_cast<std::int64_t>(i);
    for (std::size_t a = 0; a < types_.size(); ++a)
      for (const auto& [first, last] : (wanted.empty() ? all : wanted)[a]) {
        const std::int64_t from = std::max(at, first), to = std::min(at + n, last);
        if (from < to)
          copy_rows(*part.arrays[a], row + from - at, to - from, types_[a],
                    out[a].data() + static_cast<std::size_t>(from) * types_[a].bytes());
      }
    i += static_cast<std::size_t>(n);
  }
  return out;
}

// ---- order: a Feistel network over the smallest power of four that holds the length; what falls outside is sent round
// again ("cycle walking"), fewer than four times on average. Sources: Black and Rogaway, "Ciphers with arbitrary finite
// domains" (2002); the mixing function is Vigna's splitmix64.
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

KeyedOrder::KeyedOrder(std::uint64_t length, std::uint32_t k0, std::uint32_t k1) : length_(length) {
  half_ = std::max(1, (static_cast<int>(std::bit_width(length - 1)) + 1) / 2);
  std::uint64_t state = std::uint64_t{k0} << 32 | k1;
  for (std::uint64_t& key : keys_) key = mixed(state += 0x9e3779b97f4a7c15);
}

std::uint64_t KeyedOrder::operator[](std::uint64_t i) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
  do {
    std::uint64_t left = i >> half_, right = i & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t next = left ^ (mixed(right ^ key) & mask);
      left = right;
      right = next;
    }
    i = left << half_ | right;
  } while (i >= length_);
  return i;
}

}  // namespace shard::stdlib
