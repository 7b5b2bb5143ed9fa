// Where storages lie. Steps are numbered; a storage lives from the step that writes it to the last one that reads it.
// The arena is filled first fit over these intervals; an elementwise result takes the place of an operand that dies
// with it.
#include <algorithm>
#include <map>
#include <set>

#include "interpreter/exec/draft.h"

namespace shard::exec {
namespace {

constexpr std::int64_t kAlign = 64;
std::int64_t aligned(std::int64_t bytes) { return (std::max<std::int64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign; }

class Arena {  // free intervals of one growing block
 public:
  std::int64_t take(std::int64_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    if (best != free_.end()) {
      auto [at, size] = *best;
      free_.erase(best);
      if (size > bytes) free_.emplace(at + bytes, size - bytes);
      return at;
    }
    std::int64_t at = end_;
    if (!free_.empty()) {
      auto last = std::prev(free_.end());
      if (last->first + last->second == end_) {  // the free tail grows
        at = last->first;
        free_.erase(last);
      }
    }
    end_ = at + bytes;
    return at;
  }
  void give(std::int64_t at, std::int64_t bytes) {
    auto next = free_.lower_bound(at);
    if (next != free_.end() && at + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == at) {
        before->second += bytes;
        return;
      }
    }
    free_.emplace(at, bytes);
  }
  std::int64_t end() const { return end_; }

 private:
  std::map<std::int64_t, std::int64_t> free_;
  std::int64_t end_ = 0;
};

// The parameters whose memory the results may take over: dead by the time the result is written, or overwritten in
// place.
void choose_donors(const Draft& d, const std::vector<int>& wanted, std::vector<ResultRef>& results) {
  std::vector<int> storage_of(d.params, -1), result_storage(results.size(), -1);
  for (std::size_t s = 0; s < d.storages.size(); ++s) {
    const Storage& st = d.storages[s];
    if (st.kind == Storage::Kind::Param) storage_of[static_cast<std::size_t>(st.param)] = static_cast<int>(s);
    if (st.result >= 0) result_storage[static_cast<std::size_t>(st.result)] = static_cast<int>(s);
  }
  std::vector<char> taken(d.params, 0);
  auto fits = [&](std::size_t r, int param, bool in_place_only) {
    if (taken[static_cast<std::size_t>(param)]) return false;
    const Storage& out = d.storages[static_cast<std::size_t>(result_storage[r])];
    int from = storage_of[static_cast<std::size_t>(param)];
    const Storage& in = d.storages[static_cast<std::size_t>(from)];
    if (in.bytes != out.bytes || in.last == Draft::kForever || out.born < 0) return false;
    if (in.last < out.born) return !in_place_only;
    if (in.last != out.born) return false;
    const DraftStep& step = d.steps[static_cast<std::size_t>(out.born)];
    return std::any_of(step.in_place.begin(), step.in_place.end(), [&](auto pair) {
      return step.outs[static_cast<std::size_t>(pair.first)].storage == result_storage[r] &&
             step.ins[static_cast<std::size_t>(pair.second)].storage == from;
    });
  };
  auto choose = [&](std::size_t r, int param) {
    results[r].donor = param;
    taken[static_cast<std::size_t>(param)] = 1;
  };
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (results[r].through) {
      taken[static_cast<std::size_t>(results[r].donor)] = 1;
      continue;
    }
    if (results[r].kind == ResultRef::Kind::Param) taken[static_cast<std::size_t>(results[r].index)] = 1;
  }
  for (int round = 0; round < 2; ++round)  // in place first: those save the traffic as well
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (results[r].kind != ResultRef::Kind::Own || results[r].donor >= 0 || result_storage[r] < 0) continue;
      if (r < wanted.size() && wanted[r] >= 0) {
        if (fits(r, wanted[r], false)) choose(r, wanted[r]);
        continue;
      }
      if (r < wanted.size() && wanted[r] == -2) continue;  // must not share
      for (std::size_t p = 0; p < d.params && results[r].donor < 0; ++p)
        if (fits(r, static_cast<int>(p), round == 0)) choose(r, static_cast<int>(p));
    }
}

// Where temporaries lie in the arena, and the most that lives at once.
class Temporaries {
 public:
  explicit Temporaries(const Draft& d)
      : d_(d), at_(d.storages.size(), -1), shares_(d.storages.size(), 0), home_(d.storages.size(), -1) {
    std::vector<std::vector<int>> dying(d.steps.size());
    for (std::size_t s = 0; s < d.storages.size(); ++s)
      if (const Storage& st = d.storages[s]; in_arena(static_cast<int>(s)) && st.born >= 0 && st.last < Draft::kForever)
        dying[static_cast<std::size_t>(st.last)].push_back(static_cast<int>(s));
    for (std::size_t i = 0; i < d.steps.size(); ++i) step(static_cast<int>(i), dying[i]);
  }
  std::int64_t at(int storage) const { return at_[static_cast<std::size_t>(storage)]; }
  std::int64_t scratch(std::size_t step) const { return scratch_[step]; }
  std::int64_t arena() const { return arena_.end(); }
  std::int64_t peak_device_bytes() const { return peak_; }

 private:
  const Storage& storage(int s) const { return d_.storages[static_cast<std::size_t>(s)]; }
  bool in_arena(int s) const { return storage(s).kind == Storage::Kind::Temporary && storage(s).result < 0; }

  void step(int now, const std::vector<int>& dying) {
    const DraftStep& step = d_.steps[static_cast<std::size_t>(now)];
    std::set<int> passed_on;
    for (std::size_t o = 0; o < step.outs.size(); ++o) {
      const int s = step.outs[o].storage;
      const auto us = static_cast<std::size_t>(s);
      if (!in_arena(s) || home_[us] >= 0) continue;
      if (const int from = operand_for(step, static_cast<int>(o), now, passed_on); from >= 0) {
        const auto uf = static_cast<std::size_t>(from);
        at_[us] = at_[uf];
        home_[us] = home_[uf];
        passed_on.insert(from);
      } else {
        at_[us] = arena_.take(aligned(storage(s).bytes));
        home_[us] = s;
      }
      ++shares_[static_cast<std::size_t>(home_[us])];
      live_ += storage(s).device_bytes;
    }
    const std::int64_t scratch = step.control ? step.control->scratch_bytes() : 0;
    scratch_.push_back(scratch > 0 ? arena_.take(aligned(scratch)) : 0);
    if (scratch > 0) arena_.give(scratch_.back(), aligned(scratch));
    peak_ = std::max(peak_, live_ + step.extra_device_bytes);
    for (int s : dying) {
      live_ -= storage(s).device_bytes;
      const int home = home_[static_cast<std::size_t>(s)];
      if (--shares_[static_cast<std::size_t>(home)] == 0) arena_.give(at(home), aligned(storage(home).bytes));
    }
  }

  // The operand that dies in this step and whose place its result `out` takes; -1 where there is none.
  int operand_for(const DraftStep& step, int out, int now, const std::set<int>& passed_on) const {
    const std::int64_t bytes = storage(step.outs[static_cast<std::size_t>(out)].storage).bytes;
    for (auto [result, operand] : step.in_place) {
      const int from = step.ins[static_cast<std::size_t>(operand)].storage;
      if (result == out && in_arena(from) && storage(from).last == now && !passed_on.count(from) &&
          storage(from).bytes >= bytes)
        return from;
    }
    return -1;
  }

  const Draft& d_;
  std::vector<std::int64_t> at_;  // offset in the arena
  std::vector<int> shares_;       // how many storages an interval of the arena still serves: by its first
  std::vector<int> home_;         // the storage that took the interval
  std::vector<std::int64_t> scratch_;
  Arena arena_;
  std::int64_t live_ = 0, peak_ = 0;
};

Loc loc_of(const Ref& r, const Draft& d, const Temporaries& temporaries, Plan& plan) {
  const Storage& s = d.storages[static_cast<std::size_t>(r.storage)];
  Loc l;
  l.offset = r.offset;
  if (s.kind == Storage::Kind::Constant) {
    l.offset += static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(s.data));
  } else if (s.kind == Storage::Kind::Param) {
    l.slot = s.param + 1;
  } else if (s.result >= 0) {
    l.slot = static_cast<std::int32_t>(plan.arena_slot()) + 1 + s.result;
  } else {
    l.slot = static_cast<std::int32_t>(plan.arena_slot());
    l.offset += temporaries.at(r.storage);
  }
  if (!r.terms.empty()) {
    l.terms = static_cast<std::int32_t>(plan.terms.size());
    plan.terms.push_back(r.terms);
  }
  return l;
}

}  // namespace

int Draft::temporary(std::int64_t bytes, std::int64_t device_bytes) {
  Storage s;
  s.bytes = bytes;
  s.device_bytes = device_bytes;
  storages.push_back(s);
  return static_cast<int>(storages.size()) - 1;
}

void Draft::add(DraftStep step) {
  int now = static_cast<int>(steps.size());
  for (const Ref& r : step.ins) {
    Storage& s = storages[static_cast<std::size_t>(r.storage)];
    if (s.last < now) s.last = now;
  }
  for (const Ref& r : step.outs) {
    Storage& s = storages[static_cast<std::size_t>(r.storage)];
    if (s.born < 0) s.born = now;
    if (s.last < now) s.last = now;
  }
  steps.push_back(std::move(step));
}

Finished finish(Draft d, const std::vector<int>& wanted, std::vector<ResultRef>& results) {
  choose_donors(d, wanted, results);
  const Temporaries temporaries(d);
  Finished out;
  out.peak_device_bytes = temporaries.peak_device_bytes();
  Plan& plan = out.plan;
  plan.params = d.params;
  plan.results = results.size();
  plan.constants = std::move(d.constants);
  plan.arena = temporaries.arena();
  for (std::size_t i = 0; i < d.steps.size(); ++i) {
    DraftStep& draft = d.steps[i];
    Step s;
    s.kernel = std::move(draft.kernel);
    s.control = std::move(draft.control);
    s.first = static_cast<std::uint32_t>(plan.locs.size());
    s.ins = static_cast<std::uint32_t>(draft.ins.size());
    s.outs = static_cast<std::uint32_t>(draft.outs.size());
    s.span = draft.span;
    for (const Ref& r : draft.ins) plan.locs.push_back(loc_of(r, d, temporaries, plan));
    for (const Ref& r : draft.outs) plan.locs.push_back(loc_of(r, d, temporaries, plan));
    if (s.control) plan.locs.push_back({static_cast<std::int32_t>(plan.arena_slot()), -1, temporaries.scratch(i)});
    plan.steps.push_back(std::move(s));
  }
  return out;
}

}  // namespace shard::exec
