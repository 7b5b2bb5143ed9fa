#!/usr/bin/env python3
"""`shard lsp` as an editor sees it: every method, texts that break, hostile messages.   lsp.py SHARD   closes with "N passed, N failed"

The client is a few lines of the standard library; lsp_pygls.py plays a session with one that is not ours.
"""
import copy, json, os, random, signal, subprocess, sys

import cli
from cli import SHARD, SLOW, case, check
import scratch

cli.CASES.clear()
STEP = '''mesh m = (@data: 4, @model: 2)
let x = shard normal(key(0), [64, 16]) as P(@data)
let w = shard zeros([16, 4]) as P(_, @model)
## The mean square.
fn loss(w) = mean((x @ w - 1.0) ** 2)
jit fn step(w) {
  let g = grad(loss)(w)
  w - 0.1 * g
}
let last = step(w)
print("loss {loss(last):.3f}")
'''


class Server:
    """A session. Every wait ends: an alarm ends the test."""
    def __init__(self, folder=None, encodings=None, refresh=True, begin=True):
        self.p = subprocess.Popen([SHARD, 'lsp'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        self.ids, self.told = 0, []
        signal.alarm(int(60 * SLOW))
        if begin:
            can = {'workspace': {'inlayHint': {'refreshSupport': refresh}, 'codeLens': {'refreshSupport': refresh}}, 'general': {'positionEncodings': encodings or ['utf-16']}}
            self.said = self.ask('initialize', {'processId': None, 'rootUri': folder and 'file://' + folder, 'capabilities': can})
            self.note('initialized', {})

    def __enter__(self): return self
    def __exit__(self, *error):
        self.p.kill()
        self.p.wait()
        for f in (self.p.stdin, self.p.stdout, self.p.stderr):
            try: f.close()
            except BrokenPipeError: pass
        signal.alarm(0)

    def raw(self, data):
        self.p.stdin.write(data)
        self.p.stdin.flush()

    def send(self, message):
        body = json.dumps(message).encode()
        self.raw(b'Content-Length: %d\r\n\r\n' % len(body) + body)

    def receive(self):
        length = None
        while (line := self.p.stdout.readline()) != b'\r\n':
            if not line: raise EOFError('the server has ended')
            length = int(line.split(b':')[1])
        return json.loads(self.p.stdout.read(length))

    def reply(self, wanted):
        while True:
            m = self.receive()
            if 'method' not in m and m.get('id') == wanted: return m
            self.told.append(m)

    def request(self, method, params=None):
        self.ids += 1
        self.send({'jsonrpc': '2.0', 'id': self.ids, 'method': method, 'params': params})
        return self.reply(self.ids)

    def ask(self, method, params=None):
        m = self.request(method, params)
        check('result' in m, f'{method}: {m}')
        return m['result']

    def note(self, method, params=None): self.send({'jsonrpc': '2.0', 'method': method, 'params': params})

    def wait(self, method, fits=lambda params: True):
        while True:
            for i, m in enumerate(self.told):
                if m.get('method') == method and fits(m.get('params')): return self.told.pop(i).get('params')
            self.told.append(self.receive())

    # ---- a text
    def open(self, text, uri='file:///nowhere/a.shard'):
        self.text, self.uri, self.version = text, uri, 1
        self.note('textDocument/didOpen', {'textDocument': {'uri': uri, 'version': 1, 'languageId': 'shard', 'text': text}})
        return self

    def change(self, text):
        self.version += 1
        self.text = text
        self.note('textDocument/didChange', {'textDocument': {'uri': self.uri, 'version': self.version}, 'contentChanges': [{'text': text}]})

    def found(self):
        return self.wait('textDocument/publishDiagnostics', lambda p: p['uri'] == self.uri and p.get('version') == self.version)['diagnostics']

    def typed(self):
        """Waits until types of the text as it is are known."""
        self.found()
        self.wait('workspace/inlayHint/refresh')
        return self

    def at(self, word, nth=0, inside=0):
        i = -1
        for _ in range(nth + 1): i = self.text.index(word, i + 1)
        i += inside
        return {'line': self.text.count('\n', 0, i), 'character': i - (self.text.rfind('\n', 0, i) + 1)}

    def about(self, method, word=None, nth=0, inside=0, **more):
        place = {'position': self.at(word, nth, inside)} if word else {}
        return self.ask('textDocument/' + method, {'textDocument': {'uri': self.uri}, **place, **more})

    def hover(self, word, nth=0, inside=0):
        got = self.about('hover', word, nth, inside)
        return got and got['contents']['value']


def everything(text):
    return {'start': {'line': 0, 'character': 0}, 'end': {'line': text.count('\n') + 1, 'character': 0}}


def applied(text, edits):
    """Edits whose characters are those of ASCII."""
    starts = [0]
    for line in text.split('\n'): starts.append(starts[-1] + len(line) + 1)
    place = lambda p: starts[p['line']] + p['character']
    for e in sorted(edits, key=lambda e: place(e['range']['start']), reverse=True):
        text = text[:place(e['range']['start'])] + e['newText'] + text[place(e['range']['end']):]
    return text


@case
def a_session():
    with Server() as s:
        check(s.said['serverInfo']['name'] == 'shard' and s.said['capabilities']['positionEncoding'] == 'utf-16', 'it says who it is')
        text = 'let total = 1\nprint(totl)\n'
        error, = s.open(text).found()
        check(error['code'] == 'name' and error['severity'] == 1 and error['range']['start'] == s.at('totl'), str(error))
        actions = s.about('codeAction', range=error['range'], context={'diagnostics': [error]})
        edits = [a['edit']['changes'][s.uri] for a in actions]
        check(any(applied(text, e) == 'let total = 1\nprint(total)\n' for e in edits), str(actions))
        s.change('let total = 1\nprint(total)\n')
        check(s.found() == [], 'repaired')
        check(s.ask('shutdown') is None, 'shutdown')
        check(s.request('textDocument/hover', {})['error']['code'] == -32600, 'nothing after shutdown')
        s.note('exit')
        check(s.p.wait() == 0, 'status 0')


@case
def exit_without_shutdown_and_the_end_of_input_are_status_1():
    with Server() as s:
        s.note('exit')
        check(s.p.wait() == 1, 'exit')
    with Server() as s:
        s.p.stdin.close()
        check(s.p.wait() == 1, 'the end')


@case
def errors_and_warnings_are_those_of_check():
    text = 'fn f(x) {\n  let unused = 1\n  x\n}\nlet a = zeros([2, 3])\nlet b = a @ a\nprint(f(b))\n'
    path = cli.script(text)
    want = json.loads(cli.shard('check', '--json', path).stdout)
    check({d['severity'] for d in want} == {'error', 'warning'}, str(want))
    with Server() as s:
        got = s.open(text, 'file://' + path).found()
        places = lambda d: (d['code'], d['range']['start']['line'] + 1, d['range']['start']['character'] + 1, {1: 'error', 2: 'warning'}[d['severity']])
        check(sorted(map(places, got)) == sorted((d['code'], d['line'], d['column'], d['severity']) for d in want), f'{got}\n{want}')


@case
def hover_tells_types_with_layouts_functions_and_builtins():
    with Server() as s:
        s.open(STEP).typed()
        check('x: f32[64@data,16]' in s.hover('x', 0) or 'x: f32[64@data,16]' in s.hover('x @'), s.hover('x @'))
        check('last: f32[16,4@model]' in s.hover('last'), s.hover('last'))
        check('The mean square' in s.hover('loss', 0) and 'fn loss(w)' in s.hover('loss'), s.hover('loss'))
        check('psum' in s.hover('step') and 'communicates' in s.hover('step'), s.hover('step'))
        check('shapes:' in s.hover('mean((') and 'mean(x' in s.hover('mean(('), s.hover('mean(('))
        check('@data: 4' in s.hover('@data)', 0, 2), str(s.hover('@data)', 0, 2)))
        check(s.hover('**') is None, 'a sign is nothing')


@case
def hints_and_lenses_show_layouts_and_communication():
    with Server() as s:
        s.open(STEP).typed()
        hints = {(h['position']['line'], h['label']) for h in s.about('inlayHint', range=everything(STEP))}
        check({(1, ': f32[64@data,16]'), (2, ': f32[16,4@model]'), (9, ': f32[16,4@model]')} <= hints, str(hints))
        lens, = s.about('codeLens')
        check(lens['range']['start']['line'] == 5 and lens['command']['title'] == 'communicates 1 psum of 128 bytes', str(lens))
        few = s.about('inlayHint', range={'start': {'line': 1, 'character': 0}, 'end': {'line': 1, 'character': 9}})
        check([h['label'] for h in few] == [': f32[64@data,16]'], str(few))


@case
def what_is_compiled_shows_the_layouts_that_it_will_have():
    """On automatic axes, which no type has: in functions, loops and derivatives, used or not, and once for all calls."""
    text = STEP.replace('let last = step(w)', '''jit fn all(x, w) {
  let h = tanh(x @ w)
  let unused = sum(h, axis: 0)
  let total = zeros([4])
  for i in 0..3 {
    let inner = h * 2
    total = total + sum(inner, axis: 0)
  }
  let parts = {left: h, right: [x, w]}
  fn inside(w) {
    let e = x @ w
    mean(e ** 2)
  }
  let g = grad(inside)(w)
  (total, parts, g)
}
let many = all(x, w)
let last = step(w)''')
    want = {'h =': 'h: f32[64@data,4@model]', 'unused =': 'unused: f32[4@model]', 'inner =': 'inner: f32[64@data,4@model]', 'e =': 'e: f32[64@data,4@model]', 'g = grad(inside': 'g: f32[16,4@model]',
            'x, w) {': 'x: f32[64@data,16]', 'w) {\n    let e': 'w: f32[16,4@model]', 'total = zeros': 'total: f32[4@model]',
            'parts': 'parts: {left: f32[64@data,4@model], right: [f32[64@data,16], f32[16,4@model]]}'}
    with Server() as s:
        s.open(text).typed()
        for word, type_ in want.items(): check(s.hover(word) == f'```shard\n{type_}\n```\n', f'{word}: {s.hover(word)}')
        check([x['command']['title'] for x in s.about('codeLens')][0] == 'communicates 1 psum of 128 bytes', 'and sends what it sends')


@case
def completion_knows_names_fields_axes_arguments_and_modules():
    with Server() as s:
        text = STEP + 'import nn\nlet p = {weight: w, bias: 1}\nprint(p.we)\nprint(nn.lin, shard x as P(@mo))\nprint(softmax(x, ax))\nimport op\n'
        s.open(text)
        s.found()
        s.wait('workspace/inlayHint/refresh')
        def words(word, inside): return [i['filterText'] for i in s.about('completion', word, 0, inside)['items']]
        check('p.weight' in words('p.we', 4), str(words('p.we', 4)))
        check('nn.linear' in words('nn.lin', 6), str(words('nn.lin', 6)))
        check(words('@mo))', 3) == ['@model'], str(words('@mo))', 3)))
        check('axis:' in words('x, ax', 5), str(words('x, ax', 5)))
        check('optim' in words('import op', 9), str(words('import op', 9)))
        near = words('print("loss', 2)
        check('print' in near, str(near))
        inner = s.about('completion', 'w - 0.1', 0, 0)['items']
        names = {i['label'] for i in inner}
        check({'g', 'w', 'step', 'loss', 'mean'} <= names, str(names))
        outer = {i['label'] for i in s.about('completion', 'print("loss', 0, 0)['items']}
        check('g' not in outer and 'step' in outer, 'what a function holds is seen there alone')
        item = next(i for i in inner if i['label'] == 'mean')
        check('The mean of all elements' in s.ask('completionItem/resolve', item)['documentation']['value'], 'help')


@case
def signatures_follow_the_argument():
    with Server() as s:
        s.open('fn f(first, second = 2) = first\nprint(f(1, 3))\nprint(softmax(zeros([2]), axis: 0))\nprint(f(second: 1))\n')
        s.found()
        got = s.about('signatureHelp', '3))')
        check(got['signatures'][0]['label'].startswith('fn f(first, second') and got['activeParameter'] == 1, str(got))
        check([p['label'] for p in got['signatures'][0]['parameters']] == ['first', 'second'], str(got))
        got = s.about('signatureHelp', '0))')
        check('softmax(' in got['signatures'][0]['label'] and got['activeParameter'] == 1, str(got))
        check(s.about('signatureHelp', '1))')['activeParameter'] == 1, 'a named one')
        check(s.about('signatureHelp', 'fn f') is None, 'no call')


@case
def names_are_followed_and_renamed():
    with Server() as s:
        s.open('fn f(rate, n) = rate * n\nlet n = 3\nprint(f(rate: 2, n: n), "n is {n}")\nlet {a, b} = {a: 1, b: n}\nprint(a, b)\n')
        check(s.about('definition', 'n is', 0)  is None, 'text of a string')
        place, = s.about('definition', '{n}', 0, 1)
        check(place['range']['start'] == s.at('n = 3'), str(place))
        uses = s.about('references', 'n = 3', context={'includeDeclaration': False})
        check([u['range']['start'] for u in uses] == [s.at('n: n', 0, 3), s.at('{n}', 0, 1), s.at('b: n', 0, 3)], str(uses))
        check(len(s.about('documentHighlight', 'rate')) == 3, 'highlights')
        edits = s.about('rename', 'rate', newName='speed')['changes'][s.uri]
        check(applied(s.text, edits).startswith('fn f(speed, n) = speed * n\nlet n = 3\nprint(f(speed: 2, n: n)'), applied(s.text, edits))
        edits = s.about('rename', 'a, b} =', newName='first')['changes'][s.uri]
        check('let {a: first, b} = {a: 1, b: n}\nprint(first, b)' in applied(s.text, edits), applied(s.text, edits))
        for wrong in ('let', 'psum', 'P', 'mesh', 'true', '1x', 'f32', '', 'a b', 'a-b', '@n', 'print'):
            check('error' in s.request('textDocument/rename', {'textDocument': {'uri': s.uri}, 'position': s.at('n = 3'), 'newName': wrong}), wrong)
        refused = s.request('textDocument/rename', {'textDocument': {'uri': s.uri}, 'position': s.at('rate'), 'newName': 'n'})
        check('another meaning' in refused['error']['message'], str(refused))
        refused = s.request('textDocument/rename', {'textDocument': {'uri': s.uri}, 'position': s.at('rate'), 'newName': 'while'})
        check('`while` is a keyword' in refused['error']['message'], str(refused))
        check(s.about('prepareRename', 'print') is None and s.about('prepareRename', 'n = 3')['start'] == s.at('n = 3'), 'what can be renamed')


@case
def names_are_followed_across_imports():
    folder = os.path.realpath(scratch.folder())
    lib, main = f'{folder}/lib.shard', f'{folder}/main.shard'
    with open(lib, 'w') as f: f.write('## Twice as much.\nfn twice(x) = 2 * x\nlet also = twice(4)\n')
    with open(main, 'w') as f: f.write('import "lib.shard"\nprint(lib.twice(3))\nlet twice = 1\nprint(twice)\n')
    with Server(folder) as s:
        s.open(open(main).read(), 'file://' + main)
        check(s.found() == [], 'the file is found')
        place, = s.about('definition', 'twice(3)')
        check(place['uri'] == 'file://' + lib and place['range']['start'] == {'line': 1, 'character': 3}, str(place))
        check(s.about('definition', 'lib.twice')[0]['uri'] == 'file://' + lib, 'of the import')
        check('Twice as much' in s.hover('twice(3)'), s.hover('twice(3)'))
        uses = {(u['uri'], u['range']['start']['line']) for u in s.about('references', 'twice(3)', context={'includeDeclaration': True})}
        check(uses == {('file://' + lib, 1), ('file://' + lib, 2), ('file://' + main, 1)}, str(uses))
        edits = s.about('rename', 'twice(3)', newName='double')['changes']
        check(applied(open(lib).read(), edits['file://' + lib]) == '## Twice as much.\nfn double(x) = 2 * x\nlet also = double(4)\n', str(edits))
        check(applied(s.text, edits['file://' + main]) == s.text.replace('lib.twice', 'lib.double'), str(edits))
        # what the editor holds of a file and has not written counts
        first = s.uri, s.text, s.version
        s.open('fn twice(x, y) = x\n', 'file://' + lib)
        s.uri = 'file://' + main
        error, = s.wait('textDocument/publishDiagnostics', lambda p: p['uri'] == 'file://' + main and p['diagnostics'])['diagnostics']
        check(error['range']['start']['line'] == 1, str(error))
        s.note('textDocument/didClose', {'textDocument': {'uri': 'file://' + lib}})
        s.change(first[1] + '\n')
        check(s.found() == [], 'as on disk again')


def coloured(s):
    """Each text that has a colour, with its kinds."""
    data = s.about('semanticTokens/full')['data']
    legend = s.said['capabilities']['semanticTokensProvider']['legend']['tokenTypes']
    line = column = 0
    words = {}
    lines = s.text.split('\n')
    for i in range(0, len(data), 5):
        line, column = line + data[i], data[i + 1] + (0 if data[i] else column)
        words.setdefault(lines[line][column:column + data[i + 2]], set()).add(legend[data[i + 3]])
    return words


@case
def symbols_folds_and_tokens():
    with Server() as s:
        s.open('# a\n# b\n' + STEP + 'test "t" {\n  assert(true)\n}\n')
        s.found()
        symbols = {x['name']: x for x in s.about('documentSymbol')}
        check(list(symbols) == ['m', 'x', 'w', 'loss', 'step', 'last', 't'] and symbols['step']['kind'] == 12, str(list(symbols)))
        folds = {(f['startLine'], f['endLine'], f.get('kind')) for f in s.about('foldingRange')}
        check(folds == {(0, 1, 'comment'), (7, 9, None), (13, 14, None)}, str(folds))
        words = coloured(s)
        check(words['mesh'] == {'keyword'} and words['@data'] == {'enumMember'} and words['step'] == {'function'} and words['16'] == {'number'}, str(words))
        check('parameter' in words['w'] and words['x'] == {'variable'} and words['# a'] == {'comment'} and words['mean'] == {'function'}, str(words))


@case
def strings_within_strings_have_their_colours():
    with Server() as s:
        s.open('let rows = ["a", "b"]\nprint("|{rows.join("  ")}|")  # {"no"}\nprint("{len(rows):3d} of {"{1 + 2}"}")\n')
        s.found()
        words = coloured(s)
        check({w: words.get(w) for w in ('"|', '"  "', '|"', ':3d', '" ', '" of ')} | {'rows': words['rows']} ==
              {'"|': {'string'}, '"  "': {'string'}, '|"': {'string'}, ':3d': {'string'}, '" ': None, '" of ': None, 'rows': {'variable'}}, str(words))
        check(words['1'] == words['2'] == {'number'} and words['len'] == {'function'} and words['# {"no"}'] == {'comment'}, str(words))


@case
def a_text_is_formatted():
    ugly = 'let x=1 # one\n\n\n\nprint( x )\n'
    with Server() as s:
        s.open(ugly)
        edits = s.about('formatting', options={'tabSize': 2, 'insertSpaces': True})
        check(applied(ugly, edits) == cli.shard('fmt', '-', text=ugly).stdout, str(edits))
        s.change(applied(ugly, edits))
        check(s.about('formatting', options={}) == [], 'once')
        s.change('let x = (\n')
        check(s.about('formatting', options={}) == [], 'a broken text stays')
        crlf = 'let x=1\r\nlet y=2\r\n'
        s.change(crlf)
        check(isinstance(s.about('formatting', options={}), list), 'ends of lines')


@case
def a_broken_text_keeps_what_was_known():
    with Server() as s:
        s.open(STEP).typed()
        s.change(STEP.replace('let last', 'let broken = (\nlet last'))
        check(s.found()[0]['code'] == 'syntax', 'the error is told')
        check('x: f32[64@data,16]' in s.hover('x @'), 'before the change')
        check('last' in s.hover('last'), 'behind it')
        place, = s.about('definition', 'last):')
        check(place['range']['start'] == s.at('last'), str(place))
        check([x['name'] for x in s.about('documentSymbol')][-1] == 'last', 'symbols')
        edits = s.about('rename', 'step(w)', newName='go')['changes'][s.uri]
        check(applied(s.text, edits) == s.text.replace('step', 'go'), applied(s.text, edits))


@case
def places_count_as_agreed():
    text = 'print("ä😀", nothing)\n'
    column = {'utf-16': len('print("ä😀", '.encode('utf-16-le')) // 2, 'utf-8': len('print("ä😀", '.encode()), 'utf-32': len('print("ä😀", ')}
    for encoding, want in column.items():
        with Server(encodings=[encoding]) as s:
            check(s.said['capabilities']['positionEncoding'] == encoding, encoding)
            error, = s.open(text).found()
            check(error['range']['start'] == {'line': 0, 'character': want}, f'{encoding}: {error}')
            s.note('textDocument/didChange', {'textDocument': {'uri': s.uri, 'version': 2}, 'contentChanges': [{'range': error['range'], 'text': '1'}]})
            s.version = 2
            check(s.found() == [], f'{encoding}: the change is where the error was')


@case
def changes_come_in_parts():
    with Server() as s:
        s.open('let a = 1\nlet b = 2\nprint(a + b)\n')
        edit = lambda l, c, d, e, t: {'range': {'start': {'line': l, 'character': c}, 'end': {'line': d, 'character': e}}, 'text': t}
        s.note('textDocument/didChange', {'textDocument': {'uri': s.uri, 'version': 2}, 'contentChanges': [edit(0, 4, 0, 5, 'first'), edit(1, 0, 2, 0, ''), edit(1, 6, 1, 11, 'first'), edit(9, 9, 9, 9, '# end\n')]})
        s.version = 2
        check(s.found() == [], 'one after the other')
        s.text = 'let first = 1\nprint(first)\n# end\n'
        check(s.about('formatting', options={}) == [] and 'first' in s.hover('first'), 'the text')


@case
def nothing_is_run_printed_or_written():
    folder = scratch.folder()
    text = f'print("words")\nsave("{folder}/a.npy", zeros([3]))\nsave("{folder}/b.txt", "b")\nlet t = read_text("/dev/stdin")\nprint(t)\n'
    with Server(folder) as s:
        s.open(text).found()
        s.wait('workspace/inlayHint/refresh')
        check(os.listdir(folder) == [], str(os.listdir(folder)))
        check(s.hover('print') is not None, 'it still answers')


@case
def a_check_that_takes_long_holds_up_nothing():
    with Server() as s:
        s.open('let n = 0\nfn f(n) = if n < 2 { n } else { f(n - 1) + f(n - 2) }\nprint(f(60))\n')
        check('fn f(n)' in s.hover('f(n)'), 'an answer while it is checked')
        s.change('print(1 + "a")\n')
        check(len(s.found()) == 1, 'the next text is checked at once')


@case
def a_request_can_be_cancelled():
    with Server() as s:
        s.open(STEP)
        bodies = b''
        for m in [{'id': 77, 'method': 'textDocument/semanticTokens/full', 'params': {'textDocument': {'uri': s.uri}}}, {'method': '$/cancelRequest', 'params': {'id': 78}}, {'id': 78, 'method': 'textDocument/documentSymbol', 'params': {'textDocument': {'uri': s.uri}}}]:
            body = json.dumps({'jsonrpc': '2.0', **m}).encode()
            bodies += b'Content-Length: %d\r\n\r\n' % len(body) + body
        s.raw(bodies)
        check('result' in s.reply(77), 'answered')
        check(s.reply(78)['error']['code'] == -32800, 'cancelled')


@case
def wrong_requests_are_errors():
    with Server(begin=False) as s:
        check(s.request('textDocument/hover', {})['error']['code'] == -32002, 'before initialize')
        check('result' in s.request('initialize', {'capabilities': {}}), 'initialize')
        check(s.request('initialize', {'capabilities': {}})['error']['code'] == -32600, 'twice')
        check(s.request('no/such')['error']['code'] == -32601, 'method')
        for params in (None, 3, [], {}, {'textDocument': 3}, {'textDocument': {'uri': 'file:///none'}}, {'textDocument': {'uri': None}, 'position': 1}):
            for method in ('hover', 'completion', 'rename', 'codeAction', 'formatting', 'inlayHint', 'definition', 'semanticTokens/full'):
                check(s.request('textDocument/' + method, params)['error']['code'] == -32602, f'{method} {params}')
        s.open('let a = 1\n')
        for place in ({'line': -1, 'character': -1}, {'line': 10**12, 'character': 10**12}, {'line': 0, 'character': 2**62}):
            check('result' in s.request('textDocument/hover', {'textDocument': {'uri': s.uri}, 'position': place}), str(place))
        s.raw(b'Content-Length: 9\r\n\r\n{"id": 1,')
        check(s.reply(None)['error']['code'] == -32700, 'no JSON')
        s.send({'jsonrpc': '2.0', 'id': [1], 'method': 'x'})
        check(s.reply(None)['error']['code'] == -32600, 'no identifier')
        s.send([])
        check(s.reply(None)['error']['code'] == -32600, 'no message')


@case
def broken_headers_are_skipped():
    with Server() as s:
        for rubbish in (b'\r\n\r\n', b'hello\r\n', b'Content-Length: x\r\n\r\n', b'content-length:\r\n\r\n', b'\x00\xff\xfe\n', b'X: ' + b'y' * 100000 + b'\r\n\r\n', b'Content-Length: -5\r\n\r\n',
                        b'Content-Length: 99999999999999999999999\r\n\r\n', b'Content-Type: a\r\ncontent-LENGTH:  2 \r\n\r\n{}'):
            s.raw(rubbish)
        check(s.request('no/such')['error']['code'] == -32601, 'it goes on')


@case
def hostile_messages_never_end_it():
    """Messages of a session, mutated as bytes, as JSON and as texts; the last one of each round is answered."""
    rng = random.Random(19)
    uri = 'file:///nowhere/a.shard'
    d = {'uri': uri}
    places = [{'line': rng.randrange(12), 'character': rng.randrange(30)} for _ in range(6)]
    names = ['hover', 'completion', 'signatureHelp', 'definition', 'references', 'documentHighlight', 'prepareRename', 'rename', 'documentSymbol', 'foldingRange', 'semanticTokens/full', 'inlayHint', 'codeLens',
             'codeAction', 'formatting']
    def session():
        out = [{'method': 'textDocument/didOpen', 'params': {'textDocument': {**d, 'version': 1, 'text': STEP}}}]
        for i, n in enumerate(names):
            out.append({'id': 1000 + i, 'method': 'textDocument/' + n,
                        'params': {'textDocument': d, 'position': rng.choice(places), 'newName': 'other', 'range': everything(STEP), 'context': {'includeDeclaration': True, 'diagnostics': []}, 'options': {}}})
            at = rng.choice(places)
            out.append({'method': 'textDocument/didChange', 'params': {'textDocument': {**d, 'version': i}, 'contentChanges': [{'range': {'start': at, 'end': rng.choice(places)}, 'text': rng.choice(['(', '}', '"', 'let ', '\n', '@', '', 'ä😀', '\r\n', '#'])}]}})
        return out
    odd = [None, True, -1, 1e300, '', [], {}, 'x' * 1000, 2**63, '\u0000', [[[]]]]
    def mutated(m):
        m = copy.deepcopy(m)
        spots = []
        def walk(x):
            for k in (x if isinstance(x, dict) else range(len(x)) if isinstance(x, list) else []):
                spots.append((x, k))
                walk(x[k])
        walk(m)
        x, k = rng.choice(spots)
        if isinstance(x, dict) and rng.random() < 0.3: del x[k]
        else: x[k] = rng.choice(odd)
        return m
    for round in range(6):
        with Server() as s:
            for m in session():
                if rng.random() < 0.5: m = mutated(m)
                body = json.dumps({'jsonrpc': '2.0', **m}).encode()
                if rng.random() < 0.3:
                    i = rng.randrange(len(body))
                    body = body[:i] + bytes([rng.randrange(256)]) + body[i + rng.randrange(3):]
                s.raw(b'Content-Length: %d\r\n\r\n' % len(body) + body)
            s.ids = 5000
            answer = s.request('textDocument/didOpen', {'textDocument': {**d, 'version': 1, 'text': STEP}})
            check('id' in answer, f'round {round}')
            check(s.request('no/such').get('error', {}).get('code') in (-32601, -32600), f'round {round}: it lives')


def ended(*_): raise TimeoutError('no answer')


if __name__ == '__main__':
    signal.signal(signal.SIGALRM, ended)
    sys.exit(cli.main())
