"""The programs of this folder in JAX: prints the median milliseconds of a step. Usage: jax_programs.py NAME DEVICES STEPS"""
import os
import sys
import time

name, devices, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.environ['XLA_FLAGS'] = f'--xla_force_host_platform_device_count={devices}'
os.environ['JAX_PLATFORMS'] = 'cpu'
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((devices,), ('data',), axis_types=(AxisType.Auto,))
tree = jax.tree.map


def put(x, spec):
    return tree(lambda a: jax.device_put(a, NamedSharding(mesh, spec)), x)


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


step, state, data = {'logistic': logistic, 'mlp': mlp}[name]()
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
print(sorted(times)[2] * 1e3)
