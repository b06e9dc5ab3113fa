"""`gossamer simulate --revisit`: how fresh policies of re-visits keep copies of pages that change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.base.errors import UsageError
from gossamer.base.units import plural
from gossamer.config import Settings
from gossamer.config.presets import in_force
from gossamer.laboratory.findings.finding import Column, Finding, Plot, Series, Table
from gossamer.laboratory.freshness.run import USUAL, Result, Way, simulate
from gossamer.laboratory.freshness.worlds import DAY, KINDS, World, generated, history, rates_of, rates_of_sites
from gossamer.manager.revisits.policies import POLICIES

PAGES: Final = 1000
CHANGE: Final = 10 * DAY
"""Mean time between two changes of a generated page."""
SPREAD: Final = 1.5
VISITS: Final = 24
"""Visits of a page, on average, in a generated world."""
YEARS: Final = 10
_POINTS: Final = 60
Show = Callable[[str, float], None]


def world_of(name: str, budget: float, pages: int, seed: int) -> World:
    """A generated world of a kind, just long enough, or the last years of a file of changes."""
    if name in KINDS:
        rates = (rates_of_sites if name == "sites" else rates_of)(pages or PAGES, 1 / CHANGE, SPREAD, seed)
        return generated(name, rates, VISITS * CHANGE / budget, seed)
    if not Path(name).is_file():
        raise UsageError(f"{name} is neither a file nor a kind of pages", f"The kinds are {', '.join(KINDS)}.")
    return history(Path(name), YEARS * 365.0)


def known_policies(names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in POLICIES:
            raise UsageError(f"no policy of re-visits is named {name!r}", f"The policies are {', '.join(POLICIES)}.")
    return list(dict.fromkeys(names))


class Asked(NamedTuple):
    """A policy to simulate, with settings."""

    policy: str
    period: float = 60 * DAY
    """First guess of the time between two changes."""
    way: Way = USUAL


def asked_by(settings: Settings) -> Asked:
    """What a continuous crawl with these settings would do."""
    manager = replace(settings.manager, continuous=True)
    preset = in_force(manager)
    way = Way(preset.gamma, float(preset.min_period), preset.alpha)
    return Asked(manager.revisit, float(manager.change_period), way)


def revisits(world: World, asked: Mapping[str, Asked], budget: float, seed: int, show: Show) -> dict[str, Result]:
    """The results by name. `budget`: visits for each change."""
    if not len(world.time):
        raise UsageError(f"nothing changes in {world.name}", "Give pages that change: a visit cannot find anything.")
    found = {}
    for number, (name, each) in enumerate(asked.items()):
        show(f"{world.name}, {budget:g} visits for each change: {name}", number / len(asked))
        found[name] = simulate(world, each.policy, budget * world.rate, None, each.period, seed, each.way)
    return found


def calibration(result: Result, since: float = 0.5) -> list[dict[str, float]]:
    """By tenths of the predicted probability of a change: visits, their mean prediction, and the share that found
    one. `since`: in which part of the visits; those of the second half are kept."""
    late = slice(int(len(result.predicted) * (2 * since - 1)), None)
    predicted, changed = result.predicted[late], result.changed[late]
    tenths = np.minimum((10 * predicted).astype(np.int64), 9)
    chosen = ((tenth, tenths == tenth) for tenth in range(10))
    return [
        {
            "from": tenth / 10,
            "visits": int(these.sum()),
            "predicted": float(predicted[these].mean()),
            "changed": float(changed[these].mean()),
        }
        for tenth, these in chosen
        if these.any()
    ]


def summary(result: Result) -> dict[str, Any]:
    half = float(result.visits[-1]) / 2
    return {
        "freshness": result.mean(0),
        "freshness_second_half": result.mean(half),
        "age_days": float(result.age[result.visits >= half].mean()) / DAY,
        "not_visited": result.starved,
        "calibration": calibration(result),
    }


def finding(world: World, found: dict[str, Result], budget: float) -> Finding:
    columns = ("freshness", ".4f"), ("second half", ".4f"), ("age in days", ".2f"), ("not visited", ".3f")
    rows = tuple((policy, *list(summary(result).values())[:4]) for policy, result in found.items())
    table = Table("revisits", "Re-visits", (Column("policy"), *(Column(*each) for each in columns)), rows)
    lines = tuple(Series(policy, *_course(result)) for policy, result in found.items())
    plot = Plot("revisits-course", "Freshness", "visits of a page", "freshness", lines)
    about = (
        f"{world.name}: {plural(world.pages, 'page')}, {plural(len(world.time), 'change')} in {world.end / DAY:,.0f} "
        f"days, {budget:g} visits for each change"
    )
    return Finding("revisits", f"Re-visits of {world.name}", "", about, (table,), (plot,))


def _course(result: Result) -> tuple[list[float], list[float]]:
    parts = np.array_split(np.arange(len(result.visits)), min(_POINTS, len(result.visits)))
    means = [[float(of[part].mean()) for part in parts] for of in (result.visits, result.freshness)]
    return means[0], means[1]
