"""A week, or weeks, of a continuous crawl of the living demonstration Web, in virtual time, with kills.

    python -m bench.week [--days 7] [--sites 20] [--pages 1000] [--speed 20]

The crawl is the real one, on a simulated network: pages, links, validators (honest and lying), robots.txt and redirects
are those of the demonstration Web at that time. Three runs a day end in turn by a stop, by a kill, and by a kill in the
midst of what is not committed yet; it keeps quiet hours. Segments are merged in the background. A teller reads what is
committed after each run, and tells a watch of all pages; its receiver refuses, or the teller is killed, half of the
time.

It shows, with bounds, that no request is impolite, that nothing is lost (each request that ended two seconds before a
kill is a visit; all visits stay as they were; `gossamer verify` finds nothing), that each event is told, in order, and
none after its mark, and that the number of files and the work of a start stay as they are.
"""

from __future__ import annotations

import argparse
import html
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import xxhash

from bench.bounds import Figure, judge
from gossamer import urls
from gossamer.base.model import Ask, LinkKind, Outcome
from gossamer.collection import manifest, watches
from gossamer.collection.layout import SETTINGS, TABLES, shard_folder
from gossamer.collection.recovery import recover
from gossamer.collection.watches import Standing, Watch, read_standing
from gossamer.config import Settings, dump
from gossamer.crawler.open import open_collection
from gossamer.read.changes.events import Mark, reading
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.tell import teller as telling
from gossamer.read.tell.message import Message
from gossamer.read.tell.send import NotToldError
from gossamer.read.tell.teller import Teller
from gossamer.read.verify.verify import verify
from gossamer.robots import Rules
from gossamer.urls.names import bare
from gossamer.webs.coverage import lived
from gossamer.webs.demo import DemoWeb
from gossamer.webs.demo.life import Validators
from gossamer.webs.demo.living import LivingAnswers
from gossamer.webs.simulated import Labels, Reply
from tests.support.machine import Machine
from tests.support.world import World, at_processor_speed, impolite, merge_here, robots_first

DAY: Final = 86_400.0
BEGIN: Final = 1_790_035_200.0
"""Midnight UTC."""
QUIET: Final = (2 * 3600.0, 4 * 3600.0)
LOST: Final = 2.0
"""Seconds before a kill whose requests may be lost: a commit begins every second."""
WAIT, ADDRESS_WAIT = 15.0, 1.0
CRAWL: Final = (
    "manager.continuous=true",
    "manager.min_period=8h",
    "harvester.quiet_hours=02:00-04:00 UTC",
    f"harvester.wait={WAIT:.0f}s",
    f"harvester.wait_large={WAIT:.0f}s",
    "harvester.robots_valid=1d",
    "collection.seal_every=1h",
)
_HREF: Final = re.compile(rb"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_DIGITS: Final = re.compile(rb"\d")
_OUTCOMES: Final = {
    200: Outcome.OK, 301: Outcome.REDIRECT, 302: Outcome.REDIRECT, 308: Outcome.REDIRECT, 403: Outcome.REFUSED,
    404: Outcome.NOT_FOUND, 410: Outcome.NOT_FOUND, 429: Outcome.TOO_MANY_REQUESTS, 500: Outcome.SERVER_ERROR,
    503: Outcome.SERVER_ERROR,
}  # fmt: skip


def living(seed: int, sites: int, pages: int, speed: float) -> DemoWeb:
    """A living Web without what needs a real connection: sessions, charsets, sites that are down."""
    shape = DemoWeb(seed=seed, sites=sites, pages=pages, largest=max(20, pages // 5), speed=speed, counted=False)
    shape = replace(shape, sessions=0, calendars=0, soft=0, mirrors=0, torn=0)
    return replace(shape, down=0, languages=0, sitemaps=0, tls=0)


class Living:
    """The answers of the living Web, for the simulated network."""

    def __init__(self, web: DemoWeb, starts: Callable[[], float]) -> None:
        """`starts`: the wall time at which the request begins that is to be answered."""
        self.web, self._starts, self._answers = web, starts, LivingAnswers(web)
        self._canonical = urls.Scope.of(Settings().seeder).canonical

    def address(self, host: str) -> str | None:
        site = self.web.by_host.get(host)
        return None if site is None else site.address.replace("127.", "192.", 1)

    def reply(self, url: str) -> Reply:
        site = self.web.by_host[urls.host(url)]
        target = "/" + url.partition("://")[2].partition("/")[2]
        found = self._answers.answer(site, target, {}, self._starts())
        outcome, retry = _OUTCOMES[found.status], float(found.retry_after or -1)
        if target == "/robots.txt" and outcome is Outcome.OK:
            rules = Rules.parse(found.body, "Gossamer")
            return Reply(rules=rules.compiled(), delay=-1.0 if rules.delay is None else rules.delay)
        if outcome is Outcome.REDIRECT:
            to = self._canonical(found.location, url) or ""
            return Reply(outcome, found.status, links=(to,), kind=LinkKind.REDIRECT, redirect=to)
        if outcome is not Outcome.OK:
            return Reply(outcome, found.status, retry_after=retry)
        lies = self._answers.life.habits[site.number].validators is Validators.ALWAYS_304
        return Reply(
            links=self._links(url, found.body),
            digest=xxhash.xxh3_64_intdigest(found.body) >> 1 | 1,
            sketch=xxhash.xxh3_64_intdigest(_DIGITS.sub(b"", found.body)) >> 1 | 1,
            size=len(found.body),
            labels=Labels(etag=found.etag, modified=found.modified, unchanged=True if lies else None),
        )

    def _links(self, url: str, body: bytes) -> tuple[str, ...]:
        texts = (html.unescape(b"".join(each).decode(errors="replace")) for each in _HREF.findall(body))
        found = (self._canonical(text, url) for text in texts)
        return tuple(dict.fromkeys(each for each in found if each and urls.host(each) in self.web.by_host))


class Killed(BaseException):
    """The teller was killed here."""


@dataclass
class Told:
    """What the receiver of a watch got."""

    marks: list[Mark] = field(default_factory=list)
    late: int = 0
    """Events that came after their mark was written."""
    kills: int = 0
    refusals: int = 0


@dataclass
class Day:
    """The collection at the end of a day."""

    segments: int
    files: int
    read: int
    """Records that a start reads: those after the last image."""
    seconds: float
    """Processor time of a start."""
    visits: int


@dataclass
class Week:
    """A crawl of some days, and what was seen of it."""

    folder: Path
    web: DemoWeb
    days: int = 7
    seed: int = 1
    changes: Sequence[str] = CRAWL
    told: Told = field(default_factory=Told)
    ends: list[Day] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    kills: list[float] = field(default_factory=list)
    """Monotonic times."""

    def __post_init__(self) -> None:
        self.clock = Machine(wall=BEGIN)
        self.began = self.clock.monotonic()
        self.living, self._random = Living(self.web, self._starts), Random(self.seed)
        answers = self.living.reply, self.changes, self.living.address
        self.world = World(self.folder, *answers, clock=self.clock, merger=merge_here)
        self.folder.mkdir(exist_ok=True)
        (self.folder / SETTINGS).write_text(dump(self.world.settings))
        self.watch = watches.add(self.folder, Watch(0, "*.test", webhook="http://x.example/"))
        self._visits: list[tuple[Any, ...]] = []

    def _starts(self) -> float:
        assert self.world.web is not None
        return self.world.web.asking - self.began + BEGIN

    # --- the crawl --------------------------------------------------------------------------------------------

    def live(self) -> None:
        seeds = [urls.canonical(url) or url for url in self.web.seeds]
        for number in range(3 * self.days):
            end = self.began + DAY / 3 * (number + 1) - self._random.uniform(0.0, 600.0)
            kill = number % 3 != 0
            left = end - self.clock.monotonic()
            self.world.run(seeds if number == 0 else (), clean=not kill, commit=number % 3 == 1, seconds=left)
            if kill:
                self.kills.append(self.clock.monotonic() - (0.0 if number % 3 == 2 else -LOST))
            self._tell(3, always=False)
            if number % 3 == 2:
                self._nothing_changed()
                self.ends.append(self._looked_at())
        self.world.run(turns=3)
        self._nothing_changed()
        self._tell(10_000, always=True)

    def _looked_at(self) -> Day:
        shard = shard_folder(self.folder)
        recovered = recover(shard)
        after = recovered.image.record if recovered.image else 0
        begun = time.process_time()
        with at_processor_speed():
            store, _, _ = open_collection(self.folder, self.world.settings, self.clock)
            seconds = time.process_time() - begun
            store.close()
        folders = (*TABLES, "merged", "cdx", "journal", "image", "urls", "versions", "told")
        files = sum(path.is_file() for folder in folders for path in (shard / folder).rglob("*"))
        return Day(len(manifest.read(shard).segments), files, recovered.mark.record - after, seconds, len(self._visits))

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return Database(find(self.folder, fresh=True), self.world.settings).run(statement)

    def _nothing_changed(self) -> None:
        """All that was committed is there, as it was."""
        rows = self._rows(
            "select tick, number, page, ask, outcome, change, epoch(time) from stored.visits order by tick, number"
        )
        if rows[: len(self._visits)] != self._visits:
            self.faults.append(f"visits have changed: there were {len(self._visits)}, and are {len(rows)}")
        self._visits = rows

    # --- telling ----------------------------------------------------------------------------------------------

    def _tell(self, turns: int, always: bool) -> None:
        """Tells the watch, and is killed or refused now and then, unless `always`."""
        killed_at_mark = False

        def send(watch: Watch, message: Message, _settings: Settings, _now: float) -> None:
            nonlocal killed_at_mark
            action = 4 if always else self._random.randrange(8)
            standing = read_standing(self.folder, watch)
            if action == 0:
                raise Killed
            self.told.late += sum(e.mark <= (standing.tick, standing.number) for e in message.events)
            if action == 1:
                self.told.refusals += 1
                raise NotToldError("no")
            self.told.marks += [e.mark for e in message.events]
            if action == 2:
                raise Killed
            killed_at_mark = action == 3

        def write(folder: Path, number: int, standing: Standing) -> None:
            nonlocal killed_at_mark
            if killed_at_mark:
                killed_at_mark = False
                raise Killed
            watches.write_standing(folder, number, standing)

        with patch.object(telling, "write_standing", write):
            clock = iter(np.arange(self.clock.wall(), self.clock.wall() + 1e9, telling.LONGEST_PAUSE).tolist())
            teller = Teller(self.folder, lambda: next(clock), lambda line: None, send)
            for _ in range(turns):
                try:
                    if not teller.turn() and always:
                        break
                except Killed:
                    self.told.kills += 1
                    teller = Teller(self.folder, lambda: next(clock), lambda line: None, send)

    # --- what became of it ------------------------------------------------------------------------------------

    def impolite(self) -> list[str]:
        """Requests that came too early, in quiet hours, or before robots.txt."""
        asked, offset = self.world.asked, BEGIN - self.began
        found = impolite(asked, WAIT, ADDRESS_WAIT)
        found += [a.url for a in asked if QUIET[0] <= (a.start + offset) % DAY < QUIET[1]]
        return found + ([] if robots_first(asked) else ["a page was requested before its robots.txt"])

    def lost(self) -> list[str]:
        """Requests that have no visit, though they ended in time before a kill."""
        of, there = dict(self._rows("select page, url from stored.pages")), defaultdict[str, list[float]](list)
        for _, _, page, _, _, _, at in self._visits:
            there[of.get(page, "")].append(at - BEGIN + self.began)
        asked = [a for a in self.world.asked if a.ask is Ask.PAGE]
        missing = [a for a in asked if not any(abs(a.end - at) < 0.05 for at in there[bare(a.url)])]
        return [a.url for a in missing if not any(kill - LOST <= a.end <= kill + 1e-6 for kill in self.kills)]

    def untold(self) -> tuple[int, int, int]:
        """Events that were told to nobody, out of order, and twice."""
        with reading(self.folder) as events:
            wanted = [e.mark for e in events.after(Mark(0, 0), 1 << 30) if self.watch.matches(e.url)]
        first = list(dict.fromkeys(self.told.marks))
        return (
            len(set(wanted) - set(first)),
            sum(a != b for a, b in zip(first, wanted, strict=False)),
            len(self.told.marks) - len(first),
        )

    def figures(self) -> list[Figure]:
        half = len(self.ends) // 2
        first, second = self.ends[: half or 1], self.ends[half:]
        untold, unordered, twice = self.untold()
        events = len(set(self.told.marks))
        found = lived.judge(self.web, self.folder)
        wrong = sum(told.wrong for told in found.validators.values())
        return [
            Figure("impolite requests", len(self.impolite()), "", 0, aside=f"of {len(self.world.asked):,}"),
            Figure("requests that were lost", len(self.lost()), "", 0, aside=f"{len(self.kills)} kills"),
            Figure("changes of what was committed", len(self.faults), "", 0, aside=f"{len(self._visits):,} visits"),
            Figure("findings of verify", len(verify(self.folder).findings), "", 0),
            Figure("events not told", untold, "", 0, aside=f"of {events:,}"),
            Figure("events out of order", unordered, "", 0),
            Figure("events told after their mark", self.told.late, "", 0, aside=f"{twice} twice, by kills before it"),
            Figure(
                "kills of the teller", self.told.kills, "", 1, at_least=True, aside=f"{self.told.refusals} refusals"
            ),
            _flat("files", [day.files for day in first], [day.files for day in second], 1.3),
            _flat("segments", [day.segments for day in first], [day.segments for day in second], 1.5),
            _flat("records that a start reads", [day.read for day in first], [day.read for day in second], 1.5),
            _flat(
                "CPU of a start, ms", [1e3 * day.seconds for day in first], [1e3 * day.seconds for day in second], 2.0
            ),
            Figure(
                "changes between visits, noticed", found.noticed, "", 1, at_least=True, aside=f"of {found.changes:,}"
            ),
            Figure("false changes", found.false, "", 0),
            Figure("news that came, known", found.found, "", 1, at_least=True, aside=f"of {found.born:,}"),
            Figure("copies up to date on average, %", 100 * found.mean_fresh_words, "", 1, at_least=True),
            Figure("answers 304", found.not_modified, "", 1, at_least=True, aside=f"{wrong} of them were lies"),
        ]


def _flat(name: str, first: list[float] | list[int], second: list[float] | list[int], most: float) -> Figure:
    days = ", ".join(f"{each:,.4g}" for each in (*first, *second))
    return Figure(f"{name}: second half to first", max(second) / max(1e-9, *first), "times", most, aside=days)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("days", 7), ("sites", 20), ("pages", 1_000), ("speed", 20), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gossamer-week-") as folder:
        web = living(given.seed, given.sites, given.pages, given.speed)
        begun = time.process_time()
        week = Week(Path(folder) / "c", web, given.days, given.seed)
        week.live()
        used, visits = time.process_time() - begun, len(week.world.asked)
        print(f"{given.days} days, {visits:,} requests, {used:.0f} s of CPU, {1e3 * used / visits:.2f} ms a request")
        judge(week.figures())


if __name__ == "__main__":
    main()
