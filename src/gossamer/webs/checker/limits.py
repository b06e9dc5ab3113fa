"""The obligations of a crawl as numbers, computed from its settings: the only place where the checker reads
settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.collection.runs import settings_of_last_run
from gossamer.config import load
from gossamer.config.quiet import QuietHours
from gossamer.config.settings import Settings
from gossamer.web.owner.key import Key, place, read

DAY: Final = 86_400.0
WEEK: Final = 7 * DAY
"""The longest wait."""
LEAST_SLOWED: Final = 1.0
"""Seconds. A slowed wait is a multiple of at least this."""
LEAST_BETWEEN: Final = 0.1
"""Seconds between two requests to sites of the operator: ten in a second."""
SLOWED: Final = 2.0
"""Factor on the wait for an answer that asks the crawl to slow down."""
RECOVERED: Final = 0.9
"""Factor for any other answer, until the wait is back to 1."""
MOST_SLOWED: Final = 256.0
PRECISION: Final = 1e-5
"""The crawl computes the factor in single precision."""


def settings_at(path: Path) -> Settings:
    """The settings of a file, or of the last run of a collection."""
    return settings_of_last_run(path) if path.is_dir() else load(path)


@dataclass(frozen=True, slots=True)
class PolitenessLimits:
    """Waits in seconds, and the identity that requests must show."""

    wait: float
    """The shorter of `wait` and `wait_large`: a log does not tell how many pages of a site were known."""
    pause: float
    per_turn: int
    address_wait: float
    max_delay: float
    robots_valid: float
    unreachable: float
    """After this long without a readable robots.txt its last good copy counts, or none (RFC 9309, 2.3.1.4)."""
    late: float
    """Seconds that connecting may take after the rules were checked."""
    www: bool
    """Two hosts that differ only by `www.` are one site."""
    agent: str
    contacts: tuple[str, ...]
    """Every request carries one of them."""
    wait_factor: float = 0.0
    domain_wait: float = 0.0
    quiet: QuietHours | None = None
    key: Key | None = None
    """Key of the operator, if the operator's sites are requested without waits."""

    @staticmethod
    def of(settings: Settings) -> PolitenessLimits:
        h = settings.harvester
        return PolitenessLimits(
            wait=float(min(h.wait, h.wait_large)),
            pause=float(h.pause),
            per_turn=h.per_turn,
            address_wait=float(h.address_wait),
            max_delay=float(h.max_delay),
            robots_valid=min(float(h.robots_valid), DAY),
            unreachable=float(h.robots_unreachable),
            late=float(h.connect_timeout),
            www=settings.seeder.www,
            agent=h.agent,
            contacts=tuple(" ".join(text.split()) for text in (h.contact, h.about) if text),
            wait_factor=h.wait_factor,
            domain_wait=float(h.domain_wait),
            quiet=QuietHours.of(h.quiet_hours, h.time_zone) if h.quiet_hours else None,
            key=read(place(h.mine_key)) if h.mine else None,
        )
