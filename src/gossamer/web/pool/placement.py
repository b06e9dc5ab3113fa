"""Which worker gets which assignment: equal shares, sites that stay on their worker, pages that must run alone."""

from __future__ import annotations

from collections import deque
from typing import Final

from gossamer.base.model import Assignment
from gossamer.web.pool.workers import Worker

STAY: Final = 60.0
"""Seconds for which a site goes to the worker that requested it last: its connection may be open that long."""
_REMEMBERED: Final = 20_000


class Placement:
    """Gives assignments to workers. `workers` is the pool's list, which changes when workers are replaced."""

    def __init__(self, workers: list[Worker], connections: int, count: int) -> None:
        """`connections`: of all workers together; `count`: how many workers there are when all of them live."""
        self._workers = workers
        self._connections = connections
        self._share = -(-connections // count)
        self._waiting: deque[Assignment] = deque()
        """Assignments that must run alone and have no worker yet."""
        self._sites: dict[int, tuple[int, float]] = {}
        """Site to worker and time of its last use."""

    def free(self, under_way: int) -> int:
        """How many more assignments the workers can take, with so many under way."""
        if self._waiting:
            return 0
        room = sum([max(0, self._share - len(w.open)) for w in self._workers if w.reserved is None])
        return max(0, min(room, self._connections - under_way))

    def give(self, assignment: Assignment, now: float) -> None:
        """Gives the assignment to its site's worker, or to the emptiest."""
        worker = self._choose(assignment.site, now)
        self._sites[assignment.site] = (worker.number, now)
        worker.give(assignment)

    def wait(self, assignment: Assignment, first: bool = False) -> None:
        """Queues an assignment that must run alone, behind the others or before them."""
        if first:
            self._waiting.appendleft(assignment)
        else:
            self._waiting.append(assignment)

    def used(self, site: int, worker: Worker, now: float) -> None:
        """The worker has just finished with a page of this site."""
        self._sites[site] = (worker.number, now)

    def tidy(self, now: float) -> None:
        """Forgets sites whose connections are closed by now, if there are many."""
        if len(self._sites) > _REMEMBERED:
            self._sites = {site: last for site, last in self._sites.items() if now - last[1] < STAY}

    def _choose(self, site: int, now: float) -> Worker:
        number, last = self._sites.get(site, (-1, 0.0))
        if number >= 0 and now - last < STAY:
            worker = self._workers[number]
            if worker.reserved is None and len(worker.open) < self._share:
                return worker
        unreserved = [w for w in self._workers if w.reserved is None]
        return min(unreserved or self._workers, key=lambda w: len(w.open))

    def serve_waiting(self) -> None:
        """Reserves the emptiest worker for each assignment that must run alone, and sends it once that worker has
        nothing else.

        With more than one worker, one is always left for the other assignments.
        """
        unreserved = [w for w in self._workers if w.reserved is None]
        while self._waiting and (len(unreserved) > 1 or len(self._workers) == 1) and unreserved:
            worker = min(unreserved, key=lambda w: len(w.open))
            unreserved.remove(worker)
            worker.reserved = self._waiting.popleft()
        for worker in self._workers:
            if worker.reserved is not None and not worker.open:
                worker.give(worker.reserved)

    def take_back(self) -> list[Assignment]:
        """The assignments that no worker has yet; they are forgotten here."""
        unsent = list(self._waiting)
        self._waiting.clear()
        for worker in self._workers:
            if worker.reserved is not None and worker.reserved.number not in worker.open:
                unsent.append(worker.reserved)
                worker.reserved = None
        return unsent
