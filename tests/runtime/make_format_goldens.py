"""Writes format_goldens.txt: arrays as bits and as NumPy prints them (run with NumPy 2: python make_format_goldens.py).

A case is `case DTYPE SHAPE...`, a line of hexadecimal bits an element, the text with `|` before each line. Truth values are
lowered to `true` and `false` of the same widths. Seeds are fixed, so the file is reproducible.
"""
import numpy as np

names = {'float16': 'f16', 'float32': 'f32', 'float64': 'f64', 'bool': 'bool', 'int8': 'i8', 'int16': 'i16', 'int32': 'i32',
         'int64': 'i64', 'uint8': 'u8', 'uint16': 'u16', 'uint32': 'u32', 'uint64': 'u64'}
out = []
rng = np.random.default_rng(7)


def case(a):
    a = np.asarray(a)
    with np.errstate(all='ignore'):
        text = str(a)
    if a.dtype == bool:
        text = text.replace('True', 'true').replace('False', 'false')
    width = a.dtype.itemsize
    words = a.reshape(-1).view(f'u{width}')
    out.append(' '.join(['case', names[a.dtype.name], *map(str, a.shape)]))
    out.append(' '.join(f'{int(w):x}' for w in words))
    out.extend('|' + line for line in text.split('\n'))


inf, nan = np.inf, np.nan
special = [[0.0], [-0.0], [1.0], [nan], [inf], [-inf], [nan, 1.0], [-inf, 2.5], [inf, -3.25], [nan, inf, -inf], [1e8], [99999999.0], [1e-4], [9.9e-5],
           [1e-5, 1.0], [1.0, 1000.0], [1.0, 1001.0], [0.001, 1.0], [0.1, 0.25, 3.0], [1e16], [1e100], [-1e-100], [123456789.0], [0.123456789012],
           [5e-324], [1.7976931348623157e308], [0.1, nan], [1e10, nan], [1e10, -inf], [0.5, 0.125, 1 / 3], [2 / 3, 200.0], [33554432.0, 1.0],
           [99999992.0], [1e-10, 1e10], [0, 1, 0, -1], [12345.678], [0.00012345678], [1.5, -1.5, 1e-3], [100.0, 0.1], [1e8, 0.0], [0.0, 0.0001]]
for t in (np.float32, np.float64, np.float16):
    with np.errstate(all='ignore'):
        for s in special:
            case(np.array(s, t))
    case(np.zeros((0,), t))
for t in (np.float32, np.float64, np.float16):
    for i in range(40):
        shape = [(3,), (7,), (2, 3), (20,), (4, 4), (2, 2, 3), (1, 5), (11,)][i % 8]
        with np.errstate(all='ignore'):
            a = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 8)
            if i % 5 == 0:
                a = a * 10.0 ** rng.integers(-3, 4, shape)
            if i % 7 == 0:
                a.reshape(-1)[0] = [nan, inf, -inf][i % 3]
            if i % 3 == 0:
                a = np.round(a, rng.integers(0, 5))
            case(a.astype(t))
for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
    info = np.iinfo(t)
    case(np.array([info.min, 0, info.max], t))
    case(rng.integers(0, 100, (3, 4)).astype(t))
    case(np.zeros((2, 0, 3), t))
case(rng.integers(-1000, 1000, (30,)).astype(np.int32))
case(np.array([[True, False], [True, True]]))
case(np.array([True]))
case(np.array([False, True, True]))
case(np.arange(24, dtype=np.int32).reshape(2, 3, 4))
case(np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2) / 4)
for shape in [(1001,), (1000,), (40, 26), (2, 600), (12, 12, 8), (7, 200), (1001, 1), (3, 2, 200), (200, 2, 3)]:
    case((np.arange(np.prod(shape)) % 17).astype(np.uint8).reshape(shape))
case((np.arange(1200) % 31 / 8).astype(np.float16).reshape(30, 40))
case(np.arange(1001) % 2 == 0)
for x in [4.1, 1e16, 1e15, 123456789.0, 1e-4, 1e-5, 0.1, 1 / 3, nan, -inf, 0.0, -0.0, 65504.0, 1e22, 3.0, 16777216.0, 2.5e-7]:
    for t in (np.float16, np.float32, np.float64):
        with np.errstate(all='ignore'):
            case(np.array(x, t))
case(np.array(-5, np.int8))
case(np.array(True))
with open(__file__.replace('make_format_goldens.py', 'format_goldens.txt'), 'w') as f:
    f.write('\n'.join(out) + '\n')
