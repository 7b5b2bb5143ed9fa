// Sources that are packed: gzip files, and members of zip files. They are unpacked as they are read, straight to where
// the bytes are wanted; going back begins anew at the front.
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "stdlib/host/files/byte_source.h"

namespace shard::stdlib {
namespace {

constexpr std::uint64_t kRatio = 1032;  // deflate packs no better (zlib's documentation)

class Inflated : public Source {
 public:
  // `size`: of the unpacked bytes, where something says it.
  Inflated(Source& packed, std::uint64_t begin, std::uint64_t bytes, bool raw, std::optional<std::uint64_t> size)
      : packed_(packed), first_(begin), bytes_(bytes), raw_(raw), size_(size), chunk_(1 << 16, '\0') {
    if (inflateInit2(&z_, raw ? -MAX_WBITS : 16 + MAX_WBITS) != Z_OK) refuse_file("zlib cannot be started");
  }
  Inflated(std::unique_ptr<Source> packed) : Inflated(*packed, 0, *packed->size(), false, std::nullopt) {
    owned_ = std::move(packed);
  }
  ~Inflated() override { inflateEnd(&z_); }

  std::optional<std::uint64_t> size() const override { return size_; }
  std::uint64_t most() const override {
    const std::uint64_t most = bytes_ > std::numeric_limits<std::uint64_t>::max() / kRatio
                                   ? std::numeric_limits<std::uint64_t>::max()
                                   : bytes_ * kRatio;
    return size_ ? std::min(*size_, most) : most;
  }

  std::size_t read_some(std::uint64_t offset, void* to, std::size_t n) override {
    if (offset < at_) restart();
    while (at_ < offset) {  // what is passed over
      if (skipped_.empty()) skipped_.resize(1 << 18);
      if (unpack(skipped_.data(), static_cast<std::size_t>(std::min<std::uint64_t>(skipped_.size(), offset - at_))) ==
          0)
        return 0;
    }
    std::size_t done = 0;
    while (done < n) {
      const std::size_t got = unpack(static_cast<char*>(to) + done, n - done);
      if (got == 0) break;
      done += got;
    }
    return done;
  }

 private:
  void restart() {
    if (inflateReset(&z_) != Z_OK) wrong("is damaged");
    z_.avail_in = 0;
    fed_ = at_ = 0;
    ended_ = false;
  }
  [[noreturn]] void wrong(const char* how) const {
    refuse_file(std::string(raw_ ? "its packed data " : "its gzip data ") + how);
  }

  void feed() {
    if (z_.avail_in > 0 || fed_ == bytes_) return;
    const std::size_t got = packed_.read_some(
        first_ + fed_, chunk_.data(), static_cast<std::size_t>(std::min<std::uint64_t>(chunk_.size(), bytes_ - fed_)));
    z_.next_in = reinterpret_cast<Bytef*>(chunk_.data());
    z_.avail_in = static_cast<uInt>(got);
    fed_ = got == 0 ? bytes_ : fed_ + got;
  }

  // Some of the next bytes, up to n; 0 at the end.
  std::size_t unpack(char* to, std::size_t n) {
    n = std::min<std::size_t>(n, std::numeric_limits<uInt>::max());
    while (!ended_) {
      feed();
      z_.next_out = reinterpret_cast<Bytef*>(to);
      z_.avail_out = static_cast<uInt>(n);
      const int status = inflate(&z_, Z_NO_FLUSH);
      const std::size_t got = n - z_.avail_out;
      at_ += got;
      if (status == Z_STREAM_END) {
        next_member();
      } else if (status == Z_BUF_ERROR || (status == Z_OK && z_.avail_in == 0 && fed_ == bytes_ && got == 0)) {
        wrong("ends too early");
      } else if (status != Z_OK) {
        wrong("is damaged");
      }
      if (got > 0) return got;
    }
    return 0;
  }

  // Behind the end of one stream: the end of all, or, in gzip files, another member.
  void next_member() {
    feed();
    if (z_.avail_in == 0) {
      ended_ = true;
      if (!size_) size_ = at_;
      return;
    }
    if (raw_ || z_.next_in[0] != 0x1f) wrong("ends before the file does");
    if (inflateReset(&z_) != Z_OK) wrong("is damaged");
  }

  std::unique_ptr<Source> owned_;
  Source& packed_;
  std::uint64_t first_, bytes_, fed_ = 0;  // where the packed bytes lie, how many zlib was given
  std::uint64_t at_ = 0;                   // how many it gave
  bool raw_, ended_ = false;
  std::optional<std::uint64_t> size_;
  z_stream z_{};
  std::string chunk_, skipped_;
};

}  // namespace

std::unique_ptr<Source> gunzipped(std::unique_ptr<Source> packed) {
  return std::make_unique<Inflated>(std::move(packed));
}

std::unique_ptr<Source> inflated(Source& whole, std::uint64_t begin, std::uint64_t size, std::uint64_t unpacked) {
  return std::make_unique<Inflated>(whole, begin, size, true, unpacked);
}

}  // namespace shard::stdlib
