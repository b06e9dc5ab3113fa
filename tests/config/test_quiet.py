"""Quiet hours: spans of the day, zones, daylight saving."""

from __future__ import annotations

import math
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.config import Settings, override
from gossamer.config.quiet import MINUTE, QuietHours, Span

ROME, LORD_HOWE = "Europe/Rome", "Australia/Lord_Howe"  # the latter's daylight saving is half an hour
times = st.tuples(st.integers(0, 23), st.integers(0, 59))
zones = st.sampled_from([ROME, LORD_HOWE, "UTC", "Asia/Kathmandu", "America/Santiago"])
walls = st.floats(1.6e9, 2.0e9) | st.integers(-3, 3).map(lambda hours: 1_603_587_600.0 + 3600 * hours)  # Rome goes back


def wall_of(text: str, zone: str, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


@given(times, times, zones, walls)
@settings(max_examples=200, deadline=None)
def test_a_moment_is_quiet_exactly_if_a_clock_of_its_zone_shows_it(
    first: tuple[int, int], last: tuple[int, int], zone: str, wall: float
) -> None:
    if first == last:
        return
    quiet = QuietHours.of([f"{first[0]}:{first[1]:02d}-{last[0]:02d}:{last[1]:02d} {zone}"], "")
    local = datetime.fromtimestamp(wall, ZoneInfo(zone))
    shown = (local.hour, local.minute)
    assert quiet.at(wall) == (first <= shown < last if first < last else shown >= first or shown < last)
    assert (quiet.rest(wall) > 0) == quiet.at(wall) == (quiet.left(wall) == 0)


@given(times, times, zones, walls, st.lists(st.floats(0, 1), max_size=5))
@settings(max_examples=60, deadline=None)
def test_nothing_changes_before_the_next_change(
    first: tuple[int, int], last: tuple[int, int], zone: str, wall: float, between: list[float]
) -> None:
    if first == last:
        return
    quiet = QuietHours.of([f"{first[0]}:{first[1]:02d}-{last[0]:02d}:{last[1]:02d}"], zone)
    now, seconds = quiet.at(wall), quiet.rest(wall) or quiet.left(wall)
    assert 0 < seconds <= 2 * 86_400
    assert quiet.at(wall + seconds + 0.001) != now
    for part in between:
        assert quiet.at(wall + part * (seconds - 0.001)) == now
        assert (quiet.rest(wall + part * (seconds - 0.001)) > 0) == now


def test_a_night_is_as_long_as_the_clocks_say() -> None:
    quiet = QuietHours.of(["22:00-06:00"], ROME)
    assert quiet.rest(wall_of("2026-01-10 22:00", ROME)) == 8 * 3600
    assert quiet.rest(wall_of("2026-03-28 22:00", ROME)) == 7 * 3600
    assert quiet.rest(wall_of("2026-10-24 22:00", ROME)) == 9 * 3600
    assert quiet.left(wall_of("2026-10-25 06:00", ROME)) == 16 * 3600
    assert quiet.rest(wall_of("2026-10-25 06:00", ROME) - 0.5) == 0.5
    early = QuietHours.of(["02:15-02:45"], ROME)  # twice in one night, and not at all in another
    assert early.rest(wall_of("2026-10-25 02:15", ROME)) == early.rest(wall_of("2026-10-25 02:15", ROME, 1)) == 1800
    assert early.left(wall_of("2026-03-28 02:45", ROME)) == 2 * 86_400 - 1800 - 3600


def test_several_spans_join_and_each_may_have_its_zone() -> None:
    quiet = QuietHours.of(["12:00-13:00", "13:00-14:00", "20:00-21:00 UTC"], ROME)
    assert quiet.rest(wall_of("2026-07-01 12:30", ROME)) == 5400
    assert quiet.at(wall_of("2026-07-01 22:30", ROME))
    none = QuietHours.of([], "")
    assert (none.at(0.0), none.rest(1e9), none.left(1e9)) == (False, 0.0, math.inf)
    assert QuietHours([Span(0, 1440, ZoneInfo("UTC"))]).rest(MINUTE) > 86_400


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("22-06", "is not a span of time: write it like 22:00-06:00"),
        ("25:00-06:00", "is not a span of time"),
        ("22:00-06:61", "is not a span of time"),
        ("22:00-24:30", "has no end"),
        ("22:00-22:00", "has no end"),
        ("00:00-24:00", "has no end"),
        ("22:00-06:00 Mars/Base", "'Mars/Base' is not a time zone"),
        ("06:00-22:00,22:00-06:00", "every minute of the day is quiet"),
    ],
)
def test_a_span_that_is_none_is_refused(value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        override(Settings(), [f"harvester.quiet_hours={value}"])
