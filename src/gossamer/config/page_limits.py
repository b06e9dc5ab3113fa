"""The settings that decide about the state of a page after a visit.

They stand here, without numba, because both the manager (`manager/learn.py`) and SQL (`read/sql/pages_view.py`) need
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from gossamer.config.settings import Settings


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How deep a page may be, when it is tried again, and how often."""

    depth_static: int
    depth_dynamic: int
    retry: float
    tries: int

    @staticmethod
    def of(settings: Settings) -> PageLimits:
        return PageLimits(
            settings.seeder.depth_static,
            settings.seeder.depth_dynamic,
            settings.harvester.retry,
            settings.harvester.tries,
        )
