"""Which pages may be planned and requested, and which sites are suspended: each rule once.

A page may be planned if no request for it is in flight and it is

    new           it was never fetched
    to be retried it failed, and its back-off is over
    due again     it was fetched at least the revisit period ago, and nothing has been found against it since

Plain functions of numbers, without `and` and `or`: numpy applies them to whole columns, and kernels take the same
functions, compiled, page by page (`gossamer.base.compiled.inlined`). So the plan (`manager/profit.py`), the position of
one page (`manager/position.py`, which must not load a compiler), the site queue (`harvester/queue/turns.py`) and the
next due time (`manager/scans.py`) cannot disagree. Three functions and not one: a pass over all pages reads only the
columns that count.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gossamer.base.model import Outcome, PageFlag, State

REVISITED: Final = frozenset({Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT})
"""Outcomes after which a page is fetched again when manager.min_period has passed."""

_PENDING: Final = int(State.PENDING)
_WAITING: Final = int(State.WAITING)
_DONE: Final = int(State.DONE)
_ASSIGNED: Final = np.uint8(PageFlag.ASSIGNED)
_IS_REVISITED: Final = np.array([o in REVISITED for o in Outcome] + [False] * (256 - len(Outcome)))


def is_new(state: Any, flags: Any) -> Any:
    """The page is pending, and no request for it is in flight."""
    return (state == _PENDING) & (flags & _ASSIGNED == 0)


def is_to_be_retried(state: Any, flags: Any, due: Any, wall: Any) -> Any:
    """The page failed, its back-off is over at `wall`, and no request for it is in flight."""
    return (state == _WAITING) & (due <= wall) & (flags & _ASSIGNED == 0)


def is_due_again(state: Any, flags: Any, visited: Any, latest: Any, reason: Any) -> Any:
    """The page is done, was visited at `latest` or before, and no `reason` (robots.txt) against it was found since.

    Of the pages that are done only those that `may_be_fetched_again` count; the site queue need not check that again.
    """
    return (state == _DONE) & (visited <= latest) & (reason == 0) & (flags & _ASSIGNED == 0)


def may_be_fetched_again(reason: Any, outcome: Any) -> Any:
    """The page, which is done, was fetched, and no `reason` (robots.txt) against it was found since."""
    return (reason == 0) & _IS_REVISITED[outcome]


def is_suspended(refused: Any, next_: Any, until: Any) -> Any:
    """The site is suspended: its Crawl-delay is longer than is honoured, or it must not be requested before `until`."""
    return (refused != 0) | (next_ > until)
