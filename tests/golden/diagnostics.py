#!/usr/bin/env python3
"""What is found in scripts: warnings and how they are silenced, several errors at once, fixes that are written, the form of the JSON.
diagnostics.py SHARD   closes with "N passed, N failed" """
import glob, json, os, re, subprocess, sys, tempfile

import cli
from cli import SHARD, case, check, script, shard

cli.CASES.clear()
SCHEMA = json.load(open('interpreter/cli/check.schema.json', encoding='utf-8'))
CODES = re.findall(r'^(\S+)\n  ', shard('help', 'warnings').stdout, re.M)


def fits(value, schema, at='$'):
    """Why a value is not what a JSON schema says; None where it is. Of the schema's language what ours uses."""
    if '$ref' in schema: return fits(value, SCHEMA['$defs'][schema['$ref'].split('/')[-1]], at)
    if 'oneOf' in schema:
        wrong = [fits(value, s, at) for s in schema['oneOf']]
        return None if wrong.count(None) == 1 else f'{at}: {wrong}'
    kinds = {'object': dict, 'array': list, 'string': str, 'integer': int, 'boolean': bool, 'null': type(None)}
    types = schema.get('type', [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(value, kinds[t]) and (t == 'boolean' or not isinstance(value, bool)) for t in types): return f'{at} is no {types}: {value!r}'
    if 'enum' in schema and value not in schema['enum']: return f'{at} is none of {schema["enum"]}: {value!r}'
    if 'minimum' in schema and value < schema['minimum']: return f'{at} is below {schema["minimum"]}'
    if isinstance(value, dict):
        for name in schema.get('required', []):
            if name not in value: return f'{at} has no {name}'
        for name, v in value.items():
            if name not in schema.get('properties', {}): return f'{at} has {name}, of which the schema does not know'
            if wrong := fits(v, schema['properties'][name], f'{at}.{name}'): return wrong
    if isinstance(value, list):
        for i, v in enumerate(value):
            if wrong := fits(v, schema['items'], f'{at}[{i}]'): return wrong
    return None


def example(code):
    text = shard('help', code).stdout
    return re.sub(r'^    ', '', text.split('  example:\n')[1], flags=re.M)


def warned(text, *options, command='run'):
    p = shard(command, script(text), *options)
    return p, re.findall(r'(warning|error): .* \[([a-z-]+)\]$', p.stderr, re.M)


@case
def every_warning_is_shown_by_its_example_and_silenced():
    check(len(CODES) == 13, f'codes: {CODES}')
    for code in CODES:
        text = example(code)
        p, found = warned(text)
        check(p.returncode == 0 and found == [('warning', code)], f'{code}: its example warns of it alone', p)
        line = int(re.search(r'case\.shard:(\d+):', p.stderr).group(1))
        lines = text.split('\n')
        p, found = warned('\n'.join(l + f'  # allow: {code}' if i + 1 == line else l for i, l in enumerate(lines)))
        check(p.returncode == 0 and p.stderr == '', f'{code}: a comment silences it', p)
        p, found = warned('\n'.join(l + '  # allow: axis-of-one, ' + code if i + 1 == line else l for i, l in enumerate(lines)))
        check(p.stderr == '', f'{code}: a comment with two codes', p)
        p, found = warned(text, '--allow', code)
        check(p.returncode == 0 and p.stderr == '', f'{code}: --allow silences it', p)
        other = 'warned' if code != 'warned' else 'unreachable'
        p, found = warned(text, '--allow', other)
        check(found == [('warning', code)], f'{code}: --allow of another does not', p)
        for command in ('run', 'check', 'test'):
            p = shard(command, script(text + 'test "t" { assert(true) }\n'), '--deny-warnings')
            check(p.returncode == 1 and ('error: ' in p.stderr + p.stdout), f'{code}: --deny-warnings of {command}', p)
        p = shard('check', '--json', script(text))
        found = json.loads(p.stdout)
        check(p.returncode == 0 and [(d['code'], d['severity']) for d in found] == [(code, 'warning')], f'{code}: as JSON', p)
        check(fits(found, SCHEMA) is None, f'{code}: the schema: {fits(found, SCHEMA)}')


@case
def warnings_are_listed_where_scripts_read_of_them():
    page = open('grammar/language.md', encoding='utf-8').read()
    check(re.findall(r'^\| `([a-z-]+)` \| ', page, re.M) == CODES, 'language.md has the table')
    p = shard('run', script('1\n'), '--allow', 'unused-varable')
    check(p.returncode == 2 and 'did you mean `unused-variable`?' in p.stderr, 'a code that is none', p)
    p = shard('run', script('warn("words", code: "no-such")\n'))
    check(p.returncode == 1 and 'there is no warning `no-such`' in p.stderr, 'a code that is none, in a script', p)
    p = shard('run', script('import nn\nfor i in 0..3 { warn("words") }\n'))
    check(p.stderr.count('warning:') == 1 and p.returncode == 0, 'told once a place', p)


@case
def scripts_modules_and_goldens_are_free_of_warnings():
    files = sorted(glob.glob('scripts/**/*.shard', recursive=True) + glob.glob('stdlib/*.shard'))
    p = shard('check', '--names', '--json', *files)
    found = json.loads(p.stdout)
    check(found == [], f'{[(d["file"], d["line"], d["message"]) for d in found]}')


# What must not be warned of.
SILENT = {
    'names with an underscore': 'fn f(x) {\n  let _y = x\n  x\n}\nprint(f(1))',
    'a tuple of which a part is read': 'fn f(x) {\n  let (a, b) = x\n  a\n}\nprint(f((1, 2)))',
    'parameters, loop variables, the top level': 'let spare = 1\nfn f(x, y) = x\nfor i in 0..2 { print(f(1, 2)) }',
    'read by an inner function': 'fn f(x) {\n  let y = x\n  fn() = y\n}\nprint(f(1)())',
    'read in a string, a size, a spec': 'fn f(n) {\n  let k = n + 1\n  print("{k}")\n  zeros([k])\n}\nprint(f(2))',
    'a method that is a variable': 'fn f(x) {\n  fn twice(v) = v * 2\n  x.twice()\n}\nprint(f(1))',
    'a parameter that is changed and given back': 'fn f(x) {\n  x[0] = 1.0\n  x\n}\nprint(f(ones([2])))',
    'a parameter that a loop goes on with': 'fn f(x) {\n  for i in 0..2 { print(x); x = x + 1 }\n}\nf(1)',
    'a `let` in a loop that is used there': 'let y = 0\nfor i in 0..2 { let y = i; print(y) }\nprint(y + 1)\ny = 3',
    'a call that prints': 'fn f(x) { print(x); x }\nf(1)\nprint(2)',
    'a call that prints while it is traced alone': 'jit fn f(x) { print("traced"); x * 2 }\nf(ones([2]))\nf(ones([2]))\nprint(2)',
    'a call that assigns': 'let n = 0\nfn f() { n = n + 1; n }\nf()\nprint(n)',
    'a call that asserts': 'fn f(x) { assert(x > 0); x }\nf(1)\nprint(2)',
    'a call that gives none': 'fn f(x) { if x > 0 { } }\nf(1)\nprint(2)',
    'the last value of a file': 'fn f(x) = x\nf(1)',
    'builtins hidden by names that nothing calls': 'fn f(x) {\n  let norm = x + 1\n  norm * 2\n}\nprint(f(1))',
    'a function in the place of a builtin': 'fn norm(x) = x + 1\nprint(norm(2))',
    'axes that only a module names': 'mesh m = (@data: 8)\nfor a in m.axes { print(a) }',
    'an axis of a size that is a number': 'let n = 1\nmesh m = (@data: 8, @model: n)\nmanual fn f(x: P(@data)) -> P(@data) = psum(x, @model)\nprint(f(arange(8)))',
    'dropout with a key, or not in training': 'import nn\nlet d = nn.dropout(0.5)\nprint(d.apply(none, ones([2]), key: key(0), train: true), d.apply(none, ones([2])))',
    'a net without dropout': 'import nn\nlet net = nn.sequential([nn.linear(2, 2), nn.dropout(0.0)])\nprint(net.apply(net.init(key(0)), ones([1, 2]), train: true).shape)',
    'parameters that are arrays': 'import optim\nlet p = {w: ones([2])}\nprint(optim.sgd(0.1).init(p))',
    'an `if` that leaves in one part': 'fn f(x) {\n  if x > 1 { return 1 }\n  2\n}\nprint(f(1))',
    'the value first': 'fn f(x) = x * x\nlet (loss, grads) = value_and_grad(f)(3.0)\nprint(loss, grads)',
}


@case
def nothing_is_warned_of_that_may_be_meant():
    for what, text in SILENT.items():
        for command in ('run', 'check'):
            p = shard(command, script(text + '\n'))
            check(p.returncode == 0 and p.stderr == '', f'{what}, {command}', p)


@case
def a_traced_recursion_is_told_why_it_has_no_end():
    p = shard(script('jit fn fact(n) = if n < 2 { 1 } else { n * fact(n - 1) }\nprint(fact(array(5)))\n'))
    check(p.returncode == 1 and 'note: a traced condition traces both of its branches' in p.stderr and 'use a loop' in p.stderr, 'recursion', p)


FIVE = 'let a = 3 4\nfor i in 1:10 { print(i) }\nx = = 3\nif x = 3 { print(1) }\nlet y = fn x: x + 1\nprint("fine")\n'


@case
def several_errors_of_form_are_told_in_order():
    p = shard(script(FIVE))
    check(p.returncode == 1 and re.findall(r'shard:(\d+):\d+: error', p.stderr) == ['1', '2', '3', '4', '5'], 'five of five', p)
    p = shard(script('fn f(x) {\n  let a = \n  let b = 2\n  if x > 0 {\n    print(1\n  }\n  return b c\n}\nfor i in 0..3 {\n  break 2\n}\n'))
    check(re.findall(r'shard:(\d+):\d+: error', p.stderr) == ['3', '6', '7', '10'], 'inside of blocks', p)
    p = shard(script('for x in [1 2] {\n  if x > 1 { continue }\n  break\n}\nfn f(a b) {\n  return a\n}\n'))
    check(re.findall(r'shard:(\d+):\d+: error', p.stderr) == ['1', '5'], 'blocks of headers that cannot be read', p)
    p = shard(script('let a = None\nlet b = (1, 2\nlet c = True\nlet d = 4 5\n'))
    check(re.findall(r'shard:(\d+):\d+: error', p.stderr) == ['1', '2', '3', '4'], 'around a bracket that is open', p)
    p = shard(script('let x = 1 2\n' * 50))
    check(p.stderr.count('error:') == 20, 'twenty at most', p)
    p = shard(script('fn f(x) {\n  if x > 0 {\n    print(1)\n  print(2)\n}\nf(1)\n'))
    check('shard:2:12: error: `{` opened at line 2 is never closed' in p.stderr and 'line 4 stands as far left as line 2' in p.stderr, 'where the indentation shows it', p)
    p = shard('check', '--json', script(FIVE))
    found = json.loads(p.stdout)
    check(len(found) == 5 and fits(found, SCHEMA) is None, 'as JSON', p)


@case
def safe_fixes_are_written():
    before = "let ok = True and not False\nlet s = 'text'\nlet t = zeros([2], dtype: float32)\nfor i in 1:3 { print(i, ok, s, t) }\nprint(1 < i < 3)\n"
    path = script(before)
    p = shard('check', '--fix', path)
    text = open(path, encoding='utf-8').read()
    check(text == 'let ok = true and not false\nlet s = "text"\nlet t = zeros([2], dtype: f32)\nfor i in 1..4 { print(i, ok, s, t) }\nprint(1 < i and i < 3)\n', f'the file: {text}', p)
    check(p.returncode == 1 and p.stderr.count(': fixed') == 6 and 'unknown name `i`' in p.stderr, 'what it did, and what is left', p)
    check(os.listdir(os.path.dirname(path)) == [os.path.basename(path)], 'nothing else is left')
    p = shard('check', '--fix', script('let x = 1\nprint(x)\n'))
    check(p.returncode == 0 and p.stderr == '', 'nothing to fix', p)
    path = script('fn f(x) { let y = x }\nprint(f(1), pirnt)\n')
    before = open(path, encoding='utf-8').read()
    p = shard('check', '--fix', path)
    check(open(path, encoding='utf-8').read() == before and p.returncode == 1, 'what may be meant otherwise is left alone', p)
    os.chmod(os.path.dirname(path), 0o500)
    open(path, 'w').write('let a = None\n')
    p = shard('check', '--fix', path)
    os.chmod(os.path.dirname(path), 0o700)
    check(os.geteuid() == 0 or (p.returncode == 1 and 'cannot write' in p.stderr and open(path).read() == 'let a = None\n'), 'a folder that is closed', p)
    check(shard('check', '--fix', '-').returncode == 2, 'standard input is no file')


# A mistake; what is printed once all that is offered first is pasted: what was meant.
MENDED = {
    'None, True': ('let a = None\nprint(a, True)', 'none true'),
    'a loop of Julia': ('for i in 1:3 { print(i) }', '1\n2\n3'),
    'with a step': ('for i in 1:2:5 { print(i) }', '1\n3\n5'),
    'another one': ('for i = 1:3 { print(i) }', '1\n2\n3'),
    'rows of Julia': ('print(array([1 2; 3 4]).sum(axis: 1))', '[3 7]'),
    'dots': ('print(square.(array([1, 2])) .+ 1)', '[2 5]'),
    'a transpose': ("let x = ones([2, 3])\nprint(x'.shape)", '(3, 2)'),
    'not equal in Lua': ('let x = 3\nif x ~= 4 { print(x) }', '3'),
    'a power': ('print(2 ^ 3)', '8'),
    'a mesh of lists': ('mesh((4, 2), ("data", "model"))\nprint(m.shape)', '{data: 4, model: 2}'),
    'shard as a function': ('mesh m = (@data: 8)\nlet y = shard(arange(16), P(@data))\nprint(sharding(y))', 'P(@data)'),
    'an axis without its sign': ('mesh m = (@data: 8)\nlet y = shard arange(16) as P(data)\nprint(sharding(y))', 'P(@data)'),
    'an axis as text': ('mesh m = (@X: 4)\nmanual fn f(x: P(@X)) -> P() = psum(x.sum(), "X")\nprint(f(arange(8)))', '28'),
    'a division in a size': ('print(zeros([7 / 2]).shape)', '(3,)'),
    'arguments of the gradient': ('fn loss(w) = (w * w).sum()\nlet w = ones([2])\nprint(grad(loss, w))', '[2. 2.]'),
    'a name of NumPy': ('print(sum(ones([2, 3]), axes: 0))', '[2. 2. 2.]'),
    'a dimension too early': ('let a = ones([4, 3])\nlet b = arange(4.0)\nprint((a + b).sum(axis: 1))', '[ 3. 6. 9. 12.]'),
    'a function that gives none': ('fn f(x) { let y = x + 1 }\nprint(f(2) * 3)', '9'),
    'float as a type': ('fn f(x: float) = x * 2\nprint(f(1.5))', '3.0'),
    'a layer without its module': ('import nn\nlet l = LayerNorm(3)\nprint(has_field(l, "apply"))', 'true'),
    'the gradient first': ('fn f(x) = x * x\nlet (grads, loss) = value_and_grad(f)(3.0)\nprint(loss, grads)', '9.0 6.0'),
    'a let in a loop': ('let total = 0\nfor i in 0..3 { let total = i }\nprint(total)', '2'),
    'a let of itself in a loop': ('let total = 0\nfor i in 0..3 { let total = total + i }\nprint(total)', '3'),
    'a variable that is meant': ('fn f(x) {\n  let y = x\n  x\n}\nprint(f(1))', '1'),
}


@case
def what_is_offered_mends_what_was_meant():
    for what, (text, expected) in MENDED.items():
        for _ in range(4):
            path = script(text + '\n')
            fixes = [d['fixes'][0] for d in json.loads(shard('check', '--json', path).stdout) if d['fixes']]
            if not fixes: break
            fix, lines = fixes[0], text.split('\n')
            start = sum(len(l) + 1 for l in lines[:fix['line'] - 1]) + fix['column'] - 1
            end = sum(len(l) + 1 for l in lines[:fix['end_line'] - 1]) + fix['end_column'] - 1
            text = text[:start] + fix['replacement'] + text[end:]
        p = shard(script(text + '\n'))
        squeezed = lambda t: re.sub(r'[\s\[\]]+', ' ', t).strip()
        check(p.returncode == 0 and squeezed(p.stdout) == squeezed(expected) and 'error' not in p.stderr, f'{what}: {text!r}', p)


@case
def the_json_is_as_the_schema_says():
    for text in ('', 'let x = 1\n', 'fn f(x) = x + "a"\nfn g(x) = f(x)\ng(1)\n', FIVE, 'mesh m = (@X: 8)\nlet x = shard ones([4]) as P(@X)\n'):
        for options in (['--json'], ['--json', '--types']):
            p = shard('check', script(text), *options)
            check(fits(json.loads(p.stdout), SCHEMA) is None, f'{text!r} {options}: {fits(json.loads(p.stdout), SCHEMA)}', p)
    check(fits([{'code': 1}], SCHEMA) is not None and fits({'errors': []}, SCHEMA) is not None, 'the schema refuses')


@case
def explain_neither_trains_nor_writes():
    path = script("""import train
mesh m = (@X: 4)
jit fn step(w, x) = w - 0.1 * (x.T @ (x @ w))
let w = zeros([16, 4])
let x = shard ones([8, 16]) as P(@X)
for i in 0..1000000 {
  w = step(w, x)
  log_scalars("out.csv", i, {loss: w.sum()})
  save("out.npz", {w: w})
  save("run/step_{i}/", {w: w})
}
while w.sum() < 1.0 { w = step(w, x) }
print("done")
""")
    folder = os.path.dirname(path)
    p = shard('explain', os.path.basename(path), cwd=folder)
    check(p.returncode == 0 and p.stdout.startswith('step(f32[16,4], f32[8@X,16])\n') and p.stdout.count('at case.shard') == 1, 'explained once', p)
    check("note: 'out.csv' is not written\n" in p.stderr and "'out.npz' is not written" in p.stderr and 'done' not in p.stdout, 'notes', p)
    check(os.listdir(folder) == [os.path.basename(path)], f'nothing is written: {os.listdir(folder)}', p)
    p = shard('explain', script('jit fn f(x) = x @ x\nlet x = zeros([70000, 70000])\nf(x)\nf(zeros([2, 3]))\n'))
    check(p.returncode == 1 and p.stdout.startswith('f(f32[70000,70000])') and ':4:' in p.stderr + p.stdout and 'matmul' in p.stderr, 'nothing is computed, errors are told', p)


if __name__ == '__main__': sys.exit(cli.main())
