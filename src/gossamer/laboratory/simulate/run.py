"""Simulates a crawl of a graph by a strategy: the order in which its pages are fetched, and when."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import F32, F64, U16, U32
from gossamer.base.errors import UsageError
from gossamer.base.model import NONE, VISIT, PageFlag
from gossamer.crawler.parts import new_columns
from gossamer.desk.columns import Columns
from gossamer.harvester.backoff import SiteClocks
from gossamer.harvester.queue.memory import Arrays
from gossamer.harvester.queue.queue import SITES_BY, SiteQueue
from gossamer.harvester.waits import Waits
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.laboratory.simulate import loop
from gossamer.laboratory.simulate.flow import NOW, make_flow
from gossamer.laboratory.simulate.loop import FAILED, FETCHED, KNOWN, REQUESTS, CrawlRules, Discovered, Simulation
from gossamer.laboratory.simulate.own import NOBODY, Own, link_merits, merits
from gossamer.laboratory.simulate.scenario import Scenario
from gossamer.laboratory.simulate.servers import serve
from gossamer.manager import learn
from gossamer.manager.plan import make_plan
from gossamer.manager.policies import new_totals, pages_of
from gossamer.manager.scans import soonest_due
from gossamer.manager.strategies import Strategy, strategy_named
from gossamer.manager.value import TOTAL, prepared_for, terms_of
from gossamer.rank.completed import GROWTH, LEAST
from gossamer.rank.graph import Block
from gossamer.rank.pagerank import pagerank
from gossamer.rank.prepared import PREPARED, Known

POINTS: Final = 4_000
"""Most points of the step function of open connections."""
USUAL: Final = 0.01
"""Share of the graph after which link scores are computed again, unless the scenario sets it."""
STEPS: Final = 100
"""About how often progress is reported."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Totals:
    """What a crawl requested, received and took in total."""

    requests: int
    failed: int
    """Requests that returned no page."""
    bytes: int
    seconds: float
    """Virtual time until the end."""
    cpu: float
    """Seconds of CPU time."""


@dataclass(frozen=True, slots=True)
class Run:
    """A simulated crawl."""

    strategy: str
    scenario: Scenario
    order: U32
    """Pages of the graph in the order in which they were fetched."""
    time: F64
    """Virtual seconds at which each was fetched."""
    active: F64
    """Open requests as a step function, thinned: rows of time and number."""
    totals: Totals


def simulate(
    graph: WebGraph,
    strategy: str,
    scenario: Scenario,
    *,
    start: U32 | None = None,
    worth: F64 | None = None,
    history: F64 | None = None,
    own: Own = NOBODY,
    progress: Progress | None = None,
) -> Run:
    """Simulates a crawl. `worth` is the true PageRank, computed if the strategy needs it and it is not given; `history`
    is the PageRank of an earlier crawl by page, NaN for new pages; `own` are settings of a user."""
    begun = time.process_time()
    rule = strategy_named(strategy)
    starts = graph.start if start is None else np.asarray(start, np.uint32)
    _check(graph, rule, scenario, starts, history)
    crawl = _Crawl(graph, rule, scenario, starts, _given(graph, rule, scenario, worth, history), own)
    crawl.run(progress)
    found, counts = crawl.arrays.found, crawl.arrays.found.counts
    n = int(counts[FETCHED])
    order = found.origin[found.sources[:n]]
    size, cpu = int(graph.size[order].sum(dtype=np.int64)), time.process_time() - begun
    totals = Totals(int(counts[REQUESTS]), int(counts[FAILED]), size, crawl.now, cpu)
    active = _thinned(found.times[:n], found.active[:n])
    return Run(own.name or strategy, scenario, order, found.times[:n].copy(), active, totals)


def _check(graph: WebGraph, rule: Strategy, scenario: Scenario, starts: U32, history: F64 | None) -> None:
    if not len(starts):
        raise UsageError("there are no start pages", "Name at least one page to start from.")
    if starts.max() >= graph.pages:
        raise UsageError(f"start page {starts.max()}: the graph has pages 0 to {graph.pages - 1}")
    if scenario.connections < 1 or scenario.batch < 1 or scenario.per_turn < 1:
        raise UsageError("connections, pages per turn and pages per batch must be 1 or more")
    if rule.given == "a plug-in":
        raise UsageError(f"{rule.name} reads a collection, which a simulated crawl has not", "Try it in a crawl.")
    if rule.given == "history" and history is None:
        raise UsageError(f"{rule.name} needs the PageRank of an earlier crawl", "See `gossamer reproduce fig-4.6`.")


def _given(graph: WebGraph, rule: Strategy, scenario: Scenario, worth: F64 | None, history: F64 | None) -> F32:
    """By page of the graph: the merit that is given to strategies which know more than a crawl can know."""
    if rule.given == "worth" or rule.name == "historical-pagerank-omniscient":
        true = pagerank(graph.links, tolerance=1e-8).values if worth is None else worth
        if rule.given == "history" and history is not None:
            true = np.where(np.isnan(history), true, history)
        return true.astype(np.float32)
    if rule.given != "history" or history is None:
        return np.zeros(0, np.float32)
    if rule.name == "historical-pagerank-parent":
        return history.astype(np.float32)
    old = history[~np.isnan(history)]
    drawn = np.random.default_rng([scenario.random_seed, 2]).choice(old, len(history)) if len(old) else 0.0
    new = drawn if rule.name == "historical-pagerank-random" else 0.0
    return np.where(np.isnan(history), new, history).astype(np.float32)


class _Fetched:
    """The graph of the known pages, in the form that `rank` takes."""

    def __init__(self, found: Discovered) -> None:
        self._found = found
        self.pages = int(found.counts[KNOWN])

    def blocks(self) -> Iterator[Block]:
        n = int(self._found.counts[FETCHED])
        yield Block(self._found.sources[:n], self._found.ends[:n], 0, self._found.targets)


def _make_arrays(graph: WebGraph, scenario: Scenario, columns: Columns, queue: Arrays) -> Simulation:
    pages, links = graph.pages, len(graph.links.targets)
    found = Discovered(
        number=np.full(pages, NONE, np.uint32),
        origin=np.zeros(pages, np.uint32),
        sources=np.zeros(pages, np.uint32),
        ends=np.zeros(pages, np.int64),
        targets=np.zeros(links, np.uint32),
        times=np.zeros(pages),
        active=np.zeros(pages, np.uint16),
        later=np.zeros(pages, np.uint64),
        counts=np.zeros(7, np.int64),
    )
    desk = loop.CrawlColumns(
        pages_of(columns),
        new_totals(),
        learn.new_counts(),
        np.full(graph.sites, np.inf),
        columns.site.pages,
        SiteClocks.of(columns.site),
        _waits(scenario, columns),
    )
    flow = make_flow(scenario.connections, scenario.bandwidth)
    return Simulation(serve(graph, scenario), desk, queue, flow, found, _buffers(graph, scenario))


def _waits(scenario: Scenario, columns: Columns) -> Waits:
    """What `harvester/backoff.py` needs for waits. A graph has no robots.txt, so there is no Crawl-delay."""
    large = scenario.wait if scenario.wait_large < 0 else scenario.wait_large
    site, times = columns.site, (float(scenario.wait), float(large), float(scenario.address_wait))
    return Waits(site.pages, site.delay, site.named, site.owned, int(scenario.large_site), *times)


class _Crawl:
    """One simulated crawl: its arrays, its plans and its link scores."""

    def __init__(self, graph: WebGraph, rule: Strategy, scenario: Scenario, starts: U32, given: F32, own: Own) -> None:
        self.graph, self.rule, self.scenario, self.own = graph, rule, scenario, own
        sites = graph.sites
        self.columns = columns = new_columns(graph.pages, sites)
        columns.site.count = columns.origin.count = sites
        columns.origin.site[:sites] = np.arange(sites)
        columns.site.slow[:sites] = columns.site.stretch[:sites] = 1.0
        self.heaps = scenario.batch == 1
        self.queue = SiteQueue(
            sites,
            sites,
            wait=scenario.wait,
            address_wait=scenario.address_wait,
            per_turn=scenario.per_turn,
            pause=scenario.pause,
            sites_by=SITES_BY[rule.sites_by],
            pending=columns.site.pending,
            pages=graph.pages if self.heaps else 0,
        )
        self.arrays = _make_arrays(graph, scenario, columns, self.queue.arrays)
        self.given = given
        self.rules = self._rules()
        self.ranks: F64 | None = None
        self.planned, self.places = np.zeros(0, np.uint32), np.zeros(0, np.uint32)
        self.starts = self._plant(starts)
        if self.heaps:
            self._rekey()

    def _rules(self) -> CrawlRules:
        s = self.scenario
        self.columns.page.count = int(self.arrays.found.counts[KNOWN])
        terms = terms_of(self.columns, self.rule.code, self.own.value, self._total, self.now)
        limits = (s.pages_per_site, s.depth, s.connections, max(1, s.sites_an_address))
        return CrawlRules(self.rule.code, terms, self.given, *limits, 0.0)

    @property
    def _total(self) -> int:
        return int(self.arrays.desk.totals[TOTAL])

    @property
    def _fetched(self) -> int:
        return int(self.arrays.found.counts[FETCHED])

    @property
    def now(self) -> float:
        return float(self.arrays.flow.clocks[NOW])

    def _plant(self, starts: U32) -> U32:
        """Makes the start pages known; with `random`, all pages reachable from them, in random order. Returns them."""
        if self.rule.given == "all pages":
            starts = _reachable(self.graph, starts)
            starts = np.random.default_rng([self.scenario.random_seed, 3]).permutation(starts)
        own = self.arrays
        loop.plant(own.web, self.rules, own.desk, self.queue.arrays, own.found, starts.astype(np.uint32))
        return np.arange(int(own.found.counts[KNOWN]), dtype=np.uint32)

    def run(self, progress: Progress | None) -> None:
        pages, most = self.graph.pages, self.scenario.most_pages or self.graph.pages
        prepares = self._scored
        last_plan = -1
        if not self.heaps:
            self._plan()
        elif prepares:
            self._prepare()
        while True:
            fetched = self._fetched
            step = self._every(fetched) if prepares and self.heaps else max(1, pages // STEPS)
            gap = min(max(1, self.scenario.batch // 20), max(1, len(self.planned) // 2))
            why = self._advance(min(most, fetched + step), fetched if last_plan < 0 else last_plan + gap)
            fetched = self._fetched
            if progress is not None:
                progress(fetched, most)
            if fetched >= most or why == loop.ENDED:
                return
            if why == loop.PLAN:
                last_plan = fetched
                if not self._plan() and not self._wait():
                    return
            elif prepares and self.heaps:
                self._prepare()

    def _every(self, fetched: int) -> int:
        """Number of pages after which scores are computed again."""
        every = self.scenario.rank_every
        if not every and self._prepares == "completed":
            return max(LEAST, round(GROWTH * fetched))
        every = every or USUAL
        return max(1, round(every if every >= 1 else every * self.graph.pages))

    def _advance(self, stop_at: int, plan_after: int) -> int:
        own = self.arrays._replace(queue=self.queue.arrays)
        return int(loop.advance(own, self.rules, self.planned, self.places, stop_at, plan_after))

    def _plan(self) -> bool:
        """Makes the next plan. Returns whether it has pages, or requests are in flight."""
        if self._scored:
            self._score()
        self._tell()
        self.rules = self._rules()
        cap = self.scenario.per_site or self.graph.pages
        batch, value, total = self.scenario.batch, self.own.value, self._total
        plan = make_plan(self.columns, self.rule, self.now, batch, cap, np.inf, value, total)
        self.queue.install(plan)
        self.queue.enter(plan.sites, self.now)
        self.planned, self.places = self.queue._pages, self.queue._ranks
        return len(plan.pages) > 0 or self.queue.in_flight > 0

    def _wait(self) -> bool:
        """Advances the clock to the next page that is due, and plans. False if no page waits."""
        due = soonest_due(self.columns)
        if due == np.inf:
            return False
        self.arrays.flow.clocks[NOW] = max(self.now, due)
        return self._plan()

    def _prepare(self) -> None:
        if self._scored:
            self._score()
        self.rules = self._rules()
        self._rekey()

    @property
    def _prepares(self) -> str:
        return prepared_for(self.rule, self.own.value.weights)

    @property
    def _scored(self) -> bool:
        """Whether scores are computed again and again."""
        return bool(self._prepares or link_merits(self.rule, self.own.value))

    def _tell(self) -> None:
        """What the URLs say of the known pages, for the next plan."""
        page, pages = self.columns.page, self.arrays.found.origin[: int(self.arrays.found.counts[KNOWN])]
        if len(self.own.boost):
            page.boost[: len(pages)] = self.own.boost[pages]
        if len(self.own.dynamic):
            page.flags[: len(pages)] |= np.where(self.own.dynamic[pages], np.uint8(PageFlag.DYNAMIC), np.uint8(0))

    def _score(self) -> None:
        graph, page = _Fetched(self.arrays.found), self.columns.page
        fetched = np.zeros(graph.pages, np.bool_)
        fetched[self.arrays.found.sources[: self._fetched]] = True
        known = Known(graph, page.origin[: graph.pages], fetched, self.starts)
        if weights := link_merits(self.rule, self.own.value):
            page.merit[: graph.pages], self.ranks = merits(graph, known.site, weights, self.ranks)
        if not self._prepares:
            return
        found = PREPARED[self._prepares](known, self._before())
        if self._prepares == "completed":
            page.completed[: graph.pages] = found.values
            self.columns.ranking[:] = found.base, graph.pages
        else:
            page.merit[: graph.pages] = self.ranks = found.values

    def _before(self) -> F64 | None:
        """The present scores; the completed ones include their growth since they were computed."""
        if self._prepares != "completed":
            return self.ranks
        base, ranked = self.columns.ranking
        values = self.columns.page.completed[: int(self.arrays.found.counts[KNOWN])].astype(np.float64)
        values[int(ranked) :] += base
        return values

    def _rekey(self) -> None:
        own = self.arrays
        loop.rebuild(self.rules, own.desk, self.queue.arrays, own.found, own.buffers, self.now)
        self.queue.touch()


def _buffers(graph: WebGraph, scenario: Scenario) -> loop.Buffers:
    visits = np.zeros(1, VISIT)
    visits["retry_after"] = -1.0
    longest = int(np.diff(graph.links.offsets).max(initial=0))
    r = scenario.connections
    return loop.Buffers(
        visits,
        np.zeros(longest, np.uint8),
        np.zeros(1, np.uint32),
        np.zeros(1),
        np.zeros(r, np.uint32),
        np.zeros(r, np.uint32),
        np.zeros(r, np.uint8),
        np.zeros(1, np.uint8),
        np.zeros(1, np.float32),
        np.zeros(3),
    )


def _reachable(graph: WebGraph, starts: U32) -> U32:
    """All pages reachable from the start pages, found breadth-first."""
    known = np.zeros(graph.pages, np.bool_)
    known[starts] = True
    found, front = [np.unique(starts)], np.unique(starts)
    offsets, targets = graph.links.offsets, graph.links.targets
    while len(front):
        counts = offsets[front + np.int64(1)] - offsets[front]
        at = np.repeat(offsets[front] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
        front = np.unique(targets[at])
        front = front[~known[front]]
        known[front] = True
        found.append(front)
    return np.concatenate(found).astype(np.uint32)


def _thinned(times: F64, active: U16) -> F64:
    at = np.unique(np.linspace(0, max(0, len(times) - 1), min(len(times), POINTS)).astype(np.int64))
    return np.column_stack([times[at], active[at]]).astype(np.float64)
