"""Which pages may be planned and requested, and which sites are suspended: each rule once.

A page may be planned if no request for it is in flight and it is

    new           it was never fetched
    to be retried it failed, and its back-off is over
    due again     it was fetched at least the revisit period ago, and nothing has been found against it since; in a
                  continuous crawl also what ended otherwise, after a rest that doubles each time (`RESTS`)

Plain functions of numbers, without `and` and `or`: numpy applies them to whole columns, and kernels take the same
functions, compiled, page by page (`gossamer.base.compiled.inlined`). So the plan (`manager/profit.py`), the position of
one page (`manager/position.py`, which must not load a compiler), the site queue (`harvester/queue/turns.py`) and the
next due time (`manager/scans.py`) cannot disagree. Three functions and not one: a pass over all pages reads only the
columns that count.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gossamer.base.model import TRANSIENT, Outcome, PageFlag, State

REVISITED: Final = frozenset({Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT})
"""Outcomes after which a page is fetched again when manager.min_period has passed."""

DELAYED, BLOCKED = 1, 2
"""Bits of `refused`: the Crawl-delay of the site is longer than is honoured; it was ordered that it is left alone."""
_PENDING: Final = int(State.PENDING)
_WAITING: Final = int(State.WAITING)
_DONE: Final = int(State.DONE)
_ASSIGNED: Final = np.uint8(PageFlag.ASSIGNED)
_IS_REVISITED: Final = np.array([o in REVISITED for o in Outcome] + [False] * (256 - len(Outcome)))

_DAY: Final = 86_400.0
LONGEST_REST: Final = 180 * _DAY
SEVERAL: Final = 3
"""A page that is gone for good (410) counts as visited so many times without success: it rests four times as long."""
RESTS: Final = (
    dict.fromkeys(REVISITED, 0.0)
    | {Outcome.NOT_FOUND: 7 * _DAY, Outcome.SOFT_404: 7 * _DAY}
    | dict.fromkeys(TRANSIENT, 2 * _DAY)
)
"""Seconds before a page is asked for again in a continuous crawl, after its first visit without success; any other
outcome: 30 days. Each further one doubles the rest, up to `LONGEST_REST`."""
_RESTS: Final = np.array(
    [
        [min(LONGEST_REST, RESTS.get(outcome, 30 * _DAY) * 2.0 ** max(0, tries - 1)) for tries in range(8)]
        for outcome in (*Outcome, *[Outcome.OTHER_TYPE] * (256 - len(Outcome)))
    ]
)


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


def has_rested(outcome: Any, tries: Any, visited: Any, wall: Any) -> Any:
    """The page, which is done, may be asked for again in a continuous crawl, though its last visit failed. It was
    visited without success so many times in a row."""
    return visited + _RESTS[outcome, np.minimum(tries, 7)] <= wall


def rest_of(outcome: Any, tries: Any) -> Any:
    """The least time, in seconds, between such a visit and the next."""
    return _RESTS[outcome, np.minimum(tries, 7)]


def is_suspended(refused: Any, next_: Any, until: Any) -> Any:
    """The site is suspended: it is `refused`, or must not be requested before `until`."""
    return (refused != 0) | (next_ > until)
