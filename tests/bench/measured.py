#!/usr/bin/env python3
"""What three measured runs of a cluster are worth: `shard calibrate --measured` is given three rows, the others are predicted.

    measured.py SHARD PROGRAM.shard ROWS.csv [--draws N]

ROWS.csv: id, source, chip, devices, group, settings, step_seconds, and stack where the source does not say it, of which those of one source on one chip are one cluster and one stack of
software. Three rows are drawn N times, the same in every run; printed are the mean error of the others before and after, the order of the rates
inside groups (Kendall's tau) and the share that lies in the range that `estimate` gives. Standard library only."""
import argparse, concurrent.futures, csv, json, math, os, random, subprocess, tempfile

STACKS = {'llm-foundry': 'composer-2023', 'maxtext-2023': 'maxtext-2023', 'megatron-2021': 'megatron-2021', 'korthikanti-2022': 'megatron-2022',
          'vtrain': 'megatron-2022'}


def predicted(shard, program, row, chip, *more):
    argv = [shard, 'estimate', program, '--chip', chip, '--devices', row['devices'], '--json', *more]
    for pair in row['settings'].split(): argv += ['--set', pair]
    return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def order(rows, said):
    signs = []
    for i, a in enumerate(rows):
        for j, b in enumerate(rows[:i]):
            there = math.log(float(a['step_seconds']) / float(b['step_seconds']))
            if a['group'] == b['group'] and abs(there) > math.log(1.03): signs.append(1 if (said[i] > said[j]) == (there > 0) else -1)
    return signs


def one_draw(shard, program, rows, known, stack):
    with tempfile.TemporaryDirectory() as folder:
        runs, ours = os.path.join(folder, 'runs.csv'), os.path.join(folder, 'ours.shard')
        with open(runs, 'w', newline='') as f:
            w = csv.writer(f)
            w.writerow(['file', 'devices', 'settings', 'step_seconds'])
            for r in known: w.writerow([os.path.abspath(program), r['devices'], r['settings'], r['step_seconds']])
        subprocess.run([shard, 'calibrate', '--measured', runs, '--chip', rows[0]['chip'], '--stack', stack, '-o', ours], check=True, capture_output=True)
        others = [r for r in rows if r not in known]
        return others, [predicted(shard, program, r, ours) for r in others]


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('shard'); p.add_argument('program'); p.add_argument('rows'); p.add_argument('--draws', type=int, default=5)
    o = p.parse_args()
    with open(o.rows) as f: rows = list(csv.DictReader(f))
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    total = []
    for source, chip in dict.fromkeys((r['source'], r['chip']) for r in rows):
        own = [r for r in rows if (r['source'], r['chip']) == (source, chip)]
        stack = own[0].get('stack') or STACKS[source]
        if len(own) < 4: continue
        before = [abs(predicted(o.shard, o.program, r, chip, '--stack', stack)['step_seconds'] / float(r['step_seconds']) - 1) for r in own]
        dice = random.Random(1)
        drawn = [dice.sample(own, 3) for _ in range(o.draws)]
        errors, signs, inside = [], [], []
        for others, said in pool.map(lambda known: one_draw(o.shard, o.program, own, known, stack), drawn):
            errors += [abs(s['step_seconds'] / float(r['step_seconds']) - 1) for r, s in zip(others, said)]
            inside += [s['low'] <= float(r['step_seconds']) <= s['high'] for r, s in zip(others, said)]
            signs += order(others, [s['step_seconds'] for s in said])
        total += errors
        tau = f'{sum(signs) / len(signs):.2f}' if signs else '-'
        print(f'{source:18s} {chip:8s} {len(own):3d} rows  before {100 * sum(before) / len(before):5.1f} %  with three of them {100 * sum(errors) / len(errors):5.1f} %, '
              f'worst {100 * max(errors):.0f} %, order {tau}, in the range {100 * sum(inside) / len(inside):.0f} %', flush=True)
    print(f'all: {100 * sum(total) / len(total):.1f} %')


if __name__ == '__main__': main()
