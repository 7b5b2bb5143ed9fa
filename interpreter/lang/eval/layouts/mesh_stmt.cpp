// `mesh m = (@X: 4, @Y: _ explicit) on devices`, and `rules { batch: @X }`.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <set>

#include "interpreter/lang/eval/impl.h"
#include "runtime/mesh/part.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

namespace {

// What `--set @name=text` says of a mesh axis or a rule; null where it says nothing.
const std::string* laid_text(Impl& m, const std::string& name, const Value* rule) {
  m.surroundings.declared.insert(name);
  if (m.in.options().laid_out) m.in.options().laid_out(name, rule);
  const std::string* text = nullptr;
  for (const auto& [set, given] : m.in.options().set)
    if (set.size() == name.size() + 1 && set[0] == '@' && set.compare(1, name.size(), name) == 0) text = &given;
  return text;
}

std::optional<std::int64_t> laid_size(Impl& m, const std::string& name) {
  const std::string* text = laid_text(m, name, nullptr);
  if (!text) return std::nullopt;
  std::int64_t n = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), n);
  if (read.ec != std::errc() || read.ptr != text->data() + text->size() || n < 1)
    m.fail("mesh", {},
           "--set @" + name + "=" + *text + ": @" + name + " is an axis of the mesh, and its size is a number",
           {"--set @" + name + "=4"});
  return n;
}

// "@data", "@(data, model)" or "_".
Value laid_rule(Impl& m, const std::string& name, const std::string& text) {
  if (text == "_") return Value();
  Axis axis;
  bool good = text.starts_with("@");
  for (const char c : good ? text.substr(1) : "") {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (axis.names.empty() || c == ',') axis.names.emplace_back();
    if (letter) axis.names.back() += c;
    good &= letter || c == ',' || c == ' ' || c == '(' || c == ')';
  }
  for (const std::string& a : axis.names) good &= !a.empty();
  if (!good || axis.names.empty())
    m.fail("spec", {}, "--set @" + name + "=" + text + ": @" + name + " is a name in the rules, and lies on an axis",
           {"--set @" + name + "=@data", "--set @" + name + "=_"});
  return Value(std::make_shared<const Axis>(std::move(axis)));
}

}  // namespace

void exec_mesh(Impl& m, const MeshStmt& s, Span span) {
  auto mesh = std::make_shared<runtime::Mesh>();
  std::vector<int> devices;
  if (s.devices) {
    Value v = m.eval(*s.devices);
    const auto* items = v.items();
    if (!items)
      m.fail("mesh", s.devices->span,
             "`on` takes a list of devices such as devices()[4:8], and this is " + kind_name(v));
    std::set<int> seen;
    for (const Value& x : *items) {
      auto* d = x.get<Device>();
      if (!d) m.fail("mesh", s.devices->span, "`on` takes a list of devices, and an element is " + kind_name(x));
      if (!seen.insert(d->id).second)
        m.fail("mesh", s.devices->span, "device " + std::to_string(d->id) + " is in the list twice");
      devices.push_back(d->id);
    }
  } else {
    for (int i = 0; i < m.ctx.devices(); ++i) devices.push_back(i);
  }
  const auto count = static_cast<std::int64_t>(devices.size());
  const std::string there = s.devices ? "the list has " + std::to_string(count) : "there are " + std::to_string(count);
  std::int64_t product = 1;
  std::ptrdiff_t hole = -1;
  if (s.axes.size() > runtime::kMaxAxes)
    m.fail("mesh", span, "a mesh has at most " + std::to_string(runtime::kMaxAxes) + " axes");
  for (const MeshAxis& a : s.axes) {
    for (const auto& other : mesh->axes)
      if (other.name == a.name.text) m.fail("mesh", a.name.span, "the mesh has two axes called @" + a.name.text);
    runtime::MeshAxis axis{
        a.name.text, 1, a.kind == grammar::AxisKind::Explicit ? runtime::AxisKind::Explicit : runtime::AxisKind::Auto};
    if (const auto given = laid_size(m, axis.name)) {
      axis.size = *given;
      if (__builtin_mul_overflow(product, axis.size, &product)) product = std::numeric_limits<std::int64_t>::max();
    } else if (!a.size || std::holds_alternative<HoleLit>(a.size->node)) {
      if (hole >= 0)
        m.fail("mesh", a.size ? a.size->span : a.name.span, "one size of a mesh may be left out, and here are two");
      hole = static_cast<std::ptrdiff_t>(mesh->axes.size());
    } else {
      axis.size = m.in.integer(m.eval(*a.size), a.size->span, "the size of @" + a.name.text);
      if (axis.size < 1)
        m.fail("mesh", a.size->span,
               "the size of @" + a.name.text + " is at least 1, and this is " + std::to_string(axis.size));
      if (__builtin_mul_overflow(product, axis.size, &product)) product = std::numeric_limits<std::int64_t>::max();
    }
    mesh->axes.push_back(std::move(axis));
  }
  if (hole >= 0) {
    if (count % product != 0 || count / product == 0)
      m.fail("mesh", span,
             "the size of @" + mesh->axes[static_cast<std::size_t>(hole)].name +
                 " cannot be found: the other sizes make " + std::to_string(product) + ", and " + there + " devices",
             {"the sizes must divide the number of devices, or be given"});
    mesh->axes[static_cast<std::size_t>(hole)].size = count / product;
    product = count;
  }
  if (product > count)
    m.fail("mesh", span, "the mesh needs " + std::to_string(product) + " devices, and " + there,
           {"make an axis smaller, or run with --devices " + std::to_string(product)});
  devices.resize(static_cast<std::size_t>(product));
  mesh->devices = std::move(devices);
  mesh->part = runtime::part_of(*mesh, m.ctx.processes(), m.ctx.devices());
  m.ctx.set_mesh(mesh);
  m.declare(m.slot(s.id), Value(std::shared_ptr<const MeshValue>(std::make_shared<MeshValue>(MeshValue{mesh}))), false);
}

void exec_rules(Impl& m, const RulesStmt& s) {
  Value given = m.eval(*s.rules);
  const Record* more = given.fields();
  if (!more)
    m.fail("spec", s.rules->span,
           "`rules` takes a record such as { batch: @data, embed: _ }, and this is " + kind_name(given));
  std::vector<std::pair<std::string, Value>> all;
  if (const Record* before = m.surroundings.rules().fields()) all = before->fields;
  for (const auto& [name, written] : more->fields) {
    const std::string* given_text = laid_text(m, name, &written);
    const Value value = given_text ? laid_rule(m, name, *given_text) : written;
    bool good = value.is_none() || value.is<std::shared_ptr<const Axis>>();
    if (const auto* items = value.items()) {
      good = true;
      for (const Value& x : *items) good = good && x.is<std::shared_ptr<const Axis>>();
    }
    if (!good)
      m.fail("spec", s.rules->span,
             "the rule for `" + name + "` is an axis such as @data, or `_`, and this is " + kind_name(value));
    bool known = false;
    for (auto& f : all)
      if (f.first == name) f.second = value, known = true;
    if (!known) all.emplace_back(name, value);
  }
  m.surroundings.set_rules(Value::record(std::move(all)));
}

}  // namespace shard::lang
