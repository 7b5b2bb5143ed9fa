// What a session with an editor holds: the open texts, and what is known of each. Names are known as soon as a text
// parses; errors and types come a while later from a check (worker.h), of a text that may have changed since. So every
// place of an older text is carried over (Shift).
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "grammar/ast.h"
#include "interpreter/cli/checker.h"
#include "interpreter/lang/names/resolve.h"
#include "interpreter/lsp/document.h"
#include "interpreter/lsp/protocol_json.h"

namespace shard::lsp {

// A text that parses.
struct Tree {
  std::string text;
  std::shared_ptr<const grammar::Module> module;
  std::vector<lang::NameUse> uses;  // by place
  std::vector<const grammar::Function*> functions;
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
  std::size_t offset(const Document& d, const std::optional<Json>& params);  // of params.position

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
