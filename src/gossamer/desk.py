"""The desk's state, and `apply`: the one function that changes it.

Live or in recovery, durable state changes only by applying the effects of a tick, in the order of ticks. `apply` reads
nothing but the state, the effects and the settings (no clock, no files), so a replay makes the same state.

Refusing and waiting are decided here from visits alone: a site that fails or gets slow is asked less often
(`patience.clocks`), a page that fails is tried again later (`manager.learn`), a robots.txt that cannot be read forbids
its origin, for `harvester.robots_unreachable` at most.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.applying import Tally, enter, tally, writable
from gossamer.base.errors import UsageError
from gossamer.base.model import NONE, VISIT, Ask, PageFlag, State, VisitFlag
from gossamer.base.outcomes import ASIDE, DAY, TRANSIENT, Aside, Outcome
from gossamer.collection.columns import Columns
from gossamer.collection.credits import Credits
from gossamer.collection.journal.effects import Effects, SiteEvent
from gossamer.collection.probes import Probes, answer_of, named, said, vote
from gossamer.collection.rulebook import RuleBook
from gossamer.config.settings import Settings
from gossamer.harvester.bandwidth.speeds import Speeds
from gossamer.hours import Hours
from gossamer.manager import learn
from gossamer.manager.policies import new_totals
from gossamer.manager.strategies import LIVE, strategy_named
from gossamer.patience import MOST_SLOW, Answers, Clocks, Waits, clocks, clocks_after, pauses_at, rests, slows, waits_at
from gossamer.robots.match import verdicts_many
from gossamer.seeder.copies import keep_contents
from gossamer.web.addresses import unpack
from gossamer.web.message import Links, Results

Array = npt.NDArray[Any]

ADDRESSES_A_SITE: Final = 4
"""Addresses that are remembered, for each site that there may be; sites change theirs."""
MOST_RESPELLED: Final = 2
"""How often a site may change between `www.` and the bare name: more would be a ring of redirects."""
# plain numbers: numpy takes 10 µs to look at a member of an enum
_PAGE, _ROBOTS, _SITEMAP, _PROBE = (int(ask) for ask in Ask)
_RETURNED, _DUPLICATE, _REDIRECT, _SOFT = (
    int(o) for o in (Outcome.RETURNED, Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.SOFT_404)
)
_CONNECT_FAILED, _DONE = int(Outcome.CONNECT_FAILED), int(State.DONE)
_JUDGED = int(PageFlag.JUDGED)
_RESPELLED, _OTHER_NAME = int(VisitFlag.RESPELLED), int(VisitFlag.OTHER_NAME)
_OF_NAMES: Final = (int(Aside.NAME_FAILED), int(Aside.FORBIDDEN_ADDRESS))
WHY_ASIDE: Final = {
    SiteEvent.NAME_FAILED: Aside.NAME_FAILED,
    SiteEvent.FORBIDDEN_ADDRESS: Aside.FORBIDDEN_ADDRESS,
    SiteEvent.PATIENCE: Aside.JUST_STARTED,
    SiteEvent.ROBOTS_AWAY: Aside.ROBOTS_UNREADABLE,
}
_FOR_THE_SITE: Final = (int(SiteEvent.PATIENCE), int(SiteEvent.ROBOTS_AWAY), int(SiteEvent.SLOWED))
"""Events that leave a site in peace for its own sake; a name that failed has cost it nothing."""

_IPV4: Final = 0xFFFF
"""Of a folded address, what is above its last 32 bits if it is one of IPv4."""
_UNREADABLE: Final = ASIDE[Aside.ROBOTS_UNREADABLE]


class Desk:
    def __init__(self, settings: Settings, seed: int, folder: Path | None = None) -> None:
        """`folder` is for what does not fit into memory: the shard's."""
        self.settings = settings
        self.seed = seed
        self.scope = urls.Scope.of(settings.seeder)
        self._boosts = [(re.compile(text.encode()), boost) for text, boost in settings.manager.boosts.items()]
        self.columns = Columns(settings.collection.max_pages, settings.collection.max_sites)
        self._clocks = Clocks.of(self.columns.site)
        self._waits = Waits.of(self.columns.site, settings.harvester)
        self.names: list[str] = []
        """Names of the sites, by number."""
        self.rules = RuleBook(self.columns.origin.limit, seed, folder)
        self.credits = Credits()
        self.probes = Probes(self.columns.site.probe)
        self.addresses: dict[bytes, int] = {}
        """Packed address to its number."""
        self._addresses: list[bytes] = []
        self._unused: deque[int] = deque()
        self.max_addresses = ADDRESSES_A_SITE * settings.collection.max_sites
        self.recycled: list[int] = []
        """Numbers that were given to another address: that one may have been asked under its number before."""
        self.hours = Hours.of(settings.harvester)
        self.speeds = Speeds(self.max_addresses)
        """How fast each address answers, by the hour."""
        self.policy = strategy_named(settings.manager.policy, LIVE, "manager.policy")
        self.totals = new_totals()
        """Cash kept, spent, lost and in total (OPIC)."""
        self.counts = learn.new_counts()
        """Known pages by state, and by outcome or reason."""
        self._limits = learn.Limits(
            settings.seeder.depth_static,
            settings.seeder.depth_dynamic,
            settings.harvester.retry,
            settings.harvester.tries,
        )
        self.outcomes = np.zeros(len(Outcome), np.int64)
        self.visits = 0
        self.robots_visits = 0
        self.sitemap_visits = 0
        self.probe_visits = 0
        self.stored = 0
        self.bytes = 0
        self.tick = 0
        self.wall = 0.0
        """Wall time of the last tick applied: time never goes back behind it."""
        self.sitemaps: dict[int, dict[int, bytes]] = {}
        """Sites whose sitemaps are to be read: for each of their origins what its robots.txt names, a URL a line."""
        self.spent_sitemaps: dict[int, set[int]] = {}
        """Of these sites: sitemaps that are not asked for again until all are read, as there was nothing in them."""
        self._changed: list[int] = []
        """Origins whose rules this tick changes."""
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
        sites.slow[first : sites.count] = sites.stretch[first : sites.count] = 1.0
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
        pages, new = self.columns.page, writable(effects.pages)
        first = pages.count
        count = first + len(new)
        self._check_room("pages", "max_pages", count, pages.limit)
        unjudged = enter(pages, self.columns.site.pages, new, first)
        if self._boosts:
            pages.boost[first:count] = [self._boost(url) for url in effects.urls.split()]
        self.columns.known.add(new["fingerprint"].copy(), np.arange(first, count, dtype=np.uint32))
        pages.count = count
        self.unjudged |= unjudged  # now that a plan, made beside, would find them
        learn.plant(self.columns, self.policy, self.totals, self.counts, first, len(new))

    def _boost(self, url: bytes) -> float:
        return next((boost for pattern, boost in self._boosts if pattern.search(url)), 0.0)

    def _add_visits(self, effects: Effects) -> None:
        visits, harvester = writable(effects.visits), self.settings.harvester
        found = tally(visits, self.probes.telling, self.outcomes)
        robots = np.flatnonzero(visits["ask"] == _ROBOTS).tolist() if found.robots else []
        if found.robots or found.sitemaps or found.probes:
            self._add_others(effects)
        if found.compared or found.probes:
            self._compare(effects)
        clocks_after(visits, self._waits, self._clocks, float(harvester.retry), float(harvester.wait_factor))
        at = self.hours.at(effects.wall)
        self.speeds.learn_visits(self.columns.site.address[visits["site"]], visits, at)
        for i in robots:
            self._outlast_rest(int(visits["origin"][i]), float(visits["time"][i]))
        if found.copies:
            self._note_copies(visits)
        if found.moved:
            self._count_moves(effects)
        if found.unconnected:  # its name may have another address
            self.columns.site.resolved[visits["site"][visits["outcome"] == _CONNECT_FAILED]] = 0
        keep_contents(self.columns, visits, self.seed)
        learn.learn(
            self.columns,
            self.policy,
            self.totals,
            self.counts,
            self._respell(effects) if found.respelled else visits,
            effects.link_targets,
            effects.link_kinds,
            self._limits,
        )
        self._count(found)

    def _add_others(self, effects: Effects) -> None:
        """What robots.txt, sitemaps and probes said."""
        visits = effects.visits
        results = Results(visits, effects.visit_texts, Links.none())
        for i, texts in results.texts_at(np.flatnonzero(visits["ask"] == _ROBOTS)):
            self._add_rules(visits[i], texts["rules"])
            self._add_sitemaps(visits[i], texts["sitemaps"])
        for i, texts in results.texts_at(np.flatnonzero(visits["ask"] == _SITEMAP)):
            self._spend_sitemap(visits[i], texts)
        for i, texts in results.texts_at(np.flatnonzero(visits["ask"] == _PROBE)):
            if Outcome(int(visits["outcome"][i])) not in UNANSWERED:
                self.probes.add(int(visits["site"][i]), answer_of(visits[i], texts, self.scope, self.seed))
        self._judge_anew()

    def _count(self, found: Tally) -> None:
        self.visits += found.made
        self.robots_visits += found.robots
        self.sitemap_visits += found.sitemaps
        self.probe_visits += found.probes
        self.stored += found.stored
        self.bytes += found.received

    def _keep_clocks(self, answers: Answers, sites: Clocks) -> None:
        clocks(answers, sites, float(self.settings.harvester.retry), float(self.settings.harvester.wait_factor))

    def _respell(self, effects: Effects) -> Array:
        """Sites that redirect a page to its other spelling are asked by that one from now on; the page goes back.

        Returns the visits as pages see them.
        """
        visits = effects.visits
        found = np.flatnonzero(visits["flags"] & _OTHER_NAME)
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
        sites = self.columns.site
        sites.respelled[site] = min(250, int(sites.respelled[site]) + 1)
        if sites.respelled[site] > MOST_RESPELLED:
            return False
        if bool(sites.www[site]) != www:
            sites.www[site] = www
            sites.resolved[site] = 0
            sites.address[site] = NONE
            self._outdate_rules(site)
        return True

    def _outdate_rules(self, site: int) -> None:
        """robots.txt of all its origins is asked for before anything else."""
        origins = self.columns.origin
        of_site = origins.site[: origins.count] == site
        origins.valid[: origins.count][of_site] = np.minimum(origins.valid[: origins.count][of_site], OUTDATED)

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
            until = self._unreadable(origin, float(visit["time"]))
            if until >= sites.next[own]:
                sites.next[own], sites.why[own] = until, Aside.ROBOTS_UNREADABLE
            return
        origins.failures[origin], origins.unreachable[origin] = 0, 0.0
        if outcome not in (Outcome.OK, Outcome.DUPLICATE):
            compiled = b""
        start, end = self.rules.place(compiled)
        if origins.valid[origin] and (start, end) != (origins.rules_start[origin], origins.rules_end[origin]):
            self._changed.append(origin)
        with self.rules.lock:
            origins.rules_start[origin], origins.rules_end[origin] = start, end
            if self.rules.wasteful:
                starts, ends = origins.rules_start[: origins.count], origins.rules_end[: origins.count]
                starts[:], ends[:] = self.rules.pack(starts, ends)
        origins.valid[origin] = visit["time"] + self.settings.harvester.robots_valid
        origins.delay[origin] = max(0.0, float(visit["delay"]))
        self._heed_delays(own)
        if own != int(visit["site"]):  # it was read elsewhere, and holds from now on
            until = float(visit["time"]) + float(self.waits(np.array([own]))[0])
            sites.next[own] = max(float(sites.next[own]), until)
        self.unjudged = True

    def _heed_delays(self, site: int) -> None:
        """Of its origins' robots.txt files the longest counts."""
        origins, sites = self.columns.origin, self.columns.site
        of_site = origins.site[: origins.count] == site
        sites.delay[site] = origins.delay[: origins.count][of_site].max()
        sites.refused[site] = sites.delay[site] > self.settings.harvester.max_delay

    def _judge_anew(self) -> None:
        """Pages of origins whose rules are others now. One look at all pages, for all of these origins."""
        if self._changed:
            page = self.columns.page
            changed = np.zeros(self.columns.origin.count, np.bool_)
            changed[self._changed] = True
            page.flags[: page.count][changed[page.origin[: page.count]]] &= 0xFF ^ _JUDGED
            self._changed.clear()

    def _unreadable(self, origin: int, time: float) -> float:
        """Notes that a robots.txt could not be read; until when its site is to be left alone for that.

        When it could not be for `harvester.robots_unreachable`, its last rules hold until it is asked for again, or
        none if it never had any (RFC 9309, 2.3.1.4). Time in which it was not asked for, though it could have been,
        for more than a day, does not count.
        """
        origins, harvester = self.columns.origin, self.settings.harvester
        since = float(origins.unreachable[origin]) or time
        late = time - max(float(origins.valid[origin]), float(self.columns.site.next[origins.site[origin]]))
        if origins.failures[origin] and late > DAY:
            since = min(time, since + late)
        origins.unreachable[origin] = since
        origins.failures[origin] = min(250, int(origins.failures[origin]) + 1)
        if time - since < harvester.robots_unreachable:
            return _UNREADABLE.until(time, int(origins.failures[origin]), float(harvester.retry))
        origins.valid[origin] = time + harvester.robots_valid
        self._heed_delays(int(origins.site[origin]))
        self.unjudged = True
        return 0.0

    def _outlast_rest(self, origin: int, time: float) -> None:
        """Where the usual wait is longer than rules hold, they hold until their site has rested, a day at most (RFC
        9309, 2.4), or it would never be asked for anything else than robots.txt. Those that are used though they cannot
        be read hold as long as others from then on, since each failure makes it rest."""
        origins = self.columns.origin
        if origins.valid[origin] >= time:
            site, valid = int(origins.site[origin]), float(self.settings.harvester.robots_valid)
            rested, until = max(time, float(self.columns.site.next[site])), 0.0
            if origins.failures[origin]:
                until = rested + valid
            elif self.waits(np.array([site]))[0] >= valid:
                until = min(rested + AFTER_REST, time + DAY)
            origins.valid[origin] = max(float(origins.valid[origin]), until)

    def _robots_away(self, event: Any) -> bool:
        """The robots.txt of an origin lies where it cannot be asked for; whether the site waits for it."""
        origins = self.columns.origin
        used = slice(0, origins.count)
        found = np.flatnonzero((origins.site[used] == event["site"]) & (origins.port[used] == event["port"]))
        waits = [self._unreadable(origin, float(event["time"])) > 0 for origin in found.tolist()]
        return any(waits) or not waits

    def _add_sitemaps(self, visit: Any, named: bytes) -> None:
        """robots.txt of a site that has pages and whose sitemaps are due: what it names is to be read.

        The first of its origins that answers when they are due speaks for the site, with those that do until then.
        """
        origins, sites, seeder = self.columns.origin, self.columns.site, self.settings.seeder
        origin, time = int(visit["origin"]), float(visit["time"])
        own = int(origins.site[origin])
        readable = visit["outcome"] != _RETURNED and origins.valid[origin] >= time
        if seeder.sitemaps and readable and sites.pages[own] and sites.sitemap_due[own] <= time:
            lines = named.split(b"\n", seeder.sitemaps_per_site)[: seeder.sitemaps_per_site]
            self.sitemaps.setdefault(own, {})[origin] = b"\n".join(lines)

    def _spend_sitemap(self, visit: Any, texts: dict[str, bytes]) -> None:
        """Its answer was a final one, or named nothing. What one lists may not be taken yet: SITEMAP_TAKEN says so."""
        site, outcome = int(visit["site"]), Outcome(int(visit["outcome"]))
        empty = outcome is Outcome.OK and not visit["out_degree"] and not texts["sitemaps"]
        if site in self.sitemaps and (empty or outcome not in NOT_SPENT):
            url = texts["title"].decode()
            spent = urls.fingerprint(self.scope.canonical(url) or url, self.seed)
            self.spent_sitemaps.setdefault(site, set()).add(spent)

    def _add_events(self, events: Array) -> None:
        site, moved = self.columns.site, list[int]()
        for event in events:
            number = int(event["site"])
            if event["event"] == SiteEvent.SLOWED:
                site.slow[number] = min(2.0 * site.slow[number], MOST_SLOW)
                continue
            if event["event"] == SiteEvent.SITEMAPS_READ:
                site.sitemap_due[number] = event["until"]
                self.sitemaps.pop(number, None)
                self.spent_sitemaps.pop(number, None)
                continue
            if event["event"] == SiteEvent.SITEMAP_TAKEN:
                if number in self.sitemaps:
                    taken = int.from_bytes(event["address"].tobytes()[:8], "little")
                    self.spent_sitemaps.setdefault(number, set()).add(taken)
                continue
            if event["event"] == SiteEvent.DELAY_AGAIN:
                self._outdate_rules(number)
                site.delay[number], site.refused[number] = 0.0, 0
                continue
            if event["event"] not in _FOR_THE_SITE:
                site.name_failures[number] = event["failures"]
            if event["event"] in (SiteEvent.RESOLVED, SiteEvent.MOVED):
                if event["event"] == SiteEvent.MOVED:
                    self._move(number, float(event["time"]))
                    moved.append(number)
                site.home[number] = folded(event["address"].tobytes())
                site.resolved[number] = event["until"]
                site.port[number] = event["port"]
                before, now = int(site.address[number]), self._address_number(event["address"].tobytes())
                self.speeds.moved(before, now)
                site.address[number] = now
                continue
            if event["event"] == SiteEvent.RESPELLED:
                self._spell(number, not site.www[number])
                continue
            if event["event"] == SiteEvent.NAME_AGAIN:
                if site.why[number] in _OF_NAMES:
                    site.next[number], site.why[number] = site.rest[number], site.rest_why[number]
                continue
            if event["event"] == SiteEvent.ROBOTS_AWAY and not self._robots_away(event):
                continue
            if event["until"] >= site.next[number]:
                if site.why[number] not in _OF_NAMES:
                    site.rest[number], site.rest_why[number] = site.next[number], site.why[number]
                site.next[number] = event["until"]
                site.why[number] = WHY_ASIDE[SiteEvent(int(event["event"]))]
            if event["event"] not in _FOR_THE_SITE:
                site.resolved[number] = 0
                site.address[number] = NONE
        if moved:
            self._inherit(moved)

    def _note_copies(self, visits: Array) -> None:
        copies = visits[(visits["outcome"] == _DUPLICATE) & (visits["duplicate_of"] != NONE)]
        if len(copies):
            site_of, origin = self.columns.origin.site, self.columns.page.origin
            away = copies[site_of[origin[copies["duplicate_of"]]] != copies["site"]]
            self.credits.add(away["duplicate_of"], away["page"])

    def _compare(self, effects: Effects) -> None:
        """Pages of sites that were probed, with what those answered."""
        visits = effects.visits
        rows = np.flatnonzero((visits["ask"] == _PAGE) & self.probes.telling[visits["site"]])
        if len(rows):
            values = said(visits)
            for i, texts in Results(visits, effects.visit_texts, Links.none()).texts_at(rows):
                if Outcome(int(visits["outcome"][i])) not in UNANSWERED:
                    self.probes.note(visits[i], int(values[i]), named(texts["title"], self.seed))

    def _count_moves(self, effects: Effects) -> None:
        """Where pages are redirected to, origin by origin."""
        visits = effects.visits
        moved = (visits["ask"] == _PAGE) & ((visits["outcome"] == _REDIRECT) | (visits["outcome"] == _SOFT))
        rows = np.flatnonzero(moved & (visits["flags"] & _RESPELLED == 0))
        if len(rows):
            results = Results(visits, effects.visit_texts, Links.none())
            for i in rows.tolist():
                if target := results.text(i, "redirect"):
                    vote(self.columns.origin, int(visits["origin"][i]), urls.fingerprint(target, self.seed))

    def _move(self, site: int, time: float) -> None:
        sites = self.columns.site
        sites.moved[site] = time + DAY * 2.0 ** min(10, int(sites.moves[site]))
        sites.moves[site] = min(250, int(sites.moves[site]) + 1)

    def _inherit(self, sites: list[int]) -> None:
        """Whoever has what the pages of these sites had at their former addresses is credited with it from now on."""
        originals, copies = self._credited(sites)
        if len(originals):
            heir = np.full(self.columns.page.count, NONE, np.uint32)
            heir[originals[::-1]] = copies[::-1]  # of several copies the first
            for cells in self.columns.digests.cells():
                used = np.flatnonzero(cells["key"] != 0)
                heirs = heir[cells["number"][used]]
                cells["number"][used[heirs != NONE]] = heirs[heirs != NONE]

    def _of(self, sites: list[int], pages: Array) -> Array:
        """Which of the pages are of these sites."""
        among = np.zeros(self.columns.site.count, np.bool_)
        among[sites] = True
        found: Array = among[self.columns.origin.site[self.columns.page.origin[pages]]]
        return found

    def _credited(self, sites: list[int]) -> tuple[Array, Array]:
        """Pages of these sites, and with each a page of another site that was taken for its copy."""
        originals, copies = self.credits.all()
        found = self._of(sites, originals)
        found[found] = self.columns.page.outcome[copies[found]] == _DUPLICATE
        return originals[found], copies[found]

    def duplicates_of(self, sites: list[int]) -> Array:
        """Pages that were taken for copies of theirs, and their own that were taken for copies. Looks at all pages."""
        page = self.columns.page
        own = np.flatnonzero(page.outcome[: page.count] == _DUPLICATE)
        found: Array = np.union1d(own[self._of(sites, own)], self._credited(sites)[1])
        may_be_opened: Array = (page.state[found] == _DONE) & (page.reason[found] == 0)
        return found[may_be_opened]

    def has_moved(self, site: int, addresses: list[bytes], wall: float) -> bool:
        """Its last address is not among those that its name has now. A site that moves often is believed less and less:
        so do the names of large hosts, which have other addresses for everybody who asks."""
        home, sites = int(self.columns.site.home[site]), self.columns.site
        same_kind = [each for each in map(folded, addresses) if (each >> 32 == _IPV4) == (home >> 32 == _IPV4)]
        return home != 0 and len(same_kind) > 0 and home not in same_kind and wall >= sites.moved[site]

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
            self.speeds.met(number, packed)
        return number

    @property
    def packed_addresses(self) -> list[bytes]:
        """By number."""
        return self._addresses

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
        return waits_at(self._waits, np.ascontiguousarray(sites, np.uint32))

    def rests(self, sites: Array) -> Array:
        """As `waits`, or longer where a site is slowed."""
        site = self.columns.site
        return rests(self.waits(sites), site.slow[sites], site.stretch[sites])

    def pauses(self, sites: Array) -> Array:
        """Seconds between the requests of a turn at each of these sites."""
        return pauses_at(self._waits, np.ascontiguousarray(sites, np.uint32), float(self.settings.harvester.pause))

    def patience_after(self, lost: list[Effects]) -> dict[int, tuple[float, int]]:
        """Of effects that are not applied: until when each site is to be left in peace, as if they were, and how often
        its factor would have doubled."""
        found: dict[int, tuple[float, int]] = {}

        def add(site: int, until: float, doubled: int = 0) -> None:
            before = found.get(site, (0.0, 0))
            found[site] = max(before[0], until), before[1] + doubled

        for event in (event for effects in lost for event in effects.site_events):
            if event["event"] in _FOR_THE_SITE:
                add(int(event["site"]), float(event["until"]), int(event["event"] == SiteEvent.SLOWED))
        visits = np.concatenate([effects.visits for effects in lost]) if lost else np.zeros(0, VISIT)
        if len(visits):
            next_, failures = self._clocks_after(visits), Counter[int]()
            for visit, doubled in zip(visits, slows(visits["outcome"]).tolist(), strict=True):
                add(int(visit["site"]), float(next_[visit["site"]]), doubled)
                if visit["ask"] == Ask.ROBOTS and Outcome(int(visit["outcome"])) not in READABLE:
                    origin = int(visit["origin"])
                    failures[origin] += 1
                    self._add_unreadable(origin, failures[origin], float(visit["time"]), add)
        return found

    def _add_unreadable(self, origin: int, failures: int, time: float, add: Callable[[int, float], None]) -> None:
        """A robots.txt could not be read, which is not applied: so many times more than is known."""
        origins = self.columns.origin
        if origin < origins.count:
            failures = min(250, failures + int(origins.failures[origin]))
            add(int(origins.site[origin]), _UNREADABLE.until(time, failures, float(self.settings.harvester.retry)))

    def _clocks_after(self, visits: Array) -> Array:
        """`next` of each site after visits that are not applied, with the longest wait that it may have."""
        sites, harvester = self.columns.site, self.settings.harvester
        count = max(sites.count, int(visits["site"].max()) + 1)
        waits = np.full(count, max(harvester.wait, harvester.wait_large))
        waits[: sites.count] = np.maximum(waits[: sites.count], sites.delay[: sites.count])
        np.maximum.at(waits, visits["site"], visits["delay"])
        after = self._clocks.copy(sites.count, count)
        self._keep_clocks(Answers.of(visits, waits[visits["site"]]), after)
        return after.next

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

    def may_respell_back(self, site: int) -> bool:
        """It was asked once, by its first name, and then tried by its other one, which does not exist."""
        return bool(self.columns.site.respelled[site] == 1 and self.columns.site.asked[site] == 1)

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
        return self.allowed_at(self.columns.page.origin[pages], texts)

    def allowed_at(self, origins: Array, texts: list[bytes]) -> Array:
        """The same for any URLs, by their origins."""
        at = np.fromiter(accumulate(map(len, texts), initial=0), np.int64, len(texts) + 1)
        origin = self.columns.origin
        buffer = np.frombuffer(b"".join(texts), np.uint8)
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
            self.tick + 1,
            max(round(wall, 6), self.wall),
            monotonic,
            columns.site.count,
            columns.origin.count,
            columns.page.count,
        )


READABLE: Final = frozenset(
    {
        Outcome.OK,
        Outcome.DUPLICATE,
        Outcome.REDIRECT,
        Outcome.NOT_FOUND,
        Outcome.REFUSED,
        Outcome.OTHER_TYPE,
        Outcome.NO_CONTENT,
        Outcome.RETURNED,
        Outcome.PAYMENT_REQUIRED,
    }
)
"""Outcomes of robots.txt that say what is allowed, or nothing; after any other one nothing is."""
NOT_SPENT: Final = TRANSIENT | {Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.RETURNED}
"""Outcomes of a sitemap after which it may be asked for again before its round has ended."""
UNANSWERED: Final = TRANSIENT | {Outcome.RETURNED, Outcome.CHALLENGED}
"""Outcomes that say nothing about what a site has and has not."""
AFTER_REST: Final = 60.0
"""Seconds for which rules hold at least once their site may be asked: it may have to stand in line."""
OUTDATED: Final = 1.0
"""Wall time: rules that were asked for, and no longer hold."""


def folded(packed: bytes) -> int:
    """An address in 64 bits."""
    return int.from_bytes(packed[:8]) ^ int.from_bytes(packed[8:])


def _fingerprints(texts: list[str], seed: int) -> npt.NDArray[np.uint64]:
    return np.array([urls.fingerprint(text, seed) for text in texts], np.uint64)
