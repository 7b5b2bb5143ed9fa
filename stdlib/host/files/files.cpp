// Files of text, and whether there is one. Trees of arrays are read and written in storage/.
#include <sys/stat.h>

#include "grammar/characters.h"
#include "interpreter/lang/eval/impl.h"
#include "stdlib/host/files/float_text.h"
#include "stdlib/host/files/format.h"
#include "stdlib/host/files/paths.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;

Value exists(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  if (in.options().may_read && !in.options().may_read(path)) return Value(false);
  struct stat info {};
  const bool there = stat(path.c_str(), &info) == 0;
  if (!there && in.context().types_only() && (in.impl().checker || not_written(in, path)))  // a run may write it
    return Value(in.context().unknown(runtime::Type::of(runtime::DType::Bool, {})));
  return Value(there);
}

// Beside the script that asks; where it is no file (typed, or standard input), in the folder of the program.
Value here(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  if (path.starts_with("/") || !in.sources().has(a.span.source)) return Value::string(path);
  const std::string folder = folder_of(in.sources().at(a.span.source).name());
  return Value::string(folder == "." ? path : folder == "/" ? "/" + path : folder + "/" + path);
}

Value read_text(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  Value text = reading_from(in, path, a.args[0].span, [&] { return Value::string(open_source(path)->rest(0)); });
  if (grammar::not_utf8(text.str()) != std::string_view::npos)
    in.fail("io", a.args[0].span, "'" + path + "' is no text in UTF-8");
  return text;
}

Value read_csv(Interpreter& in, BoundArgs& a) {
  const std::string path = in.text(a[0], a.args[0].span, "the path of a file");
  return reading_from(in, path, a.args[0].span, [&] { return read_csv_columns(in, *open_source(path)); });
}

}  // namespace

void register_files(Interpreter& in) {
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
