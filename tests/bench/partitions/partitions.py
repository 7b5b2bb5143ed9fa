#!/usr/bin/env python3
"""What Shard's partitioner moves, beside XLA's: bytes that one device sends in a ring and collectives, of the same programs in the same
layouts; the memory of a device, Shard's to XLA's; and the operations of all devices to those of the same program on one. Nothing here
passes or fails, but what is computed is compared.

    PYTHON_WITH_JAX partitions.py PROGRAM [NAME...]    PROGRAM: the built `shard`; NAME: only kinds or programs that hold one of these
"""
import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import layer_programs
import numpy
import partition_programs
import window_programs

# What a device sends of the bytes that count (the operand's or the result's, the larger), where n devices stand in a ring.
RING = {
    'all-reduce': lambda n: 2 * (n - 1) / n, 'all-gather': lambda n: (n - 1) / n, 'reduce-scatter': lambda n: (n - 1) / n,
    'all-to-all': lambda n: (n - 1) / n, 'collective-permute': lambda n: 1.0,
}
OURS = {'psum': 'all-reduce', 'pmax': 'all-reduce', 'pmin': 'all-reduce', 'pprod': 'all-reduce', 'all_gather': 'all-gather',
        'psum_scatter': 'reduce-scatter', 'all_to_all': 'all-to-all', 'ppermute': 'collective-permute'}


def axes_of(mesh):
    return {name: int(n) for name, n in (axis.split() for axis in mesh.split(', '))}


def operands_of(text):
    """(name, the numbers below which integers lie or None, shape, layout) of each."""
    for part in text.split('; '):
        name, shape, *layout = part.split()
        name, _, below = name.partition('<')
        yield name, int(below) if below else None, [int(n) for n in shape.split(',')], layout[0].split(',') if layout else []


def indented(text, by='  '):
    return '\n'.join(by + line for line in text.strip().splitlines())


def in_shard(axes, operands, body, out=None):
    """Explains the program; with `out` also prints its collectives, and saves what it computes."""
    lines = ['mesh m = (' + ', '.join(f'@{a}: {n}' for a, n in axes.items()) + ')']
    names = []
    for k, (name, below, shape, layout) in enumerate(operands_of(operands)):
        made = f'randint(key({k}), {shape}, 0, {below})' if below else f'normal(key({k}), {shape})'
        spec = ', '.join(a if a == '_' else '@' + a for a in layout)
        lines.append(f'let {name} = shard {made} as P({spec})')
        names.append(name)
    args = ', '.join(names)
    lines += [f'jit fn program({args}) {{', indented(body), '}', f'explain(program, {args})']
    if out:
        lines += [f'for r in comm(program, {args}, by: "line") {{', '  print("comm", r.kind, r.bytes, r.count, r.axes)', '}',
                  f'save("{out}", {{r: [program({args})]}})']
    return '\n'.join(lines) + '\n'


def explained(text):
    """(bytes that a device holds, operations of all devices)"""
    text = ' '.join(text.replace(',', '').split())
    holds = re.search(r'a device holds (\d+) bytes of arguments (\d+) of results (\d+) of temporaries', text)
    return sum(map(int, holds.groups())), int(re.search(r'computes (\d+) floating', text)[1])


JAX = '''import json, re, sys
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jax.random import normal, randint, key

def put(tree, spec):
    return jax.lax.with_sharding_constraint(tree, NamedSharding(mesh, spec))

SIZES = {'pred': 1, 's8': 1, 'u8': 1, 's32': 4, 'u32': 4, 'f32': 4, 's64': 8, 'f64': 8}
def size(text):  # of a type, or of a tuple of them, in bytes
    return sum(SIZES[t] * int(np.prod([int(n) for n in d.split(',') if n] or [1])) for t, d in re.findall(r'(\\w+)\\[([\\d,]*)\\]', text))

def collectives(hlo):
    """[kind, the larger of operand and result in bytes, devices that take part together, times]"""
    parts, name = {}, None
    for line in hlo.splitlines():
        head = re.match(r'(?:ENTRY )?%?([\\w.-]+) .*\\{$', line)
        if head and not line.startswith(' '):
            name = 'ENTRY' if line.startswith('ENTRY') else head[1]
            parts[name] = []
        elif name:
            parts[name].append(line)
    found = []
    def walk(part, times):
        types = {m[1]: m[2] for line in parts[part] for m in [re.match(r'\\s+(?:ROOT )?%?([\\w.-]+) = (\\(.*?\\)|\\S+) ', line)] if m}
        for line in parts[part]:
            m = re.search(r'= (\\(.*?\\)|\\S+) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\\((.*?)\\)', line)
            if m:
                given = sum(size(types.get(v.strip().split(' ')[-1].lstrip('%'), '')) for v in m[3].split(','))
                groups = re.search(r'replica_groups=\\[(\\d+),(\\d+)\\]', line)
                listed = re.search(r'replica_groups=\\{\\{([\\d,]+)\\}', line)
                n = int(groups[2]) if groups else len(listed[1].split(',')) if listed else jax.device_count()
                found.append([m[2], max(given, size(m[1])), n, times])
            loop = re.search(r'known_trip_count.*?"n":"(\\d+)"', line)
            for called in re.findall(r'(?:body|to_apply|calls|branch_computations)=\\{?%?([\\w.-]+)', line):
                if called in parts and not (' all-reduce' in line or ' reduce-scatter' in line):
                    walk(called, times * (int(loop[1]) if loop and ' while(' in line else 1))
    walk('ENTRY', 1)
    return found

def flops(compiled):
    return compiled.cost_analysis().get('flops', 0)

def run(number, f, args, specs, out):
    global mesh
    compiled = jax.jit(f).lower(*args).compile()
    leaves = jax.tree.leaves(compiled(*args))
    np.savez(out, **{f'r{i}': np.asarray(v) for i, v in enumerate(leaves)})
    m = compiled.memory_analysis()
    holds = m.argument_size_in_bytes + m.output_size_in_bytes + m.temp_size_in_bytes - m.alias_size_in_bytes
    mesh = Mesh(np.array(jax.devices()[:1]).reshape([1] * len(mesh.axis_names)), mesh.axis_names)
    alone = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(args, specs)]
    one = jax.jit(lambda *a: f(*a)).lower(*alone).compile()
    print(json.dumps([number, [collectives(compiled.as_text()), holds, flops(compiled) * jax.device_count(), flops(one)]]), flush=True)
'''


def in_jax(number, mesh, operands, body, out):
    axes = axes_of(mesh)
    lines = [f'mesh = Mesh(np.array(jax.devices()).reshape({list(axes.values())}), {list(axes)})', 'args, specs = [], []']
    names = []
    for k, (name, below, shape, layout) in enumerate(operands_of(operands)):
        made = f'randint(key({k}), {shape}, 0, {below})' if below else f'normal(key({k}), {shape})'
        spec = ', '.join('None' if a == '_' else f'"{a}"' for a in layout)
        lines += [f'specs.append(P({spec}))', f'args.append(jax.device_put({made}, NamedSharding(mesh, specs[-1])))']
        names.append(name)
    text = body.strip()
    if 'return ' not in text:
        text = 'return ' + text
    lines += [f'def program({", ".join(names)}):', indented(text, '    '), f'run({number}, program, args, specs, {out!r})']
    return '\n'.join(lines) + '\n'


def ring(found):
    return sum(RING[kind](n) * size * times for kind, size, n, times in found)


def count(found):
    return sum(times for *_, times in found)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def alike(a, b):
    a, b = numpy.load(a), numpy.load(b)
    mine, theirs = [a[k] for k in a.files], [b[k] for k in b.files]
    def close(x, y):  # sums in another order: what is small beside the largest has that one's last digits (of sharp softmax, both are
        # 2.4e-5 of it away from f64)
        return x.shape == y.shape and numpy.allclose(x, y, 1e-3, 5e-5 * (1 + abs(y).max(initial=0)))

    return len(mine) == len(theirs) and all(map(close, mine, theirs))


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument('program')
    ask.add_argument('--collectives', action='store_true', help='print each of them')
    ask.add_argument('names', nargs='*')
    args = ask.parse_args()
    rows = [(kind, *p) for kind, programs in (partition_programs.KINDS | window_programs.KINDS | layer_programs.KINDS).items() for p in programs
            if not args.names or any(n in kind or n in p[0] for n in args.names)]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        text = JAX + ''.join(in_jax(i, mesh, ops, theirs, str(folder / f'jax{i}.npz')) for i, (_, _, mesh, ops, _, theirs) in enumerate(rows))
        (folder / 'programs.py').write_text(text)
        env = {'XLA_FLAGS': '--xla_force_host_platform_device_count=8', 'JAX_PLATFORMS': 'cpu', 'PATH': '/usr/bin:/bin'}
        jax = subprocess.run([sys.executable, folder / 'programs.py'], env=env, capture_output=True, text=True)
        theirs = dict(json.loads(line) for line in jax.stdout.splitlines() if line.startswith('['))
        if jax.returncode:
            print(jax.stderr[-3000:], file=sys.stderr)
        ratios, strange = {}, []
        print(f'{"":58} {"Shard":>9} {"":4} {"XLA":>9} {"":4} {"Shard to XLA":14} {"work to one device":18}')
        print(f'{"program":58} {"bytes":>9} {"":4} {"bytes":>9} {"":4} {"bytes":>6} {"memory":>7} {"Shard":>6} {"XLA":>6}')
        for i, (kind, name, mesh, ops, body, _) in enumerate(rows):
            out = folder / f'shard{i}.npz'
            sizes = axes_of(mesh)
            said = []
            for text in in_shard(sizes, ops, body, out), in_shard(dict.fromkeys(sizes, 1), ops, body):
                (folder / 'program.shard').write_text(text)
                done = subprocess.run([args.program, 'run', folder / 'program.shard'], capture_output=True, text=True)
                if done.returncode:
                    break
                said.append(done.stdout)
            if len(said) < 2 or i not in theirs:
                strange.append(f'{kind}, {name}: {done.stderr[:600] or "JAX gave nothing"}')
                continue
            mine = []
            for line in said[0].splitlines():
                if not line.startswith('comm '):
                    continue
                _, word, size, times, *along = line.split(' ', 4)
                # a part of an axis says its size: M:(1)2
                n = math.prod(int(part or sizes[a]) for a, part in re.findall(r'(\w+)(?::\(\d+\)(\d+))?', along[0]))
                mine.append((OURS[word], int(size) // int(times), n, int(times)))
            xla, xla_holds, xla_work, xla_alone = theirs[i]
            (holds, work), (_, alone) = map(explained, said)
            a, b = ring(mine), ring(xla)
            if not alike(out, folder / f'jax{i}.npz'):
                strange.append(f'{kind}, {name}: values differ')
            # What one of both does without bytes counts as if it took a few: no ratio is infinite.
            ratio = (a + 64) / (b + 64)
            ratios.setdefault(kind, []).append((ratio, holds / xla_holds, count(mine), count(xla)))
            much, theirs_much = (f'{w / o:.2f}' if w > 0 and o > 0 else '-' for w, o in ((work, alone), (xla_work, xla_alone)))
            print(f'{kind + ": " + name:58} {a:9.0f} {count(mine):4} {b:9.0f} {count(xla):4} {ratio:6.2f} {holds / xla_holds:7.2f} '
                  f'{much:>6} {theirs_much:>6}')
            if args.collectives:
                for who, found in ('Shard', mine), ('XLA', xla):
                    for c in found:
                        print(f'    {who}: {c[0]} of {c[1]} bytes by {c[2]}' + (f', {c[3]} times' if c[3] > 1 else ''))
        print(f'\n{"":20} {"":8}  {"bytes":14}        {"memory":14}        {"collectives"}')
        print(f'{"kind":20} programs  geometric mean  worst  geometric mean  worst  {"Shard":>5} {"XLA":>5}')
        for kind, rs in [*ratios.items(), ('all', [r for rs in ratios.values() for r in rs])]:
            moved, held, mine, xla = zip(*rs)
            print(f'{kind:20} {len(rs):8}  {mean(moved):14.2f}  {max(moved):5.2f}  {mean(held):14.2f}  {max(held):5.2f}  {sum(mine):5} {sum(xla):5}')
        for line in strange:
            print('!', line)


if __name__ == '__main__':
    main()
