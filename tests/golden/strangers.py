"""Strangers at every port of a TCP job, from before its processes come until it ends: silent ones, half a handshake, what was heard before
played again, rubbish, a hundred at once. The job prints what it prints without them, ten times of ten.

Usage: strangers.py SHARD
"""
import os
import socket
import subprocess
import sys
import tempfile
import threading

SCRIPT = '''mesh m = (@data: 8)
let x = shard cast(arange(32).reshape([8, 4]), f32) as P(@data)
for i in 0..20 { print(sum(x) + process_count()) }
'''
WANTED = '500.0\n' * 20
heard = [os.urandom(64)]   # of the last one who answered: his bytes, and as many as a proof has


class Crowd:
    """Threads that connect to the ports as long as it lives."""

    def __init__(self, ports):
        self.ports, self.over, self.connected = ports, threading.Event(), 0
        ways = (self.silent, self.half, self.again, self.rubbish, self.hundred)
        self.threads = [threading.Thread(target=self.come, args=(way,)) for way in ways]
        for t in self.threads: t.start()

    def __enter__(self): return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads: t.join()

    def to(self, port):
        s = socket.socket()
        s.settimeout(0.2)
        s.connect(('127.0.0.1', port))
        self.connected += 1
        return s

    def come(self, way):
        kept = []
        while not self.over.wait(0.002):
            for port in self.ports:
                try: kept += way(port)
                except OSError: pass
            for s in kept[:-150]: s.close()
            del kept[:-150]
        for s in kept: s.close()

    def silent(self, port): return [self.to(port)]

    def half(self, port):
        s = self.to(port)
        s.sendall(os.urandom(32))
        heard[0] = s.recv(32) + os.urandom(32)
        return [s]

    def again(self, port):
        s = self.to(port)
        s.sendall(heard[0])
        return [s]

    def rubbish(self, port):
        s = self.to(port)
        s.sendall(b'GET / HTTP/1.1\r\n\r\n' * 200)
        s.close()
        return []

    def hundred(self, port):
        out = [self.to(port) for _ in range(100)]
        self.over.wait(0.2)
        return out


def free_ports(count):
    """As many in a row that nobody has."""
    for first in range(20000 + os.getpid() % 8000, 60000, count):
        held = [socket.socket() for _ in range(count)]
        try:
            for i, s in enumerate(held): s.bind(('127.0.0.1', first + i))
            return range(first, first + count)
        except OSError: pass
        finally:
            for s in held: s.close()
    raise SystemExit('no ports are free')


def main():
    shard, connected = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + '/a.shard', 'w') as f: f.write(SCRIPT)
        for _ in range(10):
            for count in ('2', '4'):
                ports = free_ports(6)
                with Crowd(ports) as crowd:
                    p = subprocess.run([shard, 'launch', '-n', count, '--port-range', f'{ports[0]}-{ports[-1]}', 'a.shard'], cwd=folder, capture_output=True, text=True, timeout=300)
                wanted = WANTED if count == '4' else WANTED.replace('500', '498')
                assert (p.returncode, p.stdout) == (0, wanted), (count, p)
                refused = 'warning: somebody at 127.0.0.1 who does not belong to this job was refused\n'
                assert p.stderr in ('', refused), p.stderr   # once, however many
                connected += crowd.connected
    print(f'strangers: 20 jobs of 20 with {connected} strangers at their ports')


if __name__ == '__main__': main()
