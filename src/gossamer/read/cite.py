"""The methods of a crawl as a paragraph, and its collection as a BibTeX entry, for papers.

Everything is read from the collection: versions, dates, seeds, settings and how they changed, what was fetched of what
is known, and whether the requests were polite. The verdict compares each request with the shortest pause that the
settings of its run allow, and with the first robots.txt of its origin: both times are in the table `visits`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gossamer import __version__, config
from gossamer.base.errors import UsageError
from gossamer.base.units import plural, thousands
from gossamer.collection.runs import Run, runs, settings_of, settings_of_last_run
from gossamer.config import Settings
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find

_OWN: Final = ("harvester.contact", "harvester.resolve", "harvester.trusted")
"""Settings that say nothing about the data: who crawled, and names on the machine."""
_SEEDS: Final = 5
"""Seeds that are named."""
_REASONS: Final = 4
"""Reasons of exclusion that are named."""
_EARLY: Final = 0.005
"""Seconds: clocks are not more exact."""
_COUNTS: Final = """
select (select count(*) from stored.pages), (select count(*) from stored.pages where (flags & 2) != 0),
       count(*) filter (ask = 'page'), count(distinct page) filter (outcome in ('ok', 'duplicate')),
       count(distinct site) filter (outcome in ('ok', 'duplicate')), sum(received), min(time), max(time)
from stored.visits
"""
_NOT_FETCHED: Final = """
select state, reason, count(*) from pages where state <> 'done' group by 1, 2 order by 3 desc, 1, 2
"""
_PAUSES: Final = """
with asked as (
    select site, ask, origin, start, "end", epoch(time) as wall, epoch(time) - ("end" - start) as began
    from stored.visits where outcome <> 'returned' and start > 0
), pauses as (
    select site, began, case when abs(wall - "end" - lag(wall - "end") over (partition by site order by began)) < 60
        then start - lag("end") over (partition by site order by began)
        else began - lag(wall) over (partition by site order by began) end as pause
    from asked
), robots as (
    select origin, min(wall) as known from asked where ask = 'robots' group by origin
), delays as (
    select site, min(delay) as delay from stored.visits where ask = 'robots' and delay is not null group by site
)
select min(pause), quantile_cont(pause, 0.5),
       count(*) filter (pause < least(l.least, coalesce(d.delay, l.least)) - {early}),
       (select count(*) from asked a left join robots r on r.origin = a.origin
        where a.ask = 'page' and a.began < coalesce(r.known, 'infinity'::double) - 1)
from pauses p asof join (values {limits}) as l(started, least) on p.began >= l.started
left join delays d on d.site = p.site where pause is not null
"""
"""Pauses by the monotonic clock, or by wall time where that began anew. A second between the two clocks is no fault. A
Crawl-delay may be shorter than the wait if robots.txt gives it to this crawler by name."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of what is known was fetched."""

    known: int
    left: int
    """Known pages that are still to be requested."""
    excluded: tuple[tuple[str, int], ...]
    """Known pages that are not to be requested, by reason."""

    def said(self) -> str:
        excluded = sum(number for _, number in self.excluded)
        why = ", ".join(f"{word} {thousands(number)}" for word, number in self.excluded[:_REASONS])
        why += ", …" if len(self.excluded) > _REASONS else ""
        return (
            f"{plural(self.known, 'page')} are known: {thousands(excluded)} of them are excluded"
            f"{f' ({why})' if why else ''}, and {thousands(self.left)} are still to be requested."
        )


@dataclass(frozen=True, slots=True)
class Politeness:
    """Whether the crawl was polite."""

    shortest: float | None
    """Seconds between two requests to a site: the shortest pause; None if no site was asked twice."""
    usual: float | None
    """The median."""
    least: tuple[float, ...]
    """The shortest pauses that the settings of the runs allow, in seconds."""
    early: int
    """Requests that began earlier than that."""
    unruled: int
    """Pages that were requested before the robots.txt of their origin."""
    mine: bool
    """Whether sites that proved to be the operator's were crawled without waits."""

    def said(self) -> Iterator[str]:
        """The verdict, in words."""
        if self.unruled:
            yield f"{plural(self.unruled, 'page')} were requested before the robots.txt of their origin."
        else:
            yield "No page was requested before the robots.txt of its origin."
        if self.shortest is None or self.usual is None:
            yield "No site was requested twice."
            return
        allowed = " or ".join(f"{seconds:g} s" for seconds in self.least)
        yield (
            f"The shortest pause between two requests to a site was {self.shortest:.2f} s, the median "
            f"{self.usual:.2f} s."
        )
        if self.early:
            own = "; sites that proved to be the operator's were crawled without waits" if self.mine else ""
            yield f"{plural(self.early, 'request')} came earlier than {allowed}{own}."
        else:
            yield f"No request came earlier than the settings allow ({allowed})."


@dataclass(frozen=True, slots=True)
class Citation:
    """What is said about a collection."""

    name: str
    version: str
    started: datetime
    ended: datetime
    seeds: int
    named: tuple[str, ...]
    """The first seeds."""
    requests: int
    pages: int
    sites: int
    bytes: int
    coverage: Coverage
    politeness: Politeness
    settings: tuple[str, ...]
    """Settings of the last run that differ from the defaults, in words."""
    changes: tuple[str, ...]
    """What later runs changed."""

    def paragraph(self) -> str:
        """A paragraph of methods."""
        dates = f"{self.started:%d %B %Y}".lstrip("0")
        if self.ended.date() != self.started.date():
            dates = f"{dates} to {f'{self.ended:%d %B %Y}'.lstrip('0')}"
        some = ", ".join(self.named) + (", …" if self.seeds > len(self.named) else "")
        settings = "; ".join(self.settings)
        said = [
            f"The collection “{self.name}” was crawled with Gossamer {self.version} ({dates}, UTC), from "
            f"{plural(self.seeds, 'seed')}{f' ({some})' if some else ''}. It made "
            f"{plural(self.requests, 'request')} for pages and fetched {plural(self.pages, 'page')} of "
            f"{plural(self.sites, 'site')} ({thousands(self.bytes)} bytes received).",
            self.coverage.said(),
            *self.politeness.said(),
            f"Settings other than the defaults: {settings}." if settings else "All settings were the defaults.",
            *(f"{change}." for change in self.changes),
        ]
        return " ".join(said)

    def bibtex(self) -> str:
        key = re.sub(r"[^A-Za-z0-9]+", "-", self.name).strip("-") or "collection"
        days = dict.fromkeys(f"{time:%Y-%m-%d}" for time in (self.started, self.ended))
        return (
            f"@misc{{{key}-{self.started:%Y},\n"
            f"  title        = {{{_tex(self.name)}: a collection of {thousands(self.pages)} Web pages}},\n"
            f"  year         = {{{self.started:%Y}}},\n"
            f"  howpublished = {{Crawled with Gossamer {_tex(self.version)}}},\n"
            f"  note         = {{{' to '.join(days)}, {thousands(self.sites)} sites}}\n}}"
        )

    def to_json(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in self.__slots__ if name not in ("coverage", "politeness")}
        return found | {
            **asdict(self.coverage),
            **asdict(self.politeness),
            "started": self.started.isoformat(),
            "ended": self.ended.isoformat(),
            "excluded": dict(self.coverage.excluded),
            "paragraph": self.paragraph(),
            "bibtex": self.bibtex(),
        }


def cite(folder: Path, unchecked: bool = False) -> Citation:
    """Reads what is said about a collection; while a crawl runs, too."""
    sources = find(folder, fresh=True, unchecked=unchecked)
    recorded = runs(sources.shard)
    settings = settings_of_last_run(folder)
    limits = _limits(recorded, settings)
    database = Database(sources, settings)
    try:
        known, seeds, requests, pages, sites, received, first, last = database.run(_COUNTS)[0]
        if first is None:
            raise UsageError(f"{folder} has no request yet", "Crawl first: gossamer crawl DIR URL")
        rows = ", ".join(f"({started!r}::double, {least!r}::double)" for started, least in limits)
        shortest, usual, early, unruled = database.run(_PAUSES.format(limits=rows, early=_EARLY))[0]
        named = database.run(f"select url from stored.pages where (flags & 2) != 0 order by page limit {_SEEDS}")
        others = database.run(_NOT_FETCHED, views=["pages"])
    finally:
        database.close()
    versions = sorted({str(run["version"]) for run in recorded if "version" in run}) or [__version__]
    return Citation(
        name=folder.resolve().name,
        version=" and ".join(versions),
        started=first.replace(tzinfo=UTC),
        ended=last.replace(tzinfo=UTC),
        seeds=int(seeds),
        named=tuple(str(url) for (url,) in named),
        requests=int(requests),
        pages=int(pages),
        sites=int(sites),
        bytes=int(received or 0),
        coverage=Coverage(
            int(known),
            sum(int(number) for state, _, number in others if state != "excluded"),
            tuple((str(reason), int(number)) for state, reason, number in others if state == "excluded"),
        ),
        politeness=Politeness(
            shortest,
            usual,
            tuple(dict.fromkeys(least for _, least in limits)),
            int(early),
            int(unruled),
            settings.harvester.mine,
        ),
        settings=_told(config.differences(Settings(), settings)),
        changes=_changes(recorded),
    )


def _limits(recorded: Sequence[Run], settings: Settings) -> list[tuple[float, float]]:
    """From when on which pause between two requests to a site was the shortest that the settings allow."""
    found = list[tuple[float, float]]()
    for run in recorded:
        try:
            of_run = settings_of(run)
        except UsageError:  # of another version
            of_run = settings
        found.append((float(run["started"]) if found else 0.0, _least(of_run)))
    return found or [(0.0, _least(settings))]


def _least(settings: Settings) -> float:
    given = settings.harvester
    waits = [float(given.wait), float(given.wait_large)]
    return min([*waits, float(given.pause)] if given.per_turn > 1 else waits)


def _changes(recorded: Sequence[Run]) -> tuple[str, ...]:
    """A sentence for each run that changed settings."""
    found = list[str]()
    for run in recorded[1:]:
        if changed := _told(run["differences"]):
            day = datetime.fromtimestamp(run["started"], UTC)
            found.append(f"The run of {f'{day:%d %B %Y}'.lstrip('0')} changed {'; '.join(changed)}")
    return tuple(found)


def _told(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if not line.startswith(_OWN))


def _tex(text: str) -> str:
    """Text for BibTeX: no braces, no commands."""
    return re.sub(r"([&%$#_])", r"\\\1", re.sub(r"[{}\\^~]", " ", text))
