"""Sites with moods: what they answer depends on the time, and can be computed from the seed at any later time.

The monotonic clock is divided into periods of `Shape.mood` seconds. In each period,

    moody      sites answer 429, 503, 500 or 402 to everything except robots.txt for a quarter of it;
    changing   sites have another robots.txt: it forbids other pages, or asks for another Crawl-delay;
    failing    sites may answer 5xx, 429 or nothing to a request for robots.txt.

Times are rounded to the microsecond, as in the access log.
"""

from __future__ import annotations

from email.utils import formatdate
from typing import Final, NamedTuple

from gossamer.webs.demo.answer import DemoAnswer, simple
from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.render import robots_text
from gossamer.webs.demo.shape import Shape
from gossamer.webs.demo.site import Site

ROBOTS: Final = "/robots.txt"
NO_ANSWER: Final = 444
"""The connection ends without an answer; the status that nginx logs for it."""
CROSS: Final = 1 / 4
"""Share of a period in which a moody site answers with errors."""
TOO_LONG: Final = 9_000
"""Seconds. A Crawl-delay that no crawler honours."""


class Cross(NamedTuple):
    """An answer of a site in a bad mood."""

    status: int
    seconds: int = 0
    """Retry-After in seconds; 0: none."""
    dated: bool = False
    """Retry-After is sent as a date."""


PAGES: Final = (Cross(429), Cross(429, 2), Cross(503), Cross(503, 2), Cross(503, 3, dated=True), Cross(500), Cross(402))
FILES: Final = (Cross(503), Cross(500), Cross(429), Cross(429, 2), Cross(NO_ANSWER))


def period(shape: Shape, at: float) -> int:
    return int(round(at, 6) // shape.mood)


def answer(shape: Shape, site: Site, target: str, at: float, wall: float) -> DemoAnswer | None:
    """The answer of a site at a time because of its mood; None: the usual one. Status 444: no answer at all."""
    if target != ROBOTS:
        return _answered(_cross(shape, site, at), wall) if site.moods.moody else None
    if site.moods.failing:
        return _answered(_failure(shape, site, at), wall)
    text = changed(shape, site, at) if site.moods.changing else None
    return None if text is None else simple(200, body=text, mime="text/plain")


def changed(shape: Shape, site: Site, at: float) -> bytes | None:
    """The robots.txt of a changing site at a time."""
    dice = Dice(shape.seed, "changing", site.number, period(shape, at))
    if dice.chance(0.3):
        return robots_text(shape, site)
    text = f"User-agent: {shape.agent}\nDisallow: /*{dice.below(10)}\n"
    if dice.chance(0.3):
        text += f"Crawl-delay: {TOO_LONG if dice.chance(0.03) else 0.5}\n"
    return text.encode()


def _cross(shape: Shape, site: Site, at: float) -> Cross | None:
    dice, now = Dice(shape.seed, "moody", site.number, period(shape, at)), round(at, 6) % shape.mood
    begin = dice.unit() * (1 - CROSS) * shape.mood
    return dice.pick(PAGES) if begin <= now < begin + CROSS * shape.mood else None


def _failure(shape: Shape, site: Site, at: float) -> Cross | None:
    dice = Dice(shape.seed, "failing", site.number, period(shape, at))
    return dice.pick(FILES) if dice.chance(0.4) else None


def _answered(cross: Cross | None, wall: float) -> DemoAnswer | None:
    if cross is None or cross.status == NO_ANSWER:
        return None if cross is None else DemoAnswer(NO_ANSWER, b"", b"")
    later = formatdate(wall + cross.seconds, usegmt=True) if cross.dated else str(cross.seconds or "")
    return simple(cross.status, retry_after=later)
