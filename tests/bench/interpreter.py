#!/usr/bin/env python3
"""Calls and loops of host numbers beside this Python's, in one run: seconds, and ratios. Nothing here passes or fails.

    interpreter.py PROGRAM       PROGRAM: the built `shard`
"""
import subprocess
import sys
import tempfile
import time

SHARD = """
fn fib(n) { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }
fn additions(n) { let s = 0
  for i in 0..n { s = s + i }
  s }
fn counted(n) { let s = 0
  let k = 0
  while k < n { k += 1
    s += k }
  s }
for run in [fn() = fib(30), fn() = additions(10000000), fn() = counted(10000000)] {
  let from = clock()
  run()
  print(clock() - from)
}
"""


def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)


def additions(n):
    s = 0
    for i in range(n): s = s + i
    return s


def counted(n):
    s = k = 0
    while k < n:
        k += 1
        s += k
    return s


def main():
    with tempfile.NamedTemporaryFile('w', suffix='.shard') as f:
        f.write(SHARD)
        f.flush()
        mine = [float(x) for x in subprocess.run([sys.argv[1], 'run', '--allow', 'unused-result', f.name], capture_output=True, text=True, check=True).stdout.split()]
    print(f'| what | Shard | Python {sys.version.split()[0]} | ratio |\n| --- | --- | --- | --- |')
    for (name, run), x in zip([('fib(30)', lambda: fib(30)), ('10 million additions, `for`', lambda: additions(10**7)), ('the same, `while`', lambda: counted(10**7))], mine):
        t = time.perf_counter()
        run()
        y = time.perf_counter() - t
        print(f'| {name} | {x:.3f} s | {y:.3f} s | {x / y:.2f} |')


main()
