#include "stdlib/host/storage/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "grammar/stable_sort.h"
#include "interpreter/lang/report/report.h"
#include "runtime/mesh/array_reader.h"
#include "runtime/mesh/device_blocks.h"
#include "runtime/mesh/part.h"
#include "stdlib/host/files/format_safetensors.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/files/tree_json.h"

namespace shard::stdlib {
namespace {

constexpr std::string_view kIndex = "shard.json", kWrittenBy = "written_";
constexpr std::size_t kAtOnce = std::size_t{1} << 20;  // summed up while it is in the cache

std::string data_file(int index) { return "data_" + std::to_string(index) + ".safetensors"; }

std::vector<std::string> names_there(const std::string& folder) {
  return names_in(folder).value_or(std::vector<std::string>());
}

bool of_a_checkpoint(std::string_view name) {
  return name == kIndex || (name.starts_with("data_") && name.ends_with(".safetensors"));
}

void remove_files(const std::string& folder) {
  for (const std::string& name : names_there(folder))
    if (of_a_checkpoint(name) || name.starts_with(kWrittenBy)) unlink((folder + "/" + name).c_str());
  rmdir(folder.c_str());
}

bool is_unfinished(std::string_view name) {  // "step_3.part1234"
  const std::size_t at = name.rfind(".part");
  return at != std::string_view::npos && at + 5 < name.size() &&
         name.find_first_not_of("0123456789", at + 5) == std::string_view::npos;
}

// Who writes a folder holds a lock on it as long as he lives, so that others know what was left behind. -1: another
// has it, or it is gone.
int lock_folder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat held {
  }, there{};
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 && stat(folder.c_str(), &there) == 0 &&
      held.st_ino == there.st_ino)
    return fd;
  if (fd >= 0) close(fd);
  return -1;
}

bool in_parts(const runtime::DeviceArray& a) { return a.elsewhere && a.elsewhere->in_parts() && a.distinct.empty(); }
bool by_block(const runtime::DeviceArray& a) {
  return a.elsewhere && a.elsewhere->by_block() && a.layout.unreduced.empty();
}

// A block's bytes, piece by piece: where they lie, the sum of its terms, from its device, or from another file.
class BlockBytes {
 public:
  BlockBytes(runtime::Pool& pool, const ArrayRef& a, const runtime::DeviceBlock& block) {
    if (in_parts(*a)) {
      far_.emplace(pool, a);
      return;
    }
    Shape shape(block.terms.shape.begin() + block.unreduced_dims, block.terms.shape.end());
    const auto bytes = static_cast<std::size_t>(runtime::numel(shape)) * runtime::size_of(a->type.dtype);
    const void* data = block.terms.data;
    if (!a->buffer || block.unreduced_dims > 0) {
      own_ = pool.allocate(bytes);
      data = own_->data();
      if (!a->buffer)
        a->elsewhere->copy_block(*a, block.place, own_->data());
      else
        runtime::join_terms(a->layout.unreduced_kind, block.terms, block.unreduced_dims,
                            runtime::contiguous(a->type.dtype, shape, own_->data()));
    }
    rest_ = {static_cast<const char*>(data), bytes};
  }
  std::string_view next() {
    if (far_) return far_->next();
    const std::string_view piece = rest_.substr(0, kAtOnce);
    rest_.remove_prefix(piece.size());
    return piece;
  }

 private:
  std::optional<runtime::Pieces> far_;
  runtime::BufferRef own_;
  std::string_view rest_;
};

// A block in the file: keys are seen as their words.
struct BlockEntry {
  Shape origin, shape;
  std::string tensor;
};

std::vector<BlockEntry> entries_of(const Snapshot::Array& a, const std::vector<runtime::DeviceBlock>& blocks) {
  std::vector<BlockEntry> out;
  const bool one = runtime::count_of_blocks(*a.array) == 1;
  for (const runtime::DeviceBlock& b : blocks) {
    BlockEntry e{b.origin, Shape(b.terms.shape.begin() + b.unreduced_dims, b.terms.shape.end()), a.name};
    if (a.array->type.dtype == DType::Key) e.origin.push_back(0), e.shape.push_back(2);
    if (!one) e.tensor = a.blocks + std::to_string(b.number);
    out.push_back(std::move(e));
  }
  return out;
}

// Writes the blocks that an array has here.
void write_array(runtime::Pool& pool, const Snapshot& what, std::size_t index, Sink& file, const std::string& file_name,
                 Written& written) {
  const Snapshot::Array& a = what.arrays[index];
  const std::vector<runtime::DeviceBlock> blocks = runtime::device_blocks(*a.array);
  const std::vector<BlockEntry> entries = entries_of(a, blocks);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    BlockBytes bytes(pool, a.array, blocks[i]);
    std::uint32_t crc = 0;
    for (std::string_view piece = bytes.next(); !piece.empty(); piece = bytes.next()) {
      crc = runtime::crc32c(crc, piece);
      file.write(piece);
    }
    written.push_back({index, blocks[i].number,
                       "{\"origin\":" + json_sizes(entries[i].origin) + ",\"shape\":" + json_sizes(entries[i].shape) +
                           ",\"file\":" + lang::json_string(file_name) + ",\"tensor\":" +
                           lang::json_string(entries[i].tensor) + ",\"crc32c\":" + std::to_string(crc) + "}"});
  }
}

// What would be lost if `path` were replaced by a checkpoint.
void check_replaceable(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return;
  if (!S_ISDIR(info.st_mode)) refuse_file("there is something of that name which is no folder");
  for (const std::string& name : names_there(path))
    if (!of_a_checkpoint(name))
      refuse_file("the folder holds '" + name + "', which is no part of a checkpoint; save into another one");
}

// "w/" for the array "w", with more slashes where another array is called "w/0".
void name_blocks(std::vector<Snapshot::Array>& arrays) {
  std::set<std::string> taken;
  for (const Snapshot::Array& a : arrays) taken.insert(a.name);
  for (Snapshot::Array& a : arrays) {
    a.blocks = a.name + "/";
    for (auto at = taken.lower_bound(a.blocks); at != taken.end() && at->starts_with(a.blocks);
         at = taken.lower_bound(a.blocks))
      a.blocks += "/";
    taken.insert(a.blocks);
  }
}

}  // namespace

Snapshot snapshot_of(Interpreter& in, const Value& tree) {
  Snapshot out;
  out.tree = tree_to_json(tree, [&](const std::string& name, const Value& v) {
    ArrayRef a = in.context().concrete(v.tensor(), "save");
    // Terms of several processes are brought together now; blocks stay where they are.
    const runtime::MeshPart* part = a->type.mesh ? a->type.mesh->part.get() : nullptr;
    if (part && !(a->layout.unreduced & part->apart).empty()) a = runtime::whole(in.context().pool(), a);
    if (!in_parts(*a) && !by_block(*a)) a = runtime::here(in.context().pool(), a);
    if (a->elsewhere) a->elsewhere->wait();  // here, where the script is: a thread may write
    out.arrays.push_back({name, "", std::move(a)});
    return "{\"array\":" + lang::json_string(name) + "}";
  });
  name_blocks(out.arrays);
  return out;
}

Written write_part(runtime::Pool& pool, const std::string& folder, const Snapshot& what, Share share) {
  SafetensorsHeader header;
  const auto writes = [&](const Snapshot::Array& a) { return runtime::writes_blocks(*a.array, share.index); };
  bool any = share.index == 0;
  for (const Snapshot::Array& a : what.arrays) {
    if (!writes(a)) continue;
    any = true;
    for (const BlockEntry& e : entries_of(a, runtime::device_blocks(*a.array)))
      header.add(e.tensor, a.array->type.dtype, e.shape);
  }
  Written out;
  if (!any) return out;
  const std::string name = data_file(share.index);
  const std::unique_ptr<Sink> data = open_in_new_folder(folder + "/" + name);
  data->write(header.text("\"format\":\"shard\""));
  for (std::size_t i = 0; i < what.arrays.size(); ++i)
    if (writes(what.arrays[i])) write_array(pool, what, i, *data, name, out);
  data->finish();
  return out;
}

// A line a block: array, number, entry; the last line says that it is all.
void keep_written(const std::string& folder, const Written& what, Share share) {
  const std::unique_ptr<Sink> file =
      open_in_new_folder(folder + "/" + std::string(kWrittenBy) + std::to_string(share.index));
  for (const WrittenBlock& b : what)
    file->write(std::to_string(b.array) + " " + std::to_string(b.number) + " " + b.json + "\n");
  file->write(".\n");
  file->finish();
}

std::optional<Written> find_written(const std::string& folder, int index) {
  std::ifstream file(folder + "/" + std::string(kWrittenBy) + std::to_string(index));
  Written out;
  WrittenBlock b{};
  for (std::string line; std::getline(file, line);) {
    if (line == ".") return out;
    std::istringstream words(line);
    if (!(words >> b.array >> b.number >> std::ws) || !std::getline(words, b.json)) return std::nullopt;
    out.push_back(b);
  }
  return std::nullopt;
}

NewFolder::NewFolder(const std::string& path)
    : path_(without_slashes(path)), beside_(path_ + ".part" + std::to_string(getpid())) {
  check_replaceable(path_);
  remove_files(beside_);
  for (int tries = 0; lock_ < 0; ++tries) {  // who clears away may take it in the moment before it is locked
    if (mkdir(beside_.c_str(), 0777) != 0 && (errno != EEXIST || tries == 0)) refuse_file(std::strerror(errno));
    lock_ = lock_folder(beside_);
    if (lock_ < 0 && (errno == ENOLCK || errno == EOPNOTSUPP)) break;  // a file system without locks
    if (lock_ < 0 && tries == 100) refuse_file("another process has the folder '" + beside_ + "'");
  }
}

NewFolder::~NewFolder() {
  remove_files(beside_);
  close(lock_);
}

void NewFolder::finish(const Snapshot& what, Written all) {
  stable_sort(all, [](const WrittenBlock& x, const WrittenBlock& y) {
    return std::pair(x.array, x.number) < std::pair(y.array, y.number);
  });
  std::string json = "{\"format\":\"shard checkpoint\",\"version\":1,\"tree\":" + what.tree + ",\"arrays\":{";
  auto block = all.begin();
  for (std::size_t i = 0; i < what.arrays.size(); ++i) {
    const Snapshot::Array& a = what.arrays[i];
    json += (i ? ",\n" : "\n") + lang::json_string(a.name) + ":{\"dtype\":\"" +
            std::string(type_as_stored(a.array->type.dtype)) +
            "\",\"shape\":" + json_sizes(shape_as_stored(a.array->type)) + ",\"blocks\":[";
    const std::int64_t count = runtime::count_of_blocks(*a.array);
    for (std::int64_t number = 0; number < count; ++number, ++block) {
      if (block == all.end() || block->array != i || block->number != number)
        refuse_file("no process wrote block " + std::to_string(number) + " of `" + a.name + "`");
      json += (number ? "," : "") + block->json;
    }
    json += "]}";
  }
  const std::unique_ptr<Sink> index = open_in_new_folder(beside_ + "/" + std::string(kIndex));
  index->write(json + "}}\n");
  index->finish();
  for (const std::string& name : names_there(beside_))
    if (name.starts_with(kWrittenBy)) unlink((beside_ + "/" + name).c_str());
  folder_to_disk(beside_);
  // An older checkpoint of that name changes places with this one, and is then removed as the temporary one is.
  if (rename(beside_.c_str(), path_.c_str()) != 0 &&
      !((errno == ENOTEMPTY || errno == EEXIST) &&
        renameat2(AT_FDCWD, beside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0))
    refuse_file(std::strerror(errno));
  folder_to_disk(folder_of(path_));
}

std::vector<std::string> files_of_folder(const std::string& path, Share share) {
  const std::string name = without_slashes(path) + "/";
  return {name + std::string(kIndex), name + data_file(share.index)};
}

void remove_unfinished(const std::string& folder) {
  for (const std::string& name : names_there(folder)) {
    if (!is_unfinished(name)) continue;
    const std::string path = folder + "/" + name;
    const int lock = lock_folder(path);
    if (lock < 0) continue;
    remove_files(path);
    close(lock);
  }
}

void remove_checkpoint(const std::string& path) {
  for (const std::string& name : names_there(path))
    if (!of_a_checkpoint(name)) return;  // somebody keeps more there
  const std::string aside = path + ".part" + std::to_string(getpid());
  if (rename(path.c_str(), aside.c_str()) == 0) remove_files(aside);  // never half removed under its name
}

}  // namespace shard::stdlib
