"""Learning from a tick: its visits and their links, in order, change the state, depth and worth of pages.

One kernel is called live and in recovery, with the same arrays. It depends on nothing else: no clock, table or text.
Each visit is finished before the next: its page changes state, the policy sees it, then its links lower depths.

    final outcome          DONE; `due` is the time of the visit, rounded up: no page is fetched again too early
    to be retried          WAITING until its back-off (or Retry-After) is over, DONE after the last try; an excluded
                           page stays excluded
    returned               only ASSIGNED is cleared: the page stays as it was

`tries` counts visits without success in a row, apart for outcomes that are retried and for others; a 410 counts as
several (`askable.SEVERAL`).
`outcomes.TREATMENTS` says which outcome is which, how long the back-off is and how many tries there are.

Depth is the number of clicks inside a site: a link adds one, a redirect nothing, a link from another site makes it 0,
a sitemap of the site 1. Depth only falls; a page that was excluded for its depth and is no longer too deep is PENDING
again. The targets of pages fetched before keep their depth: those links are not in memory.

A redirect counts the consecutive redirects on the path by which its page was first found, across sites. A page behind
more than `MOST_REDIRECTS` is excluded, with the greatest depth; any other path to it is shorter, and opens it. So a
chain of redirects ends (`a_chain_of_redirects_ends`), though no step of it is a click.

A page that is excluded because links make no pages (`seeder.follow`) is opened by a redirect that leads to it. A page
that was forgotten stays excluded, whatever happens (`collection/forgetting/`).

`counts` is the account of all known pages: by state, and within a state by the outcome of pages that wait or are done,
by the reason of pages that are excluded. Invariants, each a property test of the same name: known is pending and
waiting and done and excluded; the account equals the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base.arrays import I64, U8, U32, Records
from gossamer.base.askable import REVISITED, SEVERAL
from gossamer.base.compiled import inlined, njit
from gossamer.base.model import HOPS_SHIFT, MOST_REDIRECTS, NONE, LinkKind, PageFlag, Reason, State, VerdictFlag, Visits
from gossamer.base.outcomes import BACK_AS_BEFORE, LONGEST_PAUSE, TRANSIENT, TREATMENTS, Outcome
from gossamer.config.settings import Settings
from gossamer.desk.columns import Columns
from gossamer.manager.policies import PageArrays, crawled, pages_of, seen
from gossamer.manager.strategies import Strategy

_NONE, _REDIRECT = np.uint32(NONE), int(LinkKind.REDIRECT)
_PENDING, _WAITING = int(State.PENDING), int(State.WAITING)
_DONE, _EXCLUDED = int(State.DONE), int(State.EXCLUDED)
_DEPTH, _REDIRECTS, _ROBOTS = int(Reason.DEPTH), int(Reason.REDIRECTS), int(Reason.ROBOTS)
_OK: Final[int] = np.uint8(Outcome.OK)  # type: ignore[assignment]
_UNLISTED, _NOT_MODIFIED = int(Reason.UNLISTED), int(Outcome.NOT_MODIFIED)
_FORGOTTEN: Final = int(Reason.FORGOTTEN)
_OPEN: Final[int] = np.uint8(State.PENDING)  # type: ignore[assignment]
_NO_REASON: Final[int] = np.uint8(0)  # type: ignore[assignment]
_LONGEST: Final = float(LONGEST_PAUSE)
_DYNAMIC, _SEED, _JUDGED = np.uint8(PageFlag.DYNAMIC), np.uint8(PageFlag.SEED), np.uint8(PageFlag.JUDGED)
_NOT_DYNAMIC, _NOT_ASSIGNED = np.uint8(0xFF ^ PageFlag.DYNAMIC), np.uint8(0xFF ^ PageFlag.ASSIGNED)
_WITHOUT_HOPS: Final = np.uint8(0xFF ^ PageFlag.HOPS)
_BY_ROBOTS, _AGAIN = int(VerdictFlag.ROBOTS), int(VerdictFlag.AGAIN)
_NOW_SEED, _NOW_LISTED = int(VerdictFlag.SEED), int(VerdictFlag.LISTED)
_NOW_DYNAMIC, _NOW_STATIC = int(VerdictFlag.DYNAMIC), int(VerdictFlag.STATIC)
_AS_BEFORE: Final = np.array([o in BACK_AS_BEFORE for o in Outcome])
_TRANSIENT: Final = np.array([o in TRANSIENT for o in Outcome] + [False] * (256 - len(Outcome)))
_FETCHED: Final = np.array([o in {*REVISITED, Outcome.NOT_MODIFIED} for o in Outcome] + [False] * (256 - len(Outcome)))
_GONE: Final = 410
_AFTER: Final = np.array([TREATMENTS[o].after for o in Outcome])
_TRIES: Final = np.array([TREATMENTS[o].tries for o in Outcome])
_DEEPEST: Final = 255
WIDTH: Final = 32
"""Width of the account: more than the number of outcomes or reasons."""


def new_counts() -> I64:
    """An empty account: known pages by `State`, and by `Outcome` or `Reason`."""
    return np.zeros((len(State), WIDTH), np.int64)


@dataclass(frozen=True, slots=True)
class LearnLimits:
    """The settings that decide what becomes of a page after a visit."""

    depth_static: int
    depth_dynamic: int
    retry: float
    """Seconds before a page is tried again, where its outcome does not say otherwise."""
    tries: int
    """Number of tries after which a page is done, where its outcome does not say otherwise."""

    @staticmethod
    def of(settings: Settings) -> LearnLimits:
        seeder, harvester = settings.seeder, settings.harvester
        return LearnLimits(seeder.depth_static, seeder.depth_dynamic, harvester.retry, harvester.tries)


def plant(columns: Columns, policy: Strategy, totals: I64, counts: I64, first_page: int, count: int) -> None:
    """Takes in `count` new pages from `first_page` on; their columns are already filled in."""
    _plant(policy.code, pages_of(columns), totals, counts, first_page, first_page + count)


def learn(
    columns: Columns,
    policy: Strategy,
    totals: I64,
    counts: I64,
    visits: Visits,
    targets: U32,
    kinds: U8,
    limits: LearnLimits,
) -> int:
    """Applies visits in order; `visits["links"]` is the number of links of each. Returns the number of pages opened.
    Visits of robots.txt (page NONE) change nothing here. `kinds`: LinkKind | LinkFlag << 4."""
    if not (targets.flags.writeable and kinds.flags.writeable):
        # a journal record has read-only arrays: numba would compile the kernel once more for them
        targets, kinds = np.require(targets, np.uint32, ["C", "W"]), np.require(kinds, np.uint8, ["C", "W"])
    pages, rules = pages_of(columns), (limits.depth_static, limits.depth_dynamic, float(limits.retry), limits.tries)
    return int(_learn(policy.code, pages, totals, counts, visits, targets, kinds, *rules))


@njit
def _plant(code: int, pages: PageArrays, totals: I64, counts: I64, first: int, end: int) -> None:
    for page in range(first, end):
        _count(pages, counts, page, 1)
        seen(code, pages, totals, page)


@njit
def _learn(
    code: int,
    pages: PageArrays,
    totals: I64,
    counts: I64,
    visits: Visits,
    link_targets: U32,
    link_kinds: U8,
    depth_static: int,
    depth_dynamic: int,
    retry: float,
    tries: int,
) -> int:
    opened = end = 0
    for i in range(len(visits)):
        visit = visits[i]
        page, outcome = visit.page, visit.outcome
        begin, end = end, end + visit.links
        if page == _NONE:
            continue
        pages.flags[page] &= _NOT_ASSIGNED
        if _AS_BEFORE[outcome] or (pages.state[page] == _EXCLUDED and pages.reason[page] == _FORGOTTEN):
            continue
        after = _AFTER[outcome] if _AFTER[outcome] >= 0 else retry
        most = _TRIES[outcome] if _TRIES[outcome] >= 0 else tries
        pause = max(after, min(float(visit.retry_after), _LONGEST))
        _conclude(pages, counts, page, outcome, visit.status, visit.time, pause, most)
        targets, kinds = link_targets[begin:end], link_kinds[begin:end]
        if pages.state[page] == _DONE:
            degree: int = np.int64(visit.out_degree)  # type: ignore[assignment]
            crawled(code, pages, totals, page, outcome, degree, targets, kinds)
        opened += _approach(pages, counts, page, targets, kinds, depth_static, depth_dynamic)
    return opened


@inlined
def _conclude(
    pages: PageArrays, counts: I64, page: int, outcome: int, status: int, time: float, retry: float, tries: int
) -> None:
    """Sets the state of a visited page: WAITING for its next try, or DONE."""
    _count(pages, counts, page, -1)
    before = _TRANSIENT[pages.outcome[page]]
    if outcome != _NOT_MODIFIED:
        pages.outcome[page] = outcome
    elif not _FETCHED[pages.outcome[page]]:  # else the outcome stays that of the copy
        pages.outcome[page] = _OK
    failures = pages.tries[page] if before == _TRANSIENT[outcome] else 0
    again = _TRANSIENT[outcome] and failures + 1 < tries
    failures = min(failures + (SEVERAL if status == _GONE else 1), 255)
    pages.tries[page] = 0 if _FETCHED[outcome] else failures
    if not (again and pages.state[page] == _EXCLUDED):
        pages.due[page] = np.uint32(np.ceil(time + retry if again else time))
        pages.reason[page] = 0
        pages.state[page] = _WAITING if again else _DONE
    _count(pages, counts, page, 1)


@inlined
def _count(pages: PageArrays, counts: I64, page: int, number: int) -> None:
    """Takes a page out of the account before a change (-1), or adds it after (1)."""
    state = pages.state[page]
    if state == _PENDING:
        counts[state, 0] += number
        pages.pending[pages.site[pages.origin[page]]] += number
    elif state == _EXCLUDED:
        counts[state, pages.reason[page] % WIDTH] += number
    else:
        counts[state, pages.outcome[page] % WIDTH] += number


@njit
def _move(pages: PageArrays, counts: I64, page: int, state: int, reason: int) -> None:
    _count(pages, counts, page, -1)
    pages.state[page] = state
    pages.reason[page] = reason
    _count(pages, counts, page, 1)


@njit
def _approach(
    pages: PageArrays, counts: I64, source: int, targets: U32, kinds: U8, depth_static: int, depth_dynamic: int
) -> int:
    """Lowers the depth of each target to which the link from `source` is a shorter path. Returns how many pages that
    opens. Columns are taken out of `pages` once: to do so costs 10 ns, which is as much as the rest of a link."""
    depths, flags, origin, site = pages.depth, pages.flags, pages.origin, pages.site
    state, reason = pages.state, pages.reason
    opened = 0
    for j in range(len(targets)):
        target, redirect = targets[j], kinds[j] & 15 == _REDIRECT
        hops = (flags[source] >> HOPS_SHIFT) + 1 if redirect else 0
        unlisted = redirect and state[target] == _EXCLUDED and reason[target] == _UNLISTED
        if (depths[target] == 0 and not unlisted) or hops > MOST_REDIRECTS:
            continue
        depth = 0
        if site[origin[source]] == site[origin[target]]:
            depth = min(depths[source] + (0 if redirect else 1), _DEEPEST)
        if depth >= depths[target] and not unlisted:
            continue
        depths[target] = depth = min(depth, depths[target])
        flags[target] = (flags[target] & _WITHOUT_HOPS) | np.uint8(hops << HOPS_SHIFT)
        limit = depth_dynamic if flags[target] & _DYNAMIC else depth_static
        too_far = unlisted or reason[target] == _DEPTH or reason[target] == _REDIRECTS
        if state[target] == _EXCLUDED and too_far and depth <= limit:
            _move(pages, counts, target, _OPEN, _NO_REASON)
            opened += 1
    return opened


def judge(columns: Columns, counts: I64, verdicts: Records) -> None:
    """Applies verdicts: of robots.txt, of changed settings, on known pages that became seeds or were listed, and on
    pages of sites that moved.

    robots.txt does not open a page that is excluded for another reason. A page that is done stays done, but is marked
    if it must not be fetched again. The verdict AGAIN makes a page that is done pending, unless it is so marked.
    """
    _judge(pages_of(columns), counts, np.array(verdicts))


@njit
def _judge(pages: PageArrays, counts: I64, verdicts: Records) -> None:
    for i in range(len(verdicts)):
        verdict = verdicts[i]
        page, state = verdict.page, verdict.state
        by_robots = verdict.judged & _BY_ROBOTS != 0
        if pages.state[page] == _EXCLUDED and pages.reason[page] == _FORGOTTEN:
            continue
        _mark(pages, page, verdict.judged)
        old = pages.state[page]
        if verdict.judged & _AGAIN:
            if old == _DONE and pages.reason[page] == 0:
                _move(pages, counts, page, _OPEN, _NO_REASON)
            continue
        open_now = old in (_PENDING, _WAITING)
        if old == _DONE and state != _DONE:
            pages.reason[page] = _ROBOTS if state == _EXCLUDED else 0
        excludes = open_now and state == _EXCLUDED
        opens = old == _EXCLUDED and state == _PENDING and (pages.reason[page] == _ROBOTS or not by_robots)
        other_reason = old == _EXCLUDED and state == _EXCLUDED and not by_robots
        if excludes or opens or other_reason:
            _move(pages, counts, page, state, verdict.reason)


@njit
def _mark(pages: PageArrays, page: int, says: int) -> None:
    if says & _BY_ROBOTS:
        pages.flags[page] |= _JUDGED
    if says & _NOW_SEED:
        pages.flags[page] = (pages.flags[page] & _WITHOUT_HOPS) | _SEED
        pages.depth[page] = 0
    if says & _NOW_LISTED:
        pages.depth[page] = min(pages.depth[page], 1)
    if says & _NOW_DYNAMIC:
        pages.flags[page] |= _DYNAMIC
    if says & _NOW_STATIC:
        pages.flags[page] &= _NOT_DYNAMIC
