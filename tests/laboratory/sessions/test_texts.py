"""Texts in buffers: times, addresses, phrases."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.laboratory.sessions import made
from gossamer.laboratory.sessions.texts import (
    NO_TIME,
    Parts,
    Phrases,
    joined,
    none,
    numbers,
    packed,
    parts,
    statuses,
    times,
)


def split(*addresses: str) -> Parts:
    return parts(joined(a.encode() for a in addresses), none(len(addresses)))


@given(st.lists(st.integers(0, 4_102_444_800), min_size=1, max_size=20))
def test_times_of_the_common_format_and_of_iso_are_read(seconds: list[int]) -> None:
    common = joined(made.stamp(each).encode() for each in seconds)
    iso = joined(datetime.fromtimestamp(each, UTC).isoformat().encode() for each in seconds)
    digits = joined(f"{each}.123".encode() for each in seconds)
    assert times(common).tolist() == times(iso).tolist() == times(digits).tolist() == seconds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("17/May/2015:10:05:03 +0200", (2015, 5, 17, 8, 5, 3)),
        ("2015-05-17T10:05:03.25-01:30", (2015, 5, 17, 11, 35, 3)),
        ("2015-05-17 10:05:03", (2015, 5, 17, 10, 5, 3)),
        ("29/feb/2024:00:00:00 +0000", (2024, 2, 29, 0, 0, 0)),
    ],
)
def test_zones_count(text: str, said: tuple[int, ...]) -> None:
    assert times(joined([text.encode()])).tolist() == [calendar.timegm((*said, 0, 0, 0))]


@pytest.mark.parametrize(
    "text", ["", "-", "yesterday", "17/Foo/2015:10:05:03 +0000", "2015-05-17T25:05:03Z", "99/May/2015"]
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert times(joined([text.encode()])).tolist() == [NO_TIME]


def test_milliseconds_are_read() -> None:
    assert times(joined([b"1431857103123"])).tolist() == [1431857103]


def test_statuses_have_three_digits() -> None:
    assert statuses(joined([b"200", b"20", b"2000", b"2x0", b""])).tolist() == [200, 0, 0, 0, 0]


def test_a_referer_names_the_page_that_was_asked_for() -> None:
    same = split("/a/b.html?x=1", "http://www.example.org/a/b.html?x=1", "https://example.org:8080/a/b.html?x=1#top")
    assert len(set(same.page.tolist())) == 1
    assert same.host[0] == 0
    assert same.host[1] == same.host[2] != 0
    root = split("/", "http://example.org", "http://EXAMPLE.org/", "http://example.org/#x", "http://example.org?")
    assert len(set(root.page.tolist())) == 1
    assert root.home.all()
    assert len(set(split("/a", "/a?", "/a/", "/b", "/a?b").page.tolist())) == 4


def test_a_query_may_stand_apart() -> None:
    apart = parts(joined([b"/a", b"/a"]), joined([b"x=1", b"-"]))
    assert apart.page.tolist() == split("/a?x=1", "/a").page.tolist()


def test_extensions_and_directories() -> None:
    found = split(
        "/a.b/c", "/x/y/z.HTML", "/z.tar.gz", "/s.png?v=.css", "/p;q.r", "/dir/", "/toolongextension.abcdefghi"
    )
    wanted = ["", "html", "gz", "png", "r", "", ""]
    assert found.extension.tolist() == [packed(each) if each else 0 for each in wanted]
    assert found.directories.tolist() == [1, 2, 0, 0, 0, 1, 0]


def test_home_pages() -> None:
    found = split("/", "/index.html", "/Index.php", "/a/", "/a/index.html", "/?p=1", "/about.html")
    assert found.home.tolist() == [True, True, True, False, False, False, False]


@given(st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=5), st.text("abcABC", max_size=20))
def test_phrases_are_found_wherever_they_are(phrases: list[str], text: str) -> None:
    found = Phrases.of(phrases).are_in(joined([text.encode()])).tolist()
    assert found == [any(phrase in text.lower() for phrase in phrases)]


def test_escapes_are_read_once() -> None:
    phrases = Phrases.of(["<script", "../.."])
    texts = [b"/?q=%3CScript%3e", b"/%2e%2e/%2E%2e/etc", b"/%253Cscript", b"/100%", b"/%zz"]
    assert phrases.are_in(joined(texts)).tolist() == [True, True, False, False, False]


def test_equal_texts_have_equal_numbers() -> None:
    found = numbers(joined([b"a", b"b", b"a", b""])).tolist()
    assert found[0] == found[2]
    assert len(set(found)) == 3
