#!/usr/bin/env python3
"""Two processes of Shard beside MPI, a plain pair of sockets and two processes of JAX (Gloo), in one run; and what four processes hold of a
model that is split over all of them. Nothing here passes or fails.

    processes.py PROGRAM [--python PYTHON_WITH_JAX]       PROGRAM: the built `shard`; mpicc and mpirun where they are found
"""
import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MPIRUN = ['mpirun', '-n', '2', '--oversubscribe']
AS_ROOT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')

REDUCE = '''
let n = 1
let times = 10
mesh m = (@d: 2)
let x = shard ones([2 * n]) as P(@d)
manual fn reduce(v: P(@d)) -> P(@d) = scan(fn(v, _) = (pcast(psum(v, @d), @d), none), v, length: times)[0]
x = reduce(x)
let best = 1e30
for i in 0..5 {
  let begun = clock()
  x = reduce(x)
  let _seen = float(x[0])
  best = min(best, clock() - begun)
}
print(best / times * 1e6)
'''
REDUCE_JAX = '''
import os, sys, time
os.environ['JAX_PLATFORMS'] = 'cpu'
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
n, times = int(sys.argv[3]), int(sys.argv[4])
mesh = jax.make_mesh((2,), ('d',), axis_types=(jax.sharding.AxisType.Auto,))
import numpy as np
x = jax.make_array_from_callback((2 * n,), NamedSharding(mesh, P('d')), lambda i: np.ones(n, np.float32))
f = jax.jit(jax.shard_map(lambda v: jax.lax.fori_loop(0, times, lambda i, v: jax.lax.psum(v, "d"), v), mesh=mesh, in_specs=P('d'), out_specs=P('d'), check_vma=False))
x = jax.block_until_ready(f(x))
best = 1e30
for _ in range(5):
    begun = time.perf_counter()
    x = jax.block_until_ready(f(x))
    best = min(best, time.perf_counter() - begun)
if sys.argv[2] == '0': print(best / times * 1e6)
'''
MODEL = '''
mesh m = (@d: 4)
let keys = split(key(0), 16)
let p = []
for i in 0..16 { p = [...p, shard normal(keys[i], [2560, 2560]) / sqrt(2560) as P(@d)] }
jit fn step(p) = tree_map(fn(w) = w * 0.99, p)
for i in 0..3 { p = step(p) }
print(sum(p[0]))
'''


def said(argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, **more)
    if done.returncode != 0: sys.exit(f'failed: {" ".join(argv)}\n{done.stderr}')
    return float(done.stdout.split()[0])


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def two_of_jax(python, argv):
    """What the first of two processes prints; each is told where they meet and its number."""
    where = f'127.0.0.1:{free_port()}'
    both = [subprocess.Popen([python, *argv(where, i)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for i in (0, 1)]
    out = [p.communicate(timeout=600)[0] for p in both]
    return float(out[0].split()[-1]) if out[0].strip() else None


def shown(us):
    return '-' if us is None else f'{us:.1f} us' if us < 1000 else f'{us / 1000:.2f} ms'


def all_reduces(shard, python, folder):
    with open(folder + '/reduce.shard', 'w') as f: f.write(REDUCE)
    with open(folder + '/reduce.py', 'w') as f: f.write(REDUCE_JAX)
    source = os.path.join(HERE, 'exchange.c')
    subprocess.run(['cc', '-O2', '-o', folder + '/pair', source], check=True)
    mpi = shutil.which('mpicc') and shutil.which('mpirun')
    module = os.path.join(os.path.dirname(os.path.abspath(shard)), 'libshard_mpi.so')
    if mpi: subprocess.run(['mpicc', '-O2', '-DMPI', '-o', folder + '/mpi', source], check=True)
    print('| all-reduce of | Shard, memory | Shard, TCP | Shard, MPI | MPI_Allreduce | JAX, Gloo | as many bytes over a pair of sockets |\n| --- | --- | --- | --- | --- | --- | --- |')
    for size, name, times in ((4, '4 B', 2000), (1 << 16, '64 KB', 500), (4 << 20, '4 MB', 20), (64 << 20, '64 MB', 3)):
        words = ['--devices', '2', '--set', f'n={size // 4}', '--set', f'times={times}']
        script = folder + '/reduce.shard'
        row = [said([shard, 'launch', '-n', '2', '--transport', t, *words, script]) for t in ('unix', 'tcp')]
        row.append(said([*MPIRUN, shard, 'run', *words, script], env=AS_ROOT) if mpi and os.path.exists(module) else None)
        row.append(said([*MPIRUN, folder + '/mpi', str(size), str(times)], env=AS_ROOT) if mpi else None)
        row.append(two_of_jax(python, lambda where, i: [folder + '/reduce.py', where, str(i), str(size // 4), str(max(3, times // 10))]) if python else None)
        row.append(said([folder + '/pair', str(size), str(times)]))
        print(f'| {name} | {" | ".join(shown(us) for us in row)} |', flush=True)


def step_of(commands, few, many, times=5):
    """Milliseconds of a step of each command: a long run less a short one. They take turns, so that a slow minute of the machine is everybody's."""
    def seconds(argv, steps):
        began = time.perf_counter()
        subprocess.run([*argv, '--set', f'steps={steps}'], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began
    runs = [[(seconds(argv, few), seconds(argv, many)) for argv in commands] for _ in range(times)]
    return [(min(run[i][1] for run in runs) - min(run[i][0] for run in runs)) / (many - few) * 1e3 for i in range(len(commands))]


def steps(shard, python):
    print('\n| step on 2 devices | one process | two processes | two of JAX |\n| --- | --- | --- | --- |')
    for name, script, more in (('mlp, data parallel', 'mlp', []), ('mlp, fully sharded', 'mlp', ['--set', 'sharded=1']), ('transformer', 'transformer', [])):
        argv = [os.path.join(HERE, script + '.shard'), '--devices', '2', *more]
        alone, two = step_of([[shard, 'run', *argv], [shard, 'launch', '-n', '2', *argv]], 2, 102)
        other = two_of_jax(python, lambda where, i: [os.path.join(HERE, 'jax_programs.py'), 'fsdp' if more else script, '2', '50', where, str(i)]) if python else None
        print(f'| {name} | {alone:.1f} ms | {two:.1f} ms ({two / alone:.2f}) | {"-" if other is None else f"{other:.1f} ms"} |', flush=True)


def resident(argv, folder):
    """Megabytes that were resident in the largest of the processes that it started, or in itself."""
    p = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL)
    return os.wait4(p.pid, 0)[2].ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('shard')
    parser.add_argument('--python')
    a = parser.parse_args()
    shard = os.path.abspath(a.shard)
    with tempfile.TemporaryDirectory() as folder:
        all_reduces(shard, a.python, folder)
        steps(shard, a.python)
        with open(folder + '/model.shard', 'w') as f: f.write(MODEL)
        alone, each = (resident([shard, *words, '--devices', '4', 'model.shard'], folder) for words in (['run'], ['launch', '-n', '4']))
        print(f'\na model of 400 MB, split over 4 devices: {alone:.0f} MB resident in one process, {each:.0f} in each of four ({each / alone:.2f})')


if __name__ == '__main__':
    main()
