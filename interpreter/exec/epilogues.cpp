// Epilogues: what an elementwise program makes of a product's result is made of each piece of it as soon as that is
// there, while it is in a cache.
#include <algorithm>
#include <utility>

#include "interpreter/exec/draft.h"
#include "runtime/kernels/kernels.h"

namespace shard::exec {
namespace {

// The kernel of both steps. Operands are the product's, then the program's; results the program's, or these and the
// product's.
struct RunBoth {
  ir::RunPieces product;
  RunElements program;
  std::size_t first;               // operand of the program
  std::optional<std::size_t> out;  // the result that is the product's, or lies where that does; none: nobody keeps it
  std::vector<char> is_made;       // by operand of the program: it is the product's result, wherever that lies now

  void operator()(void* const* in, void* const* results) const {
    const runtime::Epilogue epilogue{program.kernel->together(), [&](std::int64_t from, std::int64_t to, void* made) {
                                       std::vector<void*> operands(in + first, in + first + is_made.size());
                                       for (std::size_t i = 0; i < operands.size(); ++i)
                                         if (is_made[i]) operands[i] = made;
                                       program.kernel->run_part(operands.data(), results, from, to);
                                     }};
    product.kernel->run(in, out ? results[*out] : nullptr, &epilogue);
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

  // Whether the program reads the product's result, and only as it lies.
  static bool reads_pieces(const DraftStep& step, const runtime::ElementKernel& program, const Ref& made) {
    bool reads = false;
    for (std::size_t i = 0; i < step.ins.size(); ++i) {
      if (step.ins[i].storage != made.storage) continue;
      if (step.ins[i] != made || !program.reads_in_order(i)) return false;
      reads = true;
    }
    return reads;
  }

  // Makes the step that follows a part of this one.
  bool join(DraftStep& step, DraftStep& next) {
    const auto* product = step.kernel.target<ir::RunPieces>();
    const auto* program = next.kernel.target<RunElements>();
    if (!product || !program || !reads_pieces(next, *program->kernel, step.outs[0])) return false;
    const std::int64_t together = program->kernel->together();
    if (together == 0 || !product->kernel->has_pieces(together)) return false;
    const Ref made = step.outs[0];
    Storage& storage = d_.at(made.storage);
    const auto operand = [&](std::pair<int, int> pair) { return next.ins[static_cast<std::size_t>(pair.second)]; };
    std::optional<std::size_t> out;
    if (readers_[static_cast<std::size_t>(made.storage)] == 1 && storage.in_arena() &&
        storage.last != Storage::kForever) {
      for (const auto& pair : next.in_place)
        if (operand(pair) == made) out = static_cast<std::size_t>(pair.first);
      storage.born = storage.last = std::nullopt;
      d_.leave_out(made.storage);
    } else {
      out = next.outs.size();
      next.outs.push_back(made);
    }
    // Nothing else is written over what the product still reads, or where its result lies.
    std::erase_if(next.in_place, [&](const auto& pair) {
      const auto lies_there = [&](const Ref& r) { return r.storage == operand(pair).storage; };
      return static_cast<std::size_t>(pair.first) == out || operand(pair).storage == made.storage ||
             std::any_of(step.ins.begin(), step.ins.end(), lies_there);
    });
    for (auto& pair : next.in_place) pair.second += static_cast<int>(step.ins.size());
    std::vector<char> is_made;
    for (const Ref& r : next.ins) is_made.push_back(r.storage == made.storage);
    step.kernel = RunBoth{*product, *program, step.ins.size(), out, std::move(is_made)};
    step.ins.insert(step.ins.end(), next.ins.begin(), next.ins.end());
    step.outs = std::move(next.outs);
    step.in_place = std::move(next.in_place);
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
