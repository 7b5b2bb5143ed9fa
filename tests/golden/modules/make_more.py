#!/usr/bin/env python3
"""Makes more golden files of this folder: what Flax and optax compute for the layers and optimizers of more_layers.shard, more_optim.shard and complex_optim.shard.

    make_more.py      with jax 0.10.2, flax 0.12.8 and optax 0.2.8; writes more_layers.npz, more_optim.npz and complex_optim.npz here

What neither has (rotary pairs side by side, ALiBi, grouped heads, mixtures of experts) is written out here from its paper. Names in a
file: CASE.THING.
"""
import os
import warnings

os.environ['JAX_PLATFORMS'] = 'cpu'
warnings.filterwarnings('ignore')
import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import contrib

HERE = os.path.dirname(os.path.abspath(__file__))
key = jax.random.key


def numbers(seed, *shape):
    return jax.random.normal(key(seed), shape)


def layers():
    out = {}

    def put(case, f, p, x):
        """y, and the gradients of mean(y * y) by the parameters and by x."""
        gp, gx = jax.grad(lambda p, x: jnp.mean(f(p, x) ** 2), (0, 1))(p, x)
        out.update({f'{case}.x': x, f'{case}.y': f(p, x), f'{case}.gx': gx})
        out.update({f'{case}.p_{k}': v for k, v in p.items()} | {f'{case}.g_{k}': v for k, v in gp.items()})

    x, p = numbers(0, 2, 3, 4, 6), {'scale': numbers(1, 6), 'bias': numbers(2, 6)}
    put('group_norm', lambda p, x: linen.GroupNorm(num_groups=3, use_fast_variance=False).apply({'params': p}, x), p, x)
    put('instance_norm', lambda p, x: linen.InstanceNorm(use_fast_variance=False).apply({'params': p}, x), p, x)

    x = numbers(3, 2, 5, 3)
    p = {'w': numbers(4, 3, 4, 6) * .5, 'u': numbers(5, 6, 4, 6) * .5, 'b': numbers(6, 4, 6)}

    def lstm(p, x, reverse=False):
        cell = {f'i{g}': {'kernel': p['w'][:, k]} for k, g in enumerate('ifgo')}
        cell |= {f'h{g}': {'kernel': p['u'][:, k], 'bias': p['b'][k]} for k, g in enumerate('ifgo')}
        return linen.RNN(linen.LSTMCell(6), reverse=reverse, keep_order=True).apply({'params': {'cell': cell}}, x)

    put('lstm', lstm, p, x)
    out['lstm.back'] = lstm(p, x, True)
    p = {'w': numbers(4, 3, 3, 6) * .5, 'u': numbers(5, 6, 3, 6) * .5, 'b': numbers(6, 3, 6), 'c': numbers(7, 6)}

    def gru(p, x):
        cell = {f'i{g}': {'kernel': p['w'][:, k], 'bias': p['b'][k]} for k, g in enumerate('rzn')}
        cell |= {f'h{g}': {'kernel': p['u'][:, k]} for k, g in enumerate('rz')} | {'hn': {'kernel': p['u'][:, 2], 'bias': p['c']}}
        return linen.RNN(linen.GRUCell(6)).apply({'params': {'cell': cell}}, x)

    put('gru', gru, p, x)

    def conv(case, layer, x, w):
        put(case, lambda p, x: layer.apply({'params': {'kernel': p['w'], 'bias': p['b']}}, x), {'w': w, 'b': numbers(9, w.shape[-1])}, x)

    x = numbers(8, 2, 6, 5, 4)
    conv('conv_groups', linen.Conv(6, (3, 2), feature_group_count=2), x, numbers(10, 3, 2, 2, 6))
    conv('conv_depthwise', linen.Conv(8, (3, 3), strides=2, feature_group_count=4), x, numbers(11, 3, 3, 1, 8))
    conv('conv_dilated', linen.Conv(3, (3, 3), kernel_dilation=2), x, numbers(12, 3, 3, 4, 3))
    conv('conv_pads', linen.Conv(3, (3, 3), padding=((2, 0), (1, 1))), x, numbers(12, 3, 3, 4, 3))
    conv('conv_1d', linen.Conv(3, (3,), strides=2), x[:, :, 0], numbers(13, 3, 4, 3))
    conv('transpose', linen.ConvTranspose(3, (3, 2), strides=(2, 2)), x, numbers(14, 3, 2, 4, 3))
    conv('transpose_valid', linen.ConvTranspose(3, (4, 4), strides=(2, 2), padding='VALID'), x, numbers(15, 4, 4, 4, 3))
    w = numbers(16, 2, 2, 4, 7)
    put('patches', lambda p, x: linen.Conv(7, (2, 2), strides=(2, 2), padding='VALID').apply(
        {'params': {'kernel': p['w'], 'bias': p['b']}}, x).reshape(2, -1, 7), {'w': w, 'b': numbers(9, 7)}, x[:, :, :4])

    # Attention: heads in groups that share keys, and positions of three kinds.
    def turned(x, pairs):
        half = x.shape[-1] // 2
        angle = jnp.arange(x.shape[1])[:, None] * 10000. ** (-jnp.arange(half) / half)
        c, s = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        if pairs == 'rotary':
            a, b = x[..., :half], x[..., half:]
            return jnp.concatenate([a * c - b * s, a * s + b * c], -1)
        a, b = x[..., ::2], x[..., 1::2]
        return jnp.stack([a * c - b * s, a * s + b * c], -1).reshape(x.shape)

    def attention(kind, p, x):
        q, k, v = (jnp.einsum('btd,dhk->bthk', x, p[n]) for n in 'qkv')
        if kind.startswith('rotary'):
            q, k = turned(q, kind), turned(k, kind)
        k, v = (jnp.repeat(a, q.shape[2] // k.shape[2], 2) for a in (k, v))
        scores = jnp.einsum('bthk,bshk->bhts', q, k) / np.sqrt(q.shape[-1])
        t = jnp.arange(x.shape[1])
        if kind == 'alibi':  # slopes of four heads: 2^-2, 2^-4, 2^-6, 2^-8
            scores += jnp.array([.25, .0625, .015625, .00390625])[:, None, None] * (t - t[:, None])
        scores = jnp.where(t <= t[:, None], scores, -1e9)
        return jnp.einsum('bhts,bshk,hkd->btd', jax.nn.softmax(scores), v, p['o'])

    x = numbers(17, 2, 6, 16)
    p = {'q': numbers(18, 16, 4, 4) * .3, 'k': numbers(19, 16, 2, 4) * .3, 'v': numbers(20, 16, 2, 4), 'o': numbers(21, 4, 4, 16) * .3}
    for kind in ('none', 'rotary', 'rotary_pairs', 'alibi'):
        put(f'attention_{kind}', lambda p, x: attention(kind, p, x), p, x)

    # A mixture of experts, every one computed for every position.
    def moe(p, x, room=None):
        shares = jax.nn.softmax(x @ p['router'])
        best, which = jax.lax.top_k(shares, 2)
        best = best / best.sum(-1, keepdims=True)
        if room is not None:  # first choices of all positions first
            hot = jax.nn.one_hot(which.T.reshape(-1), 4, dtype=jnp.int32)
            place = (jnp.cumsum(hot, 0) * hot).sum(1) - 1
            best = best * (place < room).reshape(2, -1).T
        each = jnp.einsum('teh,ehd->ted', jax.nn.silu(jnp.einsum('td,edh->teh', x, p['gate'])) * jnp.einsum('td,edh->teh', x, p['up']), p['down'])
        return (jnp.take_along_axis(each, which[..., None], 1) * best[..., None]).sum(1)

    x = numbers(22, 12, 5)
    p = {'router': numbers(23, 5, 4), 'up': numbers(24, 4, 5, 8), 'gate': numbers(25, 4, 5, 8), 'down': numbers(26, 4, 8, 5)}
    put('moe', moe, p, x)
    put('moe_room', lambda p, x: moe(p, x, 5), p, x)  # capacity 0.8: 0.8 * 2 * 12 / 4 = 4.8, rounded up
    shares = jax.nn.softmax(x @ p['router'])
    used = jax.nn.one_hot(jax.lax.top_k(shares, 2)[1], 4).mean((0, 1))
    out['moe.balance'] = 4 * (used * shares.mean(0)).sum()
    return out


def optimizers():
    out = {}
    p0 = {'a': numbers(0, 4, 3), 'b': numbers(1, 3), 'c': numbers(2, 2, 5)}
    grads = [{'a': numbers(10 + i, 4, 3), 'b': numbers(20 + i, 3), 'c': numbers(30 + i, 2, 5)} for i in range(6)]
    put = lambda name, tree: out.update({f'{name}.{k}': v for k, v in tree.items()})
    put('p0', p0)
    for i, g in enumerate(grads):
        put(f'g{i}', g)
    weights = {'a': True, 'b': False, 'c': True}
    labels = {'a': 'fast', 'b': 'still', 'c': 'slow'}
    for name, opt in {
            'masked': optax.chain(optax.masked(optax.trace(.9), weights), optax.scale(-.1)),
            'kinds': optax.multi_transform({'fast': optax.adam(.1), 'slow': optax.sgd(.01, momentum=.9), 'still': optax.set_to_zero()}, labels),
            'injected': optax.inject_hyperparams(optax.adamw)(learning_rate=optax.linear_schedule(.1, .02, 4), weight_decay=.05),
            'muon': contrib.muon(.1), 'muon_rms': contrib.muon(.1, consistent_rms=.2, weight_decay=.1, nesterov=False),
            'muon_steps': contrib.muon(.1, ns_steps=3, beta=.8), 'nadam': optax.nadam(.1), 'nadamw': optax.nadamw(.1, weight_decay=.02),
            'joined': optax.sgd(optax.join_schedules([optax.linear_schedule(0., .1, 2), optax.cosine_decay_schedule(.1, 4)], [2]))}.items():
        p, s = p0, opt.init(p0)
        for i, g in enumerate(grads):
            u, s = opt.update(g, s, p)
            p = optax.apply_updates(p, u)
            if i in (0, 5):
                put(f'{name}.{i}', p)
    opt = optax.lookahead(optax.adam(.1), 3, .4)
    p = optax.LookaheadParams.init_synced(p0)
    s = opt.init(p)
    for i, g in enumerate(grads[:5]):
        u, s = opt.update(g, s, p)
        p = optax.apply_updates(p, u)
        put(f'lookahead.{i}', p.fast)
    return out


def complex_optimizers():  # of complex and of real parameters beside each other, three steps
    out = {}
    whole = lambda seed, *shape: numbers(seed, *shape) + 1j * numbers(100 + seed, *shape)
    put = lambda name, tree: out.update({f'{name}.{k}': v for k, v in tree.items()})
    p0 = {'a': whole(0, 4, 6), 'b': whole(1, 5), 'c': numbers(2, 3)}
    grads = [{'a': whole(10 + i, 4, 6), 'b': whole(20 + i, 5), 'c': numbers(30 + i, 3)} for i in range(3)]
    put('p0', p0)
    for i, g in enumerate(grads):
        put(f'g{i}', g)
    for name, opt in {
            'sgd': optax.sgd(.1, momentum=.9, nesterov=True), 'adam': optax.adam(.1), 'nadam': optax.nadam(.1), 'adamw': optax.adamw(.1, weight_decay=.02),
            'lamb': optax.lamb(.1, weight_decay=.01), 'lion': optax.lion(.01), 'adagrad': optax.adagrad(.1), 'rmsprop': optax.rmsprop(.01),
            'rmsprop_momentum': optax.rmsprop(.01, momentum=.9), 'adafactor': optax.adafactor(.1), 'adafactor_factored': optax.adafactor(.1, min_dim_size_to_factor=2),
            'muon': contrib.muon(.1), 'clipped': optax.chain(optax.clip_by_global_norm(.5), optax.sgd(.1)),
            'chained': optax.chain(optax.clip_by_global_norm(1.), optax.ema(.9), optax.trace(.9), optax.add_decayed_weights(.1), optax.scale(-.1))}.items():
        p, s = p0, opt.init(p0)
        for i, g in enumerate(grads):
            u, s = opt.update(g, s, p)
            p = optax.apply_updates(p, u)
        put(name, p)
    return out


for name, arrays in {'more_layers': layers(), 'more_optim': optimizers(), 'complex_optim': complex_optimizers()}.items():
    np.savez_compressed(os.path.join(HERE, f'{name}.npz'), **{k: np.asarray(v) for k, v in arrays.items()})
