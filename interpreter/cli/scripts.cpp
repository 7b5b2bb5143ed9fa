#include "interpreter/cli/scripts.h"

#include <algorithm>
#include <filesystem>

namespace shard::cli {

namespace fs = std::filesystem;

std::vector<std::string> scripts_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code failed;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    if (name.starts_with(".") && at->is_directory(unknown)) at.disable_recursion_pending();
    if (!name.starts_with(".") && at->path().extension() == ".shard" && at->is_regular_file(unknown))
      out.push_back(folder == "." ? at->path().lexically_relative(".").string() : at->path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> scripts_of(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    std::error_code unknown;
    if (!fs::is_directory(word, unknown)) {
      out.push_back(word);
      continue;
    }
    const std::vector<std::string> found = scripts_in(word);
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

}  // namespace shard::cli
