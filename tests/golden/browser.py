"""Headless Chromium, driven over a pipe by its own protocol (--remote-debugging-pipe): pages opened at a width, looked at, typed into."""
import base64, fcntl, json, os, shutil, signal, subprocess, sys
import scratch

NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')


def found(): return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """Every wait ends: an alarm ends the test."""
    def __init__(self, program, seconds=120):
        signal.alarm(seconds)
        self.profile, self.ids, self.events = scratch.folder(), 0, []
        def high(fd):  # the browser's ends become 3 and 4
            new = fcntl.fcntl(fd, fcntl.F_DUPFD, 10)
            os.close(fd)
            return new
        (theirs_in, ours_out), (ours_in, theirs_out) = (map(high, os.pipe()) for _ in range(2))
        words = [program, '--headless', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run',
                 '--disable-background-networking', '--disable-component-update', '--disable-sync', f'--user-data-dir={self.profile}', 'about:blank']
        start = f'import os; os.dup2({theirs_in}, 3); os.dup2({theirs_out}, 4); os.execv({program!r}, {words!r})'
        self.p = subprocess.Popen([sys.executable, '-c', start], pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.to, self.of, self.rest = os.fdopen(ours_out, 'wb', buffering=0), ours_in, b''
        self.session = None
        target = self.do('Target.createTarget', url='about:blank')['targetId']
        self.session = self.do('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for part in ('Page', 'Runtime', 'Network', 'Log'): self.do(part + '.enable')

    def __enter__(self): return self
    def __exit__(self, *error):
        signal.alarm(0)
        os.killpg(self.p.pid, signal.SIGKILL)
        self.p.wait()
        self.to.close()
        os.close(self.of)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        while b'\0' not in self.rest:
            data = os.read(self.of, 1 << 16)
            if not data: raise EOFError('the browser has ended')
            self.rest += data
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def do(self, method, **params):
        self.ids += 1
        self.to.write(json.dumps({'id': self.ids, 'method': method, 'params': params, **({'sessionId': self.session} if self.session else {})}).encode() + b'\0')
        while True:
            m = self.receive()
            if m.get('id') == self.ids:
                if 'error' in m: raise RuntimeError(f'{method}: {m["error"]}')
                return m['result']
            self.events.append(m)

    def wait(self, method):
        while True:
            for i, m in enumerate(self.events):
                if m.get('method') == method: return self.events.pop(i)['params']
            self.events.append(self.receive())

    def width(self, width): self.do('Emulation.setDeviceMetricsOverride', width=width, height=900, deviceScaleFactor=1, mobile=width < 600)

    def open(self, url):
        self.events = []
        self.do('Page.navigate', url=url)
        self.wait('Page.loadEventFired')

    def ask(self, script):
        """What a script in the page gives; a promise is waited for."""
        got = self.do('Runtime.evaluate', expression=script, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in got: raise RuntimeError(f'{script}: {got["exceptionDetails"]}')
        return got['result'].get('value')

    def until(self, script):
        """Waits until a script gives something that is true."""
        return self.ask(f'new Promise(done => {{ const look = () => {{ const x = {script}; x ? done(x) : setTimeout(look, 50) }}; look() }})')

    def type(self, text):
        self.do('Input.insertText', text=text)

    def enter(self):
        for kind in ('keyDown', 'keyUp'): self.do('Input.dispatchKeyEvent', type=kind, key='Enter', code='Enter', windowsVirtualKeyCode=13, **({'text': '\r'} if kind == 'keyDown' else {}))

    def picture(self): return base64.b64decode(self.do('Page.captureScreenshot')['data'])

    def asked_for(self): return [m['params']['request']['url'] for m in self.events if m.get('method') == 'Network.requestWillBeSent']
