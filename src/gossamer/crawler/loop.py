"""The loop of a crawl: one thread that drives all stages. Plans, texts and commits run in the background.

A turn of the loop does four things. It absorbs results as a tick (`tick.py`), enlists pages that sitemaps list, takes
over or begins a plan (manager), and hands out the requests that are due (harvester). There is no barrier between long
and short term (001): the next plan is made while the current plan is being fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from gossamer.base.bell import Bell
from gossamer.base.clock import Clock
from gossamer.base.ending import Ending
from gossamer.base.log import EventLog, Level
from gossamer.base.model import State
from gossamer.collection.journal.effects import SITE_EVENT, VERDICT, Effects, SiteNews, Verdict
from gossamer.collection.store import Store
from gossamer.crawler.sleep import LONGEST, Sleep
from gossamer.crawler.tick import NO_RESULTS, STEPS, Stages, Step, Tick, commit, run_tick
from gossamer.crawler.timekeeper import Timekeeper
from gossamer.desk.account import Account
from gossamer.desk.desk import Desk
from gossamer.desk.rules import Rules
from gossamer.harvester.errands.errand import Errand
from gossamer.harvester.errands.table import ERRANDS
from gossamer.harvester.harvest import Harvest
from gossamer.manager.pages import Pages
from gossamer.manager.planner import Planner
from gossamer.manager.revisits.heard import Heard
from gossamer.manager.scans import soonest_due
from gossamer.seeder.pages import Planted, SeederLimits
from gossamer.seeder.seed import enlist, plant
from gossamer.web.message import Results
from gossamer.web.names.guard import Watched
from gossamer.web.seam import Answer, Names, Web

SEEDS_PER_TICK: Final = 4_000
SHORTEST_REST, LONGEST_REST = 10.0, 3600.0
"""Seconds between plans of a continuous crawl that has nothing to do."""
GRACE: Final = 10.0
"""Seconds that open requests get to end when the crawl stops."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of this run."""

    pages: int | None = None
    """Pages stored."""
    seconds: float | None = None
    patience: float = 60.0
    """The crawl ends when nothing is due within this many seconds."""
    connections: int | None = None
    """Requests in flight, if fewer than the settings say; 0: the crawl pauses."""


class _Begun(NamedTuple):
    """The state at the start of the run."""

    at: float
    """Monotonic time."""
    stored: int
    """Pages that earlier runs had stored."""


class Background(Protocol):
    """Work in a process of its own, which is polled once per turn."""

    def turn(self) -> None: ...


class Crawl:
    """The loop, with the stages that it drives."""

    def __init__(
        self,
        desk: Desk,
        store: Store,
        web: Web,
        names: Names,
        clock: Clock,
        bounds: Bounds,
        log: EventLog | None = None,
        errands: Sequence[type[Errand]] = ERRANDS,
        steps: Sequence[Step] = STEPS,
    ) -> None:
        self.desk, self.store, self.web, self.clock, self.bounds = desk, store, web, clock, bounds
        self.names = Watched(names, clock)
        self.harvest = Harvest(desk, store, web, self.names, clock, desk[Pages].policy.sites_by, errands)
        self._sleep = Sleep(desk.settings.harvester, adapts=not clock.virtual)
        self.planner = Planner(desk, store, bounds.patience, self.bell.ring)
        self._stages = Stages(
            desk, store, self.harvest, SeederLimits.of(desk.settings, desk.forgotten), log, self.planner.outdate
        )
        self._steps = steps
        self.stop: Ending | None = None
        """Set by a signal, or when memory runs out: the crawl ends for this reason."""
        self._begun = _Begun(clock.monotonic(), desk[Account].stored)
        self.background: list[Background] = [Timekeeper(clock, self._stages, web, self._settled, steps)]
        self.longest_turn = 0.0
        """Longest time, in seconds, during which the loop did not poll for results."""

    def run(self, watch: Callable[[], None] = lambda: None, stopping: Callable[[], None] = lambda: None) -> Ending:
        """Runs turns until there is a reason to end; calls `watch` after every turn, and `stopping` before it waits for
        the requests that are open at the end."""
        while (ending := self._ending()) is None:
            self.turn()
            watch()
        stopping()
        self.absorb(self.web.stop(GRACE), self.names.answers())
        self.harvest.turn()
        self.planner.close()
        return ending

    def turn(self) -> None:
        ahead = self._ahead()
        results = self.web.results(*self._sleeps(ahead))
        self.bell.hush()
        begun = self.clock.monotonic()
        self._sleep.woke(begun, len(results))
        self.absorb(results, self.names.answers())
        if not self.store.behind():
            self._enlist()
        self._plan()
        self.harvest.turn()
        if not self.store.behind() and (room := self._room()) > 0:
            # a sitemap that was named just now is placed in the next turn, without a pause, and goes before pages
            self.harvest.hand_out(room, 0.0 if self.harvest.busy() else ahead, self._sleep.early(self.web.free()))
        self.store.turn()
        for each in self.background:
            each.turn()
        self.longest_turn = max(self.longest_turn, self.clock.monotonic() - begun)

    def absorb(self, results: Results, answers: list[Answer]) -> None:
        """Runs one tick, if there is anything to absorb."""
        if len(results) or answers or self.harvest.pressing():
            run_tick(self._stages, Tick(results, answers, self.effects()), self._steps)

    def _plan(self) -> None:
        """Takes over a finished plan, or begins a new one."""
        self._take_plan(self.clock.virtual)
        wall = self.desk.believed(self.clock.wall())
        self.planner.begin(self.clock.monotonic(), wall, self.harvest.busy_sites, self._in_flight())

    def _take_plan(self, wait: bool) -> None:
        if taken := self.planner.take(self.clock.monotonic(), wait):
            plan, verdicts = taken
            self.harvest.install(plan)
            sizes = {"pages": len(plan.pages), "sites": len(plan.sites), "candidates": plan.candidates}
            self._log("plan", Level.DEBUG, **sizes, seconds=round(plan.seconds, 4), value=plan.index_value)
            self.harvest.judge(verdicts)

    # --- ticks of their own -----------------------------------------------------------------------------------------

    def plant(self, seeds: list[str]) -> Planted:
        """Makes pages of seeds, within the limits; seeds that are already known pages are opened."""
        planted: list[Planted] = []
        desk, rules = self.desk, self.desk[Rules].book
        for i in range(0, len(seeds), SEEDS_PER_TICK):
            effects, some = self.effects(), seeds[i : i + SEEDS_PER_TICK]
            limits = self._stages.limits
            planted.append(plant(desk.columns, some, limits, desk.scope, desk.seed, rules.buffer, effects))
            self.commit(effects)
        return Planted(
            sum(each.new for each in planted),
            tuple(seed for each in planted for seed in each.full),
            tuple(seed for each in planted for seed in each.forbidden),
            tuple(seed for each in planted for seed in each.forgotten),
        )

    def judge_again(self, verdicts: list[Verdict]) -> tuple[int, int]:
        """Commits verdicts of changed settings. Returns how many pages they open, and how many they exclude."""
        before = self.desk.columns.page.state
        excluded = [before[verdict.page] == State.EXCLUDED for verdict in verdicts]
        pairs = list(zip(excluded, verdicts, strict=True))
        opened = sum(was and verdict.state == State.PENDING for was, verdict in pairs)
        closed = sum(not was and verdict.state == State.EXCLUDED for was, verdict in pairs)
        for i in range(0, len(verdicts), SEEDS_PER_TICK):
            effects = self.effects()
            effects.verdicts = np.array(verdicts[i : i + SEEDS_PER_TICK], VERDICT)
            self.commit(effects)
        return opened, closed

    def tell(self, news: list[SiteNews]) -> None:
        """Commits these site events, and sets the clocks of their sites."""
        for i in range(0, len(news), SEEDS_PER_TICK):
            effects = self.effects()
            effects.site_events = np.array(news[i : i + SEEDS_PER_TICK], SITE_EVENT)
            self.commit(effects)
        self.harvest.heed(news)

    def _settled(self) -> bool:
        """Ends what is under way with times of the present clock: a plan, and the outbox. Returns whether it could."""
        self._take_plan(wait=True)
        if self.harvest.has_news():
            run_tick(self._stages, Tick(NO_RESULTS, [], self.effects()), self._steps)
        return not self.harvest.has_news()

    def _enlist(self) -> None:
        """Enlists one piece of a sitemap's pages; the rest waits for the next turn."""
        listed, desk = self.harvest.listed(), self.desk
        if listed is None:
            return
        effects, own = self.effects(), listed.own
        effects.hinted_by = listed.url.encode()
        limits, rules = self._stages.limits, desk[Rules].book
        new = enlist(desk.columns, listed.links, own, limits, desk.seed, rules.buffer, effects)
        effects.verdicts = np.concatenate((effects.verdicts, desk[Heard].verdicts(effects.hints)))
        self.commit(effects)
        listed.taken()
        self._log("listed", url=listed.url, pages=len(own), foreign=int((~own).sum()), new=new)

    def commit(self, effects: Effects) -> None:
        commit(self._stages, effects, self._steps)

    def effects(self) -> Effects:
        return self.desk.effects(self.clock.wall(), self.clock.monotonic())

    def _log(self, event: str, level: Level = Level.INFO, **fields: Any) -> None:
        if self._stages.log is not None:
            self._stages.log.event(event, level, **fields)

    def _wait_for_more(self, now: float, wall: float) -> None:
        """A continuous crawl has nothing to do: plans again when a page, a site with pending pages or an errand is due,
        and every hour, whatever else there may be."""
        if now < self._sleep.rests:
            return
        of_pages, site = soonest_due(self.desk.columns, np.inf, self.planner.value), self.desk.columns.site
        waits = site.next[: site.count][(site.pending[: site.count] > 0) & (site.refused[: site.count] == 0)]
        due = min(of_pages, waits.min(initial=np.inf), self.harvest.soonest_due(wall + LONGEST_REST)) - wall
        self._sleep.rests = now + min(LONGEST_REST, max(SHORTEST_REST, due))
        self.planner.stale = True

    # --- how long, and how much -------------------------------------------------------------------------------------

    def _ahead(self) -> float:
        """Seconds ahead of their time that requests are handed out now."""
        return self._sleep.ahead(self.web.free(), self.harvest.limited)

    def _in_flight(self) -> int:
        """Open requests that have begun, for the planner: if bandwidth holds requests back, another plan would not
        help, and all connections count as used."""
        if self.harvest.held_back() > 0:
            return self.desk.settings.harvester.connections
        return self.web.open - self.harvest.kept()

    @property
    def bell(self) -> Bell:
        """Wakes the loop: a signal has come, or a plan has ended."""
        return self._sleep.bell

    @property
    def stored(self) -> int:
        """Pages that this run has stored."""
        return self.desk[Account].stored - self._begun.stored

    @property
    def seconds(self) -> float:
        """Seconds since the crawl began."""
        return self.clock.monotonic() - self._begun.at

    def _room(self) -> int:
        """How many requests may be handed out now."""
        room = self.web.free()
        if self.bounds.pages is not None:
            room = min(room, self.bounds.pages - self.stored - self.web.open)
        if self.bounds.connections is not None:
            room = min(room, self.bounds.connections - self.web.open)
        return room

    def _sleeps(self, ahead: float) -> tuple[float, float]:
        """Seconds that the loop may sleep, and for which it collects results (`crawler/sleep.py`)."""
        now, pause, calm = self.clock.monotonic(), LONGEST, 0.0
        if self.harvest.has_news() or (self.harvest.busy() and not self.store.behind()):
            pause = 0.0
        elif self._room() > 0 and not self.store.behind():
            site, plan = self.harvest.next_time(), self.planner.next_time(self._in_flight(), self.clock.virtual)
            if (held := self.harvest.held_back()) > 0:
                site = max(site, now + held)
            if self.clock.virtual and self.harvest.quiet() > LONGEST and not self.web.open:
                return held, 0.0  # a virtual night has no work of every second
            calm = plan - now
            pause = self._sleep.pause(now, ahead, site, np.inf if self.planner.idle else plan)
            if self.clock.virtual and self.planner.idle and not self.names.open:
                pause = max(pause, min(self._sleep.rests, site) - now)  # virtual seconds need no work of their own
        return pause, self._sleep.gather(pause, ahead, self.web.open, calm)

    def _ending(self) -> Ending | None:
        """Why the crawl ends now; None: it goes on."""
        now, wall, bounds = self.clock.monotonic(), self.desk.believed(self.clock.wall()), self.bounds
        if self.stop is not None:
            return self.stop
        if bounds.seconds is not None and self.seconds >= bounds.seconds:
            return Ending.TIME
        if self.web.open or self.harvest.has_news():
            return None
        self.harvest.release()
        if self.harvest.busy():
            return None
        if bounds.pages is not None and self.stored >= bounds.pages:
            return Ending.PAGES
        if bounds.connections == 0:
            return None
        if self.names.open or not self.planner.idle or self.harvest.next_time() <= now + bounds.patience:
            return None
        if self.planner.value.continuous:
            self._wait_for_more(now, wall)
            return None
        due = soonest_due(self.desk.columns, wall + bounds.patience, self.planner.value)
        self.planner.stale = due <= wall
        due = min(due, self.harvest.soonest_due(wall + bounds.patience))
        return Ending.DONE if due > wall + bounds.patience else None
