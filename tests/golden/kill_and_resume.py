"""Training that is killed (SIGKILL) at random moments while checkpoints are written every step, and started again.

Usage: kill_and_resume.py SHARD [TIMES [PROCESSES]]. Every start must find a good checkpoint no older than the last that was reported
saved, and the run that comes to its end must give the parameters, loss and log of the run that was never killed, to the bit.
20 times in the suite; `kill_and_resume.py build/shard 200` is the long one. With several processes the launcher is killed,
or one of its processes.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

# What is reported: step n returned from ck.save, so that everything before it is on the disk.
PROGRAM = '''
import optim
import train
mesh m = (@data: 4)
let x = normal(key(0), [64, 32])
let y = normal(key(1), [64, 8])
let opt = optim.adam(0.01)
let start = {w: shard normal(key(2), [32, 8]) as P(_, _), big: shard zeros([64, 1024]) as P(@data)}
fn loss_of(p, noise, x, y) = mean((x @ p.w - y + 0.01 * noise) ** 2) + 0.0 * sum(p.big)
jit fn step((p, s, k), (x, y)) {
  let noise = normal(k, [16, 8])
  let (loss, g) = value_and_grad(loss_of)(p, noise, x, y)
  let (q, t) = opt.step(p, g, s)
  ((q, t, fold_in(k, 1)), {loss: loss})
}
let ck = train.checkpoints("run", keep: 2, every: 1)
let saved = {...ck, save: fn(n, tree) {
  let did = ck.save(n, tree)
  log_scalars("reported.csv", n, {before: n - 1})
  did
}}
let batches = loader((x, y), batch: 16, shuffle: key(3), epochs: 60, spec: P(@data))
let end = train.loop(step, (start, opt.init(start), key(4)), batches, every: 5, log: train.csv("run.csv"), checkpoints: saved)
save("end.npz", {w: end.state[0].w, m: end.state[1].m.w, k: key_data(end.state[2])})
print("end", end.step)
'''


def last_reported(folder):
    try:
        lines = open(folder + '/reported.csv').read().split('\n')
        return int(float(lines[-2].split(',')[1])) if len(lines) > 2 else 0
    except FileNotFoundError:
        return 0


PROCESSES = int(sys.argv[3]) if len(sys.argv) > 3 else 1


def start(shard, folder):
    command = ['run'] if PROCESSES == 1 else ['launch', '-n', str(PROCESSES)]
    return subprocess.Popen([shard, *command, 'a.shard'], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill(p, draw):
    """The program; of several processes any of them, and whoever is left ends by himself."""
    pids = [p.pid]
    try:
        pids += [int(n) for n in open(f'/proc/{p.pid}/task/{p.pid}/children').read().split()] if PROCESSES > 1 else []
        os.kill(draw.choice(pids), signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        pass                                           # it has just ended
    p.communicate(timeout=300)


def finish(shard, folder):
    p = start(shard, folder)
    out, err = p.communicate(timeout=600)
    assert p.returncode == 0, out + err
    return [open(f'{folder}/{name}', 'rb').read() for name in ('end.npz', 'run.csv')]


def main():
    shard, times = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as killed:
        for folder in (whole, killed):
            open(folder + '/a.shard', 'w').write(PROGRAM)
        began = time.monotonic()
        want = finish(shard, whole)
        length = time.monotonic() - began
        done = restarts = 0
        while done < times:
            p = start(shard, killed)
            try:
                p.communicate(timeout=draw.uniform(0.02, 0.02 + length / 3))
                assert p.returncode == 0, p.returncode
                assert finish(shard, killed) == want       # it came to its end: once more from the front
                for name in os.listdir(killed):
                    if name != 'a.shard':
                        subprocess.run(['rm', '-rf', f'{killed}/{name}'], check=True)
                continue
            except subprocess.TimeoutExpired:
                kill(p, draw)
            done += 1
            reported = last_reported(killed)
            probe = subprocess.run([shard, 'run', '-'], cwd=killed, text=True, capture_output=True,
                                   input='import train\nprint(train.checkpoints("run").latest())\n')
            assert probe.returncode == 0, probe.stdout + probe.stderr
            assert 'passed over' not in probe.stderr, probe.stderr
            step = 0 if probe.stdout.strip() == 'none' else int(probe.stdout)
            assert step >= reported, f'found step {step}, and {reported} was reported saved'
            restarts += 1
        assert finish(shard, killed) == want, 'the resumed run differs'
        leftover = [n for n in os.listdir(killed + '/run') if '.part' in n]
        assert not leftover, leftover
    print(f'kill_and_resume: {restarts} of {times} restarts found what was reported saved; the end is the same to the bit')


if __name__ == '__main__':
    main()
