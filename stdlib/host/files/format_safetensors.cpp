// What Shard saves as one file also carries the tree in __metadata__ ("shard_tree"): lists, tuples, records, host
// values.
#include "stdlib/host/files/format_safetensors.h"

#include <algorithm>

#include "grammar/stable_sort.h"
#include "interpreter/lang/report/report.h"
#include "stdlib/host/files/tree_json.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

constexpr std::uint64_t kLargestHeader = 100'000'000;

constexpr std::pair<const char*, DType> kTypes[] = {
    {"BOOL", DType::Bool}, {"I8", DType::I8},   {"I16", DType::I16},        {"I32", DType::I32},
    {"I64", DType::I64},   {"U8", DType::U8},   {"U16", DType::U16},        {"U32", DType::U32},
    {"U64", DType::U64},   {"F16", DType::F16}, {"BF16", DType::BF16},      {"F32", DType::F32},
    {"F64", DType::F64},   {"C64", DType::C64}, {"F8_E4M3", DType::F8E4M3}, {"F8_E5M2", DType::F8E5M2}};

void write_safetensors(Interpreter& in, const Value& tree, Sink& file) {
  SafetensorsHeader header;
  std::vector<ArrayRef> arrays;
  const std::string node = tree_to_json(tree, [&](const std::string& name, const Value& v) {
    arrays.push_back(array_to_write(in, v));
    const Type& type = arrays.back()->type;
    header.add(name, type.dtype, shape_as_stored(type));
    return "{\"array\":" + lang::json_string(name) + "}";
  });
  // "format" says whose tensors they are; the libraries of model hubs refuse a file that says none of theirs.
  file.write(header.text("\"format\":\"pt\",\"shard_tree\":" + lang::json_string(node)));
  for (const ArrayRef& a : arrays) write_pieces(in, a, file);
}

// ---- reading
struct StoredEntry : ArrayHeader {  // its place: where it begins behind the header
  std::uint64_t end = 0;
};

StoredEntry read_entry(std::string_view name, const Json& j) {
  StoredEntry e{{std::string(name), DType::F32, {}, 0}, 0};
  const std::string who = "its entry \"" + e.name.substr(0, 60) + "\"";
  const auto type = j.find("dtype"), offsets = j.find("data_offsets");
  const auto shape = shape_of_json(j.find("shape"));
  if (!type || !type->text() || !shape || !offsets || !offsets->list() || offsets->list().size() != 2)
    refuse_file(who + " is damaged");
  const auto known = type_of_stored(*type->text());
  if (!known)
    refuse_file(who + " has the element type " + std::string(type->text()->substr(0, 20)) + ", which is not read here");
  e.dtype = *known;
  e.shape = *shape;
  if (e.shape.size() > static_cast<std::size_t>(runtime::kMaxRank)) refuse_file(who + " has more than 16 dimensions");
  std::int64_t begin = 0, end = 0;
  if (!offsets->list().first().integer(begin) || !offsets->list().second().integer(end) || begin < 0 || end < begin)
    refuse_file(who + " is damaged: its offsets are none");
  e.place = static_cast<std::uint64_t>(begin), e.end = static_cast<std::uint64_t>(end);
  const std::uint64_t needed = e.bytes();
  if (needed != e.end - e.place)
    refuse_file(who + " is damaged: its shape takes " + std::to_string(needed) + " bytes, its offsets enclose " +
                std::to_string(e.end - e.place));
  return e;
}

std::uint64_t covered(const std::vector<StoredEntry>& entries) {  // how many bytes, without holes
  std::vector<const StoredEntry*> by_place;
  for (const StoredEntry& e : entries) by_place.push_back(&e);
  stable_sort(by_place, [](const StoredEntry* x, const StoredEntry* y) {
    return std::pair(x->place, x->end) < std::pair(y->place, y->end);
  });
  std::uint64_t at = 0;
  for (const StoredEntry* e : by_place) {
    if (e->place != at) refuse_file("its arrays leave a hole or overlap");
    at = e->end;
  }
  return at;
}

// A length below 4 GiB, and a JSON object behind it.
bool looks_like_safetensors(std::string_view b, std::string_view) {
  return b.size() > 10 && b[8] == '{' && b.substr(4, 4) == std::string_view("\0\0\0\0", 4);
}

}  // namespace

Shape shape_as_stored(const Type& type) {
  Shape shape = type.shape;
  if (type.dtype == DType::Key) shape.push_back(2);
  return shape;
}

std::optional<Shape> shape_without_words(Shape stored) {
  if (stored.empty() || stored.back() != 2) return std::nullopt;
  stored.pop_back();
  return stored;
}

std::string_view type_as_stored(DType dtype) {
  for (const auto& [text, known] : kTypes)
    if (known == dtype) return text;
  if (dtype == DType::Key) return "U32";
  refuse_file("safetensors has no type for " + std::string(runtime::name(dtype)) +
              ": cast it, save its parts, or write a .npz file");
}

std::optional<DType> type_of_stored(std::string_view name) {
  for (const auto& [text, known] : kTypes)
    if (name == text) return known;
  return std::nullopt;
}

std::string json_sizes(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i ? "," : "") + std::to_string(shape[i]);
  return out + "]";
}

std::optional<Shape> shape_of_json(std::optional<Json> j) {
  if (!j || !j->list()) return std::nullopt;
  Shape out;
  for (const Json n : j->list()) {
    if (out.size() > static_cast<std::size_t>(runtime::kMaxRank)) return std::nullopt;
    std::int64_t size = 0;
    if (!n.integer(size) || size < 0) return std::nullopt;
    out.push_back(size);
  }
  return out;
}

void SafetensorsHeader::add(const std::string& name, DType dtype, const Shape& stored_shape) {
  if (name == "__metadata__") refuse_file("safetensors keeps the name \"__metadata__\" for itself: rename that field");
  if (!names_.insert(name).second) refuse_file("two arrays of the tree would both be called \"" + name + "\"");
  const std::uint64_t size = stored_bytes(dtype == DType::Key ? DType::U32 : dtype, stored_shape);
  entries_ += "," + lang::json_string(name) + ":{\"dtype\":\"" + std::string(type_as_stored(dtype)) +
              "\",\"shape\":" + json_sizes(stored_shape) + ",\"data_offsets\":[" + std::to_string(at_) + "," +
              std::to_string(at_ + size) + "]}";
  at_ += size;
  if (dtype == DType::Key) keys_ += (keys_.empty() ? "" : ",") + lang::json_string(name);
}

std::string SafetensorsHeader::text(const std::string& metadata) const {
  const std::string keys = keys_.empty() ? "" : ",\"shard_keys\":" + lang::json_string("[" + keys_ + "]");
  std::string header = "{\"__metadata__\":{" + metadata + keys + "}" + entries_ + "}";
  while (header.size() % 8) header += ' ';
  return little(header.size(), 8) + header;
}

SafetensorsFile::SafetensorsFile(Source& file) : file_(file) {
  const std::string prefix = file.text(0, 8);
  if (prefix.size() < 8) refuse_file("it is a safetensors file that ends too early");
  const std::uint64_t length = little(prefix);
  const std::string text = length > kLargestHeader ? "" : file.text(8, length);
  if (text.size() != length) refuse_file("its safetensors header is longer than the file");
  const JsonDocument document = parse_json(text, "its JSON header");
  const Json header = document.root();
  if (!header.object()) refuse_file("its safetensors header is damaged");
  std::vector<StoredEntry> entries;
  for (const auto& [name, j] : header.object())
    if (name != "__metadata__") entries.push_back(read_entry(name, j));
  begin_ = 8 + length;
  file.expect(begin_, covered(entries), "its arrays take");
  for (StoredEntry& e : entries) {
    by_name_.emplace(e.name, arrays.size());
    arrays.push_back(std::move(e));
  }
  const auto metadata = header.find("__metadata__");
  if (const auto keys = metadata ? metadata->find("shard_keys") : std::nullopt; keys && keys->text())
    take_keys(*keys->text());
  if (const auto tree = metadata ? metadata->find("shard_tree") : std::nullopt; tree && tree->text()) {
    tree_ = parse_json(*tree->text(), "the tree in its header");
    take_tree();
  }
}

void SafetensorsFile::take_tree() {
  tree_from_json(tree_->root(), "the tree in its header", [&](const std::string& name, bool key) {
    if (!find(name))
      refuse_file("the tree in its header names the array \"" + name.substr(0, 60) + "\", which is not there");
    if (key) mark_keys(name);
    return Value();
  });
}

void SafetensorsFile::take_keys(std::string_view names) {
  const JsonDocument document = parse_json(names, "the list of keys in its header");
  const auto list = document.root().list();
  if (!list) refuse_file("the list of keys in its header is damaged");
  for (const Json name : list) {
    if (!name.text() || !find(std::string(*name.text()))) refuse_file("the list of keys in its header is damaged");
    mark_keys(std::string(*name.text()));
  }
}

void SafetensorsFile::mark_keys(const std::string& name) {
  ArrayHeader& a = arrays[*find(name)];
  if (a.dtype == DType::Key) return;
  const auto shape = shape_without_words(a.shape);
  if (a.dtype != DType::U32 || !shape) refuse_file("its keys \"" + name.substr(0, 60) + "\" are not u32[..., 2]");
  a.dtype = DType::Key, a.shape = *shape;
}

std::optional<std::size_t> SafetensorsFile::find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? std::nullopt : std::optional(it->second);
}

void SafetensorsFile::read_summed(std::size_t i, const ArrayPart& block, runtime::PartialSum* sum) {
  read_stored(file_, {begin_ + arrays[i].place, false, false, sum}, arrays[i], block);
}

std::uint32_t SafetensorsFile::sum_of(std::size_t i) {
  const ArrayHeader& a = arrays[i];
  std::uint64_t left = a.bytes();
  std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(left, 1 << 20)), '\0');
  std::uint32_t sum = 0;
  for (std::uint64_t at = begin_ + a.place; left > 0; at += piece.size(), left -= piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size())));
    file_.read(at, piece.data(), piece.size());
    sum = runtime::crc32c(sum, piece);
  }
  return sum;
}

Value SafetensorsFile::tree(std::vector<Value> values) {
  if (!tree_) return Contents::tree(std::move(values));
  return tree_from_json(tree_->root(), "the tree in its header",
                        [&](const std::string& name, bool) { return values[*find(name)]; });
}

Format safetensors_format() {
  return {"safetensors",
          {".safetensors", ".ckpt", ""},
          "any tree",
          looks_like_safetensors,
          opened<SafetensorsFile>,
          write_safetensors,
          true};
}

}  // namespace shard::stdlib
