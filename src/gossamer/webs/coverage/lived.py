"""Judges a crawl of a living demonstration Web: which changes between its visits it noticed, how fresh its copies were
and are, how late it noticed, and what conditional requests saved.

Two visits of a page are compared with its true history between them. A visit lasts, and the page may change meanwhile:
such a pair is *doubtful* and not judged. Memory is bounded: visits are read page by page, and only counts are kept.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from gossamer import config
from gossamer.base.model import VisitFlag
from gossamer.base.units import plural, thousands
from gossamer.collection.layout import SETTINGS
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import find
from gossamer.webs.coverage.compare import as_served
from gossamer.webs.demo.life import Happening, Standing, Validators, happened
from gossamer.webs.demo.web import DemoWeb

MEMORY: Final = "512MB"
NONE, UNKNOWN, THERE, MOVED, GONE, BACK = "none", "unknown", "there", "moved", "gone", "back"
_STATES: Final = {
    "ok": THERE, "duplicate": THERE, "not_modified": THERE, "redirect": MOVED, "not_found": GONE, "soft_404": GONE,
}  # fmt: skip
"""By outcome; other outcomes say nothing of the page."""
_OTHER_NAME: Final = int(VisitFlag.RESPELLED | VisitFlag.OTHER_NAME)
_VISITS: Final = f"""
select p.url, epoch(v.time) - (v."end" - v.start) as at, v.latency, v.outcome, v.change, v.redirect, v.received
from stored.visits v join stored.pages p on p.page = v.page
where v.ask = 'page' and v.outcome in {tuple(_STATES)} and (v.flags & {_OTHER_NAME}) = 0
order by v.page, v.tick, v.number
"""
_END: Final = "select coalesce(max(epoch(time)), 0), coalesce(min(epoch(time)), 0) from stored.visits"
_HOSTS: Final = "select min(url) from stored.pages group by site, starts_with(url, 'https:')"
_STEP: Final = math.log(1.02)
"""Delays are counted in classes 2 % wide, so that their median needs no list of them."""


class Seen(NamedTuple):
    """A visit that says something of its page."""

    at: float
    """Wall time at which it began."""
    latency: float
    outcome: str
    change: str
    """What it says of the change: none, minor, major or unknown."""
    redirect: str | None
    received: int

    @property
    def until(self) -> float:
        """When its answer began: the server chose the version before."""
        return self.at + self.latency


@dataclass(slots=True)
class Told:
    """What sites with one kind of validators said."""

    visits: int = 0
    """Visits of pages of which there was a copy."""
    not_modified: int = 0
    wrong: int = 0
    """304 although more than date and counter had changed."""


@dataclass(slots=True)
class Lived:
    """The result. Times are in seconds of wall time."""

    claims: dict[str, dict[str, int]] = field(default_factory=dict)
    """By what had happened between two visits (none, minor, major, moved, gone, back): what the crawl said of it."""
    doubtful: int = 0
    """Pairs of visits that cannot be judged, because something happened during one of them."""
    happened: int = 0
    """Changes between the first visit of each page and the last visit of all."""
    pending: int = 0
    """Changes after the last visit of their page."""
    validators: dict[str, Told] = field(default_factory=dict)
    copies: int = 0
    """Pages that are held, and not known to be gone or moved."""
    fresh: float = 0.0
    """Share of the copies that were up to date at the last visit of all."""
    fresh_words: float = 0.0
    """The same, if minor changes do not count."""
    mean_fresh: float = 0.0
    """Share of the time for which copies were held, in which they were up to date."""
    mean_fresh_words: float = 0.0
    age: float = 0.0
    """Mean time since copies became outdated; 0 for those that are up to date."""
    late: float | None = None
    """Median time from the first change after a visit to the visit that noticed it."""
    saved: int = 0
    """Bytes that answers 304 did not take, compared with the full answers before them."""
    born: int = 0
    """News that came between the first visit of all and the last."""
    found: int = 0
    """News that the crawl knows."""

    @property
    def changes(self) -> int:
        """Pairs of visits between which something had happened."""
        return sum(sum(claims.values()) for what, claims in self.claims.items() if what != NONE)

    @property
    def not_modified(self) -> int:
        """Answers 304."""
        return sum(told.not_modified for told in self.validators.values())

    @property
    def noticed(self) -> int:
        others = (claims for what, claims in self.claims.items() if what != NONE)
        return sum(n for claims in others for claim, n in claims.items() if claim not in (NONE, UNKNOWN))

    @property
    def false(self) -> int:
        """Changes that the crawl reports and that were none."""
        return sum(n for claim, n in self.claims.get(NONE, {}).items() if claim not in (NONE, UNKNOWN))


class Judge:
    """Adds up pages, one at a time."""

    def __init__(self, web: DemoWeb, end: float) -> None:
        self._web, self._end = web, end
        self.result = Lived()
        self._delays = Counter[int]()
        self._held = self._fresh = self._fresh_words = 0.0
        self._now = [0, 0]
        self._ages = 0.0

    def page(self, url: str, visits: Iterable[Seen]) -> None:
        seen = list(visits)
        if seen:
            self.result.pending += sum(1 for _ in self._web.history(url, seen[-1].until, self._end))
        copy = None
        for before, visit, following in zip([None, *seen], seen, [*seen[1:], None], strict=False):
            there, full = _STATES[visit.outcome] == THERE, visit.outcome in ("ok", "duplicate")
            if before is not None:
                self._pair(url, before, visit, copy if full and copy and _STATES[before.outcome] == THERE else before)
            if there and copy is not None:
                self._tell(url, copy, visit)
            copy = visit if full else copy
            if there and copy is not None:
                self._hold(url, copy.at, visit.at, following)

    def _pair(self, url: str, one: Seen, two: Seen, base: Seen) -> None:
        """`base`: with which the second visit is compared: the copy, which is older than the first visit if that was
        answered with 304."""
        events = list(self._web.history(url, base.at, two.until))
        self.result.happened += sum(event.time > one.at for event in events)
        if any(event.time <= base.until or event.time > two.at for event in events):
            self.result.doubtful += 1
            return
        what = _word(happened(self._web.standing(url, base.at), self._web.standing(url, two.at)) if events else None)
        claim = _claim(one, two)
        claims = self.result.claims.setdefault(what, {})
        claims[claim] = claims.get(claim, 0) + 1
        if what != NONE and claim not in (NONE, UNKNOWN):
            self._delays[round(math.log(max(two.at - events[0].time, 1e-6)) / _STEP)] += 1

    def _tell(self, url: str, copy: Seen, visit: Seen) -> None:
        """Counts what the server said of a living page of which there was a copy."""
        site, now = self._web.located(url)[0], self._web.standing(url, visit.at)
        if now is None:
            return
        told = self.result.validators.setdefault(self._web.life.habits[site.number].validators.value, Told())
        told.visits += 1
        if visit.outcome == "not_modified":
            told.not_modified += 1
            then, later = (_words(self._web.standing(url, at)) for at in (copy.at, visit.until))
            told.wrong += then not in (_words(now), later)
            self.result.saved += max(0, copy.received - visit.received)

    def _hold(self, url: str, made: float, begin: float, following: Seen | None) -> None:
        """From a visit to the next one, or to the end: how long the copy that was made then was up to date."""
        end, copy = (following.at if following else max(self._end, begin)), self._web.standing(url, made)
        times = [begin, *(event.time for event in self._web.history(url, begin, end)), end]
        same = same_words = True
        for time, until in pairwise(times):
            now = self._web.standing(url, time)
            same, same_words = now == copy, _words(now) == _words(copy)
            self._fresh += same * (until - time)
            self._fresh_words += same_words * (until - time)
        self._held += end - begin
        if following is None:
            self.result.copies += 1
            self._now[0] += same
            self._now[1] += same_words
            if not same:
                self._ages += end - next((event.time for event in self._web.history(url, made, end)), end)

    def news(self, first: float, known: Iterable[str]) -> None:
        """Counts the news that came since `first`, and those of them that are known."""
        self.result.born = sum(1 for _ in self._web.born(first, self._end))
        self.result.found = sum(1 for url in known if first < self._web.birth(url) <= self._end)

    def done(self) -> Lived:
        found, copies = self.result, max(1, self.result.copies)
        found.happened += found.pending
        found.fresh, found.fresh_words = (each / copies for each in self._now)
        held = self._held or 1.0
        found.mean_fresh, found.mean_fresh_words, found.age = (
            self._fresh / held,
            self._fresh_words / held,
            self._ages / copies,
        )
        found.late = self._median()
        return found

    def _median(self) -> float | None:
        half, passed = self._delays.total() / 2, 0
        for step in sorted(self._delays):
            passed += self._delays[step]
            if passed >= half:
                return math.exp(step * _STEP)
        return None


def _words(standing: Standing | None) -> Standing | None:
    return standing._replace(changed=standing.written) if standing else None


def _word(what: Happening | None) -> str:
    return NONE if what is None else BACK if what is Happening.BORN else what.value


def _claim(one: Seen, two: Seen) -> str:
    was, now = _STATES[one.outcome], _STATES[two.outcome]
    if now == MOVED:
        return NONE if was == MOVED and one.redirect == two.redirect else MOVED
    if was != now:
        return GONE if now == GONE else BACK
    return NONE if now == GONE or two.outcome == "not_modified" else two.change


def judge(web: DemoWeb, folder: Path) -> Lived:
    """Reads a collection, with what is committed and not sealed yet."""
    with tempfile.TemporaryDirectory(prefix="gossamer-judge-") as spilled:
        settings, sources = config.load(folder / SETTINGS), find(folder, fresh=True)
        database = Database(sources, settings, MEMORY, Path(spilled))
        web = as_served(web, [url for (url,) in database.run(_HOSTS)])
        ((end, first),) = database.run(_END)
        judging = Judge(web, end)
        for url, rows in groupby(database.stream(_VISITS), key=lambda row: row[0]):
            judging.page(url, (Seen(*row[1:]) for row in rows))
        known = database.stream("select url from stored.pages where contains(url, '/news/')")
        judging.news(first, (url for (url,) in known))
    return judging.done()


def as_json(found: Lived) -> dict[str, Any]:
    derived = ("changes", "noticed", "false", "not_modified")
    return asdict(found) | {name: getattr(found, name) for name in derived}


def lines_of_life(found: Lived) -> Iterator[str]:
    yield f"{'between two visits':<20}{'there':>9}{'noticed':>9}{'':>8}  what the crawl says"
    for what in (NONE, *(each for each in Happening if each is not Happening.BORN)):
        claims = found.claims.get(what, {})
        total = sum(claims.values())
        right = sum(n for claim, n in claims.items() if (claim == NONE) == (what == NONE) and claim != UNKNOWN)
        share = f"{100 * right / total:.1f} %" if total else ""
        said = ", ".join(f"{claim} {thousands(n)}" for claim, n in sorted(claims.items(), key=lambda one: -one[1]))
        yield f"{what:<20}{thousands(total):>9}{thousands(right):>9}{share:>8}  {said}".rstrip()
    yield f"not judged, because something happened during a visit: {plural(found.doubtful, 'pair')}"
    yield f"changes since the first visits: {thousands(found.happened)}, not visited since: {thousands(found.pending)}"
    late = "nothing was noticed" if found.late is None else f"{found.late:.3g} s after the change (median)"
    yield f"noticed: {thousands(found.noticed)} of {thousands(found.changes)}, {late}; false: {thousands(found.false)}"
    yield f"news that came: {thousands(found.born)}, known: {thousands(found.found)}"
    yield (
        f"copies: {thousands(found.copies)}, up to date {_percent(found.fresh, found.fresh_words)}; "
        f"on average {_percent(found.mean_fresh, found.mean_fresh_words)}; mean age {found.age:.3g} s"
    )
    yield f"304: {plural(found.not_modified, 'answer')}, {thousands(found.saved)} bytes saved"
    yield f"{'by validators':<46}{'visits':>9}{'304':>9}{'wrong':>9}"
    for kind in Validators:
        told = found.validators.get(kind.value, Told())
        row = (told.visits, told.not_modified, told.wrong)
        yield f"  {kind.value:<44}{''.join(f'{thousands(n):>9}' for n in row)}"


def _percent(share: float, words: float) -> str:
    return f"{100 * share:.1f} % ({100 * words:.1f} % without minor changes)"
