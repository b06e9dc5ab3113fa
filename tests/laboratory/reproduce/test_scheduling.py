"""Static and dynamic scheduling: the Web of the experiment, both modes over sockets, and the finding."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from gossamer.laboratory import Bench, Subject
from gossamer.laboratory.findings.finding import as_json
from gossamer.laboratory.graphs.make import make
from gossamer.laboratory.reproduce import paper
from gossamer.laboratory.reproduce.crawls import Crawls
from gossamer.laboratory.reproduce.lab import Lab
from gossamer.laboratory.reproduce.scheduling import finding
from gossamer.laboratory.reproduce.scheduling.finding import ExperimentSize
from gossamer.laboratory.reproduce.scheduling.kernel import PageRequest
from gossamer.laboratory.reproduce.scheduling.modes import DYNAMIC, STATIC, Crew, RunResult, dealt
from gossamer.laboratory.reproduce.scheduling.server import ServerProcess
from gossamer.laboratory.reproduce.scheduling.web import PAGE_SECONDS, ExperimentWeb
from tests.support.crawling import alive, children
from tests.support.timing import WITHIN, wait_for

SMALL = ExperimentWeb(60, 200.0, sites=8, dead=2)


# --- the Web -------------------------------------------------------------------------------------------------


def test_every_page_can_be_reached_from_the_home_pages() -> None:
    web = ExperimentWeb(500, 15.0)
    seen, todo = set(web.seeds), list(web.seeds)
    while todo:
        site, page = todo.pop()
        new = set(web.links(site, page)) - seen if site < web.alive else set()
        seen |= new
        todo += new
    assert len(seen) == web.urls == sum(web.sizes)
    assert sum(web.sizes[: web.alive]) == 500
    assert len(web.sizes) == 177


def test_the_web_follows_from_its_seed() -> None:
    assert ExperimentWeb(200, 15.0).body(3, 0) == ExperimentWeb(200, 15.0).body(3, 0)
    assert ExperimentWeb(200, 15.0).sizes != ExperimentWeb(200, 15.0, seed=2).sizes


def test_answer_times_have_the_mean_of_the_paper_and_a_long_tail() -> None:
    web = ExperimentWeb(4000, 15.0)
    seconds = np.array([web.seconds(site, page) for site in range(web.alive) for page in range(web.sizes[site])])
    assert seconds.mean() == pytest.approx(PAGE_SECONDS / 15, rel=0.15)
    assert np.quantile(seconds, 0.99) > 5 * np.median(seconds)


def test_paths_lead_to_their_pages() -> None:
    web = SMALL
    assert [web.page_of(path) for path in ("/", "/p7.html", "/p07x.html", "/p.html", "/q1.html")] == [0, 7, -1, -1, -1]


# --- the paper's tables --------------------------------------------------------------------------------------


def test_the_papers_tables_agree_with_its_text() -> None:
    dynamic, static = paper.TABLE_001_2[20]
    assert static / dynamic == pytest.approx(9.7, abs=0.05)
    speedups = [b / a for a, b in paper.TABLE_001_2.values()]
    assert speedups == sorted(speedups)
    assert max(pages for pages, _ in paper.TABLE_001_1.values()) < paper.PAGES_001_TABLE_1


# --- distribution to processes -------------------------------------------------------------------------------


def test_sites_are_distributed_whole_and_evenly() -> None:
    site = [0] * 5 + [1] * 3 + [2] * 2 + [3]
    shares = dealt([PageRequest(n, "", "", 0) for n in range(len(site))], site, 3)
    assert sorted(map(len, shares)) == [3, 3, 5]
    assert sorted(order.number for share in shares for order in share) == list(range(len(site)))
    for number in range(4):
        assert sum(any(site[order.number] == number for order in share) for share in shares) == 1


# --- over sockets --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ran() -> Iterator[dict[str, RunResult]]:
    before = set(children(os.getpid()))
    with closing(ServerProcess(SMALL)) as server, closing(Crew(SMALL, server.port, 2)) as crew:
        yield {mode: crew.run(mode) for mode in (DYNAMIC, STATIC)}
    assert set(children(os.getpid())) <= before, "a process was left behind"


def test_both_modes_collect_all_pages_that_answer(ran: dict[str, RunResult]) -> None:
    for outcome in ran.values():
        assert len(outcome.collected) == SMALL.pages
        assert outcome.failed == SMALL.urls - SMALL.pages > 0
        assert outcome.collected == sorted(outcome.collected)
        assert 0 < outcome.collected[0] <= outcome.collected[-1] <= outcome.seconds
    assert ran[STATIC].bytes == ran[DYNAMIC].bytes > 0


def test_the_time_of_the_processes_is_accounted_for(ran: dict[str, RunResult]) -> None:
    assert set(ran) == {DYNAMIC, STATIC}
    for outcome in ran.values():
        parts = outcome.network + outcome.extraction + outcome.waiting
        assert parts == pytest.approx(outcome.processes * outcome.seconds, rel=0.05)
        assert outcome.network >= outcome.failed * SMALL.timeout
        assert outcome.extraction > 0
        assert outcome.uniqueness > 0


def test_a_run_may_end_before_all_pages_are_collected() -> None:
    with closing(ServerProcess(SMALL)) as server, closing(Crew(SMALL, server.port, 2)) as crew:
        assert [len(crew.run(mode, most=10).collected) for mode in (DYNAMIC, STATIC)] == [10, 10]
        assert crew.run(DYNAMIC, seconds=0.0).collected == []


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    program = (
        "from contextlib import closing\n"
        "from gossamer.laboratory.reproduce.scheduling.modes import Crew\n"
        "from gossamer.laboratory.reproduce.scheduling.server import ServerProcess\n"
        "from gossamer.laboratory.reproduce.scheduling.web import ExperimentWeb\n"
        "web = ExperimentWeb(2000, 1.0, sites=8, dead=2)\n"
        "with closing(ServerProcess(web)) as server, closing(Crew(web, server.port, 2)) as crew:\n"
        "    print('ready', flush=True)\n"
        "    crew.run('dynamic')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        theirs = children(process.pid)
        assert len(theirs) == 3
        process.send_signal(signal.SIGINT)
        process.wait(WITHIN)
    wait_for(lambda: not any(map(alive, theirs)), "the processes of the crew end")


# --- the finding ---------------------------------------------------------------------------------------------


def test_the_finding_has_the_papers_figures_next_to_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A four-hundredth of the pages, at a hundredth of the times."""
    size = ExperimentSize(part=400, runs=1, scale=100.0, processes=(1, 2))
    monkeypatch.setattr(
        ExperimentSize, "web", lambda self, pages, seed: ExperimentWeb(max(16, pages // self.part), 100.0, 8, 2, seed)
    )
    shown: list[tuple[str, float]] = []
    with Bench(1, show=lambda what, part: shown.append((what, part))) as bench:
        lab = Lab(bench, [Subject(make(pages=50, seed=1))], Crawls())
        found = finding.reproduced(lab, size)
    tables = {table.name: table for table in found.tables}
    assert len(tables) == 6
    assert [row[0] for row in tables["table-001-time"].rows] == list(paper.TABLE_001_2)
    for row in tables["table-001-time"].rows:
        assert row[6] == pytest.approx(float(str(row[4])) / float(str(row[2])))
    assert [row[0] for row in tables["table-001-timeouts"].rows] == [5, 15, 45]
    for _, network, extraction, waiting, _ in tables["table-001-components"].rows:
        assert float(str(network)) + float(str(extraction)) + float(str(waiting)) == pytest.approx(1, abs=0.05)
    assert [plot.name for plot in found.plots] == ["fig-001-5", "fig-001-6", "fig-001-7"]
    assert all(0 <= part <= 1 for _, part in shown)
    assert shown
    assert as_json(found)["finding"] == "table-001"
