// Sharded files of model hubs. Source: the index that Hugging Face's libraries write beside them, {"weight_map": {NAME:
// FILE}}. A hub's cache holds links into its folder of blobs; other links out of the folder are refused.
#include <climits>
#include <cstdlib>
#include <map>

#include "stdlib/host/files/format_safetensors.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/storage/folder_reader.h"

namespace shard::stdlib {
namespace {

using lang::Value;

std::string real_path(const std::string& path) {  // "" where there is none
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) ? buffer : "";
}

class HubIndex : public Contents {
 public:
  HubIndex(const std::string& path, const MayRead& may_read) : folder_(folder_of(path)), may_read_(may_read) {
    const auto index = open_source(path);
    if (index->most() > 100'000'000) refuse_file("it is larger than 100 MB");
    const JsonDocument json = parse_json(index->rest(0), "its JSON");
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
  Value tree(lang::Interpreter&, std::vector<Value> values) override {
    std::vector<std::pair<std::string, Value>> named;
    for (std::size_t i = 0; i < values.size(); ++i) named.emplace_back(arrays[i].name, std::move(values[i]));
    return Value::record(std::move(named));
  }
  bool in_parts() const override { return true; }

 private:
  struct DataFile {
    std::unique_ptr<Source> source;
    std::unique_ptr<SafetensorsFile> contents;
  };

  void take(const std::string& name, const std::string& file) {
    const auto known = files_.find(file);
    SafetensorsFile& data = *(known != files_.end() ? known->second : open_file(file)).contents;
    const auto i = data.find(name);
    if (!i) refuse_file("'" + file + "' does not hold \"" + name.substr(0, 60) + "\", which the index says");
    ArrayHeader header = data.arrays[*i];
    header.place = arrays.size();
    arrays.push_back(std::move(header));
    places_.emplace_back(&data, *i);
  }

  DataFile& open_file(const std::string& name) {
    if (name.empty() || name.find_first_of(std::string_view("/\0", 2)) != std::string::npos || name == "." ||
        name == "..")
      refuse_file("\"" + name.substr(0, 60) + "\" is no file of the folder");
    const std::string path = folder_ + "/" + name, real = real_path(path), home = real_path(folder_);
    may_read_(path);
    const auto within = [&](const std::string& folder) { return !folder.empty() && real.starts_with(folder + "/"); };
    if (!real.empty() && !within(home) && !within(real_path(folder_ + "/../../blobs")))
      refuse_file("'" + name + "': it is a link that leads out of the folder");
    if (!real.empty()) may_read_(real);
    try {
      DataFile file;
      file.source = open_in_folder(real.empty() ? path : real);
      file.contents = std::make_unique<SafetensorsFile>(*file.source);
      return files_.emplace(name, std::move(file)).first->second;
    } catch (const runtime::RuntimeError& e) { refuse_file("'" + name + "': " + e.what()); }
  }

  std::string folder_;
  MayRead may_read_;
  std::map<std::string, DataFile> files_;
  std::vector<std::pair<SafetensorsFile*, std::size_t>> places_;  // of each array
};

}  // namespace

std::unique_ptr<Contents> open_hub_index(const std::string& path, const MayRead& may_read) {
  return std::make_unique<HubIndex>(path, may_read);
}

bool is_hub_index(const std::string& path) { return lower(path).ends_with(".safetensors.index.json"); }

}  // namespace shard::stdlib
