#include "interpreter/cli/fix_files.h"

#include <cstdio>
#include <filesystem>

#include "grammar/stable_sort.h"
#include "interpreter/cli/standard_output.h"
#include "runtime/array/shape.h"
#include "stdlib/host/files/sink.h"

namespace shard::cli {

Fixed with_safe_fixes(const grammar::SourceMap& sources, std::uint32_t source,
                      const std::vector<grammar::Diagnostic>& found) {
  struct One {
    const grammar::Fix* fix;
    const grammar::Diagnostic* of;
  };
  std::vector<One> all;
  for (const grammar::Diagnostic& d : found)
    for (const grammar::Fix& f : d.fixes)
      if (f.safe && f.span.source == source) all.push_back({&f, &d});
  stable_sort(all, [](const One& a, const One& b) { return a.fix->span.begin < b.fix->span.begin; });
  const grammar::Source& file = sources.at(source);
  Fixed out;
  std::size_t done = 0;  // of the old text
  for (const One& one : all) {
    if (one.fix->span.begin < done) continue;
    out.text += file.text().substr(done, one.fix->span.begin - done) + one.fix->replacement;
    done = one.fix->span.end;
    out.lines.push_back(file.name() + ":" + std::to_string(file.position(one.fix->span.begin).line) + ": " +
                        one.of->message + ": fixed" +
                        (one.fix->replacement.empty() ? "" : " with `" + one.fix->replacement + "`"));
  }
  out.text += file.text().substr(done);
  return out;
}

bool replace_file(const std::string& path, const std::string& text) {
  std::error_code none;
  const std::filesystem::path target = std::filesystem::canonical(path, none);  // behind a link
  try {
    const auto file = stdlib::open_sink(none ? path : target.string(), false);
    file->write(text);
    file->finish();
    return true;
  } catch (const runtime::RuntimeError& e) {
    flush_out();
    std::fprintf(stderr, "error: cannot write '%s': %s\n", path.c_str(), e.what());
    return false;
  }
}

}  // namespace shard::cli
