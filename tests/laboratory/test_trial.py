"""Settings of a user in a simulation, and two real crawls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.base.errors import UsageError
from gossamer.config import Settings, override
from gossamer.laboratory import Bench, Subject
from gossamer.laboratory.collection_graph import Collected
from gossamer.laboratory.simulate.own import described, own_of, scenario_of
from gossamer.laboratory.simulate.run import simulate
from gossamer.laboratory.simulate.scenario import Scenario, Servers
from gossamer.laboratory.trial import Place, history_of, open_place, own_jobs, settings_at
from gossamer.laboratory.two_crawls import described as told
from gossamer.laboratory.two_crawls import known_before
from gossamer.rank.pagerank import pagerank
from gossamer.tools.compile import warm


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    path = tmp_path_factory.mktemp("trial") / "crawl"
    warm(path, "breadth-first")
    return open_place(path)


def settings_of(*changes: str) -> Settings:
    return override(Settings(), changes)


def test_boosts_come_first(place: Place) -> None:
    """Pages whose URL has a 7, as soon as they are known and however few links they have."""
    urls = np.array(place.urls())
    boosted = np.array(["7" in url for url in urls])
    assert 3 < boosted.sum() < len(urls) / 2
    mine = settings_of("manager.weights={boost=1.0,depth=0.001}", 'manager.boosts={"7"=1.0}', "manager.batch_size=2")
    scenario = scenario_of(mine, Servers(), 1)
    plain = settings_of("manager.weights={depth=0.001}", "manager.batch_size=2")
    order = {
        name: simulate(place.graph, "value", scenario, own=own_of(each, name, place.urls)).order
        for name, each in (("mine", mine), ("plain", plain))
    }
    assert sorted(order["mine"].tolist()) == sorted(order["plain"].tolist())
    places = {name: np.flatnonzero(boosted[pages]).mean() for name, pages in order.items()}
    assert places["mine"] < 0.8 * places["plain"], places


@pytest.mark.parametrize("weights", ["pagerank=1.0", "hub=1.0,siterank=0.5", "static=1.0,indegree=1.0", "opic=1.0"])
def test_every_score_can_be_tried(place: Place, weights: str) -> None:
    mine = own_of(settings_of(f"manager.weights={{{weights}}}", "manager.alpha=2"), "mine", place.urls)
    run = simulate(place.graph, "value", Scenario(batch=20), own=mine)
    assert run.strategy == "mine"
    assert len(set(run.order.tolist())) == len(run.order) == place.graph.pages


def test_a_preset_that_re_visits_fetches_each_page_once(place: Place) -> None:
    mine = own_of(settings_of("manager.preset=news"), "mine", None)
    assert not mine.value.revisits
    scenario = Scenario(batch=20, wait=86_400.0)
    assert len(simulate(place.graph, "value", scenario, own=mine).order) == place.graph.pages


def test_settings_of_files_are_named_and_compared(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[manager]\nweights = { depth = 1.0 }\npreset = "news"\n[harvester]\nwait = "20s"\n')
    name, settings = settings_at(file)
    assert name == "mine.toml (value: depth 1; preset news, alpha 0.5, gamma 2)"
    assert described(settings_of("manager.policy=opic")) == "opic"
    jobs = own_jobs([file], place, Scenario(most_pages=10, servers=Servers(latency=1.0)), ["connections=3"], False)
    assert jobs[0].scenario.wait == 20
    assert jobs[0].scenario.connections == 3
    assert jobs[0].scenario.servers.latency == 1.0
    with Bench(1) as bench:
        (found,) = bench.run(Subject(place.graph), jobs)
    assert found.strategy == name
    assert found.pages == 10
    assert settings.manager.preset == "news"


def test_what_cannot_be_tried_is_refused(place: Place, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="linkrank"):
        own_of(settings_of("manager.weights={linkrank=1.0}"), "mine", place.urls)
    with pytest.raises(UsageError, match="boost, which needs the URLs") as refused:
        own_of(settings_of("manager.weights={boost=1.0}", 'manager.boosts={"a"=1.0}'), "mine", None)
    assert "collection" in refused.value.cure
    own_of(settings_of("manager.weights={boost=1.0}", "manager.policy=opic"), "mine", None)
    with pytest.raises(UsageError, match="graph file"):
        history_of(Place(place.graph, None), tmp_path, ["historical-pagerank-zero"])
    with pytest.raises(UsageError, match="no strategy uses it"):
        history_of(place, tmp_path, ["opic"])


def test_an_older_crawl_gives_its_pages_their_pagerank(place: Place, tmp_path: Path) -> None:
    """The older crawl is the same Web, of which it had fetched a part."""
    assert place.crawl is not None
    older = tmp_path / "older"
    warm(older, "opic")
    history = history_of(place, older, ["historical-pagerank-parent"])
    assert history is not None
    assert not np.isnan(history).all()
    crawl = open_place(older)
    assert crawl.crawl is not None
    ranks = dict(zip(crawl.urls(), pagerank(crawl.graph.links, tolerance=1e-8).values, strict=True))
    for url, rank in zip(place.urls(), history, strict=True):
        assert rank == pytest.approx(ranks[url], rel=1e-4) if url in ranks else np.isnan(rank)
    assert "of the pages were known before" in told(history, np.ones(len(history)))
    run = simulate(place.graph, "historical-pagerank-zero", Scenario(), history=history)
    first = history[run.order]
    assert np.isnan(first[: (~np.isnan(first)).sum() // 2]).sum() <= len(place.graph.start)
    with pytest.raises(UsageError, match="no page in common"):
        known_before(place.crawl, Renamed(crawl.graph, crawl.crawl.page, older, 0))


class Renamed(Collected):
    """The same pages at other URLs."""

    def urls(self, pages: object) -> list[str]:
        return [f"http://elsewhere.example/{page}" for page in self.page]
