// safetensors: eight bytes with the length of a JSON header, the header, then the arrays end to end. Source: the
// format's description in the safetensors repository. Files of one tree, and the data files of checkpoint folders.
// Which tensors are keys, other readers need not know: "shard_keys" of the metadata lists their names.
#pragma once
#include <set>
#include <unordered_map>

#include "stdlib/host/files/format.h"
#include "stdlib/host/files/json.h"

namespace shard::stdlib {

// Keys are stored as their words, u32[..., 2].
Shape shape_as_stored(const Type& type);
std::string_view type_as_stored(DType dtype);                // "F32"
std::optional<DType> type_of_stored(std::string_view name);  // nothing where it is none of ours
std::string json_sizes(const Shape& shape);                  // "[2,3]"
std::optional<Shape> shape_of_json(std::optional<Json> j);   // nothing where it is none
std::optional<Shape> shape_without_words(Shape stored);      // of keys, from that of their words

class SafetensorsHeader {
 public:
  // The next array of the file. Two of one name are an error.
  void add(const std::string& name, DType dtype, const Shape& stored_shape);
  std::string text(const std::string& metadata) const;  // with the length in front; metadata: JSON fields

 private:
  std::string entries_, keys_;
  std::set<std::string> names_;
  std::uint64_t at_ = 0;
};

class SafetensorsFile : public Contents {
 public:
  explicit SafetensorsFile(Source& file);
  void read(std::size_t i, const ArrayPart& block) override { read_summed(i, block, nullptr); }
  void read_summed(std::size_t i, const ArrayPart& block, runtime::PartialSum* sum);
  std::uint32_t sum_of(std::size_t i);  // the CRC-32C of its bytes
  void check_end() override { file_.check_end(); }
  Value tree(std::vector<Value> values) override;
  bool flat() const override { return !tree_; }
  bool in_parts() const override { return file_.anywhere(); }
  std::optional<std::size_t> find(const std::string& name) const;

 private:
  void take_tree();  // that Shard wrote into the header
  void take_keys(std::string_view names);
  void mark_keys(const std::string& name);
  Source& file_;
  std::uint64_t begin_ = 0;
  std::optional<JsonDocument> tree_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace shard::stdlib
