"""Writes values_goldens.txt: expressions of Shard, and the type and the numbers that JAX 0.10 gives for the same thing.

Run with JAX: python make_values_goldens.py. A line is `expression ## type ## numbers`; x and y are arrays of odd values defined in
the test. Where Shard means to differ (softmax of unsigned integers does not wrap) there is no line.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn, random

inf, nan = jnp.inf, jnp.nan
f = lambda v: jnp.array(v, jnp.float32)
i = lambda v: jnp.array(v, jnp.int32)
x = f([-inf, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, inf, nan])
y = f([inf, 2.0, -1.0, 0.0, -0.0, -0.5, nan, 3.0, inf, 1.0])
short = {'float32': 'f32', 'int32': 'i32', 'bool': 'bool', 'int8': 'i8', 'int16': 'i16', 'uint8': 'u8', 'uint16': 'u16', 'uint32': 'u32',
         'float16': 'f16', 'bfloat16': 'bf16'}
lines = []


def case(text, value):
    value = jnp.asarray(value)
    kind = f"{short[value.dtype.name]}[{','.join(map(str, value.shape))}]"
    numbers = ' '.join(f'{float(v):.9g}' for v in np.asarray(value).reshape(-1))
    lines.append(f'{text} ## {kind} ## {numbers}')


unary = dict(exp=jnp.exp, expm1=jnp.expm1, log=jnp.log, log1p=jnp.log1p, sqrt=jnp.sqrt, rsqrt=lax.rsqrt, square=jnp.square, sin=jnp.sin,
             cos=jnp.cos, tan=jnp.tan, sinh=jnp.sinh, cosh=jnp.cosh, tanh=jnp.tanh, asin=jnp.arcsin, acos=jnp.arccos, atan=jnp.arctan,
             asinh=jnp.arcsinh, atanh=jnp.arctanh, sigmoid=nn.sigmoid, gelu=nn.gelu, silu=nn.silu, softplus=nn.softplus, erf=lax.erf,
             erf_inv=lax.erf_inv, floor=jnp.floor, ceil=jnp.ceil, round=jnp.round, abs=jnp.abs, sign=jnp.sign)
for name, fn in unary.items():
    case(f'{name}(x)', fn(x))
    case(f'vmap(grad({name}))(x)', jax.vmap(jax.grad(fn))(x))
    if name not in ('rsqrt', 'erf', 'erf_inv', 'sigmoid', 'silu', 'gelu'):
        case(f'{name}(arange(3))', fn(jnp.arange(3)))
for name, fn in dict(isnan=jnp.isnan, isinf=jnp.isinf, isfinite=jnp.isfinite, relu=nn.relu, acosh=jnp.arccosh).items():
    case(f'{name}(x)', fn(x))
for name, fn in dict(maximum=jnp.maximum, minimum=jnp.minimum, atan2=jnp.arctan2).items():
    case(f'{name}(x, y)', fn(x, y))
    for wrt in (0, 1):
        case(f'vmap(grad({name}, wrt: {wrt}))(x, y)', jax.vmap(jax.grad(fn, wrt))(x, y))
for sign, fn in {'+': jnp.add, '-': jnp.subtract, '*': jnp.multiply, '/': jnp.divide, '//': jnp.floor_divide, '%': jnp.mod, '**': jnp.power}.items():
    case(f'x {sign} y', fn(x, y))
    for wrt in (0, 1):
        case(f'vmap(grad(fn(a, b) = a {sign} b, wrt: {wrt}))(x, y)', jax.vmap(jax.grad(fn, wrt))(x, y))
for k in (0, 1, 2, 3, 5):
    case(f'x ** {k}', x ** k)
    case(f'vmap(grad(fn(a) = a ** {k}))(x)', jax.vmap(jax.grad(lambda a: a ** k))(x))
    case(f'arange(-3, 4) ** {k}', jnp.arange(-3, 4) ** k)
for text, value in {'2 ** arange(5)': 2 ** jnp.arange(5), '2.0 ** arange(-2, 3)': 2.0 ** jnp.arange(-2, 3), 'arange(3) ** 0.5': jnp.arange(3) ** 0.5,
                    'x ** -1': x ** -1, 'x ** 0.5': x ** 0.5, 'x ** -2': x ** -2}.items():
    case(text, value)
a, b = i([7, -7, 7, -7, 0]), i([2, 2, -2, -2, 3])
for sign, fn in {'//': jnp.floor_divide, '%': jnp.mod, '/': jnp.divide}.items():
    case(f'array([7, -7, 7, -7, 0]) {sign} array([2, 2, -2, -2, 3])', fn(a, b))

reduce = dict(sum=jnp.sum, prod=jnp.prod, mean=jnp.mean, var=jnp.var, std=jnp.std, max=jnp.max, min=jnp.min, argmax=jnp.argmax, argmin=jnp.argmin,
              any=jnp.any, all=jnp.all, cumsum=jnp.cumsum, cumprod=jnp.cumprod, sort=jnp.sort, argsort=jnp.argsort, norm=jnp.linalg.norm,
              logsumexp=nn.logsumexp)
for name, dtype in dict(bool=jnp.bool_, i8=jnp.int8, i16=jnp.int16, i32=jnp.int32, u8=jnp.uint8, u16=jnp.uint16, u32=jnp.uint32, f16=jnp.float16,
                        bf16=jnp.bfloat16, f32=jnp.float32).items():
    o, text = jnp.array([[1, 0], [1, 1]], dtype), f'cast(array([[1, 0], [1, 1]]), {name})'
    for fname, fn in reduce.items():
        if fname != 'norm' or name != 'bool':
            case(f'{fname}({text})', fn(o))
    for fname, fn in dict(exp=jnp.exp, floor=jnp.floor, round=jnp.round, abs=jnp.abs).items():
        if fname != 'round' or name != 'bool':
            case(f'{fname}({text})', fn(o))
    for sign, fn in {'+': jnp.add, '*': jnp.multiply, '/': jnp.divide, '@': jnp.matmul, '<': jnp.less}.items():
        case(f'{text} {sign} {text}', fn(o, o))
for name, fn in (reduce | dict(softmax=nn.softmax, log_softmax=nn.log_softmax)).items():
    for v in ([1., 2, 2, -1], [0., 0, 3], [0., 2, 3], [-inf, -inf], [inf, 1.], [nan, 1., inf], [-inf, 0., 1.], [0., 0.]):
        text = f"array({str(v).replace('jnp.', '')})"
        case(f'{name}({text})', fn(f(v)))
        if name not in ('argmax', 'argmin', 'argsort', 'any', 'all', 'std') and not (name in ('cumprod',) and not np.isfinite(v).all()):
            case(f'grad(fn(v) = sum({name}(v)))({text})', jax.grad(lambda v: jnp.sum(fn(v)))(f(v)))
case('hessian(prod)(array([0.0, 0.0, 3.0]))', jax.hessian(jnp.prod)(f([0, 0, 3])))
case('grad(fn(v) = sum(prod(v, axis: [0, 2]) ** 2))(arange(12.0).reshape([2, 2, 3]) - 4)',
     jax.grad(lambda v: jnp.sum(jnp.prod(v, axis=(0, 2)) ** 2))(jnp.arange(12.).reshape(2, 2, 3) - 4))

for text, value in {
        'sum(zeros([0]))': jnp.sum(jnp.zeros(0)), 'prod(zeros([0, 2]), axis: 0)': jnp.prod(jnp.zeros((0, 2)), axis=0),
        'zeros([0, 3]) @ zeros([3, 2])': jnp.zeros((0, 3)) @ jnp.zeros((3, 2)), 'zeros([2, 0]) @ zeros([0, 2])': jnp.zeros((2, 0)) @ jnp.zeros((0, 2)),
        'linspace(0, 1, 7)': jnp.linspace(0, 1, 7), 'linspace(-3, 5, 1)': jnp.linspace(-3, 5, 1), 'arange(5, 0, -2)': jnp.arange(5, 0, -2),
        'arange(0, 1, 0.1)': jnp.arange(0, 1, 0.1), 'eye(3, k: -1)': jnp.eye(3, k=-1), 'eye(2, 3)': jnp.eye(2, 3), 'arange(2.5)': jnp.arange(2.5),
        'one_hot(array([-1, 3, 1]), 3)': nn.one_hot(i([-1, 3, 1]), 3), 'take(arange(5.0), array([-1, -6, 7, 2]))': jnp.take(jnp.arange(5.), i([-1, -6, 7, 2])),
        'take(arange(6).reshape([2, 3]), array([5, 1]), axis: 1)': jnp.take(jnp.arange(6).reshape(2, 3), i([5, 1]), axis=1),
        'clip(array([1.0, 5.0, -3.0]), 0, 2)': jnp.clip(f([1, 5, -3]), 0, 2), 'clip(arange(5), hi: 3)': jnp.clip(jnp.arange(5), max=3),
        'vmap(grad(fn(v) = clip(v, 0.0, 2.0)))(array([0.0, 1.0, 2.0, 3.0]))': jax.vmap(jax.grad(lambda v: jnp.clip(v, 0., 2.)))(f([0, 1, 2, 3])),
        'where(array([true, false]), 1, 2.5)': jnp.where(jnp.array([True, False]), 1, 2.5),
        'cast(array([3e9, -3e9, nan, inf]), i32)': f([3e9, -3e9, nan, inf]).astype(jnp.int32),
        'cast(array([1e10, 70000.0]), f16)': f([1e10, 70000.]).astype(jnp.float16),
        'scatter(zeros([4]), array([0, 0, 5, -1]), array([1.0, 2.0, 3.0, 4.0]))': jnp.zeros(4).at[i([0, 0, 5, -1])].add(f([1, 2, 3, 4])),
        'scatter(arange(4.0), array([1, 3, 1]), array([5.0, -2.0, 7.0]), op: "mul")': jnp.arange(4.).at[i([1, 3, 1])].multiply(f([5, -2, 7])),
        'scatter(arange(4.0), array([1, 3, 1]), array([5.0, -2.0, 7.0]), op: "min")': jnp.arange(4.).at[i([1, 3, 1])].min(f([5, -2, 7])),
        'scatter(arange(4.0), array([1, 3, 1]), array([5.0, -2.0, 7.0]), op: "max")': jnp.arange(4.).at[i([1, 3, 1])].max(f([5, -2, 7])),
        'dynamic_slice(arange(10), [7], [5])': lax.dynamic_slice(jnp.arange(10), (7,), (5,)),
        'dynamic_slice(arange(10), [-3], [2])': lax.dynamic_slice(jnp.arange(10), (-3,), (2,)),
        'dynamic_update_slice(arange(10), array([50, 60]), [9])': lax.dynamic_update_slice(jnp.arange(10), i([50, 60]), (9,)),
        'grad(fn(v) = sum(max_pool(v, [2, 2], stride: 2, padding: "VALID")))(ones([1, 4, 4, 1]))':
            jax.grad(lambda v: jnp.sum(lax.reduce_window(v, -inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')))(jnp.ones((1, 4, 4, 1)))}.items():
    case(text, value)
image, weights = jnp.sin(jnp.arange(2 * 5 * 6 * 3.)).reshape(2, 5, 6, 3), jnp.cos(jnp.arange(3 * 2 * 3 * 4.)).reshape(3, 2, 3, 4)
for stride in (1, 2):
    for padding in ('SAME', 'VALID'):
        conv = lambda p, q: lax.conv_general_dilated(p, q, (stride, stride), padding, dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
        args, say = 'sin(arange(180.0)).reshape([2, 5, 6, 3]), cos(arange(72.0)).reshape([3, 2, 3, 4])', f'stride: {stride}, padding: "{padding}"'
        case(f'(fn(p, q) = conv(p, q, {say}))({args}).sum(axis: [1, 2])', conv(image, weights).sum((1, 2)))
        for wrt in (0, 1):
            case(f'grad(fn(p, q) = sum(sin(conv(p, q, {say}))), wrt: {wrt})({args}).sum(axis: [2, 3])',
                 jax.grad(lambda p, q: jnp.sum(jnp.sin(conv(p, q))), wrt)(image, weights).sum((2, 3)))

# Decompositions, by what does not depend on signs.
spd = 'array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]])'
m = f([[4, 1, .5], [1, 3, -.2], [.5, -.2, 2]])
tall, t = 'sin(arange(12.0) ** 2).reshape([4, 3])', jnp.sin(jnp.arange(12.) ** 2).reshape(4, 3)
la = jnp.linalg
case(f'cholesky({spd})', la.cholesky(m))
case('cholesky(array([[1.0, 2.0], [2.0, 1.0]]))', la.cholesky(f([[1, 2], [2, 1]])))
case(f'solve({spd}, array([1.0, 2.0, 3.0]))', la.solve(m, f([1, 2, 3])))
case(f'inv({spd})', la.inv(m))
case(f'eigh({spd})[0]', la.eigh(m)[0])
case(f'svd({tall})[1]', la.svd(t)[1])
case(f'svd({tall})[0].shape[1] + zeros([])', jnp.float32(4))
case(f'qr({tall})[1]', la.qr(t)[1])
case(f'qr({tall})[0]', la.qr(t)[0])
for text, fn in {'sum(sin(cholesky(v)))': lambda v: jnp.sum(jnp.sin(la.cholesky(v))), 'sum(sin(inv(v)))': lambda v: jnp.sum(jnp.sin(la.inv(v))),
                 'sum(sin(solve(v, v[0])))': lambda v: jnp.sum(jnp.sin(la.solve(v, v[0]))), 'sum(sin(eigh(v)[0]))': lambda v: jnp.sum(jnp.sin(la.eigh(v)[0])),
                 'sum(eigh(v)[1] ** 4)': lambda v: jnp.sum(la.eigh(v)[1] ** 4), 'sum(sin(qr(v)[1]))': lambda v: jnp.sum(jnp.sin(la.qr(v)[1])),
                 'sum(sin(svd(v)[1]))': lambda v: jnp.sum(jnp.sin(la.svd(v)[1])),
                 'sum(svd(v, full_matrices: false)[0] ** 4)': lambda v: jnp.sum(la.svd(v, full_matrices=False)[0] ** 4)}.items():
    case(f'grad(fn(v) = {text})({spd})', jax.grad(fn)(m))
case(f'grad(fn(v) = sum(svd(v, full_matrices: false)[2] ** 4 * arange(3.0)))({tall})',
     jax.grad(lambda v: jnp.sum(la.svd(v, full_matrices=False)[2] ** 4 * jnp.arange(3.)))(t))

for s in (0, 7):
    k = random.key(s)
    p, text = f([.1, .2, .3, .4]), 'array([0.1, 0.2, 0.3, 0.4])'
    rows = '[[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]'
    for call, value in {
            f'uniform(key({s}), [3, 2], -2.0, 5.0)': random.uniform(k, (3, 2), minval=-2., maxval=5.), f'normal(key({s}), [5])': random.normal(k, (5,)),
            f'normal(key({s}), [4], dtype: bf16)': random.normal(k, (4,), jnp.bfloat16), f'normal(key({s}), [4], dtype: f16)': random.normal(k, (4,), jnp.float16),
            f'truncated_normal(key({s}), -1.0, 2.0, [6])': random.truncated_normal(k, -1., 2., (6,)), f'gumbel(key({s}), [5])': random.gumbel(k, (5,)),
            f'randint(key({s}), [6], -5, 1000000)': random.randint(k, (6,), -5, 1000000), f'randint(key({s}), [4], 3, 3)': random.randint(k, (4,), 3, 3),
            f'randint(key({s}), [4], 0, 100, dtype: u8)': random.randint(k, (4,), 0, 100, jnp.uint8), f'bernoulli(key({s}), 0.3, [9])': random.bernoulli(k, 0.3, (9,)),
            f'categorical(key({s}), array({rows}))': random.categorical(k, f([[0, 1, 2], [2, 1, 0]])),
            f'categorical(key({s}), array({rows}), axis: 0)': random.categorical(k, f([[0, 1, 2], [2, 1, 0]]), axis=0),
            f'categorical(key({s}), array({rows}), shape: [4, 2])': random.categorical(k, f([[0, 1, 2], [2, 1, 0]]), shape=(4, 2)),
            f'permutation(key({s}), 9)': random.permutation(k, 9), f'choice(key({s}), 7, [4])': random.choice(k, 7, (4,)),
            f'choice(key({s}), 7, [4], replace: false)': random.choice(k, 7, (4,), replace=False), f'choice(key({s}), 4, [6], p: {text})': random.choice(k, 4, (6,), p=p),
            f'choice(key({s}), 4, [3], replace: false, p: {text})': random.choice(k, 4, (3,), replace=False, p=p),
            f'vmap(fn(k) = normal(k, [2]))(split(key({s}), 3))': jax.vmap(lambda q: random.normal(q, (2,)))(random.split(k, 3)),
            f'key_data(fold_in(key({s}), 9))': random.key_data(random.fold_in(k, 9))}.items():
        case(call, value)

# Forms that NumPy users write: orders of norms, widths in short, whole numbers between ends, one element a line, sums of segments,
# types of products, other axes of permutations.
g, h = jnp.sin(jnp.arange(12.)).reshape(3, 4), jnp.array([[0, 2], [3, -1], [1, 1]])
gt, ht = 'sin(arange(12.0)).reshape([3, 4])', 'array([[0, 2], [3, -1], [1, 1]])'
low, low_text = g.astype(jnp.bfloat16), f'cast({gt}, bf16)'
for text, value in {
        f'norm({gt}[0], ord: 1)': la.norm(g[0], 1), f'norm({gt}, ord: inf, axis: 1)': la.norm(g, inf, axis=1), f'norm({gt}, ord: 3, axis: 0)': la.norm(g, 3, axis=0),
        f'norm({gt}[1], ord: 0)': la.norm(g[1], 0), 'pad(array([1, 2]), 1)': jnp.pad(jnp.array([1, 2]), 1), f'pad({gt}, (1, 2)).sum(axis: 0)': jnp.pad(g, (1, 2)).sum(0),
        'linspace(1, 5, 4, dtype: i32)': jnp.linspace(1, 5, 4, dtype=jnp.int32), f'take_along_axis({gt}, {ht}, axis: 1)': jnp.take_along_axis(g, h, axis=1),
        f'take_along_axis({gt}, argsort({gt}, axis: 0), axis: 0)': jnp.take_along_axis(g, jnp.argsort(g, axis=0), axis=0),
        f'take_along_axis({gt}, {ht} + 9, axis: 1)': jnp.take_along_axis(g, h + 9, axis=1),
        f'grad(fn(v) = sum(take_along_axis(v, {ht}, axis: 1) ** 2))({gt})': jax.grad(lambda v: jnp.sum(jnp.take_along_axis(v, h, axis=1) ** 2))(g),
        f'segment_sum({gt}, array([2, 0, 2]), 3)': jax.ops.segment_sum(g, jnp.array([2, 0, 2]), 3),
        f'segment_sum({gt}, array([-1, 0, 5]), 3)': jax.ops.segment_sum(g, jnp.array([-1, 0, 5]), 3),
        f'matmul({low_text}, {low_text}.T, preferred: f32)': jnp.matmul(low, low.T, preferred_element_type=jnp.float32),
        f'dot({gt}, {gt}.T, preferred: bf16)': jnp.dot(g, g.T, preferred_element_type=jnp.bfloat16),
        'einsum("i,i", cast(arange(9) + 30, i8), cast(arange(9) + 30, i8), preferred: i32)':
            jnp.einsum('i,i', (jnp.arange(9) + 30).astype(jnp.int8), (jnp.arange(9) + 30).astype(jnp.int8), preferred_element_type=jnp.int32),
        f'permutation(key(3), {gt}, axis: 1)': random.permutation(random.key(3), g, axis=1),
        f'permutation(key(3), {gt}, axis: 1, independent: true)': random.permutation(random.key(3), g, axis=1, independent=True),
        f'choice(key(3), {gt}, [3], axis: 1)': random.choice(random.key(3), g, (3,), axis=1),
        'randint(key(3), [6], 0, 1000, dtype: i8)': random.randint(random.key(3), (6,), 0, 1000, jnp.int8)}.items():
    case(text, value)

with open(__file__.replace('make_values_goldens.py', 'values_goldens.txt'), 'w') as out:
    out.write('\n'.join(lines) + '\n')
