"""The settings that decide what becomes of a page after a visit; plain numbers, light to import."""

from __future__ import annotations

from dataclasses import dataclass

from gossamer.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Limits:
    """Depths of pages that are fetched, and how failures are tried again."""

    depth_static: int
    depth_dynamic: int
    retry: float
    """Seconds before a page is tried again, where its outcome does not say otherwise."""
    tries: int
    """Number of tries after which a page is done, where its outcome does not say otherwise."""

    @staticmethod
    def of(settings: Settings) -> Limits:
        return Limits(
            settings.seeder.depth_static,
            settings.seeder.depth_dynamic,
            settings.harvester.retry,
            settings.harvester.tries,
        )
