"""The life of the whole Web: what is behind a target at a time, and what happened to it between two times.

    stay      most pages: they change, or never do
    move      some leaves: at the end of each *era* the page moves to `/moved/NUMBER-ERA.html`; all its addresses of
              before, the first one included, redirect to the present one for ever
    vanish    some leaves: in every era they are gone for a while (404 or 410), and return
    news      pages that are born: a major change of a home page or a hub brings `/news/HUB-TIME.html`, which it lists
              until four more have come. News die, and a fifth of them return once

Other targets (redirects, errors, calendars …) are as in the fixed Web. Times are seconds of the life of the Web since
1970: the server's wall clock times `speed`. Everything is a pure function of the seed, the page and the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from math import floor, log
from typing import Final, NamedTuple

from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.layout import HOME, PAGES, Layout, UrlKind
from gossamer.webs.demo.life.habits import DAY, Rhythm, habits, rate
from gossamer.webs.demo.life.pulse import Pulse
from gossamer.webs.demo.places import Places
from gossamer.webs.demo.site import Site

NEVER: Final = 0.2
"""Share of the pages that never change."""
MOVING, VANISHING = 0.06, 0.08
"""Shares of the leaves."""
SHORTEST, LONGEST = 30 * DAY, 360 * DAY
"""Eras."""
LISTED: Final = 4
"""News that a page lists."""
LIFETIME, ABSENCE = 40 * DAY, 10 * DAY
"""Mean times for which news exist, and are gone before they return."""
RETURNING: Final = 0.2
_MINOR: Final = (0.2, 0.2, 0.5, 0.9)
_MOVED: Final = re.compile(r"/moved/(\d+)-(-?\d+)\.html")
_NEWS: Final = re.compile(r"/news/(\d+)-(-?\d+)\.html")


class Happening(StrEnum):
    """What can happen to a target."""

    MINOR = "minor"
    MAJOR = "major"
    MOVED = "moved"
    GONE = "gone"
    BACK = "back"
    BORN = "born"


class Event(NamedTuple):
    time: float
    what: Happening


class Standing(NamedTuple):
    """What a living target is at a time."""

    status: int
    number: int = -1
    """The page; for news, the page that brought them."""
    changed: float = 0.0
    """Time of its last change; 0: it never changes."""
    written: float = 0.0
    """Time of its last major change."""
    born: float = 0.0
    """For news: the time at which they came; 0: no news."""
    location: str = ""
    """Where it has moved to."""


class Life:
    """The life of a Web."""

    def __init__(self, web: Places) -> None:
        self.web = web
        self.habits = habits(web.seed, web.all_sites)
        self._pulse = lru_cache(1 << 16)(self._make_pulse)

    def standing(self, site: Site, target: str, at: float) -> Standing | None:
        """None: the target has no life of its own, or none yet."""
        layout = self.web.layout(site.number)
        number, moved, news = layout.number.get(target), _MOVED.fullmatch(target), _NEWS.fullmatch(target)
        if number is not None:
            return self._of_page(site, layout, number, at) if layout.kind[number] in PAGES else None
        if moved:
            return self._of_moved(site, layout, int(moved[1]), int(moved[2]), at)
        return self._of_news(site, int(news[1]), int(news[2]), at) if news else None

    def history(self, site: Site, target: str, begin: float, end: float) -> Iterator[Event]:
        """What happened to a target after `begin`, up to `end`, in order of time."""
        before = self.standing(site, target, begin)
        for time in sorted(set(self._turns(site, target, begin, end))):
            after = self.standing(site, target, time)
            what = happened(before, after)
            if what:
                yield Event(time, what)
            before = after

    def published(self, site: Site, number: int, at: float) -> list[str]:
        """The news that a page lists at a time, the latest first: those of the last few that are there."""
        pulse, names, before = self._publishing(site, number), list[int](), at
        while pulse and len(names) < LISTED:
            before = pulse.last(before, major=True).time
            names.append(_named(before))
            before -= 1
        there = ((name, self._of_news(site, number, name, at)) for name in names)
        return [f"/news/{number}-{name}.html" for name, found in there if found and found.status == 200]

    def born(self, site: Site, begin: float, end: float) -> Iterator[str]:
        """The news of a site that came after `begin`, up to `end`."""
        for number in (HOME, *self.web.layout(site.number).hubs):
            pulse = self._publishing(site, number)
            beats = pulse.between(begin, end) if pulse else ()
            names = dict.fromkeys(_named(beat.time) for beat in beats if beat.major)
            yield from (f"/news/{number}-{name}.html" for name in names)

    def birth(self, site: Site, target: str) -> float:
        """When news came; 0: they never do."""
        news = _NEWS.fullmatch(target)
        return (news and self._born(site, int(news[1]), int(news[2]))) or 0.0

    def interval(self, site: Site, standing: Standing) -> float:
        """Mean time between two changes of a page; 0: it never changes."""
        pulse = self._pulse_of(site, standing.number, standing.born)
        return 1 / pulse.rate if pulse else 0.0

    # Pages

    def _of_page(self, site: Site, layout: Layout, number: int, at: float) -> Standing:
        course, period, phase = self._course(site, layout, number)
        if course == "move":
            era = _era(at, period, phase)
            return Standing((301, 308)[number % 2], number, location=f"/moved/{number}-{era}.html")
        if course == "vanish":
            begin, end = self._absence(site, number, _era(at, period, phase), period, phase)
            if begin <= at < end:
                return Standing(410 if number % 3 == 0 else 404, number)
        return self._there(site, layout.original.get(number, number), at)

    def _of_moved(self, site: Site, layout: Layout, number: int, era: int, at: float) -> Standing | None:
        if not 0 <= number < site.pages:
            return None
        course, period, phase = self._course(site, layout, number)
        now = _era(at, period, phase) if course == "move" else era - 1
        if era > now:
            return None
        if era < now:
            return Standing((301, 308)[number % 2], number, location=f"/moved/{number}-{now}.html")
        return self._there(site, number, at)

    def _of_news(self, site: Site, number: int, name: int, at: float) -> Standing | None:
        born = self._born(site, number, name)
        if born is None or born > at:
            return None
        gone, back, gone_again = self._ends(site, number, name, born)
        if gone <= at < back or at >= gone_again:
            return Standing(410 if name % 3 == 0 else 404, number, born=born)
        return self._there(site, number, at, born)

    def _born(self, site: Site, number: int, name: int) -> float | None:
        pulse = self._publishing(site, number)
        beats = pulse.between(name - 1, name + 1) if pulse else ()
        return next((beat.time for beat in beats if beat.major and _named(beat.time) == name), None)

    def _there(self, site: Site, number: int, at: float, born: float = 0.0) -> Standing:
        pulse = self._pulse_of(site, number, born)
        if pulse is None:
            return Standing(200, number, born, born, born)
        changed, written = (max(pulse.last(at, major).time, born) for major in (False, True))
        return Standing(200, number, changed, written, born)

    # Courses

    def _course(self, site: Site, layout: Layout, number: int) -> tuple[str, float, float]:
        """Course of a page, length of its eras, and the beginning of the first."""
        source = self.web.source(site).number
        if self.habits[site.number].rhythm is Rhythm.STILL or not _leaf(layout, number):
            return "stay", 0.0, 0.0
        dice = Dice(self.web.seed, "course", source, number)
        throw, period = dice.unit(), SHORTEST + (LONGEST - SHORTEST) * dice.unit()
        course = "move" if throw < MOVING else "vanish" if throw < MOVING + VANISHING else "stay"
        return course, period, period * dice.unit()

    def _absence(self, site: Site, number: int, era: int, period: float, phase: float) -> tuple[float, float]:
        dice = Dice(self.web.seed, "absence", self.web.source(site).number, number, era)
        begin = phase + era * period + (0.1 + 0.4 * dice.unit()) * period
        return begin, begin + (0.1 + 0.3 * dice.unit()) * period

    def _ends(self, site: Site, number: int, name: int, born: float) -> tuple[float, float, float]:
        """When news are gone, back, and gone for ever."""
        dice = Dice(self.web.seed, "ends", self.web.source(site).number, number, name)
        first, absent, second = (-mean * log(1 - dice.unit()) for mean in (LIFETIME, ABSENCE, LIFETIME))
        gone = born + first
        return (gone, gone + absent, gone + absent + second) if dice.chance(RETURNING) else (gone, gone, gone)

    def _turns(self, site: Site, target: str, begin: float, end: float) -> Iterator[float]:
        """All times in an interval at which the target may become another; and perhaps some at which it does not."""
        layout = self.web.layout(site.number)
        moved, news = _MOVED.fullmatch(target), _NEWS.fullmatch(target)
        number = layout.number.get(target, int((moved or news or [0, -1])[1]))
        if not 0 <= number < site.pages:
            return
        born, times = 0.0, tuple[float, ...]()
        if news:
            born = self._born(site, number, int(news[2])) or 0.0
            times = (born, *self._ends(site, number, int(news[2]), born)) if born else ()
        else:
            times = tuple(self._bounds(site, layout, number, begin, end))
        yield from (time for time in times if begin < time <= end)
        pulse = self._pulse_of(site, number if news else layout.original.get(number, number), born)
        yield from (beat.time for beat in (pulse.between(begin, end) if pulse else ()))

    def _bounds(self, site: Site, layout: Layout, number: int, begin: float, end: float) -> Iterator[float]:
        course, period, phase = self._course(site, layout, number)
        if course != "stay":
            for era in range(_era(begin, period, phase), _era(end, period, phase) + 1):
                yield phase + era * period
                if course == "vanish":
                    yield from self._absence(site, number, era, period, phase)

    # Pulses

    def _pulse_of(self, site: Site, number: int, born: float = 0.0) -> Pulse | None:
        return self._pulse(self.web.source(site).number, number, born)

    def _make_pulse(self, site: int, number: int, born: float) -> Pulse | None:
        """None: the page never changes."""
        own, seed, key = self.habits[site], self.web.seed, f"{site}/{number}/{_named(born)}"
        dice = Dice(seed, "page pulse", key)
        if own.rhythm is Rhythm.STILL or (dice.chance(NEVER) and number != HOME):
            return None
        return Pulse(seed, key, rate(seed, 1 / own.rate, key), own.rhythm, dice.pick(_MINOR))

    def _publishing(self, site: Site, number: int) -> Pulse | None:
        """The pulse of a page that brings news."""
        if number != HOME and number not in self.web.layout(site.number).hubs:
            return None
        return self._pulse_of(site, number)


def _named(time: float) -> int:
    return floor(time)


def _era(at: float, period: float, phase: float) -> int:
    """The era of a time, such that an era begins exactly at `phase + era * period`."""
    era = floor((at - phase) / period)
    return era + (phase + (era + 1) * period <= at) - (phase + era * period > at)


def _leaf(layout: Layout, number: int) -> bool:
    """Whether nothing else depends on the page: neither links nor copies."""
    others = (layout.children, layout.quiet, layout.hubs, layout.twins, layout.moved)
    return number != HOME and layout.kind[number] is UrlKind.PAGE and not any(number in each for each in others)


def happened(before: Standing | None, after: Standing | None) -> Happening | None:
    """What has become of a target, all in all; None: nothing."""
    if after is None or before == after:
        return None
    if before is None:
        return Happening.BORN
    if after.status >= 400:
        return Happening.GONE if before.status < 400 else None
    if after.location:
        return Happening.MOVED
    if before.status >= 400:
        return Happening.BACK
    return Happening.MAJOR if before.written != after.written else Happening.MINOR
