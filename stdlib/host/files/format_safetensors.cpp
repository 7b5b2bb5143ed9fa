// safetensors: eight bytes with the length of a JSON header, the header, then the arrays end to end. Source: the
// format's description in the safetensors repository. What Shard saves also carries the tree in __metadata__
// ("shard_tree"): lists, tuples, records, host values.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "interpreter/lang/report/report.h"
#include "stdlib/host/files/formats.h"
#include "stdlib/host/files/json.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::Value;
using runtime::DType;
using runtime::RuntimeError;

constexpr std::uint64_t kLargestHeader = 100'000'000;

[[noreturn]] void bad(const std::string& why) { throw RuntimeError("io", why); }

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

  std::string write(const Value& tree) {
    const std::string shape_of_tree = describe(tree, "");
    std::string header = "{\"__metadata__\":{\"format\":\"shard\",\"shard_tree\":" + lang::json_string(shape_of_tree) +
                         "}" + entries_ + "}";
    while (header.size() % 8) header += ' ';
    std::string out;
    for (std::uint64_t n = header.size(), i = 0; i < 8; ++i, n >>= 8) out += static_cast<char>(n & 255);
    return out + header + data_;
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
    if (v.is_tensor()) return array(v.tensor(), path.empty() ? "value" : path);
    bad(lang::kind_name(v) + " cannot be saved" + (path.empty() ? "" : " (at `" + path + "`)") +
        "; arrays, numbers, text and trees of them can");
  }

  std::string array(const trace::Tensor& t, const std::string& name) {
    const runtime::ArrayRef a = runtime::to_host(in_.context().pool(), in_.context().concrete(t, "save"));
    const bool key = a->type.dtype == DType::Key;
    runtime::Shape shape = a->type.shape;
    if (key) shape.push_back(2);
    std::string type = "U32";
    for (const auto& [text, dtype] : kTypes)
      if (dtype == a->type.dtype) type = text;
    const auto size = static_cast<std::size_t>(runtime::checked_bytes(a->type.shape, runtime::size_of(a->type.dtype)));
    entries_ += "," + lang::json_string(name) + ":{\"dtype\":\"" + type + "\",\"shape\":[";
    for (std::size_t i = 0; i < shape.size(); ++i) entries_ += (i ? "," : "") + std::to_string(shape[i]);
    entries_ +=
        "],\"data_offsets\":[" + std::to_string(data_.size()) + "," + std::to_string(data_.size() + size) + "]}";
    data_.append(static_cast<const char*>(a->buffer->data()), size);
    return std::string(key ? "{\"key\":" : "{\"array\":") + lang::json_string(name) + "}";
  }

  lang::Interpreter& in_;
  std::string entries_, data_;
};

// ---- reading
struct Entry {
  std::string name;
  DType dtype;
  runtime::Shape shape;
  std::uint64_t begin, end;
};

Entry read_entry(const std::string& name, const Json& j) {
  Entry e{name, DType::F32, {}, 0, 0};
  const auto damaged = [&]() { bad("its entry \"" + name.substr(0, 60) + "\" is damaged"); };
  const Json *type = j.find("dtype"), *shape = j.find("shape"), *offsets = j.find("data_offsets");
  if (!type || !type->text() || !shape || !shape->list() || !offsets || !offsets->list() ||
      offsets->list()->size() != 2)
    damaged();
  const auto* known =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return *type->text() == t.first; });
  if (known == std::end(kTypes))
    bad("its entry \"" + name.substr(0, 60) + "\" has the element type " + type->text()->substr(0, 20) +
        ", which is not read here");
  e.dtype = known->second;
  if (shape->list()->size() > static_cast<std::size_t>(runtime::kMaxRank))
    bad("its entry \"" + name.substr(0, 60) + "\" has more than 16 dimensions");
  for (const Json& n : *shape->list()) {
    std::int64_t size = 0;
    if (!n.integer(size) || size < 0) damaged();
    e.shape.push_back(size);
  }
  std::int64_t begin = 0, end = 0;
  if (!(*offsets->list())[0].integer(begin) || !(*offsets->list())[1].integer(end) || begin < 0 || end < begin)
    damaged();
  e.begin = static_cast<std::uint64_t>(begin), e.end = static_cast<std::uint64_t>(end);
  if (static_cast<std::uint64_t>(runtime::checked_bytes(e.shape, runtime::size_of(e.dtype))) != e.end - e.begin)
    damaged();
  return e;
}

class TreeReader {
 public:
  TreeReader(lang::Interpreter& in, const std::vector<std::pair<std::string, Value>>& arrays)
      : in_(in), arrays_(arrays) {}

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
  [[noreturn]] static void damaged() { bad("the tree in its header is damaged"); }

  Value key(const Value& words) {  // u32[..., 2] to keys: the same bytes
    const runtime::ArrayRef& a = words.tensor().array();
    runtime::Shape shape = a->type.shape;
    if (a->type.dtype != DType::U32 || shape.empty() || shape.back() != 2) damaged();
    shape.pop_back();
    return new_array(in_, DType::Key, std::move(shape), a->buffer->data());
  }

  lang::Interpreter& in_;
  const std::vector<std::pair<std::string, Value>>& arrays_;
};

}  // namespace

bool is_safetensors(std::string_view b) {
  return b.size() > 10 && b[8] == '{' && static_cast<unsigned char>(b[5]) == 0 &&
         static_cast<unsigned char>(b[6]) == 0 && b[7] == 0;
}

Value read_safetensors(lang::Interpreter& in, std::string_view b) {
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(b[i]);
  if (length > kLargestHeader || length > b.size() - 8) bad("its safetensors header is longer than the file");
  const Json header = parse_json(b.substr(8, length));
  if (!header.object()) bad("its safetensors header is damaged");
  const std::string_view data = b.substr(8 + length);
  std::vector<Entry> entries;
  for (const auto& [name, j] : *header.object())
    if (name != "__metadata__") entries.push_back(read_entry(name, j));
  std::vector<const Entry*> by_place;
  for (const Entry& e : entries) by_place.push_back(&e);
  std::sort(by_place.begin(), by_place.end(),
            [](const Entry* x, const Entry* y) { return std::pair(x->begin, x->end) < std::pair(y->begin, y->end); });
  std::uint64_t at = 0;
  for (const Entry* e : by_place) {  // the arrays cover the bytes without holes
    if (e->begin != at) bad("its arrays leave a hole or overlap");
    at = e->end;
  }
  if (at != data.size())
    bad("its arrays take " + std::to_string(at) + " bytes, but it has " + std::to_string(data.size()));
  std::vector<std::pair<std::string, Value>> arrays;
  for (const Entry& e : entries) {
    // Copied once more where a row's bytes are not aligned; new_array copies in any case.
    std::string bytes(data.substr(e.begin, e.end - e.begin));
    if (e.dtype == DType::Bool)
      for (char& c : bytes) c = c != 0;
    arrays.emplace_back(e.name, Value(new_array(in, e.dtype, e.shape, bytes.data())));
  }
  if (const Json* metadata = header.find("__metadata__"))
    if (const Json* tree = metadata->find("shard_tree"); tree && tree->text())
      return TreeReader(in, arrays).read(parse_json(*tree->text()));
  return Value::record(std::move(arrays));
}

std::string write_safetensors(lang::Interpreter& in, const Value& tree) { return Writer(in).write(tree); }

}  // namespace shard::stdlib
