#include "interpreter/embed/machine.h"

#include "runtime/channel/processes.h"
#include "stdlib/stdlib.h"

namespace shard::embed {
namespace {

std::uint32_t line_at(const grammar::SourceMap& sources, runtime::ScriptPlace at) {
  if (!sources.has(at.source) || at.offset > sources.at(at.source).text().size()) return 0;
  return static_cast<std::uint32_t>(sources.at(at.source).position(at.offset).line);
}

xla::pjrt::Nodes nodes_of(runtime::Processes* processes, const Runs& runs) {
  if (!processes) return {};
  processes->beat();
  if (!runs.values)
    throw runtime::RuntimeError(
        "engine", "engine xla has all devices in one process here: only the program `shard` runs it in several");
  const auto [neighbour, neighbours] = processes->neighbours();
  return {processes->index(),
          processes->count(),
          neighbour,
          neighbours,
          1,
          runs.values(*processes, neighbours == processes->count())};
}

}  // namespace

std::vector<grammar::Diagnostic> caught(lang::Interpreter& in) {
  const auto plain = [&](const std::string& code, const std::string& message) {
    return std::vector<grammar::Diagnostic>{{code, in.context().span(), message, {}, {}, {}}};
  };
  try {
    throw;
  } catch (const grammar::Error& e) {
    return {e.all().begin(), e.all().end()};
  } catch (const runtime::RuntimeError& e) { return plain(e.code, e.what()); } catch (const std::bad_alloc&) {
    return plain("memory", "there is not enough memory for this");
  } catch (const std::exception& e) { return plain("internal", std::string("a fault in Shard itself: ") + e.what()); }
}

Machine::Machine(lang::Options options, const Runs& runs) {
  stdlib::install(table_);
  if (options.memory > 0) pool_.set_limit(options.memory);
  if (!options.embedded_module) options.embedded_module = stdlib::embedded_module;
  constexpr std::string_view kXla = "xla";
  const std::string_view engine = runs.engine;
  if (engine == kXla || engine.starts_with("xla:")) {
    constexpr int most = 65536;  // each takes hundreds of bytes of the client's memory
    if (options.devices > most)
      throw runtime::RuntimeError("engine", "engine xla has at most " + std::to_string(most) + " devices, not " +
                                                std::to_string(options.devices) +
                                                ": more can be checked, explained and estimated");
    const auto asked = runs.all_devices ? std::nullopt : std::optional(options.devices);
    xla_ = std::make_unique<xla::Engine>(table_, pool_, runs.engine.substr(std::min(engine.size(), kXla.size() + 1)),
                                         asked, nodes_of(options.processes.get(), runs));
    if (runs.all_devices) options.devices = xla_->devices();
  }
  context_ = std::make_unique<trace::Context>(table_, pool_, options.devices);
  context_->set_processes(options.processes);
  choose(options, runs.engine);
  const std::shared_ptr<runtime::Processes> processes = options.processes;
  interpreter_ = std::make_unique<lang::Interpreter>(*context_, std::move(options));
  if (processes)
    processes->set_script({[in = interpreter_.get()] {
                             const grammar::Span at = in->context().span();
                             return runtime::ScriptPlace{at.source, at.begin};
                           },
                           [in = interpreter_.get()](runtime::ScriptPlace at) { return line_at(in->sources(), at); }});
  if (xla_) {
    xla_->set_sources(interpreter_->sources());
    xla_->in_flight().set_place([in = interpreter_.get()] { return in->context().span(); });
    xla_->in_flight().set_processes(processes);
  }
  if (xla_ && runs.entering)
    xla_->set_entering([in = interpreter_.get(), entering = runs.entering] {
      const grammar::Span at = in->context().span();
      if (in->sources().has(at.source))
        entering(in->sources().at(at.source).name() + ":" +
                 std::to_string(line_at(in->sources(), {at.source, at.begin})));
    });
  stdlib::install(*interpreter_);
}

void Machine::leave() {
  if (xla_) xla_->in_flight().wait_for_all();
  if (xla_ && context_->processes()) context_->processes()->meet({"the end of the script"});
}

void Machine::choose(const lang::Options& options, const std::string& engine) {
  const bool own = options.debug_nans || options.exact;
  const auto refuse = [](const std::string& why) { throw runtime::RuntimeError("engine", why); };
  if (!engine.empty() && own)
    refuse("an engine is chosen twice: " + engine + ", and by " + (options.debug_nans ? "debug nans" : "exact"));
  if (xla_) return context_->set_target(*xla_);
  if (engine.empty() && !own) return;
  const std::string_view name = options.debug_nans ? "nan_check" : options.exact ? "exact" : std::string_view(engine);
  std::vector<std::string> known = {"xla"};
  for (const exec::TargetRow& row : exec::targets()) {
    if (!context_->target(row.name).holds_elements()) continue;  // runs nothing
    if (row.name == name) return context_->set_target(context_->target(name));
    known.emplace_back(row.name);
  }
  const auto near = grammar::near_miss(engine, known);
  refuse("there is no engine `" + engine + "`" +
         (near ? ", did you mean `" + *near + "`?" : "; `shard engines` lists them"));
}

}  // namespace shard::embed
