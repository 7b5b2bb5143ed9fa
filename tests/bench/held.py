#!/usr/bin/env python3
"""What `shard estimate` says that a call holds at most, beside what a run on one device holds. Nothing here passes or fails.

    held.py SHARD [--factor N]

Of this folder's programs on one device: the predicted peak of the call that takes most, with the arrays that the script itself holds besides; the most
bytes of arrays at once as the pool counts them (`memory_stats().peak_bytes_in_use`); and the resident size of the process less what one that runs a
product holds besides its arrays (program, threads, what their kernels pack). Batches are N times those of the scripts (4). Standard library only."""
import argparse, json, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = [('mlp', 1024, ''), ('transformer', 0, '@model=1'), ('convolutions', 64, ''), ('sharded', 512, '')]
CHIP = '{name: "here", flops: {f32: 1e11}, memory: 16e9, bandwidth: 3e10, domain: 1, simulated: 1}\n'
BASE = 'jit fn f(x) = x @ x + 1.0\nprint(f(ones([1024, 1024]))[0, 0])\nprint(memory_stats().peak_bytes_in_use)\n'


def run(argv):
    """What it prints, and the most bytes that were resident."""
    with tempfile.TemporaryFile('w+') as out:
        child = subprocess.Popen(argv, stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        if status: sys.exit(f'failed: {" ".join(argv)}')
        out.seek(0)
        return out.read(), usage.ru_maxrss * 1024


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('shard'); p.add_argument('--factor', type=int, default=4)
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        def script(name, text):
            path = os.path.join(folder, name + '.shard')
            with open(path, 'w') as f: f.write(text)
            return path
        said, base = run([o.shard, 'run', script('base', BASE)])
        base -= float(said.split()[-1])
        print(f'a process besides its arrays: {base / 1e6:.1f} MB\n{"program":14s} {"predicted":>10s} {"counted":>18s} {"resident":>18s}')
        for name, batch, sets in PROGRAMS:
            with open(os.path.join(HERE, name + '.shard')) as f: text = f.read()
            sets = [x for s in (f'{sets} steps=3' + (f' batch={o.factor * batch}' if batch else '')).split() for x in ('--set', s)]
            path = script(name, text + '\nlet m = memory_stats()\nprint(m.bytes_in_use, m.peak_bytes_in_use)\n')
            said, resident = run([o.shard, 'run', path, '--devices', '1', *sets])
            in_use, counted = map(float, said.split()[-2:])
            calls = json.loads(run([o.shard, 'estimate', script(name, text), '--chip', script('here', CHIP), '--devices', '1', '--json', *sets])[0])['calls']
            call = max(calls, key=lambda c: c['step_seconds'] * c['count'])
            arguments = sum(call['memory'][w] for w in ('parameters', 'optimizer_state', 'other_arguments'))
            predicted = call['peak_bytes_per_device'] + max(0, in_use - arguments)
            beside = lambda x: f'{x / 1e6:9.1f} {100 * (x / predicted - 1):+6.1f} %'
            print(f'{name:14s} {predicted / 1e6:7.1f} MB {beside(counted)} {beside(resident - base)}', flush=True)


if __name__ == '__main__': main()
