"""Applies the effects of a tick to the desk: the only way in which durable state changes.

Live and in recovery, `apply` gets the effects of each tick, in the order of ticks. It reads only the state, the effects
and the settings (no clock, no files), so that a replay produces the same state.

Four tables say what happens. Their functions live in the stage that they belong to:

- `SECTIONS`: for each section of the effects, the functions that apply it, in order
- `ANSWERS`: for each kind of request other than a page, the functions that take one visit
- `VISITS`: the functions that take all visits of a tick, in order. A function that is rarely needed says for which
  counts of `Tally` it is called
- `EVENTS`: for each kind of site event, the function that takes one event; `AFTER_EVENTS`: the function that takes all
  sites with that event

`EXCEPTIONS` lists the columns and tables that are also written elsewhere, each with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.base.model import Ask, Outcome
from gossamer.collection.journal.effects import Effects, SiteEvent
from gossamer.desk import domains, orders, proven
from gossamer.desk.account import Account
from gossamer.desk.applied import Applied
from gossamer.desk.desk import Desk
from gossamer.desk.kernels import NO_VISITS, Tally, tally, writable
from gossamer.desk.places import Places
from gossamer.harvester import backoff, naming, owned, robots, versions
from gossamer.harvester.bandwidth.speeds import learn_speeds
from gossamer.harvester.errands import due_sitemaps, probes
from gossamer.manager import pages
from gossamer.manager.revisits import habits
from gossamer.seeder import copies

_FORGOTTEN: Final = int(Outcome.FORGOTTEN)


def apply(desk: Desk, effects: Effects) -> None:
    """Applies the effects of one tick."""
    desk.tick = effects.tick
    desk.wall = max(desk.wall, effects.wall)
    applied = Applied(effects, effects.visits, NO_VISITS, effects.visits)
    for section in SECTIONS:
        if section.present(effects):
            for function in section.functions:
                function(desk, applied)
    for part in desk.followers:
        part.follow(applied)
    if effects.clock:
        desk.correct(effects.clock)


# --- visits -------------------------------------------------------------------------------------------------------


def _count_kinds(desk: Desk, applied: Applied) -> None:
    applied.visits = applied.for_pages = writable(applied.effects.visits)
    applied.tally = tally(applied.visits, desk[probes.ProbeAnswers].probes.telling, desk[Account].outcomes)


def _follow_visits(desk: Desk, applied: Applied) -> None:
    for row in VISITS:
        if row.when is None or row.when(applied.tally):
            row.function(desk, applied)


def _take_answers(desk: Desk, applied: Applied) -> None:
    """Takes the answers to requests for robots.txt, sitemaps and probes, unless they were forgotten."""
    visits, texts = applied.visits, applied.effects.texts()
    for ask, functions in ANSWERS.items():
        for i, of_visit in texts.at(np.flatnonzero((visits["ask"] == ask) & (visits["outcome"] != _FORGOTTEN))):
            for function in functions:
                function(desk, visits[i], of_visit)


def _keep_contents(desk: Desk, applied: Applied) -> None:
    copies.keep_contents(desk.columns, applied.visits, desk.seed)


def _count(desk: Desk, applied: Applied) -> None:
    desk[Account].count(applied.tally)


# --- site events --------------------------------------------------------------------------------------------------


def _follow_events(desk: Desk, applied: Applied) -> None:
    events = applied.effects.site_events
    for event in events:
        EVENTS[SiteEvent(int(event["event"]))](desk, event)
    for kind, function in AFTER_EVENTS.items():
        sites = events["site"][events["event"] == kind].tolist()
        if sites:
            function(desk, sites)


def _add_sites(desk: Desk, applied: Applied) -> None:
    desk[Places].add(applied.effects)
    domains.add_sites(desk, applied)
    backoff.add_sites(desk, applied)
    robots.add_origins(desk, applied)
    orders.add_sites(desk, applied)


# --- the tables ---------------------------------------------------------------------------------------------------


class Section(NamedTuple):
    """A row of `SECTIONS`."""

    present: Callable[[Effects], object]
    functions: tuple[Callable[[Desk, Applied], None], ...]


class Row(NamedTuple):
    """A row of `VISITS`."""

    function: Callable[[Desk, Applied], None]
    when: Callable[[Tally], int] | None = None
    """The function is called if this is not 0; if None, always."""


# fmt: off
SECTIONS: Final = (
    Section(lambda effects: len(effects.sites.lengths) or len(effects.origins), (_add_sites,)),
    Section(lambda effects: len(effects.pages),                                 (pages.add_pages,)),
    Section(lambda effects: len(effects.visits),                                (_count_kinds, _follow_visits)),
    Section(lambda effects: len(effects.verdicts),                              (pages.judge_pages,)),
    Section(lambda effects: len(effects.site_events),                           (_follow_events,)),
    Section(lambda effects: len(effects.orders.lengths),                        (orders.take,)),
)

ANSWERS: Final[dict[Ask, tuple[Callable[[Desk, Any, dict[str, bytes]], None], ...]]] = {
    Ask.ROBOTS:  (robots.take_rules, due_sitemaps.note_named),
    Ask.SITEMAP: (due_sitemaps.note_spent,),
    Ask.PROBE:   (probes.take_answer,),
}

VISITS: Final = (
    Row(versions.number_versions),
    Row(_take_answers,               lambda counts: counts.robots or counts.sitemaps or counts.probes),
    Row(robots.judge_again,          lambda counts: counts.robots),
    Row(probes.compare_pages,        lambda counts: counts.compared or counts.probes),
    Row(backoff.set_clocks),
    Row(learn_speeds),
    Row(robots.outlast_rests,        lambda counts: counts.robots),
    Row(copies.note_copies,          lambda counts: counts.copies),
    Row(probes.count_redirects,      lambda counts: counts.moved),
    Row(naming.forget_unconnected,   lambda counts: counts.unconnected),
    Row(_keep_contents),
    Row(naming.follow_other_names,   lambda counts: counts.respelled),
    Row(habits.observe_changes),
    Row(pages.learn_from_visits),
    Row(domains.vouch),
    Row(_count),
)

EVENTS: Final[dict[SiteEvent, Callable[[Desk, Any], None]]] = {
    SiteEvent.RESOLVED:          naming.take_address,
    SiteEvent.MOVED:             naming.move,
    SiteEvent.NAME_FAILED:       naming.fail,
    SiteEvent.FORBIDDEN_ADDRESS: naming.fail,
    SiteEvent.NAME_AGAIN:        naming.look_up_again,
    SiteEvent.RESPELLED:         naming.switch,
    SiteEvent.ROBOTS_AWAY:       robots.heed_away,
    SiteEvent.DELAY_AGAIN:       robots.heed_delay_again,
    SiteEvent.PATIENCE:          backoff.heed_patience,
    SiteEvent.SLOWED:            backoff.heed_slowing,
    SiteEvent.SITEMAPS_READ:     due_sitemaps.end_round,
    SiteEvent.SITEMAP_TAKEN:     due_sitemaps.note_taken,
    SiteEvent.SESSION_PROVEN:    proven.prove,
    SiteEvent.OWNED:             owned.own,
    SiteEvent.DISOWNED:          owned.disown,
    SiteEvent.FORGOTTEN:         backoff.heed_forgetting,
}

AFTER_EVENTS: Final[dict[SiteEvent, Callable[[Desk, list[int]], None]]] = {
    SiteEvent.MOVED: copies.inherit,
}

EXCEPTIONS: Final = {
    "known":          "the seeder numbers new pages before the journal; a kill forgets both the table and the numbers",
    "digests":        "the seeder marks duplicates within a tick before the journal; applying writes the same again",
    "page.flags":     "ASSIGNED only: volatile, in no image",
    "page.merit":     "link scores come from a process of their own, and from its files after a start",
    "page.completed": "as merit",
    "ranking":        "as merit",
    "habits":         "the scale of re-visits, which each plan steers; all else in it comes from visits",
    "site.resolved":  "0 at a resume: names, and what the settings say about them, may have changed",
    "site.pages":     "the seeder counts new pages while it numbers them, and takes the count back",
    "site.domain_pages": "as site.pages",
    "site.domain":    "the seeder writes the domain of a new site before the journal; applying writes the same again",
    "unjudged":       "volatile: the planner clears it when it begins to judge pages, in the plan's thread",
    "recycled":       "volatile: the harvester clears it when recycled addresses rest in the queue",
}
# fmt: on
