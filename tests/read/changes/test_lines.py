"""The lines that differ between two texts."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.read.changes import lines
from gossamer.read.changes.lines import LONGEST, difference, signed

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12)


@given(LINES, LINES, st.sampled_from([0, 3, 1_000]))
@settings(max_examples=100, deadline=None)
def test_what_is_removed_and_added_makes_one_text_of_the_other(old: list[str], new: list[str], most: int) -> None:
    with patch.object(lines, "MOST", most):
        found = list(signed(old, new))
    removed, added = (Counter(line for sign, line in found if sign == which) for which in "-+")
    assert Counter(old) - removed + added == Counter(new)
    assert removed <= Counter(old)
    assert (found == []) == (old == new) or most < max(len(old), len(new)), "beyond the bound, order is not compared"


@given(st.integers(1_001, 3_000), st.integers(0, 2))
@settings(max_examples=10, deadline=None)
def test_the_time_of_a_comparison_is_bounded_by_its_lines(count: int, odd: int) -> None:
    """Texts beyond the bound are never given to the comparison whose time grows with the square."""
    old, new = [f"a{i % 7}" for i in range(count)], [f"b{i % (7 + odd)}" for i in range(count)]
    with patch.object(lines, "SequenceMatcher", side_effect=AssertionError):
        assert len(list(signed(old, new))) == 2 * count


def test_a_difference_has_a_bounded_size_and_says_what_it_left_out() -> None:
    found = difference("", "\n".join(f"line {n}" for n in range(500)), most=7)
    assert (len(found.lines), found.added, found.removed, found.left_out) == (7, 500, 0, 493)


def test_of_a_long_line_the_part_that_differs_is_kept() -> None:
    (_, old), (_, new) = difference("x" * 5_000 + "before", "x" * 5_000 + "after!").lines
    assert (old[-6:], new[-6:]) == ("before", "after!")
    assert max(len(old), len(new)) <= LONGEST + 2
    (_, alone) = difference("", "y" * 5_000).lines[0]
    assert alone == "y" * LONGEST + "…"
