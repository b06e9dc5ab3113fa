"""A crawl tells its watches by itself: while it runs, a process beside it does, once there is something to do.

The desk imports only this module: what reads and sends is imported in that process (`follow.py`).
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gossamer.base.process import Process, beside
from gossamer.collection.watches import FILE, Noticed

EVERY: Final = 30.0
"""Seconds between two messages to a watch, at least."""
LAST: Final = 8.0
"""Seconds for what is left at the end."""
LOOK: Final = 2.0
"""Seconds between two looks at the file of watches."""
AGAIN: Final = 60.0
"""Seconds after which a teller that failed is started again."""


@contextmanager
def telling(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Tells watches meanwhile, and what is left at the end. `say` is told failures of the teller itself, once."""
    with beside("telling", lambda stop: _look_after(folder, stop, say)):
        yield


class _Child:
    """A teller in a process of its own. It dies with the thread that started it."""

    def __init__(self, folder: Path) -> None:
        read, self._pipe = os.pipe()
        try:
            self.process = Process(
                "gossamer.read.tell.follow", [str(folder), str(EVERY), str(read)], b"", read, math.inf
            )
        finally:
            os.close(read)

    def end(self) -> None:
        """Lets it tell what is left."""
        os.close(self._pipe)
        until = time.monotonic() + 2 * LAST
        while not self.process.ended and time.monotonic() < until:
            time.sleep(0.05)
        if not self.process.ended:
            self.process.kill()


def _look_after(folder: Path, stop: threading.Event, say: Callable[[str], None]) -> None:
    """Keeps a teller running."""
    noticed, child, next_, said, last = Noticed(folder, say), None, 0.0, "", False
    while not last:
        last = stop.wait(LOOK)
        if child is not None and child.process.ended:
            child.end()
            if child.process.failure and child.process.failure != said:
                said = child.process.failure
                say(f"warning: watches are not told: {said}")
            child, next_ = None, time.monotonic() + AGAIN
        wanted = (folder / FILE).exists() and any(w.webhook or w.command or w.within for w in noticed.now().watches)
        if child is None and wanted and (last or time.monotonic() >= next_):
            child = _Child(folder)
    if child is not None:
        child.end()
