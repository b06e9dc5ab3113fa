"""What sites answer when they are asked for a page that cannot exist: a *probe*, one for a site and folder (A.3.4).

47 bytes for each answer, and at most `MOST` of a site. Rows are only ever added; a site's column `probe` names its last
one, counted from 1, and each row the one before it. What changes in a row afterwards is what pages say of it (`note`):
which page is kept that says the same, and whether its title is that of other pages too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer import urls
from gossamer.base.model import NONE, Ask, Outcome, VisitFlag
from gossamer.base.outcomes import TRANSIENT
from gossamer.collection.image import Image, Parts
from gossamer.desk.applied import Applied
from gossamer.desk.columns import Group
from gossamer.desk.desk import Declared, Desk, Part

Array = npt.NDArray[Any]

UNANSWERED: Final = TRANSIENT | {Outcome.RETURNED, Outcome.CHALLENGED}
"""Outcomes that say nothing about what a site has and has not."""
_PAGE: Final = int(Ask.PAGE)
_REDIRECT, _SOFT = int(Outcome.REDIRECT), int(Outcome.SOFT_404)
_RESPELLED: Final = int(VisitFlag.RESPELLED)

MOST: Final = 8
"""Probes of a site."""
SAME: Final = 4
"""One redirect to the same address weighs as much as so many to others."""
NEAR: Final = 3
"""Bits of 64 in which the sketches of near duplicates differ (Manku, Jain, Das Sarma 2007)."""
LONGER: Final = 0.1
"""Part by which the lengths of near equal texts may differ."""
NAME: Final = "no-such-page-for-gossamer-"
"""Before the number, in hexadecimal, of the folder that is probed."""
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
    """What an answer is known by."""

    NOTHING = 0
    """It is an honest error, or says nothing about other pages."""
    TEXT = 1
    """`value` is what the page says (`said`), `title` the fingerprint of its title."""
    REDIRECT = 2
    """`value` is the fingerprint of the target."""
    PATH = 3
    """In images of before: the target repeats what was asked for. Read as NOTHING."""


class Answer(NamedTuple):
    kind: Kind
    folder: int
    """Fingerprint of its URL."""
    value: int = 0
    title: int = 0
    """0 without one."""
    digest: int = 0
    length: int = 0
    """Characters of its text."""
    kept: int = NONE
    """The page that is kept though it says the same: the first one."""
    exact: bool = False
    """That page says it word for word. If not, the first one that does takes its place."""
    common: bool = False
    """A page that says something else has this title as well: it tells nothing."""

    def repeated_by(self, visit: Any, value: int, title: int) -> bool:
        """Whether a page says what it said: word for word, or almost, under the same title.

        `value`, `title`: of the page, as here. A page that is not to be indexed has no title at the desk.
        """
        if self.kind is not Kind.TEXT or not value:
            return False
        withheld = bool(int(visit["flags"]) & _NOINDEX)
        if self.equals(visit, value):
            return withheld or title == self.title
        near = (value ^ self.value).bit_count() <= NEAR and self._is_as_long(int(visit["text_length"]))
        return near and title == self.title != 0 and not withheld and not self.common

    def equals(self, visit: Any, value: int) -> bool:
        """Word for word, with the same links."""
        if self.digest or visit["digest"] != 0:
            return int(visit["digest"]) == self.digest
        return value == self.value and visit["sketch"] == 0

    def keeping(self, visit: Any, value: int) -> Answer:
        """After a page that repeats it: which one is kept."""
        exact = self.equals(visit, value)
        has_room = self.kept == NONE or (exact and not self.exact)
        return self._replace(kept=int(visit["page"]), exact=exact) if has_room else self

    def belied_by(self, visit: Any, value: int, title: int) -> bool:
        """Whether a page has its title and says something else."""
        far = (value ^ self.value).bit_count() > NEAR or not self._is_as_long(int(visit["text_length"]))
        return self.kind is Kind.TEXT and title == self.title != 0 and far

    def _is_as_long(self, length: int) -> bool:
        return abs(length - self.length) <= LONGER * self.length


class Probes:
    def __init__(self, last: Array) -> None:
        """`last`: the column `probe` of the sites."""
        self._last = last
        self.telling = np.zeros(len(last), np.bool_)
        """Sites of which an answer says what a page that does not exist looks like."""
        self._rows = np.zeros(16, ROW)
        self._count = 0

    def add(self, site: int, answer: Answer) -> None:
        """Unless the site has as many as it may have."""
        if len(list(self.of(site))) >= MOST:
            return
        if self._count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(self._count // 2, ROW)])
        self._rows[self._count] = (self._last[site], *answer)
        self._count += 1
        self._last[site] = self._count
        self.telling[site] |= answer.kind is not Kind.NOTHING

    def of(self, site: int) -> Iterator[Answer]:
        """The last one first."""
        return (answer for _, answer in self._numbered(site))

    def _numbered(self, site: int) -> Iterator[tuple[int, Answer]]:
        at = int(self._last[site])
        while at:
            before, kind, *numbers, exact, common = self._rows[at - 1].item()
            yield at - 1, Answer._make((Kind(kind), *numbers, bool(exact), bool(common)))
            at = before

    def note(self, visit: Any, value: int, title: int) -> None:
        """A page of a site that is telling came to its end: the first that repeats an answer is kept as its copy, until
        it says something else."""
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
        return self._rows[: self._count]

    def load(self, rows: Array) -> None:
        """Rows of an image, which may be of before and have fewer fields."""
        self._rows, self._count = np.zeros(len(rows) + 16, ROW), len(rows)
        self._rows["kept"] = NONE
        for name in rows.dtype.names or ():
            self._rows[name][: len(rows)] = rows[name]
        path = self._rows["kind"] == Kind.PATH
        self._rows["kind"][path], self._rows["value"][path] = Kind.NOTHING, 0
        for site in np.flatnonzero(self._last).tolist():
            self.telling[site] = any(answer.kind is not Kind.NOTHING for answer in self.of(site))


def said(visits: Array) -> npt.NDArray[np.uint64]:
    """What each page says, in 64 bits: its sketch; if it has too few words for one, its digest; if it is almost empty,
    the beginning of the digest of its body. 0: nothing."""
    body = np.ascontiguousarray(visits["payload"][:, :8]).view("<u8")[:, 0]
    found: npt.NDArray[np.uint64] = np.where(visits["digest"] != 0, visits["digest"], body)
    return np.where(visits["sketch"] != 0, visits["sketch"], found)


def named(title: str | bytes, seed: int) -> int:
    """The fingerprint of a title, 0 without one."""
    return urls.fingerprint(title, seed) if title else 0


def answer_of(visit: Any, texts: dict[str, bytes], scope: urls.Scope, seed: int) -> Answer:
    """Of the visit that a probe was. Its text `title` is the URL that was asked for, a space, and the title."""
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
    """A page of the origin is redirected to `target`, a fingerprint.

    The column `moved_to` is where most of them lead, and `moved` by how much (Boyer and Moore 1981): one place for each
    origin, however many targets there are. Well mixed, a fifth of all redirects is enough to be seen; in whatever
    order, four fifths. `moved` is never more than `SAME` times the number that lead there.
    """
    if int(origins.moved_to[number]) == target:
        origins.moved[number] = min(int(origins.moved[number]) + SAME, _MOST_VOTES)
    elif origins.moved[number]:
        origins.moved[number] -= 1
    else:
        origins.moved_to[number], origins.moved[number] = target, SAME


class ProbeAnswers(Part):
    """What probed sites answered, and where the pages of each origin are redirected."""

    name = "probes"
    columns: ClassVar[Declared] = {
        "site": {"probe": "<u4"},  # the last row of `Probes` that is about it, counted from 1; 0: none
        "origin": {
            "moved_to": "<u8",  # where most of its redirects lead: fingerprint
            "moved": "<u2",  # by how many more than elsewhere: see `vote`
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
    """A probe was answered."""
    if Outcome(int(visit["outcome"])) not in UNANSWERED:
        desk[ProbeAnswers].probes.add(int(visit["site"]), answer_of(visit, texts, desk.scope, desk.seed))


def compare_pages(desk: Desk, applied: Applied) -> None:
    """Compares pages of probed sites with what the probes were answered."""
    visits, probes = applied.visits, desk[ProbeAnswers].probes
    rows = np.flatnonzero((visits["ask"] == _PAGE) & probes.telling[visits["site"]])
    if len(rows):
        values = said(visits)
        for i, texts in applied.effects.texts().at(rows):
            if Outcome(int(visits["outcome"][i])) not in UNANSWERED:
                probes.note(visits[i], int(values[i]), named(texts["title"], desk.seed))


def count_redirects(desk: Desk, applied: Applied) -> None:
    """Counts where pages are redirected, by origin."""
    visits = applied.visits
    moved = (visits["ask"] == _PAGE) & ((visits["outcome"] == _REDIRECT) | (visits["outcome"] == _SOFT))
    texts = applied.effects.texts()
    for i in np.flatnonzero(moved & (visits["flags"] & _RESPELLED == 0)).tolist():
        if target := texts.text(i, "redirect"):
            vote(desk.columns.origin, int(visits["origin"][i]), urls.fingerprint(target, desk.seed))
