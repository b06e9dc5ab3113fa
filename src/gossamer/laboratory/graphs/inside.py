"""The links inside the sites of a generated Web: a tree from each home page, then the remaining links.

Input, for each page in the order of its site: how many links it has and how many should lead to it. The pages of a site
are laid out level by level, on each level as many as `depths` asks for and as the links of the level above can reach.
So every page is reachable from the home page of its site. The remaining links are matched with the in-degree that is
still missing, the pages that miss most first, in rounds (each page's first link, then each page's second, ...), so that
hardly any link is repeated. No link may lead more than one level down, as this would reduce depths: such a link swaps
targets with another link of the site if both are then allowed; if no such link is found, it leads to an ancestor of its
target instead.

Every kernel takes one pass; random numbers come from numba's generator with a seed: equal seeds give equal links.
"""

from __future__ import annotations

import numpy as np

from gossamer.base.arrays import F64, I64, U32
from gossamer.base.compiled import allocating, njit

TRIES = 24
"""Attempts to swap targets."""


@allocating
def links_inside(begins: I64, degree: I64, wanted: I64, depths: F64, seed: int, sources: U32, targets: U32) -> int:
    """Makes the links inside all sites and returns their number. Site s has the pages from begins[s] to begins[s + 1],
    its home page first. `sources` and `targets` must have room for the sum of all degrees plus one link per page.
    """
    np.random.seed(seed)
    made = 0
    most = 0
    for s in range(len(begins) - 1):
        most = max(most, begins[s + 1] - begins[s])
    level, parent, left = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    for s in range(len(begins) - 1):
        first, n = begins[s], begins[s + 1] - begins[s]
        if n > 1:
            _plant(degree[first : first + n], depths, level[:n], parent[:n], left[:n])
            for p in range(1, n):
                sources[made], targets[made] = first + parent[p], first + p
                made += 1
            more = _match(left[:n], wanted[first : first + n], level[:n], parent[:n], sources[made:], targets[made:])
            for i in range(made, made + more):
                sources[i] += first
                targets[i] += first
            made += more
    return made


@njit
def _plant(degree: I64, depths: F64, level: I64, parent: I64, left: I64) -> None:
    """Sets the level of each page, its parent on the level above, and the links that each page has left."""
    n = len(degree)
    for p in range(n):
        left[p] = min(degree[p], n - 1)
    level[0], parent[0] = 0, 0
    above, begin = 0, 1
    due = 0.0
    for depth in range(1, len(depths)):
        if begin == n:
            return
        room = 0
        for p in range(above, begin):
            room += left[p]
        due += depths[depth] * n
        last = depth == len(depths) - 1
        count = n - begin if last else min(n - begin, max(1, min(room - room // 8, int(due) - begin + 1)))
        giver = above
        for p in range(begin, begin + count):
            tried = 0
            while left[giver] == 0 and tried < begin - above:
                giver = giver + 1 if giver + 1 < begin else above
                tried += 1
            parent[p], level[p] = giver, depth
            left[giver] = max(0, left[giver] - 1)
            giver = giver + 1 if giver + 1 < begin else above
        above, begin = begin, begin + count


@njit
def _match(left: I64, wanted: I64, level: I64, parent: I64, sources: U32, targets: U32) -> int:
    rounds = _line_up(left, sources)
    count = _aim(rounds, wanted, targets)
    kept = 0
    for i in range(count):
        for _ in range(TRIES):
            if _may(sources[i], targets[i], level):
                break
            j = np.random.randint(kept + count - i)
            j = j if j < kept else i + j - kept
            if _may(sources[i], targets[j], level) and _may(sources[j], targets[i], level):
                targets[i], targets[j] = targets[j], targets[i]
        while level[targets[i]] > level[sources[i]] + 1:
            targets[i] = parent[targets[i]]
        if sources[i] != targets[i]:
            sources[kept], targets[kept] = sources[i], targets[i]
            kept += 1
    return kept


@allocating
def _line_up(left: I64, sources: U32) -> I64:
    """Lists every page's first link, then every page's second, ...; returns where each round ends."""
    order = np.random.permutation(len(left))
    rounds = np.zeros(left.max() + 1, np.int64)
    count, still = 0, len(left)
    for turn in range(len(rounds)):
        at, still = still, 0
        for i in range(at):
            if left[order[i]] > turn:
                sources[count] = order[i]
                count += 1
                order[still] = order[i]
                still += 1
        rounds[turn] = count
    return rounds


@njit
def _aim(rounds: I64, wanted: I64, targets: U32) -> int:
    """Deals the links out to the pages by their wanted in-degree, but no page twice in a round: the excess goes to the
    next page. All pages except the home page want one link less, as they have one from their parent."""
    n, count = len(wanted), rounds[-1]
    total = 0
    for p in range(n):
        total += min(wanted[p] - (p > 0), n - 1)
    at, turn, due = 0, 0, 0.0
    for p in range(n):
        if total <= 0:
            break
        due += min(wanted[p] - (p > 0), n - 1) * count / total
        while turn < len(rounds) - 1 and rounds[turn] <= at:
            turn += 1
        most = rounds[turn] - (rounds[turn - 1] if turn else 0)
        share = min(most, int(due + 0.5), count - at)
        targets[at : at + share] = p
        at += share
        due -= share
    return at


@njit
def _may(source: int, target: int, level: I64) -> bool:
    return source != target and level[target] <= level[source] + 1
