#!/usr/bin/env python3
"""What scripts with a mistake are told, word for word.   messages.py SHARD FOLDER [--write]   closes with "N passed, N failed"

A file of the folder holds cases between lines of `====`: a script, a line of `----`, and all that the program says to standard
error. Each that tells an error must end with status 1, one with warnings alone with 0. --write puts in what the program says now: read the difference before it is committed.
"""
import concurrent.futures, glob, os, resource, subprocess, sys, tempfile

BAR, LINE = '\n====\n', '\n----\n'


if 'GOLDEN_SECONDS' in os.environ:                # a sanitizer build: its frames need several times the stack
    resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))


def cases(path):
    with open(path, encoding='utf-8') as f: text = f.read()
    for block in ('\n' + text.strip('\n') + '\n').split(BAR):
        if block.strip(): yield [part.strip('\n') for part in (block + LINE).split(LINE)[:2]]


def said(shard, script, folder):
    path = os.path.join(folder, 'case.shard')
    with open(path, 'w', encoding='utf-8') as f: f.write(script + '\n')
    seconds = float(os.environ.get('GOLDEN_SECONDS', '400'))
    p = subprocess.run([shard, 'run', 'case.shard'], cwd=folder, capture_output=True, text=True, timeout=seconds,
                       stdin=subprocess.DEVNULL)
    return p.returncode, p.stderr.strip('\n')


def main():
    if len(sys.argv) < 3: sys.exit(__doc__)
    shard, folder, write = os.path.abspath(sys.argv[1]), sys.argv[2], '--write' in sys.argv
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool, tempfile.TemporaryDirectory() as top:
        for path in sorted(glob.glob(os.path.join(folder, '*.txt'))):
            all_cases = list(cases(path))
            if not write: all_cases = all_cases[::int(os.environ.get('MESSAGES_EACH', '1'))]   # one of so many
            places = [tempfile.mkdtemp(dir=top) for _ in all_cases]
            now = list(pool.map(lambda c: said(shard, c[0][0], c[1]), zip(all_cases, places)))
            for (script, expected), (status, text) in zip(all_cases, now):
                if status == ('error:' in text) and text and (text == expected or write):
                    passed += 1
                    continue
                failed += 1
                print(f'FAIL {path}: status {status}\n{script}\n-- expected\n{expected}\n-- said\n{text}\n')
            if write:
                with open(path, 'w', encoding='utf-8') as f:
                    f.write(BAR.lstrip('\n').join(f'{s}{LINE}{t}\n' for (s, _), (_, t) in zip(all_cases, now)))
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__': sys.exit(main())
