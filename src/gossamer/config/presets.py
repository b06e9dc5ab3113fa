"""The presets: for whom a crawl is (thesis, figure 3.6), as the settings of [manager] that they stand for.

The exponents say which measure counts most. They only change the order of pages where some are fetched again: as long
as each is fetched once, the profit of a page is a power of its quality, and all powers order alike. So a preset says
also how soon a page may be fetched again, unless the settings do.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from gossamer.base.units import Duration
from gossamer.config.accepted import PRESET_VALUE
from gossamer.config.settings import ManagerSettings


class Preset(NamedTuple):
    alpha: float
    beta: float
    gamma: float
    min_period: Duration


_ONCE: Final = Duration(0)
PRESETS: Final = {
    "general": Preset(1.0, 1.0, 1.0, _ONCE),
    "research": Preset(2.0, 0.5, 0.5, _ONCE),
    "archive": Preset(0.5, 2.0, 0.5, Duration(30 * 86_400)),
    "news": Preset(0.5, 0.5, 2.0, Duration(6 * 3600)),
}


def in_force(settings: ManagerSettings) -> Preset:
    """What the settings say, and the preset where they leave it to that."""
    preset = PRESETS[settings.preset]
    said = {name: getattr(settings, name) for name in Preset._fields}
    return preset._replace(**{name: value for name, value in said.items() if value != PRESET_VALUE})
