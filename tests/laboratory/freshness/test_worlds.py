"""Worlds of pages that change."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.errors import UsageError
from gossamer.laboratory.freshness.worlds import DAY, KINDS, World, generated, history, rates_of


def small(kind: str, seed: int) -> World:
    return generated(kind, rates_of(50, 1 / DAY, 1.0, seed), 30 * DAY, seed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_world_changes_as_often_as_its_rates_say(kind: str) -> None:
    world = generated(kind, rates_of(2000, 1 / DAY, 0.5, 1), 50 * DAY, 1)
    share = 0.5 if kind == "never" else 1
    assert world.rate / (2000 / DAY) == pytest.approx(share, rel=0.05)
    assert len(np.unique(world.page)) / 2000 == pytest.approx(share, abs=0.03)
    assert (np.diff(world.time)[np.diff(world.page) == 0] >= 0).all()


def test_most_changes_fall_into_business_hours() -> None:
    world = generated("business-hours", np.full(500, 1 / DAY), 70 * DAY, 1)
    hour, day = world.time / 3600 % 24, np.floor(world.time / DAY) % 7
    assert ((day < 5) & (hour >= 9) & (hour < 19)).mean() > 0.8


def test_bursts_are_bursts() -> None:
    """Half of the changes follow another change of their page within three hours; in a Poisson world a tenth."""
    close = {}
    for kind in ("poisson", "bursts"):
        world = generated(kind, np.full(500, 1 / DAY), 100 * DAY, 1)
        gaps = np.diff(world.time)[np.diff(world.page) == 0]
        close[kind] = float((gaps < 3 * 3600).mean())
    assert close["poisson"] < 0.2
    assert close["bursts"] > 0.5


@given(st.sampled_from(KINDS), st.integers(0, 20), st.integers(0, 49), st.floats(0, 40 * DAY))
def test_the_next_change_is_the_first_one_after_the_time(kind: str, seed: int, page: int, time: float) -> None:
    world = small(kind, seed)
    later = world.time[(world.page == page) & (world.time > time)]
    expected = later.min() if len(later) else np.inf
    assert world.next_change(np.array([page]), np.array([time]))[0] == pytest.approx(expected, rel=1e-9)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="no world is named 'chaos'"):
        generated("chaos", np.ones(3), 1.0, 1)


LINES = """\
1000\tA\ta.html
2000\tM\ta.html
2500\tD\tb.html
500\tA\tb.html
3000\tD\ta.html
4000\tA\ta.html
4500\tM\ta.html
5000\tT\ta.html
"""


def test_a_history_is_read(tmp_path: Path) -> None:
    """Page a is deleted and added again: these are two pages. The history is shorter than the day asked for."""
    path = tmp_path / "site.changes.tsv.gz"
    path.write_bytes(gzip.compress(LINES.encode()))
    world = history(path, 1.0)
    start = 500
    assert world.name == "site"
    assert world.births.tolist() == [1000 - start, 4000 - start, 500 - start]
    assert world.deaths.tolist() == [3000 - start, np.inf, 2500 - start]
    assert world.time.tolist() == [2000 - start, 4500 - start, 5000 - start]
    assert world.page.tolist() == [0, 1, 1]
    assert world.end == 4500
    assert world.next_change(np.array([0, 0, 1]), np.array([1500, 2000, 4500]) - start).tolist() == [
        2000 - start,
        3000 - start,
        5000 - start,
    ]


def test_the_time_before_a_history_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "site.tsv"
    path.write_text(LINES)
    world = history(path, 1600 / DAY)  # from 3400 on
    assert world.births.tolist() == [600]
    assert world.time.tolist() == [1100, 1600]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1000\tA\ta\n1000\tX\ta\n", "line 2 is not a change"),
        ("yesterday\tA\ta\n", "line 1 is not a change"),
        ("", "has no changes"),
    ],
)
def test_what_is_no_history_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "h.tsv"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        history(path, 1.0)


def test_a_missing_history_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        history(tmp_path / "none.tsv.gz", 1.0)
