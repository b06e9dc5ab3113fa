"""Conditional requests and lifetimes: RFC 9110, 13 and RFC 9111, 4.2."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.model import Ask, Assignment, Change, Validators
from gossamer.collection.versions import HEAD, Version
from gossamer.web.fetch.caching import compared, conditions, lifetime
from gossamer.web.message import HEAD as FRAME
from gossamer.web.message import decode_assignment, encode_assignment

DATE = b"Wed, 18 Nov 2026 10:00:00 GMT"
BOTH = int(Validators.BY_ETAG | Validators.BY_DATE)
DAY = 86_400.0


def text(etag: bytes = b"", modified: bytes = b"") -> bytes:
    head = bytearray(HEAD.itemsize)
    head[-2:] = len(etag).to_bytes(2, "little")
    return bytes(head) + etag + modified


def asked(version: bytes, allowed: int = BOTH) -> Assignment:
    place = (b"http://a.example/", "127.0.0.1", 80)
    return Assignment(1, Ask.PAGE, 2, 3, 4, *place, version=version, conditions=allowed)


@pytest.mark.parametrize(
    ("etag", "modified", "allowed", "fields"),
    [
        (b'"xyzzy"', b"", BOTH, [b'If-None-Match: "xyzzy"']),
        (b'W/"xyzzy"', DATE, BOTH, [b'If-None-Match: W/"xyzzy"', b"If-Modified-Since: " + DATE]),
        (b'""', b"", BOTH, [b'If-None-Match: ""']),
        (b"unquoted", b"", BOTH, [b"If-None-Match: unquoted"]),
        (b'"caf\xe9"', b"", BOTH, [b'If-None-Match: "caf\xe9"']),
        (b'"a\nb"', b"", BOTH, []),
        (b'"a\r\nX: y"', DATE, BOTH, [b"If-Modified-Since: " + DATE]),
        (b"", b"Wednesday, 18-Nov-26 10:00:00 GMT", BOTH, [b"If-Modified-Since: Wednesday, 18-Nov-26 10:00:00 GMT"]),
        (b"", b"yesterday", BOTH, []),
        (b"", b"0", BOTH, []),
        (b'"x"', DATE, int(Validators.BY_DATE), [b"If-Modified-Since: " + DATE]),
        (b'"x"', DATE, int(Validators.BY_ETAG), [b'If-None-Match: "x"']),
        (b'"x"', DATE, int(Validators.TESTED), []),
        (b'"x"', DATE, 0, []),
        (b"", b"", BOTH, []),
    ],
)
def test_the_conditions_of_a_request(etag: bytes, modified: bytes, allowed: int, fields: list[bytes]) -> None:
    bits, found = conditions(asked(text(etag, modified), allowed))
    assert found == fields
    by = {b"If-None-Match": Validators.BY_ETAG, b"If-Modified-Since": Validators.BY_DATE}
    assert bits == sum(by[field.partition(b":")[0]] for field in fields)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_a_condition_is_one_line_whatever_the_server_said(etag: bytes, modified: bytes) -> None:
    for field in conditions(asked(text(etag, modified)))[1]:
        assert not set(field) & {*range(32), 127}


def test_an_assignment_travels_with_its_version() -> None:
    assignment = asked(text(b'"x"', DATE), 67)
    assert decode_assignment(encode_assignment(assignment)[FRAME.size :]) == assignment


def test_what_became_of_the_validators() -> None:
    before = asked(text(b'"1"', DATE))
    assert compared(before, None, True) == (Change.NONE, BOTH)
    now = Version(b"p" * 20, 1, 2, 3, etag=b'"2"', modified=DATE)
    other = Validators.OTHER_ETAG | Validators.SAME_DATE
    assert compared(before, now, False) == (Change.UNKNOWN, BOTH | other)
    assert compared(before._replace(conditions=0), now, False)[1] == other
    assert compared(before._replace(conditions=64), now, False)[1] == other | Validators.TESTED
    assert compared(asked(text(), 64), now, False)[1] == 0
    assert compared(before, None, False) == (Change.UNKNOWN, BOTH)


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({}, 0),
        ({"cache-control": "max-age=600"}, 600),
        ({"cache-control": "public, Max-Age=600"}, 600),
        ({"cache-control": 'max-age="600"'}, 600),
        ({"cache-control": "max-age=600, s-maxage=60"}, 60),
        ({"cache-control": "max-age=600, max-age=5"}, 600),
        ({"cache-control": "max-age=600", "age": "100"}, 500),
        ({"cache-control": "max-age=600", "age": "1000"}, 0),
        ({"cache-control": "max-age=600", "age": "young"}, 600),
        ({"cache-control": "max-age=600, no-cache"}, 0),
        ({"cache-control": "no-store, max-age=600"}, 0),
        ({"cache-control": 'private="set-cookie", max-age=60'}, 60),
        ({"cache-control": "max-age=-1"}, 0),
        ({"cache-control": "max-age"}, 0),
        ({"cache-control": "max-age=1e3"}, 0),
        ({"cache-control": f"max-age={10**30}"}, 1e9),
        ({"expires": "Thu, 19 Nov 2026 10:00:00 GMT", "date": DATE.decode()}, DAY),
        ({"expires": "Thu, 19 Nov 2026 10:00:00 GMT", "date": DATE.decode(), "age": "400"}, DAY - 400),
        ({"expires": "Thu, 19 Nov 2026 10:00:00 GMT", "date": DATE.decode(), "cache-control": "max-age=1"}, 1),
        ({"expires": "0"}, 0),
        ({"expires": DATE.decode(), "date": "Thu, 19 Nov 2026 10:00:00 GMT"}, 0),
    ],
)
def test_the_lifetime_of_an_answer(fields: dict[str, str], seconds: float) -> None:
    assert lifetime(fields) == seconds


def test_expires_counts_from_the_arrival_where_there_is_no_date() -> None:
    assert lifetime({"expires": "Thu, 19 Nov 2026 10:00:00 GMT"}, 1795082400.0 - 60) == 60


@given(st.fixed_dictionaries({}, optional={n: st.text() for n in ("cache-control", "expires", "age", "date")}))
def test_any_head_has_a_lifetime(fields: dict[str, str]) -> None:
    assert 0 <= lifetime(fields) <= 1e9
