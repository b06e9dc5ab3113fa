"""The last few plans: what each held, and what decides why a page was not in it.

A plan has of each site its best `cap` pages that could be asked for, and of those the best `batch`. So it is enough to
keep the pages that it held, how many were known, and which sites were set aside: a page that could be asked for and is
not there came behind those of its site, if these reached the cap, or else behind all, if the plan was full.

`plans.bin` in the shard's folder is a line of JSON and then arrays: 4 bytes a page. A cache for `gossamer explain`,
written now and then and at a stop, never read by recovery; one that cannot be read is no fault.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xxhash

from gossamer.base import disk

U32 = npt.NDArray[np.uint32]
Said = dict[str, Any]

PLANS: Final = "plans.bin"
KEPT: Final = 50
MOST: Final = 400_000
"""Numbers in all plans that are kept: a small crawl plans several times a second, a large one less often and more."""
TOLD: Final = 3
"""Plans that a page is told about; one more if none of them had it."""
_ARRAYS: Final = ("sites", "ends", "pages", "aside")


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """A plan that was made."""

    number: int
    """Over all runs, the first being 1."""
    made: float
    """Wall time when it was begun."""
    known: int
    """Pages known then."""
    candidates: int
    batch: int
    cap: int
    sites: U32
    ends: U32
    """`pages[ends[i - 1]:ends[i]]` are those of `sites[i]`, best first."""
    pages: U32
    aside: U32
    """Sites that were set aside."""

    @property
    def size(self) -> int:
        return sum(len(getattr(self, name)) for name in _ARRAYS)

    def about(self, page: int, site: int) -> Said:
        """What decides whether it had the page."""
        at, of_site = np.flatnonzero(self.pages == page), np.flatnonzero(self.sites == site)
        i = int(of_site[0]) if len(of_site) else -1
        begin, end = (int(self.ends[i - 1]) if i > 0 else 0, int(self.ends[i])) if i >= 0 else (0, 0)
        return {
            "number": self.number,
            "made": self.made,
            "pages": len(self.pages),
            "candidates": self.candidates,
            "of_site": end - begin,
            "place_in_site": int(at[0]) - begin + 1 if len(at) else None,
            "known": page < self.known,
            "aside": bool((self.aside == site).any()),
            "batch": self.batch,
            "cap": self.cap,
        }


class History:
    def __init__(self, past: Iterable[Past] = ()) -> None:
        self._past = deque[Past](past)
        self._writing = threading.Lock()
        self._written = self.last

    @property
    def last(self) -> int:
        """Number of the last plan; 0 before the first."""
        return self._past[-1].number if self._past else 0

    def add(self, past: Past) -> None:
        self._past.append(past)
        while len(self._past) > TOLD and (len(self._past) > KEPT or sum(one.size for one in self._past) > MOST):
            self._past.popleft()

    def about(self, page: int, site: int) -> list[Said]:
        """The last plans, and if none of them had the page the last that had. Oldest first; in any thread."""
        past = list(self._past)
        held = next((one for one in reversed(past) if (one.pages == page).any()), None)
        before = [held] if held is not None and held not in past[-TOLD:] else []
        return [one.about(page, site) for one in before + past[-TOLD:]]

    def write(self, shard: Path) -> None:
        """If there is a new one. In any thread."""
        with self._writing:
            past = list(self._past)
            if not past or past[-1].number == self._written:
                return
            self._written = past[-1].number
            raw = [getattr(one, name).tobytes() for one in past for name in _ARRAYS]
            head = {"plans": [_head(one) for one in past], "checksum": _checksum(raw)}
            disk.write_atomic(shard / PLANS, json.dumps(head).encode() + b"\n", *raw)


def _head(past: Past) -> Said:
    numbers = {name: getattr(past, name) for name in ("number", "made", "known", "candidates", "batch", "cap")}
    return numbers | {"lengths": [len(getattr(past, name)) for name in _ARRAYS]}


def _checksum(parts: list[bytes]) -> str:
    state = xxhash.xxh3_64()
    for part in parts:
        state.update(part)
    return state.hexdigest()


def read_history(shard: Path) -> History:
    """As it was last written; empty if it cannot be read."""
    try:
        head, _, raw = (shard / PLANS).read_bytes().partition(b"\n")
        said = json.loads(head)
        if said["checksum"] != _checksum([raw]):
            return History()
        return History(_read(said["plans"], np.frombuffer(raw, np.uint32)))
    except (OSError, ValueError, KeyError, TypeError):
        return History()


def _read(heads: list[Said], values: U32) -> Iterable[Past]:
    at = 0
    for head in heads:
        arrays = {}
        for name, length in zip(_ARRAYS, head.pop("lengths"), strict=True):
            arrays[name] = values[at : at + length]
            at += length
        yield Past(**{**head, **arrays})
