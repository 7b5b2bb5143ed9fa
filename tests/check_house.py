#!/usr/bin/env python3
"""The house's measures: no function over 80 lines and no file over 500 without a reason said where it begins.

A function's reason stands in the comment above it, a file's in its first comment, as `Long: why` in words. Run from the
repository's root; exit status 1 with what is too long.
"""
import os
import re
import sys

FUNCTION, FILE = 80, 500
CONTROL = re.compile(r'^\s*(if|for|while|switch|else|do|try|catch|return|case|default)\b')
TYPE = re.compile(r'\b(namespace|class|struct|enum|union|extern)\b[^()]*$')
INITIALISER = re.compile(r'\)\s*(noexcept\s*)?:[^:].*[\w>]\s*$', re.S)


def bare(text):
    """The text with comments, strings and preprocessor lines blanked, of the same length."""
    out = list(text)
    pattern = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*',
                         re.S | re.M)
    for m in pattern.finditer(text):
        if m.group(0)[0] == "'" and m.start() and text[m.start() - 1].isalnum():
            continue  # 1'000
        for i in range(m.start(), m.end()):
            if out[i] != '\n':
                out[i] = ' '
    return ''.join(out)


def functions(text):
    """(first line, last line) of each outermost function body with its head, counted from 1."""
    code = bare(text)
    stack, found, head, parens = [], [], 0, 0
    for i, c in enumerate(code):
        if c == '(':
            parens += 1
        elif c == ')':
            parens -= 1
        elif c == '{':
            before = code[head:i]
            inside = any(kind == 'function' for kind, *_ in stack)
            kind = 'other'
            if parens == 0 and not inside:
                if INITIALISER.search(before):
                    kind = 'initialiser'
                elif TYPE.search(before):
                    kind = 'type'
                elif '(' in before and not CONTROL.match(before) and not re.search(r'=\s*$|=\s*\[', before):
                    kind = 'function'
            begin = head + len(before) - len(before.lstrip())
            stack.append((kind, begin, parens, head))
            parens = 0
            if kind != 'initialiser':
                head = i + 1
        elif c == '}' and stack:
            kind, begin, parens, old = stack.pop()
            if kind == 'function':
                found.append((code.count('\n', 0, begin) + 1, code.count('\n', 0, i) + 1))
            head = old if kind == 'initialiser' else i + 1
        elif c == ';' and parens == 0:
            head = i + 1
    return found


def comment_above(lines, first):
    """The comment lines that end above line `first` (from 1)."""
    out = []
    at = first - 2
    while at >= 0 and lines[at].lstrip().startswith('//'):
        out.append(lines[at])
        at -= 1
    return '\n'.join(out)


def check_itself():
    body = '  int x = f("}", [] { return 1; });\n' * 90
    long = 'struct A {\n  A() : a_{1}, b_(2) {\n' + body + '  }\n};\n'
    assert functions(long) == [(2, 93)], functions(long)
    assert functions('namespace n {\nint k = 1;\n' + 'int g() {\n' + body + '}\n}\n') == [(3, 94)]
    assert 'Long: ' in comment_above(['// Long: one case a kind.', 'int g() {'], 2)


def main():
    check_itself()
    broken = []
    for root in ('grammar', 'runtime', 'interpreter', 'stdlib'):
        for folder, _, files in os.walk(root):
            for name in sorted(files):
                if not name.endswith(('.h', '.cpp')):
                    continue
                path = os.path.join(folder, name)
                text = open(path, encoding='utf-8').read()
                lines = text.split('\n')
                head = '\n'.join(lines[:next((i for i, l in enumerate(lines) if not l.startswith('//')), 0)])
                if len(lines) > FILE and 'Long: ' not in head:
                    broken.append(f'{path}: {len(lines)} lines')
                for first, last in functions(text):
                    if last - first + 1 > FUNCTION and 'Long: ' not in comment_above(lines, first):
                        broken.append(f'{path}:{first}: {last - first + 1} lines: {lines[first - 1].strip()[:80]}')
    print('\n'.join(broken) if broken else f'house: no function over {FUNCTION} lines and no file over {FILE} without a reason')
    return 1 if broken else 0


if __name__ == '__main__':
    sys.exit(main())
