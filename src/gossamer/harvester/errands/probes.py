"""Answers to probes: how sites answer requests for a page that cannot exist, one probe per site and folder (A.3.4).

An answer takes 47 bytes, and a site has at most `MOST` of them. Rows are only ever added: a site's column `probe` is
its last row, counted from 1, and each row refers to the site's row before it. Only what later pages show about an
answer changes in its row (`note`): which page with the same contents is kept, and whether pages with other contents
have the same title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from gossamer import urls
from gossamer.base.arrays import U64, Array
from gossamer.base.compiled import allocating, njit
from gossamer.base.model import NONE, Ask, Outcome, VisitFlag, Visits
from gossamer.base.outcomes import TRANSIENT
from gossamer.collection.image import Image, Parts
from gossamer.desk.applied import Applied
from gossamer.desk.columns import Group
from gossamer.desk.desk import Declared, Desk, Part

UNANSWERED: Final = TRANSIENT | {Outcome.RETURNED, Outcome.CHALLENGED, Outcome.FORGOTTEN}
"""Outcomes that do not show how a site answers for missing pages."""
_PAGE: Final = int(Ask.PAGE)
_REDIRECT, _SOFT = int(Outcome.REDIRECT), int(Outcome.SOFT_404)
_RESPELLED: Final = int(VisitFlag.RESPELLED)

MOST: Final = 8
"""Maximum number of probes of a site."""
SAME: Final = 4
"""One redirect to the same target weighs as much as this many redirects to other targets."""
NEAR: Final = 3
"""Maximum number of bits, of 64, in which the sketches of near duplicates differ (Manku, Jain, Das Sarma 2007)."""
LONGER: Final = 0.1
"""Maximum relative difference in length of near-equal texts."""
NAME: Final = "no-such-page-for-gossamer-"
"""The name of a probe: this, then the fingerprint of the probed folder in hexadecimal."""
_MOST_VOTES: Final = 0xFFFF - SAME
_NUMBER: Final = re.compile(re.escape(NAME) + "([0-9a-f]+)", re.IGNORECASE)
_OK, _DUPLICATE, _NOINDEX = int(Outcome.OK), int(Outcome.DUPLICATE), int(VisitFlag.NOINDEX)

ROW: Final = np.dtype(
    [
        ("before", "<u4"),
        ("kind", "u1"),
        ("folder", "<u8"),
        ("value", "<u8"),
        ("title", "<u8"),
        ("digest", "<u8"),
        ("length", "<u4"),
        ("kept", "<u4"),
        ("exact", "u1"),
        ("common", "u1"),
    ]
)


class Kind(IntEnum):
    """How pages are compared with an answer."""

    NOTHING = 0
    """An honest error, or an answer that says nothing about other pages."""
    TEXT = 1
    """By contents: `value` is the page's contents (`said`), `title` the fingerprint of its title."""
    REDIRECT = 2
    """By target: `value` is the fingerprint of the target."""
    PATH = 3
    """Only in older images: the target repeats the requested name. Read as NOTHING."""


class Answer(NamedTuple):
    """The answer to a probe."""

    kind: Kind
    folder: int
    """Fingerprint of the URL of the folder."""
    value: int = 0
    title: int = 0
    """0: no title."""
    digest: int = 0
    length: int = 0
    """Characters of the text."""
    kept: int = NONE
    """The first page with the same contents, which is kept."""
    exact: bool = False
    """The kept page has exactly the same contents. If not, the first page that has them takes its place."""
    common: bool = False
    """A page with other contents has the same title, so the title does not identify a page."""

    def repeated_by(self, visit: Any, value: int, title: int) -> bool:
        """Whether a page repeats this answer: exactly, or almost and with the same title.

        `value` and `title` belong to the page. A page with noindex has no title at the desk.
        """
        if self.kind is not Kind.TEXT or not value:
            return False
        withheld = bool(int(visit["flags"]) & _NOINDEX)
        if self.equals(visit, value):
            return withheld or title == self.title
        near = (value ^ self.value).bit_count() <= NEAR and self._is_as_long(int(visit["text_length"]))
        return near and title == self.title != 0 and not withheld and not self.common

    def equals(self, visit: Any, value: int) -> bool:
        """Whether text and links of a page are exactly the same."""
        if self.digest or visit["digest"] != 0:
            return int(visit["digest"]) == self.digest
        return value == self.value and visit["sketch"] == 0

    def keeping(self, visit: Any, value: int) -> Answer:
        """The answer after a page that repeats it, which is kept if it is the first or the first exact one."""
        exact = self.equals(visit, value)
        has_room = self.kept == NONE or (exact and not self.exact)
        return self._replace(kept=int(visit["page"]), exact=exact) if has_room else self

    def belied_by(self, visit: Any, value: int, title: int) -> bool:
        """Whether a page has the same title but other contents."""
        far = (value ^ self.value).bit_count() > NEAR or not self._is_as_long(int(visit["text_length"]))
        return self.kind is Kind.TEXT and title == self.title != 0 and far

    def _is_as_long(self, length: int) -> bool:
        return abs(length - self.length) <= LONGER * self.length


class Probes:
    """All answers, in rows; see the top of this file."""

    def __init__(self, last: Array) -> None:
        """`last`: the column `probe` of the sites."""
        self._last = last
        self.telling = np.zeros(len(last), np.bool_)
        """By site: whether one of its answers shows how a missing page looks."""
        self._rows = np.zeros(16, ROW)
        self._count = 0

    def add(self, site: int, answer: Answer) -> None:
        """Adds an answer, unless the site already has `MOST`."""
        if len(list(self.of(site))) >= MOST:
            return
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(self._count // 2, ROW)])
        self._rows[self._count] = (self._last[site], *answer)
        self._count += 1
        self._last[site] = self._count
        self.telling[site] |= answer.kind is not Kind.NOTHING

    def of(self, site: int) -> Iterator[Answer]:
        """The answers of a site, the last first."""
        return (answer for _, answer in self._numbered(site))

    def _numbered(self, site: int) -> Iterator[tuple[int, Answer]]:
        at = int(self._last[site])
        while at:
            before, kind, *numbers, exact, common = self._rows[at - 1].item()
            yield at - 1, Answer._make((Kind(kind), *numbers, bool(exact), bool(common)))
            at = before

    def note(self, visit: Any, value: int, title: int) -> None:
        """Compares a visited page with the answers of its site: the first page that repeats an answer is kept, until
        its contents change."""
        fetched, page = int(visit["outcome"]) in (_OK, _DUPLICATE), int(visit["page"])
        for at, answer in self._numbered(int(visit["site"])):
            row = self._rows[at]
            if fetched and answer.repeated_by(visit, value, title):
                after = answer.keeping(visit, value)
                row["kept"], row["exact"] = after.kept, after.exact
            elif answer.kept == page:
                row["kept"], row["exact"] = NONE, 0
            if fetched and answer.belied_by(visit, value, title):
                row["common"] = 1

    def dump(self) -> Array:
        """The rows for an image."""
        return self._rows[: self._count]

    def load(self, rows: Array) -> None:
        """Loads the rows of an image, which may be older and have fewer fields."""
        self._rows, self._count = np.zeros(len(rows) + 16, ROW), len(rows)
        self._rows["kept"] = NONE
        for name in rows.dtype.names or ():
            self._rows[name][: len(rows)] = rows[name]
        path = self._rows["kind"] == Kind.PATH
        self._rows["kind"][path], self._rows["value"][path] = Kind.NOTHING, 0
        for site in np.flatnonzero(self._last).tolist():
            self.telling[site] = any(answer.kind is not Kind.NOTHING for answer in self.of(site))


@njit
def contents_of(visit: Any) -> np.uint64:
    """The contents of a page in 64 bits: its sketch; its digest if it has too few words for a sketch; the beginning of
    the digest of its body if it is almost empty. 0: no contents."""
    found: np.uint64 = visit.sketch if visit.sketch != 0 else visit.digest
    if found == 0:
        for i in range(8):
            found |= np.uint64(visit.payload[i]) << np.uint64(8 * i)
    return found


@allocating
def said(visits: Visits) -> U64:
    """The contents of each page."""
    found = np.empty(len(visits), np.uint64)
    for i in range(len(visits)):
        found[i] = contents_of(visits[i])
    return found


def named(title: str | bytes, seed: int) -> int:
    """The fingerprint of a title; 0: no title."""
    return urls.fingerprint(title, seed) if title else 0


def answer_of(visit: Any, texts: dict[str, bytes], scope: urls.Scope, seed: int) -> Answer:
    """The answer in the visit of a probe. The text `title` of such a visit is the requested URL, a space, and the
    title."""
    asked, _, title = texts["title"].decode(errors="replace").partition(" ")
    url = scope.canonical(asked) or asked
    folder, outcome = urls.fingerprint(urls.folder(url), seed), int(visit["outcome"])
    if outcome == Outcome.OK:
        value = int(said(np.array([visit]))[0])
        kind = Kind.TEXT if value else Kind.NOTHING
        return Answer(kind, folder, value, named(title, seed), int(visit["digest"]), int(visit["text_length"]))
    target = scope.canonical(texts["redirect"].decode(errors="replace")) if outcome == Outcome.REDIRECT else None
    number = _NUMBER.search(url)
    if target is None or number is None or number[1].lower() in target.lower():  # another name of the same page
        return Answer(Kind.NOTHING, folder)
    return Answer(Kind.REDIRECT, folder, urls.fingerprint(target, seed))


def vote(origins: Group, number: int, target: int) -> None:
    """Counts a page of the origin that is redirected to `target`, a fingerprint.

    The column `moved_to` is the target of most redirects, and `moved` its lead (majority vote, Boyer and Moore 1981):
    one place for each origin, however many targets there are. In random order, a target with a fifth of all redirects
    is found; in any order, a target with four fifths. `moved` is never more than `SAME` times the number of redirects
    to the target.
    """
    if int(origins.moved_to[number]) == target:
        origins.moved[number] = min(int(origins.moved[number]) + SAME, _MOST_VOTES)
    elif origins.moved[number]:
        origins.moved[number] -= 1
    else:
        origins.moved_to[number], origins.moved[number] = target, SAME


class ProbeAnswers(Part):
    """The answers of probed sites, and the most common redirect target of each origin."""

    name = "probes"
    columns: ClassVar[Declared] = {
        "site": {"probe": "<u4"},  # its last row of `Probes`, counted from 1; 0: none
        "origin": {
            "moved_to": "<u8",  # fingerprint of the target of most of its redirects
            "moved": "<u2",  # the lead of that target: see `vote`
        },
    }
    needs = ("probes",)

    def __init__(self, desk: Desk) -> None:
        self.probes = Probes(desk.columns.site.probe)

    def arrays(self) -> dict[str, Array | Parts]:
        return {"probes": self.probes.dump()}

    def load(self, image: Image) -> None:
        self.probes.load(image.array("probes"))


def take_answer(desk: Desk, visit: Any, texts: dict[str, bytes]) -> None:
    """Takes the answer to a probe. Of a forgotten site, nothing is left of what it answered."""
    if texts["title"] and Outcome(int(visit["outcome"])) not in UNANSWERED:
        desk[ProbeAnswers].probes.add(int(visit["site"]), answer_of(visit, texts, desk.scope, desk.seed))


def compare_pages(desk: Desk, applied: Applied) -> None:
    """Compares pages of probed sites with the answers to the probes."""
    visits, probes = applied.visits, desk[ProbeAnswers].probes
    rows = np.flatnonzero((visits["ask"] == _PAGE) & probes.telling[visits["site"]])
    if len(rows):
        values = said(visits)
        for i, texts in applied.effects.texts().at(rows):
            if Outcome(int(visits["outcome"][i])) not in UNANSWERED:
                probes.note(visits[i], int(values[i]), named(texts["title"], desk.seed))


def count_redirects(desk: Desk, applied: Applied) -> None:
    """Counts the targets of redirects, by origin; each page once, however often it is visited again."""
    visits, before = applied.visits, desk.columns.page.outcome
    moved = (visits["ask"] == _PAGE) & ((visits["outcome"] == _REDIRECT) | (visits["outcome"] == _SOFT))
    rows = np.flatnonzero(moved)
    last = before[visits["page"][rows]]
    moved[rows[(last == _REDIRECT) | (last == _SOFT)]] = False
    texts = applied.effects.texts()
    for i in np.flatnonzero(moved & (visits["flags"] & _RESPELLED == 0)).tolist():
        if target := texts.text(i, "redirect"):
            vote(desk.columns.origin, int(visits["origin"][i]), urls.fingerprint(target, desk.seed))
