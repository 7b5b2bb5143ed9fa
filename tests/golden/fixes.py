#!/usr/bin/env python3
"""Every error of layouts names a way out that can be pasted, and it does fix the error: each program here has one such error, each fix that
`shard check --json` suggests for it is applied to the text, and what comes out must run.   fixes.py SHARD   closes with "N passed, N failed"
What it computes must be what was meant: the numbers of the program as it stands on automatic axes, where every layout is taken, or of MEANT.
"""
import json, math, os, re, subprocess, sys
import scratch

SHARD = os.path.abspath(sys.argv[1])
HEAD = 'mesh e = (@X: 2, @Y: 4) explicit\n'
SETUP = HEAD + '''let x = shard 1.5 + sin(arange(128.0)).reshape([8, 16]) as P(@X, @Y)
let rows = shard 1.5 + cos(arange(128.0)).reshape([8, 16]) as P(@X)
let columns = shard 2.0 + sin(2.0 * arange(128.0)).reshape([8, 16]) as P(_, @X)
let w = shard 1.0 + cos(arange(64.0)).reshape([16, 4]) as P(@Y)
let ids = shard array([0, 1, 2, 3, 0, 1, 2, 3]) as P(@X)
let pending = einsum("ij,jk->ik", x, w, out: P(@X, unreduced: @Y))
let free = shard ones([8, 4]) as P(reduced: @Y)
'''
# name: statements behind SETUP, with exactly one error of layouts
PROGRAMS = {
    'addition': 'let z = rows + columns',
    'comparison': 'let z = rows < columns',
    'three operands': 'let z = where(rows > 0, rows, columns)',
    'broadcast to one axis twice': 'let v = shard ones([8]) as P(@X)\nlet z = v[:, none] * v[none, :]',
    'assignment': 'let z = rows\nz += columns',
    'product, summed on both sides': 'let z = x @ w',
    'product by name': 'let z = matmul(x, w)',
    'product as a method': 'let z = x.dot(w)',
    'product in a pipe': 'let z = x |> matmul(w)',
    'product with one axis twice': 'let z = rows @ (shard ones([16, 8]) as P(_, @X))',
    'product, batches split differently': 'let a = shard ones([8, 4, 4]) as P(@X)\nlet b = shard ones([8, 4, 4]) as P(@Y)\nlet z = a @ b',
    'product in a function': 'fn layer(x, w) = relu(x @ w)\nlet z = layer(x, w)',
    'product in jit': 'jit fn layer(x, w) {\n  let h = x @ w\n  relu(h)\n}\nlet z = layer(x, w)',
    'einsum': 'let z = einsum("ij,jk->ik", x, w)',
    'einsum of three': 'let v = shard ones([4, 8]) as P(_, @X)\nlet z = einsum("ij,jk,kl->il", x, shard w as P(), v)',
    'outer': 'let v = shard ones([8]) as P(@X)\nlet z = outer(v, v)',
    'reshape, sizes do not divide': 'let a = shard ones([4, 6, 8]) as P(_, @X)\nlet z = a.reshape([4, 3, 2, 8])',
    'reshape, merged behind a whole one': 'let z = columns.reshape([128])',
    'reshape, two at once': 'let z = x.reshape([4, 2, 4, 4])',
    'concat': 'let z = concat([rows, columns], axis: 0)',
    'concat by position': 'let z = concat([rows, columns, rows])',
    'stack': 'let z = stack([rows, columns])',
    'slice': 'let z = rows[1:4]',
    'one row': 'let z = rows[0]',
    'pad': 'let z = pad(rows, [[1, 0], [0, 0]])',
    'split': 'let z = split(rows, 8, axis: 0)',
    'take': 'let table = ones([4, 16])\nlet z = take(table, ids, axis: 0)',
    'index by split ids': 'let table = ones([4, 16])\nlet z = table[ids]',
    'index of a split table': 'let z = rows[array([0, 1])]',
    'scatter': 'let z = scatter(rows, array([0, 1]), ones([2, 16]), op: "add")',
    'update': 'let z = dynamic_update_slice(rows, shard ones([2, 16]) as P(_, @X), [0, 0])',
    'sort': 'let z = sort(rows, axis: 0)',
    'argsort': 'let z = argsort(columns)',
    'cumsum': 'let z = cumsum(rows, axis: 0)',
    'top_k': 'let z = top_k(columns, 2)',
    'roll': 'let z = roll(rows, 1, axis: 0)',
    'tile': 'let z = tile(rows, [2, 1])',
    'repeat': 'let z = repeat(rows, 2, axis: 0)',
    'cholesky': 'let z = cholesky(shard eye(4) as P(@X))',
    'solve': 'let z = solve(shard eye(4) as P(@X), ones([4, 4]))',
    'conv': 'let z = conv(shard ones([4, 8, 4]) as P(_, _, @X), ones([3, 4, 8]))',
    'function that is not linear, of an unreduced sum': 'let z = exp(pending)',
    'pending sum and a finished one': 'let z = pending + ones([8, 4])',
    'product of two pending sums': 'let z = pending * pending',
    'pending sum times a whole one': 'let z = (shard pending as P(unreduced: @Y)) * (shard ones([8, 4]) as P(@X))',
    'reduced and not': 'let z = free + (shard ones([8, 4]) as P(@X))',
    'reduced and split over it': 'let z = free * (shard ones([8, 4]) as P(_, @Y))',
    'out: of axes that are not summed': 'let z = sum(x, axis: 0)\nlet y = z + (shard ones([16]) as P(@X))',
    'scan, the carry changes': 'let z = scan(fn(c, v) = (c + v, v), shard zeros([16]) as P(), shard ones([3, 16]) as P(_, @Y))',
    'for along a split dimension': 'let n = 0\nfor r in rows { n = n + 1 }',
    'scan along a split dimension': 'let z = scan(fn(c, v) = (c + sum(v), v), 0.0, rows)',
    'while, the carry changes': 'jit fn f(a, b) {\n  while sum(a) < 100.0 { a = a + b }\n  a\n}\nlet z = f(shard ones([8]) as P(), shard ones([8]) as P(@X))',
    'if, the value': 'jit fn f(a, b) = if sum(a) > 0.0 { a } else { b }\nlet z = f(rows, columns)',
    'if, a variable': 'jit fn f(a, b) {\n  let c = a\n  if sum(a) > 0.0 { c = c + 1.0 } else { c = b }\n  c\n}\nlet z = f(rows, columns)',
    'scan, a tree is carried': 'let z = scan(fn(c, v) = ({a: c.a + v, b: c.b}, v), {a: shard zeros([16]) as P(), b: 1.0}, shard ones([3, 16]) as P(_, @Y))',
    'scan, a carry from a variable': 'let c0 = {a: shard zeros([16]) as P(), b: 1.0}\nlet z = scan(fn(c, v) = ({...c, a: c.a + v}, v), c0, shard ones([3, 16]) as P(_, @Y))',
    'while, a field': 'jit fn f(a, b) {\n  let s = {x: a, n: array(0)}\n  while s.n < 3 { s.x = s.x + b; s.n = s.n + 1 }\n  s.x\n}\nlet z = f(shard ones([8]) as P(), shard ones([8]) as P(@X))',
    'for, a tuple': 'jit fn f(a, b, n) {\n  let s = (a, a)\n  for i in 0..n { s = (s[0] + b, s[1]) }\n  s[0]\n}\nlet z = f(shard ones([8]) as P(), shard ones([8]) as P(@X), array(3))',
    'if, tuples': 'jit fn f(a, b) = if sum(a) > 0.0 { (a, 1.0) } else { (b, 2.0) }\nlet z = f(rows, columns)',
    'if, records': 'jit fn f(a, b) = if sum(a) > 0.0 { {p: a, q: a} } else { {p: b, q: b * 2.0} }\nlet z = f(rows, columns)',
    'if, two variables': 'jit fn f(a, b) {\n  let c = a\n  let d = a\n  if sum(a) > 0.0 { c = b; d = b }\n  c + d\n}\nlet z = f(rows, columns)',
    'mask of a split array': 'let m = rows > 0.5\nlet z = rows[m]',
    'mask assignment': 'let m = columns > 0.5\nlet z = rows\nz[m] = 0.0',
    'assignment to rows': 'let z = rows\nz[array([0, 1])] = ones([2, 16])',
    'assignment to a part': 'let z = rows\nz[0:2] = shard ones([2, 16]) as P(_, @X)',
    'assignment to everything': 'let z = rows\nz[:] = columns',
    'addition to rows': 'let z = columns\nz[array([0, 1])] += shard ones([2, 16]) as P(_, @Y)',
    'quotient by an unreduced sum': 'let z = 1.0 / pending',
    'remainder of an unreduced sum': 'let z = pending % 2.0',
    'choice of pending and finished': 'let z = where(ones([8, 4]) > 0, pending, 1.0)',
    'cast of an unreduced sum': 'let z = cast(pending, i32)',
    'matrix product of an unreduced sum': 'let z = pending.T @ (shard ones([8, 4]) as P(@X))',
    'loss of an unreduced sum': 'let z = mean(pending ** 2)',
    'tree_map': 'let z = tree_map(fn(a, b) = a + b, {p: rows}, {p: columns})',
    'vmap, an axis that is used inside': 'let z = vmap(fn(a) = a + rows)(rows)',
    'vmap, laid out over its axis': 'let z = vmap(fn(a) = shard a as P(@X))(rows)',
    'vmap, one argument whole': 'let z = vmap(fn(a, b) = a + b)(rows, ones([8, 16]))',
    'out: pending over an axis that is not summed': 'let z = sum(x, axis: 0, out: P(unreduced: @Y))',
    'out: pending where nothing summed is split': 'let z = matmul(rows, ones([16, 4]), out: P(@X, unreduced: @Y))',
    'out: a sum is no maximum': 'let z = sum(x, axis: 0, out: P(unreduced: @X, kind: "max"))',
    'out: a maximum is no sum': 'let z = max(x, axis: 0, out: P(@Y, unreduced: @X))',
    'out: a product that is reduced': 'let z = dot(x, w, out: P(@X, reduced: @Y))',
    'out: an axis twice': 'let z = ones([8, 4], out: P(@X, @X))',
    'out: a size that does not divide': 'let z = normal(key(0), [8, 3], out: P(_, @Y))',
    'out: too many entries': 'let z = arange(8, out: P(_, @Y))',
    'out: an axis that is near': 'let z = zeros([8, 4], out: P(@x))',
    'out: an axis that is unknown': 'let z = einsum("ij,jk->ik", x, w, out: P(@rows))',
    'out: open': 'let z = reshape(x, [128], out: P(?))',
    'out: an unreduced sum splits over its own axis': 'let z = sum(pending, axis: 0, out: P(@Y))',
    'out: a product of an unreduced sum': 'let z = dot(pending, ones([4, 4]), out: P(@X))',
    'writing split rows': 'let z = ones([8, 16])\nz = scatter(z, array([0, 1]), shard ones([2, 16]) as P(@X), op: "add")',
    'solve, batches that differ': 'let a = shard ones([8, 4, 4]) + 3.0 * eye(4) as P(@X)\nlet z = solve(a, shard ones([8, 4, 4]) as P())',
    'reduced and not, joined': 'let z = concat([free, shard ones([8, 4]) as P()])',
    'reduced and not, in a slice': 'let z = dynamic_update_slice(free, shard ones([2, 4]) as P(), [0, 0])',
    'annotation, a field': 'fn f(p: {a: P(@X), b: P()}) = p.a\nlet z = f({a: columns, b: 1.0})',
    'annotation, a field of a variable': 'let p = {a: columns, q: (rows, [columns])}\nfn f(p: {a: P(_, @X), q: (P(@X), [P(@X)])}) = p.a\nlet z = f(p)',
    'annotation, one spec for a tree': 'let p = {a: rows, b: columns}\nfn f(p: P(@X)) = p.a\nlet z = f(p)',
    'annotation, types in a tuple': 'fn f(p: (f32[B@X, D], f32[B, D])) = p[0]\nlet z = f((columns, ones([8, 16])))',
    'annotation of a field of the result': 'fn f(a) -> {y: P(@X)} = {y: a}\nlet z = f(columns)',
    'annotation of a variable as the result': 'fn f(a) -> (P(@X), P()) {\n  let p = (a, 1.0)\n  p\n}\nlet z = f(columns)',
    'auto, no layout of the result': 'auto fn f(a) = a @ a.T\nlet z = f(rows)',
    'shard, a tree of specs': 'let p = {w: ones([8, 4]), b: ones([6]), q: (ones([8]), 1.0)}\nlet z = shard p as {w: P(@X), b: P(@Y), q: P()}',
    'shard, a spec for a part of a tree': 'let p = {w: ones([8, 4]), q: (ones([8]), ones([6]))}\nlet z = shard p as {w: P(@X), q: P(@Y)}',
    'shard, one spec for a tree': 'let p = {w: ones([8, 4]), b: ones([6])}\nlet z = shard p as P(@Y)',
    'shard, pending and reduced': 'let z = shard rows as P(unreduced: @X, reduced: @X)',
    'shard, split and pending': 'let z = shard rows as P(@X, unreduced: @X)',
    'shard, open': 'let z = shard rows as P(?)',
    'vmap': 'let z = vmap(fn(a, b) = a + b)(rows, shard ones([8, 16]) as P(@Y))',
    'annotation, a spec': 'fn f(a: P(@X)) = a * 2.0\nlet z = f(columns)',
    'annotation, a type': 'fn f(a: f32[B@X, D]) = a * 2.0\nlet z = f(columns)',
    'annotation of the result': 'fn f(a) -> P() = a * 2.0\nlet z = f(columns)',
    'annotation of the result of a block': 'jit fn f(a) -> P(@X) {\n  let b = a * 2.0\n  b\n}\nlet z = f(columns)',
    'manual, an argument': 'manual fn f(a: P(@X)) -> P(@X) = a * 2.0\nlet z = f(columns)',
    'manual, a result that varies': 'manual fn f(a: P(@X)) -> P() = sum(a)\nlet z = f(rows)',
    'manual, a gathered result': 'manual fn f(a: P(@X)) -> P() = all_gather(a, @X, tiled: true)\nlet z = f(rows)',
    'manual, gathered and used': 'manual fn f(a: P(@X)) -> P() {\n  let g = all_gather(a, @X, tiled: true)\n  g * 2.0\n}\nlet z = f(rows)',
    'manual, gathered as a method': 'manual fn f(a: P(@X)) -> P() = a.all_gather(@X, tiled: true)\nlet z = f(rows)',
    'manual, gathered and not': 'manual fn f(a: P(@X)) -> P() = sum(all_gather(a, @X, tiled: true)) * sum(a)\nlet z = f(rows)',
    'manual, a result in a tuple': 'manual fn f(a: P(@X)) -> (P(), P(@X)) = (sum(a), a)\nlet z = f(rows)',
    'manual, the carry of scan': 'manual fn f(a: P(@X)) -> P(@X) = scan(fn(c, _) = (c + a, none), zeros([4, 16]), none, length: 3)[0]\nlet z = f(rows)',
    'manual, the carry of scan, a tuple': 'manual fn f(a: P(@X)) -> P(@X) {\n  let (b, n) = scan(fn((b, n), _) = ((b + a, n + 1), none), (zeros([4, 16]), 0), none, length: 3)[0]\n  b\n}\nlet z = f(rows)',
    'manual, the carry of scan, a record': 'manual fn f(a: P(@X)) -> P(@X) = scan(fn(c, _) = ({n: c.n, p: {w: c.p.w + a}}, none), {n: 0, p: {w: zeros([4, 16])}}, none, length: 3)[0].p.w\nlet z = f(rows)',
    'manual, the carry of a loop': 'manual fn f(a: P(@X)) -> P(@X) {\n  let b = zeros([4, 16])\n  for i in 0..cast(psum(1.0 + 0.0 * max(a), @X), i32) { b = b + a }\n  b\n}\nlet z = f(rows)',
    'manual, a branch that varies, a record': 'manual fn f(a: P(@X)) -> P(@X) {\n  let s = psum(sum(a), @X)\n  let r = if s > 0.0 { {w: a * 2.0, b: a} } else { {w: zeros([4, 16]), b: a} }\n  r.w + r.b\n}\nlet z = f(rows)',
    'manual, a branch that varies': 'manual fn f(a: P(@X)) -> P(@X) {\n  let s = psum(sum(a), @X)\n  if s > 0.0 { a * 2.0 } else { zeros([4, 16]) }\n}\nlet z = f(rows)',
    'shard, a size that does not divide': 'let z = shard ones([6]) as P(@Y)',
    'shard, an axis twice': 'let z = shard ones([8, 8]) as P(@X, @X)',
    'shard, too many entries': 'let z = shard ones([8]) as P(@X, @Y)',
    'shard, an unknown axis': 'let z = shard ones([8]) as P(@x)',
}
NO_FIX = set()
# What a program means whose words have no meaning on automatic axes.
MEANT = {
    'manual, a result that varies': 'let z = sum(rows)',
    'manual, a result in a tuple': 'let z = (sum(rows), rows)',
    'manual, a gathered result': 'let z = rows',
    'manual, gathered and used': 'let z = rows * 2.0',
    'manual, gathered as a method': 'let z = rows',
    'manual, gathered and not': 'let z = sum(rows) ** 2',
}
NUMBER = re.compile(r'-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf\b|nan\b)')


def run(text):
    path = os.path.join(scratch.folder(), 'case.shard')
    with open(path, 'w', encoding='utf-8') as f: f.write(text)
    return subprocess.run([SHARD, 'run', path], capture_output=True, text=True, timeout=300)


def meant(name, body):
    """The numbers of z as the user meant it; None where automatic axes have no such program."""
    plain = re.sub(r',? ?(?:unreduced|reduced|kind): (?:@\w+|"\w+")', '', SETUP + MEANT.get(name, body)).replace(') explicit', ')')
    p = run(plain + '\nprint(z)\n')
    return [float(n) for n in NUMBER.findall(p.stdout)] if p.returncode == 0 else None


def close(got, want):
    return len(got) == len(want) and all(a == b or math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4) for a, b in zip(got, want))


def check(text):
    path = os.path.join(scratch.folder(), 'case.shard')
    with open(path, 'w', encoding='utf-8') as f: f.write(text)
    p = subprocess.run([SHARD, 'check', path, '--json'], capture_output=True, text=True, timeout=300)
    try: return json.loads(p.stdout), path
    except ValueError: raise AssertionError(f'status {p.returncode}: {p.stderr[:400]}')


def offset(text, line, column):
    return sum(len(l) + 1 for l in text.split('\n')[:line - 1]) + column - 1


def applied(text, fix):
    a, b = offset(text, fix['line'], fix['column']), offset(text, fix['end_line'], fix['end_column'])
    return text[:a] + fix['replacement'] + text[b:]


def main():
    failed = fixes = compared = 0
    wanted = sys.argv[2:]
    for name, body in PROGRAMS.items():
        if wanted and name not in wanted: continue
        text = SETUP + body + '\n'
        try:
            errors, path = check(text)
            if len(errors) != 1: raise AssertionError(f'{len(errors)} errors: ' + '; '.join(e['message'] for e in errors))
            if not errors[0]['fixes'] and name not in NO_FIX: raise AssertionError('no fix for: ' + errors[0]['message'] + f" [{errors[0]['code']}]")
            truth = meant(name, body)
            for fix in errors[0]['fixes']:
                fixes += 1
                fixed = applied(text, fix)
                with open(path, 'w', encoding='utf-8') as f: f.write(fixed)
                p = subprocess.run([SHARD, 'run', path], capture_output=True, text=True, timeout=300)
                changed = '\n'.join(l for l in fixed.split('\n') if l not in text.split('\n'))
                if p.returncode != 0: raise AssertionError(f'the fix "{fix["replacement"]}" does not fix it: {changed}\n{p.stderr[:400]}')
                if truth is not None and not fix['advice'].startswith('or '):
                    got = [float(n) for n in NUMBER.findall(run(fixed + 'print(z)\n').stdout)]
                    compared += 1
                    if not close(got, truth): raise AssertionError(f'the fix "{fix["replacement"]}" gives {got[:8]}, and {truth[:8]} is meant: {changed}')
                if os.environ.get('VERBOSE'): print(f'{name}: {changed}')
        except AssertionError as e:
            failed += 1
            print(f'FAIL {name}: {e}')
    print(f'{fixes} fixes applied, {compared} of them compared with what was meant')
    print(f'{len(PROGRAMS) - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__': sys.exit(main())
