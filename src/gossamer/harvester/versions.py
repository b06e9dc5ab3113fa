"""The last version of every page, and whether a site's validators can be believed.

A page that was fetched before is requested on condition that it has changed: by ETag (If-None-Match), Last-Modified
(If-Modified-Since), or both (RFC 9110, 13.1). One request in `SHARE` is made in full all the same. What comes of it
shows servers that lie. Three counts for each site, each from 0 to `MOST`, say so; from `LIES` on they are acted upon:

    idle_etag    the page was the same, and its ETag another one (an ETag for each request), or was not honoured
    idle_date    the same of Last-Modified (which may be the time of the request)
    stale        a full request found another text under the same validators, or where requests on condition find none

A validator that is idle is no longer sent; it is believed again when it stays while pages do. A site that is stale is
always asked in full. Good answers lower the counts, so that chance does not add up: at an honest site, 15 of 16 changes
are found by requests on condition.

Invariants, each a test of the same name: a lying server is found out; an honest server is believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Any, ClassVar, Final

import numpy as np
from xxhash import xxh3_64_intdigest

from gossamer.base.arrays import U32
from gossamer.base.askable import REVISITED
from gossamer.base.model import Change, Outcome, State, Validators
from gossamer.collection.image import Image
from gossamer.collection.versions import bring
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Declared, Desk, Part
from gossamer.harvester.shown import BELIEVED, LIES, SHOWN, in_words

SHARE: Final = 16
"""One request in so many is made in full, whatever the validators of the page are."""
MOST: Final = 8
_BOTH: Final = int(Validators.BY_ETAG | Validators.BY_DATE)
_BY_ETAG, _BY_DATE = int(Validators.BY_ETAG), int(Validators.BY_DATE)
_SAME: Final = int(Validators.SAME_ETAG | Validators.SAME_DATE)
_OTHER: Final = int(Validators.OTHER_ETAG | Validators.OTHER_DATE)
_TESTED, _DUPLICATE, _PENDING = int(Validators.TESTED), int(Outcome.DUPLICATE), int(State.PENDING)
_PAGE_AT: Final = Struct("<Iq").pack


class Versions(Part):
    """Which version each page has, and what was found out about the validators of sites."""

    name = "versions"
    columns: ClassVar[Declared] = {
        "page": {"version": "<u4"},  # number of its last version (`collection/versions.py`), plus 1; 0: none
        "site": {"idle_etag": "u1", "idle_date": "u1", "stale": "u1"},
    }

    shown = SHOWN

    def __init__(self, desk: Desk) -> None:
        self._columns = desk.columns
        self.count = 0
        """Number of versions so far."""

    def meta(self) -> dict[str, Any]:
        return {"versions": self.count}

    def load(self, image: Image) -> None:
        self.count = int(image.meta["versions"])

    def explain_site(self, site: int) -> Mapping[str, object]:
        sites = self._columns.site
        words = in_words(int(sites.idle_etag[site]), int(sites.idle_date[site]), int(sites.stale[site]))
        return {} if words == BELIEVED else {"validators": words}

    def numbers(self, pages: U32) -> U32:
        """The numbers of the last versions of those of these pages that have one."""
        numbers = self._columns.page.version[pages]
        found: U32 = numbers[numbers > 0] - np.uint32(1)
        return found

    def conditions(self, page: int, site: int, wall: float) -> int:
        """The conditions on which this page, which has a version, may be requested now.

        None if it was not fetched the last time: then the answer must be whole. Neither for a duplicate that is opened:
        it may be one no longer.
        """
        pages, sites = self._columns.page, self._columns.site
        outcome = int(pages.outcome[page])
        opened = outcome == _DUPLICATE and pages.state[page] == _PENDING
        if outcome not in REVISITED or opened or sites.stale[site] >= LIES:
            return 0
        if xxh3_64_intdigest(_PAGE_AT(page, int(wall))) % SHARE == 0:
            return _TESTED
        allowed = _BY_ETAG if sites.idle_etag[site] < LIES else 0
        return allowed | (_BY_DATE if sites.idle_date[site] < LIES else 0)


def number_versions(desk: Desk, applied: Applied) -> None:
    """Numbers the versions that these visits bring, and judges the validators of their sites."""
    visits, part = applied.effects.visits, desk[Versions]
    pages = visits["page"][bring(visits)]
    desk.columns.page.version[pages] = np.arange(part.count + 1, part.count + 1 + len(pages), dtype=np.uint32)
    part.count += len(pages)
    if visits["validators"].any():
        _judge(desk, visits[visits["validators"] != 0])


def _judge(desk: Desk, visits: Any) -> None:
    sites = desk.columns.site
    for site, outcome, change, bits in visits[["site", "outcome", "change", "validators"]].tolist():
        if outcome == Outcome.NOT_MODIFIED:
            _count(sites.idle_etag if bits & _BY_ETAG else sites.idle_date, site, -1)
        elif change == Change.NONE:
            for column, asked, same, other in _EACH:
                if bits & (same | other):
                    idle = bits & other or (bits & asked and not bits & _BY_ETAG & ~asked)
                    _count(getattr(sites, column), site, 1 if idle else -1)
        elif change == Change.MAJOR:
            under_same = bits & _SAME and not bits & _OTHER
            if bits & _BOTH:
                _count(sites.stale, site, -1)
            elif under_same or bits & _TESTED:
                _count(sites.stale, site, 1)


_EACH: Final = (
    ("idle_etag", _BY_ETAG, int(Validators.SAME_ETAG), int(Validators.OTHER_ETAG)),
    ("idle_date", _BY_DATE, int(Validators.SAME_DATE), int(Validators.OTHER_DATE)),
)


def _count(counts: Any, site: int, by: int) -> None:
    counts[site] = min(MOST, max(0, int(counts[site]) + by))
