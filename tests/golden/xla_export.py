"""XLA's CPU, from jaxlib, runs what Shard exports, and gives Shard's numbers.

Usage: xla_export.py SHARD TESTS VENV, where TESTS is the program of tests that writes samples (test_stdlib). Where this Python lacks jax
0.10.2 it is installed into a virtual environment at VENV, once; skipped with a sentence where that cannot be done.

Expectations are our kernels' results: what is tested is that an engine that nobody here wrote gives the same. Integers, truth values,
keys and random numbers agree to the bit; floats to the tolerances of `close`.
"""
import json
import os
import subprocess
import sys
import tempfile

VERSION = '0.10.2'


def with_packages(venv):
    """True where jax of this version can be imported; else runs this file again with a Python that can, or says why not."""
    try:
        import jax
        if jax.__version__ == VERSION: return True
    except ImportError:
        pass
    python = os.path.join(venv, 'bin', 'python')
    if os.environ.get('XLA_INSTALLED'):
        print(f'skipped: jax {VERSION} was installed and cannot be imported')
        return False
    try:
        if not os.path.exists(os.path.join(venv, 'complete')):
            subprocess.run([sys.executable, '-m', 'venv', venv], check=True, capture_output=True, timeout=120)
            subprocess.run([python, '-m', 'pip', 'install', '-q', f'jax=={VERSION}', f'jaxlib=={VERSION}'], check=True, capture_output=True,
                           timeout=400)
            open(os.path.join(venv, 'complete'), 'w').close()
    except (OSError, subprocess.SubprocessError):
        print(f'skipped: jax {VERSION} is not here, and a virtual environment with it cannot be made')
        return False
    sys.exit(subprocess.run([python, *sys.argv], env=dict(os.environ, XLA_INSTALLED='1')).returncode)


def types(numpy):
    import ml_dtypes
    out = {'bool': numpy.bool_, 'f16': numpy.float16, 'bf16': ml_dtypes.bfloat16, 'f32': numpy.float32, 'f64': numpy.float64}
    for n in (8, 16, 32, 64): out[f'i{n}'], out[f'u{n}'] = getattr(numpy, f'int{n}'), getattr(numpy, f'uint{n}')
    return out


def load(text, replicas=1, partitions=1):
    """Compiled for so many devices of this process."""
    import jax
    import numpy
    from jaxlib import xla_client
    devices = tuple(jax.devices()[:replicas * partitions])
    o = xla_client.CompileOptions()
    o.num_replicas, o.num_partitions = replicas, partitions
    o.device_assignment = xla_client.DeviceAssignment.create(numpy.array([d.id for d in devices]).reshape(replicas, partitions))
    b = o.executable_build_options
    b.use_spmd_partitioning = b.use_shardy_partitioner = partitions > 1
    return devices[0].client.compile_and_load(text, xla_client.DeviceList(devices), o)


def run(executable, args):
    """[result][device] -> block"""
    import numpy
    made = executable.execute_sharded(args).disassemble_into_single_device_arrays()
    return [[numpy.asarray(block) for block in blocks] for blocks in made]


# What is computed as a product, or in several steps that round, within 1e-5; elementwise floats within 1e-6 (2e-6 where a library's
# function differs); narrow floats within one or two of their last digits.
STEPS = {'contract', 'reduce_sum', 'reduce_prod', 'scan_sum', 'scan_prod', 'convolve_lines', 'ragged_rows', 'ragged_outer', 'scatter_rows',
         'scatter_reduce', 'lu_solve', 'triangular_solve', 'cholesky_lower', 'qr_factors', 'eigh_lower', 'determinant', 'log_det', 'cofactors'}
SPECIAL = {'lgamma', 'digamma', 'trigamma', 'erf_inv', 'power', 'tan'}


def close(numpy, row, got, want, kind):
    if kind[0] != 'f' and kind != 'bf16': return (got == want).all()
    limit = 2e-6 if row not in STEPS | SPECIAL else 1e-5
    limit = {'f16': 2e-3, 'bf16': 1.6e-2, 'f64': limit if row in STEPS | SPECIAL else 1e-9}.get(kind, limit)
    got, want = got.astype('f8'), want.astype('f8')
    return numpy.allclose(got, want, rtol=limit, atol=limit, equal_nan=True)


def samples(tests):
    """Every sample of every core row, of each element type that it takes."""
    import jax
    import numpy
    jax.config.update('jax_enable_x64', True)
    kinds = types(numpy)
    wrong, refused, ran = [], {}, 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([tests, '[.hlo]'], env=dict(os.environ, SHARD_HLO_SAMPLES=folder), check=True, capture_output=True, timeout=300)

        def arrays(path, described):
            data, at, out = open(path, 'rb').read(), 0, []
            for kind, shape in described:
                dtype = numpy.dtype(numpy.uint32 if kind == 'key' else kinds[kind])
                full = shape + [2] if kind == 'key' else shape
                count = int(numpy.prod(full, dtype=int)) if full else 1
                out.append(numpy.frombuffer(data, dtype, count, at).reshape(full))
                at += count * dtype.itemsize
            return out
        for i, case in enumerate(json.load(open(os.path.join(folder, 'cases.json')))):
            if 'refused' in case:
                refused[case['row']] = case['refused']
                continue
            path = os.path.join(folder, str(i))
            try:
                text = open(path + '.mlir').read()
                got = run(load(text), [jax.device_put(a) for a in arrays(path + '.in', case['in'])])
            except Exception as e:  # noqa: BLE001: all are told
                wrong.append(f'{case["name"]}: {str(e).splitlines()[0][:300]}')
                continue
            ran += 1
            for k, (want, (kind, _)) in enumerate(zip(arrays(path + '.out', case['out']), case['out'])):
                have = got[k][0]
                if have.shape != want.shape or have.dtype != want.dtype or not close(numpy, case['row'], have, want, kind):
                    wrong.append(f'{case["name"]}, result {k}:\n  {have.ravel()[:6]}\n  {want.ravel()[:6]} wanted')
    for row, why in sorted(refused.items()): print(f'  refused: {why}')
    print(f'  samples: {ran} run by XLA as by our kernels, {len(wrong)} otherwise; {len(refused)} rows are refused')
    return wrong


def main():
    os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'
    os.environ['JAX_PLATFORMS'] = 'cpu'
    os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'
    wrong = samples(os.path.abspath(sys.argv[2]))
    for w in wrong: print(w)
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    if with_packages(os.path.abspath(sys.argv[3])): main()
