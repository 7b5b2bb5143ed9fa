#include "stdlib/host/storage/open_tree.h"

#include "stdlib/host/files/paths.h"
#include "stdlib/host/storage/folder_reader.h"

namespace shard::stdlib {
namespace {

// Elements in a file. They are read by `pread` and not by touching pages: a file that shrinks is an error, not a
// signal.
class InFile final : public runtime::RemoteBlocks {
 public:
  InFile(std::shared_ptr<OpenTree> file, std::size_t which) : file_(std::move(file)), which_(which) {}

  runtime::BufferRef fetch(runtime::Pool& pool, const runtime::DeviceArray& array) const override {
    return runtime::new_placed(pool, runtime::placement_of(array),
                               [this](const runtime::Shape& origin, const runtime::View& to) { read(origin, to); })
        ->buffer;
  }
  bool in_parts() const override { return true; }
  void read(const runtime::Shape& origin, const runtime::View& to) const override {
    const std::scoped_lock lock(file_->reading);
    try {
      file_->contents->read(which_, {origin, to});
    } catch (const runtime::RuntimeError& e) {
      throw runtime::RuntimeError(e.code, "cannot read '" + file_->path + "': " + e.what());
    }
  }

 private:
  std::shared_ptr<OpenTree> file_;
  std::size_t which_;
};

}  // namespace

std::shared_ptr<OpenTree> open_tree(lang::Interpreter& in, const std::string& path, grammar::Span span,
                                    std::optional<runtime::DType> raw) {
  auto out = std::make_shared<OpenTree>();
  out->path = path;
  const MayRead may_read = [&in, span](const std::string& file) { check_may_read(in, file, span); };
  if (is_folder(path)) {
    if (raw) refuse_file("it is a folder, and `dtype:` is for a file of numbers");
    out->contents = open_folder(path, may_read);
  } else if (is_hub_index(path)) {
    out->contents = open_hub_index(path, may_read);
  } else if (raw) {
    out->source = open_source(path);
    const Format* format = format_of(*out->source, "");
    if (format && format->name != "safetensors")
      refuse_file("it is " + std::string(format->name) + ", which says its own type: leave out `dtype:`");
    out->contents = raw_contents(*out->source, *raw);
  } else {
    out->source = open_source(path);
    const Format* format = format_of(*out->source, path);
    if (!format) refuse_file("its content is none of " + format_names("and", true));
    out->contents = format->reads(*out->source);
    for (const std::string& what : out->contents->left_out) in.warn("warned", span, path + ": " + what);
  }
  return out;
}

runtime::ArrayRef mapped_array(std::shared_ptr<OpenTree> file, std::size_t which, const runtime::Placement& at) {
  auto out = std::make_shared<runtime::DeviceArray>();
  out->type = at.type;
  out->layout = at.layout;
  if (at.type.mesh) out->distinct = at.layout.split_axes() | at.layout.unreduced;
  out->elsewhere = std::make_shared<InFile>(std::move(file), which);
  return out;
}

}  // namespace shard::stdlib
