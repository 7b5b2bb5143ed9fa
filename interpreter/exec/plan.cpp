// Running plans: addresses are computed, kernels are called, errors get the place in the source that caused them.
#include "interpreter/exec/plan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "grammar/diagnostic.h"
#include "interpreter/exec/timing.h"
#include "runtime/array/array_text.h"
#include "runtime/kernels/spread.h"

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
  Timing* const timing = r.hooks.timing;
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

// ---- Running instructions with plans inside. Carried values go back and forth between two buffers, or stay in one
// where the body may overwrite what it reads; rows are addresses that move on.
namespace {

void take(void* to, const void* from, std::int64_t bytes) {
  if (to != from && bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

char* bytes_of(void* p) { return static_cast<char*>(p); }

}  // namespace

void ScanLoop::run(Run& r, void* const* in, void* const* out, char* mine) const {
  std::vector<char*> base(body.slots(), nullptr), now(carry), next(carry);
  for (std::size_t i = 0; i < consts; ++i) base[1 + i] = bytes_of(in[i]);
  base[body.arena_slot()] = mine;
  for (std::size_t i = 0; i < carry; ++i) {
    now[i] = next[i] = bytes_of(out[i]);
    if (!in_place[i]) (length % 2 ? now : next)[i] = mine + buffers[i];  // the last turn writes the result
  }
  for (std::size_t i = 0; i < carry; ++i) take(now[i], in[consts + i], carry_bytes[i]);
  for (std::int64_t t = 0; t < length; ++t) {
    r.turn();
    std::int64_t row = reverse ? length - 1 - t : t;
    for (std::size_t i = 0; i < carry; ++i) base[1 + consts + i] = now[i], base[body.result_slot(i)] = next[i];
    for (std::size_t i = 0; i < rows; ++i)
      base[1 + consts + carry + i] = bytes_of(in[consts + carry + i]) + row * row_step[i];
    for (std::size_t i = 0; i < stacked; ++i)
      base[body.result_slot(carry + i)] = bytes_of(out[carry + i]) + row * stacked_step[i];
    body.run(r, base.data());
    std::swap(now, next);
  }
}

void WhileLoop::run(Run& r, void* const* in, void* const* out, char* mine) const {
  std::vector<char*> ask(condition.slots(), nullptr), base(body.slots(), nullptr), now(carry), next(carry);
  for (std::size_t i = 0; i < condition_consts; ++i) ask[1 + i] = bytes_of(in[i]);
  for (std::size_t i = 0; i < body_consts; ++i) base[1 + i] = bytes_of(in[condition_consts + i]);
  ask[condition.arena_slot()] = mine + condition_at;
  ask[condition.result_slot(0)] = mine + verdict;
  base[body.arena_slot()] = mine;
  for (std::size_t i = 0; i < carry; ++i) {
    now[i] = next[i] = bytes_of(out[i]);
    if (!in_place[i]) next[i] = mine + buffers[i];
  }
  for (std::size_t i = 0; i < carry; ++i) take(now[i], in[condition_consts + body_consts + i], carry_bytes[i]);
  while (true) {
    r.turn(true);
    for (std::size_t i = 0; i < carry; ++i) ask[1 + condition_consts + i] = now[i];
    condition.run(r, ask.data());
    if (!mine[verdict]) break;
    for (std::size_t i = 0; i < carry; ++i) base[1 + body_consts + i] = now[i], base[body.result_slot(i)] = next[i];
    body.run(r, base.data());
    std::swap(now, next);
  }
  for (std::size_t i = 0; i < carry; ++i) take(out[i], now[i], carry_bytes[i]);
}

void BranchChoice::run(Run& r, void* const* in, void* const* out, char* mine) const {
  const Plan& plan = *static_cast<const bool*>(in[0]) ? then : otherwise;
  std::vector<char*> base(plan.slots(), nullptr);
  for (std::size_t i = 0; i < plan.params; ++i) base[1 + i] = bytes_of(in[1 + i]);
  base[plan.arena_slot()] = mine;
  for (std::size_t i = 0; i < plan.results; ++i) base[plan.result_slot(i)] = bytes_of(out[i]);
  plan.run(r, base.data());
}

void Blockwise::run(Run& r, void* const* in, void* const* out, char* mine) const {
  std::size_t ins = in_step.empty() ? 0 : in_step[0].size(), outs = out_step.empty() ? 0 : out_step[0].size();
  std::vector<void*> from(ins), to(outs);
  std::vector<std::int64_t> saved = r.coordinates, at(axes.size(), 0);
  while (true) {
    for (std::size_t i = 0; i < ins; ++i) from[i] = in[i];
    for (std::size_t i = 0; i < outs; ++i) to[i] = out[i];
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (r.coordinates.size() <= axes[a]) r.coordinates.resize(axes[a] + std::size_t{1}, 0);
      r.coordinates[axes[a]] = at[a];
      for (std::size_t i = 0; i < ins; ++i) from[i] = bytes_of(from[i]) + at[a] * in_step[a][i];
      for (std::size_t i = 0; i < outs; ++i) to[i] = bytes_of(to[i]) + at[a] * out_step[a][i];
    }
    inner->run(r, from.data(), to.data(), mine);
    std::size_t a = axes.size();
    while (a > 0 && ++at[a - 1] == sizes[a - 1]) at[--a] = 0;
    if (a == 0) break;
  }
  r.coordinates = std::move(saved);
}

void DepthFirst::run(Run& r, void* const* in, void* const* out, char* mine) const {
  Timing* const timing = r.hooks.timing;  // of this thread only
  const auto start = timing ? Timing::Clock::now() : Timing::Clock::time_point{};
  const Hooks none;
  std::atomic<std::int64_t> next{0};
  runtime::spread(lanes, 1, [&](std::int64_t lane, std::int64_t) {
    const runtime::Alone alone;
    Run own{none, r.pool, r.coordinates};
    std::vector<char*> base(body.slots(), nullptr);
    base[body.arena_slot()] = mine + lane * arena();
    for (std::int64_t block = next++; block < blocks; block = next++) {
      for (std::size_t i = 0; i < body.params; ++i) base[1 + i] = bytes_of(i < ins ? in[i] : out[i - ins]);
      std::int64_t left = block;
      for (std::size_t k = counts.size(); k-- > 0; left /= counts[k])
        for (std::size_t i = 0; i < body.params; ++i) base[1 + i] += left % counts[k] * steps[k][i];
      body.run(own, base.data());
    }
  });
  if (timing) timing->ran(node, start);
}

void EffectCall::run(Run& r, void* const* in, void* const*, char*) const {
  if (!r.hooks.effect) return;
  std::vector<ArrayRef> arrays;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    auto a = std::make_shared<runtime::DeviceArray>(operands[i]);
    a->buffer = r.pool.allocate(static_cast<std::size_t>(bytes[i]));
    take(a->buffer->data(), in[i], bytes[i]);
    arrays.push_back(frozen.empty() ? runtime::whole(r.pool, std::move(a)) : std::move(a));
  }
  if (frozen.empty()) return r.hooks.effect(attrs, arrays, layouts, span);
  ir::Attrs here = attrs;
  ir::Ints at(mesh_axes, -1);
  for (runtime::AxisId a : frozen.list()) at[a] = r.coordinates[a] + first[a];
  here.set("at", at);
  r.hooks.effect(here, arrays, layouts, span);
}

}  // namespace shard::exec
