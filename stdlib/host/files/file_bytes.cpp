#include "stdlib/host/files/file_bytes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <limits>

#include "grammar/diagnostic.h"

namespace shard::stdlib {
namespace {

constexpr std::size_t kLargestFile = std::size_t{4} << 30;  // read or unpacked: 4 GiB

[[noreturn]] void refuse(const std::string& message) { throw runtime::RuntimeError("io", message); }

// What may be meant where there is no such file.
std::vector<std::string> near_files(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 || errno != ENOENT) return {};
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  DIR* open = opendir(folder.c_str());
  if (!open) return {"there is no folder '" + folder + "'"};
  std::vector<std::string> names;
  while (const dirent* entry = readdir(open))
    if (entry->d_name[0] != '.' && names.size() < 10'000) names.emplace_back(entry->d_name);
  closedir(open);
  std::sort(names.begin(), names.end());
  const std::string before = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  if (auto near = grammar::near_miss(path.substr(before.size()), names))
    return {"did you mean '" + before + *near + "'?"};
  if (path[0] != '/') return {"the path is taken from the folder where the program was started"};
  return {};
}

std::vector<std::string> missing_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  struct stat info {};
  if (slash == std::string::npos || slash == 0 || stat(path.substr(0, slash).c_str(), &info) == 0) return {};
  return {"there is no folder '" + path.substr(0, slash) + "'"};
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

std::string read_all(const std::string& path) {
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) refuse(std::strerror(errno));
  struct stat info {};
  if (fstat(file.fd, &info) != 0) refuse(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) refuse("it is a folder");
  if (static_cast<std::uintmax_t>(info.st_size) > kLargestFile) refuse("it is larger than 4 GiB");
  std::string out;
  out.reserve(static_cast<std::size_t>(info.st_size));
  std::string chunk(1 << 20, '\0');
  for (;;) {
    const ssize_t n = read(file.fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(std::strerror(errno));
    if (n == 0) return out;
    if (out.size() + static_cast<std::size_t>(n) > kLargestFile) refuse("it is larger than 4 GiB");
    out.append(chunk, 0, static_cast<std::size_t>(n));
  }
}

// Gives a stream the next of `bytes` where it has used up the last, and `chunk` to write to.
void supply(z_stream& z, std::string_view bytes, std::size_t& fed, std::string& chunk) {
  if (z.avail_in == 0 && fed < bytes.size()) {
    const std::size_t n = std::min<std::size_t>(bytes.size() - fed, std::numeric_limits<uInt>::max());
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + fed));
    z.avail_in = static_cast<uInt>(n);
    fed += n;
  }
  z.next_out = reinterpret_cast<Bytef*>(chunk.data());
  z.avail_out = static_cast<uInt>(chunk.size());
}

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

}  // namespace

std::string inflate_bytes(std::string_view packed, bool raw, std::size_t limit) {
  z_stream z{};
  if (inflateInit2(&z, raw ? -MAX_WBITS : 16 + MAX_WBITS) != Z_OK) refuse("zlib cannot be started");
  struct End {
    z_stream* z;
    ~End() { inflateEnd(z); }
  } end{&z};
  std::string out, chunk(1 << 18, '\0');
  std::size_t fed = 0;
  for (;;) {
    supply(z, packed, fed, chunk);
    const int status = inflate(&z, Z_NO_FLUSH);
    const std::size_t got = chunk.size() - z.avail_out;
    if (out.size() + got > limit) refuse("unpacked it is larger than " + std::to_string(limit >> 20) + " MiB");
    out.append(chunk, 0, got);
    if (status == Z_STREAM_END) {
      const bool more = !raw && (z.avail_in > 1 || fed < packed.size()) && z.avail_in > 1 && z.next_in[0] == 0x1f &&
                        z.next_in[1] == 0x8b;
      if (!more) return out;  // a gzip file may hold several members
      if (inflateReset(&z) != Z_OK) refuse("its gzip data is damaged");
      continue;
    }
    if (status == Z_BUF_ERROR || (status == Z_OK && z.avail_in == 0 && fed == packed.size() && got == 0))
      refuse("its gzip data ends too early");
    if (status != Z_OK) refuse("its gzip data is damaged");
  }
}

std::string gzip_bytes(std::string_view bytes) {
  z_stream z{};
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    refuse("zlib cannot be started");
  struct End {
    z_stream* z;
    ~End() { deflateEnd(z); }
  } end{&z};
  std::string out, chunk(1 << 18, '\0');
  std::size_t fed = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    supply(z, bytes, fed, chunk);
    status = deflate(&z, fed == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) refuse("it cannot be packed");
    out.append(chunk, 0, chunk.size() - z.avail_out);
  }
  return out;
}

std::string read_bytes(lang::Interpreter& in, const std::string& path, grammar::Span span) {
  const auto& may_read = in.options().may_read;
  if (may_read && !may_read(path)) in.fail("io", span, "reading '" + path + "' is not allowed here");
  try {
    std::string bytes = read_all(path);
    if (bytes.size() > 2 && static_cast<unsigned char>(bytes[0]) == 0x1f &&
        static_cast<unsigned char>(bytes[1]) == 0x8b)
      return inflate_bytes(bytes, false, kLargestFile);
    return bytes;
  } catch (const runtime::RuntimeError& e) {
    in.fail(e.code, span, "cannot read '" + path + "': " + e.what(), near_files(path));
  }
}

void check_may_write(lang::Interpreter& in, const std::string& path, grammar::Span span) {
  if (const auto& may_write = in.options().may_write; may_write && !may_write(path))
    in.fail("io", span, "writing '" + path + "' is not allowed here");
}

void write_bytes(lang::Interpreter& in, const std::string& path, std::string_view bytes, grammar::Span span) {
  check_may_write(in, path, span);
  const std::string beside = path + ".part" + std::to_string(getpid());
  const auto fail = [&](const char* doing) {
    const std::string why = std::strerror(errno);
    unlink(beside.c_str());
    in.fail("io", span, "cannot write '" + path + "': " + doing + why, missing_folder(path));
  };
  Descriptor file{open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
  if (file.fd < 0) fail("");
  if (!write_all(file.fd, bytes)) fail("");
  if (fsync(file.fd) != 0 && errno != EINVAL) fail("on its way to the disk: ");
  if (rename(beside.c_str(), path.c_str()) != 0) fail("");
  const std::size_t slash = path.rfind('/');  // the new name is on the disk once its folder is
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  Descriptor above{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (above.fd >= 0) fsync(above.fd);
}

void append_bytes(lang::Interpreter& in, const std::string& path, std::string_view bytes, grammar::Span span) {
  check_may_write(in, path, span);
  const auto fail = [&] {
    const std::string why = std::strerror(errno);
    in.fail("io", span, "cannot write '" + path + "': " + why, missing_folder(path));
  };
  Descriptor file{open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)};
  if (file.fd < 0) fail();
  if (!write_all(file.fd, bytes)) fail();
}

bool ends_with_lower(const std::string& path, std::string_view ending) {
  std::string p = path;
  std::transform(p.begin(), p.end(), p.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return p.ends_with(ending) || p.ends_with(std::string(ending) + ".gz");
}

}  // namespace shard::stdlib
