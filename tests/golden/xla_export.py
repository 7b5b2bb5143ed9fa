"""XLA's CPU, from jaxlib, runs what Shard exports, and gives Shard's numbers.

Usage: xla_export.py SHARD TESTS VENV, where TESTS is the program of tests that writes samples (test_stdlib). Where this Python lacks jax
0.10.2 it is installed into a virtual environment at VENV, once; skipped with a sentence where that cannot be done.

Expectations are our kernels' results: what is tested is that an engine that nobody here wrote gives the same. Integers, truth values,
keys and random numbers agree to the bit; floats to the tolerances of `close`.
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

VERSION = '0.10.2'
# Each module runs once and compiling is what takes time: without LLVM's optimisations, and with the older lowering of fusions but for rows
# that it gets wrong.
FLAGS = '--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0'
NEEDS_EMITTERS = {'power'}   # of 64-bit integers


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
    out = {'bool': numpy.bool_, 'f16': numpy.float16, 'bf16': ml_dtypes.bfloat16, 'f32': numpy.float32, 'f64': numpy.float64,
           'c64': numpy.complex64, 'c128': numpy.complex128}
    for n in (8, 16, 32, 64): out[f'i{n}'], out[f'u{n}'] = getattr(numpy, f'int{n}'), getattr(numpy, f'uint{n}')
    return out


def load(text, row=None, replicas=1, partitions=1):
    """Compiled for so many devices of this process."""
    import jax
    import numpy
    from jaxlib import xla_client
    devices = tuple(jax.devices()[:replicas * partitions])
    o = xla_client.CompileOptions()
    o.num_replicas, o.num_partitions = replicas, partitions
    o.device_assignment = xla_client.DeviceAssignment.create(numpy.array([d.id for d in devices]).reshape(replicas, partitions))
    if row not in NEEDS_EMITTERS: o.env_option_overrides = [('xla_cpu_use_fusion_emitters', False)]
    b = o.executable_build_options
    b.use_spmd_partitioning = b.use_shardy_partitioner = partitions > 1
    return devices[0].client.compile_and_load(text, xla_client.DeviceList(devices), o)


def archived(text):
    """Fails where StableHLO of twelve weeks before could not read it."""
    from jaxlib import _jax
    from jaxlib.mlir.dialects import stablehlo
    version = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_12)
    return _jax.mlir.serialize_portable_artifact(text, version, True)


def run(executable, args):
    """[result][device] -> block"""
    import numpy
    made = executable.execute_sharded(args).disassemble_into_single_device_arrays()
    return [[numpy.asarray(block) for block in blocks] for blocks in made]


# What is computed as a product, or in several steps that round, within 1e-5; elementwise floats within 1e-6; narrow
# floats within one or two of their last digits.
STEPS = {'contract', 'reduce_sum', 'reduce_prod', 'scan_sum', 'scan_prod', 'convolve_lines', 'ragged_rows', 'ragged_outer', 'scatter_rows',
         'scatter_reduce', 'fourier_parts', 'lu_solve', 'triangular_solve', 'cholesky_lower', 'qr_factors', 'eigh_lower', 'determinant', 'log_det', 'cofactors',
         'expm_squared', 'expm_along', 'pseudo_inverse', 'gamma_numbers', 'gamma_slope'}
SPECIAL = {'lgamma', 'digamma', 'trigamma', 'erf_inv', 'power', 'tan'}


def turned(numpy, vectors):
    """Eigenvectors stand up to a factor of size 1: each column's greatest entry is made positive."""
    at = numpy.abs(vectors).argmax(axis=-2, keepdims=True)
    greatest = numpy.take_along_axis(vectors, at, axis=-2)
    return vectors * numpy.conj(greatest) / numpy.abs(greatest)


def close(numpy, row, got, want, kind):
    if kind[0] == 'c':
        if row == 'eigh_lower': got, want = turned(numpy, got), turned(numpy, want)
    elif kind[0] != 'f' and kind != 'bf16': return (got == want).all()
    limit = 1e-5 if row in STEPS | SPECIAL else 1e-6
    limit = {'f16': 2e-3, 'bf16': 1.6e-2, 'f64': limit if row in STEPS | SPECIAL else 1e-9}.get(kind, limit)
    wide = 'c16' if kind[0] == 'c' else 'f8'
    got, want = got.astype(wide), want.astype(wide)
    return numpy.allclose(got, want, rtol=limit, atol=limit, equal_nan=True)


def decomposes(numpy, a, made, want):
    """u and v' of a singular value decomposition stand up to signs, and beyond the rank to more: they are orthonormal and give a back."""
    wide = 'c16' if a.dtype.kind == 'c' else 'f8'
    u, s, vt, limit = made[0].astype(wide), made[1].astype('f8'), made[2].astype(wide), 1e-7 if a.dtype in ('f8', 'c16') else 1e-5
    k, one = s.shape[-1], lambda x: numpy.broadcast_to(numpy.eye(x.shape[-1]), x.shape)
    pairs = [(s, want), ((u[..., :k] * s[..., None, :]) @ vt[..., :k, :], a)]
    pairs += [(m, one(m)) for m in (numpy.conj(numpy.swapaxes(u, -1, -2)) @ u, vt @ numpy.conj(numpy.swapaxes(vt, -1, -2)))]
    return all(numpy.allclose(x, y, rtol=limit, atol=limit) for x, y in pairs)


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
                archived(text)
                given = arrays(path + '.in', case['in'])
                got = run(load(text, case['row']), [jax.device_put(a) for a in given])
            except Exception as e:  # noqa: BLE001: all are told
                wrong.append(f'{case["name"]}: {str(e).splitlines()[0][:300]}')
                continue
            ran += 1
            if case['row'] == 'svd_factors':
                want = arrays(path + '.out', case['out'])
                if not decomposes(numpy, given[0], [g[0] for g in got], want[1]): wrong.append(f'{case["name"]}: {got[1][0]}, {want[1]} wanted')
                continue
            for k, (want, (kind, _)) in enumerate(zip(arrays(path + '.out', case['out']), case['out'])):
                have = got[k][0]
                if have.shape != want.shape or have.dtype != want.dtype or not close(numpy, case['row'], have, want, kind):
                    wrong.append(f'{case["name"]}, result {k}:\n  {have.ravel()[:9]}\n  {want.ravel()[:9]} wanted')
    for row, why in sorted(refused.items()): print(f'  refused: {why}')
    print(f'  samples: {ran} run by XLA as by our kernels, {len(wrong)} otherwise; {len(refused)} rows are refused')
    return wrong


# ---- steps: a function, what it is given, and its result; every form gives what `shard run` gives.
SHARED = """mesh m = (@data: 4, @model: 2)
let (k0, k1, k2) = split(key(0), 3)
fn rows(k, shape) = uniform(k, shape, minval: -1.0, maxval: 1.0)
"""
FUNCTIONS = {
    'perceptron': (SHARED, """fn loss(p, x, y) = mean((tanh(x @ p.a) @ p.b - y) ** 2)
jit fn step(p, x, y) {
  let (l, g) = value_and_grad(loss)(p, x, y)
  assert(l > 0.0, "positive")
  (l, tree_map(fn(a, b) = a - 0.1 * b, p, g))
}""", {'p': '{a: shard rows(k0, [16, 32]) as P(_, @model), b: shard rows(k1, [32, 4]) as P(@model)}',
       'x': 'shard rows(k2, [64, 16]) as P(@data)', 'y': 'rows(k0, [64, 4])'}),
    'loops': (SHARED, """jit fn step(x, n) {
  let total = 0.0
  for i in 0..5 { total = total + sum(x * x) / (1.0 + total) }
  let c = x
  while sum(c) < n { c = c + 1.0 }
  let chosen = if total > 1.0 { c * 2.0 } else { c - 1.0 }
  (total, chosen, cumsum(x, axis: 1))
}""", {'x': 'shard rows(k0, [8, 6]) as P(@data, @model)', 'n': 'array(40.0)'}),
    'random': (SHARED, """jit fn step(k, x) {
  let (a, b) = split(k)
  (normal(a, [8, 4]) + x, randint(b, [8], 0, 100), permutation(a, 16), sort(x, axis: 0), argmax(x, axis: 0), topk(x))
}
fn topk(x) = top_k(x, 2)""", {'k': 'key(7)', 'x': 'shard rows(k0, [8, 4]) as P(@data)'}),
    'attention': (SHARED, """jit fn step(q, k, v, table, ids) {
  let s = softmax(einsum("bqd,bkd->bqk", q, k) / 2.0, axis: -1)
  (einsum("bqk,bkd->bqd", s, v), table[ids], conv(v, table.reshape([3, 4, 4]), padding: "SAME"))
}""", {'q': 'shard rows(k0, [8, 6, 4]) as P(@data)', 'k': 'shard rows(k1, [8, 6, 4]) as P(@data)', 'v': 'shard rows(k2, [8, 6, 4]) as P(@data)',
       'table': 'rows(k0, [12, 4])', 'ids': 'array([3, 0, 11, 5])'}),
    'convolutions': (SHARED, """fn net(p, x) {
  let a = conv(x, p.a, stride: [2, 1])
  let b = relu(conv(a, p.b, padding: "VALID", dilation: [1, 2]))
  conv_transpose(conv(b, p.c, groups: 2), p.d, stride: 2)
}
jit fn step(p, x, s, w) {
  let (l, g) = value_and_grad(fn(p, x) = mean(net(p, x) ** 2), wrt: (0, 1))(p, x)
  let whole = conv(cast(round(4.0 * x), f16), cast(round(4.0 * p.a), f16))
  (l, g, net(p, x) / 10.0, conv(s, w, pads: [(2, 0)]), convolve(s[:, 0, 0], s[:3, 1, 2]), cast(whole, f32))
}
fn relu(x) = maximum(x, 0.0)""", {
        'p': '{a: rows(k0, [3, 3, 3, 4]), b: shard rows(k1, [2, 3, 4, 6]) as P(_, _, _, @model), c: rows(k2, [3, 3, 3, 8]), d: rows(k0, [2, 2, 8, 3])}',
        'x': 'shard rows(k1, [8, 8, 8, 3]) as P(@data, _, @model)', 's': 'rows(k2, [8, 6, 4])', 'w': 'rows(k0, [3, 4, 5])'}),
    'by_hand': (SHARED, """manual(@data) fn some(x: P(@data)) -> P(@data) {
  let total = psum(x, @data)
  assert(all(total < 100.0), "small")
  x * (axis_index(@data) + 1.0) + total / 4.0 + sum(all_gather(x, @data))
}
manual fn all_of(x: P(@data, @model)) -> P(_, @model) = pmax(ppermute(x, @data, [(0, 1), (1, 0)]), @data) + axis_index(@model)
jit fn step(x, w) {
  let y = some(tanh(x @ w))
  (y, all_of(y), y @ transpose(w))
}""", {'x': 'shard rows(k0, [16, 8]) as P(@data)', 'w': 'shard rows(k1, [8, 6]) as P(_, @model)'}),
    'solving': (SHARED, """jit fn step(a, b) {
  let s = a @ transpose(a) + 6.0 * eye(6)
  let (w, v) = eigh(s)
  let (q, r) = qr(a)
  (solve(a, b), cholesky(s), w, (v * w) @ transpose(v), q @ r, det(a), inv(s))
}""", {'a': 'rows(k0, [6, 6]) + eye(6)', 'b': 'rows(k1, [6, 2])'}),
    'segments': (SHARED, """jit fn step(x, ids) {
  let slope = grad(fn(x) = sum(segment_prod(x, ids, 4) * segment_max(x, ids, 4)))(x)
  (segment_max(x, ids, 5)[:4], segment_min(x, ids, 4), segment_prod(x, ids, 4), slope, repeat(x, ids, axis: 0, total_repeat_length: 9))
}""", {'x': 'shard rows(k0, [8, 4]) as P(@data)', 'ids': 'shard array([0, 3, 1, 1, 2, 0, 2, 3]) as P(@data)'}),
    'quotients': (SHARED, """jit fn step(e) {
  let (x, y) = (complex(e.reshape([6, 1, 1, 1]), e.reshape([6, 1, 1])), complex(e.reshape([6, 1]), e))
  let (q, r) = (x / y, [sqrt(y), exp(y), log(y), 1 / y])
  (real(q), imag(q), r.map(real), r.map(imag), irfft2(rfft2(e.reshape([2, 3])[:, :1], norm: "ortho"), s: [2, 1]))
}""", {'e': 'array([0.0, -inf, inf, nan, -2.5, 1e30])'}),
}


def imported(path):
    import importlib.util
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def close_step(numpy, got, want):
    if want.dtype.kind != 'f': return bool((got == want).all())
    return numpy.allclose(got.astype('f8'), want.astype('f8'), rtol=2e-5, atol=2e-5, equal_nan=True)


def bytes_of(tensor):
    *sizes, dtype = tensor.split('x')
    return math.prod(map(int, sizes)) * max(int(re.sub(r'\D', '', dtype)) // 8, 1)


def steps(shard):
    """Functions of scripts in all forms; the collectives in the text are those that `comm` counts; one inside of jax.jit."""
    import jax
    import numpy
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (head, function, given) in FUNCTIONS.items():
            keys = [n for n, v in given.items() if v.startswith('key')]
            script = head + function + '\n' + ''.join(f'let {n}_ = {v}\n' for n, v in given.items())
            call = ', '.join(n + '_' for n in given)
            script += f'let out = step({call})\nlet counts = comm(step, {call})\n'
            reduces, moves = ('psum', 'pmax', 'pmin', 'pprod'), ('all_gather', 'psum_scatter', 'all_to_all', 'ppermute')
            script += 'print(' + ', '.join(' + '.join(f'counts.{c}.{what}' for c in kinds) for kinds, what in ((moves, 'count'), (reduces, 'bytes'))) + ')\n'
            script += ('save("in.npz", {' + ', '.join(f'{n}: ' + (f'key_data({n}_)' if n in keys else f'{n}_') for n in given) + '})\n'
                       'save("out.npz", {result: out})\n')
            path = os.path.join(folder, name + '.shard')
            open(path, 'w').write(script)
            ran = subprocess.run([shard, 'run', path], cwd=folder, capture_output=True, text=True, timeout=120)
            if ran.returncode:
                wrong.append(f'{name}: {ran.stderr}')
                continue
            want, arguments = dict(numpy.load(os.path.join(folder, 'out.npz'))), dict(numpy.load(os.path.join(folder, 'in.npz')))
            for form in ('manual', 'replica', 'auto'):
                base = os.path.join(folder, f'{name}_{form}')
                made = subprocess.run([shard, 'export', path, '--function', 'step', '--form', form, '-o', base + '.mlir', '--python'],
                                      cwd=folder, capture_output=True, text=True, timeout=120)
                if made.returncode:
                    wrong.append(f'{name}, {form}: {made.stderr}')
                    continue
                text = open(base + '.mlir').read()
                # Small sums are joined in the text: their bytes stay.
                found = (len(re.findall(r'"stablehlo\.(all_gather|reduce_scatter|all_to_all|collective_permute)"', text)),
                         sum(map(bytes_of, re.findall(r'"stablehlo\.all_reduce".*?\}\) : \(tensor<([^>]*)>', text, re.S))))
                counted = tuple(map(int, ran.stdout.split()[-2:]))
                if name == 'convolutions' and (text.count('stablehlo.convolution') < 8 or (form == 'auto' and 'stablehlo.gather' in text)):
                    wrong.append(f'{name}, {form}: windows are gathered, not convolved')
                if found != counted and form != 'auto' and name != 'loops': wrong.append(f'{name}, {form}: {found[0]} moves and {found[1]} bytes of reductions in the text, comm counts {counted}')
                try:
                    archived(text)
                    step = imported(base + '.py')
                    placed = [step.place(e, arguments[e['name']]) for e in step.ABOUT['arguments']]
                    got = step.run(step.compiled(), placed)
                    if form != 'replica' and name == 'perceptron':   # an exported step as a part of a program of JAX
                        f = step.as_jax()
                        twice = jax.jit(lambda *a: [2 * x for x in f(*a)[:3]])(*placed)
                        if not all(numpy.allclose(numpy.asarray(t), 2 * numpy.asarray(g), rtol=1e-6) for t, g in zip(twice, got)):
                            wrong.append(f'{name}, {form}: inside of jax.jit it gives other numbers')
                except Exception as e:  # noqa: BLE001: all are told
                    wrong.append(f'{name}, {form}: {type(e).__name__} {str(e)[:600]}')
                    continue
                for entry, x in zip(step.ABOUT['results'], got):
                    x = numpy.asarray(x)
                    if entry['name'].startswith('assert'):
                        if not x.all(): wrong.append(f'{name}, {form}: {entry["name"]} does not hold')
                    elif not close_step(numpy, x, want[entry['name']]):
                        wrong.append(f'{name}, {form}, {entry["name"]}:\n  {x.ravel()[:6]}\n  {want[entry["name"]].ravel()[:6]} wanted')
    print(f'  steps: {len(FUNCTIONS)} functions, each in three forms; one called inside of jax.jit')
    return wrong


TRAINING = '''mesh m = (@data: 4, @model: 2)
fn loss(p, x, y) = mean((tanh(x @ p.w1) @ p.w2 - y) ** 2)
jit fn step(w1, w2, x, y) {
  let (l, g) = value_and_grad(loss)({w1: w1, w2: w2}, x, y)
  (w1 - 0.3 * g.w1, w2 - 0.3 * g.w2, l)
}
let k = key(3)
let w1 = shard normal(key(1), [8, 16]) as P(_, @model)
let w2 = shard normal(key(2), [16, 4]) as P(@model, _)
let x = shard normal(k, [32, 8]) as P(@data)
let y = shard tanh(normal(key(4), [32, 4])) as P(@data)
save("in.npz", {w1: w1, w2: w2, x: x, y: y})
for i in 0..20 {
  let (a, b, l) = step(w1, w2, x, y)
  w1 = a
  w2 = b
  print(l)
}
'''
LOOP = '''import importlib.util, sys
import numpy as np
spec = importlib.util.spec_from_file_location('step', 'step.py')
step = importlib.util.module_from_spec(spec)
spec.loader.exec_module(step)
import jax
given = np.load('in.npz')
values, run = [step.place(e, given[e['name']]) for e in step.ABOUT['arguments']], step.compiled()
curve = []
for i in range(20):
    *state, loss = step.run(run, values)
    values[:2] = state
    whole = step.here(loss)
    curve.append(float(whole))
if jax.process_index() == 0: np.savetxt(sys.argv[1], curve, '%.17g')   # to a file, as Gloo prints what it likes between lines
'''


def processes(shard):
    """One program of JAX in one process and in two, which train: one curve, that of the script."""
    import socket
    with tempfile.TemporaryDirectory() as folder:
        def ended(p):
            out, err = p.communicate(timeout=300)
            if p.returncode: raise RuntimeError(err[-800:])
            return out

        def curve(name):
            with open(os.path.join(folder, name)) as f: return [float(line) for line in f]

        def begun(*words, **env):
            return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    env={k: v for k, v in os.environ.items() if k != 'XLA_FLAGS'} | env)

        open(os.path.join(folder, 'train.shard'), 'w').write(TRAINING)
        open(os.path.join(folder, 'loop.py'), 'w').write(LOOP)
        try:
            ours = [float(line) for line in ended(begun(shard, 'run', 'train.shard')).splitlines()]
            begun(shard, 'export', 'train.shard', '--function', 'step', '-o', 'step.mlir', '--python').wait(60)
            ended(begun(sys.executable, 'loop.py', 'one'))
            with socket.socket() as s:
                s.bind(('127.0.0.1', 0))
                port = s.getsockname()[1]
            both = [begun(sys.executable, 'loop.py', f'two{i}', JAX_COORDINATOR_ADDRESS=f'127.0.0.1:{port}', JAX_NUM_PROCESSES='2', JAX_PROCESS_ID=str(i))
                    for i in range(2)]
            for p in both: ended(p)
            one, two = curve('one'), curve('two0')
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            return [f'processes: {e}']
    close = lambda a, b, by: len(a) == len(b) == 20 and all(abs(x - y) <= by * abs(y) for x, y in zip(a, b))  # noqa: E731
    print('  processes: 20 steps in one process of JAX and in two')
    if ours[19] >= ours[0] / 2: return [f'processes: the script learns nothing: {ours}']
    return [] if close(two, one, 1e-6) and close(one, ours, 1e-5) else [f'processes: three curves\n  {ours}\n  {one}\n  {two}']


def main():
    os.environ['XLA_FLAGS'] = FLAGS
    os.environ['JAX_PLATFORMS'] = 'cpu'
    os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'
    wrong = processes(os.path.abspath(sys.argv[1])) + steps(os.path.abspath(sys.argv[1])) + samples(os.path.abspath(sys.argv[2]))
    for w in wrong: print(w)
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    if with_packages(os.path.abspath(sys.argv[3])): main()
