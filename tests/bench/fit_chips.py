#!/usr/bin/env python3
"""Fits the shares of stdlib/chips.shard to published training steps, and says what each term of the clock is worth.

    fit_chips.py SHARD PROGRAM.shard ROWS.csv [--rounds N] [--thin N] [--terms] [--sources]

ROWS.csv: id, source, chip, devices, group, settings (for --set), step_seconds. Fits the fields below for each family of
chips (one value for all chips of a family, whatever the model), by a search along coordinates, and
prints them; --terms prints the error with each term left out; --sources the error on each source when its rows are left
out of the fit. The error is the mean of |foretold / published - 1|. Standard library only."""
import argparse, concurrent.futures, csv, json, math, os, random, subprocess, sys, tempfile

FAMILY = {'a100-40': 'gpu', 'a100-80': 'gpu', 'h100': 'gpu', 'h200': 'gpu', 'b200': 'gpu',
          'v4': 'tpu', 'v5e': 'tpu', 'v5p': 'tpu', 'v6e': 'tpu'}
START = {
    'gpu': dict(product_share=0.87, kernel_share=0.4, memory_share=0.8, fill=200.0, waves=0.5, launch=4e-6, dispatch=3e-5,
                link_share=0.75, network_share=0.8, theft=0.1),
    'tpu': dict(product_share=0.9, kernel_share=0.5, memory_share=0.8, link_share=0.9, network_share=0.8, theft=0.0),
}
BOUNDS = dict(product_share=(0.4, 0.95), kernel_share=(0.1, 0.8), memory_share=(0.3, 0.95), fill=(0.0, 800.0), waves=(0.0, 1.0),
              launch=(1e-6, 2e-5), dispatch=(5e-6, 2e-4), link_share=(0.3, 1.0), network_share=(0.2, 1.0), theft=(0.0, 1.0))
LEFT_OUT = dict(fill=dict(fill=0.0), waves=dict(waves=0.0), launch=dict(launch=0.0), theft=dict(theft=0.0),
                pointwise=dict(memory_share=1e6), attention=dict(kernel_share=None), communication=dict(link_share=1e6, network_share=1e6, dispatch=0.0,
                link_latency=0.0, network_latency=0.0))


class Rows:
    def __init__(self, shard, program, rows, jobs, thin):
        self.shard, self.program, self.rows, self.jobs, self.thin, self.known = shard, program, rows, jobs, thin, {}
        self.folder = tempfile.mkdtemp()

    def seconds(self, rows, constants):
        """For each of a list of constants the foretold steps by row: of a row all in one call of the program."""
        paths = [json.dumps(c, sort_keys=True) for c in constants]
        def one(r):
            need = [p for p in dict.fromkeys(paths) if (r['id'], p) not in self.known]
            if not need: return
            files = []
            for i, p in enumerate(need):
                f = os.path.join(self.folder, f"{r['chip']}-{i}-{r['id']}.shard")
                fields = ', '.join(f'{k}: {v!r}' for k, v in json.loads(p).items())
                with open(f, 'w') as out: out.write(f"import chips\n{{...chips.{r['chip'].replace('-', '_')}, {fields}}}\n")
                files.append(f)
            argv = [self.shard, 'estimate', self.program, '--chip', ','.join(files), '--devices', r['devices'], '--json']
            for pair in r['settings'].split(): argv += ['--set', pair]
            p = subprocess.run(argv, capture_output=True, text=True)
            for f in files: os.remove(f)
            if p.returncode: sys.exit(f"{r['id']}: {p.stderr.strip()}")
            answer = json.loads(p.stdout)
            for p, x in zip(need, answer if isinstance(answer, list) else [answer]): self.known[r['id'], p] = x['step_seconds']
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool: list(pool.map(one, rows))
        return [{r['id']: self.known[r['id'], p] for r in rows} for p in paths]

    def errors(self, family, constants, skip='', fitted=False):
        todo = [r for r in self.rows if FAMILY[r['chip']] == family and r['source'] != skip]
        if fitted: todo = [r for i, r in enumerate(todo) if i % self.thin == 0 or sum(x['source'] == r['source'] for x in todo) < 30]
        return [[(r, found[r['id']] / float(r['step_seconds']) - 1) for r in todo] for found in self.seconds(todo, constants)]


def mean(errors): return sum(abs(e) for _, e in errors) / max(1, len(errors))


def cost(errors):
    """Mean error, and less than half as much for pairs of a group in the wrong order by more than they differ."""
    groups = {}
    for r, e in errors: groups.setdefault(r['group'], []).append(math.log(1 + e))
    spread = [abs(a - b) for g in groups.values() for i, a in enumerate(g) for b in g[:i]]
    return mean(errors) + 0.3 * (sum(spread) / len(spread) if spread else 0)


def fit(rows, family, rounds, skip='', say=False):
    """Of each round two sets of constants, each foretold in one go: all steps along one coordinate, then those that help
    taken together, the best one, the best two and so on, and some of them by chance (the same in every run)."""
    now, step, dice = dict(START[family]), 0.25, random.Random(1)
    costs = lambda tries: [cost(e) for e in rows.errors(family, tries, skip, True)]
    best = costs([now])[0]
    for _ in range(rounds):
        steps = []
        for name in now:
            low, high = BOUNDS[name]
            base = now[name] or (high - low) * 0.1
            values = [min(high, max(low, base * f)) for f in (1 - step, 1 - step / 3, 1 + step / 3, 1 + step)] + ([0.0] if low == 0 else [])
            steps += [(name, float(f'{v:.4g}')) for v in values]
        found = sorted((c, name, v) for c, (name, v) in zip(costs([{**now, n: v} for n, v in steps]), steps) if c < best)
        helps = [(name, v) for i, (_, name, v) in enumerate(found) if name not in [n for _, n, _ in found[:i]]]
        sets = [helps[:k] for k in range(1, len(helps) + 1)] + [[h for h in helps if dice.random() < 0.5] for _ in range(20)]
        tries = [{**now, **dict(moves)} for moves in sets if moves]
        if tries: best, now = min(zip(costs(tries), tries), key=lambda x: x[0])
        if len(helps) < 2: step *= 0.5
        if say: print(f'{family}: cost {best:.4f}  {now}', flush=True)
        if step < 0.01: break
    return now


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('shard'); p.add_argument('program'); p.add_argument('rows')
    p.add_argument('--rounds', type=int, default=10); p.add_argument('--jobs', type=int, default=2)
    p.add_argument('--thin', type=int, default=1, help='fit on every n-th row of sources of 30 and more; judge on all')
    p.add_argument('--terms', action='store_true'); p.add_argument('--sources', action='store_true')
    o = p.parse_args()
    rows = Rows(os.path.abspath(o.shard), o.program, list(csv.DictReader(open(o.rows))), o.jobs, o.thin)
    families = list(dict.fromkeys(FAMILY[r['chip']] for r in rows.rows))
    best, errors = {}, []
    for f in families:
        best[f] = fit(rows, f, o.rounds, say=True)
        part = rows.errors(f, [best[f]])[0]
        errors += part
        print(f'{f}: error {100 * mean(part):.1f} %')
    print(f'all: error {100 * mean(errors):.1f} %')
    for term, change in LEFT_OUT.items() if o.terms else ():
        left = []
        for f in families:
            c = {k: best[f].get('product_share') if v is None else v for k, v in change.items()}
            left += rows.errors(f, [{**best[f], **c}])[0]
        print(f'without {term:14s} {100 * mean(left):5.1f} %', flush=True)
    for source in dict.fromkeys(r['source'] for r in rows.rows) if o.sources else ():
        judged = []
        for f in families:
            if any(r['source'] == source and FAMILY[r['chip']] == f for r in rows.rows):
                others = any(r['source'] != source and FAMILY[r['chip']] == f for r in rows.rows)
                c = fit(rows, f, o.rounds, skip=source) if others else START[f]
                judged += [x for x in rows.errors(f, [c])[0] if x[0]['source'] == source]
        print(f'left out {source:18s} {100 * mean(judged):5.1f} % on its {len(judged)} rows', flush=True)


if __name__ == '__main__': main()
