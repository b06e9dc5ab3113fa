"""Conditional requests: vectors from RFC 9110, 13.1.2, 13.1.3, 13.2.2 and 15.4.5."""

from __future__ import annotations

import pytest

from gossamer.webs.demo.answer import DemoAnswer, simple
from gossamer.webs.demo.conditional import is_fresh

DATE = "Sat, 29 Oct 1994 19:43:31 GMT"
BEFORE, AFTER = "Sat, 29 Oct 1994 19:43:30 GMT", "Sat, 29 Oct 1994 19:43:32 GMT"


@pytest.mark.parametrize(
    ("etag", "asked", "fresh"),
    [
        ('"xyzzy"', '"xyzzy"', True),
        ('"xyzzy"', '"xyzzy", "r2d2xxxx", "c3piozzzz"', True),
        ('"xyzzy"', '"r2d2xxxx" ,, "xyzzy"', True),
        ('"xyzzy"', '"r2d2xxxx"', False),
        ('W/"1"', 'W/"1"', True),
        ('W/"1"', '"1"', True),
        ('"1"', 'W/"1"', True),
        ('W/"1"', 'W/"2"', False),
        ('"a,b"', '"a,b"', True),
        ('"a"', '"a,b"', False),
        ('""', '""', True),
        ('"xyzzy"', "*", True),
        ("", "*", True),
        ("", '""', False),
        ('"xyzzy"', "xyzzy", False),
        ('"xyzzy"', "", False),
        ('"xyzzy"', '"xyzzy" junk', False),
        ('"xyzzy"', '"XYZZY"', False),
    ],
)
def test_entity_tags_are_compared_weakly(etag: str, asked: str, fresh: bool) -> None:
    assert is_fresh(etag, "", {"if-none-match": asked}) is fresh


@pytest.mark.parametrize(
    ("asked", "fresh"),
    [
        (DATE, True),
        (AFTER, True),
        (BEFORE, False),
        ("Saturday, 29-Oct-94 19:43:31 GMT", True),
        ("Sat Oct 29 19:43:31 1994", True),
        ("Sat Oct 29 19:43:30 1994", False),
        ("1994-10-29T19:43:31Z", False),
        ("yesterday", False),
        ("", False),
        ("0", False),
    ],
)
def test_dates_are_compared_in_all_three_forms(asked: str, fresh: bool) -> None:
    assert is_fresh("", DATE, {"if-modified-since": asked}) is fresh
    assert is_fresh("", "", {"if-modified-since": asked}) is False


@pytest.mark.parametrize(("tag", "fresh"), [('"1"', True), ('"2"', False), ("junk", False)])
@pytest.mark.parametrize("since", [DATE, BEFORE])
def test_if_none_match_takes_precedence(tag: str, fresh: bool, since: str) -> None:
    assert is_fresh('"1"', DATE, {"if-none-match": tag, "if-modified-since": since}) is fresh


def answer(*fields: str, etag: str = "", modified: str = "") -> DemoAnswer:
    lines = "".join(f"{line}\r\n" for line in fields).encode()
    return DemoAnswer(200, lines, b"body", modified=modified, etag=etag)


def test_a_304_has_the_fields_that_a_cache_needs_and_no_others() -> None:
    fields = (
        "Content-Type: text/html", "Content-Length: 4", "Content-Encoding: gzip", "Vary: Accept-Encoding",
        'ETag: "1"', f"Last-Modified: {DATE}", "Cache-Control: max-age=5", "Expires: 0", "Content-Location: /a",
    )  # fmt: skip
    found = answer(*fields, etag='"1"', modified=DATE).under({"if-none-match": '"1"'})
    assert (found.status, found.body) == (304, b"")
    assert found.fields.decode().split("\r\n") == [
        "Vary: Accept-Encoding", 'ETag: "1"', "Cache-Control: max-age=5", "Expires: 0", "Content-Location: /a", ""
    ]  # fmt: skip


def test_a_304_without_etag_has_its_date() -> None:
    found = answer(f"Last-Modified: {DATE}", modified=DATE).under({"if-modified-since": DATE})
    assert (found.status, found.fields) == (304, f"Last-Modified: {DATE}\r\n".encode())


def test_only_a_200_becomes_a_304() -> None:
    assert simple(404).under({"if-none-match": "*"}).status == 404
    assert answer().under({}).status == 200
