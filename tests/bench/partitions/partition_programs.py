"""Pairs of one program in Shard and in JAX, for partitions.py: KINDS maps a kind to its programs.

A program: its name; the mesh ("D 8", "D 4, M 2"); operands, "name shape layout" each ("x 64,32 D,_", of normal numbers; "i<9 64 D": integers
below 9; layout left out: whole); Shard's body; JAX's, an expression or statements that return.
"""

ADAM = '''
let m2 = tree_map(fn(m, g) = 0.9 * m + 0.1 * g, m, g)
let v2 = tree_map(fn(v, g) = 0.99 * v + 0.01 * g * g, v, g)
let p2 = tree_map(fn(p, m, v) = p - 0.01 * m / (sqrt(v) + 1e-3), p, m2, v2)
'''
ADAM_JAX = '''
tm = jax.tree.map
m2 = tm(lambda m, g: 0.9 * m + 0.1 * g, m, g)
v2 = tm(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
p2 = tm(lambda p, m, v: p - 0.01 * m / (jnp.sqrt(v) + 1e-3), p, m2, v2)
'''
MHA = '''
let q = einsum("btd,dhk->bthk", x, a)
let k = einsum("btd,dhk->bthk", x, b)
let v = einsum("btd,dhk->bthk", x, c)
let s = softmax(einsum("bthk,bshk->bhts", q, k) / 4.0, axis: -1)
'''
MHA_JAX = '''
q = jnp.einsum("btd,dhk->bthk", x, a)
k = jnp.einsum("btd,dhk->bthk", x, b)
v = jnp.einsum("btd,dhk->bthk", x, c)
s = jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", q, k) / 4.0, axis=-1)
'''
GQA = '''
let q = (x @ a).reshape([8, 32, 2, 4, 16])
let k = (x @ b).reshape([8, 32, 2, 16])
let v = (x @ c).reshape([8, 32, 2, 16])
let s = softmax(einsum("btgrk,bsgk->bgrts", q, k) / 4.0, axis: -1)
let y = einsum("bgrts,bsgk->btgrk", s, v).reshape([8, 32, 128]) @ o
'''
GQA_JAX = '''
q = (x @ a).reshape(8, 32, 2, 4, 16)
k = (x @ b).reshape(8, 32, 2, 16)
v = (x @ c).reshape(8, 32, 2, 16)
s = jax.nn.softmax(jnp.einsum("btgrk,bsgk->bgrts", q, k) / 4.0, axis=-1)
y = jnp.einsum("bgrts,bsgk->btgrk", s, v).reshape(8, 32, 128) @ o
'''
DECODE = '''
let q = einsum("bd,dhk->bhk", x, a)
let k = dynamic_update_slice(ck, einsum("bd,dhk->bhk", x, b).reshape([8, 1, 4, 16]), [0, 5, 0, 0])
let v = dynamic_update_slice(cv, einsum("bd,dhk->bhk", x, c).reshape([8, 1, 4, 16]), [0, 5, 0, 0])
let s = softmax(einsum("bhk,bshk->bhs", q, k) / 4.0, axis: -1)
(einsum("bhs,bshk->bhk", s, v), k, v)
'''
DECODE_JAX = '''
put = jax.lax.dynamic_update_slice
q = jnp.einsum("bd,dhk->bhk", x, a)
k = put(ck, jnp.einsum("bd,dhk->bhk", x, b).reshape(8, 1, 4, 16), (0, 5, 0, 0))
v = put(cv, jnp.einsum("bd,dhk->bhk", x, c).reshape(8, 1, 4, 16), (0, 5, 0, 0))
s = jax.nn.softmax(jnp.einsum("bhk,bshk->bhs", q, k) / 4.0, axis=-1)
return jnp.einsum("bhs,bshk->bhk", s, v), k, v
'''
HEADS = 'a 64,4,16 {0}; b 64,4,16 {0}; c 64,4,16 {0}; o 4,16,64 {1}'
EXPERTS = '''
let gate = softmax(x @ r, axis: -1)
let send = one_hot(argmax(gate, axis: -1), 8)
let inside = einsum("te,td->etd", send, x)
'''
EXPERTS_JAX = '''
gate = jax.nn.softmax(x @ r, axis=-1)
send = jax.nn.one_hot(jnp.argmax(gate, axis=-1), 8)
inside = jnp.einsum("te,td->etd", send, x)
'''
CE = 'mean(logsumexp(z, axis: -1) - sum(z * one_hot(y, 64), axis: -1))'
CE_JAX = '(jax.nn.logsumexp(z, axis=-1) - (z * jax.nn.one_hot(y, 64)).sum(-1)).mean()'
CONV_JAX = 'jax.lax.conv_general_dilated({0}, {1}, ({2}, {2}), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))'

KINDS = {
    'accumulation': [
        ('micro batches, a scan', 'D 8', 'w 64,32; x 4,64,64 _,D; y 4,64,32 _,D',
         'scan(fn(g, t) = (g + grad(fn(w) = mean((t[0] @ w - t[1]) ** 2))(w), none), zeros_like(w), (x, y))[0]',
         'jax.lax.scan(lambda g, t: (g + jax.grad(lambda w: ((t[0] @ w - t[1]) ** 2).mean())(w), None), jnp.zeros_like(w), (x, y))[0]'),
        ('and the loss', 'D 8', 'w 64,32; x 4,64,64 _,D; y 4,64,32 _,D',
         '''let f = fn(c, t) {
  let (l, g) = value_and_grad(fn(w) = mean((t[0] @ w - t[1]) ** 2))(w)
  ((c[0] + l, c[1] + g), none)
}
let (l, g) = scan(f, (0.0, zeros_like(w)), (x, y))[0]
(l / 4.0, w - 0.1 * g / 4.0)''',
         '''def f(c, t):
    l, g = jax.value_and_grad(lambda w: ((t[0] @ w - t[1]) ** 2).mean())(w)
    return (c[0] + l, c[1] + g), None
l, g = jax.lax.scan(f, (0.0, jnp.zeros_like(w)), (x, y))[0]
return l / 4, w - 0.1 * g / 4'''),
        ('unrolled', 'D 8', 'w 64,32; x 4,64,64 _,D; y 4,64,32 _,D',
         '''let g = zeros_like(w)
for i in 0..4 { g = g + grad(fn(w) = mean((x[i] @ w - y[i]) ** 2))(w) }
w - 0.1 * g''',
         '''g = jnp.zeros_like(w)
for i in range(4): g = g + jax.grad(lambda w: ((x[i] @ w - y[i]) ** 2).mean())(w)
return w - 0.1 * g'''),
        ('onto a whole value, unrolled', 'D 8', 's 32,32; x 64,32 D; y 64,32 D; z 64,32 D', 's + x.T @ y + y.T @ z + z.T @ x',
         's + x.T @ y + y.T @ z + z.T @ x'),
        ('onto a whole value, a scan', 'D 8', 's 32,32; x 6,64,32 _,D', 'scan(fn(s, x) = (s + x.T @ x, none), s, x)[0]',
         'jax.lax.scan(lambda s, x: (s + x.T @ x, None), s, x)[0]'),
        ('two layers, a scan, split weights', 'D 4, M 2', 'a 64,128 _,M; b 128,64 M; x 4,64,64 _,D',
         '''let f = fn(g, x) {
  let h = grad(fn(p) = mean((relu(x @ p[0]) @ p[1] - x) ** 2))((a, b))
  ((g[0] + h[0], g[1] + h[1]), none)
}
scan(f, (zeros_like(a), zeros_like(b)), x)[0]''',
         '''def f(g, x):
    h = jax.grad(lambda p: ((jax.nn.relu(x @ p[0]) @ p[1] - x) ** 2).mean())((a, b))
    return (g[0] + h[0], g[1] + h[1]), None
return jax.lax.scan(f, (jnp.zeros_like(a), jnp.zeros_like(b)), x)[0]'''),
    ],
    'vision': [
        ('convolution, batch', 'D 8', 'x 16,16,16,8 D; w 3,3,8,16', 'conv(x, w, padding: "SAME")', CONV_JAX.format('x', 'w', 1)),
        ('its gradient', 'D 8', 'x 16,16,16,8 D; w 3,3,8,16', 'grad(fn(w) = sum(conv(x, w, padding: "SAME") ** 2))(w)',
         f'jax.grad(lambda w: ({CONV_JAX.format("x", "w", 1)} ** 2).sum())(w)'),
        ('convolution, channels in', 'D 8', 'x 4,16,16,32 _,_,_,D; w 3,3,32,32 _,_,D', 'conv(x, w, padding: "SAME")', CONV_JAX.format('x', 'w', 1)),
        ('convolution, input channels split, few of them', 'D 8', 'x 4,16,16,16 _,_,_,D; w 3,3,16,64', 'conv(x, w, padding: "SAME")',
         CONV_JAX.format('x', 'w', 1)),
        ('convolution, channels out', 'D 4, M 2', 'x 8,16,16,8 D; w 3,3,8,32 _,_,_,M', 'relu(conv(x, w, padding: "SAME"))',
         f'jax.nn.relu({CONV_JAX.format("x", "w", 1)})'),
        ('convolution, space', 'D 8', 'x 2,64,16,8 _,D; w 3,3,8,8', 'conv(x, w, padding: "SAME")', CONV_JAX.format('x', 'w', 1)),
        ('largest of windows, batch', 'D 8', 'x 16,16,16,8 D', 'max_pool(x, [2, 2], stride: 2, padding: "VALID")',
         'jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")'),
        ('means of windows, space', 'D 8', 'x 4,32,32,8 _,D', 'avg_pool(x, [2, 2], stride: 2, padding: "VALID")',
         'jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4'),
        ('a small network, gradient', 'D 8', 'x 16,16,16,4 D; a 3,3,4,16; b 3,3,16,16; c 256,10',
         '''grad(fn(p) {
  let h = max_pool(relu(conv(x, p[0], padding: "SAME")), [2, 2], stride: 2, padding: "VALID")
  let h = max_pool(relu(conv(h, p[1], padding: "SAME")), [2, 2], stride: 2, padding: "VALID")
  mean((h.reshape([16, 256]) @ p[2]) ** 2)
})((a, b, c))''',
         f'''pool = lambda h: jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
def f(p):
    h = pool(jax.nn.relu({CONV_JAX.format("x", "p[0]", 1)}))
    h = pool(jax.nn.relu({CONV_JAX.format("h", "p[1]", 1)}))
    return ((h.reshape(16, 256) @ p[2]) ** 2).mean()
return jax.grad(f)((a, b, c))'''.replace('c = ', 'c_ = ')),
        ('norm over batch and space', 'D 8', 'x 16,16,16,8 D', '(x - mean(x, axis: [0, 1, 2])) / sqrt(var(x, axis: [0, 1, 2]) + 1e-5)',
         '(x - x.mean((0, 1, 2))) / jnp.sqrt(x.var((0, 1, 2)) + 1e-5)'),
    ],
    'stencils': [
        ('three points, rolled', 'D 8', 'x 128,64 D', 'roll(x, 1, axis: 0) - 2.0 * x + roll(x, -1, axis: 0)', 'jnp.roll(x, 1, 0) - 2 * x + jnp.roll(x, -1, 0)'),
        ('differences of neighbours', 'D 8', 'x 128,64 D', 'pad(x[1:] - x[:-1], [(0, 1), (0, 0)])', 'jnp.pad(x[1:] - x[:-1], ((0, 1), (0, 0)))'),
        ('next token', 'D 4, M 2', 'x 8,64,32 D,M', 'mean((concat([x[:, 1:], x[:, :1]], axis: 1) - x) ** 2)',
         '((jnp.concatenate([x[:, 1:], x[:, :1]], axis=1) - x) ** 2).mean()'),
    ],
    'reshapes': [
        ('a product of merged rows', 'D 4, M 2', 'x 8,32,64 D; w 64,128 _,M', 'reshape(reshape(x, [256, 64]) @ w, [8, 32, 128])', '(x.reshape(256, 64) @ w).reshape(8, 32, 128)'),
        ('the same, rows split inside', 'D 4, M 2', 'x 8,32,64 _,D; w 64,128 _,M', 'reshape(reshape(x, [256, 64]) @ w, [8, 32, 128])',
         '(x.reshape(256, 64) @ w).reshape(8, 32, 128)'),
        ('the same, its gradient', 'D 4, M 2', 'x 8,32,64 _,D; w 64,128 _,M', 'grad(fn(w) = sum(reshape(reshape(x, [256, 64]) @ w, [8, 32, 128]) ** 2))(w)',
         'jax.grad(lambda w: ((x.reshape(256, 64) @ w).reshape(8, 32, 128) ** 2).sum())(w)'),
        ('heads split and merged', 'D 4, M 2', 'x 8,32,64 D,_,M', 'reshape(transpose(reshape(x, [8, 32, 4, 16]), [0, 2, 1, 3]) * 2.0, [8, 4, 512])',
         '(x.reshape(8, 32, 4, 16).transpose(0, 2, 1, 3) * 2.0).reshape(8, 4, 512)'),
        ('patches', 'D 8', 'x 16,16,16,4 D; w 64,32', 'reshape(transpose(reshape(x, [16, 4, 4, 4, 4, 4]), [0, 1, 3, 2, 4, 5]), [16, 16, 64]) @ w',
         'x.reshape(16, 4, 4, 4, 4, 4).transpose(0, 1, 3, 2, 4, 5).reshape(16, 16, 64) @ w'),
    ],
    'attention': [
        ('heads', 'D 4, M 2', 'x 8,32,64 D; ' + HEADS.format('_,M', 'M'), MHA + 'einsum("bthk,hkd->btd", einsum("bhts,bshk->bthk", s, v), o)',
         MHA_JAX + 'return jnp.einsum("bthk,hkd->btd", jnp.einsum("bhts,bshk->bthk", s, v), o)'),
        ('heads, gradients', 'D 4, M 2', 'x 8,32,64 D; ' + HEADS.format('_,M', 'M'),
         'grad(fn(p) {\nlet (a, b, c, o) = p' + MHA + 'mean(einsum("bthk,hkd->btd", einsum("bhts,bshk->bthk", s, v), o) ** 2)\n})((a, b, c, o))',
         'def f(p):\n    a, b, c, o = p' + MHA_JAX.replace('\n', '\n    ') +
         'return (jnp.einsum("bthk,hkd->btd", jnp.einsum("bhts,bshk->bthk", s, v), o) ** 2).mean()\nreturn jax.grad(f)((a, b, c, o))'),
        ('grouped queries, groups over the axis', 'D 4, M 2', 'x 8,32,64 D; a 64,128 _,M; b 64,32 _,M; c 64,32 _,M; o 128,64 M', GQA + 'y', GQA_JAX + 'return y'),
        ('grouped queries, more devices than groups', 'D 2, M 4', 'x 8,32,64 D; a 64,128 _,M; b 64,32 _,M; c 64,32 _,M; o 128,64 M', GQA + 'y', GQA_JAX + 'return y'),
        ('one token, positions of the cache split', 'D 8', 'x 8,64; ck 8,256,4,16 _,D; cv 8,256,4,16 _,D; ' + HEADS.format('_', '_').split('; o')[0], DECODE, DECODE_JAX),
        ('the same, the token split by batch', 'D 8', 'x 8,64 D; ck 8,256,4,16 _,D; cv 8,256,4,16 _,D; ' + HEADS.format('_', '_').split('; o')[0], DECODE, DECODE_JAX),
        ('one token, heads of the cache split', 'D 2, M 4', 'x 8,64 D; ck 8,256,4,16 D,_,M; cv 8,256,4,16 D,_,M; ' + HEADS.format('_,M', '_').split('; o')[0], DECODE, DECODE_JAX),
    ],
    'losses': [
        ('cross-entropy, batch, gradient', 'D 8', 'x 64,32 D; w 32,64; y<64 64 D', f'grad(fn(w) {{\nlet z = x @ w\n{CE}\n}})(w)',
         f'def f(w):\n    z = x @ w\n    return {CE_JAX}\nreturn jax.grad(f)(w)'),
        ('cross-entropy, vocabulary split', 'D 4, M 2', 'x 64,32 D; w 32,64 _,M; y<64 64 D', f'value_and_grad(fn(w) {{\nlet z = x @ w\n{CE}\n}})(w)',
         f'def f(w):\n    z = x @ w\n    return {CE_JAX}\nreturn jax.value_and_grad(f)(w)'),
        ('masked mean', 'D 8', 'x 64,32 D; w 32,16; y<2 64 D',
         'grad(fn(w) {\nlet k = cast(y, f32)\nsum(mean((x @ w) ** 2, axis: -1) * k) / maximum(sum(k), 1.0)\n})(w)',
         'def f(w):\n    k = y.astype(jnp.float32)\n    return ((((x @ w) ** 2).mean(-1) * k).sum() / jnp.maximum(k.sum(), 1.0))\nreturn jax.grad(f)(w)'),
        ('contrastive', 'D 8', 'x 64,32 D; y 64,32 D', 'let z = x @ y.T\nmean(logsumexp(z, axis: 1) - diagonal(z)) + mean(logsumexp(z, axis: 0) - diagonal(z))',
         'z = x @ y.T\nreturn (jax.nn.logsumexp(z, axis=1) - jnp.diagonal(z)).mean() + (jax.nn.logsumexp(z, axis=0) - jnp.diagonal(z)).mean()'),
    ],
    'steps': [
        ('clip by global norm', 'D 8', 'x 64,64 D; a 64,64 D; b 64,64 D; c 64,64 D; d 64,64 D',
         '''let g = grad(fn(p) = mean((relu(relu(relu(x @ p[0]) @ p[1]) @ p[2]) @ p[3]) ** 2))((a, b, c, d))
let n = sqrt(sum(g[0] ** 2) + sum(g[1] ** 2) + sum(g[2] ** 2) + sum(g[3] ** 2))
let k = minimum(1.0, 1.0 / n)
shard tree_map(fn(p, g) = p - 0.1 * k * g, (a, b, c, d), g) as P(@D)''',
         '''r = jax.nn.relu
g = jax.grad(lambda p: ((r(r(r(x @ p[0]) @ p[1]) @ p[2]) @ p[3]) ** 2).mean())((a, b, c, d))
n = jnp.sqrt(sum((v ** 2).sum() for v in g))
k = jnp.minimum(1.0, 1.0 / n)
return put(jax.tree.map(lambda p, g: p - 0.1 * k * g, (a, b, c, d), g), P('D'))'''),
        ('fully sharded, Adam', 'D 8', 'x 64,64 D; a 64,128 D; b 128,64 D; c 64,128 D; d 128,64 D; e 64,128 D; f 128,64 D',
         'let (p, m, v) = ((a, b), (c, d), (e * e, f * f))\nlet g = grad(fn(p) = mean((relu(x @ p[0]) @ p[1]) ** 2))(p)' + ADAM + 'shard (p2, m2, v2) as P(@D)',
         'p, m, v = (a, b), (c, d), (e * e, f * f)\ng = jax.grad(lambda p: ((jax.nn.relu(x @ p[0]) @ p[1]) ** 2).mean())(p)' + ADAM_JAX + 'return put((p2, m2, v2), P("D"))'),
        ('fully sharded and tensor parallel, Adam', 'D 4, M 2', 'x 64,64 D; a 64,128 D,M; b 128,64 M,D; c 64,128 D,M; d 128,64 M,D; e 64,128 D,M; f 128,64 M,D',
         'let (p, m, v) = ((a, b), (c, d), (e * e, f * f))\nlet g = grad(fn(p) = mean((relu(x @ p[0]) @ p[1]) ** 2))(p)' + ADAM +
         '(shard (p2[0], m2[0], v2[0]) as P(@D, @M), shard (p2[1], m2[1], v2[1]) as P(@M, @D))',
         'p, m, v = (a, b), (c, d), (e * e, f * f)\ng = jax.grad(lambda p: ((jax.nn.relu(x @ p[0]) @ p[1]) ** 2).mean())(p)' + ADAM_JAX +
         'return put((p2[0], m2[0], v2[0]), P("D", "M")), put((p2[1], m2[1], v2[1]), P("M", "D"))'),
        ('layer norm, features split', 'D 4, M 2', 'x 64,128 D,M; w 128 M', 'w * (x - mean(x, axis: -1, keepdims: true)) / sqrt(var(x, axis: -1, keepdims: true) + 1e-5)',
         'w * (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)'),
        ('layer norm, gradients', 'D 8', 'x 64,128 D; w 128; b 128',
         'grad(fn(p) = mean((p[0] * (x - mean(x, axis: -1, keepdims: true)) / sqrt(var(x, axis: -1, keepdims: true) + 1e-5) + p[1]) ** 2))((w, b))',
         'jax.grad(lambda p: ((p[0] * (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) + p[1]) ** 2).mean())((w, b))'),
        ('masked gradients', 'D 8', 'x 64,64 D; w 64,64; k<2 64,64', 'w - 0.1 * grad(fn(w) = mean((x @ w) ** 2))(w) * cast(k, f32)',
         'w - 0.1 * jax.grad(lambda w: ((x @ w) ** 2).mean())(w) * k.astype(jnp.float32)'),
        ('gradients of some rows', 'D 8', 'x 64,64 D; w 64,64', 'grad(fn(w) = mean((x @ w) ** 2))(w)[:8]', 'jax.grad(lambda w: ((x @ w) ** 2).mean())(w)[:8]'),
    ],
    'lookups': [
        ('embedding, rows split', 'D 8', 'w 512,64 D; i<512 64', 'w[i]', 'w[i]'),
        ('embedding, batch', 'D 8', 'w 512,64; i<512 64 D', 'w[i]', 'w[i]'),
        ('its gradient', 'D 8', 'w 512,64; i<512 64 D', 'grad(fn(w) = sum(w[i] ** 2))(w)', 'jax.grad(lambda w: (w[i] ** 2).sum())(w)'),
        ('features split', 'D 4, M 2', 'w 512,64 _,M; i<512 64 D', 'w[i] * 2.0', 'w[i] * 2.0'),
        ('experts, one each', 'D 8', 'x 64,32 D; r 32,8; w 8,32,32 D', EXPERTS + 'einsum("te,ted->td", send, transpose(einsum("etd,edf->etf", inside, w), [1, 0, 2]))',
         EXPERTS_JAX + 'return jnp.einsum("te,ted->td", send, jnp.einsum("etd,edf->etf", inside, w).transpose(1, 0, 2))'),
    ],
    'orders': [
        ('top_k along the split', 'D 8', 'x 4,1024 _,D', 'top_k(x, 4)[0]', 'jax.lax.top_k(x, 4)[0]'),
        ('top_k beside it', 'D 8', 'x 64,256 D', 'top_k(x, 4)[0]', 'jax.lax.top_k(x, 4)[0]'),
        ('top_k along the split of a vector', 'D 8', 'x 1024 D', 'top_k(x, 8)[0]', 'jax.lax.top_k(x, 8)[0]'),
        ('sort along the split', 'D 8', 'x 64,1024 _,D', 'sort(x)', 'jnp.sort(x)'),
        ('argsort along the split', 'D 8', 'x 64,1024 _,D', 'argsort(x)', 'jnp.argsort(x)'),
        ('running sum along the split', 'D 8', 'x 64,1024 _,D', 'cumsum(x, axis: -1)', 'jnp.cumsum(x, axis=-1)'),
        ('largest along the split', 'D 8', 'x 64,1024 _,D', 'argmax(x, axis: -1)', 'jnp.argmax(x, axis=-1)'),
        ('product of all', 'D 8', 'x 64,64 D', 'prod(1.0 + 0.01 * x, axis: 0)', 'jnp.prod(1.0 + 0.01 * x, axis=0)'),
    ],
    'products': [
        ('inner dimension split, narrow', 'D 8', 'x 64,32 _,D; w 32,64 D', 'x @ w', 'x @ w'),
        ('inner dimension split, wide', 'D 8', 'x 16,512 _,D; w 512,16 D', 'x @ w', 'x @ w'),
        ('columns meet rows', 'D 8', 'x 128,64 D; w 64,256 D', 'x @ w', 'x @ w'),
        ('inner split of one', 'D 8', 'x 256,16 _,D; w 16,256', 'x @ w', 'x @ w'),
        ('two layers', 'D 4, M 2', 'x 64,64 D; a 64,256 _,M; b 256,64 M', 'relu(x @ a) @ b', 'jax.nn.relu(x @ a) @ b'),
        ('two layers, gradients', 'D 4, M 2', 'x 64,64 D; a 64,256 _,M; b 256,64 M', 'grad(fn(p) = mean((relu(x @ p[0]) @ p[1]) ** 2))((a, b))',
         'jax.grad(lambda p: ((jax.nn.relu(x @ p[0]) @ p[1]) ** 2).mean())((a, b))'),
    ],
    'slices': [
        ('half of the split', 'D 8', 'x 128,64 D', 'x[:64] * 2.0', 'x[:64] * 2.0'),
        ('one row', 'D 8', 'x 128,64 D', 'x[5]', 'x[5]'),
        ('joined beside the split', 'D 8', 'x 64,64 D; y 64,64 D', 'concat([x, y], axis: 1)', 'jnp.concatenate([x, y], axis=1)'),
        ('joined along the split', 'D 8', 'x 64,64 D; y 64,64 D', 'concat([x, y], axis: 0)', 'jnp.concatenate([x, y], axis=0)'),
        ('turned over', 'D 8', 'x 64,64 D', 'flip(x, axis: 0)', 'jnp.flip(x, axis=0)'),
    ],
}
