#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "runtime/pjrt/plugin.h"

namespace shard::runtime::pjrt {
namespace {

// Below a folder of Python packages, in the order in which they are wanted: what packages of PJRT install so far.
constexpr const char* kPlaces[] = {"/libtpu/libtpu.so", "/jax_plugins/*/*plugin*.so", "/xla_plugins/*/*.so"};

void look_in(const std::string& packages, const char* by, std::vector<Found>& out) {
  for (const char* place : kPlaces) {
    glob_t found{};
    if (glob((packages + place).c_str(), 0, nullptr, &found) == 0)
      for (std::size_t i = 0; i < found.gl_pathc; ++i) {
        char* real = realpath(found.gl_pathv[i], nullptr);  // environments have links to themselves
        const std::string path = real ? real : found.gl_pathv[i];
        std::free(real);
        if (std::none_of(out.begin(), out.end(), [&](const Found& f) { return f.path == path; }))
          out.push_back({path, by});
      }
    globfree(&found);
  }
}

std::vector<std::string> packages_of_python() {
  std::vector<std::string> out;
  std::FILE* python = popen("python3 -c 'import sys; print(*sys.path, sep=\"\\n\")' 2>/dev/null", "r");
  if (!python) return out;
  char line[4096];
  while (std::fgets(line, sizeof line, python)) {
    std::string folder = line;
    if (!folder.empty() && folder.back() == '\n') folder.pop_back();
    if (folder.ends_with("-packages")) out.push_back(std::move(folder));
  }
  pclose(python);
  return out;
}

std::vector<Found> near() {  // those that are found without asking Python
  std::vector<Found> out;
  if (const char* named = std::getenv("SHARD_PJRT_PLUGIN"); named && *named)
    out.push_back({named, "SHARD_PJRT_PLUGIN"});
  if (const char* venv = std::getenv("VIRTUAL_ENV"); venv && *venv)
    look_in(std::string(venv) + "/lib*/python3*/site-packages", "VIRTUAL_ENV", out);
  return out;
}

}  // namespace

std::vector<Found> find_plugins() {
  std::vector<Found> out = near();
  for (const std::string& packages : packages_of_python()) look_in(packages, "python3", out);
  return out;
}

std::string choose_plugin(const std::string& path) {
  if (!path.empty()) {
    if (access(path.c_str(), R_OK) != 0)
      throw RuntimeError("engine", "there is no plug-in '" + path + "'; `shard engines` lists those that are found");
    return path.find('/') == std::string::npos ? "./" + path : path;  // else the loader looks in its own folders
  }
  std::vector<Found> found = near();
  if (found.empty()) found = find_plugins();
  if (found.empty())
    throw RuntimeError("engine",
                       "no plug-in of PJRT is found: not in SHARD_PJRT_PLUGIN, nor among the packages of VIRTUAL_ENV "
                       "and of python3; `pip install xla-cpu-pjrt` (or jax-cuda13-pjrt) installs one, and `--engine "
                       "xla:PATH` names one");
  return found.front().path;
}

}  // namespace shard::runtime::pjrt
