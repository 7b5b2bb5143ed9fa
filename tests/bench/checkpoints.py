#!/usr/bin/env python3
"""What checkpoints cost: a tree of 2 GB saved and loaded beside `dd` and `cat`, in one run, with the memory that is resident; and how
much longer a training step takes while a checkpoint is written (a network of 784-512-512-10, the state of Adam with it).

    checkpoints.py SHARD [FOLDER]      FOLDER: where the files go, on the disk to be measured
"""
import os
import subprocess
import sys
import tempfile
import time

ARRAYS, ROWS = 4, 16384                          # of [ROWS, 8192] f32: 512 MB each
TREE = 'mesh m = (@data: 8)\nlet t = {' + ', '.join(f'a{i}: shard full([{ROWS}, 8192], {i}.5) as P(@data)' for i in range(ARRAYS)) + '}\n'
LIKE = 'mesh m = (@data: 8)\nlet t = {' + ', '.join(f'a{i}: shard f32[{ROWS}, 8192] as P(@data)' for i in range(ARRAYS)) + '}\n'
TRAIN = '''
import train
let every = 1000000
mesh m = (@data: 8)
fn dense(k, rows, cols) = {w: normal(k, [rows, cols]) / sqrt(rows), b: zeros([cols])}
let (k1, k2, k3) = split(key(0), 3)
let params = [dense(k1, 784, 512), dense(k2, 512, 512), dense(k3, 512, 10)]
fn forward(params, x) {
  for layer in params[0:2] { x = relu(x @ layer.w + layer.b) }
  x @ params[2].w + params[2].b
}
fn loss(params, x, y) = mean(logsumexp(forward(params, x), axis: -1) - sum(forward(params, x) * one_hot(y, 10), axis: -1))
jit fn step(state, x, y) {
  let (l, g) = value_and_grad(loss)(state.params, x, y)
  let m = tree_map(fn(a, b) = 0.9 * a + 0.1 * b, state.m, g)
  let v = tree_map(fn(a, b) = 0.999 * a + 0.001 * b * b, state.v, g)
  ({params: tree_map(fn(p, m, v) = p - 0.001 * m / (sqrt(v) + 1e-8), state.params, m, v), m: m, v: v}, l)
}
let zero = tree_map(zeros_like, params)
let state = shard {params: params, m: zero, v: zero} as P()
let x = shard normal(key(1), [1024, 784]) as P(@data)
let y = shard randint(key(2), [1024], 0, 10) as P(@data)
let l = none
let begun = clock()
let ck = train.checkpoints("run", keep: 2, every: every)
for i in 1..301 {
  (state, l) = step(state, x, y)
  ck.save(i, state)
}
print(clock() - begun, l)
'''


def timed(command, **more):
    """Seconds, the memory that was resident at most, and what it printed."""
    began = time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **more)
    said = p.stdout.read()
    _, status, use = os.wait4(p.pid, 0)
    assert status == 0, command
    return time.monotonic() - began, use.ru_maxrss * 1024, said


def script(shard, folder, text, *more):
    """What it printed first, seconds, and the memory that was resident."""
    with open(folder + '/a.shard', 'w') as f:
        f.write(text)
    _, resident, said = timed([shard, 'run', 'a.shard', *more], cwd=folder)
    return float(said.split()[0]), resident


def leave_cache(path):
    """What is on the disk leaves the system's memory."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def main():
    shard = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else '.') as folder:
        size = ARRAYS * ROWS * 8192 * 4
        begin, end = 'let begun = clock()\n', '\nprint(clock() - begun)\n'
        for _ in range(3):
            subprocess.run(['rm', '-rf', 'big', 'dd.bin'], cwd=folder)     # both write a new file
            write, resident = script(shard, folder, TREE + begin + 'save("big/", t)' + end)
            dd, _, _ = timed(['dd', 'if=/dev/zero', 'of=dd.bin', 'bs=1M', f'count={size >> 20}', 'conv=fsync', 'status=none'], cwd=folder)
            print(f'save: {size / write / 1e9:.2f} GB/s, dd with fsync {size / dd / 1e9:.2f}: ratio {dd / write:.2f}; resident {resident / size:.2f} of the tree')
            for where in ('disk', 'cache'):
                if where == 'disk': leave_cache(folder + '/big/data_0.safetensors')
                cat, _, _ = timed(['sh', '-c', 'cat big/data_0.safetensors > /dev/null'], cwd=folder)
                if where == 'disk': leave_cache(folder + '/big/data_0.safetensors')
                read, resident = script(shard, folder, LIKE + begin + 'let b = load("big/", like: t)' + end)
                print(f'load from the {where}: {size / read / 1e9:.2f} GB/s, cat {size / cat / 1e9:.2f}: ratio {cat / read:.2f}; '
                      f'resident {resident / size:.2f} of the tree', flush=True)
        subprocess.run(['rm', '-rf', 'big', 'dd.bin'], cwd=folder)
        for every in (50, 10, 1):
            plain = min(script(shard, folder, TRAIN)[0] for _ in range(2))
            with_saves = min(script(shard, folder, TRAIN, '--set', f'every={every}')[0] for _ in range(2))
            print(f'300 steps: {plain:.2f} s, saved every {every}: {with_saves:.2f} s, {100 * (with_saves / plain - 1):.1f} % more')


if __name__ == '__main__':
    main()
