// safetensors: eight bytes with the length of a JSON header, the header, then the arrays end to end. Source: the
// format's description in the safetensors repository. What Shard saves also carries the tree in __metadata__
// ("shard_tree"): lists, tuples, records, host values.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "interpreter/lang/report/report.h"
#include "stdlib/host/files/format.h"
#include "stdlib/host/files/json.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::Value;
using runtime::DType;

constexpr std::uint64_t kLargestHeader = 100'000'000;

constexpr std::pair<const char*, DType> kTypes[] = {
    {"BOOL", DType::Bool}, {"I8", DType::I8},   {"I16", DType::I16}, {"I32", DType::I32}, {"I64", DType::I64},
    {"U8", DType::U8},     {"U16", DType::U16}, {"U32", DType::U32}, {"U64", DType::U64}, {"F16", DType::F16},
    {"BF16", DType::BF16}, {"F32", DType::F32}, {"F64", DType::F64}};

std::string number_text(double d) {
  char buffer[40];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, d).ptr);
}

// ---- writing
class Writer {
 public:
  explicit Writer(lang::Interpreter& in) : in_(in) {}

  void write(const Value& tree, Sink& file) {
    const std::string shape_of_tree = describe(tree, "");
    std::string header = "{\"__metadata__\":{\"format\":\"shard\",\"shard_tree\":" + lang::json_string(shape_of_tree) +
                         "}" + entries_ + "}";
    while (header.size() % 8) header += ' ';
    std::string length;
    for (std::uint64_t n = header.size(), i = 0; i < 8; ++i, n >>= 8) length += static_cast<char>(n & 255);
    file.write(length + header);
    for (const runtime::ArrayRef& a : arrays_) write_pieces(in_, a, file);
  }

 private:
  std::string describe(const Value& v, const std::string& path) {
    const auto below = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
    if (const auto* items = v.items()) {
      std::string s = v.is<std::shared_ptr<lang::List>>() ? "{\"list\":[" : "{\"tuple\":[";
      for (std::size_t i = 0; i < items->size(); ++i)
        s += (i ? "," : "") + describe((*items)[i], below(std::to_string(i)));
      return s + "]}";
    }
    if (const auto* r = v.fields()) {
      std::string s = "{\"record\":[";
      for (std::size_t i = 0; i < r->fields.size(); ++i)
        s += (i ? ",[" : "[") + lang::json_string(r->fields[i].first) + "," +
             describe(r->fields[i].second, below(r->fields[i].first)) + "]";
      return s + "]}";
    }
    if (v.is_none()) return "null";
    if (auto* b = v.get<bool>()) return *b ? "true" : "false";
    if (auto* i = v.get<std::int64_t>()) return "{\"int\":\"" + std::to_string(*i) + "\"}";
    if (auto* d = v.get<double>()) return "{\"float\":\"" + number_text(*d) + "\"}";
    if (v.is_string()) return "{\"text\":" + lang::json_string(v.str()) + "}";
    if (v.is_tensor()) return array(v, path.empty() ? "value" : path);
    refuse_file(lang::kind_name(v) + " cannot be saved" + (path.empty() ? "" : " (at `" + path + "`)") +
                "; arrays, numbers, text and trees of them can");
  }

  std::string array(const Value& t, const std::string& name) {
    const runtime::ArrayRef a = array_to_write(in_, t);
    const bool key = a->type.dtype == DType::Key;
    runtime::Shape shape = a->type.shape;
    if (key) shape.push_back(2);
    std::string type = "U32";
    for (const auto& [text, dtype] : kTypes)
      if (dtype == a->type.dtype) type = text;
    const auto size = static_cast<std::size_t>(runtime::checked_bytes(a->type.shape, runtime::size_of(a->type.dtype)));
    entries_ += "," + lang::json_string(name) + ":{\"dtype\":\"" + type + "\",\"shape\":[";
    for (std::size_t i = 0; i < shape.size(); ++i) entries_ += (i ? "," : "") + std::to_string(shape[i]);
    entries_ += "],\"data_offsets\":[" + std::to_string(at_) + "," + std::to_string(at_ + size) + "]}";
    at_ += size;
    arrays_.push_back(a);
    return std::string(key ? "{\"key\":" : "{\"array\":") + lang::json_string(name) + "}";
  }

  lang::Interpreter& in_;
  std::string entries_;
  std::uint64_t at_ = 0;
  std::vector<runtime::ArrayRef> arrays_;
};

// ---- reading
struct Entry : ArrayHeader {  // its place: where it begins behind the header
  std::uint64_t end = 0;
};

Entry read_entry(const std::string& name, const Json& j) {
  Entry e{{name, DType::F32, {}, 0}, 0};
  const auto damaged = [&]() { refuse_file("its entry \"" + name.substr(0, 60) + "\" is damaged"); };
  const Json *type = j.find("dtype"), *shape = j.find("shape"), *offsets = j.find("data_offsets");
  if (!type || !type->text() || !shape || !shape->list() || !offsets || !offsets->list() ||
      offsets->list()->size() != 2)
    damaged();
  const auto* known =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return *type->text() == t.first; });
  if (known == std::end(kTypes))
    refuse_file("its entry \"" + name.substr(0, 60) + "\" has the element type " + type->text()->substr(0, 20) +
                ", which is not read here");
  e.dtype = known->second;
  if (shape->list()->size() > static_cast<std::size_t>(runtime::kMaxRank))
    refuse_file("its entry \"" + name.substr(0, 60) + "\" has more than 16 dimensions");
  for (const Json& n : *shape->list()) {
    std::int64_t size = 0;
    if (!n.integer(size) || size < 0) damaged();
    e.shape.push_back(size);
  }
  std::int64_t begin = 0, end = 0;
  if (!(*offsets->list())[0].integer(begin) || !(*offsets->list())[1].integer(end) || begin < 0 || end < begin)
    damaged();
  e.place = static_cast<std::uint64_t>(begin), e.end = static_cast<std::uint64_t>(end);
  if (static_cast<std::uint64_t>(runtime::checked_bytes(e.shape, runtime::size_of(e.dtype))) != e.end - e.place)
    damaged();
  return e;
}

class TreeReader {
 public:
  using Arrays = std::vector<std::pair<std::string, Value>>;
  TreeReader(lang::Interpreter& in, const Arrays& arrays) : in_(in), arrays_(arrays) {}

  Value read(const Json& j) {
    if (auto* b = std::get_if<bool>(&j.value)) return Value(*b);
    if (std::holds_alternative<std::nullptr_t>(j.value)) return {};
    const Json::Object* o = j.object();
    if (!o || o->size() != 1) damaged();
    const auto& [kind, x] = o->front();
    if (kind == "list" || kind == "tuple") {
      if (!x.list()) damaged();
      std::vector<Value> items;
      for (const Json& item : *x.list()) items.push_back(read(item));
      return kind == "list" ? Value::list(std::move(items)) : Value::tuple(std::move(items));
    }
    if (kind == "record") {
      if (!x.list()) damaged();
      std::vector<std::pair<std::string, Value>> fields;
      for (const Json& f : *x.list()) {
        if (!f.list() || f.list()->size() != 2 || !(*f.list())[0].text()) damaged();
        fields.emplace_back(*(*f.list())[0].text(), read((*f.list())[1]));
      }
      return Value::record(std::move(fields));
    }
    if (!x.text()) damaged();
    const std::string& text = *x.text();
    const char *b = text.data(), *e = b + text.size();
    std::int64_t i = 0;
    double d = 0;
    if (kind == "int" && std::from_chars(b, e, i).ptr == e) return Value(i);
    if (kind == "float" && std::from_chars(b, e, d).ptr == e) return Value(d);
    if (kind == "text") return Value::string(text);
    if (kind != "array" && kind != "key") damaged();
    for (const auto& [name, v] : arrays_)
      if (name == text) return kind == "array" ? v : key(v);
    damaged();
  }

 private:
  [[noreturn]] static void damaged() { refuse_file("the tree in its header is damaged"); }

  Value key(const Value& words) {  // u32[..., 2] to keys: the same bytes
    const runtime::ArrayRef& a = words.tensor().array();
    runtime::Shape shape = a->type.shape;
    if (a->type.dtype != DType::U32 || shape.empty() || shape.back() != 2) damaged();
    shape.pop_back();
    return new_array(in_, DType::Key, std::move(shape), a->buffer->data());
  }

  lang::Interpreter& in_;
  const Arrays& arrays_;
};

class Safetensors : public Contents {
 public:
  explicit Safetensors(Source& file) : file_(file) {
    const std::string prefix = file.text(0, 8);
    std::uint64_t length = 0;
    for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(prefix[i]);
    const std::string text = length > kLargestHeader ? "" : file.text(8, length);
    if (text.size() != length) refuse_file("its safetensors header is longer than the file");
    header_ = parse_json(text);
    if (!header_.object()) refuse_file("its safetensors header is damaged");
    std::vector<Entry> entries;
    for (const auto& [name, j] : *header_.object())
      if (name != "__metadata__") entries.push_back(read_entry(name, j));
    begin_ = 8 + length;
    file.expect(begin_, covered(entries), "its arrays take");
    for (Entry& e : entries) arrays.push_back(std::move(e));
  }

  void read(std::size_t i, const Block& block) override {
    read_stored(file_, {begin_ + arrays[i].place}, arrays[i], block);
  }
  void check_end() override { file_.check_end(); }
  Value tree(lang::Interpreter& in, std::vector<Value> values) override {
    TreeReader::Arrays named;
    for (std::size_t i = 0; i < values.size(); ++i) named.emplace_back(arrays[i].name, std::move(values[i]));
    if (const Json* metadata = header_.find("__metadata__"))
      if (const Json* tree = metadata->find("shard_tree"); tree && tree->text())
        return TreeReader(in, named).read(parse_json(*tree->text()));
    return Value::record(std::move(named));
  }

 private:
  static std::uint64_t covered(const std::vector<Entry>& entries) {  // how many bytes, without holes
    std::vector<const Entry*> by_place;
    for (const Entry& e : entries) by_place.push_back(&e);
    std::sort(by_place.begin(), by_place.end(),
              [](const Entry* x, const Entry* y) { return std::pair(x->place, x->end) < std::pair(y->place, y->end); });
    std::uint64_t at = 0;
    for (const Entry* e : by_place) {
      if (e->place != at) refuse_file("its arrays leave a hole or overlap");
      at = e->end;
    }
    return at;
  }

  Source& file_;
  Json header_;
  std::uint64_t begin_ = 0;
};

// A length below 4 GiB, and a JSON object behind it.
bool looks_like_safetensors(std::string_view b, std::string_view) {
  return b.size() > 10 && b[8] == '{' && b.substr(4, 4) == std::string_view("\0\0\0\0", 4);
}

}  // namespace

Format safetensors_format() {
  return {"safetensors",
          {".safetensors", ""},
          "any tree",
          looks_like_safetensors,
          [](Source& file) -> std::unique_ptr<Contents> { return std::make_unique<Safetensors>(file); },
          [](lang::Interpreter& in, const Value& tree, Sink& file) { Writer(in).write(tree, file); }};
}

}  // namespace shard::stdlib
