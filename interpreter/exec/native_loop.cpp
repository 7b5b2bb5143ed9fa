// Loops as what machine code of them does (runtime/kernels/loop_code.h): every address that a turn needs has a place in
// one table, which is filled before a run. Addresses that move on from turn to turn do so there; in a loop inside a
// loop they are set anew each time it begins.
#include <exception>

#include "interpreter/exec/turns.h"
#include "interpreter/exec/wiring.h"
#include "runtime/kernels/moves.h"

namespace shard::exec {
namespace {

using runtime::LoopPart;
using Acts = LoopPart::Acts;

constexpr std::int64_t kFarthest = 1 << 30;  // bytes, of what is an instruction's displacement
constexpr std::size_t kMostEntries = 1 << 12;

struct Unfit {};  // there is no such code

class Maker {
 public:
  // How an address moves on in the loop of some level, the outermost one being 0.
  struct Drift {
    std::size_t level;
    std::int64_t bytes;  // a turn
  };
  struct Place {
    std::optional<std::size_t> root;  // of all addresses of the outermost loop's plans, which
    std::int64_t offset = 0;
    std::vector<Drift> drifts = {};  // levels ascend
    friend Place moved(Place p, std::int64_t bytes) {
      p.offset += bytes;
      return p;
    }
  };

  LoopPart::Loop outermost(const ScanLoop& loop) {
    const std::vector<Place> in(loop.consts + loop.carry + loop.rows), out(loop.carry + loop.stacked);
    Slots slots(loop.body, 0);  // of places that nobody asks for: how they move is what counts
    wire(loop, in.data(), out.data(), Place(), slots);
    LoopPart::Loop part;
    for (const bool odd : {false, true}) half(part, odd, loop.body, roots(loop.body, 0, odd, &slots.base[odd]));
    return part;
  }
  LoopPart::Loop outermost(const WhileLoop& loop) {
    LoopPart::Loop part;
    part.conditional = true;
    for (const bool odd : {false, true}) {
      const auto asked = roots(loop.condition, 2 * loop.body.locs.size(), !odd, nullptr);  // of the next turn
      half(part, odd, loop.body, roots(loop.body, 0, odd, nullptr));
      part.halves[odd].verdict = verdict_of(loop.condition, asked);
      sequence(part.halves[odd].condition, loop.condition, asked);
    }
    return part;
  }
  std::vector<NativeLoop::Entry> entries() && { return std::move(entries_); }

 private:
  struct Level {
    LoopPart::Loop* loop;
    bool odd;
  };

  std::size_t blank() {
    if (entries_.size() >= kMostEntries) throw Unfit();
    entries_.push_back({std::nullopt, 0});
    return entries_.size() - 1;
  }
  std::size_t entry(Place p) {
    const std::size_t at = blank();
    fill(at, std::move(p));
    return at;
  }
  std::size_t entries(const std::vector<Place>& places) {  // side by side
    const std::size_t first = entries_.size();
    for (std::size_t i = 0; i < places.size(); ++i) blank();
    for (std::size_t i = 0; i < places.size(); ++i) fill(first + i, places[i]);
    return first;
  }
  void fill(std::size_t at, Place p) {
    if (!p.drifts.empty()) {
      const Drift d = p.drifts.back();
      const Level& level = levels_[d.level];
      level.loop->halves[level.odd].advances.push_back({at, 2 * d.bytes});
      if (d.level > 0) {
        p.drifts.pop_back();
        return level.loop->begin.emplace_back(LoopPart::Set{at, entry(std::move(p))}), void();
      }
    }
    entries_[at] = {p.root, p.offset};
  }

  // By place of a plan, where that is: of an outermost one, whose addresses are all at hand (from `first` on those of
  // even turns, then of odd ones) and move on as its slots do; of one inside, whose slots are there.
  using Places = std::vector<Place>;
  static Places roots(const Plan& plan, std::size_t first, bool odd, const std::vector<Place>* slots) {
    Places out;
    for (const Loc& loc : plan.locs) {
      out.push_back({first + (odd ? plan.locs.size() : 0) + out.size()});
      if (slots) out.back().drifts = (*slots)[static_cast<std::size_t>(loc.slot)].drifts;
    }
    return out;
  }
  // Of a plan in even and in odd turns of the loop of some level.
  struct Slots {
    Slots(const Plan& plan, std::size_t loop) : level(loop) {
      for (Places& b : base) b.resize(plan.slots());
    }
    void set(std::size_t slot, const Place& even, const Place& odd) { base[0][slot] = even, base[1][slot] = odd; }
    void moving(std::size_t slot, Place first, std::int64_t bytes) {
      if (bytes != 0) first.drifts.push_back({level, bytes});
      set(slot, first, moved(first, bytes));
    }
    void start(const Place& to, const Place& from, std::int64_t bytes) { starts.push_back({to, from, bytes}); }
    struct Start {
      Place to, from;
      std::int64_t bytes;
    };
    std::size_t level;
    Places base[2];
    std::vector<Start> starts;
  };
  static Places inside(const Plan& plan, const std::vector<Place>& base) {
    Places out;
    for (const Loc& loc : plan.locs) {
      if (loc.terms != Loc::kNoTerms) throw Unfit();
      out.push_back(moved(base[static_cast<std::size_t>(loc.slot)], loc.offset));
    }
    return out;
  }
  void sequence(Acts& acts, const Plan& plan, const Places& places) {
    for (const Step& s : plan.steps) {
      const auto first = places.begin() + s.first;
      step(acts, s, Places(first, first + s.ins + s.outs + (s.control ? 1 : 0)));
    }
  }

  void step(Acts& acts, const Step& s, const std::vector<Place>& at) {
    if (Inner inner(*this, acts, s, at); s.control && s.control->shown_to(inner)) return;
    const auto* const elements = s.kernel.target<RunElements>();
    if (const auto code = elements ? elements->kernel->few_code() : std::nullopt) {
      std::vector<Place> operands;
      for (const std::size_t i : code->operands) operands.push_back(at[i]);
      acts.push_back(LoopPart::Elements{code->code, entries(operands), code->elements});
      return;
    }
    const auto* const moves = s.kernel.target<runtime::Moves>();
    if (moves && near(*moves)) {
      acts.push_back(LoopPart::Moved{moves, entries(at), s.ins});
      return;
    }
    acts.push_back(LoopPart::Called{&s, entries(at)});
  }
  struct Inner : ControlReader {
    Inner(Maker& m, Acts& to, const Step& s, const Places& places) : maker(m), acts(to), step(s), at(places) {}
    void read(const ScanLoop& l) override { maker.loop(acts, l, step, at); }
    void read(const WhileLoop& l) override { maker.loop(acts, l, step, at); }
    void read(const BranchChoice& c) override { maker.branch(acts, c, step, at); }
    Maker& maker;
    Acts& acts;
    const Step& step;
    const Places& at;
  };
  static bool near(const runtime::Moves& moves) {
    constexpr std::size_t kLong = 1 << 20;  // bytes that are worth several threads
    return std::all_of(moves.all.begin(), moves.all.end(), [](const runtime::Moves::Move& m) {
      return m.bytes <= kLong && m.from < kFarthest && m.to < kFarthest &&
             std::all_of(m.numbers.begin(), m.numbers.end(), [](const auto& n) { return n.at < kFarthest; });
    });
  }

  LoopPart::Copy copy(const Place& to, const Place& from, std::int64_t bytes) {
    const std::size_t target = entry(to);
    return {target, entry(from), static_cast<std::size_t>(bytes)};
  }

  std::unique_ptr<LoopPart::Loop> started(const Slots& slots) {
    auto part = std::make_unique<LoopPart::Loop>();
    for (const Slots::Start& s : slots.starts) part->begin.push_back(copy(s.to, s.from, s.bytes));
    return part;
  }

  void loop(Acts& acts, const ScanLoop& l, const Step& s, const std::vector<Place>& at) {
    Slots slots(l.body, levels_.size());
    wire(l, at.data(), at.data() + s.ins, at[s.ins + s.outs], slots);
    auto part = started(slots);
    part->turns = l.length;
    part->counter = blank();
    for (const bool odd : {false, true}) half(*part, odd, l.body, inside(l.body, slots.base[odd]));
    acts.push_back(std::move(part));
  }
  void half(LoopPart::Loop& part, bool odd, const Plan& body, const Places& places) {
    levels_.push_back({&part, odd});
    sequence(part.halves[odd].acts, body, places);
    levels_.pop_back();
  }

  void loop(Acts& acts, const WhileLoop& l, const Step& s, const std::vector<Place>& at) {
    const Place& mine = at[s.ins + s.outs];
    Slots asked(l.condition, levels_.size()), slots(l.body, levels_.size());
    wire(l, at.data(), at.data() + s.ins, mine, asked, slots);
    auto part = started(slots);
    part->conditional = true;
    for (std::size_t i = 0; i < l.carry; ++i) {
      const std::size_t slot = 1 + l.body_consts + i;
      if (!l.in_place[i]) part->after_odd.push_back(copy(slots.base[0][slot], slots.base[1][slot], l.carry_bytes[i]));
    }
    for (const bool odd : {false, true}) {
      half(*part, odd, l.body, inside(l.body, slots.base[odd]));
      sequence(part->halves[odd].condition, l.condition, inside(l.condition, asked.base[!odd]));  // of the next turn
      part->halves[odd].verdict = entry(moved(mine, l.verdict));
    }
    acts.push_back(std::move(part));
  }
  // Where the condition of the outermost loop writes what it finds.
  std::size_t verdict_of(const Plan& condition, const Places& places) {
    for (std::size_t i = 0; i < places.size(); ++i)
      if (static_cast<std::size_t>(condition.locs[i].slot) == condition.result_slot(0))
        return entry(moved(places[i], -condition.locs[i].offset));
    throw Unfit();
  }

  void branch(Acts& acts, const BranchChoice& c, const Step& s, const std::vector<Place>& at) {
    auto part = std::make_unique<LoopPart::Choice>();
    part->verdict = entry(at[0]);
    for (const bool otherwise : {false, true}) {
      const Plan& plan = otherwise ? c.otherwise : c.then;
      std::vector<Place> base(plan.slots());
      for (std::size_t i = 0; i < plan.params; ++i) base[1 + i] = at[1 + i];
      base[plan.arena_slot()] = at[s.ins + s.outs];
      for (std::size_t i = 0; i < plan.results; ++i) base[plan.result_slot(i)] = at[s.ins + i];
      sequence(part->branches[otherwise], plan, inside(plan, base));
    }
    acts.push_back(std::move(part));
  }

  std::vector<Level> levels_;
  std::vector<NativeLoop::Entry> entries_;
};

struct Outermost : ControlReader {
  Maker maker;
  LoopPart::Loop part;
  void read(const ScanLoop& l) override { part = maker.outermost(l); }
  void read(const WhileLoop& l) override { part = maker.outermost(l); }
  void read(const BranchChoice&) override { throw Unfit(); }
};

struct Context : runtime::LoopCode::Context {
  Run& run;
  std::exception_ptr error = nullptr;
  template <class Do>
  static bool kept(runtime::LoopCode::Context& c, const Do& what) noexcept {  // what it throws
    auto& mine = static_cast<Context&>(c);
    try {
      what(mine);
      return false;
    } catch (...) { mine.error = std::current_exception(); }
    return true;
  }
  static bool step(runtime::LoopCode::Context& c, const void* what, void** at) noexcept {
    return kept(c, [&](Context& mine) {
      mine.run.ask();
      run_step(*static_cast<const Step*>(what), mine.run, at);
    });
  }
  static bool look(runtime::LoopCode::Context& c) noexcept {
    return kept(c, [](Context& mine) {
      mine.ahead = kTurns;
      mine.run.turn(true, kTurns);
    });
  }
  Context(Run& r, std::int64_t many) : run(r) { turns = many, call = step, due = look; }
};

}  // namespace

const NativeLoop* NativeLoop::ready(const Loop& loop) {
  constexpr std::int64_t kPaysFrom = 2048;  // turns, each of which it makes some 20 ns shorter; it takes some 50 us
  if (!tried_.load(std::memory_order_acquire)) {
    if (turns_.fetch_add(1, std::memory_order_relaxed) + 1 < kPaysFrom) return nullptr;
    std::call_once(once_, [&] {
      try {
        Outermost outermost;
        loop.shown_to(outermost);
        code_ = runtime::make_loop_code(outermost.part);
        entries_ = std::move(outermost.maker).entries();
      } catch (const Unfit&) {}
      tried_.store(true, std::memory_order_release);
    });
  }
  return code_ ? this : nullptr;
}

std::int64_t NativeLoop::run(Run& r, void** table, std::int64_t turns) const {
  Context context(r, turns);
  const bool ended = code_->run(table, &context);
  if (const std::int64_t inner = Context::kTurns - context.ahead; inner > 0 && !ended) r.turn(true, inner);
  if (ended) std::rethrow_exception(context.error);
  return turns - context.turns;
}

}  // namespace shard::exec
