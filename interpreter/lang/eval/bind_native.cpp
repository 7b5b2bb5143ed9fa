// Calls of host functions: arguments bound by the text of the native's signature.
#include <charconv>
#include <stdexcept>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/names/aliases.h"

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

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\n')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\n')) s.remove_suffix(1);
  return s;
}

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
  while (!trim(rest).empty()) {
    int depth = 0;
    bool quoted = false;
    std::size_t end = 0;
    for (; end < rest.size() && (quoted || depth > 0 || rest[end] != ','); ++end) {
      const char c = rest[end];
      if (c == '"') quoted = !quoted;
      if (!quoted) depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    }
    std::string_view item = trim(rest.substr(0, end));
    rest = end < rest.size() ? rest.substr(end + 1) : std::string_view();
    if (item.ends_with("...")) {
      out->rest = true;
      out->rest_name = std::string(trim(item.substr(0, item.size() - 3)));
      continue;
    }
    NativeSignature::Parameter p;
    if (std::size_t eq = item.find('='); eq != std::string_view::npos) {
      p.otherwise = literal(trim(item.substr(eq + 1)), text);
      p.required = false;
      item = trim(item.substr(0, eq));
    }
    p.name = std::string(item);
    out->params.push_back(std::move(p));
  }
  return out;
}

}  // namespace

Value Impl::call_native(const std::shared_ptr<const Native>& native, std::vector<CallArg>& args, grammar::Span span) {
  const Native& f = *native;
  if (!f.parsed) f.parsed = parse(f.signature);
  const NativeSignature& s = *f.parsed;
  BoundArgs bound;
  bound.span = span;
  bound.args.resize(s.params.size());
  std::vector<std::ptrdiff_t> came(s.params.size(), -1);  // which argument went where, to hand it back
  std::size_t next = 0;
  auto refuse = [&](grammar::Span where, std::string why, std::vector<std::string> notes = {}) {
    notes.insert(notes.begin(), f.signature);
    fail("call", where.known() ? where : span, std::move(why), std::move(notes));
  };
  std::size_t positional = 0;
  for (const CallArg& a : args) positional += a.name.empty();
  if (positional > s.params.size() && !s.rest)
    refuse(span, "`" + f.name + "` takes at most " + std::to_string(s.params.size()) +
                     (s.params.size() == 1 ? " argument" : " arguments") + ", and " + std::to_string(positional) +
                     " were given");
  for (std::size_t k = 0; k < args.size(); ++k) {
    CallArg& a = args[k];
    std::size_t i = 0;
    if (a.name.empty()) {
      i = next++;
      // After `f(xs...)` with parameters behind a rest there are none: the rest is always last.
    } else {
      while (i < s.params.size() && s.params[i].name != a.name) ++i;
      if (i == s.params.size() && !s.rest) {
        std::vector<std::string> names, notes;
        for (const auto& p : s.params) names.push_back(p.name);
        if (auto near = parameter_near(a.name, names)) notes.push_back("did you mean `" + *near + ":`?");
        refuse(a.span, "`" + f.name + "` has no parameter `" + a.name + "`", std::move(notes));
      }
      if (i < s.params.size() && came[i] >= 0)
        refuse(a.span, "the argument `" + a.name + "` of `" + f.name + "` is given twice");
    }
    if (i < s.params.size()) came[i] = static_cast<std::ptrdiff_t>(k);
  }
  next = 0;
  for (std::size_t i = 0; i < s.params.size(); ++i)
    if (came[i] < 0 && s.params[i].required)
      refuse(span, "`" + f.name + "` needs an argument `" + s.params[i].name + "`");
  std::vector<bool> used(args.size(), false);
  for (std::size_t i = 0; i < s.params.size(); ++i) {
    BoundArg& b = bound.args[i];
    if (came[i] < 0) {
      b.value = s.params[i].otherwise;
      b.span = span;
      continue;
    }
    CallArg& a = args[static_cast<std::size_t>(came[i])];
    used[static_cast<std::size_t>(came[i])] = true;
    b = {std::move(a.value), true, a.span.known() ? a.span : span};
    a.value = Value();
  }
  std::vector<std::size_t> rest_came;
  for (std::size_t k = 0; k < args.size(); ++k)
    if (!used[k]) {
      bound.rest.push_back({args[k].name, std::move(args[k].value), args[k].span.known() ? args[k].span : span});
      args[k].value = Value();
      rest_came.push_back(k);
    }
  try {
    return at(span, [&] { return f.call(in, bound); });
  } catch (...) {
    for (std::size_t i = 0; i < came.size(); ++i)
      if (came[i] >= 0) args[static_cast<std::size_t>(came[i])].value = std::move(bound.args[i].value);
    for (std::size_t k = 0; k < rest_came.size() && k < bound.rest.size(); ++k)
      args[rest_came[k]].value = std::move(bound.rest[k].value);
    throw;
  }
}

}  // namespace shard::lang
