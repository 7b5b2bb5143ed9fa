"""The C interface from Python by ctypes: calls.py LIBSHARD.so. A script calls a Python function, arrays go in and out."""
import ctypes as c
import sys

lib = c.CDLL(sys.argv[1])
P, S, Size, Pointers = c.c_void_p, c.c_char_p, c.c_size_t, c.POINTER(c.c_void_p)
Function = c.CFUNCTYPE(P, P, Pointers, Size, Pointers)
for name, result, *arguments in (
        ('shard_engine_create', P, S, Pointers), ('shard_engine_free', None, P), ('shard_run', P, P, S, S, Pointers),
        ('shard_call', P, P, S, Pointers, Size, Pointers), ('shard_define', P, P, S, S, Function, P, P, c.c_int),
        ('shard_array', P, c.c_int32, Size, c.POINTER(c.c_int64), P, Size, Pointers), ('shard_number', P, c.c_double, Pointers),
        ('shard_elements', P, P, c.c_int32, Pointers, c.POINTER(Size)), ('shard_as_number', P, P, c.POINTER(c.c_double)),
        ('shard_error_create', P, S), ('shard_error_message', S, P), ('shard_error_code', S, P), ('shard_error_free', None, P),
        ('shard_value_free', None, P)):
    function = getattr(lib, name)
    function.restype, function.argtypes = result, arguments


class Failure(Exception):
    pass


def ok(error):
    if error:
        text = lib.shard_error_code(error).decode() + ': ' + lib.shard_error_message(error).decode()
        lib.shard_error_free(error)
        raise Failure(text)


def out(call, *arguments):
    value = P()
    ok(call(*arguments, c.byref(value)))
    return value


@Function
def half(user, arguments, count, result):
    x = c.c_double()
    error = lib.shard_as_number(arguments[0], c.byref(x))
    if not error and x.value < 0:
        error = lib.shard_error_create(b'negative in Python')
    return error or lib.shard_number(x.value / 2, result)


engine = out(lib.shard_engine_create, b'{"devices": 2, "recursion": 40}')
ok(lib.shard_define(engine, b'half', b'(x)', half, None, None, 0))
number = c.c_double()
value = out(lib.shard_run, engine, b'jit fn twice(x) = x * 2\nhalf(3)', b'python')
ok(lib.shard_as_number(value, c.byref(number)))
assert number.value == 1.5
lib.shard_value_free(value)
for script, said in ((b'half(-1)', 'host: half: negative in Python'), (b'fn f(n) = f(n + 1)\nf(0)', 'recursion: calls nest deeper than 40')):
    try:
        out(lib.shard_run, engine, script, b'python')
        raise AssertionError('no error')
    except Failure as e:
        assert str(e) == said, e
F32 = 11
data = (c.c_float * 4)(1, 2, 3, 4)
x = out(lib.shard_array, F32, 1, (c.c_int64 * 1)(4), data, c.sizeof(data))
y = out(lib.shard_call, engine, b'twice', c.byref(x), 1)
elements, size = P(), Size()
ok(lib.shard_elements(y, F32, c.byref(elements), c.byref(size)))
assert list(c.cast(elements, c.POINTER(c.c_float))[:size.value // 4]) == [2, 4, 6, 8]
lib.shard_value_free(x)
lib.shard_value_free(y)
lib.shard_engine_free(engine)
print('Python ok')
