"""NumPy and safetensors, from PyPI, read what Shard writes, and the other way round, every type.

Usage: peers.py SHARD VENV. Where this Python lacks them they are installed into a virtual environment at VENV, once; skipped with a
sentence where that cannot be done.
"""
import json
import os
import subprocess
import sys
import tempfile

TYPES = {'bool': 'BOOL', 'i8': 'I8', 'i16': 'I16', 'i32': 'I32', 'i64': 'I64', 'u8': 'U8', 'u16': 'U16', 'u32': 'U32', 'u64': 'U64',
         'f16': 'F16', 'bf16': 'BF16', 'f32': 'F32', 'f64': 'F64'}


def with_packages(venv):
    """True where numpy and safetensors can be imported; else runs this file again with a Python that can, or says why not."""
    try:
        import numpy, safetensors  # noqa: F401
        return True
    except ImportError:
        pass
    python = os.path.join(venv, 'bin', 'python')
    if os.environ.get('PEERS_INSTALLED'):
        print('skipped: NumPy and safetensors were installed and cannot be imported')
        return False
    try:
        if not os.path.exists(os.path.join(venv, 'complete')):
            subprocess.run([sys.executable, '-m', 'venv', venv], check=True, capture_output=True, timeout=120)
            subprocess.run([python, '-m', 'pip', 'install', '-q', 'numpy', 'safetensors'], check=True, capture_output=True, timeout=240)
            open(os.path.join(venv, 'complete'), 'w').close()
    except (OSError, subprocess.SubprocessError):
        print('skipped: NumPy and safetensors are not here, and a virtual environment with them cannot be made')
        return False
    sys.exit(subprocess.run([python, *sys.argv], env=dict(os.environ, PEERS_INSTALLED='1')).returncode)


def bits(numpy, name):
    """[2, 3] of this type: 0, 1, 2, 3, 4, 5, truth values alternating, and its bytes as safetensors has them."""
    x = numpy.arange(6).reshape(2, 3)
    if name == 'bf16': return (x.astype('f4').view('u4') >> 16).astype('u2')
    if name == 'bool': return x % 2 == 1
    return x.astype({'f': 'f', 'i': 'i', 'u': 'u'}[name[0]] + str(int(name[1:]) // 8))


def run(shard, folder, text):
    done = subprocess.run([shard, 'run', '-'], cwd=folder, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def surgery(shard, folder, numpy, library):
    """A hub's checkpoint in three files is loaded, changed and saved: the library finds every array under its name."""
    hub = {f'model.layers.{i}.{n}.weight': numpy.full((2, 3), i, 'f4') for i in range(12) for n in ('q_proj', 'mlp.up')}
    hub.update({'lm_head.weight': numpy.ones((3, 4), 'f2'), 'a/b.c': numpy.arange(3), '100%': numpy.zeros(2, 'u1'), 'x..y': numpy.ones(1),
                '': numpy.ones(2, 'f4'), ' "q" ': numpy.ones(3, 'f4'), 'größe.λ': numpy.ones(4, 'f4'), '[0].w': numpy.ones(5, 'f4')})
    names, index = list(hub), {}
    for k in range(3):
        file = f'model-0000{k + 1}-of-00003.safetensors'
        library.save_file({n: hub[n] for n in names[k::3]}, os.path.join(folder, file), metadata={'format': 'pt'})
        index.update({n: file for n in names[k::3]})
    with open(os.path.join(folder, 'model.safetensors.index.json'), 'w', encoding='utf-8') as f:
        json.dump({'metadata': {}, 'weight_map': index}, f)
    run(shard, folder, '''
let m = load("model.safetensors.index.json")
let changed = dict(m.filter(fn((name, w)) = name != "lm_head.weight").map(fn((name, w)) = (name.replace("q_proj", "attention.q"), w)))
changed = {...changed, "adapter.0.scale": ones([2], bf16)}
let nested = {model: {layers: [{w: ones([2])}, {"w.x": ones([3])}]}, "model.layers": [{w: zeros([4])}]}
for (name, tree) in {same: m, changed: changed, nested: nested} {
  save(name + ".safetensors", tree)
  save(name + "/", tree)
  if name != "changed" { save(name + ".npz", tree) }
  for at in [name + ".safetensors", name + "/"] { assert(tree_paths(load(at)) == tree_paths(tree) and load(at, like: tree) == tree) }
}
assert(load("same.npz") == m)
''')
    for file in ('same.safetensors', 'same/data_0.safetensors', 'same.npz'):
        got = (numpy.load if file.endswith('npz') else library.load_file)(os.path.join(folder, file))
        assert set(got) == set(hub), set(got) ^ set(hub)
        assert all(got[n].dtype == hub[n].dtype and (got[n] == hub[n]).all() for n in hub), file
    want = {n.replace('q_proj', 'attention.q') for n in hub if n != 'lm_head.weight'} | {'adapter.0.scale'}
    raw = dict(safetensors_of(os.path.join(folder, 'changed.safetensors')))
    assert set(raw) == want, set(raw) ^ want
    got = library.load_file(os.path.join(folder, 'nested.safetensors'))
    assert sorted((n, x.shape) for n, x in got.items()) == [
        ('model%2Elayers.0.w', (4,)), ('model.layers.0.w', (2,)), ('model.layers.1.w.x', (3,))], got
    # What an older version wrote: dots of fields were escaped everywhere.
    tree = {'shard_tree': '{"record":[["a.b",{"array":"a%2Eb"}],["c",{"record":[["d/e",{"array":"c.d%2Fe"}]]}]]}'}
    library.save_file({'a%2Eb': numpy.arange(2), 'c.d%2Fe': numpy.arange(3)}, os.path.join(folder, 'old.safetensors'), metadata=tree)
    old = 'let t = load("old.safetensors")\nprint(tree_paths(t), load("old.safetensors", like: t) == t)'
    assert run(shard, folder, old) == '[a.b, c.d/e] true\n'


def safetensors_of(path):
    import safetensors
    with open(path, 'rb') as f: return safetensors.deserialize(f.read())


def numbers(shard, folder, numpy):
    """Numbers of the host in an npz; floats in a csv, which come back as floats."""
    at = lambda name: os.path.join(folder, name)  # noqa: E731
    columns = {'f32': [1.0, 2.0, -0.0, 0.1, 1e20, 16777217.0, float('inf'), float('-inf')], 'f64': [1.0, 5e-324, 1e300, -3.0, 0.1, 2.0 ** 53],
               'f16': [1.0, 0.5, 65504.0], 'bf16': [1.0, 3.0, 0.5], 'i32': [1, -2, 3], 'u8': [0, 255], 'bool': [True, False]}
    text = 'save("t/", {p: [{w: ones([2])}], step: 4, rate: 0.1, on: true, k: key(3)})\n'
    for name, values in columns.items():
        shown = ', '.join(repr(v).lower() for v in values)
        text += f'save("{name}.csv", array([{shown}], {name}))\nprint(load("{name}.csv").dtype)\n'
    assert run(shard, folder, text).split() == ['f32'] * 4 + ['i32'] * 3
    subprocess.run([shard, 'convert', 't/', 't.npz'], cwd=folder, check=True)
    with numpy.load(at('t.npz')) as npz:
        got = {n: (npz[n].dtype.str, npz[n].shape) for n in npz.files}
        assert got == {'p.0.w': ('<f4', (2,)), 'step': ('<i8', ()), 'rate': ('<f8', ()), 'on': ('|b1', ()), 'k': ('<u4', (2,))}, got
        assert (npz['step'], npz['rate'], npz['on'], npz['k'].tolist()) == (4, 0.1, True, [0, 3])
    for name, values in columns.items():
        got = [numpy.loadtxt(at(name + '.csv')), numpy.genfromtxt(at(name + '.csv'))]
        want = numpy.array(values, 'f4' if name == 'f32' else 'f8')
        for x in got:
            x = x.astype(want.dtype)
            assert (x == want).all() and (numpy.signbit(x) == numpy.signbit(want)).all(), (name, x)
        assert all('.' in line or 'e' in line or 'inf' in line for line in open(at(name + '.csv'))) or name[0] not in 'fb' or name == 'bool'


def main():
    import numpy
    import safetensors
    import safetensors.numpy
    shard = os.path.abspath(sys.argv[1])
    want = {name: bits(numpy, name) for name in TYPES}
    values = {name: f'cast(arange(6).reshape([2, 3]) {"% 2" if name == "bool" else ""}, {name})' for name in TYPES}
    tree = '{' + ', '.join(f't_{n}: {v}' for n, v in values.items()) + ', empty: zeros([0, 4]), one: array(2.5)}'
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)  # noqa: E731
        plain = [n for n in TYPES if n != 'bf16']          # NumPy has no bf16
        run(shard, folder, f'let t = {tree}\nsave("a.safetensors", t)\nsave("run/", t)\n'
            + ''.join(f'save("{n}.npy", t.t_{n})\n' for n in plain)
            + 'save("all.npz", {' + ', '.join(f'{n}: t.t_{n}' for n in plain) + '})\n')
        for name in ('a.safetensors', 'run/data_0.safetensors'):
            got = dict(safetensors.deserialize(open(at(name), 'rb').read()))
            assert len(got) == len(TYPES) + 2, got.keys()
            for n, kind in TYPES.items():
                entry = got['t_' + n]
                assert entry['dtype'] == kind and entry['shape'] == [2, 3], (n, entry)
                assert bytes(entry['data']) == want[n].tobytes(), n
            assert got['empty']['shape'] == [0, 4] and got['one']['shape'] == []
        assert set(TYPES) - {'bf16'} <= {n[2:] for n in safetensors.numpy.load(safetensors.numpy.save({'t_' + n: want[n] for n in plain}))}
        with numpy.load(at('all.npz')) as npz:
            for n in plain:
                for got in (numpy.load(at(n + '.npy')), npz[n]):
                    assert got.dtype == want[n].dtype and (got == want[n]).all(), n
        surgery(shard, folder, numpy, safetensors.numpy)
        numbers(shard, folder, numpy)
        # The other way round.
        words = {'f': 'float', 'i': 'int', 'u': 'uint', 'b': 'bfloat'}
        long = {n: n if n == 'bool' else words[n[0]] + ''.join(c for c in n if c.isdigit()) for n in TYPES}
        if hasattr(safetensors, 'TensorSpec'):                 # from 0.6 on
            entry = lambda n: safetensors.TensorSpec(dtype=long[n], shape=[2, 3], data_ptr=want[n].ctypes.data, data_len=want[n].nbytes)  # noqa: E731
        else:
            entry = lambda n: {'dtype': long[n], 'shape': [2, 3], 'data': want[n].tobytes()}  # noqa: E731
        data = bytes(safetensors.serialize({'x.' + n: entry(n) for n in TYPES}, {'by': 'a test'}))
        open(at('b.safetensors'), 'wb').write(data)
        numpy.savez(at('b.npz'), **{n: want[n] for n in plain})
        numpy.savez_compressed(at('c.npz'), **{n: want[n] for n in plain})
        for n in plain:
            numpy.save(at(f'b_{n}.npy'), want[n])
            numpy.save(at(f'f_{n}.npy'), numpy.asfortranarray(want[n]))
            numpy.save(at(f'g_{n}.npy'), want[n].astype(want[n].dtype.newbyteorder('>')))
        checks = f'let t = {tree}\nlet b = load("b.safetensors", like: {{x: {{' + ', '.join(f'{n}: {n}[2, 3]' for n in TYPES) + '}})\n'
        same = lambda x, n: f'assert(typeof({x}) == {n}[2, 3] and all({x} == t.t_{n}))\n'  # noqa: E731
        checks += ''.join(same(f'b.x.{n}', n) for n in TYPES)
        for n in plain:
            for x in [f'load("{f}_{n}.npy")' for f in 'bfg'] + [f'load("b.npz").{n}', f'load("c.npz").{n}', f'load("b_{n}.npy", map: true)']:
                checks += same(x, n)
        run(shard, folder, checks)
    print('peers: NumPy and safetensors read what Shard writes, and it what they write, every type')


if __name__ == '__main__':
    if with_packages(os.path.abspath(sys.argv[2])): main()
