// Who did not come to the start of a job, and what can be known of it here: how the command ended that was to start
// him, and what it said.
#include <algorithm>
#include <cstring>
#include <map>

#include "grammar/characters.h"
#include "interpreter/cli/command.h"
#include "interpreter/cli/launch/launch.h"

namespace shard::cli {
namespace {

// Its last lines, indented.
std::string last_lines(const std::string& text) {
  constexpr int kLines = 12;
  std::size_t begin = text.find_last_not_of("\n");
  if (begin == std::string::npos) return "";
  std::string out = text.substr(0, begin + 1);
  for (int i = 0; i < kLines && begin != std::string::npos; ++i)
    begin = begin == 0 ? std::string::npos : out.rfind('\n', begin - 1);
  if (begin != std::string::npos) out.erase(0, begin + 1);
  for (std::size_t i = 0; (i = out.find('\n', i)) != std::string::npos; i += 7) out.replace(i, 1, "\n    | ");
  return "    | " + out + "\n";
}

std::string how(const Child& c, bool there) {
  const std::string what = there ? "the command that starts it " : "it ";
  if (c.asked) return what + "had not ended";
  return what + (*c.status > 128 && *c.status < 255
                     ? "was ended by a signal: " + std::string(strsignal(*c.status - 128))
                     : "ended with status " + std::to_string(*c.status));
}

std::string command_to_try(const LaunchJob& job, int rank, const std::string& folder) {
  const std::string program = shell_word(program_path(job));
  const bool own = job.program == "/proc/self/exe";
  const std::string there = "cd " + shell_word(folder) + " && " + (own ? program + " --version" : "ls " + program);
  return grammar::separated(remote_command(job, rank, shell_word(there)), " ");
}

}  // namespace

std::vector<int> tell_absent(std::vector<Child>& children, const LaunchJob& job, const std::string& at,
                             const Arrival& arrival, bool interrupted) {
  // Others that had not come yet when it was over are not at fault.
  const bool late = arrival.broken || interrupted;
  std::vector<int> who;
  for (std::size_t i = 0; i < children.size(); ++i)
    if (late ? !arrival.came[i] : !children[i].asked) who.push_back(static_cast<int>(i));
  if (who.empty()) return who;
  std::fprintf(stderr,
               interrupted ? "error: the launcher was asked to end before process%s %s had come to the start\n"
                           : "error: process%s %s did not come to the start\n",
               who.size() > 1 ? "es" : "", numbers(who).c_str());
  const bool elsewhere = !job.hosts.empty();
  std::map<std::string, std::string> alike;  // what is said of them
  for (const int i : who) {
    Child& c = children[static_cast<std::size_t>(i)];
    std::string facts = how(c, elsewhere);
    const std::string last = elsewhere ? last_lines(c.last) : "";
    if (elsewhere) facts += last.empty() ? ", and has printed nothing\n" : ", and has printed\n" + last;
    if (elsewhere && i > 0) c.said.clear();  // told here
    std::string& names = alike[elsewhere ? facts : facts + "\n"];
    names += (names.empty() ? "process " : ", process ") + std::to_string(i);
    if (elsewhere) names += " on " + job.hosts[static_cast<std::size_t>(i)];
  }
  for (const auto& [facts, names] : alike) std::fprintf(stderr, "  %s: %s", names.c_str(), facts.c_str());
  if (!elsewhere || interrupted) return who;
  std::fprintf(stderr,
               "note: `%s` has to work from here, without a question, and to print %s: the folder and the program are "
               "the same there as here\n",
               command_to_try(job, who[0], working_folder()).c_str(),
               job.program == "/proc/self/exe" ? "a version" : "a name");
  if (late)
    std::fprintf(stderr, "note: processes connect to %s; --interface and --port choose another place\n", at.c_str());
  return who;
}

}  // namespace shard::cli
