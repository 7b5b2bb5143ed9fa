// What users of other libraries write: every alias stands for something that exists, and none hides a name of ours.
#include <catch2/catch.hpp>
#include <set>

#include "interpreter/lang/eval/builtins.h"
#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/value_text.h"
#include "tests/stdlib/script.h"

using namespace shard;

namespace {

const char* const kModules[] = {"nn", "optim", "train"};

lang::Value module(test::Script& s, const std::string& name) {
  return s.in().run(name, "import " + name + "\n" + name);
}

// The names in front of a bracket within the code of a sentence: `sum(x)` and nn.linear( of "... `nn.linear(2, 3)`".
std::vector<std::string> called(std::string_view sentence) {
  std::vector<std::string> out;
  const auto part_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  bool code = false;
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    if (sentence[i] == '`') code = !code;
    if (!code || sentence[i] != '(') continue;
    std::size_t from = i;
    while (from > 0 && part_of_name(sentence[from - 1])) --from;
    if (i - from > 1) out.emplace_back(sentence.substr(from, i - from));  // f and x stand for anything
  }
  return out;
}

// The words of the comment's line "Elsewhere: Dense, Linear.", as a reader of the comment sees them.
std::vector<std::string> elsewhere(const std::string& doc) {
  std::vector<std::string> out;
  const std::size_t at = doc.find("Elsewhere: ");
  if (at == std::string::npos) return out;
  std::string word;
  for (const char c : doc.substr(at + 11)) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else {
      if (!word.empty()) out.push_back(std::move(word));
      word.clear();
      if (c == '\n' || c == '.') break;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("every alias of a builtin stands for a function, a type or a value of ours") {
  test::Script s;
  auto& builtins = s.in().builtins();
  const auto exists = [&](std::string name) {
    if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
      const std::string first = name.substr(0, dot), last = name.substr(dot + 1);
      if (!stdlib::embedded_module(first)) return builtins.find(last) >= 0;  // x.reshape(...): a method
      return module(s, first).fields()->find(last) != nullptr;
    }
    return builtins.find(name) >= 0 || runtime::dtype_named(name) || name == "bool" || name == "none";
  };
  CHECK(builtins.aliases().all().size() > 150);
  for (const auto& [name, entry] : builtins.aliases().all()) {
    INFO(name << " -> " << entry.function << " " << entry.say);
    if (!entry.function.empty()) CHECK(exists(entry.function));
    CHECK((!entry.function.empty() || !entry.say.empty()));
    if (entry.function != name) CHECK(builtins.find(std::string(name)) < 0);
    for (const std::string& function : called(entry.say)) {
      INFO(function);
      if (function != "p.f" && function != "fn") CHECK(exists(function));
    }
  }
}

TEST_CASE("every row and host function whose column names an alias is found by it") {
  test::Script s;
  const lang::Aliases& known = s.in().builtins().aliases();
  std::set<std::string_view> seen;
  std::size_t count = 0;
  const auto check = [&](std::string_view function, const std::vector<ir::Alias>& names) {
    for (const ir::Alias& e : names) {
      INFO(function << ": " << e.name);
      ++count;
      CHECK(seen.insert(e.name).second);  // an alias belongs to one function
      if (e.name == function)
        CHECK(known.differs(function) == e.say);
      else if (e.say.empty())
        CHECK(known.name_here(e.name) == function);
      else
        CHECK(known.way_here(e.name) == e.say);
    }
  };
  for (const ir::OpDef& row : s.in().context().table().rows()) {
    if (row.internal) CHECK(row.aliases.empty());
    check(row.name, row.aliases);
  }
  for (const lang::Value& v : s.in().builtins().values())
    if (const auto* native = v.get<std::shared_ptr<const lang::Native>>()) check((*native)->name, (*native)->aliases);
  CHECK(count > 70);
}

TEST_CASE("functions of modules are found by the names in their comments") {
  std::size_t count = 0;
  for (const char* name : kModules) {
    test::Script s;
    const lang::Value value = module(s, name);
    const lang::Record& record = *value.fields();
    std::set<std::string> seen;
    for (const auto& [field, v] : record.fields)
      if (const auto* f = v.get<std::shared_ptr<const lang::Closure>>())
        for (const std::string& alias : elsewhere((*f)->function->doc)) {
          INFO(name << "." << field << ": " << alias);
          ++count;
          CHECK(seen.insert(alias).second);
          CHECK(!record.find(alias));
          CHECK(lang::member_here(&record, alias) == field);
        }
    CHECK(lang::member_here(&record, "Nothing").empty());
  }
  CHECK(count > 70);
  CHECK(test::error("import nn\nnn.Dense(2, 3)").find("it is called `linear` here") != std::string::npos);
  CHECK(test::error("import optim\nlet f = optim.linear_schedule").find("it is called `linear` here") !=
        std::string::npos);
  // Of a comment of one's own too, wherever the line stands; a field of another name is not proposed.
  const std::string own = "## Elsewhere: Other.\n## Twice x.\nfn twice(x) = 2 * x\nlet r = {twice: twice}\n";
  CHECK(test::error(own + "r.Other(1)").find("it is called `twice` here") != std::string::npos);
  CHECK(test::error(own + "r.Othe(1)").find("it is called") == std::string::npos);
}

TEST_CASE("every alias of a parameter stands for a parameter of some function") {
  test::Script s;
  std::set<std::string, std::less<>> parameters;
  const auto take = [&](const std::string& signature) {
    std::string word;
    for (const char c : signature) {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
        continue;
      }
      if (!word.empty()) parameters.insert(word);
      word.clear();
    }
  };
  for (const ir::OpDef& row : s.in().context().table().rows()) take(std::string(row.signature));
  for (const lang::Value& v : s.in().builtins().values())
    if (const auto* native = v.get<std::shared_ptr<const lang::Native>>()) take((*native)->signature);
  for (const char* name : kModules)
    for (const auto& [field, v] : module(s, name).fields()->fields)
      if (const auto* f = v.get<std::shared_ptr<const lang::Closure>>()) take(lang::header(*(*f)->function));
  for (const auto& [elsewhere, here] : lang::parameter_aliases()) {
    INFO(elsewhere << " -> " << here);
    CHECK(parameters.contains(here));
    CHECK(lang::parameter_near(elsewhere, {std::string(here)}) == std::string(here));
  }
}
