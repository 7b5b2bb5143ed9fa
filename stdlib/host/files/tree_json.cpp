#include "stdlib/host/files/tree_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/tree.h"
#include "stdlib/host/files/byte_source.h"

namespace shard::stdlib {
namespace {

constexpr int kDeepestTree = kDeepestJson / 3 - 1;  // a record within a record is three levels of JSON

std::string float_node(double x) {
  if (std::isnan(x)) return R"({"float":"nan"})";
  if (std::isinf(x)) return x > 0 ? R"({"float":"inf"})" : R"({"float":"-inf"})";
  char buffer[40];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";  // -0 has a sign as a float only
  return "{\"float\":" + text + "}";
}

class NodeWriter {
 public:
  using ArrayNode = std::function<std::string(const std::string&, const Value&)>;
  NodeWriter(const Value& tree, const ArrayNode& array) : array_(array), names_(names_in_files(tree)) {}

  std::string node(const Value& v, int depth) {
    if (depth > kDeepestTree) refuse_file("the tree nests deeper than " + std::to_string(kDeepestTree) + " levels");
    if (const auto* items = v.items()) {
      std::string s = v.is<std::shared_ptr<lang::List>>() ? "{\"list\":[" : "{\"tuple\":[";
      for (std::size_t i = 0; i < items->size(); ++i) s += (i ? "," : "") + node((*items)[i], depth + 1);
      return s + "]}";
    }
    if (const auto* r = v.fields()) {
      std::string s = "{\"record\":[";
      for (std::size_t i = 0; i < r->fields.size(); ++i)
        s +=
            (i ? ",[" : "[") + lang::json_string(r->fields[i].first) + "," + node(r->fields[i].second, depth + 1) + "]";
      return s + "]}";
    }
    if (v.is_none()) return R"({"none":true})";
    const std::string& name = names_[next_++];
    if (auto* b = v.get<bool>()) return *b ? R"({"bool":true})" : R"({"bool":false})";
    if (auto* i = v.get<std::int64_t>()) return "{\"int\":" + std::to_string(*i) + "}";
    if (auto* d = v.get<double>()) return float_node(*d);
    if (v.is_string()) return "{\"text\":" + lang::json_string(v.str()) + "}";
    if (v.is_tensor()) return array_(name, v);
    refuse_file(lang::kind_name(v) + " cannot be saved" + (depth == 0 ? "" : " (at `" + name + "`)") +
                "; arrays, numbers, text and trees of them can");
  }

 private:
  const ArrayNode& array_;
  std::vector<std::string> names_;  // of the leaves
  std::size_t next_ = 0;
};

class NodeReader {
 public:
  using ArrayOf = std::function<Value(const std::string&, bool)>;
  NodeReader(std::string_view where, const ArrayOf& array) : where_(where), array_(array) {}

  Value tree(const Json& j, int depth) const {
    if (depth > kDeepestTree) damaged();
    if (const auto b = j.truth()) return Value(*b);  // an older version's; so is null
    if (j.null()) return {};
    const auto o = j.object();
    if (!o || o.size() != 1) damaged();
    const auto [kind, x] = o.first();
    if (kind == "list" || kind == "tuple") return items(x, kind == "list", depth);
    if (kind == "record") return fields(x, depth);
    if (kind == "none") return {};
    if (const auto b = x.truth(); b && kind == "bool") return Value(*b);
    if (kind == "int") return whole(x);
    if (kind == "float") return real(x);
    if (kind == "text" && x.text()) return Value::string(std::string(*x.text()));
    if ((kind == "array" || kind == "key") && x.text()) return array_(std::string(*x.text()), kind == "key");
    damaged();
  }

 private:
  [[noreturn]] void damaged() const { refuse_file(std::string(where_) + " is damaged"); }

  Value items(const Json& x, bool list, int depth) const {
    if (!x.list()) damaged();
    std::vector<Value> out;
    out.reserve(x.list().size());
    for (const Json item : x.list()) out.push_back(tree(item, depth + 1));
    return list ? Value::list(std::move(out)) : Value::tuple(std::move(out));
  }
  Value fields(const Json& x, int depth) const {
    if (!x.list()) damaged();
    std::vector<std::pair<std::string, Value>> out;
    std::vector<std::string_view> names;
    for (const Json f : x.list()) {
      if (!f.list() || f.list().size() != 2 || !f.list().first().text()) damaged();
      names.push_back(*f.list().first().text());
      out.emplace_back(names.back(), tree(f.list().second(), depth + 1));
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
      refuse_file(std::string(where_) + " has the field \"" + std::string(twice->substr(0, 60)) + "\" twice");
    return Value::record(std::move(out));
  }
  Value whole(const Json& x) const {
    std::int64_t i = 0;
    if (x.integer(i)) return Value(i);
    const auto text = x.text();  // an older version's
    if (!text || std::from_chars(text->data(), text->data() + text->size(), i).ptr != text->data() + text->size())
      damaged();
    return Value(i);
  }
  Value real(const Json& x) const {
    double d = 0;
    if (x.number(d)) return Value(d);
    const auto text = x.text();
    if (!text) damaged();
    if (*text == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
    if (*text == "inf") return Value(std::numeric_limits<double>::infinity());
    if (*text == "-inf") return Value(-std::numeric_limits<double>::infinity());
    if (std::from_chars(text->data(), text->data() + text->size(), d).ptr != text->data() + text->size()) damaged();
    return Value(d);
  }

  std::string_view where_;
  const ArrayOf& array_;
};

}  // namespace

std::vector<std::string> names_in_files(const Value& tree) {
  if (!tree.items() && !tree.fields()) return {"value"};
  return lang::leaf_paths(tree);
}

std::string tree_to_json(const Value& tree,
                         const std::function<std::string(const std::string& name, const Value& array)>& array) {
  return NodeWriter(tree, array).node(tree, 0);
}

Value tree_from_json(const Json& node, std::string_view where,
                     const std::function<Value(const std::string& name, bool key)>& array) {
  return NodeReader(where, array).tree(node, 0);
}

}  // namespace shard::stdlib
