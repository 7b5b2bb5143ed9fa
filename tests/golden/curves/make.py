#!/usr/bin/env python3
"""Makes the goldens of this folder: the losses of three models over 100 steps, as JAX computes them on one device.

    make.py           with jax 0.10.2 and optax 0.2.8; writes digits.csv, conv.csv, transformer.csv here

Parameters, orders of batches and places in the text come from keys, so that the programs beside it make the same ones.
"""
import os

os.environ['JAX_PLATFORMS'] = 'cpu'
import jax
import jax.numpy as jnp
import numpy as np
import optax

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, '..', '..', '..', 'scripts', 'data')
STEPS = 100
fold, normal, lecun = jax.random.fold_in, jax.random.normal, jax.nn.initializers.lecun_normal()


def train(name, params, loss, opt, batch_at):
    state = opt.init(params)
    @jax.jit
    def step(params, state, batch):
        value, grads = jax.value_and_grad(loss)(params, *batch)
        updates, state = opt.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value
    with open(os.path.join(HERE, name + '.csv'), 'w', encoding='utf-8') as f:
        f.write('loss\n')
        for i in range(STEPS):
            params, state, value = step(params, state, batch_at(i))
            f.write(f'{float(value):.9g}\n')


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def digits():
    table = np.loadtxt(os.path.join(DATA, 'digits.csv.gz'), delimiter=',')
    return jnp.asarray(table[:, :64], jnp.float32) / 16, jnp.asarray(table[:, 64], jnp.int32)


def network():
    x, y = digits()
    k1, k2 = jax.random.split(jax.random.key(0))
    params = {'w1': lecun(k1, (64, 128)), 'b1': jnp.zeros(128), 'w2': lecun(k2, (128, 10)), 'b2': jnp.zeros(10)}
    def loss(p, x, y): return cross_entropy(jax.nn.relu(x @ p['w1'] + p['b1']) @ p['w2'] + p['b2'], y)
    def batch(i):
        rows = jax.random.permutation(fold(jax.random.key(1), i), len(x))[:128]
        return x[rows], y[rows]
    train('digits', params, loss, optax.adam(1e-3), batch)


def convolutional():
    x, y = digits()
    x = x.reshape(-1, 8, 8, 1)
    k1, k2, k3 = jax.random.split(jax.random.key(2), 3)
    params = {'c1': lecun(k1, (3, 3, 1, 8)), 'c2': lecun(k2, (3, 3, 8, 16)), 'w': lecun(k3,
        (64, 10)), 'b': jnp.zeros(10)}
    def conv(x, w): return jax.lax.conv_general_dilated(x, w, (1, 1), 'SAME',
        dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
    def pool(x): return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')
    def loss(p, x, y):
        h = pool(jax.nn.relu(conv(x, p['c1'])))
        h = pool(jax.nn.relu(conv(h, p['c2'])))
        return cross_entropy(h.reshape(len(x), -1) @ p['w'] + p['b'], y)
    def batch(i):
        rows = jax.random.permutation(fold(jax.random.key(3), i), len(x))[:64]
        return x[rows], y[rows]
    train('conv', params, loss, optax.sgd(0.1, momentum=0.9), batch)


T, D, H, K, F, LAYERS = 32, 32, 4, 8, 128, 2


def transformer():
    with open(os.path.join(DATA, 'verses.txt'), encoding='utf-8') as f: text = f.read()
    letters = sorted(set(text))
    tokens = jnp.array([letters.index(c) for c in text], jnp.int32)
    def new_layer(k):
        kq, kk, kv, ko, ku, kd = jax.random.split(k, 6)
        w = lambda k, *shape: 0.1 * normal(k, shape)
        return {'norm1': jnp.ones(D), 'norm2': jnp.ones(D), 'q': w(kq, D, H, K), 'k': w(kk, D, H, K), 'v': w(kv, D, H,
            K), 'o': w(ko, H, K, D),
                'up': w(ku, D, F), 'down': w(kd, F, D)}
    ke, kp, kl = jax.random.split(jax.random.key(4), 3)
    params = {'embed': 0.1 * normal(ke, (len(letters), D)), 'place': 0.1 * normal(kp, (T, D)), 'norm': jnp.ones(D),
              'layers': [new_layer(k) for k in jax.random.split(kl, LAYERS)]}
    def rms(x, scale): return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale
    def attend(p, x):
        q, k, v = (jnp.einsum('btd,dhk->bthk', x, p[n]) for n in 'qkv')
        scores = jnp.einsum('bthk,bshk->bhts', q, k) / np.sqrt(K)
        scores = jnp.where(jnp.tril(jnp.ones((T, T))) > 0, scores, -1e9)
        return jnp.einsum('bthk,hkd->btd', jnp.einsum('bhts,bshk->bthk', jax.nn.softmax(scores, -1), v), p['o'])
    def loss(p, chunk):
        x = p['embed'][chunk[:, :-1]] + p['place']
        for layer in p['layers']:
            x = x + attend(layer, rms(x, layer['norm1']))
            x = x + jax.nn.gelu(rms(x, layer['norm2']) @ layer['up']) @ layer['down']
        return cross_entropy(rms(x, p['norm']) @ p['embed'].T, chunk[:, 1:])
    def batch(i):
        starts = jax.random.randint(fold(jax.random.key(5), i), (16,), 0, len(tokens) - T)
        return (tokens[starts[:, None] + jnp.arange(T + 1)],)
    train('transformer', params, loss, optax.adam(3e-3), batch)


network()
convolutional()
transformer()
