"""Tests of directives, with and without dates, and of preferences for the use of content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.model import VisitFlag
from gossamer.gatherer.directives import moment, of_header, of_meta
from gossamer.gatherer.preferences import LIMIT, lines, of_headers

PAST = VisitFlag.NOINDEX | VisitFlag.UNAVAILABLE
NOON = 1277467200.0
"""2010-06-25, 12:00 UTC."""
DAY = 86_400.0

DATES = {
    "25 Jun 2010 12:00:00 GMT": NOON,
    "Fri, 25 Jun 2010 12:00:00 +0000": NOON,
    "25 Jun 2010 04:00:00 PST": NOON,
    "25-Jun-2010 07:00:00 EST": NOON,
    "Friday, 25-Jun-10 12:00:00 GMT": NOON,
    "25 June 2010 12:00 UTC": NOON,
    "2010-06-25T12:00:00Z": NOON,
    "2010-06-25T14:00:00+02:00": NOON,
    "2010-06-25T14:00:00.000+0200": NOON,
    "2010-06-25 12:00": NOON,
    "2010-06-25": NOON + DAY / 2,
    "25 Jun 2010": NOON + DAY / 2,
}


@pytest.mark.parametrize("date", DATES)
def test_dates_are_parsed_in_every_common_format(date: str) -> None:
    assert moment(date.lower()) == DATES[date]


@pytest.mark.parametrize("date", DATES)
def test_a_page_counts_as_noindex_once_its_date_has_passed(date: str) -> None:
    dated = f"unavailable_after: {date}"
    for now, expected in ((DATES[date] - 1, 0), (DATES[date], PAST)):
        for content in (dated, f"Nofollow, {dated}", f"{dated}, nofollow", f"noarchive,{dated} , nofollow"):
            assert of_meta(content, now) & PAST == expected
            assert of_header([content], "Gossamer", now) & PAST == expected
            assert of_header([f"gossamer: {content}"], "Gossamer", now) & PAST == expected
    assert of_header([f"otherbot: {dated}"], "Gossamer", DATES[date] + 1) == 0
    assert of_header([f"noarchive, {dated}, nofollow"], "Gossamer") == VisitFlag.NOARCHIVE | VisitFlag.NOFOLLOW
    assert of_meta(f"{dated}, nofollow") == VisitFlag.NOFOLLOW


@pytest.mark.parametrize("date", ["", "soon", "2010-13-45", "99 Foo 2010", "25 Jun", ":", "2010", "never, ever"])
def test_an_invalid_date_is_ignored_and_hides_no_directive(date: str) -> None:
    dated = f"unavailable_after: {date}"
    assert of_meta(dated, 4e9) == of_header([dated], "Gossamer", 4e9) == 0
    assert of_header([f"{dated}, noindex"], "Gossamer", 4e9) == VisitFlag.NOINDEX
    assert of_meta(f"{dated}, noindex", 4e9) == VisitFlag.NOINDEX


NOINDEX, NOFOLLOW, NOARCHIVE = VisitFlag.NOINDEX, VisitFlag.NOFOLLOW, VisitFlag.NOARCHIVE
WORDS = {
    "noindex; nofollow": NOINDEX | NOFOLLOW,
    "noindex;nofollow": NOINDEX | NOFOLLOW,
    "noindex nofollow": NOINDEX | NOFOLLOW,
    "noindex,nofollow": NOINDEX | NOFOLLOW,
    "NoIndex ,\tNOFOLLOW;": NOINDEX | NOFOLLOW,
    "; noarchive ;, none": NOINDEX | NOFOLLOW | NOARCHIVE,
    "max-snippet:-1; noindex": NOINDEX,
    "noindex; max-snippet: 5, nofollow": NOINDEX | NOFOLLOW,
    "noarchive max-image-preview: none": NOARCHIVE,
    "max-image-preview:none": VisitFlag(0),
    "unavailable_after: 25 Jun 2010 12:00:00 GMT; noarchive": PAST | NOARCHIVE,
    "noarchive unavailable_after 2010-06-25T12:00:00Z nofollow": PAST | NOARCHIVE | NOFOLLOW,
    "unavailable_after: 99:99 noarchive": NOARCHIVE,
    "index, follow": VisitFlag(0),
    "noindexing no-follow": VisitFlag(0),
    "": VisitFlag(0),
}
OF_NAMES = {
    "gossamer: noindex; nofollow": NOINDEX | NOFOLLOW,
    "gossamer : noindex nofollow": NOINDEX | NOFOLLOW,
    "Gossamer/1.0: none": NOINDEX | NOFOLLOW,
    "otherbot: noindex; nofollow": VisitFlag(0),
    "noarchive; otherbot: noindex nofollow": NOARCHIVE,
    "noarchive otherbot: noindex": NOARCHIVE,
    "otherbot: noindex, gossamer: nofollow": NOFOLLOW,
    "otherbot: noindex; *: noarchive": NOARCHIVE,
    "otherbot: unavailable_after: 25 Jun 2010; gossamer: nofollow": NOFOLLOW,
}


@pytest.mark.parametrize("content", WORDS)
def test_directives_are_read_with_any_separator(content: str) -> None:
    assert of_meta(content, 4e9) == of_header([content], "Gossamer", 4e9) == WORDS[content]


@pytest.mark.parametrize("value", OF_NAMES)
def test_directives_of_a_header_apply_to_the_crawler_they_name(value: str) -> None:
    assert of_header([value], "Gossamer", 4e9) == OF_NAMES[value]


@given(st.text(), st.floats(0, 4e9))
def test_any_text_is_accepted_as_directives(text: str, now: float) -> None:
    """A date next to a directive never hides the directive."""
    assert of_meta(f"noindex, unavailable_after: {text}", now) & VisitFlag.NOINDEX
    assert of_header([text, f"nofollow, unavailable_after: {text}"], "Gossamer", now) & VisitFlag.NOFOLLOW


def test_preferences_of_headers_are_found() -> None:
    headers = {
        "content-usage": "train-ai=n",
        "tdm-reservation": "1",
        "tdm-policy": "https://example.org/policy.json",
        "link": '</s.css>; rel=preload; as=style, <https://example.org/l>; type="a, b"; rel="up License", </x>; rel=up',
        "license": "not a header that says so",
        "content-type": "text/html",
    }
    assert lines(of_headers(headers)).split("\n") == [
        "content-usage: train-ai=n",
        "tdm-reservation: 1",
        "tdm-policy: https://example.org/policy.json",
        "license: https://example.org/l",
    ]
    assert of_headers({"link": "</a>; rel=licensed, </license>; rel=next"}) == []
    assert lines([]) == ""


_preferences = st.lists(
    st.tuples(st.sampled_from(("Content-Usage", "tdm-policy")), st.text(max_size=2_000)), max_size=30
)


@given(_preferences)
def test_preferences_are_bounded_lines(preferences: list[tuple[str, str]]) -> None:
    found = lines(preferences)
    kept = found.split("\n") if found else []
    assert len(kept) == len(set(kept))
    assert len(found.encode()) < LIMIT
    for line in kept:
        name, colon, value = line.partition(": ")
        assert (name in ("content-usage", "tdm-policy", "left-out"), colon, bool(value.strip())) == (True, ": ", True)
        assert line.isprintable()


def test_preferences_of_robots_txt_are_stored_and_missing_lines_are_counted() -> None:
    preferences = [("Content-Usage", " train-ai=y"), *(("Content-Usage", f" /d{i}/ train-ai=n") for i in range(40))]
    assert lines(preferences).split("\n") == [f"content-usage:{value}" for _, value in preferences]
    preferences = [("tdm-policy", "x" * LIMIT), ("content-usage", "train-ai=n\0"), ("left-out", " 3 lines")]
    assert lines(preferences).split("\n") == [
        "content-usage: train-ai=n\ufffd",
        "left-out: 3 lines",
        "left-out: 1 line",
    ]
