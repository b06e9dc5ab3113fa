"""Progress for people: a small block that is redrawn on a terminal, a line every ten seconds elsewhere.

The numbers are those of `status` and `--json` (`observe/statistics.py`): nothing is computed here. Drawn by hand: five
lines twice per second cost 0.02 % of a core; rich's live display would cost a hundred times that, and 0.15 s to import.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from typing import Final, TextIO

from gossamer.base.escape import for_screen, lines_for_screen, unguarded
from gossamer.base.outcomes import SITE_FAILURES, TRANSIENT, Outcome
from gossamer.base.units import human_size, human_time, plural, thousands
from gossamer.harvester.bandwidth.use import BandwidthUse
from gossamer.observe.account import sum_line
from gossamer.observe.statistics import Statistics, TimeLeft

ON_TERMINAL: Final = 0.5
ELSEWHERE: Final = 10.0
"""Seconds between two updates."""
FIRST: Final = 1.0
"""Seconds until the first line where there is no terminal."""
MOST_ERRORS: Final = 4
"""How many kinds of errors are named; the others are added up."""
_ERRORS: Final = {outcome.word for outcome in SITE_FAILURES | TRANSIENT} | {
    outcome.word
    for outcome in (
        Outcome.NOT_FOUND,
        Outcome.REFUSED,
        Outcome.BAD_ENCODING,
        Outcome.FORBIDDEN_ADDRESS,
        Outcome.WORKER_DIED,
    )
}


class Progress:
    """Shows the statistics and the messages of a crawl on a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = unguarded(stream)
        self._terminal = stream.isatty()
        self._every = ON_TERMINAL if self._terminal else ELSEWHERE
        self._next = time.monotonic() + (0.0 if self._terminal else FIRST)
        self._lines = 0
        """Lines of the block that is on the terminal now."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines = 0

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def show(self, statistics: Statistics) -> None:
        self._next = time.monotonic() + self._every
        if self._terminal:
            width = shutil.get_terminal_size().columns
            lines = [for_screen(line)[: width - 1] for line in block(statistics)]
            self._stream.write(self._back() + "".join(f"\x1b[K{line}\n" for line in lines))
            self._lines = len(lines)
        else:
            self._stream.write(for_screen(line_of(statistics)) + "\n")
        self._stream.flush()

    def say(self, line: str) -> None:
        """A message that stays; the block is drawn again below it."""
        self._stream.write(self._back() + lines_for_screen(line) + "\n")
        self._lines = 0
        self._stream.flush()

    def _back(self) -> str:
        """Moves to the start of the block and erases it."""
        return f"\x1b[{self._lines}F\x1b[J" if self._lines else ""


def block(statistics: Statistics) -> list[str]:
    requests, run, rates = statistics.requests, statistics.run, statistics.progress.rates
    lines = [
        f"{human_time(run.seconds):>12}  {plural(requests.visits, 'visit')} ({rates.visits:.1f}/s), "
        f"{thousands(requests.stored)} stored, {human_size(requests.bytes)} ({human_size(max(0, rates.bytes))}/s)",
        f"       known  {sum_line(statistics.pages)}",
        "         now  " + ", ".join(_now(statistics)),
    ]
    if run.bandwidth is not None:
        lines.append("   bandwidth  " + bandwidth_of(run.bandwidth))
    if errors := errors_of(requests.outcomes):
        lines.append("      errors  " + ", ".join(f"{thousands(count)} {word}" for word, count in errors))
    lines.append("   time left  " + left_of(statistics.progress.left))
    if run.names_fault:
        lines.append("       names  lookups pause: " + run.names_fault)
    return lines


def line_of(statistics: Statistics) -> str:
    """The same in one line: `grep -o "pending [0-9,]*"` extracts a column."""
    pages, requests, run, rates = statistics.pages, statistics.requests, statistics.run, statistics.progress.rates
    errors = " ".join(f"{word}={count}" for word, count in errors_of(requests.outcomes))
    parts = [
        f"{human_time(run.seconds)}",
        f"{plural(requests.visits, 'visit')} ({rates.visits:.1f}/s)",
        f"{human_size(requests.bytes)} ({human_size(max(0, rates.bytes))}/s)",
        f"known {thousands(pages.known)}",
        *(f"{state} {thousands(count)}" for state, count in pages.parts()),
        *_now(statistics),
        *([] if run.bandwidth is None else [f"bandwidth {bandwidth_of(run.bandwidth)}"]),
        f"errors {errors or 'none'}",
        f"left {left_of(statistics.progress.left)}",
        *([f"lookups pause: {run.names_fault}"] if run.names_fault else []),
    ]
    return "; ".join(parts)


def _now(statistics: Statistics) -> list[str]:
    run = statistics.run
    active = "" if run.sites_active is None else f" ({thousands(run.sites_active)} active)"
    memory = [] if run.resources.rss is None else [f"{human_size(run.resources.rss)} of memory"]
    return [plural(statistics.sites.known, "site") + active, plural(run.resources.open, "connection"), *memory]


def bandwidth_of(use: BandwidthUse) -> str:
    """What was used in the last seconds, of what is granted."""
    used, order = f"{human_size(use.used)}/s", f"{plural(use.inversions, 'inversion')}"
    if not use.granted:
        return f"{used}, no limit at this hour, {order}"
    return f"{used} of {human_size(use.granted)}/s ({use.used / use.granted:.0%}), {order}"


def errors_of(outcomes: Mapping[str, int]) -> list[tuple[str, int]]:
    """The most frequent errors first; the rest are added up as `other`."""
    errors = sorted(((w, n) for w, n in outcomes.items() if w in _ERRORS), key=lambda e: (-e[1], e[0]))
    rest = sum(count for _, count in errors[MOST_ERRORS:])
    return errors[:MOST_ERRORS] + ([("other", rest)] if rest else [])


def left_of(left: TimeLeft) -> str:
    if left.seconds is None:
        return f"unknown ({left.why})"
    return f"at least {human_time(left.seconds)} ({left.why})"
