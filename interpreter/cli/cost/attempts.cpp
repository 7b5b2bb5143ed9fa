#include "interpreter/cli/cost/attempts.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "interpreter/cli/signals.h"

namespace shard::cli {
namespace {

// One, predicted; the script's error is why it cannot be.
void predict(const std::string& path, const cost_model::Chip& chip, Attempt& c) {
  DryRun script(c.settings, true, chip.simulated > 0);
  c.why.clear();
  const int status = script.run(path, *c.text, [&](const grammar::Diagnostic& d, const grammar::SourceMap& sources) {
    const int line = source_line(sources, d.span);
    if (c.why.empty()) c.why = (line ? "line " + std::to_string(line) + ": " : "") + d.message;
  });
  if (status) return;
  const Prediction& most = script.on(chip);
  const cost_model::Estimate& e = most.of;
  c.found = {e.time.seconds, e.time.compute, e.time.waits(), e.time.flops, e.memory.peak, given_to(most), e.fits};
  c.why = stdlib::shortcoming(most.call, e, chip, script.sources());
}

// What a worker says of a candidate: a line, numbers to the last bit.
void write_found(std::FILE* to, std::size_t i, const Attempt& c) {
  const Attempt::Figures f = c.found.value_or(Attempt::Figures{});
  std::string why = c.why;
  std::replace(why.begin(), why.end(), '\n', ' ');
  std::fprintf(to, "%zu %d %a %a %a %a %lld %lld %d %s\n", i, c.found ? 1 : 0, f.seconds, f.compute, f.waits, f.flops,
               static_cast<long long>(f.peak), static_cast<long long>(f.given), f.fits ? 1 : 0, why.c_str());
}
void read_found(std::FILE* from, std::vector<Attempt>& attempts) {
  char* line = nullptr;
  std::size_t room = 0;
  std::rewind(from);
  while (getline(&line, &room, from) > 0) {
    std::size_t i = 0;
    int found = 0, fits = 0, text = 0;
    long long peak = 0, given = 0;
    Attempt::Figures f;
    if (std::sscanf(line, "%zu %d %la %la %la %la %lld %lld %d%n", &i, &found, &f.seconds, &f.compute, &f.waits,
                    &f.flops, &peak, &given, &fits, &text) < 9 ||
        i >= attempts.size())
      continue;
    f.peak = peak;
    f.given = given;
    f.fits = fits != 0;
    if (found) attempts[i].found = f;
    attempts[i].why = std::string(line + text + 1);
    if (attempts[i].why.ends_with('\n')) attempts[i].why.pop_back();
  }
  std::free(line);
}

}  // namespace

std::int64_t given_to(const Prediction& call) {
  std::int64_t bytes = 0;
  for (const exec::ArrayInfo& a : call.call.given)
    bytes += runtime::bytes_of(a.type.shape, runtime::size_of(a.type.dtype));
  return bytes;
}

// By as many processes as there are processors: each takes every n-th candidate and writes what it found
// into a file of its own. Processes, as each is one whole run of a script: what goes wrong in one ends there.
bool predict_all(const std::string& path, std::vector<Attempt>& attempts, const cost_model::Chip& chip) {
  if (attempts.empty()) return true;
  const std::size_t workers = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, attempts.size());
  std::vector<std::pair<pid_t, std::FILE*>> started;
  for (std::size_t w = 0; w < workers; ++w) {
    std::FILE* found = workers > 1 ? std::tmpfile() : nullptr;
    const pid_t child = found ? fork() : -1;
    if (child > 0) {
      started.emplace_back(child, found);
      continue;
    }
    for (std::size_t i = w; i < attempts.size() && !interrupted(); i += workers) {
      predict(path, chip, attempts[i]);
      if (child == 0) write_found(found, i, attempts[i]);
    }
    if (child < 0) {  // it could not be started: its part is done here
      if (found) std::fclose(found);
      continue;
    }
    std::fflush(found);
    _exit(0);
  }
  for (const auto& [child, found] : started) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    read_found(found, attempts);
    std::fclose(found);
  }
  return !interrupted();
}

}  // namespace shard::cli
