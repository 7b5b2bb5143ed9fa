#!/usr/bin/env python3
"""How the `shard` program behaves: exit status, where text goes, pipes, signals, the REPL.   cli.py SHARD   closes with "N passed, N failed" """
import json, os, pty, re, select, shutil, signal, stat, subprocess, sys, time
import scratch

SHARD = os.path.abspath(sys.argv[1])
SLOW = float(os.environ.get('CLI_SLOW', '1'))          # sanitizer builds start later
CASES = []


def case(f):
    CASES.append(f)
    return f


def shard(*args, text=None, **more):
    return subprocess.run([SHARD, *args], input=text, capture_output=True, text=True, timeout=300, **more)


def script(text, name='case.shard'):
    path = os.path.join(scratch.folder(), name)
    with open(path, 'w', encoding='utf-8') as f: f.write(text)
    return path


def check(condition, what, p=None):
    if not condition: raise AssertionError(what + (f'\nstatus {p.returncode}\nstdout: {p.stdout[:400]}\nstderr: {p.stderr[:600]}' if p else ''))


@case
def runs_a_file_with_and_without_the_word_run():
    path = script('print(1 + 1)\n')
    for args in (['run', path], [path]):
        p = shard(*args)
        check(p.returncode == 0 and p.stdout == '2\n' and p.stderr == '', 'prints 2', p)


@case
def reads_a_script_from_standard_input():
    p = shard('run', '-', text='print("in")\n')
    check(p.returncode == 0 and p.stdout == 'in\n', 'runs standard input', p)


@case
def errors_go_to_standard_error_with_place_and_status_1():
    path = script('let a = 1\nprint("before")\nprint(a + undefined_name)\n')
    p = shard('run', path)
    check(p.returncode == 1 and 'undefined_name' in p.stderr and f'{path}:3:11: error:' in p.stderr and '^' in p.stderr, 'shows the place', p)
    check('\x1b' not in p.stderr, 'no colours into a pipe', p)


@case
def errors_show_the_calls_that_led_there():
    p = shard('run', script('fn f(x) = x[9]\nfn g(x) = f(x)\ng([1, 2])\n'))
    check(p.returncode == 1 and 'in f, called at' in p.stderr and 'in g, called at' in p.stderr, 'lists the calls', p)


@case
def output_comes_before_the_error():
    p = subprocess.run([SHARD, 'run', script('print("first")\nerror("second")\n')], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    check(p.stdout.index('first') < p.stdout.index('second'), 'in order', None)


@case
def missing_files_and_folders_are_told():
    p = shard('run', '/no/such/file.shard')
    check(p.returncode == 1 and 'cannot read' in p.stderr and '/no/such/file.shard' in p.stderr and 'No such file' in p.stderr, 'missing file', p)
    p = shard('run', scratch.folder())
    check(p.returncode == 1 and 'folder' in p.stderr, 'folder', p)


@case
def the_head_of_a_script_says_how_many_devices():
    text = '# A few words.\n# devices: 16\nmesh m = (@x: 16)\njit fn f(x) = sum(x)\nprint(len(devices()), f(shard ones([16]) as P(@x)))\n'
    path = script(text)
    for words in (['run', path], ['check', path], ['explain', path], ['estimate', path, '--chip', 'h100'], ['test', path], [path]):
        p = shard(*words)
        check(p.returncode == 0 or words[0] == 'test', ' '.join(words), p)   # it has no tests
        check('the mesh needs' not in p.stderr, ' '.join(words), p)
    p = shard('run', '-', text=text)
    check(p.stdout == '16 16.0\n', 'standard input', p)
    p = shard('run', path, '--devices', '4')
    check(p.returncode == 1 and 'needs 16 devices, and there are 4' in p.stderr, 'the command line comes first', p)
    p = shard('run', script('let x = 1\n# devices: 16\nprint(len(devices()))\n'))
    check(p.stdout == '8\n', 'behind a statement it is a comment', p)


@case
def engines_that_are_not_there_are_told():
    path = script('print(1)\n')
    for engine, words in (('xlo', 'did you mean `xla`'), ('cuda', '`shard engines` lists them'), ('xla:/no/such.so', "no plug-in '/no/such.so'"),
                          (f'xla:{path}', 'cannot be loaded'), ('abstract', 'there is no engine')):
        p = shard('run', path, '--engine', engine)
        check(p.returncode == 1 and p.stderr.startswith('error: ') and words in p.stderr and not p.stdout, engine, p)
    p = shard('run', path, '--engine', 'exact', '--debug-nans')
    check(p.returncode == 1 and 'chosen twice' in p.stderr, 'two engines', p)
    p = shard('run', path, '--engine', 'exact')
    check(p.returncode == 0 and p.stdout == '1\n', 'one that is built in', p)
    p = shard('run', path, '--engine-process')
    check(p.returncode == 2 and 'is for --engine xla' in p.stderr, 'a process for no plug-in', p)
    aborts = os.path.join(scratch.folder(), 'aborts.so')
    if shutil.which('cc'):
        subprocess.run(['cc', '-shared', '-fPIC', '-o', aborts, '-x', 'c', '-'], input='#include <stdlib.h>\nconst void* GetPjrtApi(void) { abort(); }\n', text=True, check=True)
        p = shard('run', path, '--engine', 'xla:' + aborts, '--engine-process')
        check(p.returncode == 1 and p.stderr.startswith('error: the plug-in ended its process (Aborted), before a script ran'), 'one that aborts', p)
        p = shard('test', script('test "a" { assert(true) }\n'), '--engine', 'xla:' + aborts, '--engine-process')
        check(p.returncode == 1 and 'the process ended by signal 6 (Aborted)' in p.stdout + p.stderr and '1 failed' in p.stdout, 'one that aborts, of tests', p)
    for machine, words in (('h100x8', 'no plug-in'), ('h200x8', 'no plug-in'), ('a100x8', 'no plug-in'), ('a100-40x2', 'no plug-in'), ('b200x8', 'no plug-in'),
                           ('b100x8', "there is no machine 'b100x8': write a100-80x8, a100-40x8, h100x8, h200x8, b200x8, v5e:2x4 (TPUs) or cpu:8")):
        p = shard('compile', path, '--for', machine, '--engine', '/no/such.so')   # a chip of stdlib/chips.shard
        check(p.returncode == 1 and words in p.stderr, machine, p)
    p = shard('engines', path)
    check(p.returncode == 0 and 'lockstep  ' in p.stdout and f'xla:{path}' in p.stdout and 'error: ' in p.stdout, 'what is no plug-in', p)


@case
def wrong_usage_is_status_2():
    path = script('print(1)\n')
    for args in (['run'], ['run', path, '--no-such-option'], ['run', path, '--devices', '0'], ['run', path, '--devices', 'x'], ['run', path, '--set', 'novalue'],
                 ['fmt'], ['launch'], ['explain'], ['lsp', 'x.shard']):
        p = shard(*args)
        check(p.returncode == 2 and (p.stderr or p.stdout), ' '.join(args), p)


@case
def misspelt_words_are_told():
    path = script('print(1)\n')
    for args, near in ((['rnu', path], 'shard run'), (['tset', path], 'shard test'), (['chekc', path], 'shard check')):
        p = shard(*args)
        check(p.returncode == 2 and args[0] in p.stderr and f'did you mean `{near}`' in p.stderr, 'a command', p)
    p = shard('run', path, '--device', '4')
    check(p.returncode == 2 and "no option '--device'" in p.stderr and 'did you mean `--devices`' in p.stderr, 'an option', p)
    p = shard('run', path, '--frobnicate')
    check(p.returncode == 2 and "no option '--frobnicate'" in p.stderr and '--help' in p.stderr, 'no option at all', p)
    p = shard('help', 'run')
    check(p.returncode == 0 and 'shard run --help' in p.stdout, 'help of a command', p)


@case
def bytes_that_are_no_text_are_told():
    def said(data):
        path = script('')
        with open(path, 'wb') as f: f.write(data)
        return shard('run', path)
    check(said(b'\xef\xbb\xbfprint(1)\r\nprint(2)\r\n').stdout == '1\n2\n', 'a byte order mark and carriage returns')
    for data, words in ((b'print(1)\0\n', 'the character U+0000'), (b'print(1)\x07\n', 'the character U+0007'),
                        (b'let x = 1\rprint(x)\r', 'carriage return alone'), (b'print("caf\xe9")\n', 'not UTF-8'),
                        ('print(1)\u200b\n'.encode(), 'the character U+200B'), ('let x\u00a0= 1\n'.encode(), 'this blank is U+00A0'),
                        (b'x' * 100000 + b'\n', 'unknown name `xxxx')):
        p = said(data)
        check(p.returncode == 1 and words in p.stderr and len(p.stderr) < 1000, words, p)


@case
def help_and_version():
    p = shard('--version')
    check(p.returncode == 0 and re.match(r'shard \d+\.\d+', p.stdout), 'version', p)
    p = shard('--help')
    check(p.returncode == 0 and 'run' in p.stdout and 'repl' in p.stdout, 'help', p)
    p = shard('help', 'matmul')
    check(p.returncode == 0 and 'matmul(' in p.stdout, 'help matmul', p)
    p = shard('help', 'nn')
    check(p.returncode == 0 and 'linear(inputs, outputs' in p.stdout and 'cross_entropy(' in p.stdout, 'help nn', p)
    p = shard('help', 'optim.adam')
    check(p.returncode == 0 and 'adam(lr' in p.stdout, 'help optim.adam', p)
    p = shard('help', 'no_such_function')
    check(p.returncode == 1 and 'no_such_function' in p.stderr, 'help of nothing', p)
    check(shard('help', 'qq; zz').returncode == 1, 'help of no name')


@case
def devices_and_set():
    path = script('let rate = 0.5\nlet name = "a"\nprint(device_count(), rate, name)\n')
    before = shard('run', '--allow', 'unused-axis', '--set', 'rate=0.25', '--set', 'name=b c', '--devices', '4', path)   # in front of the file too
    p = shard('run', path, '--devices', '4', '--set', 'rate=0.25', '--set', 'name=b c')
    check((before.returncode, before.stdout) == (p.returncode, p.stdout), 'settings in front of the file', before)
    check(p.returncode == 0 and p.stdout == '4 0.25 b c\n', 'settings', p)
    p = shard(path, '--devices', '2')
    check(p.stdout.startswith('2 0.5 a'), 'settings without run', p)


@case
def exact_adds_the_terms_of_all_devices_in_one_order():
    # 1 on device 0 and h, half a unit in its last place, on seven others: (1 + 2h) + 4h is 1 + 6h.
    path = script('mesh m = (@X: 8)\nlet h = 2.0 ** -24\nlet x = shard where(arange(8) == 0, 1.0, h).reshape([1, 8]) as P(_, @X)\n'
                  'print(((x @ (shard ones([8, 1]) as P(@X)))[0, 0] - 1.0) / h)\ntest "t" { assert(true) }\n')
    for args in (['run', path, '--exact'], [path, '--exact'], ['--exact', path], ['test', path, '--exact']):
        p = shard(*args)
        check(p.returncode == 0 and p.stdout.startswith('6.0\n'), ' '.join(args), p)


@case
def check_finds_what_is_wrong_without_running():
    good, bad = script('print("ran")\n'), script('let x = (1 +\n')
    p = shard('check', good)
    check(p.returncode == 0 and p.stdout == '', 'a good file', p)
    p = shard('check', bad)
    check(p.returncode == 1 and 'error:' in p.stderr, 'a bad file', p)
    p = shard('check', bad, good, '--json')
    found = json.loads(p.stdout)
    check(p.returncode == 1 and found and found[0]['file'] == bad and found[0]['line'] >= 1 and found[0]['message'], 'as JSON', p)
    check(json.loads(shard('check', good, '--json').stdout) == [], 'nothing wrong as JSON')
    typed = script('mesh m = (@X: 8) explicit\nfn f(x, y) = x + y\nprint("not printed")\nf(zeros([4]), zeros([5]))\n')
    p = shard('check', typed)
    check(p.returncode == 1 and 'f32[4]' in p.stderr and ':2:' in p.stderr and p.stdout == '', 'types', p)
    check(shard('check', typed, '--names').returncode == 0, 'names only')


@case
def explain_tells_each_compiled_call():
    """Bytes by hand: the gradient of w is 16 x 4 f32 = 256, a device has 2 x 16 of x = 128 ; in ring a device sends its
    128 three times and gathers four times 128, and adds 32 elements on each of 4 devices. The update of w, a product and
    a difference of 64 elements, is computed on three devices more than one would."""
    path = script("""mesh m = (@X: 4)
fn loss(w, x) = mean((x @ w) ** 2)
jit fn step(w, x) = w - 0.1 * grad(loss)(w, x)
manual fn ring(x: P(@X)) -> P(@X) {
  for i in 0..3 { x = ppermute(x, @X, shift: 1) }
  x + all_gather(x, @X)[0]
}
let x = shard ones([8, 16]) as P(@X)
let w = zeros([16, 4])
for i in 0..3 { w = step(w, x) }
print("not shown", ring(x))
""")
    folder, name = os.path.split(path)
    p = shard('explain', name, cwd=folder)
    check(p.returncode == 0 and p.stderr == '', 'status', p)
    step, ring = p.stdout.split('\n\n')
    done, alone = (int(n.replace(',', '')) for n in re.search(r'computes  ([\d,]+) .*\n    1\.\d\d times the ([\d,]+) of one device', step).groups())
    check(0 <= done - alone - 3 * 2 * 64 < 3 * 4, 'work, beside that of scalars', p)
    check(re.sub(r'computes .*\n.*|\d+ of temporaries', '', step) == """step(f32[16,4], f32[8@X,16])
  at case.shard:3, on 4 devices (@X: 4)
   2 | fn loss(w, x) = mean((x @ w) ** 2)
     |   psum  @X  256 bytes  sends 384  inserted, backward
     |     `x @ w` of f32[8@X,16] (`x`) and f32[8@X,4] is a sum over @X; `w -
     |       0.1 * grad(loss)(w, x)` of line 3 wants it as f32[16,4]
  communicates  1 psum of 256 bytes
  a device sends  384 bytes in rings
  a device holds  384 bytes of arguments, 256 of results, 
  """, 'step', p)
    check(re.sub(r'\d+ of temporaries', '', ring) == """ring(f32[8@X,16])
  at case.shard:4, on 4 devices (@X: 4)
   5 | for i in 0..3 { x = ppermute(x, @X, shift: 1) }
     |   ppermute    @X  3 times  384 bytes  sends 384  written
   6 | x + all_gather(x, @X)[0]
     |   all_gather  @X           512 bytes  sends 384  written
  communicates  3 ppermute of 384 bytes, 1 all_gather of 512 bytes
  a device sends  768 bytes in rings
  a device holds  128 bytes of arguments, 128 of results, 
  computes  128 floating point operations on all devices together
""", 'ring', p)
    check(max(len(line) for line in p.stdout.splitlines()) <= 80, '80 columns', p)
    # explain(f, x...) prints the same, and runs nothing.
    path = script("""mesh m = (@X: 4)
jit fn total(p, x) { print("ran", x); sum(x @ p.w) }
explain(total, {w: ones([4, 2])}, shard ones([8, 4]) as P(@X))
""")
    p = shard(path)
    check(p.returncode == 0 and p.stdout.startswith("total({w: f32[4,2]}, f32[8@X,4])\n") and re.search(r'psum +@X +4 bytes  sends +6  inserted', p.stdout)
          and '\nran' not in p.stdout and p.stdout.count('"ran"') == 2, 'the builtin, which shows the code twice', p)
    p = shard('explain', script('mesh m = (@X: 4)\nprint(zeros([2]))\n'))
    check(p.returncode == 0 and p.stdout.startswith('nothing is compiled'), 'nothing', p)
    p = shard('explain', script('mesh m = (@X: 4)\njit fn f(x) = x + 1\nf(1.0)\nf(zeros([2]) + zeros([3]))\n'))
    check(p.returncode == 1 and p.stdout.startswith('f(f32[])') and ':4:' in p.stderr, 'an error after the first call', p)
    check(shard('explain', '/no/such.shard').returncode == 1, 'a missing file')
    p = shard('explain', script('let n = 1\nmesh m = (@X: 4)\njit fn f(x) = x + n\nf(zeros([device_count()]))\n'), '--devices', '4', '--set', 'n=2')
    check(p.returncode == 0 and p.stdout.startswith('f(f32[4])'), 'settings', p)


@case
def tests_run_in_order_and_go_on_after_a_failure():
    path = script('let a = 1\ntest "holds" { assert(a == 1) }\ntest "fails" { assert(a == 2) }\ntest "after" { let a = 5; assert(a == 5) }\nprint("end")\n')
    p = shard('test', path)
    check(p.returncode == 1 and '2 passed, 1 failed, 0 skipped' in p.stdout and 'fails' in p.stdout and 'end' in p.stdout, 'counts', p)
    p = shard('run', path)
    check(p.returncode == 0 and p.stdout == 'end\n', 'run skips tests', p)


@case
def a_wrong_name_fails_its_test_alone():
    path = script('let a = 1\ntest "first" { assert(a == 1) }\ntest "unknown" { print(nowhere) }\ntest "undeclared" { fn f() { b = 2 }\n f() }\n'
                  'test "builtin" { sum = 3 }\ntest "last" { assert(a == 1) }\n')
    for jobs in ('1', '2'):
        p = shard('test', '--jobs', jobs, path)
        check(p.returncode == 1 and '2 passed, 3 failed, 0 skipped' in p.stdout and 'not run' not in p.stdout, 'counts', p)
        for told in ('unknown name `nowhere`', '`b` is assigned but not declared', '`sum` is a builtin and cannot be assigned'):
            check(p.stdout.count(told) == 1, told, p)
    p = shard('test', script('test "first" { assert(true) }\nprint(nowhere)\n'))
    check(p.returncode == 1 and '0 passed, 1 failed' in p.stdout and 'not run' in p.stdout, 'outside of tests', p)
    check(shard('run', path).returncode == 1, 'a run wants all names')


@case
def the_repl_reads_entries_from_a_pipe():
    p = shard('repl', text='let a = 2\na + 1\nfn f(x) {\n  x * 10\n}\nf(a)\n"text"\n[1, "b"]\n')
    check(p.returncode == 0 and p.stdout == '3\n20\n"text"\n[1, "b"]\n', 'values', p)
    p = shard(text='1 + 1\n')
    check(p.returncode == 0 and p.stdout == '2\n', 'no arguments', p)


@case
def the_repl_survives_errors():
    p = shard('repl', text='nothing_here\n1 + 2\nlet x = (\n')
    check('nothing_here' in p.stderr and p.stdout == '3\n' and p.returncode == 1, 'goes on', p)
    p = shard('repl', text=':type 1.5\n:nonsense\n:quit\n7\n')
    check('f32[]' in p.stdout and 'no :nonsense' in p.stdout and '7' not in p.stdout, 'commands', p)


@case
def the_repl_is_left_by_the_words_for_it():
    for word in (':quit', ':q', 'quit', 'exit', 'exit()', 'quit()'):
        p = shard('repl', text=f'1\n{word}\n7\n')
        check(p.returncode == 0 and p.stdout == '1\n' and p.stderr == '', word, p)
    p = shard('repl', text='let exit = 3\nexit\nhelp\n')
    check(p.returncode == 0 and p.stdout.startswith('3\n') and ':quit' in p.stdout, 'a name of that kind', p)


@case
def a_reader_that_goes_away_ends_it_quietly():
    p = subprocess.run(f'"{SHARD}" run "{script("for i in 0..100000 { print(i) }")}" 2>&1 1>/dev/null | cat; "{SHARD}" run "{script("for i in 0..100000 { print(i) }")}" | head -n 1',
                       shell=True, capture_output=True, text=True, timeout=300)
    check(p.stdout == '0\n' and p.stderr == '', 'quiet', p)


@case
def ctrl_c_stops_a_script_with_130():
    for text in ('print("on")\nlet i = 0\nwhile true { i += 1 }\n', 'print("on")\njit fn f(x) { while x < 1.0 { x = x * 1.0 }\n x }\nprint(f(0.5))\n',
                 'print("on")\njit fn f(x) { while sum(x) < 1.0 { x = x * 1.0 }\n x }\nprint(f(zeros([3])))\n'):
        p = subprocess.Popen([SHARD, 'run', script(text)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.0 * SLOW)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=300)
        check(p.returncode == 130 and 'interrupt' in err.lower(), f'status {p.returncode}: {err[:300]}')


def processor_seconds(pid):
    with open(f'/proc/{pid}/stat') as f: fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


@case
def ctrl_c_stops_long_operations_at_once_and_is_not_lost():
    for work in ('svd(normal(key(0), [1200, 1200]))', 'eigh(normal(key(0), [1500, 1500]))', 'normal(key(0), [30000000]).sort()', 'ones([6000, 6000]) @ ones([6000, 6000])',
                 'qr(normal(key(0), [2000, 2000]))', 'inv(normal(key(0), [2500, 2500]))', 'pinv(normal(key(0), [1200, 1200]))', 'expm(normal(key(0), [2000, 2000]) * 0.01)',
                 'gamma(key(0), 2.0, [20000000])', 'poisson(key(0), 20.0, [5000000])', 'normal(key(0), [100000000])'):
        p = subprocess.Popen([SHARD, 'run', '-'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        p.stdin.write(f'print("on")\nlet y = {work}\nprint("through")\nwhile true {{ }}\n')
        p.stdin.close()
        time.sleep(0.3 * SLOW)
        before = processor_seconds(p.pid)
        p.send_signal(signal.SIGINT)
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        late, out, err = used.ru_utime + used.ru_stime - before, p.stdout.read(), p.stderr.read()
        if os.environ.get('CLI_TELL'): print(f'{work}: {late:.3f} s after Ctrl-C', out.split())
        check(p.returncode == 130 and 'interrupted' in err, f'{work}: status {p.returncode}: {out} {err[:300]}')
        check(late < 0.4 * SLOW, f'{work}: stopped after {late:.2f} s of all processors together')   # so that it matters not what else runs


@case
def what_cannot_be_written_is_told_with_status_1():
    if not os.path.exists('/dev/full'): return
    path = script('print("a line")\n')
    for words in (['run', path], ['--version'], ['--help'], ['help', 'sum'], ['help', '--all'], ['test', script('test "t" { assert(true) }\n')], ['check', '--types', '--json', path],
                  ['explain', script('jit fn f(x) = x * 2\nf(1.0)\n')], ['run', script('for i in 0..100000 { print("a line of some length, so that the buffer is full at times") }\n')]):
        with open('/dev/full', 'w') as full:
            p = subprocess.run([SHARD, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
        check(p.returncode == 1, f'{words}: status {p.returncode}: {p.stderr[:300]}')
        check(p.stderr.count('cannot write to standard output: No space left on device') == 1, f'{words}: {p.stderr[:300]}')
    with open('/dev/full', 'w') as full:                        # a script that prints without end ends
        p = subprocess.run([SHARD, 'run', script('while true { print("again and again") }\n')], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    check(p.returncode == 1 and p.stderr.count('No space left') == 1 and '1:14' in p.stderr, f'status {p.returncode}: {p.stderr[:300]}')
    p = shard('run', script('save("/dev/full", "some text")\n'))
    check(p.returncode == 1 and 'No space left on device' in p.stderr, 'a file', p)


@case
def a_device_or_a_pipe_is_written_and_never_replaced():
    program = script('jit fn f(x) = sum(x * x)\nf(ones([64]))\n')
    estimate = ['estimate', program, '--chip', 'h100', '--trace']
    for place in ('-', '/dev/stdout'):
        p = shard(*estimate, place)
        check(p.returncode == 0 and '"traceEvents"' in p.stdout and not os.path.exists('-'), place, p)
    pipe = os.path.join(os.path.dirname(program), 'pipe.txt')
    os.mkfifo(pipe)
    for words, holds in ((estimate + [pipe], '"traceEvents"'), (['run', '-e', f'save("{pipe}", "some text")'], 'some text')):
        reader = subprocess.Popen(['cat', pipe], stdout=subprocess.PIPE, text=True)
        p = shard(*words)
        still = stat.S_ISFIFO(os.stat(pipe).st_mode)    # before the reader is waited for, which a replaced pipe would leave waiting
        if not still or p.returncode: reader.kill()
        check(p.returncode == 0 and still and holds in reader.communicate()[0], 'a pipe', p)
    file, link = pipe + '.file', os.path.join(os.path.dirname(pipe), 'link.txt')
    with open(file, 'w') as f: f.write('before')
    os.chmod(file, 0o750)
    os.symlink(file, link)
    p = shard('run', '-e', f'save("{link}", "after")')
    check(p.returncode == 0 and os.path.islink(link) and open(file).read() == 'after' and os.stat(file).st_mode & 0o777 == 0o750, 'behind a link', p)
    if not os.path.exists('/dev/full'): return
    p = shard(*estimate, '/dev/full')
    check(p.returncode == 1 and "cannot write '/dev/full': No space left on device" in p.stderr, 'a full device', p)


class Session:
    """A REPL on a pseudo-terminal."""
    def __init__(self, home):
        self.shown = b''
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(HOME=home, XDG_STATE_HOME=home, TERM='xterm')
            os.execv(SHARD, [SHARD])
        self.wait_for(b'shard>')

    def wait_for(self, text, seconds=30):
        end = time.time() + seconds * SLOW
        while text not in self.shown and time.time() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try: self.shown += os.read(self.fd, 65536)
                except OSError: break
        check(text in self.shown, f'{text} is not in: {self.shown.decode(errors="replace")}')

    def enter(self, line, shows):
        self.shown = b''
        os.write(self.fd, line)
        self.wait_for(shows)

    def end(self, how):
        how(self)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@case
def the_history_is_of_all_sessions_however_they_end():
    home = scratch.folder()
    kill = lambda s: os.kill(s.pid, signal.SIGKILL)
    hang_up = lambda s: os.kill(s.pid, signal.SIGHUP)
    leave = lambda s: os.write(s.fd, b':quit\n')
    def twice(s):
        os.write(s.fd, b'\x03')
        time.sleep(0.05)
        os.write(s.fd, b'\x03')
        time.sleep(0.3 * SLOW)
        try: os.kill(s.pid, signal.SIGKILL)
        except ProcessLookupError: pass
    for i, how in enumerate((kill, hang_up, twice, leave), 1):
        a, b = Session(home), Session(home)                      # two at once
        a.enter(f'{i}001 + 10000\n'.encode(), f'{i + 10}001'.encode())
        b.enter(f'"b {{{i}002 + 10000}}"\n'.encode(), f'b {i + 10}002'.encode())
        a.enter(f'{i}003 + (\n'.encode(), b'...>')
        a.enter(b'10000)\n', f'{i + 10}003'.encode())
        os.write(a.fd, f'while true {{ {i}004 }}\n'.encode())
        time.sleep(0.3 * SLOW)
        (b if how is leave else a).end(how)
        (a if how is leave else b).end(kill)
    with open(os.path.join(home, 'shard', 'history'), encoding='utf-8') as f: lines = f.read().split('\n')
    for i in range(1, 5):
        for wanted in (f'{i}001\\040+\\04010000', f'"b\\040{{{i}002\\040+\\04010000}}"', f'{i}003\\040+\\040(\\01210000)', f'while\\040true\\040{{\\040{i}004\\040}}'):
            check(lines.count(wanted) == 1, f'{wanted} is not once in {lines}')
    c = Session(home)                                            # and a later one finds them, by the arrow upwards
    c.enter(b'\x1b[A\x1b[A', b'4004')
    c.end(kill)


@case
def a_long_history_is_shortened():
    home = scratch.folder()
    os.mkdir(os.path.join(home, 'shard'))
    path = os.path.join(home, 'shard', 'history')
    with open(path, 'w') as f: f.write('_HiStOrY_V2_\n' + ''.join(f'{i}\n' for i in range(5000)))
    s = Session(home)
    s.enter(b'1 + 1\n', b'2\r\n')
    s.end(lambda s: os.kill(s.pid, signal.SIGKILL))
    with open(path) as f: lines = f.read().split('\n')
    check(lines[0] == '_HiStOrY_V2_' and lines[1] == '3000' and lines[2000] == '4999' and lines[2001] == '1\\040+\\0401', f'{lines[:2]} ... {lines[-4:]}')


def terminal(keys, wait=0.6):
    """Feeds keys to the REPL on a pseudo-terminal; what it shows."""
    home = scratch.folder()
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(HOME=home, XDG_STATE_HOME=home, TERM='xterm')
        os.execv(SHARD, [SHARD])
    shown = b''
    def read(seconds):
        nonlocal shown
        end = time.time() + seconds
        while time.time() < end:
            if select.select([fd], [], [], 0.05)[0]:
                try: shown += os.read(fd, 65536)
                except OSError: return
    read(1.0 * SLOW)
    for k in keys:
        os.write(fd, k)
        read(wait * SLOW)
    try: os.write(fd, b'\x04')
    except OSError: pass
    read(1.0 * SLOW)
    for _ in range(50):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done: return shown.decode(errors='replace'), os.waitstatus_to_exitcode(status), home
        time.sleep(0.1 * SLOW)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError('the REPL does not leave at Ctrl-D:\n' + shown.decode(errors='replace'))


@case
def the_repl_on_a_terminal():
    shown, status, home = terminal([b'let value = 40\n', b'value + 2\n', b'(1 +\n', b'\x03', b'5 * 5\n', b'while true { }\n', b'\x03', b'"still {1 + 1}"\n', b'val\t + 3\n'])
    check(status == 0, f'status {status}: {shown}')
    for text in ('Shard', '42', '25', 'still 2', '43', 'interrupt'):
        check(text in shown, f'"{text}" is not in: {shown}')
    with open(os.path.join(home, 'shard', 'history'), encoding='utf-8') as f: check('value' in f.read(), 'the history is kept')


@case
def the_repl_completes_fields_axes_and_methods():
    shown, status, home = terminal([b'mesh m = (@data: 4, @model: 2)\n', b'let x = shard ones([8, 8]) as P(@da\t, @mo\t)\n', b'sharding(x)\n',
                                    b'let p = {weight: 41, width: {a: 2}}\n', b'p.we\t + 1\n', b'm.sha\t\n', b'x.resha\t([64]).shape\n'])
    for text in ('P(@data, @model)', '42', '{data: 4, model: 2}', '(64,)'):
        check(text in shown, f'"{text}" is not in: {shown}')


@case
def the_repl_goes_on_after_an_endless_loop_over_an_array():
    shown, status, home = terminal([b'jit fn f(x) { while sum(x) < 1.0 { x = x * 1.0 }; x }\n', b'f(zeros([3]))\n', b'\x03', b'1000 + 234\n'])
    check('interrupted' in shown and '1234' in shown, shown)


@case
def texts_of_any_kind_are_read():
    for data, out, err in ((b'\xef\xbb\xbfprint(1)\r\nlet x = (\r\n2)\r\nprint(x)', '1\n2\n', ''), (b'', '', ''), (b'# only this', '', ''),
                           (b'print("\xff")\n', '', 'not UTF-8'), (b'print(1)\x00\n', '', 'U+0000'),
                           (b'\tlet y = foo\n', '', '^^^'),
                           (b'let a = ' + b'1 + ' * 500 + b'foo\n', '', '1:2009: error'), (b'let a = ' + b'(' * 300 + b'1' + b')' * 300 + b'\n', '', '200 deep')):
        path = script('')
        with open(path, 'wb') as f: f.write(data)
        p = shard('run', path)
        check(p.stdout == out and err in p.stderr and p.returncode == (1 if err else 0), repr(data[:40]), p)
        check(all(len(line) <= 160 for line in p.stderr.splitlines()[1:]), 'long lines are shortened', p)


@case
def modules_that_import_each_other_are_told():
    folder = scratch.folder()
    for name, text in (('a', 'import "b.shard"\nlet x = 1\n'), ('b', 'import "a.shard"\n'), ('c', 'import "d.shard" as d\nprint(d.x)\n'), ('d', 'let x = (\n'),
                       ('e', 'import "f.shard" as f\nf.g(1)\n'), ('f', 'print("once")\nfn g(x) = error("in g")\n'), ('h', 'import "f.shard" as p\nimport "./f.shard" as q\n')):
        with open(os.path.join(folder, name + '.shard'), 'w') as f: f.write(text)
    p = shard('run', os.path.join(folder, 'a.shard'))
    check(p.returncode == 1 and 'a file imports itself' in p.stderr and 'imports' in p.stderr.split('note:')[1], 'a circle', p)
    p = shard('run', os.path.join(folder, 'c.shard'))
    check(p.returncode == 1 and 'd.shard:1:9: error:' in p.stderr, 'the place in the imported file', p)
    p = shard('run', os.path.join(folder, 'e.shard'))
    check(p.returncode == 1 and 'f.shard:2:11: error: in g' in p.stderr and 'e.shard:2:1' in p.stderr, 'the call that led there', p)
    check(shard('run', os.path.join(folder, 'h.shard')).stdout == 'once\n', 'a file runs once')


@case
def settings_must_fit():
    path = script('let n = 3\nlet s = "x"\nprint(n, s)\n')
    p = shard('run', path, '--set', 'n=(1')
    check(p.returncode == 1 and '--set n:1:1: error:' in p.stderr, 'a setting that is no expression', p)
    p = shard('run', path, '--set', 'm=1')
    check(p.returncode == 1 and 'no top-level `let m`' in p.stderr and 'n, s' in p.stderr, 'a setting of nothing', p)
    check(shard('run', path, '--set', 's=7', '--set', 'n=[1, 2]').stdout == '[1, 2] 7\n', 'text where that is a string')


def main():
    failed = 0
    wanted = sys.argv[2:]
    cases = [f for f in CASES if not wanted or f.__name__ in wanted]
    for f in cases:
        try:
            f()
        except Exception as e:
            failed += 1
            print(f'FAIL {f.__name__}: {e}')
    print(f'{len(cases) - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__': sys.exit(main())
