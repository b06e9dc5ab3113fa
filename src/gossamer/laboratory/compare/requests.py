"""The requests of the last run of a crawl, read from its collection, with the rest of the site after each.

The rests are computed as the crawl computed them, by applying `backoff` to all visits in order. If two rests are
possible, the shorter one is taken: a site that is large in the end counts as large from the start, and `events` other
than answers (failed names, an unreadable robots.txt) add nothing. So the result stays a lower bound. Requests that the
crawl itself took back (`returned`) would not be part of another crawl, and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from gossamer import urls
from gossamer.base.arrays import F64, I64, U8
from gossamer.base.compiled import allocating
from gossamer.base.errors import UsageError
from gossamer.base.model import Ask, Outcome, PageFlag, VisitFlag
from gossamer.base.outcomes import TREATMENTS, Again
from gossamer.collection.layout import shard_folder
from gossamer.collection.runs import runs, settings_of_last_run
from gossamer.config import Settings
from gossamer.config.presets import in_force
from gossamer.harvester.backoff import Answers, SiteClocks, _heed, waits_at
from gossamer.harvester.bandwidth.schedule import Hours
from gossamer.harvester.robots import READABLE
from gossamer.harvester.waits import Waits
from gossamer.laboratory.compare.crawled import LOCAL
from gossamer.laboratory.compare.shortest import Constraints, CrawlFacts, Requests, Soonest, groups, soonest
from gossamer.read.sql.database import Database, Row
from gossamer.read.sql.sources import find

_BEGUN: Final = 'select tick, monotonic from stored.ticks where epoch("time") >= ? order by tick limit 1'
_VISITS: Final = f"""
select coalesce(page & {LOCAL}, -1), site, origin, ask, outcome, coalesce(status, 0), epoch(time), start, "end",
       coalesce(latency, 0), received, coalesce(address, ''), coalesce(retry_after, -1), coalesce(delay, -1), tick,
       flags
from stored.visits order by tick, number
"""
_PAGES: Final = "select origin, site, flags, kind = 'sitemap', tick, epoch(time) from stored.pages order by page"
_LINKS: Final = f"select source & {LOCAL}, target & {LOCAL} from stored.links"
_ORIGINS: Final = "select site from stored.origins order by origin"
_NAMES: Final = "select site, max(name) from stored.sites group by site order by site"


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The requests of a run and the rules for them. Seconds count from its first tick, when its seeds are planted."""

    requests: Requests
    """In the order of their start."""
    rules: Constraints
    names: dict[int, str]
    """By site."""
    addresses: list[str]
    domains: list[str]
    found: F64
    """By request: when its page became known; -inf for robots.txt, sitemaps and probes."""


def read_history(folder: Path) -> RunHistory:
    settings = settings_of_last_run(folder)
    if settings.harvester.mine:
        cure = "Set harvester.mine to false for the run that you compare."
        raise UsageError(f"{folder}: the waits of your own sites change while a crawl runs, and are not compared", cure)
    database = Database(find(folder), settings)
    try:
        run = database.run
        started = [float(each["started"]) for each in runs(shard_folder(folder))]
        visits = run(_VISITS)
        begun = _begun([run(_BEGUN, (each,)) for each in (started or [0.0])], visits)
        tables = (run(_PAGES), run(_LINKS), run(_ORIGINS), run(_NAMES))
    finally:
        database.close()
    if begun is None:
        raise UsageError(f"{folder} has no request yet", "Resume the crawl, or wait until a segment is sealed.")
    return _history(settings, visits, *tables, *begun)


def _begun(ticks: list[list[Row]], visits: list[Row]) -> tuple[int, float] | None:
    """First tick, and its monotonic time, of the last run that made a request."""
    begun = [(int(rows[0][0]), float(rows[0][1])) for rows in ticks if rows]
    last = int(visits[-1][14]) if visits else -1
    return next((each for each in reversed(begun) if each[0] <= last), None)


def _history(
    settings: Settings,
    visits: list[Row],
    pages: list[Row],
    links: list[Row],
    origins: list[Row],
    names: list[Row],
    tick: int,
    monotonic: float,
) -> RunHistory:
    columns = _Visits(visits)
    site_of = np.array([row[0] for row in origins], np.int64)
    found = np.array(pages, np.float64).reshape(-1, 6)
    sizes = np.bincount(found[:, 1].astype(np.int64), minlength=len(names) + 1)
    harvester = settings.harvester
    delay = _delays(columns, site_of)
    waits = _waits(sizes, _named(visits, len(sizes)), settings)
    rest = _rests(columns, waits, delay, settings)
    pause = np.maximum(delay, float(harvester.pause))
    usual = waits[columns.site]
    ends_turn = rest > np.maximum(usual, delay) + 0.001
    within = rest if harvester.per_turn == 1 else np.where(ends_turn, rest, np.minimum(rest, pause))
    mine = np.flatnonzero((columns.tick >= tick) & (columns.outcome != Outcome.RETURNED))
    known = _known(columns, mine, found, links, site_of, within, tick)
    when = _soonest(columns, mine, soonest(known), settings)
    where, addresses = _numbered(columns.address)
    of_site = {int(site): str(name) for site, name in names}
    domain, domains = _numbered([urls.registrable(of_site.get(s, "")) for s in columns.site.tolist()])
    order = np.argsort(columns.start[mine], kind="stable")
    kept = mine[order]
    requests = Requests(
        columns.site[kept],
        where[kept],
        domain[kept],
        columns.start[kept] - monotonic,
        columns.end[kept] - monotonic,
        rest[kept],
        within[kept],
        when[order],
        columns.received[kept],
    )
    between = float(harvester.address_wait), float(harvester.domain_wait)
    rules = Constraints(harvester.connections, harvester.per_turn, *between, Hours.of(harvester).most)
    offset = columns.time[kept] - columns.end[kept] + monotonic
    page = columns.page[kept]
    became = np.where(page >= 0, found[np.maximum(page, 0), 5] - offset, -np.inf) if len(found) else np.zeros(0)
    return RunHistory(requests, rules, of_site, addresses, domains, became)


class _Visits:
    """All visits of the collection, in order, as columns."""

    def __init__(self, rows: list[Row]) -> None:
        def whole(column: int) -> I64:
            return np.array([row[column] for row in rows], np.int64)

        def real(column: int) -> F64:
            return np.array([row[column] for row in rows], np.float64)

        self.page, self.site, self.origin = whole(0), whole(1), whole(2)
        self.ask = np.array([Ask[row[3].upper()] for row in rows], np.uint8)
        self.outcome = np.array([Outcome[row[4].upper()] for row in rows], np.uint8)
        self.status, self.time, self.start, self.end, self.first = whole(5), real(6), real(7), real(8), real(9)
        self.received = whole(10)
        self.address = [str(row[11]) for row in rows]
        self.retry_after, self.delay, self.tick = real(12), real(13), whole(14)

    @property
    def took(self) -> F64:
        return self.end - self.start


def _waits(sizes: I64, named: U8, settings: Settings) -> F64:
    """By site: the shortest wait that the settings allow. It is the crawl's own rule (`backoff.waits_at`) with two
    differences: the site has its final size from the start, so a large site gets the shorter of the two waits; and the
    Crawl-delay is left out, as it changes during a run: `_delays` gives it by visit."""
    harvester = settings.harvester
    wait, large = float(harvester.wait), min(float(harvester.wait), float(harvester.wait_large))
    no_delay, nobody = np.zeros(len(sizes), np.float32), np.zeros(len(sizes), np.uint8)
    times = (wait, large, float(harvester.address_wait))
    waits = Waits(sizes.astype(np.uint32), no_delay, named, nobody, int(harvester.large_site), *times)
    by_site: F64 = waits_at(waits, np.arange(len(sizes), dtype=np.uint32))
    return by_site


def _delays(visits: _Visits, site_of: I64) -> F64:
    """By visit: the longest Crawl-delay, among the origins of its site, that was known when the answer came."""
    by_origin = np.zeros(len(site_of))
    said: dict[int, list[tuple[int, float]]] = {}
    readable = np.isin(visits.outcome, [int(outcome) for outcome in READABLE])
    for i in np.flatnonzero((visits.ask == Ask.ROBOTS) & readable).tolist():
        origin = int(visits.origin[i])
        by_origin[origin] = max(0.0, float(visits.delay[i]))
        owner = int(site_of[origin])
        said.setdefault(owner, []).append((i, float(by_origin[site_of == owner].max())))
    out = np.zeros(len(visits.site))
    for site, mine in groups(visits.site):
        if site in said:
            at, delays = zip(*said[site], strict=True)
            out[mine] = np.array([0.0, *delays])[np.searchsorted(at, mine, side="right")]
    return out


def _named(visits: list[Row], sites: int) -> U8:
    """By site: whether the Crawl-delay of one of its robots.txt files is for us by name."""
    found = np.zeros(sites, np.uint8)
    found[[row[1] for row in visits if row[3] == "robots" and row[15] & VisitFlag.NAMED]] = 1
    return found


def _rests(visits: _Visits, waits: F64, delay: F64, settings: Settings) -> F64:
    count = len(waits)
    clocks = SiteClocks(
        next=np.zeros(count),
        asked=np.zeros(count, np.uint32),
        failures=np.zeros(count, np.uint8),
        why=np.zeros(count, np.uint8),
        slow=np.ones(count, np.float32),
        stretch=np.ones(count, np.float32),
        usual=np.zeros(count, np.float32),
        lately=np.zeros(count, np.float32),
    )
    answers = Answers(
        visits.site.astype(np.uint32),
        visits.outcome,
        visits.time,
        visits.retry_after.astype(np.float32),
        np.maximum(delay, waits[visits.site]),
        np.zeros(len(visits.site), np.uint8),
        visits.status > 0,
        visits.took,
        np.where(visits.ask == Ask.PAGE, visits.first, 0.0),
    )
    harvester = settings.harvester
    found: F64 = rests_after(answers, clocks, float(harvester.retry), float(harvester.wait_factor))
    return found


def _known(
    visits: _Visits, mine: I64, pages: F64, links: list[Row], site_of: I64, within: F64, tick: int
) -> CrawlFacts:
    seed = pages[:, 2].astype(np.int64) & int(PageFlag.SEED) != 0
    took = np.full(len(pages), np.inf)
    asked = mine[visits.page[mine] >= 0]
    np.minimum.at(took, visits.page[asked], visits.took[asked])
    robots = np.zeros(len(site_of))
    for origin, of_origin in groups(visits.origin[mine]):
        theirs = mine[of_origin]
        rules = theirs[visits.ask[theirs] == Ask.ROBOTS]
        if len(rules) and visits.ask[theirs[0]] == Ask.ROBOTS:
            at_home = visits.site[rules] == site_of[origin]
            robots[origin] = float(np.min(visits.took[rules] + np.where(at_home, within[rules], 0.0)))
    sitemaps = mine[visits.ask[mine] == Ask.SITEMAP]
    named = np.zeros(len(site_of) + 1, np.bool_)
    named[np.unique(visits.site[sitemaps])] = True
    site = pages[:, 1].astype(np.int64)
    source, target = np.array(links, np.int64).reshape(-1, 2).T
    return CrawlFacts(
        seed | (pages[:, 4] < tick),
        pages[:, 0].astype(np.int64),
        took,
        source,
        target,
        robots,
        (pages[:, 3] > 0) | named[site],
        visits.origin[sitemaps],
        visits.took[sitemaps],
    )


def _soonest(visits: _Visits, mine: I64, known: Soonest, settings: Settings) -> F64:
    """By request of `mine`: its earliest time. A page that is requested again waits for its last answer and until it is
    due; if something else reopened it sooner (a verdict, another name of its site), the time that passed counts."""
    page, origin = visits.page[mine], visits.origin[mine]
    out = known.origin[origin]
    asked = page >= 0
    out[asked] = known.page[page[asked]]
    again = float(in_force(settings.manager).min_period)
    for number, places in groups(page):
        if number < 0:
            continue
        for before, after in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
            i = int(mine[before])
            treatment = TREATMENTS[Outcome(int(visits.outcome[i]))]
            due = max(treatment.pause(float(settings.harvester.retry)), float(visits.retry_after[i]))
            pause = {Again.LATER: due, Again.NEVER: again, Again.AT_ONCE: 0.0}[treatment.again]
            passed = float(visits.start[mine[after]] - visits.end[i])
            out[after] = max(out[after], out[before] + visits.took[i] + max(0.0, min(pause, passed)))
    return out


def _numbered(texts: list[str]) -> tuple[I64, list[str]]:
    found: dict[str, int] = {}
    numbers = np.array([found.setdefault(text, len(found)) for text in texts], np.int64)
    return numbers, list(found)


@allocating
def rests_after(answers: Answers, sites: SiteClocks, retry: float, wait_factor: float) -> F64:
    """Seconds that the site rests after each of these answers, in order."""
    found = np.empty(len(answers.site))
    for i in range(len(found)):
        found[i] = _heed(answers, i, sites, retry, wait_factor)[0]
    return found
