"""What there is to be seen of a command, and what can show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gossamer.base.escape import for_screen
from gossamer.base.units import human_time
from gossamer.observe.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Activity:
    """What is being done outside the loop of a crawl."""

    what: str
    part: float | None
    """The part done, from 0 to 1; None: not known."""
    since: float
    """Monotonic time."""

    def text(self, now: float) -> str:
        part = "" if self.part is None else f" {100 * self.part:.0f} %,"
        return f"{for_screen(self.what)}:{part} {human_time(now - self.since)}"


@dataclass(frozen=True, slots=True)
class View:
    """All that is to be seen now."""

    now: float
    """Monotonic time."""
    said: tuple[str, ...] = ()
    """New messages."""
    statistics: Statistics | None = None
    activity: Activity | None = None


class Face(Protocol):
    """A way to show a view on a stream."""

    every: float
    """Seconds between two statistics."""
    first: float
    """Seconds until the first."""

    def draw(self, view: View) -> None: ...
    def clear(self) -> None:
        """Erases what does not stay."""
