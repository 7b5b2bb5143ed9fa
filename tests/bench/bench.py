#!/usr/bin/env python3
"""Speed of Shard, and of JAX beside it where it is installed, in one run. Nothing here passes or fails.

    bench.py PROGRAM [--python PYTHON_WITH_JAX]       PROGRAM: the built `shard`

A step of Shard is the time of a long run less that of a short one, over the difference in steps; memory is the peak of the process. The share
of a step is the speed of its products (their operations on all devices, over the time of the whole step) compared with that of NumPy's product of
2,048 rows in the same run: what it would be if nothing but products took time, and these were as fast.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def run(argv):
    """Seconds and peak memory (MB) of a command."""
    start = time.perf_counter()
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f'failed: {" ".join(argv)}')
    return time.perf_counter() - start, usage.ru_maxrss / 1024


# Program, devices, steps of the short and of the long run, what `step` takes, other settings.
STEPS = [('logistic', 1, 200, 4200, 'params, x, y', []), ('logistic', 8, 200, 4200, 'params, x, y', [])] + \
    [('mlp', n, 5, 45, 'state, x, y', []) for n in (1, 8, 64)] + [('transformer', n, 5, 45, 'state, x, y', []) for n in (2, 8)] + \
    [('sharded', 8, 5, 25, 'p, v, x, y', ['@data=2', '@model=4'])]


def product_operations(shard, name, devices, arguments, settings):
    """Floating point operations of a step's products on all devices."""
    with open(os.path.join(HERE, name + '.shard')) as f: text = f.read()
    with tempfile.NamedTemporaryFile('w', suffix='.shard') as f:
        f.write(f'{text}\nprint("operations", cost(step, {arguments}).flops)\n')
        f.flush()
        argv = [shard, 'run', f.name, '--devices', str(devices), '--set', 'steps=0', *(w for s in settings for w in ('--set', s))]
        out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return float(out.split('operations')[1]) * devices


def shard_step(shard, name, devices, few, many, settings):
    command = [shard, 'run', os.path.join(HERE, name + '.shard'), '--devices', str(devices)]
    for s in settings: command += ['--set', s]
    command.append('--set')
    best = min((run(command + [f'steps={many}'])[0] - run(command + [f'steps={few}'])[0]) / (many - few) for _ in range(3))
    return best * 1e3, run(command + [f'steps={few}'])[1]


def collectives_step(shard, what, devices):
    """Milliseconds of one call of collectives.shard: 100 small collectives, or a training step."""
    command = [shard, 'run', os.path.join(HERE, 'collectives.shard'), '--devices', str(devices), '--set', f'what={what}', '--set']
    steps = max(20, 16000 // devices)
    few, many = (min(run(command + [f'steps={n}'])[0] for _ in range(3)) for n in (2, 2 + steps))
    return (many - few) / steps * 1e3


def jax_step(python, name, devices, steps):
    out = subprocess.run([python, os.path.join(HERE, 'jax_programs.py'), name, str(devices), str(steps)], capture_output=True, text=True)
    return float(out.stdout) if out.returncode == 0 else None


MATMUL = '''
let n = {n}
let a = normal(key(0), [n, n])
let b = normal(key(1), [n, n])
let c = a @ b
for i in 0..{times} {{ c = a @ b }}
print(c[0, 0])
'''


def shard_matmul(shard, n, times):
    """GFLOP/s of n x n products at top level: a long run less a short one."""
    def seconds(count):
        with tempfile.NamedTemporaryFile('w', suffix='.shard') as f:
            f.write(MATMUL.format(n=n, times=count))
            f.flush()
            return min(run([shard, 'run', f.name])[0] for _ in range(3))
    return 2 * n ** 3 * times / (seconds(times + 1) - seconds(1)) / 1e9


def numpy_matmul(python, n, times):
    code = f"""
import numpy as np, time
a, b = np.random.rand({n}, {n}).astype('f'), np.random.rand({n}, {n}).astype('f')
best = 1e9
for _ in range(3):
    t = time.perf_counter()
    for _ in range({times}): a @ b
    best = min(best, time.perf_counter() - t)
print(2 * {n} ** 3 * {times} / best / 1e9)"""
    out = subprocess.run([python, '-c', code], capture_output=True, text=True)
    return float(out.stdout) if out.returncode == 0 else None


CALLS = '''
mesh m = (@X: 2, @Y: 4){kind}
let w = shard ones([16, 16]) as P(_, @Y)
let x = shard ones([8, 16]) as P(@X)
jit fn step(x, w) = tanh(matmul(x, w)) + x
for i in 0..{times} {{ x = step(x, w) }}
print(x.sum())
'''


def repeated_call(shard, kind, times=20000):
    """Microseconds of one more call of a compiled function."""
    def seconds(count):
        with tempfile.NamedTemporaryFile('w', suffix='.shard') as f:
            f.write(CALLS.format(kind=kind, times=count))
            f.flush()
            return min(run([shard, 'run', f.name])[0] for _ in range(5))
    return (seconds(times) - seconds(1)) / times * 1e6


def check_cost(shard):
    """Milliseconds of `shard check` of 500 lines of operations on explicit axes, above those of an empty file."""
    lines = ['mesh e = (@X: 2, @Y: 4) explicit', 'let x = shard ones([8, 16]) as P(@X, @Y)', 'let w = shard ones([16, 16]) as P()']
    while len(lines) < 500: lines.append(['let h = x @ w', 'let x = tanh(x) + 1.0', 'let s = sum(x, axis: 1)', 'let y = x.reshape([8, 4, 4])'][len(lines) % 4])
    def milliseconds(text):
        with tempfile.NamedTemporaryFile('w', suffix='.shard') as f:
            f.write(text)
            f.flush()
            return sorted(run([shard, 'check', f.name])[0] for _ in range(11))[5] * 1e3
    return milliseconds('\n'.join(lines) + '\n') - milliseconds('let x = 1\n')


def header_cost():
    """Seconds to compile a file that includes shard.h, and one that includes four standard headers."""
    root = os.path.dirname(os.path.dirname(HERE))
    def seconds(text):
        with tempfile.NamedTemporaryFile('w', suffix='.cpp') as f:
            f.write(text + '\nint main() {}\n')
            f.flush()
            return min(run(['c++', '-std=c++20', '-c', '-o', '/dev/null', '-I', root, f.name])[0] for _ in range(3))
    return seconds('#include "interpreter/shard.h"'), seconds('\n'.join(f'#include <{h}>' for h in ('vector', 'string', 'memory', 'functional')))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('shard')
    p.add_argument('--python', default=sys.executable)
    a = p.parse_args()
    with_jax = subprocess.run([a.python, '-c', 'import jax'], capture_output=True).returncode == 0
    products = numpy_matmul(a.python, 2048, 4)
    print(f'{"program":11} {"devices":>7} {"Shard ms":>10} {"JAX ms":>10} {"ratio":>7} {"share":>6} {"peak MB":>8}')
    for name, devices, few, many, arguments, settings in STEPS:
        ms, mb = shard_step(a.shard, name, devices, few, many, settings)
        jax = jax_step(a.python, name, devices, many // 10 + 10) if with_jax and not settings else None
        share = product_operations(a.shard, name, devices, arguments, settings) / ms / 1e6 / products if products else None
        print(f'{name:11} {devices:7} {ms:10.4f} ' + (f'{jax:10.4f} {ms / jax:7.2f}' if jax else f'{"-":>10} {"-":>7}') +
              (f' {share:6.2f}' if share else f' {"-":>6}') + f' {mb:8.0f}', flush=True)
    if products: print(f'share: of NumPy at 2,048 rows, {products:.0f} GFLOP/s')
    timed = ['run', os.path.join(HERE, 'transformer.shard'), '--set', 'steps=0', '--set']
    without, with_plan = (min(run([a.shard, *timed, f'plan={n}'])[0] for _ in range(5)) for n in (0, 1))
    print(f'transformer: trace to plan {(with_plan - without) * 1e3:.0f} ms', flush=True)
    for what in ('ppermute', 'psum', 'all_gather', 'train'):
        ms = [collectives_step(a.shard, what, devices) for devices in (8, 512, 4096)]
        unit, scale = ('ms a step', 1) if what == 'train' else ('us each', 10)
        print(f'by hand, {what:10}: ' + ', '.join(f'{m * scale:.2f} on {d}' for m, d in zip(ms, (8, 512, 4096))) + f' devices ({unit})', flush=True)
    for n, times in [(256, 800), (512, 150), (1024, 25), (2048, 4)]:
        ours, theirs = shard_matmul(a.shard, n, times), numpy_matmul(a.python, n, times)
        print(f'matmul {n:5}: Shard {ours:6.1f} GFLOP/s' + (f', NumPy {theirs:6.1f}, ratio {ours / theirs:.2f}' if theirs else ''), flush=True)
    auto, explicit = repeated_call(a.shard, ''), repeated_call(a.shard, ' explicit')
    print(f'one more call of a small jit function: {auto:.2f} us on auto axes, {explicit:.2f} us on explicit ones')
    print(f'shard check of 500 lines on explicit axes: {check_cost(a.shard):.1f} ms')
    header, standard = header_cost()
    print(f'a file with shard.h compiles in {header:.2f} s, one with four standard headers in {standard:.2f} s: {header / standard:.2f} times')
    one = os.path.join(HERE, 'one_line.shard')
    starts = sorted(run([a.shard, 'run', one])[0] for _ in range(15))
    print(f'start to the end of a one-line script: {starts[7] * 1e3:.1f} ms (median of 15)')


if __name__ == '__main__':
    main()
