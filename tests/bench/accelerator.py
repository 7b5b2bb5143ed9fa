#!/usr/bin/env python3
"""One accelerator: milliseconds of a training step by Shard on engine xla, by JAX on the same device, and as `shard estimate` predicts it.

    accelerator.py SHARD PYTHON_WITH_JAX CHIP [PLUGIN]       CHIP: of `shard estimate`, as h100

The program is transformer.shard with the sizes below. Shard's steps are timed between the losses that it prints, one in EVERY steps, JAX's
(jax_programs.py) as they end; the first of either are left out. Products of f32 are made in full in both. Nothing here passes or fails.
"""
import json, os, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, 'transformer.shard')
STEPS, EVERY = 41, 10
SIZES = ['V=32000 T=1024 D=1024 H=16 layers=12 batch=8 compute=bf16',
         'V=32000 T=1024 D=2048 H=16 layers=12 batch=8 compute=bf16',
         'V=32000 T=512 D=4096 H=32 layers=4 batch=16 compute=bf16',
         'V=32000 T=512 D=1024 H=16 layers=8 batch=16 compute=f32',
         'V=128 T=64 D=128 H=4 layers=4 batch=32 compute=f32']


def settings(sizes):
    return [w for s in (sizes + ' @model=1').split() for w in ('--set', s)]


def shard_step(shard, engine, sizes):
    """(milliseconds a step, seconds until the first loss)"""
    argv = [shard, 'run', '--engine', engine, PROGRAM, '--devices', '1', '--set', f'steps={STEPS}', '--set', f'every={EVERY}', *settings(sizes)]
    start, seen = time.monotonic(), []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as p:
        for _ in p.stdout: seen.append(time.monotonic() - start)
    if p.returncode: sys.exit(f'failed: {" ".join(argv)}')
    seen = seen[:-1]                                         # the last line is that of the end
    return min(b - a for a, b in zip(seen[1:], seen[2:])) / EVERY * 1e3, seen[0]


def jax_step(python, sizes):
    env = {**os.environ, 'JAX_PLATFORMS': 'cuda', 'JAX_DEFAULT_MATMUL_PRECISION': 'highest', 'SIZES': sizes}
    p = subprocess.run([python, os.path.join(HERE, 'jax_programs.py'), 'transformer', '1', str(STEPS)], capture_output=True, text=True, env=env)
    return float(p.stdout.split()[-1]) if p.returncode == 0 else None


def predicted(shard, chip, sizes):
    argv = [shard, 'estimate', PROGRAM, '--chip', chip, '--devices', '1', '--json', *settings(sizes)]
    return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)['step_seconds'] * 1e3


def main():
    shard, python, chip = sys.argv[1:4]
    engine = 'xla' + (':' + sys.argv[4] if len(sys.argv) > 4 else '')
    print(f'{"transformer":62} {"Shard ms":>9} {"JAX ms":>9} {"ratio":>6} {"predicted":>9}  first loss after')
    for sizes in SIZES:
        ours, first = shard_step(shard, engine, sizes)
        theirs = jax_step(python, sizes)
        ratio = f'{ours / theirs:.2f}' if theirs else '-'
        print(f'{sizes:62} {ours:9.2f} {theirs or float("nan"):9.2f} {ratio:>6} {predicted(shard, chip, sizes):9.2f}  {first:.1f} s', flush=True)


if __name__ == '__main__': main()
