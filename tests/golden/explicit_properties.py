#!/usr/bin/env python3
"""Properties of explicit mode on random programs.   explicit_properties.py SHARD [HOW_MANY]   closes with "N passed, N failed"
Each program is a jit function of a dozen operations on arrays with random layouts over a 2 x 2 mesh. Its errors of layouts are fixed
with the fixes that `shard check --json` suggests, one after the other. Then: the types that the check derives are those of the arrays
that a run gives; the layout that a run gives is what the type says; and on a mesh of auto axes the same program gives the same numbers.
"""
import json, os, random, re, subprocess, sys
import scratch

SHARD = os.path.abspath(sys.argv[1])
SIZES = (2, 4, 8)
NUMBER = re.compile(r'[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|inf|nan)')


def spec(r, shape):
    """A random layout of this shape over @X and @Y, both of size 2."""
    axes, entries = ['X', 'Y'], []
    r.shuffle(axes)
    for n in shape:
        mine = []
        while axes and r.random() < 0.45 and n % 2 ** (len(mine) + 1) == 0: mine.append(axes.pop())
        entries.append('_' if not mine else '@' + mine[0] if len(mine) == 1 else '@(' + ', '.join(mine) + ')')
    return 'P(' + ', '.join(entries) + ')'


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.values, self.inputs, self.lines = [], [], []
        for i in range(3):
            shape = tuple(self.r.choice(SIZES) for _ in range(self.r.choice((1, 2, 2, 3))))
            n = 1
            for s in shape: n *= s
            self.inputs.append(f'let i{i} = shard sin(arange({n}) * {i + 1}.0).reshape({list(shape)}) as {spec(self.r, shape)}')
            self.values.append((f'i{i}', shape))
        while len(self.lines) < 12: self.add()

    def add(self):
        r = self.r
        a, s = r.choice(self.values)
        b, t = r.choice(self.values)
        name, rank = f'v{len(self.lines)}', len(s)
        choices = [(f'cos({a})', s), (f'{a} * 0.5', s), (f'sum({a})', ()), (f'shard {a} as {spec(r, s)}', s)]
        if s == t: choices += [(f'{a} + {b}', s), (f'maximum({a}, {b})', s), (f'where({a} > {b}, {a}, 0.0)', s)]
        if rank and t and t[-1] == s[-1] and len(t) == 1: choices += [(f'{a} * {b}', s)]
        if rank:
            d = r.randrange(rank)
            less = s[:d] + s[d + 1:]
            choices += [(f'sum({a}, axis: {d})', less), (f'max({a}, axis: {d})', less), (f'softmax({a}, axis: {d})', s), (f'cumsum({a}, axis: {d})', s),
                        (f'flip({a}, axis: {d})', s), (f'expand_dims({a}, axis: {d})', s[:d] + (1,) + s[d:])]
            if s[d] >= 4: choices += [(f'{a}[{":, " * d}0:{s[d] // 2}]', s[:d] + (s[d] // 2,) + less[d:]), (f'{a}[{":, " * d}1]', less)]
            if s[d] <= 8: choices += [(f'concat([{a}, {a}], axis: {d})', s[:d] + (2 * s[d],) + less[d:])]
            if s == t: choices += [(f'concat([{a}, {b}], axis: {d})', s[:d] + (2 * s[d],) + less[d:])]
            choices += [(f'take({a}, array([0, 1]), axis: {d})', s[:d] + (2,) + less[d:])]
            if s[d] in (4, 8): choices += [(f'{a}.reshape({list(s[:d] + (2, s[d] // 2) + less[d:])})', s[:d] + (2, s[d] // 2) + less[d:])]
        if rank >= 2:
            choices += [(f'{a}.T', s[::-1]), (f'{a}.reshape({[s[0] * s[1], *s[2:]]})', (s[0] * s[1], *s[2:]))]
            if len(t) == 2 and s[-1] == t[0]: choices += [(f'{a} @ {b}', s[:-1] + t[1:])] * 3
            if rank == 2 and len(t) == 2 and s[1] == t[1]: choices += [(f'einsum("ij,kj->ik", {a}, {b})', (s[0], t[0]))] * 2
        text, shape = r.choice(choices)
        size = 1
        for n in shape: size *= n
        if size > 512 or len(shape) > 4: return
        self.lines.append(f'let {name} = {text}')
        self.values.append((name, shape))

    def text(self):
        names = [n for n, _ in self.values if n[0] == 'v']
        body = ['jit fn program(i0, i1, i2) {', *['  ' + l for l in self.lines], f'  ({", ".join(names)})', '}']
        return '\n'.join(['mesh m = (@X: 2, @Y: 2) explicit', *self.inputs, *body, 'let results = program(i0, i1, i2)', ''])


def shard(path, *command):
    return subprocess.run([SHARD, *command, path], capture_output=True, text=True, timeout=300)


def write(path, text):
    with open(path, 'w', encoding='utf-8') as f: f.write(text)


def offset(text, line, column):
    return sum(len(l) + 1 for l in text.split('\n')[:line - 1]) + column - 1


def fixed(r, path, text):
    """The program without errors, and the types of its declarations."""
    for _ in range(40):
        write(path, text)
        p = shard(path, 'check', '--json', '--types')
        found = json.loads(p.stdout)
        if not found['errors']: return text, {t['name']: t['type'] for t in found['types']}
        error = found['errors'][0]
        if not error['fixes']: raise AssertionError(f'no fix for: {error["message"]} in {text.split(chr(10))[error["line"] - 1]}')
        fix = r.choice(error['fixes'])
        a, b = offset(text, fix['line'], fix['column']), offset(text, fix['end_line'], fix['end_column'])
        text = text[:a] + fix['replacement'] + text[b:]
    raise AssertionError('the fixes do not come to an end:\n' + text)


def spec_of(type_text):
    dims = re.findall(r'\d+(?:@\([^)]*\)|@\w+)?', type_text[type_text.index('['):type_text.index(']')])
    entries = ['_' if '@' not in d else d[d.index('@'):].replace(',', ', ') for d in dims]
    while entries and entries[-1] == '_': entries.pop()
    return 'P(' + ', '.join(entries) + ')'


def hold(seed):
    program = Program(seed)
    path = os.path.join(scratch.folder(), f'random_{seed}.shard')
    text, types = fixed(program.r, path, program.text())
    names = [n for n, _ in program.values if n[0] == 'v']
    show = ''.join(f'print("{n}", typeof(results[{i}]), sharding(results[{i}]))\n' for i, n in enumerate(names))
    write(path, text + show)
    p = shard(path, 'run')
    if p.returncode: raise AssertionError(f'a program that checks does not run:\n{text}\n{p.stderr[:600]}')
    for line in p.stdout.splitlines():
        name, found, layout = line.split(' ', 2)
        if found.replace(' ', '') != types[name].replace(' ', ''): raise AssertionError(f'{name}: checked {types[name]}, run {found}:\n{text}')
        if layout != spec_of(found): raise AssertionError(f'{name}: typed {found}, laid out {layout}:\n{text}')
    values = []
    for kind in (' explicit', ''):
        write(path, text.replace(' explicit', kind, 1) + ''.join(f'print(results[{i}])\n' for i in range(len(names))))
        p = shard(path, 'run')
        if p.returncode: raise AssertionError(f'on axes that are{kind or " auto"}:\n{text}\n{p.stderr[:600]}')
        values.append([float(x) for x in NUMBER.findall(p.stdout)])
    a, b = values
    if len(a) != len(b) or any(abs(x - y) > 1e-4 * max(1.0, abs(x)) for x, y in zip(a, b) if x == x): raise AssertionError(f'explicit and auto differ:\n{text}')


def main():
    many = int(sys.argv[2]) if len(sys.argv) > 2 else 25
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    failed = 0
    for seed in range(first, first + many):
        try:
            hold(seed)
        except AssertionError as e:
            failed += 1
            print(f'FAIL seed {seed}: {e}')
    print(f'{many - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__': sys.exit(main())
