"""A clock that was wrong: corrected for the rest, marked for the past, found by verify; and no wait ever changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.clock import EARLIEST, RealClock
from gossamer.base.model import Ask, Outcome, State
from gossamer.base.outcomes import FOR_GOOD
from gossamer.collection.layout import shard_folder
from gossamer.collection.runs import CLOCK, read_reckoning
from gossamer.crawler import timekeeper
from gossamer.crawler.parts import PARTS
from gossamer.crawler.timekeeper import HELD
from gossamer.gatherer.reader import Reader
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.read.verify.verify import verify
from gossamer.webs.simulated import Reply
from tests.support.machine import Machine
from tests.support.reading import committed
from tests.support.world import World, impolite, state_of

HOSTS = [f"http://s{n}.example/" for n in range(3)]
QUICK = ("harvester.wait=2s", "harvester.wait_large=2s")
NOW, YEAR = 1_790_000_000.0, 365 * 86_400.0


def chain(url: str) -> Reply:
    """Sites of a start page and thirty others."""
    host = url[: url.index("/", 8) + 1]
    return Reply(links=[f"{host}{n}" for n in range(30)])


class Setting:
    """Answers, and sets the clock of the machine after so many requests."""

    def __init__(self, machine: Machine, after: int, seconds: float) -> None:
        self.machine, self.left, self.seconds = machine, after, seconds

    def __call__(self, url: str) -> Reply:
        self.left -= 1
        if self.left == 0:
            self.machine.set(self.seconds)
        return chain(url)


@pytest.mark.parametrize("wrong", [-50 * YEAR, -3600.0, 4 * YEAR], ids=["1970s", "an hour behind", "ahead"])
def test_a_clock_that_was_wrong_is_corrected_for_the_rest_and_marked_for_the_past(tmp_path: Path, wrong: float) -> None:
    machine = Machine(wall=NOW + wrong)
    world = World(tmp_path, Setting(machine, 30, -wrong), QUICK, clock=machine)
    result = world.run(HOSTS)
    assert len(result.in_state(State.DONE)) == 93
    effects = committed(tmp_path)
    marks = [e for e in effects if e.clock]
    assert [e.clock for e in marks] == [-wrong]
    before = np.concatenate([e.visits["time"] for e in effects if e.tick <= marks[0].tick])
    after = np.concatenate([e.visits["time"] for e in effects if e.tick > marks[0].tick])
    assert len(before) > 20
    assert len(after) > 20
    begun = NOW - 1
    assert (abs(before - wrong - begun) < 1000).all(), "by the wrong clock, off by what is marked"
    assert (abs(after - begun) < 1000).all(), "by the right one"
    assert abs(machine.wall() - machine.shown()) <= 1.0
    assert state_of(world.replayed()) == state_of(result.crawl.desk)
    report = verify(tmp_path, quick=True)
    assert [str(fault) for fault in report.findings if fault.file != "crawl.toml"] == [], "a simulated crawl has none"
    (note,) = [note for note in report.notes if "The clock was wrong" in note]
    assert f"Add {-wrong:+.0f} seconds" in note
    assert f"ticks 1 to {marks[0].tick}" in note
    database = Database(find(tmp_path), world.settings)
    assert database.run("select tick, clock from stored.ticks where clock is not null") == [(marks[0].tick, -wrong)]
    assert not impolite(world.asked, 2.0, 1.0)


def test_a_clock_that_is_set_for_a_moment_is_not_followed(tmp_path: Path) -> None:
    machine = Machine(wall=NOW)

    def reply(url: str) -> Reply:
        if abs(machine.ahead_of_wall()) > 1:
            machine.set(-machine.ahead_of_wall())
        elif len(world.asked) == 20:
            machine.set(YEAR)
        return chain(url)

    world = World(tmp_path, reply, QUICK, clock=machine)
    world.run(HOSTS)
    assert not any(e.clock for e in committed(tmp_path))
    assert HELD > 2.0


def test_a_clock_that_shows_a_time_before_this_program_existed_is_not_followed(tmp_path: Path) -> None:
    machine = Machine(wall=NOW)
    world = World(tmp_path, Setting(machine, 20, EARLIEST - NOW - 1000), QUICK, clock=machine)
    world.run(HOSTS)
    assert not any(e.clock for e in committed(tmp_path))


WAITS = (
    Reply(outcome=Outcome.TOO_MANY_REQUESTS, status=429, retry_after=120.0),
    Reply(outcome=Outcome.SERVER_ERROR, status=503, retry_after=300.0),
    Reply(outcome=Outcome.CONNECT_FAILED),
)


def grumpy(url: str, begun: dict[str, int]) -> Reply:
    """Some pages make us wait at their first request."""
    if url.endswith("robots.txt"):
        return Reply()
    count = begun[url] = begun.get(url, 0) + 1
    number = sum(url.encode()) % 7
    return WAITS[number % 3] if number < 3 and count == 1 else chain(url)


@settings(max_examples=5, deadline=None)
@given(after=st.integers(3, 35), by=st.sampled_from([-5 * YEAR, -100.0, 100.0, 5 * YEAR]))
def test_no_wait_changes_when_the_clock_is_followed(
    after: int, by: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Pages that make us wait are requested again after the same time as if nobody had touched the clock."""
    gaps = []
    for seconds in (0.0, by):
        machine, begun = Machine(wall=NOW), dict[str, int]()
        setting = Setting(machine, after, seconds)

        def reply(url: str, setting: Setting = setting, begun: dict[str, int] = begun) -> Reply:
            setting(url)
            return grumpy(url, begun)

        folder = tmp_path_factory.mktemp("clock")
        world = World(folder, reply, [*QUICK, "harvester.retry=60s"], clock=machine)
        world.run(HOSTS, seconds=700.0, patience=600.0)
        assert not impolite(world.asked, 2.0, 1.0)
        assert sum(e.clock for e in committed(folder)) == pytest.approx(seconds, abs=1.0)
        twice = [url for url, count in begun.items() if count == 2 and url.count("/") == 3]
        starts = {url: [a.start for a in world.asked if a.url == url] for url in twice}
        gaps.append({url: second - first for url, (first, second) in starts.items()})
    both = gaps[0].keys() & gaps[1].keys()
    assert len(both) > 5
    assert all(gap >= 60.0 for gap in gaps[1].values())
    later = [gaps[1][url] - gaps[0][url] for url in both]
    assert max(map(abs, later)) < 60.0, "another order of the pages makes a difference of seconds"


class Killed(BaseException):
    pass


STEPS = ("commit", "before clock.json", "tell_time", "after")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("by", [-5 * YEAR, 5 * YEAR], ids=["back", "forward"])
def test_a_kill_at_any_point_of_a_correction_loses_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, by: float
) -> None:
    machine = Machine(wall=NOW)
    busy = Reply(outcome=Outcome.TOO_MANY_REQUESTS, status=429, retry_after=1000.0)

    def reply(url: str) -> Reply:
        return busy if url == HOSTS[0] and not any(a.url == url for a in world.asked[:-1]) else chain(url)

    world = World(tmp_path, reply, [*QUICK, "harvester.retry=60s"], clock=machine)
    world.run(HOSTS, turns=60, clean=False, commit=True)
    machine.set(by)

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        if step == "commit":
            patch.setattr(timekeeper, "commit", killed)
        elif step == "before clock.json":
            patch.setattr(timekeeper, "write_reckoning", killed)
        elif step == "tell_time":
            patch.setattr("gossamer.webs.simulated.SimulatedWeb.tell_time", killed)
        if step == "after":
            world.run(turns=400, clean=False)
        else:
            with pytest.raises(Killed):
                world.run(turns=400, clean=False)
            now = machine.monotonic()
            world.asked[:] = [replace(a, end=min(a.end, now)) for a in world.asked]
    world.run(patience=2000.0, seconds=4000.0)
    first, second = [a for a in world.asked if a.url == HOSTS[0] and a.ask is Ask.PAGE]
    assert 1000.0 <= second.start - first.end < 1300.0
    assert not impolite(world.asked, 2.0, 1.0)
    found = read_reckoning(shard_folder(tmp_path))
    assert found is not None
    assert found.corrected == by
    assert (shard_folder(tmp_path) / CLOCK).exists()


def test_every_column_with_a_wall_time_moves_with_the_clock() -> None:
    """A new part cannot forget it: each double is a time that moves, unless it is listed here."""
    durations: set[str] = set()
    doubles = {
        f"{g}.{c}" for part in PARTS for g, cs in part.columns.items() for c, kind in cs.items() if kind == "<f8"
    }
    moving = {name for part in PARTS for name in part.times}
    assert doubles - moving == durations
    assert moving - doubles == {"page.due"}


def test_times_without_end_and_times_that_never_were_stay(tmp_path: Path) -> None:
    world = World(tmp_path, chain, QUICK)
    desk = world.run(HOSTS, turns=20).crawl.desk
    desk.columns.site.next[:3] = 0.0, FOR_GOOD, 1_600_000_000.5
    desk.columns.page.due[:3] = 0, 1_600_000_000, 2**32 - 5
    desk.correct(100.0)
    assert desk.columns.site.next[:3].tolist() == [0.0, FOR_GOOD, 1_600_000_100.5]
    assert desk.columns.page.due[:3].tolist() == [0, 1_600_000_100, 2**32 - 1]
    assert desk.corrected == 100.0


def test_a_worker_dates_its_records_by_the_clock_of_the_desk() -> None:
    reader = Reader(World(Path(), {}).settings, 1)
    real = RealClock()
    assert reader.clock.wall() == pytest.approx(real.wall(), abs=1.0)
    real.correct(-YEAR)
    reader.clock.ahead = real.ahead
    assert reader.clock.wall() == pytest.approx(real.shown() - YEAR, abs=1.0)
