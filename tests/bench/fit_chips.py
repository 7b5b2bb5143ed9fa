#!/usr/bin/env python3
"""Fits the shares of stdlib/chips.shard to published training steps; says what each term of the clock is worth, and how far
constants carry to a source, a chip and a stack of software that they were not fitted on.

    fit_chips.py SHARD PROGRAM.shard ROWS.csv... [--samples N] [--jobs N] [--rows]

ROWS.csv: id, source, chip, devices, group, settings (for --set), step_seconds, and stack where the source does not say it (STACKS);
program: a script of this folder, where it is not PROGRAM.
Every third row of a source on a chip is never fitted. Each constant has a value to expect from published facts and how far it may
lie from that (PRIOR); no constant belongs to a model, a source or a chip. Each row is predicted once for many sets of constants
drawn from there; the logarithm of its time, as a polynomial of degree two in them, is then what the fit needs of the row, so that
one run gives the fit of all rows, and one without each source, each chip and each stack. The fit minimises the mean of
|log(predicted / published)| and a little of the distance from what was expected. Errors, the mean of |predicted / published - 1|,
are those of the program itself, with the constants found; bias is the mean of log(predicted / published), order Kendall's tau of
the rates inside groups whose published ones differ by more than 3 %. Four in five lie within the last figure. The worst of those left out decides. Needs NumPy."""
import argparse, concurrent.futures, csv, json, os, subprocess, sys, tempfile
import numpy as np
from measured import STACKS

TPU = ('v4', 'v5e', 'v5p', 'v6e')
# family: constant: (as a factor: what to expect, about so many e-folds off) or (as a number: expected, off, least, most).
# What training keeps of the best product and of the attention kernel that were seen on the chip (`seen` in chips.shard). Pointwise
# work 0.8 of memory bandwidth, 5 us a kernel, a fill of 200 terms, whole last waves, NCCL's latencies: the usual estimates. What
# nobody publishes (theft, woven, shares of networks) is expected in the middle, loosely. `older`: software of the A100's time.
PRIOR = {
    'gpu': dict(product=(0.95, 0.06), fill=(200, 100, 0, 500), waves=(1.0, 0.3, 0, 1), launch=(5e-6, 0.4), dispatch=(5e-5, 0.5), link=(1.0, 0.1),
                network_share=(0.8, 0.25), network_theft=(0.3, 0.3, 0, 1), network_latency=(1.4e-5, 0.4)),
    'older': dict(attention=(1.0, 0.2), memory_share=(0.8, 0.25), theft=(0.15, 0.1, 0, 1), next_architecture=(0.57, 0.2)),
    'nemo': dict(attention=(0.48, 0.2), memory_share=(0.8, 0.1), theft=(0.15, 0.1, 0, 1), woven=(0.5, 0.3, 0, 1)),
    'xla': dict(memory_share=(0.56, 0.2), theft=(0.15, 0.1, 0, 1), woven=(0.5, 0.3, 0, 1)),
    'tpu': dict(product=(0.95, 0.06), attention=(1.0, 0.2), block=(1024, 0.3), memory_share=(0.8, 0.25), link=(0.95, 0.1), network_share=(0.8, 0.4), theft=(0.15, 0.1, 0, 1),
                network_theft=(0.5, 0.3, 0, 1), network_latency=(5e-5, 0.7), woven=(0.5, 0.3, 0, 1)),
}
PULL = 0.002            # weight of a constant's squared distance from what was expected, beside the mean error
ARCHITECTURES = {'a100-80': 0, 'a100-40': 0, 'h100': 1, 'h200': 1, 'b200': 2}   # newer than the kernels of `older`
LEFT_OUT = {'fill of a tile': 'fill: 0.0', 'waves': 'waves: 0.0', 'launch': 'launch: 0.0, dispatch: 0.0', 'theft': 'theft: 0.0, network_theft: 0.0',
            'blocks that stream': 'block: 0.0', 'pointwise traffic': 'memory_share: 1e6', 'attention\'s own rate': 'kernel_share: {product}',
            'communication': 'link_share: 1e6, network_share: 1e6, dispatch: 0.0, link_latency: 0.0, network_latency: 0.0',
            'weaving': 'woven: 0.0'}


def stack(row): return row.get('stack') or STACKS[row['source']]
def family(row):
    if row['chip'] in TPU: return 'tpu'
    return 'xla' if stack(row).startswith('xla') else 'nemo' if stack(row) == 'nemo-2025' else 'older'
def names(f): return [('gpu', n) for n in PRIOR['gpu'] if f != 'tpu'] + [(f, n) for n in PRIOR[f]]
SHARES = {(f, n) for f in PRIOR for n in PRIOR[f] if n.endswith('share') or n in ('product', 'next_architecture')}


def limits(f, n):
    p = PRIOR[f][n]
    if len(p) == 4: return (p[2] - p[0]) / p[1], (p[3] - p[0]) / p[1]
    return -9, np.log(1 / p[0]) / p[1] if (f, n) in SHARES else 9


def value(f, n, z):
    p = PRIOR[f][n]
    return float(f'{p[0] + p[1] * z if len(p) == 4 else p[0] * np.exp(p[1] * z):.3g}')


def record(row, z, more=''):
    """The row's chip with constants z, as Shard."""
    chip, f = row['chip'].replace('-', '_'), family(row)
    v = {n: value(g, n, x) for (g, n), x in zip(names(f), z)}
    seen, product = f'chips.seen.{chip}', f'chips.seen.{chip}.product * {v.pop("product")!r}'
    attention, ahead = v.pop('attention', None), v.pop('next_architecture', 1) ** ARCHITECTURES.get(row['chip'], 0)
    out = [f'product_share: {product}', f'link_share: {seen}.link * {v.pop("link")!r}']
    if f == 'tpu': out.append(f'kernel_share: {seen}.attention * {attention!r}')
    if f == 'older': out.append(f'kernel_share: chips.seen.a100_80.attention * {attention * ahead!r}')
    if stack(row) == 'xla, cuDNN': out.append('kernels: 1')
    if f == 'nemo': out.append(f'kernel_share: {attention!r}')
    out += [f'{n}: {x!r}' for n, x in v.items() if not (n == 'fill' and f == 'older')]
    if f == 'older': out.append(f'fill: {v["fill"]!r} * chips.on(chips.{chip}, chips.stacks.megatron_2022).fill / chips.gpu.fill')
    if f == 'tpu': out.append('kernels: 1')
    whole = f'chips.{chip}' if f in ('tpu', 'xla') else f'chips.on(chips.{chip}, chips.stacks.{"megatron_2022" if f == "older" else "nemo_2025"})'
    return f'{{...{{...{whole}, {", ".join(out)}}}, {more.format(product=product)}}}'


class Program:
    def __init__(self, shard, script, jobs):
        self.shard, self.script, self.jobs, self.folder = os.path.abspath(shard), script, jobs, tempfile.mkdtemp()
        self.flops = {}  # by row, of one device

    def row(self, row, records):
        file = os.path.join(self.folder, row['id'] + '.shard')
        with open(file, 'w') as f: f.write('import chips\n[' + ',\n'.join(records) + ']\n')
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), row['program']) if row.get('program') else self.script
        argv = [self.shard, 'estimate', script, '--chip', file, '--devices', row['devices'], '--json']
        for pair in row['settings'].split(): argv += ['--set', pair]
        p = subprocess.run(argv, capture_output=True, text=True)
        os.remove(file)
        if p.returncode: sys.exit(f"{row['id']}: {p.stderr.strip()}")
        answer = json.loads(p.stdout)
        answers = answer if isinstance(answer, list) else [answer]
        self.flops[row['id']] = answers[0]['model_flops_per_device']
        return [x['step_seconds'] for x in answers]

    def seconds(self, rows, records):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return np.array(list(pool.map(lambda r: self.row(r, records(r)), rows)))


def terms(z): return np.concatenate([[1.0], z, [z[i] * z[j] for i in range(len(z)) for j in range(i, len(z))]])


def slopes(z):
    d = len(z)
    rows = [np.zeros(d)] + list(np.eye(d))
    for i in range(d):
        for j in range(i, d):
            row = np.zeros(d)
            row[i] += z[j]; row[j] += z[i]
            rows.append(row)
    return np.array(rows)


def learn(program, rows, f, samples):
    """By row the coefficients of log(seconds) as a polynomial in the constants of the family."""
    which, dice = names(f), np.random.default_rng(1)
    low, high = np.array([limits(*n) for n in which]).T
    zs = np.clip(1.2 * dice.normal(size=(samples, len(which))), low, high)
    found = np.log(program.seconds(rows, lambda r: [record(r, z) for z in zs]))
    return np.linalg.lstsq(np.array([terms(z) for z in zs]), found.T, rcond=None)[0].T


def fit(parts, weights):
    """Constants by (family, name). parts: family -> (coefficients by row, log of published); weights alike.
    Absolute values as weighted squares, again and again; steps are damped and kept where they help."""
    which = list(dict.fromkeys(n for f in parts for n in names(f)))
    low, high = np.array([limits(*n) for n in which]).T
    place = {f: [which.index(n) for n in names(f)] for f in parts}
    total = sum(w.sum() for w in weights.values())

    def look(z):
        cost, a, b = PULL * (z @ z), 2 * PULL * np.eye(len(z)), -2 * PULL * z
        for f, (c, log_published) in parts.items():
            own = z[place[f]]
            e, j, w = c @ terms(own) - log_published, c @ slopes(own), weights[f] / total
            size = np.sqrt(e * e + 1e-4)
            cost += w @ size
            a[np.ix_(place[f], place[f])] += j.T @ (j * (w / size)[:, None])
            b[place[f]] -= j.T @ (e * w / size)
        return cost, a, b
    z, damping = np.clip(np.zeros(len(which)), low, high), 1e-3
    cost, a, b = look(z)
    for _ in range(200):
        free = ~(((z <= low) & (b < 0)) | ((z >= high) & (b > 0)))
        step = np.zeros(len(z))
        step[free] = np.linalg.solve(a[np.ix_(free, free)] + damping * np.eye(free.sum()), b[free])
        there = np.clip(z + step, low, high)
        new = look(there)
        if new[0] < cost - 1e-9: z, (cost, a, b), damping = there, new, damping / 3
        elif damping > 10: break
        else: damping *= 4
    return dict(zip(which, z))


def order(rows, flops, published, seconds):
    """Kendall's tau of FLOP/s inside groups, over pairs whose published figures differ by more than 3 %; nan: there are none."""
    signs = []
    for i, a in enumerate(rows):
        for j in range(i):
            if rows[j]['group'] != a['group']: continue
            work = np.log(flops[a['id']] / flops[rows[j]['id']])
            said = work - np.log(published[i] / published[j])
            if abs(said) > np.log(1.03): signs.append(np.sign(said * (work - np.log(seconds[i] / seconds[j]))))
    return np.mean(signs) if signs else float('nan')


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('shard'); p.add_argument('program'); p.add_argument('rows', nargs='+')
    p.add_argument('--samples', type=int, default=240); p.add_argument('--jobs', type=int, default=2)
    p.add_argument('--rows', action='store_true', dest='by_row', help='the error of each row, fitted on all and without its source')
    o = p.parse_args()
    rows = []
    for file in o.rows:
        with open(file) as f: rows += list(csv.DictReader(f))
    seen = {}
    for r in rows:
        r['stack'], n = stack(r), seen.get((r['source'], r['chip']), 0)
        seen[r['source'], r['chip']], r['third'] = n + 1, n % 3 == 2
    program = Program(o.shard, o.program, o.jobs)
    published = {r['id']: float(r['step_seconds']) for r in rows}
    of = {f: [r for r in rows if family(r) == f] for f in dict.fromkeys(map(family, rows))}
    parts = {f: (learn(program, rs, f, o.samples), np.log([published[r['id']] for r in rs])) for f, rs in of.items()}
    parted = [(key, name) for key in ('source', 'chip', 'stack') for name in dict.fromkeys(r[key] for r in rows)]
    found = {left: fit(parts, {f: np.array([float(r[left[0]] != left[1] and not r['third']) for r in rs]) for f, rs in of.items()}) for left in [('id', '')] + parted}
    z_of = lambda left, r: [found[left][n] for n in names(family(r))]
    asked = [(left, '') for left in found] + [(('id', ''), m) for m in LEFT_OUT.values()]
    seconds = program.seconds(rows, lambda r: [record(r, z_of(left, r), more) for left, more in asked])
    print('constants:')
    for (f, n), z in found['id', ''].items(): print(f'  {f:5s} {n:17s} {value(f, n, z):9.3g}   expected {PRIOR[f][n][0]:g}')
    measured = np.array([published[r['id']] for r in rows])
    error = lambda said, own: np.abs(said[own] / measured[own] - 1).mean()
    def text(own, said):
        part = [r for r, o in zip(rows, own) if o]
        said, there = said[own], measured[own]
        return f'{100 * np.abs(said / there - 1).mean():5.1f} %, bias {100 * np.log(said / there).mean():+5.1f} %, order {order(part, program.flops, there, said):.2f}, four in five {100 * (np.exp(np.quantile(np.abs(np.log(said / there)), 0.8)) - 1):.0f} %'
    third, every = np.array([r['third'] for r in rows]), np.ones(len(rows), bool)
    print(f'all {len(rows)} rows: error {text(every, seconds[:, 0])}; the thirds that are never fitted: {text(third, seconds[:, 0])}')
    worst = (0, '')
    for k, (key, name) in enumerate(parted):
        own = np.array([r[key] == name for r in rows])
        worst = max(worst, (error(seconds[:, 1 + k], own), name))
        print(f'  {key:6s} {name:18s} {own.sum():3d} rows  fitted with it {text(own, seconds[:, 0])}   left out of the fit {text(own, seconds[:, 1 + k])}')
    print(f'  the worst left out: {worst[1]}, {100 * worst[0]:.1f} %')
    for k, name in enumerate(LEFT_OUT): print(f'  without {name:22s} {100 * error(seconds[:, 1 + len(parted) + k], every):5.1f} %')
    if o.by_row:
        for i, r in enumerate(rows):
            out = seconds[i, 1 + parted.index(('source', r['source']))]
            print(f"{r['id']:46s} {100 * (seconds[i, 0] / measured[i] - 1):+6.1f} % {100 * (out / measured[i] - 1):+6.1f} %")


if __name__ == '__main__': main()
