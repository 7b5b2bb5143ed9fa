"""Pairs of partition_programs.py whose sizes do not divide, or whose blocks need a neighbour's edge."""

CONV = 'jax.lax.conv_general_dilated({0}, {1}, ({2}, {2}), {3}, dimension_numbers=("NHWC", "HWIO", "NHWC"))'
CAUSAL = 'jax.lax.conv_general_dilated(x, w, (1,), [(3, 0)], dimension_numbers=("NWC", "WIO", "NWC"))'
POOL = 'jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID")'
SEQ = 'x 8,128,16 _,D; w 16,32'
IM = 'x 2,64,16,8 _,D; w 3,3,8,8'
FRAME = '''
let p = pad(x, [(1, 1), (1, 1)])
'''
FRAME_JAX = '''
p = jnp.pad(x, 1)
'''


def grads(body, names):
    return f'grad(fn(p) {{\nlet ({names}) = p\n{body}\n}})(({names}))'


def grads_jax(body, names):
    return f'return jax.grad(lambda {names}: {body}, {tuple(range(len(names.split(","))))})({names})'


SHIFT = 'mean(tanh(x[:, :-1] @ w) * (x[:, 1:] @ w))'
SHIFT_JAX = 'jnp.mean(jnp.tanh(x[:, :-1] @ w) * (x[:, 1:] @ w))'
TOKEN = 'mean(tanh(concat([c, x], axis: 1) @ w))'
TOKEN_JAX = 'jnp.mean(jnp.tanh(jnp.concatenate([c, x], axis=1) @ w))'
KINDS = {
    'uneven': [
        ('next token', 'D 8', SEQ, SHIFT, SHIFT_JAX),
        ('next token, gradients', 'D 8', SEQ, grads(SHIFT, 'x, w'), grads_jax(SHIFT_JAX, 'x, w')),
        ('class token', 'D 8', SEQ + '; c 8,1,16', TOKEN, TOKEN_JAX),
        ('class token, gradients', 'D 8', SEQ + '; c 8,1,16', grads(TOKEN, 'x, w, c'), grads_jax(TOKEN_JAX, 'x, w, c')),
        ('VALID convolution', 'D 8', IM, 'mean(tanh(conv(x, w, padding: "VALID")))', 'jnp.mean(jnp.tanh(' + CONV.format('x', 'w', 1, '"VALID"') + '))'),
        ('VALID convolution, gradients', 'D 8', IM, grads('mean(tanh(conv(x, w, padding: "VALID")))', 'x, w'), grads_jax('jnp.mean(jnp.tanh(' + CONV.format('x', 'w', 1, '"VALID"') + '))', 'x, w')),
        ('pooling 3/2', 'D 8', 'x 2,64,16,8 _,D', 'mean(max_pool(x, [3, 3], stride: 2, padding: "VALID") ** 2)', f'({POOL} ** 2).mean()'),
        ('framed stencil', 'D 8', 'x 64,64 D', FRAME + 'sum((p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x) ** 2)', FRAME_JAX + 'return jnp.sum((p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x) ** 2)'),
        ('framed stencil, a step', 'D 8', 'x 64,64 D', FRAME + 'x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)', FRAME_JAX + 'return x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)'),
        ('stencil inside', 'D 8', 'x 64,64 D', 'sum((x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]) ** 2)', 'jnp.sum((x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]) ** 2)'),
        ('differences', 'D 8', 'x 128,64 D', 'pad(x[1:] - x[:-1], [(0, 1), (0, 0)])', 'jnp.pad(x[1:] - x[:-1], ((0, 1), (0, 0)))'),
        ('softmax of the rest', 'D 8', 'x 8,128,16 _,D', 'mean(softmax(x[:, 1:], axis: 1) ** 2)', 'jnp.mean(jax.nn.softmax(x[:, 1:], axis=1) ** 2)'),
        ('constraint', 'D 8', 'x 130,64; w 64,32', 'mean(tanh((shard x as P(@D)) @ w), axis: 0)', 'jnp.tanh(put(x, P("D")) @ w).mean(0)'),
    ],
    'halo': [
        ('causal convolution', 'D 8', 'x 8,128,16 _,D; w 4,16,16', 'conv(x, w, pads: [(3, 0)])', CAUSAL),
        ('causal convolution, gradients', 'D 8', 'x 8,128,16 _,D; w 4,16,16', grads('mean(tanh(conv(x, w, pads: [(3, 0)])))', 'x, w'), grads_jax(f'jnp.mean(jnp.tanh({CAUSAL}))', 'x, w')),
        ('the middle', 'D 8', 'x 128,64 D', 'x[32:96] * 2.0', 'x[32:96] * 2.0'),
        ('all but the edges', 'D 8', 'x 128,64 D', 'mean(x[1:-1] ** 2)', '(x[1:-1] ** 2).mean()'),
        ('all but the edges, 8', 'D 8', 'x 128,64 D', 'x[4:-4] * 2.0', 'x[4:-4] * 2.0'),
        ('three points, framed', 'D 8', 'x 128,64 D', 'let p = pad(x, [(1, 1), (0, 0)])\np[2:] + p[:-2] - 2 * x', 'p = jnp.pad(x, ((1, 1), (0, 0)))\nreturn p[2:] + p[:-2] - 2 * x'),
        ('SAME convolution', 'D 8', IM, 'conv(x, w)', CONV.format('x', 'w', 1, '"SAME"')),
        ('SAME convolution, gradients', 'D 8', IM, grads('mean(tanh(conv(x, w)))', 'x, w'), grads_jax('jnp.mean(jnp.tanh(' + CONV.format('x', 'w', 1, '"SAME"') + '))', 'x, w')),
        ('SAME convolution, stride 2', 'D 8', IM, 'conv(x, w, stride: 2)', CONV.format('x', 'w', 2, '"SAME"')),
        ('SAME convolution, stride 2, gradients', 'D 8', IM, grads('mean(tanh(conv(x, w, stride: 2)))', 'x, w'), grads_jax('jnp.mean(jnp.tanh(' + CONV.format('x', 'w', 2, '"SAME"') + '))', 'x, w')),
        ('rolled', 'D 8', 'x 128,64 D', 'roll(x, 1, axis: 0) - 2.0 * x + roll(x, -1, axis: 0)', 'jnp.roll(x, 1, 0) - 2 * x + jnp.roll(x, -1, 0)'),
    ],
}
