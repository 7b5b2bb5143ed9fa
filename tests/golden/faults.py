"""Faults on purpose (`shard launch --fault`): whoever is left names the processes and the line within the limit, nobody is left
running, and what only takes time changes no number.

Usage: faults.py SHARD [TIMES]. Each row at three places of a step, with 2 and 4 processes, through memory and over TCP; once in the
suite; `faults.py build/shard 9` prints the table of runtime/channel/README.md.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

# Three calls that communicate a turn: a sum, a step with a reduction and a gather, a permutation.
SCRIPT = '''mesh m = (@d: 8)
let x = shard cast(arange(65536).reshape([8, 8192]), f32) as P(@d)
jit fn step(x) = shard (x * 0.5 + sum(x, axis: 0) / 8) as P(@d)
manual fn turned(v: P(@d)) -> P(@d) = ppermute(v, @d, [(0, 7), (7, 0)]) + v
let total = 0.0
for i in 0..4 {
  total += float(sum(x))
  x = step(x)
  x = turned(x)
}
print(total, sum(x))
'''
STOPPED = 'stop 1 at step {}'   # the only one that is noticed by the limit; to the others a loaded machine may come late
LIMIT = 1.0   # s; after it the job is gone at most 6 s later
# Each fault, and what somebody must be told: the process, and the line where it waits.
ENDS = {
    'kill 1 at step {}': r'process 1 has ended in line \d+, and process 0 waits for it at `\w+ of .*` in line [789]\b',
    'cut 0-1 at step {}': r'process \d has ended in line \d+, and process \d waits for it at `\w+ of .*` in line [789]\b',
    'corrupt 0-1 at step {} seed 5': r'what process 0 sent to process 1 at `\w+ of .*` in line [789] came with other bits',
    STOPPED: r'process 1 did not come to `\w+ of .*` in line [789] within 1 s: it stands in line [789]\b',
}
GOES_ON = ('stop 1 at step {} for 0.2s', 'slow link 0-1 1ms 1GB/s from step {}')


def launch(shard, folder, n, transport, fault, seconds=60, option='--fault', limit=LIMIT):
    began = time.monotonic()
    done = subprocess.run([shard, 'launch', '-n', str(n), '--transport', transport, '--timeout', f'{limit:.0f}s', option, fault, 'a.shard'],
                          cwd=folder, capture_output=True, text=True, timeout=seconds)
    return done, time.monotonic() - began


def left_running(folder):
    out = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.readlink(f'/proc/{pid}/cwd') == folder and open(f'/proc/{pid}/stat').read().split(') ')[1][0] != 'Z': out.append(pid)
        except OSError: pass
    return out


def main():
    shard, times = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        with open(folder + '/a.shard', 'w') as f: f.write(SCRIPT)
        alone = subprocess.run([shard, 'run', 'a.shard'], cwd=folder, capture_output=True, text=True)
        assert alone.returncode == 0, alone.stderr
        counts = {}
        for fault in [*ENDS, *GOES_ON]:
            many = times if fault.split()[0] in ('kill', 'stop') else 1
            # The rows that wait for the limit: in the suite at one place each.
            slow = times == 1 and fault == STOPPED
            for n in (2, 4):
                for transport in ('unix', 'tcp'):
                    for step in (5,) if slow else (4, 5, 6):
                        for _ in range(many):
                            done, seconds = launch(shard, folder, n, transport, fault.format(step), limit=LIMIT if fault == STOPPED else 30)
                            said = (fault, n, transport, step, seconds, done.returncode, done.stdout, done.stderr)
                            if fault in ENDS:
                                assert done.returncode in (1, 137), said
                                assert re.search(ENDS[fault], done.stderr), said
                                others = r'process [^1] (has ended|did not come)' if fault.startswith(('kill', 'stop')) else '$.'
                                assert not re.search(others, done.stderr), said
                            else:
                                assert (done.returncode, done.stdout) == (0, alone.stdout), said
                            assert not left_running(folder), said
                            total, longest = counts.get(fault, (0, 0.0))
                            counts[fault] = (total + 1, max(longest, seconds))
        assert launch(shard, folder, 2, 'unix', 'kill 9 at step 2', option='--drill')[0].returncode == 2   # its older name
        for wrong in ('kill 9 at step 2', 'kill', 'cut 0-0 at step 1', 'stop 1 at step 0', 'slow link 0-1 5 from step 1', 'cut 0-1 at step 2 twice'):
            done, _ = launch(shard, folder, 2, 'unix', wrong)
            assert done.returncode == 2 and done.stderr.startswith(f"error: the fault '{wrong}' "), (wrong, done.stderr)
    if times > 1:
        for fault, (total, longest) in counts.items(): print(f'| `{fault.format("k")}` | {total} | {longest:.1f} |')
    print(f'faults: {sum(t for t, _ in counts.values())} faults, each told by name and line, nobody left')


if __name__ == '__main__':
    main()
