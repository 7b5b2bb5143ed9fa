// shard export: a script is run on arrays that have types and layouts and no elements, and the programs of its compiled
// calls are written as StableHLO, which JAX and other engines load; beside the text its names and layouts, and a
// program of Python that runs it.
#include <cstdio>
#include <set>

#include "interpreter/cli/cost/prediction.h"
#include "interpreter/lang/staging/exported.h"

namespace shard::cli {
namespace {

// Loads X.mlir and X.json, which lie beside it. As a program it makes arguments, runs, and prints the results.
constexpr std::string_view kPython =
    R"py("""Runs {name}.mlir in JAX (jaxlib 0.10.2): python {name}.py [arguments.npz]. Without a file the arguments are random."""
import json, os, sys
HERE = os.path.splitext(os.path.abspath(__file__))[0]
ABOUT = json.load(open(HERE + '.json'))
COUNT = 1
for _, size in ABOUT['mesh']: COUNT *= size
os.environ.setdefault('XLA_FLAGS', f'--xla_force_host_platform_device_count={COUNT}')  # where the CPU is the platform
import jax, numpy as np, ml_dtypes
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jaxlib import xla_client as xc
jax.config.update('jax_enable_x64', True)
if len(jax.devices()) < COUNT: sys.exit(f'{COUNT} devices are needed, and {len(jax.devices())} are here')
MESH = Mesh(np.array(jax.devices()[:COUNT]).reshape([n for _, n in ABOUT['mesh']] or [1]), [a for a, _ in ABOUT['mesh']] or ['one'])
TYPES = {'bool': np.bool_, 'f16': np.float16, 'bf16': ml_dtypes.bfloat16, 'f32': np.float32, 'f64': np.float64,
         **{k + str(n): getattr(np, w + str(n)) for k, w in (('i', 'int'), ('u', 'uint')) for n in (8, 16, 32, 64)}}


def layout(entry): return NamedSharding(MESH, P(*[tuple(axes) or None for axes in entry['layout']]))


def place(entry, array): return jax.device_put(np.asarray(array, TYPES[entry['type']]), layout(entry))


def compiled():
    replicas, partitions = (COUNT, 1) if ABOUT['form'] == 'replica' else (1, COUNT)
    o, devices = xc.CompileOptions(), tuple(MESH.devices.flat)
    o.num_replicas, o.num_partitions = replicas, partitions
    o.device_assignment = xc.DeviceAssignment.create(np.array([d.id for d in devices]).reshape(replicas, partitions))
    b = o.executable_build_options
    b.use_spmd_partitioning = b.use_shardy_partitioner = partitions > 1
    return devices[0].client.compile_and_load(open(HERE + '.mlir').read(), xc.DeviceList(devices), o)


def run(executable, arguments):
    """Global arrays in and out, in the order of ABOUT."""
    made = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    whole = lambda e, blocks: jax.make_array_from_single_device_arrays(tuple(e['shape']), layout(e), blocks)  # noqa: E731
    return [whole(e, blocks) for e, blocks in zip(ABOUT['results'], made)]


def as_jax():
    """A function of JAX, to be called inside of jax.jit: takes the arguments, gives a tuple of the results. Not of the form replica."""
    from jax import export, tree_util
    from jaxlib import _jax
    about = lambda k: (tuple(jax.core.ShapedArray(tuple(e['shape']), TYPES[e['type']]) for e in ABOUT[k]),  # noqa: E731
                       tuple(layout(e) for e in ABOUT[k]),
                       tuple(layout(e)._to_xla_hlo_sharding(len(e['shape'])) for e in ABOUT[k]))
    (ins, in_layouts, in_hlo), (outs, out_layouts, out_hlo) = about('arguments'), about('results')
    artifact = _jax.mlir.serialize_portable_artifact(open(HERE + '.mlir').read(), '1.9.0', True)
    return export.Exported(
        fun_name=ABOUT['function'], in_tree=tree_util.tree_structure(((0,) * len(ins), {})), in_avals=ins,
        out_tree=tree_util.tree_structure((0,) * len(outs)), out_avals=outs, _has_named_shardings=True, _in_named_shardings=in_layouts,
        _out_named_shardings=out_layouts, in_shardings_hlo=in_hlo, out_shardings_hlo=out_hlo, nr_devices=COUNT, platforms=('cpu',),
        ordered_effects=(), unordered_effects=(), disabled_safety_checks=(export.DisabledSafetyCheck.platform(),),
        mlir_module_serialized=artifact, calling_convention_version=10, module_kept_var_idx=tuple(range(len(ins))),
        uses_global_constants=False, _get_vjp=None).call


if __name__ == '__main__':
    rng, given = np.random.default_rng(0), dict(np.load(sys.argv[1])) if len(sys.argv) > 1 else {}
    arguments = [place(e, given[e['name']] if e['name'] in given else rng.random(e['shape'])) for e in ABOUT['arguments']]
    for e, x in zip(ABOUT['results'], run(compiled(), arguments)):
        print(e['name'], e['type'], e['shape'], np.asarray(x).ravel()[:4])
)py";

std::string python_for(const std::string& name) {
  std::string out(kPython);
  for (std::size_t at = 0; (at = out.find("{name}", at)) != std::string::npos;) out.replace(at, 6, name);
  return out;
}

bool write_call(const lang::CompiledCall& call, hlo::Form form, DryRun& script, const std::string& base, bool python) {
  const grammar::SourceMap& sources = script.sources();
  const hlo::Module module = lang::exported(call, form, script.interpreter().context().table(), sources);
  const std::size_t folder = base.find_last_of('/');
  if (!write_file(base + ".mlir", module.text) ||
      !write_file(base + ".json", lang::exported_json(call, form, module, sources)) ||
      (python && !write_file(base + ".py", python_for(folder == std::string::npos ? base : base.substr(folder + 1)))))
    return false;
  write_out(base + ".mlir: " + call.name + ", " + std::to_string(call.given.size()) + " arguments, " +
            std::to_string(module.collectives) + " collectives\n");
  return true;
}

int refuse_words(const std::string& what, const std::string& help) {
  std::fprintf(stderr, "error: %s\nhelp: %s\n", what.c_str(), help.c_str());
  return 1;
}

int export_programs(const Arguments& a) {
  const std::string name = a.value("--function"), word = a.value("--form");
  const bool all = a.has("--all");
  if (name.empty() && !all)
    return refuse_words("which function shall be written?", "--function NAME, or --all for every compiled call");
  if (!word.empty() && !hlo::form_of(word))
    return refuse_words("there is no form '" + word + "'", "manual, replica or auto");
  const hlo::Form form = lang::form_named(word.empty() ? "manual" : word);
  std::string text;
  if (!read_script(a.words[0], text)) return 1;
  bool stopped_there = false;
  DryRun script(a.settings, true);
  // Calls that were compiled before the script asks for what only a run knows are there all the same.
  const auto met = [&](const grammar::Diagnostic& d, const grammar::SourceMap& sources) {
    const bool later = (d.code == "unknown" || d.code == "trace") &&
                       std::any_of(script.calls().begin(), script.calls().end(),
                                   [&](const Prediction& f) { return all || f.call.name == name; });
    if (!later) return tell(d, sources);
    std::fprintf(stderr, "note: followed up to line %d, which needs data: %s\n", source_line(sources, d.span),
                 d.message.c_str());
    stopped_there = true;
  };
  if (const int status = script.run(a.words[0], std::move(text), met); status && !stopped_there) return status;
  for (const std::string& file : script.not_written())
    std::fprintf(stderr, "note: '%s' is not written\n", file.c_str());
  std::vector<const lang::CompiledCall*> chosen;
  std::string there;
  for (const Prediction& f : script.calls()) {
    there += (there.empty() ? "" : ", ") + f.call.name;
    if (all || f.call.name == name) chosen.push_back(&f.call);
  }
  if (chosen.empty())
    return refuse_words("no compiled function is called '" + name + "'", "compiled functions of this script: " + there);
  if (!all) chosen = {chosen.back()};  // as it was called last
  std::string given = a.value("-o");
  if (given.ends_with(".mlir")) given.resize(given.size() - 5);
  std::set<std::string> taken;
  return guarded(script.interpreter(), [&] {
    for (const lang::CompiledCall* call : chosen) {
      std::string base = all && !given.empty() ? given + "_" + call->name : given.empty() ? call->name : given;
      for (int k = 2; !taken.insert(base).second; ++k)
        base = base.substr(0, base.find_last_of('~')) + "~" + std::to_string(k);
      if (!write_call(*call, form, script, base, a.has("--python")))
        throw runtime::RuntimeError("io", "'" + base + "' cannot be written");
    }
    flush_out();
  });
}

}  // namespace

Command export_command() {
  return {"export",
          "Write a compiled function of a script as StableHLO, which JAX and other engines load; no data is needed",
          {{"file", "The script (- reads it from standard input)", Option::Word, true},
           {"--function", "The jit or manual function, with the arguments it was last called with", Option::Value},
           {"--all", "Every compiled call, each in a file of its own"},
           {"--form",
            "manual: whole arrays at the border (the default); replica: the blocks of one device, for any reader; "
            "auto: the "
            "whole graph, for XLA to cut",
            Option::Value},
           {"-o", "Where to write it: X.mlir, and X.json with names and layouts beside it", Option::Value},
           {"--python", "Write X.py too, which runs it in JAX"}},
          true,
          export_programs};
}

}  // namespace shard::cli
