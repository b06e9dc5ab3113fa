"""Robots rules of all origins: where the compiled rules of each are, until when they are valid, and what they allow."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from gossamer.base.askable import DELAYED
from gossamer.base.units import plural
from gossamer.collection.image import Image, Parts
from gossamer.desk.desk import Declared, Desk, Part
from gossamer.desk.places import Places
from gossamer.desk.rulebook import RuleBook
from gossamer.robots.match import verdicts_many
from gossamer.robots.rules import TOO_MANY

Array = npt.NDArray[Any]

FEW: Final = 256
"""Rules of up to this many bytes are not counted for their site."""


class Rules(Part):
    """The rulebook, and for each origin the place and the validity of its rules."""

    name = "rules"
    columns: ClassVar[Declared] = {
        "site": {
            "delay": "<f4",  # the longest Crawl-delay of its origins, seconds
            "named": "u1",  # 1: the Crawl-delays of all its origins are for us by name
            "refused": "u1",  # suspended: `DELAYED`, `BLOCKED` (`base/askable.py`)
        },
        "origin": {
            "valid": "<f8",  # wall: until when its robots rules are valid; 0: never requested
            "rules_start": "<u4",  # where its compiled rules are in the buffer: from the last good answer
            "rules_end": "<u4",
            "delay": "<f4",  # Crawl-delay, seconds
            "named": "u1",  # 1: it is for us by name
            "failures": "u1",  # robots.txt requests in a row without an answer
            "unreachable": "<f8",  # wall: since when, less the time without requests; 0: it could be read
        },
    }
    times = ("origin.valid", "origin.unreachable")
    needs = ("rules", "big_rules", "rule_keys", "rule_starts", "rules_kept")

    def __init__(self, desk: Desk) -> None:
        self._desk, self._columns, self._max_delay = desk, desk.columns, desk.settings.harvester.max_delay
        self.book = RuleBook(desk.columns.origin.limit, desk.seed, desk.folder)
        self.changed: list[int] = []
        """Origins whose rules are changed by the tick that is being applied."""
        self.warnings: list[str] = []
        self._refused = 0
        """Files with too many rules. Volatile: since the start."""
        self.unjudged = False
        """Whether there may be pages to which the current rules were not applied. Volatile: true after a start."""

    def arrays(self) -> dict[str, Array | Parts]:
        return dict(self.book.dump())

    def load(self, image: Image) -> None:
        small, big = self.book.room(image.length("rules"), image.length("big_rules"))
        image.into("rules", small)
        image.into("big_rules", big)
        self.book.load(image.array("rule_keys"), image.array("rule_starts"), int(image.array("rules_kept")[0]))
        self.unjudged = True
        site, count = self._columns.site, self._columns.site.count
        site.refused[:count] &= 0xFF ^ DELAYED
        site.refused[:count] |= site.delay[:count] > self._max_delay  # by the current settings

    def statistics(self) -> Mapping[str, float]:
        """`too_many`: the origins whose rules are too many."""
        origins, start = self._columns.origin, self.book.find(TOO_MANY)
        found = origins.rules_start[: origins.count] == start
        found &= origins.rules_end[: origins.count] == start + len(TOO_MANY)
        return {"too_many": int(np.count_nonzero(found))}

    def place(self, origin: int, compiled: bytes) -> None:
        """Takes the rules of an origin. Rules that do not fit into the book forbid the origin, and there is a warning:
        for the first such file, the second, the fourth and so on."""
        origins = self._columns.origin
        if self.book.crowded(len(compiled)):
            self._pack()
        before = int(origins.rules_start[origin]), int(origins.rules_end[origin])
        place = self.book.place(compiled, self._of_others(origin) if len(compiled) > FEW else 0)
        if origins.valid[origin] and place != before:
            self.changed.append(origin)
        with self.book.lock:
            origins.rules_start[origin], origins.rules_end[origin] = place
        if compiled and place != before and place[0] == self.book.find(TOO_MANY):
            self._warn(origin)
        if self.book.wasteful:
            self._pack()

    def _of_others(self, origin: int) -> int:
        """Bytes of the rules that other origins of the same site have."""
        origins = self._columns.origin
        others = np.flatnonzero(origins.site[: origins.count] == origins.site[origin])
        others = others[others != origin]
        places = np.unique(np.stack([origins.rules_start[others], origins.rules_end[others]]), axis=1).astype(np.int64)
        return int((places[1] - places[0]).sum())

    def _warn(self, origin: int) -> None:
        self._refused += 1
        if self._refused & (self._refused - 1) == 0:
            host = self._desk[Places].host(int(self._columns.origin.site[origin]))
            so_far = plural(self._refused, "such file")
            self.warnings.append(
                f"the robots.txt of {host} has more rules than can be kept: its pages are excluded ({so_far} so far)"
            )

    def _pack(self) -> None:
        origins = self._columns.origin
        starts, ends = origins.rules_start[: origins.count], origins.rules_end[: origins.count]
        with self.book.lock:
            starts[:], ends[:] = self.book.pack(starts, ends)

    def allowed(self, pages: Array, texts: list[bytes]) -> Array:
        """Whether the current rules allow these pages: 1 allowed, 0 forbidden."""
        return self.allowed_at(self._columns.page.origin[pages], texts)

    def allowed_at(self, origins: Array, texts: list[bytes]) -> Array:
        """The same for any URLs, by their origins."""
        at = np.fromiter(accumulate(map(len, texts), initial=0), np.int64, len(texts) + 1)
        origin = self._columns.origin
        buffer = np.frombuffer(b"".join(texts), np.uint8)
        return verdicts_many(self.book.buffer, origin.rules_start, origin.rules_end, buffer, at, origins)

    def allows(self, origin: int, url: str) -> bool:
        """Whether one URL of the origin is allowed."""
        return bool(self.allowed_at(np.array([origin], np.uint32), [url.encode()])[0])
