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
    SHORTEST,
    WIDTH,
    Changes,
    Lengths,
    class_of,
    observe,
)

DAY = 86_400.0


def observed(intervals: list[tuple[float, bool]], pages: int = 1) -> tuple[Changes, Lengths]:
    changes, lengths = Changes.none(pages), Lengths()
    for seconds, changed in intervals:
        observe(changes, lengths, np.arange(pages), np.full(pages, seconds), np.full(pages, changed))
    return changes, lengths


def test_a_page_takes_18_bytes() -> None:
    changes = Changes.none(100)
    assert sum(column.nbytes for column in changes) == 100 * BYTES == 1800


@given(st.floats(0, 1e10))
def test_every_interval_has_a_class_that_fits(seconds: float) -> None:
    number = int(class_of(np.array([seconds]))[0])
    assert 0 <= number < CLASSES
    if SHORTEST <= seconds < SHORTEST * WIDTH**CLASSES:
        assert SHORTEST * WIDTH**number <= seconds * (1 + 1e-9)
        assert seconds < SHORTEST * WIDTH ** (number + 1) * (1 + 1e-9)


def test_an_interval_counts_as_what_it_is() -> None:
    changes, _ = observed([(DAY, False), (DAY, True), (2 * DAY, False), (DAY, True)])
    assert 2.99 * DAY < changes.unchanged[0] <= 3 * DAY
    assert changes.changed[0].sum() == 2
    assert changes.visits[0] == 4


@given(st.lists(st.tuples(st.floats(1, 10 * DAY), st.booleans()), max_size=20), st.integers(1, 3))
def test_counts_never_wrap_around(intervals: list[tuple[float, bool]], pages: int) -> None:
    changes, lengths = Changes.none(pages), Lengths()
    changes.changed[:], changes.visits[:] = MOST - 2, 250
    for seconds, changed in intervals:
        before = changes.changed.copy()
        observe(changes, lengths, np.arange(pages), np.full(pages, seconds), np.full(pages, changed))
        grown = changes.changed.astype(int) - before
        assert grown.max() <= 1
        assert grown.min() >= -2  # a few days fade hardly anything
        assert changes.visits.min() >= 250


def faded(intervals: F64, changed: Bools) -> Changes:
    pages = len(intervals)
    changes = Changes.none(pages)
    changes.changed[:, 4] = 100
    observe(changes, Lengths(), np.arange(pages), intervals, changed)
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


def test_the_mean_length_of_a_class_is_that_of_its_intervals() -> None:
    _, lengths = observed([(1.3 * DAY, True)] * 200)
    number = int(class_of(np.array([1.3 * DAY]))[0])
    assert abs(lengths.seconds[number] / (1.3 * DAY) - 1) < 0.01
