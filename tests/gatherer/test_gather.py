"""Tests of gathering a page: links, directives, title, text, digest, charset, and bounds."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import Counted, LinkFlag, LinkKind, VisitFlag
from gossamer.config.settings import GathererSettings
from gossamer.gatherer.charset import codec, decode
from gossamer.gatherer.directives import of_header, refresh_target
from gossamer.gatherer.gather import LONGEST_TITLE, gather
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.markup.limits import DEEPEST, MOST_TAGS, bounded
from gossamer.urls import Scope, canonical
from tests.support.strategies import LINK_PIECES, joined
from tests.support.timing import takes_less

URL = "https://example.org/a/page.html"
SCOPE = Scope(("example.org",))
PROSE = "<p>The quick brown fox jumps over the lazy dog, and then some more of it.</p>"


def page(
    html: str | bytes,
    url: str = URL,
    content_type: str = "text/html; charset=utf-8",
    robots: tuple[str, ...] = (),
    scope: Scope = SCOPE,
    most: int = 5_000,
) -> Gathered:
    body = html.encode() if isinstance(html, str) else html
    return gather(url, content_type, robots, body, GathererSettings(max_links=most), scope, "Gossamer")


def links(html: str) -> dict[str, tuple[LinkKind, int]]:
    return {link.url: (link.kind, link.flags) for link in page(html).links}


def test_every_kind_of_link_is_found() -> None:
    found = links(
        '<head><link rel=canonical href="/c"><link rel="alternate" hreflang=de href="/de">'
        '<link rel=stylesheet href="/s?x">'
        '<link rel=alternate type="application/rss+xml" href="/rss">'
        "<meta http-equiv=Refresh content=\"3; URL='/next'\"></head>"
        '<a href="x">1</a><map><area href="../y"></map><iframe src="/f"></iframe>'
        '<img src="/i"><script src="/j?1"></script>'
        '<video src="/v"><source src="/w"></video><object data="/o"></object><embed src="/e"><audio src="/au"></audio>'
    )
    site = "https://example.org"
    embedded = {f"{site}{p}": (LinkKind.EMBEDDED, 0) for p in ("/i", "/v", "/w", "/o", "/e", "/au")}
    dynamic = {f"{site}{p}": (LinkKind.EMBEDDED, LinkFlag.DYNAMIC) for p in ("/j?1", "/s?x")}
    assert found == embedded | dynamic | {
        f"{site}/a/x": (LinkKind.ANCHOR, 0),
        f"{site}/y": (LinkKind.ANCHOR, 0),
        f"{site}/f": (LinkKind.FRAME, 0),
        f"{site}/c": (LinkKind.CANONICAL, 0),
        f"{site}/de": (LinkKind.ALTERNATE, 0),
        f"{site}/next": (LinkKind.REDIRECT, 0),
    }


def test_framesets_are_read() -> None:
    assert links('<frameset><frame src="left"><frame src="right"></frameset>') == {
        "https://example.org/a/left": (LinkKind.FRAME, 0),
        "https://example.org/a/right": (LinkKind.FRAME, 0),
    }


def test_base_is_honoured_once() -> None:
    assert list(links('<base target=x><base href="/other/"><base href="/third/"><a href="x">1</a>')) == [
        "https://example.org/other/x"
    ]
    assert list(links('<base href="javascript:x"><a href="x">1</a>')) == ["https://example.org/a/x"]


def test_a_target_found_twice_keeps_its_first_kind_and_is_nofollow_only_if_always() -> None:
    found = links(
        '<img src="x"><a rel="nofollow" href="x#1">1</a><a href="x#2">2</a>'
        '<a rel="UGC noopener" href="y">3</a><a rel=sponsored href="y">3</a>'
    )
    assert found == {
        "https://example.org/a/x": (LinkKind.ANCHOR, 0),
        "https://example.org/a/y": (LinkKind.ANCHOR, LinkFlag.NOFOLLOW),
    }


@pytest.mark.parametrize("rel", ["nofollow,noopener", "ugc,nofollow", "noopener; NoFollow", "x,\tsponsored ;y"])
def test_words_of_rel_may_be_separated_by_commas(rel: str) -> None:
    assert links(f'<a rel="{rel}" href="x">1</a>')["https://example.org/a/x"][1] == LinkFlag.NOFOLLOW
    assert links('<a rel="nofollowing,no-ugc" href="x">1</a>')["https://example.org/a/x"][1] == 0


def test_the_page_itself_and_fragments_are_not_links() -> None:
    gathered = page('<a href="#top">1</a><a href="page.html#x">2</a><a href="">3</a><a href>4</a><a name=x>5</a>')
    assert gathered.links == []
    assert gathered.out_degree == 0


def test_targets_that_cannot_become_pages_are_counted() -> None:
    gathered = page(
        '<a href="x.pdf">1</a><a href="x.pdf#page=2">1</a><img src="a.png"><img src="https://cdn.example.com/b.jpg">'
        '<a href="https://other.example.com/">o</a><a href="mailto:x@example.org">m</a><a href="javascript:x()">j</a>'
        f'<a href="/{"l" * 3000}">long</a><a href="/ok">ok</a><img src="data:image/png;base64,{"A" * 50_000}"><a href="http://[x">bad</a>'
    )
    counted = {Counted(i).name: n for i, n in enumerate(gathered.counted) if n}
    assert counted == {"IMAGE": 2, "DOCUMENT": 1, "OUT_OF_SCOPE": 1, "TOO_LONG": 1, "NOT_HTTP": 4}
    assert [link.url for link in gathered.links] == ["https://example.org/ok"]
    assert gathered.out_degree == 10


def test_session_parameters_of_the_scope_are_removed() -> None:
    one, two = 32 * "1", 32 * "2"
    html = (
        f'<a href="/x?sid={one}">1</a><a href="/x?sid={two}">1</a><a href="/x?tok={two}">1</a><a href="/x?sid=3">1</a>'
    )
    story = "https://example.org/x?sid=3"
    assert [link.url for link in page(html).links] == [
        "https://example.org/x",
        f"https://example.org/x?tok={two}",
        story,
    ]
    assert len(page(html, scope=Scope(("example.org",), session_ids=("tok",))).links) == 4
    older = Scope(("example.org",), form=1)
    assert [link.url for link in page(html, scope=older).links] == [
        "https://example.org/x",
        f"https://example.org/x?tok={two}",
    ]


@pytest.mark.parametrize(
    ("label", "word", "query"),
    [
        ("windows-1251", "тест", "%F2%E5%F1%F2"),
        ("shift_jis", "テスト", "%83e%83X%83g"),
        ("euc-kr", "한글", "%C7%D1%B1%DB"),
        ("gb18030", "中文", "%D6%D0%CE%C4"),
        ("iso-8859-2", "łódź", "%B3%F3d%BC"),
        ("utf-8", "тест", "%D1%82%D0%B5%D1%81%D1%82"),
        ("utf-16", "тест", "%D1%82%D0%B5%D1%81%D1%82"),
    ],
)
def test_the_query_of_a_link_is_in_the_charset_of_the_page(label: str, word: str, query: str) -> None:
    path = quote(word)
    html = f"<title>x</title><base href='/b/'><a href='/{word}?q={word}#{word}'>1</a>"
    found = page(html.encode(label), content_type=f"text/html; charset={label}")
    assert [link.url for link in found.links] == [f"https://example.org/{path}?q={query}"]
    older = page(html.encode(label), content_type=f"text/html; charset={label}", scope=Scope(("example.org",), form=1))
    assert [link.url for link in older.links] == [f"https://example.org/{path}?q={path}"]


def test_links_above_the_maximum_are_not_read() -> None:
    html = "".join(f'<a href="/{i}">x</a>' for i in range(20))
    assert len(page(html, most=10).links) == 10
    assert page(html, most=10).flags & VisitFlag.MANY_LINKS
    assert not page(html, most=20).flags & VisitFlag.MANY_LINKS


@pytest.mark.parametrize(
    ("head", "robots", "expected"),
    [
        ("<meta name=robots content='noindex'>", (), VisitFlag.NOINDEX),
        ("<META NAME=Robots CONTENT='NOFOLLOW , noarchive'>", (), VisitFlag.NOFOLLOW | VisitFlag.NOARCHIVE),
        ("<meta name=gossamer content=none>", (), VisitFlag.NOINDEX | VisitFlag.NOFOLLOW),
        ("<meta name=otherbot content=none>", (), 0),
        ("<meta content=noindex>", (), 0),
        ("", ("noindex, nofollow",), VisitFlag.NOINDEX | VisitFlag.NOFOLLOW),
        ("", ("otherbot: noindex", "Gossamer: noarchive"), VisitFlag.NOARCHIVE),
        (
            "<meta name=robots content='index, follow'>",
            ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex",),
            VisitFlag.NOINDEX,
        ),
    ],
)
def test_directives_of_page_and_header(head: str, robots: tuple[str, ...], expected: int) -> None:
    gathered = page(f"<head>{head}</head>{PROSE}<a href=x>x</a>", robots=robots)
    assert gathered.flags == expected
    assert bool(gathered.links[0].flags & LinkFlag.NOFOLLOW) == bool(expected & VisitFlag.NOFOLLOW)


def test_a_directive_of_a_header_holds_until_the_next_name() -> None:
    assert of_header(["otherbot: noindex, nofollow, gossamer: noarchive"], "Gossamer/1.0") == VisitFlag.NOARCHIVE


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/x", "/x"),
        ("5; URL = '/x y'", "/x y"),
        ('1,"/q"', "/q"),
        ("3; /plain", "/plain"),
        ("5", ""),
        ("", ""),
        (";url=/x", "/x"),
    ],
)
def test_targets_of_meta_refresh(content: str, target: str) -> None:
    assert refresh_target(content) == target


def test_title_is_folded_and_bounded() -> None:
    assert page("<title>\n  A\t b &amp; c </title><title>second</title>").title == "A b & c"
    assert page(f"<title>{'wörd ' * 200}</title>").title == ("wörd " * 60).strip()[:LONGEST_TITLE]
    assert page("<p>none").title == ""


def test_only_visible_text_counts() -> None:
    seen = page(
        "<title>t</title><style>s{}</style><p>one <b>two</b></p><script>var x</script><style>b{}</style><!-- no -->"
        "<div><template>t</template><SCRIPT>y</SCRIPT></div>"
    )
    assert seen.text_length == len("onetwo")


def test_the_digest_covers_text_and_resolved_links() -> None:
    first = page(f'{PROSE}<a href="x">l</a>')
    assert first.digest != 0
    assert first.digest == page(f'<div class="other">\n {PROSE} </div>\n<a title=t href="/a/x#f">l</a>').digest
    assert first.digest == page(f'{PROSE}<a href="x">l</a>', url="https://example.org/a/copy?id=1").digest
    assert first.digest != page(f'{PROSE}<a href="y">l</a>').digest
    assert first.digest != page(f'{PROSE}more<a href="x">l</a>').digest
    assert first.digest != page(f'{PROSE}<a href="x">l</a>', url="https://example.org/b/page.html").digest


def test_almost_empty_pages_have_no_digest() -> None:
    gathered = page("<p>Under construction</p>")
    assert (gathered.digest, gathered.flags) == (0, VisitFlag.EMPTY)
    assert page("").digest == 0
    assert page("x" * 10, content_type="text/plain").flags == VisitFlag.EMPTY


def test_plain_text_has_no_links() -> None:
    gathered = page('<a href="/x">not a link</a> but forty characters of text', content_type="text/plain")
    assert (gathered.links, gathered.out_degree, gathered.title) == ([], 0, "")
    assert gathered.digest != 0


@pytest.mark.parametrize("content_type", ["text/html", "Text/HTML; charset=x", "application/xhtml+xml", ""])
def test_html_has_links(content_type: str) -> None:
    assert page("<a href='/x'>1</a>", content_type=content_type).out_degree == 1


RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 20


@pytest.mark.parametrize(
    ("body", "declared", "charset"),
    [
        (b"\xef\xbb\xbfgr\xc3\xbcn", "iso-8859-1", "utf-8"),
        ("\ufeffgrün".encode("utf-16-le"), "utf-8", "utf-16-le"),
        ("\ufeffgrün".encode("utf-16-be"), "", "utf-16-be"),
        ("grün €".encode("cp1252"), "ISO-8859-1", "cp1252"),
        ("grün".encode("cp1252") + b" " * 10, "latin1", "cp1252"),
        (b"<meta charset='windows-1251'>" + RUSSIAN.encode("cp1251"), "", "cp1251"),
        (
            b"<meta http-equiv=content-type content='text/html; charset=koi8-r'>" + RUSSIAN.encode("koi8-r"),
            "",
            "koi8-r",
        ),
        (b"<meta charset=utf-16>gr\xc3\xbcn", "", "utf-8"),
        ("grün".encode(), "", "utf-8"),
        ("日本語".encode("cp932"), "shift_jis", "cp932"),
        ("中文".encode("gb18030"), "gb2312", "gb18030"),
        (RUSSIAN.encode("cp1251"), "", "cp1251"),
        ("grün".encode(), "no-such-charset", "utf-8"),
    ],
)
def test_the_charset_is_found(body: bytes, declared: str, charset: str) -> None:
    text, name = decode(body, declared)
    assert name == charset
    assert "\ufffd" not in text
    assert any(word in text for word in ("grün", "булок", "日本語", "中文"))
    assert not text.startswith("\ufeff")


def test_the_charset_of_the_header_is_read_in_every_spelling() -> None:
    for spelling in ("charset=windows-1251", 'charset="windows-1251"', "x=y; CHARSET=Windows-1251;z"):
        assert page(RUSSIAN.encode("cp1251"), content_type=f"text/html; {spelling}").charset == "cp1251"


def test_a_character_cut_at_the_end_is_still_utf_8() -> None:
    assert decode("grün ü".encode()[:-1], "") == ("grün \ufffd", "utf-8")


@pytest.mark.parametrize(
    "label", ["hex", "rot13", "idna", "unicode_escape", "utf-7", "zlib", "undefined", "", "\0", "x" * 1000]
)
def test_a_page_cannot_choose_arbitrary_python_codecs(label: str) -> None:
    assert codec(label) == ""


@given(st.binary(max_size=400), st.sampled_from(["", "utf-8", "utf-16le", "shift_jis", "iso-2022-jp", "gb2312"]))
@settings(deadline=None)
def test_any_bytes_are_gathered(body: bytes, charset: str) -> None:
    gathered = page(b"<a href=/x>" + body, content_type=f"text/html; charset={charset}")
    assert all(canonical(link.url) == link.url for link in gathered.links)
    assert gathered.text_length >= 0


@given(joined(LINK_PIECES, most=30))
@settings(deadline=None)
def test_gathering_is_pure_and_links_are_distinct_and_canonical(html: str) -> None:
    first = page(html)
    assert first == page(html)
    urls = [link.url for link in first.links]
    assert len(urls) == len(set(urls))
    assert all(canonical(url) == url for url in urls)
    assert URL not in urls
    assert first.out_degree == len(urls) + sum(first.counted)


@pytest.mark.parametrize(
    "nest", ["<div>", "<b>", "<div></x>", "<table><tr><td>", "<span><i>", "<div><marquee></div></marquee>", "<svg><g>"]
)
def test_a_million_nested_elements_are_bounded(nest: str) -> None:
    html = "<a href='/x'>1</a>" + nest * (4_000_000 // len(nest))
    assert takes_less(lambda: page(html), than=1)
    gathered = page(html)
    assert [link.url for link in gathered.links] == ["https://example.org/x"]


def left(html: str) -> str:
    """What the parser gets of a page."""
    return bounded(html)[0].decode()


@pytest.mark.parametrize("tag", ["<a href=/x>y</a>", "<!-->", "<!x>", "</p>", "<br>z"])
def test_pages_are_cut_at_the_maximum_number_of_tags(tag: str) -> None:
    few, many = tag * 20_000, tag * 200_000
    assert left(few) == few
    cut = left(many)
    assert cut.count("<") == MOST_TAGS
    assert many.startswith(cut)


def test_a_hundred_thousand_attributes_are_bounded() -> None:
    for value in ("", "=1", '=">"', "='<'", "=<>"):
        attributes = " ".join(f"x{i}{value}" for i in range(100_000))
        html = f"<a href='/x'>1</a><b {attributes}><a href='/y'>"
        assert [link.url for link in page(html).links][:1] == ["https://example.org/x"]
        assert takes_less(partial(page, html), than=1)


def test_wide_pages_are_not_cut() -> None:
    script = "<script>for (i<n; a<b) { '<div>' }</script><!-- <div><div> --><textarea><div></textarea>"
    wide = (
        f"<div title='<div>' x=\"'\"><ul><li>x<li>y</ul><p>z<br><b>b</b>{script}<img src='data:{'A' * 5_000}'></div>"
        * 1_500
        + "<div>" * (DEEPEST - 1)
    )
    assert left(wide) == wide
    assert len(left(wide + "<div>" * 10)) < len(wide) + 10


def test_a_worker_needs_no_numba_to_gather_or_to_read_robots_txt() -> None:
    code = "import sys, gossamer.gatherer.gather, gossamer.robots; print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
