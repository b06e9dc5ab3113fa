"""A desk with a few sites, for tests of the harvester's classes by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gossamer.base.clock import VirtualClock
from gossamer.collection.journal.effects import SITE_EVENT, SiteNews
from gossamer.config import Settings, override
from gossamer.crawler.apply import apply
from gossamer.crawler.parts import new_desk
from gossamer.desk.desk import Desk
from gossamer.desk.rules import Rules
from gossamer.seeder.pages import SeederLimits
from gossamer.seeder.seed import plant

CLOCK = VirtualClock()
SMALL = ("collection.max_pages=100", "collection.max_sites=10", "seeder.domains=*")


def desk_of(urls: Sequence[str], *changes: str) -> Desk:
    """A desk with these pages; sites and pages are numbered in this order."""
    desk = new_desk(override(Settings(), (*SMALL, *changes)), 1)
    effects, limits = desk.effects(CLOCK.wall(), CLOCK.monotonic()), SeederLimits.of(desk.settings)
    plant(desk.columns, list(urls), limits, desk.scope, desk.seed, desk[Rules].book.buffer, effects)
    apply(desk, effects)
    assert desk.columns.page.count == len(urls)
    return desk


def tell(desk: Desk, *news: SiteNews) -> None:
    """Applies site events, as a tick does."""
    effects = desk.effects(CLOCK.wall(), CLOCK.monotonic())
    effects.site_events = np.array(list(news), SITE_EVENT)
    apply(desk, effects)
