#!/usr/bin/env python3
"""Scripts on engine xla: the same programs, compiled and run by a plug-in of PJRT that nobody here wrote.

    xla_run.py SHARD FOLDER TEST_RUNTIME [DEVICES]      closes with "N passed, N failed"

FOLDER keeps a Python environment with the package `xla-cpu-pjrt` (one is made with pip where there is none); SHARD_PJRT_PLUGIN names
another plug-in. Without either, as where there is no network, it says so and ends well.
First what lies below: our description of the C API against the plug-in's header, and the client's own tests. Then programs on 8 devices:
they end as with engine lockstep and print the same words, numbers to the program's tolerance or 1e-5; those in DIFFERS only end alike.
Those in REFUSED end with the error that is named there. XLA may hang or end the process: each run has its time.
Programs are compiled without LLVM's optimisations (QUICK), the client's tests and those in AS_SHIPPED with them; XLA_FLAGS in the
environment is taken as it is: XLA_FLAGS= compiles all as users have it.
With DEVICES, as on a machine with one GPU, every program gets as many, and those are left out that lockstep cannot run on them.
"""
import concurrent.futures, glob, json, os, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run as golden

PACKAGE = 'xla-cpu-pjrt==0.0.1'
SECONDS = 400
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# What engine xla refuses, and what it says.
REFUSED = {
    'tests/golden/manual/varying_predicate_regions.shard': 'engine xla has no communication under a condition that differs along @X',
    'tests/golden/auto/remat_memory.shard': 'at most a fifth',      # it measures what this process holds
}
# What prints other numbers there, by right: sums over devices in an order, or rounded in between, as the engine likes.
DIFFERS = {
    'tests/golden/auto/advise.shard', 'scripts/layouts/advice.shard',   # explain says what goes across processes, where there are several
    'tests/golden/auto/halves_of_sums.shard',        # f16: lockstep rounds a sum over devices once
    'tests/golden/manual/sum_order.shard',           # f32 terms that cancel: the law of lockstep's tree
    'scripts/training/mixed_precision.shard',        # f16: the last digit of one loss
}

# What XLA's CPU is told: nearly all of its time is compilation, and it is LLVM and the lowering of fusions that takes it. The passes over
# our modules, those that partition, simplify and fuse, run as ever.
QUICK = '--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false'
AS_SHIPPED = {
    'scripts/layouts/rent.shard',                    # unoptimised, this XLA has no product of bf16 that is summed in f32
    'scripts/ports/resnet.shard',                    # its accuracy after training depends on the last digits of every step
    'scripts/quickstart.shard', 'scripts/data_parallel.shard', 'scripts/fully_sharded.shard', 'tests/golden/curves/auto.shard',
}
# The slowest start first, so that none of them is alone at the end.
SLOWEST = ['scripts/ports/unet.shard', 'scripts/training/transformer_text.shard', 'scripts/ports/gpt.shard', 'scripts/layouts/rent.shard',
           'scripts/ports/resnet.shard', 'tests/golden/curves/auto.shard', 'scripts/layouts/rules.shard', 'scripts/tutorial/10_transformer.shard']


def found(folder):
    named = os.environ.get('SHARD_PJRT_PLUGIN')
    if named: return named
    paths = glob.glob(os.path.join(folder, 'lib/python3*/site-packages/xla_plugins/*/*.so'))
    return paths[0] if paths else None


def plugin(folder):
    """The path of a plug-in, installed where there is none yet; None where that cannot be."""
    if found(folder): return found(folder)
    if os.environ.get('SHARD_NO_DOWNLOADS'): return None
    try:
        subprocess.run([sys.executable, '-m', 'venv', folder], check=True, capture_output=True, timeout=120)
        subprocess.run([os.path.join(folder, 'bin/pip'), 'install', '--quiet', '--retries', '1', '--timeout', '15', PACKAGE], check=True,
                       capture_output=True, timeout=300)
    except (subprocess.SubprocessError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
    return found(folder)


def describes(path):
    """What is wrong with runtime/pjrt/abi.h; None where it is as the plug-in's header says, or there is no compiler or header."""
    include = os.path.join(os.path.dirname(path), 'include')
    if not shutil.which('c++') or not os.path.exists(os.path.join(include, 'pjrt_c_api.h')): return None
    p = subprocess.run(['c++', '-std=c++20', '-fsyntax-only', '-Wno-invalid-offsetof', '-I', ROOT, '-I', include, os.path.join(HERE, 'pjrt_abi.cpp')],
                       capture_output=True, text=True, timeout=SECONDS)
    return p.stderr[:800] if p.returncode else None


def client(path, test_runtime):
    p = subprocess.run([test_runtime, '*plug-in*'], capture_output=True, text=True, timeout=SECONDS, cwd=ROOT,
                       env={**os.environ, 'SHARD_PJRT_PLUGIN': path})
    return p.stdout[-800:] + p.stderr[-800:] if p.returncode or 'skipped' in p.stdout else None


# Scripts of their own: options, text, and what is said.
SAID = [
    ([], 'jit fn f(x) {\n  assert(all(x > 0), "only {x.sum()} of them")\n  x\n}\nprint(f(ones(3)))\nprint(f(zeros(3)))',
     ['[1. 1. 1.]', '-e:2:3: error: assertion failed: only ... of them']),
    ([], 'jit fn f(x) = x + 1\nlet x = f(f(ones([8])))\nx = f(x)\nprint(x[2], x.sum(), f(x))', ['4.0 32.0 [5. 5. 5. 5. 5. 5. 5. 5.]']),
    ([], 'jit fn f(x) {\n  assert_close(x, x + 1e-9)\n  assert_close([x[0], 2.0], [x[0], x[1]])\n  x\n}\nprint(f(array([1.0, 2.0])))\nprint(f(array([1.0, 3.0])))',
     ['[1. 2.]', '-e:3:3: error: values differ']),
    (['--devices', '65537'], 'print(1)', ['engine xla has at most 65536 devices, not 65537']),
    (['--devices', '3'], 'print(len(devices()), devices()[2].kind)', ['3 cpu']),
    ([], 'let x = ones([2])\njit fn f(y) = x + y\nprint(f(x))\nx[0] = 5\nprint(f(x), x)', ['[2. 2.]', '[10.  2.] [5. 1.]']),
]


def says(shard, engine, options, text, words):
    p = subprocess.run([shard, 'run', '--engine', engine, *options, '-e', text], capture_output=True, text=True, timeout=SECONDS)
    return None if all(w in p.stdout + p.stderr for w in words) else f'it says\n{p.stdout}{p.stderr}'


def compiles(shard, engine):
    """shard compile: the memory of a program whose arguments and results are known by hand, in both columns."""
    text = 'mesh m = (@d: 8)\njit fn f(x) = x + sum(x)\nlet x = shard ones([64, 16]) as P(@d)\nf(x)'
    p = subprocess.run([shard, 'compile', '-', '--for', 'cpu:8', '--engine', engine, '--json'], input=text, capture_output=True, text=True,
                       timeout=SECONDS)
    if p.returncode: return p.stderr[:600]
    call = json.loads(p.stdout)['calls'][0]
    block = 64 * 16 * 4 // 8
    if call['name'] == 'f' and all(call[who][what] == block for who in ('engine', 'shard') for what in ('arguments', 'results')): return None
    return f'blocks have {block} bytes: {p.stdout}'


SAVES = """
mesh m = (@d: 8)
let path = ""
jit fn make(k) = {a: shard normal(k, [64, 4096]) as P(@d), b: shard normal(k, [64, 4096]) as P(_, @d), k: k}
let p = make(key(1))
save(path, p)
print(memory_stats().peak_bytes_in_use)
let q = load(path)
print(all(q.a == p.a), all(q.b == p.b), q.k == p.k)
"""


def saves_by_block(shard, engine):
    """A checkpoint of two megabytes on the devices never has more than one of their blocks of 128 KiB in this process."""
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.run([shard, 'run', '--engine', engine, '--devices', '8', '-e', SAVES, '--set', f'path={folder}/saved/'], capture_output=True,
                           text=True, timeout=SECONDS)
    lines = p.stdout.split('\n')
    return None if len(lines) > 1 and int(lines[0]) == 131072 and lines[1] == 'true true true' else p.stdout + p.stderr


def quick(name):
    """The environment in which this script is compiled; another plug-in may not know the flags, and XLA ends the process then."""
    if 'SHARD_PJRT_PLUGIN' in os.environ or 'XLA_FLAGS' in os.environ or name in AS_SHIPPED: return None
    return {**os.environ, 'XLA_FLAGS': QUICK}


def printed(shard, case, script, *more, env=None, command=('run',)):
    with tempfile.TemporaryDirectory() as folder:
        scratch = ['--set', f'{case.scratch}={folder}'] if case.scratch else []
        return subprocess.run([shard, *command, script, *case.options, *scratch, *more], capture_output=True, text=True, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, env=env)


def compared(shard, engine, script, command=('run',), refused=None, devices=None):
    """What is wrong with this script; None where engine xla prints what lockstep prints in one process, or refuses what it shall refuse."""
    name = os.path.relpath(script, ROOT)
    case = golden.Case(script)
    if devices: case.options += ['--devices', devices]
    try:
        ours = printed(shard, case, script)
        if devices and ours.returncode: return None
        theirs = printed(shard, case, script, '--engine', engine, env=quick(name), command=command)
    except subprocess.TimeoutExpired: return f'it did not end within {SECONDS} s'
    if name in REFUSED:
        if theirs.returncode == 1 and REFUSED[name] in theirs.stderr: return None
        return f'it shall be refused ("{REFUSED[name]}"): status {theirs.returncode}\n{theirs.stderr[:600]}'
    if refused and theirs.returncode == 1 and refused in theirs.stderr: return None
    if theirs.returncode != ours.returncode: return f'status {theirs.returncode}, not {ours.returncode}\n{theirs.stderr.strip()[:900]}'
    if name in DIFFERS: return None
    want, got = golden.words(ours.stdout), golden.words(theirs.stdout)
    tolerance = max(case.tolerance, 1e-5)
    for i, w in enumerate(want):
        if i >= len(got) or not golden.equal(w, got[i], tolerance):
            return f'word {i}: lockstep prints {" ".join(want[i:i + 8])}, xla {" ".join(got[i:i + 8])}'
    return None if len(want) == len(got) else 'it prints too much'


def plugin_or_leave(folder):
    path = plugin(folder)
    if path: return path
    print(f'skipped: there is no plug-in of PJRT, and {PACKAGE} cannot be installed here\n0 passed, 0 failed')
    sys.exit(0)


def programs():
    wanted = [os.path.join(HERE, d) for d in ('auto', 'explicit', 'manual', 'values', 'curves')] + [os.path.join(ROOT, 'scripts')]
    scripts = [f for d in wanted for f in sorted(glob.glob(d + '/**/*.shard', recursive=True)) if golden.Case(f).command == 'run']
    scripts.sort(key=lambda f: SLOWEST.index(os.path.relpath(f, ROOT)) if os.path.relpath(f, ROOT) in SLOWEST else len(SLOWEST))
    return scripts


def report(checks):
    """Runs pairs of a name and a function, which gives what is wrong or None; half as many at a time as there are processors, two at least."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(2, (os.cpu_count() or 2) // 2)) as pool:
        for (name, _), wrong in zip(checks, pool.map(lambda c: c[1](), checks)):
            if wrong:
                failed += 1
                print(f'FAIL {name}: {wrong}')
    print(f'{len(checks) - failed} passed, {failed} failed')
    return 1 if failed else 0


def main():
    if len(sys.argv) not in (4, 5): sys.exit(__doc__)
    shard, folder, test_runtime = map(os.path.abspath, sys.argv[1:4])
    devices = sys.argv[4] if len(sys.argv) > 4 else None
    path, scripts = plugin_or_leave(folder), programs()
    checks = [('runtime/pjrt/abi.h', lambda: describes(path)), ('client', lambda: client(path, test_runtime)),
              ('shard compile', lambda: compiles(shard, 'xla:' + path)), ('save', lambda: saves_by_block(shard, 'xla:' + path))]
    checks += [(text, lambda o=options, t=text, w=words: says(shard, 'xla:' + path, o, t, w)) for options, text, words in SAID]
    checks += [(os.path.relpath(s, ROOT), lambda s=s: compared(shard, 'xla:' + path, s, devices=devices)) for s in scripts]
    return report(checks)


if __name__ == '__main__': sys.exit(main())
