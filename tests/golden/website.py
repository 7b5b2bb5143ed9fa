#!/usr/bin/env python3
"""The pages as a site: built by one command without network, every link leads somewhere, looked at in headless Chromium at two widths.

    website.py SHARD [WORDS]    closes with "N passed, N failed"; SITE_PICTURES: a folder that gets what the browser shows

Wants MkDocs (`./dev test` puts it into build-tools; or Debian's mkdocs) and, for what is looked at, Chromium (Debian's chromium, 140 MB, which
nothing here installs). What is missing is said, and left out.
"""
import html.parser, http.server, os, re, shutil, subprocess, sys, threading, urllib.parse

import browser, cli
from cli import SHARD, case, check
import scratch

cli.CASES.clear()
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WIDTHS = (1280, 400)
LOOKED_AT = ('index', 'tutorial/index', 'tutorial/05_devices', 'lessons/index', 'lessons/quickstart', 'language/index', 'reference/index', 'reference/matmul', 'errors', 'errors/shape')


class Page(html.parser.HTMLParser):
    """What a page links to and loads, and the places in it that a link can name."""
    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids, self.words = [], [], set(), text
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.ids.add(a.get('id'))
        if tag == 'a' and 'href' in a: self.links.append(a['href'])
        if tag in ('script', 'img') and 'src' in a: self.loads.append(a['src'])
        if tag == 'link' and a.get('rel') in ('stylesheet', 'shortcut icon'): self.loads.append(a['href'])


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words): pass


def without_network():
    """Words before a command that has no network; none where that is not allowed."""
    words = ['unshare', '--map-root-user', '--net']
    allowed = shutil.which('unshare') and subprocess.run([*words, 'true'], capture_output=True).returncode == 0
    return words if allowed else []


def build():
    out = scratch.folder()
    tools = os.environ.get('SHARD_TOOLS', f'{ROOT}/build-tools') + '/bin'
    env = {**os.environ, 'PATH': tools + os.pathsep + os.environ['PATH']}
    if not shutil.which('mkdocs', path=env['PATH']): return None
    p = subprocess.run([*without_network(), sys.executable, f'{ROOT}/grammar/site/make.py', SHARD, out], capture_output=True, text=True, env=env)
    check(p.returncode == 0, 'the site is built', p)
    pages = {}
    for folder, _, names in os.walk(out):
        for name in names:
            if name.endswith('.html'):
                path = os.path.join(folder, name)
                with open(path, encoding='utf-8') as f: pages[os.path.relpath(path, out)] = Page(f.read())
    return out, pages


SITE = build()


@case
def every_link_leads_somewhere():
    out, pages = SITE
    for name, page in pages.items():
        if name == '404.html': continue  # its links are those of a server's root
        for link in page.links + page.loads:
            url = urllib.parse.urlparse(link)
            if url.scheme: check(url.scheme in ('https', 'mailto') and link not in page.loads, f'{name}: {link}')
            if url.scheme: continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), urllib.parse.unquote(url.path))) if url.path else name
            check(os.path.isfile(f'{out}/{target}'), f'{name}: there is no {link}')
            if url.fragment and target in pages: check(url.fragment in pages[target].ids, f'{name}: no place {link}')


@case
def every_page_is_reached_by_links():
    _, pages = SITE
    seen, open_ = set(), ['index.html']
    while open_:
        name = open_.pop()
        if name in seen or name not in pages: continue
        seen.add(name)
        open_ += [os.path.normpath(os.path.join(os.path.dirname(name), urllib.parse.urlparse(link).path)) for link in pages[name].links if not urllib.parse.urlparse(link).scheme]
    check(set(pages) - seen <= {'404.html', 'search.html'}, f'no link leads to {sorted(set(pages) - seen)}')


@case
def everything_has_its_page():
    _, pages = SITE
    reference = open(f'{ROOT}/stdlib/reference.md', encoding='utf-8').read()
    entries = re.findall(r'^### (\S+)', reference, re.M)
    check(len(entries) > 200 and all(f'reference/{e}.html' in pages for e in entries), 'builtins')
    codes = re.findall(r'^\| `([\w-]+)` \|', open(f'{ROOT}/grammar/errors.md', encoding='utf-8').read(), re.M)
    check(len(codes) > 40 and all('The error says' in pages[f'errors/{c}.html'].words for c in codes), 'errors')
    lessons = [os.path.relpath(os.path.join(folder, n), f'{ROOT}/scripts') for folder, _, names in os.walk(f'{ROOT}/scripts') for n in names if n.endswith('.shard')]
    check(len(lessons) > 40 and all(f'lessons/{n[:-6]}.html' in pages for n in lessons), 'lessons')
    commands = re.findall(r'^command\t(\S+)\t', subprocess.run([SHARD, 'help', '--commands'], capture_output=True, text=True).stdout, re.M)
    check(len(commands) > 12 and all(f'commands/{c}.html' in pages for c in commands) and '--devices' in pages['commands/run.html'].words, 'commands')
    check(all(f'{p}.html' in pages for p in ('before_you_rent', 'coming_from_jax', 'from_shard_to_jax', 'embedding', 'clusters', 'cost_model')), 'planning, JAX, embedding, clusters')
    check(len([p for p in pages if re.match(r'tutorial/\d\d_', p)]) == 10, 'tutorial')


@case
def pages_and_search_in_a_browser():
    program = browser.found()
    if not program: return print('there is no Chromium: no page is looked at (apt-get install chromium)')
    out, _ = SITE
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), lambda *a: Quiet(*a, directory=out))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f'http://127.0.0.1:{server.server_port}/'
    with browser.Browser(program) as b:
        def show(name):
            picture = b.picture()
            check(picture.startswith(b'\x89PNG') and len(picture) > 8000, f'{name}: nothing is to be seen')
            if 'SITE_PICTURES' in os.environ:
                with open(f'{os.environ["SITE_PICTURES"]}/{name.replace("/", "_")}.png', 'wb') as f: f.write(picture)
        for width in WIDTHS:
            b.width(width)
            for name in LOOKED_AT:
                b.open(f'{base}{name}.html')
                check(b.ask('document.documentElement.scrollWidth') <= width, f'{name} is wider than {width} pixels')
                check(b.ask('innerWidth') == width and b.ask('document.querySelector("h1").getBoundingClientRect().width') > width / 3, f'{name} at {width}')
                check(float(b.ask('parseFloat(getComputedStyle(document.querySelector("[role=main] p, [role=main] li")).fontSize)')) >= 14, f'{name}: letters are small')
                check(all(u.startswith((base, 'data:')) for u in b.asked_for()), f'{name} loads {b.asked_for()}')
                show(f'{name}_{width}')
            b.open(base + 'index.html')
            field = 'document.querySelector("[role=search] input[name=q]")'
            seen = f'(() => {{ const r = {field}.getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && r.width > 100 }})()'
            menu = '(document.querySelector(".wy-nav-side.shift") || document.querySelector("[data-toggle=wy-nav-top]").click(), false)'  # until it has come
            b.until(f'({seen} || {menu})' if width < 600 else seen)
            show(f'menu_{width}')
            b.ask(field + '.focus()')
            b.type('psum')
            b.enter()
            b.wait('Page.loadEventFired')
            b.until('document.querySelector("#mkdocs-search-results h3 a")')
            show(f'search_{width}')
            check(b.ask('document.documentElement.scrollWidth') <= width, f'the results are wider than {width} pixels')
            check(b.ask('document.querySelector("#mkdocs-search-results h3 a").innerText') == 'psum', 'the page of psum comes first')
            b.ask('document.querySelector("#mkdocs-search-results h3 a").click()')
            b.wait('Page.loadEventFired')
            check(b.ask('document.querySelector("h1").innerText') == 'psum', 'it is opened')
    server.shutdown()


if __name__ == '__main__':
    if SITE: status = cli.main()
    else: status = print('there is no MkDocs: the site is not built (pip install mkdocs, or apt-get install mkdocs)\n0 passed, 0 failed')
    if SITE: shutil.rmtree(SITE[0])
    sys.exit(status or 0)
