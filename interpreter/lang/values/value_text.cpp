// One walk over a value serves printing at once and strings with parts that come later: pieces of text go to a sink,
// traced arrays to its list of values.
#include "interpreter/lang/values/value_text.h"

#include <algorithm>

#include "grammar/characters.h"
#include "grammar/overloaded.h"
#include "grammar/parse.h"
#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/format_spec.h"
#include "interpreter/lang/values/native.h"
#include "interpreter/lang/values/wrapped.h"
#include "runtime/array/array_text.h"
#include "runtime/mesh/device_array.h"

namespace shard::lang {
namespace {

using runtime::RuntimeError;

std::string shown_wrapped(const Value& v) {
  const Wrapped& w = **v.get<std::shared_ptr<const Wrapped>>();
  const Closure* written = written_function(v);
  if (w.kind != Wrapped::Kind::Transform && written && !written->function->modifiers.empty())
    return header(*written->function);
  auto* inner = w.function.get<std::shared_ptr<const Wrapped>>();
  const bool by_itself = w.kind == Wrapped::Kind::Jit && !(inner && (*inner)->kind == Wrapped::Kind::Manual);
  return by_itself ? "jit(" + called(v) + ")" : called(v);
}

class Shower {
 public:
  Shower(runtime::Pool& pool, bool quotes, DeferredString* deferred)
      : pool_(pool), quotes_(quotes), deferred_(deferred) {}

  void walk(const Value& v) {
    std::visit(
        grammar::Overloaded{
            [&](const None&) { put("none"); },
            [&](bool b) { put(b ? "true" : "false"); },
            [&](std::int64_t i) { put(std::to_string(i)); },
            [&](double d) { put(runtime::format_double(d)); },
            [&](const std::shared_ptr<const std::string>& s) { put(quotes_ ? lang::quoted(*s) : *s); },
            [&](const trace::Tensor& t) { tensor(t); },
            [&](const std::shared_ptr<List>& l) { sequence('[', l->items, ']'); },
            [&](const std::shared_ptr<Tuple>& t) { sequence('(', t->items, ')'); },
            [&](const std::shared_ptr<Record>& r) { record(*r); },
            [&](const std::shared_ptr<const Closure>& c) { put(header(*c->function)); },
            [&](const ir::OpDef* op) { put("fn " + std::string(op->name)); },
            [&](const std::shared_ptr<const Native>& n) { put("fn " + n->name); },
            [&](const std::shared_ptr<const Wrapped>&) { put(shown_wrapped(v)); },
            [&](const std::shared_ptr<const Axis>& a) { put(show(*a)); },
            [&](const std::shared_ptr<const Spec>& s) { put(show(*s)); },
            [&](const std::shared_ptr<const MeshValue>& m) { put(m->mesh ? runtime::to_string(*m->mesh) : "()"); },
            [&](runtime::DType d) { put(std::string(runtime::name(d))); },
            [&](const std::shared_ptr<const runtime::Type>& t) { put(runtime::to_string(*t)); },
            [&](const Range& r) { put(std::to_string(r.begin) + ".." + std::to_string(r.end)); },
            [&](const Device& d) { put("cpu:" + std::to_string(d.id)); },
            [&](const std::shared_ptr<const DeferredString>& d) { later(*d); },
            [&](const std::shared_ptr<Loader>& l) { put(l->describe()); }},
        v.variant());
  }

  std::string text;

 private:
  void put(const std::string& s) { text += s; }

  void tensor(const trace::Tensor& t) {
    if (!t.valid()) return put("none");
    if (!t.traced()) return array(show(t.array(), pool_));
    if (!deferred_) return put(runtime::to_string(t.type()));
    flush();
    deferred_->values.push_back(t);
    deferred_->formats.emplace_back();
    deferred_->texts.emplace_back();
  }

  void array(const std::string& shown) {  // rows below the first begin where the first one does
    const std::size_t line = text.rfind('\n');
    const std::size_t column = depth_ ? text.size() - (line == std::string::npos ? 0 : line + 1) : 0;
    for (char c : shown) {
      text += c;
      if (c == '\n') text.append(column, ' ');
    }
  }

  void later(const DeferredString& d) {
    if (!deferred_) {
      for (std::size_t i = 0; i < d.texts.size(); ++i) {
        text += d.texts[i];
        if (i < d.values.size()) text += "{" + runtime::to_string(d.values[i].type()) + "}";
      }
      return;
    }
    for (std::size_t i = 0; i < d.values.size(); ++i) {
      text += d.texts[i];
      flush();
      deferred_->values.push_back(d.values[i]);
      deferred_->formats.push_back(d.formats[i]);
      deferred_->texts.emplace_back();
    }
    text += d.texts.back();
  }

  void flush() {
    deferred_->texts.back() += text;
    text.clear();
  }

  template <class Items, class One>
  void within(char open, const Items& items, char close, const One& one) {
    text += open;
    if (++depth_ > kMaxNesting) too_deep();
    for (const auto& item : items) {
      if (&item != &items.front()) text += ", ";
      one(item);
    }
    if (close == ')' && items.size() == 1) text += ',';  // `(1)` would be a number
    --depth_;
    text += close;
  }
  void sequence(char open, const std::vector<Value>& items, char close) {
    within(open, items, close, [&](const Value& item) { walk(item); });
  }
  void record(const Record& r) {
    within('{', r.fields, '}', [&](const auto& f) {
      text += (grammar::is_word(f.first) ? f.first : lang::quoted(f.first)) + ": ";
      walk(f.second);
    });
  }

  runtime::Pool& pool_;
  bool quotes_;
  DeferredString* deferred_;
  int depth_ = 0;
};

std::string axes_text(const std::vector<std::string>& names) {
  return names.size() == 1 ? "@" + names[0] : "@(" + grammar::separated(names) + ")";
}

std::string format_host(const Value& v, const FormatSpec& spec) {
  if (const bool* b = v.get<bool>()) {
    const bool as_number = spec.type && spec.type != 's';
    return as_number ? format_integer(false, *b ? 1 : 0, spec) : format_text(*b ? "true" : "false", spec);
  }
  if (const std::int64_t* i = v.get<std::int64_t>())
    return format_integer(*i < 0, *i < 0 ? 0 - static_cast<std::uint64_t>(*i) : static_cast<std::uint64_t>(*i), spec);
  return format_float(*v.get<double>(), spec);
}

std::string format_scalar(const runtime::DeviceArray& host, const FormatSpec& spec) {
  using runtime::DType;
  const DType t = host.type.dtype;
  const bool integral = runtime::is_integer(t);
  if (t == DType::Bool) return format_host(Value(runtime::element_int(host, 0) != 0), spec);
  if (integral) {
    const std::int64_t i = runtime::element_int(host, 0);
    const bool negative = runtime::is_signed(t) && i < 0;
    return format_integer(negative, negative ? 0 - static_cast<std::uint64_t>(i) : static_cast<std::uint64_t>(i), spec);
  }
  if (t == DType::Key) return format_text(runtime::format_element(host.view()), spec);
  return format_float(runtime::element_double(host, 0), spec, runtime::format_element(host.view()));
}

std::string pattern_text(const grammar::Pattern& p) {
  const auto parts = [](const auto& x) {
    return grammar::separated(x.elements, ", ", [&](const grammar::PatternPtr& e) {
      return (x.rest && e == x.elements[*x.rest] ? "..." : "") + pattern_text(*e);
    });
  };
  return std::visit(grammar::Overloaded{[](const grammar::NamePattern& n) { return n.name; },
                                        [&](const grammar::TuplePattern& t) { return "(" + parts(t) + ")"; },
                                        [&](const grammar::ListPattern& l) { return "[" + parts(l) + "]"; },
                                        [&](const grammar::RecordPattern& r) {
                                          const auto field = [](const grammar::FieldPattern& f) {
                                            return f.rest ? "..." + pattern_text(*f.target) : f.name.text;
                                          };
                                          return "{" + grammar::separated(r.fields, ", ", field) + "}";
                                        }},
                    p.node);
}

}  // namespace

std::string header(const grammar::Function& f) {
  static constexpr const char* kWords[] = {"jit ", "manual ", "auto ", "explicit "};
  std::string s;
  for (const grammar::Modifier& m : f.modifiers) s += kWords[static_cast<int>(m.kind)];
  const auto parameter = [](const grammar::Param& p) {
    return pattern_text(*p.pattern) + (p.default_value ? " = " + grammar::print(*p.default_value) : "");
  };
  return s + "fn" + (f.name.empty() ? "" : " " + f.name) + "(" + grammar::separated(f.params, ", ", parameter) + ")";
}

std::string quoted(std::string_view text) { return "\"" + grammar::escaped(text, false) + "\""; }

std::string show(const Axis& axis) { return axes_text(axis.names); }

std::string show(const Spec& spec) {
  std::size_t n = spec.dims.size();
  while (n > 0 && spec.dims[n - 1].axes.empty() && !spec.dims[n - 1].open) --n;
  std::string s = "P(";
  const auto item = [&](const std::string& text) { s += (s.size() > 2 ? ", " : "") + text; };
  for (std::size_t i = 0; i < n; ++i)
    item(spec.dims[i].open ? "?" : spec.dims[i].axes.empty() ? "_" : axes_text(spec.dims[i].axes));
  if (!spec.unreduced.empty()) item("unreduced: " + axes_text(spec.unreduced));
  if (!spec.reduced.empty()) item("reduced: " + axes_text(spec.reduced));
  if (!spec.kind.empty() && spec.kind != "sum") item("kind: \"" + spec.kind + "\"");
  return s + ")";
}

std::string show(const runtime::ArrayRef& a, runtime::Pool& pool) {
  const runtime::ArrayRef host = runtime::to_host(pool, a);
  return host->type.rank() == 0 ? runtime::format_element(host->view()) : runtime::format_array(host->view());
}

namespace {

std::string shown(const Value& v, runtime::Pool& pool, bool quotes) {
  Shower s(pool, quotes, nullptr);
  s.walk(v);
  return std::move(s.text);
}

void need_number(const runtime::Type& type, std::string_view format) {
  if (type.rank() != 0)
    throw RuntimeError("format", "the format '" + std::string(format) + "' is for one number, and this is " +
                                     runtime::to_string(type) + ": index it first, or show it without a format");
}

}  // namespace

std::string show(const Value& v, runtime::Pool& pool) { return shown(v, pool, false); }
std::string repr(const Value& v, runtime::Pool& pool) { return shown(v, pool, true); }

std::string format_value(const runtime::ArrayRef& a, std::string_view text, runtime::Pool& pool) {
  const FormatSpec spec = parse_format(text);
  if (spec.plain()) return show(a, pool);
  need_number(a->type, text);
  return format_scalar(*runtime::to_host(pool, a), spec);
}

std::string format_value(const Value& v, std::string_view text, runtime::Pool& pool) {
  const FormatSpec spec = parse_format(text);
  if (spec.plain()) return show(v, pool);
  if (v.is_tensor() && !v.tensor().traced()) return format_value(v.tensor().array(), text, pool);
  if (v.is<bool>() || v.is_host_number()) return format_host(v, spec);
  if (v.is_string()) return format_text(v.str(), spec);
  if (spec.type && spec.type != 's')
    throw RuntimeError("format", "the format '" + std::string(text) + "' is for a number, and this is " + kind_name(v));
  return format_text(show(v, pool), spec);
}

namespace {

bool traced_at(const Value& v, int depth) {
  if (depth > kMaxNesting) too_deep();
  if (v.is_tensor()) return v.tensor().traced() || (v.tensor().valid() && !v.tensor().array()->has_elements());
  if (v.is<std::shared_ptr<const DeferredString>>()) return true;
  if (const auto* items = v.items())
    return std::any_of(items->begin(), items->end(), [&](const Value& x) { return traced_at(x, depth + 1); });
  if (const Record* r = v.fields())
    return std::any_of(r->fields.begin(), r->fields.end(),
                       [&](const auto& f) { return traced_at(f.second, depth + 1); });
  return false;
}

}  // namespace

bool has_traced(const Value& v) { return traced_at(v, 0); }

void append_shown(DeferredString& to, const Value& v, std::string_view spec, runtime::Pool& pool) {
  if (to.texts.empty()) to.texts.emplace_back();
  if (!has_traced(v)) {
    to.texts.back() += format_value(v, spec, pool);
  } else if (v.is_tensor()) {
    // Its faults are told here, not when the program runs.
    if (!parse_format(spec).plain()) need_number(v.tensor().type(), spec);
    to.values.push_back(v.tensor());
    to.formats.emplace_back(spec);
    to.texts.emplace_back();
  } else {
    if (!parse_format(spec).plain())
      throw RuntimeError("format",
                         "the format '" + std::string(spec) +
                             "' cannot be applied to a value whose parts are only known when the program runs");
    Shower s(pool, false, &to);
    s.walk(v);
    to.texts.back() += s.text;
  }
}

}  // namespace shard::lang
