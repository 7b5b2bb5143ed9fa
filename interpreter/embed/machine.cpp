#include "interpreter/embed/machine.h"

#include "stdlib/stdlib.h"

namespace shard::embed {

Machine::Machine(lang::Options options) {
  stdlib::install(table_);
  if (options.memory > 0) pool_.set_limit(options.memory);
  if (!options.embedded_module) options.embedded_module = stdlib::embedded_module;
  context_ = std::make_unique<trace::Context>(table_, pool_, options.devices);
  if (options.debug_nans)
    context_->set_target(context_->target("watch"));  // exact too
  else if (options.exact)
    context_->set_target(context_->target("exact"));
  interpreter_ = std::make_unique<lang::Interpreter>(*context_, std::move(options));
  stdlib::install(*interpreter_);
}

}  // namespace shard::embed
