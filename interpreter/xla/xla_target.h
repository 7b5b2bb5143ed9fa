// The target `xla`: programs are printed as StableHLO (interpreter/hlo), compiled by a plug-in of PJRT and run on its
// devices, where their results stay. Single operations outside of compiled functions are not worth a compilation of
// theirs: they run in this process.
#pragma once
#include <functional>

#include "grammar/source.h"
#include "interpreter/exec/target.h"
#include "interpreter/xla/in_flight.h"
#include "runtime/pjrt/client.h"

namespace shard::xla {

namespace pjrt = runtime::pjrt;

class Engine final : public exec::Target {
 public:
  // `plugin`: a path, or empty for the one that is found (runtime/pjrt/plugin.h). `devices`: how many a mesh may have,
  // those of all processes; none: as many as there are. Throws RuntimeError("engine").
  Engine(const ir::OpTable& table, runtime::Pool& pool, const std::string& plugin, std::optional<int> devices,
         pjrt::Nodes nodes = {});
  int devices() const { return static_cast<int>(client_->devices().size()); }
  // What the spans of graphs are of: for the locations in what is compiled. Lives as long as the engine is used.
  void set_sources(const grammar::SourceMap& sources) { sources_ = &sources; }
  // Called before each call of a compiled function enters the plug-in.
  void set_entering(std::function<void()> entering) { entering_ = std::move(entering); }

  InFlight& in_flight() const { return *in_flight_; }

  bool takes_single() const override { return false; }
  std::string device_kind(int id) const override;
  std::optional<exec::DeviceBytes> device_bytes() const override;
  std::shared_ptr<const exec::Executable> compile(std::shared_ptr<const exec::Program> program,
                                                  std::span<const exec::ArrayInfo> arguments) const override;

 private:
  const ir::OpTable& table_;
  runtime::Pool& pool_;
  pjrt::ClientRef client_;
  std::shared_ptr<InFlight> in_flight_;
  const grammar::SourceMap* sources_ = nullptr;
  std::function<void()> entering_;
};

}  // namespace shard::xla
