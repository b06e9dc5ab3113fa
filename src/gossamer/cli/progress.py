"""What goes on, for people: a block that is redrawn on a terminal (`block.py`), plain lines elsewhere.

One `Progress` shows a whole command: the statistics of a crawl (`show`), messages that stay (`say`), and what is done
outside its loop, such as compiling kernels or sealing, and how far that is (`doing`). A thread writes all of it. So
there is a sign of life while the caller computes, and a terminal that was stopped with Ctrl-S stops no crawl.

Invariants, each a test of the same name: every message is written once and in order; a block never wraps and never
fills the window; what is written elsewhere has no control sequences; a fault of the display does not end a crawl.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Final, TextIO

from gossamer.base.escape import for_screen, lines_for_screen, unguarded
from gossamer.cli.status_text import line_of
from gossamer.cli.view import Activity, Face, View
from gossamer.observe.statistics import Statistics

ELSEWHERE: Final = 10.0
"""Seconds between two statistics where there is no terminal."""
FIRST: Final = 1.0
"""Seconds until the first line where there is no terminal, of statistics or of an activity."""
ALIVE: Final = 3.0
"""Seconds without a line after which an activity is told again where there is no terminal."""
SOON: Final = 4.0
BEGINNING: Final = 60.0
"""Seconds between two statistics in the beginning, at most, and how long that is: somebody looks at it."""
LEAST: Final = 0.2
"""Least seconds between two drawings."""
MOST: Final = 1.5
"""Most seconds between two drawings."""


class Lines:
    """Plain lines, for logs and pipes."""

    every, first = ELSEWHERE, FIRST

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown: Statistics | None = None
        self._told = ""
        """The activity that was told last."""
        self._last: float | None = None
        """When the last line was written."""

    def draw(self, view: View) -> None:
        lines = [*map(lines_for_screen, view.said)]
        if view.statistics is not None and view.statistics is not self._shown:
            self._shown = view.statistics
            lines.append(for_screen(line_of(view.statistics)))
        elif view.activity is not None and self._is_due(view.activity, view.now):
            self._told = view.activity.what
            lines.append(view.activity.text(view.now))
        if lines or self._last is None:
            self._last = view.now
        self._stream.write("".join(f"{line}\n" for line in lines))
        self._stream.flush()

    def _is_due(self, activity: Activity, now: float) -> bool:
        silent = now - (now if self._last is None else self._last)
        return silent >= ALIVE or (activity.what != self._told and min(silent, now - activity.since) >= FIRST)

    def clear(self) -> None:
        pass


class Progress:
    """Shows statistics, messages and activities on a stream: at once, or as a context by a thread of its own."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._stream = clock, unguarded(stream)
        self._face = face_of(stream)
        self._begun = clock()
        self._next = self._begun + self._face.first
        self._said: deque[str] = deque()
        self._statistics: Statistics | None = None
        self._activity: Activity | None = None
        self._thread: threading.Thread | None = None
        self._wake, self._ended, self._drawing = threading.Event(), threading.Event(), threading.Lock()

    def __enter__(self) -> Progress:
        self._thread = threading.Thread(target=self._go_on, name="progress", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """After an error the last block stays."""
        self._ended.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._activity = None
        self._draw()
        if kind is None:
            self._face.clear()

    def due(self) -> bool:
        """Whether statistics are to be shown."""
        return self._clock() >= self._next

    def show(self, statistics: Statistics) -> None:
        now, every = self._clock(), self._face.every
        self._next = now + (every if now - self._begun >= BEGINNING else min(every, SOON))
        self._statistics, self._activity = statistics, None
        self._changed()

    def say(self, line: str) -> None:
        """A message that stays."""
        self._said.append(line)
        self._changed()

    def doing(self, what: str, part: float | None = None) -> None:
        """What is being done outside the loop of a crawl, and the part done, from 0 to 1, if that is known; an empty
        text, or statistics, end it. Cheap: call it as often as there is something new."""
        before = self._activity
        since = before.since if before is not None and before.what == what else self._clock()
        self._activity = Activity(what, part, since) if what else None
        self._changed()

    def pause(self) -> None:
        """Ends the activity at once, before something else is printed."""
        self._activity = None
        self._draw()

    def _changed(self) -> None:
        if self._thread is None:
            self._draw()
        else:
            self._wake.set()

    def _go_on(self) -> None:
        while not self._ended.wait(LEAST):
            self._draw()
            self._wake.wait(MOST)
            self._wake.clear()

    def _draw(self) -> None:
        with self._drawing:
            said = tuple(self._said.popleft() for _ in range(len(self._said)))
            view = View(self._clock(), said, self._statistics, self._activity)
            try:
                self._face.draw(view)
            except Exception as error:  # a fault of the display must not end a crawl
                self._face = Lines(self._stream)
                fault = f"warning: the display has failed, plain lines follow: {type(error).__name__}: {error}"
                self._face.draw(replace(view, said=(*said, fault)))


def face_of(stream: TextIO) -> Face:
    """A block where a person looks at a terminal that can redraw it, else plain lines."""
    able = os.environ.get("TERM", "dumb") not in ("dumb", "unknown", "")
    if stream.isatty() and able and (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf"):
        from gossamer.cli.block import Block

        return Block(unguarded(stream))
    return Lines(unguarded(stream))
