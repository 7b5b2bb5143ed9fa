#!/usr/bin/env python3
"""What the commands `test`, `run` and `help` do with their options.   commands.py SHARD   closes with "N passed, N failed" """
import os, signal, subprocess, sys, tempfile, time, xml.etree.ElementTree as xml

import cli
from cli import SHARD, SLOW, case, check, script, shard

cli.CASES.clear()


def folder(**files):
    path = tempfile.mkdtemp()
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
    out, _ = p.communicate(timeout=60)
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
    p = shard('--color=sometimes', '-e', '1')
    check(p.returncode == 2, 'always or never', p)


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
    out, _ = p.communicate(timeout=60)
    check(p.returncode == 143 and out == 'on\n', f'{p.returncode} {out!r}')


@case
def help_knows_words_and_meanings():
    for words, says in ((['mesh'], 'Devices in a grid'), (['@'], 'Names an axis'), (['adam'], 'optim.adam'), (['optim.adam'], 'fn adam('), (['average', 'over', 'devices'], 'pmean\n'),
                        (['run'], '`shard run --help`'), (['test'], 'test.skip'), (['matmul'], 'matmul(x, y')):
        p = shard('help', *words)
        check(p.returncode == 0 and says in p.stdout, ' '.join(words), p)
    p = shard('help', 'shardd')
    check(p.returncode == 1 and 'did you mean `shard help shard' in p.stderr, 'near miss', p)


if __name__ == '__main__': sys.exit(cli.main())
