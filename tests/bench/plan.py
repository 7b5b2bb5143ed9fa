#!/usr/bin/env python3
"""How long `shard plan` takes for a thousand candidates and more, and whether what it leaves out would have won.

    plan.py SHARD [--layers N]
    plan.py SHARD --cases N

Searches meshes, settings and the axes of logical names for the transformer of scripts/layouts/rent.shard on 64 devices;
prints how many candidates were predicted, the seconds, and whether a second search says the same. Ends with 1 where it
was fewer than 1,000, took longer than 60 s, or said something else. With --cases: N searches on few devices whose memory is
short (sizes, chips and memory drawn at random, the same in every run), each once with `--rules` and once with every candidate
predicted (each name an `--over`); prints at which place of the search one stands that is as good as the winner of all, to 1 %. Ends with 1 where it is not
among the first three."""
import json, os, random, re, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def candidates(shard, *args):
    p = subprocess.run([shard, 'plan', *args, '--json', '--most', '20000'], capture_output=True, text=True)
    if p.returncode: sys.exit(p.stderr)
    return json.loads(p.stdout), p.stderr


def cases(shard, n):
    dice, late = random.Random(1), 0
    for i in range(n):
        chip, devices = dice.choice(['a100_40', 'h100', 'v5e']), dice.choice([8, 16])
        sizes = dict(layers=dice.choice([2, 4]), width=dice.choice([512, 1024]), heads=8, time=dice.choice([256, 512]))
        memory = dice.choice([0.4, 0.8, 1.6]) * 2 ** 30
        with tempfile.NamedTemporaryFile('w', suffix='.shard') as f:
            f.write(f'import chips\n{{...chips.{chip}, name: "small", memory: {memory}}}\n')
            f.flush()
            argv = [os.path.join(ROOT, 'scripts/layouts/rent.shard'), '--chip', f.name, '--devices', str(devices), '--axes', 'data,model', '--over', 'keep=dots,nothing',
                    '--over', f'batch={2 * devices},{4 * devices}']
            for name, value in sizes.items(): argv += ['--set', f'{name}={value}']
            found, said = candidates(shard, *argv, '--rules')
            every, _ = candidates(shard, *argv, *[w for rule in found[0]['rules'] for w in ('--over', f'@{rule}=@data,@model,_')])
        cut = int(re.search(r'([\d,]+) of these were not', said)[1].replace(',', '')) if 'of these were not' in said else 0
        fits = [c for c in every if c['fits']]
        if not fits: print(f'{i}: nothing fits'); continue
        as_good = lambda c: c['fits'] and c['set'] == fits[0]['set'] and c['step_seconds'] <= fits[0]['step_seconds'] * 1.01
        place = next((k + 1 for k, c in enumerate(found) if as_good(c)), 0)
        late += not 1 <= place <= 3
        print(f'{i}: {chip} x {devices}, {memory / 2 ** 30:.1f} GiB, {" ".join(f"{k}={v}" for k, v in sizes.items())}: of {len(every)} candidates {len(fits)} fit; {cut} of {len(found)} cut; the winner is number {place}')
    return late


def main():
    if sys.argv[2:3] == ['--cases']: return cases(sys.argv[1], int(sys.argv[3])) > 0
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
