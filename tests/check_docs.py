#!/usr/bin/env python3
"""Pages and comments are true: what they name exists, and each source says what it is for.

    check_docs.py         exit status 1 with `file:line: what` for each false place

In pages: targets of links, options between backticks; in pages of sources files, folders and types between backticks; the first column of a table headed `file` or `folder`; no count of
what the tree can count (`nine rooms`). In comments: files. A source begins with a comment, or its folder's page, or that of a folder above,
names it. Run from the repository's root.
"""
import fnmatch
import os
import re
import sys

SOURCES = ('grammar/', 'runtime/', 'interpreter/', 'stdlib/')
ENDINGS = 'h|cpp|py|sh|md|cmake'
FILE = re.compile(rf'(?<![\w./*<>$-])((?:[\w.-]+/)*[\w-]+\.(?:{ENDINGS}))(?![\w.*(]|/)')
QUOTED = re.compile(r'`([^`\n]+)`')
LINK = re.compile(r'\]\(([^)\s#]+)(#[^)\s]*)?\)')
TYPE = re.compile(r'^[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+$')
OPTION = re.compile(r'(?<![\w-])(--[a-z][a-z-]+)')
FENCE = re.compile(r'^ {0,3}(```|~~~)')
NUMBER = 'two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|twenty|[0-9]+'
COUNT = re.compile(rf'\b({NUMBER}) (rooms|passes|targets|families|subcommands|floors)\b', re.I)


def files_here():
    out = []
    for folder, folders, names in os.walk('.'):
        folders[:] = [f for f in folders if not f.startswith(('build', '.git', '__pycache__'))]
        out += [os.path.relpath(os.path.join(folder, name)) for name in names]
    return sorted(out)


class Tree:
    """What exists: every file and folder, found by any tail of its path."""

    def __init__(self, files):
        self.files = files
        self.tails, self.stems = set(), {}
        for path in files:
            parts = path.split('/')
            for i in range(len(parts)):
                self.tails.add('/'.join(parts[i:]))
                for j in range(i + 1, len(parts)):
                    self.tails.add('/'.join(parts[i:j]))
                self.tails.add('/'.join(parts[i:]).rsplit('.', 1)[0])
                self.stems.setdefault('/'.join(parts[:i]), set()).update({parts[-1], parts[-1].split('.')[0], *parts[i:i + 1]})

    def has(self, name):
        name = name.rstrip('/')
        while name.startswith('../') or name.startswith('./'):
            name = name.split('/', 1)[1]
        if '*' in name:
            return any(fnmatch.fnmatch(t, name) for t in self.tails)
        return name in self.tails


def words_of(files):
    """Every word of the sources, in which a type that a page names must occur."""
    words = set()
    for path in files:
        if path.endswith(('.h', '.cpp', '.py', '.shard', '.inc')):
            words.update(re.findall(r'[A-Za-z_]\w+', read(path)))
    return words


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def prose(text):
    """(line number, line) of a page outside of its fenced and indented boxes."""
    fenced = False
    for number, line in enumerate(text.split('\n'), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith('    '):
            yield number, line


def link_is_true(page, target):
    if re.match(r'[a-z]+:', target):
        return True
    return os.path.exists(os.path.join(os.path.dirname(page), target))


def quoted_is_true(page, token, tree, words, options):
    inside = page.startswith(SOURCES)
    if inside and any(not tree.has(name) for name in FILE.findall(token)):
        return False
    if inside and re.fullmatch(r'(?:[a-z_]+/)+[a-z_0-9]*', token) and token.split('/')[0] in tree.tails:
        return tree.has(token)
    if inside and TYPE.match(token):
        return token in words
    if not token.startswith(('-', 'shard ', './dev ', 'tests/')):
        return True   # another program's
    return all(option in options for option in OPTION.findall(token))


def check_page(page, tree, words, options):
    column = None   # what the first column of the table at hand names
    previous = ''
    for number, line in prose(read(page)):
        for target, _ in LINK.findall(line):
            if not link_is_true(page, target):
                yield f'{page}:{number}: no file {target}'
        for token in QUOTED.findall(line):
            if not quoted_is_true(page, token, tree, words, options):
                yield f'{page}:{number}: there is no `{token}`'
        if page.startswith(SOURCES) or page.startswith('tests/'):
            for count in COUNT.finditer(line):
                yield f'{page}:{number}: "{count.group(0)}" will be false one day: leave the count out'
        if line.startswith('|'):
            head = page.startswith(SOURCES) and re.match(r'\| *(files?|folders?) *\|', line)
            if head and not previous.startswith('|'):
                column = head.group(1)
            elif column:
                for token in QUOTED.findall(line.split('|')[1]):
                    name = token.rstrip('/')
                    if '*' not in name and ' ' not in name and '/' not in name and name not in tree.stems.get(os.path.dirname(page), ()):
                        yield f'{page}:{number}: no {column.rstrip("s")} `{token}` here'
        else:
            column = None
        previous = line


COMMENT = {'.h': '//', '.cpp': '//', '.py': '#', '.sh': '#', '.cmake': '#', '.txt': '#', '.shard': '#'}


def check_comments(path, tree):
    sign = COMMENT.get(os.path.splitext(path)[1])
    if not sign or (path.endswith('.txt') and os.path.basename(path) != 'CMakeLists.txt'):
        return
    if path.startswith('scripts/'):
        return   # a port names the files of the program that it is of
    for number, line in enumerate(read(path).split('\n'), 1):
        at = line.find(sign + ' ')
        if at < 0 or line[:at].count('"') % 2:
            continue
        for name in FILE.findall(line[at:]):
            if not tree.has(name) and not name.split('.')[0].isupper() and not name.startswith(('std', 'sys/', 'boost')):
                yield f'{path}:{number}: no file {name}'


def check_heads(files):
    """Each source begins with a comment, or a page of its folder or one above names it."""
    pages = {os.path.dirname(p): read(p) for p in files if p.endswith('README.md')}
    for path in files:
        if not path.startswith(SOURCES) or not path.endswith(('.h', '.cpp')):
            continue
        folder, name = os.path.split(path)
        stem = name.split('.')[0]
        if any(line.startswith(('//', '/*')) for line in read(path).split('\n', 4)[:4]):
            continue
        if name.endswith('.cpp') and os.path.exists(os.path.join(folder, stem + '.h')):
            continue   # what it is for stands in its header
        while folder and not (folder in pages and re.search(rf'\b{re.escape(stem)}\b', pages[folder])):
            folder = os.path.dirname(folder)
        if not folder:
            yield f'{path}: begins with no comment, and no page of its folder names it'


def check_itself():
    tree = Tree(['a/README.md', 'a/b/rows.h', 'a/b/rows.cpp'])
    assert tree.has('b/rows.h') and tree.has('../a/b/') and tree.has('b/rows') and tree.has('b/*.cpp') and not tree.has('rows.py')
    assert FILE.findall('(b/rows.h, ir/op.h); not std::x.h(1)') == ['b/rows.h', 'ir/op.h']
    assert COUNT.search('Nine rooms') and not COUNT.search('rooms')
    assert not quoted_is_true('stdlib/README.md', 'LostType', tree, {'FoundType'}, ())
    assert quoted_is_true('stdlib/README.md', 'FoundType', tree, {'FoundType'}, ())
    assert not quoted_is_true('README.md', 'shard run --lost', tree, (), {'--found'})


def main():
    check_itself()
    files = files_here()
    tree = Tree(files)
    words = words_of(files)
    options = set()
    for path in files:
        if path.endswith(('.cpp', '.h', '.py', '.sh', '.cmake')) or os.path.basename(path) in ('dev', 'run', 'CMakeLists.txt'):
            options.update(OPTION.findall(read(path)))
    false = []
    for path in files:
        if path.endswith('.md') and path != 'stdlib/reference.md':
            false += check_page(path, tree, words, options)
        else:
            false += check_comments(path, tree)
    false += check_heads(files)
    print('\n'.join(false) if false else 'docs: what pages and comments name exists')
    return 1 if false else 0


if __name__ == '__main__':
    sys.exit(main())
