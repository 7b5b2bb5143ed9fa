// Calls of host functions: arguments bound by the text of the native's signature.
#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "grammar/characters.h"
#include "grammar/parse.h"
#include "interpreter/lang/eval/bind.h"
#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

using Impl = Interpreter::Impl;

struct NativeSignature {
  struct Parameter {
    std::string name;
    bool required = true;
    Value otherwise;
  };
  std::vector<Parameter> params;
  bool rest = false;
  std::string rest_name;
};

namespace {

Value literal(std::string_view word, const std::string& signature) {
  if (word == "none") return {};
  if (word == "true") return true;
  if (word == "false") return false;
  if (word == "()") return Value::tuple({});
  if (word == "[]") return Value::list({});
  if (word == "{}") return Value::record({});
  if (word.size() >= 2 && word.front() == '"' && word.back() == '"')
    return Value::string(std::string(word.substr(1, word.size() - 2)));
  if (auto t = runtime::dtype_named(word)) return *t;
  std::int64_t n = 0;
  const char *b = word.data(), *e = b + word.size();
  if (auto r = std::from_chars(b, e, n); r.ec == std::errc() && r.ptr == e) return n;
  double d = 0;
  if (auto r = std::from_chars(b, e, d); r.ec == std::errc() && r.ptr == e) return d;
  throw std::logic_error("native signature `" + signature + "`: the default `" + std::string(word) + "` is no literal");
}

std::shared_ptr<const NativeSignature> parse(const std::string& text) {
  auto out = std::make_shared<NativeSignature>();
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open)
    throw std::logic_error("native signature `" + text + "` needs name(...)");
  std::string_view rest = std::string_view(text).substr(open + 1, close - open - 1);
  while (!grammar::trimmed(rest).empty()) {
    int depth = 0;
    bool quoted = false;
    std::size_t end = 0;
    for (; end < rest.size() && (quoted || depth > 0 || rest[end] != ','); ++end) {
      const char c = rest[end];
      if (c == '"') quoted = !quoted;
      if (!quoted) depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    }
    std::string_view item = grammar::trimmed(rest.substr(0, end));
    rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
    if (item.ends_with("...")) {
      out->rest = true;
      out->rest_name = std::string(grammar::trimmed(item.substr(0, item.size() - 3)));
      continue;
    }
    NativeSignature::Parameter p;
    if (std::size_t eq = item.find('='); eq != std::string_view::npos) {
      p.otherwise = literal(grammar::trimmed(item.substr(eq + 1)), text);
      p.required = false;
      item = grammar::trimmed(item.substr(0, eq));
    }
    p.name = std::string(item);
    out->params.push_back(std::move(p));
  }
  return out;
}

class NativeParameters final : public Parameters {
 public:
  NativeParameters(const Native& f, const NativeSignature& s) : f_(f), s_(s) {}
  std::size_t size() const override { return s_.params.size(); }
  std::string_view name(std::size_t i) const override { return s_.params[i].name; }
  bool required(std::size_t i) const override { return s_.params[i].required; }
  bool open() const override { return s_.rest; }
  std::string callee() const override { return "`" + f_.name + "`"; }
  std::string signature() const override { return f_.signature; }

 private:
  const Native& f_;
  const NativeSignature& s_;
};

bool is_parameter_name(std::string_view word) { return grammar::is_word(word) && !grammar::is_keyword(word); }

}  // namespace

void check_signature(const Native& f) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("the signature `" + f.signature + "` " + why);
  };
  const std::string_view text = grammar::trimmed(f.signature);
  const std::string_view before = grammar::trimmed(text.substr(0, std::min(text.find('('), text.size())));
  if (!is_parameter_name(f.name)) throw std::invalid_argument("`" + f.name + "` is no name that a script could call");
  if (!text.ends_with(')')) refuse("does not end with its `)`");
  if (!before.empty() && before != f.name) refuse("is of another function than `" + f.name + "`");
  try {
    f.parsed = parse(f.signature);
  } catch (const std::logic_error& e) { throw std::invalid_argument(e.what()); }
  std::vector<std::string> names;
  for (const auto& p : f.parsed->params) names.push_back(p.name);
  if (f.parsed->rest) names.push_back(f.parsed->rest_name);
  bool optional = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_parameter_name(names[i])) refuse("has `" + names[i] + "` where a parameter's name stands");
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      refuse("has two parameters `" + names[i] + "`");
    if (i >= f.parsed->params.size()) continue;
    if (optional && f.parsed->params[i].required) refuse("has `" + names[i] + "` without a default after one with it");
    optional = !f.parsed->params[i].required;
  }
}

Value Impl::call_native(const std::shared_ptr<const Native>& native, std::vector<CallArg>& args, grammar::Span span) {
  const Native& f = *native;
  if (!f.parsed) f.parsed = parse(f.signature);
  const NativeSignature& s = *f.parsed;
  const Bound places = bind_arguments(NativeParameters(f, s), args, span);
  const auto given = [&](std::int32_t k) -> CallArg& { return args[static_cast<std::size_t>(k)]; };
  const auto span_of = [&](const CallArg& a) { return a.span.known() ? a.span : span; };
  BoundArgs bound;
  bound.span = span;
  bound.args.resize(s.params.size());
  for (std::size_t i = 0; i < s.params.size(); ++i) {
    if (places.argument[i] < 0) {
      bound.args[i] = {s.params[i].otherwise, false, span};
      continue;
    }
    CallArg& a = given(places.argument[i]);
    bound.args[i] = {std::exchange(a.value, Value()), true, span_of(a)};
  }
  for (std::int32_t k : places.further) {
    CallArg& a = given(k);
    bound.rest.push_back({a.name, std::exchange(a.value, Value()), span_of(a), std::nullopt, a.name_span});
  }
  try {
    Value out = at(span, [&] { return f.call(in, bound); });
    if (f.acts || out.is_none()) ++watch.effects;
    return out;
  } catch (...) {
    for (std::size_t i = 0; i < places.argument.size(); ++i)
      if (places.argument[i] >= 0) given(places.argument[i]).value = std::move(bound.args[i].value);
    for (std::size_t k = 0; k < places.further.size() && k < bound.rest.size(); ++k)
      given(places.further[k]).value = std::move(bound.rest[k].value);
    throw;
  }
}

}  // namespace shard::lang
