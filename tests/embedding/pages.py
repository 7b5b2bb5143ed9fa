"""Boxes of C++, C and Python in pages, against an installed copy: each is a program, and the ```text box below it what that prints.
Functions of the interface that a page names exist in its headers.

Usage: pages.py INSTALLED PAGE...
"""
import os
import re
import subprocess
import sys
import tempfile

BOX = re.compile(r'```(cpp|c|python)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?', re.S)
COMPILERS = {'cpp': [os.environ.get('CXX', 'c++'), '-std=c++20'], 'c': [os.environ.get('CC', 'cc'), '-std=c11']}


def printed(language, program, installed, folder):
    library = next(top for top, _, files in os.walk(installed) if 'libshard.so' in files)
    source = f'{folder}/page.{"py" if language == "python" else language}'
    with open(source, 'w', encoding='utf-8') as f: f.write(program)
    command = [sys.executable, source]
    if language in COMPILERS:
        command = [folder + '/page']
        subprocess.run([*COMPILERS[language], '-Wall', '-Werror', source, '-I', installed + '/include', '-L', library, '-lshard', '-o', command[0]], check=True)
    done = subprocess.run(command, cwd=folder, env=dict(os.environ, LD_LIBRARY_PATH=library), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def main():
    installed, run = os.path.abspath(sys.argv[1]), 0
    headers = ''
    for name in ('shard.h', 'shard_c.h'):
        with open(f'{installed}/include/{name}', encoding='utf-8') as f: headers += f.read()
    for path in sys.argv[2:]:
        with open(path, encoding='utf-8') as f: page = f.read()
        for m in BOX.finditer(page):
            with tempfile.TemporaryDirectory() as folder: out = printed(m[1], m[2], installed, folder)
            line = page.count('\n', 0, m.start()) + 1
            assert out == (m[3] or ''), f'{path}:{line}: it prints\n{out}and the page shows\n{m[3]}'
            run += 1
        for name in set(re.findall(r'\b(?:shard::)(\w+)|`(\w+)(?:<T>)?\(\)`|`(?:Value|Engine|Options)::(\w+)`|\b(shard_[a-z_]+)\b(?=\()', page)):
            word = ''.join(name)
            assert re.search(rf'\b{word}\b', headers), f'{path}: `{word}` is in no header'
    print(f'{run} boxes of C++, C and Python print what their pages show')


if __name__ == '__main__': main()
