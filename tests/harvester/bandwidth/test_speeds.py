"""Speeds of addresses by the hour (`harvester/bandwidth/speeds.py`), and local time and grants
(`harvester/bandwidth/schedule.py`)."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.base.model import NONE, VISIT, Ask
from gossamer.base.units import Speed
from gossamer.config import Settings, override
from gossamer.harvester.bandwidth.schedule import Hours, Moment
from gossamer.harvester.bandwidth.speeds import GUESS, HOURS, SIGMA, K, Speeds, learn

MINUTES = st.floats(0, 1439.99)
SPEEDS = st.integers(1, 10**8)
VISITS = st.lists(st.tuples(SPEEDS, MINUTES, st.booleans(), st.booleans()), min_size=1, max_size=30)


def visit(speeds: Speeds, address: int, speed: float, minute: float, holiday: bool = False, held: bool = False) -> None:
    """Learns from a transfer of ten seconds at this speed."""
    received, seconds = np.array([round(10 * speed)], np.uint64), np.array([10.0])
    learn(speeds.rows, np.array([address], np.uint32), received, seconds, np.array([held]), minute, int(holiday))


def predicted(speeds: Speeds, address: int, minute: float, holiday: bool = False) -> float:
    return float(speeds.predict(np.array([address], np.uint32), Moment(minute, holiday))[0])


@given(VISITS)
@settings(max_examples=50, deadline=None)
def test_a_node_stays_between_its_old_value_and_the_measurement(visits: list[tuple[int, float, bool, bool]]) -> None:
    speeds = Speeds(4)
    for speed, minute, holiday, held in visits:
        before = speeds.rows[2].copy()
        visit(speeds, 1, speed, minute, holiday, held)
        if before[0]:
            low, high = np.minimum(before, speed) * (1 - 1e-6), np.maximum(before, speed) * (1 + 1e-6)
            assert ((low <= speeds.rows[2]) & (speeds.rows[2] <= high)).all()
        assert (speeds.rows[1] == 0).all()


@given(VISITS)
@settings(max_examples=50, deadline=None)
def test_a_throttled_transfer_never_lowers_a_node(visits: list[tuple[int, float, bool, bool]]) -> None:
    speeds = Speeds(1)
    visit(speeds, 0, 1000, 0)
    for speed, minute, holiday, _ in visits:
        before = speeds.rows.copy()
        visit(speeds, 0, speed, minute, holiday, held=True)
        assert (speeds.rows >= before * (1 - 1e-6)).all()


@given(VISITS, MINUTES, st.booleans())
@settings(max_examples=50, deadline=None)
def test_predictions_are_continuous_over_the_day_and_wrap_at_midnight(
    visits: list[tuple[int, float, bool, bool]], minute: float, holiday: bool
) -> None:
    speeds = Speeds(1)
    for speed, time, free, held in visits:
        visit(speeds, 0, speed, time, free, held)
    nodes = speeds.rows[1].reshape(2, HOURS)[int(holiday)]
    steepest = float(np.abs(np.diff(np.append(nodes, nodes[0]))).max()) / 60
    here, soon = predicted(speeds, 0, minute, holiday), predicted(speeds, 0, (minute + 1) % 1440, holiday)
    assert abs(here - soon) <= steepest * 1.001 + 1e-3 * here
    assert predicted(speeds, 0, 0.0, holiday) == pytest.approx(float(nodes[0]))
    assert predicted(speeds, 0, 1439.999, holiday) == pytest.approx(float(nodes[0]), abs=steepest * 0.01 + 1)


@given(SPEEDS, st.lists(st.tuples(MINUTES, st.booleans()), min_size=1, max_size=20), MINUTES, st.booleans())
@settings(max_examples=50, deadline=None)
def test_an_address_that_answers_at_one_speed_is_predicted_at_that_speed(
    speed: int, visits: list[tuple[float, bool]], minute: float, holiday: bool
) -> None:
    speeds = Speeds(3)
    for time, free in visits:
        visit(speeds, 2, speed, time, free)
    assert predicted(speeds, 2, minute, holiday) == pytest.approx(speed, rel=1e-5)


@given(VISITS)
@settings(max_examples=50, deadline=None)
def test_only_nodes_of_the_same_kind_of_day_move(visits: list[tuple[int, float, bool, bool]]) -> None:
    speeds = Speeds(1)
    visit(speeds, 0, 5000, 600)
    for speed, minute, holiday, held in visits:
        before = speeds.rows[1].reshape(2, HOURS)[int(not holiday)].copy()
        visit(speeds, 0, speed, minute, holiday, held)
        assert (speeds.rows[1].reshape(2, HOURS)[int(not holiday)] == before).all()


def test_the_update_is_a_gaussian_of_the_time_to_each_node_across_midnight() -> None:
    speeds = Speeds(1)
    visit(speeds, 0, 1000, 600)
    visit(speeds, 0, 2000, 1410)  # half past eleven at night
    away = np.abs(1410 - 60 * np.arange(24))
    expected = 1000 * (1 + K * np.exp(-(np.minimum(away, 1440 - away) ** 2) / SIGMA**2))
    assert speeds.rows[1, :HOURS].tolist() == pytest.approx(expected.tolist(), rel=1e-6)
    assert speeds.rows[1, 0] == pytest.approx(speeds.rows[1, 23])  # both half an hour away


def test_new_addresses_are_predicted_like_similar_ones() -> None:
    speeds = Speeds(10)
    assert predicted(speeds, NONE, 0) == GUESS
    for number, text in enumerate(["192.0.2.1", "192.0.2.77", "198.51.100.1", "198.51.100.2", "203.0.113.1"]):
        speeds.met(number, bytes(10) + b"\xff\xff" + bytes(map(int, text.split("."))))
    visit(speeds, 0, 1_000, 600)
    visit(speeds, 2, 9_000, 600)
    everyone = predicted(speeds, NONE, 600)
    assert 1_000 < everyone < 9_000
    assert predicted(speeds, 1, 600) == pytest.approx(1_000)  # in the same network
    assert predicted(speeds, 3, 600) == pytest.approx(9_000)
    assert predicted(speeds, 4, 600) == everyone  # in no known network
    speeds.moved(2, 4)
    assert predicted(speeds, 4, 600) == pytest.approx(9_000)  # the former address of its site
    speeds.met(0, bytes(10) + b"\xff\xff" + bytes([203, 0, 113, 9]))
    assert predicted(speeds, 0, 600) == pytest.approx(9_000)  # the number belongs to another address now


def test_nothing_is_learned_from_transfers_without_bytes() -> None:
    speeds = Speeds(1)
    for received, seconds in ((0, 1.0), (10, 0.0)):
        transfer = np.array([received], np.uint64), np.array([seconds]), np.array([False])
        learn(speeds.rows, np.array([0], np.uint32), *transfer, 0.0, 0)
    assert not speeds.rows.any()


# --- local time ---------------------------------------------------------------------------------------------------


def wall(text: str, zone: str = "Europe/Rome") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def test_nothing_is_learned_from_robots_txt_because_its_time_is_latency() -> None:
    speeds, visits = Speeds(4), np.zeros(2, VISIT)
    visits["ask"], visits["received"], visits["end"] = (Ask.ROBOTS, Ask.PAGE), (100, 50_000), 1.0
    speeds.learn_visits(np.array([0, 1], np.uint32), visits, Moment(600, False))
    assert predicted(speeds, 1, 600) == 50_000
    assert predicted(speeds, 0, 600) == 50_000, "like everyone"


def test_days_follow_the_time_zone_and_holidays_the_settings() -> None:
    hours = Hours.of(
        override(
            Settings(), ['harvester.time_zone="Europe/Rome"', 'harvester.holidays=["2026-04-06", "12-25"]']
        ).harvester
    )
    assert hours.at(wall("2026-03-04T14:30:00")) == Moment(870.0, False)
    assert hours.at(wall("2026-03-07T00:15:00")) == Moment(15.0, True)  # Saturday there, Friday in UTC
    assert hours.at(wall("2026-04-06T12:00:00")).holiday
    assert not hours.at(wall("2027-04-06T12:00:00")).holiday
    assert hours.at(wall("2029-12-25T12:00:00")).holiday
    assert Hours(UTC).at(wall("2026-07-01T01:00:00")) == Moment(23 * 60.0, False)


def test_the_granted_bandwidth_depends_on_the_hour() -> None:
    hours = Hours.of(
        override(
            Settings(),
            [
                'harvester.bandwidth="2MB/s"',
                'harvester.time_zone="Europe/Rome"',
                'harvester.bandwidth_by_hour={ "08-18" = "500KB/s", "22-02" = "0" }',
            ],
        ).harvester
    )
    of = {hour: hours.granted(wall(f"2026-03-04T{hour:02d}:59:59")) for hour in range(24)}
    assert all(of[hour] == 500_000 for hour in range(8, 18))
    assert [of[hour] for hour in (22, 23, 0, 1)] == [0] * 4
    assert {of[hour] for hour in (2, 7, 18, 21)} == {2_000_000}
    assert hours.limited
    assert hours.most == 0
    assert not Hours().limited


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('harvester.bandwidth="2Mbit/s"', "not a speed"),
        ('harvester.bandwidth="10B/s"', "too slow"),
        ("harvester.bandwidth=-1", "not a speed"),
        ('harvester.bandwidth_by_hour={ "8 to 18" = "1MB/s" }', "not a span of hours"),
        ('harvester.bandwidth_by_hour={ "08-08" = "1MB/s" }', "not a span of hours"),
        ('harvester.bandwidth_by_hour={ "08-25" = "1MB/s" }', "not a span of hours"),
        ('harvester.bandwidth_by_hour={ "08-18" = "fast" }', "not a speed"),
        ('harvester.bandwidth_by_hour={ "08-18" = "1MB/s", "17-19" = "2MB/s" }', "both contain the hour from 17"),
        ('harvester.time_zone="Rome"', "not a time zone"),
        ('harvester.time_zone="../etc/passwd"', "not a time zone"),
        ('harvester.holidays=["Christmas"]', "not a date"),
        ('harvester.holidays=["02-30"]', "not a date"),
        ("harvester.bandwidth_depth=0", "out of range"),
    ],
)
def test_invalid_settings_are_refused_with_the_accepted_form(setting: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        override(Settings(), [setting])


@given(st.integers(0, 10**12))
def test_a_written_speed_can_be_read_back(number: int) -> None:
    assert Speed.parse(str(Speed(number))) == number
    assert str(Speed(number)).endswith("B/s")
