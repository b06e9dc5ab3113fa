"""How much of its bandwidth a run uses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BandwidthUse:
    """Rates are bytes per second, `read` and `share` count from the first request of the run."""

    granted: int = 0
    """What the settings grant at this hour; 0: no limit."""
    used: int = 0
    """The rate measured in the last seconds."""
    read: int = 0
    share: float | None = None
    """`read` as a part of what was granted; None while nothing was."""
    inversions: int = 0
    """Requests that started before a better one that did not fit."""
    capped: int = 0
    """Requests whose rate was limited to what was free."""
    predicted: int = 0
    threshold: int = 0
    """What the predictions may add up to."""
