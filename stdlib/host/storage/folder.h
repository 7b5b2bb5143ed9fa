// Checkpoint folders: shard.json and the arrays' blocks in safetensors files (docs: README.md of this folder).
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stdlib/host/files/format.h"

namespace shard::stdlib {

// ---- writing one: everything goes into a temporary folder beside, is brought to the disk, and gets its name by one
// rename (folder_writer.cpp)

// A tree as it was: arrays are immutable and shared, so that holding them is all it takes.
struct Snapshot {
  struct Array {
    std::string name, blocks;  // its blocks are called `blocks` and a number
    ArrayRef array;
  };
  std::string tree;  // its JSON node
  std::vector<Array> arrays;
};
Snapshot snapshot_of(Interpreter& in, const Value& tree);

// Who of several processes writes: the blocks that it owns, into data_<index>.safetensors.
struct Share {
  int index = 0, count = 1;
};
// The files that it makes: a host is asked for each before.
std::vector<std::string> files_of_folder(const std::string& path, Share share);

// What a process wrote: for each block its array, its number in it, and its entry in shard.json.
struct WrittenBlock {
  std::size_t array;
  std::int64_t number;
  std::string json;
};
using Written = std::vector<WrittenBlock>;
// Into a folder that has no good name yet.
Written write_part(runtime::Pool& pool, const std::string& folder, const Snapshot& what, Share share);
// For another process: a file of that folder, and reading it; nothing as long as it is not there.
void keep_written(const std::string& folder, const Written& what, Share share);
std::optional<Written> find_written(const std::string& folder, int index);

// A folder before it has its name; not finished, it leaves nothing, and what had the name is untouched. All of it
// throws RuntimeError("io").
class NewFolder {
 public:
  explicit NewFolder(const std::string& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  const std::string& beside() const { return beside_; }  // where it is written
  void finish(const Snapshot& what, Written all);

 private:
  std::string path_, beside_;
  int lock_ = -1;
};

void remove_unfinished(const std::string& folder);  // what processes left behind that are no more
void remove_checkpoint(const std::string& path);    // a whole one

// ---- reading trees that lie in several files: checkpoint folders, and the sharded files of model hubs. Headers are
// read and held against each other first; blocks are read where they lie. (folder_reader.cpp)

using MayRead = std::function<void(const std::string& path)>;  // throws where a file may not be read

// A checkpoint folder. What is read as a whole, in whatever pieces, is held against its check sums by
// check_end(). Errors are RuntimeError("io"), as those of every format.
std::unique_ptr<Contents> open_folder(const std::string& path, const MayRead& may_read);
// Reads everything once and throws where something is missing or does not fit its check sum.
void check_folder(const std::string& path, const MayRead& may_read);
// The sharded files that model hubs serve: a JSON index, "model.safetensors.index.json", of names to files beside it.
std::unique_ptr<Contents> open_hub_index(const std::string& path, const MayRead& may_read);
bool is_hub_index(const std::string& path);
bool is_folder(const std::string& path);  // written with a "/" at the end, or one that is there

}  // namespace shard::stdlib
