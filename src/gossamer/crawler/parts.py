"""The parts of the desk, each after those that it rests on. A new part of the state is one row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gossamer.config.settings import Settings
from gossamer.desk.account import Account
from gossamer.desk.columns import Columns
from gossamer.desk.desk import Desk, Part, layout_of
from gossamer.desk.domains import Domains
from gossamer.desk.orders import Orders
from gossamer.desk.places import Places
from gossamer.desk.proven import Proven
from gossamer.desk.rules import Rules
from gossamer.harvester.backoff import Backoff
from gossamer.harvester.bandwidth.speeds import ServerSpeeds
from gossamer.harvester.errands.due_sitemaps import DueSitemaps
from gossamer.harvester.errands.probes import ProbeAnswers
from gossamer.harvester.owned import Owned
from gossamer.harvester.versions import Versions
from gossamer.manager.pages import Pages
from gossamer.manager.revisits.habits import Habits
from gossamer.manager.revisits.heard import Heard
from gossamer.seeder.copies import Copies
from gossamer.seeder.pairs import Pairs

PARTS: Final[tuple[type[Part], ...]] = (
    Places,
    Domains,
    Rules,
    Orders,
    Account,
    Proven,
    Pages,
    Heard,
    Habits,
    Backoff,
    Owned,
    Versions,
    ServerSpeeds,
    ProbeAnswers,
    DueSitemaps,
    Copies,
    Pairs,
)

LAYOUT: Final = layout_of(PARTS)
"""All columns of the desk, by group."""


def new_desk(settings: Settings, seed: int, folder: Path | None = None, parts: Sequence[type[Part]] = PARTS) -> Desk:
    """An empty desk with all parts. `folder` is for what does not fit into memory: the shard's."""
    return Desk(settings, seed, parts, folder)


def new_columns(max_pages: int, max_sites: int) -> Columns:
    """Empty columns of all parts, without a desk."""
    return Columns(max_pages, max_sites, LAYOUT)
