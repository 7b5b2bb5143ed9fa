#!/usr/bin/env python3
"""How long `shard plan` takes for a thousand candidates and more.

    plan.py SHARD [--layers N]

Searches meshes, settings and the axes of logical names for the transformer of scripts/layouts/rent.shard on 64 devices;
prints how many candidates were predicted, the seconds, and whether a second search says the same. Ends with 1 where it
was fewer than 1,000, took longer than 60 s, or said something else."""
import os, re, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    shard, layers = sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else '32'
    argv = [shard, 'plan', os.path.join(ROOT, 'scripts/layouts/rent.shard'), '--chip', 'h100', '--devices', '64', '--axes', 'data,model', '--rules', '--most', '20000',
            '--over', 'keep=dots,nothing', '--over', 'batch=256,512']
    for pair in (f'layers={layers}', 'width=4096', 'heads=32', 'time=2048'): argv += ['--set', pair]
    said, seconds = [], []
    for _ in range(2):
        start = time.monotonic()
        p = subprocess.run(argv, capture_output=True, text=True)
        seconds.append(time.monotonic() - start)
        if p.returncode: sys.exit(p.stderr)
        said.append(p.stdout)
    count = int(re.search(r'(\d+) candidates', said[0])[1])
    print(said[0].rstrip().split('\n\n')[-1])
    print(f'{count} candidates of {layers} layers in {seconds[0]:.1f} s and {seconds[1]:.1f} s on {os.cpu_count()} processors, {1000 * min(seconds) / count:.1f} ms each; '
          + ('the same twice' if said[0] == said[1] else 'NOT THE SAME TWICE'))
    return said[0] != said[1] or count < 1000 or min(seconds) > 60


if __name__ == '__main__': sys.exit(main())
