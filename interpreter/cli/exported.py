"""Runs {name}.mlir in JAX (jaxlib 0.10.2): python {name}.py [arguments.npz]. Without a file the arguments are random.

In several processes, which share out the devices, under `srun` or `mpirun`, or where each is told: JAX_COORDINATOR_ADDRESS=host:port
JAX_NUM_PROCESSES=2 JAX_PROCESS_ID=0 python {name}.py. All are given the same arguments; process 0 prints."""
import json, os, sys
HERE = os.path.splitext(os.path.abspath(__file__))[0]
ABOUT = json.load(open(HERE + '.json'))
COUNT = 1
for _, size in ABOUT['mesh']: COUNT *= size
PROCESSES = next((int(os.environ[k]) for k in ('JAX_NUM_PROCESSES', 'OMPI_COMM_WORLD_SIZE', 'SLURM_STEP_NUM_TASKS') if k in os.environ), 1)
os.environ.setdefault('XLA_FLAGS', f'--xla_force_host_platform_device_count={-(-COUNT // PROCESSES)}')  # where the CPU is the platform
import jax, numpy as np, ml_dtypes
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jaxlib import xla_client as xc
jax.config.update('jax_enable_x64', True)
if PROCESSES > 1:
    jax.config.update('jax_cpu_collectives_implementation', 'gloo')
    told = 'JAX_NUM_PROCESSES' in os.environ   # else JAX asks the launcher
    jax.distributed.initialize(os.environ['JAX_COORDINATOR_ADDRESS'], PROCESSES, int(os.environ['JAX_PROCESS_ID'])) if told else jax.distributed.initialize()
if len(jax.devices()) < COUNT: sys.exit(f'{COUNT} devices are needed, and {len(jax.devices())} are here')
MESH = Mesh(np.array(jax.devices()[:COUNT]).reshape([n for _, n in ABOUT['mesh']] or [1]), [a for a, _ in ABOUT['mesh']] or ['one'])
TYPES = {'bool': np.bool_, 'f16': np.float16, 'bf16': ml_dtypes.bfloat16, 'f32': np.float32, 'f64': np.float64,
         **{k + str(n): getattr(np, w + str(n)) for k, w in (('i', 'int'), ('u', 'uint')) for n in (8, 16, 32, 64)}}


def layout(entry): return NamedSharding(MESH, P(*[tuple(axes) or None for axes in entry['layout']]))


def place(entry, array):
    whole = np.asarray(array, TYPES[entry['type']])
    return jax.make_array_from_callback(whole.shape, layout(entry), lambda at: whole[at])   # of each process its own blocks


def here(array):
    """All of it, in every process."""
    if array.is_fully_addressable: return np.asarray(array)
    from jax.experimental import multihost_utils
    return multihost_utils.process_allgather(array, tiled=True)


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
        whole = here(x)
        if jax.process_index() == 0: print(e['name'], e['type'], e['shape'], whole.ravel()[:4])
