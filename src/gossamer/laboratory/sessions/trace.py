"""Page views of clients become sessions, with the level of each view: rules 3 to 6 and 8 of 5.3.

Views come by client and time. A view belongs to the session in which the page that its Referer names was seen last, so
several users behind one address, with the same browser, have sessions of their own as far as their Referers tell. For
each view, the first of these that holds:

- the page is the last one of a session: it is loaded again, which is no view (rule 5);
- it is a frame of the page that its Referer names: no view (rule 6);
- it was seen in a session, with the same Referer: the user has gone back to it;
- its Referer is a page of a session: the user is there. If that is not the last page of the session, he has gone back
  to it without a request, from his cache, and that view is added (rule 8);
- its Referer is another page of the site: a new session, which began at that page, also without a request (rule 8);
- its Referer is outside, or there is none: a new session begins. If there are links of the site, and no Referer, the
  view belongs to the session with the latest page that links to it. In logs that have no Referers at all it belongs to
  the client's last session, after its last page.

A session ends 30 minutes after its last view (rule 3). The level of a page is the least number of clicks from the first
page, over the pages that were seen in the session (5.2): by Referers, and by the links of the site where there are any.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gossamer.base.arrays import I32, I64, U8, U64, Array, Bools, Records
from gossamer.base.compiled import i64, njit
from gossamer.laboratory.sessions.judge import NOWHERE, OUTSIDE

TIMEOUT: Final = 1800
"""Seconds without a view after which a session has ended."""
LEVELS: Final = 256
"""Levels that are told apart; deeper ones count as the last."""
BACK: Final = 2_000
"""Views of a client that are looked back at."""
NEXT, START, JUMP, BACKWARD, STAY, PREV, FWD = range(7)
ACTIONS: Final = ("Next", "Start", "Jump", "Back", "Stay", "Prev", "Fwd")
RELOADED, FRAMED, ADDED_BACK, ADDED_FIRST, EXPIRED, ENTERED, UNTOLD = range(7)
COUNTS: Final = 7
"""What is counted beside: loads again; frames; views added in a session, and before one; sessions that began since the
last view of the client is too old; with a Referer from outside; without a Referer, while the client had another."""


class Sessions(NamedTuple):
    """The sessions of a bucket."""

    views: I64
    depth: I32
    fold: U8
    """0 or 1: half of the clients each, so that a fit to one half is judged by the other."""
    first: I64
    """The view that it began with; the Referer of that view if `added`."""
    added: Bools
    visits: I64
    """Views by half of the clients and level."""
    actions: I64
    """By half of the clients, level and action: what users did next."""
    counts: I64


class Site(NamedTuple):
    """What is known of the links of a site."""

    links: U64
    """Pairs of a page and a page that it links to (`pair`); ascending."""
    frames: U64


NO_SITE: Final = Site(np.zeros(0, np.uint64), np.zeros(0, np.uint64))


def trace(hits: Records, has_referers: bool, site: Site = NO_SITE, timeout: int = TIMEOUT) -> Sessions:
    """Sessions of views that are sorted by client and time. `has_referers`: whether the logs have Referers."""
    n = len(hits)

    def column(name: str) -> Array:
        return np.ascontiguousarray(hits[name])

    session, page, level, before, given = (np.empty(2 * n, dtype) for dtype in ("i8", "u8", "i4", "i8", "u8"))
    views, last, ended = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    depth, fold = np.zeros(n, np.int32), np.zeros(n, np.uint8)
    first, added = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    visits, actions = np.zeros((2, LEVELS), np.int64), np.zeros((2, LEVELS, len(ACTIONS)), np.int64)
    counts = np.zeros(COUNTS, np.int64)
    number = _trace(
        column("client"), column("time"), column("page"), column("referer"), has_referers, timeout,
        site.links, site.frames, session, page, level, before, given,
        views, last, ended, depth, fold, first, added, visits, actions, counts,
    )  # fmt: skip
    return Sessions(
        views[:number], depth[:number], fold[:number], first[:number], added[:number], visits, actions, counts
    )


def pair(source: U64, target: U64) -> U64:
    """A number for a link."""
    return (source * np.uint64(0x9E3779B97F4A7C15)) ^ target


@njit
def _linked(pairs: U64, source: np.uint64, target: np.uint64) -> bool:
    wanted = (source * np.uint64(0x9E3779B97F4A7C15)) ^ target
    low, high = i64(0), i64(len(pairs))
    while low < high:
        middle = (low + high) // 2
        if pairs[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low < len(pairs) and pairs[low] == wanted


@njit
def _action(now: int, then: int) -> int:
    if then == now + 1:
        return NEXT
    if then == now:
        return STAY
    if then == now - 1:
        return BACKWARD
    if then > now:
        return FWD
    return START if then == 0 else PREV


@njit
def _sought(
    wanted: np.uint64, source: np.uint64, since: int, first: int, count: int, links: U64, frames: U64,
    session: I64, page: U64, ended: I64,
) -> tuple[int, int]:  # fmt: skip
    """The latest views of a page, and of the page that leads to it, in sessions that go on; -1 if there is none."""
    seen, parent = i64(-1), i64(-1)
    for v in range(count - 1, max(first, count - BACK) - 1, -1):
        if ended[session[v]] < since:
            continue
        if seen < 0 and page[v] == wanted:
            seen = v
        if parent < 0 and source > OUTSIDE:
            if page[v] == source or (len(frames) > 0 and _linked(frames, page[v], source)):
                parent = v  # also if the user clicked in a frame of this page
        elif parent < 0 and source == NOWHERE and len(links) > 0 and _linked(links, page[v], wanted):
            parent = v
        if seen >= 0 and (parent >= 0 or source <= OUTSIDE):
            break
    return seen, parent


@njit
def _trace(
    client: U64, time: I64, asked: U64, referer: U64, has_referers: bool, timeout: int, links: U64, frames: U64,
    session: I64, page: U64, level: I32, before: I64, given: U64,
    views: I64, last: I64, ended: I64, depth: I32, fold: U8, first: I64, added: Bools,
    visits: I64, actions: I64, counts: I64,
) -> int:  # fmt: skip
    """`session` to `given`: by view. `views` to `added`: by session; `last`: its last view, `ended`: its time."""
    count, number, begin, since = i64(0), i64(0), i64(0), i64(0)
    for i in range(len(client)):
        if i == 0 or client[i] != client[i - 1]:
            begin, since = count, number
        now, wanted, source = time[i], asked[i], referer[i]
        if source == wanted:
            source = NOWHERE  # a page that leads to itself does not say where the user came from
        seen, parent = _sought(wanted, source, now - timeout, begin, count, links, frames, session, page, ended)
        if seen >= 0 and last[session[seen]] == seen:
            ended[session[seen]] = now
            counts[RELOADED] += 1
            continue
        if parent >= 0 and source > OUTSIDE and len(frames) > 0 and _linked(frames, source, wanted):
            ended[session[parent]] = now
            counts[FRAMED] += 1
            continue
        if (
            source == NOWHERE
            and parent < 0
            and not has_referers
            and number > since
            and now - ended[number - 1] <= timeout
        ):
            parent = last[number - 1]
        if seen >= 0 and (given[seen] == source or (source == NOWHERE and parent < 0)):
            s, at = session[seen], i64(level[seen])  # back, by the browser
        else:
            leads, lead, lead_level, lead_given = False, source, i64(0), OUTSIDE  # a view to be added before
            if parent >= 0:
                s, at = session[parent], i64(level[parent]) + 1
                if last[s] != parent and page[last[s]] != page[parent]:
                    leads, lead, lead_level, lead_given = True, page[parent], i64(level[parent]), given[parent]
                    counts[ADDED_BACK] += 1
            else:
                expired = number > since and now - ended[number - 1] > timeout
                if number > since and (expired or source <= OUTSIDE):
                    counts[EXPIRED if expired else ENTERED if source == OUTSIDE else UNTOLD] += 1
                s, at = number, i64(0)
                number += 1
                views[s], depth[s], last[s], first[s] = 0, 0, -1, i
                fold[s] = (client[i] >> np.uint64(17)) & np.uint64(1)
                if source > OUTSIDE:
                    leads, added[s], at = True, True, i64(1)
                    counts[ADDED_FIRST] += 1
            if leads:
                count = _add(
                    s, lead, lead_level, lead_given, count, session, page, level, before, given,
                    views, last, depth, fold, visits, actions,
                )  # fmt: skip
            at = _least(s, wanted, at, links, page, level, before, last)
        ended[s] = now
        count = _add(
            s, wanted, at, source, count, session, page, level, before, given,
            views, last, depth, fold, visits, actions,
        )  # fmt: skip
    for s in range(number):
        actions[fold[s], level[last[s]], JUMP] += 1
    return number


@njit
def _least(s: int, wanted: np.uint64, at: int, links: U64, page: U64, level: I32, before: I64, last: I64) -> int:
    """The level of a page: the least over all pages of the session that led to it, or link to it."""
    v, looked = last[s], i64(0)
    while v >= 0 and looked < BACK:
        if page[v] == wanted:
            at = min(at, i64(level[v]))
        elif i64(level[v]) + 1 < at and len(links) > 0 and _linked(links, page[v], wanted):
            at = i64(level[v]) + 1
        v = before[v]
        looked += 1
    return at


@njit
def _add(
    s: int, wanted: np.uint64, at: int, source: np.uint64, count: int,
    session: I64, page: U64, level: I32, before: I64, given: U64,
    views: I64, last: I64, depth: I32, fold: U8, visits: I64, actions: I64,
) -> int:  # fmt: skip
    at = min(at, i64(LEVELS - 1))
    half = i64(fold[s])
    if last[s] >= 0:
        actions[half, level[last[s]], _action(i64(level[last[s]]), at)] += 1
    session[count], page[count], level[count], before[count], given[count] = s, wanted, at, last[s], source
    last[s] = count
    views[s] += 1
    depth[s] = max(depth[s], at)
    visits[half, at] += 1
    return count + 1
