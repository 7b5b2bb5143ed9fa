// A script looked at in place of run: what `shard check` tells and what `shard lsp` knows of a text. The script is
// evaluated on arrays that are types (interpreter/lang/eval/checking says what differs from a run): host code runs,
// operations only infer, and every error is found.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grammar/diagnostic.h"
#include "interpreter/cli/session.h"
#include "interpreter/lang/check/static_check.h"

namespace shard::cli {

class Checker {
 public:
  Checker(const Settings& settings, bool names_only)
      : settings_(settings), names_only_(names_only), deny_(std::exchange(settings_.deny_warnings, false)) {}

  void check(const std::string& path, const std::string& text);

  // ---- what differs from `shard check`
  lang::Options options;                            // limits, texts that are not written
  std::string target = "types";                     // "abstract": arrays have layouts, calls are compiled
  bool parameters = false;                          // `lets` has those that calls bind, too
  std::function<void(lang::Interpreter*)> running;  // told what runs, and null when it has ended

  // ---- what was found, in all files that were checked
  grammar::SourceMap sources;
  std::vector<grammar::Diagnostic> found, notes;  // found: errors and warnings
  std::vector<lang::Check::Let> lets;
  std::unique_ptr<embed::Machine> machine;  // of the last one: its variables hold types

 private:
  void names(lang::Interpreter& in, const std::string& path, const std::string& text);
  void types(lang::Interpreter& in, const std::string& path, const std::string& text);
  void add_warning(grammar::Diagnostic d);

  Settings settings_;
  std::vector<grammar::Diagnostic> warnings_;
  lang::Check* check_ = nullptr;  // while it runs
  bool names_only_, deny_;
};

// ---- the fixes that are what was meant, whatever else the program does (Fix::safe)
struct Fixed {
  std::string text;                // of the file, with the fixes
  std::vector<std::string> lines;  // what was done, a line each: "FILE:LINE: MESSAGE: `NEW`"
};
// The safe fixes among `found` that lie in `source`; of two that touch, the first.
Fixed with_safe_fixes(const grammar::SourceMap& sources, std::uint32_t source,
                      const std::vector<grammar::Diagnostic>& found);

}  // namespace shard::cli
