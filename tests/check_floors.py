#!/usr/bin/env python3
"""Floors and rooms look down only: no #include points up, heavy libraries stay in .cpp files, no pass names an operation.

Run from the repository's root; exit status 1 with the offending lines where a law is broken.
"""
import os
import re
import sys

# What each floor may include of Shard, from the bottom.
GRAPHS = ('grammar', 'runtime', 'interpreter/ir', 'interpreter/transform')
MAY_SEE = {
    'grammar': (),
    'runtime': (),
    'interpreter/ir': GRAPHS[:2],
    'interpreter/transform': GRAPHS[:3],
    'interpreter/hlo': GRAPHS,     # a program as text for other engines
    'interpreter/exec': GRAPHS,
    'interpreter/xla': GRAPHS + ('interpreter/exec', 'interpreter/hlo'),   # a target, whose devices are a plug-in's
    'interpreter/trace': GRAPHS + ('interpreter/exec',),
    'interpreter/cost_model': GRAPHS + ('interpreter/exec',),   # clocks and memory of programs; no script, no operation
    'interpreter/lang': GRAPHS + ('interpreter/hlo', 'interpreter/exec', 'interpreter/trace'),
    'stdlib/ops': GRAPHS + ('interpreter/hlo',),          # rows: of graphs and arrays, never of scripts
    'stdlib/host': GRAPHS + ('interpreter/hlo', 'interpreter/exec', 'interpreter/cost_model', 'interpreter/trace', 'interpreter/lang', 'stdlib/ops',
                             'stdlib'),  # stdlib.h declares the reference page, which help.cpp writes
    'stdlib': GRAPHS + ('interpreter/exec', 'interpreter/trace', 'interpreter/lang', 'stdlib/ops', 'stdlib/host'),
    'interpreter/embed': None,     # programs: everything
    'interpreter/cli': None,
    'interpreter/lsp': None,       # a part of the program: all but main.cpp knows no more of it than its row
}
# What the rooms of a floor may include of each other, from the bottom; a floor's own files, those in no room, count as
# the room '' (which every room of stdlib and grammar may see).
ROOMS = {
    'interpreter/lang': {
        'warnings': (),                                      # which there are, and what becomes of one
        'names': (),                                         # before anything runs: trees and scopes
        'values': ('names',),                                # what a variable holds; a function knows its tree's tables
        'report': ('names', 'values'),                       # sentences, and the lines they stand on
        'eval': ('warnings', 'names', 'values', 'report'),   # the walk, with indexing, layouts, conditions of a run, checking
        'staging': ('names', 'values', 'report', 'eval'),
        'fixes': ('names', 'values', 'report', 'eval', 'staging'),   # eval knows these as interfaces (eval/hooks.h)
        'check': ('names', 'values', 'report', 'eval', 'staging'),
    },
    'stdlib/host': {
        '': (), 'console': ('',), 'values': ('',), 'help': ('',), 'files': ('',), 'storage': ('', 'files'), 'data': ('', 'files', 'storage'),
        'pictures': ('', 'files'), 'devices': ('',), 'transforms': ('', 'devices'), 'testing': ('', 'transforms'),
        'cost': ('', 'transforms'),
    },
    'stdlib/ops': {'': ('control', 'moving', 'products'), 'control': ('',), 'moving': ('',), 'products': ('', 'moving')},
    'grammar': {'': ('advice',), 'advice': ('',), 'style': ('',)},
}
# Rooms that floors above do not include, with who may: an engine is put together there.
SHUT = {
    'interpreter/lang/check': ('interpreter/cli',),
}
# Headers of the inside of a room: included there alone.
INSIDE = {'interpreter/lang/eval/impl.h': 'interpreter/lang/eval/'}
HEAVY_HEADERS = {'grammar/lexical.h'}   # for .cpp files of their folder alone
HEAVY = re.compile(r'#include <(boost/|Eigen/|tbb/|oneapi/|nlohmann/|zlib|catch2/|CLI/|histedit|editline)')
INCLUDE = re.compile(r'#include "([^"]+)"')


def floor_of(path):
    for floor in sorted(MAY_SEE, key=len, reverse=True):
        if path.startswith(floor + '/'):
            return floor
    return None


def room_of(path, floor):
    rest = path[len(floor) + 1:]
    return rest.split('/')[0] if '/' in rest else ''


def misplaced(path, included):
    """Why `path` may not include `included`; None where it may."""
    here, there = floor_of(path), floor_of(included)
    if there is None:
        return None
    if not path.startswith(INSIDE.get(included, '')):
        return f'{included} is the inside of {os.path.dirname(included)}'
    room = room_of(included, there) if there in ROOMS else None
    shut = SHUT.get(f'{there}/{room}')
    if here != there:
        if here is not None and MAY_SEE[here] is not None and there not in MAY_SEE[here]:
            return f'{here} may not see {there}'
        if shut and here not in shut:
            return f'{here} may not see {there}/{room}'
        return None
    if here not in ROOMS:
        return None
    mine = room_of(path, here)
    for r in (mine, room):
        if r not in ROOMS[here]:
            return f'{here}/{r} is no room that this script knows: say in ROOMS what it may see'
    if room == mine or room in ROOMS[here][mine]:
        return None
    return f'{here}/{mine} may see {", ".join(r or "its floor" for r in ROOMS[here][mine]) or "no other room"}'


def check_itself():
    lang = 'interpreter/lang/'
    for path, included in ((lang + 'eval/call.cpp', lang + 'check/static_check.h'), (lang + 'eval/call.cpp', lang + 'staging/modes.h'),
                           (lang + 'names/scopes.h', lang + 'values/value.h'), ('interpreter/exec/plan.h', lang + 'eval/impl.h'),
                           ('stdlib/host/files/csv.cpp', lang + 'check/static_check.h'), ('stdlib/ops/make.cpp', 'interpreter/exec/plan.h'),
                           (lang + 'attic/x.cpp', lang + 'values/value.h'), (lang + 'staging/jit.cpp', lang + 'eval/impl.h'),
                           ('stdlib/host/help/help_function.cpp', lang + 'eval/impl.h'), ('interpreter/cli/checker.cpp', lang + 'eval/impl.h')):
        assert misplaced(path, included), (path, included)
    for path, included in ((lang + 'eval/call.cpp', lang + 'eval/index/index.h'), ('interpreter/cli/check.cpp', lang + 'check/static_check.h'),
                           (lang + 'eval/checking/join.cpp', lang + 'eval/impl.h'), (lang + 'fixes/fix.cpp', lang + 'eval/index/index.h'), ('stdlib/host/host.h', lang + 'eval/interpreter.h')):
        assert not misplaced(path, included), (path, included)


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
    check_itself()
    broken = []
    rows = operations()
    for root in ('grammar', 'runtime', 'interpreter', 'stdlib'):
        for folder, _, files in os.walk(root):
            for f in sorted(files):
                if not f.endswith(('.h', '.cpp')):
                    continue
                path = os.path.join(folder, f)
                for number, line in enumerate(open(path, encoding='utf-8'), 1):
                    where = f'{path}:{number}: {line.strip()}'
                    m = INCLUDE.match(line)
                    why = misplaced(path, m.group(1)) if m else None
                    if why:
                        broken.append(f'{where}\n    {why}')
                    if f.endswith('.h') and path not in HEAVY_HEADERS and HEAVY.match(line):
                        broken.append(f'{where}\n    heavy libraries belong into .cpp files')
                    if path.startswith(('interpreter/transform/', 'interpreter/exec/', 'interpreter/trace/', 'interpreter/cost_model/')):
                        for name in re.findall(r'"([a-z_0-9]+)"', line):
                            if name in rows and ('.at(' in line or 'find(' in line or 'name ==' in line or '== "' in line):
                                broken.append(f'{where}\n    a pass names the operation {name}')
    print('\n'.join(broken) if broken else 'floors and rooms: includes point down, no pass names an operation')
    return 1 if broken else 0


if __name__ == '__main__':
    sys.exit(main())
