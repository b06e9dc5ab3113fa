"""The errand of ownership: reads the proofs that sites show, and asks claimed sites for the file of proof.

Only with `harvester.mine`, and only at sites that the operator's key claims. Their robots.txt is read anyway. If it
shows no proof, the site is asked for `/.well-known/gossamer.txt` in a turn of its own, if robots.txt allows it. Before
a proof ends, its place is asked again. What is learned becomes a site event in the tick of the answer.

Invariants, each a property test of the same name:

- only an answer of a claimed site itself, without a redirect, at port 80 or 443, makes it the operator's
- in a run, a site is asked for its file of proof at most once an hour
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gossamer.base.model import Ask, Outcome, VisitFlag
from gossamer.base.outcomes import TRANSIENT
from gossamer.collection.journal.effects import Effects, SiteNews
from gossamer.desk.kernels import asked_for
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.harvester.errands.errand import LOOK_EVERY, Context, Errand, Errands, Request
from gossamer.harvester.errands.robots import RobotsErrand
from gossamer.harvester.owned import VALID, Owned, place_of
from gossamer.web.message import Results
from gossamer.web.owner.key import Key, place, read
from gossamer.web.owner.proof import NAME, PORTS, WELL_KNOWN

AGAIN: Final = 20 * 3600.0
"""Seconds after which a place that showed a proof is asked again: before the proof ends."""
AT_MOST: Final = 3600.0
"""Seconds between two requests for a file of proof, at least."""
SILENT: Final = TRANSIENT | {Outcome.RETURNED, Outcome.CHALLENGED}
"""Outcomes that say nothing about a proof: what was shown counts until it ends."""
_ROBOTS, _PROOF, _OK = int(Ask.ROBOTS), int(Ask.PROOF), int(Outcome.OK)
_ASKS: Final = (_ROBOTS, _PROOF)
_UNVERIFIED: Final = int(VisitFlag.UNVERIFIED)


class MineErrand(Errand):
    """Finds out which sites belong to the operator."""

    name = "mine"

    def __init__(self, context: Context, others: Errands) -> None:
        self._desk, self._in_flight, self._outbox = context.desk, context.in_flight, context.outbox
        self._clocks, self._places, self._owned = context.clocks, context.desk[Places], context.desk[Owned]
        self._robots = others[RobotsErrand]
        harvester = self._desk.settings.harvester
        self._key: Key | None = read(place(harvester.mine_key)) if harvester.mine else None
        self._waiting: dict[int, int] = {}
        """By site: the origin that is to be asked for its file of proof."""
        self._asked: dict[int, float] = {}
        """By site: wall time at which its file was asked for last. Volatile: a start may ask once more."""
        self._bare: dict[int, int] = {}
        """By site: the origin whose robots.txt was read in this tick and shows no proof."""

    def next(self, site: int, begins: float) -> Request | None:
        origin = self._waiting.pop(site, None)
        if origin is None or self._desk.columns.origin.valid[origin] <= begins:
            return None
        self._asked[site] = self._clocks.wall
        url = self._places.asked_as(site, self._url(origin))
        return Request(Ask.PROOF, origin, url) if self._desk[Rules].allows(origin, url) else None

    def _url(self, origin: int) -> str:
        scheme, _, rest = self._places.origin_text(origin).partition("://")
        return f"{scheme}://{rest.rpartition(':')[0]}{WELL_KNOWN}"

    def give_up(self, site: int) -> None:
        self._waiting.pop(site, None)

    # --- answers ---------------------------------------------------------------------------------------------------

    def add_effects(self, results: Results, effects: Effects) -> None:
        visits = results.visits
        if self._key is None or not (asked_for(visits, _ROBOTS) or asked_for(visits, _PROOF)):
            return
        for i, texts in results.visit_texts().at(np.flatnonzero(np.isin(visits["ask"], _ASKS))):
            if self._speaks_for_itself(visits[i]):
                self._hear(visits[i], texts["detail"].decode())

    def _speaks_for_itself(self, visit: Any) -> bool:
        """Whether a claimed site has answered itself, at a port at which the whole host answers for it."""
        assert self._key is not None
        origins, origin, flight = self._desk.columns.origin, int(visit["origin"]), self._in_flight.get(visit["number"])
        if origin >= origins.count or flight is None or (visit["ask"] == _ROBOTS and flight.errand):
            return False  # redirected: flight.errand is the number of redirects before
        site = int(origins.site[origin])
        at_home = site == int(visit["site"]) and int(origins.port[origin]) in PORTS
        return at_home and self._key.claims(self._places.names[site])

    def _hear(self, visit: Any, detail: str) -> None:
        assert self._key is not None
        site, origin, outcome = int(visit["site"]), int(visit["origin"]), Outcome(int(visit["outcome"]))
        name, before = self._places.names[site], int(self._desk.columns.site.owned[site])
        at = place_of(int(visit["ask"]) == _PROOF, bool(self._desk.columns.origin.secure[origin]))
        time = float(visit["time"])
        _, named, proofs = detail.partition(f"{NAME}: ")
        shows = outcome == _OK and bool(named) and not visit["flags"] & _UNVERIFIED
        if shows and self._key.proves(name, proofs.split()):
            self._outbox.news.append(SiteNews.owned(site, at, self._key.proof(name), time, time + VALID))
        elif outcome not in SILENT:
            if before == at:
                self._outbox.news.append(self._disowned(site, time, float(visit["end"] - visit["start"])))
            if visit["ask"] == _ROBOTS and outcome is not Outcome.REDIRECT:
                self._bare[site] = origin

    def _disowned(self, site: int, time: float, took: float | None = None) -> SiteNews:
        """The site rests as long as any other before its next request. `took`: seconds that the last answer took; None:
        that is not known, so the longest time counts that an answer may take."""
        harvester, delay = self._desk.settings.harvester, float(self._desk.columns.site.delay[site])
        longest = harvester.wait_factor * (float(harvester.whole_timeout) if took is None else took)
        return SiteNews.disowned(site, time, time + max(harvester.wait, harvester.wait_large, delay, longest))

    def settle(self, results: Results) -> set[int]:
        """Sites whose robots.txt shows no proof may have a file of it."""
        found = set[int]()
        for site, origin in self._bare.items():
            found |= self._look_at(site, self._clocks.wall) if site in self._owned.proofs else self._ask(site, origin)
        self._bare.clear()
        return found

    def _ask(self, site: int, origin: int) -> set[int]:
        if self._clocks.wall < self._asked.get(site, -AT_MOST) + AT_MOST:
            return set()
        self._waiting[site] = origin
        return {site}

    # --- time ------------------------------------------------------------------------------------------------------

    def look(self, wall: float) -> set[int]:
        return {site for owned in self._owned.proofs for site in self._look_at(owned, wall)}

    def _look_at(self, site: int, wall: float) -> set[int]:
        """Ends a proof that was not shown again in time; before that, its place is asked again."""
        until = float(self._desk.columns.site.owned_until[site])
        if until <= wall + LOOK_EVERY:
            self._outbox.news.append(self._disowned(site, wall))
        elif wall >= until - VALID + AGAIN:
            return self._ask_again(site, int(self._desk.columns.site.owned[site]))
        return set()

    def _ask_again(self, site: int, at: int) -> set[int]:
        """Asks the place that showed the proof of the site."""
        own_file, secure = at >= place_of(True, False), at in (place_of(False, True), place_of(True, True))
        used = self._desk.columns.origin.used()
        there = (used["site"] == site) & (used["secure"] == secure) & np.isin(used["port"], PORTS)
        for origin in np.flatnonzero(there).tolist()[:1]:
            if own_file:
                return self._ask(site, origin)
            return {site} if self._robots.read_again(site, origin) else set()
        return set()

    def resume(self) -> None:
        """After a start: a site that is no longer claimed, or by another key, or whose proof has ended, is everybody's
        at once. Its clock is set before the first request; the event follows with the first tick."""
        wall, until = self._clocks.wall, self._desk.columns.site.owned_until
        for site, proof in self._owned.proofs.items():
            name = self._places.names[site]
            holds = self._key is not None and self._key.claims(name) and self._key.proof(name).startswith(proof)
            if not holds or until[site] <= wall:
                news = self._disowned(site, wall)
                self._outbox.news.append(news)
                self._clocks.postpone(np.array([site], np.uint32), news.until - wall)
