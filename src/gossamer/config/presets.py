"""The presets: purposes of a crawl (thesis, figure 3.6) with the settings of [manager] that each one determines, and
paces with those of [harvester].

The exponents weight quality and freshness. They change the order of pages only if some pages are
fetched again: as long as each page is fetched once, the profit of a page is a power of its quality, and all powers give
the same order. So a preset also determines how soon a page may be fetched again, unless the settings do.

A pace is applied when settings are read (`paced`): whoever reads `harvester.wait` gets the wait that is in force.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import Any, Final, NamedTuple

from gossamer.base.units import Duration
from gossamer.config.accepted import PRESET_VALUE
from gossamer.config.settings import HarvesterSettings, ManagerSettings


class Preset(NamedTuple):
    """The settings of [manager] that a preset determines."""

    alpha: float
    gamma: float
    min_period: Duration


_ONCE: Final = Duration(0)
_DAY: Final = Duration(86_400)
"""In a continuous crawl no page is fetched again sooner, unless a preset or a setting says so."""
PRESETS: Final = {
    "general": Preset(1.0, 1.0, _ONCE),
    "research": Preset(2.0, 0.5, _ONCE),
    "archive": Preset(0.5, 0.5, Duration(30 * 86_400)),
    "news": Preset(0.5, 2.0, Duration(6 * 3600)),
    "mirror": Preset(0.0, 2.0, _DAY),  # every page is worth the same
}


def in_force(settings: ManagerSettings) -> Preset:
    """The values in force: those of the settings, and those of the preset where the settings leave it to the preset."""
    preset = PRESETS[settings.preset]
    values = {name: getattr(settings, name) for name in Preset._fields}
    found = preset._replace(**{name: value for name, value in values.items() if value != PRESET_VALUE})
    return found._replace(min_period=_DAY) if settings.continuous and found.min_period == _ONCE else found


PACES: Final[dict[str, dict[str, Any]]] = {
    "polite": {"wait": Duration(15), "wait_large": Duration(5), "wait_factor": 0.0},
    "gentle": {"wait": Duration(1), "wait_large": Duration(1), "wait_factor": 10.0},
}
"""The settings that each `harvester.pace` determines."""


def paced(settings: HarvesterSettings, pace: str, given: Container[str] = ()) -> HarvesterSettings:
    """The settings at another pace. A wait that is `given`, or that is not the one of the former pace, was set: it
    stays."""
    before = PACES[settings.pace]
    unset = {n: new for n, new in PACES[pace].items() if n not in given and getattr(settings, n) == before[n]}
    return replace(settings, pace=pace, **unset)
