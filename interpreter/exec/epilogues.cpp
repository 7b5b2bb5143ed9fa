// Epilogues: what an elementwise program makes of a product's result is made of each piece of it as soon as that is
// there, while it is in a cache.
#include <algorithm>
#include <utility>

#include "interpreter/exec/draft.h"
#include "runtime/kernels/kernels.h"

namespace shard::exec {
namespace {

bool same(const Ref& a, const Ref& b) { return a.storage == b.storage && a.offset == b.offset && a.terms == b.terms; }

// The kernel of both steps. Operands are the product's, then the program's; results the program's.
struct RunBoth {
  ir::RunPieces product;
  RunElements program;
  std::size_t over;                 // the result that is the product's, or lies where that does
  std::vector<std::size_t> inputs;  // of the program: which operand; kMade for the product's result
  static constexpr std::size_t kMade = static_cast<std::size_t>(-1);

  void operator()(void* const* in, void* const* out) const {
    std::vector<void*> from;
    for (const std::size_t i : inputs) from.push_back(i == kMade ? out[over] : in[i]);
    const runtime::Epilogue epilogue{program.kernel->together(), [&](std::int64_t first, std::int64_t end) {
                                       program.kernel->run_part(from.data(), out, first, end);
                                     }};
    product.kernel->run(in, out[over], &epilogue);
  }
};

class Epilogues {
 public:
  explicit Epilogues(Draft& d) : d_(d), readers_(d.storages.size(), 0), into_(d.steps.size()) {
    for (const DraftStep& s : d.steps) {
      std::vector<int> read;
      for (const Ref& r : s.ins) read.push_back(r.storage);
      std::sort(read.begin(), read.end());
      read.erase(std::unique(read.begin(), read.end()), read.end());
      for (int storage : read) ++readers_[static_cast<std::size_t>(storage)];
    }
  }

  void run() {
    std::vector<DraftStep> steps;
    for (std::size_t i = 0; i < d_.steps.size(); ++i) {
      if (!steps.empty() && join(steps.back(), d_.steps[i])) {
        into_[i] = static_cast<int>(steps.size()) - 1;
        continue;
      }
      into_[i] = static_cast<int>(steps.size());
      steps.push_back(std::move(d_.steps[i]));
    }
    if (steps.size() == d_.steps.size()) return d_.steps.swap(steps);
    for (Storage& s : d_.storages)
      for (std::optional<int>* step : {&s.born, &s.last})
        if (*step && **step < Storage::kForever) *step = at(**step, static_cast<int>(steps.size()));
    d_.steps.swap(steps);
  }

 private:
  int at(int step, int end) const {
    return static_cast<std::size_t>(step) < into_.size() ? into_[static_cast<std::size_t>(step)] : end;
  }

  // Makes the step that follows a part of this one.
  bool join(DraftStep& product, DraftStep& next) {
    const auto* pieces = product.kernel.target<ir::RunPieces>();
    const auto* program = next.kernel.target<RunElements>();
    if (!pieces || !program || program->kernel->together() == 0 ||
        !pieces->kernel->has_pieces(program->kernel->together()))
      return false;
    const Ref made = product.outs[0];
    const Storage& storage = d_.at(made.storage);
    const bool alone = storage.in_arena() && storage.last != Storage::kForever &&
                       readers_[static_cast<std::size_t>(made.storage)] == 1;
    std::size_t over = next.outs.size();
    for (auto [result, operand] : next.in_place)
      if (alone && same(next.ins[static_cast<std::size_t>(operand)], made)) over = static_cast<std::size_t>(result);
    if (alone && over == next.outs.size()) return false;
    RunBoth both{*pieces, *program, over, {}};
    std::vector<Ref> ins = product.ins;
    std::vector<int> place;  // of the program's operands
    for (std::size_t i = 0; i < next.ins.size(); ++i) {
      const bool is_made = same(next.ins[i], made);
      if (is_made ? !program->kernel->reads_in_order(i) : next.ins[i].storage == made.storage) return false;
      both.inputs.push_back(is_made ? RunBoth::kMade : ins.size());
      place.push_back(is_made ? -1 : static_cast<int>(ins.size()));
      if (!is_made) ins.push_back(next.ins[i]);
    }
    // Nothing is written over what the product still reads, or where its result lies.
    std::vector<std::pair<int, int>> in_place;
    for (auto [result, operand] : next.in_place) {
      const auto lies_there = [&](const Ref& r) {
        return r.storage == next.ins[static_cast<std::size_t>(operand)].storage;
      };
      if (place[static_cast<std::size_t>(operand)] >= 0 && static_cast<std::size_t>(result) != over &&
          std::none_of(product.ins.begin(), product.ins.end(), lies_there))
        in_place.emplace_back(result, place[static_cast<std::size_t>(operand)]);
    }
    if (alone) {
      d_.at(made.storage).born = d_.at(made.storage).last = std::nullopt;
      d_.leave_out(made.storage);
    } else {
      next.outs.push_back(made);
    }
    product.kernel = std::move(both);
    product.ins = std::move(ins);
    product.outs = std::move(next.outs);
    product.in_place = std::move(in_place);
    product.scratch = std::max(product.scratch, next.scratch);
    return true;
  }

  Draft& d_;
  std::vector<int> readers_;  // by storage: steps
  std::vector<int> into_;     // by step: what it has become
};

}  // namespace

void join_epilogues(Draft& d) {
  if (d.runs) Epilogues(d).run();
}

}  // namespace shard::exec
