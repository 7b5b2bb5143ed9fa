#!/usr/bin/env python3
"""Random programs in random layouts.   random_layouts.py SHARD [HOW_MANY [FIRST]]   closes with "N passed, N failed"
Each is a jit function of a dozen operations, loops and gradients among them, on a mesh of automatic axes. Laid out at random it must
give what it gives of whole arrays without a constraint, which is computed on one device. 200 are in the suite; by hand: 10,000.
"""
import os, random, subprocess, sys
import scratch

SHARD = os.path.abspath(sys.argv[1])
TOGETHER = 25   # programs a script
MESHES = ({'X': 2, 'Y': 2}, {'X': 4, 'Y': 2}, {'X': 8}, {'X': 3, 'Y': 2}, {'X': 2, 'Y': 2, 'Z': 2}, {'X': 2, 'Y': 4}, {'X': 6})
SIZES = (2, 3, 4, 6, 8, 12)
MOST = 4096     # elements of a value


def count(shape):
    n = 1
    for s in shape: n *= s
    return n


class Program:
    def __init__(self, seed):
        self.seed, self.r = seed, random.Random(seed)
        self.mesh = self.r.choice(MESHES)
        self.inputs = [tuple(self.r.choice(SIZES) for _ in range(self.r.choice((1, 2, 2, 2, 3)))) for _ in range(3)]
        # Two that fit a product, its inner dimension often along an axis.
        self.inputs.append((self.inputs[0][-1], self.r.choice(SIZES)))
        self.layouts = [self.spec(s) for s in self.inputs]
        self.values = [(f'i{k}', s) for k, s in enumerate(self.inputs)]
        self.lines = []
        for _ in range(40):
            if len(self.lines) < 10: self.add()
        # Of every second program only what comes last: layouts between are free, as the result's are not.
        self.results = self.lines[-2:] if seed % 2 else self.lines

    def spec(self, shape, open=False):
        r, axes, entries = self.r, list(self.mesh), []
        r.shuffle(axes)
        for n in shape:
            mine, parts = [], 1
            while axes and r.random() < 0.55 and n % (parts * self.mesh[axes[-1]]) == 0:
                parts *= self.mesh[axes[-1]]
                mine.append('@' + axes.pop())
            entries.append('(' + ', '.join(mine) + ')' if len(mine) > 1 else mine[0] if mine else '?' if open and r.random() < 0.3 else '_')
        return 'P(' + ', '.join(entries) + ')'

    def add(self):
        r = self.r
        a, s = r.choice(self.values[-6:] if r.random() < 0.6 else self.values)
        b, t = r.choice(self.values)
        name, rank = f'v{len(self.lines)}', len(s)
        choices = [(f'sin({a})', s), (f'{a} * 0.5', s), (f'sum({a})', ()), (f'LAID({a}, {self.spec(s, True)})', s)]
        if s == t:
            choices += [(f'{a} + {b}', s), (f'{a} - {b}', s), (f'maximum({a}, {b})', s), (f'where({a} > {b}, {a}, {b})', s)]
        if rank and len(t) == 1 and t[-1] == s[-1]: choices += [(f'{a} * {b}', s)]
        if rank: choices += self.along(a, s, b, t, r.randrange(rank))
        if rank >= 2:
            choices += [(f'{a}.T', s[::-1]), (f'{a}.reshape({[s[0] * s[1], *s[2:]]})', (s[0] * s[1], *s[2:])),
                        (f'scan(fn(c, x) = (c + x, none), zeros({list(s[1:])}), {a})[0]', s[1:]),
                        (f'scan(fn(c, x) = (c + sin(x), c * x), {a}[0], {a})[1]', s)]
        if len(t) == 2 and rank >= 1 and s[-1] == t[0]:
            choices += [(f'{a} @ {b}', s[:-1] + t[1:])] * 4
            if rank >= 2: choices += [(f'{a}[0] + {a}[1] @ {b}', t[1:])] if s[1:] == t[1:] and s[0] > 1 else []
            if rank == 3:
                choices += [(f'reshape(reshape({a}, {[s[0] * s[1], s[2]]}) @ {b}, {[s[0], s[1], t[1]]})', (*s[:2], t[1])),
                            (f'scan(fn(c, x) = (c + x @ {b}, none), zeros({[s[1], t[1]]}), {a})[0]', (s[1], t[1])),
                            (f'grad(fn(w) = sum(sin({a} @ w)))({b})', t)]
            if rank == 2:
                choices += [(f'grad(fn(w) = sum(sin({a} @ w)))({b})', t),
                            (f'scan(fn(g, _) = (g + grad(fn(w) = sum(sin({a} @ w)))({b}), none), {b}, none, length: 3)[0]', t)]
        if rank == 2 and len(t) == 2 and s[0] == t[0]:
            choices += [(f'einsum("ki,kj->ij", {a}, {b})', (s[1], t[1]))] * 2
            if s[1] == t[1]: choices += [(f'eye({s[1]}) + einsum("ki,kj->ij", {a}, {b}) - {a}.T @ {a}', (s[1], s[1]))] * 2
        if rank == 3: choices += [(f'conv({a}, ones([3, {s[2]}, 4]), padding: "SAME") * 0.1', (*s[:2], 4)), (f'max_pool({a}, [2])', s)]
        text, shape = r.choice(choices)
        if count(shape) > MOST or len(shape) > 4 or 0 in shape: return
        self.lines.append((name, text))
        self.values.append((name, shape))

    def along(self, a, s, b, t, d):
        r, less, n = self.r, s[:d] + s[d + 1:], s[d]
        cut = f'{a}[{":, " * d}'
        out = [(f'sum({a}, axis: {d})', less), (f'max({a}, axis: {d})', less), (f'softmax({a}, axis: {d})', s), (f'cumsum({a}, axis: {d}) * 0.3', s),
               (f'flip({a}, axis: {d})', s), (f'sort({a}, axis: {d})', s), (f'roll({a}, {r.choice((1, -1, 2))}, axis: {d})', s),
               (f'prod(1.0 + 0.1 * sin({a}), axis: {d})', less), (f'mean({a}, axis: {d}, keepdims: true) * {a}', s),
               (f'take({a}, array([0, 1, 0]), axis: {d})', s[:d] + (3,) + less[d:]), (f'pad({a}, {[(1, 0) if k == d else (0, 0) for k in range(len(s))]})', s[:d] + (n + 1,) + less[d:])]
        if n >= 2:
            out += [(cut + '1:]', s[:d] + (n - 1,) + less[d:]), (cut + f'0:{n // 2}]', s[:d] + (n // 2,) + less[d:]), (cut + '1]', less),
                    (f'dynamic_update_slice({a}, {cut}0:1] * 2.0, [{", ".join("1" if k == d else "0" for k in range(len(s)))}])', s)]
        if d == len(s) - 1 and n >= 2: out += [(f'top_k({a}, 2)[0]', s[:d] + (2,))]
        if len(s) == len(t) and s[:d] == t[:d] and s[d + 1:] == t[d + 1:]: out += [(f'concat([{a}, {b}], axis: {d})', s[:d] + (n + t[d],) + less[d:])]
        for k in (2, 3, 4):   # which an axis along it may not divide
            if n % k == 0 and n > k: out += [(f'{a}.reshape({list(s[:d] + (k, n // k) + less[d:])})', s[:d] + (k, n // k) + less[d:])]
        return out

    def function(self, name, laid):
        out = [f'  jit fn {name}({", ".join(f"i{k}" for k in range(len(self.inputs)))}) {{']
        for v, text in self.lines:
            if text.startswith('LAID('):
                value, spec = text[5:-1].split(', ', 1)
                text = f'shard {value} as {spec}' if laid else value
            out.append(f'    let {v} = {text}')
        return out + ['    (' + ', '.join(v for v, _ in self.results) + ',)', '  }']

    def text(self):
        out = ['if true {', f'  print("seed {self.seed}")', '  mesh m = (' + ', '.join(f'@{a}: {n}' for a, n in self.mesh.items()) + ')']
        for k, s in enumerate(self.inputs):
            out.append(f'  let i{k} = sin(arange({count(s)}) * {k + 1.7}).reshape({list(s)})')
        given = [f'i{k}' for k in range(len(self.inputs))]
        out += self.function('whole', False) + self.function('program', True)
        out += [f'  let want = whole({", ".join(given)})',
                '  let got = program(' + ', '.join(f'shard {g} as {spec}' for g, spec in zip(given, self.layouts)) + ')']
        out += [f'  assert_close(got[{k}], want[{k}], rtol: 1e-3, atol: 1e-3)' for k in range(len(self.results))]
        return '\n'.join(out + ['}', ''])


def run(folder, programs):
    """What went wrong with these in one script; empty where nothing did."""
    path = os.path.join(folder, 'programs.shard')
    with open(path, 'w', encoding='utf-8') as f: f.write(''.join(p.text() for p in programs))
    try:
        done = subprocess.run([SHARD, 'run', '--allow', 'unused-variable', '--allow', 'unused-axis', path], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return 'took more than 120 s'
    return '' if done.returncode == 0 else done.stderr[-1500:] or f'status {done.returncode}'


def main():
    many = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    failed = 0
    folder = scratch.folder()
    for k in range(first, first + many, TOGETHER):
        programs = [Program(seed) for seed in range(k, min(k + TOGETHER, first + many))]
        if not run(folder, programs): continue
        for p in programs:
            if wrong := run(folder, [p]):
                failed += 1
                print(f'FAIL seed {p.seed}\n{p.text()}{wrong}', flush=True)
    print(f'{many - failed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__': sys.exit(main())
