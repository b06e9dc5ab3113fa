"""The events of a collection (`read/sql/changes.py`), read with the journal, and the lines that changed.

The texts of both versions come from the archive: the cleaned text that the crawl archived, or the page cleaned now. Of
a version in a revisit record, the body is that of the record with the same payload.

Memory is bounded: DuckDB gets `MEMORY` and then writes to a temporary folder, events are read up to a given number, and
texts one pair at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from gossamer import config
from gossamer.base.errors import StorageError, UsageError
from gossamer.base.escape import for_sql
from gossamer.base.model import VisitFlag
from gossamer.collection.layout import SETTINGS
from gossamer.collection.watches import Watch
from gossamer.config import Settings
from gossamer.read.changes.lines import SHOWN, Difference, difference
from gossamer.read.sql.changes import KINDS, changes_view
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import Sources, find
from gossamer.read.texts import Cleaner
from gossamer.urls import without_www

MEMORY: Final = "512MB"
_SHOWN: Final = (
    "e.page, e.url, s.name, e.time, e.kind, e.change, e.outcome, e.status, e.title, e.target, e.tick, e.number, "
    "e.before_time, e.before_file, e.before_offset, e.before_end, e.after_file, e.after_offset, e.after_end"
)
_NAMES: Final = "(select site, max(name) as name from stored.sites group by site)"


class Place(NamedTuple):
    """Where a version is in the archive: offset of its record, and of the end of what its visit archived."""

    file: str
    at: int
    end: int


class Mark(NamedTuple):
    """A place in the order of events: everything up to it, this visit included."""

    tick: int
    number: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something that became of a page."""

    page: int
    url: str
    site: str
    time: float
    kind: str
    change: str | None
    outcome: str
    status: int | None
    title: str
    target: str | None
    mark: Mark
    before_time: float | None
    before: Place | None
    after: Place | None
    lines: Difference | None = None
    """What changed in its text; None if that was not asked for, or is not in the archive."""

    @classmethod
    def of(cls, row: Sequence[Any]) -> Self:
        page, url, site, time, kind, change, outcome, status, title, target, tick, number, before_time = row[:13]
        before, after = (Place(*row[i : i + 3]) if row[i] is not None else None for i in (13, 16))
        moments = [None if moment is None else moment.replace(tzinfo=UTC).timestamp() for moment in (time, before_time)]
        at = Mark(int(tick), int(number))
        said = kind, change, outcome, status, title or "", target
        return cls(page, url, site or "", moments[0] or 0.0, *said, at, moments[1], before, after)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "change": self.change,
            "url": self.url,
            "site": self.site,
            "page": self.page,
            "time": iso(self.time),
            "title": self.title,
            "outcome": self.outcome,
            "status": self.status,
            "target": self.target,
            "tick": self.mark.tick,
            "number": self.mark.number,
            "before_time": None if self.before_time is None else iso(self.before_time),
            "before": None if self.before is None else self.before._asdict(),
            "after": None if self.after is None else self.after._asdict(),
            **({} if self.lines is None else self.lines.to_json()),
        }


def iso(wall: float) -> str:
    """A time in UTC, like 2026-11-18T13:05:07Z."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Choice(NamedTuple):
    """Which events are wanted; times are seconds since 1970."""

    since: float | None = None
    until: float | None = None
    sites: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    watch: Watch | None = None
    """Only pages that it matches."""


class Events:
    """The events of a collection as it is now. Use `reading`, which removes its temporary files."""

    def __init__(self, sources: Sources, settings: Settings, spilled: Path) -> None:
        self.sources = sources
        self._database = Database(sources, settings, MEMORY, spilled)
        self._cleaner = Cleaner(settings)

    def choose(self, choice: Choice) -> dict[str, int]:
        """Chooses events, for `newest`; returns their number by kind."""
        pages, wanted, given = "true", ["true"], list[Any]()
        if choice.since is not None:
            pages = f"page in (select page from stored.visits where time >= make_timestamp({_micro(choice.since)}))"
            wanted.append(f"time >= make_timestamp({_micro(choice.since)})")
        if choice.until is not None:
            wanted.append(f"time < make_timestamp({_micro(choice.until)})")
        if choice.kinds:
            wanted.append("list_contains(?, kind)")
            given.append(list(choice.kinds))
        if choice.sites:
            wanted.append("list_contains(?, site)")
            given.append(self._numbers(choice.sites))
        if choice.watch is not None:
            pages = f"{pages} and page in (select page from stored.pages where {_matching(choice.watch)})"
        view = f"select * from ({changes_view(pages)}) where {' and '.join(wanted)}"
        self._database.run(f"create or replace temp table chosen as {view}", given)
        counted = {str(kind): int(n) for kind, n in self._database.run("select kind, count(*) from chosen group by 1")}
        return {kind: counted[kind] for kind in KINDS if kind in counted}

    def _numbers(self, names: Iterable[str]) -> list[int]:
        found = []
        for name in names:
            rows = self._database.run("select min(site) from stored.sites where name = ?", [without_www(name.lower())])
            if rows[0][0] is None:
                raise UsageError(
                    f"{name} is not a site of this collection",
                    '`gossamer sql DIR "select name from sites"` lists its sites.',
                )
            found.append(int(rows[0][0]))
        return found

    def newest(self, most: int, before: Mark | None = None) -> list[Event]:
        """The last of the chosen events, or the last before a mark; the newest first."""
        where = "" if before is None else f"where (e.tick, e.number) < ({before.tick:d}, {before.number:d})"
        order = f"order by e.tick desc, e.number desc limit {most:d}"
        return self._read(f"select {_SHOWN} from chosen e", f"{where} {order}")

    def interrupt(self) -> None:
        """Ends what is computed just now, with an error. Any thread may call this."""
        self._database.interrupt()

    def after(self, mark: Mark, most: int) -> list[Event]:
        """The first events after a mark, in order."""
        later = f"tick > {mark.tick:d} or (tick = {mark.tick:d} and number > {mark.number:d})"
        view = changes_view(f"page in (select page from stored.visits where {later})")
        return self._read(f"select {_SHOWN} from ({view}) e", f"where {later} order by e.tick, e.number limit {most:d}")

    def last(self) -> Mark:
        """The mark of the last visit."""
        tick, number = self._database.run("select max(tick), arg_max(number, (tick, number)) from stored.visits")[0]
        return Mark(int(tick or 0), int(number or 0))

    def count(self, watch: Watch) -> int:
        """How many known pages a watch matches."""
        return int(self._database.run(f"select count(*) from stored.pages where {_matching(watch)}")[0][0])

    def _read(self, selected: str, ordered: str) -> list[Event]:
        rows = self._database.run(f"{selected} left join {_NAMES} s on s.site = e.site {ordered}")
        return [Event.of(row) for row in rows]

    def with_lines(self, events: Sequence[Event], most: int = SHOWN) -> Iterator[Event]:
        """The events; those with two versions that differ have the lines, if the archive has the texts."""
        compared = [e for e in events if e.before is not None and e.after is not None and e.change is not None]
        bodies = self._bodies([place for e in compared for place in (e.before, e.after) if place is not None])
        for event in events:
            if event.before is None or event.after is None or event.change is None:
                yield event
            else:
                texts = [self._text(bodies.get(place, place), event.url) for place in (event.before, event.after)]
                before, after = texts
                known = before is not None and after is not None
                yield replace(event, lines=difference(before or "", after or "", most) if known else None)

    def _text(self, place: Place, url: str) -> str | None:
        try:
            return self._cleaner.text(self.sources.shard / place.file, place.at, place.end, url)
        except StorageError:  # removed or damaged: `gossamer verify` tells which
            return None

    def _bodies(self, places: Sequence[Place]) -> dict[Place, Place]:
        """For places of revisit records: those of the first records with the same payload."""
        if not places:
            return {}
        rows = self._database.run(
            f"""
with asked as (
    select distinct v.warc_file, v.warc_offset, v.warc_end, v.payload from stored.visits v
    join (select unnest(?) as file, unnest(?) as at) p on p.file = v.warc_file and p.at = v.warc_offset
    where (v.flags & {VisitFlag.REPEATED:d}) != 0
)
select a.warc_file, a.warc_offset, a.warc_end,
       arg_min({{'file': o.warc_file, 'at': o.warc_offset, 'end': o.warc_end}}, o.tick)
from asked a join stored.visits o on o.payload = a.payload
where o.warc_end > 0 and (o.flags & {VisitFlag.REPEATED:d}) = 0 group by all
""",
            [[place.file for place in places], [place.at for place in places]],
        )
        return {Place(*row[:3]): Place(row[3]["file"], row[3]["at"], row[3]["end"]) for row in rows}


def _matching(watch: Watch) -> str:
    """The pages that a watch matches, as a condition on the table of pages."""
    like = f"like {for_sql(watch.sql)} escape '\\'"
    return f"url {like}" if "://" in watch.target else f"site in (select site from stored.sites where name {like})"


def _micro(wall: float) -> int:
    return round(wall * 1e6)


@contextmanager
def reading(folder: Path, unchecked: bool = False) -> Iterator[Events]:
    """The events of a collection, with what its journal has."""
    sources = find(folder, fresh=True, unchecked=unchecked)
    with tempfile.TemporaryDirectory() as spilled:
        yield Events(sources, config.load(folder / SETTINGS), Path(spilled))
