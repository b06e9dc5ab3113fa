"""Events as feeds and pages: valid and harmless, whatever pages say."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from hypothesis import given, settings

from gossamer.base.escape import for_screen
from gossamer.collection.manifest import Meta
from gossamer.read.changes.events import Event, Mark, Place
from gossamer.read.changes.lines import difference
from gossamer.read.changes.shown import Shown, as_atom, as_html, as_json, lines
from tests.base.test_escape import ANYTHING, WORST, Elements

ATOM = "{http://www.w3.org/2005/Atom}"
META = Meta(1, 0, 0xBEEF, 1_790_000_000.0)
PLACE = Place("warc/000000.warc.gz", 10, 20)
EVENT = Event(
    7, "http://a.example/x?y=1", "a.example", 1_795_000_000.0, "changed", "major", "ok", 200, "Title", None,
    Mark(3, 4), 1_794_000_000.0, PLACE, PLACE, difference("old line", "new line"),
)  # fmt: skip


def shown(*events: Event, more: int = 0) -> Shown:
    return Shown("my-crawl", META, "since 7d", {"changed": len(events) + more}, events)


def made(title: str, target: str, line: str) -> Event:
    return replace(EVENT, title=title, target=target, lines=difference(f"{line} 1", f"{line} 2"))


@given(ANYTHING, ANYTHING, ANYTHING)
@settings(max_examples=60, deadline=None)
def test_a_feed_is_valid_whatever_pages_say(title: str, target: str, line: str) -> None:
    feed = ElementTree.fromstring("\n".join(as_atom(shown(made(title, target, line), EVENT), 0.0)).encode())
    entries = feed.findall(f"{ATOM}entry")
    for one in (feed, *entries):
        for name in ("id", "title", "updated"):
            (found,) = one.findall(f"{ATOM}{name}")
            assert found.text
    assert feed.find(f"{ATOM}author/{ATOM}name") is not None
    assert entries[0].findtext(f"{ATOM}title") == f"changed (major): {for_screen(title) or EVENT.url}"
    content = entries[0].find(f"{ATOM}content")
    assert content is not None
    assert content.get("type") == "html"
    read = Elements(content.text or "")
    assert set(read.tags) <= {"p", "a", "ul", "li", "ins", "del"}
    assert not target or for_screen(for_screen(target)) in read.text


@given(ANYTHING, ANYTHING, ANYTHING)
@settings(max_examples=60, deadline=None)
def test_a_page_of_changes_shows_what_pages_say_and_runs_nothing(title: str, target: str, line: str) -> None:
    plain = Elements("\n".join(as_html(shown(replace(made("", "x", "")), EVENT), 0.0)))
    read = Elements("\n".join(as_html(shown(made(title, target or "x", line), EVENT), 0.0)))
    assert set(read.tags) <= set(plain.tags) | {"li", "ul", "ins", "del"}
    assert {name for name, _ in read.attributes} <= {name for name, _ in plain.attributes} | {"class"}
    assert [value for name, value in read.attributes if name == "href"] == [EVENT.url, EVENT.url]
    assert for_screen(title) in read.text
    assert for_screen(target) in read.text


def test_ids_of_entries_are_those_of_the_visit_and_stay() -> None:
    other = replace(EVENT, mark=Mark(3, 5))
    first, later = (
        [each.text for each in ElementTree.fromstring("\n".join(as_atom(s, now))).iter(f"{ATOM}id")]
        for s, now in ((shown(EVENT), 1.0), (shown(other, EVENT), 2.0))
    )
    assert first == ["tag:gossamer.invalid,2026-09-21:000000000000beef", f"{first[0]}/7/3/4"]
    assert later == [first[0], f"{first[0]}/7/3/5", first[1]]


def test_an_empty_feed_has_a_time_and_a_page_says_that_there_is_nothing() -> None:
    nothing = Shown("c", META, "", {}, ())
    assert ElementTree.fromstring("\n".join(as_atom(nothing, 0.0))).findtext(f"{ATOM}updated") == "1970-01-01T00:00:00Z"
    assert "no events" in "".join(as_html(nothing, 0.0))
    assert list(lines(nothing)) == ["c: no events"]


def test_a_list_that_was_cut_says_how_to_see_more() -> None:
    cut = shown(replace(EVENT, title=WORST), more=2)
    assert list(lines(cut))[-1].startswith("2 older events not shown: --rows shows more")
    assert as_json(cut)["left_out"] == 2
    assert "2 older events" in "".join(as_html(cut, 0.0))
    assert not list(lines(shown(EVENT)))[-1].endswith("choose.")
