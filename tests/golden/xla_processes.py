#!/usr/bin/env python3
"""Scripts on engine xla in several processes: a plug-in whose client has the devices of all of them (tests/plugin), and what a plug-in for
one process says.

    xla_processes.py SHARD FOLDER NODES_PLUGIN [--all] [-n N]      closes with "N passed, N failed"

FOLDER: as xla_run.py has it, whose plug-in computes. Programs print what one process with engine lockstep prints. --all: every program that
xla_run.py runs; else those of PROGRAMS.
"""
import argparse, os, signal, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import xla_run
from xla_run import ROOT, SECONDS

PROGRAMS = ['scripts/quickstart.shard', 'scripts/data_parallel.shard', 'scripts/fully_sharded.shard', 'scripts/tensor_parallel.shard',
            'tests/golden/curves/auto.shard', 'tests/golden/curves/manual.shard']


def run(shard, words, text=None, **more):
    return subprocess.run([shard, *words], input=text, capture_output=True, text=True, timeout=SECONDS, **more)


def says(p, status, *wanted):
    said = p.stdout + p.stderr
    missing = [w for w in wanted if w not in said]
    if p.returncode == status and not missing: return None
    return f'status {p.returncode}, not {status}; missing {missing} in\n{said[:900]}'


def main():
    options = argparse.ArgumentParser()
    for word in ('shard', 'folder', 'nodes'): options.add_argument(word, type=os.path.abspath)
    options.add_argument('--all', action='store_true')
    options.add_argument('-n', type=int, default=2)
    a = options.parse_args()
    path = xla_run.plugin_or_leave(a.folder)
    os.environ['SHARD_TEST_INNER_PLUGIN'] = path
    engine, several = 'xla:' + a.nodes, ('launch', '-n', str(a.n))
    scripts = xla_run.programs() if a.all else [os.path.join(ROOT, p) for p in PROGRAMS]
    checks = [(os.path.relpath(s, ROOT), lambda s=s: xla_run.compared(a.shard, engine, s, several)) for s in scripts]
    return xla_run.report(checks)


if __name__ == '__main__': sys.exit(main())
