#!/usr/bin/env python3
"""Loops of small operations beside JAX's compiled ones, in one run: microseconds of a turn, on one device. Nothing here passes or fails.

    small_loops.py PROGRAM PYTHON_WITH_JAX       PROGRAM: the built `shard`
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
IN_JAX = '''
import time
import jax, jax.numpy as jnp
from jax.random import normal
jax.config.update('jax_platforms', 'cpu')
turns, rows, width, beam, words, hidden = 64, 4096, 256, 8, 128, 64

def timed(name, f, x, count):
    jax.block_until_ready(f(x))
    best = 1e30
    for _ in range(30):
        begun = time.perf_counter()
        jax.block_until_ready(f(x))
        best = min(best, time.perf_counter() - begun)
    print(name, best / count * 1e6)

k = jax.random.split(jax.random.key(0), 3)
re, im = (jax.nn.sigmoid(normal(k[i], (width,))) * 0.7 for i in (0, 1))
def turn(h, x):
    r, i = re * h[0] - im * h[1] + x, re * h[1] + im * h[0]
    return (r, i), r
run = jax.jit(lambda u: jax.lax.scan(turn, (jnp.zeros(width), jnp.zeros(width)), u)[1])
u = normal(k[2], (rows, width))
timed('recurrence', run, u, rows)
timed('its gradient', jax.jit(jax.grad(lambda u: jnp.sum(run(u) * u))), u, rows)

k = jax.random.split(jax.random.key(0), 4)
embed, w, v, o = normal(k[0], (words, hidden)), normal(k[1], (hidden, hidden)) / 8, normal(k[2], (hidden, hidden)) / 8, normal(k[3], (hidden, words)) / 8
def step(carry, t):
    h, tokens, scores, text = carry
    h = jnp.tanh(embed[tokens] @ v + h @ w)
    scores, at = jax.lax.top_k((scores[:, None] + jax.nn.log_softmax(h @ o)).reshape(-1), beam)
    back, tokens = at // words, at % words
    return (h[back], tokens, scores, text[back].at[:, t].set(tokens)), None
@jax.jit
def search(h):
    first = jnp.where(jnp.arange(beam) == 0, 0.0, -1e9)
    return jax.lax.scan(step, (h, jnp.zeros(beam, jnp.int32), first, jnp.zeros((beam, turns), jnp.int32)), jnp.arange(turns))[0]
timed('beam search', search, jnp.zeros((beam, hidden)), turns)

def turn(h, x):
    h = jnp.tanh(w @ h + v @ x)
    return h, h
timed('recurrent network', jax.jit(lambda u: jax.lax.scan(turn, jnp.zeros(hidden), u)[1]), normal(k[0], (rows, hidden)), rows)

def decode(x):
    def turn(carry, i):
        x, keys, values = carry
        keys, values = keys.at[i].set(x @ v), values.at[i].set(x @ o[:, :hidden])
        weights = jax.nn.softmax(jnp.where(jnp.arange(words) <= i, keys @ (x @ w) / 8, -1e9))
        y = weights @ values
        return (y / jnp.sqrt(jnp.mean(y * y) + 1e-6), keys, values), None
    cache = jnp.zeros((words, hidden))
    return jax.lax.scan(turn, (x, cache, cache), jnp.arange(words))[0][0]
timed('decoding with a cache', jax.jit(decode), normal(k[1], (hidden,)), words)

a, seen, noise = jnp.eye(4) + 0.1 * normal(k[0], (4, 4)), normal(k[1], (2, 4)), jnp.eye(4) * 0.1
def turn(carry, y):
    m, c = carry
    m, c = a @ m, a @ c @ a.T + noise
    s = seen @ c @ seen.T + jnp.eye(2)
    gain = jnp.linalg.solve(s, seen @ c).T
    m = m + gain @ (y - seen @ m)
    return (m, (c - gain @ s @ gain.T) * 0.9), m
timed('Kalman filter', jax.jit(lambda ys: jax.lax.scan(turn, (jnp.zeros(4), jnp.eye(4)), ys)[1]), normal(k[2], (rows, 2)), rows)

def slope(s): return jnp.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])
def turn(s, _):
    k1 = slope(s)
    k2 = slope(s + 0.005 * k1)
    k3 = slope(s + 0.005 * k2)
    k4 = slope(s + 0.01 * k3)
    s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return s, s
timed('Runge-Kutta of scalars', jax.jit(lambda s: jax.lax.scan(turn, s, None, length=rows)[1]), jnp.ones(3), rows)
'''


def told(command):
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: float(us) for name, us in (line.rsplit(' ', 1) for line in lines)}


def main():
    shard, python = sys.argv[1:]
    ours, theirs = told([shard, 'run', '--devices', '1', os.path.join(HERE, 'small_loops.shard')]), told([python, '-c', IN_JAX])
    print('| a turn of | Shard | JAX | ratio |\n| --- | --- | --- | --- |')
    for name, us in ours.items(): print(f'| {name} | {us:.2f} us | {theirs[name]:.2f} us | {us / theirs[name]:.2f} |')


if __name__ == '__main__':
    main()
