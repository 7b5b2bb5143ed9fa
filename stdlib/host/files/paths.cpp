#include "stdlib/host/files/paths.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "grammar/diagnostic.h"

namespace shard::stdlib {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::optional<std::vector<std::string>> names_in(const std::string& folder) {
  DIR* open = opendir(folder.c_str());
  if (!open) return std::nullopt;
  std::vector<std::string> out;
  while (const dirent* entry = readdir(open))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") out.emplace_back(name);
  closedir(open);
  return out;
}

std::vector<std::string> near_files(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 || errno != ENOENT) return {};
  const std::string folder = folder_of(path);
  auto there = names_in(folder);
  if (!there) return {"there is no folder '" + folder + "'"};
  std::vector<std::string> names = std::move(*there);
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  names.resize(std::min<std::size_t>(names.size(), 10'000));
  std::sort(names.begin(), names.end());
  const std::string before = path.substr(0, path.rfind('/') + 1);
  if (auto near = grammar::near_miss(path.substr(before.size()), names))
    return {"did you mean '" + before + *near + "'?"};
  if (path[0] != '/') return {"the path is taken from the folder where the program was started"};
  return {};
}

std::vector<std::string> missing_folder(const std::string& path) {
  struct stat info {};
  const std::string folder = folder_of(path);
  if (folder == "." || folder == "/" || stat(folder.c_str(), &info) == 0) return {};
  return {"there is no folder '" + folder + "'"};
}

void check_may_read(Interpreter& in, const std::string& path, grammar::Span span) {
  if (const auto& may_read = in.options().may_read; may_read && !may_read(path))
    in.fail("io", span, "reading '" + path + "' is not allowed here");
}

void check_may_write(Interpreter& in, const std::string& path, grammar::Span span) {
  if (const auto& may_write = in.options().may_write; may_write && !may_write(path))
    in.fail("io", span, "writing '" + path + "' is not allowed here");
}

bool writes_nothing(Interpreter& in, const std::string& path) {
  if (!in.context().types_only()) return false;
  if (in.options().not_written) in.options().not_written(path);
  in.not_written().insert(without_slashes(path));
  return true;
}

bool not_written(Interpreter& in, const std::string& path) {
  const std::string asked = without_slashes(path);
  const auto within = [](const std::string& inner, const std::string& outer) {
    return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
  };
  const auto& all = in.not_written();
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& p) { return within(asked, p) || within(p, asked); });
}

Value reading_from(Interpreter& in, const std::string& path, grammar::Span span, const std::function<Value()>& read) {
  check_may_read(in, path, span);
  try {
    return read();
  } catch (const runtime::RuntimeError& e) {
    in.fail(e.code, span, "cannot read '" + path + "': " + e.what(), near_files(path));
  }
}

void writing_to(Interpreter& in, const std::string& path, grammar::Span span, const std::function<void()>& write) {
  check_may_write(in, path, span);
  try {
    write();
  } catch (const runtime::RuntimeError& e) {
    in.fail(e.code, span, "cannot write '" + path + "': " + e.what(), missing_folder(without_slashes(path)));
  }
}

std::string lower(std::string path) {
  std::transform(path.begin(), path.end(), path.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return path;
}

bool ends_with_lower(const std::string& path, std::string_view ending) {
  const std::string p = lower(path);
  return p.ends_with(ending) || p.ends_with(std::string(ending) + ".gz");
}

}  // namespace shard::stdlib
