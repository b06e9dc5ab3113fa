"""The desk's state, and `apply`: the one function that changes it.

Live or in recovery, durable state changes only by applying the effects of a tick, in the order of ticks. `apply` reads
nothing but the state, the effects and the settings (no clock, no files), so a replay makes the same state.

Refusing and waiting are decided here from outcomes alone: a site that fails is left in peace twice as long each time
(`patience.clocks`), a page that fails is tried again later (`manager.learn`), a robots.txt that cannot be read forbids
its origin.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.collection.columns import Columns
from gossamer.collection.effects import Effects, SiteEvent
from gossamer.collection.rulebook import RuleBook
from gossamer.config.settings import Settings
from gossamer.errors import UsageError
from gossamer.manager import learn
from gossamer.manager.policies import new_totals
from gossamer.manager.strategies import LIVE, strategy_named
from gossamer.model import NONE, Ask, PageFlag, VisitFlag
from gossamer.outcomes import ASIDE, LONGEST_PAUSE, Aside, Outcome
from gossamer.patience import clocks, pause_after
from gossamer.robots.match import verdicts_many
from gossamer.seeder.seed import can_be_repeated, content_keys
from gossamer.web.addresses import unpack
from gossamer.web.message import Links, Results

Array = npt.NDArray[Any]

ADDRESSES_A_SITE: Final = 4
"""Addresses that are remembered, for each site that there may be; sites change theirs."""
MOST_RESPELLED: Final = 2
"""How often a site may change between `www.` and the bare name: more would be a ring of redirects."""
# plain numbers: numpy takes 10 µs to look at a member of an enum
_PAGE, _ROBOTS = int(Ask.PAGE), int(Ask.ROBOTS)
_RETURNED, _DUPLICATE = int(Outcome.RETURNED), int(Outcome.DUPLICATE)
_JUDGED, _STORED = int(PageFlag.JUDGED), int(VisitFlag.STORED)
_RESPELLED, _OTHER_NAME = int(VisitFlag.RESPELLED), int(VisitFlag.OTHER_NAME)
_OF_NAMES: Final = (int(Aside.NAME_FAILED), int(Aside.FORBIDDEN_ADDRESS))
WHY_ASIDE: Final = {
    SiteEvent.NAME_FAILED: Aside.NAME_FAILED, SiteEvent.FORBIDDEN_ADDRESS: Aside.FORBIDDEN_ADDRESS,
    SiteEvent.PATIENCE: Aside.JUST_STARTED, SiteEvent.ROBOTS_AWAY: Aside.ROBOTS_UNREADABLE,
}  # fmt: skip
_FOR_THE_SITE: Final = (int(SiteEvent.PATIENCE), int(SiteEvent.ROBOTS_AWAY))
"""Events that leave a site in peace for its own sake; a name that failed has cost it nothing."""

_UNREADABLE: Final = ASIDE[Aside.ROBOTS_UNREADABLE]


class Desk:
    def __init__(self, settings: Settings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        self.scope = urls.Scope.of(settings.seeder)
        self._boosts = [(re.compile(text.encode()), boost) for text, boost in settings.manager.boosts.items()]
        self.columns = Columns(settings.collection.max_pages, settings.collection.max_sites)
        self.names: list[str] = []
        """Names of the sites, by number."""
        self.rules = RuleBook()
        self.addresses: dict[bytes, int] = {}
        """Packed address to its number."""
        self._addresses: list[bytes] = []
        self._unused: deque[int] = deque()
        self.max_addresses = ADDRESSES_A_SITE * settings.collection.max_sites
        self.recycled: list[int] = []
        """Numbers that were given to another address: that one may have been asked under its number before."""
        self.policy = strategy_named(settings.manager.policy, LIVE, "manager.policy")
        self.totals = new_totals()
        """Cash kept, spent, lost and in total (OPIC)."""
        self.counts = learn.new_counts()
        """Known pages by state, and by outcome or reason."""
        self._limits = learn.Limits(
            settings.seeder.depth_static, settings.seeder.depth_dynamic, settings.harvester.retry,
            settings.harvester.tries,
        )  # fmt: skip
        self.outcomes = np.zeros(len(Outcome), np.int64)
        self.visits = 0
        self.robots_visits = 0
        self.stored = 0
        self.bytes = 0
        self.tick = 0
        self.wall = 0.0
        """Wall time of the last tick applied: time never goes back behind it."""
        self.unjudged = False
        """There may be pages that the rules at hand were not applied to."""

    # --- applying -----------------------------------------------------------------------------------------------

    def apply(self, effects: Effects) -> None:
        self.tick = effects.tick
        self.wall = max(self.wall, effects.wall)
        if len(effects.sites.lengths) or len(effects.origins):
            self._add_places(effects)
        if len(effects.pages):
            self._add_pages(effects)
        if len(effects.visits):
            self._add_visits(effects)
        if len(effects.verdicts):
            learn.judge(self.columns, self.counts, effects.verdicts)
        if len(effects.site_events):
            self._add_events(effects.site_events)

    def _add_places(self, effects: Effects) -> None:
        names = [name.decode() for name in effects.sites.split()]
        sites = self.columns.site
        first = sites.count
        self._check_room("sites", "max_sites", first + len(names), sites.limit)
        sites.count += len(names)
        sites.address[first : sites.count] = NONE
        if len(effects.sites_www):
            sites.www[first : sites.count] = effects.sites_www
        self._name_sites(names, first)
        origins = self.columns.origin
        first = origins.count
        origins.count += len(effects.origins)
        for name in ("site", "port", "secure"):
            getattr(origins, name)[first : origins.count] = effects.origins[name]
        self._name_origins(first)

    def _name_sites(self, names: list[str], first: int) -> None:
        self.names += names
        self.columns.hosts.add(_fingerprints(names, self.seed), np.arange(first, len(self.names), dtype=np.uint32))

    def _name_origins(self, first: int) -> None:
        count = self.columns.origin.count
        texts = [self.origin_text(origin) for origin in range(first, count)]
        self.columns.origins.add(_fingerprints(texts, self.seed), np.arange(first, count, dtype=np.uint32))

    def set_addresses(self, packed: list[bytes]) -> None:
        """From an image: all addresses, by number."""
        for address in packed:
            self._address_number(address)

    @staticmethod
    def _check_room(what: str, setting: str, count: int, limit: int) -> None:
        if count > limit:
            raise UsageError(
                f"the collection has more {what} than collection.{setting} = {limit} allows",
                f"Set collection.{setting} to at least what it was before.",
            )

    def _add_pages(self, effects: Effects) -> None:
        pages, new = self.columns.page, effects.pages
        first = pages.count
        count = first + len(new)
        self._check_room("pages", "max_pages", count, pages.limit)
        for name in ("origin", "state", "reason", "depth", "flags"):
            getattr(pages, name)[first:count] = new[name]
        pages.outcome[first:count] = NO_OUTCOME
        if self._boosts:
            pages.boost[first:count] = [self._boost(url) for url in effects.urls.split()]
        self.columns.known.add(new["fingerprint"].copy(), np.arange(first, count, dtype=np.uint32))
        pages.count = count
        np.add.at(self.columns.site.pages, new["site"], 1)
        self.unjudged |= bool((new["flags"] & _JUDGED == 0).any())
        learn.plant(self.columns, self.policy, self.totals, self.counts, first, len(new))

    def _boost(self, url: bytes) -> float:
        return next((boost for pattern, boost in self._boosts if pattern.search(url)), 0.0)

    def _add_visits(self, effects: Effects) -> None:
        visits = effects.visits
        robots = np.flatnonzero(visits["ask"] == _ROBOTS)
        if len(robots):
            texts = Results(visits, effects.visit_texts, Links.none()).text_of()
            for i in robots.tolist():
                self._add_rules(visits[i], texts[i]["rules"])
        site = self.columns.site
        sites = visits["site"].copy()
        clocks(
            sites, visits["outcome"].copy(), visits["time"].copy(), visits["retry_after"].copy(), self.waits(sites),
            visits["status"] > 0, float(self.settings.harvester.retry), site.next, site.asked, site.failures, site.why,
        )  # fmt: skip
        original = can_be_repeated(visits)
        self.columns.digests.add(content_keys(visits[original], self.seed), visits["page"][original])
        learn.learn(
            self.columns, self.policy, self.totals, self.counts, self._respell(effects), effects.link_targets,
            effects.link_kinds, self._limits,
        )  # fmt: skip
        pages = visits["ask"] == _PAGE
        made = pages & (visits["outcome"] != _RETURNED)
        self.outcomes += np.bincount(visits["outcome"][made], minlength=len(Outcome))
        self.visits += int(made.sum())
        self.robots_visits += len(robots)
        kept = (visits["outcome"] <= _DUPLICATE) & (visits["flags"] & _STORED != 0)
        self.stored += int((pages & kept).sum())
        self.bytes += int(visits["received"].sum())

    def _respell(self, effects: Effects) -> Array:
        """Sites that redirect a page to its other spelling are asked by that one from now on; the page goes back.

        Returns the visits as pages see them.
        """
        visits = effects.visits
        found = np.flatnonzero(visits["flags"] & _OTHER_NAME)
        if not len(found):
            return visits
        visits, texts = visits.copy(), Results(visits, effects.visit_texts, Links.none()).text_of()
        for i in found.tolist():
            site, www = int(visits["site"][i]), b"://www." in texts[i]["redirect"]
            if visits["flags"][i] & _RESPELLED:
                if self._spell(site, www):
                    visits["outcome"][i] = _RETURNED
            elif not self.columns.site.respelled[site]:  # to another page, under the other name
                self._spell(site, www)
        return visits

    def _spell(self, site: int, www: bool) -> bool:
        """False if the site has changed its mind too often, or says what is so already too often."""
        sites, origins = self.columns.site, self.columns.origin
        sites.respelled[site] = min(250, int(sites.respelled[site]) + 1)
        if sites.respelled[site] > MOST_RESPELLED:
            return False
        if bool(sites.www[site]) != www:
            sites.www[site] = www
            sites.resolved[site] = 0
            sites.address[site] = NONE
            of_site = origins.site[: origins.count] == site
            origins.valid[: origins.count][of_site] = np.minimum(origins.valid[: origins.count][of_site], OUTDATED)
        return True

    def _add_rules(self, visit: Any, compiled: bytes) -> None:
        """2xx: the rules that it has; 4xx: none; anything else forbids the origin until it is asked for again."""
        origin, outcome = int(visit["origin"]), Outcome(int(visit["outcome"]))
        origins, sites = self.columns.origin, self.columns.site
        own = int(origins.site[origin])
        moved = outcome == Outcome.REDIRECT and not visit["flags"] & int(VisitFlag.NOT_FOLLOWED)
        in_ring = bool(visit["flags"] & _RESPELLED) and sites.respelled[own] >= MOST_RESPELLED
        lost = in_ring and own == int(visit["site"])
        if outcome == Outcome.RETURNED or (moved and not lost):
            return
        odd = lost or (outcome == Outcome.NO_CONTENT and not 200 <= visit["status"] < 300)
        if outcome not in READABLE or odd:
            origins.failures[origin] = min(250, int(origins.failures[origin]) + 1)
            failures, retry = int(origins.failures[origin]), float(self.settings.harvester.retry)
            until = _UNREADABLE.until(float(visit["time"]), failures, retry)
            if until >= sites.next[own]:
                sites.next[own], sites.why[own] = until, Aside.ROBOTS_UNREADABLE
            return
        origins.failures[origin] = 0
        if outcome not in (Outcome.OK, Outcome.DUPLICATE):
            compiled = b""
        start, end = self.rules.place(compiled)
        if origins.valid[origin] and (start, end) != (origins.rules_start[origin], origins.rules_end[origin]):
            of_origin = np.flatnonzero(self.columns.page.origin[: self.columns.page.count] == origin)
            self.columns.page.flags[of_origin] &= 0xFF ^ _JUDGED
        origins.rules_start[origin], origins.rules_end[origin] = start, end
        origins.valid[origin] = visit["time"] + self.settings.harvester.robots_valid
        origins.delay[origin] = max(0.0, float(visit["delay"]))
        of_site = origins.site[: origins.count] == own
        sites.delay[own] = origins.delay[: origins.count][of_site].max()
        sites.refused[own] = sites.delay[own] > self.settings.harvester.max_delay
        self.unjudged = True

    def _add_events(self, events: Array) -> None:
        site = self.columns.site
        for event in events:
            number = int(event["site"])
            site.name_failures[number] = event["failures"]
            if event["event"] == SiteEvent.RESOLVED:
                site.resolved[number] = event["until"]
                site.port[number] = event["port"]
                site.address[number] = self._address_number(event["address"].tobytes())
                continue
            if event["event"] == SiteEvent.RESPELLED:
                self._spell(number, not site.www[number])
                continue
            if event["event"] == SiteEvent.NAME_AGAIN:
                if site.why[number] in _OF_NAMES:
                    site.next[number], site.why[number] = site.rest[number], site.rest_why[number]
                continue
            if event["until"] >= site.next[number]:
                if site.why[number] not in _OF_NAMES:
                    site.rest[number], site.rest_why[number] = site.next[number], site.why[number]
                site.next[number] = event["until"]
                site.why[number] = WHY_ASIDE[SiteEvent(int(event["event"]))]
            if event["event"] not in _FOR_THE_SITE:
                site.resolved[number] = 0
                site.address[number] = NONE

    def _address_number(self, packed: bytes) -> int:
        number = self.addresses.get(packed)
        if number is None:
            number = len(self._addresses)
            if number < self.max_addresses:
                self._addresses.append(packed)
            else:
                number = self._recycled()
                del self.addresses[self._addresses[number]]
                self._addresses[number] = packed
            self.addresses[packed] = number
        return number

    def _recycled(self) -> int:
        """The number of an address that no site has any more, one that was given out long ago."""
        used = self.columns.site.address[: self.columns.site.count]
        while True:
            if not self._unused:
                self._unused.extend(np.setdiff1d(np.arange(self.max_addresses), used).tolist())
            number = self._unused.popleft()
            if not (used == number).any():
                self.recycled.append(number)
                return number

    def failed_names(self, wall: float) -> Array:
        """Sites that wait because their name failed, or leads to a forbidden address."""
        site, count = self.columns.site, self.columns.site.count
        return np.flatnonzero(np.isin(site.why[:count], _OF_NAMES) & (site.next[:count] > wall))

    def refuse_long_delays(self) -> None:
        """Sites are left alone that ask for a longer Crawl-delay than is honoured now, and no others."""
        site, count = self.columns.site, self.columns.site.count
        site.refused[:count] = site.delay[:count] > self.settings.harvester.max_delay

    # --- asking -------------------------------------------------------------------------------------------------

    def waits(self, sites: Array) -> Array:
        """Seconds between turns at each of these sites: the setting, or what its robots.txt asks for."""
        harvester, site = self.settings.harvester, self.columns.site
        large = site.pages[sites] > harvester.large_site
        return np.maximum(site.delay[sites], np.where(large, harvester.wait_large, harvester.wait))

    def pauses(self, sites: Array) -> Array:
        """Seconds between the requests of a turn at each of these sites."""
        return np.maximum(self.columns.site.delay[sites], self.settings.harvester.pause)

    def not_before(self, effects: Effects) -> list[tuple[int, float]]:
        """Until when sites are to be left in peace after effects that are not applied: as long as if they were."""
        found = [(int(e["site"]), float(e["until"])) for e in effects.site_events if e["event"] in _FOR_THE_SITE]
        sites, harvester = self.columns.site, self.settings.harvester
        for visit in effects.visits:
            site, outcome = int(visit["site"]), Outcome(int(visit["outcome"]))
            known = site < sites.count
            wait = float(self.waits(np.array([site]))[0]) if known else max(harvester.wait, harvester.wait_large)
            pause = max(wait, float(visit["delay"]), float(visit["retry_after"]))
            failures = 1 + (int(sites.failures[site]) if known else 0)
            pause = max(pause, pause_after(outcome, wait, failures, harvester.retry))
            if visit["ask"] == Ask.ROBOTS and outcome not in READABLE:
                pause = max(pause, _UNREADABLE.until(0.0, 1))
            found.append((site, float(visit["time"]) + min(pause, LONGEST_PAUSE)))
        return found

    def origin_text(self, origin: int) -> str:
        """scheme://host:port, as `urls.origin` writes it."""
        origins = self.columns.origin
        scheme = "https" if origins.secure[origin] else "http"
        return f"{scheme}://{self.names[int(origins.site[origin])]}:{int(origins.port[origin])}"

    def host(self, site: int) -> str:
        """The name by which a site is asked."""
        return f"www.{self.names[site]}" if self.columns.site.www[site] else self.names[site]

    def may_respell(self, site: int) -> bool:
        """It has only been tried by one name, and the settings take `www.` for nothing."""
        bare = f"http://{self.names[site]}/"
        return not self.columns.site.respelled[site] and self.scope.canonical(urls.spelled(bare, True), None) == bare

    def asked_as(self, site: int, url: str) -> str:
        """A URL of the site as it is asked for."""
        return urls.spelled(url, True) if self.columns.site.www[site] else url

    def site(self, name: str) -> int:
        """Its number, NONE when it is not known."""
        return int(self.columns.hosts.find(_fingerprints([name], self.seed))[0])

    def address(self, site: int) -> str:
        """The address at which a site is asked, in text form."""
        return unpack(self._addresses[int(self.columns.site.address[site])])

    def allowed(self, pages: Array, texts: list[bytes]) -> Array:
        """What robots.txt says to these pages, by the rules at hand: 1 allowed, 0 forbidden."""
        at = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=at[1:])
        origin = self.columns.origin
        buffer = np.frombuffer(b"".join(texts), np.uint8)
        origins = self.columns.page.origin[pages]
        return verdicts_many(self.rules.buffer, origin.rules_start, origin.rules_end, buffer, at, origins)

    def believed(self, wall: float) -> float:
        """The wall clock, which is not believed when it goes back behind the last tick."""
        return max(wall, self.wall)

    def effects(self, wall: float, monotonic: float) -> Effects:
        """An empty tick after the last one. The wall clock is not believed when it goes back.

        Wall time is kept to the microsecond, as the tables do.
        """
        columns = self.columns
        return Effects(
            self.tick + 1, max(round(wall, 6), self.wall), monotonic, columns.site.count, columns.origin.count,
            columns.page.count,
        )  # fmt: skip


NO_OUTCOME: Final = 255
READABLE: Final = frozenset(
    {Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.NOT_FOUND, Outcome.REFUSED, Outcome.OTHER_TYPE,
     Outcome.NO_CONTENT, Outcome.RETURNED}
)  # fmt: skip
"""Outcomes of robots.txt that say what is allowed, or nothing; after any other one nothing is."""
OUTDATED: Final = 1.0
"""Wall time: rules that were asked for, and no longer hold."""


def _fingerprints(texts: list[str], seed: int) -> npt.NDArray[np.uint64]:
    return np.array([urls.fingerprint(text, seed) for text in texts], np.uint64)
