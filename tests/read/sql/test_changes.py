"""The view `changes`, on made tables, against a model that follows one page after the other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.model import VisitFlag
from gossamer.read.sql.changes import KINDS, NEAR, changes_view

START: Final = datetime(2026, 11, 1)
_COLUMNS: Final = (
    "page bigint, site bigint, time timestamp, tick ubigint, number ubigint, outcome varchar, status usmallint, "
    "title varchar, redirect varchar, change varchar, digest ubigint, payload blob, sketch ubigint, "
    "warc_file varchar, warc_offset ubigint, warc_end ubigint, flags usmallint"
)


class Visit(NamedTuple):
    page: int | None
    outcome: str
    text: int = 0
    """Stands for digest, payload and sketch."""
    change: str | None = None
    redirect: str | None = None
    flags: int = 0


def seen(visits: Sequence[Visit], pages: str = "true") -> list[tuple[Any, ...]]:
    """Page, kind, change, target and tick of all events, in order. The tick of a visit is its place."""
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"create schema stored; create table stored.visits ({_COLUMNS})")
        connection.execute("create table stored.pages as select unnest(range(4)) as page, 'u' as url")
        for tick, visit in enumerate(visits):
            has = visit.outcome in ("ok", "duplicate") and visit.text
            known = (visit.text, bytes([visit.text]), 2**63 + 2**visit.text - 1) if has else (None, None, None)
            place = ("warc/000000.warc.gz", tick * 10, tick * 10 + 9) if has else (None, None, None)
            time, status = START + timedelta(seconds=tick), {"ok": 200}.get(visit.outcome)
            row = (visit.page, 0, time, tick, 0, visit.outcome, status, "t", visit.redirect, visit.change)
            values = [*row, *known, *place, visit.flags]
            connection.execute(f"insert into stored.visits values ({', '.join('?' * len(values))})", values)
        shown = "page, kind, change, target, tick, before_offset, after_offset"
        return connection.execute(f"select {shown} from ({changes_view(pages)}) order by tick").fetchall()


def expected(visits: Sequence[Visit]) -> list[tuple[Any, ...]]:
    """The same, by following each page."""
    events = []
    old: dict[int, tuple[int, Visit]] = {}
    was: dict[int, tuple[str, str | None]] = {}
    same_place = VisitFlag.RESPELLED | VisitFlag.OTHER_NAME
    for tick, visit in enumerate(visits):
        page = visit.page
        state = {"redirect": "moved", "not_found": "gone", "soft_404": "gone"}.get(visit.outcome, "there")
        counts = visit.outcome in ("ok", "duplicate", "not_modified", "redirect", "not_found", "soft_404")
        if page is None or not counts or (state == "moved" and visit.flags & same_place):
            continue
        before, there, kind, change = old.get(page), visit.outcome in ("ok", "duplicate"), None, None
        if there and before is not None:
            change = _difference(before[1], visit)
        if before is None:
            kind = "new" if there else None
        elif was[page][0] != state or (state == "moved" and was[page][1] != visit.redirect):
            kind = {"there": "back"}.get(state, state)
        elif change is not None:
            kind = "changed"
        if kind is not None:
            target = visit.redirect if kind == "moved" else None
            places = [None if at is None or not visits[at].text else at * 10 for at in (before and before[0],)]
            events.append((page, kind, change, target, tick, *places, tick * 10 if there and visit.text else None))
        was[page] = state, visit.redirect
        if there:
            old[page] = tick, visit
    return events


def _difference(before: Visit, after: Visit) -> str | None:
    if after.change in ("none", "minor", "major"):
        return None if after.change == "none" else after.change
    if not before.text or not after.text or before.text == after.text:
        return None
    return "minor" if abs(before.text - after.text) <= NEAR else "major"


OUTCOMES: Final = ("ok", "duplicate", "not_modified", "redirect", "not_found", "soft_404", "server_error", "refused")
VISITS: Final = st.lists(
    st.builds(
        Visit,
        st.sampled_from([0, 0, 0, 1, 2, None]),
        st.sampled_from(OUTCOMES) | st.just("ok"),
        st.sampled_from([0, 1, 1, 3, 9]),
        st.sampled_from([None, None, "unknown", "none", "minor", "major"]),
        st.sampled_from(["http://a/", "http://b/"]),
        st.sampled_from([0, 0, VisitFlag.RESPELLED, VisitFlag.OTHER_NAME, VisitFlag.STORED]).map(int),
    ),
    max_size=14,
)


@given(VISITS)
@settings(max_examples=60, deadline=None)
def test_the_events_of_a_page_follow_from_its_visits(visits: list[Visit]) -> None:
    found = seen(visits)
    assert found == expected(visits)
    assert {event[1] for event in found} <= set(KINDS)


@given(VISITS, st.integers(0, 14))
@settings(max_examples=30, deadline=None)
def test_a_choice_of_pages_changes_no_event(visits: list[Visit], since: int) -> None:
    chosen = {visit.page for visit in visits[since:]}
    pages = f"page in (select page from stored.visits where tick >= {since})"
    assert seen(visits, pages) == [event for event in seen(visits) if event[0] in chosen]


def test_a_life_of_a_page() -> None:
    life = [
        Visit(0, "not_found"),
        Visit(0, "ok", 1),
        Visit(0, "not_modified"),
        Visit(0, "ok", 1),
        Visit(0, "ok", 3),
        Visit(0, "server_error"),
        Visit(0, "ok", 9, "minor"),
        Visit(0, "redirect", redirect="http://b/"),
        Visit(0, "redirect", redirect="http://b/"),
        Visit(0, "not_found"),
        Visit(0, "soft_404"),
        Visit(0, "ok", 9),
        Visit(0, "not_found"),
        Visit(0, "not_modified"),
    ]
    assert [(tick, kind, change) for _, kind, change, _, tick, *_ in seen(life)] == [
        (1, "new", None),
        (4, "changed", "minor"),
        (6, "changed", "minor"),
        (7, "moved", None),
        (9, "gone", None),
        (11, "back", None),
        (12, "gone", None),
        (13, "back", None),
    ]
