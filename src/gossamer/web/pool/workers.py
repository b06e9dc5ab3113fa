"""The living workers of a pool: starting them, watching their wires, finding those that hang."""

from __future__ import annotations

import select
from typing import Final

from gossamer.base import disk
from gossamer.base.clock import Clock
from gossamer.web.pool.handle import Inherited, Worker
from gossamer.web.pool.warcs import Warcs

CHECK_EVERY: Final = 1.0
"""Seconds between checks of the heartbeats."""


class Workers:
    """The workers, in order of their numbers, each with an archive file and a wire in the epoll."""

    def __init__(
        self, settings: bytes, inherited: Inherited, warcs: Warcs, epoll: select.epoll, clock: Clock, timeout: float
    ) -> None:
        """`timeout`: seconds for which a worker may be still (`Worker.check`)."""
        self.living: list[Worker] = []
        self._settings, self._inherited = settings, inherited
        self._warcs, self._epoll, self._clock = warcs, epoll, clock
        self._timeout = timeout
        self._checked = clock.monotonic()

    def start(self, number: int) -> None:
        """Creates the archive file first: without it no process is started."""
        file, path = self._warcs.create()
        with disk.naming("start", "a worker"):
            worker = Worker.start(number, self._settings, self._inherited)
        worker.archive(file, str(path))
        worker.mask = select.EPOLLIN
        self._epoll.register(worker.wire.fileno(), worker.mask)
        self.living.insert(number, worker)

    def open_archive(self, worker: Worker) -> None:
        """Gives a worker its next archive file."""
        number, path = self._warcs.create()
        worker.archive(number, str(path))

    def watch(self) -> None:
        """Waits for room to write only while something is unsent."""
        for worker in self.living:
            mask = select.EPOLLIN | (select.EPOLLOUT if worker.wire.unsent else 0)
            if worker.mask != mask:
                worker.mask = mask
                self._epoll.modify(worker.wire.fileno(), mask)

    def check(self) -> None:
        """Kills the workers that hang; what they had in hand comes back when their wires end.

        A check counts for two periods at most, so that no worker is taken to hang because the desk itself was stopped.
        """
        since = self._clock.monotonic() - self._checked
        if since < CHECK_EVERY:
            return
        self._checked += since
        for worker in self.living:
            worker.check(min(since, 2 * CHECK_EVERY), self._timeout)
            if worker.hung is not None:
                worker.kill()

    def end(self, worker: Worker) -> int:
        """Ends a worker from which everything was taken, and cuts its archive files; returns its exit code."""
        self._epoll.unregister(worker.wire.fileno())
        worker.kill()
        code = worker.reap()
        for file in worker.files:
            self._warcs.cut(file)
        return code
