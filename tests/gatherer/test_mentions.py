"""What pages mention: heading, canonical address, other languages, addresses out of scope."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import Counted, Mentioned
from gossamer.config.settings import GathererSettings, SeederSettings
from gossamer.gatherer.gather import gather
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.mentions import MOST, Mention, lines
from gossamer.urls import Scope

URL = "https://example.org/a/page.html"
SCOPE = Scope.of(SeederSettings(domains=("example.org",)))
DEFAULTS = GathererSettings()


def page(html: str, given: GathererSettings = DEFAULTS, headers: dict[str, str] | None = None) -> Gathered:
    return gather(URL, "text/html; charset=utf-8", (), html.encode(), given, SCOPE, "Gossamer", headers=headers)


def test_a_page_mentions_its_heading_and_how_many_it_has() -> None:
    assert page("<p>none</p>").mentions == [Mention("h1", "", "", 0)]
    assert page("<h1> One\n<b>title</b> </h1><h1>two</h1>").mentions == [Mention("h1", "One title", "", 2)]
    assert page("<h1><img alt=' the logo'></h1>").mentions == [Mention("h1", "the logo", "", 1)]
    assert page("<h1>x</h1>", replace(DEFAULTS, mentions=False)).mentions == []


def test_canonical_addresses_are_kept_as_the_page_writes_them() -> None:
    found = page("<link rel=canonical href='./x?b#c'><link rel=canonical href='https://www.example.org/y'>").mentions
    assert found[1:] == [
        Mention("canonical", "./x?b#c", "https://example.org/a/x?b"),
        Mention("canonical", "https://www.example.org/y", "https://example.org/y"),
    ]


def test_addresses_of_any_length_are_not_joined() -> None:
    for times, url in ((5, "https://example.org/x"), (6_000, "")):
        raw = "../" * times + "x"
        found = page(f"<link rel=canonical href='{raw}'><link rel=alternate hreflang=en href='{raw}'>").mentions
        assert [(each.kind, each.url) for each in found[1:]] == [("canonical", url), ("hreflang", url)]


def test_parts_by_http_of_a_page_by_https_are_mentioned_whatever_they_are() -> None:
    html = (
        "<img src='http://example.org/a.png'><img src='https://example.org/b.png'><img src='/c.png'>"
        "<a href='http://example.org/d.png'>a picture</a><img src='http://pictures.example/e.png'>"
    )
    found = page(html)
    assert [(each.kind, each.url) for each in found.mentions[1:]] == [
        ("part", "http://example.org/a.png"),
        ("part", "http://pictures.example/e.png"),
    ]
    assert found.counted[Counted.IMAGE] == 5
    plain = gather(URL.replace("https", "http"), "text/html", (), html.encode(), DEFAULTS, SCOPE, "Gossamer")
    assert [each.kind for each in plain.mentions] == ["h1"]


def test_versions_in_other_languages_have_their_language() -> None:
    html = (
        "<link rel=alternate hreflang=' DE-at ' href=/de><link rel=alternate hreflang=fr href='https://fr.example/'>"
        "<link rel=alternate type='application/rss+xml' href=/feed><link rel=alternate hreflang=x href='mailto:a@b'>"
    )
    assert page(html).mentions[1:] == [
        Mention("hreflang", "de-at", "https://example.org/de"),
        Mention("hreflang", "fr", "https://fr.example/"),
        Mention("hreflang", "x", ""),
    ]


def test_header_fields_mention_as_elements_do() -> None:
    fields = {"link": '<https://example.org/c>; rel="canonical", <https://example.org/es>; rel=alternate; hreflang=es'}
    assert page("<h1>x</h1>", headers=fields).mentions[1:] == [
        Mention("canonical", "https://example.org/c", "https://example.org/c"),
        Mention("hreflang", "es", "https://example.org/es"),
    ]


def test_links_out_of_scope_are_kept_with_text_and_www() -> None:
    html = (
        "<a href='https://www.other.example/p#x'>A  page</a><a href='https://other.example/doc.pdf'>PDF</a>"
        "<script src='https://cdn.example/lib.js'></script><img src='https://cdn.example/i.png'>"
        "<a href='/inside'>in</a><a href='/own.pdf'>own</a><a href='mailto:a@b.example'>mail</a>"
    )
    assert page(html).mentions[1:] == [
        Mention("external", "A page", "https://www.other.example/p"),
        Mention("external", "PDF", "https://other.example/doc.pdf"),
        Mention("part", "", "https://cdn.example/lib.js"),
    ]


def test_the_number_of_mentions_is_bounded() -> None:
    html = "".join(f"<a href='https://other.example/{i}'>x</a>" for i in range(2 * MOST))
    assert len(page(html).mentions) == MOST
    assert page(html).counted[Counted.OUT_OF_SCOPE] == 2 * MOST


def test_what_a_page_says_is_withheld_if_it_must_not_be_indexed() -> None:
    html = "<h1>Secret</h1><link rel=alternate hreflang=de href=/de><a href='https://other.example/'>secret</a>"
    assert page(html).withheld().mentions == [
        Mention("h1", "", "", 1),
        Mention("hreflang", "de", "https://example.org/de"),
        Mention("external", "", "https://other.example/"),
    ]


_SAID = st.text(max_size=12)


@given(_SAID, _SAID, _SAID)
@settings(deadline=None)
def test_mentions_are_lines_of_four_fields(text: str, reference: str, language: str) -> None:
    from html import escape

    text, reference, language = (escape(each) for each in (text, reference, language))
    html = (
        f"<h1>{text}</h1><link rel=canonical href='{reference}'><link rel=alternate hreflang='{language}' href=/x>"
        f"<a href='https://other.example/{reference}'>{text}</a>"
    )
    told = page(html)
    assert told.seen.endswith(lines(told.mentions))
    rows = told.seen.decode().split("\n")
    assert rows.pop() == ""
    assert all(len(row.split("\t")) == 4 and "\r" not in row for row in rows)
    assert told.mentions[0].kind == Mentioned.H1.name.lower()


def test_no_kind_of_mention_is_a_class_of_counted_links() -> None:
    assert not {kind.name for kind in Mentioned} & {of.name for of in Counted}
