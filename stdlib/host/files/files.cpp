// load, save and what reads text: files to values and back. What a file is, its content says, for text its ending; the
// table of formats knows (format.h).
#include <sys/stat.h>

#include "interpreter/lang/layouts/shard_expr.h"
#include "stdlib/host/files/format.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/files/text.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

// The path that is argument 0, opened and given to `read`; what is wrong with the file is told with the path.
template <class F>
Value reading(Interpreter& in, BoundArgs& a, F read) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  const grammar::Span span = a.args[0].span;
  check_may_read(in, path, span);
  try {
    const std::unique_ptr<Source> file = open_source(path);
    return read(*file, path);
  } catch (const runtime::RuntimeError& e) {
    in.fail(e.code, span, "cannot read '" + path + "': " + e.what(), near_files(path));
  }
}

Value load(Interpreter& in, BoundArgs& a) {
  return reading(in, a, [&](Source& file, const std::string& path) {
    const Format* format = format_of(file, path);
    if (!format) refuse_file("its content is none of " + format_names("and", true));
    return read_whole(in, *format->reads(file));
  });
}

// `specs` names fields of what was saved; what it leaves out stays as it is, without a layout.
Value lay_out(Interpreter& in, const Value& tree, const Value& specs, grammar::Span span) {
  const lang::Record *fields = tree.fields(), *wanted = specs.fields();
  if (specs.is_none()) return tree;
  if (!fields || !wanted) return lang::shard_tree(in, tree, specs, nullptr, span);
  for (const auto& [name, unused] : wanted->fields)
    if (!fields->find(name))
      in.fail("call", span, "the file has no field `" + name + "`", {"it holds " + lang::structure(tree)});
  std::vector<std::pair<std::string, Value>> out;
  for (const auto& [name, v] : fields->fields) {
    const Value* spec = wanted->find(name);
    out.emplace_back(name, spec ? lay_out(in, v, *spec, span) : v);
  }
  return Value::record(std::move(out));
}

Value load_laid_out(Interpreter& in, BoundArgs& a) { return lay_out(in, load(in, a), a[1], a.args[1].span); }

Value save(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  if (in.context().types_only()) return {};  // a program that is checked writes nothing
  check_may_write(in, path, a.span);
  try {
    const std::unique_ptr<Sink> file = open_sink(path, lower(path).ends_with(".gz"));
    format_to_write(path).writes(in, a[1], *file);
    file->finish();
  } catch (const runtime::RuntimeError& e) {
    in.fail(e.code, a.span, "cannot write '" + path + "': " + e.what(), missing_folder(path));
  }
  return {};
}

// "By its ending: .npz holds a record of arrays, .npy and .idx one array, ..."
std::string endings_text() {
  std::vector<std::pair<std::string_view, std::string>> groups;  // what is held, in which
  for (const Format& f : formats())
    for (const std::string_view ending : f.endings) {
      const bool any = f.endings.back().empty();
      if (any || ending.empty()) continue;
      auto it = groups.begin();
      while (it != groups.end() && it->first != f.holds) ++it;
      if (it == groups.end())
        groups.emplace_back(f.holds, ending);
      else
        it->second += " and " + std::string(ending);
    }
  std::string out = "By its ending: ";
  for (std::size_t i = 0; i < groups.size(); ++i)
    out += (i ? ", " : "") + groups[i].second + (i ? " " : " holds ") + std::string(groups[i].first);
  return out;
}

Value exists(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  if (in.options().may_read && !in.options().may_read(path)) return Value(false);
  struct stat info {};
  return Value(stat(path.c_str(), &info) == 0);
}

// Beside the script that asks; where it is no file (typed, or standard input), in the folder of the program.
Value here(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  if (path.starts_with("/") || !in.sources().has(a.span.source)) return Value::string(path);
  const std::string folder = folder_of(in.sources().at(a.span.source).name());
  return Value::string(folder == "." ? path : folder == "/" ? "/" + path : folder + "/" + path);
}

Value read_text(Interpreter& in, BoundArgs& a) {
  Value text = reading(in, a, [](Source& file, const std::string&) { return Value::string(file.rest(0)); });
  if (!valid_utf8(text.str())) in.fail("io", a.args[0].span, "'" + a[0].str() + "' is no text in UTF-8");
  return text;
}

Value read_csv(Interpreter& in, BoundArgs& a) {
  return reading(in, a, [&](Source& file, const std::string&) { return read_csv_columns(in, file); });
}

}  // namespace

void register_files(Interpreter& in) {
  in.define({"load",
             "load(path, as = none)",
             "The content of a file: " + format_names("or", true) +
                 ", gzipped or not. csv gives one array of rank 2. as: specs for the tree, or for some fields of it, "
                 "on the current mesh.",
             load_laid_out,
             {{"input", "what a file holds is read by `load`, `read_text` or `read_csv`"},
              {"open", "what a file holds is read by `load`, `read_text` or `read_csv`"}}});
  in.define({"save", "save(path, tree)",
             "Writes arrays, numbers, text and trees of them (safetensors); load gives them back. " + endings_text() +
                 "; .gz packs any of them.",
             save});
  in.define({"exists", "exists(path)", "Whether there is a file or folder of this name.", exists});
  in.define(
      {"here", "here(path)", "The path of a file that lies beside the script which asks: here(\"data.csv\").", here});
  in.define({"read_text", "read_text(path)", "A text file in UTF-8, gzipped or not, as a string.", read_text});
  in.define({"read_csv", "read_csv(path)",
             "A table whose first line names its columns, as a record of arrays (lists of strings where a column holds "
             "text).",
             read_csv});
  in.define({"chars", "chars(text)",
             "The characters of a text as i32 codes, and the sorted list of the characters that the codes index.",
             chars});
}

}  // namespace shard::stdlib
