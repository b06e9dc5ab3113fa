"""A simulated Web for tests of the whole desk: a graph of URLs, a virtual clock, and a check of politeness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gossamer import imaging, urls
from gossamer.clock import VirtualClock
from gossamer.config import Settings, override
from gossamer.crawl import Bounds, Crawl, Ending
from gossamer.model import Ask, Outcome, State
from gossamer.opening import open_collection
from gossamer.simulator.web import Asked, Reply, SimulatedNames, SimulatedWeb

SMALL = ("collection.max_pages=20000", "collection.max_sites=200")


@dataclass
class World:
    """Runs of one collection against one simulated Web; the clock goes on from run to run."""

    folder: Path
    replies: Mapping[str, Reply] | Callable[[str], Reply]
    changes: Sequence[str] = ()
    address: Callable[[str], str | None] = lambda host: f"192.0.2.{sum(host.encode()) % 200}"
    ttl: float = 86_400.0
    clock: VirtualClock = field(default_factory=VirtualClock)
    asked: list[Asked] = field(default_factory=list)

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

    def run(self, seeds: Sequence[str] = (), clean: bool = True, turns: int | None = None, **bounds: float) -> Result:
        """One run to its end, or of so many turns. `clean=False`: it ends as if killed."""
        store, desk, resumed = open_collection(self.folder, self.settings, self.clock)
        try:
            web = SimulatedWeb(self.reply, self.clock, desk.seed, asked=self.asked)
            names = SimulatedNames(self.address, self.ttl)
            crawl = Crawl(desk, store, web, names, self.clock, replace(Bounds(), **bounds))  # type: ignore[arg-type]
            if resumed:
                crawl.dispatch.resume(0.0)
            crawl.plant(list(seeds))
            ending = None
            if turns is None:
                ending = crawl.run()
            else:
                for _ in range(turns):
                    crawl.turn()
                crawl.planner.close()
            result = Result(ending, crawl, self.pages(crawl))
            if clean:
                store.finish(*imaging.dump(desk, store.urls))
            return result
        finally:
            store.close()

    @staticmethod
    def pages(crawl: Crawl) -> dict[str, tuple[State, Outcome | None, int]]:
        """URL to state, outcome and depth."""
        page = crawl.desk.columns.page
        texts = [t.decode() for t in crawl.store.urls.read_many(list(range(page.count)))]
        outcomes = [None if o == 255 else Outcome(o) for o in page.outcome[: page.count].tolist()]
        states = map(State, page.state[: page.count].tolist())
        return dict(zip(texts, zip(states, outcomes, page.depth[: page.count].tolist(), strict=True), strict=True))


@dataclass
class Result:
    ending: Ending | None
    crawl: Crawl
    pages: dict[str, tuple[State, Outcome | None, int]]

    def in_state(self, state: State) -> set[str]:
        return {url for url, (found, _, _) in self.pages.items() if found is state}


def impolite(asked: Sequence[Asked], wait: float, address_wait: float) -> list[str]:
    """Requests that came too early, or beside another, at a site or at an address."""
    found = []
    for key, least in (("site", wait), ("address", address_wait)):
        last: dict[object, Asked] = {}
        for a in sorted(asked, key=lambda a: a.start):
            name = urls.host(a.url) if key == "site" else a.address
            before = last.get(name)
            if before is not None:
                gap = max(least, before.retry_after if key == "site" else 0.0)
                if a.start < before.end + gap - 1e-6:
                    found.append(f"{key} {name}: {a.url} at {a.start:.3f}, {before.url} ended {before.end:.3f}")
            last[name] = a
    return found


def robots_first(asked: Sequence[Asked]) -> bool:
    """Was every origin's robots.txt asked for before its pages?"""
    seen: set[str] = set()
    for a in asked:
        origin = urls.origin(a.url)
        if a.ask is Ask.ROBOTS:
            seen.add(origin)
        elif origin not in seen:
            return False
    return True
