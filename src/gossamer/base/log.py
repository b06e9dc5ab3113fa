"""The event log of a crawl, `--log FILE`: JSON lines, at most one event per visit, and events of the crawl itself.

Every line has `time` (wall, seconds), `level` and `event`; outcomes have the words of `outcomes.py`.

    visit    info, or warning when it failed by the site's or our own fault; debug when the request was not made
    robots   the same for robots.txt
    start stop made scores moved    info: written by `event`, with the fields that the caller gives
    plan     debug
    clock    warning: the system clock was changed; `seconds`: how far it is ahead of the crawl's clock
    warning  warning
    fault    error

All lines have one form, without spaces, so that a line can be found by its text: "event":"visit".

The lines of a tick are written together, always as whole lines, so another program may read the log meanwhile. The log
is no part of the collection: when a write fails, a message says so once, its lines are lost, and the crawl continues;
when writing works again, a line says how many are missing. Cost: 6 µs per visit.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from gossamer.base.errors import UsageError
from gossamer.base.escape import for_json
from gossamer.base.model import NONE, Ask, Visits
from gossamer.base.outcomes import BACK_AS_BEFORE, SITE_FAILURES, TRANSIENT, Outcome, Worded


class Level(Worded):
    DEBUG = 0
    INFO = 1
    WARNING = 2
    ERROR = 3

    @staticmethod
    def named(word: str) -> Level:
        try:
            return Level[word.upper()]
        except KeyError:
            words = ", ".join(level.word for level in Level)
            raise UsageError(f"--log-level {word}: no such level", f"One of: {words}.") from None


_FAULTS: Final = frozenset({Outcome.BAD_ENCODING, Outcome.FORBIDDEN_ADDRESS, Outcome.WORKER_DIED})


def level_of(outcome: Outcome) -> Level:
    if outcome in BACK_AS_BEFORE:
        return Level.DEBUG
    return Level.WARNING if outcome in SITE_FAILURES | TRANSIENT | _FAULTS else Level.INFO


_LEVELS: Final = [level_of(outcome) for outcome in Outcome]
_WORDS: Final = [outcome.word for outcome in Outcome]
_HEADS: Final = [f'"level":"{level_of(o).word}","event":' for o in Outcome]
_NAMES: Final = {int(ask): f'"{ask.name.lower()}"' for ask in Ask if ask is not Ask.PAGE}
_FIELDS: Final = ("page", "ask", "outcome", "status", "time", "start", "end", "received", "links", "duplicate_of")
_quoted = json.encoder.encode_basestring_ascii


class EventLog:
    """A log file, open from the start of a run to its end. `say` prints a message when it cannot be written."""

    def __init__(self, path: Path, level: Level, say: Callable[[str], None]) -> None:
        self._path, self._level, self._say = path, level, say
        self._lost = 0
        self._torn = False
        self._said = False
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UsageError(f"--log {path}: {error.strerror}", "Name a file that can be written to.") from error

    def visits(
        self, visits: Visits, details: Callable[[int], str] | None = None, urls: Sequence[bytes] | None = None
    ) -> None:
        """Logs the visits of a tick, with time and duplicate filled in. `details(i)` says in words what went wrong with
        visit i; it is called for failures only. `urls`: as they were requested.
        """
        columns = [visits[name].tolist() for name in _FIELDS]
        lines = []
        for i, row in enumerate(zip(*columns, strict=True)):
            url = b"" if urls is None else urls[i]
            outcome = row[2]
            if _LEVELS[outcome] >= self._level:
                detail = details(i) if details is not None and _LEVELS[outcome] is Level.WARNING else ""
                lines.append(_visit_line(row, url, detail))
        if lines:
            self._write(lines)

    def event(self, name: str, level: Level = Level.INFO, wall: float | None = None, **fields: Any) -> None:
        if level >= self._level:
            head = {"time": round(time.time() if wall is None else wall, 6), "level": level.word, "event": name}
            self._write([_line(head | fields)])

    def fault(self, error: BaseException, wall: float | None = None) -> None:
        self.event("fault", Level.ERROR, wall, kind=type(error).__name__, message=str(error))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, lines: list[str]) -> None:
        if self._fd < 0:
            return
        if self._lost:
            missing = {"time": round(time.time(), 6), "level": "error", "event": "lines_lost", "lines": self._lost}
            lines = [_line(missing), *lines]
        try:
            self._append(("\n" if self._torn else "") + "".join(lines))
            self._lost = 0
        except OSError as error:
            self._lost += len(lines) - (1 if self._lost else 0)
            if not self._said:
                self._said = True
                why = f"cannot be written to ({error.strerror})"
                self._say(f"warning: {self._path} {why}; the crawl continues without it")

    def _append(self, text: str) -> None:
        rest = memoryview(text.encode())
        while rest:
            count = os.write(self._fd, rest)
            self._torn = rest[count - 1] != 0x0A
            rest = rest[count:]


def _line(event: dict[str, Any]) -> str:
    return for_json(event, compact=True, default=str) + "\n"


def _visit_line(row: tuple[Any, ...], url: bytes, detail: str) -> str:
    """Written by hand: json.dumps takes three times as long."""
    page, ask, outcome, status, when, start, end, received, links, duplicate_of = row
    more = f',"duplicate_of":{duplicate_of}' if duplicate_of != NONE and ask not in _NAMES else ""
    if detail:
        more += f',"detail":{_quoted(detail)}'
    name = _NAMES.get(ask) or f'"visit","page":{page}'
    return (
        f'{{"time":{when:.6f},{_HEADS[outcome]}{name},"url":{_quoted(url.decode("utf-8", "replace"))},'
        f'"outcome":"{_WORDS[outcome]}","status":{status},"seconds":{max(0.0, end - start):.4f},'
        f'"received":{received},"links":{links}{more}}}\n'
    )
