#!/usr/bin/env python3
"""What editors and shells know of Shard is what the program knows: colours, man page, completions.   editors.py SHARD   closes with "N passed, N failed" """
import gzip, json, os, re, shutil, subprocess, sys, tempfile

import cli
from cli import SHARD, case, check, shard

cli.CASES.clear()
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EDITORS = f'{ROOT}/grammar/editors'


def read(path):
    with open(path, encoding='utf-8') as f: return f.read()


def run(*words, **more): return subprocess.run(words, capture_output=True, text=True, timeout=60, **more)


def words():
    return {kind: some.split() for kind, some in (line.split(': ', 1) for line in shard('help', '--words').stdout.splitlines())}


def made():
    folder = tempfile.mkdtemp()
    p = run(sys.executable, f'{ROOT}/interpreter/repl/manual.py', SHARD, folder)
    check(p.returncode == 0, 'manual.py', p)
    return folder


@case
def colours_are_made_of_the_words():
    p = run(sys.executable, f'{EDITORS}/make.py', SHARD, '--check')
    check(p.returncode == 0, 'up to date', p)


@case
def every_word_has_a_colour():
    grammar = json.loads(read(f'{EDITORS}/vscode/shard.tmLanguage.json'))
    patterns = [(x['name'], re.compile(x['match'])) for x in grammar['patterns'] if 'match' in x and 'name' in x]
    def colour(text): return next((name for name, pattern in patterns if pattern.match(text)), None)
    known = words()
    for w in known['keywords']: check(re.match(r'storage|keyword|constant', colour(w) or ''), f'{w}: {colour(w)}')
    for w in known['types']: check(colour(w) == 'support.type.shard', w)
    for w in set(known['functions']) - set(known['keywords']): check(colour(w + '(x)') == 'support.function.shard', f'{w}: {colour(w + "(x)")}')
    check(colour('@data') == 'entity.name.tag.axis.shard' and colour('0x1f') == 'constant.numeric.shard' and colour('# a') and colour('mine(') == 'entity.name.function.shard', 'others')
    check(colour('mine') is None, 'a name')
    syntax = read(f'{EDITORS}/vim/syntax/shard.vim')
    for w in known['keywords'] + known['types'] + known['functions']: check(re.search(rf'(?<!\w){w}(?!\w)', syntax), f'{w} in Vim')


@case
def the_files_of_vs_code_fit_together():
    package = json.loads(read(f'{EDITORS}/vscode/package.json'))
    json.loads(read(f'{EDITORS}/vscode/language-configuration.json'))
    language, grammar = package['contributes']['languages'][0], package['contributes']['grammars'][0]
    for path in (package['main'], language['configuration'], grammar['path']): check(os.path.exists(f'{EDITORS}/vscode/{path}'), path)
    check(grammar['scopeName'] == json.loads(read(f'{EDITORS}/vscode/shard.tmLanguage.json'))['scopeName'] and grammar['language'] == language['id'], 'names')
    settings = package['contributes']['configuration']['properties']
    client = read(f'{EDITORS}/vscode/client.js')
    for used in re.findall(r"settings\.get\('(\w+)'\)", client): check('shard.' + used in settings, used)
    if shutil.which('node'): check(run('node', '--check', f'{EDITORS}/vscode/client.js').returncode == 0, 'client.js')


@case
def vim_reads_its_files():
    vim = shutil.which('vim') or shutil.which('vi')
    if not vim or '+syntax' not in run(vim, '--version').stdout: return print('no Vim with colours: it is not tried')
    path = cli.script('let x = f32(1)  # a\nprint("{x}", @data)\n')
    out = tempfile.mktemp()
    group = lambda l, c: f"synIDattr(synID({l},{c},1),'name')"
    p = run(vim, '-N', '-u', 'NONE', '-i', 'NONE', '-es', '--cmd', f'set rtp+={EDITORS}/vim', '-c', 'filetype plugin on', '-c', 'syntax on', '-c', f'edit {path}', '-c',
            f"call writefile([{group(1, 1)}, {group(1, 9)}, {group(1, 17)}, {group(2, 1)}, {group(2, 8)}, {group(2, 15)}, &shiftwidth], '{out}')", '-c', 'qa!')
    check(read(out).split('\n')[:7] == ['shardDeclaration', 'shardType', 'shardComment', 'shardFunction', 'shardEscape', 'shardAxis', '2'], read(out))


@case
def the_man_page_tells_every_command_and_option():
    page = gzip.decompress(open(made() + '/shard.1.gz', 'rb').read()).decode().replace('\\-', '-')
    for line in shard('help', '--commands').stdout.splitlines():
        kind, *parts = line.split('\t')
        check((f'shard {parts[0]}' if kind == 'command' else parts[1] if parts[1].startswith('-') else parts[1].upper()) in page, line)
    for name in re.findall(r'^  (\w+)  ', shard('--help').stdout.split('ubcommands:')[1], re.M): check(f'shard {name}' in page, name)
    if shutil.which('man'): check('warning' not in run('man', '--warnings', '-l', '-', input=page).stderr, 'roff')


@case
def every_option_of_the_command_line_is_in_the_table():
    table = shard('help', '--commands').stdout
    for name in re.findall(r'^command\t(\w+)', table, re.M):
        told = set(re.findall(rf'^option\t{name}\t(-\S+)', table, re.M)) | {'-h', '--help'}
        said = set(re.findall(r'^\s+(?:-h,)?(-[\w-]+)', shard(name, '--help').stdout, re.M))
        check(said == told - {'-h'} or said <= told and told - said <= {'-h'}, f'{name}: {said ^ told}')


@case
def shells_complete():
    folder = made()
    ask = lambda *words: run('bash', '-c', f'. {folder}/shard; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _shard; printf "%s\\n" "${{COMPREPLY[@]}}"', cwd=f'{ROOT}/scripts',
                             env={**os.environ, 'PATH': os.path.dirname(SHARD) + ':' + os.environ['PATH']}).stdout.split()
    check(ask('shard', 'ch') == ['check'], str(ask('shard', 'ch')))
    check({'--devices', '--deny-warnings'} <= set(ask('shard', 'check', '--de')), str(ask('shard', 'check', '--de')))
    check(ask('shard', 'run', 'quick') == ['quickstart.shard'], str(ask('shard', 'run', 'quick')))
    check('matmul' in ask('shard', 'help', 'matm'), str(ask('shard', 'help', 'matm')))
    for program, words in (('zsh', ['-n', folder + '/_shard']), ('fish', ['--no-execute', folder + '/shard.fish'])):
        if shutil.which(program): check(run(program, *words).returncode == 0, program)


@case
def the_version_says_commit_and_instruction_sets():
    p = shard('--version')
    check(re.fullmatch(r'shard \d+\.\d+\.\d+ \(commit [\w.-]+\)\nkernels for .+; here (sse2|avx2|avx512)\n', p.stdout), 'version', p)


if __name__ == '__main__': sys.exit(cli.main())
