"""Rates, and an honest estimate of the time left."""

from __future__ import annotations

from typing import Any

from gossamer.observe.progress import Pace
from gossamer.observe.statistics import Progress, Statistics, TimeLeft


def counts(visits: int, known: int, done: int, pending: int, **more: Any) -> Statistics:
    numbers = {"visits": visits, "bytes": visits * 1000, "known": known, "done": done, "pending": pending}
    return Statistics.from_json({**numbers, "run_visits": 1, **more})


def paced(*points: tuple[float, Statistics]) -> Progress:
    pace, progress = Pace(), Progress()
    for now, statistics in points:
        progress = pace.of(statistics, now)
    return progress


def test_the_time_left_is_what_is_pending_at_the_present_pace() -> None:
    found = paced((0, counts(0, 1000, 0, 1000)), (20, counts(200, 1000, 200, 800)))
    assert found.left == TimeLeft(80.0, "what is pending, at this pace")
    rates = paced((0, counts(0, 1000, 0, 1000)), (9, counts(90, 1000, 90, 910))).rates
    assert (rates.visits, rates.bytes, rates.known, rates.settled) == (10.0, 10_000.0, 0.0, 10.0)


def test_the_largest_site_bounds_the_time_left() -> None:
    largest = {"site": "a.example", "pages": 700, "each": 5.0, "seconds": 3500.0}
    found = paced((0, counts(0, 1000, 0, 1000)), (20, counts(200, 1000, 200, 800, largest=largest)))
    assert found.left.seconds == 3500.0
    assert "a.example" in found.left.why


def test_the_time_left_is_unknown_while_more_becomes_known_than_done() -> None:
    found = paced((0, counts(0, 1000, 0, 1000)), (20, counts(200, 1300, 200, 1100)))
    assert found.left.seconds is None
    assert "faster" in found.left.why
    assert paced((0, counts(0, 10, 0, 10))).left.seconds is None


def test_a_run_with_a_limit_ends_no_later_than_that() -> None:
    first, later = counts(0, 1000, 0, 1000), counts(200, 1300, 200, 1100, seconds_left=12.0, pages_left=1000)
    assert paced((0, first), (20, later)).left == TimeLeft(12.0, "the time asked for")


def test_the_start_of_a_run_says_nothing_about_its_pace() -> None:
    start = counts(0, 1000, 0, 1000, run_visits=0)
    assert paced((0, start), (20, counts(200, 1000, 200, 800))).left == TimeLeft(80.0, "what is pending, at this pace")
    assert paced((0, start), (20, start), (29, counts(90, 1000, 90, 910))).rates.visits == 10.0
