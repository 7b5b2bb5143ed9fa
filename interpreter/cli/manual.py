#!/usr/bin/env python3
"""The man page and the completions of bash, zsh and fish, of the table that the command line itself is made of (`shard help --commands`).

    manual.py SHARD FOLDER    writes shard.1.gz, shard (of bash), _shard (of zsh) and shard.fish there
"""
import gzip, os, re, subprocess, sys


def table(shard):
    """[(command, what, [(name, kind, what), ...]), ...]"""
    commands = []
    for line in subprocess.run([shard, 'help', '--commands'], capture_output=True, text=True, check=True).stdout.splitlines():
        kind, *parts = line.split('\t')
        if kind == 'command': commands.append((*parts, []))
        else: commands[-1][2].append((parts[1], parts[2], parts[3]))
    return commands


def roff(text): return re.sub(r'^([.\'])', r'\\&\1', re.sub(r'`([^`]*)`', r'\\fB\1\\fP', text.replace('\\', r'\e').replace('-', r'\-')), flags=re.M)


def takes(kind): return kind in ('value', 'values')


def man(commands, version):
    out = [f'.TH SHARD 1 "" "shard {version}" "User Commands"', '.SH NAME', r'shard \- a small language for training models whose arrays live on many devices', '.SH SYNOPSIS',
           '.nf', r'\fBshard\fP \fIFILE\fP [\fIOPTIONS\fP] [\-\- \fIWORDS\fP]', r'\fBshard\fP \fICOMMAND\fP [\fIOPTIONS\fP]', '.fi', '.SH DESCRIPTION',
           roff('A script declares a mesh of devices, lays arrays out over it and trains; the interpreter finds what the devices must send each other, and runs it on simulated devices. '
                '`shard FILE` runs a script, `shard` alone is interactive, `shard help NAME` explains any function or word of the language.'), '.SH COMMANDS']
    for name, what, options in commands:
        words = ' '.join(rf'\fI{o.upper()}\fP' + ('...' if kind == 'words' else '') for o, kind, _ in options if kind in ('word', 'words'))
        out += ['.SS', rf'shard {name} {words}'.rstrip(), roff(what) + '.']
        for o, kind, about in options: out += ['.TP', rf'\fI{o.upper()}\fP' if kind in ('word', 'words') else r'\fB' + roff(o) + r'\fP' + (r' \fIVALUE\fP' if takes(kind) else ''), roff(about)]
    out += ['.SH EXIT STATUS', '0; 1 for errors of a script, of a test, of output; 2 for wrong usage and where no test is found; 130 after Ctrl\\-C, 143 after SIGTERM.',
            '.SH ENVIRONMENT', '.TP', r'\fBNO_COLOR\fP', 'No colours unless they are asked for.', '.TP', r'\fBSHARD_ISA\fP', r'Fewer instruction sets than the machine has: \fBsse2\fP or \fBavx2\fP.',
            '.TP', r'\fBSHARD_KERNELS\fP', r'\fBloops\fP: no machine code is generated while a script runs. The results are the same.', '']
    return '\n'.join(out)


def flags(options): return [o for o, kind, _ in options if kind not in ('word', 'words')]


def bash(commands):
    cases = '\n'.join(f'    {name}) options="{" ".join(flags(options))}" ;;' for name, _, options in commands)
    names = ' '.join(name for name, _, _ in commands)
    return f'''# Made by manual.py.
_shard() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" options=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{names} --help --version" -- "$word"))
  elif [ "$command" = help ] && [[ "$word" != -* ]]; then
    COMPREPLY=($(compgen -W "$(shard help --words 2>/dev/null | cut -d: -f2)" -- "$word"))
    return
  fi
  case "$command" in
{cases}
    *) options="{' '.join(flags(commands[0][2]))}" ;;
  esac
  if [[ "$word" == -* && "$COMP_CWORD" -gt 1 ]]; then
    COMPREPLY=($(compgen -W "$options --help" -- "$word"))
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -X '!*.shard' -- "$word") $(compgen -d -- "$word"))
  fi
}}
complete -F _shard shard
'''


def quoted(text): return text.replace("'", "'\\''")


def zsh(commands):
    described = '\n'.join(f"    '{name}:{quoted(what).replace(':', chr(92) + ':')}'" for name, what, _ in commands)
    def option(o, kind, what):
        about = quoted(what).replace('[', '(').replace(']', ')').replace(':', '\\:')
        return f"'{'*' if kind == 'values' else ''}{o}[{about}]{':value:' if takes(kind) else ''}'"
    names = """'*:name:{compadd -- ${=${(f)"$(shard help --words 2>/dev/null)"}#*:}}'"""
    cases = '\n'.join(f"    {name}) _arguments {' '.join(option(*o) for o in options if o[1] not in ('word', 'words'))} {names if name == 'help' else chr(39) + '*:file:_files' + chr(39)} ;;" for name, _, options in commands)
    return f'''#compdef shard
# Made by manual.py.
_shard() {{
  local -a commands
  commands=(
{described}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _files -g '*.shard'
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{cases}
    *) _files ;;
  esac
}}
_shard "$@"
'''


def fish(commands):
    out = ['# Made by manual.py.']
    q = lambda text: "'" + text.replace('\\', '\\\\').replace("'", "\\'") + "'"
    for name, what, options in commands:
        out.append(f'complete -c shard -n __fish_use_subcommand -a {name} -d {q(what)}')
        for o, kind, about in options:
            if kind not in ('word', 'words'): out.append(f"complete -c shard -n '__fish_seen_subcommand_from {name}' -l {o[2:]}{' -r' if takes(kind) else ''} -d {q(about)}" if o.startswith('--') else
                                                         f"complete -c shard -n '__fish_seen_subcommand_from {name}' -s {o[1:]}{' -r' if takes(kind) else ''} -d {q(about)}")
    out.append("complete -c shard -n '__fish_seen_subcommand_from help' -f -a '(shard help --words 2>/dev/null | string replace -r \"^[^:]*:\" \"\" | string split -n \" \")'")
    return '\n'.join(out) + '\n'


def main():
    shard, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    commands = table(shard)
    version = subprocess.run([shard, '--version'], capture_output=True, text=True, check=True).stdout.split()[1]
    os.makedirs(folder, exist_ok=True)
    for name, text in (('shard.1.gz', man(commands, version)), ('shard', bash(commands)), ('_shard', zsh(commands)), ('shard.fish', fish(commands))):
        data = text.encode()
        with open(os.path.join(folder, name), 'wb') as f: f.write(gzip.compress(data, 9, mtime=0) if name.endswith('.gz') else data)


if __name__ == '__main__': main()
