#!/usr/bin/env python3
"""How large the stripped program is, and what a script of one line costs: instructions (callgrind) and time.

    size_and_start.py SHARD [--write]      --write records the figures in size_and_start.txt

Fails where size or instructions are more than a tenth above what is recorded. Time is printed only: it depends on the machine.
"""
import os, platform, re, shutil, statistics, subprocess, sys, tempfile, time

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'size_and_start.txt')
MORE = 1.1
RUNS = 30
ENVIRONMENT = {'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent', 'LC_ALL': 'C'}   # of whoever runs it, the same steps


def system():
    """Other libraries and compilers make other figures."""
    words = dict(re.findall(r'^(\w+)="?([^"\n]*)', open('/etc/os-release').read(), re.M)) if os.path.exists('/etc/os-release') else {}
    return ' '.join((words.get('ID', platform.system()), words.get('VERSION_ID', ''), platform.machine()))


def size(program, folder):
    stripped = os.path.join(folder, 'shard')
    subprocess.run(['strip', '-s', '-o', stripped, program], check=True)
    return stripped, os.path.getsize(stripped)


def instructions(command, folder):
    if not shutil.which('valgrind'):
        return None
    out = subprocess.run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={folder}/profile', *command], env=ENVIRONMENT,
                         capture_output=True, text=True)
    found = re.search(r'Collected *: *(\d+)', out.stderr)
    if out.returncode or out.stdout != '2\n' or not found:
        sys.exit(f'valgrind {" ".join(command)}: {out.stdout}{out.stderr}\n0 passed, 1 failed')
    return int(found.group(1))


def times(command):
    out = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
        out.append(1000 * (time.perf_counter() - start))
    return f'{min(out):.2f} ms at best, {statistics.median(out):.2f} ms in the median of {RUNS} runs, which starting a process is a part of'


def recorded():
    with open(RECORD) as file:
        return dict(line.rstrip('\n').split(': ') for line in file if ': ' in line)


def main():
    program, write = os.path.abspath(sys.argv[1]), '--write' in sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, 'one.shard')
        with open(script, 'w') as file:
            file.write('print(1 + 1)\n')
        stripped, bytes_now = size(program, folder)
        now = {'bytes of the stripped program': bytes_now, 'instructions of print(1 + 1)': instructions([stripped, script], folder)}
        print(f'time of print(1 + 1): {times([stripped, script])}')
    if write:
        if None in now.values():
            sys.exit('valgrind is missing: nothing is recorded')
        with open(RECORD, 'w') as file:
            file.writelines(f'{what}: {value}\n' for what, value in {'system': system(), **now}.items())
    known = recorded()
    passed = failed = 0
    for what, value in now.items():
        if value is None:
            print(f'{what}: not counted, valgrind is missing')
            continue
        limit = int(known[what])
        print(f'{what}: {value:,}, recorded {limit:,} ({100 * (value / limit - 1):+.1f} %)')
        if system() != known['system']:
            print(f'  not compared: what is recorded is of {known["system"]}, this is {system()}')
            continue
        if value > MORE * limit:
            failed += 1
            print(f'FAIL {what}: more than a tenth above what is recorded; where that must be, `size_and_start.py SHARD --write`')
        else:
            passed += 1
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__': sys.exit(main())
