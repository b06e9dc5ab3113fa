"""Progress for people: a small block that is redrawn on a terminal, a line every ten seconds elsewhere.

The numbers are those of `status` and `--json` (`figures.py`, `pace.py`): nothing is computed here. Drawn by hand: five
lines twice a second cost 0.02 % of a core; rich's live display would take a hundred times that, and 0.15 s to import.
"""

from __future__ import annotations

import shutil
import time
from typing import Any, Final, TextIO

from gossamer.base.escape import for_screen, lines_for_screen
from gossamer.base.outcomes import SITE_FAILURES, TRANSIENT, Outcome
from gossamer.base.screen import unguarded
from gossamer.base.units import human_size, human_time, plural, thousands

ON_TERMINAL: Final = 0.5
ELSEWHERE: Final = 10.0
FIRST: Final = 1.0
"""Seconds until the first line where there is no terminal."""
MOST_ERRORS: Final = 4
"""Kinds of errors that are named; the others are added up."""
PARTS: Final = ("pending", "waiting", "done", "excluded")
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
    def __init__(self, stream: TextIO) -> None:
        self._stream = unguarded(stream)
        self._terminal = stream.isatty()
        self._every = ON_TERMINAL if self._terminal else ELSEWHERE
        self._next = time.monotonic() + (0.0 if self._terminal else FIRST)
        self._lines = 0
        """Of the block that stands on the terminal."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines = 0

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def show(self, figures: dict[str, Any]) -> None:
        self._next = time.monotonic() + self._every
        if self._terminal:
            width = shutil.get_terminal_size().columns
            lines = [for_screen(line)[: width - 1] for line in block(figures)]
            self._stream.write(self._back() + "".join(f"\x1b[K{line}\n" for line in lines))
            self._lines = len(lines)
        else:
            self._stream.write(for_screen(line_of(figures)) + "\n")
        self._stream.flush()

    def say(self, line: str) -> None:
        """A message that stays; the block is drawn again below it."""
        self._stream.write(self._back() + lines_for_screen(line) + "\n")
        self._lines = 0
        self._stream.flush()

    def _back(self) -> str:
        """To where the block begins, which is gone then."""
        return f"\x1b[{self._lines}F\x1b[J" if self._lines else ""


def block(f: dict[str, Any]) -> list[str]:
    rates, errors = f.get("rates", {}), errors_of(f)
    lines = [
        f"{human_time(f['seconds']):>12}  {plural(f['visits'], 'visit')} ({rates.get('visits', 0):.1f}/s), "
        f"{thousands(f['stored'])} stored, {human_size(f['bytes'])} ({human_size(max(0, rates.get('bytes', 0)))}/s)",
        f"       known  {thousands(f['known'])} = " + " + ".join(f"{part} {thousands(f[part])}" for part in PARTS),
        "         now  " + ", ".join(_now(f)),
        "   time left  " + left_of(f),
    ]
    if errors:
        lines.insert(3, "      errors  " + ", ".join(f"{thousands(count)} {word}" for word, count in errors))
    if f.get("bandwidth"):
        lines.insert(3, "   bandwidth  " + bandwidth_of(f["bandwidth"]))
    if f.get("names_fault"):
        lines.append("       names  lookups pause: " + f["names_fault"])
    return lines


def line_of(f: dict[str, Any]) -> str:
    """The same in one line: `grep -o "pending [0-9,]*"` finds a column of it."""
    rates, errors = f.get("rates", {}), errors_of(f)
    parts = [
        f"{human_time(f['seconds'])}",
        f"{plural(f['visits'], 'visit')} ({rates.get('visits', 0):.1f}/s)",
        f"{human_size(f['bytes'])} ({human_size(max(0, rates.get('bytes', 0)))}/s)",
        f"known {thousands(f['known'])}",
        *(f"{part} {thousands(f[part])}" for part in PARTS),
        *_now(f),
        *([f"bandwidth {bandwidth_of(f['bandwidth'])}"] if f.get("bandwidth") else []),
        "errors " + (" ".join(f"{word}={count}" for word, count in errors) or "none"),
        f"left {left_of(f)}",
        *([f"lookups pause: {f['names_fault']}"] if f.get("names_fault") else []),
    ]
    return "; ".join(parts)


def _now(f: dict[str, Any]) -> list[str]:
    found = [f"{plural(f['sites'], 'site')}"]
    if "sites_active" in f:
        found[0] += f" ({thousands(f['sites_active'])} active)"
    found.append(plural(f.get("open", 0), "connection"))
    if "rss" in f:
        found.append(f"{human_size(f['rss'])} of memory")
    return found


def bandwidth_of(b: dict[str, Any]) -> str:
    """What is used of what is granted, lately."""
    used, order = f"{human_size(b['used'])}/s", f"{plural(b['inversions'], 'inversion')}"
    if not b["granted"]:
        return f"{used}, no limit at this hour, {order}"
    return f"{used} of {human_size(b['granted'])}/s ({b['used'] / b['granted']:.0%}), {order}"


def errors_of(f: dict[str, Any]) -> list[tuple[str, int]]:
    """The most frequent first; those not named are `other`."""
    found = sorted(((w, n) for w, n in f["outcomes"].items() if w in _ERRORS), key=lambda e: (-e[1], e[0]))
    rest = sum(count for _, count in found[MOST_ERRORS:])
    return found[:MOST_ERRORS] + ([("other", rest)] if rest else [])


def left_of(f: dict[str, Any]) -> str:
    left = f.get("left") or {"seconds": None, "why": "too little got done to tell"}
    if left["seconds"] is None:
        return f"unknown ({left['why']})"
    return f"at least {human_time(left['seconds'])} ({left['why']})"
