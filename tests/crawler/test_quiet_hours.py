"""In quiet hours nothing is requested: no page, no robots.txt, no errand; days of a crawl under the virtual clock."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gossamer.base.ending import Ending
from gossamer.base.model import Ask
from gossamer.cli.status_text import awaited_of, next_of
from gossamer.config import Settings, override
from gossamer.config.quiet import QuietHours
from gossamer.harvester.clocks import BEFORE_QUIET
from gossamer.harvester.harvest import Harvest
from gossamer.observe.statistics import Awaited, Run, Statistics
from gossamer.read.explain.text import clock_lines
from gossamer.robots import Rules
from gossamer.webs.checker import Fault, Request, check
from gossamer.webs.simulated import Reply, Sitemaps
from tests.support.machine import Machine
from tests.support.statistics import statistics
from tests.support.world import World, impolite

A = "http://a.example/"
ROME = "Europe/Rome"
BEGIN = datetime(2026, 10, 24, 21, 50, tzinfo=ZoneInfo(ROME)).timestamp()
"""The evening before the clocks go back."""
SETTINGS = (
    "harvester.quiet_hours=22:00-06:00 Europe/Rome,06:10-21:50 Europe/Rome",
    "harvester.wait=50s",
    "harvester.wait_large=50s",
    "harvester.robots_valid=5h",
    "seeder.sitemaps=true",
    "seeder.domains=example",
)


def web(count: int = 30) -> dict[str, Reply]:
    pages = {f"{A}p{i}": Reply(digest=10 + i) for i in range(count)}
    return {
        A: Reply(links=[*pages], digest=1),
        f"{A}robots.txt": Reply(sitemaps=Sitemaps([f"{A}sitemap.xml"]), rules=Rules.parse(b"", "Gossamer").compiled()),
        f"{A}sitemap.xml": Reply(links=[f"{A}listed"]),
        f"{A}listed": Reply(digest=3),
        **pages,
    }


def test_nothing_is_requested_in_quiet_hours_also_after_kills(tmp_path: Path) -> None:
    """Days and nights, of which one has nine hours; a kill in the evening, and one at night."""
    world = World(tmp_path / "c", web(), SETTINGS, clock=Machine(wall=BEGIN))
    shift = BEGIN - world.clock.monotonic()
    world.run([A], clean=False, turns=40, commit=True)
    assert not world.run(clean=False, turns=50, commit=True).ending
    assert world.run().ending is Ending.DONE
    quiet = QuietHours.of(world.settings.harvester.quiet_hours, "")
    starts = sorted(asked.start + shift for asked in world.asked)
    assert [start for start in starts if quiet.at(start)] == []
    assert {Ask.PAGE, Ask.ROBOTS, Ask.SITEMAP} <= {asked.ask for asked in world.asked}
    assert len({asked.url for asked in world.asked} & web().keys()) == len(web()), "nothing is forgotten"
    waits = [later - sooner for sooner, later in pairwise(starts)]
    nights = sorted(round(wait / 3600) for wait in waits if wait > 3 * 3600)
    assert nights[:3] == [8, 9, 16], "the clocks went back in the first night"
    assert impolite(world.asked, 50.0, 1.0) == []


def test_requests_that_are_handed_out_ahead_respect_them(tmp_path: Path) -> None:
    """A hand-out at the last moment reaches no further than into the second before it is quiet."""
    begin = datetime(2026, 7, 1, 21, 59, 0, tzinfo=ZoneInfo(ROME)).timestamp()
    changes = ("harvester.quiet_hours=22:00-06:00", f"harvester.time_zone={ROME}", "harvester.wait=1s")
    world = World(tmp_path / "c", web(90), changes, clock=Machine(wall=begin))
    shift = begin - world.clock.monotonic()

    def further(self: Harvest, most: int, ahead: float = 0.0, early: int = 0) -> None:
        hand_out(self, most, 20.0, 50)

    hand_out = Harvest.hand_out
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Harvest, "hand_out", further)
        world.run([A], turns=400)
    starts = [asked.start + shift - begin for asked in world.asked]
    assert 40 < max(each for each in starts if each < 3600) < 60 - BEFORE_QUIET + 0.01


def test_what_is_shown_says_that_it_is_quiet() -> None:
    found: Statistics = statistics()
    run = Run(awaited=Awaited(0, 3, "a.example", 7.0, BEGIN))
    found = type(found)(**{name: getattr(found, name) for name in found.__slots__} | {"run": run})
    assert awaited_of(found).startswith("quiet until 2026-10-24")
    assert next_of(found) == ""


def test_the_checker_accuses_requests_in_quiet_hours() -> None:
    settings = override(Settings(), [*SETTINGS, "harvester.contact=me@a.test", "harvester.connect_timeout=10s"])
    night = datetime(2026, 10, 25, 22, 0, tzinfo=ZoneInfo(ROME)).timestamp()
    agent = "Gossamer/1 (+me@a.test)"

    def faults(start: float) -> set[Fault]:
        request = Request(
            start, start + 1, "192.0.2.1", "a.example", "/robots.txt", 200, agent=agent, sender="me@a.test"
        )
        return {each.kind for each in check([request], settings, lambda _: b"").violations}

    assert faults(night - 0.1) == faults(night + 9.9) == faults(night + 8 * 3600) == set()
    assert faults(night + 10.1) == faults(night + 8 * 3600 - 1) == {Fault.QUIET}
    assert faults(5_000.0) == set(), "no wall time"


def test_explain_says_until_when_it_is_quiet() -> None:
    clock = {"name": "a.example", "www": False, "pages": 1, "pending": 1, "requests": 0, "address": None, "next": None}
    clock |= {"now": True, "words": "", "wait": 15.0, "pace": "polite", "failures": 0, "factor": 1.0}
    lines = list(clock_lines(clock, None, BEGIN, BEGIN + 3600))  # type: ignore[arg-type]
    assert any("quiet hours until 2026-10-24" in line and "harvester.quiet_hours" in line for line in lines)
    assert not any("may be requested now" in line for line in lines)
