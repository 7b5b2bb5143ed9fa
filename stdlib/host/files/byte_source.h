// What a file is read from: bytes at offsets, never the whole of them at once. A file on disk, a range of another
// source, or what gzip or deflate has packed, which is unpacked as it is asked for: cheap from front to back, anew from
// the front for what lies before. Errors are RuntimeError("io") that say what is wrong with the file.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace shard::stdlib {

class Source {
 public:
  virtual ~Source() = default;
  Source() = default;
  Source(const Source&) = delete;

  // Up to `n` bytes from `offset` on; fewer only where the file ends.
  virtual std::size_t read_some(std::uint64_t offset, void* to, std::size_t n) = 0;
  // How many bytes there are, where that is known without unpacking them.
  virtual std::optional<std::uint64_t> size() const = 0;
  virtual std::uint64_t most() const = 0;  // it cannot have more: before memory is taken for what a header promises
  // Whether reading costs the same wherever; then several threads may read at once, by this one.
  virtual bool anywhere() const { return false; }
  virtual std::size_t read_apart(std::uint64_t, void*, std::size_t) const { return 0; }
  virtual void soon(std::uint64_t, std::size_t) const {}  // these bytes will be read: the disk may begin

  void read(std::uint64_t offset, void* to, std::size_t n);  // all of them, or an error
  std::string text(std::uint64_t offset, std::size_t n);     // as far as there are
  std::string rest(std::uint64_t offset);                    // at most 4 GiB

  // A header says that `need` bytes follow `at`, and nothing behind them: an error "WHAT N bytes, but it has M",
  // at once where the size is known, else when reading finds out or by check_end().
  void expect(std::uint64_t at, std::uint64_t need, std::string what);
  void check_end();

 private:
  [[noreturn]] void wrong_size(const std::string& have) const;
  std::uint64_t begin_ = 0, need_ = 0;
  std::string what_;  // of expect
};

// The file, unpacked where it is gzipped (by content, not by name).
std::unique_ptr<Source> open_source(const std::string& path);
// A file of a folder, as it lies there: no link that leads elsewhere, nothing that is unpacked, no pipe.
std::unique_ptr<Source> open_in_folder(const std::string& path);
// `size` bytes of another source from `begin` on. It reads no further than the other one has.
std::unique_ptr<Source> part_of(Source& whole, std::uint64_t begin, std::uint64_t size);
// The same bytes unpacked: raw deflate of `unpacked` bytes, as members of zip files are.
std::unique_ptr<Source> inflated(Source& whole, std::uint64_t begin, std::uint64_t size, std::uint64_t unpacked);

// ---- for the kinds of sources
[[noreturn]] void refuse_file(const std::string& why);
std::unique_ptr<Source> gunzipped(std::unique_ptr<Source> packed);  // inflate.cpp

}  // namespace shard::stdlib
