"""Handing out: which sites may be asked now becomes assignments; answers set the clocks of the queue.

A site enters the queue when it has planned pages and an address that still holds; the name is resolved first.
robots.txt of an origin is asked for before its pages, in the same queue, under the same clocks. Where it redirects to
another site, it is asked for in that site's own turn: an *errand*. The verdict of robots.txt is taken once more for
every page right before it is assigned.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.clock import Clock
from gossamer.collection.effects import Effects, SiteEvent
from gossamer.collection.store import Store
from gossamer.config.presets import in_force
from gossamer.desk import Desk
from gossamer.eventlog import EventLog
from gossamer.harvester.queue import SITES_BY, SiteQueue
from gossamer.manager.plan import Plan
from gossamer.model import NONE, Ask, Assignment, Outcome, PageFlag, Reason, State, Texts, VerdictFlag, VisitFlag
from gossamer.web.message import Results
from gossamer.web.seam import Answer, Names, Web

Array = npt.NDArray[Any]

# plain numbers: numpy takes 10 µs to look at a member of an enum
_PAGE, _ROBOTS = int(Ask.PAGE), int(Ask.ROBOTS)
_REDIRECT, _ASSIGNED = int(Outcome.REDIRECT), int(PageFlag.ASSIGNED)
_RESPELLED = int(VisitFlag.RESPELLED)
_NO_ANSWER = (int(Outcome.CONNECT_FAILED), int(Outcome.TLS_FAILED))

ROBOTS_REDIRECTS: Final = 5
TOO_LONG: Final = 60.0
"""Seconds: a site that rests longer runs no errands."""
READ_AHEAD: Final = 0.1
"""Seconds before its turn that the text of a page is read from disk."""


class _Errand(NamedTuple):
    origin: int
    url: str
    hops: int


class Dispatch:
    def __init__(
        self, desk: Desk, store: Store, web: Web, names: Names, clock: Clock, log: EventLog | None = None
    ) -> None:
        self._log = log
        self._desk, self._store, self._web, self._names, self._clock = desk, store, web, names, clock
        harvester = desk.settings.harvester
        self._period = float(in_force(desk.settings.manager).min_period)
        self.queue = SiteQueue(
            desk.columns.site.limit, desk.max_addresses, wait=harvester.wait, address_wait=harvester.address_wait,
            per_turn=harvester.per_turn, pause=harvester.pause, sites_by=SITES_BY[desk.policy.sites_by],
            pending=desk.columns.site.pending,
        )  # fmt: skip
        self.verdicts: list[tuple[int, int, int, int]] = []
        """Pages that robots.txt turned out to forbid, for the next tick's effects."""
        self.events: list[tuple[Any, ...]] = []
        """Sites to be left alone for a while, for the next tick's effects."""
        self._errands: dict[int, deque[_Errand]] = {}
        self._away: set[int] = set()
        """Origins whose robots.txt is being asked for at another site: not asked for at their own meanwhile."""
        self._pages_first: set[int] = set()
        """Sites that have just run an errand: their pages have the next turn, if there are any."""
        self._hops: dict[int, int] = {}
        """Redirects that a robots.txt request in flight has behind it, by assignment."""
        self._asking: set[int] = set()
        self._number = 0

    def resume(self, since_start: float) -> None:
        """After a start no site is asked before its stored time, nor before its wait has passed since the start.

        The wait holds for every site, known or not: a request whose record was lost may just have been made.
        """
        desk, now, wall = self._desk, self._clock.monotonic(), self._wall()
        site, harvester = desk.columns.site, desk.settings.harvester
        sites = np.arange(site.count, dtype=np.uint32)
        waits = desk.waits(sites)
        self.queue.set_waits(sites, waits, desk.pauses(sites))
        self.queue.not_before(sites, now + np.maximum(waits - since_start, site.next[: site.count] - wall))
        self.queue.nobody_before(now + max(0.0, max(harvester.wait, harvester.address_wait) - since_start))
        for number in np.flatnonzero(site.address[: site.count] != NONE).tolist():
            self.queue.set_address(number, int(site.address[number]))
        site.resolved[: site.count] = 0  # names and what the settings say about them may have changed

    def _wall(self) -> float:
        return self._desk.believed(self._clock.wall())

    # --- sites enter --------------------------------------------------------------------------------------------

    def install(self, plan: Plan) -> None:
        self.queue.install(plan)
        self.enter(plan.sites)

    def enter(self, sites: Array) -> None:
        columns, wall = self._desk.columns.site, self._wall()
        resolved = (columns.address[sites] != NONE) & (columns.resolved[sites] > wall)
        self.queue.enter(sites[resolved], self._clock.monotonic())
        for site in sites[~resolved & (columns.refused[sites] == 0)].tolist():
            if columns.name_failures[site] == 0 or columns.next[site] <= wall:
                self._resolve(site)

    def _resolve(self, site: int) -> None:
        if site not in self._asking:
            self._asking.add(site)
            self._names.ask(site, self._desk.host(site))

    def named(self, answers: list[Answer]) -> None:
        """After the answers were applied: their sites have an address, or a time before which they are not asked."""
        for number in self._desk.recycled:
            self.queue.address_not_before(number, self._clock.monotonic() + self._desk.settings.harvester.address_wait)
        self._desk.recycled.clear()
        for answer in answers:
            self._asking.discard(answer.site)
            if answer.host != self._desk.host(answer.site):
                self._resolve(answer.site)  # it was about the other name
            elif answer.address is None and self._desk.columns.site.name_failures[answer.site] == 0:
                self._resolve(answer.site)  # by its other name
            elif answer.address is None:
                self.queue.set_address(answer.site, NONE)
                self._rest(np.array([answer.site], np.uint32))
                self._abandon(answer.site)
            else:
                self.queue.set_address(answer.site, int(self._desk.columns.site.address[answer.site]))
                site = np.array([answer.site], np.uint32)
                self.queue.set_waits(site, self._desk.waits(site), self._desk.pauses(site))
                self.enter(site)

    # --- requests leave -----------------------------------------------------------------------------------------

    def hand_out(self, most: int) -> None:
        now, wall = self._clock.monotonic(), self._wall()
        columns = self._desk.columns
        sites, pages, asks = self.queue.ready(
            now, most, columns.page.state, columns.page.flags, columns.page.due, columns.page.origin,
            columns.origin.valid, wall, self._period, columns.page.reason,
        )  # fmt: skip
        if len(sites):
            stale = columns.site.resolved[sites] <= wall
            if stale.any():
                self._put_back(sites[stale], pages[stale], asks[stale], now)
                sites, pages, asks = sites[~stale], pages[~stale], asks[~stale]
            is_page = asks == _PAGE
            assignments = self._robots(sites[~is_page], pages[~is_page]) + self._pages(sites[is_page], pages[is_page])
            if assignments:
                if self._log is not None:
                    self._log.assigned(assignments)
                self._web.assign(assignments)
        self._store.read_ahead(self.queue.due(now, READ_AHEAD, most))

    def _put_back(self, sites: Array, pages: Array, asks: Array, now: float) -> None:
        """The addresses of these sites are too old: names first."""
        self._unassign(pages[asks == _PAGE])
        self.queue.not_before(sites, np.full(len(sites), now + 1.0))
        self.queue.skip(sites, now)
        for site in sites.tolist():
            self._resolve(site)

    def _unassign(self, pages: Array) -> None:
        self._desk.columns.page.flags[pages] &= 0xFF ^ _ASSIGNED

    def _pages(self, sites: Array, pages: Array) -> list[Assignment]:
        if not len(pages):
            return []
        texts = self._store.texts(pages)
        allowed = self._desk.allowed(pages, texts)
        refused = allowed == 0
        if refused.any():
            self.verdicts += [(p, State.EXCLUDED, Reason.ROBOTS, VerdictFlag.ROBOTS) for p in pages[refused].tolist()]
            self._unassign(pages[refused])
            self.queue.skip(sites[refused], self._clock.monotonic())
        rows = zip(sites.tolist(), pages.tolist(), texts, allowed.tolist(), strict=True)
        origin = self._desk.columns.page.origin
        www = self._desk.columns.site.www
        return [
            self._assignment(Ask.PAGE, p, int(origin[p]), s, text if not www[s] else self._spelled(s, text))
            for s, p, text, ok in rows
            if ok
        ]

    def _spelled(self, site: int, text: bytes) -> bytes:
        return self._desk.asked_as(site, text.decode()).encode()

    def _robots(self, sites: Array, pages: Array) -> list[Assignment]:
        out = []
        for site, page in zip(sites.tolist(), pages.tolist(), strict=True):
            errand = self._robots_of(site, page)
            if errand is None:
                rest = np.array([site], np.uint32)
                self.queue.not_before(rest, self._clock.monotonic() + self._desk.waits(rest))
                self.queue.skip(rest, self._clock.monotonic())
            else:
                out.append(self._assignment(Ask.ROBOTS, NONE, errand.origin, site, errand.url.encode()))
                self._hops[self._number] = errand.hops
        return out

    def _robots_of(self, site: int, page: int) -> _Errand | None:
        """What to ask the site for: an errand, or the page's robots.txt, unless that is being asked for elsewhere."""
        origin = int(self._desk.columns.page.origin[page]) if page != NONE else NONE
        if site in self._errands and (origin == NONE or origin in self._away):
            return self._next_errand(site)
        if origin in self._away:
            return None
        url = urls.canonical(self._desk.origin_text(origin) + "/robots.txt") or ""
        return _Errand(origin, self._desk.asked_as(site, url), 0)

    def _next_errand(self, site: int) -> _Errand:
        self._pages_first.add(site)
        waiting = self._errands[site]
        errand = waiting.popleft()
        if not waiting:
            del self._errands[site]
        self.queue.set_errand(site, False)
        own = self._desk.scope.canonical(errand.url, None)
        return errand if own is None else errand._replace(url=self._desk.asked_as(site, own))

    def _assignment(self, ask: Ask, page: int, origin: int, site: int, url: bytes) -> Assignment:
        self._number += 1
        columns = self._desk.columns
        port = int(columns.site.port[site]) or urls.split(url.decode()).port
        return Assignment(self._number, ask, page, origin, site, url, self._desk.address(site), port)

    # --- answers come back --------------------------------------------------------------------------------------

    def follow(self, results: Results, effects: Effects) -> None:
        """Before a tick is applied: redirects of robots.txt become errands, or count as none (RFC 9309, 2.3.1.2)."""
        visits = results.visits
        moved = np.flatnonzero((visits["ask"] == _ROBOTS) & (visits["outcome"] == _REDIRECT))
        if not len(moved):
            return
        texts = results.text_of()
        for i in moved.tolist():
            hops = self._hops.get(int(visits["number"][i]), ROBOTS_REDIRECTS)
            if hops == 0 and visits["flags"][i] & _RESPELLED:
                continue  # its own site is asked by its other name
            origin = int(visits["origin"][i])
            target = urls.canonical(texts[i]["redirect"].decode())
            if target is not None and len(target.encode()) > self._desk.settings.seeder.url_length:
                target = None
            site = self._site(self._name_of(target), urls.has_www(target), effects) if target else NONE
            if site == NONE or hops >= ROBOTS_REDIRECTS:
                visits["flags"][i] |= int(VisitFlag.NOT_FOLLOWED)
            else:
                self._errands.setdefault(site, deque()).append(_Errand(origin, target or "", hops + 1))
                self._away.add(origin)

    def _name_of(self, url: str) -> str:
        return urls.host(self._desk.scope.canonical(url, None) or url)

    def _site(self, name: str, www: bool, effects: Effects) -> int:
        """The number of a site that may be new in this tick, or was never heard of: then it is made."""
        site = self._desk.site(name)
        if site == NONE:
            new = effects.sites.split()
            if name.encode() in new:
                return effects.first_site + new.index(name.encode())
            if effects.first_site + len(new) < self._desk.columns.site.limit:
                site = effects.first_site + len(new)
                effects.sites = Texts.join([*new, name.encode()], "<u2")
                effects.sites_www = np.append(effects.sites_www, np.uint8(www and self._desk.scope.www))
        return site

    def settle(self, results: Results, effects: Effects) -> None:
        """After a tick was applied: the queue learns which requests ended, and when; sites with errands enter."""
        visits = results.visits
        sites = visits["site"].copy()
        waits, next_ = self._desk.waits(sites), self._desk.columns.site.next[sites]
        self.queue.set_waits(sites, waits, self._desk.pauses(sites))
        longer = next_ > visits["time"] + waits + 0.001
        if longer.any():
            self.queue.not_before(sites[longer], next_[longer] - effects.wall + effects.monotonic)
        self.queue.done(sites, visits["end"].copy(), effects.monotonic)
        if self._desk.policy.sites_by == "larger":
            self.queue.touch()
        if np.isin(visits["outcome"], _NO_ANSWER).any():
            self._try_other_names(visits)
        robots = visits["ask"] == _ROBOTS
        if robots.any():
            self._settle_robots(visits[robots])
        if self._errands:
            self._pages_first -= set(sites[~robots].tolist())
            for site in list(self._errands):
                self._send(site)

    def _try_other_names(self, visits: Array) -> None:
        """Sites that did not answer their very first request are asked by their other name the next time."""
        for visit in visits[np.isin(visits["outcome"], _NO_ANSWER)]:
            site = int(visit["site"])
            if self._desk.columns.site.asked[site] == 1 and self._desk.may_respell(site):
                self.events.append((site, SiteEvent.RESPELLED, 0, 0, self._wall(), 0.0, [0] * 16))

    def _settle_robots(self, visits: Array) -> None:
        """An answer at one site may be about another's robots.txt, which then rests too if it could not be read."""
        self._rest(self._desk.columns.origin.site[visits["origin"]])
        for number in visits["number"].tolist():
            self._hops.pop(number, None)
        still_away = {errand.origin for waiting in self._errands.values() for errand in waiting}
        self._away -= set(visits["origin"].tolist()) - still_away

    def _send(self, site: int) -> None:
        """Lets a site with errands in; errands and pages take turns."""
        columns = self._desk.columns.site
        if columns.refused[site] or columns.next[site] > self._wall() + TOO_LONG:
            self._abandon(site)
        elif not (site in self._pages_first and self.queue.has_pages(site)):
            self.queue.set_errand(site, True)
            self.enter(np.array([site], np.uint32))

    def _abandon(self, site: int) -> None:
        """Its errands cannot be run: the sites whose robots.txt they are about count as ones that cannot be read."""
        waiting = self._errands.pop(site, None)
        if waiting is None:
            return
        self.queue.set_errand(site, False)
        until = self._wall() + self._desk.settings.harvester.retry
        for errand in waiting:
            self._away.discard(errand.origin)
            own = int(self._desk.columns.origin.site[errand.origin])
            self.events.append((own, SiteEvent.ROBOTS_AWAY, 0, 0, self._wall(), until, [0] * 16))

    def _rest(self, sites: Array) -> None:
        """The queue learns until when these sites are to be left alone."""
        next_ = self._desk.columns.site.next[sites]
        self.queue.not_before(sites, next_ - self._wall() + self._clock.monotonic())

    def settle_events(self) -> None:
        """After events of our own were applied."""
        if self.events:
            self._rest(np.array([event[0] for event in self.events], np.uint32))
            self.events = []
