"""Writes functions_goldens.txt: more expressions of Shard with JAX's types and numbers, in the form of values_goldens.txt.

Run with JAX and SciPy: python make_functions_goldens.py. One section a family of functions; what is odd about each (nan, ties, empty
arrays, negative axes, integers, low precision) stands beside the ordinary case.
"""
import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax, nn

inf, nan = jnp.inf, jnp.nan
f = lambda v: jnp.array(v, jnp.float32)
i = lambda v: jnp.array(v, jnp.int32)
x = f([-inf, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, inf, nan])
y = f([inf, 2.0, -1.0, 0.0, -0.0, -0.5, nan, 3.0, inf, 1.0])
short = {'float32': 'f32', 'int32': 'i32', 'bool': 'bool', 'int8': 'i8', 'uint8': 'u8', 'uint32': 'u32', 'float16': 'f16', 'bfloat16': 'bf16'}
lines = []


def case(text, value):
    value = jnp.asarray(value)
    kind = f"{short[value.dtype.name]}[{','.join(map(str, value.shape))}]"
    numbers = ' '.join(f'{float(v):.9g}' for v in np.asarray(value).reshape(-1))
    lines.append(f'{text} ## {kind} ## {numbers}')


def each(text, values):  # a tuple's parts, one by one
    for k, v in enumerate(values):
        case(f'({text})[{k}]', v)


def gradient(text, fn, *args, wrt=0):
    shown = ', '.join(a for a, _ in args)
    names = ', '.join('abcd'[k] for k in range(len(args)))
    case(f'grad(fn({names}) = sum(sin({text})), wrt: {wrt})({shown})',
         jax.grad(lambda *v: jnp.sum(jnp.sin(fn(*v))), wrt)(*(v for _, v in args)))


def precise(text, fn, shown, *values):  # in float64, of the same f32 arguments, where f32 loses digits to rounding
    with jax.enable_x64(True):
        case(f'grad(fn(a) = sum(sin({text})))({shown})', jax.grad(lambda *v: jnp.sum(jnp.sin(fn(*v))))(*(jnp.asarray(np.asarray(v), jnp.float64) for v in values)).astype(jnp.float32))


m_text, m = 'sin(arange(12.0)).reshape([3, 4])', jnp.sin(jnp.arange(12.)).reshape(3, 4)
c_text, c = 'cos(arange(24.0)).reshape([2, 3, 4])', jnp.cos(jnp.arange(24.)).reshape(2, 3, 4)
v_text, v = 'array([3.0, 1.0, 2.0, 5.0, 2.0])', f([3, 1, 2, 5, 2])

# ---- activations
for name, fn in dict(leaky_relu=nn.leaky_relu, elu=nn.elu, selu=nn.selu, celu=nn.celu, log_sigmoid=nn.log_sigmoid, mish=nn.mish,
                     hard_tanh=nn.hard_tanh).items():
    case(f'{name}(x)', fn(x))
    case(f'vmap(grad({name}))(x)', jax.vmap(jax.grad(fn))(x))
    if name != 'log_sigmoid':
        case(f'{name}(arange(-2, 3))', fn(jnp.arange(-2, 3)))
    for short_name, dtype in dict(bf16=jnp.bfloat16, f16=jnp.float16).items():
        case(f'{name}(cast(array([-1.5, 0.0, 2.0]), {short_name}))', fn(jnp.array([-1.5, 0, 2], dtype)))
exact = lambda a: nn.gelu(a, approximate=False)
case('gelu(x, approximate: false)', exact(x))
case('vmap(grad(fn(a) = gelu(a, approximate: false)))(x)', jax.vmap(jax.grad(exact))(x))
case('gelu(linspace(-9, 9, 19), approximate: false)', exact(jnp.linspace(-9, 9, 19)))
case('gelu(arange(-2, 3), approximate: false)', exact(jnp.arange(-2, 3)))
case('gelu(cast(array([-1.5, 0.0, 2.0]), bf16), approximate: false)', exact(jnp.array([-1.5, 0, 2], jnp.bfloat16)))
case('erfc(linspace(-10, 10, 21))', lax.erfc(jnp.linspace(-10, 10, 21)))
for name, fn in dict(erfc=lax.erfc, lgamma=lax.lgamma, digamma=lax.digamma).items():
    case(f'{name}(x)', fn(x))
    # The derivative of digamma at the infinities is another matter: 0 and nan, where XLA has nan and an infinity.
    case(f'vmap(grad({name}))(x[1:8])', jax.vmap(jax.grad(fn))(x[1:8]))
    case(f'{name}(array([0.1, 1.5, 30.0, 1e6, -0.3, -7.5]))', fn(f([.1, 1.5, 30, 1e6, -.3, -7.5])))
case('leaky_relu(x, 0.3)', nn.leaky_relu(x, 0.3))
case('elu(x, alpha: 0.3)', nn.elu(x, 0.3))
case('celu(x, alpha: 2)', nn.celu(x, 2.))
gradient('elu(array([-1.0, 2.0]), b)', lambda a, b: nn.elu(f([-1, 2]), b), ('0.0', 0.), ('0.7', 0.7), wrt=1)
case(f'glu({m_text})', nn.glu(m))
case(f'glu({c_text}, axis: 0)', nn.glu(c, 0))
gradient('glu(a)', nn.glu, (m_text, m))
case('nan_to_num(x)', jnp.nan_to_num(x))
case('nan_to_num(x, nan: 1, posinf: 2, neginf: 3)', jnp.nan_to_num(x, nan=1, posinf=2, neginf=3))
case('nan_to_num(cast(x, bf16))', jnp.nan_to_num(x.astype(jnp.bfloat16)))
case('nan_to_num(cast(x, f16))', jnp.nan_to_num(x.astype(jnp.float16)))
case('nan_to_num(arange(3))', jnp.nan_to_num(jnp.arange(3)))
case('vmap(grad(nan_to_num))(x)', jax.vmap(jax.grad(jnp.nan_to_num))(x))

for name, fn in dict(relu6=nn.relu6, hard_sigmoid=nn.hard_sigmoid, hard_silu=nn.hard_silu, squareplus=nn.squareplus).items():
    case(f'{name}(x)', fn(x))
    case(f'vmap(grad({name}))(x)', jax.vmap(jax.grad(fn))(x))
    case(f'{name}(arange(-2, 8))', fn(jnp.arange(-2, 8)))
    case(f'{name}(cast(array([-1.5, 0.0, 2.0]), bf16))', fn(jnp.array([-1.5, 0, 2], jnp.bfloat16)))
case('hard_silu(array([-3.0, 3.0, 7.0]))', nn.hard_silu(f([-3, 3, 7])))
for name, fn in dict(xlogy=jsp.special.xlogy, xlog1py=jsp.special.xlog1py).items():
    case(f'{name}(x, abs(y))', fn(x, jnp.abs(y)))
    case(f'{name}(0.0, array([0.0, -1.0, -2.0, inf, nan, 3.0]))', fn(0., f([0, -1, -2, inf, nan, 3])))
    case(f'{name}(array([0, 2]), array([0, 3]))', fn(i([0, 2]), i([0, 3])))
    for wrt in range(2):
        gradient(f'{name}(a, b)', fn, ('array([0.0, 0.5, -2.0])', f([0, .5, -2])), ('array([0.5, 3.0, 1.5])', f([.5, 3, 1.5])), wrt=wrt)
close_text, close_to = 'array([1.0, 1.00001, 1.0001, inf, -inf, inf, nan, 0.0, 1e-9])', f([1, 1.00001, 1.0001, inf, -inf, inf, nan, 0, 1e-9])
close_to_text, other = 'array([1.0, 1.0, 1.0, inf, inf, 1.0, nan, 1e-9, 0.0])', f([1, 1, 1, inf, inf, 1, nan, 1e-9, 0])
for more, kw in {'': {}, ', equal_nan: true': dict(equal_nan=True), ', rtol: 0.001': dict(rtol=.001), ', rtol: 0, atol: 0': dict(rtol=0, atol=0)}.items():
    case(f'isclose({close_text}, {close_to_text}{more})', jnp.isclose(close_to, other, **kw))
    case(f'allclose({close_text}[:3], {close_to_text}[:3]{more})', jnp.allclose(close_to[:3], other[:3], **kw))
case('isclose(array([1, 2]), array([1.0, 2.1]))', jnp.isclose(i([1, 2]), f([1, 2.1])))
case('allclose(array([1, 2]), 1, atol: 1)', jnp.allclose(i([1, 2]), 1, atol=1))

# ---- lines of numbers, paddings, differences
case('linspace(-1, 2, 6, endpoint: false)', jnp.linspace(-1, 2, 6, endpoint=False))
case('linspace(3, 4, 1, endpoint: false)', jnp.linspace(3, 4, 1, endpoint=False))
case('linspace(1, 9, 4, endpoint: false, dtype: i32)', jnp.linspace(1, 9, 4, endpoint=False, dtype=jnp.int32))
case('logspace(-1, 2, 6)', jnp.logspace(-1, 2, 6))
case('logspace(0, 5, 5, endpoint: false, base: 2)', jnp.logspace(0, 5, 5, endpoint=False, base=2))
case('geomspace(2, 50, 5)', jnp.geomspace(2, 50, 5))
case('geomspace(-2, -50, 5, endpoint: false)', jnp.geomspace(-2, -50, 5, endpoint=False))
case('geomspace(3, 48, 1)', jnp.geomspace(3, 48, 1))
for mode in ('edge', 'reflect', 'symmetric', 'wrap'):
    for shown, widths in {'1': 1, '(2, 3)': (2, 3), '[(0, 2), (3, 0)]': ((0, 2), (3, 0)), '[(7, 8), (0, 9)]': ((7, 8), (0, 9))}.items():
        case(f'pad({m_text}, {shown}, mode: "{mode}")', jnp.pad(m, widths, mode=mode))
    case(f'pad(array([[5, 6]]), [(2, 1), (3, 3)], "{mode}")', jnp.pad(i([[5, 6]]), ((2, 1), (3, 3)), mode))
    gradient(f'pad(a, [(2, 1), (5, 4)], mode: "{mode}")', lambda a: jnp.pad(a, ((2, 1), (5, 4)), mode), (m_text, m))
    case(f'vmap(fn(a) = pad(a, [(1, 1), (2, 0)], mode: "{mode}"))({c_text})', jax.vmap(lambda a: jnp.pad(a, ((1, 1), (2, 0)), mode))(c))
case('pad(array([1, 2]), (1, 2), "constant", 7)', jnp.pad(i([1, 2]), (1, 2), 'constant', constant_values=7))
case(f'diff({c_text})', jnp.diff(c))
case(f'diff({c_text}, n: 2, axis: 1)', jnp.diff(c, n=2, axis=1))
case('diff(array([3, 1, 4]), n: 5)', jnp.diff(i([3, 1, 4]), n=5))
case('diff(array([true, false, false, true]))', jnp.diff(jnp.array([True, False, False, True])))
gradient('diff(a, axis: 0)', lambda a: jnp.diff(a, axis=0), (m_text, m))

# ---- axes and diagonals
case(f'swapaxes({c_text}, 0, -1)', jnp.swapaxes(c, 0, -1))
case(f'moveaxis({c_text}, 0, -1)', jnp.moveaxis(c, 0, -1))
case(f'moveaxis({c_text}, [2, 0], [0, 1])', jnp.moveaxis(c, (2, 0), (0, 1)))
for k in (-4, -2, -1, 0, 1, 3, 5):
    case(f'diag({m_text}, k: {k})', jnp.diag(m, k))
    case(f'diagonal({c_text}, offset: {k}, axis1: -1, axis2: 0)', jnp.diagonal(c, k, -1, 0))
    case(f'trace({c_text}, offset: {k}, axis1: 1, axis2: 2)', jnp.trace(c, k, 1, 2))
for k in (-2, 0, 1):
    case(f'diag(array([1, 2, 3]), {k})', jnp.diag(i([1, 2, 3]), k))
case('diag(array([[nan, inf], [1.0, 2.0]]))', jnp.diag(f([[nan, inf], [1, 2]])))
case('diag(zeros([0, 3]))', jnp.diag(jnp.zeros((0, 3))))
case('diag(zeros([0]))', jnp.diag(jnp.zeros(0)))
case('diagonal(ones([2, 3]) > 0)', jnp.diagonal(jnp.ones((2, 3)) > 0))
case('trace(cast(ones([3, 3]), i8))', jnp.trace(jnp.ones((3, 3), jnp.int8)))
case('trace(ones([3, 3]) > 0)', jnp.trace(jnp.ones((3, 3)) > 0))
gradient('diagonal(a, offset: 1)', lambda a: jnp.diagonal(a, 1), (m_text, m))
gradient('diag(a, k: -1)', lambda a: jnp.diag(a, -1), (v_text, v))
gradient('trace(a)', jnp.trace, (m_text, m))
case(f'vmap(diag)({c_text})', jax.vmap(jnp.diag)(c))

# ---- searching
s_text, s = 'array([1.0, 2.0, 2.0, 5.0, inf, nan])', f([1, 2, 2, 5, inf, nan])
for side in ('left', 'right'):
    case(f'searchsorted({s_text}, x, side: "{side}")', jnp.searchsorted(s, x, side=side))
    case(f'searchsorted(array([1, 3, 3, 8]), array([[0, 3], [8, 9]]), side: "{side}")', jnp.searchsorted(i([1, 3, 3, 8]), i([[0, 3], [8, 9]]), side=side))
case('searchsorted(array([1, 3, 8]), 2.5)', jnp.searchsorted(i([1, 3, 8]), 2.5))
case('searchsorted(zeros([0]), array([1.0]))', jnp.searchsorted(jnp.zeros(0), f([1])))
case('vmap(fn(a, b) = searchsorted(a, b))(array([[1.0, 2.0], [3.0, 4.0]]), array([2.0, 3.5]))',
     jax.vmap(jnp.searchsorted)(f([[1, 2], [3, 4]]), f([2, 3.5])))
xp, fp = f([0, 1, 2, 4]), f([1, 3, -2, 5])
p_text = 'array([0.0, 1.0, 2.0, 4.0]), array([1.0, 3.0, -2.0, 5.0])'
case(f'interp(x, {p_text})', jnp.interp(x, xp, fp))
case(f'interp(x, {p_text}, left: -7, right: 9)', jnp.interp(x, xp, fp, left=-7, right=9))
case(f'interp(x, {p_text}, extrapolate: true)', jnp.interp(x, xp, fp, left='extrapolate', right='extrapolate'))
case(f'interp(linspace(-3, 7, 11), {p_text}, period: 3.0)', jnp.interp(jnp.linspace(-3, 7, 11), xp, fp, period=3.))
case('interp(array([1, 3]), array([0, 4]), array([0, 8]))', jnp.interp(i([1, 3]), i([0, 4]), i([0, 8])))
case('interp(2.0, array([1.0]), array([5.0]), left: 0)', jnp.interp(2., f([1]), f([5]), left=0))
case('interp(array([0.5, 1.0, 1.5]), array([0.0, 1.0, 1.0, 2.0]), array([0.0, 1.0, 5.0, 6.0]))', jnp.interp(f([.5, 1, 1.5]), f([0, 1, 1, 2]), f([0, 1, 5, 6])))
for wrt in range(3):
    gradient('interp(a, b, c)', jnp.interp, ('array([0.5, 1.5, 9.0, -1.0])', f([.5, 1.5, 9, -1])), ('array([0.0, 1.0, 2.0, 4.0])', xp),
             ('array([1.0, 3.0, -2.0, 5.0])', fp), wrt=wrt)
u_text, u = 'array([3, 1, 3, 2, 1, 7])', i([3, 1, 3, 2, 1, 7])
case(f'unique({u_text})', jnp.unique(u))
for size in (2, 4, 6):
    each(f'unique({u_text}, size: {size}, return_index: true, return_inverse: true, return_counts: true)',
         jnp.unique(u, size=size, return_index=True, return_inverse=True, return_counts=True))
    case(f'unique({u_text}, size: {size}, fill_value: -1)', jnp.unique(u, size=size, fill_value=-1))
each('unique(array([nan, 1.0, nan, -0.0, 0.0]), size: 5, return_counts: true)', jnp.unique(f([nan, 1, nan, -0., 0]), size=5, return_counts=True))
each('unique(array([[2, 1], [1, 2]]), return_inverse: true)', jnp.unique(i([[2, 1], [1, 2]]), return_inverse=True))
case('unique(array([true, false, true]))', jnp.unique(jnp.array([True, False, True])))

# ---- segments and bins
ids_text, ids = 'array([2, 0, 2, 5, -1])', i([2, 0, 2, 5, -1])
for name, fn in dict(segment_max=jax.ops.segment_max, segment_min=jax.ops.segment_min, segment_prod=jax.ops.segment_prod).items():
    case(f'{name}({v_text}, {ids_text}, 4)', fn(v, ids, 4))
    case(f'{name}(array([3, 1, 2, 5, 2]), {ids_text}, 3)', fn(i([3, 1, 2, 5, 2]), ids, 3))
    case(f'{name}(cast(array([3, 1, 2, 5, 2]), u8), {ids_text}, 3)', fn(jnp.array([3, 1, 2, 5, 2], jnp.uint8), ids, 3))
    case(f'{name}({m_text}, array([1, 0, 1]), 2)', fn(m, i([1, 0, 1]), 2))
    if name != 'segment_prod':  # JAX has no gradient of it
        gradient(f'{name}(a, array([1, 0, 1, 1, 0]), 2)', lambda a: fn(a, i([1, 0, 1, 1, 0]), 2), (v_text, v))
case(f'bincount({u_text})', jnp.bincount(u))
case(f'bincount({u_text}, minlength: 10)', jnp.bincount(u, minlength=10))
case(f'bincount(array([-3, 0, 9, 2]), length: 4)', jnp.bincount(i([-3, 0, 9, 2]), length=4))
case(f'bincount({u_text}, weights: arange(6.0), length: 5)', jnp.bincount(u, weights=jnp.arange(6.), length=5))
case('bincount(cast(zeros([0]), i32), length: 3)', jnp.bincount(jnp.zeros(0, jnp.int32), length=3))
gradient('bincount(array([0, 2, 2]), weights: a, length: 3)', lambda a: jnp.bincount(i([0, 2, 2]), weights=a, length=3), ('array([1.0, 2.0, 3.0])', f([1, 2, 3])))
for more, kw in {'bins: 4': dict(bins=4), 'bins: 3, low: 0, high: 4': dict(bins=3, range=(0, 4)), 'edges: array([0.0, 1.0, 2.5, 9.0])': dict(bins=f([0, 1, 2.5, 9])),
                 'bins: 3, density: true': dict(bins=3, density=True), 'bins: 3, weights: arange(5.0)': dict(bins=3, weights=jnp.arange(5.))}.items():
    each(f'histogram({v_text}, {more})', jnp.histogram(v, **kw))
each('histogram(array([2, 2, 2]), bins: 2)', jnp.histogram(i([2, 2, 2]), bins=2))
each(f'histogram({m_text})', jnp.histogram(m))

# ---- order statistics
for method in ('linear', 'lower', 'higher', 'midpoint', 'nearest'):
    case(f'quantile({v_text}, array([0.0, 0.3, 0.5, 1.0]), method: "{method}")', jnp.quantile(v, f([0, .3, .5, 1]), method=method))
    case(f'quantile({c_text}, 0.4, axis: 1, method: "{method}")', jnp.quantile(c, .4, axis=1, method=method))
case(f'quantile({c_text}, array([0.25, 0.75]), axis: [0, 2])', jnp.quantile(c, f([.25, .75]), axis=(0, 2)))
case(f'quantile({c_text}, array([0.25, 0.75]), axis: [0, 2], keepdims: true)', jnp.quantile(c, f([.25, .75]), axis=(0, 2), keepdims=True))
case(f'quantile({c_text}, 0.25, axis: -1, keepdims: true)', jnp.quantile(c, .25, axis=-1, keepdims=True))
case(f'quantile({c_text}, 0.25, keepdims: true)', jnp.quantile(c, .25, keepdims=True))
case('quantile(array([[1.0, nan], [2.0, 3.0]]), 0.5, axis: 1)', jnp.quantile(f([[1, nan], [2, 3]]), .5, axis=1))
case('quantile(array([1, 5, 2, 4]), 0.3)', jnp.quantile(i([1, 5, 2, 4]), .3))
case('quantile(cast(array([1, 5, 2, 4]), bf16), 0.3)', jnp.quantile(jnp.array([1, 5, 2, 4], jnp.bfloat16), .3))
case(f'percentile({v_text}, array([10, 50]))', jnp.percentile(v, i([10, 50])))
case(f'percentile({m_text}, 33.0, axis: 0)', jnp.percentile(m, 33., axis=0))
case(f'median({v_text})', jnp.median(v))
case(f'median({m_text})', jnp.median(m))
case(f'median({m_text}, axis: -1, keepdims: true)', jnp.median(m, axis=-1, keepdims=True))
case('median(array([4, 1, 2, 9]))', jnp.median(i([4, 1, 2, 9])))
case('median(array([1.0, nan]))', jnp.median(f([1, nan])))
gradient('quantile(a, 0.3, axis: 1)', lambda a: jnp.quantile(a, .3, axis=1), (m_text, m))
gradient('quantile(a, b)', jnp.quantile, (v_text, v), ('0.3', .3), wrt=1)
gradient('median(a)', jnp.median, (m_text, m))
w_text, w = 'array([1.0, 0.5, 2.0, 1.5])', f([1, .5, 2, 1.5])
for more, kw in {'': {}, ', bias: true': dict(bias=True), ', ddof: 2': dict(ddof=2), ', rowvar: false': dict(rowvar=False),
                 ', fweights: array([1, 2, 1, 3])': dict(fweights=i([1, 2, 1, 3])), f', aweights: {w_text}': dict(aweights=w),
                 f', fweights: array([1, 2, 1, 3]), aweights: {w_text}': dict(fweights=i([1, 2, 1, 3]), aweights=w),
                 f', fweights: array([1, 2, 1, 3]), bias: true': dict(fweights=i([1, 2, 1, 3]), bias=True)}.items():
    case(f'cov({m_text}{more})', jnp.cov(m, **kw))
case('cov(arange(4.0))', jnp.cov(jnp.arange(4.)))
case('cov(array([1.0, 2.0, 4.0]), array([3.0, 1.0, 1.0]))', jnp.cov(f([1, 2, 4]), f([3, 1, 1])))
case('cov(array([1, 2, 4]))', jnp.cov(i([1, 2, 4])))
case(f'corrcoef({m_text})', jnp.corrcoef(m))
case(f'corrcoef({m_text}, rowvar: false)', jnp.corrcoef(m, rowvar=False))
case('corrcoef(arange(4.0))', jnp.corrcoef(jnp.arange(4.)))
case('corrcoef(array([[1.0, 2.0], [3.0, 3.0]]))', jnp.corrcoef(f([[1, 2], [3, 3]])))
gradient('cov(a)', jnp.cov, (m_text, m))
gradient('corrcoef(a)', jnp.corrcoef, ('arange(6.0).reshape([2, 3]) ** 2 * array([1.0, -1.0, 0.5])', jnp.arange(6.).reshape(2, 3) ** 2 * f([1, -1, .5])))

# ---- products
case(f'kron({m_text}, array([[1.0, 2.0]]))', jnp.kron(m, f([[1, 2]])))
case(f'kron(array([1, 2]), {m_text})', jnp.kron(i([1, 2]), m))
case('kron(array([1, 2]), array([3, 4]))', jnp.kron(i([1, 2]), i([3, 4])))
gradient('kron(a, b)', jnp.kron, (m_text, m), ('array([1.0, 2.0])', f([1, 2])), wrt=1)
for p, q in ((3, 3), (3, 2), (2, 3), (2, 2)):
    pt, qt = f'cos(arange({4 * p}.0)).reshape([4, {p}])', f'sin(arange({q}.0) + 1)'
    case(f'cross({pt}, {qt})', jnp.cross(jnp.cos(jnp.arange(4. * p)).reshape(4, p), jnp.sin(jnp.arange(1. * q) + 1)))
case(f'cross({m_text}, cos({m_text}), axis: 0)', jnp.cross(m, jnp.cos(m), axis=0))
case('cross(array([1, 2, 3]), array([4, 5, 6]))', jnp.cross(i([1, 2, 3]), i([4, 5, 6])))
gradient('cross(a, cos(a), axis: 0)', lambda a: jnp.cross(a, jnp.cos(a), axis=0), (m_text, m))
for mode in ('full', 'same', 'valid'):
    for n, k in ((5, 3), (5, 4), (3, 5), (4, 5), (4, 6), (1, 1)):
        a, b = f'cos(arange({n}.0))', f'sin(arange({k}.0) + 1)'
        case(f'convolve({a}, {b}, mode: "{mode}")', jnp.convolve(jnp.cos(jnp.arange(1. * n)), jnp.sin(jnp.arange(1. * k) + 1), mode=mode))
        case(f'correlate({a}, {b}, mode: "{mode}")', jnp.correlate(jnp.cos(jnp.arange(1. * n)), jnp.sin(jnp.arange(1. * k) + 1), mode=mode))
    gradient(f'convolve(a, b, mode: "{mode}")', lambda a, b: jnp.convolve(a, b, mode=mode), ('cos(arange(5.0))', jnp.cos(jnp.arange(5.))),
             ('sin(arange(3.0))', jnp.sin(jnp.arange(3.))), wrt=1)
case('convolve(array([1, 2, 3]), array([1, 1]))', jnp.convolve(i([1, 2, 3]), i([1, 1])))
case('convolve(cast(array([1, 2, 3]), bf16), cast(array([1, 1]), bf16))', jnp.convolve(jnp.array([1, 2, 3], jnp.bfloat16), jnp.array([1, 1], jnp.bfloat16)))
case('polyval(array([1.0, -2.0, 3.0]), x)', jnp.polyval(f([1, -2, 3]), x))
case('polyval(array([1, -2, 3]), array([2, 5]))', jnp.polyval(i([1, -2, 3]), i([2, 5])))
gradient('polyval(a, 1.5)', lambda a: jnp.polyval(a, 1.5), (v_text, v))

# ---- linear algebra
spd_text, spd = 'array([[4.0, 1.0, 0.5, 0.1], [1.0, 3.0, -0.2, 0.4], [0.5, -0.2, 2.0, 0.3], [0.1, 0.4, 0.3, 1.0]])', f(
    [[4, 1, .5, .1], [1, 3, -.2, .4], [.5, -.2, 2, .3], [.1, .4, .3, 1]])
g_text, g = 'sin(arange(16.0) ** 2).reshape([4, 4])', jnp.sin(jnp.arange(16.) ** 2).reshape(4, 4)
t_text, t = 'sin(arange(12.0) ** 2).reshape([4, 3])', jnp.sin(jnp.arange(12.) ** 2).reshape(4, 3)
la = jnp.linalg
for text, value in ((spd_text, spd), (g_text, g), ('array([[2.0, 1.0], [1.0, 3.0]])', f([[2, 1], [1, 3]])), ('array([[-5.0]])', f([[-5]])),
                    ('sin(arange(9.0)).reshape([3, 3])', jnp.sin(jnp.arange(9.)).reshape(3, 3))):
    case(f'det({text})', la.det(value))
    gradient('det(a)', la.det, (text, value))
    if value.shape != (3, 3):  # that one is singular but for rounding
        each(f'slogdet({text})', la.slogdet(value))
        gradient('slogdet(a)[1]', lambda a: la.slogdet(a)[1], (text, value))
    case(f'expm({text})', jsp.linalg.expm(value))
    precise('expm(a)', jsp.linalg.expm, text, value)
case('det(zeros([4, 4]))', la.det(jnp.zeros((4, 4))))
each('slogdet(zeros([4, 4]))', la.slogdet(jnp.zeros((4, 4))))
case('grad(det)(array([[1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 0.0, 1.0], [1.0, 0.0, 2.0, 5.0], [0.0, 0.0, 0.0, 0.0]]))',
     jax.grad(la.det)(f([[1, 2, 3, 4], [2, 1, 0, 1], [1, 0, 2, 5], [0, 0, 0, 0]])))
case(f'hessian(det)({spd_text}).sum(axis: [0, 1])', jax.hessian(la.det)(spd).sum((0, 1)))
case('det(array([[1, 2], [3, 4]]))', la.det(i([[1, 2], [3, 4]])))
case(f'det(stack([{g_text}, {spd_text}]))', la.det(jnp.stack([g, spd])))
case('expm(array([[0.0, 20.0], [-20.0, 0.0]]))', jsp.linalg.expm(f([[0, 20], [-20, 0]])))
case('expm(array([[1e6, 0.0], [0.0, 1.0]]))', jsp.linalg.expm(f([[1e6, 0], [0, 1]])))
case(f'expm(stack([{g_text}, {spd_text}])).sum(axis: 2)', jsp.linalg.expm(jnp.stack([g, spd])).sum(2))
for n in (-2, -1, 0, 1, 2, 3, 7):
    case(f'matrix_power({spd_text}, {n})', la.matrix_power(spd, n))
case('matrix_power(array([[1, 1], [1, 0]]), 10)', la.matrix_power(i([[1, 1], [1, 0]]), 10))
gradient('matrix_power(a, 5)', lambda a: la.matrix_power(a, 5), (g_text, g))
for lower in (False, True):
    for trans in (0, 1):
        for unit in (False, True):
            more = f'lower: {str(lower).lower()}, trans: {trans}, unit_diagonal: {str(unit).lower()}'
            solve = lambda a, b: jsp.linalg.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)
            case(f'solve_triangular({spd_text}, array([1.0, 2.0, 3.0, 4.0]), {more})', solve(spd, f([1, 2, 3, 4])))
            gradient(f'solve_triangular(a, b, {more})', solve, (spd_text, spd), (t_text, t))
for text, value in ((t_text, t), (f'{t_text}.T', t.T), (g_text, g)):
    case(f'pinv({text})', la.pinv(value))
    if value.shape != (4, 4):  # that one is too near to a singular one
        precise('pinv(a)', la.pinv, text, value)
case('pinv(array([[1.0, 2.0], [2.0, 4.0]]))', la.pinv(f([[1, 2], [2, 4]])))
case(f'pinv({t_text}, rtol: 0.9)', la.pinv(t, rtol=.9))
each(f'lstsq({t_text}, array([1.0, 2.0, 3.0, 4.0]))', la.lstsq(t, f([1, 2, 3, 4])))
each(f'lstsq({t_text}.T, ones([3, 2]))', la.lstsq(t.T, jnp.ones((3, 2))))
each('lstsq(array([[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]]), array([1.0, 2.0, 3.0]))', la.lstsq(f([[1, 2], [2, 4], [0, 0]]), f([1, 2, 3])))
gradient('lstsq(a, b)[0]', lambda a, b: la.lstsq(a, b)[0], (t_text, t), ('array([1.0, 2.0, 3.0, 4.0])', f([1, 2, 3, 4])))
for deg in (0, 1, 2):
    case(f'polyfit(linspace(-1, 1, 7), cos(arange(7.0)), {deg})', jnp.polyfit(jnp.linspace(-1, 1, 7), jnp.cos(jnp.arange(7.)), deg))
case('polyfit(linspace(-1, 1, 4), sin(arange(8.0)).reshape([4, 2]), 1, w: array([1.0, 2.0, 1.0, 0.5]))',
     jnp.polyfit(jnp.linspace(-1, 1, 4), jnp.sin(jnp.arange(8.)).reshape(4, 2), 1, w=f([1, 2, 1, .5])))

# ---- systems by a factor that is made once
spd_text, spd = 'array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]])', f([[4, 1, .5], [1, 3, -.2], [.5, -.2, 2]])
right_text, right = 'array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])', f([[1, 2], [.5, -1], [3, 0]])
for shown, lower in dict(true=True, false=False).items():
    factor = jsp.linalg.cho_factor(spd, lower=lower)
    case(f'cho_factor({spd_text}, lower: {shown})[0]', factor[0] if lower else jnp.triu(factor[0]))
    case(f'cho_solve(cho_factor({spd_text}, lower: {shown}), {right_text})', jsp.linalg.cho_solve(factor, right))
    case(f'cho_solve(cho_factor({spd_text}, lower: {shown}), {right_text}[:, 0])', jsp.linalg.cho_solve(factor, right[:, 0]))
    for wrt in range(2):
        gradient(f'cho_solve(cho_factor(a, lower: {shown}), b)', lambda a, b: jsp.linalg.cho_solve(jsp.linalg.cho_factor(a, lower=lower), b),
                 (spd_text, spd), (right_text, right), wrt=wrt)
case(f'cho_solve(cholesky({spd_text}), {right_text})', jsp.linalg.cho_solve((jnp.linalg.cholesky(spd), True), right))
case(f'vmap(fn(b) = cho_solve(cho_factor({spd_text}), b))(transpose({right_text}))', jax.vmap(lambda b: jsp.linalg.cho_solve(jsp.linalg.cho_factor(spd), b))(right.T))

# ---- associative_scan
def linear(p, q):
    return p[0] * q[0], p[1] * q[0] + q[1]


text = 'fn((a, b), (c, d)) = (a * c, b * c + d)'
for n in (0, 1, 2, 3, 7, 8, 13):
    for reverse in (False, True):
        a, b = jnp.cos(jnp.arange(1. * n)), jnp.sin(jnp.arange(1. * n))
        each(f'associative_scan({text}, (cos(arange({n}.0)), sin(arange({n}.0))), reverse: {str(reverse).lower()})',
             lax.associative_scan(linear, (a, b), reverse=reverse))
case(f'associative_scan(maximum, {m_text}, axis: 1)', lax.associative_scan(jnp.maximum, m, axis=1))
case(f'associative_scan(fn(a, b) = a + b, {c_text}, axis: -2, reverse: true)', lax.associative_scan(jnp.add, c, axis=1, reverse=True))
case('associative_scan(fn(a, b) = a & b, array([true, true, false, true]))', lax.associative_scan(jnp.logical_and, jnp.array([True, True, False, True])))
gradient(f'associative_scan({text}, (a, b))[1]', lambda a, b: lax.associative_scan(linear, (a, b))[1], (v_text, v), ('cos(arange(5.0))', jnp.cos(jnp.arange(5.))))

# ---- convolutions with every option, 1-D to 3-D
names = {1: ('NHC', 'HIO', 'NHC'), 2: ('NHWC', 'HWIO', 'NHWC'), 3: ('NHWDC', 'HWDIO', 'NHWDC')}


def arrays(*shapes):
    made = []
    for k, shape in enumerate(shapes):
        n = int(np.prod(shape))
        fn, word = ((jnp.sin, 'sin'), (jnp.cos, 'cos'))[k % 2]
        made.append((f'{word}(arange({n}.0)).reshape({list(shape)})', fn(jnp.arange(float(n))).reshape(shape)))
    return made


for xs, ws, kw in (((2, 7, 3), (3, 3, 4), dict(window_strides=(2,), padding=[(1, 2)])),
                   ((2, 7, 3), (3, 3, 4), dict(window_strides=(1,), padding='SAME', rhs_dilation=(2,))),
                   ((2, 8, 3), (2, 3, 4), dict(window_strides=(1,), padding=[(0, 1)], lhs_dilation=(3,))),
                   ((2, 5, 6, 4), (3, 2, 2, 6), dict(window_strides=(1, 2), padding='SAME', feature_group_count=2)),
                   ((2, 5, 6, 4), (3, 3, 1, 4), dict(window_strides=(1, 1), padding='SAME', feature_group_count=4)),
                   ((2, 5, 6, 2), (3, 3, 1, 6), dict(window_strides=(2, 1), padding='VALID', feature_group_count=2, rhs_dilation=(1, 2))),
                   ((1, 5, 6, 2), (3, 3, 2, 3), dict(window_strides=(1, 1), padding=[(2, 0), (1, 3)], rhs_dilation=(2, 1), lhs_dilation=(1, 2))),
                   ((2, 12, 19, 2), (3, 2, 2, 5), dict(window_strides=(1, 2), padding='SAME', rhs_dilation=(2, 1))),
                   ((1, 4, 5, 3, 2), (2, 3, 2, 2, 3), dict(window_strides=(1, 2, 1), padding='SAME')),
                   ((1, 4, 5, 3, 2), (2, 3, 2, 1, 2), dict(window_strides=(1, 1, 1), padding='VALID', feature_group_count=2))):
    count = len(xs) - 2
    conv = lambda a, b: lax.conv_general_dilated(a, b, dimension_numbers=names[count], **kw)
    more = f"stride: {list(kw['window_strides'])}"
    more += f', padding: "{kw["padding"]}"' if isinstance(kw['padding'], str) else f", pads: {kw['padding']}"
    for theirs, ours in (('rhs_dilation', 'dilation'), ('lhs_dilation', 'input_dilation')):
        if theirs in kw:
            more += f', {ours}: {list(kw[theirs])}'
    if 'feature_group_count' in kw:
        more += f", groups: {kw['feature_group_count']}"
    (xt, xv), (wt, wv) = arrays(xs, ws)
    case(f'(fn(a, b) = conv(a, b, {more}))({xt}, {wt}).sum(axis: 1)', conv(xv, wv).sum(1))
    for wrt in (0, 1):
        case(f'grad(fn(a, b) = sum(sin(conv(a, b, {more}))), wrt: {wrt})({xt}, {wt}).sum(axis: 0)',
             jax.grad(lambda a, b: jnp.sum(jnp.sin(conv(a, b))), wrt)(xv, wv).sum(0))
for xs, ws, stride, padding, dilation in (((2, 4, 3), (3, 3, 2), 2, 'SAME', 1), ((2, 4, 3), (2, 3, 2), 3, 'SAME', 1), ((2, 4, 3), (4, 3, 2), 2, 'VALID', 1),
                                          ((1, 4, 3, 2), (3, 3, 2, 3), 2, 'SAME', 1), ((1, 4, 3, 2), (3, 2, 2, 3), 2, 'VALID', 2),
                                          ((2, 4, 3), (3, 3, 2), 2, [(1, 2)], 1), ((1, 4, 3), (2, 3, 2), 3, [(3, 4)], 1)):
    count = len(xs) - 2
    conv = lambda a, b: lax.conv_transpose(a, b, (stride,) * count, padding, rhs_dilation=(dilation,) * count, dimension_numbers=names[count])
    more = f'stride: {stride}, dilation: {dilation}, ' + (f'padding: "{padding}"' if isinstance(padding, str) else f'pads: {padding}')
    (xt, xv), (wt, wv) = arrays(xs, ws)
    case(f'(fn(a, b) = conv_transpose(a, b, {more}))({xt}, {wt})', conv(xv, wv))
    case(f'grad(fn(a, b) = sum(sin(conv_transpose(a, b, {more}))), wrt: 1)({xt}, {wt})', jax.grad(lambda a, b: jnp.sum(jnp.sin(conv(a, b))), 1)(xv, wv))
(xt, xv), = arrays((1, 5, 6, 2))
for method in ('nearest', 'linear', 'cubic', 'lanczos3', 'lanczos5'):
    for shape in ((1, 10, 6, 2), (1, 3, 7, 2), (1, 2, 2, 2)):
        case(f'resize({xt}, {list(shape)}, method: "{method}")', jax.image.resize(xv, shape, method))
    case(f'grad(fn(a) = sum(sin(resize(a, [1, 3, 9, 2], method: "{method}"))))({xt})',
         jax.grad(lambda a: jnp.sum(jnp.sin(jax.image.resize(a, (1, 3, 9, 2), method))))(xv))
case(f'resize({xt}, [1, 3, 3, 2], method: "cubic", antialias: false)', jax.image.resize(xv, (1, 3, 3, 2), 'cubic', antialias=False))
case('resize(arange(4), [7])', jax.image.resize(jnp.arange(4), (7,), 'linear'))
case('resize(arange(4), [7], method: "nearest")', jax.image.resize(jnp.arange(4), (7,), 'nearest'))
(xt, xv), (wt, wv) = arrays((6, 3), (3, 3, 2))
for sizes in ([2, 0, 4], [1, 2, 1], [6, 0, 0]):
    ragged = lambda a, b: lax.ragged_dot(a, b, i(sizes))
    case(f'ragged_dot({xt}, {wt}, array({sizes}))', ragged(xv, wv))
    for wrt in (0, 1):
        gradient(f'ragged_dot(a, b, array({sizes}))', ragged, (xt, xv), (wt, wv), wrt=wrt)

# ---- samplers
from jax import random  # noqa: E402

alphas_text, alphas = 'array([0.05, 0.5, 1.0, 3.0, 40.0])', f([.05, .5, 1, 3, 40])
for seed in (0, 7):
    k, key = random.key(seed), f'key({seed})'
    case(f'exponential({key}, [5])', random.exponential(k, (5,)))
    case(f'exponential({key}, [5], dtype: bf16)', random.exponential(k, (5,), jnp.bfloat16))
    case(f'laplace({key}, [3, 2])', random.laplace(k, (3, 2)))
    case(f'laplace({key}, [5], dtype: f16)', random.laplace(k, (5,), jnp.float16))
    case(f'gamma({key}, {alphas_text}, [4, 5])', random.gamma(k, alphas, (4, 5)))
    case(f'gamma({key}, 2.5)', random.gamma(k, 2.5))
    case(f'loggamma({key}, {alphas_text}, [4, 5])', random.loggamma(k, alphas, (4, 5)))
    case(f'beta({key}, {alphas_text}, 0.7, [3, 5])', random.beta(k, alphas, .7, (3, 5)))
    case(f'dirichlet({key}, {alphas_text}, [3])', random.dirichlet(k, alphas, (3,)))
    case(f'poisson({key}, array([0.0, 0.5, 4.0, 9.99, 10.0, 100.0, 1e6]), [5, 7])', random.poisson(k, f([0, .5, 4, 9.99, 10, 100, 1e6]), (5, 7)))
    case(f'poisson({key}, 3, [4], dtype: u8)', random.poisson(k, 3, (4,), jnp.uint8))
    case(f'binomial({key}, array([0, 1, 10, 40, 1000]), 0.3, [6, 5])', random.binomial(k, i([0, 1, 10, 40, 1000]), .3, (6, 5)))
    case(f'binomial({key}, 100, array([0.0, 0.05, 0.5, 0.95, 1.0]), [6, 5])', random.binomial(k, 100, f([0, .05, .5, .95, 1]), (6, 5)))
    case(f'binomial({key}, array([nan, -1.0, inf, 3.0]), array([0.5, 0.5, 0.5, nan]))', random.binomial(k, f([nan, -1, inf, 3]), f([.5, .5, .5, nan])))
    for method in ('cholesky', 'eigh', 'svd'):
        if method == 'cholesky':
            case(f'multivariate_normal({key}, array([1.0, 2.0]), array([[2.0, 1.0], [1.0, 2.0]]), [3], method: "{method}")',
                 random.multivariate_normal(k, f([1, 2]), f([[2, 1], [1, 2]]), (3,), method=method))
    case(f'vmap(fn(k) = gamma(k, 2.0, [2]))(split({key}, 3))', jax.vmap(lambda q: random.gamma(q, 2., (2,)))(random.split(k, 3)))
    case(f'vmap(fn(k) = poisson(k, 12.0, [2]))(split({key}, 3))', jax.vmap(lambda q: random.poisson(q, 12., (2,)))(random.split(k, 3)))
    case(f'vmap(grad(fn(a) = gamma({key}, a)))({alphas_text})', jax.vmap(jax.grad(lambda a: random.gamma(k, a)))(alphas))
    case(f'vmap(grad(fn(a) = loggamma({key}, a)))({alphas_text})', jax.vmap(jax.grad(lambda a: random.loggamma(k, a)))(alphas))
    case(f'grad(fn(a) = sum(dirichlet({key}, a) * arange(5.0)))({alphas_text})', jax.grad(lambda a: jnp.sum(random.dirichlet(k, a) * jnp.arange(5.)))(alphas))

# ---- complex numbers: both parts, one after the other
z = (f([1, -2, .5, 0, 0, -3, 0]) + 1j * f([2, -1, 0, 3, -.5, 0, 0])).astype(jnp.complex64)
w = (f([.5, 1, -1, 2, .3, 1, 2]) + 1j * f([1, -1, .25, 0, 4, .1, 1])).astype(jnp.complex64)
z_text = 'complex(array([1.0, -2.0, 0.5, 0.0, 0.0, -3.0, 0.0]), array([2.0, -1.0, 0.0, 3.0, -0.5, 0.0, 0.0]))'
w_text = 'complex(array([0.5, 1.0, -1.0, 2.0, 0.3, 1.0, 2.0]), array([1.0, -1.0, 0.25, 0.0, 4.0, 0.1, 1.0]))'


def parts(text, value):
    case(f'real({text})', jnp.real(value))
    case(f'imag({text})', jnp.imag(value))


for text, value in {'z + w': z + w, 'z - w': z - w, 'z * w': z * w, 'z / w': z / w, 'z * 2': z * 2, '3.5 - z': 3.5 - z, '-z': -z,
                    'w ** z': w ** z, 'w ** 0.5': w ** .5, 'exp(z)': jnp.exp(z), 'log(w)': jnp.log(w),
                    'sqrt(z)': jnp.sqrt(z), 'sin(z)': jnp.sin(z), 'cos(z)': jnp.cos(z), 'tanh(z)': jnp.tanh(z), 'sinh(z)': jnp.sinh(z),
                    'cosh(z)': jnp.cosh(z), 'conj(z)': jnp.conj(z), 'sign(z)': jnp.sign(z), 'sum(z)': z.sum(), 'mean(z)': z.mean(),
                    'cumsum(z)': jnp.cumsum(z), 'z[::-1]': z[::-1], 'z[array([3, 0])]': z[jnp.array([3, 0])], 'where(real(z) > 0, z, w)': jnp.where(z.real > 0, z, w),
                    'z + arange(7)': z + jnp.arange(7), 'z * cast(arange(7), bf16)': z * jnp.arange(7).astype(jnp.bfloat16),
                    'concat([z, w])[5:9]': jnp.concatenate([z, w])[5:9], 'pad(z, [(1, 1)], value: 2)': jnp.pad(z, 1, constant_values=2),
                    'roll(z, 2)': jnp.roll(z, 2), 'cast(arange(3), c64)': jnp.arange(3).astype(jnp.complex64), 'zeros([2], c64)': jnp.zeros(2, jnp.complex64),
                    'ones([2], c64)': jnp.ones(2, jnp.complex64), 'outer(z, w)': jnp.outer(z, w), 'dot(z, w)': jnp.dot(z, w),
                    'z.reshape([7, 1]) @ w.reshape([1, 7])': z.reshape(7, 1) @ w.reshape(1, 7), 'z @ arange(7.0)': z @ jnp.arange(7.),
                    'einsum("i,i->", z, conj(z))': jnp.einsum('i,i->', z, z.conj()), 'segment_sum(z, array([0, 1, 0, 1, 0, 1, 0]), 2)': jax.ops.segment_sum(z, jnp.array([0, 1] * 3 + [0]), 2)}.items():
    parts(text.replace('z', z_text).replace('w', w_text) if text[:2] not in ('ze', 'wh') else text.replace('(z', '(' + z_text).replace(' z,', ' ' + z_text + ',').replace(' w)', ' ' + w_text + ')'), value)
for name, fn in {'abs': jnp.abs, 'angle': jnp.angle, 'real': jnp.real, 'imag': jnp.imag, 'norm': jnp.linalg.norm, 'var': jnp.var, 'std': jnp.std,
                 'isnan': jnp.isnan, 'isfinite': jnp.isfinite}.items():
    case(f'{name}({z_text})', fn(z))
case(f'{z_text} == conj({z_text})', z == z.conj())
case(f'{z_text} != {w_text}', z != w)
parts(f'jit(fn(a) = a ** 2)({z_text})', z ** 2)
parts(f'jit(fn(a) = a ** 3)({z_text})', z ** 3)
# powers by whole numbers are products, known while tracing or not; products, systems of equations, random numbers
for n in (0, 1, 2, 5, 17, 31, -1, -2, -3):
    parts(f'{w_text} ** {n}' if n >= 0 else f'{w_text} ** ({n})', w ** n)
    parts(f'jit(fn(a) = a ** ({n}))({w_text})', w ** n)
parts(f'jit(fn(a, n) = a ** n)({w_text}, 5)', w ** 5)
square_text, square = f'({z_text} * 2 + {w_text})[:4].reshape([2, 2])', (z * 2 + w)[:4].reshape(2, 2)
for text, fn in {'prod(a)': jnp.prod, 'prod(a, axis: 0)': lambda a: jnp.prod(a, axis=0), 'cumprod(a)': jnp.cumprod, 'cumprod(a, axis: 1)': lambda a: jnp.cumprod(a, axis=1),
                 'inv(a)': jnp.linalg.inv, 'solve(a, complex(array([1.0, 2.0]), 0.5))': lambda a: jnp.linalg.solve(a, f([1, 2]) + .5j),
                 'solve(a, eye(2))': lambda a: jnp.linalg.solve(a, jnp.eye(2)), 'solve(real(a), a)': lambda a: jnp.linalg.solve(jnp.real(a), a)}.items():
    parts(f'(fn(a) = {text})({square_text})', fn(square))
    parts(f'grad(fn(a) = sum(abs({text}) ** 2))({square_text})', jax.grad(lambda a: jnp.sum(jnp.abs(fn(a)) ** 2))(square))
for trans in (0, 1, 2):
    for lower in (False, True):
        right = 'complex(array([1.0, 2.0]), 0.5)'
        parts(f'solve_triangular({square_text}, {right}, trans: {trans}, lower: {str(lower).lower()})',
              jsp.linalg.solve_triangular(square, f([1, 2]) + .5j, trans=trans, lower=lower))
parts(f'solve_triangular({square_text}, eye(2), lower: true, unit_diagonal: true)', jsp.linalg.solve_triangular(square, jnp.eye(2, dtype=square.dtype), lower=True, unit_diagonal=True))
parts(f'prod({z_text}[:3])', jnp.prod(z[:3]))
parts(f'grad(fn(a) = real(prod(a)))({z_text}[1:5])', jax.grad(lambda a: jnp.real(jnp.prod(a)))(z[1:5]))
parts(f'prod(zeros([0], c64))', jnp.prod(jnp.zeros(0, jnp.complex64)))
parts(f'normal(key(3), [5], c64)', jax.random.normal(jax.random.key(3), (5,), jnp.complex64))
# gradients by JAX's convention; of what is real, by a complex and by a real argument
for text, fn in {'abs(a * b)': lambda a, b: jnp.abs(a * b), 'real(exp(a) / b)': lambda a, b: jnp.real(jnp.exp(a) / b),
                 'imag(sin(a) * conj(b))': lambda a, b: jnp.imag(jnp.sin(a) * b.conj()), 'abs(tanh(a) - b) ** 2': lambda a, b: jnp.abs(jnp.tanh(a) - b) ** 2,
                 'angle(a + 3) * real(b ** 3)': lambda a, b: jnp.angle(a + 3) * jnp.real(b ** 3), 'real(sqrt(b) * log(b) * a)': lambda a, b: jnp.real(jnp.sqrt(b) * jnp.log(b) * a),
                 'abs(cumsum(a))[2] * imag(a @ b)': lambda a, b: jnp.abs(jnp.cumsum(a))[2] * jnp.imag(a @ b)}.items():
    for wrt in (0, 1):
        g = jax.grad(lambda a, b: jnp.sum(fn(a, b)), wrt)(z, w)
        parts(f'grad(fn(a, b) = sum({text}), wrt: {wrt})({z_text}, {w_text})', g)
case(f'grad(fn(a) = sum(abs(exp(complex(a, a * 2)) + {w_text})))(arange(7.0))', jax.grad(lambda a: jnp.sum(jnp.abs(jnp.exp(jax.lax.complex(a, a * 2)) + w)))(jnp.arange(7.)))
parts(f'jvp(fn(a) = a * a, {z_text}, {w_text})[1]', jax.jvp(lambda a: a * a, (z,), (w,))[1])
parts(f'vjp(fn(a) = a * a, {z_text})[1]({w_text})[0]', jax.vjp(lambda a: a * a, z)[1](w)[0])

# ---- Fourier transforms: powers of two, small and large primes, cut and with zeros behind
lines_text = 'sin(arange(48.0) * 0.7).reshape([2, 24])'
signal = jnp.sin(jnp.arange(48.) * .7).reshape(2, 24)
for text, fn in {'fft(a)': jnp.fft.fft, 'ifft(a)': jnp.fft.ifft, 'rfft(a)': jnp.fft.rfft, 'fft2(a)': jnp.fft.fft2, 'ifft2(a)': jnp.fft.ifft2,
                 'fft(a, n: 16)': lambda a: jnp.fft.fft(a, 16), 'fft(a, n: 17)': lambda a: jnp.fft.fft(a, 17), 'fft(a, n: 29)': lambda a: jnp.fft.fft(a, 29),
                 'fft(a, n: 63)': lambda a: jnp.fft.fft(a, 63), 'rfft(a, n: 9)': lambda a: jnp.fft.rfft(a, 9), 'fft(a, axis: 0)': lambda a: jnp.fft.fft(a, axis=0),
                 'irfft(rfft(a) * rfft(a[0]))': lambda a: jnp.fft.irfft(jnp.fft.rfft(a) * jnp.fft.rfft(a[0])), 'irfft(fft(a), n: 7)': lambda a: jnp.fft.irfft(jnp.fft.fft(a), 7),
                 'ifft(fft(a) * complex(0.0, 1.0))': lambda a: jnp.fft.ifft(jnp.fft.fft(a) * 1j)}.items():
    parts(text.replace('(a', '(' + lines_text), fn(signal)) if 'a[0]' not in text else parts(f'(fn(a) = {text})({lines_text})', fn(signal))
    if 'a[0]' in text: continue
    case(f'grad(fn(a) = sum(abs({text}) ** 2) + sum(real({text})[0]))({lines_text})', jax.grad(lambda a: jnp.sum(jnp.abs(fn(a)) ** 2) + jnp.sum(jnp.real(fn(a))[0]))(signal))

plane = {'s: [3, 17]': dict(s=(3, 17)), 'axes: [1, 0]': dict(axes=(1, 0)), 'norm: "ortho"': dict(norm='ortho'), 'norm: "forward"': dict(norm='forward')}
for text, fn in {**{f'{name}(a, norm: "{norm}")': (lambda a, name=name, norm=norm: getattr(jnp.fft, name)(a, norm=norm)) for name in ('fft', 'ifft', 'rfft') for norm in ('ortho', 'forward')},
                 **{f'{name}(a, {more})': (lambda a, name=name, given=given: getattr(jnp.fft, name)(a, **given))
                    for name in ('fft2', 'ifft2', 'rfft2', 'fftn', 'ifftn', 'rfftn') for more, given in plane.items()},
                 **{f'{back}({there}(a), {more})': (lambda a, back=back, there=there, given=given: getattr(jnp.fft, back)(getattr(jnp.fft, there)(a), **given))
                    for there, back in (('rfft2', 'irfft2'), ('rfftn', 'irfftn')) for more, given in plane.items() if 'axes' not in more and 'forward' not in more},
                 'irfft(rfft(a), norm: "ortho")': lambda a: jnp.fft.irfft(jnp.fft.rfft(a), norm='ortho'), 'irfft2(rfft2(a))': lambda a: jnp.fft.irfft2(jnp.fft.rfft2(a)),
                 'fftn(a.reshape([2, 4, 6]), axes: [0, 2])': lambda a: jnp.fft.fftn(a.reshape(2, 4, 6), axes=(0, 2)), 'irfftn(a.reshape([2, 4, 6]), axes: [2, 0])': lambda a: jnp.fft.irfftn(a.reshape(2, 4, 6), axes=(2, 0)),
                 'fftshift(fft(a))': lambda a: jnp.fft.fftshift(jnp.fft.fft(a)), 'ifftshift(a, axes: 1)': lambda a: jnp.fft.ifftshift(a, axes=1)}.items():
    parts(text.replace('(a', '(' + lines_text), fn(signal))
    case(f'grad(fn(a) = sum(abs({text}) ** 2) + sum(real({text})[0]))({lines_text})', jax.grad(lambda a: jnp.sum(jnp.abs(fn(a)) ** 2) + jnp.sum(jnp.real(fn(a))[0]))(signal))
for n in (1, 4, 5):
    case(f'fftfreq({n}, d: 0.1)', jnp.fft.fftfreq(n, 0.1))
    case(f'rfftfreq({n})', jnp.fft.rfftfreq(n))
    case(f'fftshift(arange({n}))', jnp.fft.fftshift(jnp.arange(n)))
    case(f'ifftshift(arange({n}))', jnp.fft.ifftshift(jnp.arange(n)))

# ---- complex numbers at the edge: both parts of both operands 0, infinite, no number, and so large that squares overflow
edges_text, edges = 'array([0.0, -inf, inf, nan, -2.5, 1e30])', f([0, -inf, inf, nan, -2.5, 1e30])
at = lambda d, rank: edges.reshape([-1 if k == d else 1 for k in range(rank)])
at_text = lambda d, rank: f"e.reshape([{', '.join('6' if k == d else '1' for k in range(rank))}])"
both, both_text = (jax.lax.complex(*jnp.broadcast_arrays(at(k, 4), at(k + 1, 4))) for k in (0, 2)), [f'complex({at_text(k, 4)}, {at_text(k + 1, 4)})' for k in (0, 2)]
above, below = both
parts(f'(fn(e) = {both_text[0]} / {both_text[1]})({edges_text})', above / below)
parts(f'(fn(e) = e.reshape([6, 1, 1]) / complex(e.reshape([6, 1]), e))({edges_text})', at(0, 3) / jax.lax.complex(*jnp.broadcast_arrays(at(1, 3), at(2, 3))))
parts(f'(fn(e) = complex(e.reshape([6, 1]), e) / e.reshape([6, 1, 1]))({edges_text})', jax.lax.complex(*jnp.broadcast_arrays(at(1, 3), at(2, 3))) / at(0, 3))
one, one_text = jax.lax.complex(*jnp.broadcast_arrays(at(0, 2), at(1, 2))), 'complex(e.reshape([6, 1]), e)'
parts(f'(fn(e) = 1 / {one_text})({edges_text})', 1 / one)
parts(f'(fn(e) = {one_text} / inf)({edges_text})', one / inf)
parts(f'(fn(e) = {one_text} / 0.0)({edges_text})', one / 0.0)
case(f'(fn(e) = abs({one_text}))({edges_text})', jnp.abs(one))
for name in ('exp', 'log'):
    parts(f'(fn(e) = {name}({one_text}))({edges_text})', getattr(jnp, name)(one))
huge_text, huge = 'complex(array([3e38, -3e38, 1.0, -1.0]), array([3e38, 1.0, inf, -inf]))', jax.lax.complex(f([3e38, -3e38, 1, -1]), f([3e38, 1, inf, -inf]))
for name in ('sqrt', 'log'):
    parts(f'{name}({huge_text})', getattr(jnp, name)(huge))
for text, fn in {'complex(a, a) / complex(inf, inf)': lambda a: (a + 1j * a) / jnp.complex64(complex(inf, inf)),
                 'complex(a, 1.0) / complex(inf, 2.0)': lambda a: jax.lax.complex(a, jnp.ones(2)) / jnp.complex64(complex(inf, 2)),
                 'complex(2.0, a) / complex(a, 1e25)': lambda a: jax.lax.complex(2 * jnp.ones(2), a) / jax.lax.complex(a, 1e25 * jnp.ones(2)),
                 'exp(complex(a, 0.0))': lambda a: jnp.exp(jax.lax.complex(a, jnp.zeros(2)))}.items():
    case(f'grad(fn(a) = sum(real({text}) + imag({text})))(array([1.0, -2.0]))', jax.grad(lambda a: jnp.sum(jnp.real(fn(a)) + jnp.imag(fn(a))))(f([1, -2])))

# ---- each element as often as its count says
for text, fn in {'repeat(a, [2, 0, 3, 1], axis: 1)': lambda a: jnp.repeat(a, jnp.array([2, 0, 3, 1]), axis=1), 'repeat(a, array([1, 2, 0]), axis: 0)': lambda a: jnp.repeat(a, jnp.array([1, 2, 0]), axis=0),
                 'repeat(a, [2], axis: 1)': lambda a: jnp.repeat(a, jnp.array([2]), axis=1), 'repeat(a, 2, axis: -1)': lambda a: jnp.repeat(a, 2, axis=-1), 'repeat(a, 3)': lambda a: jnp.repeat(a, 3),
                 **{f'repeat(a, [1, 2, 0], axis: 0, total_repeat_length: {n})': (lambda a, n=n: jnp.repeat(a, jnp.array([1, 2, 0]), axis=0, total_repeat_length=n)) for n in (0, 2, 6)},
                 'repeat(a, 2, axis: 1, total_repeat_length: 5)': lambda a: jnp.repeat(a, 2, axis=1, total_repeat_length=5)}.items():
    case(f'(fn(a) = {text})({m_text})', fn(m))
    gradient(text, fn, (m_text, m))
case('jit(fn(x, n) = repeat(x, n, total_repeat_length: 6))(arange(3), array([0, 2, 2]))', jnp.repeat(jnp.arange(3), jnp.array([0, 2, 2]), total_repeat_length=6))
case('vmap(fn(x, n) = repeat(x, n, total_repeat_length: 4))(arange(6).reshape([2, 3]), array([[1, 2, 1], [0, 0, 1]]))',
     jax.vmap(lambda x, n: jnp.repeat(x, n, total_repeat_length=4))(jnp.arange(6).reshape(2, 3), jnp.array([[1, 2, 1], [0, 0, 1]])))

# ---- complex matrices, in c128 (JAX in x64): decompositions (of eigh and svd what does not depend on the vectors' phases), what is made
# of them, and gradients by JAX's convention
jax.config.update('jax_enable_x64', True)
short.update(float64='f64', int64='i64')
rng = np.random.RandomState(5)


def matrix(*shape):  # of eighths: exact in every type
    re, im = (np.round(rng.uniform(-2, 2, shape) * 8) / 8 for _ in range(2))
    text = lambda v: f'cast(array({(v + 0.0).tolist()}), f64)'
    return f'complex({text(re)}, {text(im)})', jnp.array(re + 1j * im)


(a3_text, a3), (tall_text, tall), (wide_text, wide), (a4_text, a4), (many_text, many), (v3_text, v3) = (
    matrix(*s) for s in ((3, 3), (4, 2), (2, 3), (4, 4), (2, 2, 2), (3,)))
H = lambda a: jnp.conj(jnp.swapaxes(a, -1, -2))
linalg = jnp.linalg
for text, fn, of in [
        ('cholesky(a @ conj(a.T))', lambda a: linalg.cholesky(a @ a.conj().T), 'a3'), ('cholesky(a)', linalg.cholesky, 'a3'),
        ('cholesky(a @ conj(swapaxes(a, -1, -2)))', lambda a: linalg.cholesky(a @ H(a)), 'many'),
        *((f'qr(a)[{k}]', lambda a, k=k: linalg.qr(a)[k], of) for k in (0, 1) for of in ('a3', 'tall', 'wide', 'many')),
        *(('svd(a, full_matrices: false)[1]', lambda a: linalg.svd(a, full_matrices=False)[1], of) for of in ('a3', 'tall', 'wide', 'many')),
        *(('(fn(r) = r[0] @ r[2])(svd(a, full_matrices: false))', lambda a: (lambda r: r[0] @ r[2])(linalg.svd(a, full_matrices=False)), of) for of in ('a3', 'tall', 'wide', 'many')),
        ('abs(svd(a, full_matrices: false)[0])', lambda a: jnp.abs(linalg.svd(a, full_matrices=False)[0]), 'tall'),
        ('abs(svd(a)[0])[:, :2]', lambda a: jnp.abs(linalg.svd(a)[0])[:, :2], 'tall'), ('svd(a)[0] @ conj(svd(a)[0].T)', lambda a: jnp.eye(4) + 0j, 'tall'),
        *(('eigh(a + conj(swapaxes(a, -1, -2)))[0]', lambda a: linalg.eigh(a + H(a))[0], of) for of in ('a3', 'many', 'a4')),
        *(('abs(eigh(a)[1])', lambda a: jnp.abs(linalg.eigh(a)[1]), of) for of in ('a3', 'many')),
        ('(fn(r) = (r[1] * r[0]) @ conj(r[1].T))(eigh(a))', lambda a: (a + H(a)) / 2, 'a4'),
        *((f'lstsq(a, v[:{n}])[{k}]', lambda a, n=n, k=k: linalg.lstsq(a, v3[:n])[k], of) for of, n in (('a3', 3), ('wide', 2)) for k in (0, 1, 3)),
        *((f'lstsq(a, a[:, :1] * a)[{k}]', lambda a, k=k: linalg.lstsq(a, a[:, :1] * a)[k], 'tall') for k in (0, 1, 3)),
        ('pinv(a)', linalg.pinv, 'a3'), ('pinv(a)', linalg.pinv, 'tall'), ('pinv(a)', linalg.pinv, 'many'), ('expm(a)', jsp.linalg.expm, 'a3'), ('expm(a)', jsp.linalg.expm, 'many'),
        *((f'{name}(a)', fn, of) for name, fn in (('det', linalg.det), ('inv', linalg.inv)) for of in ('a3', 'a4', 'many')),
        *((f'slogdet(a)[{k}]', lambda a, k=k: linalg.slogdet(a)[k], of) for k in (0, 1) for of in ('a3', 'a4', 'many')),
        ('matrix_power(a, 3)', lambda a: linalg.matrix_power(a, 3), 'a3'), ('matrix_power(a, -2)', lambda a: linalg.matrix_power(a, -2), 'a3'),
        ('trace(a)', jnp.trace, 'a3'), ('norm(a)', linalg.norm, 'a3'), ('diag(a)', jnp.diag, 'a3'), ('diag(a[0])', lambda a: jnp.diag(a[0]), 'a3'),
        ('cov(a)', jnp.cov, 'a3'), ('cov(a, aweights: array([1.0, 2.0, 0.5]))', lambda a: jnp.cov(a, aweights=jnp.array([1, 2, .5])), 'a3'),
        ('corrcoef(a)', jnp.corrcoef, 'a3'), ('kron(a, v)', lambda a: jnp.kron(a, v3), 'many'), ('cross(a, v)', lambda a: jnp.cross(a, v3), 'a3'),
        ('polyval(v, a)', lambda a: jnp.polyval(v3, a), 'a3'), ('polyfit(a[0], v, deg: 1)', lambda a: jnp.polyfit(a[0], v3, 1), 'a3'),
        *((f'{name}(a[0], v[:2], mode: "{mode}")', lambda a, name=name, mode=mode: getattr(jnp, name)(a[0], v3[:2], mode=mode), 'a3')
          for name in ('convolve', 'correlate') for mode in ('full', 'same', 'valid')),
        *((f'correlate(v[:2], a[0], mode: "{mode}")', lambda a, mode=mode: jnp.correlate(v3[:2], a[0], mode=mode), 'a3') for mode in ('full', 'same', 'valid')),
        ('ragged_dot(a, stack([a, a * 2]), array([1, 3]))', lambda a: jnp.concatenate([a[:1] @ a, a[1:] @ (a * 2)]), 'a4')]:
    of_text, value = dict(a3=(a3_text, a3), tall=(tall_text, tall), wide=(wide_text, wide), a4=(a4_text, a4), many=(many_text, many))[of]
    given = f'(fn(a, v) = {text})({of_text}, {v3_text})'
    made = fn(value)
    (parts if jnp.iscomplexobj(made) else case)(given, made)
    if 'eye(' in text or text == 'svd(a)[0] @ conj(svd(a)[0].T)' or text.startswith(('abs(svd(a)', 'lstsq(a, a')) or text == 'cholesky(a)':
        continue
    phase = lambda y: jnp.sum(jnp.real(y * jnp.exp(1j * jnp.arange(y.size).reshape(y.shape))))
    weights = f'exp(complex(0.0, 1.0) * arange({made.size}).reshape({list(made.shape)}))'
    if made.ndim == 0: weights = 'complex(1.0, 0.0)'
    parts(f'grad(fn(a, v) = sum(real({text} * {weights})))({of_text}, {v3_text})', jax.grad(lambda a: phase(fn(a)))(value))
single = lambda text: f'cast({text}, c64)'
for text, fn in {'qr(a)[1]': lambda a: linalg.qr(a)[1], 'cholesky(a @ conj(a.T))': lambda a: linalg.cholesky(a @ H(a)), 'eigh(a)[0]': lambda a: linalg.eigh(a)[0],
                 'svd(a)[1]': lambda a: linalg.svd(a)[1], 'det(a)': linalg.det, 'pinv(a)': linalg.pinv, 'expm(a)': jsp.linalg.expm, 'slogdet(a)[1]': lambda a: linalg.slogdet(a)[1]}.items():
    made = fn(a4.astype(jnp.complex64))
    (parts if jnp.iscomplexobj(made) else case)(f'(fn(a) = {text})({single(a4_text)})', made)
# compiled functions of which one result alone is read, which is then made without the others; and the exponential's derivatives
real_text = lambda *s: f"sin(arange({int(np.prod(s))}, dtype: f64) ** 2).reshape({list(s)})"
real = lambda *s: jnp.sin(jnp.arange(float(np.prod(s))) ** 2).reshape(s)
given = [(a3_text, a3), (tall_text, tall), (wide_text, wide), (many_text, many), *((real_text(*s), real(*s)) for s in ((5, 5), (7, 3), (3, 7), (2, 3, 4, 4)))]
for text, value in given:
    case(f'jit(fn(a) = svd(a)[1])({text})', linalg.svd(value)[1])
    (parts if jnp.iscomplexobj(value) else case)(f'jit(fn(a) = qr(a)[1])({text})', linalg.qr(value)[1])
    (parts if jnp.iscomplexobj(value) else case)(f'jit(fn(a) = qr(a)[0])({text})', linalg.qr(value)[0])
    square = lambda a: a @ H(a)
    case(f'jit(fn(a) = eigh(a @ conj(swapaxes(a, -1, -2)))[0])({text})', linalg.eigh(square(value))[0])
case(f'jit(fn(a) = scan(fn(c, x) = (c + svd(x)[1], eigh(x @ x.T)[0]), zeros([4], f64), a)[1])({real_text(3, 4, 4)})', jax.vmap(lambda x: linalg.eigh(x @ x.T)[0])(real(3, 4, 4)))
for size in (3, 9):
    text, value = real_text(size, size), real(size, size)
    case(f'jvp(expm, {text}, 1e6 * {text}.T)[1]', jax.jvp(jsp.linalg.expm, (value,), (1e6 * value.T,))[1])
    case(f'jit(fn(a) = grad(fn(b) = sum(sin(expm(b))))(a))({text} * 3.0)', jax.grad(lambda b: jnp.sum(jnp.sin(jsp.linalg.expm(b))))(value * 3))
    slope = lambda a: jnp.sum(jax.grad(lambda b: jnp.sum(jnp.sin(jsp.linalg.expm(b))))(a) ** 2)
    case(f'grad(fn(a) = sum(grad(fn(b) = sum(sin(expm(b))))(a) ** 2))({text})', jax.grad(slope)(value))
    case(f'jvp(fn(a) = grad(fn(b) = sum(sin(expm(b))))(a), {text}, {text}.T)[1]',
         jax.jvp(jax.grad(lambda b: jnp.sum(jnp.sin(jsp.linalg.expm(b)))), (value,), (value.T,))[1])
# elementwise functions of complex numbers, away from their cuts
points_text, points = matrix(12)
for name, fn in dict(tan=jnp.tan, asin=jnp.arcsin, acos=jnp.arccos, atan=jnp.arctan, asinh=jnp.arcsinh, acosh=jnp.arccosh, atanh=jnp.arctanh, expm1=jnp.expm1,
                     log1p=jnp.log1p, rsqrt=lax.rsqrt, sigmoid=jax.nn.sigmoid, silu=jax.nn.silu, round=jnp.round, nan_to_num=jnp.nan_to_num, softmax=jax.nn.softmax,
                     logsumexp=jsp.special.logsumexp, zeros_like=jnp.zeros_like, ones_like=jnp.ones_like).items():
    parts(f'{name}({points_text})', fn(points))
    if name not in ('round', 'nan_to_num', 'zeros_like', 'ones_like'):
        if name == 'acosh': points_text, points = points_text.replace('-', ''), jnp.abs(points.real) + 1j * jnp.abs(points.imag)  # elsewhere JAX's has the wrong sign
        parts(f'grad(fn(a) = sum(real({name}(a)) * arange(12.0)))({points_text})' if name != 'logsumexp' else f'grad(fn(a) = real({name}(a)))({points_text})',
              jax.grad(lambda a: jnp.sum(jnp.real(fn(a)) * (jnp.arange(12.) if name != 'logsumexp' else 1)))(points))
case(f'norm({v3_text}, ord: 0)', linalg.norm(v3, ord=0))
case(f'norm({v3_text}, ord: 3)', linalg.norm(v3, ord=3))
parts('linspace(0, 1, 3, dtype: c128)', jnp.linspace(0, 1, 3, dtype=jnp.complex128))
parts(f'log1p({v3_text} * 1e-9)', jnp.log1p(v3 * 1e-9))
parts(f'expm1({v3_text} * 1e-9)', jnp.expm1(v3 * 1e-9))
parts(f'full_like({v3_text}, 2)', jnp.full_like(v3, 2))
jax.config.update('jax_enable_x64', False)

# ---- 8-bit floats and i4: casts as ml_dtypes
short.update(float8_e4m3fn='f8_e4m3fn', float8_e5m2='f8_e5m2', int4='i4')
wide_text = 'array([0.1, -0.3, 1.0, 3.3, 17.0, 18.0, 300.0, 447.0, 448.0, 464.0, 465.0, 60000.0, 61439.0, 61440.0, 1e6, 0.001, 0.002, 0.0009765625, 1e-5, 2e-5, -0.0, inf, -inf, nan])'
wide = f([.1, -.3, 1, 3.3, 17, 18, 300, 447, 448, 464, 465, 60000, 61439, 61440, 1e6, .001, .002, .0009765625, 1e-5, 2e-5, -0., inf, -inf, nan])
import ml_dtypes
for name, dtype in dict(f8_e4m3fn=ml_dtypes.float8_e4m3fn, f8_e5m2=ml_dtypes.float8_e5m2).items():
    with np.errstate(all='ignore'):
        case(f'cast(cast({wide_text}, {name}), f32)', np.asarray(wide).astype(dtype).astype(np.float32))
        case(f'cast(cast(cast({wide_text}, f64), {name}), f32)', np.asarray(wide).astype(np.float64).astype(dtype).astype(np.float32))
        case(f'cast(cast({wide_text}[:7], {name}) * 2, f32)', (np.asarray(wide)[:7].astype(dtype) * dtype(2)).astype(np.float32))
    case(f'cast(arange(-20, 20), {name})', np.arange(-20, 20).astype(dtype))
case('cast(arange(-20, 20), i4)', np.arange(-20, 20).astype(ml_dtypes.int4))
case('cast(cast(arange(-20, 20), i4), f32) * 0.5', np.arange(-20, 20).astype(ml_dtypes.int4).astype(np.float32) * .5)
case('cast(array([100.0, -100.0, 8.0, nan]), i4)', jnp.array([100., -100., 8., nan]).astype(jnp.int4))
case('cast(array([-8.0, -7.9, -0.5, 0.5, 6.9, 7.0]), i4)', np.array([-8.0, -7.9, -0.5, 0.5, 6.9, 7.0], np.float32).astype(ml_dtypes.int4))
case('cast(array([7, -8, 3]), i4) + 1', jnp.array([7, -8, 3], jnp.int4) + 1)
eights_text, eights = 'array([1.5, -2.0, 0.25, 3.0])', f([1.5, -2, .25, 3])
for name, dtype in dict(f8_e4m3fn=jnp.float8_e4m3fn, f8_e5m2=jnp.float8_e5m2, i4=jnp.int4).items():
    kept = eights.astype(dtype)
    case(f'cast({eights_text}, {name})[2]', kept[2])
    case(f'cast({eights_text}, {name})[array([3, 0, 9])]', kept[i([3, 0, 9])])
    case(f'cast(take(cast({eights_text}, {name}), array([1, 7])), f32)', jnp.take(kept, i([1, 7])).astype(jnp.float32))
    case(f'scatter(cast({eights_text}, {name}), array([1, 3]), cast({eights_text}, {name})[:2], op: "set")', kept.at[i([1, 3])].set(kept[:2]))
for name, dtype, between in (('f8_e4m3fn', ml_dtypes.float8_e4m3fn, np.float32), ('f8_e5m2', ml_dtypes.float8_e5m2, np.float32), ('i4', ml_dtypes.int4, np.int32)):
    held = np.asarray([[3, -2, 0.5, 3], [7, -8, 1, 2]], np.float32).astype(dtype)
    sorted_, text = np.sort(held.astype(between), 1).astype(dtype), f'cast(array([[3.0, -2.0, 0.5, 3.0], [7.0, -8.0, 1.0, 2.0]]), {name})'
    case(f'sort({text})', sorted_)
    case(f'sort({text}, descending: true)', sorted_[:, ::-1])
    case(f'argsort({text}, axis: 0)', jnp.argsort(held.astype(np.float32), 0))

# ---- what leaves out nan, weights, grids
gaps_text, gaps = 'array([[1.0, nan, 3.0, -2.5], [nan, nan, nan, nan], [0.5, 7.0, nan, inf]])', f([[1, nan, 3, -2.5], [nan] * 4, [.5, 7, nan, inf]])
for name, fn in dict(nansum=jnp.nansum, nanmean=jnp.nanmean, nanmax=jnp.nanmax, nanmin=jnp.nanmin, nanvar=jnp.nanvar, nanstd=jnp.nanstd).items():
    case(f'{name}({gaps_text}[0])', fn(gaps[0]))
    case(f'{name}({gaps_text}, axis: 1)', fn(gaps, axis=1))
    case(f'{name}({gaps_text}, axis: 0, keepdims: true)', fn(gaps, axis=0, keepdims=True))
    case(f'{name}(arange(6).reshape([2, 3]), axis: 1)', fn(jnp.arange(6).reshape(2, 3), axis=1))
    case(f'{name}(cast({gaps_text}[0], bf16))', fn(gaps[0].astype(jnp.bfloat16)))
    gradient(f'{name}(a, axis: 1)', lambda a: fn(a, axis=1), (f'{gaps_text}[:1]', gaps[:1]))
case(f'nanvar({gaps_text}, axis: 1, ddof: 2)', jnp.nanvar(gaps, axis=1, ddof=2))
case(f'nanstd({gaps_text}, axis: 1, ddof: 3)', jnp.nanstd(gaps, axis=1, ddof=3))
case('hypot(x, y)', jnp.hypot(x, y))
case('hypot(array([3, 0]), array([4, 0]))', jnp.hypot(i([3, 0]), i([4, 0])))
case('hypot(array([3e38, 1e-30]), array([1e38, 1e-30]))', jnp.hypot(f([3e38, 1e-30]), f([1e38, 1e-30])))
for k in (0, 1):
    gradient('hypot(a, b)', jnp.hypot, ('array([3.0, 0.0, 0.0, -2.0, 2.0])', f([3, 0, 0, -2, 2])), ('array([4.0, 0.0, 1.0, 1.0, 2.0])', f([4, 0, 1, 1, 2])), wrt=k)
w_text, w = 'array([1.0, 0.5, 0.0, 2.0])', f([1, .5, 0, 2])
case(f'average({m_text})', jnp.average(m))
case(f'average({m_text}, 0)', jnp.average(m, 0))
case(f'average({m_text}, -1, {w_text})', jnp.average(m, -1, w))
case(f'average({m_text}, axis: 1, weights: {w_text}, keepdims: true)', jnp.average(m, axis=1, weights=w, keepdims=True))
case(f'average({m_text}, weights: {m_text} ** 2)', jnp.average(m, weights=m ** 2))
case('average(arange(4), weights: array([1, 2, 3, 4]))', jnp.average(jnp.arange(4), weights=i([1, 2, 3, 4])))
for k in (0, 1):
    gradient('average(a, axis: 1, weights: b)', lambda a, b: jnp.average(a, axis=1, weights=b), (m_text, m), (w_text, w), wrt=k)
lse = jsp.special.logsumexp
case(f'logsumexp({m_text}, b: {w_text})', lse(m, b=w))
case(f'logsumexp({m_text}, axis: 0, b: {w_text})', lse(m, axis=0, b=w))
case(f'logsumexp({w_text}, 1, true, b: {m_text} ** 2)', lse(w, 1, m ** 2, True))
case('logsumexp(array([1.0, 2.0]), b: array([2.0, -1.0]))', lse(f([1, 2]), b=f([2, -1])))
case('logsumexp(array([1000.0, inf, -inf, nan]), b: array([1, 0, 3, 0]))', lse(f([1000, inf, -inf, nan]), b=i([1, 0, 3, 0])))
case('logsumexp(array([1.0, 2.0]), b: 0)', lse(f([1, 2]), b=0))
gradient('logsumexp(a, b: b, axis: 1)', lambda a, b: lse(a, b=b, axis=1), (m_text, m), ('array([1.0, 0.5, 3.0, 2.0])', f([1, .5, 3, 2])))
gradient('logsumexp(a, b: b, axis: 1)', lambda a, b: lse(a, b=b, axis=1), (m_text, m), ('array([1.0, 0.5, 3.0, 2.0])', f([1, .5, 3, 2])), wrt=1)
case(f'vdot({m_text}, {m_text} + 1)', jnp.vdot(m, m + 1))
case(f'vdot({m_text}, arange(12))', jnp.vdot(m, jnp.arange(12)))
case(f'tensordot({c_text}, {m_text})', jnp.tensordot(c, m))
case(f'tensordot({m_text}, {c_text}, axes: ([1, 0], [2, 1]))', jnp.tensordot(m, c, ([1, 0], [2, 1])))
case(f'tensordot({c_text}, {m_text}, (-1, 1))', jnp.tensordot(c, m, (-1, 1)))
case(f'tensordot({w_text}, {w_text}[:2], 0)', jnp.tensordot(w, w[:2], 0))
gradient('tensordot(a, b, axes: ([0], [1]))', lambda a, b: jnp.tensordot(a, b, ([0], [1])), (m_text, m), (c_text, c))
for how in ('xy', 'ij'):
    each(f'meshgrid(arange(3), {w_text}[:2], indexing: "{how}")', jnp.meshgrid(jnp.arange(3), w[:2], indexing=how))
    each(f'meshgrid(arange(3), {w_text}[:2], array([5]), indexing: "{how}", sparse: true)', jnp.meshgrid(jnp.arange(3), w[:2], i([5]), indexing=how, sparse=True))

with open(__file__.replace('make_functions_goldens.py', 'functions_goldens.txt'), 'w') as out:
    out.write('\n'.join(lines) + '\n')
