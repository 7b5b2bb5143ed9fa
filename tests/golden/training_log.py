#!/usr/bin/env python3
"""What train.loop leaves on the disk: a csv file, a TensorBoard event file, a checkpoint. Read back here by a reader of its own.

    training_log.py SHARD

The reader knows TFRecord frames with masked CRC-32C (checked against RFC 3720's vector) and protobuf's wire format, from their
descriptions; times in the events are not looked at.
"""
import csv
import os
import struct
import subprocess
import sys
import tempfile

PROGRAM = '''
import optim
import train
let folder = "."
mesh m = (@data: 4)
let x = normal(key(0), [40, 3])
let y = x @ array([1.0, -2.0, 0.5])
let opt = optim.sgd(0.1, momentum: 0.9)
let start = {w: zeros([3])}
fn loss_of(p, x, y) = mean((x @ p.w - y) ** 2)
jit fn step((p, s), (x, y)) {
  let (loss, g) = value_and_grad(loss_of)(p, x, y)
  (opt.step(p, g, s), {loss: loss, size: {w: optim.global_norm(p)}})
}
fn batches(skip, epochs) = loader((x, y), batch: 8, shuffle: key(1), epochs: epochs, spec: P(@data), skip: skip)
fn begin() = (start, opt.init(start))

let seen = []
fn note(n, figures) { seen = append(seen, n) }
let logs = [note, train.csv("{folder}/run.csv"), train.tensorboard("{folder}/events")]
let whole = train.loop(step, begin(), batches(0, 4), every: 8, log: logs)
assert(seen == [8, 16, 20] and whole.step == 20 and not whole.stopped)

# Ten steps, and ten more from the file: the same numbers.
let first = train.loop(step, begin(), batches(0, 2), every: 10, save_as: "{folder}/run.ckpt")
let back = load("{folder}/run.ckpt")
let second = train.loop(step, back.state, batches(back.step, 4), first: back.step)
assert(second.step == 20)
assert(all(second.state[0].w == whole.state[0].w))

# Early stop: the figure never falls by 10, so the third look ends it. A check adds figures of its own.
let impatient = train.early_stop(patience: 2, least: 10.0)
let short = train.loop(step, begin(), batches(0, 4), every: 1, stop: impatient, check: fn((p, s)) = {w: float(p.w[0])})
assert(short.stopped and short.step == 3, "{short.step}")
assert(short.figures.check.w == float(short.state[0].w[0]))
let other = train.early_stop(of: fn(f) = f.right, patience: 1, lower: false)
assert(not other({right: 0.5}) and not other({right: 0.6}) and other({right: 0.6}))

assert_error(fn() = log_scalars("{folder}/run.csv", 1, {other: 1.0}), "has the columns step,loss,size/w")
assert_error(fn() = log_scalars("{folder}/events", 1, {other: "text"}), "`other` is string")
assert_error(fn() = log_scalars("{folder}/no/such/events", 1, {loss: 1.0}), "No such file")
print("ok")
'''


def crc32c(data):
    c = 0xffffffff
    for byte in data:
        c ^= byte
        for _ in range(8): c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    return c ^ 0xffffffff


def masked(data):
    c = crc32c(data)
    return ((c >> 15 | c << 17) + 0xa282ead8) & 0xffffffff


def records(data):
    at = 0
    while at < len(data):
        length, = struct.unpack_from('<Q', data, at)
        assert struct.unpack_from('<I', data, at + 8)[0] == masked(data[at:at + 8]), 'checksum of a length'
        body = data[at + 12:at + 12 + length]
        assert struct.unpack_from('<I', data, at + 12 + length)[0] == masked(body), 'checksum of a record'
        yield body
        at += 16 + length
    assert at == len(data), 'the last record is cut off'


def message(data):
    """{field number: [values]}: integers, or bytes that the caller knows the meaning of."""
    out, at = {}, 0
    def varint():
        nonlocal at
        x = shift = 0
        while True:
            b = data[at]
            at += 1
            x |= (b & 127) << shift
            shift += 7
            if b < 128: return x
    while at < len(data):
        tag = varint()
        if tag & 7 == 0: value = varint()
        else:
            size = {1: 8, 2: None, 5: 4}[tag & 7]
            if size is None: size = varint()
            value = data[at:at + size]
            assert len(value) == size, 'a field is cut off'
            at += size
        out.setdefault(tag >> 3, []).append(value)
    return out


def events(path):
    """[(step, {tag: value})] of an event file."""
    with open(path, 'rb') as f: all_records = [message(r) for r in records(f.read())]
    assert all_records[0][3] == [b'brain.Event:2'], 'the first event tells the version'
    out = []
    for event in all_records[1:]:
        assert len(event[1][0]) == 8
        values = [message(v) for v in message(event[5][0])[1]]
        out.append((event[2][0], {v[1][0].decode(): struct.unpack('<f', v[2][0])[0] for v in values}))
    return out


def main():
    assert crc32c(b'123456789') == 0xe3069283 and crc32c(bytes(32)) == 0x8a9136aa
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'train.shard')
        with open(program, 'w', encoding='utf-8') as f: f.write(PROGRAM)
        p = subprocess.run([sys.argv[1], 'run', program, '--set', f'folder={folder}'], capture_output=True, text=True, timeout=300)
        if p.returncode or p.stdout != 'ok\n': sys.exit(f'status {p.returncode}\n{p.stdout}{p.stderr}')
        with open(os.path.join(folder, 'run.csv'), encoding='utf-8') as f: rows = list(csv.DictReader(f))
        files = os.listdir(os.path.join(folder, 'events'))
        assert len(files) == 1 and 'tfevents' in files[0], files
        shown = events(os.path.join(folder, 'events', files[0]))
        assert [step for step, _ in shown] == [8, 16, 20] == [int(r['step']) for r in rows]
        for (_, values), row in zip(shown, rows):
            assert list(values) == ['loss', 'size/w'] and list(row) == ['step', 'loss', 'size/w']
            for name, value in values.items(): assert struct.unpack('<f', struct.pack('<f', float(row[name])))[0] == value, (name, value, row)
        assert shown[-1][1]['loss'] < shown[0][1]['loss']
        left = [f for f in os.listdir(folder) if '.part' in f]
        assert not left, left
    print('ok')


if __name__ == '__main__': main()
