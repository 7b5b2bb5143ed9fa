// Running plans: addresses are computed, kernels are called, errors get the place in the source that caused them.
#include "interpreter/exec/plan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <variant>

#include "grammar/diagnostic.h"
#include "interpreter/exec/timing.h"
#include "runtime/array/array_text.h"
#include "runtime/kernels/moves.h"
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

namespace {

// Beyond the array at times: then nobody reads there.
void* moved(void* p, std::int64_t bytes) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(bytes));
}

void* address(const Plan& p, const Loc& loc, const Run& r, void* base) {
  std::int64_t offset = loc.offset;
  if (loc.terms != Loc::kNoTerms)
    for (auto [axis, step] : p.terms[static_cast<std::size_t>(loc.terms)]) offset += step * r.coordinates[axis];
  return moved(base, offset);
}

// `at`: operands, results, then the scratch of a control.
inline void run_step(const Step& s, Run& r, void* const* at) {
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

}  // namespace

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
    for (std::size_t i = 0; i < n; ++i) at[i] = address(*this, locs[s.first + i], r, base[locs[s.first + i].slot]);
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

// Memory for a few things, or from the heap for more of them.
template <class T, std::size_t kFew>
class Room {
 public:
  explicit Room(std::size_t n) : many_(n > kFew ? new T[n] : nullptr), data_(many_ ? many_.get() : few_.data()) {
    std::fill_n(data_, n, T{});
  }
  T& operator[](std::size_t i) { return data_[i]; }
  T* at(std::size_t i) const { return data_ + i; }

 private:
  std::array<T, kFew> few_;
  std::unique_ptr<T[]> many_;
  T* data_;
};

// A plan that runs turn after turn: its addresses are computed once for even turns and once for odd ones, between which
// buffers change places, and those of rows move on.
class Turns {
 public:
  explicit Turns(const Plan& plan)
      : plan_(plan), slots_(plan.slots()), base_(2 * slots_), step_(slots_), at_(2 * plan.locs.size()) {}
  // Where a slot lies in turn 0 and in turn 1, or in all; and one that moves on by so many bytes a turn.
  void set(std::size_t slot, void* even, void* odd) { base_[slot] = even, base_[slots_ + slot] = odd; }
  void set(std::size_t slot, void* all) { set(slot, all, all); }
  void moving(std::size_t slot, void* first, std::int64_t bytes) {
    set(slot, first, moved(first, bytes));
    step_[slot] = bytes;
  }
  // Once all slots are set.
  void begin(const Run& r) {
    const std::size_t n = plan_.locs.size();
    for (std::size_t i = 0; i < n; ++i) {
      const Loc& loc = plan_.locs[i];
      const auto slot = static_cast<std::size_t>(loc.slot);
      at_[i] = address(plan_, loc, r, base_[slot]), at_[n + i] = address(plan_, loc, r, base_[slots_ + slot]);
      if (step_[slot]) moving_.emplace_back(i, 2 * step_[slot]);
    }
    slow_ = plan_.steps.empty() || r.hooks.timing ||
            std::any_of(plan_.steps.begin(), plan_.steps.end(), [](const Step& s) { return s.control != nullptr; });
  }
  // Whether turns are run by `quick_turn`: every step is machine code of few elements, or a kernel whose addresses are
  // at hand.
  bool quick(std::int64_t turn) {
    constexpr std::int64_t kFewTurns = 16;  // for which it does not pay to prepare
    if (slow_ || turn < kFewTurns) return false;
    if (turn < next_look_) return true;
    next_look_ = 2 * turn + 64;  // code is made when there has been enough to do
    if (quick_.empty()) list();
    for (Quick& q : quick_) {
      auto* const call = std::get_if<Call>(&q);
      const auto* const elements = call ? call->step->kernel.target<RunElements>() : nullptr;
      if (!elements) continue;
      if (auto turns = elements->kernel->turns({call->at[0], call->at[1]}, call->moving)) q = *std::move(turns);
    }
    return true;
  }
  void quick_turn(Run& r, std::int64_t turn) {
    for (Quick& q : quick_)
      if (auto* code = std::get_if<runtime::ElementTurns>(&q))
        code->run(turn);
      else if (auto* copy = std::get_if<Copy>(&q))
        copy->run(turn);
      else
        std::get_if<Call>(&q)->run(r, turn);
  }

  // So many turns at most; how many.
  std::int64_t run(Run& r, std::int64_t turn, std::int64_t most = 1) {
    const std::size_t n = plan_.locs.size();
    if (quick(turn)) {
      auto* const alone = quick_.size() == 1 ? std::get_if<runtime::ElementTurns>(&quick_[0]) : nullptr;
      if (alone) return alone->run(turn, most), most;
      for (std::int64_t t = turn; t < turn + most; ++t) quick_turn(r, t);
      return most;
    }
    void** const at = at_.at(turn % 2 ? n : 0);
    for (const Step& s : plan_.steps) {
      r.ask();
      run_step(s, r, at + s.first);
    }
    for (const auto& [i, step] : moving_) at[i] = moved(at[i], step);
    return 1;
  }

 private:
  struct Copy {
    std::size_t bytes;
    std::array<void*, 2> from, to;  // in even and in odd turns
    std::array<std::int64_t, 2> moves;
    void run(std::int64_t turn) {
      void *&source = from[static_cast<std::size_t>(turn & 1)], *&target = to[static_cast<std::size_t>(turn & 1)];
      std::memcpy(target, source, bytes);
      source = moved(source, moves[0]), target = moved(target, moves[1]);
    }
  };
  struct Call {
    const Step* step;
    const runtime::Moves* moves;  // null: some other kernel
    std::array<void**, 2> at;     // in even and in odd turns
    std::vector<runtime::ElementTurns::Moving> moving;
    void run(Run& r, std::int64_t turn) const {
      void** const now = at[static_cast<std::size_t>(turn & 1)];
      if (moves) {
        (*moves)(now, now + step->ins);
      } else {
        r.ask();
        run_step(*step, r, now);
      }
      for (const auto& [i, bytes] : moving) now[i] = moved(now[i], bytes);
    }
  };
  using Quick = std::variant<runtime::ElementTurns, Copy, Call>;

  // The steps as they are at first.
  void list() {
    auto next = moving_.begin();
    for (const Step& s : plan_.steps) {
      Call call{&s, s.kernel.target<runtime::Moves>(), {at_.at(s.first), at_.at(plan_.locs.size() + s.first)}, {}};
      for (; next != moving_.end() && next->first < s.first + s.ins + s.outs; ++next)
        call.moving.emplace_back(next->first - s.first, next->second);
      if (!call.moves || !call.moves->plain()) {
        quick_.emplace_back(std::move(call));
        continue;
      }
      const auto& [even, odd] = call.at;
      for (const auto& m : call.moves->all) {
        Copy copy{m.bytes,
                  {moved(even[m.operand], m.from), moved(odd[m.operand], m.from)},
                  {moved(even[s.ins], m.to), moved(odd[s.ins], m.to)},
                  {0, 0}};
        for (const auto& [which, bytes] : call.moving)
          if (which == m.operand || which == s.ins) copy.moves[which == s.ins] = bytes;
        quick_.emplace_back(copy);
      }
    }
  }

  const Plan& plan_;
  bool slow_ = true;
  std::int64_t next_look_ = 0;
  std::vector<Quick> quick_;  // by step
  std::size_t slots_;
  Room<void*, 32> base_;  // by slot, of even turns, then of odd ones
  Room<std::int64_t, 16> step_;
  Room<void*, 64> at_;  // as `base_`, by place in `locs`
  std::vector<std::pair<std::size_t, std::int64_t>> moving_;
};

}  // namespace

void ScanLoop::run(Run& r, void* const* in, void* const* out, char* mine) const {
  Turns turns(body);
  for (std::size_t i = 0; i < consts; ++i) turns.set(1 + i, in[i]);
  turns.set(body.arena_slot(), mine);
  for (std::size_t i = 0; i < carry; ++i) {
    void *now = out[i], *next = now;
    if (!in_place[i]) (length % 2 ? now : next) = mine + buffers[i];  // the last turn writes the result
    turns.set(1 + consts + i, now, next);
    turns.set(body.result_slot(i), next, now);
    take(now, in[consts + i], carry_bytes[i]);
  }
  const auto rows_of = [&](std::size_t slot, void* all, std::int64_t step) {
    turns.moving(slot, reverse ? moved(all, (length - 1) * step) : all, reverse ? -step : step);
  };
  for (std::size_t i = 0; i < rows; ++i) rows_of(1 + consts + carry + i, in[consts + carry + i], row_step[i]);
  for (std::size_t i = 0; i < stacked; ++i) rows_of(body.result_slot(carry + i), out[carry + i], stacked_step[i]);
  turns.begin(r);
  for (std::int64_t t = 0, done; t < length; t += done) {
    done = turns.run(r, t, std::min(length - t, runtime::Stop::kSteps));
    r.turn(false, done);
  }
}

void WhileLoop::run(Run& r, void* const* in, void* const* out, char* mine) const {
  Turns ask(condition), turns(body);
  for (std::size_t i = 0; i < condition_consts; ++i) ask.set(1 + i, in[i]);
  for (std::size_t i = 0; i < body_consts; ++i) turns.set(1 + i, in[condition_consts + i]);
  ask.set(condition.arena_slot(), mine + condition_at);
  ask.set(condition.result_slot(0), mine + verdict);
  turns.set(body.arena_slot(), mine);
  for (std::size_t i = 0; i < carry; ++i) {
    void *const now = out[i], *const next = in_place[i] ? now : mine + buffers[i];
    ask.set(1 + condition_consts + i, now, next);
    turns.set(1 + body_consts + i, now, next);
    turns.set(body.result_slot(i), next, now);
    take(now, in[condition_consts + body_consts + i], carry_bytes[i]);
  }
  ask.begin(r);
  turns.begin(r);
  std::int64_t t = 0;
  for (bool goes_on = true; goes_on;) {
    if (ask.quick(t) && turns.quick(t)) {
      const std::int64_t first = t;
      for (; t < first + runtime::Stop::kSteps; ++t) {
        ask.quick_turn(r, t);
        if (!(goes_on = mine[verdict])) break;
        turns.quick_turn(r, t);
      }
      r.turn(true, t - first + (goes_on ? 0 : 1));  // the last look counts too
      continue;
    }
    r.turn(true);
    ask.run(r, t);
    if ((goes_on = mine[verdict])) turns.run(r, t++);
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
