"""Strong components of a graph, and its bow-tie (Broder et al. 2000; thesis 2.1.3, 8.6.4 and 8.6.5).

Pages of which each can be reached from each other by links are a *strong component*; the largest is MAIN (of several
that are equally large, the one with the smallest page number). Every page, or site, is in exactly one part:

    in             can reach MAIN, cannot be reached from it
    out            can be reached from MAIN, cannot reach it
    tunnel         on a way from IN to OUT past MAIN
    tentacle_in    can be reached from IN, leads to none of these
    tentacle_out   leads to OUT, cannot be reached from IN
    island         all others, those included that only touch a tentacle from its wrong side
    main_main      in MAIN, with a link from IN *and* a link to OUT
    main_in        in MAIN, with a link from IN only
    main_out       in MAIN, with a link to OUT only
    main_norm      in MAIN, with neither

Components are found in one pass over the links, depth first (Pearce 2016, a leaner form of Tarjan 1972): number
`rindex`, the least that can be reached, counts up from 1 while a page is open and is that of its component, counted
down from n, afterwards; the stack of open pages and that of pages waiting for their root share one array. It ends
with each link looked at once, or twice where it led to a new page. 17 bytes a page.

Refused: `scipy.sparse.csgraph`, which is right but takes twice the time and 600 MB more for 10^6 pages and 2·10^7 links
(it copies the links as numbers of 8 bytes); `bench/links.py` has both. Tests compare with it and with networkx.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gossamer.base.compiled import njit
from gossamer.rank.graph import I64, U32, Csr, transposed
from gossamer.rank.names import PARTS

U8 = npt.NDArray[np.uint8]

_MAIN_NORM, _MAIN_MAIN, _MAIN_IN, _MAIN_OUT, _IN, _OUT, _TENTACLE_IN, _TENTACLE_OUT, _TUNNEL, _ISLAND = range(10)
"""As PARTS has them."""


@dataclass(frozen=True, slots=True)
class BowTie:
    part: U8
    """By page: its place in PARTS."""
    component: U32
    """By page: its strong component, numbered from 0; what a component links to has smaller numbers."""

    @property
    def main(self) -> int:
        """Pages of MAIN."""
        return int((self.part <= _MAIN_OUT).sum())

    @property
    def components(self) -> int:
        return int(self.component.max(initial=0)) + 1 if len(self.component) else 0

    def counts(self) -> dict[str, int]:
        found = np.bincount(self.part, minlength=len(PARTS)).tolist()
        return dict(zip(PARTS, found, strict=True))


def strong_components(links: Csr) -> U32:
    """By page, numbered from 0; what a component links to has smaller numbers."""
    n = links.pages
    rindex = np.zeros(n, np.uint32)
    _strong(links.offsets, links.targets, rindex, np.empty(n, np.int64), np.empty(n, np.uint32), np.ones(n, np.uint8))
    return np.subtract(np.uint32(n), rindex, out=rindex)


def bow_tie(links: Csr, component: U32 | None = None) -> BowTie:
    """`component` as `strong_components` has it, if it is at hand. Memory: a copy of the links, turned round."""
    found = strong_components(links) if component is None else component
    if not len(found):
        return BowTie(np.zeros(0, np.uint8), found)
    back = transposed(links)
    main = found == _largest(found)
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


def _largest(component: U32) -> int:
    sizes = np.bincount(component)
    return int(component[np.argmax(sizes[component] == sizes.max())])


def reached(links: Csr, start: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Pages that can be reached from those of `start`, which are among them."""
    found = start.copy()
    queue = np.empty(links.pages, np.uint32)
    first = np.flatnonzero(start)
    queue[: len(first)] = first
    _reach(links.offsets, links.targets, found, queue, len(first))
    return found


def _touched(links: Csr, group: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Pages with a link to one of `group`."""
    found = np.zeros(links.pages, np.bool_)
    _touch(links.offsets, links.targets, group, found)
    return found


@njit
def _strong(offsets: I64, targets: U32, rindex: U32, at: I64, stack: U32, is_root: U8) -> None:
    """Open pages lie at the front of `stack`, those that wait for their root at its back."""
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
def _reach(offsets: I64, targets: U32, found: npt.NDArray[np.bool_], queue: U32, length: int) -> None:
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
def _touch(offsets: I64, targets: U32, group: npt.NDArray[np.bool_], found: npt.NDArray[np.bool_]) -> None:
    for page in range(len(found)):
        for i in range(offsets[page], offsets[page + 1]):
            if group[targets[i]]:
                found[page] = True
                break
