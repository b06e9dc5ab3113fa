"""`gossamer forecast`: how fresh the copies of a collection will be if it goes on so, and within other budgets.

What is believed of each page is read from the newest image, and what requests take from the visits of the last
`LATELY` seconds. Nothing is locked: a crawl may be running. The arithmetic is in `manager/revisits/forecast.py`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer import config
from gossamer.base.arrays import F32, F64, Array
from gossamer.base.askable import may_be_fetched_again
from gossamer.base.errors import GossamerError
from gossamer.base.model import Outcome, State
from gossamer.base.outcomes import FOR_GOOD
from gossamer.collection.layout import SETTINGS
from gossamer.config import Settings
from gossamer.config.quiet import MINUTE, QuietHours
from gossamer.harvester.errands.due_sitemaps import sitemaps_every
from gossamer.harvester.waits import Waits, seconds_between
from gossamer.manager.position import chunks
from gossamer.manager.revisits.common import prior_of
from gossamer.manager.revisits.dated import levels_of
from gossamer.manager.revisits.forecast import Copies, Costs, Forecast, New, Outlook
from gossamer.manager.revisits.policies import POLICIES
from gossamer.manager.revisits.rates import CODES, decode
from gossamer.manager.revisits.scale import HEEDS, measure, table_of
from gossamer.manager.revisits.signals import BELIEVED, Trust
from gossamer.manager.strategies import AT_LAST, LIVE
from gossamer.manager.value import Value, terms_of
from gossamer.observe.image_view import Mapped, open_image
from gossamer.read.explain.collection import steadily
from gossamer.read.sql.database import Database
from gossamer.read.sql.sources import Sources, find

DAY: Final = 86_400.0
LATELY: Final = 7 * DAY
FACTORS: Final = (0.5, 1.0, 2.0, 5.0)
"""Multiples of the budget: the rows of the table."""
CURVE: Final = tuple(2.0 ** (step / 2) for step in range(-6, 9))
_UNITS: Final = ("requests_a_second", "bytes_a_second")
_MOST_NEW: Final = 0.98
"""As in `manager/steer.py`: re-visits get a fiftieth at least."""
_LATELY: Final = """
with page as (select *, coalesce(received, 0) + coalesce(sent, 0) as bytes from stored.visits
    where ask = 'page' and outcome <> 'returned'),
    late as (select * from page where time > (select max(time) - to_seconds(?) from page))
select count(*) filter (where change <> 'unknown'), count(*) filter (where outcome = 'not_modified'),
    avg(bytes) filter (where change = 'none'), avg(bytes) filter (where change in ('minor', 'major')),
    avg(bytes) filter (where outcome = 'ok' and change = 'unknown'),
    epoch(max(time) - min(time) filter (where change <> 'unknown')), avg(bytes) filter (where change <> 'unknown')
from late
"""


@dataclass(frozen=True, slots=True)
class Lately:
    """What visits took lately."""

    revisits: int
    not_modified: int
    costs: Costs
    bytes: float
    """Mean bytes of a re-visit."""
    seconds: float
    """From the first of these re-visits to the last visit."""


@dataclass(frozen=True, slots=True)
class Row:
    factor: float
    """Multiple of the budget."""
    outlook: Outlook

    def as_json(self) -> dict[str, Any]:
        found = self.outlook
        return {
            "factor": self.factor,
            "revisits_a_day": round(DAY * found.again, 1),
            "new_pages_a_day": round(DAY * found.new, 1),
            "bytes_a_second": round(found.bytes, 1),
            "freshness": round(found.freshness, 4),
            "age_days": round(found.age / DAY, 4),
            "not_visited_again": round(found.never, 4),
            "sites_at_their_waits": found.bound,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """A forecast, and what it was made from."""

    folder: Path
    wall: float
    """Time of the image."""
    copies: int
    compared: int
    """Copies of which a re-visit was compared with the version before."""
    dated: int
    """Copies of which sitemaps give dates that are believed."""
    now: dict[str, float]
    """`scale.measure`: freshness and age of the copies as they are."""
    policy: str
    lately: Lately
    budget: Budget
    given: bool
    """Whether the user has named the budget."""
    rows: tuple[Row, ...]
    curve: tuple[Row, ...]

    def as_json(self) -> dict[str, Any]:
        lately = {name: value for name, value in asdict(self.lately).items() if name != "costs"}
        return {
            "collection": str(self.folder),
            "as_of": self.wall,
            "copies": self.copies,
            "compared": self.compared,
            "dated": self.dated,
            "now": {"freshness": self.now["freshness"], "age_days": self.now["days_behind"]},
            "revisit": self.policy,
            "lately": lately | {"bytes_of_visits": self.lately.costs._asdict()},
            "budget": {_UNITS[self.budget.in_bytes]: round(self.budget.amount, 4), "given": self.given},
            "budgets": [row.as_json() for row in self.rows],
        }


class Budget(NamedTuple):
    """Per second."""

    amount: float
    in_bytes: bool = False
    """Else requests."""

    def times(self, factor: float) -> Budget:
        return self._replace(amount=factor * self.amount)


def forecast(folder: Path, budget: Budget | None, curve: bool = False, unchecked: bool = False) -> Found:
    """The forecast within a budget; None: what the crawl has used lately. `curve`: for many multiples of it."""
    return steadily(lambda: _forecast(folder, budget, curve, unchecked))


def _forecast(folder: Path, budget: Budget | None, curve: bool, unchecked: bool) -> Found:
    sources = find(folder, fresh=True, unchecked=unchecked)
    settings = config.load(folder / SETTINGS)
    settings = replace(settings, manager=replace(settings.manager, continuous=True))
    image = _image(folder, sources)
    chosen = _copies(folder, image, settings)
    lately = _lately(sources, settings)
    crowd = _Crowd(image, settings, chosen, lately)
    used = budget or _used(folder, lately, crowd.new)
    rows, points = (
        tuple(Row(each, crowd.within(used.times(each))) for each in factors)
        for factors in (FACTORS, CURVE if curve else ())
    )
    return Found(
        folder,
        image.wall,
        len(chosen),
        int((image.columns.page.compared[chosen] > 0).sum()),
        crowd.dated,
        measure(image.columns, crowd.prior, image.wall),
        settings.manager.revisit,
        lately,
        used,
        budget is not None,
        rows,
        points,
    )


def _used(folder: Path, lately: Lately, new: New) -> Budget:
    """The requests of a crawl that goes on as it did lately."""
    if not lately.seconds:
        raise GossamerError(
            f"{folder}: too few re-visits to say how many there are a day",
            "Name a budget: --requests 2/s, or --bandwidth 1MB/s.",
        )
    again = lately.revisits / lately.seconds
    return Budget(again + new.beside(again))


def _image(folder: Path, sources: Sources) -> Mapped:
    image = open_image(sources.shard, sources.contents.image, sources.checked)
    if image is None:
        raise GossamerError(
            f"{folder}: it has no image yet, and so nothing that is known of its pages together",
            "Stop the crawl once (`gossamer stop`), or wait: a running crawl makes one now and then. A collection of "
            "an earlier version must be resumed once.",
        )
    return image


def _copies(folder: Path, image: Mapped, settings: Settings) -> Array:
    """The pages whose copies are in the index, and which may be fetched again."""
    page = image.columns.page
    outcome = np.asarray(page.outcome)
    held = (np.asarray(page.state) == State.DONE) & (outcome == Outcome.OK)
    chosen = np.flatnonzero(held & may_be_fetched_again(np.asarray(page.reason), outcome))
    if not len(chosen):
        raise GossamerError(f"{folder}: no page was fetched yet", "Crawl it first: gossamer crawl DIR.")
    if not np.asarray(page.compared).any():
        raise GossamerError(
            f"{folder}: no page was visited again yet, so nothing is known of how often its pages change",
            "Let it re-visit pages for some days: gossamer crawl DIR --continuous.",
        )
    return chosen


def _lately(sources: Sources, settings: Settings) -> Lately:
    database = Database(sources, settings)
    try:
        revisits, not_modified, unchanged, changed, new, seconds, mean = database.run(_LATELY, [LATELY])[0]
    finally:
        database.close()
    usual = float(mean or new or 0.0)
    least = float(unchanged if unchanged is not None else usual)
    costs = Costs(least, max(least, float(changed if changed is not None else usual)), float(new or usual))
    return Lately(int(revisits), int(not_modified), costs, usual, float(seconds or 0.0))


class _Crowd:
    """The copies in groups, and their forecasts."""

    def __init__(self, image: Mapped, settings: Settings, chosen: Array, lately: Lately) -> None:
        columns, manager = image.columns, settings.manager
        self._page, self._policy, self._costs, self._mean = columns.page, manager.revisit, lately.costs, lately.bytes
        value = Value.of(manager)
        self._gamma, self._min_period = value.gamma, value.min_period
        self.prior = prior_of(columns.habits, value.change_period)
        pending = int((np.asarray(columns.page.state) == State.PENDING).sum())
        self.new = New(min(_MOST_NEW, manager.new_share), pending / DAY)
        sites = np.asarray(columns.origin.site)[np.asarray(columns.page.origin)[chosen]].astype(np.int64)
        weighs = POLICIES[manager.revisit].weighs and LIVE[manager.policy].code not in AT_LAST
        worths = _worths(image, settings, value)[chosen] if weighs else np.ones(len(chosen))
        codes = np.asarray(columns.page.belief)[chosen].astype(np.int64)
        self._made: tuple[F32, Forecast] | None = None
        levels = levels_within(image, settings, chosen, sites)
        self.dated = int((levels > 0).sum())
        self._delay = sitemaps_every(settings)
        self._copies, self._caps = Copies.of(codes, worths, sites, _caps(image, settings), self._min_period, levels)

    def within(self, budget: Budget) -> Outlook:
        visits = budget.amount / (max(1.0, self._mean) if budget.in_bytes else 1.0)
        page, long = self._page, 1e9
        compared = np.asarray(page.compared)
        table = table_of(self._policy, self.prior, self._gamma, visits * long, long, np.asarray(page.belief), compared)
        if self._made is None or self._made[0] is not table:  # only some policies have another one for each budget
            belief = decode(np.arange(CODES), self.prior)
            costs, new = self._costs, self.new
            made = Forecast(self._copies, belief, table, self._min_period, self._caps, costs, new, self._delay)
            self._made = table, made
        return self._made[1].within(*budget)


def levels_within(image: Mapped, settings: Settings, chosen: Array, sites: Array) -> Array:
    """How far the dates of sitemaps are believed that these copies have, as the crawl does (`profit`)."""
    if settings.manager.revisit != HEEDS:
        return np.zeros(len(chosen), np.int64)
    site, signals = image.columns.site, np.asarray(image.columns.page.signals)[chosen]
    trust = Trust(np.asarray(site.doubt), np.asarray(site.announced)).of(sites)
    return levels_of(trust, (signals > 0) & (trust.doubt > BELIEVED))


def _worths(image: Mapped, settings: Settings, value: Value) -> F32:
    terms = terms_of(image.columns, LIVE[settings.manager.policy].code, value, image.issued, image.wall)
    return np.concatenate([chunk.worth() for chunk in chunks(image.columns, terms)])


def _caps(image: Mapped, settings: Settings) -> F64:
    """Most visits per second of each site: by its waits, as they are now, how fast it answers, and the quiet hours. A
    site that is not asked any more has 0."""
    site, harvester = image.columns.site, settings.harvester
    waits = Waits.of(site, harvester)
    seconds = np.array([seconds_between(waits, each) for each in range(site.count)])
    seconds = seconds * site.slow * site.stretch + (harvester.per_turn - 1) * float(harvester.pause) + site.usual
    shut = (np.asarray(site.refused) != 0) | (np.asarray(site.next) >= FOR_GOOD)
    return np.where(shut, 0.0, harvester.per_turn * _awake(settings, image.wall) / np.maximum(seconds, 1e-3))


def _awake(settings: Settings, wall: float) -> float:
    """Share of a day that is not quiet."""
    quiet = QuietHours.of(settings.harvester.quiet_hours, settings.harvester.time_zone)
    return 1 - sum(quiet.at(wall + MINUTE * minute) for minute in range(1440)) / 1440
