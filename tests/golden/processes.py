"""The same script alone and in several processes: the same words. And what ends a process: everybody is told, nobody is left.

Usage: processes.py SHARD [SCRIPT ... | --matrix]. Without scripts: a few programs and every way to fall out of step; with scripts: those,
alone and under `launch -n 2` and `-n 4`, with --exact. --matrix: every way, with 2 and 4 processes, over both transports, at three places.
"""
import itertools
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

# What a script of several processes meets: sums in and out of jit, layouts, loops, per-device code, keys, files.
SAME = '''
mesh m = (@data: 4, @model: 2)
let x = shard cast(arange(64).reshape([8, 8]), f32) as P(@data, @model)
print(sum(x), x[3], sharding(x))
let w = shard normal(key(1), [8, 4]) as P(@model)
let y = x @ w
print(mean(y), max(y), sharding(y))
jit fn step(w) = w - 0.01 * grad(fn(w) = mean((x @ w) ** 2))(w)
for i in 0..3 { w = step(w) }
print("{sum(w * w):.6f}")
manual fn each(v: P(@data)) -> P(@data) = v * axis_index(@data) + psum(sum(v), @data)
let v = shard arange(8) as P(@data)
print(each(v))
manual fn turned(v: P((@data, @model))) -> P((@data, @model)) = ppermute(v, (@data, @model), map(fn(i) = (i, (i + 3) % 8), 0..8))
print(turned(shard arange(8) as P((@data, @model))))
print(map(fn(s) = s.data, shards(v)), device_get(v))
assert(len(local_devices()) * process_count() == len(devices()))
assert(map(fn(d) = d.process, devices()) == map(fn(d) = d.id // len(local_devices()), devices()))
print(shard v as P())
let big = shard normal(key(2), [8, 100003]) as P((@data, @model))
manual fn whole(v: P((@data, @model))) -> P() = psum(v, (@data, @model))
manual fn over_model(v: P((@data, @model))) -> P(@data) = psum(v, @model)
manual fn turned_sum(v: P((@data, @model))) -> P(@model) = pmax(v[:, 0:9], @data)
let s = whole(big)
print(s[0, 0:4], s[0, -3:], sum(s * s), over_model(big)[:, 100000:], turned_sum(big))
print(whole(cast(big[:, 0:40], bf16)), whole(cast(big[:, 0:4], f16)), whole(cast(big * 100, i8))[0, 0:9])
let parts = shard normal(key(3), [8, 65536]) as P((@data, @model))
manual fn own(v: P((@data, @model))) -> P(_, (@data, @model)) = psum_scatter(v, (@data, @model), axis: 1, tiled: true)
manual fn own_model(v: P((@data, @model))) -> P(@data, @model) = psum_scatter(v, @model, axis: 1, tiled: true)
manual fn own_data(v: P((@data, @model))) -> P(@model, @data) = psum_scatter(v, @data, axis: 1, tiled: true)
manual fn own_bf16(v: P((@data, @model))) -> P(_, (@data, @model)) = psum_scatter(cast(v, bf16), (@data, @model), axis: 1, tiled: true)
manual fn own_last(v: P((@data, @model))) -> P(_, (@model, @data)) = psum_scatter(v, (@model, @data), axis: 1, tiled: true)
manual fn own_row(v: P((@data, @model))) -> P(_, (@data, @model)) = psum_scatter(reshape(v[:, 0:64], [8, 8]), (@data, @model))[none]
for f in [own, own_model, own_data, own_bf16, own_last] { print(f(parts)[:, 0::9999], sharding(f(parts))) }
print(own_row(parts))
let q = shard normal(key(4), [8, 16, 8]) as P((@data, @model))
manual fn swap(v: P((@data, @model))) -> P(_, (@data, @model)) = all_to_all(v, (@data, @model), split: 1, concat: 0, tiled: true)
manual fn swap_data(v: P(@data, _, @model)) -> P(_, @data, @model) = all_to_all(v, @data, split: 1, concat: 0, tiled: true)
manual fn swap_model(v: P(@data, @model)) -> P(@data, _, @model) = all_to_all(v, @model, split: 2, concat: 1, tiled: true)
manual fn swap_turned(v: P((@model, @data))) -> P(_, (@model, @data)) = all_to_all(v, (@model, @data), split: 1, concat: 0, tiled: true)
manual fn swap_new(v: P(_, @data)) -> P(_, @data) = sum(all_to_all(v, @data, split: 1, concat: 0) * 2.0, axis: 0)[:, none]
for f in [swap, swap_data, swap_model, swap_turned] { print(f(q)[0, 0:3], f(q)[5, 7], sum(f(q) * q), sharding(f(q))) }
print(swap_new(q[:, 0:16])[:, 0, 0])
manual fn around(v: P(@data, @model)) -> P(@data, @model) = ppermute(v, @data, [(0, 3), (3, 1), (1, 0)])
manual fn across(v: P(@data, @model)) -> P(@data, @model) = ppermute(v, @model, [(1, 0)])
for f in [around, across] { print(f(q)[:, ::8, 0]) }
mesh odd = (@a: 3)
print(sum(shard arange(6) as P(@a)))
use m
save("rows.npy", normal(key(5), [40, 6]))
for (r, i, real) in loader((load("rows.npy", map: true), arange(40)), batch: 16, shuffle: key(6), rest: "pad", spec: (P(@data, @model), P(@model))) { print(r, i, real) }
for (r, i) in loader((load("rows.npy", map: true), arange(40)), batch: 8, epochs: 2, shuffle: key(6), spec: (P((@model, @data)), P())) { print(r[:, 0], i) }
for w in loader(arange(100), batch: 8, windows: 5, spec: P(@data)) { print(w) }
save("t/", {v: v, x: x})
print(load("t/", like: {v: shard i32[8] as P(@model), x: f32[8, 8]}).v)
log_scalars("log.csv", 1, {a: sum(v)})
print(read_text("log.csv"))
'''
# Sums over axes that lie in one process, in several, and partly in each, of which a process may have a single device: without
# `--exact` a sum over devices is one instruction with its product, or goes another way.
SUMS = """
let w = normal(key(5), [16, 8])
for rows in [P(@a), P(@b), P((@a, @b)), P((@b, @a))] {
  let (z, q) = (shard normal(key(3), [32, 8]) as rows, shard normal(key(4), [32, 16]) as rows)
  for spec in [P(), P(@a), P(@b), P(_, @b), P((@a, @b)), P((@b, @a)), P(@a, @b)] {
    let product = jit(fn(z, q) = shard q.T @ z as spec)
    let slope = jit(fn(w) = grad(fn(w) = sum(tanh(q @ w * 0.1) ** 2))(w))
    print(product(z, q)[::5], slope(shard w as spec)[::5], jit(fn(q) = sum(exp(q), axis: 0))(q))
  }
}
"""
# Of two processes: what happens, and what every process that is left must be told.
FALLS = {
    'ends early': ('if process_index() == 1 { error("enough") }\nprint(sum(x))', 'process 1 has ended in line 3, and process 0 waits for it at `psum of f32[] over @data` in line 4', 1),
    'another operation': ('if process_index() == 1 { print(x) } else { print(max(x)) }', 'the processes do different things', 1),
    'another size': ('let y = shard zeros([8 * (1 + process_index()), 4]) as P(@data)\nprint(y)', 'process', 1),
    'busy elsewhere': ('if process_index() == 1 { while true { let _i = 1 } }\nprint(sum(x))', 'process 1 did not come to `psum of f32[] over @data` in line 4 within 5 s: it is busy in line 3', 1),
    'raises': ('if process_index() == 1 { assert(false, "no") }\nprint(sum(x))', 'process 1 has ended', 1),
}
LATE, SOON = '5s', '100s'
HEAD = 'mesh m = (@data: 8)\nlet x = shard cast(arange(32).reshape([8, 4]), f32) as P(@data)\n'
SLOW = HEAD + 'for i in 0..100000000 { let _y = sum(x) }\n'


def run(command, folder, **more):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, **more)
    return done.returncode, done.stdout, done.stderr


def same(shard, path, text=None, ways=None):
    """What a script tells alone, in two and in four processes: status, output, errors of each way."""
    told = []
    for how in ways or ([shard, 'run'], [shard, 'launch', '-n', '2'], [shard, 'launch', '-n', '4']):
        with tempfile.TemporaryDirectory() as folder:
            if text is not None:
                path = folder + '/a.shard'
                with open(path, 'w') as f: f.write(text)
            told.append(run([*how, '--exact', path], folder if text is not None else None))   # a sum's bits
    return told


def sums_without_exact(shard, folder):
    """As one process has them, but for rounding."""
    numbers = lambda text: [float(x) for x in re.findall(r'-?\d+\.?\d*(?:e[+-]?\d+)?', text)]
    for devices, mesh in ((4, '(@a: 2, @b: 2)'), (4, '(@a: 4, @b: 1)'), (8, '(@a: 2, @b: 4)'), (8, '(@a: 4, @b: 2)')):
        with open(folder + '/a.shard', 'w') as f: f.write(f'mesh m = {mesh}\n{SUMS}')
        code, alone, err = run([shard, 'run', '--devices', str(devices), 'a.shard'], folder)
        assert code == 0, err
        want = numbers(alone)
        for n in ('2', '4'):
            code, out, err = run([shard, 'launch', '-n', n, '--devices', str(devices), 'a.shard'], folder)
            got = numbers(out)
            assert code == 0 and len(got) == len(want) > 1000, (mesh, n, code, err)
            worst = max(abs(x - y) / (1 + abs(y)) for x, y in zip(got, want))
            assert worst < 1e-5, f'{mesh} of {devices} devices in {n} processes: {worst}'


def children(pid):
    out = subprocess.run(['ps', '-o', 'pid=', '--ppid', str(pid)], capture_output=True, text=True).stdout
    return [int(p) for p in out.split()]


def alive(pid):
    try:
        with open(f'/proc/{pid}/stat') as f: return f.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return False


def limit(told):
    """Who is waited for in vain is so soon; who comes may be slow."""
    return LATE if 'did not come' in told else SOON


def ended_by(shard, folder, end):
    """A job whose process 1, or the launcher, is sent a signal; what it told, its status, and who is left."""
    with open(folder + '/a.shard', 'w') as f: f.write(SLOW)
    p = subprocess.Popen([shard, 'launch', '-n', '2', '--timeout', LATE if end == 'stop' else SOON, 'a.shard'], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(children(p.pid)) < 2: time.sleep(0.02)
    time.sleep(0.5)
    pids = children(p.pid)
    os.kill(p.pid if end == 'launcher' else pids[1], signal.SIGSTOP if end == 'stop' else signal.SIGKILL)
    _, err = p.communicate(timeout=300)
    until = time.monotonic() + 60                                     # the system ends what a killed launcher leaves
    while any(alive(q) for q in pids) and time.monotonic() < until: time.sleep(0.05)
    return p.returncode, err, [q for q in pids if alive(q)]


def processors_shared_out(shard, folder):
    """Each process has its share of the processors that the launcher has, of one at least."""
    with open(folder + '/a.shard', 'w') as f: f.write(SLOW)
    p = subprocess.Popen([shard, 'launch', '-n', '2', 'a.shard'], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(children(p.pid)) < 2: time.sleep(0.02)
    time.sleep(0.5)
    own, all_here = [os.sched_getaffinity(q) for q in children(p.pid)], os.sched_getaffinity(0)
    p.terminate()
    p.communicate(timeout=300)
    assert set.union(*own) == all_here and (len(all_here) < 2 or not own[0] & own[1]), (own, all_here)


def elsewhere(shard, folder):
    """Hosts, by a command in place of ssh that runs what it is given here: the same words, and no token where others can read it."""
    with open(folder + '/there', 'w') as f: f.write('#!/bin/sh\necho "$2" >> commands\nshift\nexec sh -c "$*"\n')
    os.chmod(folder + '/there', 0o755)
    with open(folder + '/never', 'w') as f: f.write('#!/bin/sh\nexec sleep 30\n')
    os.chmod(folder + '/never', 0o755)
    with open(folder + '/hosts', 'w') as f: f.write('# two machines\nlocalhost slots=1\n127.0.0.1\n')
    with open(folder + '/a.shard', 'w') as f: f.write(HEAD + 'print(sum(x), args)\n')
    for where in (['--hosts', 'localhost,127.0.0.1'], ['--hostfile', 'hosts', '--interface', '127.0.0.1'], ['--hostfile', 'hosts', '--interface', 'lo']):
        told = run([shard, 'launch', '-n', '2', *where, '--ssh', folder + '/there', 'a.shard', '--', "it's"], folder)
        assert told == (0, "496.0 [it's]\n", ''), told
    with open(folder + '/commands') as f: text = f.read()
    assert text.count('SHARD_TOKEN_FILE=/dev/stdin') == 6 and not re.search('[0-9a-f]{64}', text), text
    with open(folder + '/a.shard', 'w') as f: f.write(HEAD + 'print(sum(x))\nif process_index() == 1 {\n  while true { let _y = 1 }\n}\nprint(max(x))\n')
    _, _, err = run([shard, 'launch', '-n', '2', '--timeout', '2s', '--hosts', 'localhost', '--ssh', folder + '/there', 'a.shard'], folder)
    assert re.search(r'process 1 did not come to `pmax .*` in line \d+ within 2 s: it is busy in line \d+', err), err   # though no memory is shared
    with open(folder + '/a.shard', 'w') as f: f.write(SLOW)
    p = subprocess.Popen([shard, 'launch', '-n', '2', '--hosts', 'localhost', '--ssh', folder + '/there', 'a.shard'], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(children(p.pid)) < 2: time.sleep(0.02)
    time.sleep(0.5)
    pids = children(p.pid)
    for pid in pids:
        with open(f'/proc/{pid}/environ') as f: assert not re.search('[0-9a-f]{64}', f.read())
    p.terminate()
    p.communicate(timeout=300)
    assert p.returncode == 143 and not [q for q in pids if alive(q)], p.returncode
    for words, why in ((['--hosts', 'a,b,c'], '2 processes cannot be shared out to 3 hosts'), (['--hostfile', 'none'], "cannot read the hosts of 'none'"),
                       (['--port', '70000'], '--port takes a port, 0 to 65535'), (['--port-range', '9-5'], '--port-range takes A-B'),
                       (['--transport', 'unix', '--port', '0'], 'Unix sockets lead to no other host'), (['--transport', 'mpi'], 'mpirun -n 2 shard run'),
                       (['--interface', 'nix0', '--transport', 'tcp'], "this machine has no interface 'nix0'"), (['--start-timeout', 'x'], '--start-timeout takes a time')):
        code, out, err = run([shard, 'launch', '-n', '2', *words, 'a.shard'], folder)
        assert code == 2 and why in err and not out, (words, code, err)
    code, _, err = run([shard, 'launch', '-n', '2', '--hosts', 'localhost', '--ssh', folder + '/never', '--start-timeout', '1s', 'a.shard'], folder)
    assert code == 1 and 'processes 0, 1 did not come to the start' in err, (code, err)
    absent(shard, folder)


WAYS = {   # in place of ssh; what is said of whom
    'true': (1, ('processes 0, 1 did not', 'process 0 on n1, process 1 on n2: the command that starts it ended with status 0, and has printed nothing')),
    'false': (1, ('processes 0, 1 did not', 'ended with status 1, and has printed nothing')),
    'nosuchcommand': (127, ("cannot start 'nosuchcommand'", 'processes 0, 1 did not')),
    'echo "from $1"; exit 3': (3, ('  process 0 on n1: the command that starts it ended with status 3, and has printed\n    | from n1\n',
                                   '  process 1 on n2: the command that starts it ended with status 3, and has printed\n    | from n2\n')),
    '[ $1 = n2 ] && exit 0; shift; exec sh -c "$*"': (1, ('process 1 did not come', '  process 1 on n2: ', 'note: `')),
    'exec <&-; sleep 5': (1, ('processes 0, 1 did not', 'had not ended, and has printed nothing', 'note: processes connect to 127.0.0.1:')),
    'sleep 5': (1, ('processes 0, 1 did not', 'had not ended')),
    'shift; exec sh -c "$(echo "$*" | sed "s/shard. .run./nowhere\' run/")"': (127, ('processes 0, 1 did not', 'nowhere')),
    'shift; (exec sh -c "$*" 0<&3 & ) 3<&0; sleep 1': (1, ('still runs, and the command that started it has ended',)),
}


def absent(shard, folder):
    """Whoever does not come is named, with what the command said that was to start him; and the launcher does not die of it."""
    with open(folder + '/long.shard', 'w') as f: f.write(SLOW)
    start = [shard, 'launch', '-n', '2', '--interface', '127.0.0.1', '--hosts', 'n1,n2']
    for i, (way, (status, told)) in enumerate(WAYS.items()):
        ssh = way
        if ' ' in way:
            ssh = f'{folder}/way{i}'
            with open(ssh, 'w') as f: f.write('#!/bin/sh\n' + way + '\n')
            os.chmod(ssh, 0o755)
        limit = '1s' if 'sleep 5' in way else '60s'
        code, out, err = run([*start, '--start-timeout', limit, '--ssh', ssh, 'long.shard'], folder)
        assert code == status and all(t in err for t in told), (way, code, out, err)
    code, _, err = run([shard, 'launch', '-n', '2', '--hosts', 'nowhere.invalid', 'a.shard'], folder)
    assert code == 2 and "no way from here to the host 'nowhere.invalid'" in err and '--interface' in err, (code, err)
    for transport, told in (('unix', 'process 0, 1 ended and never joined the job'), ('tcp', 'processes 0, 1 did not come to the start')):
        code, _, err = run([shard, 'launch', '-n', '2', '--transport', transport, '/bin/true'], folder)
        assert code == 1 and told in err, (code, err)
    p = subprocess.Popen([*start, '--ssh', f'{folder}/way6', 'a.shard'], cwd=folder, stderr=subprocess.PIPE, text=True)
    while len(children(p.pid)) < 2: time.sleep(0.02)
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=300)
    assert p.returncode == 130 and 'asked to end before processes 0, 1 had come' in err, (p.returncode, err)


AGAIN = HEAD + """let first = not exists("second")
print(sum(x))   # all have looked
if first {
  log_scalars("second", 1, {a: 1.0})
  if process_index() == 1 { error("the first time") }
  print(max(x))
}
print("through")
"""


def started_again(shard, folder):
    """--restarts after a failure, never after success; --log-dir keeps what each said."""
    with open(folder + '/a.shard', 'w') as f: f.write(AGAIN)
    code, out, err = run([shard, 'launch', '-n', '2', '--restarts', '3', '--log-dir', 'logs/here', 'a.shard'], folder)
    assert code == 0 and out == '496.0\n496.0\nthrough\n', (code, out, err)
    assert err.count('restart 1 of 3') == 1 and 'restart 2' not in err, err
    last = open(folder + '/logs/here/process_0.last').read().splitlines()   # of the first job, which failed
    assert re.fullmatch(r'\d+  `[^`]+` in line \d+, not done', last[-1]) and last[0].startswith('1  `'), last
    texts = [open(f'{folder}/logs/here/process_{i}.log').read() for i in (0, 1)]
    assert texts[0].startswith('496.0\n') and 'process 1 has ended' in texts[0] and texts[0].endswith('496.0\nthrough\n'), texts
    assert 'the first time' in texts[1] and texts[1].endswith('496.0\nthrough\n'), texts
    with open(folder + '/b.shard', 'w') as f: f.write('error("always")\n')
    code, _, err = run([shard, 'launch', '-n', '2', '--restarts', '2', 'b.shard'], folder)
    assert code == 1 and 'restart 2 of 2' in err and 'restart 3' not in err, (code, err)
    code, _, err = run([shard, 'launch', '-n', '2', '--log-dir', '/dev/null/x', 'b.shard'], folder)
    assert code == 2 and "cannot make the folder '/dev/null/x'" in err, (code, err)


FEWER = """import train
mesh m = (@d: device_count())
let start = shard zeros([12]) as P(@d)
let saved = train.checkpoints("run", every: 1)
let was = saved.restore(like: {step: 0, w: start})
let (step, w) = if was == none { (0, start) } else { (was.step, was.w) }
print("from step", step, "on", device_count(), "devices")
while step < 4 {
  w = w + 1.0
  step = step + 1
  print("step", step, sum(w))
  saved.save(step, {step: step, w: w})
  saved.wait()
  if step == 2 and process_count() == 3 {
    log_scalars("gone", 1, {a: 1.0})   # the way to a host looks at that file
    if process_index() == 1 { error("this host is no more") }
    print(sum(w))
  }
}
"""


def fewer_hosts(shard, folder):
    """--min-processes: a host that does not come again is left out, and the others go on from what was saved."""
    way = folder + '/ssh_while_there'
    with open(way, 'w') as f: f.write('#!/bin/sh\n[ "$1" = 127.0.0.2 ] && [ -e gone ] && exit 255\nshift\nexec sh -c "$*"\n')
    os.chmod(way, 0o755)
    with open(folder + '/a.shard', 'w') as f: f.write(FEWER)
    start = [shard, 'launch', '-n', '3', '--hosts', '127.0.0.1,127.0.0.2,127.0.0.3', '--ssh', way, '--devices', '6', '--timeout', '20s', 'a.shard']
    code, out, err = run([*start, '--restarts', '3', '--min-processes', '2'], folder)
    # 12 elements that are each the number of the step
    assert code == 0 and out.endswith('from step 2 on 4 devices\nstep 3 36.0\nstep 4 48.0\n'), (code, out, err)
    assert 'note: 127.0.0.2 is left out: the job goes on with 2 processes' in err and 'restart 2 of 3' in err and 'restart 3' not in err, err
    code, _, err = run([*start, '--restarts', '3', '--min-processes', '3'], folder)
    assert code == 255 and 'without 127.0.0.2 2 processes are left, and --min-processes wants 3' in err and 'restart 1' not in err, (code, err)
    code, _, err = run([*start, '--restarts', '1', '--min-processes', '4'], folder)
    assert code == 2 and '--min-processes takes 1 to 3' in err, (code, err)
    code, _, err = run([shard, 'launch', '-n', '2', '--restarts', '1', '--min-processes', '1', 'a.shard'], folder)
    assert code == 2 and '--restarts and --hosts or --hostfile' in err, (code, err)


SMALL = """mesh m = (@d: 4)
let x = shard normal(key(0), [8, 6]) as P(@d)
let p = {a: normal(key(1), [6, 5]), b: zeros([5]), c: normal(key(2), [5, 3]), d: zeros([3])}
fn loss(p, x) = mean((tanh(x @ p.a + p.b) @ p.c + p.d) ** 2)
jit fn step(p, x) {
  let (l, g) = value_and_grad(loss)(p, x)
  (tree_map(fn(p, g) = p - 0.1 * g, p, g), l)
}
let l = 0.0
for i in 0..3 { (p, l) = step(p, x) }
print(l, p)
if process_count() > 1 and process_index() == 1 { error("enough") }
print(sum(x))
"""


def small_sums_together(shard, folder):
    """The loss and four gradients, 30 + 5 + 15 + 3 + 1 numbers, go in one message, with the bits of one process."""
    with open(folder + '/small.shard', 'w') as f: f.write(SMALL)
    alone = run([shard, 'run', '--exact', '--devices', '4', 'small.shard'], folder)[1]
    for n in ('2', '4'):
        _, out, _ = run([shard, 'launch', '-n', n, '--exact', '--devices', '4', '--log-dir', 'small', 'small.shard'], folder)
        assert alone.startswith(out) and out.count('\n') > 5, (alone, out)
        with open(folder + '/small/process_0.last') as f: met = re.findall(r'`(.*?)`', f.read())
        assert met.count('psum of f32[54] over @d') == 3 and len(met) == 4, met   # the fourth, when process 1 had gone


OWN = """mesh m = (@d: 4)
let k = split(key(0), 2)
let a = zeros([8192, 4096], out: P(@d))
let b = shard uniform(k[1], [4096, 4096]) / sqrt(4096) as P(_, @d)
print(sum(a), max(b) < 0.015625, sharding(b))
"""


def own_blocks_alone(shard, folder):
    """What is made as it is laid out is made by each process for its own devices: a quarter of the memory in each of four."""
    def most(script, printed, *words):   # of the program and of all that it started, in KB
        with open(folder + '/own.shard', 'w') as f: f.write(script)
        p = subprocess.Popen([shard, *words, '--devices', '4', 'own.shard'], cwd=folder, stdout=subprocess.PIPE, text=True)
        assert p.stdout.read() == printed
        size = os.wait4(p.pid, 0)[2].ru_maxrss
        p.returncode = 0
        return size
    nothing = most('print(1)\n', '1\n', 'run')   # the program itself, which is large under sanitizers
    alone, shared = (most(OWN, '0.0 true P(_, @d)\n', *words) - nothing for words in (['run'], ['launch', '-n', '4']))
    assert shared < 0.45 * alone, (nothing, alone, shared)


def read_together(shard, folder):
    """launch repl: the first process reads, all evaluate, also what stands in several lines; an error is told once; Ctrl-C at the
    prompt gives up a line, in an entry it ends the job, since nobody knows where each was."""
    entries = 'mesh m = (@d: 4)\nlet x = shard arange(8) as P(@d)\nfn f(a) {\n  sum(a) * process_count()\n}\nf(x)\nfloat(y)\n:edit\n:save s.shard\nx[1] + 1\n'
    done = subprocess.run([shard, 'launch', '-n', '2', '--devices', '4', 'repl'], cwd=folder, input=entries, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and done.stdout == 'i32[]  56\n:edit is for one process\n4 entries in s.shard\ni32[]  2\n', done
    assert done.stderr.count('unknown name `y`') == 1, done.stderr
    pid, fd = pty.fork()
    if pid == 0: os.execv(shard, [shard, 'launch', '-n', '2', 'repl'])
    seen = b''

    def until(text):
        nonlocal seen
        end = time.monotonic() + 30
        while text not in seen:
            assert time.monotonic() < end, (text, seen)
            if not select.select([fd], [], [], 1)[0]: continue
            try:
                seen += os.read(fd, 4096)
            except OSError as e:   # nobody is left at the other end
                raise AssertionError((text, seen)) from e
        seen = seen[seen.index(text) + len(text):]
    until(b'2 processes.')
    until(b'shard> ')
    os.write(fd, b'let a = 1\x03')
    until(b'shard> ')
    os.write(fd, b'40 + process_count()\r')
    until(b'42')
    until(b'shard> ')
    os.write(fd, b'for i in 0..2 { print(711 - i); while i == 1 {} }\r')
    until(b'\n710')   # the entry runs
    time.sleep(0.2)
    os.write(fd, b'\x03')
    until(b'cannot go on together')
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    os.close(fd)


def matrix(shard):
    """Each way to fall out of step before the first compiled call that communicates, behind it and behind the second one."""
    count, longest = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, told, status) in FALLS.items():
            for n, transport, calls in itertools.product((2, 4), ('unix', 'tcp'), (0, 1, 2)):
                first, second = HEAD.rstrip().split('\n')
                with open(folder + '/a.shard', 'w') as f: f.write(f'{first}; jit fn step(x) = x * 0.5 + sum(x)\n{second}{"; x = step(x)" * calls}\n{text}\n')
                began = time.monotonic()
                code, _, err = run([shard, 'launch', '-n', str(n), '--transport', transport, '--timeout', '1s', 'a.shard'], folder)
                longest = max(longest, time.monotonic() - began)
                assert told.replace('within 5 s', 'within 1 s') in err and code == status, (name, n, transport, calls, code, err)
                count += 1
    print(f'processes: {count} jobs that fell out of step, each told by name and line; {longest:.1f} s at most')


def main():
    shard = os.path.abspath(sys.argv[1])
    if sys.argv[2:] == ['--matrix']: return matrix(shard)
    if len(sys.argv) > 2:
        bad = 0
        for path in sys.argv[2:]:
            alone, two, four = same(shard, path)
            for n, told in ((2, two), (4, four)):
                if told[:2] != alone[:2]:
                    bad += 1
                    print(f'{path} differs in {n} processes: status {told[0]} for {alone[0]}\n{told[2][-600:]}', flush=True)
        print(f'processes: {bad} of {2 * len(sys.argv[2:])} differ')
        return 1 if bad else 0
    over_tcp = [[shard, 'launch', '-n', n, '--transport', 'tcp'] for n in ('2', '4')]
    alone, *several = same(shard, None, SAME, [[shard, 'run'], [shard, 'launch', '-n', '2'], [shard, 'launch', '-n', '4'], *over_tcp])
    assert alone[0] == 0, alone
    for told in several: assert told == alone, (told, alone)
    alone, *several = same(shard, None, open('scripts/training/processes.shard').read())
    assert alone[0] == 0 and several == [alone, alone], (alone, several)
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/a.shard', 'w') as f: f.write('mesh m = (@data: 4, @model: 2)\nlet x = shard ones([8, 8]) as P(@data, @model)\nexplain(jit(fn(x) = (sum(x, axis: 0), sum(x, axis: 1))), x)\n')
        code, out, _ = run([shard, 'launch', '-n', '2', 'a.shard'], folder)   # process 0 has devices 0 to 3: both of each pair along @model
        assert code == 0 and re.search('@data .* across processes', out) and re.search('@model .* inserted$', out, re.M), out
        with open(folder + '/a.shard', 'w') as f: f.write('mesh m = (@data: 4, @model: 2)\nlet x = shard ones([8, 6]) as P(@model, @data)\n')
        code, _, err = run([shard, 'launch', '-n', '2', 'a.shard'], folder)   # as in one process, also where each makes its own blocks
        assert code == 1 and 'dimension 1 has size 6, which @data of size 4 does not divide' in err, (code, err)
        elsewhere(shard, folder)
        processors_shared_out(shard, folder)
        started_again(shard, folder)
        fewer_hosts(shard, folder)
        own_blocks_alone(shard, folder)
        read_together(shard, folder)
        small_sums_together(shard, folder)
        sums_without_exact(shard, folder)
        for name, (text, told, status) in FALLS.items():
            with open(folder + '/a.shard', 'w') as f: f.write(HEAD + text + '\n')
            for transport in ('unix', 'tcp'):
                code, _, err = run([shard, 'launch', '-n', '2', '--transport', transport, '--timeout', limit(told), 'a.shard'], folder)
                assert told in err and code == status, (name, transport, code, err)
        code, err, left = ended_by(shard, folder, 'kill')
        assert code == 128 + signal.SIGKILL and 'process 1 was ended by a signal: Killed' in err and 'process 1 has ended in line 3' in err and not left, (code, err, left)
        code, err, left = ended_by(shard, folder, 'stop')
        assert code == 1 and re.search(r'process 1 did not come to .* within 5 s: it stands in line 3', err) and not left, (code, err, left)
        code, err, left = ended_by(shard, folder, 'launcher')
        assert not left, left
    print('processes: one, two and four say the same; whoever falls out of step is named, and nobody is left')


if __name__ == '__main__':
    sys.exit(main())
