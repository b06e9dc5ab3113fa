"""A simulated Web for tests of the whole desk: a graph of URLs, a virtual clock, and a check of politeness."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from gossamer import urls
from gossamer.base.ending import Ending
from gossamer.base.model import Ask, Outcome, PageFlag, State
from gossamer.base.outcomes import NO_OUTCOME
from gossamer.collection.layout import shard_folder
from gossamer.collection.merging import Merger
from gossamer.collection.recovery import recover
from gossamer.collection.runs import runs
from gossamer.collection.sealing import Sealer
from gossamer.collection.tables import seal
from gossamer.config import Settings, override
from gossamer.crawler.apply import apply
from gossamer.crawler.loop import GRACE, Bounds, Crawl
from gossamer.crawler.new_settings import settle
from gossamer.crawler.open import open_collection
from gossamer.crawler.parts import PARTS, new_desk
from gossamer.crawler.tick import STEPS, Step
from gossamer.desk import snapshot
from gossamer.desk.desk import Desk, Part
from gossamer.desk.rules import Rules
from gossamer.harvester.errands.errand import Errand
from gossamer.harvester.errands.table import ERRANDS
from gossamer.read.compact.background import merged
from gossamer.seeder.pages import Planted
from gossamer.webs.simulated import Asked, Reply, SimulatedNames, SimulatedWeb
from tests.support.machine import Machine

SMALL = ("collection.max_pages=20000", "collection.max_sites=200", "seeder.sitemaps=false")


@dataclass
class Sealed:
    """A sealing process that has ended."""

    output: str
    ended: bool = True
    code: int = 0
    failure: str = ""

    def wait(self) -> None:
        pass

    def kill(self) -> None:
        pass


def seal_here(shard: Path, number: int, lock: int) -> Sealed:
    """A sealer without a process: an interpreter for each of hundreds of small segments would take too long."""
    return Sealed(json.dumps(seal.seal(shard, number)))


def merge_here(shard: Path, lock: int) -> Sealed:
    """Merges segments without a process."""
    return Sealed(merged(shard))


def cannot_seal(shard: Path, number: int, lock: int) -> Sealed:
    """A sealer on a machine where no process can be started."""
    raise OSError(errno.EMFILE, "Too many open files")


@contextmanager
def at_processor_speed() -> Iterator[None]:
    """Disables syncs: with a commit every virtual second, a run would wait for the disk thousands of times."""
    with patch.object(os, "fsync", lambda fd: None), patch.object(os, "fdatasync", lambda fd: None):
        yield


@dataclass
class World:
    """Runs of one collection against one simulated Web; the clock continues from run to run."""

    folder: Path
    replies: Mapping[str, Reply] | Callable[[str], Reply]
    changes: Sequence[str] = ()
    address: Callable[[str], str | None] = lambda host: f"192.0.2.{sum(host.encode()) % 200}"
    ttl: float = 86_400.0
    clock: Machine = field(default_factory=Machine)
    asked: list[Asked] = field(default_factory=list)
    sealer: Sealer = seal_here
    merger: Merger | None = None
    parts: Sequence[type[Part]] = PARTS
    errands: Sequence[type[Errand]] = ERRANDS
    steps: Sequence[Step] = STEPS
    web: SimulatedWeb | None = None
    """Of the last run."""

    @property
    def settings(self) -> Settings:
        return override(Settings(), (*SMALL, *self.changes))

    def reply(self, url: str) -> Reply:
        if callable(self.replies):
            return self.replies(url)
        found = self.replies.get(url)
        if found is None:
            found = Reply(outcome=Outcome.NOT_FOUND, status=404, seconds=0.05)
        return found

    @at_processor_speed()
    def run(
        self,
        seeds: Sequence[str] = (),
        clean: bool = True,
        turns: int | None = None,
        commit: bool = False,
        sealed: bool = False,
        **bounds: float,
    ) -> Result:
        """Runs the crawl to its end, or for so many turns. `clean=False`: ends as if killed; `commit`: right after a
        commit; `sealed`: when everything is in segments, but before there is an image."""
        store, desk, resumed = open_collection(
            self.folder, self.settings, self.clock, parts=self.parts, sealer=self.sealer, merger=self.merger
        )
        try:
            web = SimulatedWeb(self.reply, self.clock, desk.seed, www=self.settings.seeder.www, asked=self.asked)
            self.web = web
            names = SimulatedNames(self.address, self.ttl)
            within = replace(Bounds(), **bounds)  # type: ignore[arg-type]
            crawl = Crawl(desk, store, web, names, self.clock, within, None, self.errands, self.steps)
            if resumed:
                settle(crawl, runs(store.shard)[-1]["differences"])
                crawl.harvest.resume(0.0)
            planted = crawl.plant(list(seeds))
            ending = None
            if turns is None:
                ending = crawl.run()
            else:
                for _ in range(turns):
                    crawl.turn()
                if clean:
                    crawl.absorb(web.stop(GRACE), names.answers())
                crawl.planner.close()
            result = Result(ending, crawl, self.pages(crawl), planted)
            if commit or sealed:
                store.commit(rotate=sealed)
            if sealed:
                store.seal_all()
            now = self.clock.monotonic()
            self.asked[:] = [a if a.end <= now else replace(a, end=now) for a in self.asked]
            if clean and not sealed:
                store.finish(*snapshot.dump(desk, store.ends()))
            return result
        finally:
            store.close()

    def replayed(self) -> Desk:
        """A desk that is rebuilt from all committed effects, without an image."""
        recovered = replace(recover(shard_folder(self.folder)), image=None)
        desk = new_desk(self.settings, recovered.meta.seed, parts=self.parts)
        for effects in recovered.effects():
            apply(desk, effects)
        return desk

    @staticmethod
    def pages(crawl: Crawl) -> dict[str, tuple[State, Outcome | None, int]]:
        """URL to state, outcome and depth."""
        page = crawl.desk.columns.page
        texts = [t.decode() for t in crawl.store.urls(list(range(page.count)))]
        outcomes = [None if o == NO_OUTCOME else Outcome(o) for o in page.outcome[: page.count].tolist()]
        states = map(State, page.state[: page.count].tolist())
        return dict(zip(texts, zip(states, outcomes, page.depth[: page.count].tolist(), strict=True), strict=True))


@dataclass
class Result:
    """The end of a run."""

    ending: Ending | None
    crawl: Crawl
    pages: dict[str, tuple[State, Outcome | None, int]]
    planted: Planted

    def in_state(self, state: State) -> set[str]:
        return {url for url, (found, _, _) in self.pages.items() if found is state}


def state_of(desk: Desk) -> dict[str, object]:
    """The durable state of a desk, by name, as plain values: a replay or an image must reproduce it.

    Left out: merit, which the scorer computes and no effect contains, and which pages are in flight.
    """
    columns, found = desk.columns, dict[str, object](tick=desk.tick, wall=desk.wall)
    for name, group in columns.groups().items():
        found |= {f"{name}.{column}": values.tolist() for column, values in group.used().items() if column != "merit"}
    found["page.flags"] = (columns.page.flags[: columns.page.count] & (0xFF ^ PageFlag.ASSIGNED)).tolist()
    for name, table in columns.tables().items():
        cells = np.concatenate(table.cells())
        found[name] = sorted(cells[cells["key"] != 0].tolist())
    for part in desk.parts:
        found |= {f"{part.name}: {name}": np.asarray(array).tolist() for name, array in part.arrays().items()}
        found |= {f"{part.name}: {name}": value for name, value in part.meta().items()}
    origins = columns.origin.used()
    places = zip(origins["rules_start"].tolist(), origins["rules_end"].tolist(), strict=True)
    found["rules"] = [desk[Rules].book.buffer[a:b].tobytes() for a, b in places]
    for place in PLACES_IN_MEMORY:  # the place of rules depends on when they were packed, not on their contents
        del found[place]
    return found


PLACES_IN_MEMORY = (
    "origin.rules_start",
    "origin.rules_end",
    *(f"rules: {name}" for name in ("rules", "big_rules", "rule_keys", "rule_starts", "rules_kept")),
)


def impolite(asked: Sequence[Asked], wait: float, address_wait: float, www: bool = True) -> list[str]:
    """Requests that began too early, or during another request, at a site or an address. `www`: seeder.www."""
    found = []
    for key, least in (("site", wait), ("address", address_wait)):
        last: dict[object, Asked] = {}
        for a in sorted(asked, key=lambda a: a.start):
            host = urls.host(a.url)
            name = a.address if key == "address" else urls.without_www(host) if www else host
            before = last.get(name)
            if before is not None:
                gap = max(least, before.retry_after if key == "site" else 0.0)
                if a.start < before.end + gap - 1e-6:
                    found.append(f"{key} {name}: {a.url} at {a.start:.3f}, {before.url} ended {before.end:.3f}")
            last[name] = a
    return found


def robots_first(asked: Sequence[Asked]) -> bool:
    """Whether every origin's robots.txt was requested before its pages."""
    seen: set[str] = set()
    for a in asked:
        origin = urls.origin(a.url)
        if a.ask is Ask.ROBOTS:
            seen.add(origin)
        elif origin not in seen:
            return False
    return True
