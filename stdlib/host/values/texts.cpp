// Functions on strings: split (text; keys.cpp has the rest of it), join, strip, replace, find, upper, lower, matches.
#include <algorithm>
#include <cmath>

#include "grammar/stable_sort.h"
#include "interpreter/lang/values/tree.h"
#include "stdlib/host/host.h"
#include "stdlib/host/values/regular.h"

namespace shard::stdlib {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

const std::string& text_at(Interpreter& in, BoundArgs& a, std::size_t i, std::string_view what) {
  return in.text(a[i], a.args[i].span, what);
}

Value join(Interpreter& in, BoundArgs& a) {
  if (a[0].is_string() && a[1].items()) {  // as Python has it
    const auto written = [&](std::size_t i) { return std::string(in.sources().text(a.args[i].span)); };
    in.fail("type", a.span, "join takes the texts first, then what stands between them",
            {"write `" + written(1) + ".join(" + written(0) + ")`"});
  }
  const std::string between = text_at(in, a, 1, "what stands between");
  std::string out;
  bool first = true;
  for (const Value& v : items_of(in, a[0], a.span, "join")) {
    if (!first) out += between;
    first = false;
    out += in.text(v, a.span, "what join puts together");
  }
  return Value::string(std::move(out));
}

Value strip(Interpreter& in, BoundArgs& a) {
  const std::string& text = text_at(in, a, 0, "what strip takes");
  const auto from = text.find_first_not_of(kBlanks), to = text.find_last_not_of(kBlanks);
  return Value::string(from == std::string::npos ? "" : text.substr(from, to - from + 1));
}

Value replace(Interpreter& in, BoundArgs& a) {
  const std::string& text = text_at(in, a, 0, "what replace takes");
  const std::string &old = text_at(in, a, 1, "what is replaced"), &by = text_at(in, a, 2, "what replaces it");
  if (old.empty()) in.fail("value", a.span, "replace: nothing cannot be replaced, the text is empty");
  std::string out;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(old, from)) != std::string::npos; from = at + old.size())
    out += text.substr(from, at - from) + by;
  return Value::string(out + text.substr(from));
}

Value find(Interpreter& in, BoundArgs& a) {
  const std::string &text = text_at(in, a, 0, "what find looks at"), &part = text_at(in, a, 1, "what find looks for");
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return {};
  return Value(static_cast<std::int64_t>(lang::code_points(std::string_view(text).substr(0, at)).size()));
}

// Of the letters of ASCII; others stay.
template <class Change>
Value each_letter(Interpreter& in, BoundArgs& a, Change change) {
  std::string text = text_at(in, a, 0, "what is written in other letters");
  std::transform(text.begin(), text.end(), text.begin(), change);
  return Value::string(std::move(text));
}
Value upper(Interpreter& in, BoundArgs& a) {
  return each_letter(in, a, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
}
Value lower(Interpreter& in, BoundArgs& a) {
  return each_letter(in, a, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
}

Value matches(Interpreter& in, BoundArgs& a) {
  constexpr std::size_t kMostWork = std::size_t{1} << 27;  // about a second
  const std::string &text = text_at(in, a, 0, "what matches looks at"), &pattern = text_at(in, a, 1, "a pattern");
  try {
    const auto fits = fits_part_of(text, pattern, kMostWork);
    if (fits) return Value(*fits);
    in.fail("value", a.span,
            "matches: the text of " + std::to_string(text.size()) + " bytes is too long for this pattern");
  } catch (const BadPattern& why) {
    in.fail("value", a.args[1].span, "\"" + pattern + "\" is no regular expression: " + why.what());
  }
}

Value dict(Interpreter& in, BoundArgs& a) {
  std::vector<std::pair<std::string, Value>> fields;
  for (const Value& v : items_of(in, a[0], a.span, "dict")) {
    const auto* pair = v.items();
    if (!pair || pair->size() != 2)
      in.fail("type", a.span, "dict takes pairs (name, value), and this is " + lang::kind_name(v));
    const std::string& name = in.text((*pair)[0], a.span, "a field's name");
    const auto same = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.first == name; });
    if (same != fields.end())
      same->second = (*pair)[1];
    else
      fields.emplace_back(name, (*pair)[1]);
  }
  return Value::record(std::move(fields));
}

// By numbers, or by texts; equals keep their order, nan stands last.
Value sort_by(Interpreter& in, BoundArgs& a) {
  if (a[0].callable() && !a[1].callable()) std::swap(a.args[0], a.args[1]);
  if (!a[1].callable()) in.fail("type", a.span, "sort_by takes a list and a function: sort_by(xs, fn(x) = ...)");
  struct Keyed {
    double number = 0;
    std::string text;
    Value item;
  };
  std::vector<Keyed> all;
  bool texts = false;
  for (Value& v : items_of(in, a[0], a.span, "sort_by")) {
    const Value key = in.call(a[1], {v}, a.span);
    if (all.empty()) texts = key.is_string();
    if (key.is_string() != texts) in.fail("type", a.span, "sort_by: keys are numbers or texts, not both");
    Keyed k{0, {}, std::move(v)};
    if (texts)
      k.text = key.str();
    else
      k.number = in.number(key, a.span, "a key of sort_by");
    all.push_back(std::move(k));
  }
  stable_sort(all, [&](const Keyed& x, const Keyed& y) {
    if (texts) return x.text < y.text;
    return std::isnan(y.number) ? !std::isnan(x.number) : x.number < y.number;
  });
  std::vector<Value> out;
  for (Keyed& k : all) out.push_back(std::move(k.item));
  return Value::list(std::move(out));
}

}  // namespace

Value split_text(Interpreter& in, const std::string& text, const Value& by, grammar::Span span) {
  std::vector<Value> out;
  if (by.is_none()) {
    for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string::npos;) {
      const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
      out.push_back(Value::string(text.substr(at, end - at)));
      at = text.find_first_not_of(kBlanks, end);
    }
    return Value::list(std::move(out));
  }
  const std::string& between = in.text(by, span, "what split cuts at");
  if (between.empty()) in.fail("value", span, "split cuts at a text that is not empty; characters are `for c in text`");
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(between, from)) != std::string::npos; from = at + between.size())
    out.push_back(Value::string(text.substr(from, at - from)));
  out.push_back(Value::string(text.substr(from)));
  return Value::list(std::move(out));
}

void register_texts(Interpreter& in) {
  in.define({"join", "join(texts, between = \"\")", "One text of many, with `between` between them.", join});
  in.define({"strip", "strip(text)", "The text without blanks at its ends.", strip, {"trim"}});
  in.define({"replace", "replace(text, old, new)", "The text with `new` wherever `old` stood.", replace});
  in.define({"find", "find(text, part)",
             "Where the part begins first, in characters from 0; none where it is not in it.", find});
  in.define({"upper", "upper(text)", "The text in capital letters.", upper, {"uppercase"}});
  in.define({"lower", "lower(text)", "The text in small letters.", lower, {"lowercase"}});
  in.define({"matches",
             "matches(text, pattern)",
             "Whether a regular expression fits a part of the text.",
             matches,
             {"re", "regex", "fnmatch"}});
  in.define({"dict",
             "dict(pairs)",
             "A record with a field for each pair (name, value); of equal names the last.",
             dict,
             {{"record", "a record of pairs (name, value) is `dict(pairs)`, one of known names `{a: 1}`"}}});
  in.define({"sort_by", "sort_by(xs, f)",
             "The list in the order of f(x), numbers or texts; equals keep their order, nan stands last.", sort_by});
}

}  // namespace shard::stdlib
