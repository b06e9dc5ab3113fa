"""The strong components of a graph and its bow-tie structure (Broder et al. 2000; thesis 2.1.3, 8.6.4 and 8.6.5).

A *strong component* is a set of pages that can all reach one another by links. The largest one is MAIN (of several
equally large ones, the one with the smallest page number). Every page, or site, is in exactly one part: `names.PARTS`
defines them. main_main is neither main_in nor main_out, and a tunnel is no tentacle. Pages that only link to a
tentacle_in or from a tentacle_out are islands.

Components are found in one depth-first pass over the links (Pearce 2016, a leaner form of Tarjan 1972). While a page is
open, its `rindex` is the smallest number that it can reach, counted up from 1; afterwards it is the number of its
component, counted down from n. The stack of open pages and the stack of pages that wait for their root share one array.
Each link is read once, or twice if it leads to a new page. Memory: 17 bytes per page.

Refused: `scipy.sparse.csgraph`. It is correct but takes twice the time and 600 MB more for 10^6 pages and 2·10^7 links
(it copies the links as numbers of 8 bytes); `bench/links.py` measures both. Tests compare with it and with networkx.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gossamer.base.arrays import I64, U8, U32, Bools
from gossamer.base.compiled import njit
from gossamer.rank.graph import Csr, transposed
from gossamer.rank.names import PARTS

_MAIN_NORM, _MAIN_MAIN, _MAIN_IN, _MAIN_OUT, _IN, _OUT, _TENTACLE_IN, _TENTACLE_OUT, _TUNNEL, _ISLAND = range(10)
"""In the order of PARTS."""


@dataclass(frozen=True, slots=True)
class BowTie:
    """The bow-tie structure of a graph."""

    part: U8
    """By page: index of its part in PARTS."""
    component: U32
    """By page: its strong component, numbered from 0. A component links only to components with smaller numbers."""

    @property
    def main(self) -> int:
        """Number of pages in MAIN."""
        return int((self.part <= _MAIN_OUT).sum())

    @property
    def components(self) -> int:
        return int(self.component.max(initial=0)) + 1 if len(self.component) else 0

    def counts(self) -> dict[str, int]:
        found = np.bincount(self.part, minlength=len(PARTS)).tolist()
        return dict(zip(PARTS, found, strict=True))


def strong_components(links: Csr) -> U32:
    """By page: its strong component, numbered from 0. A component links only to components with smaller numbers."""
    n = links.pages
    rindex = np.zeros(n, np.uint32)
    _strong(links.offsets, links.targets, rindex, np.empty(n, np.int64), np.empty(n, np.uint32), np.ones(n, np.uint8))
    return np.subtract(np.uint32(n), rindex, out=rindex)


def bow_tie(links: Csr) -> BowTie:
    """The bow-tie of a graph. Memory: a transposed copy."""
    found = strong_components(links)
    if not len(found):
        return BowTie(np.zeros(0, np.uint8), found)
    back = transposed(links)
    sizes = np.bincount(found)
    main = found == found[np.argmax(sizes[found] == sizes.max())]
    ahead, behind = reached(links, main), reached(back, main)
    inside, outside = behind & ~main, ahead & ~main
    from_in, to_out = reached(links, inside), reached(back, outside)
    part = np.full(len(found), _ISLAND, np.uint8)
    part[from_in] = _TENTACLE_IN
    part[to_out] = _TENTACLE_OUT
    part[from_in & to_out] = _TUNNEL
    part[inside], part[outside] = _IN, _OUT
    entered, left = _touched(back, inside), _touched(links, outside)
    part[main] = np.select([entered & left, entered, left], [_MAIN_MAIN, _MAIN_IN, _MAIN_OUT], _MAIN_NORM)[main]
    return BowTie(part, found)


def reached(links: Csr, start: Bools) -> Bools:
    """Pages that can be reached from the pages of `start`, including these."""
    found = start.copy()
    queue = np.empty(links.pages, np.uint32)
    first = np.flatnonzero(start)
    queue[: len(first)] = first
    _reach(links.offsets, links.targets, found, queue, len(first))
    return found


def _touched(links: Csr, group: Bools) -> Bools:
    """Pages with a link to a page of `group`."""
    found = np.zeros(links.pages, np.bool_)
    _touch(links.offsets, links.targets, group, found)
    return found


@njit
def _strong(offsets: I64, targets: U32, rindex: U32, at: I64, stack: U32, is_root: U8) -> None:
    """Fill `rindex`. Open pages are at the front of `stack`, pages that wait for their root at its back."""
    n = len(rindex)
    front, back = 0, n
    index, component = 1, n
    for start in range(n):
        if rindex[start]:
            continue
        stack[0], front = start, 1
        rindex[start], at[start] = index, offsets[start]
        index += 1
        while front:
            page = stack[front - 1]
            i, end, least = at[page], offsets[page + 1], rindex[page]
            while i < end and rindex[targets[i]]:
                other = rindex[targets[i]]
                if other < least:
                    least = other
                    is_root[page] = 0
                i += 1
            rindex[page], at[page] = least, i
            if i < end:
                page = targets[i]
                stack[front] = page
                front += 1
                rindex[page], at[page] = index, offsets[page]
                index += 1
                continue
            front -= 1
            if is_root[page]:
                index -= 1
                while back < n and least <= rindex[stack[back]]:
                    rindex[stack[back]] = component
                    back += 1
                    index -= 1
                rindex[page] = component
                component -= 1
            else:
                back -= 1
                stack[back] = page


@njit
def _reach(offsets: I64, targets: U32, found: Bools, queue: U32, length: int) -> None:
    at = 0
    while at < length:
        page = queue[at]
        at += 1
        for i in range(offsets[page], offsets[page + 1]):
            if not found[targets[i]]:
                found[targets[i]] = True
                queue[length] = targets[i]
                length += 1


@njit
def _touch(offsets: I64, targets: U32, group: Bools, found: Bools) -> None:
    for page in range(len(found)):
        for i in range(offsets[page], offsets[page + 1]):
            if group[targets[i]]:
                found[page] = True
                break
