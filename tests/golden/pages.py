#!/usr/bin/env python3
"""The boxes of pages are run: what a ```text box shows is what the ```shard box above it prints. All boxes of a page are one script.

    pages.py SHARD PAGE...           status 0 where all hold; the last line is "N passed, N failed"
    pages.py SHARD PAGE... --write   writes what is printed into the pages

A picture that has a script as a comment below it is the file that the script saves.

A ```sh box is a command, run where the repository begins; the ```text box below shows what it prints.

Of README.md, which has boxes that are parts of something, the first one alone is run.
"""
import os, re, shlex, subprocess, sys, tempfile

FENCE = re.compile(r'```shard\n(.*?)```\n(?:\n```text\n(.*?)```\n)?', re.S)
COMMAND = re.compile(r'```sh\nshard (.*?)```\n\n```text\n(.*?)```\n', re.S)
MARK = '\u2550\u2550 end of box'


def outputs(shard, boxes):
    """What each box prints; and what is wrong, or None."""
    script = boxes[0] + ''.join(f'print("{MARK}"); {box}' for box in boxes[1:])  # lines keep their numbers
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/page.shard', 'w', encoding='utf-8') as f: f.write(script)
        p = subprocess.run([shard, 'run', 'page.shard'], cwd=folder, capture_output=True, text=True, timeout=float(os.environ.get('GOLDEN_SECONDS', '400')))
    return p.stdout.split(MARK + '\n'), p.stderr if p.returncode or p.stderr else None


def pictures(shard, path, page, write):
    """How many pictures are what their scripts save, and how many are not."""
    passed = failed = 0
    for file, script in re.findall(r'^!\[[^\]]*\]\((\S+\.svg)\)\n<!-- (.*?) -->$', page, re.M):
        kept = os.path.join(os.path.dirname(path), file)
        with tempfile.TemporaryDirectory() as folder:
            p = subprocess.run([shard, 'run', '-e', script], cwd=folder, capture_output=True, text=True)
            with open(f'{folder}/{os.path.basename(file)}', encoding='utf-8') as f: made = f.read()
        if write:
            with open(kept, 'w', encoding='utf-8') as f: f.write(made)
        with open(kept, encoding='utf-8') as f: same = f.read() == made and p.returncode == 0
        if not same: print(f'FAIL {kept} is not what its script makes: {p.stderr or "--write renews it"}')
        passed, failed = passed + same, failed + (not same)
    return passed, failed


def commands(shard, path, page, write):
    """The page with what its commands print; how many print what it shows, and how many do not."""
    passed = failed = 0
    for m in reversed(list(COMMAND.finditer(page))):
        p = subprocess.run([shard, *shlex.split(m[1].replace('\\\n', ' '))], capture_output=True, text=True)
        out = '\n'.join(line.rstrip() for line in (p.stdout + p.stderr).replace(os.getcwd() + '/', '').strip('\n').split('\n')) + '\n'
        same = out == m[2]
        if not same and not write: print(f'FAIL {path}: shard {m[1]}it prints\n{out}and the page shows\n{m[2]}')
        page = page[:m.start(2)] + out + page[m.end(2):]
        passed, failed = passed + (same or write), failed + (not same and not write)
    return page, passed, failed


def styled(shard, box): return subprocess.run([shard, 'fmt', '-'], input=box, capture_output=True, text=True).stdout


def main():
    shard, write = os.path.abspath(sys.argv[1]), '--write' in sys.argv
    passed = failed = 0
    for path in [a for a in sys.argv[2:] if a != '--write']:
        with open(path, encoding='utf-8') as f: page = f.read()
        found = list(FENCE.finditer(page))
        good, bad = pictures(shard, path, page, write)
        passed, failed = passed + good, failed + bad
        if os.path.basename(path) == 'README.md': found = found[:1]
        else:
            page, good, bad = commands(shard, path, page, write)
            passed, failed = passed + good, failed + bad
            if write:
                with open(path, 'w', encoding='utf-8') as f: f.write(page)
            found = list(FENCE.finditer(page))
        if not found: continue
        printed, wrong = outputs(shard, [m[1] for m in found])
        if wrong or len(printed) < len(found):
            failed += 1
            print(f'FAIL {path}: {wrong or "the script ended early"}')
            continue
        if write:
            for m, out in reversed(list(zip(found, printed))):
                page = page[:m.start()] + f'```shard\n{m[1]}```\n' + (f'\n```text\n{out}```\n' if out else '') + page[m.end():]
            with open(path, 'w', encoding='utf-8') as f: f.write(page)
        for m, out in zip(found, printed):
            line = page.count('\n', 0, m.start()) + 1
            if not write and (m[2] or '') != out: print(f'FAIL {path}:{line}: it prints\n{out}and the page shows\n{m[2] or ""}')
            elif os.path.basename(path) != 'README.md' and styled(shard, m[1]) != m[1]: print(f'FAIL {path}:{line}: `shard fmt` would write\n{styled(shard, m[1])}')
            else:
                passed += 1
                continue
            failed += 1
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__': sys.exit(main())
