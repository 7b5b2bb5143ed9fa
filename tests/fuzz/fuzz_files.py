#!/usr/bin/env python3
"""Mutated files of every format, checkpoint folders included, against a `shard` program, best one built with sanitizers. Apart from the
suite: it runs as long as it is told to.

    fuzz_files.py PROGRAM [--seconds 600] [--seed 0] [--keep DIR]

Every load must end in a value or in an error. A signal, a sanitizer's report, more than 1.5 GB of memory or a run beyond the time limit is
a defect: the files of that run are kept in DIR. Exit status 1 where there was one.
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

TOGETHER = 40   # loads in one run of the program
MAKE = '''
mesh m = (@X: 4)
let x = shard cast(arange(64).reshape([8, 8]), f32) as P(@X)
let t = {w: x, l: [arange(5), 2.5, "text", none, true], k: split(key(1), 3), h: ones([2, 3], bf16)}
save("a.npy", x); save("a.npz", {x: x, y: arange(7)}); save("a.safetensors", t); save("a.idx", cast(arange(12).reshape([3, 4]), i16))
save("a.csv", x); save("a.txt", "some text"); save("a.npy.gz", x); save("b.npz.gz", {x: x}); save("c.csv.gz", x); save("run/", t)
'''
HUB = {'metadata': {'total_size': 256}, 'weight_map': {'w': 'a.safetensors', 'k': 'a.safetensors'}}
WAYS = ['load({p})', 'load({p})', 'sum(load({p}, map: true)[0:2])', 'load({p}, as: P(@X))', 'load({p}, dtype: u16)',
        'load({p}, like: {{w: shard f32[8, 8] as P(_, @X), k: key[3]}}, strict: false)', 'read_csv({p})',
        'for b in loader({p}, batch: 2, shuffle: key(1)) {{ }}']
NUMBERS = [b'-1', b'0', b'1', b'3', b'255', b'65536', b'4294967296', b'9223372036854775807', b'18446744073709551615', b'1e400',
           b'99999999999999999999', b'[' * 3000, b'{"a":' * 3000, b'null', b'"../a.npy"', b'"/etc/passwd"', b'"w"', b'"F64"']


def mutated(rng, data):
    b = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 10])):
        at = rng.randrange(len(b) + 1)
        kind = rng.randrange(7)
        if kind == 0 and b:
            b[at % len(b)] ^= 1 << rng.randrange(8)
        elif kind == 1 and b:
            b[at % len(b)] = rng.choice([0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)])
        elif kind == 2:
            del b[at:at + rng.choice([1, 2, 8, 100, len(b)])]
        elif kind == 3:
            b[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 2, 8, 100])))
        elif kind == 4:
            start = rng.randrange(len(b) + 1)
            b[at:at] = b[start:start + rng.choice([1, 8, 64])]
        elif kind == 5 and len(b) >= 8:
            start = at % (len(b) - 7)
            b[start:start + 8] = rng.choice([0, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, 2**50]).to_bytes(8, rng.choice(['little', 'big']))
        elif kind == 6:                                        # a number or a word of a header
            found = list(re.finditer(rb'-?\d+|"[^"]*"', bytes(b[:4000])))
            if found:
                m = rng.choice(found)
                b[m.start():m.end()] = rng.choice(NUMBERS)
    return bytes(b)


def make_case(rng, corpus, folder, i):
    name = rng.choice(sorted(os.listdir(corpus)))
    source, target = os.path.join(corpus, name), os.path.join(folder, f'{i}_{name}')
    if os.path.isdir(source):
        shutil.copytree(source, target)
        victims = [os.path.join(target, rng.choice(os.listdir(target)))]
    else:
        shutil.copy(source, target)
        if name.endswith('.index.json'): shutil.copy(os.path.join(corpus, 'a.safetensors'), folder)
        victims = [target]
    for v in victims:
        data = open(v, 'rb').read()
        open(v, 'wb').write(mutated(rng, data))
    return os.path.basename(target)


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('program')
    p.add_argument('--seconds', type=float, default=600)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--limit', type=float, default=120, help='seconds that one run of the program may take')
    p.add_argument('--keep', default='fuzz-findings')
    a = p.parse_args()
    program, rng = os.path.abspath(a.program), random.Random(a.seed)
    environment = dict(os.environ, ASAN_OPTIONS='detect_leaks=0:allocator_may_return_null=1:hard_rss_limit_mb=1500', UBSAN_OPTIONS='print_stacktrace=1')
    end, loads, failed = time.time() + a.seconds, 0, 0
    with tempfile.TemporaryDirectory() as work:
        corpus = os.path.join(work, 'corpus')
        os.mkdir(corpus)
        subprocess.run([program, 'run', '-'], input=MAKE, text=True, cwd=corpus, check=True)
        json.dump(HUB, open(os.path.join(corpus, 'm.safetensors.index.json'), 'w'))
        while time.time() < end:
            folder = os.path.join(work, 'cases')
            os.mkdir(folder)
            tests = ['mesh m = (@X: 4)']
            for i in range(TOGETHER):
                way = rng.choice(WAYS).format(p=f'"{make_case(rng, corpus, folder, i)}"')
                tests.append(f'test "{i}" {{\n  {way}\n}}')
            open(os.path.join(folder, 'cases.shard'), 'w').write('\n'.join(tests))
            try:
                done = subprocess.run([program, 'test', 'cases.shard'], capture_output=True, timeout=a.limit, stdin=subprocess.DEVNULL, env=environment,
                                      cwd=folder, preexec_fn=limit)
                out = done.stdout + done.stderr
                bad = done.returncode not in (0, 1) or b'Sanitizer' in out or b'runtime error:' in out or b'a fault in Shard' in out or b'passed' not in out
                why = f'status {done.returncode}: ' + out.decode(errors='replace')[-1500:]
            except subprocess.TimeoutExpired:
                bad, why = True, f'no end in {a.limit:g} s'
            loads += TOGETHER
            if bad:
                failed += 1
                kept = os.path.join(a.keep, f'{a.seed}-{loads}')
                shutil.copytree(folder, kept)
                print(f'{kept}: {why}', flush=True)
            shutil.rmtree(folder)
    print(f'{loads} loads, {failed} runs with a failure')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
