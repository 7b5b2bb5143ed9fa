#!/usr/bin/env python3
"""Predicted against measured time of a step of this folder's programs on simulated devices. Nothing here passes or fails.

    predicted.py SHARD [--chip FILE.shard] [--rounds N]

Without --chip this machine is calibrated first (--chip: by `calibrate --processes 2`). Measured is a call by itself: of each of its instructions the least that it took
in any call (`shard run --profile`: quiet_seconds), the best of several runs, as machines are busy; predicted what the clock says of the same compiled function on the chip. Then the same of two processes, where
measured is a long run less a short one. Standard library only."""
import argparse, json, os, subprocess, sys, tempfile

from processes import step_of

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = [('logistic', 1, 'steps=2000'), ('logistic', 8, 'steps=2000'), ('mlp', 1, 'steps=30'), ('mlp', 8, 'steps=30'), ('mlp', 8, 'steps=30 sharded=1'),
            ('transformer', 2, 'steps=20'), ('transformer', 8, 'steps=20')]
PROGRAMS += [('collectives', 8, f'what={w} steps=200') for w in ('ppermute', 'psum', 'all_gather', 'train')]
TWO = [('mlp', ''), ('mlp', 'sharded=1'), ('transformer', '')]   # in two processes of a device each


def profile(shard, chip, program, devices, sets):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, 'profile.json')
        argv = [shard, 'run', os.path.join(HERE, program + '.shard'), '--devices', str(devices), '--profile', file, '--chip', chip]
        for pair in sets.split(): argv += ['--set', pair]
        p = subprocess.run(argv, capture_output=True, text=True)
        if p.returncode: sys.exit(f'{program}: {p.stderr}')
        with open(file) as f: calls = json.load(f)['calls']
    return max(calls, key=lambda c: c['count'] * c['mean_seconds'])


def table(title, rows):
    print(f'{title:37s} {"devices":>7s} {"measured":>10s} {"predicted":>10s} {"error":>8s}')
    errors = [said / measured - 1 for *_, measured, said in rows]
    for (name, devices, measured, said), error in zip(rows, errors):
        print(f'{name:37s} {devices:7d} {measured * 1e3:7.3f} ms {said * 1e3:7.3f} ms {100 * error:+6.1f} %')
    print(f'mean error {100 * sum(map(abs, errors)) / len(errors):.1f} % of {len(errors)}\n', flush=True)


def in_two_processes(shard, chip, program, sets):
    argv = [os.path.join(HERE, program + '.shard'), '--devices', '2', *(w for pair in sets.split() for w in ('--set', pair))]
    calls = json.loads(subprocess.run([shard, 'estimate', *argv, '--chip', chip, '--json'], check=True, capture_output=True, text=True).stdout)['calls']
    said = max(calls, key=lambda c: c['count'] * c['step_seconds'])['step_seconds']
    return f'{program} {sets}', 2, step_of([[shard, 'launch', '-n', '2', *argv]], 2, 52)[0] / 1e3, said


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('shard'); p.add_argument('--chip'); p.add_argument('--rounds', type=int, default=5)
    o = p.parse_args()
    two = o.chip or os.path.join(tempfile.mkdtemp(), 'two.shard')
    if not o.chip: subprocess.run([o.shard, 'calibrate', '--processes', '2', '-o', two], check=True, stdout=subprocess.DEVNULL)
    one = os.path.join(tempfile.mkdtemp(), 'one.shard')
    with open(two) as f, open(one, 'w') as g: g.write(f.read().replace('simulated: 2', 'simulated: 1'))
    least = {}
    for _ in range(o.rounds):                                # one after another, so that a busy minute meets all alike
        for row in PROGRAMS:
            call = profile(o.shard, one, *row)
            if row not in least or call['quiet_seconds'] < least[row]['quiet_seconds']: least[row] = call
    table('one process', [(f'{program} {sets}', devices, least[program, devices, sets]['quiet_seconds'], least[program, devices, sets]['predicted_seconds'])
                          for program, devices, sets in PROGRAMS])
    table('two processes', [in_two_processes(o.shard, two, *row) for row in TWO])


if __name__ == '__main__': main()
