"""The report of collections whose Webs are known."""

from __future__ import annotations

import csv
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from click.testing import CliRunner

from gossamer.base.errors import UsageError
from gossamer.base.model import Outcome
from gossamer.cli import app
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.config import dump
from gossamer.laboratory.findings.finding import Finding
from gossamer.laboratory.report import make
from gossamer.rank.names import PARTS
from gossamer.webs.simulated import Reply
from tests.support.world import World

TITLE = "<script>alert(1)</script>"


def made_links(seed: int, sites: int = 14, pages: int = 8) -> dict[str, list[str]]:
    """A random Web: each page links inside its site, some to other sites."""
    rng = random.Random(seed)
    urls = [f"http://s{s}.example/{p or ''}" for s in range(sites) for p in range(pages)]
    links: dict[str, list[str]] = {}
    for url in urls:
        own = url.rpartition("/")[0] + "/"
        inside = rng.sample([u for u in urls if u.startswith(own) and u != url], 2)
        other = rng.sample([u for u in urls if not u.startswith(own)], 1) if rng.random() < 0.2 else []
        links[url] = [*inside, *other]
    return links


def crawled(place: Path, links: dict[str, list[str]], seeds: list[str]) -> Path:
    def web(url: str) -> Reply:
        if url.endswith("/robots.txt"):
            return Reply()
        if url not in links:
            return Reply(outcome=Outcome.NOT_FOUND, status=404)
        number = sorted(links).index(url) + 1
        return Reply(links=tuple(links[url]), digest=number, sketch=number << 20, title=TITLE, size=1000 * number)

    world = World(place, web)
    world.run(seeds)
    (place / SETTINGS).write_text(dump(world.settings))
    return place


MISSING = Reply(outcome=Outcome.NOT_FOUND, status=404)
SEEDS = ["http://s0.example/", "http://s1.example/", "http://s5.example/"]


@pytest.fixture(scope="module")
def links() -> dict[str, list[str]]:
    return made_links(3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, links: dict[str, list[str]]) -> Path:
    return crawled(tmp_path_factory.mktemp("report") / "one", links, SEEDS)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawled(tmp_path_factory.mktemp("report") / "two", made_links(4, pages=3), SEEDS)


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Finding]:
    return {each.name: each for each in make.report([folder])}


def reached(links: dict[str, list[str]]) -> dict[str, list[str]]:
    """The pages that the seeds lead to."""
    graph = nx.DiGraph([(a, b) for a, of in links.items() for b in of])
    known = set(SEEDS).union(*(nx.descendants(graph, seed) for seed in SEEDS))
    return {url: of for url, of in links.items() if url in known}


def facts(finding: Finding) -> dict[str, Any]:
    (table,) = (each for each in finding.tables if each.name.endswith("-facts"))
    return {str(row[0]): row[1] for row in table.rows}


def rows(finding: Finding, name: str) -> dict[str, Any]:
    (table,) = (each for each in finding.tables if each.name == name)
    return {str(row[0]): row[1] for row in table.rows}


def site(url: str) -> str:
    return url.split("/")[2]


# --- the figures are those of the Web ---------------------------------------------------------------------------------


def test_the_summary_counts_pages_and_sites(found: dict[str, Finding], links: dict[str, list[str]]) -> None:
    there, said = reached(links), facts(found["summary"])
    assert len(there) > 50
    assert said["pages fetched"] == said["pages known"] == len(there)
    assert said["sites with a fetched page"] == len({site(url) for url in there})
    assert said["pages a site"] == pytest.approx(len(there) / len({site(url) for url in there}))
    assert said["duplicates"] == 0
    assert rows(found["status"], "status-groups") == {"ok": len(there)}


def test_degrees_are_those_of_the_links(found: dict[str, Finding], links: dict[str, list[str]]) -> None:
    there = reached(links)
    into = Counter(target for of in there.values() for target in of)
    expected = Counter(into[url] for url in there)
    (plot,) = (each for each in found["links"].plots if each.name == "in-degree")
    assert dict(zip(plot.series[0].x, plot.series[0].y, strict=True)) == {k: v for k, v in expected.items() if k}
    (plot,) = (each for each in found["links"].plots if each.name == "out-degree")
    assert dict(zip(plot.series[0].x, plot.series[0].y, strict=True)) == Counter(len(of) for of in there.values())


def test_depths_are_clicks_from_the_start_or_from_another_site(
    found: dict[str, Finding], links: dict[str, list[str]]
) -> None:
    there = reached(links)
    entered = {t for url, of in there.items() for t in of if site(t) != site(url)} | set(SEEDS)
    depth, level, at = dict.fromkeys(entered, 0), entered, 0
    while level:
        at += 1
        level = {t for url in level for t in there[url] if site(t) == site(url)} - depth.keys()
        depth |= dict.fromkeys(level, at)
    assert rows(found["depth"], "depth-numbers") == {str(k): v for k, v in Counter(depth.values()).items()}


def test_the_graph_of_sites_is_that_of_networkx(found: dict[str, Finding], links: dict[str, list[str]]) -> None:
    there = reached(links)
    graph = nx.DiGraph()
    graph.add_nodes_from(site(url) for url in there)
    graph.add_edges_from((site(a), site(b)) for a, of in there.items() for b in of if site(a) != site(b))
    said = facts(found["site-graph"])
    assert said["links between sites"] == graph.number_of_edges() > 5
    assert said["sites with a link from another"] == sum(d > 0 for _, d in graph.in_degree()) / len(graph)
    assert said["sites with a link to another"] == sum(d > 0 for _, d in graph.out_degree()) / len(graph)
    linked = graph.subgraph(n for n in graph if graph.degree(n))
    sizes = Counter(len(c) for c in nx.strongly_connected_components(linked))
    assert said["strong components"] == sum(sizes.values())
    assert said["sites in the largest"] == max(sizes)
    listed = rows(found["site-graph"], "site-components-numbers")  # with the sizes that the thesis found
    assert {size: number for size, number in listed.items() if number} == {str(k): v for k, v in sizes.items()}
    assert listed["5,202"] == 0
    most = rows(found["site-graph"], "most-linked")
    assert most == {n: d for n, d in graph.in_degree() if d}
    parts = rows(found["site-graph"], "site-parts")
    assert set(parts) == set(PARTS)
    assert sum(parts.values()) == len(graph)
    (bow_tie,) = found["site-graph"].drawings
    assert all(f"{number / len(graph):.2%}" in bow_tie.svg for number in parts.values())


def test_pages_and_bytes_are_counted_by_site(found: dict[str, Finding], links: dict[str, list[str]]) -> None:
    there = reached(links)
    count = Counter(site(url) for url in there)
    numbers = rows(found["sites"], "pages-per-site-numbers")
    assert numbers == {str(k): v for k, v in Counter(count.values()).items()}
    said = facts(found["sites"])
    largest = sorted(count.values(), reverse=True)
    assert said["share of pages in the largest tenth of sites"] == largest[0] / len(there)


def test_every_section_says_on_what_it_stands_or_why_it_is_empty(found: dict[str, Finding]) -> None:
    assert list(found) == list(make.SECTIONS)
    assert all(finding.setting or finding.sentences for finding in found.values())
    assert "no fetched page is dynamic" in found["technology"].sentences[0].text.lower()
    assert not [s.text for each in found.values() for s in each.sentences if "could not be computed" in s.text]


def test_every_section_says_when_it_was_visited_and_under_which_settings(found: dict[str, Finding]) -> None:
    there = [finding for finding in found.values() if finding.tables]
    assert len(there) > 12
    assert all(re.search(r"Visited from \d{4}-\d\d-\d\d", finding.setting) for finding in there)
    assert "seeder.depth_static = 15" in found["depth"].setting


def test_names_without_an_address_and_sites_without_a_page_are_counted(tmp_path: Path) -> None:
    links = made_links(3, sites=4)
    seeds = [*SEEDS[:2], "http://s2.example/", "http://s3.example/", "http://s9.example/", "http://none.example/"]
    world = World(
        tmp_path,
        lambda url: Reply(links=tuple(links[url])) if url in links else MISSING,
        address=lambda host: None if host.endswith("none.example") else "192.0.2.1",
    )
    world.run(seeds)
    (tmp_path / SETTINGS).write_text(dump(world.settings))
    said = {each.name: facts(each) for each in make.report([tmp_path], ["sites", "speeds"])}
    assert said["sites"]["names looked up"] == 6
    assert said["sites"]["of these, without an address"] == pytest.approx(1 / 6)
    assert said["speeds"]["sites that were requested and gave no page"] == pytest.approx(1 / 5)


# --- side by side -----------------------------------------------------------------------------------------------------


def test_two_collections_stand_side_by_side(folder: Path, other: Path) -> None:
    (both,) = make.report([folder, other], ["summary"])
    one, two = (facts(make.report([path], ["summary"])[0])["pages fetched"] for path in (folder, other))
    (row,) = (row for row in both.tables[0].rows if row[0] == "pages fetched")
    assert row[1:4] == (one, two, two - one)
    (sites,) = make.report([folder, other], ["sites"])
    plot = sites.plots[0]
    assert [series.label for series in plot.series] == ["one", "two"]
    assert any("Kolmogorov" in s.text and "they differ" in s.text for s in sites.sentences)


def test_a_list_that_is_the_same_in_all_collections_is_shown_once(folder: Path, other: Path) -> None:
    (found,) = make.report([folder, other], ["site-graph"])
    names = [each.name for each in found.tables]
    assert names.count("parts") == 1
    assert {name for name in names if name.startswith("most-linked")} == {"most-linked-one", "most-linked-two"}


def test_a_collection_does_not_differ_from_itself(folder: Path) -> None:
    (same,) = make.report([folder, folder], ["links"])
    said = [s.text for s in same.sentences if "Kolmogorov" in s.text]
    assert said
    assert all("at most 0.000 apart; the difference may be chance" in text for text in said)


# --- the files --------------------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_and_texts_stay_texts(folder: Path, tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["report", str(folder), "--out", str(tmp_path / "out")], catch_exceptions=False)
    assert ended.exit_code == 0
    assert "pages fetched" in ended.stdout
    page = (tmp_path / "out" / make.PAGE).read_text()
    assert TITLE not in page
    assert "<script" not in page
    assert not re.search(r"""(src|href)=["'](?!data:|#|[\w-]+\.csv")""", page)
    linked = re.findall(r"""href="([\w-]+\.csv)\"""", page)
    assert len(linked) > 10
    assert all((tmp_path / "out" / name).is_file() for name in linked)
    whole = json.loads((tmp_path / "out" / make.JSON).read_text())
    assert [section["finding"] for section in whole["sections"]] == list(make.SECTIONS)
    for section in whole["sections"]:
        for table in section["tables"]:
            with open(tmp_path / "out" / f"{table['name']}.csv", newline="") as file:
                assert len(list(csv.reader(file))) == len(table["rows"]) + 1
        for plot in section["plots"]:
            assert (tmp_path / "out" / f"{plot['name']}.svg").read_text().startswith("<?xml")
            assert (tmp_path / "out" / f"{plot['name']}.csv").exists()


def test_json_prints_the_report_and_writes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(
        app, ["report", str(folder), "--json", "--section", "summary", "--section", "depth"], catch_exceptions=False
    )
    assert [section["finding"] for section in json.loads(ended.stdout)["sections"]] == ["summary", "depth"]
    assert list(tmp_path.iterdir()) == []


def test_numbers_by_country_are_shown_against_links(folder: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "exports.csv"
    numbers.write_text("domain,exports\n.example,12\nde,5\n")
    ended = CliRunner().invoke(
        app,
        ["report", str(folder), "--json", "--section", "domains", "--by-country", str(numbers)],
        catch_exceptions=False,
    )
    (section,) = json.loads(ended.stdout)["sections"]
    assert "of 1 domains" in section["plots"][0]["title"]
    numbers.write_text("de,5\nfr\n")
    with pytest.raises(UsageError, match="line 2"):
        CliRunner().invoke(app, ["report", str(folder), "--by-country", str(numbers)], catch_exceptions=False)


# --- bad input --------------------------------------------------------------------------------------------------------


def test_an_unknown_section_names_the_nearest() -> None:
    with pytest.raises(UsageError) as raised:
        make.chosen(["site-graf"])
    assert "site-graph" in raised.value.cure


def test_an_empty_collection_gives_a_report_that_says_so(tmp_path: Path) -> None:
    empty = crawled(tmp_path / "empty", {}, ["http://nobody.example/"])
    found = make.report([empty])
    assert "no fetched page" in found[0].sentences[0].text
    assert {each.name for each in found if each.tables} <= {"status"}
    make.prepare(tmp_path / "out")
    assert make.write(tmp_path / "out", "Report", found).exists()


def test_a_damaged_segment_is_named_and_the_rest_is_reported(tmp_path: Path, links: dict[str, list[str]]) -> None:
    folder = crawled(tmp_path / "damaged", links, SEEDS)
    segment = sorted((shard_folder(folder) / "counts").glob("*.parquet")) or sorted(
        (shard_folder(folder) / "links").glob("*.parquet")
    )
    raw = bytearray(segment[-1].read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    segment[-1].write_bytes(raw)
    found = make.report([folder])
    assert "left out" in found[0].sentences[0].text
    assert "gossamer verify" in " ".join(s.text for f in found for s in f.sentences)
