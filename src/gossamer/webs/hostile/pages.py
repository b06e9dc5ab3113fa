"""Behaviours of pages and whole sites: too many links, too much depth, broken markup, mazes, and markup bombs.

A markup bomb is twenty kilobytes of tags for which a standard parser needs a gigabyte, or minutes. Formatting elements
that are left open are reopened in every block (the standard's list of active formatting elements), and a formatting
element that ends below blocks is split at each of them (its adoption agency algorithm). So the cost of the tags is the
product of two numbers, and a page can choose both.
"""

from __future__ import annotations

import gzip
import re
import secrets
from collections.abc import Callable
from functools import cache
from typing import Final

from gossamer.webs.hostile.behaviour import Behaviour, HostileRequest, Serve, by_path, made, says
from gossamer.webs.hostile.saying import answer, page, redirect, text

MANY_LINKS: Final = 100_000
DEEP: Final = 1_000_000
MEGABYTE: Final = 1_000_000
LONG: Final = 300_000
POSTINGS: Final = 100
MISSING: Final = 30
"""Number of missing pages to which a site links."""
SIZE: Final = 20_000
"""Approximate bytes of a markup bomb."""
_LETTERS: Final = str.maketrans("0123456789", "abcdefghij")
_BASES: Final = {
    "/scheme": '<base href="javascript:void(0)">',
    "/empty": '<base href="">',
    "/far": '<base href="http://beyond.test/">',
    "/two": '<base href="/right/"><base href="/wrong/">',
    "/broken": '<base href="http://[">',
}
"""By path: base elements that are no place, far away, or come too late."""
_OK: Final = ("ok",)


def _linking(name: str, what: str, body: bytes, section: str = "", *more: str) -> Behaviour:
    """A bad page; `more`: good pages that it links to."""
    pages = {target: answer(page(f"good page {target} behind a bad one")) for target in more}
    serve = by_path({**pages, "/page": answer(body)})
    return Behaviour(name, what, dict.fromkeys(("/page", *more), _OK), serve, section, starts=("/page",))


def _squeezed(body: bytes) -> bytes:
    return answer(gzip.compress(body), "200 OK", "text/html", "Content-Encoding: gzip")


@cache
def _many_links() -> bytes:
    links = "".join(f"<a href=/link/{n}>{n}</a> " for n in range(MANY_LINKS))
    return _squeezed(page("a hundred thousand links") + links.encode())


@cache
def _deep() -> bytes:
    return _squeezed(page("a million elements, one in another") + b"<b>" * DEEP + b"the bottom")


@cache
def _long_words() -> bytes:
    word = b"a" * MEGABYTE
    return _squeezed(page("a word of a megabyte") + b"<p>" + word + b"</p><p title='" + word + b"'>end</p>")


@cache
def _long_base() -> bytes:
    """Every link would be as long as the base: a gigabyte and a half of URLs."""
    links = "".join(f"<a href={n}>{n}</a> " for n in range(5_000))
    head = f'<base href="/{"far/" * (LONG // 4)}">'
    return _squeezed(page("a base of 300 KB", "/before", head=head) + links.encode())


@cache
def _long_canonical() -> bytes:
    """Each step up, taken alone, copies the rest: two minutes."""
    return _squeezed(
        page("a canonical address of 4 MB", "/before", head=f'<link rel=canonical href="{"../" * DEEP}x">')
    )


@cache
def _long_names() -> bytes:
    """Each `www.`, taken away alone, takes the whole name apart: 40 seconds."""
    links = "".join(f'<a href="http://{"www." * (LONG // 80)}n{n}.beyond.test/">{n}</a> ' for n in range(200))
    return _squeezed(page("names of 15 KB", "/before") + links.encode())


@cache
def _challenging() -> bytes:
    """Small enough to be looked at as a challenge, before anything else: 700 MB."""
    body = b"<p>Not a captcha.</p><a href=/before>before</a><p>" + _open(1_000).encode()
    return answer(body + b"<p>x" * ((16_000 - len(body)) // 4))


@cache
def _long_attributes() -> bytes:
    """Every paragraph gets a copy of the attribute: nine gigabytes."""
    markup = f"<p><b title='{'x' * LONG}'>{'<p>x' * (LONG // 10)}"
    return _squeezed(page("an attribute of 300 KB", "/before") + markup.encode())


@cache
def _many_attributes() -> bytes:
    attributes = "".join(f" a{n}={n}" for n in range(MANY_LINKS))
    return _squeezed(page("a hundred thousand attributes") + f"<p{attributes}>end</p>".encode())


def _new_session(request: HostileRequest) -> bytes:
    """A new id in all links of every answer; without the ids there are four pages."""
    session = secrets.token_hex(16).upper()
    kind, number = request.host.partition(".")[0], re.sub(r"\D", "", request.path)
    form = "/page{0}.html;jsessionid={1}" if kind == "session-path" else "/page.php?PHPSESSID={1}&number={0}"
    if kind != "session-path":
        number = "".join(re.findall(r"number=(\d)", request.target))
    return answer(page(f"{kind} {number or 0}", *(form.format(n, session) for n in range(4))))


def _short_session(request: HostileRequest) -> bytes:
    """As `_new_session`, with ids as short as the number of a story."""
    number = "".join(re.findall(r"number=(\d)", request.target))
    if not number:
        return answer(page("no such page"), "404 Not Found")
    links = [f"<a href='/page.php?number={n}&sid={secrets.randbelow(10**8):08d}'>{n}</a>" for n in range(4)]
    return answer(page(f"session-short {number}") + "".join(links).encode())


def _story(request: HostileRequest) -> bytes:
    return answer(page(f"story {request.target}"))


def _in_cyrillic(request: HostileRequest) -> bytes:
    """A page in windows-1251, whose form answers only what a browser would ask for."""
    if request.target == "/page":
        body = page("a query in another charset") + "<a href='/s?q=тест'>тест</a>".encode("cp1251")
        return answer(body, "200 OK", "text/html; charset=windows-1251")
    found = request.target == "/s?q=%F2%E5%F1%F2"
    return answer(page("what was sought"), "200 OK" if found else "404 Not Found")


def _relative(request: HostileRequest) -> bytes:
    """The same page at every path, with a relative link that should begin with a slash."""
    return answer(page("the same page at every path", "menu/"))


def _soft(request: HostileRequest) -> bytes:
    """A page for every target, with status 200."""
    if re.fullmatch(r"/there/\d", request.path):
        return answer(page(f"soft-404 {request.path}", *(f"/gone/{n}" for n in range(MISSING)), lines=20))
    body = text("an apology", 15)
    return answer(f"<title>Sorry</title><p>There is no page {request.path} here.</p>{body}".encode())


def _all_to_one(request: HostileRequest) -> bytes:
    if re.fullmatch(r"/old/\d+", request.path):
        return redirect("/start")
    return answer(page("where all of them lead"))


def _many_agents() -> str:
    """500 KB. The group of everyone has a rule with an unfinished escape."""
    agents = "".join(f"User-agent: {str(n).translate(_LETTERS)}\n" for n in range(9_000))
    lines = "".join(f"Crawl-delay: {n}\nContent-Usage: /{n} train-ai=n\n" for n in range(6_000))
    return f"User agent: *\nDisalow: /*%\n{agents}{lines}"


def _forum(request: HostileRequest) -> bytes:
    """A page for each posting, with links to the postings around it."""
    found = re.search(r"p=(\d+)", request.target)
    number = int(found[1]) if found else 0
    around = range(max(0, number - 5), min(POSTINGS, number + 6))
    links = [f"/viewtopic.php?t={n // 10}&p={n}" for n in around]
    return answer(page(f"posting {number} of a forum", *links, lines=2))


def _refreshing(request: HostileRequest) -> bytes:
    head = {
        "/page": '<meta http-equiv="refresh" content="0; url=/next">',
        "/next": "<meta http-equiv=refresh content=\"0;URL='/next'\">",
    }.get(request.path, "")
    return answer(page(f"refresh {request.path}", head=head))


def _based(request: HostileRequest) -> bytes:
    if request.path not in _BASES:
        return answer(page(f"base, from {request.path}"))
    return answer(page(f"base {request.path}", f"from{request.path.replace('/', '-')}", head=_BASES[request.path]))


def _open(count: int) -> str:
    """Formatting elements, all different, left open."""
    return "".join(f"<b a{n}>" for n in range(count))


def _costly(body: Callable[[], bytes]) -> Serve:
    """Serves a page made when first needed, and a good page to which it links."""

    def serve(request: HostileRequest) -> bytes:
        return answer(page(f"a good page of {request.host}")) if request.path == "/before" else body()

    return made(serve)


def _bomb(name: str, what: str, markup: str) -> Behaviour:
    """A site whose page can be read, including the link before the bomb."""
    bomb = page(name, "/before") + markup.encode()
    pages = {"/before": answer(page(f"{name}, a good page")), "/page": answer(bomb)}
    what += f": {SIZE // 1_000} KB of markup."
    return Behaviour(f"bomb-{name}", what, dict.fromkeys(pages, _OK), by_path(pages), "A.4.1", starts=("/page",))


# fmt: off
PAGES: Final = (
    Behaviour("many-links", "A page with a hundred thousand links.", {"/page": _OK, "/link/*": ("excluded: robots",)},
        says(_many_links), robots="User-agent: *\nDisallow: /link/\n"),
    Behaviour("many-agents", "A robots.txt with thousands of agents that all have thousands of delays and wishes.",
        {"/page": _OK, "/odd%20page": ("excluded: robots",)}, says(answer(page("behind a long robots.txt"))),
        robots=_many_agents()),
    Behaviour("deep", "Elements nested a million deep.", {"/page": _OK}, says(_deep)),
    Behaviour("long-words", "Words of a megabyte.", {"/page": _OK}, says(_long_words)),
    Behaviour("many-attributes", "An element with a hundred thousand attributes.", {"/page": _OK},
        says(_many_attributes)),
    Behaviour("long-base", "A base element of 300 KB before five thousand relative links.",
        {"/page": _OK, "/before": _OK}, _costly(_long_base), starts=("/page",)),
    Behaviour("long-canonical", "A canonical address of 4 MB that goes up a million folders.",
        {"/page": _OK, "/before": _OK}, _costly(_long_canonical), starts=("/page",)),
    Behaviour("long-names", "Links to two hundred names of 15 KB that begin with thousands of `www.`.",
        {"/page": _OK, "/before": _OK}, _costly(_long_names), starts=("/page",)),
    _linking("open-quote", "Attributes without a closing quote.",
        page("quotes that stay open")
        + b'<a href="/before">before</a><a href="/never>never</a><p title=\'x>' + b"y" * 500, "A.4.1", "/before"),
    _linking("malformed", "Quotes of all kinds, unbalanced tags, XHTML tags and capital letters.",
        page("malformed markup")
        + b"<SMALL><b><i></SMALL><A HREF='/single'>1<a href=/none>2</A><br/><hr /></td></p></html><A hReF=\"/after\">3",
        "A.4.1", "/single", "/none", "/after"),
    _linking("nul-bytes", "NUL bytes in markup and text.",
        page("text with NUL").replace(b"many", b"ma\0ny") + b'<a\0 href=/x>x</a><a href="/behind">b\0</a>\0\0\0',
        "", "/behind"),
    Behaviour("bases", "Misleading base elements.", {
        **dict.fromkeys(_BASES, _OK),
        **dict.fromkeys(("/from-scheme", "/from-empty", "/right/from-two", "/from-broken"), _OK),
    }, made(_based), starts=tuple(_BASES)),
    Behaviour("refresh", "Pages that refresh to another page, and to themselves.", {"/page": _OK, "/next": _OK},
        made(_refreshing), starts=("/page",)),
    _linking("frames", "A page that consists of frames only.",
        b"<html><head><title>Frames</title></head><frameset cols='*,*'><frame src='/left'><frame src='/right'>"
        b"</frameset></html>", "", "/left", "/right"),
    Behaviour("session-path", "A new session id in the path of all links, in every answer.",
        {f"/page{n}.html": _OK for n in range(4)}, made(_new_session), "A.6.1",
        starts=("/page0.html;jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9",)),
    Behaviour("session-parameter", "A new session id in the parameters of all links, in every answer.",
        {f"/page.php?number={n}": _OK for n in range(4)}, made(_new_session), "A.6.1",
        starts=("/page.php?PHPSESSID=0A1B2C3D4E5F60718293A4B5C6D7E8F9&number=0",)),
    Behaviour("session-short", "A new session id in the parameters of all links, as short as the number of a story.",
        {"/page.php*": ("ok", "duplicate", "excluded: depth")}, made(_short_session), "A.6.1",
        starts=tuple(f"/page.php?number={n}&sid=0" for n in range(4))),
    Behaviour("story-numbers", "Stories whose numbers are called `sid`, as sessions are.",
        {f"/story.php?sid={n}": _OK for n in range(101, 105)}, made(_story)),
    Behaviour("query-charset", "A query that must be encoded in the charset of the page.",
        {"/page": _OK, "/s?q=%F2%E5%F1%F2": _OK}, made(_in_cyrillic), starts=("/page",)),
    Behaviour("repeated-path", "A relative link that should be absolute: a/b/c/c/c.",
        {"/menu/*": ("ok", "duplicate", "excluded: depth", "excluded: trap")}, made(_relative), "A.6.2",
        starts=("/menu/",)),
    Behaviour("soft-404", "A page with status 200 for every target.",
        {**{f"/there/{n}": _OK for n in range(3)}, "/gone/*": ("soft_404", "ok")}, made(_soft), "A.3.4",
        starts=tuple(f"/there/{n}" for n in range(3))),
    Behaviour("all-to-one", "Redirects all missing pages to its start page.",
        {"/old/*": ("redirect", "soft_404"), "/start": _OK}, made(_all_to_one), "A.3.4",
        starts=tuple(f"/old/{n}" for n in range(MISSING))),
    Behaviour("forum", "A forum with a page for each posting.",
        {"/viewtopic.php*": ("ok", "duplicate", "excluded: depth")}, made(_forum), "A.5.1",
        starts=("/viewtopic.php?t=0&p=0",)),
    _bomb("formatting-anew", "Formatting elements that stay open and are reopened in every paragraph",
        f"<p>{_open(SIZE // 20)}{'<p>x' * (SIZE // 8)}"),
    _bomb("formatting-late", "Formatting elements that end below blocks and are split by them",
        f"{_open(900)}{'<div>' * 50}{'</b>' * (SIZE // 6)}"),
    _bomb("formatting-deep", "A few formatting elements that end below hundreds of blocks",
        f"{_open(30)}{'<div>' * 900}{'</b>' * (SIZE // 5)}"),
    Behaviour("bomb-challenge", "Formatting elements that stay open, in 16 KB that may be a challenge.",
        {"/page": _OK, "/before": _OK}, _costly(_challenging), "A.4.1", starts=("/page",)),
    Behaviour("bomb-formatting-long", "A formatting element with an attribute of 300 KB, reopened in every paragraph.",
        {"/page": _OK, "/before": _OK}, _costly(_long_attributes), "A.4.1", starts=("/page",)),
)
# fmt: on
