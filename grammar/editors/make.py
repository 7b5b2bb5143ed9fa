#!/usr/bin/env python3
"""What editors and the reference of the language list of what the program knows: the TextMate grammar of VS Code and the syntax file of Vim, from
`shard help --words`; functions by group (`shard help --all`) and commands (`shard help --commands`) in ../language.md, each between its two marks.

    make.py SHARD           writes vscode/shard.tmLanguage.json, vim/syntax/shard.vim and the lists of language.md
    make.py SHARD --check   only says whether they are what it would write (status 1 where not)
"""
import json, os, re, subprocess, sys, textwrap

HERE = os.path.dirname(os.path.abspath(__file__))


def help_of(shard, option): return subprocess.run([shard, 'help', option], capture_output=True, text=True, check=True).stdout


def words_of(shard):
    """{kind: [word, ...]}"""
    return {kind: words.split() for kind, words in (line.split(': ', 1) for line in help_of(shard, '--words').splitlines())}


def either(words): return r'\b(' + '|'.join(sorted(words)) + r')\b'


def kinds_of(words):
    """Keywords by what colour themes make of them; none of these lists has a word of its own that the language lacks."""
    every = words['keywords']
    constants = [w for w in every if w in ('true', 'false', 'none')]
    operators = [w for w in every if w in ('and', 'or', 'not', 'in', 'as')]
    declares = [w for w in every if w in ('let', 'fn', 'mesh', 'jit', 'manual', 'import')]
    control = [w for w in every if w not in constants + operators + declares]
    return constants, operators, declares, control


def textmate(words):
    constants, operators, declares, control = kinds_of(words)
    patterns = [
        {'name': 'comment.line.documentation.shard', 'match': r'##.*$'},
        {'name': 'comment.line.number-sign.shard', 'match': r'#.*$'},
        {'include': '#string'},
        {'name': 'entity.name.tag.axis.shard', 'match': r'@[A-Za-z_]\w*'},
        {'match': r'\b(fn)\s+([A-Za-z_]\w*)', 'captures': {'1': {'name': 'storage.type.shard'}, '2': {'name': 'entity.name.function.shard'}}},
        {'name': 'storage.type.shard', 'match': either(declares)},
        {'name': 'storage.modifier.shard', 'match': r'\b(' + '|'.join(sorted(words['modifiers'])) + r')\b(?=\s*(\(|\{|fn\b|$|"|\.skip\b))'},
        {'name': 'keyword.operator.word.shard', 'match': either(operators)},
        {'name': 'constant.language.shard', 'match': either(constants)},
        {'name': 'keyword.control.shard', 'match': either(control)},
        {'name': 'support.type.shard', 'match': either(words['types'])},
        {'name': 'constant.numeric.shard', 'match': r'\b(0[xX][0-9A-Fa-f_]+|\d[\d_]*(\.\d+)?([eE][+-]?\d+)?)\b'},
        {'name': 'support.function.shard', 'match': r'(?<!\.)' + either(words['functions']) + r'(?=\s*\()'},
        {'match': r'\b([A-Za-z_]\w*)(?=\s*\()', 'name': 'entity.name.function.shard'},
        {'name': 'keyword.operator.shard', 'match': r'\|>|->|\*\*|//|[-+*/%@=<>!&|^~]+'},
    ]
    string = {
        'name': 'string.quoted.double.shard', 'begin': '"', 'end': '"|$',
        'patterns': [
            {'name': 'constant.character.escape.shard', 'match': r'\\.|\{\{|\}\}'},
            {'name': 'meta.embedded.shard', 'begin': r'\{', 'end': r'\}|(?=$)', 'patterns': [{'include': '$self'}]},
        ],
    }
    return json.dumps({'$schema': 'https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json', 'name': 'Shard', 'scopeName': 'source.shard', 'fileTypes': ['shard'],
                       'patterns': patterns, 'repository': {'string': string}}, indent=1) + '\n'


def vim(words):
    constants, operators, declares, control = kinds_of(words)
    line = lambda group, some: f'syn keyword {group} ' + ' '.join(sorted(some))
    return '\n'.join([
        '" Made by make.py from the words of the language; change that.',
        "if exists('b:current_syntax')", '  finish', 'endif',
        line('shardDeclaration', declares), line('shardControl', control), line('shardOperator', operators), line('shardConstant', constants), line('shardType', words['types']),
        r"syn match shardModifier '\<\(" + r'\|'.join(sorted(words['modifiers'])) + r"\)\>\ze\s*\((\|{\|fn\>\|$\|" + '"' + r"\|\.skip\>\)'",
        r"syn match shardFunction '\.\@<!\<\(" + r'\|'.join(sorted(words['functions'])) + r"\)\>\ze\s*('",
        r"syn match shardName '\<fn\s\+\zs\h\w*'",
        r"syn match shardNumber '\<\(0[xX][0-9A-Fa-f_]\+\|\d[0-9_]*\(\.\d\+\)\=\([eE][-+]\=\d\+\)\=\)\>'",
        r"syn match shardAxis '@\h\w*'",
        r'''syn region shardString start='"' skip='\\.' end='"\|$' contains=shardEscape,shardValue''',
        r"syn match shardEscape contained '\\.\|{{\|}}'",
        r"syn region shardValue contained matchgroup=shardEscape start='{' end='}\|$' contains=ALLBUT,shardEscape",
        r"syn match shardComment '#.*$' contains=@Spell",
        *(f'hi def link {a} {b}' for a, b in [('shardDeclaration', 'Statement'), ('shardControl', 'Statement'), ('shardOperator', 'Operator'), ('shardModifier', 'StorageClass'), ('shardConstant', 'Constant'),
                                              ('shardType', 'Type'), ('shardFunction', 'Function'), ('shardName', 'Function'), ('shardNumber', 'Number'), ('shardAxis', 'Identifier'), ('shardString', 'String'),
                                              ('shardEscape', 'SpecialChar'), ('shardComment', 'Comment')]),
        "let b:current_syntax = 'shard'", ''])


def functions(shard):
    """A list: each group of the reference with the names in it."""
    groups = re.split(r'^## ', help_of(shard, '--all'), flags=re.M)[1:]
    lines = []
    for group in groups:
        title, names = group.split('\n', 1)[0], ' '.join(re.findall(r'^### (.*)$', group, re.M))
        lines.append(f'- {title}:')
        lines += [f'  `{line}`' for line in textwrap.wrap(names, 140, break_on_hyphens=False)]
    return '\n'.join(lines)


def commands(shard):
    rows = [line.split('\t')[1:] for line in help_of(shard, '--commands').splitlines() if line.startswith('command\t')]
    return '\n'.join(['| command | what |', '| --- | --- |', *(f'| `shard {name}` | {what} |' for name, what in rows)])


def language(shard):
    with open(os.path.join(HERE, '../language.md'), encoding='utf-8') as f: text = f.read()
    for name, made in (('functions', functions(shard)), ('commands', commands(shard))):
        text, count = re.subn(rf'(<!-- {name}: [^\n]*-->\n).*?(<!-- end -->)', lambda m: f'{m[1]}\n{made}\n\n{m[2]}', text, flags=re.S)
        if count != 1: sys.exit(f'language.md has the marks of its list of {name} {count} times, and not once')
    return text


def main():
    shard = os.path.abspath(sys.argv[1])
    words = words_of(shard)
    stale = []
    for path, text in (('vscode/shard.tmLanguage.json', textmate(words)), ('vim/syntax/shard.vim', vim(words)), ('../language.md', language(shard))):
        path = os.path.join(HERE, path)
        there = open(path, encoding='utf-8').read() if os.path.exists(path) else None
        if there == text: continue
        stale.append(os.path.relpath(path, HERE))
        if '--check' in sys.argv: continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f: f.write(text)
    if '--check' in sys.argv:
        print(f'these are not what the program knows: {", ".join(stale)}; run grammar/editors/make.py SHARD' if stale else 'editors and language.md list what the program knows')
        return 1 if stale else 0
    print('\n'.join('written: ' + s for s in stale) or 'nothing has changed')
    return 0


if __name__ == '__main__': sys.exit(main())
