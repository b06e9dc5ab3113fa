"""What there is to be seen of a command, and what can show it."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol, TextIO

from gossamer.base.escape import for_screen
from gossamer.base.units import human_time
from gossamer.observe.statistics import Statistics

_HEAD: Final = re.compile(r" *(?:(?:[\d,]+|[a-z]+)  )?")
"""What the folded rest of a line is indented by, and two columns more: its own indent, and a number or a word before
two spaces."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What is being done outside the loop of a crawl."""

    what: str
    part: float | None
    """The part done, from 0 to 1; None: not known."""
    since: float
    """Monotonic time."""

    def text(self, now: float, width: int = 1_000) -> str:
        """In at most `width` columns: what is done is cut, how far it is not."""
        part = "" if self.part is None else f" {100 * self.part:.0f} %,"
        far = f":{part} {human_time(now - self.since)}"
        what, room = for_screen(self.what), max(10, width - len(far))
        return (what if len(what) <= room else f"{what[: room - 1]}…") + far


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


def folded(lines: Iterable[str], stream: TextIO) -> Iterator[str]:
    """The lines as they fit into the window of a terminal, at spaces; unchanged elsewhere."""
    if not stream.isatty():
        yield from lines
        return
    width = shutil.get_terminal_size().columns
    for line in lines:
        head = _HEAD.match(line)
        indent = " " * min(len(head[0]) + 2 if head else 2, width // 2)
        yield from textwrap.wrap(
            line, max(10, width - 1), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [line]
