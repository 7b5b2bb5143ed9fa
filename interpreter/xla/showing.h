// What a call has shown, after it: lockstep does as much while it runs (exec::EffectCall).
#pragma once
#include <functional>
#include <map>

#include "interpreter/exec/executable.h"
#include "interpreter/hlo/module.h"
#include "runtime/mesh/device_array.h"

namespace shard::xla {

class Showing {
 public:
  using Blocks = std::shared_ptr<const runtime::RemoteBlocks>;
  // `blocks`: of a result of @main; asked for each once.
  Showing(const transform::Program& program, runtime::Pool& pool, const exec::Hooks& hooks,
          std::function<Blocks(std::size_t)> blocks)
      : program_(program), pool_(pool), hooks_(hooks), blocks_(std::move(blocks)) {}
  // `at`: the result that is the first operand of what is shown.
  void show(std::span<const hlo::Shown> all, std::size_t at) { show(all, at, {}); }

 private:
  struct Turn {  // of all loops around, together
    std::int64_t index = 0, count = 1;
  };
  void show(std::span<const hlo::Shown> all, std::size_t at, Turn turn);
  void effect(const hlo::Shown& one, std::size_t at, Turn turn);
  // A block on each device, without elements.
  runtime::DeviceArray block(const ir::Type& type, runtime::AxisSet differs) const;
  // Result `at`, blocks of all turns.
  const runtime::DeviceArray& all_turns(std::size_t at, const runtime::DeviceArray& block, Turn turn);

  const transform::Program& program_;
  runtime::Pool& pool_;
  const exec::Hooks& hooks_;
  std::function<Blocks(std::size_t)> blocks_;
  std::map<std::size_t, runtime::ArrayRef> here_;
};

}  // namespace shard::xla
