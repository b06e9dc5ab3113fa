"""Progress for people: one line that is rewritten on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from typing import Any, Final, TextIO

from gossamer.units import human_size, human_time, thousands

ON_TERMINAL: Final = 0.5
ELSEWHERE: Final = 10.0


class Progress:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._every = ON_TERMINAL if self._terminal else ELSEWHERE
        self._next = time.monotonic() + (0.0 if self._terminal else 1.0)
        self._last: tuple[float, int, int] | None = None
        self._open_line = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_line()

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def show(self, figures: dict[str, Any]) -> None:
        now = time.monotonic()
        self._next = now + self._every
        pages = bandwidth = 0.0
        if self._last is not None and now > self._last[0]:
            pages = (figures["visits"] - self._last[1]) / (now - self._last[0])
            bandwidth = (figures["bytes"] - self._last[2]) / (now - self._last[0])
        self._last = (now, figures["visits"], figures["bytes"])
        line = (
            f"{human_time(figures['seconds']):>8}  {thousands(figures['visits'])} visits ({pages:.0f}/s), "
            f"{human_size(figures['bytes'])} ({human_size(int(bandwidth))}/s), "
            f"known {thousands(figures['known'])}, pending {thousands(figures['pending'])}, "
            f"{figures['open']} open, {thousands(figures['sites'])} sites"
        )
        if self._terminal:
            self._stream.write(f"\r\x1b[K{line}")
            self._open_line = True
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def say(self, line: str) -> None:
        """A message that stays."""
        self._end_line()
        self._stream.write(line + "\n")
        self._stream.flush()

    def _end_line(self) -> None:
        if self._open_line:
            self._stream.write("\n")
            self._open_line = False
