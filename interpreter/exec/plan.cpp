// Running plans: addresses are computed, kernels are called, errors get the place in the source that caused them.
#include "interpreter/exec/plan.h"

#include <array>

#include "grammar/diagnostic.h"
#include "interpreter/exec/timing.h"

namespace shard::exec {

namespace {

[[noreturn]] void end_run(const runtime::Stop& stop) {
  try {
    stop.raise();
  } catch (const runtime::RuntimeError& e) { throw grammar::Error(e.code, {}, e.what()); }
}

}  // namespace

void Run::ask() const {
  if (const runtime::Stop& stop = pool.stop(); stop.due()) end_run(stop);
}

void Run::turn(bool endless) const {
  runtime::Stop& stop = pool.stop();
  if (stop.step() && (endless || stop.due())) end_run(stop);
}

void Plan::run(Run& r, char* const* base) const {
  constexpr std::size_t kFew = 24;
  std::array<void*, kFew> few;
  std::vector<void*> many;
  Timing* const timing = Timing::here();
  for (const Step& s : steps) {
    r.ask();
    std::size_t n = s.ins + s.outs + (s.control ? 1u : 0u);
    void** at = few.data();
    if (n > kFew) {
      if (many.size() < n) many.resize(n);
      at = many.data();
    }
    const Loc* loc = locs.data() + s.first;
    for (std::size_t i = 0; i < n; ++i) {
      std::int64_t offset = loc[i].offset;
      if (loc[i].terms != Loc::kNoTerms)
        for (auto [axis, step] : terms[static_cast<std::size_t>(loc[i].terms)]) offset += step * r.coordinates[axis];
      at[i] = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(base[loc[i].slot]) +
                                      static_cast<std::uintptr_t>(offset));
    }
    try {
      if (s.control) {
        s.control->run(r, at, at + s.ins, static_cast<char*>(at[s.ins + s.outs]));
      } else {
        const auto start = timing ? Timing::Clock::now() : Timing::Clock::time_point{};
        s.kernel(at, at + s.ins);
        if (timing) timing->ran(s.node, start);
      }
    } catch (const runtime::RuntimeError& e) { throw grammar::Error(e.code, s.span, e.what()); }
  }
}

}  // namespace shard::exec
