#include "interpreter/embed/machine.h"

#include "runtime/channel/processes.h"
#include "stdlib/stdlib.h"

namespace shard::embed {
namespace {

std::uint32_t line_at(const grammar::SourceMap& sources, runtime::ScriptPlace at) {
  if (!sources.has(at.source) || at.offset > sources.at(at.source).text().size()) return 0;
  return static_cast<std::uint32_t>(sources.at(at.source).position(at.offset).line);
}

}  // namespace

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
    processes->set_script({[in = interpreter_.get()] {
                             const grammar::Span at = in->context().span();
                             return runtime::ScriptPlace{at.source, at.begin};
                           },
                           [in = interpreter_.get()](runtime::ScriptPlace at) { return line_at(in->sources(), at); }});
  stdlib::install(*interpreter_);
}

}  // namespace shard::embed
