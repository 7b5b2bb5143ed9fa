// shard fmt: scripts in the one style (grammar/style). A file is replaced whole or left as it is.
#include <cstdio>
#include <filesystem>

#include "grammar/parse.h"
#include "grammar/style/style.h"
#include "interpreter/cli/command.h"
#include "interpreter/cli/difference.h"
#include "interpreter/cli/restyle.h"
#include "interpreter/cli/scripts.h"

namespace shard::cli {
namespace {

// The script in the one style; nothing, and its errors on standard error, where it is no program.
bool restyle(const std::string& name, const std::string& text, std::string& out) {
  Restyled styled = restyled(name, text);
  for (const grammar::Diagnostic& d : styled.errors) tell(d, styled.sources);
  out = std::move(styled.text);
  if (styled.same_program) return styled.parses;
  flush_out();
  std::fprintf(stderr,
               "error: a fault in Shard itself: '%s' would be another program when formatted; it is left as it is\n",
               name.c_str());
  return false;
}

class Formatting {
 public:
  Formatting(bool check, bool diff) : check_(check), diff_(diff) {}

  void file(const std::string& path) {
    std::string text, styled;
    if (!read_script(path, text) || !restyle(path == "-" ? "<standard input>" : path, text, styled)) {
      failed_ = true;
      return;
    }
    if (path == "-" && !check_ && !diff_) return write_out(styled);
    if (styled == text) return;
    ++changed_;
    if (diff_) write_out(difference(path, text, styled));
    if (check_ && !diff_) write_out(path + "\n");
    if (check_ || diff_) return;
    std::error_code none;
    const std::filesystem::path target = std::filesystem::canonical(path, none);  // behind a link
    if (!write_file(none ? path : target.string(), styled))
      failed_ = true;
    else
      write_out("formatted " + path + "\n");
  }

  int status() const { return failed_ || (check_ && changed_ > 0) ? 1 : 0; }

 private:
  bool check_, diff_, failed_ = false;
  int changed_ = 0;
};

int fmt(const Arguments& a) {
  Formatting all(a.has("--check"), a.has("--diff"));
  for (const std::string& path : scripts_of(a.words)) all.file(path);
  return all.status();
}

}  // namespace

Restyled restyled(const std::string& name, const std::string& text) {
  Restyled out;
  const grammar::ParseResult before = grammar::parse(out.sources, out.sources.add(name, text));
  out.parses = before.module != nullptr;
  if (!out.parses) {
    out.errors = before.diagnostics;
    return out;
  }
  out.text = grammar::style::formatted(text);
  const grammar::ParseResult after = grammar::parse(out.sources, out.sources.add(name, out.text));
  out.same_program = after.module && grammar::print(*after.module) == grammar::print(*before.module);
  return out;
}

Command fmt_command() {
  return {"fmt",
          "Write scripts in the one style: 100 columns, comments and blank lines where they stand",
          {{"paths", "Scripts, folders, or - for standard input (then to standard output)", Option::Words, true},
           {"--check", "Change nothing: name the files that would change, with status 1"},
           {"--diff", "Change nothing: show what would change"}},
          false,
          fmt};
}

}  // namespace shard::cli
