#include "stdlib/host/files/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/array/shape.h"

namespace shard::stdlib {
namespace {

constexpr std::uint64_t kLargestText = std::uint64_t{4} << 30;  // what must be in memory as a whole: 4 GiB

struct Descriptor {
  int fd = -1;
  explicit Descriptor(int f) : fd(f) {}
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

class File : public Source {
 public:
  File(Descriptor file, std::uint64_t size) : file_(std::move(file)), size_(size) {}
  std::optional<std::uint64_t> size() const override { return size_; }
  std::uint64_t most() const override { return size_; }
  bool anywhere() const override { return true; }
  std::size_t read_apart(std::uint64_t offset, void* to, std::size_t n) const override {
    return direct(offset, static_cast<char*>(to), n);
  }
  void soon(std::uint64_t offset, std::size_t n) const override {
    posix_fadvise(file_.fd, static_cast<off_t>(offset), static_cast<off_t>(n), POSIX_FADV_WILLNEED);
  }

  std::size_t read_some(std::uint64_t offset, void* to, std::size_t n) override {
    // Ahead is read where small pieces follow each other; a row here and a row there are read as they are.
    const bool follows = offset >= end_ && offset - end_ < kDirect;
    end_ = offset + n;
    if (n >= kDirect || (!follows && (offset < from_ || offset + n > from_ + have_)))
      return direct(offset, static_cast<char*>(to), n);
    std::size_t done = 0;
    while (done < n) {  // small pieces from what was read ahead
      if (offset < from_ || offset >= from_ + have_) {
        ahead_.resize(kAhead);
        from_ = offset;
        have_ = direct(offset, ahead_.data(), kAhead);
        if (have_ == 0) break;
      }
      const std::size_t at = static_cast<std::size_t>(offset - from_), count = std::min(n - done, have_ - at);
      std::memcpy(static_cast<char*>(to) + done, ahead_.data() + at, count);
      done += count;
      offset += count;
    }
    return done;
  }

 private:
  static constexpr std::size_t kAhead = 1 << 16, kDirect = 1 << 12;

  std::size_t direct(std::uint64_t offset, char* to, std::size_t n) const {
    std::size_t done = 0;
    while (done < n) {
      const ssize_t got = pread(file_.fd, to + done, n - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse_file(std::strerror(errno));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Descriptor file_;
  std::uint64_t size_, from_ = 0, end_ = 0;  // what was read ahead, and where the last piece ended
  std::size_t have_ = 0;
  std::string ahead_;
};

class Bytes : public Source {  // of what cannot be read at offsets: pipes
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
  std::optional<std::uint64_t> size() const override { return bytes_.size(); }
  std::uint64_t most() const override { return bytes_.size(); }
  std::size_t read_some(std::uint64_t offset, void* to, std::size_t n) override {
    if (offset >= bytes_.size()) return 0;
    n = std::min<std::size_t>(n, bytes_.size() - static_cast<std::size_t>(offset));
    std::memcpy(to, bytes_.data() + offset, n);
    return n;
  }

 private:
  std::string bytes_;
};

class Part : public Source {
 public:
  Part(Source& whole, std::uint64_t begin, std::uint64_t size) : whole_(whole), begin_(begin), size_(size) {}
  std::optional<std::uint64_t> size() const override { return size_; }
  std::uint64_t most() const override { return std::min(size_, whole_.most()); }
  std::size_t read_some(std::uint64_t offset, void* to, std::size_t n) override {
    if (offset >= size_) return 0;
    return whole_.read_some(begin_ + offset, to, static_cast<std::size_t>(std::min<std::uint64_t>(n, size_ - offset)));
  }

 private:
  Source& whole_;
  std::uint64_t begin_, size_;
};

std::string drained(int fd) {
  std::string out, chunk(1 << 20, '\0');
  for (;;) {
    const ssize_t n = read(fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse_file(std::strerror(errno));
    if (n == 0) return out;
    if (out.size() + static_cast<std::size_t>(n) > kLargestText) refuse_file("it is larger than 4 GiB");
    out.append(chunk, 0, static_cast<std::size_t>(n));
  }
}

}  // namespace

void refuse_file(const std::string& why) { throw runtime::RuntimeError("io", why); }

void Source::wrong_size(const std::string& have) const {
  refuse_file(what_ + " " + std::to_string(need_) + " bytes, but it has " + have);
}

void Source::expect(std::uint64_t at, std::uint64_t need, std::string what) {
  begin_ = at, need_ = need, what_ = std::move(what);
  const auto behind = [&](std::uint64_t end) { return end < at ? 0 : end - at; };
  if (const auto n = size(); n && behind(*n) != need) wrong_size(std::to_string(behind(*n)));
  if (behind(most()) < need) wrong_size("at most " + std::to_string(behind(most())));
}

void Source::check_end() {
  char c = 0;
  if (!what_.empty() && read_some(begin_ + need_, &c, 1) != 0) wrong_size("more");
}

void Source::read(std::uint64_t offset, void* to, std::size_t n) {
  const std::size_t got = read_some(offset, to, n);
  if (got == n) return;
  const std::uint64_t end = offset + got;
  if (!what_.empty() && end >= begin_ && (got > 0 || !anywhere())) wrong_size(std::to_string(end - begin_));
  refuse_file("it ends too early");
}

std::string Source::text(std::uint64_t offset, std::size_t n) {
  std::string out(static_cast<std::size_t>(std::min<std::uint64_t>(n, most())), '\0');
  out.resize(read_some(offset, out.data(), out.size()));
  return out;
}

std::string Source::rest(std::uint64_t offset) {
  std::string out;
  if (const auto n = size()) {
    if (*n > kLargestText) refuse_file("it is larger than 4 GiB");
    out.reserve(static_cast<std::size_t>(*n));
  }
  for (std::string chunk(1 << 20, '\0');;) {
    const std::size_t got = read_some(offset + out.size(), chunk.data(), chunk.size());
    if (out.size() + got > kLargestText) refuse_file("unpacked it is larger than 4096 MiB");
    out.append(chunk, 0, got);
    if (got < chunk.size()) return out;
  }
}

std::unique_ptr<Source> open_source(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) refuse_file(std::strerror(errno));
  struct stat info {};
  if (fstat(file.fd, &info) != 0) refuse_file(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) refuse_file("it is a folder");
  std::unique_ptr<Source> out;
  if (S_ISREG(info.st_mode) && info.st_size > 0)
    out = std::make_unique<File>(std::move(file), static_cast<std::uint64_t>(info.st_size));
  else
    out = std::make_unique<Bytes>(drained(file.fd));  // what the system makes as it is read has no size
  if (out->text(0, 2) == "\x1f\x8b") return gunzipped(std::move(out));
  return out;
}

std::unique_ptr<Source> open_in_folder(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.fd < 0) refuse_file(errno == ELOOP ? "it is a symbolic link" : std::strerror(errno));
  struct stat info {};
  if (fstat(file.fd, &info) != 0) refuse_file(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) refuse_file("it is no file");
  return std::make_unique<File>(std::move(file), static_cast<std::uint64_t>(info.st_size));
}

std::unique_ptr<Source> part_of(Source& whole, std::uint64_t begin, std::uint64_t size) {
  return std::make_unique<Part>(whole, begin, size);
}

}  // namespace shard::stdlib
