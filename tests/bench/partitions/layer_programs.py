"""More pairs for partitions.py, as in partition_programs.py: heads that do not divide over an axis, dimensions that are regrouped, framed
arrays and shifts, layers, rests of arrays. Written after the partitioner had learnt the others."""
from partition_programs import GQA, GQA_JAX

MQA = GQA.replace('[8, 32, 2, 4, 16]', '[8, 32, 1, 8, 16]').replace('[8, 32, 2, 16]', '[8, 32, 1, 16]')
MQA_JAX = GQA_JAX.replace('8, 32, 2, 4, 16', '8, 32, 1, 8, 16').replace('8, 32, 2, 16', '8, 32, 1, 16')
GROUPS = 'x 8,32,64 D; a 64,128 _,M; b 64,32 _,M; c 64,32 _,M; o 128,64 M'
ONE = 'x 8,32,64 D; a 64,128 _,M; b 64,16; c 64,16; o 128,64 M'


def inner(text):
    return text.replace('\n', '\n    ')


CONV = 'jax.lax.conv_general_dilated({0}, {1}, ({2}, {2}), {3}, dimension_numbers=("NHWC", "HWIO", "NHWC"))'
KINDS = {
    'heads': [
        ('GQA 2 groups on 8', 'M 8', GROUPS.replace(' D;', ' _;'), GQA + 'y', GQA_JAX + 'return y'),
        ('GQA on 4 gradients', 'D 2, M 4', GROUPS, 'grad(fn(p) {\nlet (a, b, c, o) = p' + GQA + 'mean(y ** 2)\n})((a, b, c, o))',
         'def f(p):\n    a, b, c, o = p' + inner(GQA_JAX) + 'return (y ** 2).mean()\nreturn jax.grad(f)((a, b, c, o))'),
        ('MQA', 'D 2, M 4', ONE, MQA + 'y', MQA_JAX + 'return y'),
        ('MQA gradients', 'D 2, M 4', ONE, 'grad(fn(p) {\nlet (a, b, c, o) = p' + MQA + 'mean(y ** 2)\n})((a, b, c, o))',
         'def f(p):\n    a, b, c, o = p' + inner(MQA_JAX) + 'return (y ** 2).mean()\nreturn jax.grad(f)((a, b, c, o))'),
        ('GQA repeat kv', 'D 2, M 4', GROUPS, '''
let q = (x @ a).reshape([8, 32, 8, 16])
let k = repeat((x @ b).reshape([8, 32, 2, 16]), 4, axis: 2)
let v = repeat((x @ c).reshape([8, 32, 2, 16]), 4, axis: 2)
let s = softmax(einsum("bthk,bshk->bhts", q, k) / 4.0, axis: -1)
einsum("bhts,bshk->bthk", s, v).reshape([8, 32, 128]) @ o''', '''
q = (x @ a).reshape(8, 32, 8, 16)
k = jnp.repeat((x @ b).reshape(8, 32, 2, 16), 4, axis=2)
v = jnp.repeat((x @ c).reshape(8, 32, 2, 16), 4, axis=2)
s = jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", q, k) / 4.0, axis=-1)
return jnp.einsum("bhts,bshk->bthk", s, v).reshape(8, 32, 128) @ o'''),
        ('qkv in one', 'D 2, M 4', 'x 8,32,64 D; w 64,384 _,M; o 128,64 M', '''
let p = (x @ w).reshape([8, 32, 3, 8, 16])
let s = softmax(einsum("bthk,bshk->bhts", p[:, :, 0], p[:, :, 1]) / 4.0, axis: -1)
einsum("bhts,bshk->bthk", s, p[:, :, 2]).reshape([8, 32, 128]) @ o''', '''
p = (x @ w).reshape(8, 32, 3, 8, 16)
s = jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", p[:, :, 0], p[:, :, 1]) / 4.0, axis=-1)
return jnp.einsum("bhts,bshk->bthk", s, p[:, :, 2]).reshape(8, 32, 128) @ o'''),
        ('qkv heads first', 'D 2, M 4', 'x 8,32,64 D; w 64,384 _,M; o 128,64 M', '''
let p = (x @ w).reshape([8, 32, 8, 3, 16])
let s = softmax(einsum("bthk,bshk->bhts", p[:, :, :, 0], p[:, :, :, 1]) / 4.0, axis: -1)
einsum("bhts,bshk->bthk", s, p[:, :, :, 2]).reshape([8, 32, 128]) @ o''', '''
p = (x @ w).reshape(8, 32, 8, 3, 16)
s = jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", p[:, :, :, 0], p[:, :, :, 1]) / 4.0, axis=-1)
return jnp.einsum("bhts,bshk->bthk", s, p[:, :, :, 2]).reshape(8, 32, 128) @ o'''),
        ('6 heads on 4', 'D 2, M 4', 'x 8,32,48 D; a 48,96 _,M; o 96,48 M', 'let q = (x @ a).reshape([8, 32, 6, 16])\nlet s = softmax(einsum("bthk,bshk->bhts", q, q), axis: -1)\neinsum("bhts,bshk->bthk", s, q).reshape([8, 32, 96]) @ o',
         'q = (x @ a).reshape(8, 32, 6, 16)\ns = jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", q, q), axis=-1)\nreturn jnp.einsum("bhts,bshk->bthk", s, q).reshape(8, 32, 96) @ o'),
        ('sequence parallel', 'D 2, M 4', 'x 8,32,64 D,M; a 64,128 _,M; o 128,64 M', 'let h = x @ a\nshard (relu(h) @ o) as P(@D, @M)', 'return put(jax.nn.relu(x @ a) @ o, P("D", "M"))'),
    ],
    'regroupings': [
        ('swap 8', 'D 8', 'x 16,24 D', 'sum(transpose(x.reshape([4, 4, 24]), [1, 0, 2]) ** 2, axis: 0)', '(x.reshape(4, 4, 24).transpose(1, 0, 2) ** 2).sum(0)'),
        ('regroup', 'D 8', 'x 16,12 D', 'mean(sin(x.reshape([4, 4, 12])), axis: [1, 2])', 'jnp.sin(x.reshape(4, 4, 12)).mean((1, 2))'),
        ('pixel shuffle', 'D 8', 'x 4,8,8,16 _,D', 'transpose(x.reshape([4, 8, 8, 2, 2, 4]), [0, 1, 3, 2, 4, 5]).reshape([4, 16, 16, 4])', 'x.reshape(4, 8, 8, 2, 2, 4).transpose(0, 1, 3, 2, 4, 5).reshape(4, 16, 16, 4)'),
        ('flatten', 'D 2, M 4', 'x 8,16,4 D,M; w 64,32 M', 'x.reshape([8, 64]) @ w', 'x.reshape(8, 64) @ w'),
        ('group norm', 'D 2, M 4', 'x 8,16,32 D,_,M', 'let y = x.reshape([8, 16, 2, 16])\n((y - mean(y, axis: [1, 3], keepdims: true)) / sqrt(var(y, axis: [1, 3], keepdims: true) + 1e-5)).reshape([8, 16, 32])',
         'y = x.reshape(8, 16, 2, 16)\nreturn ((y - y.mean((1, 3), keepdims=True)) / jnp.sqrt(y.var((1, 3), keepdims=True) + 1e-5)).reshape(8, 16, 32)'),
        ('group norm whole groups', 'D 2, M 4', 'x 8,16,32 D,_,M', 'let y = x.reshape([8, 16, 8, 4])\n((y - mean(y, axis: [1, 3], keepdims: true)) / sqrt(var(y, axis: [1, 3], keepdims: true) + 1e-5)).reshape([8, 16, 32])',
         'y = x.reshape(8, 16, 8, 4)\nreturn ((y - y.mean((1, 3), keepdims=True)) / jnp.sqrt(y.var((1, 3), keepdims=True) + 1e-5)).reshape(8, 16, 32)'),
    ],
    'frames and shifts': [
        ('stencil 2d mesh', 'D 4, M 2', 'x 64,64 D,M', 'let p = pad(x, [(1, 1), (1, 1)])\nx + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)', 'p = jnp.pad(x, 1)\nreturn x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)'),
        ('its gradient', 'D 8', 'x 64,64 D', 'grad(fn(x) {\nlet p = pad(x, [(1, 1), (1, 1)])\nsum((x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)) ** 2)\n})(x)', 'def f(x):\n    p = jnp.pad(x, 1)\n    return ((x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)) ** 2).sum()\nreturn jax.grad(f)(x)'),
        ('steps in a scan', 'D 8', 'x 64,64 D', 'scan(fn(x, _) {\nlet p = pad(x, [(1, 1), (1, 1)])\n(x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x), none)\n}, x, none, length: 4)[0]', 'def f(x, _):\n    p = jnp.pad(x, 1)\n    return x + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x), None\nreturn jax.lax.scan(f, x, None, length=4)[0]'),
        ('wrap pad', 'D 8', 'x 64,64 D', 'let p = pad(x, [(1, 1), (0, 0)], mode: "wrap")\np[2:] + p[:-2] - 2 * x', 'p = jnp.pad(x, ((1, 1), (0, 0)), mode="wrap")\nreturn p[2:] + p[:-2] - 2 * x'),
        ('edge pad', 'D 8', 'x 64,64 D', 'let p = pad(x, [(1, 1), (0, 0)], mode: "edge")\np[2:] + p[:-2] - 2 * x', 'p = jnp.pad(x, ((1, 1), (0, 0)), mode="edge")\nreturn p[2:] + p[:-2] - 2 * x'),
        ('causal conv 1d', 'D 8', 'x 2,64,16 _,D; w 4,16,16', 'conv(pad(x, [(0, 0), (3, 0), (0, 0)]), w, padding: "VALID")', 'jax.lax.conv_general_dilated(jnp.pad(x, ((0,0),(3,0),(0,0))), w, (1,), "VALID", dimension_numbers=("NWC","WIO","NWC"))'),
        ('short conv', 'D 8', 'x 2,64,16 _,D; w 4,16', 'let p = pad(x, [(0, 0), (3, 0), (0, 0)])\np[:, 3:] * w[3] + p[:, 2:-1] * w[2] + p[:, 1:-2] * w[1] + p[:, :-3] * w[0]', 'p = jnp.pad(x, ((0,0),(3,0),(0,0)))\nreturn p[:, 3:] * w[3] + p[:, 2:-1] * w[2] + p[:, 1:-2] * w[1] + p[:, :-3] * w[0]'),
        ('short conv gradient', 'D 8', 'x 2,64,16 _,D; w 4,16', 'grad(fn(w) {\nlet p = pad(x, [(0, 0), (3, 0), (0, 0)])\nsum((p[:, 3:] * w[3] + p[:, 2:-1] * w[2] + p[:, 1:-2] * w[1] + p[:, :-3] * w[0]) ** 2)\n})(w)', 'def f(w):\n    p = jnp.pad(x, ((0,0),(3,0),(0,0)))\n    return ((p[:, 3:] * w[3] + p[:, 2:-1] * w[2] + p[:, 1:-2] * w[1] + p[:, :-3] * w[0]) ** 2).sum()\nreturn jax.grad(f)(w)'),
        ('token shift', 'D 8', 'x 4,64,32 _,D; m 32', 'let s = concat([zeros([4, 1, 32]), x[:, :-1]], axis: 1)\nx * m + s * (1.0 - m)', 's = jnp.concatenate([jnp.zeros((4, 1, 32)), x[:, :-1]], 1)\nreturn x * m + s * (1 - m)'),
        ('conv 5x5 space', 'D 8', 'x 2,64,16,8 _,D; w 5,5,8,8', 'relu(conv(x, w, padding: "SAME"))', 'jax.nn.relu(' + CONV.format('x', 'w',1,'"SAME"') + ')'),
        ('conv stride 2 valid', 'D 8', 'x 2,64,16,8 _,D; w 3,3,8,8', 'conv(x, w, padding: "VALID", stride: 2)', CONV.format('x', 'w',2,'"VALID"')),
        ('max pool 3/2 same', 'D 8', 'x 2,64,16,8 _,D', 'max_pool(x, [3, 3], stride: 2, padding: "SAME")', 'jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")'),
        ('total variation', 'D 8', 'x 64,64 D', 'sum(abs(x[1:] - x[:-1])) + sum(abs(x[:, 1:] - x[:, :-1]))', 'jnp.abs(x[1:] - x[:-1]).sum() + jnp.abs(x[:, 1:] - x[:, :-1]).sum()'),
        ('second half rotated (rope)', 'D 2, M 4', 'x 8,32,8,16 D,_,M; c 32,1,8; s 32,1,8', 'let (a, b) = (x[..., :8], x[..., 8:])\nconcat([a * c - b * s, a * s + b * c], axis: -1)', 'a, b = x[..., :8], x[..., 8:]\nreturn jnp.concatenate([a * c - b * s, a * s + b * c], -1)'),
    ],
    'layers': [
        ('fsdp layernorm mlp', 'D 8', 'g 64 D; b 64 D; a 64,256 D; o 256,64 D; x 64,64 D', 'grad(fn(p) {\nlet h = (x - mean(x, axis: -1, keepdims: true)) / sqrt(var(x, axis: -1, keepdims: true) + 1e-5) * p[0] + p[1]\nmean((gelu(h @ p[2]) @ p[3] - x) ** 2)\n})((g, b, a, o))', 'def f(p):\n    h = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * p[0] + p[1]\n    return ((jax.nn.gelu(h @ p[2]) @ p[3] - x) ** 2).mean()\nreturn jax.grad(f)((g, b, a, o))'),
        ('clip by norm', 'D 4, M 2', 'a 64,128 _,M; o 128,64 M; x 64,64 D', 'let g = grad(fn(p) = mean((relu(x @ p[0]) @ p[1] - x) ** 2))((a, o))\nlet n = sqrt(sum(g[0] ** 2) + sum(g[1] ** 2))\n(a - g[0] / n, o - g[1] / n)', 'g = jax.grad(lambda p: ((jax.nn.relu(x @ p[0]) @ p[1] - x) ** 2).mean())((a, o))\nn = jnp.sqrt((g[0] ** 2).sum() + (g[1] ** 2).sum())\nreturn a - g[0] / n, o - g[1] / n'),
        ('tied embedding', 'D 4, M 2', 't 64,32 M; y<64 64 D', 'grad(fn(t) {\nlet h = take(t, y, axis: 0)\nlet z = h @ t.T\nmean(logsumexp(z, axis: -1) - sum(z * one_hot(y, 64), axis: -1))\n})(t)', 'def f(t):\n    h = t[y]\n    z = h @ t.T\n    return (jax.nn.logsumexp(z, axis=-1) - (z * jax.nn.one_hot(y, 64)).sum(-1)).mean()\nreturn jax.grad(f)(t)'),
        ('batch norm', 'D 8', 'x 64,32 D; g 32; b 32', 'grad(fn(p) = sum(sin((x - mean(x, axis: 0)) / sqrt(var(x, axis: 0) + 1e-5) * p[0] + p[1])))((g, b))', 'jax.grad(lambda p: jnp.sin((x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5) * p[0] + p[1]).sum())((g, b))'),
    ],
    'rests': [
        ('drop the class token', 'D 8', 'x 4,65,32; w 32,64', 'let y = shard x as P(_, @D)\nmean(tanh(y[:, 1:] @ w), axis: 1)', 'return jnp.tanh(put(x, P(None, "D"))[:, 1:] @ w).mean(1)'),
        ('every second', 'D 8', 'x 128,32 D; w 32,64', 'tanh(x[::2] @ w)', 'jnp.tanh(x[::2] @ w)'),
        ('first third', 'D 8', 'x 96,32 D; w 32,64', 'mean(tanh(x[:32] @ w), axis: 0)', 'jnp.tanh(x[:32] @ w).mean(0)'),
        ('next token loss', 'D 8', 'x 8,64,32 _,D; w 32,50; y<50 8,64 _,D', 'let z = x[:, :-1] @ w\nmean(logsumexp(z, axis: -1) - sum(z * one_hot(y[:, 1:], 50), axis: -1))', 'z = x[:, :-1] @ w\nreturn (jax.nn.logsumexp(z, axis=-1) - (z * jax.nn.one_hot(y[:, 1:], 50)).sum(-1)).mean()'),
        ('stack of lags', 'D 8', 'x 64,16 D; w 48,8', 'concat([x[2:], x[1:-1], x[:-2]], axis: 1) @ w', 'jnp.concatenate([x[2:], x[1:-1], x[:-2]], 1) @ w'),
    ],
    'pairs of losses': [
        ('kl of two', 'D 4, M 2', 'p 64,32 D,M; q 64,32 D,M', 'let (a, b) = (log_softmax(p, axis: -1), log_softmax(q, axis: -1))\nmean(sum(exp(a) * (a - b), axis: -1))', 'a, b = jax.nn.log_softmax(p), jax.nn.log_softmax(q)\nreturn (jnp.exp(a) * (a - b)).sum(-1).mean()'),
        ('contrastive', 'D 8', 'x 64,32 D; y 64,32 D', 'let z = x @ y.T\nmean(logsumexp(z, axis: -1) - diag(z)) + mean(logsumexp(z, axis: 0) - diag(z))', 'z = x @ y.T\nreturn (jax.nn.logsumexp(z, axis=-1) - jnp.diag(z)).mean() + (jax.nn.logsumexp(z, axis=0) - jnp.diag(z)).mean()'),
    ],
}
