"""A tick: the results since the last tick go through `STEPS`, in order. This table is the crawl on one screen.

Each step has a phase. Steps before the journal add to the effects of the tick and write no durable state, except for
the tables in `apply.EXCEPTIONS`. The commit journals the effects and applies them. Steps after the commit update
volatile state: clocks, errands, names. What they find out waits in the outbox for the next tick; they never add to the
effects of this tick. `tests/crawler/test_tick.py` proves both rules.

A turn of the loop (`loop.py`) commits one such tick, and one more for a piece of a sitemap, if any waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gossamer.base.log import EventLog
from gossamer.base.model import VISIT, Ask, Reason, State, VerdictFlag, Visits
from gossamer.collection.journal.effects import SITE_EVENT, VERDICT, Effects, SiteEvent, SiteNews, Verdict
from gossamer.collection.store import Store
from gossamer.crawler.apply import apply
from gossamer.desk.desk import Desk
from gossamer.desk.places import Places
from gossamer.desk.rules import Rules
from gossamer.harvester.harvest import Harvest
from gossamer.seeder.copies import duplicates_of, mark_duplicates
from gossamer.seeder.pages import SeederLimits
from gossamer.seeder.pairs import Pairs
from gossamer.seeder.seed import identify
from gossamer.web.message import Links, Results
from gossamer.web.seam import Answer

Records = npt.NDArray[np.void]
U32 = npt.NDArray[np.uint32]


class Phase(Enum):
    """When a step runs, relative to the commit."""

    BEFORE = "before the journal"
    COMMIT = "commit"
    AFTER = "after the commit"


@dataclass(slots=True)
class Tick:
    """The data that flows through the steps."""

    results: Results
    """Results of the workers."""
    answers: list[Answer]
    """Answers to name lookups."""
    effects: Effects
    """What the tick changes: complete after the last step before the journal."""
    news: Sequence[SiteNews] = ()
    """Site events of the harvester that are in the effects now."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The objects that the steps work with."""

    desk: Desk
    store: Store
    harvest: Harvest
    limits: SeederLimits
    log: EventLog | None
    committed: Callable[[], None]
    """Called after each commit: plans are out of date."""


class Step(NamedTuple):
    """A row of `STEPS`."""

    name: str
    run: Callable[[Stages, Tick], None]
    phase: Phase
    source: str
    """The module that does the work."""
    of_results: bool = False
    """The step is skipped if the workers returned no results."""


# --- before the journal ---------------------------------------------------------------------------------------------


def read_errands(stages: Stages, tick: Tick) -> None:
    tick.results = stages.harvest.read(tick.results)


def tell_the_time(stages: Stages, tick: Tick) -> None:
    visits, effects = tick.results.visits, tick.effects
    visits["time"] = np.round(effects.wall - (effects.monotonic - visits["end"]), 6)


def mark_copies(stages: Stages, tick: Tick) -> None:
    mark_duplicates(stages.desk.columns, tick.results, stages.desk.seed)


def identify_links(stages: Stages, tick: Tick) -> None:
    desk = stages.desk
    identify(desk.columns, tick.results, stages.limits, desk.seed, desk[Rules].book.buffer, tick.effects)


def follow_errands(stages: Stages, tick: Tick) -> None:
    stages.harvest.add_effects(tick.results, tick.effects)


def hear_names(stages: Stages, tick: Tick) -> None:
    """A site whose address has changed may have other contents too: its duplicates are opened (A.2.4)."""
    news, tick.news = stages.harvest.take_news(tick.answers, tick.effects.wall)
    news += stages.desk[Pairs].news(tick.results.visits, stages.harvest.urls_of, tick.effects.wall)
    moved = [each.site for each in news if each.event is SiteEvent.MOVED]
    if moved:
        pages = duplicates_of(stages.desk, moved).tolist()
        stages.harvest.judge([Verdict(page, State.PENDING, Reason.NONE, VerdictFlag.AGAIN) for page in pages])
        if stages.log is not None:
            names = stages.desk[Places].names
            stages.log.event("moved", sites=[names[site] for site in moved], opened=len(pages))
    if news or tick.news:
        tick.effects.site_events = np.array([*news, *tick.news], SITE_EVENT)


def take_verdicts(stages: Stages, tick: Tick) -> None:
    if verdicts := stages.harvest.take_verdicts():
        page_origin = stages.desk.columns.page.origin
        tick.effects.verdicts = still_right(np.array(verdicts, VERDICT), page_origin, tick.results.visits)


def still_right(verdicts: Records, page_origin: U32, visits: Visits) -> Records:
    """Drops verdicts made by robots rules that this tick may change: their pages are judged again."""
    read = visits["origin"][visits["ask"] == _ROBOTS]
    if not len(read):
        return verdicts
    outdated = np.isin(page_origin[verdicts["page"]], read)
    outdated &= verdicts["judged"] & VerdictFlag.ROBOTS != 0
    return verdicts[~outdated]


# --- commit ---------------------------------------------------------------------------------------------------------


def journal(stages: Stages, tick: Tick) -> None:
    stages.store.append(tick.effects)


def apply_effects(stages: Stages, tick: Tick) -> None:
    apply(stages.desk, tick.effects)
    stages.committed()


# --- after the commit -----------------------------------------------------------------------------------------------


def log_visits(stages: Stages, tick: Tick) -> None:
    if stages.log is not None:
        visits = tick.effects.visits
        stages.log.visits(visits, tick.results.detail_of, stages.harvest.urls_of(visits))


def heed_news(stages: Stages, tick: Tick) -> None:
    if tick.news:
        stages.harvest.heed(tick.news)


def settle_requests(stages: Stages, tick: Tick) -> None:
    stages.harvest.settle(tick.results, tick.effects)


def settle_names(stages: Stages, tick: Tick) -> None:
    stages.harvest.settle_names(tick.answers)


_ROBOTS: Final = int(Ask.ROBOTS)
NO_RESULTS: Final = Results(np.zeros(0, VISIT), b"", Links.none())
BEFORE, COMMIT, AFTER = Phase

# fmt: off
STEPS: Final[tuple[Step, ...]] = (
    Step("errands take lists out, mark soft 404s",  read_errands,        BEFORE, "harvester/errands/table.py", True),
    Step("visits get their wall time",              tell_the_time,       BEFORE, "crawler/tick.py", True),
    Step("duplicates are marked",                   mark_copies,         BEFORE, "seeder/copies.py", True),
    Step("links become pages",                      identify_links,      BEFORE, "seeder/seed.py", True),
    Step("errands follow what moved or was named",  follow_errands,      BEFORE, "harvester/errands/table.py"),
    Step("names and pairs become site events",      hear_names,          BEFORE, "harvester/names.py"),
    Step("verdicts that still hold are taken",      take_verdicts,       BEFORE, "crawler/tick.py"),
    Step("the effects are journalled",              journal,             COMMIT, "collection/store.py"),
    Step("the effects are applied to the state",    apply_effects,       COMMIT, "crawler/apply.py"),
    Step("visits are logged",                       log_visits,          AFTER,  "base/log.py", True),
    Step("clocks follow the site events",           heed_news,           AFTER,  "harvester/clocks.py"),
    Step("requests end, clocks and errands follow", settle_requests,     AFTER,  "harvester/harvest.py"),
    Step("sites that have an address enter",        settle_names,        AFTER,  "harvester/names.py"),
)
# fmt: on


def commit(stages: Stages, effects: Effects, steps: Sequence[Step] = STEPS) -> None:
    """Journals and applies effects that no results led to: seeds, new settings, pages that sitemaps list."""
    run_tick(stages, Tick(NO_RESULTS, [], effects), [step for step in steps if step.phase is Phase.COMMIT])


def run_tick(stages: Stages, tick: Tick, steps: Sequence[Step] = STEPS) -> None:
    """Runs the steps of one tick, in order."""
    anything = len(tick.results) > 0
    for step in steps:
        if anything or not step.of_results:
            step.run(stages, tick)
