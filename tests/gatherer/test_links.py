"""Tests of links: by settings, their texts, and links that are counted and not fetched."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import Counted, LinkFlag, LinkKind, Tag
from gossamer.config.settings import GathererSettings, SeederSettings
from gossamer.gatherer.gather import gather, redirected
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.links import MOST_LINES, REST, Link, Seen, scheme
from gossamer.urls import Scope
from tests.support.timing import takes_less

URL = "https://example.org/a/page.html"
SEEDER = SeederSettings(domains=("example.org",))
DEFAULTS = GathererSettings()


def page(html: str, given: GathererSettings = DEFAULTS, seeder: SeederSettings = SEEDER, url: str = URL) -> Gathered:
    return gather(url, "text/html; charset=utf-8", (), html.encode(), given, Scope.of(seeder), "Gossamer")


def texts(html: str, given: GathererSettings = DEFAULTS) -> dict[str, str]:
    return {link.url.removeprefix("https://example.org"): link.text for link in page(html, given).links}


def lines(gathered: Gathered) -> list[tuple[str, ...]]:
    """Those of counted links."""
    rows = [tuple(line.split("\t")) for line in gathered.seen.decode().split("\n")[:-1]]
    return rows[: len(rows) - len(gathered.mentions)]


def test_a_link_has_the_folded_text_of_its_element() -> None:
    assert texts("<a href=/x>\n one <b>two</b>\t&amp;  <i>three</i></a><a href=/y></a><a href=/z> </a>") == {
        "/x": "one two & three",
        "/y": "",
        "/z": "",
    }


def test_the_text_of_a_link_is_bounded() -> None:
    found = texts(f"<a href=/x>{'wörd ' * 1000}</a><a href=/y>{' ' * 300}late</a>", replace(DEFAULTS, anchor_length=9))
    assert found == {"/x": "wörd wörd", "/y": ""}
    assert len(texts(f"<a href=/x>{'x' * 1000}</a>")["/x"]) == 200


def test_a_link_without_text_has_the_text_of_its_image() -> None:
    assert texts(
        "<a href=/x><img src=i.png alt=' the\nlogo '></a><a href=/y><img alt=logo>words</a>"
        "<a href=/z><span><img><img alt=''><img alt=third></span></a><map><area href=/w alt='a  corner'></map>"
    ) == {"/x": "the logo", "/y": "words", "/z": "third", "/w": "a corner"}


def test_scripts_and_styles_are_not_text_of_a_link() -> None:
    html = "<a href=/x><svg><style>.a{}</style></svg><script>f()</script>seen<template>t</template></a>"
    assert texts(html) == {"/x": "seen"}
    assert texts(html, replace(DEFAULTS, drop=())) == {"/x": ".a{}f()seen"}


def test_a_dropped_element_keeps_its_links_and_their_texts() -> None:
    given = replace(DEFAULTS, drop=("nav", "script"))
    gathered = page("<nav><a href=/x>menu</a><script src='/j?1'></script></nav><p>words</p>", given)
    assert [(link.url, link.text) for link in gathered.links] == [
        ("https://example.org/x", "menu"),
        ("https://example.org/j?1", ""),
    ]
    assert gathered.text_length == len("words")


def test_the_first_text_that_is_not_empty_gives_text_and_position() -> None:
    html = (
        "<a name=top></a><a href=/x></a><a href='/x#part'>second</a><a href=/x>third</a><map><area href=/y></map>"
        "<a href=/y rel=nofollow>y</a>"
    )
    assert page(html).links == [
        Link("https://example.org/x", LinkKind.ANCHOR, 0, "second", 2, Tag.A),
        Link("https://example.org/y", LinkKind.ANCHOR, 0, "y", 4, Tag.A),
    ]


def test_every_link_has_tag_and_position() -> None:
    html = (
        "<link rel=icon href=/no><link rel=canonical href=/c><meta name=x content=y>"
        "<meta http-equiv=refresh content='0;url=/r'><a href=/a>t</a><img><img src='/i'><iframe></iframe>"
        "<iframe src=/f></iframe><object data=/o></object><script></script><script src='/j?'></script>"
    )
    found = {link.url.removeprefix("https://example.org"): (link.tag, link.position) for link in page(html).links}
    assert found == {
        "/c": (Tag.LINK, 1),
        "/r": (Tag.META, 1),
        "/a": (Tag.A, 0),
        "/i": (Tag.IMG, 1),
        "/f": (Tag.IFRAME, 1),
        "/o": (Tag.OBJECT, 0),
        "/j": (Tag.SCRIPT, 1),
    }


def test_without_anchors_link_texts_are_not_read() -> None:
    html = "<a href=/x>one</a><a href=/x>two</a><area href=/y alt=three>"
    assert texts(html, replace(DEFAULTS, anchors=False)) == {"/x": "", "/y": ""}
    assert page(html, replace(DEFAULTS, anchors=False)).links[0].position == 0


def test_only_the_elements_of_the_settings_bear_links() -> None:
    html = (
        "<link rel=canonical href=/c><meta http-equiv=refresh content='0;url=/r'><a href=/a data-to=/d>t</a>"
        "<form action=/f></form><img src=/i longdesc=/l><video poster=/v></video>"
    )

    def found(*links: str) -> dict[str, tuple[LinkKind, Tag]]:
        gathered = page(html, replace(DEFAULTS, links=links))
        return {link.url.removeprefix("https://example.org"): (link.kind, link.tag) for link in gathered.links}

    assert found() == {}
    assert found("a href") == {"/a": (LinkKind.ANCHOR, Tag.A)}
    assert found("link href") == {"/c": (LinkKind.CANONICAL, Tag.LINK)}
    assert found("meta refresh") == {"/r": (LinkKind.REDIRECT, Tag.META)}
    assert found("A  DATA-TO", "form action", "img longdesc", "video poster") == {
        "/d": (LinkKind.ANCHOR, Tag.A),
        "/f": (LinkKind.ANCHOR, Tag.OTHER),
        "/l": (LinkKind.ANCHOR, Tag.IMG),
        "/v": (LinkKind.EMBEDDED, Tag.VIDEO),
    }


def test_nested_links_do_not_take_quadratic_time() -> None:
    nest = "<a href='/{}'><table><tr><td>"
    html = "".join(nest.format(i) for i in range(300)) + "word " * 150_000
    assert takes_less(lambda: page(html), than=0.5)
    gathered = page(html)
    assert len(gathered.links) == 300
    assert gathered.links[0].text.startswith("word word")


def test_a_reference_with_www_is_marked_and_its_target_has_no_www() -> None:
    html = (
        "<a href='https://www.example.org/x'>1</a><a href='//WWW.example.org/y'>2</a><a href='//example.org/z'>3</a>"
        "<a href='/www.html'>4</a><a href='/q?u=http://www.example.org/'>5</a><a href='http://www.org/'>6</a>"
    )
    flags = {link.url: link.flags for link in page(html, seeder=replace(SEEDER, domains=("*",))).links}
    assert flags == {
        "https://example.org/x": LinkFlag.WWW,
        "https://example.org/y": LinkFlag.WWW,
        "https://example.org/z": 0,
        "https://example.org/www.html": 0,
        "https://example.org/q?u=http://www.example.org/": LinkFlag.DYNAMIC,
        "http://www.org/": 0,
    }
    kept = page(html, seeder=replace(SEEDER, domains=("*",), www=False)).links
    assert (kept[0].url, kept[0].flags) == ("https://www.example.org/x", 0)


def test_a_page_linked_with_www_is_still_the_page_itself() -> None:
    assert page("<a href='https://www.example.org/a/page.html#top'>self</a>").links == []


def test_links_that_are_not_fetched_are_counted_by_class_extension_and_domain() -> None:
    gathered = page(
        "<img src=1.png><img src=2.PNG?x><img src='https://cdn.images.example.com/3.jpg'><a href=/x.pdf>p</a>"
        "<a href='https://b.other.co.uk/'>o</a><a href='https://a.other.co.uk/x'>o</a><a href='http://10.1.2.3:8/'>o</a>"
        f"<a href='mailto:a@b.example'>m</a><a href='JavaScript:f()'>j</a><a href='x-y:z'>?</a>"
        f"<a href='/{'l' * 3000}'>long</a><a href=/login>in</a><a href=/page>page</a>"
    )
    assert lines(gathered) == [
        ("document", "pdf", "example.org", "1"),
        ("image", "jpg", "example.com", "1"),
        ("image", "png", "example.org", "2"),
        ("not_http", "javascript", "", "1"),
        ("not_http", "mailto", "", "1"),
        ("not_http", "other", "", "1"),
        ("out_of_scope", "", "10.1.2.3", "1"),
        ("out_of_scope", "", "other.co.uk", "2"),
        ("rejected", "", "example.org", "1"),
        ("too_long", "", "example.org", "1"),
    ]
    assert gathered.counted[Counted.REJECTED] == 1
    assert [link.url for link in gathered.links] == ["https://example.org/page"]


def test_accept_patterns_and_classes_come_from_the_settings() -> None:
    seeder = replace(SEEDER, accept=("/in/",), images=("html",), static=())
    gathered = page("<a href=/in/x>1</a><a href=/out/x>2</a><a href=/in/y.html>3</a>", seeder=seeder)
    assert [link.url for link in gathered.links] == ["https://example.org/in/x"]
    assert lines(gathered) == [("image", "html", "example.org", "1"), ("rejected", "", "example.org", "1")]


def test_a_page_without_links_counts_nothing() -> None:
    assert lines(page("<p>words")) == []


def test_lines_are_bounded_and_the_rarest_are_summed() -> None:
    html = "".join(f"<a href='https://site{i}.example/'>x</a>" for i in range(500))
    html += "<img src='https://often.example/1.png'><img src='https://often.example/2.png'>"
    gathered = page(html)
    found = lines(gathered)
    assert len(found) <= MOST_LINES
    assert ("image", "png", "often.example", "2") in found
    rest = [int(n) for of, ending, domain, n in found if (of, ending, domain) == ("out_of_scope", "", REST)]
    assert rest == [500 - (len(found) - 2)]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("mailto:x", "mailto"),
        (" TEL:1", "tel"),
        ("data:image/png;base64,AAAA", "data"),
        ("http://[x", "other"),
        ("", "other"),
    ],
)
def test_common_schemes_are_counted_by_name(raw: str, expected: str) -> None:
    assert scheme(raw) == expected


_targets = st.lists(
    st.sampled_from(
        [
            "/x",
            "/y.png",
            "z.PDF",
            "https://other.example/q",
            "http://a.example.com/b.zip",
            "mailto:x",
            "//[",
            "/login",
            "javascript:f",
            "/s?sid=1",
            "https://www.example.org/v",
            "page.html",
            "/" + "l" * 2_100,
        ]
    ),
    max_size=40,
)


@given(_targets)
@settings(deadline=None)
def test_the_lines_of_a_page_add_up_to_its_counts(targets: list[str]) -> None:
    gathered = page("".join(f"<a href='{t}'>t</a>" for t in targets))
    sums = dict.fromkeys((of.name.lower() for of in Counted), 0)
    for of, _, _, count in lines(gathered):
        sums[of] += int(count)
    assert list(sums.values()) == gathered.counted
    assert lines(gathered) == sorted(lines(gathered))
    assert gathered.out_degree == len(gathered.links) + sum(gathered.counted)


def test_a_redirect_is_judged_like_a_link() -> None:
    scope = Scope.of(SEEDER)
    assert redirected("https://www.example.org/x?a", URL, scope).links == [
        Link("https://example.org/x?a", LinkKind.REDIRECT, LinkFlag.DYNAMIC | LinkFlag.WWW, "", 0, Tag.HEADER)
    ]
    assert redirected("page.html#x", URL, scope) == Gathered()
    assert redirected("//www.example.org/a/page.html", URL, scope) == Gathered()
    away = redirected("https://other.example/", URL, scope)
    assert (away.links, away.counted[Counted.OUT_OF_SCOPE], away.out_degree) == ([], 1, 1)
    assert away.seen == b"out_of_scope\t\tother.example\t1\n"
    assert redirected("ftp://example.org/", URL, scope).seen == b"not_http\tftp\t\t1\n"


def test_an_empty_tally_has_a_place_for_every_class() -> None:
    assert Seen().counted == [0] * len(Counted) == Gathered().counted
