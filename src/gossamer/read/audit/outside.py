"""Links to other sites: their addresses are requested once, by a crawl of its own that is as polite as every other.

The crawl is in the folder `external` of the collection: robots.txt of each site is obeyed, one request at a time, with
the usual waits; a run that was stopped goes on, and what was answered within a day is not asked again. Its pages are
these addresses and what they redirect to; nothing is followed.

They are requested with GET and read up to `ENOUGH` bytes. Refused: HEAD, which servers answer with 403, 404 and 405 for
pages that are there, so that a second request is needed just where it is doubtful.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from gossamer import config
from gossamer.base.units import Size
from gossamer.collection.layout import SETTINGS, is_collection
from gossamer.config import Settings
from gossamer.config.settings import GathererSettings, HarvesterSettings, SeederSettings
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.urls import Scope

FOLDER: Final = "external"
ENOUGH: Final = 16_384
DAY: Final = 86_400.0
MOST_REDIRECTS: Final = 10
# fmt: off
_SAME: Final = (
    "contact", "about", "agent", "bandwidth", "bandwidth_by_hour", "quiet_hours", "time_zone", "holidays",
    "allow_private", "forbidden", "resolve", "resolvers", "families", "trusted",
)
"""Settings of the harvester that both crawls share."""
_WAITS: Final = ("wait", "wait_large", "pause", "address_wait", "domain_wait")
_NO_PAGES: Final = ("images", "audio", "video", "documents", "software", "source", "archives")
"""Extensions that are no pages for a crawl; here every address is requested."""
# fmt: on
_LINKED: Final = """
select m.url from mention m join page p on p.page = m.page where m.kind = 'external' and m.url is not null
group by 1 order by count(distinct m.page) desc, 1
"""
_KNOWN: Final = """
select p.page, p.url, p.state, p.reason, p.outcome, p.status, epoch(p.last_visit), s.aside
from pages p join sites s on s.site = p.site
"""


class Answer(NamedTuple):
    """What is known about an address."""

    state: str
    reason: str
    outcome: str | None
    status: int | None
    visited: float | None
    aside: str | None
    """Why its site is not requested."""
    target: int | None
    """The page that it redirects to."""

    def is_older(self, since: float) -> bool:
        return self.visited is not None and self.visited < since


def settings_of(settings: Settings) -> Settings:
    """The settings of the crawl of other sites: it says who asks as the collection does. Its waits are the usual ones,
    or longer: those of the collection may be short because the site is the operator's."""
    own, usual = settings.harvester, HarvesterSettings()
    same: dict[str, Any] = {name: getattr(own, name) for name in _SAME}
    waits: dict[str, Any] = {name: max(getattr(own, name), getattr(usual, name)) for name in _WAITS}
    harvester = replace(usual, max_download=Size(ENOUGH), **same, **waits)
    gatherer = GathererSettings(anchors=False, mentions=False, language=False)
    anything: dict[str, Any] = dict.fromkeys(_NO_PAGES, ())
    seeder = SeederSettings(domains=("*",), ports=("*",), follow="none", sitemaps=False, reject=(), **anything)
    return replace(Settings(), harvester=harvester, seeder=seeder, gatherer=gatherer)


def linked(database: Database) -> list[str]:
    """The addresses that pages link to, those of most pages first."""
    return [str(url) for (url,) in database.run(_LINKED)]


class Outside:
    """What is known about addresses of other sites."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of the collection that is audited."""
        self.folder = folder / FOLDER
        self._scope = Scope.of(settings_of(Settings()).seeder)
        self._pages, self._numbers = dict[int, Answer](), dict[str, int]()
        if is_collection(self.folder):
            self._read()

    def _read(self) -> None:
        database = Database(find(self.folder, fresh=True), config.load(self.folder / SETTINGS))
        links = database.run("select source, target from stored.links where kind = 'redirect'")
        targets: dict[int, int] = dict(links)
        for page, url, state, reason, outcome, status, visited, aside in database.run(_KNOWN, views=["pages", "sites"]):
            self._pages[page] = Answer(state, reason, outcome, status, visited, aside, targets.get(page))
            self._numbers[url] = page
        database.close()

    def answer(self, url: str) -> Answer | None:
        """What is known about an address, after redirects; None if it was not asked."""
        known = self._pages.get(self._numbers.get(self._scope.canonical(url) or url, -1))
        for _ in range(MOST_REDIRECTS):
            if known is None or known.target is None or known.target not in self._pages:
                break
            known = self._pages[known.target]
        return known

    def to_ask(self, addresses: Sequence[str], most: int, wall: float) -> tuple[list[str], list[int]]:
        """The first `most` addresses without an answer of the last day: new ones, and pages that are asked again."""
        new, again, since = list[str](), list[int](), wall - DAY
        for url in addresses:
            if len(new) + len(again) == most:
                break
            number = self._numbers.get(self._scope.canonical(url) or url)
            if number is None:
                new.append(url)
            elif self._pages[number].is_older(since):
                again.append(number)
        return new, again

    def open(self) -> int:
        """How many addresses are to be requested, from a run that was stopped."""
        return sum(each.state == "pending" and each.aside is None for each in self._pages.values())

    def rows(self, addresses: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Address, outcome and status of those that are known; the outcome `name_failed` if its site has no address."""
        for url in addresses:
            known = self.answer(url)
            if known is None:
                continue
            if known.outcome is not None:
                yield url, known.outcome, known.status
            elif known.aside == "name_failed":
                yield url, "name_failed", None


def add_outside(database: Database, folder: Path) -> None:
    """Adds the table `outside`: what is known about addresses of other sites."""
    rows = list(Outside(folder).rows(linked(database))) if is_collection(folder / FOLDER) else []
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds = {"url": pa.string(), "outcome": pa.string(), "status": pa.int32()}
    made = {name: pa.array(column, kind) for (name, kind), column in zip(kinds.items(), columns, strict=True)}
    database.register("answered", pa.table(made))
    database.run("create temp table outside as select * from answered")
