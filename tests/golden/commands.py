#!/usr/bin/env python3
"""What the commands `test`, `run` and `help` do with their options.   commands.py SHARD   closes with "N passed, N failed" """
import os, re, signal, subprocess, sys, time, xml.etree.ElementTree as xml

import cli
from cli import SHARD, SLOW, case, check, script, shard
import scratch

cli.CASES.clear()


def folder(**files):
    path = scratch.folder()
    for name, text in files.items():
        place = os.path.join(path, name.replace('__', '/') + '.shard')
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, 'w', encoding='utf-8') as f: f.write(text)
    return path


MIXED = 'test "adds" { assert(1 + 1 == 2) }\ntest.skip "later" { assert(false) }\ntest "fails" { print("inside"); assert_close(1.0, 2.0) }\n'
BEHIND = 'test "one" { assert(true) }\nerror("top")\ntest "two" { assert(true) }\n'


@case
def test_takes_folders_and_tells_failures_at_the_end():
    path = folder(a=BEHIND, sub__b=MIXED, plain='print("not run: no tests")\n')
    for jobs in ([], ['--jobs', '3']):
        p = shard('test', path, *jobs)
        check(p.returncode == 1 and p.stdout.endswith('2 passed, 2 failed, 1 skipped\n'), 'counts', p)
        check(f'not run {path}/a.shard: two' in p.stdout and f'skip {path}/sub/b.shard: later' in p.stdout, 'not run, skipped', p)
        check('inside' in p.stdout and 'no tests' not in p.stdout, 'output', p)
        end = p.stdout[p.stdout.index('failures:'):]
        check('values differ: 1.0 and 2.0' in end and 'error: top' in end and p.stdout.count('values differ') == 1, 'failures in one place', p)
        check(' s)\n' in p.stdout, 'seconds', p)


@case
def test_without_paths_takes_this_folder():
    p = shard('test', cwd=folder(b=MIXED))
    check(p.returncode == 1 and 'ok   b.shard: adds (' in p.stdout, 'this folder', p)


@case
def test_filters_and_lists():
    path = folder(a=BEHIND, b=MIXED)
    p = shard('test', path, '--filter', 'ADD b.shard')
    check(p.returncode == 0 and p.stdout.endswith('1 passed, 0 failed, 0 skipped\n'), 'all words, whatever their case', p)
    p = shard('test', path, '--list')
    check(p.returncode == 0 and p.stdout == f'{path}/a.shard: one\n{path}/a.shard: two\n{path}/b.shard: adds\n{path}/b.shard: later (skipped)\n{path}/b.shard: fails\n', 'lists', p)


@case
def test_without_tests_is_wrong_usage():
    for args in (['test', folder(a='print(1)\n')], ['test', folder(b=MIXED), '--filter', 'nothing_like_it'], ['test', folder(), '--list'], ['test', '--jobs', 'x', folder(b=MIXED)]):
        p = shard(*args)
        check(p.returncode == 2 and p.stderr.startswith('error: '), 'status 2', p)
    p = shard('test', '/no/such/file.shard')
    check(p.returncode == 1 and 'cannot read' in p.stderr, 'missing file', p)


@case
def test_writes_junit():
    path = folder(a=BEHIND, b=MIXED + 'test "<&\\"> \x7f" { assert(true) }\n')
    out = os.path.join(path, 'out.xml')
    p = shard('test', path, '--junit', out)
    suites = xml.parse(out).getroot()
    check([(s.get('tests'), s.get('failures'), s.get('skipped')) for s in suites] == [('3', '1', '1'), ('4', '1', '1')], 'counts', p)
    failures = [f.get('message') for f in suites.iter('failure')]
    check(len(failures) == 2 and 'error: top' in failures[0] and 'values differ' in failures[1], 'failures', p)
    p = shard('test', path, '--junit', '/no/such/folder/out.xml')
    check(p.returncode == 1 and 'cannot write' in p.stderr, 'says so', p)


@case
def a_test_that_crashes_is_a_failure():
    # The process that runs the script is killed from within the script's reach: the parent goes on and tells of it.
    path = folder(a='test "waits" { while true { let x = 1 } }\n', b='test "fine" { assert(true) }\n')
    p = subprocess.Popen([SHARD, 'test', path, '--jobs', '2'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(int(200 * SLOW)):
        time.sleep(0.05)
        children = subprocess.run(['ps', '-o', 'pid=', '--ppid', str(p.pid)], capture_output=True, text=True).stdout.split()
        if len(children) == 1: break
    os.kill(int(children[0]), signal.SIGKILL)
    out, _ = p.communicate(timeout=300)
    check(p.returncode == 1 and 'ended by signal 9' in out and '1 passed, 1 failed, 0 skipped' in out and 'not run' not in out.split('failures:')[1], out)


@case
def run_takes_code_and_words():
    p = shard('-e', 'print(args, len(args))', '--', 'a', '--b', '--')
    check(p.returncode == 0 and p.stdout == '[a, --b, --] 3\n', 'words', p)
    p = shard('run', script('print(args)\n'), '--devices', '2', '--', 'x')
    check(p.returncode == 0 and p.stdout == '[x]\n', 'words of a script', p)
    p = shard('run', '-e', 'let a = 1\nprint(a + b)\n')
    check(p.returncode == 1 and '-e:2:11: error: unknown name `b`' in p.stderr, 'errors', p)
    for words in (['run'], ['run', '-e', '1', 'file.shard']):
        p = shard(*words)
        check(p.returncode == 2 and 'error: run takes a script, or code' in p.stderr, 'one of both', p)


@case
def colours_can_be_asked_for():
    always, never = shard('--color=always', '-e', 'zeros('), shard('run', '--color', 'never', '-e', 'zeros(')
    check('\x1b[' in always.stderr and '\x1b[' not in never.stderr, 'colours', always)
    picture = 'mesh m = (@d: 2)\nvisualize(shard zeros([4]) as P(@d))'
    always, piped = shard('--color=always', '-e', picture), shard('-e', picture)
    check('\x1b[' in always.stdout and '\x1b' not in piped.stdout and '0..2' in piped.stdout, 'pictures', always)
    p = shard('--color=sometimes', '-e', '1')
    check(p.returncode == 2, 'always or never', p)


@case
def progress_of_a_short_run_is_silent_in_a_pipe():
    p = shard('-e', 'for i in progress(0..3, show: fn() = error("is not asked")) { print(i) }')
    check(p.stdout == '0\n1\n2\n' and p.stderr == '', 'silent', p)


@case
def files_beside_the_script_are_found():
    path = folder(sub__a='print(read_text(here("a.txt")))\n')
    with open(os.path.join(path, 'sub', 'a.txt'), 'w') as f: f.write('beside')
    for name, cwd in (('sub/a.shard', path), ('a.shard', os.path.join(path, 'sub')), (os.path.join(path, 'sub', 'a.shard'), '/')):
        p = shard('run', name, cwd=cwd)
        check(p.returncode == 0 and p.stdout == 'beside\n', name, p)


@case
def sigterm_ends_with_143():
    p = subprocess.Popen([SHARD, '-e', 'print("on")\nwhile true { let x = 1 }'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5 * SLOW)
    p.terminate()
    out, _ = p.communicate(timeout=300)
    check(p.returncode == 143 and out == 'on\n', f'{p.returncode} {out!r}')


@case
def help_knows_words_and_meanings():
    for words, says in ((['mesh'], 'Devices in a grid'), (['@'], 'Names an axis'), (['adam'], 'optim.adam'), (['optim.adam'], 'fn adam('), (['average', 'over', 'devices'], 'pmean\n'),
                        (['run'], '`shard run --help`'), (['test'], 'test.skip'), (['matmul'], 'matmul(x, y')):
        p = shard('help', *words)
        check(p.returncode == 0 and says in p.stdout, ' '.join(words), p)
    p = shard('help', 'shardd')
    check(p.returncode == 1 and 'did you mean `shard help shard' in p.stderr, 'near miss', p)


@case
def the_repl_shows_types_with_layouts_first():
    p = shard('repl', text='mesh m = (@data: 4, @model: 2)\nlet x = shard arange(8.0).reshape([4, 2]) as P(@data)\nx\nx.sum(axis: 1)\n{w: x, b: 1.5}\n_.b * 2\n:type (x, 1)\n:mesh\n:vars\nones([40, 2])\n')
    check(p.returncode == 0 and p.stdout == ('f32[4@data,2]\n[[0. 1.]\n [2. 3.]\n [4. 5.]\n [6. 7.]]\nf32[4@data]  [ 1.  5.  9. 13.]\n{w: f32[4@data,2], b: f32[]}\n3.0\n(f32[4@data,2], i32[])\n'
          '@data: 4, @model: 2\nm: mesh\nx: f32[4@data,2]\nf32[40,2]\n[[1. 1.]\n [1. 1.]\n [1. 1.]\n [1. 1.]\n ... 33 lines more: print shows them\n [1. 1.]\n [1. 1.]\n [1. 1.]]\n'), 'shows', p)


@case
def the_repl_leaves_numbers_out_once_where_a_row_ends():
    p = shard('repl', text='zeros([30, 30, 30])\nones([30, 30])\n')
    row = '  [0. 0. 0. ... 0. 0. 0.]'
    whole = '[1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1. 1.\n  1. 1. 1. 1. 1. 1.]'
    check(p.stdout == f'f32[30,30,30]\n[[{row.strip()}\n{row}\n{row}\n ... 43 lines more: print shows them\n{row}\n{row}\n{row}]]\n'
          f'f32[30,30]\n[{whole}\n {whole}\n ... 54 lines more: print shows them\n {whole}]\n', 'elided once', p)


@case
def the_repl_finds_subjects():
    p = shard('repl', text='help tensor parallel\nhelp\nhelp fdsp\nlet help = 3\nhelp\n')
    check('in scripts/tensor_parallel.shard:' in p.stdout and 'subjects, each with a lesson' in p.stdout and ':quit' in p.stdout and 'did you mean `shard help fsdp`' in p.stdout and p.stdout.endswith('\n3\n'), 'help', p)
    p = shard('help')
    check(p.returncode == 0 and 'tensor parallel' in p.stdout and 'torch.cat' in p.stdout, 'alone', p)


@case
def the_repl_numbers_lines_and_takes_those_that_go_on():
    p = shard('repl', text='let x = arange(3.0)\nlet y = x\n  .sum()\ny |> sqrt\nif y > 100 { "a" }\nelse { "b" }\n1 + nothing\n')
    check(p.stdout == 'f32[]  1.7320508\n"b"\n' and 'repl:7:5: error' in p.stderr and p.returncode == 1, 'lines', p)


@case
def the_repl_has_commands():
    path = os.path.join(folder(), 'kept.shard')
    p = shard('repl', text=f'fn f(x) = x + 1\n1 + nothing\nf(1)\n:save {path}\n:time f(1)\n?f\nrelu?\n:type\n:comm 3\n')
    with open(path) as kept: check(kept.read() == 'fn f(x) = x + 1\nf(1)\n', 'keeps what went well')
    check('2 entries in' in p.stdout and 'best ' in p.stdout and 'fn f(x)' in p.stdout and 'relu(x)' in p.stdout and ':type takes EXPR' in p.stdout and 'takes a call' in p.stdout, 'commands', p)
    p = shard('repl', text=f':load {path}\nf(4)\n:reload\nmesh m = (@X: 8)\nlet x = shard arange(8.0) as P(@X)\n:comm sum(x)\n:explain sum(x)\n:load /no/file\n')
    check(p.stdout.startswith('5\n{psum: {count: 1, bytes: 4}}\n') and 'communicates  1 psum' in p.stdout and 'cannot read' in p.stderr, 'loads', p)


@case
def advice_can_be_pasted_and_holds():
    """The constraint that `explain --advise` prints, put where it says, makes the call send as much less as it says."""
    text = open('scripts/layouts/advice.shard').read()
    text = text[:text.index('# The advice, pasted')].replace('explain(step, w, x, advise: true)', 'print(comm(step, w, x).bytes)')
    path = os.path.join(folder(), 'advised.shard')
    with open(path, 'w') as f: f.write(text)
    p = shard('explain', path, '--advise')
    found = re.search(r'sends about ([\d,]+) bytes instead of ([\d,]+) with\n    line (\d+): (\(shard (.*) as P.*\))\n', p.stdout)
    check(p.returncode == 0 and found, 'advice', p)
    after, before = (int(found.group(k).replace(',', '')) for k in (1, 2))
    lines = text.split('\n')
    line = lines[int(found.group(3)) - 1]
    check(line.count(found.group(5)) == 1, 'the value is on the line', p)
    lines[int(found.group(3)) - 1] = line.replace(found.group(5), found.group(4))
    was = shard('run', path)
    with open(path, 'w') as f: f.write('\n'.join(lines))
    now = shard('run', path)
    check(int(now.stdout) < 1.1 * int(was.stdout) * after / before, f'{was.stdout} bytes became {now.stdout}', now)


@case
def the_repl_completes_what_fits():
    shown, status, home = cli.terminal([b'import nn\n', b'nn.lin\t(2, 3).specs\n', b'sum(ones([2, 3]), ax\t 1).shape\n', b'fn scale(x, factor) = x * factor\n', b'scale(2, fac\t 21)\n', b'import opt\t\n', b'"opened"\n', b'nn.che\t\n'])
    for text in ('w: P()', '(2,)', '42', 'opened'):
        check(text in shown, f'"{text}" is not in: {shown}')
    check('nn.check_' not in shown, f'helpers are shown: {shown}')

if __name__ == '__main__': sys.exit(cli.main())
