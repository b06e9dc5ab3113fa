"""Handing out: which sites may be asked now becomes assignments; answers set the clocks of the queue.

A site enters the queue when it has planned pages and an address that still holds; the name is resolved first.
robots.txt of an origin is asked for before its pages, in the same queue, under the same clocks. Where it redirects to
another site, it is asked for in that site's own turn: an *errand*. Sitemaps (`rounds.py`) and probes for soft 404
(`probing.py`) are errands too. Errands and pages take turns. The verdict of robots.txt is taken once more for every
page, sitemap and probe right before it is assigned.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.bandwidth import Bandwidth, Ready
from gossamer.base.clock import Clock
from gossamer.base.model import NONE, Ask, Assignment, Outcome, PageFlag, Reason, State, VerdictFlag, VisitFlag
from gossamer.base.outcomes import DAY
from gossamer.collection.journal.effects import Effects, SiteEvent
from gossamer.collection.store import Store
from gossamer.config.presets import in_force
from gossamer.desk.desk import Desk
from gossamer.desk.kernels import asked_for, spoken_against, unanswered
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.eventlog import EventLog
from gossamer.harvester.backoff import Backoff
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.harvester.errands.due_sitemaps import DueSitemaps
from gossamer.harvester.queue.queue import SITES_BY, SiteQueue
from gossamer.manager.pages import Pages
from gossamer.manager.plan import Plan
from gossamer.probing import Prober
from gossamer.rounds import Rounds, site_in
from gossamer.web.message import Results
from gossamer.web.seam import Answer, Names, Web

Array = npt.NDArray[Any]

# plain numbers: numpy takes 10 µs to look at a member of an enum
_PAGE, _ROBOTS = int(Ask.PAGE), int(Ask.ROBOTS)
_REDIRECT, _ASSIGNED = int(Outcome.REDIRECT), int(PageFlag.ASSIGNED)
_RESPELLED = int(VisitFlag.RESPELLED)
_NO_ANSWER = (int(Outcome.CONNECT_FAILED), int(Outcome.TLS_FAILED))

ROBOTS_REDIRECTS: Final = 5
LOOK_EVERY: Final = 10.0
"""Seconds between looks at which sites have sitemaps that are due again."""
MOST_AGAIN: Final = 1_000
"""Sites that are sent for them at a look."""
REFUSED_AGAIN: Final = 6 * DAY
"""Seconds after its rules have run out that a site which asked for too long a delay is asked for robots.txt again."""
TOO_LONG: Final = 60.0
"""Seconds: a site that rests so much longer than usual runs no errands for others."""
READ_AHEAD: Final = 0.1
"""Seconds before its turn that the text of a page is read from disk, at most."""
READ_EVERY: Final = 0.5 * READ_AHEAD
"""Seconds between two looks at what is to be read: each wakes a thread, so that some are read together."""


class _Errand(NamedTuple):
    origin: int
    url: str
    hops: int
    ask: Ask = Ask.ROBOTS


class Dispatch:
    def __init__(
        self, desk: Desk, store: Store, web: Web, names: Names, clock: Clock, log: EventLog | None = None
    ) -> None:
        self._log = log
        self._desk, self._store, self._web, self._names, self._clock = desk, store, web, names, clock
        harvester = desk.settings.harvester
        self._period = float(in_force(desk.settings.manager).min_period)
        self.queue = SiteQueue(
            desk.columns.site.limit,
            desk[Places].max_addresses,
            wait=harvester.wait,
            address_wait=harvester.address_wait,
            per_turn=harvester.per_turn,
            pause=harvester.pause,
            sites_by=SITES_BY[desk[Pages].policy.sites_by],
            pending=desk.columns.site.pending,
            domain_wait=harvester.domain_wait,
        )
        self.bandwidth = Bandwidth(desk, web, clock) if desk[ServerSpeeds].hours.limited else None
        """None: no limit at any hour."""
        self._domains: dict[str, int] | None = {} if harvester.domain_wait > 0 else None
        """Registrable domains to their numbers in the queue; None without a limit by domain."""
        self.verdicts: list[tuple[int, int, int, int]] = []
        """Pages that robots.txt turned out to forbid, for the next tick's effects."""
        self.events: list[tuple[Any, ...]] = []
        """Sites to be left alone for a while, for the next tick's effects."""
        self._errands: dict[int, deque[_Errand]] = {}
        self._away: set[int] = set()
        """Origins whose robots.txt is being asked for at another site: not asked for at their own meanwhile."""
        self._sent_on: dict[int, int] = {}
        """Origins whose robots.txt this tick's answers sent to another site, and that site."""
        self._pages_first: set[int] = set()
        """Sites that have just run an errand: their pages have the next turn, if there are any."""
        self.rounds = Rounds(desk)
        self.prober = Prober(desk, store)
        self._looked = self._next_read = -float("inf")
        self._times: dict[int, float] = {}
        """Of the sites that are handed out now, ahead of their time: when that is."""
        self._begins = -float("inf")
        """On the wall: by when what is handed out now will have begun."""
        self._hops: dict[int, int] = {}
        """Redirects that a robots.txt request in flight has behind it, by assignment."""
        self._asking: set[int] = set()
        self._number = 0

    def resume(self, since_start: float) -> None:
        """After a start no site is asked before its stored time.

        After a kill, or a boot, nor before its rest has passed since the start: a request whose record was lost may
        just have been made, to any site, known or not; and a clock may have been set. Addresses and domains, whose
        times are not stored, rest in any case.
        """
        desk, now, wall = self._desk, self._clock.monotonic(), self._wall()
        site, harvester = desk.columns.site, desk.settings.harvester
        sites = np.arange(site.count, dtype=np.uint32)
        self.queue.set_waits(sites, desk[Backoff].waits(sites), desk[Backoff].pauses(sites))
        stored, longest = site.next[: site.count] - wall, max(harvester.address_wait, harvester.domain_wait)
        if not self._store.stopped:
            stored, longest = np.maximum(desk[Backoff].rests(sites) - since_start, stored), max(harvester.wait, longest)
        self.queue.not_before(sites, now + stored)
        self.queue.nobody_before(now + max(0.0, longest - since_start))
        for number in np.flatnonzero(site.address[: site.count] != NONE).tolist():
            self._set_address(number)
        self.rounds.begin(list(desk[DueSitemaps].named))
        site.resolved[: site.count] = 0  # names and what the settings say about them may have changed

    def _set_address(self, site: int) -> None:
        """The one that the desk knows."""
        if self._domains is not None:
            domain = urls.registrable(self._desk[Places].names[site])
            self.queue.set_domain(site, self._domains.setdefault(domain, len(self._domains)))
        self.queue.set_address(site, int(self._desk.columns.site.address[site]))

    def _wall(self) -> float:
        return self._desk.believed(self._clock.wall())

    # --- sites enter --------------------------------------------------------------------------------------------

    def install(self, plan: Plan) -> None:
        self.queue.install(plan)
        self.enter(plan.sites)
        self.release()

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
            self._names.ask(site, self._desk[Places].host(site))

    def named(self, answers: list[Answer]) -> None:
        """After the answers were applied: their sites have an address, or a time before which they are not asked."""
        for number in self._desk[Places].recycled:
            self.queue.address_not_before(number, self._clock.monotonic() + self._desk.settings.harvester.address_wait)
        self._desk[Places].recycled.clear()
        for answer in answers:
            self._asking.discard(answer.site)
            if answer.host != self._desk[Places].host(answer.site):
                self._resolve(answer.site)  # it was about the other name
            elif answer.address is None and self._desk.columns.site.name_failures[answer.site] == 0:
                self._resolve(answer.site)  # by its other name
            elif answer.address is None:
                self.queue.set_address(answer.site, NONE)
                self._rest(np.array([answer.site], np.uint32))
                self._abandon(answer.site)
                self._give_up(answer.site)
            else:
                self._set_address(answer.site)
                site = np.array([answer.site], np.uint32)
                self.queue.set_waits(site, self._desk[Backoff].waits(site), self._desk[Backoff].pauses(site))
                self.enter(site)

    # --- requests leave -----------------------------------------------------------------------------------------

    def hand_out(self, most: int, ahead: float = 0.0) -> None:
        """`ahead`: of sites that are due within so many seconds, too, unless bandwidth is limited by now. Requests wait
        at the workers. Robots rules must hold at the latest moment at which one may begin."""
        limited = self.bandwidth is not None and self.bandwidth.limit > 0
        now, wall, ahead = self._clock.monotonic(), self._wall(), 0.0 if limited else ahead
        self._begins, self._times = wall + ahead, {}
        if now >= self._looked + LOOK_EVERY:
            self._looked = now
            self._read_again(wall)
            self._look_again(wall)
        columns = self._desk.columns

        def ready(most: int) -> tuple[Array, Array, Array]:
            return self.queue.ready(
                now + ahead,
                most,
                columns.page.state,
                columns.page.flags,
                columns.page.due,
                columns.page.origin,
                columns.origin.valid,
                wall,
                self._period,
                columns.page.reason,
                self._begins,
            )

        if self.bandwidth is not None and limited:
            self._hand_out_within(self.bandwidth, ready, most, wall)
        else:
            sites, pages, asks = ready(most)
            if ahead:
                self._times = dict(zip(sites.tolist(), self.queue.times_of(sites).tolist(), strict=True))
            self._ask(sites, pages, asks, now, wall)
        if now >= self._next_read:
            self._next_read = now + READ_EVERY
            self._store.read_ahead(self.queue.due(now, READ_AHEAD, most))

    def _hand_out_within(self, bandwidth: Bandwidth, ready: Ready, most: int, wall: float) -> None:
        now = self._clock.monotonic()
        sites, pages, asks, caps, back = bandwidth.admit(ready, most)
        if len(back[0]):
            self._unassign(back[1][back[2] == _PAGE])
            self.queue.give_back(back[0], now)
        if len(sites):
            asked = self._ask(sites, pages, asks, now, wall, caps)
            bandwidth.settle(np.setdiff1d(sites, np.array(asked, np.uint32)))

    def _ask(
        self, sites: Array, pages: Array, asks: Array, now: float, wall: float, caps: Array | None = None
    ) -> list[int]:
        """Returns those that were: something may speak against a site at the last moment."""
        columns = self._desk.columns
        slow = {} if caps is None else dict(zip(sites[caps > 0].tolist(), caps[caps > 0].tolist(), strict=True))
        assignments: list[Assignment] = []
        if len(sites):
            if spoken_against(sites, columns.site.refused, columns.site.resolved, wall):
                sites, pages, asks = self._without_those(sites, pages, asks, now, wall)
            is_page = asks == _PAGE
            assignments = self._robots(sites[~is_page], pages[~is_page]) + self._pages(sites[is_page], pages[is_page])
            if slow:
                assignments = [replace(a, cap=slow[a.site]) if a.site in slow else a for a in assignments]
            if assignments:
                if self._log is not None:
                    self._log.assigned(assignments)
                self._web.assign(assignments)
        return [a.site for a in assignments] if caps is not None else []

    def _without_those(
        self, sites: Array, pages: Array, asks: Array, now: float, wall: float
    ) -> tuple[Array, Array, Array]:
        """Without sites that are to be left alone, or whose address is too old."""
        columns = self._desk.columns
        refused = columns.site.refused[sites] != 0
        if refused.any():
            self._leave_alone(sites[refused], pages[refused], asks[refused], now)
            sites, pages, asks = sites[~refused], pages[~refused], asks[~refused]
        stale = columns.site.resolved[sites] <= wall
        if stale.any():
            self._put_back(sites[stale], pages[stale], asks[stale], now)
            sites, pages, asks = sites[~stale], pages[~stale], asks[~stale]
        return sites, pages, asks

    def _leave_alone(self, sites: Array, pages: Array, asks: Array, now: float) -> None:
        """They are in the plan still, and have asked for a longer delay than is honoured since."""
        self._unassign(pages[asks == _PAGE])
        self.queue.not_before(sites, np.full(len(sites), now + REFUSED_AGAIN))
        self.queue.skip(sites, now)

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
        allowed = self._desk[Rules].allowed(pages, texts)
        refused = allowed == 0
        if refused.any():
            self.verdicts += [(p, State.EXCLUDED, Reason.ROBOTS, VerdictFlag.ROBOTS) for p in pages[refused].tolist()]
            self._unassign(pages[refused])
            self.queue.skip(sites[refused], self._clock.monotonic())
        rows = list(zip(sites.tolist(), pages.tolist(), texts, allowed.tolist(), strict=True))
        self.prober.remember({page: text for _, page, text, ok in rows if ok})
        origin = self._desk.columns.page.origin
        www = self._desk.columns.site.www
        return [
            self._assignment(Ask.PAGE, p, int(origin[p]), s, text if not www[s] else self._spelled(s, text))
            for s, p, text, ok in rows
            if ok
        ]

    def _spelled(self, site: int, text: bytes) -> bytes:
        return self._desk[Places].asked_as(site, text.decode()).encode()

    def _robots(self, sites: Array, pages: Array) -> list[Assignment]:
        out = []
        for site, page in zip(sites.tolist(), pages.tolist(), strict=True):
            errand = self._robots_of(site, page)
            if errand is None:
                rest = np.array([site], np.uint32)
                self.queue.not_before(rest, self._clock.monotonic() + self._desk[Backoff].waits(rest))
                self.queue.skip(rest, self._clock.monotonic())
            else:
                out.append(self._assignment(errand.ask, NONE, errand.origin, site, errand.url.encode()))
                if errand.ask is Ask.ROBOTS:
                    self._hops[self._number] = errand.hops
        return out

    def _robots_of(self, site: int, page: int) -> _Errand | None:
        """What to ask the site for: an errand, or the page's robots.txt, unless that is being asked for elsewhere."""
        origin = int(self._desk.columns.page.origin[page]) if page != NONE else NONE
        if site in self._errands and (origin == NONE or origin in self._away):
            return self._next_errand(site)
        if origin == NONE:
            return self._next_sitemap(site) or self._next_probe(site)
        return None if origin in self._away else self._own_robots(site, origin)

    def _own_robots(self, site: int, origin: int) -> _Errand:
        url = urls.canonical(self._desk[Places].origin_text(origin) + "/robots.txt") or ""
        return _Errand(origin, self._desk[Places].asked_as(site, url), 0)

    def _next_sitemap(self, site: int) -> _Errand | None:
        """The next sitemap of the site, or the robots.txt that is needed first."""
        self._pages_first.add(site)
        self.queue.set_errand(site, False)
        wanted = self.rounds.next_of(site, self._begins)
        if wanted is None:
            return None
        if self._desk.columns.origin.valid[wanted.origin] <= self._begins:
            if wanted.origin in self._away:
                return None
            wanted.asked_robots += 1
            return self._own_robots(site, wanted.origin)
        self.rounds.take(wanted, self._number + 1)
        own = self._desk.scope.canonical(wanted.url) or wanted.url
        return _Errand(wanted.origin, self._desk[Places].asked_as(site, own), 0, Ask.SITEMAP)

    def _next_probe(self, site: int) -> _Errand | None:
        probe = self.prober.waiting.get(site)
        if probe is None:
            return None
        if self._desk.columns.origin.valid[probe.origin] <= self._begins or not self.prober.allowed(probe):
            self.prober.give_up(site)
            return None
        self.prober.take(site, self._number + 1)
        return _Errand(probe.origin, self._desk[Places].asked_as(site, probe.url), 0, Ask.PROBE)

    def _next_errand(self, site: int) -> _Errand:
        self._pages_first.add(site)
        waiting = self._errands[site]
        errand = waiting.popleft()
        if not waiting:
            del self._errands[site]
        self.queue.set_errand(site, False)
        own = self._desk.scope.canonical(errand.url, None)
        return errand if own is None else errand._replace(url=self._desk[Places].asked_as(site, own))

    def _assignment(self, ask: Ask, page: int, origin: int, site: int, url: bytes) -> Assignment:
        self._number += 1
        columns = self._desk.columns
        port = int(columns.site.port[site])
        if not port:  # a page has that of its origin
            port = int(columns.origin.port[origin]) if page != NONE else urls.split(url.decode()).port
        return Assignment(
            self._number,
            ask,
            page,
            origin,
            site,
            url,
            self._desk[Places].address(site),
            port,
            not_before=self._times.get(site, 0.0),
        )

    # --- answers come back --------------------------------------------------------------------------------------

    def follow(self, results: Results, effects: Effects) -> None:
        """Before a tick is applied: redirects of robots.txt become errands, or count as none (RFC 9309, 2.3.1.2)."""
        visits = results.visits
        self.prober.mark_redirects(results)
        if not asked_for(visits, _ROBOTS):
            return
        moved = np.flatnonzero((visits["ask"] == _ROBOTS) & (visits["outcome"] == _REDIRECT))
        if not len(moved):
            return
        texts = results.visit_texts().all()
        for i in moved.tolist():
            hops = self._hops.get(int(visits["number"][i]), ROBOTS_REDIRECTS)
            if hops == 0 and visits["flags"][i] & _RESPELLED:
                continue  # its own site is asked by its other name
            origin = int(visits["origin"][i])
            target = urls.canonical(texts[i]["redirect"].decode())
            if target is not None and not (
                len(target.encode()) <= self._desk.settings.seeder.url_length and self._desk.scope.accepts_port(target)
            ):
                target = None
            site = site_in(self._desk, self._name_of(target), urls.has_www(target), effects) if target else NONE
            if hops >= ROBOTS_REDIRECTS or not texts[i]["redirect"]:
                visits["flags"][i] |= int(VisitFlag.NOT_FOLLOWED)
            elif site == NONE:
                self._away_for_now(origin)
            else:
                self._errands.setdefault(site, deque()).append(_Errand(origin, target or "", hops + 1))
                self._away.add(origin)
                self._sent_on[origin] = site

    def place(self, effects: Effects) -> None:
        """The sites of sitemaps that were named, and rounds of sitemaps that have ended."""
        self.rounds.place(effects)
        self.events += self.rounds.events(self._wall())

    def _name_of(self, url: str) -> str:
        return urls.host(self._desk.scope.canonical(url, None) or url)

    def settle(self, results: Results, effects: Effects) -> None:
        """After a tick was applied: the queue learns which requests ended, and when; sites with errands enter."""
        visits = results.visits
        sites = visits["site"].copy()
        if self.bandwidth is not None:
            self.bandwidth.settle(sites)
        waits, next_ = self._desk[Backoff].waits(sites), self._desk.columns.site.next[sites]
        self.queue.set_waits(sites, waits, self._desk[Backoff].pauses(sites))
        longer = next_ > visits["time"] + waits + 0.001
        if longer.any():
            self.queue.not_before(sites[longer], next_[longer] - effects.wall + effects.monotonic)
        if self._desk.settings.harvester.per_turn > 1:
            self._end_turns(visits, waits)
        self.queue.done(sites, visits["end"].copy(), effects.monotonic)
        if self._desk[Pages].policy.sites_by == "larger":
            self.queue.touch()
        if unanswered(visits):
            self._try_other_names(visits)
        if asked_for(visits, _ROBOTS):
            self._settle_robots(visits[visits["ask"] == _ROBOTS])
        touched = self.rounds.arrive() | set(self._sent_on.values())
        if len(visits):
            touched |= self.prober.follow(results)
        self._sent_on.clear()
        if self._errands or self.rounds.waiting or self.prober.waiting:
            self._pages_first -= set(sites[visits["ask"] == _PAGE].tolist())
            touched |= {site for site in sites.tolist() if self._has_errand(site)}
            for site in touched:
                self._send(site)

    def _end_turns(self, visits: Array, waits: Array) -> None:
        """After an answer that asks for more than the pause within a turn; the queue knows of what is longer."""
        sites, end = visits["site"].copy(), visits["end"]
        took = self._desk.settings.harvester.wait_factor * (end - visits["start"])
        owed = np.minimum(np.maximum(took, visits["retry_after"]), waits)
        more = owed > self._desk[Backoff].pauses(sites)
        if more.any():
            self.queue.not_before(sites[more], (end + owed)[more])

    def _has_errand(self, site: int) -> bool:
        return site in self._errands or site in self.rounds.waiting or site in self.prober.waiting

    def _give_up(self, site: int) -> None:
        """It cannot be asked."""
        self.rounds.give_up(site)
        self.prober.give_up(site)

    def _try_other_names(self, visits: Array) -> None:
        """Sites that did not answer their very first request are asked by their other name the next time."""
        for visit in visits[np.isin(visits["outcome"], _NO_ANSWER)]:
            site = int(visit["site"])
            if self._desk.columns.site.asked[site] == 1 and self._desk[Places].may_switch(site):
                self.events.append((site, SiteEvent.RESPELLED, 0, 0, self._wall(), 0.0, [0] * 16))

    def _settle_robots(self, visits: Array) -> None:
        """An answer at one site may be about another's robots.txt: what it asks for, or that it could not be read, is
        for that one."""
        owners = self._desk.columns.origin.site[visits["origin"]]
        self.queue.set_waits(owners, self._desk[Backoff].waits(owners), self._desk[Backoff].pauses(owners))
        self._rest(owners)
        for number in visits["number"].tolist():
            self._hops.pop(number, None)
        self.rounds.begin(set(self._desk.columns.origin.site[visits["origin"]].tolist()))
        self._away -= set(visits["origin"].tolist()) - self._sent_on.keys()

    def _send(self, site: int) -> None:
        """Lets a site with errands in; errands and pages take turns."""
        columns, owner = self._desk.columns.site, self._desk.columns.origin.site
        for_others = any(owner[errand.origin] != site for errand in self._errands.get(site, ()))
        rests = columns.next[site] - self._wall()
        nameless = columns.name_failures[site] > 0 and rests > 0
        too_long = for_others and rests > TOO_LONG + float(self._desk[Backoff].rests(np.array([site]))[0])
        if columns.refused[site] or nameless or too_long:
            self._abandon(site)
        if columns.refused[site]:
            self._give_up(site)
        if self._has_errand(site) and not (site in self._pages_first and self.queue.has_pages(site)):
            self.queue.set_errand(site, True)
            self.enter(np.array([site], np.uint32))

    def release(self) -> None:
        """Errands that let pages go first, of sites that have no pages any more."""
        wait = [site for site in self._pages_first if self._has_errand(site)]
        first = np.array(wait, np.uint32)
        for site in self.queue.without_pages(first).tolist():
            self._send(site)

    def _read_again(self, wall: float) -> None:
        """Sites that have nothing else to do, and whose sitemaps are due again: robots.txt first."""
        due = self.rounds.due(wall)
        sites, sent = self._desk.columns.origin.site[due], 0
        idle = np.isin(sites, self.queue.without_pages(np.unique(sites)))
        for origin, site in zip(due[idle].tolist(), sites[idle].tolist(), strict=True):
            if sent < MOST_AGAIN and not (site in self._errands or origin in self._away):
                self._errands[site] = deque([self._own_robots(site, origin)])
                self._away.add(origin)
                self._send(site)
                sent += 1

    def _look_again(self, wall: float) -> None:
        """Sites that asked for too long a delay may have changed their minds."""
        site, origin = self._desk.columns.site, self._desk.columns.origin
        refused = np.flatnonzero(site.refused[: site.count])
        if len(refused):
            held = np.zeros(site.count)
            np.maximum.at(held, origin.site[: origin.count], origin.valid[: origin.count])
            for number in refused[held[refused] + REFUSED_AGAIN <= wall].tolist():
                self.events.append((number, SiteEvent.DELAY_AGAIN, 0, 0, wall, 0.0, [0] * 16))

    def _abandon(self, site: int) -> None:
        """Its errands cannot be run: the sites whose robots.txt they are about count as ones that cannot be read."""
        waiting = self._errands.pop(site, None)
        if waiting is None:
            return
        self.queue.set_errand(site, False)
        for errand in waiting:
            self._away.discard(errand.origin)
            self._away_for_now(errand.origin)

    def _away_for_now(self, origin: int) -> None:
        """Its robots.txt is where we cannot ask, or will not: one that cannot be read."""
        origins, wall = self._desk.columns.origin, self._wall()
        own, until = int(origins.site[origin]), wall + self._desk.settings.harvester.retry
        self.events.append((own, SiteEvent.ROBOTS_AWAY, 0, int(origins.port[origin]), wall, until, [0] * 16))

    def _rest(self, sites: Array) -> None:
        """The queue learns until when these sites are to be left alone."""
        next_ = self._desk.columns.site.next[sites]
        self.queue.not_before(sites, next_ - self._wall() + self._clock.monotonic())

    def settle_events(self) -> None:
        """After events of our own were applied."""
        if self.events:
            self._rest(np.array([event[0] for event in self.events], np.uint32))
            self.events = []
