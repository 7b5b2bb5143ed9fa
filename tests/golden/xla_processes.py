#!/usr/bin/env python3
"""Scripts on engine xla in several processes: a plug-in whose client has the devices of all of them (tests/plugin), and what a plug-in for
one process says.

    xla_processes.py SHARD FOLDER NODES_PLUGIN [--all] [-n N] [--faults N]      closes with "N passed, N failed"

FOLDER: as xla_run.py has it, whose plug-in computes. Programs print what one process with engine lockstep prints. --all: every program that
xla_run.py runs; else those of PROGRAMS. --faults: how often each.
"""
import argparse, os, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import xla_run
from xla_run import ROOT, SECONDS

PROGRAMS = ['scripts/quickstart.shard', 'scripts/data_parallel.shard', 'scripts/fully_sharded.shard', 'scripts/tensor_parallel.shard',
            'tests/golden/curves/auto.shard', 'tests/golden/curves/manual.shard']


LONG = '''mesh m = (@data: 8)
let n = array(2000, i32)
let x = shard ones([8, 64]) as P(@data)
manual fn turn(v: P(@data), n: P()) -> P(@data) {
  let c = v
  for i in 0..n { c = c * 0.5 + 0.5 * pmean(c, @data) }
  c
}
x = turn(x, n)
save("begun.npz", {x: x})
for i in 0..10000 { x = turn(x, n) }
'''
MESH_OF = 'mesh m = (@d: {})\njit fn f(x) = sum(x * x)\nprint(f(shard arange(6) as P(@d)))'
MEMORY = '''mesh m = (@d: 8)
jit fn f(x) = x + 1
let x = shard zeros([8, 64]) as P(@d)   # 256 bytes on a device
let y = f(x)
let before = memory_stats().device
let z = f(f(y))   # the one in between is let go of
let w = f(z)
let after = memory_stats().device
print("held {after.bytes_in_use - before.bytes_in_use} more, the most is at least {min(after.peak_bytes_in_use, 768)}, of {after.bytes_limit}")
'''
FULL = '''mesh m = (@d: 8)
let w = shard ones([16, 64]) as P(@d)   # 512 bytes on a device
jit fn f(w) = sin(w) + cos(w).sum()
let a = f(w)
print("one fits")
let b = f(a)
let c = f(b)
print(sum(a) + sum(b) + sum(c))
'''
UNREAD = '''mesh m = (@d: 8)
jit fn f(x, big) = sum(x)
let (x, big) = (shard arange(8.0) as P(@d), ones([4096, 64]))
print(f(x, big), "held", memory_stats().device.bytes_in_use)   # an element of x and the sum, and nothing of big
'''
UNEVEN = 'is not shared out evenly to all'   # of a mesh that not all processes have the same number of devices of
# Of the second process: what is done to it while devices wait for one another, what the others say of it, and the job's status.
FAULTS = [(signal.SIGKILL, 137, 'process 1 has ended in line 11'), (signal.SIGSTOP, 1, 'process 1 did not come to `a compiled call` in line 11 within 2 s')]


def says(p, status, *wanted):
    """What is wrong with a process that has ended."""
    said = p.stdout + p.stderr
    missing = [w for w in wanted if w not in said]
    if p.returncode == status and not missing: return None
    return f'status {p.returncode}, not {status}; missing {missing} in\n{said[:900]}'


def launched(shard, engine, text, *words, **more):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'script.shard')
        open(path, 'w').write(text)
        return subprocess.run([shard, 'launch', '-n', '2', *words, '--engine', engine, path], capture_output=True, text=True, timeout=SECONDS,
                              env={**os.environ, **more})


def started(shard, engine, folder, *words):
    """A job that is in the middle of LONG, and the numbers of its processes."""
    path = os.path.join(folder, 'long.shard')
    open(path, 'w').write(LONG)
    job = subprocess.Popen([shard, 'launch', '-n', '2', '--timeout', '2s', '--engine', engine, *words, path], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, cwd=folder)
    until = time.monotonic() + 60
    while not os.path.exists(os.path.join(folder, 'begun.npz')) and time.monotonic() < until: time.sleep(0.05)
    time.sleep(0.3)
    children = open(f'/proc/{job.pid}/task/{job.pid}/children').read().split()
    return job, [int(c) for c in children]


def ended(job, within):
    out, err = job.communicate(timeout=within)
    return subprocess.CompletedProcess(job.args, job.returncode, out, err)


def left(processes):
    return [p for p in processes if os.path.exists(f'/proc/{p}')]


def fault(shard, engine, kind, status, wanted, *words):
    with tempfile.TemporaryDirectory() as folder:
        job, children = started(shard, engine, folder, *words)
        os.kill(children[1], kind)
        wrong = says(ended(job, 20), status, wanted)
        return wrong or (f'{left(children)} are left' if left(children) else None)


def interrupted(shard, engine):
    """Ctrl-C ends a job whose devices run, within a second."""
    with tempfile.TemporaryDirectory() as folder:
        job, children = started(shard, engine, folder)
        began = time.monotonic()
        for p in (job.pid, *children): os.kill(p, signal.SIGINT)   # as a terminal does
        wrong = says(ended(job, 20), 130)
        took = time.monotonic() - began
        return wrong or (f'it took {took:.1f} s' if took > 2 else None) or (f'{left(children)} are left' if left(children) else None)


def main():
    options = argparse.ArgumentParser()
    for word in ('shard', 'folder', 'nodes'): options.add_argument(word, type=os.path.abspath)
    options.add_argument('--all', action='store_true')
    options.add_argument('-n', type=int, default=2)
    options.add_argument('--faults', type=int, default=1)
    a = options.parse_args()
    path = xla_run.plugin_or_leave(a.folder)
    os.environ['SHARD_TEST_INNER_PLUGIN'] = path
    engine, several = 'xla:' + a.nodes, ('launch', '-n', str(a.n))
    one = 'xla:' + path
    def fits(script):   # devices are shared out evenly
        words = xla_run.golden.Case(script).options
        return int(words[words.index('--devices') + 1] if '--devices' in words else 8) % a.n == 0

    scripts = [s for s in xla_run.programs() if fits(s)] if a.all else [os.path.join(ROOT, p) for p in PROGRAMS]
    checks = [(os.path.relpath(s, ROOT), lambda s=s: xla_run.compared(a.shard, engine, s, several, UNEVEN)) for s in scripts]
    checks += [(f'{kind.name} {words}', lambda k=kind, s=status, w=wanted, o=words: fault(a.shard, engine, k, s, w, *o))
               for kind, status, wanted in FAULTS for words in ((), ('--transport', 'tcp')) for _ in range(a.faults)]
    checks += [('Ctrl-C', lambda: interrupted(a.shard, engine)),
               ('a plug-in of one process', lambda: says(launched(a.shard, one, 'print(1)'), 1, 'works in one process alone, and there are 2',
                                                         '`shard run --engine xla`')),
               ('devices', lambda: says(launched(a.shard, engine, 'print(len(devices()), process_count(), map(fn(d) = d.process, devices()))',
                                                 '--devices', '6'), 0, '6 2 [0, 0, 0, 1, 1, 1]')),
               ('a mesh of one process', lambda: says(launched(a.shard, engine, MESH_OF.format(3)), 0, '55')),
               ('full memory', lambda: says(launched(a.shard, engine, FULL, SHARD_TEST_DEVICE_BYTES='1200'), 1, 'one fits', 'script.shard:6:9: error: a device has no memory left',
                                            'out of memory allocating 512 bytes', 'on each device: 512 bytes of argument 1, f32[16@d,64]; 512 bytes of a result')),
               ('memory', lambda: says(launched(a.shard, engine, MEMORY), 0, 'held 512 more, the most is at least 768, of 1073741824')),
               ('an argument that nothing reads', lambda: says(launched(a.shard, engine, UNREAD), 0, '28.0 held 8')),
               ('an uneven mesh', lambda: says(launched(a.shard, engine, MESH_OF.format(6)), 1, 'a mesh of 6 devices ' + UNEVEN)),
               ('apart', lambda: says(launched(a.shard, engine, MESH_OF.format(2), '--engine-process'), 0, '55'))]
    return xla_run.report(checks)


if __name__ == '__main__': sys.exit(main())
