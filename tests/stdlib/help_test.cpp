// Documentation of the builtins: every function has an entry, every example prints what its comments say, and the page
// that is kept in the repository is the one that the program makes.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "grammar/parse.h"
#include "tests/stdlib/script.h"

using namespace shard;

namespace {

std::string squeezed(const std::string& text) {
  std::string out;
  for (char c : text)
    if (c != ' ' && c != '\n') out += c;
  return out;
}

// What the comments behind the lines of an example say.
std::string promised(const std::string& code) {
  std::istringstream in(code);
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (auto at = line.find("   # "); at != std::string::npos) out += line.substr(at + 5);
  return out;
}

}  // namespace

TEST_CASE("every builtin has an example, every example a builtin") {
  test::Script s;
  std::set<std::string> documented;
  for (const stdlib::Example& e : stdlib::examples()) {
    INFO(e.name);
    CHECK(documented.insert(e.name).second);
    CHECK(!e.code.empty());
    if (!e.what.empty()) documented.erase(e.name);
  }
  for (std::string_view word : grammar::all_keywords()) {
    INFO(word << " has no entry in stdlib/examples.txt");
    CHECK(test::run("help(\"" + std::string(word) + "\")").find("example:") != std::string::npos);
  }
  const auto all = stdlib::builtin_functions(s.in());
  for (const std::string& name : all) {
    INFO(name << " has no entry in stdlib/examples.txt");
    CHECK(documented.erase(name) == 1);
  }
  for (const std::string& name : documented) FAIL_CHECK("no builtin is called " << name);
  CHECK(all.size() > 180);
}

TEST_CASE("examples of builtins print what they say") {
  lang::Options options;
  options.devices = 8;
  const auto here = std::filesystem::current_path(),
             folder = std::filesystem::temp_directory_path() / ("shard_examples_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);  // some of them write files
  std::filesystem::current_path(folder);
  for (const stdlib::Example& e : stdlib::examples()) {
    if (e.name == "help") continue;  // prints another entry
    INFO(e.name);
    CHECK(squeezed(test::run(e.code, options)) == squeezed(promised(e.code)));
  }
  std::filesystem::current_path(here);
  std::filesystem::remove_all(folder);
}

TEST_CASE("help tells shapes, gradient and layout of every builtin") {
  test::Script s;
  for (const std::string& name : stdlib::builtin_functions(s.in())) {
    INFO(name);
    const std::string text = test::run("help(" + name + ")");
    CHECK(text.find("shapes:") != std::string::npos);
    CHECK(text.find("gradient:") != std::string::npos);
    CHECK(text.find("layout:") != std::string::npos);
    CHECK(text.find("example:") != std::string::npos);
  }
  const std::string matmul = test::run("help(matmul)");
  CHECK(matmul.find("(f32[4@X,6], f32[6,2]) -> f32[4@X,2]") != std::string::npos);
  CHECK(test::run("help(floor)").find("gradient: zero") != std::string::npos);
  CHECK(test::run("help(argmax)").find("gradient: none") != std::string::npos);
}

TEST_CASE("help knows words, names in modules and what speaks of something") {
  CHECK(test::run("help(\"adam\")").starts_with("in the module optim: `import optim`, then optim.adam\n"));
  CHECK(test::run("help(\"optim.adam\")").find("adam(") != std::string::npos);
  CHECK(test::run("help(\"average over devices\")").starts_with("pmean\n"));
  CHECK(test::run("help(\"read a file\")").find("load\n") != std::string::npos);
  CHECK(test::error("help(\"zyxwv\")").find("nothing is called \"zyxwv\"") != std::string::npos);
}

TEST_CASE("the page of builtins is up to date") {
  test::Script s;
  std::ifstream file("stdlib/reference.md");
  std::istringstream made(stdlib::reference_page(s.in()));
  INFO("shard help --all > stdlib/reference.md");
  std::string kept, wanted;
  while (std::getline(made, wanted)) {
    REQUIRE(std::getline(file, kept));
    REQUIRE(kept == wanted);
  }
  CHECK(!std::getline(file, kept));
}
