#!/usr/bin/env python3
"""Layers of random sizes and options against Flax, values and gradients.

    against_flax.py SHARD [SEED] [CASES]     with jax 0.10.2 and flax 0.12.8; the last line is "N arrays, N differ"

Not part of the suite, which has fixed cases (make.py). An array differs where its largest error is above 5e-6 of the
largest number of its case: gradients that cancel, as those of a softmax, are no better in Flax.
"""
import os
import subprocess
import sys
import tempfile
import warnings

os.environ['JAX_PLATFORMS'] = 'cpu'
warnings.filterwarnings('ignore')
import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np

TRUTH = {True: 'true', False: 'false'}


class Cases:
    def __init__(self, seed):
        self.random, self.given, self.wanted, self.code, self.names = np.random.default_rng(seed), {}, {}, [], []

    def normal(self, *shape): return self.random.standard_normal(shape).astype(np.float32)
    def size(self, least, most): return int(self.random.integers(least, most + 1))
    def coin(self): return bool(self.random.random() < 0.5)
    def one_of(self, *values): return values[self.size(0, len(values) - 1)]
    def lead(self): return [self.size(1, 5) for _ in range(self.size(0, 2))]

    def add(self, layer, f, p, x, tree=None, more=''):
        """`f(p, x)` in Flax is `layer`.apply; `tree` puts the arrays of p into the record of parameters."""
        n = len(self.names)
        self.names.append(layer)
        weights = self.normal(*jax.eval_shape(f, p, x).shape)
        inner = lambda p, x: jnp.sum(f(p, x) * weights)
        whole = np.issubdtype(x.dtype, np.integer)
        slopes = jax.jit(jax.grad(inner, 0 if whole else (0, 1)))(p, x)
        p_slopes = slopes if whole else slopes[0]
        self.given.update({f'{n}_x': x, f'{n}_weights': weights, **{f'{n}_{k}': v for k, v in p.items()}})
        self.wanted[f'r{n}_y'] = jax.jit(f)(p, x)
        if not whole: self.wanted[f'r{n}_gx'] = slopes[1]
        tree = tree or {k: k for k in p}
        def written(t):
            if isinstance(t, str): return f'g["{n}_{t}"]'
            return '{' + ', '.join(f'{k}: {written(v)}' for k, v in t.items()) + '}'
        def paths(t, at=''):
            return [(at, t)] if isinstance(t, str) else [x for k, v in t.items() for x in paths(v, f'{at}.{k}')]
        results = [f'r{n}_y: {self.one_of("jit(f)", "f")}(p, x)']
        if not whole: results.append(f'r{n}_gx: jit(grad(inner, wrt: 1))(p, x)')
        for path, name in paths(tree):
            self.wanted[f'r{n}_g_{name}'] = p_slopes[name]
            results.append(f'r{n}_g_{name}: slope{path}')
        self.code.append(f'''{{
  let l = {layer}
  let (p, x, weights) = ({written(tree)}, g["{n}_x"], g["{n}_weights"])
  fn f(p, x) = l.apply(p, x{more.replace('#', str(n))})
  fn inner(p, x) = sum(f(p, x) * weights)
  let slope = {self.one_of('grad(inner)', 'jit(grad(inner))')}(p, x)
  out = {{...out, {", ".join(results)}}}
}}''')


def linear(c):
    inputs, outputs, bias = c.size(1, 40), c.size(1, 40), c.coin()
    p = {'w': c.normal(inputs, outputs), **({'b': c.normal(outputs)} if bias else {})}
    def f(p, x):
        named = {'kernel': p['w'], **({'bias': p['b']} if bias else {})}
        return linen.Dense(outputs, use_bias=bias).apply({'params': named}, x)
    c.add(f'nn.linear({inputs}, {outputs}, bias: {TRUTH[bias]})', f, p, c.normal(*c.lead(), inputs))


def embedding(c):
    n, d = c.size(2, 50), c.size(1, 16)
    rows = c.random.integers(-n, n, c.lead()).astype(np.int32)
    c.add(f'nn.embedding({n}, {d})', lambda p, x: linen.Embed(n, d).apply({'params': {'embedding': p['table']}}, x),
          {'table': c.normal(n, d)}, rows)


def norms(c):
    d, eps = c.size(2, 64), c.one_of(1e-6, 1e-5, 1e-3)
    x = c.normal(*c.lead(), d) * c.one_of(1, 10) + c.one_of(0, 1)
    layer = linen.LayerNorm(epsilon=eps, use_fast_variance=False)
    c.add(f'nn.layer_norm({d}, eps: {eps})', lambda p, x: layer.apply({'params': p}, x),
          {'scale': c.normal(d), 'bias': c.normal(d)}, x.astype(np.float32))
    c.add(f'nn.rms_norm({d}, eps: {eps})', lambda p, x: linen.RMSNorm(epsilon=eps).apply({'params': p}, x),
          {'scale': c.normal(d)}, c.normal(*c.lead(), d))
    d, train = c.size(1, 12), c.coin()
    state = {'mean': c.normal(d), 'var': np.abs(c.normal(d)) + np.float32(0.1)}
    norm = linen.BatchNorm(use_running_average=not train, epsilon=eps, use_fast_variance=False)
    def apply(p, x): return norm.apply({'params': p, 'batch_stats': state}, x, mutable=['batch_stats'])[0]
    n = len(c.names)
    c.given.update({f'{n}_mean': state['mean'], f'{n}_var': state['var']})
    c.add(f'nn.batch_norm({d}, eps: {eps})', apply, {'scale': c.normal(d), 'bias': c.normal(d)},
          c.normal(*[c.size(2, 6) for _ in range(c.size(1, 3))], d),
          more=f', state: {{mean: g["#_mean"], var: g["#_var"]}}, train: {TRUTH[train]}')
    c.code[-1] = c.code[-1].replace(f'train: {TRUTH[train]})', f'train: {TRUTH[train]})[0]', 1)


def conv(c):
    rank, inputs, outputs, padding = c.size(1, 3), c.size(1, 4), c.size(1, 5), c.one_of('SAME', 'VALID')
    window, stride = [c.size(1, 4) for _ in range(rank)], [c.size(1, 3) for _ in range(rank)]
    layer = linen.Conv(outputs, window, strides=stride, padding=padding)
    c.add(f'nn.conv({inputs}, {outputs}, {window}, stride: {stride}, padding: "{padding}")',
          lambda p, x: layer.apply({'params': {'kernel': p['w'], 'bias': p['b']}}, x),
          {'w': c.normal(*window, inputs, outputs), 'b': c.normal(outputs)},
          c.normal(c.size(1, 3), *[c.size(w, w + 6) for w in window], inputs))


def turned(x):
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[1])[:, None] * 10000.0 ** (-np.arange(half) / half)
    cos, sin = (jnp.asarray(f(angle)[None, :, None], jnp.float32) for f in (np.cos, np.sin))
    return jnp.concatenate([x[..., :half] * cos - x[..., half:] * sin, x[..., :half] * sin + x[..., half:] * cos], -1)


def attend(p, x, rotary, causal, shared, mask, memory):
    source = x if memory is None else memory
    q, k, v = (jnp.einsum('btd,dhk->bthk', y, p[n]) + p['b' + n] for n, y in (('q', x), ('k', source), ('v', source)))
    if rotary: q, k = turned(q), turned(k)
    k, v = (jnp.repeat(y, shared, 2) for y in (k, v))
    seen = jnp.ones((1, 1, x.shape[1], source.shape[1]), bool) if mask is None else jnp.asarray(mask)
    if causal: seen = seen & jnp.tril(jnp.ones((x.shape[1], source.shape[1]), bool))
    return jnp.einsum('bthk,hkd->btd', linen.dot_product_attention(q, k, v, mask=seen), p['o']) + p['bo']


def heads_of(c, heads, size, shared):
    d, few = heads * size, heads // shared
    return {'q': 0.4 * c.normal(d, heads, size), 'k': 0.4 * c.normal(d, few, size), 'v': 0.4 * c.normal(d, few, size),
            'o': 0.4 * c.normal(heads, size, d), 'bq': c.normal(heads, size), 'bk': c.normal(few, size),
            'bv': c.normal(few, size), 'bo': c.normal(d)}


def attention(c):
    heads = c.one_of(1, 2, 3, 4, 6)
    shared, size, rotary = c.one_of(*[s for s in range(1, heads + 1) if heads % s == 0]), 2 * c.size(1, 4), c.coin()
    d, batch, time, n = heads * size, c.size(1, 3), c.size(1, 9), len(c.names)
    memory = c.normal(batch, c.size(1, 7), d) if c.coin() else None
    causal, source, mask, more = memory is None and c.coin(), time if memory is None else memory.shape[1], None, ''
    if c.coin():
        mask = c.random.random(c.one_of((batch, 1, time, source), (batch, heads, time, source), (time, source),
                                        (batch, 1, 1, source))) < 0.7
        mask[..., 0] = True                                    # everybody sees something
        c.given[f'{n}_mask'] = mask
        more += ', mask: g["#_mask"]'
    if memory is not None:
        c.given[f'{n}_memory'] = memory
        more += ', memory: g["#_memory"]'
    positions = 'rotary' if rotary else 'none'
    options = f'causal: {TRUTH[causal]}, positions: "{positions}", bias: true, shared: {shared}'
    c.add(f'nn.attention({d}, {heads}, {options})',
          lambda p, x: attend(p, x, rotary, causal, shared, mask, memory), heads_of(c, heads, size, shared),
          c.normal(batch, time, d), more=more)


def block(c):
    heads, size, hidden, rotary, causal = c.one_of(1, 2, 4), 2 * c.size(1, 4), c.size(2, 30), c.coin(), c.coin()
    d, name = heads * size, c.one_of('gelu', 'relu', 'silu', 'tanh')
    act = {'gelu': linen.gelu, 'relu': linen.relu, 'silu': linen.silu, 'tanh': jnp.tanh}[name]
    look = heads_of(c, heads, size, 1)
    p = {**look, 's1': c.normal(d), 'c1': c.normal(d), 's2': c.normal(d), 'c2': c.normal(d), 'db': c.normal(d),
         'uw': 0.4 * c.normal(d, hidden), 'ub': c.normal(hidden), 'dw': 0.4 * c.normal(hidden, d)}
    layer = linen.LayerNorm(use_fast_variance=False)
    norm = lambda p, x, i: layer.apply({'params': {'scale': p['s' + i], 'bias': p['c' + i]}}, x)
    def f(p, x):
        x = x + attend(p, norm(p, x, '1'), rotary, causal, 1, None, None)
        return x + act(norm(p, x, '2') @ p['uw'] + p['ub']) @ p['dw'] + p['db']
    positions = 'rotary' if rotary else 'none'
    options = f'hidden: {hidden}, causal: {TRUTH[causal]}, positions: "{positions}", bias: true, activation: {name}'
    c.add(f'nn.transformer_block({d}, {heads}, {options})', f, p, c.normal(c.size(1, 3), c.size(1, 8), d),
          {'norm1': {'scale': 's1', 'bias': 'c1'}, 'norm2': {'scale': 's2', 'bias': 'c2'},
           'attention': {k: k for k in look},
           'forward': {'up': {'w': 'uw', 'b': 'ub'}, 'down': {'w': 'dw', 'b': 'db'}}})


def main():
    if len(sys.argv) < 2: sys.exit(__doc__)
    c = Cases(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    makers = (linear, embedding, norms, conv, attention, block)
    for i in range(int(sys.argv[3]) if len(sys.argv) > 3 else 60): makers[i % len(makers)](c)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f'{folder}/given.npz', **c.given)
        with open(f'{folder}/cases.shard', 'w', encoding='utf-8') as f:
            f.write(f'import nn\nlet g = load("{folder}/given.npz")\nlet out = {{}}\n' + '\n'.join(c.code))
            f.write(f'\nsave("{folder}/got.npz", out)\n')
        subprocess.run([os.path.abspath(sys.argv[1]), f'{folder}/cases.shard'], check=True)
        got = dict(np.load(f'{folder}/got.npz'))
    case_of = lambda name: int(name[1:name.index('_')])
    largest = [1.0] * len(c.names)
    for name, want in c.wanted.items():
        largest[case_of(name)] = max(largest[case_of(name)], np.max(np.abs(want), initial=0))
    differ = 0
    for name, want in c.wanted.items():
        want, have = np.asarray(want), got[name]
        same = want.shape == have.shape and want.dtype == have.dtype
        error = np.max(np.abs(want - have), initial=0) / largest[case_of(name)] if same else np.inf
        if not error < 5e-6:
            differ += 1
            print(name, c.names[case_of(name)], want.shape, have.shape, error)
    print(f'{len(c.wanted)} arrays, {differ} differ')
    sys.exit(bool(differ))


main()
