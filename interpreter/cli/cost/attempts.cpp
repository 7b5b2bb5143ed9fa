#include "interpreter/cli/cost/attempts.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
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
  if (status == 0) {
    const Prediction& most = script.on(chip);
    const cost_model::Estimate& e = most.of;
    c.found = {e.time.seconds, e.time.compute, e.time.waits(), e.time.flops, e.memory.peak, given_to(most), e.fits};
    c.why = cost_model::shortcoming(*most.call.plan, e, chip, script.sources());
  }
  std::replace(c.why.begin(), c.why.end(), '\n', ' ');
}

// What a worker says of a candidate: this, and as many bytes of its `why`.
struct Said {
  std::size_t attempt, why;
  bool found;
  Attempt::Figures figures;
};
void write_found(std::FILE* to, std::size_t i, const Attempt& c) {
  const Said said{i, c.why.size(), c.found.has_value(), c.found.value_or(Attempt::Figures{})};
  std::fwrite(&said, sizeof said, 1, to);
  std::fwrite(c.why.data(), 1, c.why.size(), to);
}
void read_found(std::FILE* from, std::vector<Attempt>& attempts) {
  std::rewind(from);
  for (Said said; std::fread(&said, sizeof said, 1, from) == 1 && said.attempt < attempts.size();) {
    Attempt& c = attempts[said.attempt];
    if (said.found) c.found = said.figures;
    c.why.resize(said.why);
    if (std::fread(c.why.data(), 1, said.why, from) != said.why) return;
  }
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
