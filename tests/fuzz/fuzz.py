#!/usr/bin/env python3
"""Mutated scripts against a `shard` program, best one built with sanitizers. Apart from the suite: it runs as long as it is told to.

    fuzz.py PROGRAM [--seconds 600] [--seed 0] [--keep DIR]

Every run must end by itself, with status 0, or with status 1 and a message. A signal, a sanitizer's report, a run beyond the time limit or
a failure without a word is a defect: the script is kept in DIR and its name printed. Exit status 1 where there was one.
"""
import argparse
import glob
import os
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOKEN = re.compile(r'\w+|"[^"\n]*"|\s+|[^\w\s]')
PIECES = ['(', ')', '[', ']', '{', '}', '@X', 'P(@X)', '-1', '0', '1e308', '9223372036854775807', 'none', 'true', 'fn(x) = x', '..', '...', '|>',
          'shard x as P()', 'zeros([0])', 'zeros([99999999, 99999999])', 'grad', 'jit', 'scan', '"{x}"', '"', '#', ';', '\n', '.T', '[::0]', '[none]',
          'while true { }', 'f(f)', 'let', 'return', 'mesh m = (@X: 0)', '_', '?', 'key(0)', 'reshape', 'einsum("ij,jk", x, x)', '\\', '\0', 'é']


def corpus():
    files = glob.glob(os.path.join(ROOT, 'scripts', '*.shard')) + glob.glob(os.path.join(ROOT, 'tests', 'golden', '**', '*.shard'), recursive=True)
    return [open(f, encoding='utf-8').read() for f in sorted(files)]


def mutate(rng, texts):
    tokens = TOKEN.findall(rng.choice(texts))
    if rng.random() < 0.5:                                   # a part is enough, and shorter runs find more
        at = rng.randrange(len(tokens) + 1)
        tokens = tokens[at:at + rng.randrange(1, 200)] if rng.random() < 0.3 else tokens[:at]
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(tokens) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            tokens[at:at + rng.randrange(1, 4)] = []
        elif kind == 1:
            tokens[at:at] = [rng.choice(PIECES)]
        elif kind == 2 and tokens:
            tokens[at:at] = [rng.choice(tokens)]
        elif kind == 3:
            other = TOKEN.findall(rng.choice(texts))
            start = rng.randrange(len(other) + 1)
            tokens[at:at] = other[start:start + rng.randrange(1, 12)]
        elif kind == 4 and at < len(tokens):
            tokens[at] = re.sub(r'\d+', lambda m: rng.choice(['0', '1', '-1', '7', '1000000', '4294967296']), tokens[at])
        elif kind == 5:
            tokens[at:at] = [rng.choice(['(', '[', '-', 'not ', '{']) * rng.choice([3, 300, 5000])]
    return ''.join(tokens)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('program')
    p.add_argument('--seconds', type=float, default=600)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--limit', type=float, default=20, help='seconds that one script may take')
    p.add_argument('--keep', default='fuzz-findings')
    a = p.parse_args()
    rng, texts = random.Random(a.seed), corpus()
    end, runs, failed, slow = time.time() + a.seconds, 0, 0, 0
    environment = dict(os.environ, ASAN_OPTIONS='detect_leaks=0:allocator_may_return_null=1', UBSAN_OPTIONS='print_stacktrace=1')
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, 'case.shard')
        while time.time() < end:
            text = mutate(rng, texts)
            endless = 'while true' in text                   # a script may loop for ever: only stopping it must work
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)
            command = [a.program, rng.choice(['run', 'run', 'check']), path]
            try:
                done = subprocess.run(command, capture_output=True, timeout=a.limit, stdin=subprocess.DEVNULL, env=environment, cwd=ROOT)
                bad = done.returncode not in (0, 1) or (done.returncode == 1 and not done.stderr) or b'Sanitizer' in done.stderr or b'runtime error:' in done.stderr
                why = f'status {done.returncode}: ' + done.stderr.decode(errors='replace')[-300:]
            except subprocess.TimeoutExpired:
                bad, why = not endless, f'no end in {a.limit:g} s'
                slow += 1
            runs += 1
            if bad:
                failed += 1
                os.makedirs(a.keep, exist_ok=True)
                kept = os.path.join(a.keep, f'{a.seed}-{runs}.shard')
                with open(kept, 'w', encoding='utf-8') as f:
                    f.write(text)
                print(f'{kept}: {why}', flush=True)
    print(f'{runs} scripts, {failed} failures, {slow} stopped at the limit')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
