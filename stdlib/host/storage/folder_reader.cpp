#include "stdlib/host/storage/folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <map>
#include <set>

#include "grammar/stable_sort.h"
#include "stdlib/host/files/format_safetensors.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/files/tree_json.h"

namespace shard::stdlib {
namespace {

std::string shortened(const std::string& name) { return "\"" + name.substr(0, 60) + "\""; }

// What is wrong with one file of several is told with its name.
template <class F>
auto naming(const std::string& file, F f) {
  try {
    return f();
  } catch (const runtime::RuntimeError& e) { refuse_file("'" + file + "': " + e.what()); }
}

bool is_name_of_file(const std::string& name) {
  return !name.empty() && name.find_first_of(std::string_view("/\0", 2)) == std::string::npos && name != "." &&
         name != "..";
}

struct DataFile {
  std::unique_ptr<Source> source;
  std::unique_ptr<SafetensorsFile> contents;
  std::set<std::size_t> taken;  // tensors that a block lies in

  DataFile(const std::string& name, const std::string& path) {
    naming(name, [&] {
      source = open_in_folder(path);
      contents = std::make_unique<SafetensorsFile>(*source);
    });
  }
};

JsonDocument read_index(Source& file) {
  if (file.most() > 100'000'000) refuse_file("it is larger than 100 MB");
  return parse_json(file.rest(0), "its JSON");
}

struct FileBlock {
  Shape origin, shape;  // of keys without their words
  const std::string* file;
  SafetensorsFile* data;
  std::size_t tensor;
  std::uint32_t crc;
  std::uint64_t bytes;
  std::uint64_t read = 0;    // so far
  std::uint32_t summed = 0;  // of what was read, see PartialSum
};

bool overlap(const FileBlock& a, const FileBlock& b) {
  for (std::size_t d = 0; d < a.origin.size(); ++d)
    if (a.origin[d] >= b.origin[d] + b.shape[d] || b.origin[d] >= a.origin[d] + a.shape[d]) return false;
  return runtime::numel(a.shape) > 0 && runtime::numel(b.shape) > 0;
}

class CheckpointFolder : public Contents {
 public:
  CheckpointFolder(std::string path, MayRead may_read)
      : path_(without_slashes(std::move(path))), may_read_(std::move(may_read)) {
    index_ = naming("shard.json", [&] { return open_index(); });
    naming("shard.json", [&] { check_version(); });
    const auto listed = index_.root().find("arrays");
    if (!listed || !listed->object()) refuse_file("'shard.json': it lists no arrays");
    for (const auto& [name, j] : listed->object()) {
      by_name_.emplace(name, arrays.size());
      take_array(std::string(name), j);
    }
    const auto node = index_.root().find("tree");
    if (!node) refuse_file("'shard.json': it has no tree");
    std::set<std::string> used;
    tree_from_json(*node, "'shard.json': its tree", [&](const std::string& name, bool) {
      if (!by_name_.contains(name))
        refuse_file("'shard.json': its tree names the array " + shortened(name) + ", which is not listed");
      if (!used.insert(name).second)
        refuse_file("'shard.json': its tree names the array " + shortened(name) + " twice");
      return Value();
    });
  }

  void read(std::size_t i, const ArrayPart& block) override {
    for (FileBlock& b : blocks_[i]) {
      ArrayPart part = block;  // what of it lies in this one
      std::int64_t first = 0;
      for (std::size_t d = 0; d < b.origin.size(); ++d) {
        const std::int64_t from = std::max(b.origin[d], block.origin[d]),
                           to = std::min(b.origin[d] + b.shape[d], block.origin[d] + block.to.shape[d]);
        part.origin[d] = from - b.origin[d];
        part.to.shape[d] = std::max<std::int64_t>(0, to - from);
        first += (from - block.origin[d]) * block.to.strides[d];
      }
      const auto bytes = static_cast<std::uint64_t>(runtime::numel(part.to.shape)) * runtime::size_of(block.to.dtype);
      if (bytes == 0) continue;
      part.to.data = static_cast<char*>(block.to.data) + first * static_cast<std::int64_t>(bytes / numel(part));
      runtime::PartialSum sum;
      naming(*b.file, [&] { b.data->read_summed(b.tensor, part, &sum); });
      b.read += bytes;
      b.summed ^= sum.finish(b.bytes);
    }
  }

  void check_end() override {
    for (const std::vector<FileBlock>& blocks : blocks_)
      for (const FileBlock& b : blocks)
        if (b.read == b.bytes && b.summed != runtime::PartialSum::whole(b.crc, b.bytes)) wrong_sum(b);
    for (auto& [name, file] : files_) naming(name, [&] { file.contents->check_end(); });
  }

  void check_sums() {  // of everything, in the order of the files
    for (const std::vector<FileBlock>& blocks : blocks_)
      for (const FileBlock& b : blocks)
        if (naming(*b.file, [&] { return b.data->sum_of(b.tensor); }) != b.crc) wrong_sum(b);
  }

  Value tree(std::vector<Value> values) override {
    return tree_from_json(*index_.root().find("tree"), "'shard.json': its tree",
                          [&](const std::string& name, bool) { return values[by_name_.at(name)]; });
  }
  bool flat() const override { return false; }
  bool in_parts() const override { return true; }

 private:
  [[noreturn]] static void wrong_sum(const FileBlock& b) {
    refuse_file("'" + *b.file + "': the check sum of " + shortened(b.data->arrays[b.tensor].name) +
                " does not fit: it is damaged");
  }
  static std::uint64_t numel(const ArrayPart& b) { return static_cast<std::uint64_t>(runtime::numel(b.to.shape)); }

  JsonDocument open_index() {
    const std::string file = path_ + "/shard.json";
    struct stat info {};
    if (stat(path_.c_str(), &info) == 0 && lstat(file.c_str(), &info) != 0)
      refuse_file("it is missing: the folder is no checkpoint");
    may_read_(file);
    return read_index(*open_in_folder(file));
  }

  void check_version() const {
    const auto format = index_.root().find("format"), version = index_.root().find("version");
    std::int64_t number = 0;
    if (!format || !format->text() || *format->text() != "shard checkpoint")
      refuse_file("it does not say \"format\": \"shard checkpoint\"");
    if (!version || !version->integer(number)) refuse_file("it has no version");
    if (number != 1) refuse_file("it has version " + std::to_string(number) + ", which is not read here");
  }

  void take_array(const std::string& name, const Json& j) {
    const std::string who = "'shard.json': its array " + shortened(name);
    const auto type = j.find("dtype"), listed = j.find("blocks");
    const auto shape = shape_of_json(j.find("shape"));
    const auto dtype = type && type->text() ? type_of_stored(*type->text()) : std::nullopt;
    if (!dtype || !shape || !listed || !listed->list() || shape->size() > static_cast<std::size_t>(runtime::kMaxRank))
      refuse_file(who + " is damaged");
    const std::uint64_t stored = naming("shard.json", [&] { return stored_bytes(*dtype, *shape); });
    std::vector<FileBlock> blocks;
    std::uint64_t bytes = 0;
    for (const Json b : listed->list()) {
      blocks.push_back(read_block(who, b, *dtype, *shape));
      bytes += blocks.back().bytes;
    }
    check_apart(who, blocks);
    if (bytes != stored)
      refuse_file(who + " takes " + std::to_string(stored) + " bytes, its blocks have " + std::to_string(bytes));
    ArrayHeader header{name, *dtype, *shape, arrays.size()};
    take_words(who, header, blocks);
    arrays.push_back(std::move(header));
    blocks_.push_back(std::move(blocks));
  }

  // Keys are stored as their words; the data files say which tensors are keys.
  static void take_words(const std::string& who, ArrayHeader& header, std::vector<FileBlock>& blocks) {
    const auto keys = [](const FileBlock& b) { return b.data->arrays[b.tensor].dtype == DType::Key; };
    const auto count = static_cast<std::size_t>(std::count_if(blocks.begin(), blocks.end(), keys));
    if (count == 0) return;
    const auto whole = shape_without_words(header.shape);
    if (count != blocks.size() || !whole) refuse_file(who + " has blocks that hold keys and others that do not");
    header.dtype = DType::Key, header.shape = *whole;
    for (FileBlock& b : blocks) b.origin.pop_back(), b.shape.pop_back();
  }

  FileBlock read_block(const std::string& who, const Json& j, DType dtype, const Shape& whole) {
    const auto origin = shape_of_json(j.find("origin")), shape = shape_of_json(j.find("shape"));
    const auto file = j.find("file"), tensor = j.find("tensor"), crc = j.find("crc32c");
    std::int64_t sum = 0;
    if (!origin || !shape || origin->size() != whole.size() || shape->size() != whole.size() || !file ||
        !file->text() || !tensor || !tensor->text() || !crc || !crc->integer(sum) || sum < 0 || sum > 0xffffffffLL)
      refuse_file(who + " has a block that is damaged");
    for (std::size_t d = 0; d < whole.size(); ++d)
      if ((*shape)[d] > whole[d] || (*origin)[d] > whole[d] - (*shape)[d])
        refuse_file(who + " has a block that reaches out of it");
    auto& [name, data] = *data_file(who, std::string(*file->text()));
    const std::string tensor_name(*tensor->text());
    const auto i = data.contents->find(tensor_name);
    if (!i) refuse_file("'" + name + "': it has no tensor " + shortened(tensor_name));
    const ArrayHeader& there = data.contents->arrays[*i];
    if (!data.taken.insert(*i).second)
      refuse_file("'shard.json': two blocks lie in the tensor " + shortened(tensor_name) + " of '" + name + "'");
    const auto stored = there.dtype == DType::Key ? DType::U32 : there.dtype;
    const Shape stored_shape = shape_as_stored(Type::of(there.dtype, there.shape));
    if (stored != dtype || stored_shape != *shape)
      refuse_file("'" + name + "': its tensor " + shortened(tensor_name) + " is " + std::string(runtime::name(stored)) +
                  runtime::to_string(stored_shape) + ", 'shard.json' says " + std::string(runtime::name(dtype)) +
                  runtime::to_string(*shape));
    return {
        *origin, *shape, &name, data.contents.get(), *i, static_cast<std::uint32_t>(sum), stored_bytes(dtype, *shape)};
  }

  std::map<std::string, DataFile>::iterator data_file(const std::string& who, const std::string& name) {
    const auto known = files_.find(name);
    if (known != files_.end()) return known;
    if (!is_name_of_file(name)) refuse_file(who + " lies in " + shortened(name) + ", which is no file of the folder");
    const std::string path = path_ + "/" + name;
    may_read_(path);
    return files_.emplace(name, DataFile(name, path)).first;
  }

  // Blocks of one array share no element. They are sorted, so that most pairs need not be looked at.
  static void check_apart(const std::string& who, const std::vector<FileBlock>& blocks) {
    if (blocks.empty() || blocks[0].origin.empty()) {
      if (blocks.size() > 1) refuse_file(who + " has two blocks and one element");
      return;
    }
    std::vector<const FileBlock*> order;
    for (const FileBlock& b : blocks) order.push_back(&b);
    stable_sort(order, [](const FileBlock* a, const FileBlock* b) { return a->origin[0] < b->origin[0]; });
    std::int64_t left = 50'000'000;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t k = i + 1; k < order.size() && order[k]->origin[0] < order[i]->origin[0] + order[i]->shape[0];
           ++k) {
        if (--left == 0) refuse_file(who + " has more blocks than can be held against each other");
        if (overlap(*order[i], *order[k])) refuse_file(who + " has blocks that overlap");
      }
  }

  std::string path_;
  MayRead may_read_;
  JsonDocument index_;
  std::map<std::string, DataFile> files_;
  std::vector<std::vector<FileBlock>> blocks_;  // of each array
  std::map<std::string, std::size_t> by_name_;
};

// ---- sharded files of model hubs. Source: the index that Hugging Face's libraries write beside them, {"weight_map":
// {NAME: FILE}}. A hub's cache holds links into its folder of blobs; other links out of the folder are refused.
std::string real_path(const std::string& path) {  // "" where there is none
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) ? buffer : "";
}

class HubIndex : public Contents {
 public:
  HubIndex(const std::string& path, const MayRead& may_read) : folder_(folder_of(path)), may_read_(may_read) {
    const JsonDocument json = read_index(*open_source(path));
    const auto map = json.root().find("weight_map");
    if (!map || !map->object()) refuse_file("it has no weight_map of names to files");
    for (const auto& [name, file] : map->object()) {
      if (!file.text()) refuse_file("its weight_map is damaged");
      take(std::string(name), std::string(*file.text()));
    }
  }

  void read(std::size_t i, const ArrayPart& block) override { places_[i].first->read(places_[i].second, block); }
  void check_end() override {
    for (auto& [name, file] : files_) file.contents->check_end();
  }
  bool in_parts() const override { return true; }

 private:
  void take(const std::string& name, const std::string& file) {
    const auto known = files_.find(file);
    SafetensorsFile& data = *(known != files_.end() ? known->second : open_file(file)).contents;
    const auto i = data.find(name);
    if (!i) refuse_file("'" + file + "' does not hold " + shortened(name) + ", which the index says");
    ArrayHeader header = data.arrays[*i];
    header.place = arrays.size();
    arrays.push_back(std::move(header));
    places_.emplace_back(&data, *i);
  }

  DataFile& open_file(const std::string& name) {
    if (!is_name_of_file(name)) refuse_file(shortened(name) + " is no file of the folder");
    const std::string path = folder_ + "/" + name, real = real_path(path), home = real_path(folder_);
    may_read_(path);
    const auto within = [&](const std::string& folder) { return !folder.empty() && real.starts_with(folder + "/"); };
    if (!real.empty() && !within(home) && !within(real_path(folder_ + "/../../blobs")))
      refuse_file("'" + name + "': it is a link that leads out of the folder");
    if (!real.empty()) may_read_(real);
    return files_.emplace(name, DataFile(name, real.empty() ? path : real)).first->second;
  }

  std::string folder_;
  MayRead may_read_;
  std::map<std::string, DataFile> files_;
  std::vector<std::pair<SafetensorsFile*, std::size_t>> places_;  // of each array
};

}  // namespace

std::unique_ptr<Contents> open_folder(const std::string& path, const MayRead& may_read) {
  return std::make_unique<CheckpointFolder>(path, may_read);
}

void check_folder(const std::string& path, const MayRead& may_read) { CheckpointFolder(path, may_read).check_sums(); }

bool is_folder(const std::string& path) {
  struct stat info {};
  return (!path.empty() && path.back() == '/') || (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode));
}

std::unique_ptr<Contents> open_hub_index(const std::string& path, const MayRead& may_read) {
  return std::make_unique<HubIndex>(path, may_read);
}

bool is_hub_index(const std::string& path) { return lower(path).ends_with(".safetensors.index.json"); }

}  // namespace shard::stdlib
