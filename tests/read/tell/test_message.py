"""Messages: their signature, their size, and what they say of hostile pages."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.collection.watches import Watch
from gossamer.read.changes.events import Mark
from gossamer.read.changes.lines import difference
from gossamer.read.tell.message import MOST_EVENTS, message, signature
from tests.base.test_escape import ANYTHING, WORST
from tests.read.changes.test_shown import EVENT

WATCH = Watch(3, "a.example", secret="key")


def test_signatures_are_those_of_the_documentation() -> None:
    """Computed beside, with: printf '1795000000.{"a":1}' | openssl dgst -sha256 -hmac key"""
    assert signature("key", 1_795_000_000, b'{"a":1}') == (
        "sha256=" + hmac.new(b"key", b'1795000000.{"a":1}', hashlib.sha256).hexdigest()
    )
    assert signature("", 0, b"") == "sha256=b849d5a581847b281957065739df36df2463d1977ea8d6e1e4e6cf33fadc68c3"
    assert (
        signature("key", 1_795_000_000, b'{"a":1}')
        == "sha256=1bd16f4bb96630234f5d9db1391a58d04079ea2aaf515271f43b4b91dcdfe987"
    )


@given(st.lists(st.tuples(ANYTHING, st.integers(0, 300)), min_size=1, max_size=30), st.integers(2_000, 20_000))
@settings(max_examples=40, deadline=None)
def test_a_message_keeps_within_its_size(pages: list[tuple[str, int]], most: int) -> None:
    events = [
        replace(EVENT, title=title, mark=Mark(n, 0), lines=difference("", "x" * size))
        for n, (title, size) in enumerate(pages)
    ]
    made = message(WATCH, "c", events, most)
    assert len(made.body) <= most + 200
    assert made.events == tuple(events[: len(made.events)])
    read = json.loads(made.body)
    assert [each["id"] for each in read["events"]] == [f"7/{n}/0" for n in range(len(made.events))]
    assert [each["title"] for each in read["events"]] == [json.loads(json.dumps(e.title)) for e in made.events]
    assert len(made.events) == len(events) or len(made.body) > most // 2 - 2_000


def test_a_message_has_at_most_so_many_events_and_at_least_one() -> None:
    assert len(message(WATCH, "c", [EVENT] * (MOST_EVENTS + 5), 1 << 30).events) == MOST_EVENTS
    assert len(message(WATCH, "c", [EVENT, EVENT], 1).events) == 1


def test_a_message_has_no_line_feed_and_says_what_pages_say() -> None:
    made = message(WATCH, WORST, [replace(EVENT, title=WORST)])
    assert b"\n" not in made.body
    assert json.loads(made.body)["events"][0]["title"] == WORST
    assert [f.partition(":")[0] for f in made.fields("key", 1.5)][2:] == ["Gossamer-Timestamp", "Gossamer-Signature"]
