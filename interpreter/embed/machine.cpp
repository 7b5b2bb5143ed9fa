#include "interpreter/embed/machine.h"

#include "runtime/channel/processes.h"
#include "stdlib/stdlib.h"

namespace shard::embed {

Machine::Machine(lang::Options options) {
  stdlib::install(table_);
  if (options.memory > 0) pool_.set_limit(options.memory);
  if (!options.embedded_module) options.embedded_module = stdlib::embedded_module;
  context_ = std::make_unique<trace::Context>(table_, pool_, options.devices);
  context_->set_processes(options.processes);
  if (options.debug_nans)
    context_->set_target(context_->target("watch"));  // exact too
  else if (options.exact)
    context_->set_target(context_->target("exact"));
  const std::shared_ptr<runtime::Processes> processes = options.processes;
  interpreter_ = std::make_unique<lang::Interpreter>(*context_, std::move(options));
  if (processes)
    processes->set_line([in = interpreter_.get()] {
      const grammar::Span at = in->context().span();
      const bool known = in->sources().has(at.source);
      return known ? static_cast<std::uint32_t>(in->sources().at(at.source).position(at.begin).line) : 0;
    });
  stdlib::install(*interpreter_);
}

}  // namespace shard::embed
