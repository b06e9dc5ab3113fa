"""Pairs of pages that prove a session parameter.

A parameter of `seeder.session_ids` with a short value may be a session, or the number of a story (`sid=101`). A *pair*
is two pages of a site whose URLs differ only in the values of such parameters. If both have the same text, the
parameters made no difference. A parameter is proven at a site after pairs with `ENOUGH` different texts, if no pair
that differs in it alone has had two texts. Texts are the same if sketch and length are equal, and different if they are
no near duplicates; what is in between proves nothing and refutes nothing.

Why different texts: a thousand stories that are gone may all have the same apology, and prove nothing. Why the text and
not the digest: a page with a session has it in all its links, so that no two digests are equal.

What was seen is volatile, and bounded: after a stop it is collected again. What was proven is a site event.

Invariants, each a test of the same name: numbers of stories are never proven.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from gossamer.base.model import NONE, Outcome, PageFlag, Visits
from gossamer.collection.journal.effects import SiteNews
from gossamer.desk.desk import Desk, Part
from gossamer.desk.proven import MOST, Proven

ENOUGH: Final = 3
"""Different texts that pairs of a site must have."""
_NEAR: Final = 3
"""Sketches of near duplicates differ in at most so many bits."""
_MOST_SEEN: Final = 50_000
"""URLs that are remembered, about 20 MB; then it begins again."""
_DYNAMIC: Final = int(PageFlag.DYNAMIC)
_WHOLE: Final = (int(Outcome.OK), int(Outcome.DUPLICATE))
_MOST_PARAMETERS: Final = 8
"""Session parameters in a URL. A URL with more is ignored."""


class _Seen(NamedTuple):
    """The first page that was seen of all that differ only in the values of session parameters."""

    values: tuple[int, ...]
    """Hashes of the values, in their order."""
    sketch: int
    length: int


class _Case:
    """What speaks for a parameter at a site, and against it."""

    __slots__ = ("refuted", "texts")

    def __init__(self) -> None:
        self.texts: list[int] = []
        """Sketches of the texts of pairs."""
        self.refuted = False

    def takes(self, sketch: int) -> bool:
        """Takes the text of a pair; returns whether the parameter is proven by it."""
        known = len(self.texts) >= ENOUGH or any((sketch ^ text).bit_count() <= _NEAR for text in self.texts)
        if known or self.refuted:
            return False
        self.texts.append(sketch)
        return len(self.texts) == ENOUGH


class Pairs(Part):
    """The pages with session parameters that were seen, and what follows from them. No image has it."""

    name = "pairs"

    def __init__(self, desk: Desk) -> None:
        self._page = desk.columns.page
        self._known = desk[Proven].parameters
        self._ids = [name.lower() for name in desk.settings.seeder.session_ids[:MOST]]
        each = [re.escape(s.removesuffix("*")) + ("[^=&;]*" if s.endswith("*") else "") for s in self._ids]
        names = "|".join(each) or "(?!)"
        self._parameters = re.compile(rf"([?&;](?:{names})=)([^&;]*)".encode(), re.IGNORECASE)
        self._seen: dict[tuple[int, int], _Seen] = {}
        """By site, and hash of the URL without these values."""
        self._cases: dict[tuple[int, int], _Case] = {}

    def news(self, visits: Visits, urls_of: Callable[[Visits], list[bytes]], wall: float) -> list[SiteNews]:
        """The proofs of these visits. Only dynamic pages have parameters, and few of these a session parameter."""
        rows = np.flatnonzero((visits["sketch"] != 0) & (visits["page"] != NONE))
        rows = rows[self._page.flags[visits["page"][rows]] & _DYNAMIC != 0]
        if not len(rows):
            return []
        told = visits[rows]
        columns = [told[name].tolist() for name in ("site", "sketch", "text_length", "outcome")]
        return [
            SiteNews.session_proven(site, place, wall)
            for url, site, sketch, length, outcome in zip(urls_of(told), *columns, strict=True)
            if outcome in _WHOLE and self.occur(url)
            for place in self.look(site, url, sketch, length)
            if not self._known.get(site, 0) >> place & 1
        ]

    def occur(self, url: bytes) -> bool:
        """Whether the query of a canonical URL has one of the parameters."""
        at = url.find(b"?")
        return at >= 0 and self._parameters.search(url, at) is not None

    def look(self, site: int, url: bytes, sketch: int, length: int) -> list[int]:
        """Takes a page of the site, for which `occur` is true; returns the places of the parameters that it proves.
        `sketch` and `length`: of its text."""
        found = list(self._parameters.finditer(url, url.find(b"?")))
        if len(found) > _MOST_PARAMETERS:
            return []
        values = tuple(hash(each[2]) for each in found)
        rest = url[: found[0].start()] + self._parameters.sub(rb"\1", url[found[0].start() :])
        first = self._first(site, rest, _Seen(values, sketch, length))
        differ = {self._place(a[1]) for a, b in zip(found, first.values, strict=True) if hash(a[2]) != b}
        if (sketch, length) == (first.sketch, first.length):
            return [place for place in sorted(differ) if self._case(site, place).takes(sketch)]
        if len(differ) == 1 and (sketch ^ first.sketch).bit_count() > _NEAR:
            self._case(site, differ.pop()).refuted = True
        return []

    def _first(self, site: int, rest: bytes, page: _Seen) -> _Seen:
        """The first page with this rest of its URL. A page that was fetched again takes the place of itself."""
        key = (site, hash(rest))
        first = self._seen.get(key)
        if first is not None and first.values != page.values:
            return first
        if first is None and len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
            self._cases.clear()
        self._seen[key] = page
        return page

    def _case(self, site: int, place: int) -> _Case:
        return self._cases.setdefault((site, place), _Case())

    def _place(self, written: bytes) -> int:
        """The place in the list of a parameter as it is written: mark, name, equals sign."""
        name = written[1:-1].decode().lower()
        return next(
            i for i, each in enumerate(self._ids) if each == name or (each.endswith("*") and name.startswith(each[:-1]))
        )
