#!/usr/bin/env python3
"""Operations and loops of one device beside JAX's compiled ones, in one run: the time of each, and ratios. Nothing here passes or fails.

    ops.py PROGRAM --python PYTHON_WITH_JAX [NAME...]       PROGRAM: the built `shard`; NAME: only rows whose names hold one of these
"""
import argparse
import math
import subprocess
import sys
import tempfile

# Name; operands; Shard's expression of `fn f(x, ...)`; JAX's. Operands are normal arrays of these shapes, or text with a Shard and a JAX form.
ROWS = [
    ('add, i32, 4 million', [('arange(4000000)', 'jnp.arange(4000000)')], 'x + 3', 'x + 3'),
    ('gelu (tanh), 4 million', [(4000000,)], 'gelu(x)', 'jax.nn.gelu(x)'),
    ('its gradient', [(4000000,)], 'grad(fn(x) = sum(gelu(x)))(x)', 'jax.grad(lambda x: jax.nn.gelu(x).sum())(x)'),
    ('tanh, 4 million', [(4000000,)], 'tanh(x)', 'jnp.tanh(x)'),
    ('exp, 4 million', [(4000000,)], 'exp(x)', 'jnp.exp(x)'),
    ('softmax, 4096 x 1024', [(4096, 1024)], 'softmax(x)', 'jax.nn.softmax(x)'),
    ('its gradient', [(4096, 1024), (4096, 1024)], 'grad(fn(x) = sum(softmax(x) * y))(x)', 'jax.grad(lambda x: (jax.nn.softmax(x) * y).sum())(x)'),
    ('logsumexp, 4096 x 1024', [(4096, 1024)], 'logsumexp(x, axis: -1)', 'jax.nn.logsumexp(x, axis=-1)'),
    ('layer norm, 4096 x 512', [(4096, 512)], '(x - mean(x, axis: -1, keepdims: true)) / sqrt(var(x, axis: -1, keepdims: true) + 1e-5)',
     '(x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)'),
    ('rms norm and gradient, 4096 x 512', [(4096, 512), (512,)], 'grad(fn(x) = sum((x / sqrt(mean(x * x, axis: -1, keepdims: true) + 1e-6) * y) ** 2))(x)',
     'jax.grad(lambda x: ((x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * y) ** 2).sum())(x)'),
    ('cross-entropy and gradient, 2048 x 1024', [(2048, 1024), ('arange(2048) % 1024', 'jnp.arange(2048) % 1024')],
     'grad(fn(x) = mean(logsumexp(x, axis: -1) - sum(x * one_hot(y, 1024), axis: -1)))(x)',
     'jax.grad(lambda x: (jax.nn.logsumexp(x, axis=-1) - (x * jax.nn.one_hot(y, 1024)).sum(-1)).mean())(x)'),
    ('cross-entropy by position and gradient, 4096 x 1000', [(4096, 1000), ('arange(4096) % 1000', 'jnp.arange(4096) % 1000')],
     'grad(fn(x) = mean(logsumexp(x, axis: -1) - take_along_axis(x, y[:, none], axis: 1)[:, 0]))(x)',
     'jax.grad(lambda x: (jax.nn.logsumexp(x, axis=-1) - jnp.take_along_axis(x, y[:, None], 1)[:, 0]).mean())(x)'),
    ('remainders of f32, 1 million', [(1000000,)], 'x % 0.7', 'x % 0.7'),
    ('asinh, 1 million', [(1000000,)], 'asinh(x)', 'jnp.arcsinh(x)'),
    ('product of i32, 256', [('arange(65536).reshape([256, 256])', 'jnp.arange(65536).reshape(256, 256)')], 'x @ x', 'x @ x'),
    ('batch norm, 32 x 28 x 28 x 64', [(32, 28, 28, 64)], '(x - mean(x, axis: [0, 1, 2], keepdims: true)) / sqrt(var(x, axis: [0, 1, 2], keepdims: true) + 1e-5)',
     '(x - x.mean((0, 1, 2), keepdims=True)) / jnp.sqrt(x.var((0, 1, 2), keepdims=True) + 1e-5)'),
    ('its gradient', [(32, 28, 28, 64)] * 2,
     'grad(fn(x) = sum(y * (x - mean(x, axis: [0, 1, 2], keepdims: true)) / sqrt(var(x, axis: [0, 1, 2], keepdims: true) + 1e-5)))(x)',
     'jax.grad(lambda x: (y * (x - x.mean((0, 1, 2), keepdims=True)) / jnp.sqrt(x.var((0, 1, 2), keepdims=True) + 1e-5)).sum())(x)'),
    ('mean and deviation of columns, 4096 x 1024', [(4096, 1024)], 'mean(x, axis: 0) + std(x, axis: 0)', 'x.mean(0) + x.std(0)'),
    ('clipped by the norm of all, 2000 x 1000', [(2000, 1000)], 'x * minimum(1.0, 1.0 / sqrt(sum(x * x)))', 'x * jnp.minimum(1.0, 1.0 / jnp.sqrt((x * x).sum()))'),
    ('attention, 8 x 8 heads, 256 x 64', [(8, 8, 256, 64)] * 3, 'softmax(x @ y.transpose([0, 1, 3, 2]) / 8.0) @ z', 'jax.nn.softmax(x @ y.transpose(0, 1, 3, 2) / 8.0) @ z'),
    ('causal attention, 8 x 8 heads, 256 x 64', [(8, 8, 256, 64)] * 3, 'softmax(where(tril(ones([256, 256])) > 0.0, x @ y.transpose([0, 1, 3, 2]) / 8.0, -1e9)) @ z',
     'jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((256, 256))) > 0, x @ y.transpose(0, 1, 3, 2) / 8.0, -1e9)) @ z'),
    ('softmax, 65536 x 50', [(65536, 50)], 'softmax(x)', 'jax.nn.softmax(x)'),
    ('softmax of the middle, 64 x 256 x 256', [(64, 256, 256)], 'softmax(x, axis: 1)', 'jax.nn.softmax(x, axis=1)'),
    ('softmax of a vocabulary, 128 x 50000', [(128, 50000)], 'softmax(x)', 'jax.nn.softmax(x)'),
    ('layer norm, 4096 x 300', [(4096, 300)], '(x - mean(x, axis: -1, keepdims: true)) / sqrt(var(x, axis: -1, keepdims: true) + 1e-5)',
     '(x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)'),
    ('layer norm in bf16, 4096 x 512', [('cast(normal(key(0), [4096, 512]), bf16)', 'normal(key(0), (4096, 512)).astype(jnp.bfloat16)')],
     '(x - mean(x, axis: -1, keepdims: true)) / sqrt(var(x, axis: -1, keepdims: true) + 1e-5)', '(x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)'),
    ('group norm, 16 x 32 x 32 x 8 of 8', [(16, 32, 32, 8, 8)], '(x - mean(x, axis: [1, 2, 4], keepdims: true)) / sqrt(var(x, axis: [1, 2, 4], keepdims: true) + 1e-5)',
     '(x - x.mean((1, 2, 4), keepdims=True)) / jnp.sqrt(x.var((1, 2, 4), keepdims=True) + 1e-5)'),
    ('distances of all pairs, 512 x 512 x 64', [(512, 64), (512, 64)], 'sum((x[:, none, :] - y) ** 2, axis: -1)', '((x[:, None, :] - y) ** 2).sum(-1)'),
    ('largest of columns, 4096 x 1024', [(4096, 1024)], 'max(x, axis: 0)', 'x.max(0)'),
    ('product, 1024', [(1024, 1024), (1024, 1024)], 'x @ y', 'x @ y'),
    ('a layer with relu, 65536 x 64 by 64', [(65536, 64), (64, 64), (64,)], 'relu(x @ y + z)', 'jax.nn.relu(x @ y + z)'),
    ('softmax of a product, 16384 x 128 by 1024', [(16384, 128), (128, 1024)], 'softmax(x @ y)', 'jax.nn.softmax(x @ y)'),
    ('2048 x 128 turned by 2048 x 256', [(2048, 128), (2048, 256)], 'x.T @ y', 'x.T @ y'),
    ('64 times 64 x 32 by another turned', [(64, 64, 32), (64, 64, 32)], 'x @ y.transpose([0, 2, 1])', 'x @ y.transpose(0, 2, 1)'),
    ('rotary embedding, 8 x 256 x 8 x 64', [(8, 256, 8, 64), (256, 32), (256, 32)],
     'concat([x[:,:,:,:32] * y[:,none,:] - x[:,:,:,32:] * z[:,none,:], x[:,:,:,:32] * z[:,none,:] + x[:,:,:,32:] * y[:,none,:]], axis: -1)',
     'jnp.concatenate([x[...,:32] * y[:,None,:] - x[...,32:] * z[:,None,:], x[...,:32] * z[:,None,:] + x[...,32:] * y[:,None,:]], -1)'),
    ('gated gelu, 2048 x 2048: its gradient', [(2048, 2048)], 'grad(fn(x) = sum(gelu(x[:,:1024]) * x[:,1024:]))(x)',
     'jax.grad(lambda x: (jax.nn.gelu(x[:,:1024]) * x[:,1024:]).sum())(x)'),
    ('dense layer with gelu, 1024 x 512 x 2048', [(1024, 512), (512, 2048), (2048,)], 'gelu(x @ y + z)', 'jax.nn.gelu(x @ y + z)'),
    ('product in bf16, 1024', [('cast(normal(key(0), [1024, 1024]), bf16)', 'normal(key(0), (1024, 1024)).astype(jnp.bfloat16)')], 'x @ x', 'x @ x'),
    ('product, 65536 x 64 by 64 x 10', [(65536, 64), (64, 10)], 'x @ y', 'x @ y'),
    ('product, 8192 x 512 by 512 x 2', [(8192, 512), (512, 2)], 'x @ y', 'x @ y'),
    ('20,000 matrices of 4 x 4 by vectors', [(20000, 4, 4), (20000, 4)], 'einsum("bij,bj->bi", x, y)', 'jnp.einsum("bij,bj->bi", x, y)'),
    ('gradient of a layer, 65536 x 64 and 65536 x 10', [(65536, 64), (65536, 10)], 'transpose(x) @ y', 'x.T @ y'),
    ('20,000 products of 3 x 3', [(20000, 3, 3), (20000, 3, 3)], 'x @ y', 'x @ y'),
    ('20,000 dot products of 16', [(20000, 16), (20000, 16)], 'einsum("bi,bi->b", x, y)', 'jnp.einsum("bi,bi->b", x, y)'),
    ('mean of squares, 4 million', [(4000000,)], 'mean(x * x)', '(x * x).mean()'),
    ('complex numbers multiplied, 2048 x 2048', [(2048, 2048), (2048, 2048)], 'real(complex(x, y) * complex(y, x + 1.0))',
     '(jax.lax.complex(x, y) * jax.lax.complex(y, x + 1.0)).real'),
    ('Fourier transforms of real lines, 256 x 1024', [(256, 1024)], 'rfft(x)', 'jnp.fft.rfft(x)'),
    ('Fourier transforms, 64 x 4096', [('cast(normal(key(0), [64, 4096]), c64)', 'normal(key(0), (64, 4096)).astype(jnp.complex64)')], 'fft(x)', 'jnp.fft.fft(x)'),
    ('sum of a stack of 3, 1 million', [(1000000,), (1000000,)], 'sum(stack([x, y, x * y]), axis: 0)', 'jnp.stack([x, y, x * y]).sum(0)'),
    ('index of the largest, 100000 x 10', [(100000, 10)], 'argmax(x, axis: -1)', 'x.argmax(-1)'),
    ('sort, 1 million', [(1000000,)], 'sort(x)', 'jnp.sort(x)'),
    ('running sum, 4096 x 1024', [(4096, 1024)], 'cumsum(x, axis: -1)', 'jnp.cumsum(x, axis=-1)'),
    ('transpose, 2048 x 2048', [(2048, 2048)], 'transpose(x, [1, 0]) + 1.0', 'x.T + 1.0'),
    ('transposes of 64 of 256 x 256', [(64, 256, 256)], 'transpose(x, [0, 2, 1])', 'x.transpose(0, 2, 1) + 0'),
    ('100,000 x 10 turned', [(100000, 10)], 'x.T', 'x.T + 0'),
    ('pictures of 3 colours, normalized', [(32, 112, 112, 3)], '(x - array([0.49, 0.46, 0.41])) / array([0.23, 0.22, 0.23])',
     '(x - jnp.array([0.49, 0.46, 0.41])) / jnp.array([0.23, 0.22, 0.23])'),
    ('100,000 x 10 and a column', [(100000, 10), (100000, 1)], 'concat([x, y], axis: 1)', 'jnp.concatenate([x, y], axis=1)'),
    ('colours in planes', [(32, 112, 112, 3)], 'transpose(x, [0, 3, 1, 2])', 'x.transpose(0, 3, 1, 2)'),
    ('every other column, 2048 x 2048', [(2048, 2048)], 'x[:, ::2] * 2.0', 'x[:, ::2] * 2'),
    ('all but the first of 3 columns', [(400000, 3)], 'x[:, 1:] * 2.0', 'x[:, 1:] * 2'),
    ('length of 2048 x 2048', [(2048, 2048)], 'sqrt(sum(x * x))', 'jnp.sqrt((x * x).sum())'),
    ('bits of i32, 4 million', [('arange(4000000)', 'jnp.arange(4000000)')], 'bit_and(bit_xor(x * 7 + 3, x >> 2), 1023)', '((x * 7 + 3) ^ (x >> 2)) & 1023'),
    ('quantized to i8, 2048 x 2048', [(2048, 2048)], 'cast(clip(round(x * 32.0), -128.0, 127.0), i8)', 'jnp.clip(jnp.round(x * 32), -128, 127).astype(jnp.int8)'),
    ('f32 to i32, 2048 x 2048', [(2048, 2048)], 'cast(x * 100.0, i32)', '(x * 100).astype(jnp.int32)'),
    ('100,000 looked up in 1,000', [(1000,), (100000,)], 'searchsorted(sort(x), y)', 'jnp.searchsorted(jnp.sort(x), y)'),
    ('top_k, 256 x 4096', [(256, 4096)], 'top_k(x, 8)[0]', 'jax.lax.top_k(x, 8)[0]'),
    ('gather of rows', [(50000, 128), ('arange(32768) * 7 % 50000', 'jnp.arange(32768) * 7 % 50000')], 'x[y]', 'x[y]'),
    ('gather of columns', [(1024, 1024), ('arange(512) * 7 % 1024', 'jnp.arange(512) * 7 % 1024')], 'x[:, y]', 'x[:, y]'),
    ('remainders, 4 million', [('arange(4000000)', 'jnp.arange(4000000)')], '(x * 7 + 3) % 1000', '(x * 7 + 3) % 1000'),
    ('how often each of 1,000 numbers comes, of 1 million', [('arange(1000000) * 7 % 1000', 'jnp.arange(1000000) * 7 % 1000')], 'bincount(x, length: 1000)', 'jnp.bincount(x, length=1000)'),
    ('gradient of 8,192 rows by index', [(10000, 128), ('arange(8192) * 7 % 10000', 'jnp.arange(8192) * 7 % 10000')],
     'grad(fn(x) = sum(x[y] ** 2))(x)', 'jax.grad(lambda x: (x[y] ** 2).sum())(x)'),
    ('zeros around, 16 x 64 x 64 x 32', [(16, 64, 64, 32)], 'pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]])', 'jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))'),
    ('depthwise convolution, 8 x 56 x 56 x 64', [(8, 56, 56, 64), (3, 3, 1, 64)], 'conv(x, y, padding: "SAME", groups: 64)',
     'jax.lax.conv_general_dilated(x, y, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=64)'),
    ('convolution, 8 x 64 x 64 x 16', [(8, 64, 64, 16), (3, 3, 16, 32)], 'conv(x, y, padding: "SAME")',
     'conv(x, y)'),
    ('its gradient by the kernel', [(8, 64, 64, 16), (3, 3, 16, 32)], 'grad(fn(y) = sum(conv(x, y) ** 2))(y)',
     'jax.grad(lambda y: (conv(x, y) ** 2).sum())(y)'),
    ('its gradient by the input', [(8, 64, 64, 16), (3, 3, 16, 32)], 'grad(fn(x) = sum(conv(x, y) ** 2))(x)',
     'jax.grad(lambda x: (conv(x, y) ** 2).sum())(x)'),
    ('convolutions and a residual, 16 x 32 x 32 x 32: their gradient by a kernel', [(16, 32, 32, 32), (3, 3, 32, 32), (3, 3, 32, 32)],
     'grad(fn(y) = mean((x + conv(relu(conv(relu(x), y)), z)) ** 2))(y)',
     'jax.grad(lambda y: ((x + conv(jax.nn.relu(conv(jax.nn.relu(x), y)), z)) ** 2).mean())(y)'),
    ('convolution, 16 x 14 x 14 x 256', [(16, 14, 14, 256), (3, 3, 256, 256)], 'conv(x, y, padding: "SAME")',
     'conv(x, y)'),
    ('transposed convolution, 8 x 16 x 16 x 64', [(8, 16, 16, 64), (4, 4, 64, 32)], 'conv_transpose(x, y, stride: [2, 2], padding: "SAME")',
     'jax.lax.conv_transpose(x, y, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))'),
    ('largest of windows, 16 x 64 x 64 x 32', [(16, 64, 64, 32)], 'max_pool(x, [3, 3], stride: [2, 2])',
     'jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")'),
    ('its gradient', [(16, 64, 64, 32)], 'grad(fn(x) = sum(max_pool(x, [3, 3], stride: [2, 2]) ** 2))(x)',
     'jax.grad(lambda x: (jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2).sum())(x)'),
    ('means of windows, 16 x 64 x 64 x 32', [(16, 64, 64, 32)], 'avg_pool(x, [2, 2], stride: [2, 2])',
     'jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "SAME") / 4'),
    ('solve, 512', [(512, 512), (512, 512)], 'solve(x, y)', 'jnp.linalg.solve(x, y)'),
    ('cholesky, 512', [(512, 512)], 'cholesky(x @ x.T + 512.0 * eye(512))', 'jnp.linalg.cholesky(x @ x.T + 512.0 * jnp.eye(512))'),
    ('qr, 512', [(512, 512)], 'qr(x)[0]', 'jnp.linalg.qr(x)[0]'),
    ('eigh, 256', [(256, 256)], 'eigh(x + x.T)[0]', 'jnp.linalg.eigh(x + x.T)[0]'),
    ('qr, 2048 x 64', [(2048, 64)], 'qr(x)[0]', 'jnp.linalg.qr(x)[0]'),
    ('exponential of a matrix, 128', [(128, 128)], 'expm(x / 128.0)', 'jax.scipy.linalg.expm(x / 128.0)'),
    ('svd, 128', [(128, 128)], 'svd(x)[1]', 'jnp.linalg.svd(x)[1]'),
    ('10,000 turns of c * 0.99 + 0.1, of 8', [(8,)], 'scan(fn(c, _) = (c * 0.99 + 0.1, none), x, length: 10000)[0]',
     'jax.lax.scan(lambda c, _: (c * 0.99 + 0.1, None), x, None, length=10000)[0]'),
    ('the same of one number', [()], 'scan(fn(c, _) = (c * 0.99 + 0.1, none), x, length: 10000)[0]',
     'jax.lax.scan(lambda c, _: (c * 0.99 + 0.1, None), x, None, length=10000)[0]'),
    ('10,000 turns of a vector over its length, of 8', [(8,)], 'scan(fn(c, _) = (c / sqrt(sum(c * c) + 1.0) + 0.1, none), x, length: 10000)[0]',
     'jax.lax.scan(lambda c, _: (c / jnp.sqrt((c * c).sum() + 1.0) + 0.1, None), x, None, length=10000)[0]'),
    ('10,000 turns of a cubic, of 64', [(64,)], 'scan(fn(c, _) = (c + 0.01 * (0.5 * c - c * c * c), none), x, length: 10000)[0]',
     'jax.lax.scan(lambda c, _: (c + 0.01 * (0.5 * c - c * c * c), None), x, None, length=10000)[0]'),
    ('10,000 turns of a pendulum', [(2,)], 'scan(fn((a, v), _) = ((a + 0.01 * v, v - 0.01 * sin(a)), none), (x[0], x[1]), length: 10000)[0][0]',
     'jax.lax.scan(lambda c, _: ((c[0] + 0.01 * c[1], c[1] - 0.01 * jnp.sin(c[0])), None), (x[0], x[1]), None, length=10000)[0][0]'),
    ('10,000 turns of heat along a line, of 64', [(64,)], 'scan(fn(c, _) = (c + 0.1 * (roll(c, 1) - 2.0 * c + roll(c, -1)), none), x, length: 10000)[0]',
     'jax.lax.scan(lambda c, _: (c + 0.1 * (jnp.roll(c, 1) - 2.0 * c + jnp.roll(c, -1)), None), x, None, length=10000)[0]'),
    ('10,000 turns of a branch', [()], 'scan(fn(c, _) = (if c > 0.5 { c * 0.5 } else { c * 3.1 }, none), abs(x), length: 10000)[0]',
     'jax.lax.scan(lambda c, _: (jax.lax.cond(c > 0.5, lambda c: c * 0.5, lambda c: c * 3.1, c), None), jnp.abs(x), None, length=10000)[0]'),
    ('10,000 turns of a running mean, each kept', [(10000,)], 'scan(fn(c, v) { let n = 0.9 * c + 0.1 * v; (n, n) }, 0.0, x)[1]',
     'jax.lax.scan(lambda c, v: (0.9 * c + 0.1 * v,) * 2, 0.0, x)[1]'),
    ('10,000 turns of a vector through a 16 x 16 matrix', [(16, 16), (16,)], 'scan(fn(c, _) = (tanh(x @ c), none), y, length: 10000)[0]',
     'jax.lax.scan(lambda c, _: (jnp.tanh(x @ c), None), y, None, length=10000)[0]'),
    ('10,000 turns of a vector through a 2 x 2 matrix', [(2, 2), (2,)], 'scan(fn(c, _) = (x @ c * 0.5, none), y, length: 10000)[0]',
     'jax.lax.scan(lambda c, _: (x @ c * 0.5, None), y, None, length=10000)[0]'),
    ("10,000 turns of Newton's rule, while it is not done", [()],
     '(fn(x) { let c = abs(x) + 1.0; let i = array(0); while i < 10000 { c = 0.5 * (c + 2.0 / c); i = i + 1 }; c })(x)',
     'jax.lax.while_loop(lambda s: s[1] < 10000, lambda s: (0.5 * (s[0] + 2.0 / s[0]), s[1] + 1), (jnp.abs(x) + 1.0, 0))[0]'),
    ('10,000 turns of the largest of 8, made less', [(8,)], 'scan(fn(c, _) = (where(arange(8) == argmax(c), c - 0.1, c + 0.01), none), x, length: 10000)[0]',
     'jax.lax.scan(lambda c, _: (jnp.where(jnp.arange(8) == jnp.argmax(c), c - 0.1, c + 0.01), None), x, None, length=10000)[0]'),
    ('10,000 turns of a row added to one of 32', [(32, 32), (32,)],
     'scan(fn(c, t) { c[t % 32] += y; (c, none) }, x, arange(10000))[0]',
     'jax.lax.scan(lambda c, t: (c.at[t % 32].add(y), None), x, jnp.arange(10000))[0]'),
]
LETTERS = 'xyz'
SHARD = '''fn timed(f, args) {
  let _shape = f(...args).shape
  let best = 1e30
  let begun = clock()
  for i in 0..200 {
    let from = clock()
    let _shape = f(...args).shape   # nothing keeps the result, as below
    best = min(best, clock() - from)
    if clock() - begun > 1.0 { break }
  }
  best
}
'''
JAX = '''import time, jax, jax.numpy as jnp
from jax.random import normal, key
def conv(x, y): return jax.lax.conv_general_dilated(x, y, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
def timed(f, args):
    jax.block_until_ready(f(*args))
    best, begun = 1e30, time.perf_counter()
    for _ in range(200):
        t = time.perf_counter()
        jax.block_until_ready(f(*args))
        best = min(best, time.perf_counter() - t)
        if time.perf_counter() - begun > 1: break
    return best
'''


def programs(rows):
    ours, theirs = SHARD, JAX
    for i, (name, operands, mine, jax) in enumerate(rows):
        given = [o if isinstance(o[0] if o else 0, str) else (f'normal(key({j}), {list(o)})', f'normal(key({j}), {o})') for j, o in enumerate(operands)]
        names = ', '.join(LETTERS[:len(given)])
        ours += f'jit fn row{i}({names}) = {mine}\nprint("{i}", timed(row{i}, [{", ".join(o for o, _ in given)}]))\n'
        theirs += f'print({i}, timed(jax.jit(lambda {names}: {jax}), [{", ".join(o for _, o in given)}]))\n'
    return ours, theirs


def told(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode: sys.exit(done.stderr)
    return [float(line.split()[1]) for line in done.stdout.splitlines()]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('shard')
    p.add_argument('names', nargs='*')
    p.add_argument('--python', default=sys.executable)
    a = p.parse_args()
    rows, whose = [], ''
    for row in ROWS:
        more = row[0].startswith(('its', 'the same'))
        if not more: whose = row[0]
        name = f'{whose}: {row[0]}' if more else row[0]
        if not a.names or any(n in name for n in a.names): rows.append((name, *row[1:]))
    ours, theirs = programs(rows)
    with tempfile.NamedTemporaryFile('w', suffix='.shard') as f:
        f.write(ours)
        f.flush()
        mine = told([a.shard, 'run', '--devices', '1', f.name])
    jax = told([a.python, '-c', theirs])
    print('| operation | Shard | JAX | ratio |\n| --- | --- | --- | --- |')
    for (name, *_), x, y in zip(rows, mine, jax): print(f'| {name} | {x * 1e3:.3f} ms | {y * 1e3:.3f} ms | {x / y:.2f} |')
    print(f'\nGeometric mean {math.exp(sum(math.log(x / y) for x, y in zip(mine, jax)) / len(rows)):.2f}, worst {max(x / y for x, y in zip(mine, jax)):.2f}')


if __name__ == '__main__':
    main()
