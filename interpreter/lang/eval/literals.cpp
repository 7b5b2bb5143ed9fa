// Literals that are made of parts: strings with values in them, lists, tuples, records.
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/values/value_text.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

Value eval_string(Impl& m, const StringLit& s) {
  if (s.pieces.size() == 1 && !s.pieces[0].value) return Value::string(s.pieces[0].text);
  std::string text;
  std::shared_ptr<DeferredString> deferred;
  for (const StringPiece& p : s.pieces) {
    if (!p.value) {
      (deferred ? deferred->texts.back() : text) += p.text;
      continue;
    }
    Value v = m.eval(*p.value);
    if (!deferred && m.at(p.value->span, [&] { return has_traced(v); })) {
      deferred = std::make_shared<DeferredString>();
      deferred->texts.push_back(std::move(text));
    }
    m.at(p.value->span, [&] {
      if (deferred)
        append_shown(*deferred, v, p.format, m.ctx.pool());
      else
        text += p.format.empty() ? lang::show(v, m.ctx.pool()) : format_value(v, p.format, m.ctx.pool());
    });
  }
  if (deferred) return Value(std::shared_ptr<const DeferredString>(std::move(deferred)));
  return Value::string(std::move(text));
}

Value eval_sequence(Impl& m, const std::vector<Element>& elements, bool list) {
  std::vector<Value> items;
  items.reserve(elements.size());
  for (const Element& x : elements) {
    Value v = m.eval(*x.value);
    if (!x.spread) {
      items.push_back(std::move(v));
      continue;
    }
    if (auto* inner = v.items()) {
      items.insert(items.end(), inner->begin(), inner->end());
    } else if (auto* r = v.get<Range>()) {
      if (r->end - r->begin > (std::int64_t{1} << 26))
        m.fail("size", x.value->span, "a range of " + std::to_string(r->end - r->begin) + " is too long to spread");
      for (std::int64_t i = r->begin; i < r->end; ++i) items.emplace_back(i);
    } else {
      m.fail("type", x.value->span, "`...` spreads lists, tuples and ranges, and this is " + kind_name(v),
             v.is_tensor() ? std::vector<std::string>{"a list of an array's rows is `map(fn(v) = v, x)`"}
                           : std::vector<std::string>{});
    }
  }
  return list ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Value eval_record(Impl& m, const RecordLit& r) {
  std::vector<std::pair<std::string, Value>> fields;
  fields.reserve(r.entries.size());
  auto set = [&](const std::string& name, Value v) {
    for (auto& f : fields)
      if (f.first == name) {
        f.second = std::move(v);
        return;
      }
    fields.emplace_back(name, std::move(v));
  };
  for (const Entry& x : r.entries) {
    if (x.name) {
      // `_` in a record of rules: the name is laid out nowhere.
      set(x.name->text, std::holds_alternative<HoleLit>(x.value->node) ? Value() : m.eval(*x.value));
      continue;
    }
    if (x.key) {
      const std::string name = m.in.text(m.eval(*x.key), x.key->span, "a field's name");
      set(name, m.eval(*x.value));
      continue;
    }
    Value v = m.eval(*x.value);
    const Record* inner = v.fields();
    if (!inner) m.fail("type", x.value->span, "`...` in a record spreads a record, and this is " + kind_name(v));
    for (const auto& [name, value] : inner->fields) set(name, value);
  }
  return Value::record(std::move(fields));
}

}  // namespace shard::lang
