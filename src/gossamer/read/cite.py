"""The methods of a crawl as a paragraph, and its collection as a BibTeX entry, for papers.

Everything is read from the collection: version, dates, seeds, settings that differ from the defaults, what was fetched,
and how polite the requests were: the shortest pause between the end of a request to a site and the next one to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gossamer import __version__, config
from gossamer.base.errors import UsageError
from gossamer.base.units import plural, thousands
from gossamer.collection.runs import runs, settings_of_last_run
from gossamer.config import Settings
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find

_OWN: Final = ("harvester.contact", "harvester.resolve", "harvester.trusted")
"""Settings that say nothing about the data: who crawled, and names on the machine."""
_COUNTS: Final = """
select (select count(*) from stored.pages), (select count(*) from stored.pages where (flags & 2) != 0),
       count(*) filter (ask = 'page'), count(distinct page) filter (outcome in ('ok', 'duplicate')),
       count(distinct site) filter (outcome in ('ok', 'duplicate')), sum(received), min(time), max(time)
from stored.visits
"""
_PAUSES: Final = """
select min(pause), quantile_cont(pause, 0.5), count(*) from (
    select start - lag("end") over (partition by site order by start) as pause from stored.visits
    where outcome <> 'returned' and start > 0) where pause is not null and pause > -60
"""


@dataclass(frozen=True, slots=True)
class Citation:
    """What is said about a collection."""

    name: str
    version: str
    started: datetime
    ended: datetime
    seeds: int
    known: int
    requests: int
    pages: int
    sites: int
    bytes: int
    settings: tuple[str, ...]
    """Settings that differ from the defaults, in words."""
    shortest: float | None
    """Seconds between two requests to a site: the shortest pause; None if no site was asked twice."""
    usual: float | None
    """The median."""

    def paragraph(self) -> str:
        """A paragraph of methods."""
        dates = f"{self.started:%d %B %Y}".lstrip("0")
        if self.ended.date() != self.started.date():
            dates = f"{dates} to {f'{self.ended:%d %B %Y}'.lstrip('0')}"
        said = [
            f"The collection “{self.name}” was crawled with Gossamer {self.version} ({dates}, UTC), from "
            f"{plural(self.seeds, 'seed')}. It made {thousands(self.requests)} requests for pages and fetched "
            f"{plural(self.pages, 'page')} of {plural(self.sites, 'site')} ({thousands(self.bytes)} bytes received); "
            f"{plural(self.known, 'page')} are known.",
            "robots.txt was obeyed.",
        ]
        if self.shortest is not None and self.usual is not None:
            said.append(
                f"The shortest pause between two requests to a site was {self.shortest:.2f} s, the median "
                f"{self.usual:.2f} s."
            )
        settings = "; ".join(self.settings)
        said.append(f"Settings other than the defaults: {settings}." if settings else "All settings were the defaults.")
        return " ".join(said)

    def bibtex(self) -> str:
        key = re.sub(r"[^A-Za-z0-9]+", "-", self.name).strip("-") or "collection"
        return (
            f"@misc{{{key}-{self.started:%Y},\n"
            f"  title        = {{{_tex(self.name)}: a collection of {thousands(self.pages)} Web pages}},\n"
            f"  year         = {{{self.started:%Y}}},\n"
            f"  howpublished = {{Crawled with Gossamer {_tex(self.version)}}},\n"
            f"  note         = {{{self.started:%Y-%m-%d} to {self.ended:%Y-%m-%d}, {thousands(self.sites)} sites}}\n}}"
        )

    def to_json(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in self.__slots__}
        return found | {
            "started": self.started.isoformat(),
            "ended": self.ended.isoformat(),
            "paragraph": self.paragraph(),
            "bibtex": self.bibtex(),
        }


def cite(folder: Path, unchecked: bool = False) -> Citation:
    """Reads what is said about a collection; while a crawl runs, too."""
    sources = find(folder, fresh=True, unchecked=unchecked)
    recorded = runs(sources.shard)
    settings = settings_of_last_run(folder)
    database = Database(sources, settings)
    try:
        known, seeds, requests, pages, sites, received, first, last = database.run(_COUNTS)[0]
        if first is None:
            raise UsageError(f"{folder} has no request yet", "Crawl first: gossamer crawl DIR URL")
        shortest, usual, _ = database.run(_PAUSES)[0]
    finally:
        database.connection.close()
    versions = sorted({str(run["version"]) for run in recorded if "version" in run}) or [__version__]
    other = [line for line in config.differences(Settings(), settings) if not line.startswith(_OWN)]
    return Citation(
        folder.resolve().name,
        " and ".join(versions),
        first.replace(tzinfo=UTC),
        last.replace(tzinfo=UTC),
        int(seeds),
        int(known),
        int(requests),
        int(pages),
        int(sites),
        int(received or 0),
        tuple(other),
        shortest,
        usual,
    )


def _tex(text: str) -> str:
    """Text for BibTeX: no braces, no commands."""
    return re.sub(r"([&%$#_])", r"\\\1", re.sub(r"[{}\\^~]", " ", text))
