// What a session with an editor holds: the open texts, and what is known of each. Names are known as soon as a text
// parses; errors and types come a while later from a check (worker.cpp), of a text that may have changed since. So
// every place of an older text is carried over (Shift).
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/ast.h"
#include "interpreter/cli/checker.h"
#include "interpreter/lang/names/resolve.h"
#include "interpreter/lang/report/report.h"
#include "stdlib/host/files/json.h"

namespace shard::lsp {

// ---- JSON of the protocol: what comes is read by the house's parser (nlohmann's, stdlib/host/files/json.h), what goes
// is text put together.
using lang::json_string;
using stdlib::Json;

// An answer that is an error of JSON-RPC.
struct Refused {
  int code;
  std::string message;
};
inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601, kInvalidParams = -32602,
                     kInternalError = -32603, kNotInitialized = -32002, kCancelled = -32800, kRequestFailed = -32803;

// {"name": value, ...}; fields whose text is empty are left out. The values are JSON.
std::string object(std::initializer_list<std::pair<std::string_view, std::string>> fields);
std::string list(const std::vector<std::string>& items);
std::string strings(const std::vector<std::string>& texts);  // a list of them
inline std::string number(std::int64_t n) { return std::to_string(n); }
inline std::string boolean(bool b) { return b ? "true" : "false"; }
inline std::string null() { return "null"; }

// What stands at this path of names; nothing where there is nothing.
std::optional<Json> find(const std::optional<Json>& in, std::initializer_list<std::string_view> path);
// The same, refused where it is missing or of another kind.
Json need(const std::optional<Json>& in, std::initializer_list<std::string_view> path);
std::string need_text(const std::optional<Json>& in, std::initializer_list<std::string_view> path);
std::int64_t need_number(const std::optional<Json>& in, std::initializer_list<std::string_view> path);
bool truth(const std::optional<Json>& in, std::initializer_list<std::string_view> path);  // false where there is none

// ---- A text as editors speak of it: lines from 0, and within a line units of UTF-16 (or what was agreed on). Offsets
// are bytes, as in spans.
enum class Units : std::uint8_t { Utf16, Utf8, Utf32 };

struct Place {
  std::int64_t line = 0, character = 0;
};

class Text {
 public:
  explicit Text(std::string text = "");
  const std::string& str() const { return text_; }
  Place place(std::size_t offset, Units units) const;
  std::size_t offset(Place place, Units units) const;  // places beyond a line or the text are at its end
  void replace(std::size_t begin, std::size_t end, std::string_view by);
  std::size_t line_of(std::size_t offset) const;
  std::size_t begin_of(std::size_t line) const { return starts_[line]; }
  std::size_t end_of(std::size_t line) const;  // before its newline
  std::size_t lines() const { return starts_.size(); }

 private:
  void find_lines();
  std::string text_;
  std::vector<std::size_t> starts_;
};

// Where a place of one text is in another that was made of it by changes in one stretch: the text before and behind it
// is the same.
class Shift {
 public:
  Shift(std::string_view from, std::string_view to);
  // Nothing within the stretch. What begins where something was put in stands behind it, what ends there before it.
  std::optional<std::size_t> operator()(std::size_t offset, bool begins = false) const;
  bool same() const { return same_; }

 private:
  std::size_t before_, from_end_, to_end_;
  bool same_;
};

// ---- the session
// A text that parses.
struct Tree {
  std::string text;
  std::shared_ptr<const grammar::Module> module;
  std::vector<lang::NameUse> uses;  // by place
  std::vector<const grammar::Function*> functions;
  std::string word(grammar::Span span) const { return text.substr(span.begin, span.end - span.begin); }
};

// A call of a compiled function, as `shard explain` tells it.
struct ExplainedCall {
  std::string name, sends, text;
  grammar::Span function;  // in the text; of no source: of another file
};

// What a check found out.
struct Checked {
  Checked(const cli::Settings& settings) : checker(settings, false) {}
  std::string uri, path, text;
  cli::Checker checker;
  std::uint32_t source = 0;  // of the text among the checker's; 0: nothing was said of it
  std::vector<ExplainedCall> calls;
  bool layouts = false;  // types have layouts; else errors and warnings were looked for
};

struct Document {
  std::string uri, path;
  std::int64_t version = 0;
  Text text;
  bool broken = false;                    // it does not parse
  std::shared_ptr<const Tree> tree;       // of the last text that did
  std::shared_ptr<const Checked> errors;  // of the last text that was checked
  std::shared_ptr<const Checked> types;
};

struct Location {
  std::string path;
  std::size_t begin = 0, end = 0;
};

class Session {
 public:
  explicit Session(const cli::Settings& settings) : settings(settings), machine(cli::make_machine(settings)) {}

  // The open text that a request is about; refused where it is none.
  Document& document(const std::optional<Json>& params);
  const Document* open_at(const std::string& path) const;                    // null: the editor has it not open
  std::size_t offset(const Document& d, const std::optional<Json>& params);  // of params.position
  std::size_t offset(const Text& text, const std::optional<Json>& params, std::string_view end);  // of params.range

  // A file's tree, from the editor where it is open; null where it cannot be read or does not parse.
  std::shared_ptr<const Tree> tree_at(const std::string& path);
  std::shared_ptr<const Tree> tree_of(const std::string& path, const std::string& text);
  std::vector<std::string> scripts();  // of the folders that are open, and the open ones

  std::string place(const Text& text, std::size_t offset) const;
  std::string range(const Text& text, std::size_t begin, std::size_t end) const;
  std::string location(const Location& l);

  lang::Interpreter& interpreter() { return machine->interpreter(); }  // runs no script: knows builtins and their help

  cli::Settings settings;
  std::unique_ptr<embed::Machine> machine;
  std::map<std::string, Document> documents;  // by URI
  std::vector<std::string> folders;
  Units units = Units::Utf16;
};

std::string path_of(const std::string& uri);  // of a file; what is none keeps its name
std::string uri_of(const std::string& path);

// The part of a tree's (or a check's) text in the text as it is now; nothing where that changed.
std::optional<std::pair<std::size_t, std::size_t>> carried(const Shift& shift, grammar::Span span);

}  // namespace shard::lsp
