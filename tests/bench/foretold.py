#!/usr/bin/env python3
"""Predicted against measured time of a step of this folder's programs on simulated devices. Nothing here passes or fails.

    foretold.py SHARD [--chip FILE.shard] [--rounds N]

Without --chip this machine is calibrated first. Measured is a call by itself: of each of its instructions the least that it took
in any call (`shard run --profile`: quiet_seconds), the best of several runs, as machines are busy; foretold what the clock says of the same compiled function on the chip. Standard library only."""
import argparse, json, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = [('logistic', 1, 'steps=2000'), ('logistic', 8, 'steps=2000'), ('mlp', 1, 'steps=30'), ('mlp', 8, 'steps=30'), ('mlp', 8, 'steps=30 sharded=1'),
            ('transformer', 2, 'steps=20'), ('transformer', 8, 'steps=20')]
PROGRAMS += [('collectives', 8, f'what={w} steps=200') for w in ('ppermute', 'psum', 'all_gather', 'train')]


def profile(shard, chip, program, devices, sets):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, 'profile.json')
        argv = [shard, 'run', os.path.join(HERE, program + '.shard'), '--devices', str(devices), '--profile', file, '--chip', chip]
        for pair in sets.split(): argv += ['--set', pair]
        p = subprocess.run(argv, capture_output=True, text=True)
        if p.returncode: sys.exit(f'{program}: {p.stderr}')
        with open(file) as f: calls = json.load(f)['calls']
    return max(calls, key=lambda c: c['count'] * c['mean_seconds'])


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('shard'); p.add_argument('--chip'); p.add_argument('--rounds', type=int, default=5)
    o = p.parse_args()
    chip = o.chip
    if not chip:
        chip = os.path.join(tempfile.mkdtemp(), 'machine.shard')
        subprocess.run([o.shard, 'calibrate', '-o', chip], check=True, stdout=subprocess.DEVNULL)
    errors = []
    least = {}
    for _ in range(o.rounds):                                # one after another, so that a busy minute meets all alike
        for row in PROGRAMS:
            call = profile(o.shard, chip, *row)
            if row not in least or call['quiet_seconds'] < least[row]['quiet_seconds']: least[row] = call
    print(f'{"program":12s} {"settings":24s} {"devices":>7s} {"measured":>10s} {"foretold":>10s} {"error":>8s}')
    for row in PROGRAMS:
        program, devices, sets = row
        measured, said = least[row]['quiet_seconds'], least[row]['foretold_seconds']
        errors.append(abs(said / measured - 1))
        print(f'{program:12s} {sets:24s} {devices:7d} {measured * 1e3:7.3f} ms {said * 1e3:7.3f} ms {100 * (said / measured - 1):+6.1f} %')
    print(f'mean error {100 * sum(errors) / len(errors):.1f} % of {len(errors)}')


if __name__ == '__main__': main()
