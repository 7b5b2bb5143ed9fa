#include "stdlib/host/files/sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

#include "stdlib/host/files/byte_source.h"
#include "stdlib/host/files/paths.h"

namespace shard::stdlib {
namespace {

// False where it failed; errno says why.
bool write_all(int fd, std::string_view bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

class FileSink : public Sink {
 public:
  // Under the name `beside` until it is finished. `flags`: O_CREAT and more, none for what stands and stays.
  FileSink(std::string path, std::string beside, int flags)
      : path_(std::move(path)), beside_(std::move(beside)), done_(!(flags & O_CREAT)) {
    fd_ = open(beside_.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
    if (fd_ < 0) failed("");
  }
  void may(mode_t mode) { fchmod(fd_, mode); }
  ~FileSink() override {
    if (fd_ >= 0) close(fd_);
    if (!done_) unlink(beside_.c_str());
  }

  void write(std::string_view bytes) override {
    if (small_.size() + bytes.size() <= kTogether) {
      small_.append(bytes);
      return;
    }
    flush();
    if (bytes.size() <= kTogether)
      small_.append(bytes);
    else
      put(bytes);
  }

  void finish() override {
    flush();
    if (fsync(fd_) != 0 && errno != EINVAL) failed("on its way to the disk: ");
    if (close(std::exchange(fd_, -1)) != 0) failed("on its way to the disk: ");
    if (beside_ != path_ && rename(beside_.c_str(), path_.c_str()) != 0) failed("");
    done_ = true;
    if (beside_ == path_) return;
    const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    fsync(folder);  // the new name is on the disk once its folder is
    close(folder);
  }

 private:
  static constexpr std::size_t kTogether = 1 << 16;
  static constexpr std::uint64_t kAhead = std::uint64_t{32} << 20;

  void flush() {
    put(small_);
    small_.clear();
  }
  // Of a large file the disk gets what is there while more is written: then little is left for the end.
  void put(std::string_view bytes) {
    if (!write_all(fd_, bytes)) failed("");
    written_ += bytes.size();
    if (written_ - begun_ < kAhead) return;
    sync_file_range(fd_, static_cast<off64_t>(begun_), static_cast<off64_t>(written_ - begun_), SYNC_FILE_RANGE_WRITE);
    begun_ = written_;
  }
  [[noreturn]] void failed(const char* doing) { refuse_file(doing + std::string(std::strerror(errno))); }

  std::string path_, beside_, small_;
  std::uint64_t written_ = 0, begun_ = 0;  // bytes; of them the disk was told
  int fd_ = -1;
  bool done_;  // nothing is to be removed
};

class NoSink : public Sink {
 public:
  void write(std::string_view) override {}
  void finish() override {}
};

class GzipSink : public Sink {
 public:
  explicit GzipSink(std::unique_ptr<Sink> to) : to_(std::move(to)), chunk_(1 << 18, '\0') {
    if (deflateInit2(&z_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      refuse_file("zlib cannot be started");
  }
  ~GzipSink() override { deflateEnd(&z_); }

  void write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::size_t n = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      z_.avail_in = static_cast<uInt>(n);
      while (z_.avail_in > 0) pack(Z_NO_FLUSH);
      bytes.remove_prefix(n);
    }
  }
  void finish() override {
    while (!pack(Z_FINISH)) {}
    to_->finish();
  }

 private:
  bool pack(int how) {  // whether the stream has ended
    z_.next_out = reinterpret_cast<Bytef*>(chunk_.data());
    z_.avail_out = static_cast<uInt>(chunk_.size());
    const int status = deflate(&z_, how);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) refuse_file("it cannot be packed");
    to_->write({chunk_.data(), chunk_.size() - z_.avail_out});
    return status == Z_STREAM_END;
  }

  std::unique_ptr<Sink> to_;
  std::string chunk_;
  z_stream z_{};
};

}  // namespace

std::unique_ptr<Sink> open_sink(const std::string& path, bool packed) {
  struct stat old {};
  const bool stands = stat(path.c_str(), &old) == 0;
  std::unique_ptr<FileSink> file;
  if (stands && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode)) {
    file = std::make_unique<FileSink>(path, path, 0);
  } else {
    std::error_code none;
    const std::filesystem::path known = std::filesystem::canonical(path, none);  // behind a link
    const std::string target = none ? path : known.string();
    file = std::make_unique<FileSink>(target, target + ".part" + std::to_string(getpid()), O_CREAT | O_TRUNC);
    if (S_ISREG(old.st_mode)) file->may(old.st_mode & 07777);  // what may run may run on
  }
  if (packed) return std::make_unique<GzipSink>(std::move(file));
  return file;
}

std::unique_ptr<Sink> no_sink() { return std::make_unique<NoSink>(); }

std::unique_ptr<Sink> open_in_new_folder(const std::string& path) {
  return std::make_unique<FileSink>(path, path, O_CREAT | O_EXCL);
}

void folder_to_disk(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = folder >= 0 && (fsync(folder) == 0 || errno == EINVAL);
  const int why = errno;
  if (folder >= 0) close(folder);
  if (!done) refuse_file("on its way to the disk: " + std::string(std::strerror(why)));
}

void append_bytes(Interpreter& in, const std::string& path, std::string_view bytes, grammar::Span span) {
  check_may_write(in, path, span);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const bool written = fd >= 0 && write_all(fd, bytes);
  const int why = errno;
  const bool closed = fd >= 0 && close(fd) == 0;
  if (!written || !closed)
    in.fail("io", span, "cannot write '" + path + "': " + std::strerror(written ? errno : why), missing_folder(path));
}

}  // namespace shard::stdlib
