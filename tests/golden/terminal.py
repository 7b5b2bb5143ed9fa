#!/usr/bin/env python3
"""The REPL on a terminal, driven key by key with pexpect.   terminal.py SHARD   closes with "N passed, N failed"

Each step waits for what the one before shows, none for a time but where signals come while nothing is read. The Screen below is what a terminal makes of
the output: places and signs, colours as they come."""
import os, re, shlex, signal, sys, time, unicodedata
import scratch

try: import pexpect
except ImportError:
    print('skipped: a terminal is driven with pexpect (Debian, Ubuntu: sudo apt-get install python3-pexpect)\n0 passed, 0 failed')
    sys.exit(0)

SHARD = os.path.abspath(sys.argv[1])
SLOW = float(os.environ.get('CLI_SLOW', '1'))
CASES = []
PASTE, UP, RIGHT, TAB = '\x1b[200~%s\x1b[201~', '\x1b[A', '\x1b[C', '\t'


def case(f):
    CASES.append(f)
    return f


class Screen:
    """As much of a VT100 as libedit and the painting use: signs, wide ones, the pending wrap of the last column, moves, erasing."""
    TOKEN = re.compile(r'\x1b\[([?0-9;]*)([@-~])|\x1b([78=>])|\x1b[()].|([\r\n\b\a])|([^\x1b\r\n\b\a])')

    def __init__(self, columns, rows=24):
        self.columns, self.rows = columns, rows
        self.cells = [[' '] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.wrap, self.kept = False, (0, 0, False)

    def feed(self, text):
        for m in self.TOKEN.finditer(text):
            numbers, order, single, control, sign = m.groups()
            if order: self.order(numbers, order)
            elif single == '7': self.kept = (self.row, self.column, self.wrap)
            elif single == '8': self.row, self.column, self.wrap = self.kept
            elif control == '\r': self.column, self.wrap = 0, False
            elif control == '\n': self.down()
            elif control == '\b': self.column, self.wrap = max(0, self.column - 1), False
            elif sign: self.put(sign)
        return self

    def down(self):
        self.wrap = False
        if self.row + 1 < self.rows: self.row += 1
        else: self.cells = self.cells[1:] + [[' '] * self.columns]

    def put(self, sign):
        width = 0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in 'WF' else 1
        if width == 0: return
        if self.wrap or self.column + width > self.columns:
            self.column = 0
            self.down()
        self.cells[self.row][self.column] = sign
        if width == 2: self.cells[self.row][self.column + 1] = ''
        self.column += width
        if self.column >= self.columns: self.column, self.wrap = self.columns - 1, True

    def order(self, numbers, order):
        n = int(numbers) if numbers.isdigit() else 0
        if order in 'ABCD': self.wrap = False
        if order == 'A': self.row = max(0, self.row - max(1, n))
        elif order == 'B': self.row = min(self.rows - 1, self.row + max(1, n))
        elif order == 'C': self.column = min(self.columns - 1, self.column + max(1, n))
        elif order == 'D': self.column = max(0, self.column - max(1, n))
        elif order == 'G': self.column = max(1, n) - 1
        elif order == 'P': self.cells[self.row] = self.cells[self.row][:self.column] + self.cells[self.row][self.column + max(1, n):] + [' '] * max(1, n)
        elif order == '@': self.cells[self.row] = (self.cells[self.row][:self.column] + [' '] * max(1, n) + self.cells[self.row][self.column:])[:self.columns]
        elif order == 'K': self.cells[self.row][self.column:] = [' '] * (self.columns - self.column)
        elif order == 'J':
            self.order('', 'K')
            for r in range(self.row + 1, self.rows): self.cells[r] = [' '] * self.columns
        elif order not in 'mhlrnc': raise AssertionError(f'an order that the screen does not know: {numbers}{order}')

    def text(self): return '\n'.join(''.join(row).rstrip() for row in self.cells).rstrip()


class Session:
    def __init__(self, columns=80, home=None, words=(), **environment):
        self.home = home or scratch.folder()
        self.screen = Screen(columns)
        self.raw = ''
        at = dict(os.environ, HOME=self.home, XDG_STATE_HOME=self.home, TERM='xterm-256color', LC_ALL='C.UTF-8')
        at.pop('NO_COLOR', None)
        at.update(environment)
        self.dumb = at['TERM'] == 'dumb'
        # In one string, as pexpect cuts a command without arguments at its blanks.
        self.child = pexpect.spawn(shlex.join([SHARD, *words]), env=at, encoding='utf-8', codec_errors='replace', timeout=60 * SLOW, dimensions=(24, columns))
        self.child.delaybeforesend = None
        if not words: self.prompt()

    def wait(self, text):
        """Until this is written (escapes aside, which may stand within it); what came."""
        letters = [re.escape(c) for c in text]
        between = r'(?:\x1b\[[?0-9;]*[A-Za-z]|\x1b[78])*'
        try: self.child.expect(between.join(letters))
        except (pexpect.TIMEOUT, pexpect.EOF):
            self.take(self.child.before)
            raise AssertionError(f'{text!r} does not come; the screen:\n{self.screen.text()}\nthe end: {self.raw[-600:]!r}')
        came = self.child.before + self.child.after
        self.take(came)
        return came

    def take(self, text):
        self.raw += text if isinstance(text, str) else ''
        if isinstance(text, str): self.screen.feed(text)

    def prompt(self):
        """A new one, and keys are read as they come: libedit tells the terminal so when the prompt stands there already."""
        return self.wait('shard> ') + ('' if self.dumb else self.wait('\x1b[?2004h'))
    def keys(self, text): self.child.send(text)

    def enter(self, line, shows):
        self.keys(line + '\n')
        came = self.wait(shows)
        return came + self.prompt()

    def kill(self, with_signal=signal.SIGKILL):
        self.child.kill(with_signal)
        self.child.wait()
        self.child.close()

    def ends(self, last):
        """By itself, behind this."""
        self.wait(last)
        self.child.expect(pexpect.EOF)
        self.child.wait()
        check(self.child.exitstatus == 0, f'status {self.child.exitstatus}, and at the end: {self.child.before}')

    def leave(self):
        self.keys(':quit\n')
        self.child.expect(pexpect.EOF)
        self.child.close()
        check(self.child.exitstatus == 0, f'status {self.child.exitstatus}')


def check(condition, what):
    if not condition: raise AssertionError(what)


def plain(text): return re.sub(r'\x1b\[[?0-9;]*[A-Za-z]|\x1b[78]', '', text)


@case
def the_history_outlives_a_killed_session():
    first = Session()
    first.enter('let kept = 20 + 3', '')
    first.enter('kept * 100', '2300')
    first.kill()
    second = Session(home=first.home)
    second.keys(UP)
    second.wait('kept * 100')
    second.keys(UP)
    second.wait('let kept = 20 + 3')
    second.keys('\n')
    second.prompt()
    second.enter('kept', '23')
    second.leave()


@case
def two_sessions_at_once_share_one_history():
    a = Session()
    b = Session(home=a.home)
    for i in range(3):
        a.enter(f'"of a {{{i} + 100}}"', f'of a {100 + i}')
        b.enter(f'"of b {{{i} + 200}}"', f'of b {200 + i}')
    a.kill(signal.SIGHUP)
    b.leave()
    with open(os.path.join(a.home, 'shard', 'history'), encoding='utf-8') as f: lines = f.read().split('\n')
    for i in range(3):
        for who, base in (('a', 100), ('b', 200)):
            check(lines.count(f'"of\\040{who}\\040{{{i}\\040+\\040{base}}}"') == 1, f'{who} {i} is not once in {lines}')


@case
def ctrl_c_in_svd_gives_the_prompt_back():
    s = Session()
    s.keys('print("be" + "gins"); let y = svd(normal(key(0), [1500, 1500]))\n')
    s.wait('begins')
    s.child.sendintr()
    came = s.wait('interrupted') + s.prompt()
    check('Traceback' not in came and 'internal' not in came, came)
    s.enter('40 + 2', '42')
    s.keys('(1 + ')                       # and at the prompt it gives up the entry
    s.wait('(1 + ')
    s.child.sendintr()
    s.prompt()
    s.enter('6 * 7', '42')
    s.leave()


@case
def an_interrupt_is_heard_in_long_operations_and_never_lost():
    """Whenever it comes, in the operation or behind it: the loop behind would never end."""
    s = Session()
    for work in ('svd(normal(key(0), [400, 400]))', 'eigh(normal(key(0), [400, 400]))', 'sort(normal(key(0), [400, 400]))', 'ones([4000, 4000]) @ ones([4000, 4000])',
                 'ones([6000, 6000]) @ ones([6000, 6000])', 'ones([64, 10000]) @ ones([10000, 10000])', 'inv(normal(key(0), [2000, 2000]))', 'normal(key(0), [20000000]).sort()', 'cumsum(ones([30000000]))'):
        s.keys(f'print("be" + "gins"); let y = {work}; while true {{ }}\n')
        s.wait('begins')
        s.child.sendintr()
        s.wait('interrupted')
        s.prompt()
        s.enter('40 + 2', '42')
    s.leave()


@case
def a_breakpoint_is_a_loop_in_the_script_and_an_interrupt_there_is_its_own():
    path = os.path.join(scratch.folder(), 'case.shard')
    with open(path, 'w') as f: f.write('fn f(x) {\n  let y = x * 2\n  breakpoint()\n  y + 1\n}\nprint(f(3))\nprint("the end")\n')
    s = Session(words=('run', path))
    s.wait('case.shard:3; variables: f x y')
    s.prompt()
    s.enter('y * 100', '600')
    s.keys('(1 +')
    s.child.sendintr()
    s.prompt()
    s.keys('print("be" + "gins"); while true {}\n')
    s.wait('begins')
    s.child.sendintr()
    s.wait('interrupted')
    s.prompt()
    s.enter('x + 40', '43')
    s.keys(':continue\n')
    s.ends('the end')


@case
def painting_that_a_signal_breaks_off_is_no_lost_output():
    path = os.path.join(scratch.folder(), 'case.shard')
    with open(path, 'w') as f: f.write('fn f(x) {\n  breakpoint()\n  x\n}\nprint(f(3))\nprint("the end")\n')
    s = Session(words=('run', path))
    s.wait('variables')
    s.prompt()
    s.keys('abcdefghijklmnopqrstuvwxyz ' * 40)   # nobody reads what this paints, until the terminal takes no more
    for _ in range(20):
        time.sleep(0.05 * SLOW)
        s.child.kill(signal.SIGWINCH)
    s.keys('\n:continue\n')
    s.ends('the end')


PASTED = '''let xs = range(10)
fn f(x) {
\tif x > 5 {
\t\t"large"
\t}
\telse {
\t\t"small"
\t}
}
let y = xs
  |> map(fn(x) = x * 2)
  |> filter(fn(x) = x > 4)

let z = array([3.0, 1.0, 2.0])
  .sort()
  .sum()
''' + ''.join(f'let v{i} = {i}\n' for i in range(33)) + 'print("{f(7)} {len(y)} {z} {v0 + v32}")\n'


@case
def fifty_lines_are_pasted():
    check(len(PASTED.splitlines()) == 50, f'{len(PASTED.splitlines())} lines')
    for environment in ({}, {'NO_COLOR': '1'}):
        s = Session(**environment)
        s.keys(PASTE % PASTED)
        came = s.wait('large 7 6.0 32')
        check('error' not in came, came)
        s.prompt()
        s.keys(PASTE % '1 +\n  10' + '0\n')      # the last line of a paste can still be edited
        s.wait('101')
        s.prompt()
        s.keys(PASTE % '["a", "b"]\n  .len' + '() + 41\n')
        s.wait('43')
        s.prompt()
        s.leave()


@case
def names_arguments_and_axes_are_completed():
    s = Session()
    s.keys('sum(ones([2, 3]), ax' + TAB)
    s.wait('axis:')
    s.keys(' 1)\n')
    s.wait('[3. 3.]')
    s.prompt()
    s.enter('mesh m = (@data: 4, @model: 2)', '')
    s.keys('sharding(shard ones([8]) as P(@mo' + TAB)
    s.wait('@model')
    s.keys('))\n')
    s.wait('P(@model)')
    s.prompt()
    s.enter('import nn', '')
    s.keys('nn.l' + TAB + TAB)
    came = s.wait('nn.layer_norm') + s.wait('nn.lstm')
    s.keys('\x15')
    check('__' not in came, 'no internals: ' + came)
    s.leave()


@case
def the_hint_is_taken_by_the_right_arrow():
    s = Session()
    s.enter('let answer = 40 + 2', '')
    s.keys('let a')
    s.wait('nswer = 40 + 2')                     # dim, behind the cursor
    s.wait('\x1b8')
    check(s.screen.text().endswith('let answer = 40 + 2'), s.screen.text())
    s.keys(RIGHT + '00\n')
    s.prompt()
    s.enter('"{answer + 1}"', '241')             # 40 + 200
    s.leave()


@case
def colours_are_of_terminals_alone():
    s = Session()
    s.keys('let text = "a"')
    came = s.wait('let text') + s.wait('"a"') + s.wait('\x1b8')
    check('\x1b[0;1;34mlet' in came and '\x1b[0;32m"a"' in came, f'a keyword, a string: {came!r}')
    s.keys('\n')
    s.prompt()
    check('\x1b[0;36mf32' in s.enter('zeros([2])', '[0. 0.]'), 'a type')
    s.keys('print("|{text.join("  ")}|")')
    came = ''
    while '\x1b[0;32m"|\x1b[0m{text.join(\x1b[0;32m"  "\x1b[0m)}\x1b[0;32m|"\x1b[0m)' not in came:   # a string within a string
        came += s.wait('\x1b8')
    s.keys('\x15')
    s.leave()
    for environment in ({'NO_COLOR': '1'}, {'TERM': 'dumb'}):
        s = Session(**environment)
        came = s.enter('let text = "a"', '') + s.enter('zeros([2])', '[0. 0.]') + s.enter('nothing_here', 'unknown name')
        check(not re.search(r'\x1b\[[0-9;]*m', came), f'{environment}: {came!r}')
        s.leave()
    s = Session(TERM='dumb')
    came = s.enter('1 + 1', '2')
    check('\x1b' not in s.raw, f'no escapes: {s.raw!r}')
    s.leave()


@case
def what_is_drawn_is_what_stands_there_without_colours():
    """Any text, at any width: the painting changes no sign and no place."""
    texts = ['let x = 1', 'print("wide: 日本語 and é", x + 1) # 注釈', 'f(' + ', '.join(f'a{i}' for i in range(30)) + ')', 'x' * 33, 'x' * 34, 'x' * 73, '日' * 30, '"' + 'é' * 60 + '"']
    for columns in (40, 41, 80):
        screens = []
        for environment in ({}, {'NO_COLOR': '1'}):
            s = Session(columns, **environment)
            out = []
            for text in texts:
                s.keys(text + '\x01' + '\x06' * 3 + '~' + '\x05')   # to the begin, three to the right, a sign, to the end
                s.wait('~')
                s.keys('%')
                s.wait('%')
                if not environment: s.wait('\x1b8')           # it is painted
                s.child.sendintr()
                s.prompt()
                out.append(s.screen.text())
            screens.append(out)
            s.kill()
        for a, b in zip(*screens): check(a == b, f'at {columns} columns:\n{a}\n---- without colours:\n{b}')


@case
def forty_columns_are_enough():
    s = Session(40)
    wide = lambda text: [line for line in plain(text).replace('\r', '').split('\n') if sum(2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in line) > 40]
    for entry, shows in ((':help', ':quit'), ('mesh m = (@data: 4, @model: 2)', ''), ('visualize(shard zeros([64, 64]) as P(@data, @model))', '48..64'), ('arange(100.0)', 'print shows them'),
                         ('table([{name: "a long name of a layer", loss: 0.123456789, more: "and some words more"}])', '0.12'), ('plot({a: [1, 2, 3], b: [3, 2, 1]})', ' b'), ('hist(range(100))', '..')):
        s.keys(entry + '\n')
        s.child.expect('\r\n')                               # what comes behind the entry itself
        s.take(s.child.before + s.child.after)
        came = s.wait(shows) + s.prompt()
        at = came.rfind(entry[-4:])
        check(not wide(came[at:] if at >= 0 else came), f'{entry}: {wide(came)}')
    s.enter('let y = ' + '1 + ' * 20 + 'undefined_here + ' + '1 + ' * 20 + '1', 'unknown name')
    lines = s.screen.text().split('\n')
    caret = next(i for i, line in enumerate(lines) if '^^^' in line)
    check(lines[caret - 1].index('undefined_here') == lines[caret].index('^'), s.screen.text())
    s.leave()


@case
def the_window_changes_while_an_entry_is_written():
    s = Session(80)
    s.keys('let long_name = [' + ', '.join(str(i) for i in range(10)))
    s.wait('8, 9')
    for columns in (40, 100, 60):
        s.child.setwinsize(24, columns)
        s.wait('shard> ')                                    # drawn anew
        s.wait('8, 9')
    s.keys('].len()\n')
    s.prompt()
    s.enter('long_name * 11', '110')
    s.leave()


@case
def sigterm_sets_the_terminal_right():
    s = Session()
    s.keys('let half')
    s.wait('half')
    s.child.kill(signal.SIGTERM)
    s.wait('\x1b[?2004l')
    s.child.expect(pexpect.EOF)
    s.child.close()
    check(s.child.exitstatus == 143, f'status {s.child.exitstatus}')


@case
def errors_are_of_the_numbered_line():
    s = Session()
    s.enter('1 + 1', '2')
    s.keys(PASTE % 'let a = [\n  1,\n  missing_one]' + '\n')
    s.wait('repl:4:3')
    s.prompt()
    s.keys(UP + '\n')                                        # the same three lines, from the history
    s.wait('repl:7:3')
    s.prompt()
    s.leave()


@case
def progress_makes_room_for_prints():
    s = Session()
    s.enter('let now = 0', '')
    s.keys('for i in progress(0..3, show: fn() = {square: now}) { now = i * i; print("turn {i} over") }\n')
    s.wait('turn 2 over')
    s.wait('3/3')
    s.wait('square 4')
    s.prompt()
    screen = s.screen.text()
    check(all(f'\nturn {i} over\n' in screen for i in range(3)) and screen.count('/3') == 1, screen)
    s.leave()


@case
def entries_are_edited_saved_and_loaded():
    folder = scratch.folder()
    editor = os.path.join(folder, 'editor')
    with open(editor, 'w') as f: f.write('#!/bin/sh\necho "let edited = 77" > "$1"\n')
    os.chmod(editor, 0o755)
    s = Session(EDITOR=editor, VISUAL='')
    s.enter('let before = 1', '')
    s.enter(':edit', '')
    s.enter('edited', '77')
    s.enter(f':save {folder}/kept.shard', 'entries in')
    s.leave()
    s = Session()
    s.enter(f':load {folder}/kept.shard', '')
    s.enter('edited + before', '78')
    s.enter('_ + 1', '79')
    for command, shows in ((':type zeros([2])', 'f32[2]'), (':vars', 'edited: '), (':mesh', 'no mesh'), (':time 1 + 1', 'best'), (':reload', ''), ('?matmul', 'matmul('), ('matmul?', 'matmul('), (':help matmul', 'matmul(')):
        s.enter(command, shows)
    s.enter('jit fn f(x) = sum(x)', '')
    s.enter('mesh m = (@d: 2)', '')
    s.enter(':comm f(shard ones([4]) as P(@d))', 'psum')
    s.enter(':explain f(shard ones([4]) as P(@d))', 'psum')
    s.leave()


def main():
    only = sys.argv[2:]
    passed = failed = 0
    for f in CASES:
        if only and f.__name__ not in only: continue
        try: f()
        except Exception as e:
            failed += 1
            print(f'FAIL {f.__name__}: {e}')
        else: passed += 1
    print(f'{passed} passed, {failed} failed')
    sys.exit(failed > 0)


main()
