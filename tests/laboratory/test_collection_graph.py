"""The graph of a collection, the link scores stored with it, and how SQL and the command line show both."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from gossamer import config
from gossamer.base.errors import LockedError, UsageError
from gossamer.base.model import Outcome
from gossamer.collection import lock
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.config import Settings, dump
from gossamer.laboratory import collection_graph
from gossamer.laboratory.analyse import analyse, analyse_collection, summary
from gossamer.laboratory.collection_graph import collected, known_urls, open_graph
from gossamer.laboratory.graphs.make import make
from gossamer.laboratory.graphs.webgraph import save
from gossamer.manager.scores.graph import CollectionGraph, graph_of
from gossamer.read.explain.page import explain_page
from gossamer.webs.simulated import Reply
from tests.read.sql.test_sql import ask
from tests.support.crawling import gossamer
from tests.support.world import World

LINKS = {
    "http://a.example/": ["http://a.example/1", "http://a.example/2", "http://b.example/"],
    "http://a.example/1": ["http://a.example/", "http://a.example/gone"],
    "http://a.example/2": ["http://b.example/x"],
    "http://b.example/": ["http://a.example/"],
    "http://b.example/x": [],
}


def web(url: str) -> Reply:
    if url.endswith("/robots.txt"):
        return Reply()
    if url in LINKS:
        return Reply(links=tuple(LINKS[url]))
    return Reply(outcome=Outcome.NOT_FOUND, status=404)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of two sites that has ended."""
    place = tmp_path_factory.mktemp("crawled") / "crawl"
    world = World(place, web, ("manager.weights={opic=1.0, pagerank=1.0, linkrank=1.0}",))
    world.run(["http://a.example/"])
    (place / SETTINGS).write_text(dump(world.settings))
    return place


def named(folder: Path, known: bool = False) -> set[tuple[str, str]]:
    found = collected(folder, known=known)
    urls = found.urls(np.arange(found.graph.pages))
    sources = np.repeat(np.arange(found.graph.pages), np.diff(found.graph.links.offsets))
    return {(urls[s], urls[t]) for s, t in zip(sources.tolist(), found.graph.links.targets.tolist(), strict=True)}


def test_the_graph_of_a_collection_has_the_fetched_pages(folder: Path) -> None:
    found = collected(folder)
    assert set(found.urls(np.arange(found.graph.pages))) == set(LINKS)
    assert named(folder) == {(p, t) for p, of in LINKS.items() for t in of if t in LINKS}
    assert found.graph.sites == 2
    assert found.urls(found.graph.start) == ["http://a.example/"]
    assert found.graph.size.min() > 0
    assert found.graph.name == "crawl"


def test_with_known_pages_the_graph_has_all(folder: Path) -> None:
    assert named(folder, known=True) == {(p, t) for p, of in LINKS.items() for t in of}
    known = collected(folder, known=True)
    assert (known.page == np.arange(known.graph.pages)).all()


def test_a_segment_that_is_sealed_meanwhile_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "crawl"
    world = World(place, web, ("manager.weights={opic=1.0, pagerank=1.0, linkrank=1.0}",))
    world.run(["http://a.example/"], pages=2)
    before = collected(place).page.tolist()

    def and_another_segment(shard: Path) -> CollectionGraph:
        found = graph_of(shard)
        world.run(["http://a.example/"])
        return found

    monkeypatch.setattr(collection_graph, "graph_of", and_another_segment)
    assert collected(place).page.tolist() == before
    monkeypatch.undo()
    assert len(collected(place).page) > len(before)


def test_graph_files_and_collections_are_opened(folder: Path, tmp_path: Path) -> None:
    save(tmp_path / "g.npz", make(100))
    assert open_graph(tmp_path / "g.npz").pages == 100
    assert open_graph(folder).pages == len(LINKS)
    (tmp_path / "e.txt").write_text("0 1\n")
    for place, message in (
        (tmp_path, "not a collection"),
        (tmp_path / "e.txt", "neither a graph"),
        (tmp_path / "no.npz", "no file"),
    ):
        with pytest.raises(UsageError, match=message) as raised:
            open_graph(place)
        assert raised.value.cure


def test_a_collection_without_links_is_an_error(tmp_path: Path) -> None:
    world = World(tmp_path / "crawl", lambda _: Reply(outcome=Outcome.NOT_FOUND, status=404))
    world.run(["http://a.example/"])
    for look in (collected, lambda place: analyse_collection(place, {})):
        with pytest.raises(UsageError, match="has no links yet") as raised:
            look(tmp_path / "crawl")
        assert "Resume the crawl" in raised.value.cure


def test_every_score_is_computed_stored_and_visible_in_sql(folder: Path) -> None:
    steps: list[str] = []
    found = analyse_collection(folder, {"pagerank": 1.0}, steps.append)
    assert "components" in steps
    urls = known_urls(folder, np.arange(found.pages))
    theirs = nx.DiGraph([(p, t) for p, of in LINKS.items() for t in of])
    ranks = nx.pagerank(theirs, tol=1e-12)
    assert dict(zip(urls, found.by_page["pagerank"].tolist(), strict=True)) == pytest.approx(ranks, abs=1e-6)
    rows = ask(folder, "select url, pagerank, siterank, linkrank, hub, authority, component, part, merit from pages")
    assert len(rows) == 6
    assert all(value is not None for row in rows for value in row)
    assert {row[0]: row[1] for row in rows} == pytest.approx(ranks, abs=1e-6)
    parts = {row[0]: row[7] for row in rows}
    assert parts["http://a.example/"] == "main_out"
    assert parts["http://a.example/gone"] == parts["http://b.example/x"] == "out"
    sites = ask(folder, "select name, siterank, pagerank, indegree, part from sites order by name")
    assert [(s[0], s[3], s[4]) for s in sites] == [("a.example", 1, "main_norm"), ("b.example", 1, "main_norm")]
    assert sum(s[1] for s in sites) == pytest.approx(1)
    assert sum(s[2] for s in sites) == pytest.approx(1)
    assert ask(folder, "select distinct p.siterank = s.siterank::float from pages p join sites s using (site)") == [
        (True,)
    ]


def test_the_state_of_the_desk_is_visible_in_sql(folder: Path) -> None:
    rows = ask(folder, "select url, current_depth, opic, boost, quality, value from pages order by page")
    for url, depth, opic, boost, quality, value in rows:
        said: Any = explain_page(folder, url)
        assert depth == said["standing"]["depth"]
        assert opic == pytest.approx(said["scores"]["cash"], rel=1e-5)
        assert boost == 0
        assert quality == pytest.approx(said["scores"]["quality"], rel=1e-5)
        assert (value > 0) == (url in LINKS)
    assert ask(folder, "select sum(pending) from sites") == [(0,)]


def test_without_an_image_the_state_of_the_desk_is_null(tmp_path: Path) -> None:
    World(tmp_path / "crawl", web).run(["http://a.example/"], sealed=True)
    assert ask(tmp_path / "crawl", "select count(*) > 0, count(quality), count(opic) from pages") == [(True, 0, 0)]
    assert ask(tmp_path / "crawl", "select count(*) > 0, count(pending) from sites") == [(True, 0)]


def test_ranking_fails_while_a_crawl_runs(folder: Path) -> None:
    held = lock.take(shard_folder(folder))
    try:
        with pytest.raises(LockedError):
            analyse_collection(folder, {})
    finally:
        held.release()


def test_a_graph_is_analysed_and_summarised() -> None:
    graph = make(2_000)
    said = summary(analyse(graph), 5, None)
    assert (said["pages"], said["sites"], len(said["top_pages"])) == (2_000, graph.sites, 5)
    assert sum(said["parts"].values()) == 2_000
    assert sum(said["site_parts"].values()) == graph.sites
    best = [row["pagerank"] for row in said["top_pages"]]
    assert best == sorted(best, reverse=True)
    json.dumps(said)


@pytest.mark.slow
def test_the_commands_show_graphs_and_ranks(folder: Path, tmp_path: Path) -> None:
    made = gossamer("graph", "make", tmp_path / "web.npz", "--pages", "100000", "--json")
    assert made.code == 0, made.errors
    said = json.loads(made.output)
    assert said["pages"] == 100_000
    assert all(check["holds"] for check in said["checks"])
    assert json.loads(gossamer("graph", "show", tmp_path / "web.npz", "--json").output)["links"] == said["links"]
    assert "as expected" in gossamer("graph", "make", tmp_path / "web.npz", "--pages", "100000").output
    ranked: dict[str, Any] = json.loads(gossamer("rank", tmp_path / "web.npz", "--json", "--top", "3").output)
    assert len(ranked["top_pages"]) == len(ranked["top_sites"]) == 3
    of_crawl = gossamer("rank", folder)
    assert of_crawl.code == 0, of_crawl.errors
    assert "http://a.example/" in of_crawl.output
    assert re.search(r" a\.example$", of_crawl.output, re.MULTILINE), "the name of a site"
    assert "Stored with" in of_crawl.output
    assert json.loads(gossamer("graph", "show", folder, "--json").output)["pages"] == len(LINKS)
    assert gossamer("graph", "convert", folder, tmp_path / "crawl.npz").code == 0
    (tmp_path / "e.txt").write_text("http://a.example/ http://b.example/\n")
    converted = gossamer("graph", "convert", tmp_path / "e.txt", tmp_path / "e.npz")
    assert "2 pages, 1 links, 2 sites" in converted.output


@pytest.mark.slow
def test_errors_end_with_exit_code_2_and_a_cure(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("0 x\n")
    for arguments, message in (
        (("graph", "make", tmp_path / "web.txt"), "does not end in .npz"),
        (("graph", "make", tmp_path / "no" / "web.npz"), "there is no folder"),
        (("graph", "show", tmp_path / "none.npz"), "there is no file"),
        (("graph", "convert", tmp_path / "e.txt", tmp_path / "e.npz"), "line 1"),
        (("graph", "convert", folder, tmp_path / "e.npz", "--urls", tmp_path / "e.txt"), "is a folder"),
        (("rank", tmp_path), "not a collection"),
    ):
        ended = gossamer(*arguments)
        assert ended.code == 2
        assert message in ended.errors
    assert not (tmp_path / "e.npz").exists()
    assert config.load(folder / SETTINGS) != Settings()
