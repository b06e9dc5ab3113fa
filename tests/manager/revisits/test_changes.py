"""What is kept of the changes of a page."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.arrays import F64, Bools
from gossamer.manager.revisits.changes import (
    BYTES,
    CLASSES,
    HABIT,
    MOST,
    NODES,
    Changes,
    node_of,
    observe,
)

DAY = 86_400.0


def observed(intervals: list[tuple[float, bool]], pages: int = 1) -> Changes:
    changes = Changes.none(pages)
    for seconds, changed in intervals:
        observe(changes, np.arange(pages), np.full(pages, seconds), np.full(pages, changed))
    return changes


def test_a_page_takes_18_bytes() -> None:
    changes = Changes.none(100)
    assert sum(column.nbytes for column in changes) == 100 * BYTES == 1800


@given(st.floats(0, 1e10), st.integers(0, 2**64 - 1))
def test_every_interval_counts_at_one_of_the_nearest_lengths(seconds: float, mixed: int) -> None:
    number = int(node_of(np.array([seconds]), np.array([mixed], np.uint64))[0])
    assert 0 <= number < CLASSES
    if number:
        assert NODES[number - 1] <= seconds * (1 + 1e-9)
    if number < CLASSES - 1:
        assert seconds * (1 - 1e-9) <= NODES[number + 1]


@given(st.floats(NODES[0], NODES[-1]))
def test_the_lengths_of_changed_intervals_are_right_on_average(seconds: float) -> None:
    pages = 4000
    changes = Changes.none(pages)
    observe(changes, np.arange(pages), np.full(pages, seconds), np.ones(pages, bool))
    assert abs(changes.changed.sum(0) @ np.log(NODES) / pages - np.log(seconds)) < 0.05


def test_an_interval_counts_as_what_it_is() -> None:
    changes = observed([(DAY, False), (DAY, True), (2 * DAY, False), (DAY, True)])
    assert 2.99 * DAY < changes.unchanged[0] <= 3 * DAY
    assert changes.changed[0].sum() == 2
    assert changes.visits[0] == 4


@given(st.lists(st.tuples(st.floats(1, 10 * DAY), st.booleans()), max_size=20), st.integers(1, 3))
def test_counts_never_wrap_around(intervals: list[tuple[float, bool]], pages: int) -> None:
    changes = Changes.none(pages)
    changes.changed[:], changes.visits[:] = MOST - 2, 250
    for seconds, changed in intervals:
        before = changes.changed.copy()
        observe(changes, np.arange(pages), np.full(pages, seconds), np.full(pages, changed))
        grown = changes.changed.astype(int) - before
        assert grown.max() <= 1
        assert grown.min() >= -2  # a few days fade hardly anything
        assert changes.visits.min() >= 250


def faded(intervals: F64, changed: Bools) -> Changes:
    pages = len(intervals)
    changes = Changes.none(pages)
    changes.changed[:, 4] = 100
    observe(changes, np.arange(pages), intervals, changed)
    return changes


def test_faded_counts_are_right_on_average() -> None:
    pages = 4000
    for years in (0.01, 0.3, 2.0):
        intervals = years * 365 * DAY * np.linspace(0.99, 1.01, pages)
        changes = faded(intervals, np.zeros(pages, bool))
        expected = 100 * float(np.exp(-intervals / HABIT).mean())
        assert abs(changes.changed[:, 4].mean() - expected) < 0.05


def test_fading_is_the_same_in_a_replay() -> None:
    intervals = np.random.default_rng(3).exponential(365 * DAY, 500)
    first, second = faded(intervals, intervals > DAY), faded(intervals, intervals > DAY)
    assert (first.changed == second.changed).all()
    assert len(np.unique(first.changed[:, 4])) > 10
