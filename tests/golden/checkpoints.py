"""Checkpoint folders from outside: the reader of twenty lines that the format's page shows, run on what `save` writes.

Usage: checkpoints.py SHARD VENV. What it expects is NumPy's, which comes as peers.py says.
"""
import os
import re
import subprocess
import sys
import tempfile

from peers import with_packages

SCRIPT = '''
import train
mesh m = (@data: 4, @model: 2)
let w = shard cast(arange(64).reshape([8, 8]), f32) / 3 as P(@data, @model)
let tree = {w: w, rows: shard arange(8) as P(@data), layers: [{b: ones([3], bf16)}, (zeros([0, 2], i8), array(2.5, f64))],
            k: key(7), keys: split(key(1), 4), yes: array([true, false]), "a.b/c%": cast(arange(3), u8), step: 12, rate: -0.0, top: inf,
            name: "r\\u00e4t\\n", on: true, nothing: none}
TYPES
save("run/", tree)
let ck = train.checkpoints("kept", every: 2)
for i in 1..4 { ck.save(i, {w: w}) }
'''
TYPES = ('i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64', 'f16', 'f32', 'f64')


def reader():
    page = open('stdlib/host/storage/README.md', encoding='utf-8').read()
    names = {}
    exec(re.search(r'```python\n(.*?)```', page, re.S).group(1), names)
    return names


def main():
    import numpy
    shard, here = os.path.abspath(sys.argv[1]), reader()
    types = '\n'.join(f'tree = {{...tree, {t}: cast(arange(6).reshape([2, 3]), {t})}}' for t in TYPES)
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/a.shard', 'w', encoding='utf-8') as f:
            f.write(SCRIPT.replace('TYPES', types))
        done = subprocess.run([shard, 'run', 'a.shard'], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stderr == '', done.stderr     # nor a warning where a step is not one of `every`
        assert sorted(os.listdir(folder + '/kept')) == ['step_2'], os.listdir(folder + '/kept')
        assert sorted(os.listdir(folder + '/run')) == ['data_0.safetensors', 'shard.json'], os.listdir(folder + '/run')
        tree = here['read'](folder + '/run')
        stored = here['tensors'](folder + '/run/data_0.safetensors')
    want = numpy.arange(64, dtype='f4').reshape(8, 8) / numpy.float32(3)
    assert tree['w'].dtype == 'f4' and (tree['w'] == want).all(), tree['w']
    assert (tree['rows'] == numpy.arange(8)).all() and tree['rows'].dtype == 'i4'
    assert tree['layers'][0]['b'].tolist() == [0x3f80] * 3                      # bf16's 1.0
    assert tree['layers'][1][0].shape == (0, 2) and tree['layers'][1][1] == 2.5
    assert tree['k'].tolist() == [0, 7] and tree['keys'].shape == (4, 2) and tree['keys'].dtype == 'u4'
    assert tree['yes'].tolist() == [True, False] and tree['a.b/c%'].tolist() == [0, 1, 2]
    assert (tree['step'], tree['top'], tree['name'], tree['on'], tree['nothing']) == (12, float('inf'), 'r\u00e4t\n', True, None)
    assert str(tree['rate']) == '-0.0'
    for t in TYPES:
        assert tree[t].dtype.name == {'f': 'float', 'i': 'int', 'u': 'uint'}[t[0]] + t[1:], (t, tree[t].dtype)
        assert (tree[t] == numpy.arange(6).reshape(2, 3)).all(), t
    # What is not split stands in the file under its own name; of what is split, each block once.
    assert 'layers.0.b' in stored and 'a.b/c%' in stored and 'w' not in stored
    assert sum(name.startswith('w/') for name in stored) == 8 and sum(name.startswith('rows/') for name in stored) == 4
    print('checkpoints: a reader of twenty lines reads what save writes')


if __name__ == '__main__':
    if with_packages(os.path.abspath(sys.argv[2])): main()
