#!/usr/bin/env python3
"""`shard fmt` from outside, and on every script of the repository.   fmt.py SHARD [FOLDERS]   closes with "N passed, N failed"

FOLDERS: further ones whose scripts are looked at; they stay as they are.
"""
import glob, os, re, shutil, stat, sys

import cli
from cli import case, check, script, shard
import scratch

cli.CASES.clear()
FOLDERS = [a for a in sys.argv[2:] if os.path.isdir(a)]
sys.argv = [a for a in sys.argv if a not in FOLDERS]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UGLY, NEAT = 'let x=1 # one\n\n\n\nprint( x )\n', 'let x = 1  # one\n\nprint(x)\n'


def read(path):
    with open(path, encoding='utf-8') as f: return f.read()


def comments(text):
    """The comments of a script, in order: what stands behind a `#` outside of strings."""
    return [m.group(1).rstrip() for m in re.finditer(r'"(?:\\.|\{\{|[^"\\\n])*"|(#[^\n]*)', text) if m.group(1)]


def applied(text, diff):
    """A unified diff applied, as `patch` does it."""
    lines, out, at = text.split('\n'), [], 0
    for line in diff.split('\n')[2:]:
        if hunk := re.match(r'@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@', line):
            begin = int(hunk[1]) - (hunk[2] != '0')
            out += lines[at:begin]
            at = begin
        elif line.startswith('-') or line.startswith(' '):
            assert lines[at] == line[1:], (lines[at], line)
            if line[0] == ' ': out.append(lines[at])
            at += 1
        elif line.startswith('+'): out.append(line[1:])
    return '\n'.join(out + lines[at:])


@case
def writes_in_place():
    path = script(UGLY)
    os.chmod(path, 0o755)
    p = shard('fmt', path)
    check(p.returncode == 0 and read(path) == NEAT and p.stdout == f'formatted {path}\n', 'formatted', p)
    check(stat.S_IMODE(os.stat(path).st_mode) == 0o755, 'mode kept', p)
    p = shard('fmt', path)
    check(p.returncode == 0 and p.stdout == '', 'nothing to do', p)


@case
def check_and_diff_change_nothing():
    ugly, neat = script(UGLY), script(NEAT)
    p = shard('fmt', '--check', ugly, neat)
    check(p.returncode == 1 and p.stdout == ugly + '\n' and read(ugly) == UGLY, 'check', p)
    check(shard('fmt', '--check', neat).returncode == 0, 'check of what is neat', p)
    p = shard('fmt', '--diff', ugly)
    check(p.returncode == 0 and read(ugly) == UGLY and applied(UGLY, p.stdout) == NEAT, 'diff', p)
    check(p.stdout.startswith(f'--- {ugly}\n+++ {ugly} (formatted)\n@@ -1,5 +1,3 @@\n-let x=1 # one\n'), 'form of the diff', p)


@case
def a_diff_of_many_changes_applies():
    text = ''.join(f'let x{i}={i}\n' if i % 7 == 3 else f'let x{i} = {i}\n\n\n' if i % 31 == 5 else f'let x{i} = {i}\n' for i in range(400))
    path = script(text)
    diff = shard('fmt', '--diff', path).stdout
    shard('fmt', path)
    check(applied(text, diff) == read(path), 'diff applies')


@case
def standard_input():
    p = shard('fmt', '-', text=UGLY)
    check(p.returncode == 0 and p.stdout == NEAT, 'standard input', p)
    p = shard('fmt', '-', text='let = 1\n')
    check(p.returncode == 1 and p.stdout == '' and 'error' in p.stderr, 'an error on standard input', p)


@case
def an_error_leaves_its_file_alone():
    broken, ugly = script('let x=(1\n'), script(UGLY)
    p = shard('fmt', broken, 'no_such_file.shard', ugly)
    check(p.returncode == 1 and read(broken) == 'let x=(1\n' and read(ugly) == NEAT, 'others are formatted', p)
    check('never closed' in p.stderr and 'no_such_file' in p.stderr, 'both are told', p)


@case
def folders_and_links():
    folder = scratch.folder()
    os.makedirs(folder + '/deep')
    for name in ('a.shard', 'deep/b.shard', 'note.txt'):
        with open(f'{folder}/{name}', 'w') as f: f.write(UGLY)
    os.symlink('a.shard', folder + '/link.shard')
    p = shard('fmt', folder)
    check(p.returncode == 0 and read(folder + '/a.shard') == read(folder + '/deep/b.shard') == NEAT, 'folder', p)
    check(read(folder + '/note.txt') == UGLY and os.path.islink(folder + '/link.shard'), 'scripts only, links stay', p)
    check(sorted(os.listdir(folder)) == ['a.shard', 'deep', 'link.shard', 'note.txt'], 'nothing else is left', p)


@case
def every_script_keeps_its_comments_and_its_tree():
    folder = scratch.folder()
    files = [f for part in (f'{ROOT}/scripts', f'{ROOT}/stdlib', f'{ROOT}/tests', *FOLDERS) for f in glob.glob(f'{part}/**/*.shard', recursive=True)]
    check(len(files) > 300, 'scripts are there')
    for i, f in enumerate(files): shutil.copy(f, f'{folder}/{i:04d}.shard')
    p = shard('fmt', folder)
    check('fault' not in p.stderr, 'the same tree', p)
    kept = 0
    for i, f in enumerate(files):
        styled = read(f'{folder}/{i:04d}.shard')
        check(comments(styled) == comments(read(f)), f'comments of {f}')
        kept += len(comments(styled))
    broken = p.stderr.count('error:')
    print(f'{len(files)} scripts, {broken} errors in those that do not parse, {kept} comments kept')
    p = shard('fmt', '--check', folder)
    check(p.stdout == '', 'stable', p)
    shutil.rmtree(folder)


@case
def every_script_of_the_repository_is_formatted():
    p = shard('fmt', '--check', 'scripts', 'stdlib', 'tests', cwd=ROOT)
    check(p.stdout == '', 'formatted', p)


if __name__ == '__main__': sys.exit(cli.main())
