"""The crawl: the only place where the stages meet. One loop in one thread; plans, texts and commits run beside it.

A turn of the loop is a tick: absorb what came back (seeder), journal it, apply it; take over a plan or begin one
(manager); hand out what may be asked now (harvester). There is no barrier between long and short term (001): the next
plan is made while the present one is being fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from gossamer.base.clock import Clock
from gossamer.base.ending import Ending
from gossamer.base.model import Ask, State, VerdictFlag
from gossamer.base.outcomes import ASIDE, Reason
from gossamer.collection.journal.effects import SITE_EVENT, VERDICT, Effects, SiteEvent
from gossamer.collection.store import Store
from gossamer.config.settings import HarvesterSettings
from gossamer.crawl.apply import apply
from gossamer.desk.account import Account
from gossamer.desk.desk import Desk
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.dispatch import Dispatch
from gossamer.eventlog import EventLog, Level
from gossamer.harvester.naming import WHY as WHY_ASIDE
from gossamer.manager.due import soonest_due
from gossamer.planner import Planner
from gossamer.seeder.credits import duplicates_of
from gossamer.seeder.seed import Limits, Planted, enlist, identify, mark_duplicates, plant
from gossamer.web.addresses import pack
from gossamer.web.message import Results
from gossamer.web.names.guard import Watched
from gossamer.web.seam import Answer, Names, Web

TICK: Final = 0.025
"""Seconds: results that arrive within a tick are absorbed together, and what is due is handed out together."""
AHEAD: Final = 0.03
"""Seconds before its time that a request is handed out, while more than half of the connections are free. The worker
keeps it until then: so a turn of the loop serves several sites, and none is asked late for that. More than a tick, and
what a turn takes. Not within a bandwidth: admission is by what is free at the moment."""
SHORT_TICK: Final = 0.002
BUSY: Final = 16
"""Where nothing is handed out ahead, and fewer requests are open than this, a tick ends when a site is due."""
SEEDS_A_TICK: Final = 4_000
GRACE: Final = 10.0
"""Seconds that open requests get to end when the crawl stops."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What this run may do at most."""

    pages: int | None = None
    """Pages stored."""
    seconds: float | None = None
    patience: float = 60.0
    """The crawl ends when nothing is due within this time."""


class Beside(Protocol):
    """Work beside the crawl, in a process of its own: looked after once a turn."""

    def turn(self) -> None: ...


class Crawl:
    def __init__(
        self,
        desk: Desk,
        store: Store,
        web: Web,
        names: Names,
        clock: Clock,
        bounds: Bounds,
        log: EventLog | None = None,
    ) -> None:
        self.log = log
        self.desk, self.store, self.web, self.clock, self.bounds = desk, store, web, clock, bounds
        self.names = Watched(names, clock)
        self.dispatch = Dispatch(desk, store, web, self.names, clock, log)
        self.planner = Planner(desk, store, bounds.patience)
        self.limits = Limits.of(desk.settings)
        self._idle_tick = min(TICK, 0.4 * _shortest_rest(desk.settings.harvester))
        """An answer may wait so long: its site rests anyway, and is handed out again in time."""
        self._turned = -float("inf")
        """When the last turn began its work."""
        self.stop_requested = self.memory_used_up = False
        self.started = clock.monotonic()
        self.stored_before = desk[Account].stored
        self.beside: list[Beside] = []
        self.longest_turn = 0.0
        """Seconds for which the loop was deaf, at most."""

    def run(self, watch: Callable[[], None] = lambda: None) -> Ending:
        """Until there is a reason to end; `watch` is called every turn."""
        while (ending := self._ending()) is None:
            self.turn()
            watch()
        self._absorb(self.web.stop(GRACE), self.names.answers())
        if self.dispatch.bandwidth is not None:
            self.dispatch.bandwidth.turn()
        self.planner.close()
        return ending

    def turn(self) -> None:
        ahead = self._ahead()
        pause = self._pause(ahead)
        results = self.web.results(pause, self._gather(pause, ahead))
        begun = self._turned = self.clock.monotonic()
        self._absorb(results, self.names.answers())
        if not self.store.behind():
            self._enlist()
        if taken := self.planner.take(self.clock.monotonic(), wait=self.clock.virtual):
            plan, verdicts = taken
            self.dispatch.install(plan)
            if self.log is not None:
                self.log.event(
                    "plan",
                    Level.DEBUG,
                    pages=len(plan.pages),
                    sites=len(plan.sites),
                    seconds=round(plan.seconds, 4),
                    candidates=plan.candidates,
                    value=plan.index_value,
                )
            self.dispatch.verdicts += verdicts
        wall = self.desk.believed(self.clock.wall())
        self.planner.begin(self.clock.monotonic(), wall, self.dispatch.queue.busy_sites, self._in_flight())
        if self.dispatch.bandwidth is not None:
            self.dispatch.bandwidth.turn()
        if not self.store.behind() and (room := self._room()) > 0:
            # a sitemap that was named just now is placed in the next turn, at once, and goes before pages
            self.dispatch.hand_out(room, 0.0 if self.dispatch.rounds.busy else ahead)
        self.store.turn()
        for each in self.beside:
            each.turn()
        self.longest_turn = max(self.longest_turn, self.clock.monotonic() - begun)

    def _ahead(self) -> float:
        """Seconds ahead of their time that requests are handed out now."""
        bandwidth = self.dispatch.bandwidth
        limited = bandwidth is not None and bandwidth.limit > 0
        return 0.0 if limited or 2 * self.web.free() <= self.desk.settings.harvester.connections else AHEAD

    def _gather(self, pause: float, ahead: float) -> float:
        """How long a tick is."""
        if ahead:
            return max(SHORT_TICK, self._idle_tick)
        return TICK if self.web.open >= BUSY else max(SHORT_TICK, min(pause, self._idle_tick))

    def plant(self, seeds: list[str]) -> Planted:
        """Seeds become pages, as far as the limits go; those that are known are opened."""
        planted: list[Planted] = []
        for i in range(0, len(seeds), SEEDS_A_TICK):
            effects = self._effects()
            some, desk = seeds[i : i + SEEDS_A_TICK], self.desk
            rules = desk[Rules].book.buffer
            planted.append(plant(desk.columns, some, self.limits, desk.scope, desk.seed, rules, effects))
            self._commit(effects)
        return Planted(
            sum(each.new for each in planted),
            tuple(seed for each in planted for seed in each.full),
            tuple(seed for each in planted for seed in each.forbidden),
        )

    def judge_again(self, verdicts: list[tuple[int, int, int, int]]) -> tuple[int, int]:
        """Pages that settings open again, or exclude; returns how many of each. Other verdicts change no state."""
        before = self.desk.columns.page.state
        shut = [before[page] == State.EXCLUDED for page, *_ in verdicts]
        opened = sum(was and state == State.PENDING for was, (_, state, *_) in zip(shut, verdicts, strict=True))
        closed = sum(not was and state == State.EXCLUDED for was, (_, state, *_) in zip(shut, verdicts, strict=True))
        for i in range(0, len(verdicts), SEEDS_A_TICK):
            effects = self._effects()
            effects.verdicts = np.array(verdicts[i : i + SEEDS_A_TICK], VERDICT)
            self._commit(effects)
        return opened, closed

    def ask_names_again(self, sites: list[int]) -> None:
        """Sites whose names failed under other settings: they may be looked up at once."""
        for i in range(0, len(sites), SEEDS_A_TICK):
            effects = self._effects()
            events = [(s, SiteEvent.NAME_AGAIN, 0, 0, effects.wall, 0.0, [0] * 16) for s in sites[i : i + SEEDS_A_TICK]]
            effects.site_events = np.array(events, SITE_EVENT)
            self._commit(effects)

    def _absorb(self, results: Results, answers: list[Answer]) -> None:
        if not (
            len(results) or answers or self.dispatch.verdicts or self.dispatch.events or self.dispatch.rounds.pressing
        ):
            return
        effects = self._effects()
        if len(results):
            results = self.dispatch.rounds.follow(results)
            results.visits["time"] = np.round(effects.wall - (effects.monotonic - results.visits["end"]), 6)
            results = self.dispatch.prober.mark(results)
            mark_duplicates(self.desk.columns, results, self.desk.seed)
            identify(self.desk.columns, results, self.limits, self.desk.seed, self.desk[Rules].book.buffer, effects)
            self.dispatch.follow(results, effects)
        self.dispatch.place(effects)
        if answers or self.dispatch.events:
            current = [answer for answer in answers if answer.host == self.desk[Places].host(answer.site)]
            events = [self._event(answer, effects.wall) for answer in current]
            effects.site_events = np.array(events + self.dispatch.events, SITE_EVENT)
            self._open_duplicates([event[0] for event in events if event[1] == SiteEvent.MOVED])
        if self.dispatch.verdicts:
            effects.verdicts = self._still_right(np.array(self.dispatch.verdicts, VERDICT), results)
            self.dispatch.verdicts = []
        self._commit(effects)
        if self.log is not None and len(results):
            self.log.visits(effects.visits, results.detail_of)
        self.dispatch.settle_events()
        self.dispatch.settle(results, effects)
        self.dispatch.named(answers)

    def _still_right(self, verdicts: npt.NDArray[np.void], results: Results) -> npt.NDArray[np.void]:
        """Without those that were made by rules which this tick may change: their pages are judged anew."""
        read = results.visits["origin"][results.visits["ask"] == Ask.ROBOTS]
        if not len(read):
            return verdicts
        outdated = np.isin(self.desk.columns.page.origin[verdicts["page"]], read)
        outdated &= verdicts["judged"] & VerdictFlag.ROBOTS != 0
        return verdicts[~outdated]

    def _enlist(self) -> None:
        """Some of the pages that a sitemap lists; the rest waits for the next turn."""
        rounds, desk = self.dispatch.rounds, self.desk
        piece = rounds.next_piece()
        if piece is None:
            return
        effects, own = self._effects(), rounds.own(piece)
        effects.hinted_by = piece.wanted.url.encode()
        new = enlist(desk.columns, piece.links, own, self.limits, desk.seed, desk[Rules].book.buffer, effects)
        self._commit(effects)
        rounds.taken(piece)
        if self.log is not None:
            self.log.event("listed", url=piece.wanted.url, pages=len(own), foreign=int((~own).sum()), new=new)

    def _commit(self, effects: Effects) -> None:
        self.store.append(effects)
        apply(self.desk, effects)
        self.planner.stale = True

    def _effects(self) -> Effects:
        return self.desk.effects(self.clock.wall(), self.clock.monotonic())

    def _event(self, answer: Answer, wall: float) -> tuple[Any, ...]:
        """A name that failed is tried again as `outcomes.ASIDE` says (A.2.2), its other spelling at once."""
        if answer.address is not None:
            moved = self.desk[Places].has_moved(answer.site, [pack(each) for each in answer.addresses], wall)
            event = SiteEvent.MOVED if moved else SiteEvent.RESOLVED
            return answer.site, event, 0, answer.port, wall, wall + answer.ttl, list(pack(answer.address))
        failures = min(250, int(self.desk.columns.site.name_failures[answer.site]) + 1)
        refused = answer.error == "forbidden"
        never_asked = self.desk.columns.site.asked[answer.site] == 0
        respells = (never_asked and self.desk[Places].may_switch(answer.site)) or self.desk[Places].may_switch_back(
            answer.site
        )
        if respells and not refused:
            return answer.site, SiteEvent.RESPELLED, 0, 0, wall, 0.0, [0] * 16
        event = SiteEvent.FORBIDDEN_ADDRESS if refused else SiteEvent.NAME_FAILED
        until = ASIDE[WHY_ASIDE[event]].until(wall, failures)
        return answer.site, event, failures, 0, wall, until, [0] * 16

    def _open_duplicates(self, moved: list[int]) -> None:
        """Sites that have another address than before may have other contents, too (A.2.4)."""
        if not moved:
            return
        pages = duplicates_of(self.desk, moved).tolist()
        self.dispatch.verdicts += [(page, State.PENDING, Reason.NONE, VerdictFlag.AGAIN) for page in pages]
        if self.log is not None:
            self.log.event("moved", sites=[self.desk[Places].names[site] for site in moved], opened=len(pages))

    def _in_flight(self) -> int:
        """As plans see it: where the bandwidth is what holds requests back, another plan would not help."""
        bandwidth = self.dispatch.bandwidth
        if bandwidth is not None and bandwidth.pause() > 0:
            return self.desk.settings.harvester.connections
        return self.web.open

    def _room(self) -> int:
        room = self.web.free()
        if self.bounds.pages is not None:
            room = min(room, self.bounds.pages - (self.desk[Account].stored - self.stored_before) - self.web.open)
        return room

    def _pause(self, ahead: float) -> float:
        """How long the loop may sleep: until a site or a plan is due, or something is to be looked after. Where sites
        are handed out ahead, not less than a tick: that is soon enough for all of them."""
        now = self.clock.monotonic()
        if self.dispatch.verdicts or self.dispatch.events or (self.dispatch.rounds.busy and not self.store.behind()):
            return 0.0
        if self._room() <= 0 or self.store.behind():
            return 1.0
        due, bandwidth = self.dispatch.queue.next_time() - ahead, self.dispatch.bandwidth
        if bandwidth is not None:
            due = max(due, now + bandwidth.pause())
        due = min(due, self.planner.next_time(now, self._in_flight()))
        if ahead:
            due = max(due, self._turned + self._idle_tick)
        return min(1.0, due - now if due > now else 0.001)

    def _ending(self) -> Ending | None:
        now, wall, bounds = self.clock.monotonic(), self.desk.believed(self.clock.wall()), self.bounds
        if self.stop_requested:
            return Ending.STOPPED
        if self.memory_used_up:
            return Ending.MEMORY
        if bounds.seconds is not None and now - self.started >= bounds.seconds:
            return Ending.TIME
        if self.web.open or self.dispatch.verdicts or self.dispatch.events:
            return None
        self.dispatch.release()
        if self.dispatch.rounds.busy:
            return None
        if bounds.pages is not None and self.desk[Account].stored - self.stored_before >= bounds.pages:
            return Ending.PAGES
        if self.names.open or not self.planner.idle or self.dispatch.queue.next_time() <= now + bounds.patience:
            return None
        due = soonest_due(self.desk.columns, wall + bounds.patience, self.planner.value)
        self.planner.stale = due <= wall
        due = min(due, self.dispatch.rounds.soonest_due(wall + bounds.patience))
        return Ending.DONE if due > wall + bounds.patience else None


def _shortest_rest(harvester: HarvesterSettings) -> float:
    """Seconds from an answer of a site to its next request, at least."""
    rests = [harvester.wait, harvester.wait_large] + ([harvester.pause] if harvester.per_turn > 1 else [])
    return float(min(rests))
