#!/usr/bin/env python3
"""A session with `shard lsp` played by a client that is not ours: pygls, of PyPI (`./dev test` puts it into build-tools).   lsp_pygls.py SHARD

Open, error, fix, hover, inlay hint, lens, rename, format, completion, then how long the answers take on 1,000 lines.
"""
import asyncio, importlib.util, os, statistics, sys, time

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../build-tools/bin/python')
if not importlib.util.find_spec('pygls'):
    if os.path.exists(TOOLS) and os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(TOOLS))): os.execv(TOOLS, [TOOLS, *sys.argv])
    sys.exit(print('there is no pygls: the session is not played (pip install pygls)\n0 passed, 0 failed'))

from lsprotocol import types as t
from pygls.lsp.client import LanguageClient
import scratch

SHARD = os.path.abspath(sys.argv[1])
STEP = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lsp.py'), encoding='utf-8').read().split("STEP = '''")[1].split("'''")[0]


def applied(text, edits):
    lines = [0]
    for line in text.split('\n'): lines.append(lines[-1] + len(line) + 1)
    place = lambda p: lines[p.line] + p.character
    for e in sorted(edits, key=lambda e: place(e.range.start), reverse=True): text = text[:place(e.range.start)] + e.new_text + text[place(e.range.end):]
    return text


def thousand_lines():
    """Functions, a test and calls of each: about 1,000 lines of arrays on a mesh."""
    out = ['mesh m = (@data: 4, @model: 2)', 'let x0 = shard normal(key(0), [64, 16]) as P(@data)', 'let w0 = shard zeros([16, 16]) as P(_, @model)']
    for i in range(111):
        out += [f'## Layer {i}.', f'fn layer{i}(x, w, scale = 1.0) {{', '  let y = x @ w', '  let z = tanh(y) * scale', '  z + x', '}',
                f'let a{i} = layer{i}(x0, w0)', f'let b{i} = layer{i}(a{i}, w0, scale: 0.5)', f'print("{i}: {{mean(b{i}):.3f}}")']
    return '\n'.join(out) + '\n'


async def main():
    client = LanguageClient('test', '1')
    told = asyncio.Queue()
    refreshed = asyncio.Event()
    client.feature(t.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda p: told.put_nowait(p))
    client.feature(t.WORKSPACE_INLAY_HINT_REFRESH)(lambda *_: refreshed.set())
    client.feature(t.WORKSPACE_CODE_LENS_REFRESH)(lambda *_: None)
    await client.start_io(SHARD, 'lsp')
    can = t.ClientCapabilities(workspace=t.WorkspaceClientCapabilities(inlay_hint=t.InlayHintWorkspaceClientCapabilities(refresh_support=True)))
    hello = await client.initialize_async(t.InitializeParams(capabilities=can, root_uri='file://' + scratch.folder()))
    client.initialized(t.InitializedParams())
    print('server', hello.server_info.name, hello.server_info.version, hello.capabilities.position_encoding)
    uri = 'file:///tmp/session.shard'
    doc = t.TextDocumentIdentifier(uri=uri)
    version = 0

    async def put(text):
        nonlocal version
        version += 1
        refreshed.clear()
        if version == 1: client.text_document_did_open(t.DidOpenTextDocumentParams(text_document=t.TextDocumentItem(uri=uri, language_id='shard', version=1, text=text)))
        else: client.text_document_did_change(t.DidChangeTextDocumentParams(text_document=t.VersionedTextDocumentIdentifier(uri=uri, version=version), content_changes=[t.TextDocumentContentChangeWholeDocument(text=text)]))
        while (p := await told.get()).version != version: pass
        return p.diagnostics

    broken = STEP.replace('grad(loss)', 'grad(los)')
    error, = await put(broken)
    print('error', error.range.start, error.code, error.message.split('\n'))
    actions = await client.text_document_code_action_async(t.CodeActionParams(text_document=doc, range=error.range, context=t.CodeActionContext(diagnostics=[error])))
    print('fixes', [a.title for a in actions])
    fixed = applied(broken, actions[0].edit.changes[uri])
    assert fixed == STEP
    left = await put(fixed)
    assert not left, left
    await refreshed.wait()
    at = lambda word, inside=0: t.Position(line=STEP[:STEP.index(word)].count('\n'), character=STEP.index(word) + inside - (STEP.rfind('\n', 0, STEP.index(word)) + 1))
    print('hover', (await client.text_document_hover_async(t.HoverParams(text_document=doc, position=at('x @ w')))).contents.value)
    everything = t.Range(start=t.Position(line=0, character=0), end=t.Position(line=99, character=0))
    print('hints', [h.label for h in await client.text_document_inlay_hint_async(t.InlayHintParams(text_document=doc, range=everything))])
    print('lens', [l.command.title for l in await client.text_document_code_lens_async(t.CodeLensParams(text_document=doc))])
    edit = await client.text_document_rename_async(t.RenameParams(text_document=doc, position=at('step(w)'), new_name='advance'))
    renamed = applied(STEP, edit.changes[uri])
    assert renamed == STEP.replace('step', 'advance')
    print('rename', len(edit.changes[uri]), 'places')
    assert not await put(renamed + 'let z=1\n')
    edits = await client.text_document_formatting_async(t.DocumentFormattingParams(text_document=doc, options=t.FormattingOptions(tab_size=2, insert_spaces=True)))
    assert applied(renamed + 'let z=1\n', edits) == renamed + 'let z = 1\n'
    print('format', edits[0].new_text)
    print('outline', [s.name for s in await client.text_document_document_symbol_async(t.DocumentSymbolParams(text_document=doc))])

    text = thousand_lines()
    began = time.perf_counter()
    assert not await put(text)
    print(f'{text.count(chr(10))} lines: errors known after {1000 * (time.perf_counter() - began):.0f} ms', end='')
    await refreshed.wait()
    print(f', types and layouts after {1000 * (time.perf_counter() - began):.0f} ms')
    line = 4 + 9 * 55 + 6  # let b55 = layer55(a55, w0, scale: 0.5)
    where = dict(text_document=doc, position=t.Position(line=line, character=text.split('\n')[line].index('a55') + 1))
    asks = {
        'hover': lambda: client.text_document_hover_async(t.HoverParams(**where)), 'completion': lambda: client.text_document_completion_async(t.CompletionParams(**where)),
        'signature help': lambda: client.text_document_signature_help_async(t.SignatureHelpParams(**where)), 'definition': lambda: client.text_document_definition_async(t.DefinitionParams(**where)),
        'references': lambda: client.text_document_references_async(t.ReferenceParams(**where, context=t.ReferenceContext(include_declaration=True))),
        'rename': lambda: client.text_document_rename_async(t.RenameParams(text_document=doc, position=t.Position(line=1, character=4), new_name='other')),
        'highlight': lambda: client.text_document_document_highlight_async(t.DocumentHighlightParams(**where)), 'symbols': lambda: client.text_document_document_symbol_async(t.DocumentSymbolParams(text_document=doc)),
        'tokens': lambda: client.text_document_semantic_tokens_full_async(t.SemanticTokensParams(text_document=doc)), 'folding': lambda: client.text_document_folding_range_async(t.FoldingRangeParams(text_document=doc)),
        'hints': lambda: client.text_document_inlay_hint_async(t.InlayHintParams(text_document=doc, range=t.Range(start=t.Position(line=0, character=0), end=t.Position(line=2000, character=0)))),
        'lenses': lambda: client.text_document_code_lens_async(t.CodeLensParams(text_document=doc)),
        'formatting': lambda: client.text_document_formatting_async(t.DocumentFormattingParams(text_document=doc, options=t.FormattingOptions(tab_size=2, insert_spaces=True))),
    }
    for name, ask in asks.items():
        times = []
        for _ in range(5):
            began = time.perf_counter()
            await ask()
            times.append(1000 * (time.perf_counter() - began))
        print(f'  {name:15} {statistics.median(times):7.1f} ms')
    await client.shutdown_async(None)
    client.exit(None)
    await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(client._server.wait())), 10)
    print('ended with status', client._server.returncode)


asyncio.run(main())
print('1 passed, 0 failed')
