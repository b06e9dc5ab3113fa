"""Tests of links outside of <a>: header fields, relations of <link>, SVG; and of nofollow inside a site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.model import Counted, LinkFlag, LinkKind, Tag
from gossamer.config.settings import GathererSettings
from gossamer.gatherer.gather import gather
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.link_field import field_text, link_targets
from gossamer.urls import Scope
from tests.support.timing import grows_less

URL = "https://example.org/a/page.html"
PROSE = "<p>The quick brown fox jumps over the lazy dog, and then some more of it.</p>"
USUAL = GathererSettings()


def page(html: str, settings: GathererSettings = USUAL, kind: str = "text/html", **headers: str) -> Gathered:
    return gather(
        URL, kind, (), (PROSE + html).encode(), settings, Scope(("example.org", "b.test")), "x", headers=headers
    )


def found(gathered: Gathered) -> dict[str, LinkKind]:
    return {link.url.removeprefix("https://example.org"): link.kind for link in gathered.links}


def test_links_of_header_fields_are_read_like_their_elements() -> None:
    gathered = page(
        "<base href=/elsewhere/><a href=x>1</a>",
        refresh="5; url=later",
        link='</c>; rel=canonical, <de>;rel="alternate";hreflang=de, <n?p=2>; rel=next, <p>; REL=Prev, </s>; rel=icon',
    )
    assert found(gathered) == {
        "/elsewhere/x": LinkKind.ANCHOR,
        "/a/later": LinkKind.REDIRECT,
        "/c": LinkKind.CANONICAL,
        "/a/de": LinkKind.ALTERNATE,
        "/a/n?p=2": LinkKind.ANCHOR,
        "/a/p": LinkKind.ANCHOR,
    }
    assert {link.tag for link in gathered.links} == {Tag.A, Tag.HEADER}
    assert gathered.out_degree == 6


def test_links_of_header_fields_do_not_change_the_digest() -> None:
    with_them, without = page("<a href=x>1</a>", link="</c>; rel=next"), page("<a href=x>1</a>")
    assert with_them.digest == without.digest != 0
    assert len(with_them.links) == 2


def test_plain_text_has_the_links_of_its_header_fields() -> None:
    gathered = page("", kind="text/plain", link="</c>; rel=canonical, <mailto:x@example.org>; rel=next")
    assert found(gathered) == {"/c": LinkKind.CANONICAL}
    assert gathered.counted[Counted.NOT_HTTP] == 1
    assert gathered.out_degree == 2
    assert gathered.digest == page("", kind="text/plain").digest


def test_links_of_header_fields_are_read_only_if_the_settings_read_their_elements() -> None:
    neither = replace(USUAL, links=("a href",))
    assert found(page("", neither, link="</c>; rel=canonical", refresh="0; url=/r")) == {}
    one = replace(USUAL, links=("a href", "meta refresh"))
    assert found(page("", one, link="</c>; rel=canonical", refresh="0; url=/r")) == {"/r": LinkKind.REDIRECT}


def test_links_of_header_fields_count_for_the_maximum() -> None:
    many = ", ".join(f"</{n}>; rel=next" for n in range(50))
    assert len(page("<a href=/x>1</a><a href=/y>2</a>", replace(USUAL, max_links=10), link=many).links) == 10


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("<a>; rel=next", [("a", "next")]),
        ('<a>;rel="x NEXT" , <b>; title="a, <c>; rel=next"; rel=\'y\'', [("a", "x NEXT"), ("b", "'y'")]),
        ("<a>; rel=next; rel=prev", [("a", "next")]),
        ("< a >;; rel = next ;", [("a", "next")]),
        ("<a> rel=next", [("a", "")]),
        ('<a>; rel="next', [("a", "next")]),
        ("a; rel=next", []),
        ("", []),
    ],
)
def test_a_link_field_is_read_as_servers_write_it(value: str, expected: list[tuple[str, str]]) -> None:
    assert [(url, given.get("rel", "")) for url, given in link_targets(value)] == expected


def test_a_link_of_another_page_is_none_of_this_one() -> None:
    assert found(page("", link='</x>; rel=next; anchor="/other"')) == {}


@given(st.text())
def test_any_link_field_is_read(value: str) -> None:
    for url, given_with in link_targets(value):
        assert not {"<", ">"} & set(url)
        assert all(name == name.lower() for name in given_with)


@pytest.mark.parametrize("piece", [" ", ";", "; ", "<", "<>", ";a", "=", '"', "<a>;", "; a =", '="x'])
def test_a_link_field_takes_linear_time(piece: str) -> None:
    def work(size: int) -> Callable[[], object]:
        value = "<x>; rel" + piece * (size // len(piece)) + "<"
        return lambda: list(link_targets(value))

    assert grows_less(work, (6_000, 96_000), than=120)


def test_urls_of_header_fields_may_be_in_utf_8_or_in_any_bytes() -> None:
    assert field_text("/grün".encode().decode("latin-1")) == "/grün"
    assert field_text("/gr\xfcn") == "/gr%FCn"
    assert found(page("", link="</gr\xfcn>; rel=next")) == {"/gr%FCn": LinkKind.ANCHOR}


def test_next_and_prev_of_the_page_are_links() -> None:
    html = '<link rel=next href=2><link rel="x prev" href=0><link rel=previous href=00><link rel=prefetch href=3>'
    gathered = page(html)
    assert found(gathered) == dict.fromkeys(("/a/2", "/a/0", "/a/00"), LinkKind.ANCHOR)
    assert {link.tag for link in gathered.links} == {Tag.LINK}


def test_links_in_svg_may_use_xlink() -> None:
    html = '<svg><a xlink:href="/x"><text>in SVG</text></a><a href="/y" xlink:href="/z">2</a><a xlink:href="#f">3</a>'
    gathered = page(html)
    assert found(gathered) == dict.fromkeys(("/x", "/y"), LinkKind.ANCHOR)
    assert gathered.links[0].text == "in SVG"
    assert found(page('<a xlink:href="/x">not in SVG</a>')) == {}


def test_nofollow_inside_a_site_is_obeyed_unless_the_settings_say_otherwise() -> None:
    html = "<a rel=nofollow href=/x>1</a><a rel=ugc href=http://example.org/y>2</a><a rel=nofollow href=//b.test/>3</a>"
    flagged = [link.flags & LinkFlag.NOFOLLOW for link in page(html).links]
    assert flagged == [LinkFlag.NOFOLLOW] * 3
    lenient = replace(USUAL, nofollow_inside=False)
    assert [link.flags & LinkFlag.NOFOLLOW for link in page(html, lenient).links] == [0, 0, LinkFlag.NOFOLLOW]
    whole = page("<meta name=robots content=nofollow>" + html, lenient)
    assert [link.flags & LinkFlag.NOFOLLOW for link in whole.links] == [LinkFlag.NOFOLLOW] * 3, "the page says so"
