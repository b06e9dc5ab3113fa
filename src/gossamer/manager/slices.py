"""The form of a plan: its pages as one slice for each site."""

from __future__ import annotations

from typing import Final

import numpy as np

from gossamer.base.arrays import I64, U32, U64
from gossamer.base.compiled import allocating

_LOW: Final = np.uint64(0xFFFFFFFF)


def by_site(keys: U64, origin: U32, site: U32, sites: int) -> tuple[U32, I64, U32, U32]:
    """Groups the planned pages by site; the site with the best page comes first."""
    pages = (_LOW - (keys & _LOW)).astype(np.uint32)
    return _slices(pages, site[origin[pages]], np.full(sites, -1, np.int64))


@allocating
def _slices(pages: U32, site: U32, place: I64) -> tuple[U32, I64, U32, U32]:
    found = np.empty(len(pages), np.uint32)
    offsets = np.zeros(len(pages) + 1, np.int64)
    n = 0
    for s in site:
        if place[s] < 0:
            place[s] = n
            found[n] = s
            n += 1
        offsets[place[s] + 1] += 1
    for i in range(n):
        offsets[i + 1] += offsets[i]
    at = offsets[:n].copy()
    out, ranks = np.empty(len(pages), np.uint32), np.empty(len(pages), np.uint32)
    for i in range(len(pages)):
        out[at[place[site[i]]]], ranks[at[place[site[i]]]] = pages[i], i
        at[place[site[i]]] += 1
    return found[:n], offsets[: n + 1], out, ranks
