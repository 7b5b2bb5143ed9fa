#!/usr/bin/env python3
"""What helps to find a mistake: --debug-nans, breakpoint, trace.   debugging.py SHARD   closes with "N passed, N failed" """
import sys

import cli
from cli import case, check, script, shard

cli.CASES.clear()


@case
def debug_nans_names_the_line_that_made_one():
    """What comes of the logarithm of -1, of 1e38 * 1e38 in 32 bits, and of the derivative 1 / (2 sqrt(0)) is IEEE 754's."""
    def told(text, line, *words, args=()):
        path = script(text)
        p = shard('run', path, '--debug-nans', *args)
        check(p.returncode == 1 and f'{path}:{line}:' in p.stderr and all(w in p.stderr for w in words), f'line {line}: {words}', p)
        check(shard('run', path, *args).returncode == 0, 'without the flag', None)
    told('let x = array([1.0, -1.0, 4.0])\nprint(sum(log(x)))\n', 2, '`log` made a nan', '1 of its 3 values, the first at [1]', 'made of -1.0')
    told('jit fn f(x) {\n  let y = x - 2.0\n  let z = sqrt(y) * 3.0\n  sum(z)\n}\nprint(f(array([3.0, 1.0])))\n', 3, '`sqrt` made a nan', 'made of -1.0')
    told('jit fn f(x) {\n  for i in 0..4 {\n    x = x * x\n  }\n  x\n}\nprint(f(array(1e19)))\n', 3, '`mul` made an infinity')
    told('let g = grad(fn(x) =\n  sum(sqrt(x)))\nprint(jit(g)(array([4.0, 0.0])))\n', 2, 'made an infinity', 'the first at [1]')
    told('mesh m = (@X: 4)\nlet x = shard arange(8.0) - 5.0 as P(@X)\njit fn f(x) = sum(1.0 / x)\nprint(f(x))\n', 3, 'made an infinity', 'the first at [1] of the block on (@X: 2)')
    told('mesh m = (@X: 2)\nmanual fn f(x: P(@X)) -> P() = psum(sum(log(x)), @X)\nprint(f(array([1.0, -3.0])))\n', 2, '`log` made a nan', '(@X: 1)', 'made of -3.0')
    told('let x = ones([2, 2]) * 1e38\nprint(x @ x * 10.0)\n', 2, 'made an infinity')
    p = shard('run', script('let x = array([nan, inf, 1.0])\nprint(sum(x + 1.0), exp(where(x > 0, x, -inf)), softmax(array([-inf, 0.0])))\n'), '--debug-nans')
    check(p.returncode == 0 and p.stdout == 'nan [0.              inf 2.7182817] [0. 1.]\n', 'what was there before is not made', p)
    check(shard('run', script('print(sum(ones([3])))'), '--debug-nans', '--exact').stdout == '3.0\n', 'exact as well')


@case
def breakpoint_opens_a_loop_with_the_variables_of_its_place():
    path = script('let scale = 10\nfn outer(x) {\n  let y = x * 2\n  fn inner(z) {\n    breakpoint()\n    y + z\n  }\n  inner(x + 1)\n}\nprint(outer(3))\nprint(outer(4))\n')
    p = shard('run', path, text='(y, z, scale)\nlet w = y * scale\nw\nnot_there\n:continue\nz\n')
    check(p.returncode == 0 and p.stdout == '(6, 4, 10)\n60\n10\n5\n13\n', 'evaluates, goes on, stands still again', p)
    check('unknown name `not_there`' in p.stderr, 'an error of an entry is told and ends nothing', p)
    check(shard('run', path, text='').stdout == '10\n13\n', 'nothing to read: it goes on')
    p = shard('run', script('jit fn f(x) {\n  let y = x * 2\n  breakpoint()\n  y\n}\nprint(f(ones([2])))\n'), text='typeof(y)\n')
    check(p.returncode == 0 and p.stdout == 'f32[2]\n[2. 2.]\n', 'in a trace', p)
    p = shard('repl', text='let a = 1\nfn f(b) { breakpoint(); a + b }\nf(2)\nb\nlet a = 5\n:continue\na\n')
    check(p.returncode == 0 and p.stdout == '2\n3\n1\n', 'in the REPL, whose own names stay', p)


@case
def trace_prints_a_function_that_computes_the_same():
    p = shard('run', '-e', 'trace(fn(x, y) = sin(x) * y + x ** 2, f32[3], f32[3])\n')
    check(p.returncode == 0 and p.stdout.startswith('fn(a: f32[3], b: f32[3]) {\n  let c = sin(a)   # f32[3]\n'), 'prints', p)
    again = shard('run', '-e', 'let (x, y) = (arange(3.0), ones([3]) / 7)\nlet g = ' + p.stdout + 'print(all(g(x, y) == sin(x) * y + x ** 2))\n')
    check(again.returncode == 0 and again.stdout == 'true\n', 'the text runs: ' + p.stdout, again)
    p = shard('run', '-e', 'fn f(x, w) = scan(fn(c, x) = (sum(c + x @ w), c), 0.0, x)\nlet u = ones([2])\ntrace(grad(fn(x) = f(x, ones([3, 4]))[0] * sum(u)), ones([2, 3]))\n')
    check(p.returncode == 0 and '# from outside: b' in p.stdout and 'fn(j: f32[3,4], k: f32[], l: f32[3]) {' in p.stdout and 'reverse: true)' in p.stdout, 'regions are functions', p)
    text = script('let f = ' + p.stdout)
    check(shard('fmt', text).returncode == 0, 'it is an expression of the language: ' + p.stdout)


if __name__ == '__main__': sys.exit(cli.main())
