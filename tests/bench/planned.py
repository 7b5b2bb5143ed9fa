#!/usr/bin/env python3
"""Whether the mesh that `shard plan` puts first is the fastest here: all meshes of 8 simulated devices, predicted and measured. Nothing here passes or fails.

    planned.py SHARD [--chip FILE.shard] [--rounds N] [--only NAME]

Without --chip this machine is calibrated first. Measured is a call by itself, as predicted.py has it: of each of its instructions the least that it took in
any call of any round; the rounds take one mesh after another, so that a busy minute meets all alike. Printed for each program: the meshes in the plan's
order, what is said and measured, how many percent the first one is from the fastest, and Kendall's tau of the two orders (pairs that lie closer than the
measurements of a mesh among themselves, 2 %, are no pairs). Standard library only."""
import argparse, itertools, json, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DEVICES = '8'
ALIKE = 0.02
# Script, axes that are open, values of settings that are tried, settings of all runs.
PROGRAMS = [('tests/bench/mlp', 'data,model', 'sharded=0,1', 'steps=15'), ('tests/bench/transformer', 'data,model', '', 'steps=6'),
            ('scripts/ports/gpt', 'data,model', '', ''), ('tests/bench/convolutions', 'data,model', '', 'steps=20'),
            ('tests/bench/sharded', 'data,fsdp,model', '', 'steps=8')]


def said(argv):
    p = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    if p.returncode: sys.exit(f'{" ".join(argv)}: {p.stderr}')
    return p.stdout


def planned(shard, chip, program, axes, over, sets):
    argv = [shard, 'plan', program + '.shard', '--chip', chip, '--devices', DEVICES, '--axes', axes, '--json']
    if over: argv += ['--over', over]
    for pair in sets.split(): argv += ['--set', pair]
    candidates = json.loads(said(argv))
    for c in candidates:
        c['name'] = ' '.join(f'@{a}={n}' for a, n in c['axes'].items()) + ''.join(f' {k}={v}' for k, v in c['set'].items() if f'{k}={v}' not in sets.split())
    return candidates


def measure(shard, chip, program, sets, c):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, 'profile.json')
        argv = [shard, 'run', program + '.shard', '--devices', DEVICES, '--profile', file, '--chip', chip]
        for pair in c['name'].split() + sets.split(): argv += ['--set', pair]
        said(argv)
        with open(file) as f: calls = json.load(f)['calls']
    call = max(calls, key=lambda x: x['count'] * x['mean_seconds'])
    c['measured'] = min(c.get('measured', 1e30), call['quiet_seconds'])


def tau(candidates):
    """Of pairs in the plan's order: those that the measurements put in the same order, less the others, of all."""
    pairs = [(a['measured'], b['measured']) for a, b in itertools.combinations(candidates, 2)]
    pairs = [(a, b) for a, b in pairs if abs(a - b) > ALIKE * min(a, b)]
    return sum(1 if a < b else -1 for a, b in pairs) / len(pairs) if pairs else 1.0, len(pairs)


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('shard'); p.add_argument('--chip'); p.add_argument('--rounds', type=int, default=4); p.add_argument('--only', default='')
    o = p.parse_args()
    shard, chip = os.path.abspath(o.shard), o.chip and os.path.abspath(o.chip)
    if not chip:
        chip = os.path.join(tempfile.mkdtemp(), 'machine.shard')
        subprocess.run([shard, 'calibrate', '-o', chip], check=True, stdout=subprocess.DEVNULL)
    rows = [(row, planned(shard, chip, *row)) for row in PROGRAMS if o.only in row[0]]
    for _ in range(o.rounds):
        for (program, _, _, sets), candidates in rows:
            for c in candidates:
                if 'step_seconds' in c: measure(shard, chip, program, sets, c)
    within = 0
    for (program, *_), candidates in rows:
        for c in candidates:
            if 'measured' not in c: print(f'{"":3s} {c["name"]:28s} cannot be: {c["why"]}')
        candidates = [c for c in candidates if 'measured' in c]
        best = min(c['measured'] for c in candidates)
        for i, c in enumerate(candidates):
            print(f'{i + 1:3d} {c["name"]:28s} said {c["step_seconds"] * 1e3:8.3f} ms  measured {c["measured"] * 1e3:8.3f} ms  {100 * (c["measured"] / best - 1):+6.1f} %')
        off, (t, pairs) = candidates[0]['measured'] / best - 1, tau(candidates)
        rank = 1 + sum(c['measured'] < candidates[0]['measured'] for c in candidates)
        within += off <= 0.05
        print(f'{os.path.basename(program)}: the first choice is number {rank} of {len(candidates)}, {100 * off:.1f} % from the fastest; tau {t:+.2f} of {pairs} pairs\n', flush=True)
    print(f'within 5 % of the fastest: {within} of {len(rows)}')


if __name__ == '__main__': main()
