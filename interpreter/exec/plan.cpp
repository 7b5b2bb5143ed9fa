// Running plans: addresses are computed, kernels are called, errors get the place in the source that caused them.
#include "interpreter/exec/plan.h"

#include <array>

#include "grammar/diagnostic.h"

namespace shard::exec {

void Run::ask() const {
  if (may_stop && hooks.interrupted && hooks.interrupted()) throw grammar::Error("interrupt", {}, "interrupted");
}

void Run::ask_in_endless_loop() const {
  if (!hooks.interrupted || !hooks.interrupted()) return;
  grammar::Error e("interrupt", {}, "interrupted");
  if (!may_stop)
    e.diagnostic.notes.push_back(
        "the loop was overwriting its arguments: a variable that the statement assigns is none now");
  throw e;
}

void Plan::run(Run& r, char* const* base) const {
  constexpr std::size_t kFew = 24;
  std::array<void*, kFew> few;
  std::vector<void*> many;
  std::size_t turn = 0;
  for (const Step& s : steps) {
    if (++turn % 16 == 0) r.ask();
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
        s.kernel(at, at + s.ins);
      }
    } catch (const runtime::RuntimeError& e) { throw grammar::Error(e.code, s.span, e.what()); }
  }
}

}  // namespace shard::exec
