// shard calibrate: measures this machine as the engine uses it, and writes it as a chip that `--chip FILE.shard` takes.
// Small compiled functions are run and timed; the chip's figures are those with which the clock predicts all of them
// best. None of them is a program that somebody might predict later.
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "interpreter/cli/cost/channel_figures.h"
#include "interpreter/cli/cost/profile.h"

namespace shard::cli {
namespace {

using cost_model::Chip;

// Products by shape, pointwise work by size and kind, rows that are reduced, many small instructions, sums over
// devices.
constexpr const char* kPrograms = R"(
mesh m = (@d: _)
jit fn product(xs) = xs.map(fn((a, b)) = a @ b)
jit fn over_rows(xs) = xs.map(fn((a, b)) = einsum("ki,kj->ij", a, b))
jit fn parts(xs) = xs.map(fn((a, b)) = einsum("gmk,gkn->mn", a, b))
jit fn columns(xs) = xs.map(fn((a, b)) = einsum("mk,gkn->mgn", a, b))
jit fn turned(xs) = xs.map(fn((a, b)) = a.T + b)
jit fn heads(xs) = xs.map(fn((a, b)) = einsum("bqhd,bkhd->bhqk", a, b))
jit fn add(xs) = xs.map(fn((a, b)) = a + b)
jit fn curved(xs) = xs.map(fn((a,)) = exp(tanh(a) * 2.0 + 1.0))
jit fn update(xs) = xs.map(fn((p, m, v)) = (p - 0.001 * (m * 1.1) / (sqrt(v * 1.2) + 1e-8), m * 0.9 + p, v * 0.9 + p * p))
jit fn rows(xs) = xs.map(fn((x,)) = softmax(x, axis: -1))
jit fn total(xs) = xs.map(fn((x,)) = sum(x, axis: 0))
jit fn small(x, w) { for i in 0..20 { x = tanh(x @ w) }; x }
manual fn talk(x: P(@d)) -> P(@d) { for i in 0..10 { x = x + 0.001 * psum(x, @d) }; x }
manual fn pass(x: P(@d)) -> P(@d) { for i in 0..20 { x = ppermute(x, @d, shift: 1) }; x }
jit fn learn(w, x) = w - 0.1 * grad(fn(w) = mean(tanh(x @ w) ** 2))(w)

# Of each shape one by itself, whose operands stay in a cache, and as many in one program as none of them stays.
let times = fn(work) = max(5, min(1000, 100000000 // work))
fn bytes(shapes) {
  let total = 0
  for s in shapes {
    let n = 4
    for d in s { n = n * d }
    total = total + n
  }
  total
}
# The call n times, but not for longer than 0.3 s where calls are slow.
fn again(f, n, xs) {
  let end = clock() + 0.3
  let i = 0
  while i < n and (i < 2 or clock() < end) {
    let _y = f(xs)
    i = i + 1
  }
}
fn apart(f, n, shapes) {
  let one = shapes.map(fn(s) = normal(key(0), s))
  let several = fn(r) = range(r).map(fn(i) = one.map(fn(x) = x + i))
  let each = bytes(shapes)
  if each <= 1500000 {
    again(f, n, several(1))
  }
  let r = max(1, min(24, 96000000 // each))
  if r * each > 16000000 {
    again(f, max(5, n // r), several(r))
  }
}
for (m, k, n) in [(64, 64, 64), (128, 128, 128), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (1024, 16, 64),
                  (2048, 64, 256), (1024, 300, 20), (64, 1024, 1024), (4096, 32, 32), (2048, 128, 256), (2048, 256, 128), (1024, 32, 1), (8192, 64, 1), (16, 16, 4), (64, 64, 8)] {
  apart(product, times(m * k * n // 10), [[m, k], [k, n]])
}
for (k, m, n) in [(1024, 256, 256), (4096, 64, 256), (1024, 768, 384), (2048, 128, 32), (1024, 32, 1), (64, 16, 4)] {
  apart(over_rows, times(m * k * n // 10), [[k, m], [k, n]])
}
for (b, t, h, d) in [(8, 64, 4, 32), (16, 128, 4, 64)] {
  apart(heads, times(b * t * t * h * d // 10), [[b, t, h, d], [b, t, h, d]])
}
for (g, m, k, n) in [(4, 4096, 72, 32), (8, 512, 128, 256), (8, 1024, 16, 64)] {
  apart(parts, times(g * m * k * n // 10), [[g, m, k], [g, k, n]])
}
for (g, m, k, n) in [(8, 512, 256, 128), (4, 2048, 128, 128), (8, 512, 64, 16)] {
  apart(columns, times(g * m * k * n // 10), [[m, k], [g, k, n]])
}
for n in [100, 1000] { apart(turned, times(n * n * 20), [[n, n], [n, n]]) }
for n in [1000, 20000, 200000, 1000000, 4000000, 16000000] {
  apart(add, times(n * 4), [[n], [n]])
  apart(curved, times(n * 4), [[n]])
  apart(update, times(n * 4), [[n], [n], [n]])
}
for (m, n) in [(256, 64), (4096, 64), (8192, 256), (1024, 10)] {
  apart(rows, times(m * n * 20), [[m, n]])
  apart(total, times(m * n * 20), [[m, n]])
}
let (x, w) = (normal(key(0), [4, 4]), normal(key(1), [4, 4]))
for i in 0..1000 { let _y = small(x, w) }
for n in [16, 4096, 262144] {
  let x = shard ones([device_count() * n]) as P(@d)
  for i in 0..times(n * 800) { let _y = (talk(x), pass(x)) }
}
for (n, d) in [(64, 32), (2048, 128), (2048, 512)] {
  let (w, x) = (shard normal(key(0), [d, d]) as P(), shard normal(key(1), [n, d]) as P(@d))
  for i in 0..times(n * d * d) { let _y = learn(w, x) }
}
)";

// The same product in another type, beside that in f32.
constexpr const char* kTypes = R"(
jit fn product(a, b) = a @ b
for t in [f32, f64, bf16] {
  let (a, b) = (cast(normal(key(0), [512, 512]), t), cast(normal(key(1), [512, 512]), t))
  for i in 0..20 { let _c = product(a, b) }
}
)";

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

// One figure after another is moved up and down as long as that helps.
void search(Chip& chip, const std::vector<Sample>& samples) {
  std::vector<double*> figures = {&chip.flops[0].second, &chip.bandwidth, &chip.cache_bandwidth,
                                  &chip.points,          &chip.fill,      &chip.cache,
                                  &chip.copying,         &chip.tile_rows, &chip.tile_columns};
  double best = error_of(chip, samples);
  for (double step = 2; step > 1.01; step = std::sqrt(step)) {
    if (step < 2) figures.resize(7);  // sizes of tiles are powers of two
    for (bool moved = true; moved;) {
      moved = false;
      for (double* f : figures)
        for (const double by : {step, 1 / step}) {
          const double before = *f;
          *f *= by;
          if (const double now = error_of(chip, samples); now < best - 1e-6)
            best = now, moved = true;
          else
            *f = before;
        }
    }
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
std::unique_ptr<embed::Machine> measure(const Arguments& a, int runs, const char* script,
                                        std::vector<Sample>& samples) {
  std::unique_ptr<embed::Machine> first;
  for (int run = 0; run < runs; ++run) {
    RunProfile profile("", {});
    lang::Options options;
    options.output = [](std::string_view) {};
    profile.watch(options);
    auto machine = make_machine(a.settings, std::move(options));
    lang::Interpreter& in = machine->interpreter();
    if (guarded(in, [&] { in.run("<calibrate>", script); }) != 0) return nullptr;
    std::size_t i = 0;
    for (const RunProfile::Ran& r : profile.ran()) {
      const transform::Program& program = r.call.call.plan->program();
      if (run == 0) {
        std::string arguments;
        for (const std::string& x : r.call.call.arguments) arguments += (arguments.empty() ? "" : ", ") + x;
        samples.push_back({shown(r.call.call.name, arguments), cost_model::instructions_of(*r.call.call.plan, 1),
                           r.call.call.plan, program.mesh.get(), r.times->seconds(), r.times->between});
      } else if (i < samples.size()) {
        samples[i].seconds = std::min(samples[i].seconds, r.times->seconds());
      }
      ++i;
    }
    if (run == 0) first = std::move(machine);
  }
  return first;
}

std::string rounded(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

std::string record(const Chip& chip, int devices, double error) {
  char day[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(day, sizeof day, "%Y-%m-%d", std::gmtime(&now));
  double load[1] = {0};
  const bool known = getloadavg(load, 1) == 1;
  std::string out = "# This machine as `shard calibrate` measured it on " + std::string(day) + ": " +
                    std::to_string(std::thread::hardware_concurrency()) + " processors" +
                    (known ? ", load " + rounded(load[0]) : "") + ", " + std::to_string(devices) +
                    " simulated devices" + (chip.simulated > 1 ? " in " + rounded(chip.simulated) + " processes" : "") +
                    ", which share all of it. Its own\n# small programs are predicted with " +
                    cost_model::percent_text(error, 1) + " of error.\n{\n  name: \"this machine\",\n  flops: {";
  for (const auto& [type, rate] : chip.flops)
    out += (out.ends_with("{") ? "" : ", ") + std::string(runtime::name(type)) + ": " + rounded(rate);
  out += "},\n  domain: 1,\n";
  for (const cost_model::ChipField& f : cost_model::chip_fields())
    if (chip.*f.value != Chip{}.*f.value) out += "  " + std::string(f.name) + ": " + rounded(chip.*f.value) + ",\n";
  return out + "}\n";
}

int calibrate(const Arguments& a) {
  std::vector<Sample> samples, types;
  const auto runs = number_of(a.value("--runs").empty() ? "5" : a.value("--runs"), 1, 1000);
  if (!runs) {
    std::fputs("error: --runs is a number from 1 on\n", stderr);
    return 2;
  }
  const auto processes = number_of(a.value("--processes").empty() ? "1" : a.value("--processes"), 1, 64);
  if (!processes) {
    std::fprintf(stderr, "error: --processes takes how many there are, 1 to 64, not '%s'\n",
                 a.value("--processes").c_str());
    return 2;
  }
  Chip chip;
  if (*processes > 1) {
    const auto channel = measure_channel(*processes);
    if (!channel) return 1;
    chip.network = channel->bandwidth;
    chip.network_latency = channel->latency;
    chip.network_share = 1;
  }
  const auto programs = measure(a, *runs, kPrograms, samples);
  if (!programs || !measure(a, *runs, kTypes, types)) return 1;
  chip.name = "this machine";
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
  chip.cache = 4 << 20;
  chip.cache_bandwidth = 5e10;
  chip.points = 2e9;
  chip.copying = 5e9;
  search(chip, samples);
  for (std::size_t i = 1; i < types.size(); ++i)
    chip.flops.emplace_back(i == 1 ? runtime::DType::F64 : runtime::DType::BF16,
                            chip.flops[0].second * types[0].seconds / types[i].seconds);
  const double error = error_of(chip, samples);
  std::string text = "   measured   predicted   program\n";
  for (const Sample& s : samples) {
    const auto right = [&](const std::string& t) { return std::string(t.size() < 11 ? 11 - t.size() : 0, ' ') + t; };
    text += right(time_text(s.seconds)) + right(time_text(predicted(chip, s))) + "   " + s.name + "\n";
  }
  chip.simulated = *processes;
  const std::string file = a.value("-o").empty() ? "machine.shard" : a.value("-o");
  if (!write_file(file, record(chip, a.settings.devices, error))) return 1;
  write_out(text + "wrote " + file + "\n");
  flush_out();
  return 0;
}

}  // namespace

Command calibrate_command() {
  return {"calibrate",
          "Measure this machine as the engine uses it, as a chip for `estimate --chip FILE.shard`",
          {{"-o", "The file to write (machine.shard)", Option::Value},
           {"--runs", "How often all is measured, the least counts (5)", Option::Value},
           {"--processes", "In how many processes devices shall lie: the channel between them is measured too",
            Option::Value}},
          true,
          calibrate};
}

}  // namespace shard::cli
