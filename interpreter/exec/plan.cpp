// Running plans: addresses are computed, kernels are called, errors get the place in the source that caused them.
#include "interpreter/exec/plan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "grammar/diagnostic.h"
#include "interpreter/exec/timing.h"
#include "interpreter/exec/turns.h"
#include "interpreter/exec/wiring.h"
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

void Run::turn(bool endless, std::int64_t many) const {
  runtime::Stop& stop = pool.stop();
  if (stop.step(many) && (endless || stop.due())) end_run(stop);
}

void run_step(const Step& s, Run& r, void* const* at) {
  try {
    if (s.control) {
      s.control->run(r, at, at + s.ins, static_cast<char*>(at[s.ins + s.outs]));
    } else if (Timing* const timing = r.hooks.timing) {
      const auto start = Timing::Clock::now();
      s.kernel(at, at + s.ins);
      timing->ran(s.node, start);
    } else {
      s.kernel(at, at + s.ins);
    }
  } catch (const runtime::RuntimeError& e) { throw grammar::Error(e.code, s.span, e.what()); }
}

void Plan::run(Run& r, char* const* base) const {
  constexpr std::size_t kFew = 24;
  std::array<void*, kFew> few;
  std::vector<void*> many;
  for (const Step& s : steps) {
    r.ask();
    std::size_t n = s.ins + s.outs + (s.control ? 1u : 0u);
    void** at = few.data();
    if (n > kFew) {
      if (many.size() < n) many.resize(n);
      at = many.data();
    }
    for (std::size_t i = 0; i < n; ++i) at[i] = located(*this, locs[s.first + i], r, base[locs[s.first + i].slot]);
    run_step(s, r, at);
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

Loop::Loop() : native(std::make_shared<NativeLoop>()) {}

namespace {

// Turns in their machine code, an even number or up to the last one; its table is kept from one run to the next.
class NativeTurns {
 public:
  std::int64_t run(Run& r, const NativeLoop& code, std::span<Turns* const> of, std::int64_t turns) {
    if (table_.empty()) fill(code, of);
    const std::int64_t done = code.run(r, table_.data(), turns);
    for (Turns* t : of) t->pass(done);
    return done;
  }

 private:
  void fill(const NativeLoop& code, std::span<Turns* const> of) {
    std::vector<void*> roots;
    for (const Turns* t : of)
      for (const bool odd : {false, true})
        for (std::size_t i = 0; i < t->places(); ++i) roots.push_back(t->address(odd, i));
    for (const auto& [root, offset] : code.entries()) table_.push_back(moved(root ? roots[*root] : nullptr, offset));
  }
  std::vector<void*> table_;
};

// The slots of `turns`, with what they begin with brought there.
struct Begun {
  Turns& turns;
  void set(std::size_t slot, void* even, void* odd) { turns.set(slot, even, odd); }
  void moving(std::size_t slot, void* first, std::int64_t bytes) { turns.moving(slot, first, bytes); }
  void start(void* to, void* from, std::int64_t bytes) { take(to, from, bytes); }
};

}  // namespace

void ScanLoop::run(Run& r, void* const* in, void* const* out, char* mine) const {
  Turns turns(body);
  Begun slots{turns};
  wire<void*>(*this, in, out, mine, slots);
  turns.begin(r);
  NativeTurns in_code;
  Turns* const all[] = {&turns};
  for (std::int64_t t = 0, done; t < length; t += done) {
    const std::int64_t most = std::min(length - t, runtime::Stop::kSteps);
    done = 1;
    if (auto* const alone = turns.alone(t)) {
      alone->run(t, done = most);
    } else if (const NativeLoop* code = r.hooks.timing || most < 2 || t % 2 ? nullptr : native->ready(*this)) {
      done = in_code.run(r, *code, all, most / 2 * 2);
    } else {
      turns.one(r, t);
    }
    r.turn(false, done);
  }
}

void WhileLoop::run(Run& r, void* const* in, void* const* out, char* mine) const {
  Turns ask(condition), turns(body);
  Begun slots{turns};
  wire<void*>(*this, in, out, mine, ask, slots);
  ask.begin(r);
  turns.begin(r);
  NativeTurns in_code;
  Turns* const all[] = {&turns, &ask};
  std::int64_t t = 0;
  r.turn(true);  // the look that finds no further turn counts too
  for (ask.one(r, t); mine[verdict];) {
    std::int64_t done = 1;
    if (const NativeLoop* code = r.hooks.timing || t % 2 ? nullptr : native->ready(*this)) {
      done = in_code.run(r, *code, all, runtime::Stop::kSteps);
    } else {
      turns.one(r, t);
      ask.one(r, t + 1);
    }
    t += done;
    r.turn(true, done);
  }
  for (std::size_t i = 0; t % 2 && i < carry; ++i)
    if (!in_place[i]) take(out[i], mine + buffers[i], carry_bytes[i]);
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
