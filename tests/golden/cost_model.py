#!/usr/bin/env python3
"""What `shard estimate` predicts, against arithmetic by hand on a chip whose numbers are round.   cost_model.py SHARD   closes with "N passed, N failed" """
import json, os, pty, re, sys, tempfile

import browser
import cli
from cli import case, check, script, shard

cli.CASES.clear()

# 1 TFLOP/s, 100 GB/s of memory, domains of 4 chips with 10 GB/s, 1 GB/s between them; everything at its full rate.
ROUND = '''let round = {name: "round", flops: {f32: 1e12}, memory: 1e9, bandwidth: 1e11, domain: 4, link: 1e10, network: 1e9, units: 1,
  tile_rows: 1, tile_columns: 1, fill: 0.0, waves: 1.0, product_share: 1.0, kernel_share: 0.5, memory_share: 1.0, link_share: 1.0,
  network_share: 1.0, launch: 0.0, dispatch: 0.0, theft: 0.0}
{...round%s}
'''


def chip(more=''): return script(ROUND % (', ' + more if more else ''), 'chip.shard')


def predicted(text, *args, more='', devices=8):
    p = shard('estimate', script(text), '--chip', chip(more), '--devices', str(devices), '--json', *args)
    check(p.returncode == 0, 'is predicted', p)
    return json.loads(p.stdout)


def near(got, want, what):
    if abs(got - want) > 1e-6 * abs(want) + 1e-15: raise AssertionError(f'{what}: {got}, by hand {want}')


@case
def a_product_takes_its_flops_or_its_bytes():
    say = predicted('jit fn f(x, w) = x @ w\nprint(f(zeros([512, 1024]), zeros([1024, 256])))\n')
    near(say['model_flops_per_device'], 2 * 512 * 1024 * 256, 'flops')
    near(say['step_seconds'], 2 * 512 * 1024 * 256 / 1e12, 'bound by flops')
    near(say['peak_bytes_per_device'], 4 * (512 * 1024 + 1024 * 256 + 512 * 256), 'operands and result')
    check(say['fits'] is True and say['exposed_communication_seconds'] == 0, 'fits, and waits for nobody')
    say = predicted('jit fn f(x, w) = x @ w\nf(zeros([1, 1024]), zeros([1024, 1024]))\n')
    near(say['step_seconds'], 4 * (1024 + 1024 * 1024 + 1024) / 1e11, 'bound by bytes')


PRODUCTS = 'jit fn f(x, w, y, v) = (x @ w, y @ v)\nf(zeros([512, 1024], {a}), zeros([1024, 256], {a}), zeros([512, 1024], {b}), zeros([1024, 256], {b}))\n'


@case
def products_are_compared_with_the_peak_of_their_type():
    # Two products of F flops. At half of 2 and of 1 TFLOP/s those of bf16 take F / 1e12 seconds, those of f32 F / 0.5e12; at the
    # peak half of that, whatever the types are.
    more, F = 'flops: {bf16: 2e12, f32: 1e12}, product_share: 0.5, bandwidth: 1e15', 2 * 512 * 1024 * 256
    for a, b, seconds, said in (('bf16', 'bf16', 2 * F / 1e12, '50 % of the chip\'s bf16 peak\n  memory'), ('f32', 'f32', 2 * F / 0.5e12, '50 % of the chip\'s f32 peak\n  memory'),
                                ('bf16', 'f32', F / 1e12 + F / 0.5e12, '50 % of the chip\'s peak\n    bf16 50 %\n    f32 50 %\n  memory')):
        path = script(PRODUCTS.format(a=a, b=b))
        p = shard('estimate', path, '--chip', chip(more))
        check(said in re.sub('(?<=\\S) +', ' ', p.stdout), f'{a} and {b}', p)
        near(json.loads(shard('estimate', path, '--chip', chip(more), '--json').stdout)['step_seconds'], seconds, f'{a} and {b}')


@case
def types_without_a_rate_are_made_of_products_of_others():
    # Bits of a number, with the one before the point: f64 53, f32 24, bf16 8. In n parts n (n + 1) / 2 products: f64 is 3 of f32
    # or 7 of bf16, f32 is 3 of bf16; of integers by bytes: i64 is 2.
    F = 2 * 2 * 512 * 1024 * 256
    for t, rates, times, said in (('f64', 'f32: 1e12', 6, '6 products of f32'), ('f64', 'bf16: 1e12', 28, '28 products of bf16'), ('f32', 'bf16: 1e12', 6, '6 products of bf16'),
                                  ('f64', 'f32: 1e12, bf16: 2e12', 6, '6 products of f32'), ('f64', 'f32: 1e10, bf16: 1e12', 28, '28 products of bf16'),
                                  ('i64', 'f32: 1e12', 3, '3 products of f32'), ('f16', 'f32: 1e11, bf16: 1e12', 1, 'bf16'), ('f64', 'f64: 1e12, f32: 2e12', 1, '')):
        more, path = f'flops: {{{rates}}}, bandwidth: 1e16', script(PRODUCTS.format(a=t, b=t))
        p = shard('estimate', path, '--chip', chip(more))
        check(f'no rate on record: as {said}\n' in p.stdout if said else 'no rate' not in p.stdout, f'{t} of {rates}', p)
        check(not said or f'<div>products of {t}<b>no rate on record: as {said}</b>' in page_of(path, '--chip', chip(more))[1], 'on the page', p)
        check(f"100 % of the chip's {t} peak" in p.stdout, 'of what it is priced with', p)
        near(json.loads(shard('estimate', path, '--chip', chip(more), '--json').stdout)['step_seconds'], times * F / 1e12, f'{t} of {rates}')


@case
def measured_runs_make_a_chip():
    # The truth is a chip of which products reach 0.5 and memory 0.4; what is known says 0.7 and 0.6. Two runs of large products and
    # of long pointwise work tell them apart, and a third of both is then predicted.
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), 'w') as f: f.write(text)
            return os.path.join(folder, name)
        chip = '{{flops: {{bf16: 1e14, f32: 1e13}}, memory: 1e11, bandwidth: 1e12, product_share: {}, memory_share: {}, name: "mine"}}\n'
        truth, known = write('truth.shard', chip.format(0.5, 0.4)), write('known.shard', chip.format(0.7, 0.6))
        path = write('step.shard', 'let n = 1024\nlet m = 1024\njit fn f(x, w, y) = (x @ w, tanh(y) * 2.0)\n'
                                   'print(f(zeros([n, n], bf16), zeros([n, n], bf16), zeros([m, 1024])))\n')
        sizes = ['n=8192 m=1024', 'n=256 m=262144', 'n=4096 m=65536']
        def seconds(at, size):
            sets = [w for pair in size.split() for w in ('--set', pair)]
            return json.loads(shard('estimate', path, '--chip', at, '--devices', '1', '--json', *sets).stdout)['step_seconds']
        runs = write('runs.csv', 'file,devices,settings,step_seconds,peak_bytes\n' + ''.join(f'step.shard,1,{s},{seconds(truth, s)!r},{1e9 if s == sizes[0] else ""}\n' for s in sizes[:2]))
        p = shard('calibrate', '--measured', runs, '--chip', known, '-o', os.path.join(folder, 'ours.shard'))
        check(p.returncode == 0 and 'runs.csv:2' in p.stdout and 'these runs say nothing of:' in p.stdout and 'link_share' in p.stdout and 'of memory' in p.stdout, 'what is said', p)
        before, after = (abs(seconds(at, sizes[2]) / seconds(truth, sizes[2]) - 1) for at in (known, os.path.join(folder, 'ours.shard')))
        check(before > 0.25 and after < 0.05, f'a run that was not measured: off by {before} before and {after} after')
        said = json.loads(shard('estimate', path, '--chip', os.path.join(folder, 'ours.shard'), '--devices', '1', '--json').stdout)
        check(said['basis'] == '2 runs of runs.csv' and said['chip'] == 'mine', 'what it rests on')
        head = 'file,devices,settings,step_seconds\n'
        for text, wrong in (('file,devices,step_seconds\n', ':1: there is no column `settings`'), (head, ':1: there are no runs'),
                            (head + 'step.shard,1,n=8,-1\n', ":2: `step_seconds` is a number above 0, not '-1'"), (head + 'step.shard,no,n=8,1\n', ":2: `devices` is how many there were, not 'no'"),
                            (head + 'step.shard,1,n,1\n', ":2: `settings` are as for --set, name=value, with blanks between; this is 'n'"),
                            (head + '\nnone.shard,1,n=8,1\n', 'none.shard'), (head + 'step.shard,1,q=8,1\n', ':2 names it, with its settings')):
            p = shard('calibrate', '--measured', write('bad.csv', text), '--chip', known, '-o', os.path.join(folder, 'never.shard'))
            check(p.returncode == 1 and wrong in p.stderr, f'it says {wrong}', p)
            check(not os.path.exists(os.path.join(folder, 'never.shard')), 'nothing is written')
        p = shard('calibrate', '--measured', runs)
        check(p.returncode == 2 and '--chip h100' in p.stderr, 'which chip', p)


@case
def a_stack_says_what_its_software_reaches_of_a_chip():
    # Fill and memory cost nothing here, so that a kernel of blocks takes its operations at its own share of the peak alone.
    text = 'import chips\nfor c in [chips.a100_80, chips.h100, chips.b200] {{ let there = chips.on(c, chips.stacks.{}); print(there.kernel_share, there.fill, there.woven) }}\n'
    share = lambda stack: [[float(x) for x in line.split()] for line in shard('run', script(text.format(stack))).stdout.splitlines()]
    fill = [312e12 / 108, 989e12 / 132, 2250e12 / 148]
    for k, (kernel, terms, woven) in enumerate(share('composer_2023')):
        near(kernel, 0.33 * 0.947 * 0.553 ** k, 'a kernel of the A100 keeps 0.553 of its share on each next architecture')
        near(terms, 248 * fill[k] / fill[0], 'a tile fills in the same seconds')
        near(woven, 0, 'nothing is woven')
    for kernel, terms, woven in share('nemo_2025'):
        near(kernel, 0.481, 'kernels written for each architecture')
        near(terms, 248, 'fill')
    path = script('jit fn f(x, w) = x @ w\nprint(f(zeros([512, 1024], bf16), zeros([1024, 256], bf16)))\nprint(estimate(f, zeros([512, 1024], bf16), zeros([1024, 256], bf16), chip: "h100", stack: "composer-2023").step_seconds)\n')
    ask = lambda *args: shard('estimate', path, '--chip', 'h100', '--json', *args)
    said = {stack: json.loads(ask('--stack', stack).stdout) for stack in ('xla', 'composer-2023')}
    check(said['xla']['step_seconds'] == json.loads(ask().stdout)['step_seconds'], 'xla is what is meant without one')
    check(said['xla']['stack'] == 'xla' and said['composer-2023']['stack'] == 'composer-2023', 'is said')
    check(said['xla']['step_seconds'] < said['composer-2023']['step_seconds'], 'the older one is slower there')
    for chip, stack, spread, basis in (('h100', 'xla', 0.24, 'runs on h100 with xla were measured'), ('b200', 'xla', 0.47, 'no run measured on b200 with xla; from h100, h200'),
                                       ('v4', 'maxtext-2023', 0.15, 'no run measured on v4 with maxtext-2023; from v5e, v5p, v6e'),
                                       ('a100-80', 'composer-2023', 0.12, 'runs on a100-80 with composer-2023 were measured'),
                                       ('h200', 'composer-2023', 0.15, 'no run measured on h200 with composer-2023; from h100'),
                                       ('b200', 'nemo-2025', 0.35, 'no run measured on b200 with nemo-2025; from h100'),
                                       (script('import chips\n{...chips.on({...chips.v5e, name: "mine"}, chips.stacks.maxtext_2023), flops: {bf16: 1e12}}\n'), '', 0.35, 'no run measured on mine with maxtext-2023; from v5e, v5p, v6e'),
                                       (script('{flops: {bf16: 1e12}, memory: 1e9, bandwidth: 1e11}\n'), '', 0.5, 'a record of your own, nothing measured')):
        words = ('--stack', stack) if stack else ()
        one = json.loads(shard('estimate', path, '--chip', chip, '--json', *words).stdout)
        near(one['low'], one['step_seconds'] / (1 + spread), 'the least'), near(one['high'], one['step_seconds'] * (1 + spread), 'the most')
        check(one['basis'] == basis, 'what it rests on: ' + one['basis'])
        check(basis in shard('estimate', path, '--chip', chip, *words).stdout, 'the page says it')
    p = shard('run', path)
    check(abs(float(p.stdout.split()[-1]) / said['composer-2023']['step_seconds'] - 1) < 1e-4, 'the function takes it too', p)
    p = shard('estimate', path, '--chip', 'h100', '--stack', 'nemo-2024')
    check(p.returncode == 1 and 'no stack "nemo-2024"' in p.stderr and 'did you mean "nemo-2025"?' in p.stderr and 'megatron-2022' in p.stderr, 'names those known', p)
    for c, stack, runs in (('v5e', 'nemo-2025', 'GPUs of NVIDIA'), ('h100', 'maxtext-2023', 'TPUs'), ('cpu', 'nemo-2025', 'GPUs of NVIDIA')):
        p = shard('estimate', path, '--chip', c, '--stack', stack)
        check(p.returncode == 1 and runs in p.stderr, f'{stack} on {c}', p)
    p = shard('estimate', path, '--chip', 'h100', '--stack', 'nemo-2025')
    check('1 x h100, nemo-2025' in p.stdout, 'on the page', p)
    p = shard('plan', path, '--over', 'micro=1', '--chip', 'v5e', '--stack', 'nemo-2025')
    check(p.returncode == 1 and 'GPUs of NVIDIA' in p.stderr, 'plan takes it', p)


@case
def tiles_waves_and_fill():
    # 200 x 100 in tiles of 64 x 64: 4 x 2 = 8 tiles, 2 waves of 5; each costs (k + fill). In tiles of 64 x 32, at 0.9 of the
    # rate, 7 x 2 = 14 tiles, 3 waves of half the size.
    say = predicted('jit fn f(x, w) = x @ w\nf(zeros([200, 1000]), zeros([1000, 100]))\n',
                   more='units: 5, tile_rows: 64, tile_columns: 64, fill: 24.0, bandwidth: 1e15')
    near(say['step_seconds'], 3 * 5 * 2 * 64 * 32 * 1024 / 1e12 / 0.9, 'three waves of small tiles')


# A machine that simulates all devices, where nothing costs but what is copied.
COPYING = 'simulated: 1, copying: 1e6, bandwidth: 1e18, flops: {f32: 1e18}'


@case
def what_lies_otherwise_than_it_is_wanted_is_copied():
    # The columns (g, n) of [g, k, n] are no one dimension: they are brought together. Those of [k, g, n] are.
    product = 'jit fn f(x, w) = einsum("mk,{w}->mgn", x, w)\nf(zeros([64, 32]), zeros([{shape}]))\n'
    near(predicted(product.format(w='gkn', shape='8, 32, 16'), more=COPYING)['step_seconds'], 4 * 8 * 32 * 16 / 1e6, 'all of w')
    check(predicted(product.format(w='kgn', shape='32, 8, 16'), more=COPYING)['step_seconds'] < 1e-6, 'nothing')
    # The same over devices: columns split over them lie apart in the memory that they share, rows do not.
    for spec, bytes in (('P(_, @d)', 4 * 32 * 128), ('P()', 0)):
        say = predicted(f'mesh m = (@d: 8)\njit fn f(x, w) = tanh(x @ w)\nf(shard zeros([64, 32]) as P(), shard zeros([32, 128]) as {spec})\n', more=COPYING)
        check(abs(say['step_seconds'] - bytes / 1e6) < 1e-6, f'{spec}: {say["step_seconds"]}')
    # With a head a device, queries and scores lie by heads, not by devices: what is done to them goes line by line, and
    # only both weights are brought together.
    text = """mesh m = (@h: 4)
jit fn f(x, w) {
  let (q, k) = (einsum("btd,dhk->bthk", x, w), einsum("btd,dhk->bthk", x, w * 2.0))
  tanh(einsum("bthk,bshk->bhts", q, k) * 0.5)
}
f(shard zeros([8, 16, 64]) as P(), shard zeros([64, 4, 32]) as P(_, @h))
"""
    say = predicted(text, more=COPYING, devices=4)
    check(abs(say['step_seconds'] - 2 * 4 * 64 * 4 * 32 / 1e6) < 1e-6, f'the weights, not the scores: {say["step_seconds"]}')


@case
def kernels_take_memory_of_their_own_on_the_machine_itself():
    text = 'jit fn f(x, w) = einsum("mk,gkn->mgn", x, w)\nf(zeros([64, 32]), zeros([8, 32, 16]))\n'
    held = 4 * (64 * 32 + 8 * 32 * 16 + 64 * 8 * 16)
    near(predicted(text)['peak_bytes_per_device'], held, 'a chip')
    near(predicted(text, more=COPYING)['peak_bytes_per_device'], held + 4 * 8 * 32 * 16, 'with w brought together')


# ... in two processes, where nothing costs but what goes between them.
TWO = 'simulated: 2, bandwidth: 1e24, flops: {f32: 1e24}, network: 1e6, network_latency: 0.001'


@case
def what_passes_between_processes_costs_their_channel():
    def seconds(call, spec, gives, mesh='(@d: 8)'):
        text = f'mesh m = {mesh}\nmanual fn f(x: {spec}) -> {gives} = {call}\nf(shard zeros([1024]) as {spec})\n'
        return predicted(text, more=TWO)['step_seconds']
    # Eight blocks of 512 bytes, four a process. What a process sends is added first: of two processes each sends half of
    # what it has and gets the other's half, twice where all shall know the sum; each turn has one message.
    near(seconds('psum(x, @d)', 'P(@d)', 'P()'), 2 * (0.001 + 512 / 2 / 1e6), 'an all-reduce')
    near(seconds('psum_scatter(x, @d, tiled: true)', 'P(@d)', 'P(@d)'), 2 * (0.001 + 512 / 2 / 1e6), 'a reduce-scatter of several devices a process: a sum of which each sees its part')
    near(seconds('all_gather(x, @d, tiled: true)', 'P(@d)', 'P(@d)'), 0.001 + 4 * 512 / 1e6, 'an all-gather: the four blocks of the other')
    near(seconds('ppermute(x, @d, shift: 1)', 'P(@d)', 'P(@d)'), 0.001 + 512 / 1e6, 'a shift: one block passes the border each way')
    # Devices of one process share its memory; along the other axis both have half of all blocks.
    two = '(@a: 2, @b: 4)'
    near(seconds('psum(x, @b)', 'P((@a, @b))', 'P(@a)', two), 0, 'inside of a process')
    near(seconds('psum(x, @a)', 'P((@a, @b))', 'P(@b)', two), 2 * (0.001 + 4 * 512 / 2 / 1e6), 'four groups of two')
    # A sum that is one instruction with its product too; what is told of it by itself is the same.
    say = predicted('mesh m = (@d: 8)\njit fn f(x, w) = x.T @ w\nf(shard zeros([8, 16]) as P(@d), shard zeros([8, 32]) as P(@d))\n', more=TWO)
    near(say['step_seconds'], 2 * (0.001 + 4 * 16 * 32 / 2 / 1e6), 'a product that is summed')
    near(say['calls'][0]['collectives'][0]['seconds'], say['step_seconds'], 'its sum')
    # What is the same everywhere is done in each process, what is split once.
    for spec, times in (('P()', 2), ('P(@d)', 1)):
        say = predicted(f'mesh m = (@d: 8)\njit fn f(x, w) = x @ w\nf(shard zeros([512, 1024]) as {spec}, shard zeros([1024, 256]) as P())\n',
                       more='simulated: 2, bandwidth: 1e18')
        near(say['step_seconds'], times * 2 * 512 * 1024 * 256 / 1e12, spec)
    p = shard('estimate', script('jit fn f(x) = x + 1.0\nf(ones([2]))\n'), '--chip', chip('simulated: 2, network: 0.0'))
    check(p.returncode == 1 and 'needs `network`' in p.stderr, 'a machine without a channel', p)
    p = shard('estimate', script('jit fn f(x) = x + 1.0\nf(ones([2]))\n'), '--chip', chip('simulated: 3'), '--devices', '8')
    check(p.returncode == 1 and '8 devices cannot be shared out to the 3 processes' in p.stderr, 'a third of eight devices', p)


@case
def a_pipeline_loses_by_its_bubble():
    # S stages and M parts of a batch: S - 1 of M + S - 1 turns.
    text = """let parts = 8
mesh m = (@stage: _)
let S = device_count()
manual fn pipeline(w: P(@stage), x: P()) -> P(@stage) {
  let me = axis_index(@stage)
  fn tick(held, input) {
    let h = tanh(where(me == 0, input, held) @ w[0])
    (ppermute(h, @stage, shift: 1), h)
  }
  scan(tick, pcast(zeros([4, 256]), @stage), x)[1]
}
jit fn step(w, x) = pipeline(w, x)
step(shard zeros([S, 256, 256]) as P(@stage), shard zeros([parts + S - 1, 4, 256]) as P())
"""
    p = shard('plan', script(text), '--chip', chip('link: 1e15'), '--devices', '4', '--over', 'parts=4,8,32', '--json')
    found = json.loads(p.stdout)
    check(p.returncode == 0, 'is planned', p)
    for c in found:
        turns = int(c['set']['parts']) + 3
        said = re.match(r'bubble (\d+) %: line (\d+)$', c['why'])
        check(said and abs(int(said[1]) - 100 * 3 / turns) <= 1 and said[2] == '8', f'3 of {turns} turns: {c["why"]}', p)
    # A ring hands on as often as there are devices: everybody works in every turn.
    ring = text.replace('parts + S - 1, 4', 'S, 4')
    say = json.loads(shard('plan', script(ring), '--chip', chip('link: 1e15'), '--devices', '4', '--over', 'parts=8', '--json').stdout)
    check('bubble' not in say[0]['why'], f'{say[0]["why"]}')


@case
def long_sums_are_split_among_units_that_would_idle():
    # One tile of 64 x 64, 8 units: 8 parts of 1024 terms, each written and added in f32 (8 bytes).
    text = 'jit fn f(x, w) = x @ w\nprint(f(zeros([64, 8192]), zeros([8192, 64])))\n'
    more = 'units: 8, tile_rows: 64, tile_columns: 64, bandwidth: 1e13'
    near(predicted(text, more=more)['step_seconds'], 2 * 64 * 64 * 8192 / 1e12 + 8 * 8 * 64 * 64 / 1e13, 'all units')
    near(predicted(text.replace('8192', '512'), more=more)['step_seconds'], 8 * 2 * 64 * 32 * 512 / 1e12 / 0.9, 'two small tiles of a short sum')


@case
def a_product_is_changed_as_it_is_written():
    product = 'jit fn f(x, w) = {f}\nf(zeros([64, 512]), zeros([512, 64]))\n'
    plain = predicted(product.format(f='x @ w'))['step_seconds']
    near(predicted(product.format(f='tanh(x @ w) * 2'))['step_seconds'], plain, 'at no cost')
    near(predicted(product.format(f='(tanh(x @ w), x @ w)'))['step_seconds'], plain + 4 * 2 * 64 * 64 / 1e11, 'where nobody else reads it')


@case
def readers_of_one_value_read_it_once():
    # Values of few numbers are made where they are read: a mask of two vectors costs no bytes but one vector's.
    text = 'jit fn f(x, i, j) = (sum(where(expand_dims(i, axis: 1) == j, x, 0.0), axis: 1), sum(exp(x), axis: 1))\nf(zeros([1024, 1024]), zeros([1024], i32), zeros([1024], i32))\n'
    near(predicted(text)['step_seconds'], 4 * (1024 * 1024 + 3 * 1024) / 1e11, 'one pass')


@case
def pointwise_work_is_one_stretch():
    # Reads x and b once, writes y once, whatever is between.
    say = predicted('jit fn f(x, b) { let h = tanh(x) * 2 + b; let y = exp(h) + h * h; y / 3 }\nf(zeros([1000, 1000]), zeros([1000]))\n')
    near(say['step_seconds'], 4 * (2 * 1000 * 1000 + 1000) / 1e11, 'bytes once')
    check(say['model_flops_per_device'] == 0, 'no products')


SUM = 'mesh m = (@data: 2, @model: 4)\njit fn f(x, w) = shard x @ w as P()\nlet x = shard zeros([64, 512]) as P(_, @{a})\nlet w = shard zeros([512, 256]) as P(@{a})\nprint(f(x, w))\n'


@case
def a_sum_over_devices_is_waited_for():
    S = 4 * 64 * 256
    say = predicted(SUM.format(a='model'))                   # four chips of one domain: 2 S (n - 1) / n / link
    near(say['exposed_communication_seconds'], 2 * S * 3 / 4 / 1e10, 'inside a domain')
    near(say['compute_seconds'], max(2 * 64 * 128 * 256 / 1e12, 4 * (64 * 128 + 128 * 256 + 64 * 256) / 1e11), 'a quarter of the product')
    say = predicted(SUM.format(a='data'))                    # two chips of two domains: each port passes S, twice a half
    near(say['exposed_communication_seconds'], 2 * S / 2 / 1e9, 'between domains')
    say = predicted(SUM.replace('@{a}', '@(data, model)'))   # all 8: both ways at once, the slower one counts
    near(say['exposed_communication_seconds'], max(2 * S * 7 / 8 / 1e10, 2 * S / 2 / 4 / 1e9), 'over everything')


@case
def a_sum_that_is_wanted_split_is_scattered():
    S = 4 * 64 * 256                                        # half of what a sum that all want whole costs
    text = SUM.format(a='model').replace('as P()', 'as P(@model)')
    near(predicted(text)['exposed_communication_seconds'], S * 3 / 4 / 1e10, 'a reduce-scatter')
    p = shard('run', script(text + f'import "{chip()}" as c\nprint(estimate(f, x, w, chip: c.round).exposed_communication_seconds)\n'), '--devices', '8')
    near(float(p.stdout.split()[-1]), S * 3 / 4 / 1e10, 'of arrays too')


LAYERS = '''mesh m = (@data: 4)
let (n, d, tokens) = (10, 256, {tokens})
jit fn f(w, x) = scan(fn(x, w) = (tanh(x @ (shard w as P())), none), x, w)[0]
f(shard zeros([n, d, d]) as P(_, @data), shard zeros([4 * tokens, d]) as P(@data))
'''


@case
def gathers_of_a_loop_hide_behind_the_turn_before():
    gather = 4 * 256 * 256 * 3 / 4 / 1e10
    for tokens in (64, 4096):
        product = max(2 * tokens * 256 * 256 / 1e12, 4 * (2 * tokens * 256 + 256 * 256) / 1e11)
        turn = product                                      # tanh is taken as it is written
        say = predicted(LAYERS.format(tokens=tokens), devices=4)
        near(say['compute_seconds'], 10 * turn, 'computes')
        check((tokens == 64) == (gather > turn), 'one of each kind')
        near(say['step_seconds'], 10 * gather + turn if gather > turn else gather + 10 * turn, f'{tokens} tokens')


@case
def what_waits_for_the_same_link_goes_together():
    # Three gathers over four chips, all there from the start: three hops of 1 ms until the first bytes arrive, then all of them.
    text = 'mesh m = (@data: 4)\njit fn f(a, b, c) = (shard a as P(), shard b as P(), shard c as P())\nlet x = shard zeros([1024, 1024]) as P(@data)\nf(x, x + 1.0, x + 2.0)\n'
    each = 4 * 1024 * 1024 * 3 / 4 / 1e10
    near(predicted(text, devices=4, more='link_latency: 1e-3')['step_seconds'], 3e-3 + 3 * each, 'one latency')
    # One that needs what the one before it brought waits for its own.
    text = 'mesh m = (@data: 4)\njit fn f(a) = shard (shard a as P(@data)) * 2.0 + sum(shard a as P()) as P()\nf(shard zeros([1024, 1024]) as P(@data))\n'
    slow, fast = (predicted(text, devices=4, more=f'link_latency: {l}')['step_seconds'] for l in (1e-3, 0.0))
    near(slow - fast, 6e-3, 'two latencies')


@case
def products_stream_their_operands_by_blocks():
    # Blocks of 128 of the result: each operand is read as often as the other one has blocks. Both at once, where one disturbs the other.
    text = 'jit fn f(x, w) = x @ w\nf(zeros([512, 1024]), zeros([1024, 256]))\n'
    busy, streamed = 2 * 512 * 1024 * 256 / 1e12, 4 * (512 * 1024 * 2 + 1024 * 256 * 4) / 1e11
    near(predicted(text, more='block: 128.0')['step_seconds'], (busy ** 2 + streamed ** 2) ** 0.5, 'blocks')
    near(predicted(text, more='block: 4096.0')['step_seconds'], (busy ** 2 + (4 * (512 * 1024 + 1024 * 256) / 1e11) ** 2) ** 0.5, 'once')


@case
def software_may_sum_gradients_once_a_step():
    # Four micro batches; each adds a product whose terms lie on four chips to a sum that is split among them.
    text = '''mesh m = (@data: 4)
jit fn f(total, xs) = scan(fn(t, x) = (t + (shard transpose(x) @ x as P(@data)), none), total, xs)[0]
f(shard zeros([256, 256]) as P(@data), shard zeros([4, 1024, 256]) as P(_, @data))
'''
    scatter = 4 * 256 * 256 * 3 / 4 / 1e9
    free = predicted(text, devices=4, more='link: 1e18')['step_seconds']
    near(predicted(text, devices=4, more='link: 1e9')['exposed_communication_seconds'], 4 * scatter, 'in each turn')
    once = predicted(text, devices=4, more='link: 1e9, sums_once: 1')['step_seconds']
    check(scatter / 4 <= once - free <= scatter, f'once: {once - free}, a scatter takes {scatter}')


@case
def axes_lie_along_dimensions_of_a_torus_of_their_size():
    # Of 32 chips four along a ring of four: both directions of it, wherever the ring stands in the record.
    text = 'mesh m = (@data: 8, @model: 4)\njit fn f(x) = shard x as P()\nf(shard zeros([1024, 1024]) as P(@model))\n'
    for domain in ('[8, 4]', '[4, 8]'):
        near(predicted(text, devices=32, more=f'domain: {domain}')['step_seconds'], 4 * 1024 * 1024 / 2e10, domain)


@case
def what_stands_beside_a_product_is_woven_into_it():
    # psum of a product's result over four chips; half of what the product lasts hides in it.
    S, product = 4 * 1024 * 1024, 2 * 1024 * 256 * 1024 / 1e12
    text = 'mesh m = (@model: 4)\njit fn f(x, w) = shard x @ w as P()\nf(shard zeros([1024, 1024]) as P(_, @model), shard zeros([1024, 1024]) as P(@model))\n'
    near(predicted(text, devices=4)['step_seconds'], product + 2 * S * 3 / 4 / 1e10, 'one after the other')
    near(predicted(text, devices=4, more='woven: 0.5')['step_seconds'], product + 2 * S * 3 / 4 / 1e10 - 0.5 * product, 'in parts')


@case
def what_hides_costs_what_it_steals():
    # Two chips of two domains; the sum of one product is hidden by another one, and takes half of its time from that.
    text = '''mesh m = (@data: 2)
jit fn f(x, w, y, v) { let s = shard x @ w as P(); (s, y @ v) }
f(shard zeros([64, 64]) as P(_, @data), shard zeros([64, 64]) as P(@data), zeros([512, 512]), zeros([512, 512]))
'''
    hidden = 4 * 64 * 64 / 1e9
    plain = predicted(text, more='domain: 1', devices=2)['step_seconds']
    check(predicted(text, more='domain: 1, network: 1e18', devices=2)['step_seconds'] - plain < 1e-9, 'hidden')
    near(predicted(text, more='domain: 1, network_theft: 0.5', devices=2)['step_seconds'], plain + 0.5 * hidden, 'theft')
    near(predicted(text, more='domain: 1, theft: 0.5', devices=2)['step_seconds'], plain, 'no theft between domains')


@case
def what_remat_repeats_is_time_and_no_flops():
    text = 'jit fn g(w, x) = value_and_grad(fn(w) = sum({f}(fn(w) = tanh(tanh(x @ w) @ w))(w)))(w)\ng(zeros([256, 256]), zeros([4096, 256]))\n'
    plain, again = predicted(text.replace('{f}', '')), predicted(text.replace('{f}', 'remat'))
    near(again['model_flops_per_device'], plain['model_flops_per_device'], 'the same as written')
    check(again['step_seconds'] > plain['step_seconds'] and again['peak_bytes_per_device'] <= plain['peak_bytes_per_device'], 'time for memory')


@case
def what_remat_offloads_takes_the_way_to_the_host_and_back():
    # Eight layers of 4096 x 256 (4 MiB): `up` of each goes out in the forward part and comes back in the backward one.
    text = '''fn layer(x, w) = (tanh(checkpoint_name(x @ w, "up")), none)
jit fn g(w, x) = value_and_grad(fn(w) = sum(scan(remat(layer, policy: {policy}), x, w)[0]))(w)
g(zeros([8, 256, 256]), zeros([4096, 256]))
'''
    here, away, up = text.replace('{policy}', '["up"]'), text.replace('{policy}', '{offload: ["up"]}'), 4 * 4096 * 256
    fast = 'flops: {f32: 1e21}, bandwidth: 1e21'
    say = predicted(away, more=fast + ', host: 1e9')
    near(say['step_seconds'], 2 * 8 * up / 1e9, 'nothing but both ways, one layer after another')
    near(say['host_bytes_per_device'], 8 * up, 'all layers')
    check(say['compute_seconds'] < 1e-9, 'waiting for it is no computing')
    # Beside products of 0.5 ms a layer: what is seen is the last one out, less what writes its tanh beside it, and the first one back.
    plain, hidden, free = predicted(here), predicted(away, more='host: 4e10'), predicted(away, more='host: 0')
    near(hidden['step_seconds'], free['step_seconds'] + 2 * up / 4e10 - up / 1e11, 'hidden but for two')
    check(abs(free['step_seconds'] / plain['step_seconds'] - 1) < 0.02, f'{free["step_seconds"]} without the way, {plain["step_seconds"]} on the device')
    near(free['model_flops_per_device'], plain['model_flops_per_device'], 'nothing is made again')
    less = plain['peak_bytes_per_device'] - hidden['peak_bytes_per_device']
    check(plain['host_bytes_per_device'] == 0 and 7 * up <= less <= 8 * up, f'{less} bytes less')
    # A machine that simulates its devices has one memory.
    own = predicted(away, more=COPYING.replace('copying: 1e6, ', ''))
    check(own['host_bytes_per_device'] == 0 and own['peak_bytes_per_device'] >= hidden['peak_bytes_per_device'] + 8 * up, 'its own memory')
    p = shard('estimate', script(away), '--chip', chip('host: 4e10'), '--devices', '1')
    check("the host's memory       32.0 MiB   offloaded" in p.stdout, 'the page says so', p)


@case
def a_loop_in_a_rule_is_one_kernel():
    text = '''fn forward(q, k) = (scan(fn(t, i) = (t + dynamic_slice(q, [i * 64, 0], [64, 128]) @ k, none), zeros([64, 128]), arange(16))[0], (q, k))
let f = custom_vjp(fn(q, k) = forward(q, k)[0], forward, fn((q, k), g) = (q, k))
jit fn step(q, k) = value_and_grad(fn(q) = sum(f(q, k)))(q)
step(zeros([1024, 128]), zeros([128, 128]))
'''
    say = predicted(text, more='bandwidth: 1e15')
    near(say['model_flops_per_device'], 16 * 2 * 64 * 128 * 128, 'all its products')
    check(abs(say['compute_seconds'] / (16 * 2 * 64 * 128 * 128 / 0.5e12) - 1) < 0.01, 'at the rate of kernels')
    loops = predicted(text, more='bandwidth: 1e15, kernels: 0, launch: 1e-3')
    near(loops['model_flops_per_device'], say['model_flops_per_device'], 'the same products')
    check(16 * 2e-3 <= loops['step_seconds'] <= 16 * 4e-3, f'software without kernels: the turns as they are written, {loops["step_seconds"]}')


@case
def parts_of_arrays_are_read_and_written_as_parts():
    # Sixteen rows of 1,024 numbers, each read, changed and written back to where it was: no turn touches the rest.
    text = '''jit fn f(x) = scan(fn(t, i) = (dynamic_update_slice(t, dynamic_slice(t, [i, 0], [1, 1024]) * 2.0, [i, 0]), none), x, arange(16))[0]
f(zeros([4096, 1024]))
'''
    seconds, row = predicted(text)['step_seconds'], 4 * 1024 / 1e11
    check(16 * 2 * row <= seconds <= 16 * 6 * row, f'{seconds / row} rows in sixteen turns')


@case
def calls_are_counted_and_text_has_gaps():
    text = 'jit fn f(x) = x * 2\nlet x = shard zeros([80000]) as P()\nfor i in 0..5 { x = f(x); print("step {i}: {x[0]:.2f}") }\nassert(x[0] == 0)\n'
    p = shard('estimate', script('mesh m = (@a: 8)\n' + text), '--chip', chip())
    check(p.returncode == 0 and 'step 4: ~\n' in p.stdout, 'prints', p)
    say = predicted('mesh m = (@a: 8)\n' + text)
    check([(c['name'], c['line'], c['count']) for c in say['calls']] == [('f', 2, 5)], 'one call, five times')


@case
def what_needs_data_is_left_out():
    """A call is counted as often as it is made, by hand: 20 turns, and 20 in a branch that only a run decides."""
    text = """mesh m = (@d: 8)
let x = shard arange(64.0) as P(@d)
jit fn step(w, x) = (w - 0.1 * x.mean(), sum(w * x))
jit fn other(w) = sum(w * w)
let (w, best) = (x, 1e9)
for i in 0..20 {
  let (next, loss) = step(w, x)
  w = next
  if loss < best { best = loss }
  if loss > 3 { other(w) }
  print("{i}: {loss:.3f}", other)
}
assert(best < 1e9)
"""
    p = shard('estimate', script(text), '--chip', chip(), '--devices', '8', '--json')
    say = json.loads(p.stdout)
    check(p.returncode == 0 and {c['name']: c['count'] for c in say['calls']} == {'step': 20, 'other': 20}, 'counts', p)
    check('case.shard:9 needs data' in p.stderr, 'where', p)
    for lesson, calls in (('scripts/fully_sharded.shard', {'train_step': 40, 'new_model': 1}), ('scripts/training/mnist.shard', {'step': 60})):
        p = shard('estimate', lesson, '--chip', 'h100', '--devices', '8', '--json')
        counts = {c['name']: c['count'] for c in json.loads(p.stdout)['calls']}
        check(p.returncode == 0 and all(counts.get(name) == n for name, n in calls.items()), f'{lesson}: {counts}', p)


@case
def values_of_a_run_may_be_assumed():
    text = 'jit fn f(x) = sum(x)\nlet x = f(zeros([100000]))\nif {c} > 1 {{ print("more") }} else {{ print("less") }}\n'
    p = shard('estimate', script(text.format(c='x')), '--chip', chip())
    check(p.returncode == 0 and 'assume(x, value)' in p.stderr and 'case.shard:3 needs data' in p.stderr, 'offers assume', p)
    p = shard('estimate', script(text.format(c='assume(x, 2.0)')), '--chip', chip())
    check(p.returncode == 0 and p.stdout.startswith('more\n'), 'takes it', p)
    p = shard('run', script(text.format(c='assume(x, 2.0)')))
    check(p.returncode == 0 and p.stdout == 'less\n', 'a run has the value', p)


@case
def what_is_no_chip_is_told():
    path = script('jit fn f(x) = x + 1\nf(zeros([4]))\n')
    p = shard('estimate', path, '--chip', 'h10')
    check(p.returncode == 1 and 'no chip "h10"' in p.stderr and 'a100-80' in p.stderr and 'did you mean "h100"' in p.stderr, 'unknown', p)
    for text, words in (('{name: "x", flops: {f32: 1e12}, bandwidth: 1e9}', '`memory`'), ('{memory: 1e9, bandwidth: 1e9}', '`flops`'),
                        ('{flops: {f32: 1e12}, memory: 1e9, bandwidth: -1}', '`bandwidth`'), ('7', 'a record or the name of one'),
                        ('{flops: {f32: 1e12}, memory: 1e9, bandwidth: 1e9, bandwith: 3}', 'no field `bandwith`'),
                        ('{flops: {f99: 1e12}, memory: 1e9, bandwidth: 1e9}', 'f99'), ('{flops: {f32: 1e12}, memory: 1e9, bandwidth: 1e9, domain: 0}', '`domain`')):
        p = shard('estimate', path, '--chip', script(text + '\n', 'chip.shard'))
        check(p.returncode == 1 and words in p.stderr and p.stdout == '', words, p)
    p = shard('estimate', path, '--chip', '/no/such.shard')
    check(p.returncode == 1 and 'cannot read' in p.stderr, 'no file', p)
    p = shard('estimate', script('print(1)\n'), '--chip', 'h100')
    check(p.returncode == 1 and 'nothing is compiled' in p.stderr, 'nothing to predict', p)


@case
def devices_that_do_not_fit_are_the_scripts_error():
    p = shard('estimate', script('mesh m = (@a: _, @b: 4)\njit fn f(x) = x\nf(zeros([4]))\n'), '--chip', 'h100', '--devices', '6', '--json')
    check(p.returncode == 1 and '6 devices' in p.stderr and p.stdout == '', 'the mesh', p)


@case
def several_chips_are_compared():
    p = shard('estimate', script('jit fn f(x) = x @ x\nf(zeros([4096, 4096], dtype: bf16))\n'), '--chip', 'a100-80,h100', '--json')
    slow, fast = json.loads(p.stdout)
    check(slow['chip'] == 'a100-80' and fast['step_seconds'] < slow['step_seconds'], 'in order', p)


# The state of Adam beside the parameters; both keep their memory.
MODEL = '''fn init(k) = {up: normal(k, [6, 256, 1024]), down: normal(k, [6, 1024, 256])}
fn layer(x, p) = (x + gelu(x @ p.up) @ p.down, none)
jit fn step(p, m, x) {
  let (l, g) = value_and_grad(fn(p) = mean(scan(layer, x, p)[0] ** 2))(p)
  let m = tree_map(fn(m, g) = 0.9 * m + g, m, g)
  (tree_map(fn(p, m) = p - 0.1 * m, p, m), m, l)
}
let (p, x) = (init(key(0)), normal(key(1), [{tokens}, 256]))
let (m, l) = (tree_map(zeros_like, p), 0.0)
for i in 0..3 { (p, m, l) = step(p, m, x) }
let real = memory_stats().peak_bytes_in_use
let s = memory_stats(step, p, m, x)
let e = estimate(step, p, m, x, chip: "h100")
let w = e.memory
print(s.arguments + 4 + s.temporaries, real, e.peak_bytes)
print(w.parameters, w.optimizer_state, w.gradients, w.kept, w.results, e.memory_lines[0].why, e.memory_lines[0].line, e.peak_line)
'''


@case
def memory_is_what_a_run_holds_and_every_byte_has_a_cause():
    for tokens in (64, 4096):
        p = shard('run', script(MODEL.replace('{tokens}', str(tokens))), '--devices', '1')
        held, real, said, learned, beside, gradients, kept, results, why, line, peak = [float(w) if w.isdigit() else w for w in p.stdout.split()]
        check(said == held and abs(said / real - 1) < 0.01, f'{said}, memory_stats {held}, the pool {real}', p)
        weights = 4 * 6 * 2 * 256 * 1024
        check(learned == beside == weights and results == 4, 'the state by what it is for', p)
        # By hand: gradients of all weights, or of a layer while activations are kept: of each layer what the backward
        # part reads, at least the operands of both products.
        if tokens == 64: check(gradients >= weights, 'gradients', p)
        else: check(kept >= 4 * 6 * tokens * (256 + 1024) and why == 'kept' and line == 2 and peak == 2, 'the lines of the layer', p)


@case
def plans_try_meshes_and_settings():
    # Gathering w costs 4 d^2 (n - 1) / n bytes over the slowest link on the way; the fewer on @data, the less there is to
    # gather, and @model splits the product.
    text = 'let d = 1024\nmesh m = (@data: 8, @model: 1)\njit fn f(w, x) = x @ (shard w as P(_, @model))\nf(shard zeros([d, d]) as P(@data, @model), shard zeros([4096, d]) as P(@data))\n'
    path = script(text)
    p = shard('plan', path, '--chip', chip(), '--devices', '8', '--axes', 'data,model', '--over', 'd=1000,1024', '--json')
    check(p.returncode == 0, 'is planned', p)
    found = json.loads(p.stdout)
    check(len(found) == 8 and sorted((c['axes']['data'], c['set']['d']) for c in found) == sorted((n, d) for n in (1, 2, 4, 8) for d in ('1000', '1024')), 'all of them', p)
    work = [c['step_seconds'] / c['model_flops_per_device'] for c in found]
    check(work == sorted(work) and all(c['fits'] for c in found), 'the best first', p)
    one = shard('estimate', script(text.replace('@data: 8, @model: 1', '@data: 2, @model: 4')), '--chip', chip(), '--json')
    same = [c for c in found if c['axes'] == {'data': 2, 'model': 4} and c['set']['d'] == '1024'][0]
    near(same['step_seconds'], json.loads(one.stdout)['step_seconds'], 'the same as by itself')
    p = shard('plan', path, '--chip', chip('memory: 1e6'), '--devices', '8', '--axes', 'data,model')
    check(p.returncode == 0 and 'lacks' in p.stdout and '0 fit, 4 lack memory' in p.stdout, 'too large', p)
    p = shard('plan', path, '--chip', chip(), '--devices', '6', '--axes', 'data,model')
    check(p.returncode == 1 and 'line 4: ' in p.stdout and '0 fit' in p.stdout, 'nothing divides', p)
    for args in ([], ['--over', 'd'], ['--axes', 'data', '--top', '0']):
        p = shard('plan', path, '--chip', 'h100', *args)
        check(p.returncode == 2 and p.stderr.startswith('error: '), 'wrong usage', p)


@case
def reasons_are_whole_but_on_a_terminal():
    text = 'mesh m = (@data: _, @model: 1)\njit fn f(w, x) = x @ w\nf(shard zeros([1024, 64]) as P(@data), shard zeros([64, 1024]) as P())\n'
    args = ('plan', script(text), '--chip', chip(), '--devices', '6', '--axes', 'data,model')   # 3 and 6 on @data divide no 1024
    said = [line.rstrip() for line in shard(*args).stdout.split('\n') if 'line 3' in line]
    check(len(said) == 2 and all(s.endswith('does not divide') for s in said) and max(map(len, said)) > 80, f'in a pipe: {said}')
    child, terminal = pty.fork()
    if not child: os.execv(cli.SHARD, [cli.SHARD, *args])
    shown = ''
    while True:
        try: part = os.read(terminal, 4096).decode()
        except OSError: break                                # it has ended
        if not part: break
        shown += part
    os.waitpid(child, 0)
    lines = [line for line in shown.split('\r\n') if 'line 3' in line]
    check(len(lines) == 2 and all(line.endswith('...') and len(line) == 80 for line in lines), f'on a terminal: {shown}')


@case
def a_long_loop_is_counted():
    say = predicted('jit fn f(x) = x + 1\nlet x = zeros([80000])\nfor i in 0..1000000 { x = f(x) }\n')
    check(say['calls'][0]['count'] == 1000000, 'counted')
    # In a function that is compiled each turn is a part of the call.
    say = predicted('jit fn f(x, w) {\n  for i in 0..500 { x = x @ w }\n  x\n}\nf(zeros([8, 8]), zeros([8, 8]))\n')
    near(say['model_flops_per_device'], 500 * 2 * 8 ** 3, 'turns of a loop that is written out')


@case
def a_page_is_80_wide_and_a_timeline_is_json():
    path = script('mesh m = (@data: 2, @model: 4)\n' + LAYERS.split('\n', 1)[1].format(tokens=64))
    trace = path + '.json'
    p = shard('estimate', path, '--chip', chip(), '--trace', trace)
    check(p.returncode == 0 and max(map(len, p.stdout.split('\n'))) <= 80 and 'computes' in p.stdout and 'memory' in p.stdout, 'the page', p)
    with open(trace) as f: events = json.load(f)['traceEvents']
    check(any(e['tid'] == 0 for e in events) and any(e['tid'] > 0 and 'all_gather' in e['name'] for e in events), 'both streams')


def page_of(path, *args):
    """The page, and the data in it."""
    file = path + '.html'
    p = shard('estimate', path, *args, '--html', file)
    check(p.returncode == 0, 'writes a page', p)
    with open(file) as f: text = f.read()
    return file, text, json.loads(re.search(r'const D=(.*?\}?);\n', text, re.S).group(1).replace('"events":[\n', '"events":['))


PAGE = 'mesh m = (@data: 2, @model: 4)\n' + LAYERS.split('\n', 1)[1].format(tokens=64) + '# </script> & <b>\n'


@case
def a_machine_that_simulates_devices_does_the_work_of_all():
    text = 'mesh m = (@d: 4)\njit fn f(x, w) = x @ w\nf(shard zeros([512, 256]) as P({x}), shard zeros([256, 512]) as P({w}))\n'
    product = 2 * 512 * 256 * 512 / 1e12
    near(predicted(text.format(x='@d', w=''), devices=4)['step_seconds'], product / 4, 'a device of four')
    product += (2 * 512 * 256 + 512 * 512) * 4 / 1e11            # such a machine computes what it has read
    near(predicted(text.format(x='@d', w=''), devices=4, more='simulated: 1')['step_seconds'], product, 'all four')
    near(predicted(text.format(x='', w=''), devices=4, more='simulated: 1')['step_seconds'], product, 'what is the same is done once')
    near(predicted(text.format(x='_, @d', w='@d'), devices=4, more='simulated: 1')['step_seconds'], product, 'a sum over devices is part of the product before it')
    total = 'mesh m = (@d: 4)\njit fn f(x) = tanh(shard tanh(x) as P())\nf(shard zeros([512, 256]) as P(@d))\n'
    near(predicted(total, devices=4, more='simulated: 1')['step_seconds'], 4 * 512 * 256 * 4 / 1e11, 'what is gathered lies there already')
    near(predicted(text.format(x='@d', w=''), devices=4, more='simulated: 1, call: 1.0')['step_seconds'], 1 + product, 'a call')
    vector = 'jit fn f(x, w) = x @ w\nf(zeros([512, 256]), zeros([256, 1]))\n'   # one addition an element of x, and no tiles
    near(predicted(vector, more='simulated: 1, points: 1e9, tile_columns: 8')['step_seconds'], 512 * 256 / 1e9 + 4 * (512 * 256 + 256 + 512) / 1e11, 'with a vector')
    moved = 'mesh m = (@d: 4)\nmanual fn f(x: P(@d)) -> P(@d) = ppermute(ppermute(x, @d, shift: 1), @d, shift: 1)\nf(shard zeros([4]) as P(@d))\n'
    slow, fast = (predicted(moved, devices=4, more=f'simulated: 1, launch: 1e-3, dispatch: {d}')['step_seconds'] for d in (5e-3, 0.0))
    near(slow - fast, 2 * 4e-3, 'a collective costs no less than another instruction')
    say = predicted('jit fn f(x) = exp(x) + 1\nf(zeros([1000]))\n', more='points: 1e6')   # exp counts for 12 additions
    near(say['step_seconds'], (13 * 1000 + 1) / 1e6, 'by additions, and the number itself')
    say = predicted('jit fn f(x) = exp(x) + 1\nf(zeros([1000]))\n', more='cache: 8000.0, cache_bandwidth: 1e9')
    near(say['step_seconds'], 8000 / 1e9, 'in a cache')


PROFILED = '''jit fn step(w, x) {
  let h = tanh(x @ w)
  w + h.T @ x
}
let (w, x) = (normal(key(0), [256, 256]), normal(key(1), [256, 256]))
for i in 0..20 { w = step(w, x) }
'''


@case
def a_run_is_measured_by_line_next_to_its_prediction():
    path = script(PROFILED)
    p = shard('run', path, '--profile', path + '.json', '--chip', chip('simulated: 1'))
    check(p.returncode == 0 and 'step: 20 calls' in p.stdout and 'predicted on round' in p.stdout and 'shard calibrate' not in p.stdout, 'the lines', p)
    with open(path + '.json') as f: say = json.load(f)
    call, = say['calls']
    check(call['name'] == 'step' and call['line'] == 1 and call['count'] == 20, 'one function', p)
    check(0 < call['quiet_seconds'] <= call['least_seconds'] * (1 + 1e-9) and call['least_seconds'] <= call['mean_seconds'], 'in order', p)
    near(call['predicted_seconds'], 2 * (2 * 256 ** 3 / 1e12 + 4 * 3 * 256 * 256 / 1e11) + 4 * 2 * 256 * 256 / 1e11 + 4 * 3 * 256 * 256 / 1e11, 'by hand: products, tanh, a sum')
    lines = {e['args']['line'] for e in say['traceEvents']}
    check(lines == {2, 3} and sum(e['dur'] for e in say['traceEvents']) <= call['least_seconds'] * 1e6 * (1 + 1e-9), 'instructions on lines', p)
    p = shard('run', path, '--profile', path + '.html')
    with open(path + '.html') as f: text = f.read()
    rows = re.search(r'id=compared>(.*?)</table>', text, re.S).group(1)
    check(p.returncode == 0 and rows.count('<tr>') >= 3 and 'id=time' in text, 'a page', p)
    check('note: cpu is no measured machine' in p.stdout and '--chip here.shard' in p.stdout, 'a chip that is not this machine', p)
    p = shard('run', script('print(1)\n'), '--profile', path + '.html')
    check(p.returncode == 0 and 'no compiled function' in p.stdout, 'nothing to measure', p)
    p = shard('run', path, '--profile', '/no/such/folder/p.html')
    check(p.returncode == 1 and '/no/such' in p.stderr, 'cannot be written', p)


@case
def a_machine_is_measured():
    file = script('', 'machine.shard')
    p = shard('calibrate', '--devices', '2', '--runs', '1', '--processes', '2', '-o', file)
    check(p.returncode == 0 and 'product(f32[512,512], f32[512,512]), 24 of them' in p.stdout, 'programs', p)
    with open(file) as f: said = f.read()
    check('simulated: 2' in said and re.search(r'network: [\d.e+]+', said) and re.search(r'network_latency: [\d.e-]+', said), said)
    with open(file, 'w') as f: f.write(said.replace('simulated: 2', 'simulated: 1'))   # what follows runs in one
    path = script(PROFILED)
    p = shard('run', path, '--profile', path + '.json', '--chip', file)
    check(p.returncode == 0 and 'predicted on this machine' in p.stdout, 'is a chip', p)
    with open(path + '.json') as f: call, = json.load(f)['calls']
    check(1 / 5 < call['predicted_seconds'] / call['quiet_seconds'] < 5, 'near enough to be this machine, however busy', p)


@case
def a_page_for_a_browser_is_one_file():
    path = script(PAGE)
    file, text, data = page_of(path, '--chip', chip())
    check(not re.search(r'(src|href|url)\s*[=(]|https?:|@import', text), 'no outside parts')
    check('&lt;/script> &amp; &lt;b>' in text and text.count('</script>') == 1, 'the text of the script is text')
    say = json.loads(shard('estimate', path, '--chip', chip(), '--json').stdout)
    check(max(b for _, b in data['memory']) == say['peak_bytes_per_device'], 'the curve has the peak')
    ends = [t for t, _ in data['memory']]
    check(ends == sorted(ends) and ends[-1] <= data['end'] * (1 + 1e-9), 'on the time of the timeline')
    check({e[2] for e in data['events']} != {0} and all(e[0] + e[1] <= data['end'] * (1 + 1e-9) for e in data['events']), 'two streams')
    check(text.count('<rect ') == 8 and len(set(re.findall(r'fill="(hsl[^"]*)"', text))) == 2, 'eight devices in two domains')
    rows = re.search(r'id=collectives>(.*?)</table>', text, re.S).group(1)
    check('all_gather' in rows and '@data' in rows and 'inserted' in rows, 'the collectives')
    check(len(re.findall('<tr>', re.search(r'id=script>(.*?)</table>', text, re.S).group(1))) == PAGE.count('\n') + 2, 'a row a line')


@case
def a_row_of_collectives_agrees_with_itself():
    # All are of one place in the script. By hand: a gather of S bytes over four devices takes S 3 / 4 / link; 8192 x 2048 is
    # 64 MiB, and 96 of 256 x 256, each 256 KiB, are 24 MiB: of a as of b, which are told apart by their names.
    text = """mesh m = (@data: 4)
fn whole(w) = shard w as P()
jit fn f(x, large, a, b) = (tanh(whole(large)), scan(fn(x, (a, b)) = (tanh(tanh(x @ whole(a)) @ whole(b)), none), x, (a, b))[0])
f(shard zeros([256, 256]) as P(@data), shard zeros([8192, 2048]) as P(@data), shard zeros([96, 256, 256]) as P(_, @data), shard zeros([96, 256, 256]) as P(_, @data))
"""
    _, page, _ = page_of(script(text), '--chip', chip(), '--devices', '4')
    rows = re.findall(r'<td class=r>([^<]*)' * 5, re.search(r'id=collectives>(.*?)</table>', page, re.S).group(1))
    check(sorted(rows) == [('1', '64.0 MiB', f'{2 ** 26 * 3 / 4 / 1e10 * 1e3:.2f} ms', '64.0 MiB', '2'),
                           *[('96', '256 KiB', f'{2 ** 18 * 3 / 4 / 1e10 * 1e6:.1f} us', '24.0 MiB', '2')] * 2], f'{rows}')


@case
def the_page_looks_right_in_a_browser():
    program = browser.found()
    if not program: return print('there is no Chromium: no page is looked at (apt-get install chromium)')
    file, text, data = page_of(script(PAGE), '--chip', chip())
    with browser.Browser(program) as b:
        for width in (1280, 400):
            b.width(width)
            b.open('file://' + os.path.abspath(file))
            wrong = [m for m in b.events if m.get('method') == 'Runtime.exceptionThrown']
            check(not wrong, f'no errors at {width}: {wrong}')
            check(len(b.asked_for()) == 1, f'loads itself and nothing else: {b.asked_for()}')
            check(b.ask('document.documentElement.scrollWidth') <= width, f'nothing sticks out at {width}')
            inked = "(i=>{const c=document.getElementById(i);return new Set(new Uint32Array(c.getContext('2d').getImageData(0,0,c.width,c.height).data.buffer)).size})"
            check(b.ask(inked + "('time')") > 3 and b.ask(inked + "('mem')") > 3, f'both pictures are drawn at {width}')
        before = b.ask('b-a')
        b.ask("c.dispatchEvent(new WheelEvent('wheel',{deltaY:-100,clientX:200,clientY:10,cancelable:true}))")
        check(b.ask('b-a') < before, 'the wheel zooms')
        b.ask("c.dispatchEvent(new MouseEvent('dblclick'))")
        check(b.ask('b-a') == data['end'], 'a double click shows all')


ADVISED = '''mesh m = (@data: 1, @model: 4)
jit fn f(x, w) {
  let h = x @ w                                   # whole on each of four devices
  sum(tanh(h))
}
f(shard zeros([{rows}, 512]) as P(_, @model), shard zeros([512, 256]) as P(@model))
'''


@case
def advice_is_predicted_before_it_is_given():
    # S = bytes of h. A sum of all of h costs 2 S 3 / 4 / link; what follows it is a fourth of the work where h is split.
    path = script(ADVISED.replace('{rows}', '4096'))
    args = ('--chip', chip(), '--devices', '4')
    p = shard('estimate', path, *args, '--advise')
    check(p.returncode == 0 and 'advice, predicted like the rest' in p.stdout, 'gives advice', p)
    words = re.findall(r'line 3: let h = shard \.\.\. as (P\([^)]*\)): (\S+ \S+) instead of (\S+ \S+)', p.stdout)
    check(words, 'a layout for the line that waits', p)
    for spec, better, now in words:
        told = shard('estimate', script(ADVISED.replace('{rows}', '4096').replace('x @ w  ', f'shard x @ w as {spec}  ')), *args)
        for text, said in ((p.stdout, now), (told.stdout, better)):
            check(f'one call {said}' in ' '.join(text.split()), f'{spec} takes {said}', told)
    base, best = (json.loads(shard('estimate', script(t), *args, '--json').stdout) for t in
                  (ADVISED.replace('{rows}', '4096'), ADVISED.replace('{rows}', '4096').replace('x @ w  ', f'shard x @ w as {words[0][0]}  ')))
    S = 4 * 4096 * 256
    near(base['exposed_communication_seconds'], 2 * S * 3 / 4 / 1e10, 'all of it')
    check(best['step_seconds'] < 0.97 * base['step_seconds'], 'better as it was said')
    p = shard('estimate', script('jit fn f(x) = x + 1\nf(zeros([4096]))\n'), '--chip', chip(), '--advise')
    check(p.returncode == 0 and 'no other mesh' in p.stdout, 'nothing to advise', p)
    kept = 'fn layer(x, p) = (tanh(tanh(tanh(x @ p))), none)\njit fn g(w, x) = tree_map(fn(w, g) = w - g, w, grad(fn(w) = sum(scan(layer, x, w)[0]))(w))\nlet w = zeros([64, 64, 64])\nw = g(w, zeros([4096, 64]))\n'
    p = shard('estimate', script(kept), '--chip', chip('memory: 1.2e8'), '--advise')
    check(p.returncode == 0 and 'DOES NOT FIT' in p.stdout and re.search(r'line 2: scan\(remat\(layer\), \.\.\.\): .*: fits', p.stdout), 'what keeps less', p)


@case
def explain_says_what_collectives_cost_on_a_chip():
    text = ADVISED.replace('{rows}', '4096').replace('f(shard', 'let (x, w) = (shard')
    text += 'fn g(x, w) = sum(tanh(shard x @ w as P(@model)))\nimport "CHIP" as c\nexplain(f, x, w, chip: c.round, against: g)\n'.replace('CHIP', chip())
    p = shard('run', script(text), '--devices', '4')
    check(p.returncode == 0, 'explains', p)
    S = 4 * 4096 * 256 * 3 / 4 / 1e10     # a sum is two of these
    for one in (2 * S, S): check(p.stdout.count(f'{one * 1e6:.0f} us waited for') == 1, 'a sum, and one that is scattered', p)
    last = [line.split() for line in p.stdout.split('\n') if line.strip()][-7:]
    check(last[0] == ['f', 'g'] and last[1][0] == 'collectives' and last[5][:2] == ['one', 'call'], 'side by side', p)
    p = shard('run', script('explain(fn(x) = x, zeros([4]), against: 3)\n'))
    check(p.returncode == 1 and '`against:` is a function' in p.stderr, 'what is no function', p)


@case
def parts_of_axes_are_priced_and_advised_on():
    """Two groups over four devices: what a part of an axis gathers takes time, and constraints that are tried name whole axes."""
    text = ('mesh m = (@d: 2, @m: 4)\njit fn f(x, w) {\n  let y = reshape(x @ w, [8, 2, 16])\n  sum(sin(sum(y, axis: 1)) ** 2)\n}\n'
            'let (x, w) = (shard ones([8, 64]) as P(@d), shard ones([64, 32]) as P(_, @m))\n')
    p = shard('explain', script(text + 'f(x, w)\n'), '--advise', '--devices', '8')
    check(p.returncode == 0 and '@m:(1)2' in p.stdout and 'tried' in p.stdout and ' as P(@m:' not in p.stdout, 'explained, with advice', p)
    p = shard('run', script(text + 'import "CHIP" as c\nexplain(f, x, w, chip: c.round)\n'.replace('CHIP', chip())), '--devices', '8')
    check(p.returncode == 0 and 'sends 128  inserted  0.01 us' in p.stdout, 'priced: 128 bytes by 1e10 a second', p)


@case
def reasons_quote_an_expression_of_one_line_whole():
    code = 'tanh(tanh(tanh(inputs_of_the_layer @ weights_of_the_layer)))'
    text = f'mesh m = (@d: 4)\njit fn f(inputs_of_the_layer, weights_of_the_layer) = {code}\nf(shard zeros([64, 512]) as P(_, @d), shard zeros([512, 64]) as P(@d))\n'
    p = shard('explain', script(text), '--devices', '4')
    words = ' '.join(p.stdout.replace('|', ' ').split())
    check('`tanh(inputs_of_the_layer @ weights_of_the_layer)` wants it' in words and max(map(len, p.stdout.split('\n')[2:])) <= 80, 'whole, in lines of 80', p)


@case
def explain_says_what_is_kept_for_the_gradient():
    text = 'fn layer(w, x) = tanh(x @ w)\nfn loss(w, x, f) { for i in 0..3 { x = f(w, x) }; sum(x) }\nimport "CHIP" as c\n'.replace('CHIP', chip())
    text += 'for f in [remat(layer), layer] {\n  explain(value_and_grad(fn(w, x) = loss(w, x, f)), ones([64, 64]), ones([1024, 64]), chip: c.round)\n}\nexplain(layer, ones([4, 4]), ones([4, 4]), chip: c.round)\n'
    p = shard('run', script(text))
    # of three layers the inputs of the second and the third, 1024 x 64 x 4 bytes each; the first has an argument
    check(p.returncode == 0 and 'keeps for the backward part  512 KiB\n    2 x f32[1024,64]  512 KiB  line 1\n' in p.stdout and p.stdout.count('keeps') == 2, 'kept', p)
    # by its name, without a chip: of one layer, on one of two devices, and in a script that is explained
    text = 'mesh m = (@d: 2)\nfn layer(w, x) = tanh(checkpoint_name(x @ w, "up"))\njit fn f(w, x) = value_and_grad(fn(w) = sum(remat(layer, policy: %s)(w, x)))(w)\n'
    text += 'let (w, x) = (shard ones([64, 64]) as P(), shard ones([1024, 64]) as P(@d))\n'
    for policy, rest in (('["up"]', '  128 KiB\n    up  f32[512,64]  128 KiB  line 2\n'),
                         ('{offload: ["up"]}', "  128 KiB in the host's memory\n    up  f32[512,64]  128 KiB  line 2  on the host\n")):
        for command, end in (('run', 'explain(f, w, x)\n'), ('explain', 'f(w, x)\n')):
            p = shard(command, script(text % policy + end), '--devices', '2')
            check(p.returncode == 0 and p.stdout.endswith('keeps for the backward part' + rest), f'{command} says {rest}', p)


@case
def explain_tries_constraints_before_it_shows_them():
    # S = bytes of h; sums of all of it cost 2 S 3 / 4 / link, scattered ones S 3 / 4 / link.
    text = 'mesh m = (@model: 4)\njit fn f(x, w, v) {\n  let h = x @ w\n  tanh(h) @ v\n}\n'
    text += 'f(shard zeros([4096, 512]) as P(_, @model), shard zeros([512, 256]) as P(@model), shard zeros([256, 4]) as P())\n'
    args = ('--chip', chip(), '--devices', '4')
    p = shard('explain', script(text), *args)
    words = ' '.join(p.stdout.replace('|', ' ').split())
    check(p.returncode == 0 and '`x @ w` of f32[4096,512@model] (`x`) and f32[512@model,256] (`w`) is a sum over @model; '
          '`tanh(h)` of line 4 wants it as f32[4096,256]' in words, 'which layouts met, and who wanted what', p)
    S = 4 * 4096 * 256 * 3 / 4 / 1e10
    check(f'inserted {2 * S * 1e6:.0f} us' in words, 'the price of the sum', p)
    found = re.search(r'psum @model of line 3, .*: (\S+ us) instead of (\S+ us) with\n *line 3: (.*)\n', p.stdout)
    check(found, 'a constraint', p)
    for t, said in ((text, found[2]), (text.replace('x @ w\n', found[3] + '\n'), found[1])):
        told = shard('estimate', script(t), *args)
        check(f'one call {said}' in ' '.join(told.stdout.split()), f'pasted, it takes {said}', told)
    p = shard('run', script(text.replace('f(shard', 'let (x, w, v) = (shard') + f'import "{chip()}" as c\nlet s = estimate(f, x, w, v, chip: c.round).collectives\n'
              'print(len(s), s[0].kind, s[0].line, s[0].why.value, s[0].why.wanted, s[0].why.by, s[0].why.terms, s[0].seconds)\nprint(comm(f, x, w, v, by: "line")[0].why.line)\n'), '--devices', '4')
    check(p.stdout.startswith('1 psum 3 f32[4096,256]{U:model} f32[4096,256] tanh(h) [f32[4096,512@model], f32[512@model,256]] ') and p.stdout.endswith('\n4\n'), 'as a record', p)
    near(float(p.stdout.split('\n')[0].split()[-1]), 2 * S, 'seconds of a record')


RULED = """mesh m = (@a: 4, @b: _)
rules { rows: @a, columns: _ }
let n = 256
jit fn f(x, w) = tanh(shard x @ w as P(@rows, @columns))
f(shard zeros([n, 512]) as P(@rows), shard zeros([512, 128]) as P(_, @columns))
"""


@case
def layouts_are_settings():
    there = {'@a=2': ('@a: 4', '@a: 2'), '@rows=@b': ('rows: @a', 'rows: @b'), '@rows=_': ('rows: @a', 'rows: _'), '@columns=@(a, b)': ('rows: @a, columns: _', 'rows: _, columns: (@a, @b)')}
    for said, (old, new) in there.items():
        more = ('--set', '@rows=_') if 'columns' in said else ()
        check(predicted(RULED, '--set', said, *more) == predicted(RULED.replace(old, new)), f'{said} is as if it were written')
    for said, words in (('@c=2', 'no mesh with an axis @c and no rules'), ('@row=_', 'did you mean `@rows`?'), ('@a=x', 'its size is a number'), ('@a=0', 'its size is a number'),
                        ('@rows=2', 'lies on an axis'), ('@rows=@', 'lies on an axis'), ('@rows=@z', 'no axis of the mesh'), ('@a=64', 'the other sizes make 64')):
        p = shard('run', script(RULED), '--set', said)
        check(p.returncode == 1 and words in p.stderr and p.stdout == '', words, p)


@case
def plans_choose_the_axes_of_logical_names():
    # Names lie on an axis of more than one device, or on none: 2 of 2 on (1, 4), 3 of 3 on (2, 2), 2 of 2 on (4, 1), each for
    # two names: 4 + 9 + 4 of 3 x 9.
    path = script(RULED)
    args = (path, '--chip', chip(), '--devices', '4', '--axes', 'a,b', '--rules')
    p = shard('plan', *args, '--json')
    found = json.loads(p.stdout)
    check(p.returncode == 0 and len(found) == 17 and '10 more are as another' in p.stderr, 'all of them', p)
    check(shard('plan', *args, '--json').stdout == p.stdout, 'the same twice')
    check(len({(tuple(c['axes'].items()), tuple(c['rules'].items())) for c in found}) == 17, 'each once')
    both = [c for c in found if c['rules'] == {'rows': '@a', 'columns': '@a'}]
    check(both and all('step_seconds' not in c and 'line 4' in c['why'] for c in both), 'one axis twice cannot be')
    able = [c for c in found if 'step_seconds' in c]
    check([c['step_seconds'] for c in able] == sorted(c['step_seconds'] for c in able), 'the same work, so by time')
    for c in (able[0], able[-1]):
        command = c['command'].split()
        check(command[:2] == ['shard', 'run'] and shard(*command[1:]).returncode == 0, 'the command runs')
        say = json.loads(shard('estimate', *command[2:], '--chip', chip(), '--json').stdout)
        near(say['step_seconds'], c['step_seconds'], 'and is the candidate')
    # By hand: split 4 ways either way, the product and its bytes are least where the operands are smallest together.
    bytes_of = lambda r, c: 4 * (256 * 512 / r + 512 * 128 / c + 256 * 128 / r / c)
    check(able[0]['step_seconds'] <= max(2 * 256 * 512 * 128 / 4 / 1e12, bytes_of(4, 1) / 1e11) + 2 * 4 * 256 * 128 / 4 / 1e11, 'the best is as good as rows on four')
    p = shard('plan', *args, '--most', '7')
    said = [int(n) for n in re.search(r'(\d+) candidates:(?:.|\n)*?(\d+) left out \(--most 7\)', p.stdout).groups()]
    check(sum(said) == 17 and said[0] <= 7 and 'one name at a time' in p.stdout, 'what is left out is said', p)
    p = shard('plan', script('jit fn f(x) = x + 1\nf(zeros([4]))\n'), '--chip', chip(), '--rules')
    check(p.returncode == 2 and 'the script has none' in p.stderr, 'no rules', p)


@case
def searches_leave_out_what_others_say_lacks_memory():
    # 4 + 9 + 9 + 4 layouts of two names, each with four sizes, of which the larger ones take more memory everywhere.
    args = (script(RULED), '--chip', chip('memory: 4e5'), '--devices', '8', '--axes', 'a,b', '--over', 'n=256,512,1024,2048', '--json')
    p = shard('plan', *args, '--rules')
    found = json.loads(p.stdout)
    lack = [c for c in found if 'step_seconds' not in c and c['why'].startswith('n=')]
    check(len(found) == 26 * 4 and lack, 'all are listed', p)
    said = int(re.search(r'(\d+) of these were not predicted', p.stderr)[1])
    check(len(lack) <= said < len(found), f'{said} were not predicted, {len(lack)} lack memory', p)
    # Each of them, predicted by itself, does lack it; each that fits was predicted.
    for c in lack[:8] + lack[-8:]:
        say = json.loads(shard('estimate', *c['command'].split()[2:], '--chip', chip('memory: 4e5'), '--json').stdout)
        check(say['fits'] is False and c['fits'] is False, c['command'])
    one = shard('plan', *args[:-3], '--over', 'n=256', '--rules', '--json')
    small = [c['step_seconds'] for c in json.loads(one.stdout) if c['fits']]
    check(small == [c['step_seconds'] for c in found if c['fits'] and c['set']['n'] == '256'], 'the same figures as without the others', one)


@case
def assertions_on_values_are_left_out():
    """Whatever the form: what needs an element is not there; a shape that is wrong is."""
    text = """mesh m = (@x: 2)
jit fn f(x) = x * 2.0
let y = f(shard ones([4]) as P(@x))
assert_close([y, y], array([[2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]]))
assert_close({a: y}, {a: ones([4])})
assert(all(y == 1.0) and not any(y > 9.0))
assert(float(y[0]) == 1.0, "first {y[0]}")
assert([float(sum(y)), 1.0] == [3.0, 1.0])
assert(y[0] > 3.0 or y[1] > 3.0)
assert_error(fn() = float(y[0]), "words")
save("no_such_folder/a.npz", y)
assert(exists("no_such_folder/a.npz") and not exists("no_such_folder/b.npz"))
"""
    p = shard('estimate', script(text), '--chip', 'h100')
    check(p.returncode == 0 and 'f at ' in p.stdout, 'left out', p)
    p = shard('estimate', script(text + 'assert_close(y, ones([5]))\n'), '--chip', 'h100')
    check(p.returncode == 1 and 'shapes differ' in p.stderr, 'shapes are known', p)


@case
def loads_like_keep_their_layout():
    """Parameters of a checkpoint that is not there: split columns and rows, a psum over @model in the loss of each step."""
    text = """import train
import optim
mesh m = (@data: 2, @model: 4)
let opt = optim.adam(0.01)
let p = {a: shard normal(key(0), [16, 32]) as P(_, @model), b: shard normal(key(1), [32, 4]) as P(@model, _)}
let x = shard normal(key(2), [64, 16]) as P(@data)
jit fn step((p, s), (x,)) {
  let (l, g) = value_and_grad(fn(p) = mean((tanh(x @ p.a) @ p.b - 1.0) ** 2))(p)
  let (p, s) = opt.step(p, g, s)
  ((p, s), {loss: l})
}
let out = train.loop(step, (p, opt.init(p)), loader((x,), batch: 16, spec: P(@data)), checkpoints: train.checkpoints("no_such_folder", every: 10))
"""
    path = script(text)
    p = shard('explain', path)
    check(p.returncode == 0 and 'step(({a: f32[16,32@model], b: f32[32@model,4]}' in p.stdout and re.search(r'psum +@model', p.stdout), 'explain', p)
    p = shard('estimate', path, '--chip', 'h100', '--json')
    of = {(c['kind'], tuple(c['axes'])) for c in json.loads(p.stdout)['calls'][0]['collectives']}
    check(('psum', ('model',)) in of, 'estimate', p)


if __name__ == '__main__': sys.exit(cli.main())
