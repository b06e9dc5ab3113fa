"""A crawl and its simulation: what is read from a collection, and the statements about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gossamer.base.errors import UsageError
from gossamer.config import Settings
from gossamer.laboratory import Bench
from gossamer.laboratory.compare import Crawled, compare, read
from gossamer.laboratory.compare.finding import active, as_run, scenario_of, servers_of
from gossamer.laboratory.reproduce import real
from gossamer.laboratory.reproduce.crawls import Crawls
from gossamer.laboratory.reproduce.lab import Lab
from gossamer.laboratory.reproduce.names import NAMES
from gossamer.laboratory.simulate.scenario import Servers
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.tools.compile import warm
from gossamer.webs.demo import DemoWeb

FETCHED = "outcome in ('ok', 'duplicate', 'redirect')"
REAL = [name for name, each in NAMES.items() if NAMES[each.same_as or name].function.__module__ == real.__name__]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of a Web of two sites, in virtual time."""
    path = tmp_path_factory.mktemp("compare") / "crawl"
    warm(path, "breadth-first")
    return path


@pytest.fixture(scope="module")
def crawled(folder: Path) -> Crawled:
    return read(folder)


def asked(folder: Path, query: str) -> list[tuple[object, ...]]:
    return list(Database(find(folder), Settings()).query(query).rows)


def numbers(folder: Path) -> dict[object, int]:
    """Fetched pages to their numbers in the graph."""
    done = asked(folder, f"select page from pages where {FETCHED} order by 1")
    return {row[0]: number for number, row in enumerate(done)}


def test_the_pages_are_the_fetched_ones(folder: Path, crawled: Crawled) -> None:
    done = asked(folder, f"select page, depth, kind from pages where {FETCHED} order by page")
    assert crawled.graph.pages == len(done) > 30
    assert sorted(crawled.order.tolist()) == list(range(len(done)))
    assert crawled.depth.tolist() == [row[1] for row in done]
    assert crawled.graph.start.tolist() == [n for n, row in enumerate(done) if row[2] == "seed"]
    assert crawled.graph.sites == 2


def test_the_links_are_those_between_fetched_pages(folder: Path, crawled: Crawled) -> None:
    number = numbers(folder)
    links = asked(folder, "select distinct source, target from links")
    expected = {(number[a], number[b]) for a, b in links if a in number and b in number}
    csr = crawled.graph.links
    sources = np.repeat(np.arange(csr.pages), np.diff(csr.offsets))
    assert set(zip(sources.tolist(), csr.targets.tolist(), strict=True)) == expected
    assert len(csr.targets) == len(expected) > 30


def test_the_order_is_that_of_the_visits(folder: Path, crawled: Crawled) -> None:
    number = numbers(folder)
    visits = asked(folder, "select page from visits where ask = 'page' order by tick, number")
    assert crawled.order.tolist() == [number[row[0]] for row in visits]
    assert (np.diff(crawled.time) >= 0).all()
    assert crawled.time[0] >= 0
    assert crawled.worth.sum() == pytest.approx(1)


def test_the_crawl_is_measured_like_a_simulation(crawled: Crawled) -> None:
    run = as_run(crawled)
    assert (run.strategy, len(run.order)) == ("breadth-first (crawl)", crawled.graph.pages)
    assert run.totals.requests == len(crawled.requests) > len(run.order), "robots.txt too"
    assert run.active[:, 1].min() >= 0
    assert run.active[-1, 1] == 0


def test_open_requests_are_a_step_function() -> None:
    steps = active(np.array([0.0, 1, 2]), np.array([1.0, 3, 3]))
    assert steps.tolist() == [[0, 1], [1, 0], [1, 1], [2, 2], [3, 1], [3, 0]]


def test_simulated_servers_are_as_slow_as_those_of_the_crawl() -> None:
    servers = servers_of(np.array([[0.0, 1], [5, 8]]))
    assert (servers.latency, servers.latency_within) == (2, 0.5)
    assert servers_of(np.zeros((0, 2))) == Servers.instant()


def test_the_simulation_has_the_settings_of_the_crawl(crawled: Crawled) -> None:
    harvester = crawled.settings.harvester
    scenario = scenario_of(crawled, 5)
    assert scenario.connections == harvester.connections
    assert (scenario.wait, scenario.wait_large, scenario.large_site) == (15, 5, harvester.large_site)
    assert scenario.random_seed == 5


def test_a_comparison_has_both_curves_and_states_their_difference(crawled: Crawled) -> None:
    with Bench(1) as bench:
        found = compare(crawled, bench, ["breadth-first", "opic"])
    assert [row[0] for row in found.tables[0].rows] == [
        "breadth-first (crawl)",
        "breadth-first (simulated)",
        "opic (simulated)",
    ]
    assert [plot.name for plot in found.plots] == ["compare-pages", "compare-time"]
    assert all(len(plot.series) == 3 for plot in found.plots)
    assert "the curves are" in found.sentences[0].text


def test_a_collection_without_pages_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a collection"):
        read(tmp_path)


# --- section 4.5 ---------------------------------------------------------------------------------------------


class Given(Crawls):
    """Returns the same crawl for every strategy."""

    def __init__(self, crawled: Crawled) -> None:
        super().__init__()
        self._crawled = crawled

    def get(self, strategy: str) -> Crawled:
        return self._crawled


@pytest.mark.parametrize("name", REAL)
def test_figures_of_real_crawls_are_made_from_a_collection(name: str, crawled: Crawled) -> None:
    with Bench(1) as bench:
        found = NAMES[name].function(Lab(bench, [], Given(crawled)))
    assert found.name == name
    assert found.plots
    assert all(s.text.startswith("The paper: ") for s in found.sentences)
    assert "nan" not in " ".join(s.text for s in found.sentences)


def test_seconds_to_reach_a_share_in_closed_form(crawled: Crawled) -> None:
    n = crawled.graph.pages
    even = replace(crawled, time=np.arange(1.0, n + 1), worth=np.full(n, 1 / n))
    documents, more, pagerank, most = real.reaching(even)
    assert documents == pagerank == np.ceil(n / 2)
    assert more == most == np.ceil(n * 0.8)


def test_given_collections_are_read(folder: Path) -> None:
    given = Crawls([folder])
    assert given.get("breadth-first").folder == folder
    with pytest.raises(UsageError, match="none of the collections was crawled with larger-sites-first"):
        given.get("larger-sites-first")


@pytest.mark.slow
def test_the_demonstration_web_is_crawled_for_the_figures(tmp_path: Path) -> None:
    small = ("collection.max_pages=100000", "collection.max_sites=1000", "harvester.workers=1")
    web = DemoWeb(sites=8, pages=200, slow=0, delays=0, busy=0.0)
    with Bench(1) as bench:
        crawls = Crawls(folder=tmp_path, web=web, settings=small)
        found = real.fig_4_16(Lab(bench, [], crawls))
    assert {path.name for path in tmp_path.iterdir()} == {"breadth-first", "larger-sites-first"}
    assert crawls.get("larger-sites-first").policy == "larger-sites-first"
    assert len(found.sentences) == 4
    again = Crawls(folder=tmp_path, web=web, settings=small).get("breadth-first")
    assert np.array_equal(again.order, crawls.get("breadth-first").order), "read, not crawled again"
