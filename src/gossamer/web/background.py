"""A thread beside a worker's loop, for what would hold up the loop.

The heavy parts let other threads run: lexbor parses without the GIL, as isal, brotli and zstandard decode; what is left
is Python, which makes way every `worker.SWITCH` seconds. (Longest pause of the loop while a page of 5 MB is read: see
`bench/large_pages.py`.) So a thread is enough, and no page has to cross to another process and back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

Given = TypeVar("Given")
Done = TypeVar("Done")


class Beside(Generic[Given, Done]):
    """Works on what it is given, one after the other. The thread is started with the first."""

    def __init__(self, work: Callable[[Given], Done]) -> None:
        self._work = work
        self._thread: Thread | None = None
        self._given: SimpleQueue[Given] = SimpleQueue()
        self._done: SimpleQueue[tuple[Done, None] | tuple[None, BaseException]] = SimpleQueue()
        self.open = 0
        """Given, and not yet taken back."""
        self.bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        """Readable when something is done."""

    def give(self, work: Given) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._run, daemon=True)
            self._thread.start()
        self.open += 1
        self._given.put(work)

    def done(self) -> Iterator[Done]:
        """What was done since the last call, in order; what the work raised is raised here. To be called whenever the
        bell is heard: it may ring for what was taken back just before, and is quiet only after this."""
        with suppress(BlockingIOError):
            os.eventfd_read(self.bell)
        while not self._done.empty():
            done, error = self._done.get()
            if error is not None:
                raise error
            self.open -= 1
            yield done  # type: ignore[misc]  # None only beside an error

    def _run(self) -> None:
        while True:
            try:
                self._done.put((self._work(self._given.get()), None))
            except BaseException as error:
                self._done.put((None, error))
            os.eventfd_write(self.bell, 1)
