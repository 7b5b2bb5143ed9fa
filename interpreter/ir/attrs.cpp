#include "interpreter/ir/attrs.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "grammar/overloaded.h"
#include "interpreter/ir/why.h"
#include "runtime/array/array_text.h"

namespace shard::ir {
namespace {

using grammar::Overloaded;

std::size_t hash_layout(const Layout& l) {
  std::size_t h = l.mesh ? static_cast<std::size_t>(l.mesh->size()) : 0;
  for (const auto& d : l.sharding.dims) {
    h = mix(h, d.open);
    for (auto a : d.axes) h = mix(h, a + 1u);
  }
  return mix(mix(h, l.sharding.unreduced.bits()), l.sharding.reduced.bits());
}

std::size_t hash_value(const AttrValue& v) {
  std::size_t h = v.index();
  std::visit(Overloaded{[](std::monostate) {}, [&](bool b) { h = mix(h, b); },
                        [&](std::int64_t i) { h = mix(h, std::hash<std::int64_t>{}(i)); },
                        [&](double d) { h = mix(h, std::hash<double>{}(d)); },
                        [&](const std::string& s) { h = mix(h, std::hash<std::string>{}(s)); },
                        [&](const Ints& xs) {
                          for (auto x : xs) h = mix(h, std::hash<std::int64_t>{}(x));
                        },
                        [&](const Pairs& ps) {
                          for (auto [a, b] : ps)
                            h = mix(mix(h, std::hash<std::int64_t>{}(a)), std::hash<std::int64_t>{}(b));
                        },
                        [&](runtime::DType t) { h = mix(h, static_cast<std::size_t>(t)); },
                        [&](const Layout& l) { h = mix(h, hash_layout(l)); },
                        [&](const std::vector<std::string>& xs) {
                          for (auto& x : xs) h = mix(h, std::hash<std::string>{}(x));
                        },
                        [](const Note&) {}},
             v);
  return h;
}

}  // namespace

AttrValue::AttrValue() = default;
AttrValue::AttrValue(const AttrValue&) = default;
AttrValue::AttrValue(AttrValue&&) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue&) = default;
AttrValue& AttrValue::operator=(AttrValue&&) noexcept = default;
AttrValue::~AttrValue() = default;

bool operator==(const Layout& a, const Layout& b) {
  if (!(a.sharding == b.sharding)) return false;
  return a.mesh == b.mesh || (a.mesh && b.mesh && *a.mesh == *b.mesh);
}

Attrs::Attrs(std::initializer_list<Item> items) {
  if (items.size()) own().reserve(items.size());
  for (const auto& [name, value] : items) set(name, value);
}

Attrs::Items& Attrs::own() {
  if (!items_)
    items_ = std::make_shared<Items>();
  else if (items_.use_count() > 1)
    items_ = std::make_shared<Items>(*items_);
  return *items_;
}

void Attrs::set(std::string_view name, AttrValue value) {
  Items& items = own();
  for (auto& [n, v] : items)
    if (n == name) {
      v = std::move(value);
      return;
    }
  items.emplace_back(std::string(name), std::move(value));
}

void Attrs::erase(std::string_view name) {
  if (find(name)) std::erase_if(own(), [&](const auto& item) { return item.first == name; });
}

bool Attrs::operator==(const Attrs& other) const {
  return items_ == other.items_ || std::equal(begin(), end(), other.begin(), other.end());
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const auto& [n, v] : *this)
    if (n == name) return &v;
  return nullptr;
}

bool Attrs::has(std::string_view name) const {
  const AttrValue* v = find(name);
  return v && !std::holds_alternative<std::monostate>(*v);
}

bool Attrs::says(std::string_view name) const { return has(name) && flag(name); }

runtime::AxisSet Attrs::axes() const {
  runtime::AxisSet out;
  for (std::int64_t a : ints("axes")) out.add(static_cast<runtime::AxisId>(a));
  return out;
}

const AttrValue& Attrs::need(std::string_view name) const {
  if (const AttrValue* v = find(name)) return *v;
  throw std::logic_error("attribute `" + std::string(name) + "` is missing among {" + to_string(*this) + "}");
}

namespace {
template <class T>
const T& as(const AttrValue& v, std::string_view name, const char* kind) {
  if (const T* t = std::get_if<T>(&v)) return *t;
  throw std::logic_error("attribute `" + std::string(name) + "` is " + to_string(v) + ", not " + kind);
}
}  // namespace

bool Attrs::flag(std::string_view name) const { return as<bool>(need(name), name, "a truth value"); }
std::int64_t Attrs::integer(std::string_view name) const { return as<std::int64_t>(need(name), name, "an integer"); }
double Attrs::number(std::string_view name) const {
  const AttrValue& v = need(name);
  if (auto* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
  if (auto* b = std::get_if<bool>(&v)) return *b ? 1 : 0;
  return as<double>(v, name, "a number");
}
const std::string& Attrs::text(std::string_view name) const { return as<std::string>(need(name), name, "a string"); }
const Ints& Attrs::ints(std::string_view name) const { return as<Ints>(need(name), name, "a list of integers"); }
const Pairs& Attrs::pairs(std::string_view name) const { return as<Pairs>(need(name), name, "a list of pairs"); }
runtime::DType Attrs::dtype(std::string_view name) const {
  return as<runtime::DType>(need(name), name, "an element type");
}
const Layout& Attrs::layout(std::string_view name) const { return as<Layout>(need(name), name, "a layout"); }

std::size_t hash(const Attrs& attrs) {
  std::size_t h = 0;
  for (const auto& [name, value] : attrs) h = mix(mix(h, std::hash<std::string>{}(name)), hash_value(value));
  return h;
}

std::string to_string(const AttrValue& value) {
  auto number = [](std::int64_t i) { return i == kWhole ? std::string("whole") : std::to_string(i); };
  return std::visit(
      Overloaded{[](std::monostate) { return std::string("none"); },
                 [](bool b) { return std::string(b ? "true" : "false"); }, [&](std::int64_t i) { return number(i); },
                 [](double d) { return runtime::format_double(d); }, [](const std::string& s) { return '"' + s + '"'; },
                 [&](const Ints& xs) {
                   std::string out = "[";
                   for (std::size_t i = 0; i < xs.size(); ++i) out += (i ? ", " : "") + number(xs[i]);
                   return out + "]";
                 },
                 [](const Pairs& ps) {
                   std::string out = "[";
                   for (std::size_t i = 0; i < ps.size(); ++i)
                     out += (i ? ", (" : "(") + std::to_string(ps[i].first) + ", " + std::to_string(ps[i].second) + ")";
                   return out + "]";
                 },
                 [](runtime::DType t) { return std::string(runtime::name(t)); },
                 [](const Layout& l) { return l.mesh ? runtime::to_string(*l.mesh, l.sharding) : std::string("P()"); },
                 [](const std::vector<std::string>& xs) {
                   std::string out = "[";
                   for (std::size_t i = 0; i < xs.size(); ++i) out += (i ? ", \"" : "\"") + xs[i] + "\"";
                   return out + "]";
                 },
                 [](const Note&) { return std::string(); }},
      value);
}

Attrs crossing(Layout to, runtime::MeshRef from) {
  return {{"layout", std::move(to)}, {kFrom, Layout{std::move(from), {}}}};
}

std::string to_string(const Attrs& attrs) {
  std::string out;
  for (const auto& [name, value] : attrs)
    if (!std::holds_alternative<Note>(value)) out += (out.empty() ? "" : ", ") + name + ": " + to_string(value);
  return out;
}

}  // namespace shard::ir
