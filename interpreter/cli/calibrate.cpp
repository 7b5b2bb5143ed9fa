// shard calibrate: measures this machine as the engine uses it, and writes it as a chip that `--chip FILE.shard` takes.
// Small compiled functions are run and timed; the chip's figures are those with which the clock predicts all of them
// best. None of them is a program that somebody might predict later.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "interpreter/cli/cost/measured.h"
#include "interpreter/cli/cost/profile.h"
#include "interpreter/cli/cost/settle.h"
#include "stdlib/packed_text.h"

namespace shard::cli {
namespace {

using cost_model::Chip;

struct ChannelFigures {  // of the channel between processes of this machine
  double latency = 0;    // seconds of one message
  double bandwidth = 0;  // bytes/s of a process, each way
};
// All-reduces of a few and of many bytes over so many processes, measured in a job of its own, whose script lies in
// memory; nothing where that fails, which then has been told.
std::optional<ChannelFigures> measure_channel(int processes) {
  constexpr double kManyBytes = 4 << 20;
  const std::string text = stdlib::unpacked(stdlib::program_texts(), "channel_sums"), n = std::to_string(processes);
  const int script = memfd_create("sums", 0);
  if (script < 0 || fchmod(script, S_IRUSR) != 0 || write(script, text.data(), text.size()) != std::ssize(text)) {
    std::fputs("error: there is no room for a script in memory\n", stderr);
    return std::nullopt;
  }
  const std::string own = "/proc/" + std::to_string(getpid());  // the shell's own would be the shell
  std::FILE* said = popen(
      (own + "/exe launch -n " + n + " --devices " + n + " " + own + "/fd/" + std::to_string(script)).c_str(), "r");
  double few = 0, many = 0;
  const bool understood = said && std::fscanf(said, "%lf %lf", &few, &many) == 2;
  const int status = said ? pclose(said) : -1;
  close(script);
  if (!understood || status != 0 || few <= 0) {
    std::fprintf(stderr, "error: %d processes could not be measured\n", processes);
    return std::nullopt;
  }
  // A sum goes round twice, once to be added and once to be known (cost_model/collective_cost.cpp).
  const double others = processes - 1;
  return ChannelFigures{few / (2 * others), 2 * kManyBytes * others / processes / std::max(many - few, 1e-9)};
}

struct Sample {
  std::string name;
  std::shared_ptr<const cost_model::Instructions> works;
  std::shared_ptr<const exec::Executable> plan;  // whose nodes the works name
  const runtime::Mesh* mesh;
  double seconds, between;  // ... of a call besides its instructions
};

double predicted(const Chip& chip, const Sample& s) {
  return cost_model::play(chip, *s.works, s.mesh).seconds + chip.call;
}
double error_of(const Chip& chip, const std::vector<Sample>& samples) {  // mean |log|: twice and half are as bad
  double sum = 0;
  for (const Sample& s : samples) sum += std::abs(std::log(predicted(chip, s) / s.seconds));
  return sum / static_cast<double>(samples.size());
}

// By smaller and smaller steps.
void search(Chip& chip, const std::vector<Sample>& samples) {
  std::vector<Figure> figures;
  for (double* f : {&chip.flops[0].second, &chip.bandwidth, &chip.cache_bandwidth, &chip.points, &chip.fill,
                    &chip.cache, &chip.copying, &chip.dispatch, &chip.tile_rows, &chip.tile_columns})
    figures.push_back({f, HUGE_VAL});
  double best = error_of(chip, samples);
  for (double step = 2; step > 1.01; step = std::sqrt(step)) {
    if (step < 2) figures.resize(8);  // sizes of tiles are powers of two
    best = settle(figures, step, best, 1e-6, [&] { return error_of(chip, samples); });
  }
}

// f([[a, b], [a, b]]), which does the same twice, as "f(a, b), 2 of them".
std::string shown(const std::string& function, const std::string& arguments) {
  if (!arguments.starts_with("[[")) return function + "(" + arguments + ")";
  std::size_t end = 0;
  int depth = 0, count = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == '[') ++depth;
    if (arguments[i] == ']' && --depth == 1 && count++ == 0) end = i;
  }
  return function + "(" + arguments.substr(2, end - 2) + ")" +
         (count == 1 ? "" : ", " + std::to_string(count) + " of them");
}

// Runs a script, and gives what its calls took, with what they have to do; of several runs the least, as machines are
// busy for seconds at a time.
// Gives the machine whose rows and programs the works name.
std::unique_ptr<embed::Machine> measure(const Arguments& a, int runs, std::string_view name,
                                        std::vector<Sample>& samples) {
  const std::string script = stdlib::unpacked(stdlib::program_texts(), name);
  std::unique_ptr<embed::Machine> first;
  for (int run = 0; run < runs; ++run) {
    RunProfile profile("", {});
    lang::Options options;
    options.output = [](std::string_view) {};
    profile.watch(options);
    auto machine = make_machine(a.settings, std::move(options));
    lang::Interpreter& in = machine->interpreter();
    profile.time(in);
    if (guarded(in, [&] { in.run("<calibrate>", script); }) != 0) return nullptr;
    std::size_t i = 0;
    for (const RunProfile::Ran& r : profile.ran()) {
      const transform::Program& program = r.call.call.plan->program();
      if (run == 0) {
        samples.push_back({shown(r.call.call.name, grammar::separated(r.call.call.arguments)),
                           cost_model::instructions_of(*r.call.call.plan, 1), r.call.call.plan, program.mesh.get(),
                           r.times->seconds(), r.times->between});
      } else if (i < samples.size()) {
        samples[i].seconds = std::min(samples[i].seconds, r.times->seconds());
      }
      ++i;
    }
    if (run == 0) first = std::move(machine);
  }
  return first;
}

std::string record(const Chip& chip, int devices, double error) {
  char day[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(day, sizeof day, "%Y-%m-%d", std::gmtime(&now));
  double load[1] = {0};
  const bool known = getloadavg(load, 1) == 1;
  return chip_script(chip, "# This machine as `shard calibrate` measured it on " + std::string(day) + ": " +
                               std::to_string(std::thread::hardware_concurrency()) + " processors" +
                               (known ? ", load " + number(load[0]) : "") + ", " + std::to_string(devices) +
                               " simulated devices" +
                               (chip.simulated > 1 ? " in " + number(chip.simulated) + " processes" : "") +
                               ", which share all of it. Its own\n# small programs are predicted with " +
                               percent_text(error, 1) + " of error.\n");
}

int calibrate(const Arguments& a) {
  if (const std::string measured = a.value("--measured"); !measured.empty()) {
    if (a.value("--chip").empty())
      return misused("--measured says which chip was measured: --chip h100, and --stack for other software than xla");
    const std::vector<Chip> chips = read_chips(a.value("--chip"), 1, a.value("--stack"));
    return chips.empty() ? 1 : calibrate_to(measured, chips[0], a);
  }
  std::vector<Sample> samples, types;
  const auto runs = number_of(a.value("--runs").empty() ? "5" : a.value("--runs"), 1, 1000);
  if (!runs) return misused("--runs is a number from 1 on");
  const auto processes = number_of(a.value("--processes").empty() ? "1" : a.value("--processes"), 1, 64);
  if (!processes) return misused("--processes takes how many there are, 1 to 64, not '" + a.value("--processes") + "'");
  Chip chip;
  if (*processes > 1) {
    const auto channel = measure_channel(*processes);
    if (!channel) return 1;
    chip.network = channel->bandwidth;
    chip.network_latency = channel->latency;
    chip.network_share = 1;
  }
  const auto programs = measure(a, *runs, "calibration", samples);
  if (!programs || !measure(a, *runs, "calibration_types", types)) return 1;
  chip.name = "this machine";
  chip.domain = {1};
  chip.basis = "this machine, as `shard calibrate` measured it";
  chip.flops = {{runtime::DType::F32, 1e11}};
  chip.memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  chip.bandwidth = 1e10;
  chip.memory_share = chip.product_share = chip.kernel_share = 1;
  chip.simulated = 1;  // while it is searched: the programs ran in this process
  chip.units = 1;
  chip.tile_rows = chip.tile_columns = 8;
  chip.fill = 16;
  // A call as such, and an instruction, are measured by themselves: the smallest ones.
  chip.call = samples[0].between;
  double small = 0, instructions = 0;
  for (const Sample& s : samples) {
    chip.call = std::min(chip.call, s.between);
    if (s.works->list.size() < 20 || s.seconds > 1e-5) continue;
    small += s.seconds - s.between;
    instructions += static_cast<double>(s.works->list.size());
  }
  chip.launch = instructions > 0 ? small / instructions : 1e-6;
  chip.dispatch = chip.launch;
  chip.cache = 4 << 20;
  chip.cache_bandwidth = 5e10;
  chip.points = 2e9;
  chip.copying = 5e9;
  search(chip, samples);
  for (std::size_t i = 1; i < types.size(); ++i)
    chip.flops.emplace_back(i == 1 ? runtime::DType::F64 : runtime::DType::BF16,
                            chip.flops[0].second * types[0].seconds / types[i].seconds);
  const double error = error_of(chip, samples);
  std::string text = "   measured  predicted   program\n";
  for (const Sample& s : samples)
    text += right(time_text(s.seconds), 11) + right(time_text(predicted(chip, s)), 11) + "   " + s.name + "\n";
  chip.simulated = *processes;
  chip.spread = std::max(0.15, kSpreadOfMean * error);
  const std::string file = a.value("-o").empty() ? "machine.shard" : a.value("-o");
  if (!write_file(file, record(chip, a.settings.devices, error))) return 1;
  return print_out(text + "wrote " + file + "\n");
}

}  // namespace

Command calibrate_command() {
  return {
      "calibrate",
      "Measure this machine as the engine uses it, or fit a chip to measured runs, for `estimate --chip FILE.shard`",
      {{"-o", "The file to write (machine.shard, measured.shard)", Option::Value},
       {"--measured", "Steps measured elsewhere: a CSV with file, devices, settings, step_seconds (peak_bytes)",
        Option::Value},
       {"--chip", "With --measured: the chip that was measured, as `estimate` takes it", Option::Value},
       {"--stack", "With --measured: the software that ran there", Option::Value},
       {"--runs", "How often all is measured, the least counts (5)", Option::Value},
       {"--processes", "In how many processes devices shall lie: the channel between them is measured too",
        Option::Value}},
      true,
      calibrate};
}

}  // namespace shard::cli
