"""The programs of this folder in JAX: prints the median milliseconds of a step. Usage: jax_programs.py NAME DEVICES STEPS, and of two
processes that share the devices out: WHERE NUMBER. JAX_PLATFORMS=cuda takes a GPU; SIZES="D=1024 T=1024 compute=bf16" are those of the transformer."""
import os
import sys
import time

name, devices, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
processes = 2 if len(sys.argv) > 4 else 1
os.environ['XLA_FLAGS'] = f'--xla_force_host_platform_device_count={devices // processes}'
os.environ.setdefault('JAX_PLATFORMS', 'cpu')
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

if processes > 1: jax.distributed.initialize(sys.argv[4], processes, int(sys.argv[5]))
if name == 'transformer':
    mesh = jax.make_mesh((max(1, devices // 2), min(2, devices)), ('data', 'model'), axis_types=(AxisType.Auto,) * 2)
else:
    mesh = jax.make_mesh((devices,), ('data',), axis_types=(AxisType.Auto,))
tree = jax.tree.map


def put(x, spec):
    def one(a):
        a = np.asarray(a)
        return jax.make_array_from_callback(a.shape, NamedSharding(mesh, spec), lambda block: a[block])
    return tree(one, x)


def logistic():
    k = jax.random.key(1701)
    x = jax.random.normal(k, (1024, 32))
    y = (x @ jax.random.normal(k, (32, 1)) > 0).astype(jnp.float32)

    def loss(p, x, y):
        return jnp.mean((jax.nn.sigmoid(x @ p['w'] + p['b']) - y) ** 2)

    def step(p, x, y):
        l, g = jax.value_and_grad(loss)(p, x, y)
        return tree(lambda p, g: p - 0.01 * g, p, g), l

    return step, put({'w': jnp.zeros((32, 1)), 'b': jnp.zeros(1)}, P()), put((x, y), P('data'))


def fsdp():
    step, state, data = mlp()
    split = lambda layers: [{'w': put(l['w'], P('data')), 'b': l['b']} for l in layers]
    return step, {**state, **{n: split(state[n]) for n in ('p', 'm', 'v')}}, data


def mlp():
    sizes = [(784, 512), (512, 512), (512, 10)]
    keys = jax.random.split(jax.random.key(0), 3)
    p = [{'w': jax.random.normal(k, s) / s[0] ** 0.5, 'b': jnp.zeros(s[1])} for k, s in zip(keys, sizes)]
    state = put({'p': p, 'm': tree(jnp.zeros_like, p), 'v': tree(jnp.zeros_like, p), 't': jnp.float32(0)}, P())
    x = jax.random.normal(jax.random.key(1), (1024, 784))
    y = jax.random.randint(jax.random.key(2), (1024,), 0, 10)

    def loss(p, x, y):
        for layer in p[:2]:
            x = jax.nn.relu(x @ layer['w'] + layer['b'])
        z = x @ p[2]['w'] + p[2]['b']
        return jnp.mean(jax.nn.logsumexp(z, -1) - jnp.sum(z * jax.nn.one_hot(y, 10), -1))

    def step(s, x, y):
        l, g = jax.value_and_grad(loss)(s['p'], x, y)
        t = s['t'] + 1
        m = tree(lambda m, g: .9 * m + .1 * g, s['m'], g)
        v = tree(lambda v, g: .999 * v + .001 * g * g, s['v'], g)
        p = tree(lambda p, m, v: p - .001 * (m / (1 - .9 ** t)) / (jnp.sqrt(v / (1 - .999 ** t)) + 1e-8), s['p'], m, v)
        return {'p': p, 'm': m, 'v': v, 't': t}, l

    return step, state, put((x, y), P('data'))


def transformer():
    sizes = dict(pair.split('=') for pair in os.environ.get('SIZES', '').split())
    compute = {'f32': jnp.float32, 'bf16': jnp.bfloat16}[sizes.pop('compute', 'f32')]
    V, T, D, H, layers, batch = (int(sizes.get(n, d)) for n, d in [('V', 128), ('T', 64), ('D', 128), ('H', 4), ('layers', 4), ('batch', 32)])
    K, F = D // H, 4 * D
    keys = jax.random.split(jax.random.key(0), layers + 2)
    heads = P(None, 'model', None)
    specs = {'norm1': P(), 'norm2': P(), 'q': heads, 'k': heads, 'v': heads, 'o': P('model'), 'up': P(None, 'model'), 'down': P('model')}

    def new_layer(k):
        kq, kk, kv, ko, ku, kd = jax.random.split(k, 6)
        w = lambda k, *shape: 0.05 * jax.random.normal(k, shape)
        p = {'norm1': jnp.ones(D), 'norm2': jnp.ones(D), 'q': w(kq, D, H, K), 'k': w(kk, D, H, K), 'v': w(kv, D, H, K), 'o': w(ko, H, K, D),
             'up': w(ku, D, F), 'down': w(kd, F, D)}
        return {n: put(p[n], specs[n]) for n in p}

    p = {'embed': put(0.05 * jax.random.normal(keys[0], (V, D)), P()), 'place': put(0.05 * jax.random.normal(keys[1], (T, D)), P()),
         'norm': put(jnp.ones(D), P()), 'layers': [new_layer(k) for k in keys[2:]]}

    def rms(x, scale):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale

    def attend(p, x):
        q, k, v = (jnp.einsum('btd,dhk->bthk', x, p[n]) for n in 'qkv')
        scores = jnp.einsum('bthk,bshk->bhts', q, k, preferred_element_type=jnp.float32) / K ** 0.5
        seen = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((T, T), bool)), scores, -1e9), -1).astype(compute)
        return jnp.einsum('bthk,hkd->btd', jnp.einsum('bhts,bshk->bthk', seen, v), p['o'])

    def loss(p, x, y):
        p = tree(lambda w: w.astype(compute), p)
        h = p['embed'][x] + p['place']
        for l in p['layers']:
            h = h + attend(l, rms(h, l['norm1']))
            h = h + jax.nn.gelu(rms(h, l['norm2']) @ l['up']) @ l['down']
        z = (rms(h, p['norm']) @ p['embed'].T).astype(jnp.float32)
        return jnp.mean(jax.nn.logsumexp(z, -1) - jnp.sum(z * jax.nn.one_hot(y, V), -1))

    def step(s, x, y):
        l, g = jax.value_and_grad(loss)(s['p'], x, y)
        t = s['t'] + 1
        m = tree(lambda m, g: .9 * m + .1 * g, s['m'], g)
        v = tree(lambda v, g: .999 * v + .001 * g * g, s['v'], g)
        p = tree(lambda p, m, v: p - .001 * (m / (1 - .9 ** t)) / (jnp.sqrt(v / (1 - .999 ** t)) + 1e-8), s['p'], m, v)
        return {'p': p, 'm': m, 'v': v, 't': t}, l

    zeros = lambda: tree(jnp.zeros_like, p)
    tokens = jax.random.randint(jax.random.key(1), (batch, T + 1), 0, V)
    return step, {'p': p, 'm': zeros(), 'v': zeros(), 't': put(jnp.float32(0), P())}, put((tokens[:, :-1], tokens[:, 1:]), P('data'))


step, state, data = {'logistic': logistic, 'mlp': mlp, 'fsdp': fsdp, 'transformer': transformer}[name]()
step = jax.jit(step, donate_argnums=(0,))
for _ in range(3):
    state, l = step(state, *data)
jax.block_until_ready(state)
times = []
for _ in range(5):
    start = time.perf_counter()
    for i in range(max(1, steps // 5)):
        state, l = step(state, *data)
        if i % 10 == 9:
            jax.block_until_ready(l)   # many collectives in flight starve each other on few cores
    jax.block_until_ready((state, l))
    times.append((time.perf_counter() - start) / max(1, steps // 5))
if jax.process_index() == 0: print(sorted(times)[2] * 1e3)
