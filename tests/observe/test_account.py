"""The account of all known pages, as `status` and the end of a crawl print it."""

from __future__ import annotations

import pytest

from gossamer.observe.account import account, stamp
from gossamer.observe.statistics import PageCounts, Reasons, Waiting

NOW = 1.7e9


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (None, None, "for good"),
        (NOW - 2, NOW, "due now"),
        (NOW - 2, NOW + 60, f"from now to {stamp(NOW + 60)}"),
        (NOW + 60, NOW + 90, f"from {stamp(NOW + 60)} to {stamp(NOW + 90)}"),
        (NOW + 60, NOW + 60, f"until {stamp(NOW + 60)}"),
        (NOW + 60.2, NOW + 60.8, f"until {stamp(NOW + 60)}"),
    ],
)
def test_pages_that_wait_are_told_with_their_times(first: float | None, last: float | None, said: str) -> None:
    why = Reasons({"site: name_failed": Waiting(3, first, last)})
    line = next(line for line in account(PageCounts(known=3, waiting=3, why=why), NOW) if "name_failed" in line)
    assert f"  {said}  " in line
