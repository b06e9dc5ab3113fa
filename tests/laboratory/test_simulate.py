"""Simulated crawls, compared with simple programs in plain Python, closed forms, and the rules of politeness."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.laboratory.graphs.webgraph import WebGraph
from gossamer.laboratory.measured import (
    average_cumulative,
    cumulative,
    index_value,
    kendall,
    optimum,
    pages_to_reach,
    wasted,
)
from gossamer.laboratory.simulate.history import earlier_crawl
from gossamer.laboratory.simulate.run import Run, Totals, simulate
from gossamer.laboratory.simulate.scenario import Scenario, Servers, changed
from gossamer.manager.policies import SEED_CASH
from gossamer.manager.strategies import STRATEGIES
from gossamer.rank.graph import csr
from gossamer.rank.pagerank import pagerank

SLOW = Servers(latency=0.5, speed=10_000.0)

SIMULATED = sorted(name for name, each in STRATEGIES.items() if each.given != "a plug-in")


def web(random: Random, pages: int = 0, sites: int = 0) -> WebGraph:
    """A small Web: almost every page of a site is linked from an earlier page of the site, or from elsewhere."""
    pages, sites = pages or random.randint(1, 40), sites or random.randint(1, 5)
    site = sorted(random.randrange(sites) for _ in range(pages))
    links = {(random.randrange(pages), random.randrange(pages)) for _ in range(random.randint(0, 4 * pages))}
    sources, targets = ([x[i] for x in sorted(links)] for i in (0, 1))
    start = sorted(random.sample(range(pages), random.randint(1, min(4, pages))))
    size = [random.randint(100, 50_000) for _ in range(pages)]
    return WebGraph(
        csr(pages, np.array(sources, np.uint32), np.array(targets, np.uint32)),
        np.array(site, np.uint32),
        np.array(size, np.uint32),
        np.array(start, np.uint32),
    )


def links_of(graph: WebGraph, page: int) -> list[int]:
    links = graph.links
    return [int(t) for t in links.targets[links.offsets[page] : links.offsets[page + 1]]]


def reachable(graph: WebGraph) -> set[int]:
    found, front = set(graph.start.tolist()), list(graph.start.tolist())
    while front:
        front = [t for t in links_of(graph, front.pop()) if t not in found and not found.add(t)] + front  # type: ignore[func-returns-value]
    return found


def history_of(graph: WebGraph, random: Random) -> npt.NDArray[np.float64]:
    return np.array([random.random() if random.random() < 0.6 else np.nan for _ in range(graph.pages)])


def scenario_of(random: Random) -> Scenario:
    return Scenario(
        connections=random.choice([1, 2, 8]),
        wait=random.choice([0.0, 1.0, 15.0]),
        per_turn=random.choice([1, 3]),
        pause=random.choice([0.0, 0.5]),
        bandwidth=random.choice([np.inf, 5_000.0]),
        batch=random.choice([1, 3, 100]),
        per_site=random.choice([0, 2]),
        servers=random.choice([Servers(), SLOW, Servers.measured()]),
        rank_every=random.choice([0, 1, 4, 0.3]),
        random_seed=random.randrange(100),
    )


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), strategy=st.sampled_from(SIMULATED))
def test_every_page_that_can_be_reached_is_fetched_exactly_once(seed: int, strategy: str) -> None:
    random = Random(seed)
    graph, scenario = web(random), scenario_of(random)
    run = simulate(graph, strategy, scenario, history=history_of(graph, random))
    assert sorted(run.order.tolist()) == sorted(reachable(graph))
    assert (np.diff(run.time) >= 0).all()
    assert run.totals.bytes == graph.size[run.order].sum()


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), strategy=st.sampled_from(["opic", "larger-sites-first", "mercator"]))
def test_never_two_requests_in_flight_to_a_site_never_before_its_time(seed: int, strategy: str) -> None:
    """An answer takes at least half a second: two ends at a site are this and its wait apart."""
    random = Random(seed)
    graph = web(random)
    scenario = Scenario(
        connections=random.choice([1, 3, 64]),
        wait=random.choice([0.0, 5.0]),
        batch=random.choice([1, 4]),
        servers=SLOW,
        bandwidth=random.choice([np.inf, 8_000.0]),
    )
    run = simulate(graph, strategy, scenario)
    ends: dict[int, list[float]] = defaultdict(list)
    for page, time in zip(run.order.tolist(), run.time.tolist(), strict=True):
        ends[int(graph.site[page])].append(time)
    for times in ends.values():
        assert (np.diff(times) >= scenario.wait + 0.5 - 1e-9).all()
    assert run.active[:, 1].max() <= scenario.connections
    assert optimum(run) <= run.totals.seconds + 1e-9


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), strategy=st.sampled_from(SIMULATED))
def test_the_same_seed_gives_the_same_bytes(seed: int, strategy: str) -> None:
    graph, scenario = web(Random(seed)), scenario_of(Random(seed))
    runs = [simulate(graph, strategy, scenario, history=history_of(graph, Random(seed))) for _ in range(2)]
    assert runs[0].order.tobytes() == runs[1].order.tobytes()
    assert runs[0].time.tobytes() == runs[1].time.tobytes()


# --- compared with plain Python -------------------------------------------------------------------------------------

Score = Callable[[int], float]


class Plain:
    """Fetches one page at a time: the best known page, the first found among equals."""

    def __init__(self, graph: WebGraph) -> None:
        self.graph = graph
        self.known: list[int] = []
        self.fetched: list[int] = []
        self.depth: dict[int, int] = {}
        self.cash: Counter[int] = Counter()
        self.links: Counter[int] = Counter()
        for page in graph.start.tolist():
            self.learn(page, 0)
            self.cash[page] = SEED_CASH

    def learn(self, page: int, depth: int) -> None:
        if page not in self.depth:
            self.known.append(page)
        self.depth[page] = min(depth, self.depth.get(page, depth))

    def open(self) -> list[int]:
        return [page for page in self.known if page not in self.fetched]

    def fetch(self, page: int, damping: float) -> None:
        self.fetched.append(page)
        targets = links_of(self.graph, page)
        for target in targets:
            inside = self.graph.site[target] == self.graph.site[page]
            self.learn(target, self.depth[page] + 1 if inside else 0)
            if target not in self.fetched:
                self.links[target] += 1
                self.cash[target] += int(self.cash[page] * damping) // len(targets)

    def crawl(self, score: Score, damping: float = 1.0) -> list[int]:
        while pages := self.open():
            self.fetch(max(pages, key=lambda p: (score(p), -self.known.index(p))), damping)
        return self.fetched


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_pages_are_fetched_in_the_order_of_a_plain_program(seed: int) -> None:
    graph = web(Random(seed))
    worth = pagerank(graph.links, tolerance=1e-8).values
    f = np.float32
    orders: dict[str, tuple[Callable[[Plain], Score], float]] = {
        "breadth-first": (lambda plain: lambda page: 0.0, 1.0),
        "shallow-first": (lambda plain: lambda page: -plain.depth[page], 1.0),
        "backlink-count": (lambda plain: lambda page: plain.links[page], 1.0),
        "opic": (lambda plain: lambda page: float(f(plain.cash[page])), 1.0),
        "fractional-pagerank": (lambda plain: lambda page: float(f(plain.cash[page])), 0.85),
        "omniscient": (lambda plain: lambda page: float(f(worth[page])), 1.0),
    }
    for name, (score, damping) in orders.items():
        plain = Plain(graph)
        assert simulate(graph, name, Scenario(), worth=worth).order.tolist() == plain.crawl(score(plain), damping), name


def test_larger_sites_first_takes_the_site_with_the_most_pending_pages() -> None:
    """Start pages 0 and 1 of sites 0 and 1; page 1 links to three more pages of its site, page 0 to one."""
    graph = WebGraph(
        csr(6, np.array([0, 1, 1, 1], np.uint32), np.array([2, 3, 4, 5], np.uint32)),
        np.array([0, 1, 0, 1, 1, 1], np.uint32),
        np.full(6, 100, np.uint32),
        np.array([0, 1], np.uint32),
    )
    assert simulate(graph, "larger-sites-first", Scenario()).order.tolist() == [0, 1, 3, 4, 2, 5]


# --- closed forms ---------------------------------------------------------------------------------------------------


def star(leaves: int, sites: int = 1, size: int = 1000) -> WebGraph:
    """Page 0 links to all others; `sites`: their sites, in turn."""
    pages = leaves + 1
    site = np.concatenate([[0], np.arange(leaves) % sites]).astype(np.uint32)
    links = csr(pages, np.zeros(leaves, np.uint32), np.arange(1, pages, dtype=np.uint32))
    return WebGraph(links, site, np.full(pages, size, np.uint32), np.zeros(1, np.uint32))


@pytest.mark.parametrize("batch", [1, 100])
def test_one_site_takes_its_waits(batch: int) -> None:
    run = simulate(star(9), "opic", Scenario(connections=64, wait=15.0, batch=batch))
    assert run.time.tolist() == [15.0 * i for i in range(10)]


def test_a_turn_of_several_pages_waits_only_once() -> None:
    run = simulate(star(9), "opic", Scenario(wait=15.0, per_turn=5, pause=1.0))
    assert run.time.tolist() == [0, 1, 2, 3, 4, 19, 20, 21, 22, 23]


def test_more_connections_than_sites_do_not_help() -> None:
    graph, slow = star(120, 4), Servers(latency=1.0)
    seconds = {r: simulate(graph, "opic", Scenario(connections=r, servers=slow)).totals.seconds for r in (1, 2, 4, 100)}
    assert seconds == {1: 121.0, 2: 61.0, 4: 31.0, 100: 31.0}


def test_an_address_gets_requests_of_one_site_at_a_time() -> None:
    graph, slow = star(120, 4), Servers(latency=1.0)
    for shared, seconds in ((1, 31.0), (2, 61.0), (4, 121.0)):
        run = simulate(graph, "opic", Scenario(connections=100, servers=slow, sites_an_address=shared))
        assert run.totals.seconds == seconds
    waits = Scenario(connections=100, servers=slow, sites_an_address=4, address_wait=2.0)
    assert simulate(graph, "opic", waits).totals.seconds == 121.0 + 120 * 2.0


def test_transfers_share_the_bandwidth() -> None:
    """Alone a page takes a second of latency and one of transfer; four at a time with bandwidth for two take two."""
    graph = star(4, 4, size=1000)
    fast = Servers(latency=1.0, speed=1000.0)
    assert simulate(graph, "opic", Scenario(connections=4, servers=fast)).totals.seconds == pytest.approx(4.0)
    run = simulate(graph, "opic", Scenario(connections=4, servers=fast, bandwidth=2000.0))
    assert run.totals.seconds == pytest.approx(2.0 + 1.0 + 2.0)
    assert optimum(run) == pytest.approx(2.5)
    assert wasted(run) == pytest.approx(0.5)


def test_dead_sites_are_tried_three_times() -> None:
    dead = Servers(dead=1.0, connect_timeout=30.0)
    for batch in (1, 10):
        run = simulate(star(3, 3), "opic", Scenario(servers=dead, batch=batch))
        assert (len(run.order), run.totals.requests, run.totals.failed) == (0, 3, 3)
        assert run.totals.seconds == pytest.approx(2 * 12 * 3600 + 3 * 30, abs=3)


def test_requests_that_return_no_page_are_counted() -> None:
    run = simulate(star(2000, 50), "breadth-first", Scenario(servers=Servers(failing=0.2), random_seed=4))
    assert run.totals.requests == len(run.order) + run.totals.failed
    assert 300 < run.totals.failed < 500


def test_transfers_take_as_long_as_the_thesis_measured() -> None:
    """Figure 4.2: 90 % below 1.5 s, 95 % below 3 s; one page per site, pages of 25 KB on average."""
    rng = np.random.default_rng(1)
    graph = star(20_000, 20_000)
    size = np.minimum(rng.lognormal(9.4, 1.0, graph.pages), 400_000).astype(np.uint32)
    graph = WebGraph(graph.links, np.arange(graph.pages, dtype=np.uint32), size, graph.start)
    servers = replace(Servers.measured(), day=0.0, weekend=0.0)
    run = simulate(graph, "breadth-first", Scenario(connections=50_000, servers=servers))
    seconds = run.time[1:] - run.time[0]
    assert (seconds < 1.5).mean() == pytest.approx(0.90, abs=0.02)
    assert (seconds < 3.0).mean() == pytest.approx(0.95, abs=0.02)


def test_limits_of_depth_and_of_pages_per_site_hold() -> None:
    pages = 10
    chain = csr(pages, np.arange(pages - 1, dtype=np.uint32), np.arange(1, pages, dtype=np.uint32))
    one = np.zeros(pages, np.uint32)
    graph = WebGraph(chain, one, one + 100, np.zeros(1, np.uint32))
    assert simulate(graph, "opic", Scenario(depth=3)).order.tolist() == [0, 1, 2, 3]
    assert simulate(graph, "opic", Scenario(pages_per_site=5)).order.tolist() == [0, 1, 2, 3, 4]
    assert simulate(graph, "opic", Scenario(most_pages=6, batch=2)).order.tolist() == [0, 1, 2, 3, 4, 5]


def test_measures_of_known_orders() -> None:
    worth = np.array([0.4, 0.3, 0.2, 0.1])
    best = np.arange(4, dtype=np.uint32)
    assert cumulative(best, worth) == pytest.approx([0.4, 0.7, 0.9, 1.0])
    assert average_cumulative(best, worth) == pytest.approx(0.75)
    assert kendall(best, worth) == pytest.approx(1.0)
    assert kendall(best[::-1], worth) == pytest.approx(-1.0)
    assert kendall(best, np.array([1.0, 1.0, 1.0, 1.0])) == 0.0
    assert pages_to_reach(best, worth, 0.7) == 0.5


def test_the_value_of_the_index_falls_with_the_age_of_its_pages() -> None:
    worth = np.array([0.5, 0.5])
    both = np.arange(2, dtype=np.uint32)
    run = Run("", Scenario(), both, np.array([0.0, 10.0]), np.zeros((0, 2)), Totals(2, 0, 2, 10.0, 0.0))
    one = index_value(replace(run, order=both[1:], time=run.time[1:]), worth, 10.0)
    assert 0 < one < 1
    assert index_value(run, worth, 10.0) == pytest.approx(one * (1 + np.exp(-1.0)))


def test_settings_are_changed_one_by_one() -> None:
    found = changed(Scenario(), ["wait=15", "servers.dead=0.25", "batch=100"])
    assert (found.wait, found.servers.dead, found.batch) == (15.0, 0.25, 100)
    wrongs = {"wiat=1": "Did you mean wait?", "servers.ded=1": "Did you mean dead?", "wait": "NAME=VALUE"}
    for wrong, words in wrongs.items():
        with pytest.raises(UsageError) as error:
            changed(Scenario(), [wrong])
        assert words in error.value.cure
    for wrong in ("wait=soon", "wait=-1", "batch=1.5"):
        with pytest.raises(UsageError):
            changed(Scenario(), [wrong])


def test_kendall_agrees_with_another_library() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    worth = rng.integers(0, 50, 500) / 50
    order = rng.permutation(500).astype(np.uint32)
    expected = scipy_stats.kendalltau(np.arange(500), -worth[order], variant="b").statistic
    assert kendall(order, worth, 500) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("strategy", "scenario", "start", "message"),
    [
        ("opik", Scenario(), [0], "no strategy is called"),
        ("opic", Scenario(), [], "no start pages"),
        ("opic", Scenario(), [99], "pages 0 to 3"),
        ("opic", Scenario(connections=0), [0], "1 or more"),
        ("historical-pagerank-zero", Scenario(), [0], "earlier crawl"),
    ],
)
def test_bad_input_is_a_clear_error(strategy: str, scenario: Scenario, start: list[int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate(star(3), strategy, scenario, start=np.array(start, np.uint32))


def test_an_earlier_crawl_has_the_shares_of_pages_and_of_pagerank_of_the_thesis() -> None:
    rng = np.random.default_rng(5)
    pages = 4_000
    targets = (pages * rng.random(40_000) ** 3).astype(np.uint32)
    graph = WebGraph(
        csr(pages, rng.integers(0, pages, 40_000), targets),
        np.zeros(pages, np.uint32),
        np.full(pages, 9, np.uint32),
        np.zeros(1, np.uint32),
    )
    worth = pagerank(graph.links, tolerance=1e-8).values
    earlier, history = earlier_crawl(graph, worth, 1)
    known = ~np.isnan(history)
    assert known.mean() == pytest.approx(0.55, abs=0.001)
    assert worth[known].sum() == pytest.approx(0.72, abs=0.01)
    assert earlier.pages == known.sum()
    assert np.nansum(history) == pytest.approx(1.0)
    assert earlier.links.targets.max() < earlier.pages
    assert len(earlier.links.targets) > 0.4 * len(graph.links.targets)
