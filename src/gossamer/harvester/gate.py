"""The gate behind the queue: what its clocks allow is requested, unless something speaks against it at the last moment.

It can only hold back what the clocks allow.
"""

from __future__ import annotations

from typing import Final

from gossamer.base.arrays import Array
from gossamer.base.askable import BLOCKED
from gossamer.desk.columns import Group
from gossamer.desk.kernels import spoken_against
from gossamer.harvester.clocks import QueueClocks
from gossamer.harvester.errands.robots import REFUSED_AGAIN
from gossamer.harvester.names import SiteNames
from gossamer.harvester.spacing import LOOK

STALE: Final = 1.0
"""Seconds for which a site rests whose name is looked up again."""


def held(sites: Array, columns: Group, clocks: QueueClocks, names: SiteNames) -> Array:
    """Seconds for which each of these sites is held back; 0: it is not. Held back are sites that, since they were
    planned, have asked for a longer delay than is honoured, or were blocked; sites whose address is too old: their
    names are resolved first; and sites that were ordered to be slower."""
    seconds = clocks.spacing.held(sites, clocks.now)
    if spoken_against(sites, columns.refused, columns.resolved, clocks.wall):
        stale = columns.resolved[sites] <= clocks.wall
        refused = columns.refused[sites]
        seconds[stale] = STALE
        for site in sites[stale & (refused == 0)].tolist():
            names.resolve(site)
        seconds[refused != 0] = REFUSED_AGAIN
        seconds[refused & BLOCKED != 0] = LOOK
    return seconds
