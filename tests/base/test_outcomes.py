"""The tables of outcomes and of suspended sites: the crawl does what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gossamer.base.outcomes import ASIDE, DAY, FOR_GOOD, RETRY, TREATMENTS, TRIES, Again, Aside, Outcome, Treatment
from gossamer.collection.journal.effects import SiteEvent
from gossamer.collection.tables.forms import Word
from gossamer.observe.measure import statistics_of, waits_until
from gossamer.observe.statistics import Waiting
from gossamer.tools.reference import reference
from gossamer.webs.simulated import SimulatedNames
from tests.support.timing import COMMAND
from tests.support.world import World

LEARN = """
from dataclasses import replace
from types import SimpleNamespace
import numpy as np
from gossamer.base import outcomes
from gossamer.base.outcomes import Outcome, TREATMENTS
TREATMENTS[Outcome.WORKER_LOST] = replace(TREATMENTS[Outcome.WORKER_LOST], after=60.0, tries=2)
from gossamer.crawler.parts import new_columns
from gossamer.manager.learn import LearnLimits, learn, new_counts
from gossamer.manager.policies import new_totals
from gossamer.manager.strategies import strategy_named
from gossamer.base.model import VISIT
columns = new_columns(4, 4)
columns.page.count = columns.site.count = columns.origin.count = 1
nothing = np.zeros(0, np.uint32), np.zeros(0, np.uint8)
for outcome in (Outcome.TIMED_OUT, Outcome.WORKER_LOST):
    columns.page.tries[0], columns.page.state[0] = 0, 1
    for _ in range(2):
        visits = np.zeros(1, VISIT).view(np.recarray)
        visits["outcome"], visits["time"] = outcome, 1000.0
        limits = LearnLimits(9, 9, 500.0, 5)
        learn(columns, strategy_named("opic"), new_totals(), new_counts(), visits, *nothing, limits)
        print(int(columns.page.state[0]), int(columns.page.due[0]))
"""


def test_the_table_decides_when_and_how_often_a_page_is_retried() -> None:
    """With a changed table, and uncompiled kernels: the compiled ones contain the original table."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LEARN], capture_output=True, text=True, env=environment, timeout=COMMAND
    )
    assert done.stdout.splitlines() == ["1 1500", "1 1500", "1 1060", "2 1000"], done.stderr


def test_a_treatment_without_its_own_numbers_uses_the_settings() -> None:
    own, usual = Treatment("", Again.LATER, after=60.0, tries=2), Treatment("", Again.LATER)
    assert (own.pause(500.0), own.most(5)) == (60.0, 2)
    assert (usual.after, usual.tries) == (RETRY, TRIES)
    assert (usual.pause(500.0), usual.most(5)) == (500.0, 5)
    assert all(TREATMENTS[outcome].sentence.endswith(".") for outcome in Outcome)


def test_each_pause_of_a_site_follows_the_table() -> None:
    names, robots, address = (
        ASIDE[why] for why in (Aside.NAME_FAILED, Aside.ROBOTS_UNREADABLE, Aside.FORBIDDEN_ADDRESS)
    )
    assert [names.until(10.0, times) for times in (1, 2, 3, 250)] == [10 + DAY, 10 + 7 * DAY, FOR_GOOD, FOR_GOOD]
    assert [robots.until(0.0, times, 1000.0) for times in (1, 2, 3)] == [300, 600, 1000]
    assert [address.until(0.0, times) for times in (1, 2, 3)] == [DAY, 7 * DAY, 7 * DAY]
    assert names.lasts == "1d, then 7d, then permanently"
    assert robots.lasts == "5min, then twice as long each time, up to harvester.retry"


@pytest.mark.slow
def test_a_dead_name_is_retried_after_a_day_once_more_after_a_week_and_then_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    world = World(tmp_path, {}, address=lambda host: None)
    ask = SimulatedNames.ask

    def noted(names: SimulatedNames, site: int, host: str) -> None:
        asked.append(world.clock.wall())
        ask(names, site, host)

    monkeypatch.setattr(SimulatedNames, "ask", noted)
    result = world.run(["http://dead.example/"])
    for _ in range(30):
        world.clock.advance(DAY)
        result = world.run()
    days = np.round(np.diff(asked) / DAY).tolist()
    assert [gap for gap in days if gap] == [1, 7]
    desk = result.crawl.desk
    waiting = statistics_of(desk, world.clock.wall()).pages.why.waiting
    assert waiting == {"site: name_failed": Waiting(1, None, None)}
    assert waits_until(desk, world.clock.wall()) == "", "nothing will ever be due"


def test_the_reference_prints_both_tables() -> None:
    text = reference()
    assert "| yes | `harvester.retry` | `harvester.tries` | yes | after 10 in a row |" in text
    assert "| at once | the next turn of its site | unlimited | no | no |" in text
    assert "| 1d, then 7d, then permanently |" in text


def test_a_renamed_word_can_still_be_read() -> None:
    import pyarrow as pa

    old = pa.array(["address_refused", "forbidden_address", "resolved"]).dictionary_encode()
    assert Word(SiteEvent).read(old).tolist() == [3, 3, 1]
    written = Word(SiteEvent).write({"event": np.array([3, 1], np.uint8)}, "event")
    assert written.to_pylist() == ["forbidden_address", "resolved"]
    assert Aside["ADDRESS_FORBIDDEN"].word == Outcome.FORBIDDEN_ADDRESS.word == "forbidden_address"
