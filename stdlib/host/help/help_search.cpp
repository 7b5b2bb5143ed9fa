// What help finds by a name that is no variable: words of the language, names that stand in a module, what others call
// so, lessons by their subjects, and everything that speaks of the words of a question.
#include <algorithm>
#include <cctype>
#include <set>

#include "grammar/diagnostic.h"
#include "grammar/parse.h"
#include "grammar/stable_sort.h"
#include "interpreter/lang/eval/builtins.h"
#include "interpreter/lang/names/aliases.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/wrapped.h"
#include "interpreter/lang/warnings/warnings.h"
#include "stdlib/host/help/help.h"
#include "stdlib/stdlib.h"

namespace shard::stdlib {
namespace {

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
  return name + "\n  " + e->what + "\n  example:\n" + indented(e->code, "    ");
}

// Functions of modules that are called so: adam is optim.adam.
std::string in_modules(Interpreter& in, const std::string& name) {
  std::string out;
  for (const std::string& module : public_modules())
    if (const auto value = module_value(in, module); value && value->fields())
      if (const Value* v = value->fields()->find(name); v && (!v->fields() || v->fields()->find("name")))
        out += "in the module " + module + ": `import " + module + "`, then " + module + "." + name + "\n" +
               help_of(in, *v);
  return out;
}

// Functions of modules that another library calls so: LoRA is nn.lora.
std::string called_elsewhere(const std::vector<Named>& all, const std::string& name) {
  std::string out;
  const std::string key = subject_key(name);
  for (const Named& e : all)
    for (const std::string& other : lang::names_of_elsewhere(e.what))
      if (subject_key(other) == key) {
        out += name + ", elsewhere\n  it is called `" + e.name + "` here\n";
        out += "  " + sentence(e.what) + "\n";
        break;
      }
  return out;
}

// What others call so: the function here, or how it is done.
std::string elsewhere(Interpreter& in, const std::string& name) {
  const lang::Aliases& names = in.builtins().aliases();
  if (const std::string_view way = names.way_here(name); !way.empty())
    return name + ", elsewhere\n  " + std::string(way) + "\n";
  if (const std::string here(names.name_here(name)); !here.empty())
    return name + ", elsewhere\n  it is called `" + here + "` here\n" +
           (in.builtin(here) ? help_of(in, *in.builtin(here)) : std::string());
  const std::string key = subject_key(name);  // "all reduce" is all_reduce
  for (const auto& [other, entry] : names.all())
    if (other != name && subject_key(other) == key) return elsewhere(in, std::string(other));
  return {};
}

// The builtins and words whose examples say that this is a subject of theirs.
std::vector<std::string> rows_of_subject(const std::string& key) {
  std::vector<std::string> out;
  for (const Example& e : examples())
    for (const std::string& subject : subjects_in(e.subjects))
      if (subject_key(subject) == key) out.push_back(e.name);
  return out;
}

struct Found {
  std::vector<const Recipe*> recipes;
  bool exact = false;  // a subject of theirs is called so
};

// Those with a subject that is called so, else those whose subjects and title have all the words, else those with a
// subject all of whose words are asked for ("train on several machines").
Found recipes_about(const std::string& question) {
  const std::string key = subject_key(question);
  const std::vector<std::string> asked = stems(question);
  const auto has_all = [](const std::vector<std::string>& words, const std::vector<std::string>& of) {
    return !of.empty() && std::all_of(of.begin(), of.end(), [&](const std::string& w) { return among(words, w); });
  };
  std::vector<const Recipe*> exact, all, some;
  for (const Recipe& r : recipes()) {
    std::string words = r.title;
    bool named = false, within = false;
    for (const std::string& subject : r.subjects) {
      words += " " + subject;
      named = named || subject_key(subject) == key;
      within = within || has_all(asked, stems(subject));
    }
    if (named)
      exact.push_back(&r);
    else if (has_all(stems(words), asked))
      all.push_back(&r);
    else if (within)
      some.push_back(&r);
  }
  if (!exact.empty()) return {exact, true};
  return {!all.empty() ? all : some, false};
}

// The first file's in full, the others by where they are.
std::string recipes_text(Interpreter& in, const std::vector<const Recipe*>& found) {
  constexpr std::size_t kMost = 5;
  if (found.empty()) return {};
  Recipe first = *found[0];
  std::vector<std::string> others;
  for (std::size_t i = 1; i < found.size(); ++i) {
    const Recipe& r = *found[i];
    if (r.where == first.where)
      first.code += "\n" + r.code;
    else if (others.size() < kMost && !among(others, r.where))
      others.push_back(r.where);
  }
  std::string out = recipe_text(in, first);
  for (const std::string& where : others) out += "  see also: " + where + "\n";
  return out;
}

// The lesson whose lines use a function.
std::string lesson_with(Interpreter& in, const std::string& function) {
  for (const Recipe& r : recipes()) {
    if (!r.where.ends_with(".shard") || r.code.find(function) == std::string::npos) continue;
    if (among(functions_used(in, r.code), function)) return "  in a lesson: " + r.where + " (" + r.subjects[0] + ")\n";
  }
  return {};
}

std::string speaks_of(const std::vector<Named>& all, const std::string& question, std::size_t most) {
  const std::vector<std::string> asked = stems(question);
  if (asked.empty()) return {};
  std::vector<std::pair<int, const Named*>> found;
  for (const Named& e : all) {
    const auto named = stems(e.name), told = stems(e.what), first = stems(sentence(e.what));
    int score = 0;
    const bool fits = std::all_of(asked.begin(), asked.end(), [&](const std::string& w) {
      const int points = among(named, w) ? 4 : among(first, w) ? 3 : among(told, w) ? 1 : 0;
      score += points;
      return points > 0;
    });
    if (fits) found.emplace_back(score * 100 - static_cast<int>(std::min<std::size_t>(told.size(), 99)), &e);
  }
  stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.size() > most) found.resize(most);
  std::string out;
  for (const auto& [score, e] : found)
    out += e->name + "\n  " + sentence(e->what.substr(e->what.find_first_not_of(' '))) + "\n";
  return out;
}

// The last part of a name of another library: jax.lax.psum, F.cross_entropy, nn.Linear.
std::string last_part(const std::string& name) {
  if (name.find(' ') != std::string::npos) return name;
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot + 1 == name.size() ? name : name.substr(dot + 1);
}

}  // namespace

std::string help_named(Interpreter& in, const std::string& topic) {
  const std::string word = word_of_language(topic);
  const std::size_t dot = topic.find('.');
  if (const auto module = module_value(in, topic.substr(0, dot))) {
    if (dot == std::string::npos) return word + (word.empty() ? "" : "\n") + help_of(in, *module);
    const Value* member = module->fields() ? module->fields()->find(topic.substr(dot + 1)) : nullptr;
    if (member) return help_of(in, *member);
  }
  if (!word.empty()) return word;
  if (std::string warning = lang::help_of_warning(topic); !warning.empty()) return warning;
  if (const auto v = in.builtin(topic)) return help_of(in, *v);
  return in_modules(in, topic);
}

std::string help_on(Interpreter& in, const std::string& topic) {
  const std::string name = last_part(topic), key = subject_key(name);
  Found found = recipes_about(topic);
  if (!found.exact && name != topic) found = recipes_about(name);
  std::vector<std::string> rows = rows_of_subject(subject_key(topic));
  if (rows.empty()) rows = rows_of_subject(key);
  if (!found.exact && (!rows.empty() || name != topic)) found.recipes.clear();
  std::string text = help_named(in, topic);
  if (text.empty() && name != topic) text = help_named(in, name);
  const bool named = !text.empty();
  const auto add = [&](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "" : "\n") + more;
  };
  if (named) {  // a lesson too, where one is about this name
    if (!found.exact && in.builtin(name)) text += lesson_with(in, name);
    for (const std::string& row : rows)
      if (row != name) text += "  see also: help " + row + "\n";
    if (found.exact) add(recipes_text(in, found.recipes));
    return text;
  }
  const std::vector<Named> all = entries(in);
  if (found.exact) add(recipes_text(in, found.recipes));
  std::string other = elsewhere(in, name);
  if (other.empty()) other = called_elsewhere(all, name);
  add(other);
  for (const std::string& row : rows) add(help_named(in, row));
  if (!found.exact || (other.empty() && rows.empty())) add(speaks_of(all, name, text.empty() ? 12 : 5));
  if (!found.exact) add(recipes_text(in, found.recipes));
  return text;
}

std::string help_subjects() {
  std::string out =
      "help NAME explains a function or a word: help matmul, help optim.adam, help mesh\n"
      "help WORDS finds how something is done: help gradient clipping, help average over devices\n"
      "help NAME of another library finds what stands for it: help jax.lax.psum, help torch.cat\n"
      "modules: ";
  out += lang::joined(public_modules()) + "\n\nsubjects, each with a lesson:\n";
  std::string folder, line;
  const auto end = [&] {
    if (!line.empty()) out += line + "\n";
    line.clear();
  };
  for (const Recipe& r : recipes()) {
    const std::string& subject = r.subjects[0];
    if (const std::string here = r.where.substr(0, r.where.rfind('/')); here != folder) end(), folder = here;
    if (line.size() + subject.size() > 76) line += ",", end();
    line += (line.empty() ? "  " : ", ") + subject;
  }
  end();
  return out + "\n`shard help --all` describes all builtins, as a page.\n";
}

std::vector<std::string> help_hints(Interpreter& in, const std::string& topic) {
  std::vector<std::string> names = builtin_functions(in), nearest;
  for (std::string_view word : grammar::all_keywords()) names.emplace_back(word);
  for (const std::string& module : public_modules()) names.push_back(module);
  for (const Recipe& r : recipes()) names.insert(names.end(), r.subjects.begin(), r.subjects.end());
  for (const Example& e : examples())
    for (std::string& subject : subjects_in(e.subjects)) names.push_back(std::move(subject));
  for (const auto& [name, entry] : in.builtins().aliases().all()) names.emplace_back(name);
  if (const auto near = grammar::near_miss(last_part(topic), names))
    return {"did you mean `shard help " + *near + "`?"};
  const std::vector<std::string> asked = stems(topic);
  for (const std::string& name : names)  // those that share a word
    for (const std::string& word : stems(name))
      if (nearest.size() < 6 && among(asked, word)) {
        nearest.push_back(name);
        break;
      }
  std::vector<std::string> out = note_if(!nearest.empty(), "near it: " + lang::joined(nearest));
  out.emplace_back(
      "`shard help` lists subjects; a few plain words find what speaks of them: `shard help average over devices`");
  return out;
}

}  // namespace shard::stdlib
