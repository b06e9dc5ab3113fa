"""When a page of a continuous crawl is worth its next visit, and why: for `gossamer explain`.

    not before   the latest of: manager.min_period since the last visit (or the rest of a page that could not be
                 fetched, or the back-off before its next try), the time at which its site may be requested, the end of
                 quiet hours
    worth it     when its score, which grows with the age of the copy, reaches the threshold: that of the best other
                 page of its site that may be requested now. Without one, as soon as it may be requested

It is an estimate: the scores of other pages grow too, new ones come, and the page may lose against other sites.

Invariants, each a property test of the same name: no visit is told before it is allowed; a visit is worth it no sooner
than the threshold is reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gossamer.base import askable
from gossamer.base.model import PageFlag, State
from gossamer.config.quiet import QuietHours
from gossamer.manager import strategies
from gossamer.manager.position import chunks, score_of
from gossamer.manager.revisits.common import prior_of
from gossamer.manager.revisits.policies import chance
from gossamer.manager.revisits.rates import decode
from gossamer.manager.value import Known, Terms, Value, terms_of

LONGEST: Final = 20 * 365 * 86_400.0
"""Seconds that are looked ahead."""
_STEPS: Final = 48
DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class NextVisit:
    not_before: float | None
    """Wall time; None: as long as the reason holds."""
    why: str
    """What decides that."""
    worth_it: float | None = None
    """Wall time from which on it is worth a visit; None: not within 20 years, or not at all."""
    score: float = 0.0
    """Its score as soon as it may be requested."""
    threshold: float = 0.0
    """The score of the best other page of its site that may be requested now; 0: there is none."""
    rate: float = 0.0
    """Changes a day, as believed."""
    chance: float = 0.0
    """The probability that it will have changed when it is worth a visit."""


def next_visit(
    known: Known, policy: str, value: Value, issued: int, wall: float, page: int, quiet: QuietHours
) -> NextVisit | None:
    """None if the crawl is not continuous, or the page was never requested: then its place in the plan says it all."""
    pages, state = known.page, State(int(known.page.state[page]))
    if not value.continuous or state not in (State.DONE, State.WAITING) or pages.flags[page] & PageFlag.ASSIGNED:
        return None
    site = int(known.origin.site[pages.origin[page]])
    if pages.reason[page]:
        return NextVisit(None, "robots.txt has forbidden it since it was fetched")
    if known.site.refused[site] & askable.BLOCKED:
        return NextVisit(None, "its site is blocked (gossamer steer)")
    if known.site.refused[site]:
        return NextVisit(None, "its site asks for a longer Crawl-delay than harvester.max_delay")
    allowed, why = _allowed(known, value, state, page)
    for at, reason in ((float(known.site.next[site]), "its site may be requested"), (wall, "it is due")):
        if at > allowed:
            allowed, why = at, reason
    if (rest := quiet.rest(allowed)) > 0:
        allowed, why = allowed + rest, "harvester.quiet_hours end"
    terms = terms_of(known, strategies.LIVE[policy].code, value, issued, allowed)
    threshold = _threshold(known, terms._replace(wall=wall), site, page)
    score = score_of(known, terms, page)
    worth = _reached(known, terms, page, threshold) if state is State.DONE else allowed
    if worth is not None and (rest := quiet.rest(worth)) > 0:
        worth += rest
    rate, changed = _believed(known, value, page, worth or allowed)
    return NextVisit(allowed, why, worth, score, threshold, rate, changed)


def _allowed(known: Known, value: Value, state: State, page: int) -> tuple[float, str]:
    """When the rules for the page itself allow a visit, and which of them decides."""
    at, outcome, tries = float(known.page.due[page]), known.page.outcome[page], known.page.tries[page]
    if state is State.WAITING:
        return at, "its next try is due"
    rest = 0.0 if askable.may_be_fetched_again(0, outcome) else float(askable.rest_of(outcome, tries))
    if rest > value.min_period:
        return at + rest, f"it has rested, since it could not be fetched (tries: {int(tries)})"
    return at + value.min_period, "manager.min_period has passed"


def _threshold(known: Known, terms: Terms, site: int, page: int) -> float:
    best = 0.0
    for chunk in chunks(known, terms):
        may = chunk.may_be_planned() & (known.origin.site[known.page.origin[chunk.first : chunk.end]] == site)
        if chunk.first <= page < chunk.end:
            may[page - chunk.first] = False
        if may.any():
            best = max(best, float(chunk.scores()[may].max()))
    return best


def _reached(known: Known, terms: Terms, page: int, threshold: float) -> float | None:
    """Wall time from that of `terms` on at which the score reaches the threshold."""
    if score_of(known, terms, page) >= threshold:
        return terms.wall
    low, high = 0.0, LONGEST
    if score_of(known, terms._replace(wall=terms.wall + high), page) < threshold:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if score_of(known, terms._replace(wall=terms.wall + middle), page) < threshold:
            low = middle
        else:
            high = middle
    return terms.wall + high


def _believed(known: Known, value: Value, page: int, wall: float) -> tuple[float, float]:
    """Changes a day, and the probability that the page has changed at a time."""
    prior = prior_of(known.habits, value.change_period)
    age = np.array([max(1.0, wall - float(known.page.due[page]))])
    belief = decode(known.page.belief[page : page + 1], prior)
    return float(DAY * belief.rates[0]), float(chance(belief.after(age, prior), age)[0])
