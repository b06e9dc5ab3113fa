"""`gossamer cite`, and `gossamer graph export`, on a small crawl."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import networkx as nx
import pytest
from click.testing import CliRunner

from gossamer.base.errors import UsageError
from gossamer.cli import app
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.collection.runs import begin_run, settings_of_last_run
from gossamer.config import dump, override
from gossamer.read.cite import cite
from gossamer.webs.simulated import Reply
from tests.support.world import World

LINKS = {
    "http://a.example/": ["http://a.example/?x=1&y=2", "http://b.example/"],
    "http://a.example/?x=1&y=2": ["http://b.example/", "http://a.example/"],
    "http://b.example/": [],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cited") / "my{crawl}_1"
    world = World(place, lambda url: Reply(links=tuple(LINKS.get(url, ()))), ("harvester.wait=7s",))
    world.run(["http://a.example/"])
    (place / SETTINGS).write_text(dump(world.settings))
    begin_run(shard_folder(place), world.settings, 0.0)
    return place


def test_settings_that_were_changed_are_named_and_judged_by_their_run(folder: Path, tmp_path: Path) -> None:
    """The shortest pause is that of the first run: later waits accuse nobody, and shorter ones excuse nobody."""
    before = cite(folder)
    polite = before.politeness
    assert (polite.early, polite.unruled, polite.least) == (0, 0, (5.0,))
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    settings = settings_of_last_run(copy)
    ended = before.ended.timestamp()
    for wait, when in (("1h", ended + 3600), ("20ms", ended + 7200)):
        changed = override(settings, (f"harvester.wait={wait}", f"harvester.wait_large={wait}"))
        begin_run(shard_folder(copy), changed, when)
    found = cite(copy)
    assert found.politeness.early == 0
    assert found.politeness.least == (5.0, 3600.0, 0.02)
    assert [change.partition(" changed ")[2].partition(":")[0] for change in found.changes] == ["harvester.wait"] * 2
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    strict = override(settings, ("harvester.wait=1h", "harvester.wait_large=1h"))
    begin_run(shard_folder(other), strict, 1.0)  # before the first request
    assert cite(other).politeness.early == 3
    assert "3 requests came earlier than" in cite(other).paragraph()


def test_pages_that_were_not_fetched_are_counted(folder: Path) -> None:
    found = cite(folder)
    assert found.coverage.left + sum(n for _, n in found.coverage.excluded) == found.coverage.known - found.pages
    assert found.named == ("http://a.example/",)


def ended(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_citation_says_what_was_done(folder: Path) -> None:
    found = cite(folder)
    assert (found.pages, found.sites, found.seeds, found.coverage.known) == (3, 2, 1, 3)
    text = found.paragraph()
    assert "from 1 seed" in text
    assert "3 pages of 2 sites" in text
    assert "harvester.wait" in text
    shortest, usual = found.politeness.shortest, found.politeness.usual
    assert shortest is not None
    assert 6.9 < shortest <= (usual or 0)
    assert json.loads(ended("cite", folder, "--json"))["pages"] == 3


def test_bibtex_has_no_loose_braces_or_commands(folder: Path) -> None:
    entry = cite(folder).bibtex()
    assert entry.startswith("@misc{my-crawl-1-")
    assert entry.count("{") == entry.count("}")
    assert "my crawl \\_1" in entry


def test_a_collection_without_requests_cannot_be_cited(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        cite(tmp_path)


def test_graphs_are_exported_for_other_programs(folder: Path, tmp_path: Path) -> None:
    ended("graph", "export", folder, "--graphml", tmp_path / "g.graphml", "--edges", tmp_path / "l.tsv.gz")
    graph = nx.read_graphml(tmp_path / "g.graphml")
    names = nx.get_node_attributes(graph, "name")
    assert {(names[a], names[b]) for a, b in graph.edges} == {(a, b) for a, of in LINKS.items() for b in of}
    lines = gzip.decompress((tmp_path / "l.tsv.gz").read_bytes()).decode().splitlines()
    assert sorted(line.split("\t")[:2] for line in lines) == sorted([a, b] for a, of in LINKS.items() for b in of)
    ended("graph", "export", folder, "--edges", tmp_path / "s.tsv", "--sites")
    assert (tmp_path / "s.tsv").read_text() == "a.example\tb.example\t2\n"
    with pytest.raises(UsageError, match="exists already"):
        ended("graph", "export", folder, "--edges", tmp_path / "s.tsv")
    with pytest.raises(UsageError, match="nothing to write"):
        ended("graph", "export", folder)
