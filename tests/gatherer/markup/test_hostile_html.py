"""Tests of hostile HTML (A.4.1): gathering any page takes time and memory in proportion to its length."""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
from collections.abc import Callable

import pytest

from gossamer.base.model import Counted, LinkKind, VisitFlag
from gossamer.config import Settings
from gossamer.gatherer.gather import LONGEST_TITLE, gather
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.markup.limits import MOST_ATTRIBUTES, bounded
from gossamer.urls import Scope
from gossamer.web.fetch.decode import decode
from tests.support.timing import WITHIN, grows_less, takes_less

URL = "http://example.org/a/b.html"
WORDS = " plain words that are seen" * 5
LONG = "x" * 200
SETTINGS = Settings().gatherer


def gathered(html: str, url: str = URL) -> Gathered:
    return gather(url, "text/html", (), html.encode(), SETTINGS, Scope(("*",)), "Gossamer")


def links(html: str) -> list[str]:
    return [link.url.removeprefix("http://example.org") for link in gathered(html).links]


def left(html: str) -> str:
    """The part of a page that the parser reads."""
    return bounded(html)[0].decode()


def _filled(text: str) -> Callable[[int], str]:
    return lambda size: (text * (size // len(text) + 1))[:size]


def _after(head: str, text: str, tail: str = "") -> Callable[[int], str]:
    return lambda size: head + _filled(text)(size) + tail


def _counted(form: str) -> Callable[[int], str]:
    """Copies of a text, each with its own number."""
    return lambda size: "".join(form.format(i) for i in range(size // (len(form) + 3)))


def _open(count: int) -> str:
    """Formatting elements left open, all different."""
    return "".join(f"<b a{i}>" for i in range(count))


PAGES: dict[str, Callable[[int], str]] = {
    "links": _counted('<a href="/p{}">x</a>'),
    "one link": _filled('<a href="/p">x</a>'),
    "links to nowhere": _counted('<a href="http://[{}">x</a>'),
    "schemes": _counted('<a href="s{}:x">x</a>'),
    "a long base": lambda size: f"<base href='/{'x/' * (size // 4)}'>{_counted('<a href={}>')(size // 2)}",
    "a long base that is escaped": lambda size: f"<base href='/{'ü/' * (size // 8)}'>{_counted('<a href={}>')(size)}",
    "bases": _filled('<base href="http://other.example/">'),
    "metas": _filled("<meta name=x content=y>"),
    "directives": _filled('<meta name=robots content="noindex,unavailable_after: 2020-01-01">'),
    "long directive": _after('<meta name=robots content="', "max-", '">'),
    "dates": _after('<meta name=robots content="', "unavailable_after: 1 ", '">'),
    "refreshes": _counted('<meta http-equiv=refresh content="0;url=/{}">'),
    "refresh of spaces": _after('<meta http-equiv=refresh content="0', " ", '">'),
    "refresh of words": _after('<meta http-equiv=refresh content="0;', "url=", '">'),
    "attribute without end": _after('<a href="', "x y="),
    "attributes without end": _filled('<a href="x '),
    "comment without end": _after("<!--", "a <b>"),
    "comments without end": _filled("<!-- a"),
    "script without end": _after("<script>", "a <b>"),
    "scripts in comments in scripts": _filled("<script><!--<script>"),
    "style without end": _after("<style>", "a <b>"),
    "textarea without end": _after("<textarea>", "a <b>"),
    "plaintext": _after("<plaintext>", "a <b>"),
    "title without end": _after("<title>", "word "),
    "titles": _filled("<title>x</title>"),
    "entities without end": _filled("&amp&#x"),
    "an entity without end": _after("&", "a"),
    "NUL": _filled("\0<\0a\0>"),
    "a word": _filled("a"),
    "a long attribute": _after('<a href="/x" rel="', "a ", '">x</a>'),
    "a long URL": _after('<a href="/', "a", '">x</a>'),
    "deep": _filled("<div>"),
    "deep and wide": _filled("<b><p>"),
    "tables": _filled("<table><tr><td>x"),
    "text in tables": _after("<table>", "x<b>"),
    "SVG": _filled("<svg><a>"),
    "selects": _filled("<select><option>"),
    "templates": _filled("<template>"),
    "frames": _after("<frameset>", '<frame src="/f">'),
    "attributes": lambda size: f"<p {' '.join(f'a{i}' for i in range(size // 7))}>",
    "attributes of html": _counted("<html a{}=1>"),
    "attributes of body": _counted("<BODY a{}=1>"),
    "wrong ends": _filled("<b></p></i>"),
    "images in a link": _after('<a href="/x">', "<img alt=''>", "</a>"),
    "folders up": lambda size: f'<a href="{"../" * 5_000}x">x</a>' * (size // 15_020),
    "formatting re-created": lambda size: f"<p>{_open(size // 20)}{'<p>x' * (size // 8)}",
    "formatting in cells": lambda size: f"<table><tr><td>{_open(size // 20)}{'<td>x' * (size // 10)}",
    "formatting that ends late": lambda size: f"{_open(900)}{'<div>' * 50}{'</b>' * (size // 6)}",
    "little formatting that ends late": lambda size: f"{_open(30)}{'<div>' * 900}{'</b>' * (size // 5)}",
    "long formatting re-created": lambda size: f"<p><b title='{'x' * (size // 2)}'>{'<p>x' * (size // 8)}",
    "a long link re-created": lambda size: f"<p><a href='{'x' * (size // 2)}'>{'<p>x' * (size // 8)}",
    "a long link around a cell": lambda size: (
        f"<p><a href='{'x' * (size // 2)}'><table><td></a></table>{'<p>x' * (size // 8)}"
    ),
    "tags in long formatting": lambda size: f"<p><b title='{'<x' * (size // 4)}'>{'<p>x' * (size // 8)}",
    "much long formatting": lambda size: (
        f"<p>{''.join(f'<b a{i}={LONG}>' for i in range(size // 420))}{'<p>x' * (size // 8)}"
    ),
    "long formatting that ends late": lambda size: (
        f"<b title='{'x' * (size // 2)}'>{'<div>' * 900}{'</b>' * (size // 10)}"
    ),
    "options": _after("<select>", "<option>"),
    "options after other elements": lambda size: (
        f"<select><option>{'x<b>y</b>' * (size // 18)}</option>{'<option>y' * (size // 18)}"
    ),
    "items in items": _filled("<li><dd>"),
    "ruby": _filled("<rt>"),
    "groups of options": _filled("<optgroup>"),
    "ends that do not end": _filled("<span><div></span>"),
    "forms that end around others": _filled("<form><div></form>"),
    "links in SVG": _after("<svg>", "<a href=x>"),
    "ends in SVG": lambda size: f"<svg>{'<a>' * (size // 7)}{'</x>' * (size // 7)}",
    "headings in headings": _filled("<h1><div><h2></h1>"),
    "lists in items": _filled("<li><ul></li>"),
    "blocks in formatting": _filled("<b><div></b>"),
    "comments that end at once": _after("<!-->", "<div>"),
    "sessions": lambda size: f'<a href="/x?{"sid=1&" * 100}">x</a>' * (size // 620),
}


def _reading(html: str) -> Callable[[], object]:
    return lambda: gathered(html)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_gathering_does_not_take_quadratic_time(name: str) -> None:
    """A page sixteen times as long would take 256 times as long. Cache misses cost at most a factor of 50."""
    assert grows_less(lambda size: _reading(PAGES[name](size)), (20_000, 320_000), than=120)


LONG_THINGS = {
    "<b title='": ("x", "'>"),
    "<p><font a='": ("<p>", "'>"),
    "<table><b title='": ("x", "'>"),
    "<a href='/": ("x", "'>"),
    "<a href='//x.example/": ("ü", "'>"),
    "<a href=/x title='": ("x", "'>"),
    "<a href=/x>": ("x ", ""),
    "<p><a href=/x><div>": ("<i a=1>", ""),
    "<base href='/": ("x/", "'>"),
    "<title>": ("x ", "</title>"),
    "<html lang='": ("x", "'>"),
    "<svg><a xlink:href='": ("x", "'>"),
    "<meta http-equiv=refresh content='0;url=": ("x", "'>"),
    "<link rel=canonical href='/": ("x", "'>"),
    "<select><option>": ("x<b>y</b>", "</option>"),
    "<template>": ("<b>", ""),
}
"""Beginnings, what is repeated after them, and ends."""
MANY_THINGS = (
    *("<p>x", "<div>", "<li>x", "<td>x", "<tr>", "<table>x", "<b>", "<b a{}>", "<nobr>", "<i><p>", "</b>", "</a>"),
    *("<a href={}>", "<a href=?{}>y</a>", "<a href=../{}>", "<svg><a href={}>", "<a href={}><img alt=''>"),
    *("<option>y", "<select>", "<html a{}=1>", "<base href=y{}>", "<area href={} alt=z>", "<link rel=next href={}>"),
)


@pytest.mark.parametrize("long", LONG_THINGS)
def test_nothing_long_is_multiplied_by_anything_that_is_repeated(long: str) -> None:
    """Of two things that a page repeats, the costs add up. A product would be 20,000 times one of them."""
    piece, end = LONG_THINGS[long]
    head = long + piece * (60_000 // len(piece)) + end
    for many in MANY_THINGS:
        page = head + _counted(many)(60_000)
        before = _peak()
        assert takes_less(_reading(page), than=1), (long, many)
        assert _peak() - before < 100_000, (long, many)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


_MEASURED = """
import resource, sys
from tests.gatherer.markup.test_hostile_html import PAGES, gathered
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
gathered("<p>x")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in sys.argv[1:]:
    gathered(PAGES[name](25_000)), gathered(PAGES[name](400_000))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_open_formatting_elements_take_little_memory_and_time() -> None:
    names = [name for name in PAGES if "formatting" in name or " long " in name or "options" in name]
    assert len(names) > 12
    for name in names:
        assert takes_less(_reading(PAGES[name](25_000)), than=2)
    run = [sys.executable, "-c", _MEASURED, *names]
    assert int(subprocess.run(run, check=True, capture_output=True, timeout=WITHIN).stdout) < 200_000  # KB


def test_pages_with_closed_formatting_elements_are_not_cut() -> None:
    many = "".join(f'<li><b class="c{i}">x</b> <i><a href=/{i}>{i}</a></i><font size=2>x' for i in range(1_000))
    assert left(many) == many
    sloppy = "<p><b><i>x</b></i><font color=red><p>y</font>" * 2_000
    assert left(sloppy) == sloppy


@pytest.mark.parametrize("name", PAGES)
def test_everything_gathered_from_a_page_is_bounded(name: str) -> None:
    found = gathered(PAGES[name](40_000))
    assert len(found.links) <= SETTINGS.max_links
    assert len(found.title) <= LONGEST_TITLE
    assert len(found.description) <= 300
    assert len(found.seen) <= 100_000
    assert all(len(link.url) <= 2_000 and len(link.text) <= SETTINGS.anchor_length for link in found.links)


def test_of_a_hundred_thousand_links_the_maximum_of_the_settings_is_kept() -> None:
    found = gathered("".join(f"<a href=/{i}>" for i in range(100_000)))
    assert len(found.links) == SETTINGS.max_links
    assert found.flags & VisitFlag.MANY_LINKS


def test_attributes_without_a_closing_quote_end() -> None:
    assert links('<a href="/x>one</a> <a class="y" href=/z>two</a>') == ["/x%3Eone%3C/a%3E%20%3Ca%20class="]
    assert links("<a href=/x title=\"it's>one</a> <p class=\"\"><a href='/z'>two</a>") == ["/x", "/z"]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<!-- never closed <a href="/x">x</a>', []),
        ('<script>never closed <a href="/x">x</a>', []),
        ('<style>never closed <a href="/x">x</a>', []),
        ('<textarea>never closed <a href="/x">x</a>', []),
        ('<plaintext><a href="/x">x</a>', []),
        ('<a href="/be\0fore">x</a><a\0 href="/y">y</a>', ["/be%EF%BF%BDfore"]),
        ('<a href="/x&amp;y&lt">x</a>', ["/x&y%3C"]),
        ('<frameset><frame src="/f"><frame src="/g"></frameset>', ["/f", "/g"]),
        ('<iframe src="/f"><a href="/no">x</a></iframe>', ["/f"]),
        ("<a href='/x' href='/y'>x</a>", ["/x"]),
        ("<A HREF=/x/>x</A>", ["/x/"]),
    ],
)
def test_markup_is_read_as_browsers_read_it(html: str, found: list[str]) -> None:
    assert links(html) == found


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ('<base href="http://other.example/c/">', "http://other.example/c/x"),
        ('<base href="javascript:alert(1)">', "/a/x"),
        ('<base href="data:text/html,y">', "/a/x"),
        ('<base href="http://[::1">', "/a/x"),
        ('<base href="mailto:a@b.example">', "/a/x"),
        ('<base href="c/"><base href="http://other.example/">', "/a/c/x"),
        ('<base target="_top"><base href="/c/">', "/c/x"),
        ('<base href="">', "/a/x"),
        ('<base href="//[">', "/a/x"),
    ],
)
def test_a_base_counts_only_if_it_is_a_url(base: str, target: str) -> None:
    assert links(f"{base}<a href=x>x</a>") == [target]


@pytest.mark.parametrize("long", ["x/" * 1_000, "x/" * 100_000, "ü/" * 400, "x" * 100_000 + "/", "/" * 3_000])
def test_a_base_that_is_too_long_is_never_joined(long: str) -> None:
    """Links that are relative to its path are too long; those that need only its host are not."""
    relative = "<a href=x>1</a><a href=./y>2</a><a href=?q>3</a><a href=../z>4</a><a href=http:odd>5</a>"
    absolute = "<a href=/a>1</a><a href=//c.example/b>2</a><a href=http://d.example/>3</a><a href=mailto:x@y>4</a>"
    found = gathered(f'<base href="http://b.example/{long}">{relative}{absolute}{WORDS}')
    assert [link.url for link in found.links] == ["http://b.example/a", "http://c.example/b", "http://d.example/"]
    assert (found.counted[Counted.TOO_LONG], found.counted[Counted.NOT_HTTP]) == (5, 1)
    assert found.out_degree == 9
    assert b"too_long\t\tb.example\t5\n" in found.seen


def test_a_base_as_long_as_a_url_may_be_is_joined() -> None:
    base = f"http://b.example/{'x' * (1_999 - len('http://b.example/'))}/"
    assert [link.url for link in gathered(f"<base href={base}><a href=/y>1</a><a href=z>2</a>").links] == [
        "http://b.example/y"
    ]
    short = base[:-50] + "/"
    assert gathered(f"<base href={short}><a href=z>2</a>").links[0].url == f"{short}z"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("0;url=/x", ["/x"]),
        ("86400; url=/x", ["/x"]),
        ("0; url='/x", ["/x"]),
        ("0;  URL  =  /x", ["/x"]),
        ("0 /x", ["/x"]),
        ("0;url=/a/b.html", []),
        ("0;url=", []),
        ("5", []),
        ("0;url=javascript:alert(1)", []),
        ("0;url=/login", []),
        ("soon; url=/x", []),
    ],
)
def test_a_meta_refresh_is_a_redirect_unless_to_the_page_itself(content: str, found: list[str]) -> None:
    page = gathered(f'<meta http-equiv="refresh" content="{content}">{WORDS}')
    assert [link.url.removeprefix("http://example.org") for link in page.links] == found
    assert all(link.kind is LinkKind.REDIRECT for link in page.links)


def test_very_long_titles_words_attributes_and_urls_are_cut_or_counted() -> None:
    long = "a" * 1_000_000
    found = gathered(f'<title>{long}</title><p title="{long}">{long}<a href="/{long}">x</a><a href="/y">{long}</a>')
    assert found.title == long[:LONGEST_TITLE]
    assert [(link.url, len(link.text)) for link in found.links] == [("http://example.org/y", SETTINGS.anchor_length)]
    assert found.counted[Counted.NOT_HTTP] == 1
    assert found.text_length == 2_000_001


def test_attributes_of_many_html_tags_are_bounded_together() -> None:
    html = "".join(f"<html a{i}=1>" for i in range(2 * MOST_ATTRIBUTES)) + f"{WORDS}<a href=/x>x</a>"
    assert links(html + " " * 40_000) == []
    few = "<html lang=en><body class=x><body class=y><html lang=de>" + WORDS * 400
    assert links(f"{few}<a href=/x>x</a>") == ["/x"]


def test_data_after_a_thousand_empty_gzip_members_is_not_read() -> None:
    empty, word = gzip.compress(b""), gzip.compress(b"word")
    assert decode(word + empty * 900 + word, "gzip", 1_000).data == b"wordword"
    body = word + empty * 200_000 + word
    assert decode(body, "gzip", 1_000).data == b"word"
    assert takes_less(lambda: decode(body, "gzip", 1_000), than=0.1)
