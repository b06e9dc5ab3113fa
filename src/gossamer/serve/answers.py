"""What is told of a collection: typed values, which pages show, the API sends as JSON, and its document describes.

Each answer is made from what the commands use: the status file, the views of `gossamer sql`, `gossamer explain`. What a
request can choose is a value or a name of a table here, never a part of a statement.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from gossamer.base.errors import GossamerError, UsageError
from gossamer.base.outcomes import Outcome
from gossamer.library.collection import Collection
from gossamer.observe.crawl_status import read_crawl_status

ROWS: Final = 50
"""Rows of a table on one page."""
MOST_ROWS: Final = 1_000
"""Rows of a query, and of a page that the API asks for."""
SECONDS: Final = 10.0
"""What a query may take."""


class Part(msgspec.Struct, frozen=True):
    """A share of the known pages."""

    name: str
    pages: int


class Counts(msgspec.Struct, frozen=True):
    """What there is, in all runs."""

    visits: int
    stored: int
    known: int
    sites: int
    slowed: int
    """Sites whose waits are longer than usual."""
    bytes: int


class Pace(msgspec.Struct, frozen=True):
    """How fast it goes, and what it waits for."""

    rates: dict[str, float]
    """In a second, lately: visits, bytes, known pages."""
    left: float | None
    left_why: str
    """Seconds that it will take at least, and why."""
    longest: list[dict[str, Any]]
    """The sites that politeness makes last longest."""
    awaited: dict[str, Any]


class Use(msgspec.Struct, frozen=True):
    """What it uses of the machine and the line."""

    connections: int
    memory: int | None
    bandwidth: dict[str, Any] | None


class Overview(msgspec.Struct, frozen=True):
    """How a crawl stands."""

    name: str
    running: bool
    ending: str
    """Why the last run ended; empty while one runs."""
    time: float
    """Wall time of these figures."""
    counts: Counts
    states: list[Part]
    """pending, waiting, done and excluded: their sum is `counts.known`."""
    reasons: dict[str, dict[str, int]]
    """Pages of each state by reason."""
    outcomes: dict[str, int]
    """Requests by outcome."""
    pace: Pace
    use: Use
    value: list[list[float]]
    """V(I): time, value, stored pages."""
    freshness: float | None
    """Expected share of copies that are up to date."""


class SiteRow(msgspec.Struct, frozen=True):
    name: str
    pages: int
    visits: int
    ok: int
    errors: int
    bytes: int
    aside: str | None
    """Why its pages wait, if they do."""
    until: str | None


class PageRow(msgspec.Struct, frozen=True):
    url: str
    state: str
    reason: str
    outcome: str | None
    status: int | None
    depth: int
    visits: int
    last_visit: str | None


class Sites(msgspec.Struct, frozen=True):
    rows: list[SiteRow]
    total: int
    next: int | None
    """Where the next rows begin; null: there are no more."""


class Pages(msgspec.Struct, frozen=True):
    rows: list[PageRow]
    next: int | None
    """The cursor of the next rows; null: there are no more."""


class Table(msgspec.Struct, frozen=True):
    """The result of a query."""

    columns: list[str]
    rows: list[list[Any]]
    more: bool
    """Whether there are more rows than are shown."""


class EventRow(msgspec.Struct, frozen=True):
    kind: str
    url: str
    time: float
    title: str
    change: str | None
    target: str | None


class Events(msgspec.Struct, frozen=True):
    rows: list[EventRow]


class Carried(msgspec.Struct, frozen=True):
    """What came of an order."""

    running: bool
    """A crawl has carried it out; false: the next run will."""
    pages: dict[str, int]


SORTS: Final = {
    name: f"{column} {order} nulls last, t.site"
    for name, column, order in (
        ("pages", "pages", "desc"),
        ("visits", "visits", "desc"),
        ("errors", "errors", "desc"),
        ("bytes", "bytes", "desc"),
        ("name", "name", "asc"),
    )
}
"""Orders of the table of sites."""
STATES: Final = ("pending", "waiting", "done", "excluded")
OUTCOMES: Final = tuple(outcome.word for outcome in Outcome)


def overview(name: str, web: Collection) -> Overview:
    found = read_crawl_status(web.folder).to_json()
    why: Mapping[str, Any] = found.get("why") or {}
    waiting = {reason: int(span["pages"]) for reason, span in (why.get("waiting") or {}).items()}
    left: Mapping[str, Any] = found.get("left") or {}
    habits = (found.get("parts") or {}).get("habits") or {}
    return Overview(
        name=name,
        running=bool(found["running"]),
        ending=str(found.get("ending") or ""),
        time=float(found.get("time") or 0.0),
        counts=Counts(*(found[key] for key in Counts.__struct_fields__)),
        states=[Part(state, found[state]) for state in STATES],
        reasons={"waiting": waiting, "done": why.get("done") or {}, "excluded": why.get("excluded") or {}},
        outcomes=found["outcomes"],
        pace=Pace(
            found.get("rates") or {},
            left.get("seconds"),
            str(left.get("why") or ""),
            found.get("longest") or [],
            found.get("awaited") or {},
        ),
        use=Use(int(found.get("open") or 0), found.get("rss"), found.get("bandwidth")),
        value=[list(map(float, point)) for point in found.get("value") or []],
        freshness=habits.get("freshness"),
    )


def sites(web: Collection, sort: str = "pages", search: str = "", after: int = 0, rows: int = ROWS) -> Sites:
    """Sites whose name contains `search`, from place `after` on."""
    if sort not in SORTS:
        raise UsageError(f"sites cannot be sorted by {sort!r}", f"Sort by {', '.join(SORTS)}.")
    like = f"%{_literal(search.lower())}%"
    summed = (
        "select site, max(name) as name, sum(pages)::bigint as pages, sum(visits)::bigint as visits,"
        " sum(ok)::bigint as ok, sum(errors)::bigint as errors, sum(bytes)::bigint as bytes"
        " from stored.sites group by site"
    )
    database = web.database()
    aside = {site: (why, until) for site, why, until in web.aside()}
    found = database.run(
        f"select *, count(*) over () from ({summed}) t where name like ? escape '\\' order by {SORTS[sort]}"
        f" limit {_rows(rows) + 1} offset {max(0, after)}",
        [like],
    )
    total = int(found[0][-1]) if found else 0
    shown = [
        SiteRow(*row[1:7], *(aside[row[0]][0], _moment(aside[row[0]][1])) if row[0] in aside else (None, None))
        for row in found[: _rows(rows)]
    ]
    return Sites(shown, total, after + len(shown) if len(found) > len(shown) else None)


def pages(
    web: Collection, search: str = "", state: str = "", outcome: str = "", after: int = -1, rows: int = ROWS
) -> Pages:
    """Known pages whose URL contains `search`, in the order of discovery, from the one after page `after` on."""
    for given, accepted, what in ((state, STATES, "state"), (outcome, OUTCOMES, "outcome")):
        if given and given not in accepted:
            raise UsageError(f"{given!r} is no {what}", f"One of: {', '.join(accepted)}.")
    tests, values = ["page > ?"], list[Any]([after])
    for name, given in (("state", state), ("outcome", outcome)):
        if given:
            tests.append(f"{name} = ?")
            values.append(given)
    if search:
        tests.append("url like ? escape '\\'")
        values.append(f"%{_literal(search)}%")
    found = web.database().run(
        "select page, url, state, reason, outcome, status, depth, visits, last_visit from main.pages"
        f" where {' and '.join(tests)} order by page limit {_rows(rows) + 1}",
        values,
        ("pages",),
    )
    shown = found[: _rows(rows)]
    return Pages(
        [PageRow(*(*row[1:8], _iso(row[8]))) for row in shown],
        int(shown[-1][0]) if len(found) > len(shown) else None,
    )


def query(web: Collection, text: str) -> Table:
    """The first rows of a query. UsageError if it takes too long."""
    database = web.database()
    over = threading.Event()

    def end() -> None:
        over.set()
        database.connection.interrupt()

    timer = threading.Timer(SECONDS, end)
    timer.start()
    try:
        reader = database.arrow(text, rows=MOST_ROWS + 1)
        names, rows = list(reader.schema.names), list[list[Any]]()
        for batch in reader:
            rows += [list(row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]
            if len(rows) > MOST_ROWS:
                break
    except GossamerError as error:
        if over.is_set():
            raise UsageError(
                f"the query took longer than {SECONDS:.0f} s", "Run it with `gossamer sql`, which has no limit."
            ) from error
        raise
    finally:
        timer.cancel()
    return Table(names, [[_plain(value) for value in row] for row in rows[:MOST_ROWS]], len(rows) > MOST_ROWS)


def events(web: Collection, rows: int = ROWS) -> Events:
    """What became of pages lately, the newest first."""
    return Events([EventRow(e.kind, e.url, e.time, e.title, e.change, e.target) for e in web.changes(most=_rows(rows))])


def _rows(rows: int) -> int:
    return max(1, min(rows, MOST_ROWS))


def _literal(text: str) -> str:
    """A text in a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.replace(tzinfo=UTC).isoformat(timespec="seconds")


def _moment(wall: float | None) -> str | None:
    with suppress(OverflowError, ValueError):
        return None if wall is None else datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds")
    return None


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
