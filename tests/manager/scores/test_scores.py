"""Link scores of a collection: its graph from sealed segments, the process that computes them, and when it starts."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from gossamer.base.errors import GossamerError
from gossamer.base.model import NONE, VISIT, LinkFlag, Outcome, Tag, Texts
from gossamer.collection import layout, manifest, sealing
from gossamer.collection.journal import journal
from gossamer.collection.journal.effects import PAGE, Effects
from gossamer.collection.journal.records import Mark
from gossamer.collection.tables import seal
from gossamer.manager.scores.compute import compute
from gossamer.manager.scores.graph import graph_of
from gossamer.manager.scores.made import LinkScores
from gossamer.manager.scores.own import NOBODY
from gossamer.manager.scores.schedule import A_LINK, SHARE, START, Scorer
from gossamer.manager.scores.stored import merit_of, read_scored
from gossamer.manager.scores.weights import weights_of
from gossamer.rank.graph import held
from gossamer.rank.names import LINK_SCORES, share_score
from gossamer.rank.prepared import PREPARED
from gossamer.rank.weighted import BOLD, HEADING
from tests.support.graphs import dense, links_of
from tests.support.strategies import Links
from tests.support.timing import COMMAND


class Made:
    """A collection whose segments are made from lists of visits: (page, targets, outcome)."""

    def __init__(self, folder: Path) -> None:
        self.shard = layout.shard_folder(folder, 3)
        layout.make_folders(self.shard)
        manifest.Manifest.create(self.shard, manifest.Meta(layout.FORMAT, 3, 1, 1.0))
        self.pages, self.number = 0, 0

    def seal(self, pages: int, visits: list[tuple[int, list[int], Outcome]], sites: int = 2) -> None:
        """Seals a segment with `pages` new pages, page p at site p % sites."""
        self.number += 1
        opened = journal.begin(self.shard, 3, self.number, Mark(self.number - 1, self.number - 1))
        opened.append(self._effects(pages, visits, sites))
        opened.commit(opened.snapshot({}, [], rotate=True))
        opened.close()
        line = seal.seal(self.shard, self.number)
        manifest_file = manifest.Manifest.open(self.shard)
        sealing.finish(self.shard, manifest_file, line)
        manifest_file.close()

    def _effects(self, pages: int, visits: list[tuple[int, list[int], Outcome]], sites: int) -> Effects:
        new, made = np.zeros(pages, PAGE), np.zeros(len(visits), VISIT)
        new["site"] = [(self.pages + i) % sites for i in range(pages)]
        for i, (page, targets, outcome) in enumerate(visits):
            made[i]["page"], made[i]["outcome"], made[i]["links"] = page, outcome, len(targets)
            made[i]["site"], made[i]["duplicate_of"] = (page % sites, NONE)
        targets = [t for _, of, _ in visits for t in of]
        first, self.pages = self.pages, self.pages + pages
        urls = Texts.join([b"http://site.example/%d" % (first + i) for i in range(pages)], "<u2")
        return Effects(
            self.number,
            1.0,
            1.0,
            0,
            0,
            first,
            pages=new,
            urls=urls,
            visits=made,
            link_targets=np.array(targets, "<u4"),
            link_kinds=np.zeros(len(targets), "u1"),
        )


OK = Outcome.OK


@pytest.fixture
def made(tmp_path: Path) -> Made:
    made = Made(tmp_path)
    made.seal(6, [(0, [1, 2, 3], OK), (1, [0], OK), (2, [4], OK), (0, [5], OK), (3, [], Outcome.TIMED_OUT)])
    made.seal(3, [(2, [], Outcome.NOT_FOUND), (3, [8, 7], OK), (1, [], Outcome.RETURNED)])
    return made


EXPECTED: Links = [[5], [0], [], [7, 8], [], [], [], [], []]


def test_the_graph_of_a_collection_has_the_links_of_the_last_final_visit_of_each_page(made: Made) -> None:
    found = graph_of(made.shard)
    assert {p: t for p, t in links_of(found.graph).items() if t} == {p: t for p, t in enumerate(EXPECTED) if t}
    assert (found.graph.pages, found.sites, found.segment, found.contents.meta.shard) == (9, 2, 2, 3)
    assert found.site.tolist() == [0, 1] * 4 + [0]
    assert found.new_links == found.links == 5
    assert graph_of(made.shard).new_links == 0


def test_damaged_rows_are_made_again(made: Made) -> None:
    graph_of(made.shard)
    path = made.shard / "graph" / f"{1:012d}.rows"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"\xff")
    assert graph_of(made.shard).new_links == 2 + 1
    assert path.read_bytes() == whole


def test_scores_are_stored_by_page_and_site(made: Made) -> None:
    weights = {"pagerank": 2.0, "indegree": 1.0, "siterank": 1.0, "hub": 1.0, "authority": 0.5}
    figures = compute(made.shard, weights)
    assert (figures["pages"], figures["links"]) == (9, 5)
    table = pq.read_table(made.shard / "scores" / f"{2:012d}.parquet").to_pydict()
    assert table["page"] == [3 << 40 | p for p in range(9)]
    true = dense(EXPECTED)
    assert np.allclose(table["pagerank"], true, atol=1e-3)
    assert table["indegree"] == [1, 0, 0, 0, 0, 1, 0, 1, 1]
    sites = pq.read_table(made.shard / "scores" / f"{2:012d}-sites.parquet").to_pydict()
    assert sites["site"] == [0, 1]
    assert np.allclose(sites["pagerank"], [true[::2].sum(), true[1::2].sum()], atol=1e-3)
    assert sum(sites["siterank"]) == pytest.approx(1)
    assert table["siterank"] == pytest.approx([sites["siterank"][p % 2] for p in range(9)])
    shares = {name: np.array(table[name], np.float64) for name in weights}
    shares["indegree"] /= 4
    expected = sum(w * share_score(shares[n], 2 if n == "siterank" else 9) for n, w in weights.items())
    assert np.allclose(table["merit"], expected, atol=1e-5)
    scored = read_scored(made.shard, weights)
    assert scored is not None
    assert scored.merit.tolist() == table["merit"]


@pytest.mark.parametrize("prepare", sorted(PREPARED))
def test_the_prepared_score_reaches_the_desk(made: Made, prepare: str) -> None:
    for _ in range(2):  # the second time from the stored values
        compute(made.shard, {}, prepare)
    scored = read_scored(made.shard, {})
    assert scored is not None
    assert (scored.prepare, len(scored.merit), len(scored.prepared)) == (prepare, 9, 9)
    assert scored.prepared.sum() > 0
    assert (scored.base > 0) == (prepare == "completed")


def test_merit_follows_changed_weights_without_a_new_computation(made: Made) -> None:
    assert read_scored(made.shard, {"pagerank": 1.0}) is None
    compute(made.shard, {"pagerank": 1.0})
    one, three = read_scored(made.shard, {"pagerank": 1.0}), read_scored(made.shard, {"pagerank": 3.0, "hub": 1.0})
    assert one is not None
    assert three is not None
    assert np.allclose(3 * one.merit, three.merit, rtol=1e-5)
    path = made.shard / "scores" / f"{2:012d}.merit"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    assert read_scored(made.shard, {"pagerank": 1.0}) is None


def test_links_to_a_page_beyond_the_known_ones_are_refused(made: Made) -> None:
    made.seal(1, [(9, [12], OK)])
    with pytest.raises(GossamerError, match="page 12; its segments have 10 pages"):
        graph_of(made.shard)


def test_older_scores_are_removed_and_the_next_computation_starts_from_their_ranks(made: Made) -> None:
    first = compute(made.shard, {"pagerank": 1.0})
    again = compute(made.shard, {"pagerank": 1.0})
    assert again["iterations"] < first["iterations"]
    made.seal(1, [(7, [9], OK)])
    compute(made.shard, {"pagerank": 1.0})
    (made.shard / "scores" / "000000000001.merit").touch()
    (made.shard / "scores" / "000000000001.parquet.new").touch()
    compute(made.shard, {"pagerank": 1.0})
    endings = ("-sites.parquet", ".merit", ".parquet", ".sums")
    there = sorted(p.name for p in (made.shard / "scores").iterdir())
    assert there == [f"{n:012d}{ending}" for n in (2, 3) for ending in endings], (
        "the files before stay for their readers"
    )


def test_scores_of_an_empty_collection_are_empty(tmp_path: Path) -> None:
    made = Made(tmp_path)
    assert compute(made.shard, {"pagerank": 1.0, "siterank": 1.0, "hub": 1.0})["pages"] == 0
    scored = read_scored(made.shard, {"pagerank": 1.0, "siterank": 1.0, "hub": 1.0})
    assert scored is not None
    assert len(scored.merit) == 0


def waited(scorer: Scorer) -> Any:
    end = time.monotonic() + COMMAND
    while time.monotonic() < end and scorer._process is not None:
        if (merit := scorer.poll()) is not None:
            return merit
        time.sleep(0.02)
    return None


@pytest.mark.slow
def test_the_scorer_starts_after_enough_visits_and_processor_time_and_a_new_segment(made: Made) -> None:
    scorer = Scorer(made.shard, {"pagerank": 1.0}, 100)
    assert scorer.resume(0) is None
    assert not scorer.begin_if_due(99, 1000.0), "too few visits"
    assert not scorer.begin_if_due(100, 20 * START - 0.1), "too little processor time"
    assert scorer.begin_if_due(100, 40.0)
    assert not scorer.begin_if_due(10_000, 10_000.0), "one at a time"
    scored = waited(scorer)
    assert scored is not None, scorer.warnings
    assert scored.merit.tolist() == pq.read_table(made.shard / "scores" / f"{2:012d}.parquet")["merit"].to_pylist()
    assert scorer.poll() is None
    cost = scorer.figures["cpu"]
    assert cost > 0
    assert not scorer.begin_if_due(10_000, 10_000.0), "no new segment"
    made.seal(1, [(4, [9], OK)])
    assert not scorer.begin_if_due(199, 10_000.0)
    assert not scorer.begin_if_due(200, 40.0 + 19 * cost)
    assert scorer.begin_if_due(200, 40.0 + 20.1 * cost)
    scorer.close()
    resumed = Scorer(made.shard, {"pagerank": 1.0}, 100)
    assert resumed.resume(250) is not None
    assert (resumed.state(0.0).made or 0) > 1e9, "from the files, as there is no other record"
    assert not resumed.begin_if_due(349, 1000.0)


@pytest.mark.slow
def test_visits_and_processor_time_are_counted_over_all_runs(made: Made) -> None:
    """The pieces of a crawl add up: none of them alone would have been enough."""
    state = LinkScores()
    for visits in (40, 80):
        piece = Scorer(made.shard, {"pagerank": 1.0}, 100)
        piece.resume(visits - 40, state)
        assert not piece.begin_if_due(visits, 10.0)
        state = piece.state(10.0)
    assert state.cpu_since == 20.0
    last = Scorer(made.shard, {"pagerank": 1.0}, 100)
    last.resume(80, state)
    assert last.begin_if_due(100, 0.1)
    assert waited(last) is not None, last.warnings
    state = last.state(0.1)
    made.seal(1, [(4, [9], OK)])
    after = Scorer(made.shard, {"pagerank": 1.0}, 100)
    assert after.resume(120, state) is not None
    assert not after.begin_if_due(199, 1000.0), "100 since the last computation, not since the start"
    assert after.begin_if_due(200, 1000.0)
    after.close()


def test_a_small_graph_gets_its_scores_at_the_stop_however_little_was_done(made: Made) -> None:
    scorer = Scorer(made.shard, {"pagerank": 1.0}, 10**6)
    assert scorer.state(0.0).made is None
    assert "when the crawl stops" in scorer.state(0.0).why
    assert scorer.finish(4, 0.01)
    assert scorer.poll(1_600_000_000.0) is not None, scorer.warnings
    state = scorer.state(0.01)
    assert (state.made, state.visits, state.pages, state.links, state.why) == (1_600_000_000.0, 4, 9, 5, "")
    assert not scorer.finish(4, 100.0), "nothing was fetched since"


def test_a_crawl_of_cheap_pages_with_many_links_earns_its_first_scores() -> None:
    pages, links, a_page = 100_000, 75, 0.001
    assert START + A_LINK * links * pages < SHARE * a_page * pages


@pytest.mark.slow
def test_a_larger_graph_waits_until_it_costs_a_twentieth(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.manager.scores.schedule.A_LINK", 0.2)
    scorer = Scorer(made.shard, {"pagerank": 1.0}, 10**6)
    assert not scorer.finish(4, 20.0)
    assert "more than a twentieth" in scorer.state(20.0).why
    assert scorer.finish(4, 100.0)
    scorer.close()


def test_without_weights_of_link_scores_the_status_says_so(made: Made) -> None:
    assert "no weight" in Scorer(made.shard, {}, 1).state(0.0).why


def test_a_computation_that_fails_is_a_warning(made: Made) -> None:
    damaged = made.shard / layout.table_name("links", 2)
    damaged.write_bytes(b"not a table")
    scorer = Scorer(made.shard, {"pagerank": 1.0}, 1)
    assert scorer.begin_if_due(1, 1000.0)
    assert waited(scorer) is None
    assert len(scorer.warnings) == 1
    assert "link scores could not be computed" in scorer.warnings[0]
    assert "failed" in scorer.state(0.0).why


def test_without_weights_of_link_scores_and_without_segments_nothing_is_computed(made: Made, tmp_path: Path) -> None:
    assert not Scorer(made.shard, {}, 1).begin_if_due(10**6, 10**6)
    assert not Scorer(Made(tmp_path / "other").shard, {"pagerank": 1.0}, 1).begin_if_due(10**6, 10**6)


def test_the_command_prints_its_statistics(made: Made) -> None:
    command = [
        sys.executable,
        "-m",
        "gossamer.manager.scores.compute",
        str(made.shard),
        json.dumps({"pagerank": 1.0}),
        "completed",
        json.dumps(NOBODY),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["segment"], said["pages"], said["links"]) == (2, 9, 5)
    assert min(said[name] for name in ("iterations", "seconds", "cpu", "memory")) > 0


def test_merit_leaves_out_scores_that_were_not_computed() -> None:
    shares = {"pagerank": np.array([0.25, 0.75])}
    assert np.array_equal(merit_of(shares, {"pagerank": 1.0, "hub": 9.0}, 1), merit_of(shares, {"pagerank": 1.0}, 1))


class WithTexts(Made):
    """Every link has a text, with as many letters as the number of its target."""

    def _effects(self, pages: int, visits: list[tuple[int, list[int], Outcome]], sites: int) -> Effects:
        effects = super()._effects(pages, visits, sites)
        places = [i for _, of, _ in visits for i in range(len(of))]
        texts = [b"x" * t for _, of, _ in visits for t in of]
        return replace(
            effects,
            link_tags=np.full(len(texts), Tag.A, "u1"),
            link_positions=np.array(places, "<u2"),
            anchors=Texts.join(texts, "<u2"),
        )


class Emphasized(WithTexts):
    """Links to page 5 are in a heading, those to page 1 in bold text."""

    def _effects(self, pages: int, visits: list[tuple[int, list[int], Outcome]], sites: int) -> Effects:
        effects = super()._effects(pages, visits, sites)
        flags = {5: int(LinkFlag.HEADING), 1: int(LinkFlag.BOLD | LinkFlag.NOFOLLOW)}
        kinds = [flags.get(t, 0) << 4 for _, of, _ in visits for t in of]
        return replace(effects, link_kinds=np.array(kinds, "u1"))


def test_the_weight_of_a_link_depends_on_its_emphasis(tmp_path: Path) -> None:
    made = Emphasized(tmp_path)
    made.seal(6, [(0, [5, 1, 3], OK)], sites=1)
    found = graph_of(made.shard)
    assert weights_of(made.shard, found.contents, held(found.graph)).tolist() == pytest.approx(
        [1 + 1 / 16 + 0.5 * (1 - 1 / 3) + BOLD, 1 + 3 / 16 + 0.5 * (1 - 2 / 3), 1 + 5 / 16 + 0.5 + HEADING]
    )


def test_the_weight_of_a_link_depends_on_its_text_and_position(tmp_path: Path) -> None:
    made = WithTexts(tmp_path)
    made.seal(6, [(0, [5, 1, 0], OK), (1, [0, 4], OK), (2, [3], Outcome.NOT_FOUND)], sites=1)
    made.seal(1, [(1, [5, 6], OK)], sites=1)
    found = graph_of(made.shard)
    links = held(found.graph)
    weights = weights_of(made.shard, found.contents, links)
    said = {
        (p, int(links.targets[i])): float(weights[i])
        for p in range(links.pages)
        for i in range(links.offsets[p], links.offsets[p + 1])
    }
    assert said == pytest.approx(
        {
            (0, 0): 1.0,
            (0, 1): 1 + 1 / 16 + 0.25,
            (0, 5): 1 + 5 / 16 + 0.5,
            (1, 5): 1 + 5 / 16 + 0.5,
            (1, 6): 1 + 6 / 16 + 0.25,
            (2, 3): 1 + 3 / 16 + 0.5,
        }
    )


def test_weighted_link_rank_is_a_score_like_the_others(tmp_path: Path) -> None:
    made = WithTexts(tmp_path)
    made.seal(6, [(0, [5, 1], OK), (1, [0, 4], OK), (5, [0], OK)], sites=2)
    compute(made.shard, {"linkrank": 2.0})
    table = pq.read_table(made.shard / "scores" / f"{1:012d}.parquet").to_pydict()
    assert sum(table["linkrank"]) == pytest.approx(1, abs=1e-5)
    assert table["linkrank"][5] > table["linkrank"][1], "its link comes first and has a longer text"
    assert "part" not in table
    expected = 2 * share_score(np.array(table["linkrank"], np.float64), 6)
    assert np.allclose(table["merit"], expected, atol=1e-5)
    figures = compute(made.shard, {"linkrank": 2.0}, everything=True)
    whole = pq.read_table(made.shard / "scores" / f"{1:012d}.parquet").to_pydict()
    assert set(whole) >= {*LINK_SCORES, "component", "part", "merit"} - {"plugin"}
    assert figures["pages"] == len(whole["part"]) == 6
