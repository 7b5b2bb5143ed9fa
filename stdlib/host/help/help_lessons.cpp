// Lessons and pages by their subjects, and the functions that their lines call.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "interpreter/lang/report/report.h"
#include "stdlib/host/help/help.h"
#include "stdlib/stdlib.h"

namespace shard::stdlib {
namespace {

std::vector<Recipe> read_recipes() {
  std::vector<Recipe> out;
  std::string where, title;
  std::istringstream in{lessons_text()};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("=== "))
      where = line.substr(4);
    else if (line.starts_with("title: "))
      title = line.substr(7);
    else if (line.starts_with("subjects: "))
      out.push_back({where, title, subjects_in(std::string_view(line).substr(10)), {}});
    else
      out.back().code += line + "\n";
  }
  return out;
}

// The names in lines of Shard, with their dots; what stands in comments and strings is none, nor is a named argument.
std::vector<std::string> names_in(const std::string& code) {
  std::vector<std::string> out;
  std::istringstream in(code);
  for (std::string line; std::getline(in, line);) {
    std::string name;
    bool quoted = false, field = false;
    for (std::size_t i = 0; i <= line.size(); ++i) {
      const char c = i < line.size() ? line[i] : ' ';
      if (c == '"') quoted = !quoted;
      if (c == '#' && !quoted) break;
      if (!quoted && (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c == '.' && !name.empty()))) {
        if (name.empty()) field = i > 0 && line[i - 1] == '@';
        name += c;
        continue;
      }
      if (!name.empty() && !field && c != ':') out.push_back(name);
      name.clear();
    }
  }
  return out;
}

}  // namespace

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = read_recipes();
  return all;
}

std::string subject_key(std::string_view text) {
  std::string out, word;
  const auto end = [&] {
    if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
    out += word;
    word.clear();
  };
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '+')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else
      end();
  }
  end();
  return out;
}

std::vector<std::string> subjects_in(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t comma = list.find(", ");
    out.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 2);
  }
  return out;
}

std::vector<std::string> functions_used(Interpreter& in, const std::string& code) {
  static const std::set<std::string, std::less<>> kEverywhere = {"print", "assert", "assert_close", "assert_error",
                                                                 "len",   "range",  "float",        "int"};
  const std::vector<std::string> builtins = builtin_functions(in), modules = public_modules();
  std::vector<std::string> out;
  for (const std::string& name : names_in(code)) {
    const std::size_t dot = name.find('.');
    const bool member = dot != std::string::npos && among(modules, name.substr(0, dot));
    std::string used = name;
    if (member) {
      if (help_named(in, name).empty()) continue;
    } else if (used = name.substr(name.rfind('.') + 1); !among(builtins, used) || kEverywhere.contains(used)) {
      continue;
    }
    if (!among(out, used)) out.push_back(used);
  }
  return out;
}

std::string recipe_text(Interpreter& in, const Recipe& r) {
  const bool script = r.where.ends_with(".shard");
  std::string out = r.title + "\n  in " + r.where + ":\n" + indented(r.code, "  ");
  std::vector<std::string> used;
  if (script || r.code.find("let ") != std::string::npos) used = functions_used(in, r.code);
  if (!used.empty()) out += "  uses: " + lang::joined(used) + "\n";
  if (script) out += "  run it: shard run " + r.where + "\n";
  return out;
}

}  // namespace shard::stdlib
