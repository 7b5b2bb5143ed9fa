// A target: what runs programs. `lockstep` runs all devices in this process; others may run them elsewhere, hold their
// arrays there, or only say what a run would need. To add one: a file with a class and a function that makes it, and a
// line in targets.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "interpreter/exec/executable.h"
#include "interpreter/transform/pipeline.h"

namespace shard::exec {

struct DeviceBytes {  // of the device that holds most; 0: not known
  std::int64_t in_use = 0, peak = 0, limit = 0;
};

class Target {
 public:
  virtual ~Target() = default;
  // What it wants of the pipeline.
  virtual transform::Passes passes() const { return {}; }
  // False: results are arrays without elements, and reading one is an error. Then an operation has no effect either.
  virtual bool holds_elements() const { return true; }
  // False: an operation outside of compiled functions is not worth a compilation there; `lockstep` does it.
  virtual bool takes_single() const { return true; }
  // What the device of this id is, for those who ask the script's `devices()`.
  virtual std::string device_kind(int) const { return "simulated"; }
  // What devices with memory of their own hold now; nothing: it is not known, or there are none.
  virtual std::optional<DeviceBytes> device_bytes() const { return std::nullopt; }
  // `arguments`: how the arrays are laid out that each run will be given. They may be another target's: elements of an
  // array that has no buffer are asked of whoever holds them (runtime::DeviceArray).
  virtual std::shared_ptr<const Executable> compile(std::shared_ptr<const Program> program,
                                                    std::span<const ArrayInfo> arguments) const = 0;
};

// The pipeline, then the target. Throws grammar::Error / RuntimeError. graph: global, already differentiated.
std::shared_ptr<const Executable> compile(const Target& target, const ir::OpTable& table, const ir::Graph& graph,
                                          std::span<const ArrayInfo> arguments, const runtime::MeshRef& mesh);

// THE list of targets. Engines find them by name; one that is not in the list can be handed to a context as an object.
struct TargetRow {
  std::string_view name, doc;
  std::unique_ptr<const Target> (*make)(const ir::OpTable& table, runtime::Pool& pool);
};
std::span<const TargetRow> targets();
std::unique_ptr<const Target> make_target(std::string_view name, const ir::OpTable& table, runtime::Pool& pool);

std::unique_ptr<const Target> make_lockstep(const ir::OpTable& table, runtime::Pool& pool, bool exact = false,
                                            bool nan_check = false);
// By default as lockstep: what a device holds is what it holds there.
std::unique_ptr<const Target> make_abstract(
    const ir::OpTable& table, runtime::Pool& pool,
    transform::Passes passes = {.partition = true, .early_sums = true, .join_sums = false, .both_ways = true});

}  // namespace shard::exec
