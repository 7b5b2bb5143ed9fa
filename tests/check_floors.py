#!/usr/bin/env python3
"""Floors look down only: no #include points up, heavy libraries stay in .cpp files, no pass names an operation, headers are not global.

Run from the repository's root; exit status 1 with the offending lines where a law is broken.
"""
import os
import re
import sys

# What each floor may include of Shard, from the bottom.
MAY_SEE = {
    'grammar': {'grammar'},
    'runtime': {'runtime'},
    'interpreter/ir': {'grammar', 'runtime', 'interpreter/ir'},
    'interpreter/transform': {'grammar', 'runtime', 'interpreter/ir', 'interpreter/transform'},
    'interpreter/exec': {'grammar', 'runtime', 'interpreter/ir', 'interpreter/transform', 'interpreter/exec'},
    'interpreter/trace': {'grammar', 'runtime', 'interpreter/ir', 'interpreter/transform', 'interpreter/exec', 'interpreter/trace'},
    'interpreter/lang': {'grammar', 'runtime', 'interpreter/ir', 'interpreter/transform', 'interpreter/exec', 'interpreter/trace', 'interpreter/lang'},
    'stdlib': {'grammar', 'runtime', 'interpreter/ir', 'interpreter/transform', 'interpreter/exec', 'interpreter/trace', 'interpreter/lang', 'stdlib'},
    'interpreter/embed': None,   # programs: everything
    'interpreter/repl': None,
}
HEAVY = re.compile(r'#include <(boost/|Eigen/|tbb/|oneapi/|zlib|catch2/|CLI/|histedit|editline)')
INCLUDE = re.compile(r'#include "([^"]+)"')


def floor_of(path):
    for floor in sorted(MAY_SEE, key=len, reverse=True):
        if path.startswith(floor + '/'):
            return floor
    return None


def operations():
    """Names of operations that no pass may mention: the rows, less those that core_ops lists."""
    names = set()
    for folder, _, files in os.walk('stdlib/ops'):
        for f in files:
            if f.endswith('.cpp'):
                text = open(os.path.join(folder, f), encoding='utf-8').read()
                names |= set(re.findall(r'"([a-z_0-9]+)\([^"]*\)"', text))
    return names


def main():
    broken = []
    rows = operations()
    for root in ('grammar', 'runtime', 'interpreter', 'stdlib'):
        for folder, _, files in os.walk(root):
            for f in sorted(files):
                if not f.endswith(('.h', '.cpp')):
                    continue
                path = os.path.join(folder, f)
                floor = floor_of(path)
                for number, line in enumerate(open(path, encoding='utf-8'), 1):
                    where = f'{path}:{number}: {line.strip()}'
                    m = INCLUDE.match(line)
                    if m and floor and MAY_SEE[floor] is not None:
                        seen = floor_of(m.group(1))
                        if seen is not None and seen not in MAY_SEE[floor]:
                            broken.append(f'{where}\n    {floor} may not see {seen}')
                    if f.endswith('.h') and HEAVY.match(line):
                        broken.append(f'{where}\n    heavy libraries belong into .cpp files')
                    if path.startswith(('interpreter/transform/', 'interpreter/exec/', 'interpreter/trace/')):
                        for name in re.findall(r'"([a-z_0-9]+)"', line):
                            if name in rows and ('.at(' in line or 'find(' in line or 'name ==' in line or '== "' in line):
                                broken.append(f'{where}\n    a pass names the operation {name}')
    print('\n'.join(broken) if broken else 'floors: includes point down, no pass names an operation')
    return 1 if broken else 0


if __name__ == '__main__':
    sys.exit(main())
