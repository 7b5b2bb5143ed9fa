#!/usr/bin/env python3
"""Makes the golden files of this folder: what Flax, optax and JAX compute where nn and optim have a counterpart.

    make.py           with jax 0.10.2, flax 0.12.8 and optax 0.2.8; writes initialisers.npz, layers.npz, losses.npz, optim.npz here

The programs beside it load a file, compute the same and compare. Names in a file: CASE.THING.
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

HERE = os.path.dirname(os.path.abspath(__file__))


def save(name, arrays):
    np.savez_compressed(os.path.join(HERE, name), **{k: np.asarray(v) for k, v in arrays.items()})


def initialisers():
    i, out = jax.nn.initializers, {}
    cases = {
        'lecun_normal': i.lecun_normal(), 'lecun_uniform': i.lecun_uniform(), 'he_normal': i.he_normal(), 'he_uniform': i.he_uniform(),
        'glorot_normal': i.glorot_normal(), 'glorot_uniform': i.glorot_uniform(), 'normal': i.normal(0.02),
        'uniform': i.uniform(0.5), 'truncated': i.truncated_normal(0.3), 'orthogonal': i.orthogonal(), 'orthogonal2': i.orthogonal(2.0),
        'fan_out': i.variance_scaling(2.0, 'fan_out', 'normal'), 'fan_avg': i.variance_scaling(0.5, 'fan_avg',
            'uniform'),
        'fan_in': i.variance_scaling(1.5, 'fan_in', 'truncated_normal'),
    }
    for name, f in cases.items():
        for n, shape in enumerate([(6, 4), (4, 6), (3, 3, 2, 5)]):
            out[f'{name}.{n}'] = f(jax.random.key(n), shape)
    return out


def layers():
    out, key = {}, jax.random.key
    def put(case, **arrays):
        out.update({f'{case}.{k}': v for k, v in arrays.items()})
    def with_gradients(case, f, p, x, **more):
        """y, and the gradients of mean(y * y) by the parameters and by x."""
        y = f(p, x)
        gp, gx = jax.grad(lambda p, x: jnp.mean(f(p, x) ** 2), (0, 1))(p, x)
        put(case, x=x, y=y, gx=gx, **{f'g_{k}': v for k, v in gp.items()}, **{f'p_{k}': v for k, v in p.items()},
            **more)

    x = jax.random.normal(key(0), (4, 5, 8))
    w, b, s = jax.random.normal(key(1), (8, 6)), jax.random.normal(key(2), (6,)), jax.random.normal(key(3), (8,))
    with_gradients('linear', lambda p, x: linen.Dense(6).apply({'params': {'kernel': p['w'], 'bias': p['b']}}, x),
        {'w': w, 'b': b}, x)
    with_gradients('layer_norm', lambda p, x: linen.LayerNorm(use_fast_variance=False).apply({'params': p}, x),
        {'scale': s, 'bias': s * 0.5}, x)
    with_gradients('rms_norm', lambda p, x: linen.RMSNorm().apply({'params': p}, x), {'scale': s}, x)
    table = jax.random.normal(key(4), (11, 8))
    codes = jax.random.randint(key(5), (3, 4), 0, 11)
    put('embedding', table=table, codes=codes, y=linen.Embed(11, 8).apply({'params': {'embedding': table}}, codes))

    image = jax.random.normal(key(6), (2, 9, 8, 3))
    kernel, bias = jax.random.normal(key(7), (3, 2, 3, 4)), jax.random.normal(key(8), (4,))
    for stride in (1, 2):
        for padding in ('SAME', 'VALID'):
            conv = linen.Conv(4, (3, 2), strides=(stride, stride), padding=padding)
            with_gradients(f'conv_{padding.lower()}_{stride}', lambda p,
                x: conv.apply({'params': {'kernel': p['w'], 'bias': p['b']}}, x),
                           {'w': kernel, 'b': bias}, image)

    scale, shift = jax.random.normal(key(9), (3,)), jax.random.normal(key(10), (3,))
    stats = {'mean': jnp.array([0.1, -0.2, 0.3]), 'var': jnp.array([1.5, 0.5, 2.0])}
    variables = lambda p: {'params': p, 'batch_stats': stats}
    train = linen.BatchNorm(use_running_average=False, momentum=0.9, use_fast_variance=False)
    f = lambda p, x: train.apply(variables(p), x, mutable=['batch_stats'])
    with_gradients('batch_norm', lambda p, x: f(p, x)[0], {'scale': scale, 'bias': shift}, image)
    after = f({'scale': scale, 'bias': shift}, image)[1]['batch_stats']
    use = linen.BatchNorm(use_running_average=True)
    put('batch_norm', mean0=stats['mean'], var0=stats['var'], mean1=after['mean'], var1=after['var'],
        used=use.apply(variables({'scale': scale, 'bias': shift}), image))

    # Flax's attention takes its biases along; they are compared too.
    x = jax.random.normal(key(11), (2, 7, 12))
    source = jax.random.normal(key(12), (2, 5, 12))
    heads, d = 3, 12
    draw = lambda k, *shape: 0.3 * jax.random.normal(key(k), shape)
    p = {'q': draw(13, d, heads, 4), 'k': draw(14, d, heads, 4), 'v': draw(15, d, heads, 4), 'o': draw(16, heads, 4, d),
         'bq': draw(17, heads, 4), 'bk': draw(18, heads, 4), 'bv': draw(19, heads, 4), 'bo': draw(20, d)}
    attention = linen.MultiHeadDotProductAttention(num_heads=heads, deterministic=True)
    def attend(p, x, source=None, mask=None):
        v = {'query': {'kernel': p['q'], 'bias': p['bq']}, 'key': {'kernel': p['k'], 'bias': p['bk']},
             'value': {'kernel': p['v'], 'bias': p['bv']}, 'out': {'kernel': p['o'], 'bias': p['bo']}}
        return attention.apply({'params': v}, x, source, mask=mask)
    causal = linen.make_causal_mask(jnp.ones((2, 7)))
    mask = jax.random.bernoulli(key(21), 0.6, (2, 1, 7, 7)) | jnp.eye(7, dtype=bool)
    with_gradients('attention', lambda p, x: attend(p, x), p, x, mask=mask, source=source)
    put('attention', causal=attend(p, x, mask=causal), masked=attend(p, x, mask=mask),
        both=attend(p, x, mask=linen.combine_masks(mask, causal, dtype=bool)),
        cross=attend(p, x, source))

    # Rotary positions as in the paper, pairs (i, i + size / 2); grouped heads by jax.nn.dot_product_attention.
    def turn(x, base=10000.0):
        half = x.shape[-1] // 2
        angle = np.arange(x.shape[1])[:, None] * base ** (-np.arange(half) / half)
        c, s = np.cos(angle)[None, :, None], np.sin(angle)[None, :, None]
        a, b = np.asarray(x, np.float64)[..., :half], np.asarray(x, np.float64)[..., half:]
        return np.concatenate([a * c - b * s, a * s + b * c], -1)
    q = jax.random.normal(key(22), (2, 7, 3, 4))
    put('rotary', x=q, y=turn(q).astype(np.float32))
    pg = {'q': draw(23, d, 6, 2), 'k': draw(24, d, 2, 2), 'v': draw(25, d, 2, 2), 'o': draw(26, 6, 2, d)}
    def grouped(p, x):
        q, k, v = (jnp.einsum('btd,dhk->bthk', x, p[n]) for n in 'qkv')
        return jnp.einsum('bthk,hkd->btd', jax.nn.dot_product_attention(q, k, v, is_causal=True), p['o'])
    with_gradients('grouped', grouped, pg, x)

    dropped = linen.Dropout(0.3, deterministic=False)
    put('dropout', y=jnp.where(jax.random.bernoulli(key(27), 0.7, image.shape), image / 0.7, 0))
    return out


def losses():
    out, key = {}, jax.random.key
    logits = 3 * jax.random.normal(key(0), (6, 7))
    labels = jax.random.randint(key(1), (6,), 0, 7)
    other = jax.random.normal(key(2), (6, 7))
    targets = jax.random.uniform(key(3), (6, 7))
    shares = jax.nn.softmax(other)
    signs = jnp.sign(other)
    out.update(logits=logits, labels=labels, other=other, targets=targets, shares=shares, signs=signs)
    whole = optax.softmax_cross_entropy_with_integer_labels
    smooth = lambda l: optax.softmax_cross_entropy(l, optax.smooth_labels(jax.nn.one_hot(labels, 7), 0.1))
    cases = {
        'cross_entropy': lambda l: whole(l,
            labels), 'smoothed': smooth, 'soft': lambda l: optax.softmax_cross_entropy(l, shares),
        'bce': lambda l: optax.sigmoid_binary_cross_entropy(l, targets), 'mse': lambda l: optax.squared_error(l, other),
        'mae': lambda l: jnp.abs(l - other), 'huber': lambda l: optax.huber_loss(l, other, delta=0.8),
        'kl': lambda l: optax.losses.kl_divergence_with_log_targets(jax.nn.log_softmax(l), jax.nn.log_softmax(other)),
        'hinge': lambda l: optax.hinge_loss(l, signs),
    }
    for name, f in cases.items():
        out[name] = f(logits)
        out['g_' + name] = jax.grad(lambda l: f(l).mean())(logits)
    best = jnp.argsort(-logits, axis=-1)[:, :3]
    out['accuracy'] = jnp.mean(jnp.argmax(logits, -1) == labels)
    out['top3'] = jnp.mean(jnp.any(best == labels[:, None], -1))
    out['perplexity'] = jnp.exp(whole(logits, labels).mean())
    return out


def optim():
    out, key = {}, jax.random.key
    def tree(seed, scale=1.0):
        ks = jax.random.split(key(seed), 3)
        return {'a': scale * jax.random.normal(ks[0], (5, 4)), 'b': scale * jax.random.normal(ks[1],
            (3,)), 'c': scale * jax.random.normal(ks[2], (2, 6, 8))}
    p0 = tree(0)
    grads = [tree(1 + i, 0.5 + 0.25 * i) for i in range(6)]
    for i, g in enumerate([p0] + grads):
        out.update({f'{"p0" if i == 0 else f"g{i - 1}"}.{k}': v for k, v in g.items()})
    mask = lambda p: jax.tree.map(lambda x: x.ndim >= 2, p)
    cosine = optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 6, 0.01)
    cases = {
        'sgd': optax.sgd(0.1), 'momentum': optax.sgd(0.1, momentum=0.9), 'nesterov': optax.sgd(0.1, momentum=0.9,
            nesterov=True),
        'adam': optax.adam(0.1), 'adam_cosine': optax.adam(cosine), 'adamw': optax.adamw(0.1, weight_decay=0.02),
        'adamw_masked': optax.adamw(0.1, weight_decay=0.1, mask=mask), 'lion': optax.lion(0.01), 'lamb': optax.lamb(0.1,
            weight_decay=0.01),
        'adagrad': optax.adagrad(0.1), 'rmsprop': optax.rmsprop(0.01), 'rmsprop_momentum': optax.rmsprop(0.01,
            momentum=0.9),
        'rmsprop_nesterov': optax.rmsprop(0.01, momentum=0.9, nesterov=True),
        'adafactor': optax.adafactor(0.1, min_dim_size_to_factor=4),
        'adafactor_decay': optax.adafactor(0.1, min_dim_size_to_factor=128, weight_decay_rate=0.01,
            multiply_by_parameter_scale=False),
        'clipped': optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)), 'cut': optax.chain(optax.clip(0.3),
            optax.sgd(0.1)),
        'chained': optax.chain(optax.clip_by_global_norm(1.0), optax.trace(0.9), optax.add_decayed_weights(0.1, mask),
            optax.scale(-0.1)),
        'ema': optax.chain(optax.ema(0.9), optax.scale(-0.1)), 'ema_raw': optax.chain(optax.ema(0.9, debias=False),
            optax.scale(-0.1)),
        'scheduled': optax.chain(optax.scale_by_adam(), optax.scale_by_learning_rate(cosine)),
        'accumulated': optax.MultiSteps(optax.adam(0.1), 3),
    }
    for name, opt in cases.items():
        p, s = p0, opt.init(p0)
        @jax.jit                                  # powers are rounded correctly only where compiled
        def step(p, g, s):
            u, s = opt.update(g, s, p)
            return optax.apply_updates(p, u), s
        for i, g in enumerate(grads):
            p, s = step(p, g, s)
            if i in (0, 5): out.update({f'{name}.{i}.{k}': v for k, v in p.items()})
    t = jnp.arange(24)
    schedules = {
        'constant': optax.constant_schedule(0.3), 'linear': optax.linear_schedule(1.0, 0.1,
            10), 'warmup': optax.linear_schedule(0.0, 0.5, 5),
        'cosine': optax.warmup_cosine_decay_schedule(0.0, 1.0, 4, 16,
            0.1), 'cosine_alone': optax.cosine_decay_schedule(2.0, 12),
        'exponential': optax.exponential_decay(1.0, 3, 0.5), 'stairs': optax.exponential_decay(1.0, 3, 0.5,
            staircase=True, end_value=0.1),
        'polynomial': optax.polynomial_schedule(1.0, 0.2, 2.0, 8), 'steps': optax.piecewise_constant_schedule(1.0,
            {5: 0.5, 11: 0.1}),
        'join': optax.join_schedules([optax.linear_schedule(0.0, 1.0, 4), optax.exponential_decay(1.0, 2, 0.9),
            optax.constant_schedule(0.05)], [4, 12]),
    }
    for name, f in schedules.items(): out['schedule.' + name] = jnp.array([f(i) for i in t], jnp.float32)
    return out


for make in (initialisers, layers, losses, optim): save(make.__name__ + '.npz', make())
