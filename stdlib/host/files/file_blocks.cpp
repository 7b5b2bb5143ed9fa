// Arrays in files and in memory: reading any block of one that lies in a file as plain elements, and bringing one that
// lies on devices to a file, both in pieces.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "runtime/kernels/spread.h"
#include "stdlib/host/files/format.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using runtime::Strides;

constexpr std::size_t kPiece = std::size_t{1} << 18;              // summed up while it is in the cache of its core
constexpr std::size_t kAhead = 64 * kPiece, kTold = 16 * kPiece;  // how far ahead the disk is told, and how often

// The order of bytes, and truth values that are 0 or 1.
void put_right(char* data, std::size_t bytes, std::size_t item, DType dtype, bool swap) {
  if (runtime::is_complex(dtype)) item /= 2;  // each part has its own order
  if (swap && item > 1)
    for (std::size_t at = 0; at < bytes; at += item) std::reverse(data + at, data + at + item);
  if (dtype == DType::Bool)
    for (std::size_t i = 0; i < bytes; ++i) data[i] = data[i] != 0;
}

// A block as the file has it: dimensions in the file's order.
struct Walk {
  Shape whole, origin, count;
  Strides strides;           // of the destination, in elements
  std::size_t run_from = 0;  // dimensions from here on are one run of elements in the file
  std::int64_t run = 1;
  bool dense = true;  // and in memory

  Walk(const Stored& stored, const ArrayHeader& header, const ArrayPart& block)
      : whole(header.shape), origin(block.origin), count(block.to.shape), strides(block.to.strides) {
    if (stored.fortran)
      for (auto* v : {&whole, &origin, &count, &strides}) std::reverse(v->begin(), v->end());
    run_from = whole.size();
    while (run_from > 0) {
      const std::size_t d = run_from - 1;
      dense = dense && (count[d] == 1 || strides[d] == run);
      run *= count[d];
      run_from = d;
      if (count[d] != whole[d]) break;
    }
  }

  std::int64_t place(const Shape& index, const Shape& sizes) const {  // of an element of the block, in row-major order
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) at = at * sizes[d] + index[d];
    return at;
  }
};

// Elements of one run, from its element `first` on, to where they belong.
void scatter(const Walk& w, Shape index, std::int64_t first, const char* from, std::int64_t n, std::size_t item,
             char* to) {
  std::int64_t rest = first;
  for (std::size_t d = w.whole.size(); d-- > w.run_from;) index[d] = rest % w.count[d], rest /= w.count[d];
  std::int64_t at = 0;
  for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * w.strides[d];
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(to + at * static_cast<std::int64_t>(item), from + i * static_cast<std::int64_t>(item), item);
    for (std::size_t d = index.size(); d-- > w.run_from;) {
      at += w.strides[d];
      if (++index[d] < w.count[d]) break;
      at -= index[d] * w.strides[d];
      index[d] = 0;
    }
  }
}

// A long run that lies in memory as in the file: pieces of it by several threads, since taking new memory and summing
// up cost more than the file does. Whoever is free takes the next piece, so that the disk sees one run from front to
// back; it is told what comes, since the system reads no further ahead where two threads take turns.
void read_long_run(Source& file, const Stored& stored, std::uint64_t place, char* to, std::uint64_t bytes,
                   std::size_t item, DType dtype) {
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(bytes / kPiece + 1), 0);
  std::atomic<std::size_t> next{0};
  runtime::spread(static_cast<std::int64_t>(bytes), kPiece, [&](std::int64_t, std::int64_t) {
    const std::size_t i = next++, from = i * kPiece;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, bytes - from));
    if (from == 0) file.soon(place, kAhead);
    if (from % kTold == 0) file.soon(place + from + kAhead, kTold);
    if (file.read_apart(place + from, to + from, n) != n) refuse_file("it ends too early");
    if (stored.sum) sums[i] = runtime::PartialSum::apart({to + from, n});
    put_right(to + from, n, item, dtype, stored.big_endian);
  });
  for (std::uint64_t at = 0; stored.sum && at < bytes; at += kPiece)
    stored.sum->run(place - stored.at + at, std::min<std::uint64_t>(kPiece, bytes - at),
                    sums[static_cast<std::size_t>(at / kPiece)]);
}

}  // namespace

void read_stored(Source& file, const Stored& stored, const ArrayHeader& header, const ArrayPart& block) {
  const std::size_t item = runtime::size_of(header.dtype);
  if (runtime::numel(block.to.shape) == 0) return;
  const Walk w(stored, header, block);
  char* to = static_cast<char*>(block.to.data);
  const std::int64_t piece = static_cast<std::int64_t>(kPiece / item);
  std::string scratch;
  Shape index(w.whole.size(), 0);
  for (;;) {
    Shape from = w.origin;
    std::int64_t target = 0;
    for (std::size_t d = 0; d < w.run_from; ++d) from[d] += index[d], target += index[d] * w.strides[d];
    const std::uint64_t at = stored.at + static_cast<std::uint64_t>(w.place(from, w.whole)) * item;
    const std::uint64_t bytes_of_run = static_cast<std::uint64_t>(w.run) * item;
    const bool at_once = w.dense && bytes_of_run >= 16 * kPiece && file.anywhere();
    if (at_once)
      read_long_run(file, stored, at, to + target * static_cast<std::int64_t>(item), bytes_of_run, item, header.dtype);
    for (std::int64_t done = at_once ? w.run : 0; done < w.run;) {
      const std::int64_t n = std::min(w.run - done, piece);
      const std::size_t bytes = static_cast<std::size_t>(n) * item;
      const std::uint64_t place = at + static_cast<std::uint64_t>(done) * item;
      char* here = to + (target + done) * static_cast<std::int64_t>(item);
      if (!w.dense) {
        scratch.resize(bytes);
        here = scratch.data();
      }
      file.read(place, here, bytes);
      if (stored.sum) stored.sum->run(place - stored.at, {here, bytes});
      put_right(here, bytes, item, header.dtype, stored.big_endian);
      if (!w.dense) scatter(w, index, done, here, n, item, to);
      done += n;
    }
    std::size_t d = w.run_from;
    while (d > 0 && ++index[d - 1] == w.count[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

ArrayRef array_to_write(Interpreter& in, const Value& v) {
  return runtime::whole(in.context().pool(), in.context().concrete(v.tensor(), "save"));
}

ArrayRef only_array(Interpreter& in, const Value& v, std::string_view file) {
  if (!v.is_tensor()) refuse_file(std::string(file) + " file holds one array, this is " + lang::kind_name(v));
  return array_to_write(in, v);
}

void write_pieces(Interpreter& in, const ArrayRef& a, Sink& file) {
  each_piece(in, a, [&](std::string_view piece) { file.write(piece); });
}

std::uint64_t stored_bytes(DType dtype, const Shape& shape) {
  return static_cast<std::uint64_t>(runtime::checked_bytes(shape, runtime::size_of(dtype)));
}

std::uint64_t little(std::string_view bytes) {
  std::uint64_t x = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) x = x << 8 | static_cast<unsigned char>(bytes[i]);
  return x;
}

std::string little(std::uint64_t x, std::size_t bytes) {
  std::string out;
  for (; bytes > 0; --bytes, x >>= 8) out += static_cast<char>(x & 255);
  return out;
}

std::uint64_t whole_size(Source& file) {
  char c = 0;
  if (!file.size()) file.read_some(file.most(), &c, 1);
  if (!file.size()) refuse_file("its size cannot be found");
  return *file.size();
}

Value Contents::tree(std::vector<Value> values) {
  std::vector<std::pair<std::string, Value>> named;
  for (std::size_t i = 0; i < values.size(); ++i) named.emplace_back(arrays[i].name, std::move(values[i]));
  return Value::record(std::move(named));
}

// ---- raw numbers, little-endian, with nothing around them: token files. What they are, the script says (`dtype:`), so
// this is no row of the table.
namespace {

class RawNumbers : public OneArray {
 public:
  RawNumbers(Source& file, DType dtype) : OneArray(file) {
    const std::uint64_t bytes = whole_size(file), item = runtime::size_of(dtype);
    if (bytes % item != 0)
      refuse_file("its " + std::to_string(bytes) + " bytes are no whole number of " +
                  std::string(runtime::name(dtype)) + ", which takes " + std::to_string(item));
    arrays.push_back({"", dtype, {static_cast<std::int64_t>(bytes / item)}, 0});
  }
};

}  // namespace

std::unique_ptr<Contents> raw_contents(Source& file, DType dtype) { return std::make_unique<RawNumbers>(file, dtype); }

}  // namespace shard::stdlib
