"""The habits of sites: how often and when their pages change, and what they tell clients about that.

Every kind is given to sites in turn, each in an order of its own, so that kinds of one sort are independent of those of
another, and a Web of a few sites has all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp
from typing import Final, TypeVar

from gossamer.webs.demo.dice import Dice
from gossamer.webs.demo.site import Site
from gossamer.webs.demo.sites import normal

DAY: Final = 86_400.0
INTERVAL: Final = 20 * DAY
"""Median time between two changes of a page, over the sites."""
SPREAD: Final = 1.0
"""Standard deviation of the logarithms of the rates: of sites, and of pages around that of their site."""
T = TypeVar("T")


class Rhythm(StrEnum):
    """When the pages of a site change."""

    STEADY = "at any time"
    OFFICE = "four fifths of the changes fall into business hours, Monday to Friday, 9 to 19"
    BURSTS = "five changes on average, an hour apart"
    STILL = "never"


class Validators(StrEnum):
    """What a site sends to make conditional requests possible, and whether it is true."""

    NONE = "none"
    TAG = "ETag"
    DATE = "Last-Modified"
    BOTH = "ETag and Last-Modified"
    WEAK = "weak ETag, which only a major change changes"
    TAG_EACH = "another ETag at every request"
    DATE_NOW = "Last-Modified is always now"
    ALWAYS_304 = "304 to every conditional request"

    @property
    def lies(self) -> bool:
        return self in (Validators.TAG_EACH, Validators.DATE_NOW, Validators.ALWAYS_304)


class Caching(StrEnum):
    """How long a site says that its pages stay fresh."""

    NONE = "says nothing"
    MAX_AGE = "Cache-Control: max-age, half the mean time between changes"
    EXPIRES = "Expires, after the same time"
    TOO_LONG = "Cache-Control: max-age of a year"
    NO_CACHE = "Cache-Control: no-cache"


class Dates(StrEnum):
    """What the dates of a sitemap are."""

    HONEST = "the last change"
    NOW = "always now"
    NEVER = "never updated"


_VALIDATORS: Final = (
    Validators.BOTH, Validators.TAG, Validators.DATE, Validators.NONE, Validators.WEAK, Validators.TAG_EACH,
    Validators.DATE_NOW, Validators.ALWAYS_304, Validators.BOTH, Validators.DATE, Validators.TAG, Validators.NONE,
    Validators.BOTH, Validators.DATE, Validators.TAG, Validators.WEAK, Validators.BOTH, Validators.DATE,
    Validators.NONE, Validators.BOTH,
)  # fmt: skip
_RHYTHMS: Final = (
    Rhythm.STEADY, Rhythm.OFFICE, Rhythm.BURSTS, Rhythm.STEADY, Rhythm.OFFICE, Rhythm.STEADY, Rhythm.STILL,
    Rhythm.BURSTS, Rhythm.STEADY, Rhythm.OFFICE,
)  # fmt: skip
_CACHING: Final = (
    Caching.NONE, Caching.MAX_AGE, Caching.EXPIRES, Caching.NONE, Caching.TOO_LONG, Caching.NONE, Caching.NO_CACHE,
    Caching.NONE, Caching.MAX_AGE, Caching.NONE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Habits:
    """The habits of a site."""

    rhythm: Rhythm
    rate: float
    """Changes of a page per second of its life: the median of the site."""
    validators: Validators
    caching: Caching
    dates: Dates


def habits(seed: int, sites: Sequence[Site]) -> list[Habits]:
    """By number of the site. A mirror changes as its original does, and tells of it in its own way. A site with session
    ids has no validators, because each of its answers differs."""
    numbers = [s.number for s in sites]
    rhythms, validators = _dealt(seed, "rhythm", numbers, _RHYTHMS), _dealt(seed, "validators", numbers, _VALIDATORS)
    caching = _dealt(seed, "caching", numbers, _CACHING)
    dates = _dealt(seed, "dates", [s.number for s in sites if s.features.sitemap], tuple(Dates))
    return [
        Habits(
            rhythms[source],
            rate(seed, INTERVAL, "site", source),
            Validators.NONE if s.features.session else validators[s.number],
            caching[s.number],
            dates.get(s.number, Dates.HONEST),
        )
        for s in sites
        for source in [s.number if s.ties.mirror_of < 0 else s.ties.mirror_of]
    ]


def counted(sites: Sequence[Habits]) -> dict[str, dict[str, int]]:
    """How many sites have each habit."""
    sorts: dict[str, type[StrEnum]] = {"rhythm": Rhythm, "validators": Validators, "caching": Caching}
    return {
        sort: {kind.value: sum(getattr(each, sort) is kind for each in sites) for kind in kinds}
        for sort, kinds in sorts.items()
    }


def rate(seed: int, interval: float, *key: int | str) -> float:
    """A log-normal rate with this median interval."""
    return exp(SPREAD * normal(Dice(seed, "rate", *key))[0]) / interval


def _dealt(seed: int, name: str, numbers: Sequence[int], kinds: Sequence[T]) -> dict[int, T]:
    """Gives the kinds out in turn, in an order of its own for each name."""
    order = Dice(seed, name).shuffled(numbers)
    return {number: kinds[turn % len(kinds)] for turn, number in enumerate(order)}
