#!/usr/bin/env python3
"""Writes format_goldens.txt: what Python's format() gives for random formats. Lines: kind, value, format, result ('!' for an error), by tabs."""
import os, random
random.seed(20260101)
FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 123456.789, 1e16, 1e15, 1e22, 1e-5, 1e-4, 123.0, 9.995, 0.5, 2.5, 1e300, 5e-324, -2.3e-8, 99999.5,
          float('inf'), float('-inf'), float('nan'), 1234567.0, 0.256, 3.14159265358979]
INTS = [0, 1, -1, 42, -42, 255, 1234, -1234567, 123456789, 2**63 - 1, -2**63, 65, 9731, 1000, 999]
TEXTS = ['', 'a', 'adam', 'naïve', 'xyzzy plugh', '→→']

def spec(kind):
    s = ''
    if random.random() < .45:
        if random.random() < .5: s += random.choice(['*', '0', ' ', '→', 'x', '<'])
        s += random.choice('<>=^')
    if random.random() < (.3 if kind != 's' else .05): s += random.choice('+- ')
    if random.random() < .06: s += 'z'
    if random.random() < .12: s += '#'
    if random.random() < .25: s += '0'
    if random.random() < .6: s += str(random.randint(1, 24))
    if random.random() < (.25 if kind != 's' else .04): s += random.choice(',_')
    if random.random() < (.5 if kind != 'i' else .1): s += '.' + str(random.randint(0, 12))
    if random.random() < .75: s += random.choice({'i': 'ddbcoxXnefg%', 'f': 'eEfFfgGGn%dx', 's': 'sssd'}[kind])
    return s

rows = []
for kind, values, n in [('i', INTS, 420), ('f', FLOATS, 700), ('s', TEXTS, 160)]:
    for _ in range(n):
        v, f = random.choice(values), spec(kind)
        if v in (0, 1, -1) and False: continue
        try: r = format(v, f)
        except (ValueError, OverflowError): r = '!'
        if r and ('\0' in r or '\n' in r): continue
        rows.append('\t'.join([kind, v if kind == 's' else repr(v), f, r]))
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'format_goldens.txt'), 'w', encoding='utf-8') as out:
    out.write('\n'.join(rows) + '\n')
