"""The last few plans, kept to explain why a page was or was not in them.

A plan takes from each site its best `cap` pages that may be planned, and from these the best `batch`. So it is enough
to keep the pages of a plan, the number of known pages, and the sites that were suspended: a page that could be planned
and is missing was worse than the pages of its site, if these reached the cap, or else worse than all, if the plan was
full.

`plans.bin` in the shard's folder is a line of JSON followed by arrays: 4 bytes per page. It is a cache for `gossamer
explain`, written now and then and at a stop, and never read by recovery; for a crawl, an unreadable file is no error.
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
import xxhash

from gossamer.base import disk
from gossamer.base.arrays import U32
from gossamer.base.errors import GossamerError

Said = dict[str, Any]

PLANS: Final = "plans.bin"
KEPT: Final = 50
MOST: Final = 400_000
"""Limit of numbers in all plans together: a small crawl plans several times per second, a large one seldom but more."""
TOLD: Final = 3
"""Number of recent plans in the answer about a page; one more plan if none of these has the page."""
_ARRAYS: Final = ("sites", "ends", "pages", "aside")


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """A former plan."""

    number: int
    """Counted over all runs, from 1."""
    made: float
    """Wall time at which it was begun."""
    known: int
    """Number of pages known at that time."""
    candidates: int
    batch: int
    cap: int
    sites: U32
    ends: U32
    """`pages[ends[i - 1]:ends[i]]` are the pages of `sites[i]`, best first."""
    pages: U32
    aside: U32
    """Sites that were suspended."""

    @property
    def size(self) -> int:
        return sum(len(getattr(self, name)) for name in _ARRAYS)

    def about(self, page: int, site: int) -> Said:
        """The facts that explain why the plan has the page, or not."""
        places, of_site = np.flatnonzero(self.pages == page), np.flatnonzero(self.sites == site)
        i = int(of_site[0]) if len(of_site) else -1
        begin, end = (int(self.ends[i - 1]) if i > 0 else 0, int(self.ends[i])) if i >= 0 else (0, 0)
        return {
            "number": self.number,
            "made": self.made,
            "pages": len(self.pages),
            "candidates": self.candidates,
            "of_site": end - begin,
            "place_in_site": int(places[0]) - begin + 1 if len(places) else None,
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

    @property
    def newest(self) -> Past | None:
        """The last plan."""
        return self._past[-1] if self._past else None

    def add(self, past: Past) -> None:
        self._past.append(past)
        while len(self._past) > TOLD and (len(self._past) > KEPT or sum(one.size for one in self._past) > MOST):
            self._past.popleft()

    def about(self, page: int, site: int) -> list[Said]:
        """The last plans and, if none of them has the page, the last earlier plan that has. Oldest first;
        thread-safe."""
        past = list(self._past)
        held = next((one for one in reversed(past) if (one.pages == page).any()), None)
        before = [held] if held is not None and held not in past[-TOLD:] else []
        return [one.about(page, site) for one in before + past[-TOLD:]]

    def write(self, shard: Path) -> None:
        """Writes the file if there is a new plan; thread-safe."""
        with self._writing:
            past = list(self._past)
            if not past or past[-1].number == self._written:
                return
            self._written = past[-1].number
            raw = [getattr(one, name).tobytes() for one in past for name in _ARRAYS]
            plans = [_head(one) for one in past]
            head = {"plans": plans, "checksum": _checksum(raw), "whole": _checksum([json.dumps(plans).encode(), *raw])}
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
    """The history as it was last written; empty if it cannot be read."""
    try:
        return _history((shard / PLANS).read_bytes())
    except (OSError, ValueError, KeyError, TypeError):
        return History()


def sound_history(shard: Path) -> History:
    """The history for a reader; empty if there is none, GossamerError if it is damaged."""
    try:
        return _history((shard / PLANS).read_bytes())
    except FileNotFoundError:
        return History()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GossamerError(
            f"{shard / PLANS} is damaged: {error}", "Remove it: it only tells of past plans."
        ) from error


def _history(file: bytes) -> History:
    """ValueError, KeyError or TypeError if the file is damaged."""
    line, _, raw = file.partition(b"\n")
    head = json.loads(line)
    plans = json.dumps(head["plans"]).encode()
    if head["checksum"] != _checksum([raw]) or not set(head) <= {"plans", "checksum", "whole"}:
        raise ValueError("its checksum is wrong")
    if "whole" in head and head["whole"] != _checksum([plans, raw]):  # an earlier version had none
        raise ValueError("its checksum is wrong")
    return History(_read(head["plans"], np.frombuffer(raw, np.uint32)))


def _read(heads: list[Said], values: U32) -> Iterable[Past]:
    start = 0
    for head in heads:
        arrays = {}
        for name, length in zip(_ARRAYS, head.pop("lengths"), strict=True):
            arrays[name] = values[start : start + length]
            start += length
        yield Past(**{**head, **arrays})
