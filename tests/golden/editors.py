#!/usr/bin/env python3
"""What editors and shells know of Shard is what the program knows: colours, man page, completions.   editors.py SHARD   closes with "N passed, N failed" """
import gzip, json, os, pty, re, shutil, signal, subprocess, sys, tempfile

import cli
from cli import SHARD, case, check, shard
import scratch

cli.CASES.clear()
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EDITORS = f'{ROOT}/grammar/editors'


def read(path):
    with open(path, encoding='utf-8') as f: return f.read()


def run(*words, **more): return subprocess.run(words, capture_output=True, text=True, timeout=300, **more)


def words():
    return {kind: some.split() for kind, some in (line.split(': ', 1) for line in shard('help', '--words').stdout.splitlines())}


def made():
    folder = scratch.folder()
    p = run(sys.executable, f'{ROOT}/interpreter/cli/manual.py', SHARD, folder)
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
    p = run(vim, '-N', '-u', 'NONE', '-i', 'NONE', '-es', '--cmd', f"let &rtp .= ',{EDITORS}/vim'", '-c', 'filetype plugin on', '-c', 'syntax on', '-c', f'edit {path}', '-c',
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


def with_shard(): return {**os.environ, 'PATH': os.path.dirname(SHARD) + os.pathsep + os.environ['PATH'], 'TERM': 'dumb'}


def zsh_completes(folder, typed):
    """The line that zsh makes of this one when Tab is pressed behind it."""
    signal.alarm(60)  # it ends, whatever zsh does
    out = tempfile.mktemp()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(f'{ROOT}/scripts')
        os.execvpe('zsh', ['zsh', '-f', '-i'], with_shard())
    begin = f'fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -d {out}.dump; shown() {{ print -r -- "$BUFFER" >{out}; exit }}; zle -N shown; bindkey "^X" shown\n'
    os.write(terminal, (begin + typed + '\t\x18').encode())
    try:
        while os.read(terminal, 4096): pass  # to the end of zsh
    except OSError: pass
    os.close(terminal)
    os.waitpid(child, 0)
    signal.alarm(0)
    return read(out).rstrip('\n') if os.path.exists(out) else None


@case
def neovim_starts_the_server():
    nvim = shutil.which('nvim')
    if not nvim: return print('no Neovim: it is not tried')
    path, out = cli.script('mesh m = (@data: 4)\nlet x = shard zeros([8, 4]) as P(@data)\nprint(xy)\n'), tempfile.mktemp()
    ask = """lua vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end)
        local place = { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 1, character = 4 } }
        local text = ''
        vim.wait(30000, function()
          local _, first = next(vim.lsp.buf_request_sync(0, 'textDocument/hover', place, 10000) or {})
          text = first and first.result and first.result.contents.value or ''
          return text:find(': ') ~= nil
        end, 50)
        vim.fn.writefile({ vim.diagnostic.get(0)[1].code, vim.split(text, '\\n')[2] }, '%s')""" % out
    p = run(nvim, '--headless', '-u', 'NONE', '-i', 'NONE', '--cmd', f"let &rtp .= ',{EDITORS}/vim'", '-c', 'filetype plugin on', '-c', f'edit {path}', '-c', ask.replace('\n', ' '), '-c', 'qa!', env=with_shard())
    check(os.path.exists(out) and read(out).split() == ['name', 'x:', 'f32[8@data,4]'], 'diagnostics and hover', p)


@case
def shells_complete():
    folder = made()
    ask = lambda *words: run('bash', '-c', f'. {folder}/shard; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _shard; printf "%s\\n" "${{COMPREPLY[@]}}"', cwd=f'{ROOT}/scripts',
                             env={**os.environ, 'PATH': os.path.dirname(SHARD) + ':' + os.environ['PATH']}).stdout.split()
    check(ask('shard', 'ch') == ['check'], str(ask('shard', 'ch')))
    check({'--devices', '--deny-warnings'} <= set(ask('shard', 'check', '--de')), str(ask('shard', 'check', '--de')))
    check(ask('shard', 'run', 'quick') == ['quickstart.shard'], str(ask('shard', 'run', 'quick')))
    check('matmul' in ask('shard', 'help', 'matm'), str(ask('shard', 'help', 'matm')))
    if shutil.which('fish'):
        ask = lambda line: [l.split('\t')[0] for l in run('fish', '-c', f'source {folder}/shard.fish; complete -C "{line}"', cwd=f'{ROOT}/scripts', env=with_shard()).stdout.splitlines()]
        check(ask('shard ch') == ['check'] and {'--devices', '--deny-warnings'} <= set(ask('shard check --de')) and ask('shard run quick') == ['quickstart.shard'] and ask('shard help matm') == ['matmul'], 'fish')
    if shutil.which('zsh'):
        for typed, want in (('shard che', 'shard check '), ('shard check --deny', 'shard check --deny-warnings '), ('shard run quick', 'shard run quickstart.shard '), ('shard help matm', 'shard help matmul ')):
            got = zsh_completes(folder, typed)
            check(got == want, f'zsh: {got!r}, not {want!r}')


@case
def the_version_says_commit_compiler_and_instruction_sets():
    p = shard('--version')
    check(re.fullmatch(r'shard \d+\.\d+\.\d+ \(commit [\w.-]+\)\ncompiled by \w+ [\d.]+ for \w+\nkernels for .+; here (sse2|avx2|avx512)\n', p.stdout), 'version', p)


if __name__ == '__main__': sys.exit(cli.main())
