#!/usr/bin/env python3
"""Runs Shard programs and compares what they print with what their comments expect.

    run.py SHARD FILE_OR_FOLDER...       status 0 where all hold; the last line is "N passed, N failed"

Comments of a program, in the order of the output:
    # expect: TEXT           what is printed next (behind the line that prints it, or on lines of its own)
    # expect error: TEXT     the program ends with status 1 and the error contains TEXT (blanks and case aside)
    # expect type: TEXT      a type; blanks do not count
    # devices: N   # tolerance: T   # command: check   # set: name=value
    # scratch: name          the top-level `let` of this name is a folder for files, empty and removed afterwards
Numbers are compared as numbers; brackets, commas, quotes and line breaks are not compared, pictures are left out. A program without
expectations must end with status 0 (it checks itself).
"""
import concurrent.futures, math, os, re, subprocess, sys, tempfile

HEAD = re.compile(r'#\s*(expect error|expect type|expect|devices|tolerance|command|scratch|set)\s*:\s?(.*)')
TYPE = re.compile(r'~?(?:bool|key|[iuf]\d+|bf16)\[[^\[\]]*\](?:\{[^{}]*\})?')
WORD = re.compile(r'[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf\b|nan\b)|[A-Za-z_]\w*|\S')
PICTURE = re.compile('[\u2500-\u257f]')
IGNORED = set('[](),\'"')


class Case:
    def __init__(self, path):
        self.path, self.expected, self.errors = path, [], []
        self.options, self.tolerance, self.command, self.scratch = [], 2e-6, 'run', None
        with open(path, encoding='utf-8') as f:
            for line in f:
                m = HEAD.search(line)
                if not m: continue
                key, text = m.group(1), m.group(2).strip()
                if key in ('expect', 'expect type'): self.expected.append(text)
                elif key == 'expect error': self.errors.append(text)
                elif key == 'devices': self.options += ['--devices', text]
                elif key == 'set': self.options += ['--set', text]
                elif key == 'tolerance': self.tolerance = float(text)
                elif key == 'command': self.command = text
                elif key == 'scratch': self.scratch = text


def words(text):
    """Types as one word each, then numbers, names and signs; brackets and commas fall away."""
    out, at = [], 0
    for m in list(TYPE.finditer(text)) + [None]:
        piece = text[at:m.start()] if m else text[at:]
        out += [w for w in WORD.findall(piece) if w not in IGNORED]
        if m:
            out.append(re.sub(r'\s', '', m.group()))
            at = m.end()
    return out


def as_number(word):
    try: return float(word)
    except ValueError: return None


def equal(want, got, tolerance):
    a, b = as_number(want), as_number(got)
    if a is None or b is None: return want == got
    if math.isnan(a) or math.isnan(b): return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= tolerance * max(1.0, abs(a))


def squeeze(text):
    return ''.join(text.split()).lower()


def run(shard, path):
    """What is wrong with this case; None where it holds."""
    case = Case(path)
    if not case.scratch: return held(shard, path, case)
    with tempfile.TemporaryDirectory() as folder:
        case.options += ['--set', f'{case.scratch}={folder}']
        return held(shard, path, case)


def held(shard, path, case):
    seconds = float(os.environ.get('GOLDEN_SECONDS', '400'))
    try:
        p = subprocess.run([shard, *case.command.split(), path] + case.options, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f'it did not end within {seconds:.0f} s'
    status = 1 if case.errors else 0
    if p.returncode != status: return f'status {p.returncode}, not {status}\n{p.stderr.strip()[:600]}'
    for text in case.errors:
        if squeeze(text) not in squeeze(p.stderr): return f'the error does not say "{text}":\n{p.stderr.strip()[:600]}'
    if not case.expected: return None
    printed = words('\n'.join(l for l in p.stdout.splitlines() if not PICTURE.search(l)))
    expected = words('\n'.join(case.expected))
    if 'scripts' in os.path.relpath(path).split(os.sep):             # lessons print more than they expect: in order is enough
        at = 0
        for i, w in enumerate(expected):
            while at < len(printed) and not equal(w, printed[at], case.tolerance): at += 1
            if at == len(printed): return f'it never prints {" ".join(expected[i:i + 8])}\n{p.stdout.strip()[:600]}'
            at += 1
        return None
    for i, w in enumerate(expected):
        if i >= len(printed): return f'it prints too little: next is {" ".join(expected[i:i + 8])}'
        if not equal(w, printed[i], case.tolerance): return f'word {i}: expected {" ".join(expected[i:i + 8])}, printed {" ".join(printed[i:i + 8])}'
    if len(printed) > len(expected): return f'it prints too much: {" ".join(printed[len(expected):len(expected) + 8])}'
    return None


def main():
    if len(sys.argv) < 3: sys.exit(__doc__)
    shard, files = sys.argv[1], []
    for name in sys.argv[2:]:
        if os.path.isdir(name): files += [os.path.join(d, f) for d, _, fs in sorted(os.walk(name)) for f in sorted(fs) if f.endswith('.shard')]
        else: files.append(name)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool:
        for path, wrong in zip(files, pool.map(lambda f: run(shard, f), files)):
            if wrong:
                failed += 1
                print(f'FAIL {path}: {wrong}')
    print(f'{len(files) - failed} passed, {failed} failed')
    return 1 if failed or not files else 0


if __name__ == '__main__': sys.exit(main())
