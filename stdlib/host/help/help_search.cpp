// What help finds by a name that is no variable: words of the language, names that stand in a module, and everything
// that speaks of the words of a question.
#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "grammar/stable_sort.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/wrapped.h"
#include "interpreter/lang/warnings/warnings.h"
#include "stdlib/host/help/help_facts.h"
#include "stdlib/stdlib.h"

namespace shard::stdlib {
namespace {

using lang::Interpreter;
using lang::Value;

// Words for one meaning, the one that documentation uses first.
constexpr std::string_view kMeanings[][4] = {
    {"mean", "average"},
    {"sum", "add", "total", "reduce"},
    {"split", "shard", "partition", "divide"},
    {"device", "gpu", "core"},
    {"random", "sample", "noise"},
    {"derivative", "gradient", "grad"},
    {"file", "disk"},
    {"read", "load", "open"},
    {"write", "save", "store"},
    {"largest", "max", "maximum"},
    {"smallest", "min", "minimum"},
    {"layer", "module"},
    {"layout", "sharding"},
    {"collective", "communication", "communicate"},
    {"gather", "collect"},
};

// Lower case, without the endings of English, and by meaning.
std::string stem(std::string word) {
  for (std::string_view ending : {"ing", "es", "ed", "s"})
    if (word.size() > ending.size() + 3 && word.ends_with(ending)) {
      word.erase(word.size() - ending.size());
      break;
    }
  if (word.size() > 3 && word.ends_with("e")) word.pop_back();
  for (const auto& meaning : kMeanings)
    for (std::string_view other : meaning)
      if (!other.empty() && (word == other || word + "e" == other)) return std::string(meaning[0]);
  return word;
}

std::vector<std::string> stems(std::string_view text) {
  static const std::set<std::string, std::less<>> kLittle = {"a",  "an", "and",  "by",  "for",  "from",  "how",  "i",
                                                             "in", "is", "it",   "of",  "on",   "or",    "over", "the",
                                                             "to", "do", "with", "all", "what", "along", "each"};
  std::vector<std::string> out;
  std::string word;
  for (const char c : std::string(text) + " ")
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      if (!kLittle.contains(word)) out.push_back(stem(word));
      word.clear();
    }
  return out;
}

struct Named {
  std::string name, what;
};

std::string sentence(const std::string& text) {
  std::string out = text.substr(0, std::min(text.find(". "), text.find(".\n")));
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

// A module as a value; what it needs is imported in a module of its own.
std::optional<Value> module_value(Interpreter& in, const std::string& name) {
  if (!embedded_module(name)) return std::nullopt;
  return in.run("<stdlib>/help", "import " + name + "\n" + name + "\n");
}

// Everything that has a name: words, builtins, functions of modules.
std::vector<Named> entries(Interpreter& in) {
  std::vector<Named> out;
  for (const Example& e : examples())
    if (!e.what.empty()) out.push_back({e.name, e.what});
  for (const std::string& name : builtin_functions(in)) {
    if (std::any_of(out.begin(), out.end(), [&](const Named& e) { return e.name == name; })) continue;
    out.push_back({name, sentences_of(in, *in.builtin(name))});
  }
  for (const std::string& module : public_modules())
    if (const auto value = module_value(in, module); value && value->fields())
      for (const auto& [name, v] : value->fields()->fields)
        if (const lang::Closure* f = lang::written_function(v); f && !f->function->doc.empty())
          out.push_back({module + "." + name, f->function->doc});
  return out;
}

std::string word_of_language(const std::string& name) {
  const Example* e = example_of(name);
  if (!e || e->what.empty()) return {};
  std::string out = name + "\n  " + e->what + "\n  example:\n";
  std::istringstream code(e->code);
  for (std::string line; std::getline(code, line);) out += "    " + line + "\n";
  return out;
}

// Functions of modules that are called so: adam is optim.adam.
std::string in_modules(Interpreter& in, const std::string& name) {
  std::string out;
  for (const std::string& module : public_modules())
    if (const auto value = module_value(in, module); value && value->fields())
      if (const Value* v = value->fields()->find(name))
        out += "in the module " + module + ": `import " + module + "`, then " + module + "." + name + "\n" +
               help_of(in, *v);
  return out;
}

// What others call so: the function here, or how it is done.
std::string elsewhere(Interpreter& in, const std::string& name) {
  const lang::Aliases& names = in.impl().builtins.aliases();
  if (const std::string_view way = names.way_here(name); !way.empty())
    return name + ", elsewhere\n  " + std::string(way) + "\n";
  if (const std::string here(names.name_here(name)); !here.empty())
    return name + ", elsewhere\n  it is called `" + here + "` here\n" +
           (in.builtin(here) ? help_of(in, *in.builtin(here)) : std::string());
  return {};
}

}  // namespace

std::string help_about(Interpreter& in, const std::string& question) {
  const std::vector<std::string> asked = stems(question);
  if (asked.empty()) return {};
  std::vector<std::pair<int, Named>> found;
  for (Named& e : entries(in)) {
    const auto named = stems(e.name), told = stems(e.what), first = stems(sentence(e.what));
    int score = 0;
    const bool all = std::all_of(asked.begin(), asked.end(), [&](const std::string& w) {
      const auto in_words = [&](const std::vector<std::string>& words) {
        return std::find(words.begin(), words.end(), w) != words.end();
      };
      const int points = in_words(named) ? 4 : in_words(first) ? 3 : in_words(told) ? 1 : 0;
      score += points;
      return points > 0;
    });
    if (all) found.emplace_back(score * 100 - static_cast<int>(std::min<std::size_t>(told.size(), 99)), std::move(e));
  }
  constexpr std::size_t kMost = 12;
  stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.size() > kMost) found.resize(kMost);
  std::string out = elsewhere(in, question);
  for (const auto& [score, e] : found)
    out += e.name + "\n  " + sentence(e.what.substr(e.what.find_first_not_of(' '))) + "\n";
  return out;
}

std::string help_named(Interpreter& in, const std::string& topic) {
  if (std::string word = word_of_language(topic); !word.empty()) return word;
  if (std::string warning = lang::help_of_warning(topic); !warning.empty()) return warning;
  if (const auto v = in.builtin(topic)) return help_of(in, *v);
  const std::size_t dot = topic.find('.');
  if (const auto module = module_value(in, topic.substr(0, dot))) {
    if (dot == std::string::npos) return help_of(in, *module);
    const Value* member = module->fields() ? module->fields()->find(topic.substr(dot + 1)) : nullptr;
    if (member) return help_of(in, *member);
  }
  return in_modules(in, topic);
}

}  // namespace shard::stdlib
