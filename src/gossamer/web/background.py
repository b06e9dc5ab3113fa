"""A background thread of a worker, for work that would hold up its loop.

The heavy parts let other threads run: lexbor parses without the GIL, and isal, brotli and zstandard decode without it;
the rest is Python, which gives way every `worker.SWITCH` seconds. (`bench/large_pages.py` measures the longest pause of
the loop while a page of 5 MB is read.) So a thread is enough, and no page has to cross to another process and back.
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


class Background(Generic[Given, Done]):
    """A thread that does what it is given, in order. The first piece of work starts it."""

    def __init__(self, work: Callable[[Given], Done]) -> None:
        self._work = work
        self._thread: Thread | None = None
        self._given: SimpleQueue[Given] = SimpleQueue()
        self._done: SimpleQueue[tuple[Done, None] | tuple[None, BaseException]] = SimpleQueue()
        self.open = 0
        """Pieces of work given, and not yet taken back."""
        self.eventfd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        """Readable when a piece of work is done."""

    def give(self, work: Given) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._run, daemon=True)
            self._thread.start()
        self.open += 1
        self._given.put(work)

    def done(self) -> Iterator[Done]:
        """The results since the last call, in order; what the work raised is raised here.

        Call this whenever the eventfd is readable, even if nothing is pending: only this call clears it.
        """
        with suppress(BlockingIOError):
            os.eventfd_read(self.eventfd)
        while not self._done.empty():
            done, error = self._done.get()
            if error is not None:
                raise error
            self.open -= 1
            yield done  # type: ignore[misc]  # None only with an error

    def _run(self) -> None:
        while True:
            try:
                self._done.put((self._work(self._given.get()), None))
            except BaseException as error:
                self._done.put((None, error))
            os.eventfd_write(self.eventfd, 1)
