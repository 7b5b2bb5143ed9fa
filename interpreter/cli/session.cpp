#include "interpreter/cli/session.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "grammar/characters.h"
#include "interpreter/cli/command.h"
#include "interpreter/cli/signals.h"
#include "interpreter/cli/terminal.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/warnings/warnings.h"
#include "runtime/kernels/dense/long_call.h"

namespace shard::cli {
namespace {

std::string telling_as;  // which process this is, where several tell

constexpr std::uintmax_t kLargestScript = 64u << 20;

// Read once, for those who look at its head and those who run it.
const std::string& standard_input() {
  static const std::string kText = [] {
    std::string text;
    char buffer[1 << 16];
    for (std::size_t n; text.size() <= kLargestScript && (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;)
      text.append(buffer, n);
    return text;
  }();
  return kText;
}

}  // namespace

bool read_script(const std::string& path, std::string& text) {
  const auto refuse = [&](const std::string& why) {
    flush_out();
    std::fprintf(stderr, "error: cannot read '%s': %s\n", path.c_str(), why.c_str());
    return false;
  };
  if (path == "-") {
    text = standard_input();
    return text.size() <= kLargestScript || refuse("it is larger than 64 MiB");
  }
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    const bool without_extension = path.find('.') == std::string::npos && access((path + ".shard").c_str(), R_OK) == 0;
    return refuse(std::string(std::strerror(errno)) +
                  (without_extension ? "; did you mean '" + path + ".shard'?" : ""));
  }
  if (S_ISDIR(info.st_mode)) return refuse("it is a folder");
  if (S_ISREG(info.st_mode) && static_cast<std::uintmax_t>(info.st_size) > kLargestScript)
    return refuse("it is larger than 64 MiB");
  std::ifstream in(path, std::ios::binary);
  if (!in) return refuse(std::strerror(errno));
  text.assign(std::istreambuf_iterator<char>(in), {});
  return true;
}

Settings with_head(Settings settings, std::string_view text) {
  using grammar::trimmed;
  constexpr std::string_view kDevices = "devices:";
  while (!settings.devices_given && !text.empty()) {
    std::string_view line = trimmed(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    if (!line.empty() && line[0] != '#') break;
    line = trimmed(line.substr(std::min(line.find_first_not_of('#'), line.size())));
    if (!line.starts_with(kDevices)) continue;
    if (const auto n = number_of(trimmed(line.substr(kDevices.size())), 1, embed::kMostDevices)) settings.devices = *n;
  }
  return settings;
}

std::string script_text(const std::string& path) {
  struct stat info {};
  const bool file = stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), R_OK) == 0;
  std::string text;
  if (path == "-" || (file && static_cast<std::uintmax_t>(info.st_size) <= kLargestScript)) read_script(path, text);
  return text;
}

std::vector<std::string> scripts_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code failed;
  std::filesystem::recursive_directory_iterator at(folder, std::filesystem::directory_options::skip_permission_denied,
                                                   failed);
  for (; !failed && at != std::filesystem::recursive_directory_iterator(); at.increment(failed)) {
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
    if (!std::filesystem::is_directory(word, unknown)) {
      out.push_back(word);
      continue;
    }
    const std::vector<std::string> found = scripts_in(word);
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

std::string unknown_warning(const std::string& code) {
  std::vector<std::string> codes;
  for (const lang::Warning& w : lang::all_warnings()) codes.emplace_back(w.code);
  if (lang::find_warning(code)) return "";
  const auto near = grammar::near_miss(code, codes);
  return "there is no warning '" + code + "'" + (near ? ", did you mean `" + *near + "`?" : "");
}

std::string report_text(const grammar::Diagnostic& d, const grammar::SourceMap& sources) {
  lang::ReportStyle style{.color = colored(STDERR_FILENO)};
  constexpr int kGutter = 16;  // "   1 | ... " and " ...", and the last column stays free
  if (is_terminal(STDERR_FILENO)) style.width = window_width(STDERR_FILENO) - kGutter;  // a line in a file may be long
  return lang::report(d, sources, style);
}

bool work_is_left() { return runtime::dense::calls_left() || runtime::pjrt::runs_left(); }

void tell_as(const std::string& who) { telling_as = who; }

void tell(const grammar::Diagnostic& d, const grammar::SourceMap& sources) {
  flush_out();
  erase_status();
  const std::string text = telling_as + report_text(d, sources);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::unique_ptr<embed::Machine> make_machine(const Settings& settings, lang::Options options,
                                             std::function<void(const std::string&)> entering) {
  options.devices = settings.devices;
  options.exact = settings.exact;
  options.debug_nans = settings.debug_nans;
  options.set = settings.set;
  options.args = settings.args;
  options.allow = settings.allow;
  options.deny_warnings = settings.deny_warnings;
  if (!options.output) options.output = write_out;
  if (!options.screen) options.screen = terminal_screen();
  if (!options.warning) options.warning = tell;
  return std::make_unique<embed::Machine>(
      std::move(options), embed::Runs{settings.engine, !settings.devices_given, std::move(entering), values_of_job});
}

int guarded(lang::Interpreter& in, const std::function<void()>& body, const Teller& teller) {
  const Listening listening(in.context().pool().stop());
  try {
    body();
    flush_out();
    return 0;
  } catch (const std::exception&) {
    std::vector<grammar::Diagnostic> found = embed::caught(in);
    if (found[0].code == "internal")
      found[0].notes.emplace_back("this is not an error of the script: please report it with the script");
    for (const grammar::Diagnostic& d : found) teller(d, in.sources());
    return found[0].code != "interrupt" ? 1 : terminated() ? 143 : 130;
  }
}

}  // namespace shard::cli
