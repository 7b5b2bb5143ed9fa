// shard compile: the compiled calls of a script, which is run without data, are compiled by a plug-in of PJRT for a
// machine that need not be here; what it needs of a device's memory stands beside what Shard predicts.
#include "interpreter/cli/cost/prediction.h"
#include "interpreter/hlo/module.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/exported.h"
#include "runtime/pjrt/topology.h"

namespace shard::cli {
namespace {

namespace pjrt = runtime::pjrt;

struct Row {
  const char* name;
  std::int64_t pjrt::MemoryStats::*engine;
  std::int64_t exec::MemoryUse::*ours;  // null: Shard has none
};
constexpr Row kRows[] = {
    {"arguments", &pjrt::MemoryStats::arguments, &exec::MemoryUse::arguments},
    {"results", &pjrt::MemoryStats::results, &exec::MemoryUse::results},
    {"temporaries", &pjrt::MemoryStats::temporaries, &exec::MemoryUse::temporaries},
    {"given_away", &pjrt::MemoryStats::aliased, nullptr},
    {"code", &pjrt::MemoryStats::code, nullptr},
    {"peak", &pjrt::MemoryStats::peak, nullptr},
};

struct Compiled {
  pjrt::MemoryStats memory;
  std::string error;
};

// What the plug-in says is wrong comes back as a sentence: the other calls are compiled all the same.
Compiled compiled_by(const std::shared_ptr<const pjrt::Plugin>& plugin, const pjrt::TargetMachine& machine,
                     const std::string& text, std::size_t replicas) {
  try {
    return {pjrt::compile_for(plugin, machine, text, replicas), ""};
  } catch (const runtime::RuntimeError& e) { return {{}, e.what()}; }
}

// The chips that a plug-in for CUDA compiles for.
std::vector<pjrt::Gpu> gpus() {
  std::vector<pjrt::Gpu> out;
  const auto machine = make_machine({});
  for (const cost_model::Chip& c : stdlib::all_chips(machine->interpreter()))
    if (!c.described.empty())
      out.push_back({c.name, c.described, c.capability, c.units, c.lanes, c.shared, c.clock, c.bandwidth, c.memory,
                     c.last_cache, static_cast<int>(c.domain[0])});
  return out;
}

// Collectives by the hosts that they go between. Nothing where there is one host.
struct BetweenHosts {
  struct One {
    std::string kind, over;
    int line;
    std::int64_t count, hosts, bytes;
  };
  std::vector<One> between;
  std::int64_t inside = 0;  // a host
  int per_host = 0;         // devices
};

std::optional<BetweenHosts> between_hosts(const lang::CompiledCall& call, int per_host,
                                          const grammar::SourceMap& sources) {
  const runtime::MeshRef& mesh = call.plan->program().mesh;
  if (!mesh || per_host == 0 || per_host >= mesh->size()) return std::nullopt;
  cost_model::Chip host;
  host.domain = {per_host};
  BetweenHosts out;
  out.per_host = per_host;
  for (const transform::CommRecord& c : call.plan->program().communication) {
    const std::vector<runtime::AxisId> axes = runtime::axes_of(*mesh, c.axes);
    const cost_model::Group group = cost_model::group_of(host, *mesh, axes);
    if (group.together == group.devices)
      out.inside += c.count;
    else
      out.between.push_back({c.kind, grammar::separated(c.axes, ", ", [](const std::string& a) { return "@" + a; }),
                             source_line(sources, c.span), c.count, group.devices / group.together, c.bytes});
  }
  return out;
}

std::string page(const BetweenHosts& hosts) {
  std::string out = "  between hosts of " + std::to_string(hosts.per_host) + " devices" +
                    (hosts.between.empty() ? ": none" : "") + ", inside: " + std::to_string(hosts.inside) +
                    " collectives\n";
  for (const auto& one : hosts.between)
    out += "    " + one.kind + " over " + one.over + ", line " + std::to_string(one.line) + ": " +
           (one.count > 1 ? std::to_string(one.count) + " times, " : "") + std::to_string(one.hosts) + " hosts, " +
           bytes_text(static_cast<double>(one.bytes)) + "\n";
  return out;
}

std::string json(const BetweenHosts& hosts) {
  const std::string list = grammar::separated(hosts.between, ", ", [](const BetweenHosts::One& one) {
    return "{\"kind\": " + lang::json_string(one.kind) + ", \"over\": " + lang::json_string(one.over) +
           ", \"line\": " + std::to_string(one.line) + ", \"count\": " + std::to_string(one.count) +
           ", \"hosts\": " + std::to_string(one.hosts) + ", \"bytes\": " + std::to_string(one.bytes) + "}";
  });
  return "{\"devices_a_host\": " + std::to_string(hosts.per_host) + ", \"inside\": " + std::to_string(hosts.inside) +
         ", \"between\": [" + list + "]}";
}

std::string page(const lang::CompiledCall& call, int line, const std::string& word, const std::string& by,
                 const Compiled& made) {
  const exec::MemoryUse& ours = call.plan->memory();
  std::string out = call.name + ", line " + std::to_string(line) + ", for " + word + " by " + by +
                    "\n  on a device    engine      Shard\n";
  for (const Row& row : kRows) {
    const std::int64_t theirs = made.memory.*row.engine;
    if (!row.ours && theirs == 0) continue;  // not said, or none
    out += "  " + left(spaced(row.name), 15) + left(bytes_text(static_cast<double>(theirs)), row.ours ? 12 : 0) +
           (row.ours ? bytes_text(static_cast<double>(ours.*row.ours)) : "") + "\n";
  }
  return out;
}

std::string json(const lang::CompiledCall& call, int line, const Compiled& made,
                 const std::optional<BetweenHosts>& hosts) {
  const exec::MemoryUse& ours = call.plan->memory();
  std::string out = "{\"name\": " + lang::json_string(call.name) + ", \"line\": " + std::to_string(line);
  if (!made.error.empty()) return out + ", \"error\": " + lang::json_string(made.error) + "}";
  std::string engine, shard;
  for (const Row& row : kRows) {
    const std::string name = lang::json_string(row.name) + ": ";
    engine += (engine.empty() ? "" : ", ") + name + std::to_string(made.memory.*row.engine);
    if (row.ours) shard += (shard.empty() ? "" : ", ") + name + std::to_string(ours.*row.ours);
  }
  return out + ", \"engine\": {" + engine + "}, \"shard\": {" + shard + "}" +
         (hosts ? ", \"hosts\": " + json(*hosts) : "") + "}";
}

int compile_programs(const Arguments& a) {
  const std::string word = a.value("--for"), name = a.value("--function"), engine = a.value("--engine");
  pjrt::TargetMachine machine;
  std::shared_ptr<const pjrt::Plugin> plugin;
  try {
    machine = pjrt::machine_named(word, gpus());
    plugin = pjrt::plugin_for(machine, engine.starts_with("xla:") ? engine.substr(4) : engine);
  } catch (const runtime::RuntimeError& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
  std::string text;
  if (!read_script(a.words[0], text)) return 1;
  Settings settings = a.settings;
  settings.devices = machine.devices;
  settings.engine.clear();  // it compiles, and runs nothing
  DryRun script(settings, true);
  if (const int status = script.run(a.words[0], std::move(text), tell)) return status;
  script.tell_passed_over();
  const std::string by = "PJRT " + std::to_string(plugin->major()) + "." + std::to_string(plugin->minor());
  std::string out;
  bool all_well = true;
  const int status = guarded(script.interpreter(), [&] {
    for (const Prediction& f : script.calls()) {
      if (!name.empty() && f.call.name != name) continue;
      const ir::OpTable& table = script.interpreter().context().table();
      const hlo::Module module = lang::exported(f.call, hlo::Form::Replica, table, script.sources());
      const runtime::MeshRef& mesh = f.call.plan->program().mesh;
      const Compiled made =
          compiled_by(plugin, machine, module.text, mesh ? static_cast<std::size_t>(mesh->size()) : 1);
      const int line = source_line(script.sources(), f.call.where);
      if (!made.error.empty()) {
        all_well = false;
        tell({"engine", f.call.where, made.error, {}, {}, {}}, script.sources());
      }
      const auto hosts = between_hosts(f.call, machine.per_host, script.sources());
      if (a.has("--json"))
        out += (out.empty() ? "" : ",\n ") + json(f.call, line, made, hosts);
      else if (made.error.empty())
        out += page(f.call, line, word, by, made) + (hosts ? page(*hosts) : "");
    }
    if (out.empty() && all_well) throw runtime::RuntimeError("value", "no compiled function is called '" + name + "'");
  });
  if (status != 0) return status;
  print_out(a.has("--json") ? "{\"for\": " + lang::json_string(word) +
                                  ", \"plugin\": " + lang::json_string(plugin->path()) + ", \"calls\": [" + out + "]}\n"
                            : out);
  return all_well ? 0 : 1;
}

}  // namespace

Command compile_command() {
  return {
      "compile",
      "Compile a script's compiled calls for a machine that need not be present; their memory next to Shard's estimate",
      {{"file", "The script (- reads it from standard input)", Option::Word, true},
       {"--for",
        "h100x8 (h200, a100, b200; h100x16: two hosts), v5e:2x4 (TPUs) or cpu:8; there are as many devices for the "
        "script",
        Option::Value, true},
       {"--function", "Only the compiled function of this name", Option::Value},
       {"--engine", "The plug-in, xla:PLUGIN.so; else the first found that is for such a machine", Option::Value},
       {"--json", "One JSON object on standard output"}},
      true,
      compile_programs};
}

}  // namespace shard::cli
