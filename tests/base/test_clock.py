"""Clocks: whether they are set, the machine sleeps or the crawl is killed, no site is requested early."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.clock import RealClock, Reckoning
from gossamer.base.model import Ask, Outcome, State
from gossamer.collection.layout import shard_folder
from gossamer.collection.runs import CLOCK, read_reckoning
from gossamer.crawler.watch import check_clock
from gossamer.web.fetch.response import retry_after
from gossamer.webs.simulated import Asked, Reply
from tests.support.machine import Machine
from tests.support.world import World, impolite

ROOT = "http://a.example/"
YEAR = 365 * 86_400.0


class RecordingMachine(Machine):
    """A machine that records the true time, which no program on it knows: it maps monotonic times to true ones."""

    def __init__(self) -> None:
        super().__init__()
        self.naps: list[tuple[float, float]] = []

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.naps.append((self.monotonic(), seconds))

    def reboot(self, seconds: float) -> None:
        super().reboot(seconds)
        self.naps.append((self.monotonic(), seconds))

    def true(self, monotonic: float) -> float:
        return monotonic + sum(seconds for at, seconds in self.naps if at < monotonic)

    def truly(self, asked: list[Asked]) -> list[Asked]:
        return [replace(a, start=self.true(a.start), end=self.true(a.end)) for a in asked]


STEPS = st.lists(
    st.tuples(st.sampled_from(["advance", "sleep", "set", "reboot", "open"]), st.floats(-2 * YEAR, 2 * YEAR)),
    min_size=1,
    max_size=30,
)


@settings(max_examples=200, deadline=None)
@given(steps=STEPS)
def test_wall_time_never_goes_back_in_a_run_or_between_two(steps: list[tuple[str, float]]) -> None:
    clock = Machine()
    reckoning, last = clock.go_on(None, 0.0), clock.wall()
    for step, seconds in steps:
        before, boot = clock.wall(), clock.boot()
        if step == "open":
            reckoning = clock.go_on(reckoning, last)
        elif step == "set":
            clock.set(seconds)
        elif step == "reboot":
            clock.reboot(abs(seconds))
            clock.set(seconds)
            reckoning = clock.go_on(reckoning, last)
        else:
            getattr(clock, step)(abs(seconds))
            assert clock.wall() - before == pytest.approx(abs(seconds), abs=1e-3)
        if clock.boot() == boot and step in ("open", "set"):
            assert clock.wall() == pytest.approx(before, abs=1e-3)
        assert clock.wall() >= last - 1e-3
        last = max(last, clock.wall())


def test_the_real_clock_counts_from_the_boot_and_continues_the_former_time() -> None:
    clock = RealClock()
    assert abs(clock.wall() - clock.shown()) < 1.0
    assert clock.boot()
    yesterday = Reckoning(clock.boot(), clock.shown() - clock.since_boot() - 86_400)
    assert clock.go_on(yesterday, 0.0) == yesterday
    assert clock.shown() - clock.wall() == pytest.approx(86_400, abs=1.0)
    assert clock.go_on(replace_boot(yesterday), 0.0).ahead == pytest.approx(yesterday.ahead + 86_400, abs=1.0)
    tomorrow = clock.shown() + 86_400
    clock.go_on(replace_boot(yesterday), tomorrow)
    assert clock.wall() == pytest.approx(tomorrow, abs=1.0)


def replace_boot(reckoning: Reckoning) -> Reckoning:
    return reckoning._replace(boot="another")


def test_a_change_of_the_system_clock_is_reported_once() -> None:
    said: list[str] = []
    events: list[float] = []
    clock = Machine()

    def warn(name: str, message: str, seconds: float) -> None:
        said.append(message)
        events.append(seconds)

    for seconds in (0.0, 0.5, -3600.0, 0.0, 3600.0 - 0.5):
        clock.set(seconds)
        for _ in range(2):
            clock.advance(10.0)
            clock.sleep(100.0)
            check_clock(clock, SimpleNamespace(warn=warn))  # type: ignore[arg-type]
    assert events == [-3599.5, 0.0]
    assert "by -59 min 60 s;" in said[0] or "by -1 h 00 min;" in said[0]
    assert len(said) == 2


def web_of(rng: Random, hosts: list[str]) -> dict[str, list[Reply]]:
    """The responses of each page, in order; some ask us to wait first."""
    busy = Reply(outcome=Outcome.TOO_MANY_REQUESTS, status=429, retry_after=40.0, seconds=0.1)
    return {
        f"http://{host}/{n}": [busy, Reply(seconds=0.1)] if rng.random() < 0.2 else [Reply(seconds=0.1)]
        for host in hosts
        for n in range(6)
    }


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_site_is_requested_early_however_the_clock_is_set_the_machine_sleeps_and_the_crawl_is_killed(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng, machine = Random(seed), RecordingMachine()
    hosts = [f"s{i}.example" for i in range(3)]
    web = web_of(rng, hosts)
    left = {url: list(replies) for url, replies in web.items()}

    def disturb() -> None:
        if rng.random() < 0.5:
            machine.set(rng.choice([-YEAR, -60.0, 60.0, YEAR]))
        else:
            machine.sleep(60.0)

    def reply(url: str) -> Reply:
        if rng.random() < 0.1:
            disturb()
        if url not in left:
            return Reply(outcome=Outcome.NOT_FOUND, status=404, seconds=0.05)
        return left[url].pop(0) if len(left[url]) > 1 else left[url][0]

    folder = tmp_path_factory.mktemp("clocks")
    changes = ["harvester.wait=5s", "harvester.retry=30s"]
    world = World(folder, reply, changes, clock=machine, address=lambda host: f"192.0.2.{hosts.index(host)}")
    for _ in range(5):
        world.run(list(web), turns=rng.randrange(1, 60), clean=rng.random() < 0.3)
        if rng.random() < 0.3:
            machine.set(machine.wall() - machine.shown())  # set forward during a boot: this cannot be detected
            machine.reboot(rng.choice([10.0, 1000.0]))
            machine.set(rng.choice([0.0, -YEAR]))
        elif rng.random() < 0.7:
            disturb()
    result = world.run(list(web), patience=300.0, seconds=5000.0)
    assert result.in_state(State.DONE) == set(web), "and none is starved"
    cut = [a if a.end - a.start > 0.1 - 1e-6 else replace(a, retry_after=-1.0) for a in world.asked]
    assert impolite(machine.truly(cut), 5.0, 1.0) == []


@pytest.mark.parametrize("seconds", [-YEAR, YEAR], ids=["back", "forward"])
@pytest.mark.parametrize("when", ["in a run", "between runs"])
def test_setting_the_system_clock_by_a_year_changes_nothing(tmp_path: Path, seconds: float, when: str) -> None:
    """A page that failed is retried when it is due, neither sooner nor later."""
    failing = [Reply(outcome=Outcome.SERVER_ERROR, status=503, retry_after=100.0), Reply()]
    world = World(tmp_path, {}, ["harvester.retry=200s"])

    def reply(url: str) -> Reply:
        if url != ROOT:
            return Reply(outcome=Outcome.NOT_FOUND, status=404)
        if when == "in a run":
            world.clock.set(seconds)
        return failing.pop(0)

    world.replies = reply
    if when == "between runs":
        world.run([ROOT], turns=40, clean=False)
        assert len(failing) == 1
        world.clock.set(seconds)
    assert world.run([ROOT], patience=300.0).in_state(State.DONE) == {ROOT}
    first, second = [a for a in world.asked if a.ask is Ask.PAGE]
    assert 200.0 <= second.start - first.end < 205.0


def test_after_a_boot_with_a_clock_set_back_waits_end_on_time(tmp_path: Path) -> None:
    busy = [Reply(outcome=Outcome.TOO_MANY_REQUESTS, status=429, retry_after=100.0), Reply()]
    world = World(tmp_path, {}, ["harvester.retry=30s"])
    world.replies = lambda url: busy.pop(0) if url == ROOT else Reply(outcome=Outcome.NOT_FOUND, status=404)
    world.run([ROOT], turns=40, clean=False)
    world.clock.reboot(10.0)
    world.clock.set(-YEAR)
    assert world.run([ROOT], patience=300.0).in_state(State.DONE) == {ROOT}
    first, second = [a for a in world.asked if a.ask is Ask.PAGE]
    assert 100.0 <= second.start - first.end < 200.0


def test_a_retry_after_date_is_relative_to_the_date_of_the_response() -> None:
    until, said = "Tue, 17 Nov 2026 05:10:00 GMT", "Tue, 17 Nov 2026 05:00:00 GMT"
    assert retry_after(until, date=said) == 600.0
    assert retry_after(until, now=0.0, date=said) == 600.0, "however wrong our clock is"
    assert retry_after(said, date=until) == 0.0
    assert retry_after(until, now=1_794_892_200.0 - 30.0, date="yesterday") == 30.0
    assert retry_after("120", date=said) == 120.0


@pytest.mark.parametrize("text", [None, b"", b"{", b"[]", b'{"boot": "x"}', b'{"boot": "x", "ahead": null}'])
def test_an_unreadable_reckoning_is_treated_like_a_boot(tmp_path: Path, text: bytes | None) -> None:
    world = World(tmp_path, {ROOT: Reply()})
    world.run([ROOT], pages=1)
    path = shard_folder(tmp_path) / CLOCK
    assert read_reckoning(path.parent) == Reckoning(world.clock.boot(), world.clock.wall() - world.clock.since_boot())
    path.unlink()
    if text is not None:
        path.write_bytes(text)
    assert read_reckoning(path.parent) is None
    world.clock.set(1000.0)
    wall = world.clock.shown()
    assert world.run().in_state(State.DONE) == {ROOT}
    assert world.clock.wall() >= wall
