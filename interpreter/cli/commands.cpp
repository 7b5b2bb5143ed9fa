// The table of commands. To add one: its file, its declaration in command.h, and its row here.
#include "interpreter/cli/command.h"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace shard::cli {

std::span<const Command> commands() {
  static const Command kCommands[] = {
      run_command(),     repl_command(),     test_command(), check_command(),     fmt_command(),    help_command(),
      explain_command(), estimate_command(), plan_command(), convert_command(),   launch_command(), engines_command(),
      export_command(),  compile_command(),  lsp_command(),  calibrate_command(),
  };
  return kCommands;
}

std::span<const Option> setting_options() {
  static const Option kAll[] = {
      {"--devices", "How many devices are simulated, whatever `# devices: N` at the head of the script says",
       Option::Value},
      {"--exact", "Add the terms of all devices in one order, the same for any number of processes"},
      {"--debug-nans", "Stop at the first line that makes a nan or an infinity, in compiled code too; slow"},
      {"--allow", "A warning to silence; `shard help warnings` lists them", Option::Values},
      {"--deny-warnings", "Every warning is an error"},
      {"--set",
       "name=value: the initial value of a top-level `let` instead of the script's; @data=4 the size of a mesh axis, "
       "@embed=@data the axis of a name in the rules",
       Option::Values},
  };
  return kAll;
}

std::span<const Option> common_options() {
  static const Option kAll[] = {{"--color", "Colours of errors and pictures: always or never", Option::Value}};
  return kAll;
}

std::optional<int> number_of(std::string_view text, int least, int most) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < least || n > most) return std::nullopt;
  return n;
}

std::vector<std::string> parts_of(std::string_view text, char by) {
  std::vector<std::string> out;
  for (std::size_t from = 0, to = 0; from <= text.size(); from = to + 1) {
    to = std::min(text.find(by, from), text.size());
    if (to > from) out.emplace_back(text.substr(from, to - from));
  }
  return out;
}

std::optional<std::pair<std::string, std::string>> setting_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) return std::nullopt;
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string shell_word(const std::string& word) {
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_@%+=:,./-", c); };
  return !word.empty() && std::all_of(word.begin(), word.end(), plain) ? word : shell_quoted(word);
}

std::optional<std::chrono::milliseconds> time_of(std::string_view text) {
  long n = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), n);
  const std::string_view unit(end.ptr, static_cast<std::size_t>(text.data() + text.size() - end.ptr));
  if (end.ec != std::errc() || n <= 0 || n > 1'000'000) return std::nullopt;
  if (unit == "ms") return std::chrono::milliseconds(n);
  if (unit == "s" || unit.empty()) return std::chrono::seconds(n);
  if (unit == "m") return std::chrono::minutes(n);
  return std::nullopt;
}

std::optional<Settings> process_settings(const Arguments& a) {
  Settings out = a.settings;
  out.faults = parts_of(a.value("--fault"), '\n');
  const auto given = a.values.find("--timeout");
  if (given == a.values.end()) return out;
  const auto time = time_of(given->second);
  if (!time) {
    misused("--timeout takes a time such as 10s, 500ms or 2m, not '" + given->second + "'");
    return std::nullopt;
  }
  out.timeout = *time;
  return out;
}

const Command* find_command(std::string_view name) {
  for (const Command& c : commands())
    if (c.name == name) return &c;
  return nullptr;
}

}  // namespace shard::cli
