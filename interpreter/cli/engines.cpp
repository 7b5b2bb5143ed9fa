// shard engines: what can run scripts: the targets that are built in, and the plug-ins of PJRT that are found, with
// what each says of itself. Each is asked in a process of its own, which one that aborts or hangs ends alone.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpreter/cli/command.h"
#include "interpreter/exec/target.h"
#include "interpreter/lang/report/report.h"
#include "runtime/pjrt/client.h"

namespace shard::cli {
namespace {

namespace pjrt = runtime::pjrt;
constexpr std::chrono::seconds kAnswersWithin{30};

struct Asked {
  pjrt::Attributes says;  // in the order in which it is shown
  std::string error;
};

Asked ask_here(const std::string& path, int devices) {
  Asked out;
  try {
    const auto plugin = pjrt::Plugin::load(path);
    out.says.emplace_back("pjrt", std::to_string(plugin->major()) + "." + std::to_string(plugin->minor()));
    for (auto& attribute : plugin->attributes())
      if (attribute.first.find("version") != std::string::npos) out.says.push_back(std::move(attribute));
    const auto client = pjrt::Client::create(plugin, devices);
    out.says.emplace_back("platform", client->platform());
    out.says.emplace_back("platform_version", client->platform_version());
    const auto& there = client->devices();
    out.says.emplace_back("devices", std::to_string(there.size()) + (there.empty() ? "" : " " + there[0].kind));
  } catch (const runtime::RuntimeError& e) { out.error = e.what(); }
  return out;
}

std::string read_all(int from, std::chrono::steady_clock::time_point until) {
  std::string out;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd one{from, POLLIN, 0};
    if (left.count() <= 0 || poll(&one, 1, static_cast<int>(left.count())) <= 0) return out;
    char buffer[4096];
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n <= 0) return out;
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

// Fields pass through a pipe: name and value, each ended by a zero; an error has no name.
Asked ask(const std::string& path, int devices) {
  int ends[2];
  if (pipe(ends) != 0) return ask_here(path, devices);
  flush_out();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Asked asked = ask_here(path, devices);
    if (!asked.error.empty()) asked.says.emplace_back("", asked.error);
    std::string text;
    for (const auto& [name, value] : asked.says) text += name + '\0' + value + '\0';
    write_whole(ends[1], text);
    _exit(0);
  }
  close(ends[1]);
  const std::string text = child < 0 ? "" : read_all(ends[0], std::chrono::steady_clock::now() + kAnswersWithin);
  close(ends[0]);
  if (child > 0) {
    kill(child, SIGKILL);  // it has said all, or says nothing more
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
  }
  Asked out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string name = text.c_str() + at;
    const std::string value = text.c_str() + at + name.size() + 1;
    at += name.size() + value.size() + 2;
    if (name.empty())
      out.error = value;
    else
      out.says.emplace_back(name, value);
  }
  if (text.empty()) out.error = "it ended or stood still when it was asked";
  return out;
}

std::vector<exec::TargetRow> running() {  // the targets that run what they are given
  ir::OpTable table;
  runtime::Pool pool;
  std::vector<exec::TargetRow> out;
  for (const exec::TargetRow& row : exec::targets())
    if (row.make(table, pool)->holds_elements()) out.push_back(row);
  return out;
}

std::string engines_text(const std::vector<pjrt::Found>& found, int devices) {
  std::string out;
  for (const exec::TargetRow& row : running())
    out += std::string(row.name) + std::string(10 - row.name.size(), ' ') + std::string(row.doc) + "\n";
  for (const pjrt::Found& plugin : found) {
    const Asked asked = ask(plugin.path, devices);
    out += "xla:" + plugin.path + "\n  found by: " + plugin.by + "\n";
    for (const auto& [name, value] : asked.says) out += "  " + name + ": " + value + "\n";
    if (!asked.error.empty()) out += "  error: " + asked.error + "\n";
  }
  if (found.empty())
    out += "xla       No plug-in of PJRT is found: `pip install xla-cpu-pjrt` installs one for the CPU.\n";
  return out;
}

std::string engines_json(const std::vector<pjrt::Found>& found, int devices) {
  using lang::json_string;
  std::string out = "{\"built_in\": [";
  for (const exec::TargetRow& row : running())
    out += (out.back() == '[' ? "" : ", ") + ("{\"name\": " + json_string(std::string(row.name))) +
           ", \"doc\": " + json_string(std::string(row.doc)) + "}";
  out += "],\n \"plugins\": [";
  for (const pjrt::Found& plugin : found) {
    const Asked asked = ask(plugin.path, devices);
    out += (out.back() == '[' ? "\n  " : ",\n  ") + ("{\"path\": " + json_string(plugin.path)) +
           ", \"found_by\": " + json_string(plugin.by);
    for (const auto& [name, value] : asked.says) out += ", " + json_string(name) + ": " + json_string(value);
    out += (asked.error.empty() ? "" : ", \"error\": " + json_string(asked.error)) + "}";
  }
  return out + "]}\n";
}

int engines(const Arguments& a) {
  std::vector<pjrt::Found> found = pjrt::find_plugins();
  for (const std::string& path : a.words) found.push_back({path, "the command line"});
  return print_out(a.has("--json") ? engines_json(found, a.settings.devices) : engines_text(found, a.settings.devices));
}

}  // namespace

Command engines_command() {
  return {
      "engines",
      "List what runs scripts: the engines that are built in, and plug-ins of PJRT with what they say of themselves",
      {{"plugins", "Plug-ins to ask besides those that are found", Option::Words},
       {"--json", "One JSON object on standard output"}},
      false,
      engines};
}

}  // namespace shard::cli
