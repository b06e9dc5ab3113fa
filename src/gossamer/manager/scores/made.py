"""The link scores that a crawl has: when they were computed, and from how much."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkScores:
    """For `status`, and for the next run, which resumes from it."""

    made: float | None = None
    """Wall time of the last computation that succeeded. None: there was none, or nothing is known about it."""
    visits: int | None = None
    """Visits of the crawl when it began."""
    pages: int | None = None
    links: int | None = None
    cpu: float | None = None
    """Seconds of processor time that it took."""
    cpu_since: float = 0.0
    """Seconds of processor time that the crawl has used since, over all runs."""
    why: str = ""
    """Why there are no scores; empty if there are."""
