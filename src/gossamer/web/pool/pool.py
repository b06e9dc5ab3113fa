"""The real Web, seen from the desk: worker processes behind one epoll.

Invariants, each a test of the same name: every assignment comes back in exactly one result, whatever dies; results come
by worker number, and then in order of arrival; no worker holds more than its share; a site stays on its worker while
that has room; a page that must run alone does; a worker that hangs is replaced.

When a worker dies, its wire is read to the end, its archive file is cut to the end of the last whole result, and what
it had in hand comes back as RETURNED, ended now; `web/pool/blame.py` says which page is to blame.

A worker that hangs (in native code, stopped, swapped out) is killed, and the rest is the same. The desk checks its
heartbeat once per second (`Worker.check`). So does a worker that takes too much memory: its own limit ends it, or the
desk does, when the memory of the whole crawl runs out (`crawler/watch.py`).
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base.bell import Bell
from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError, StorageError
from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Assignment, Outcome
from gossamer.config import Settings, to_json
from gossamer.web.archive.bodies import Payloads
from gossamer.web.fetch.request import request_fields
from gossamer.web.limit.bucket import RateLimiter
from gossamer.web.message import HEAD, Links, Results, Type, decode_results, encode_result
from gossamer.web.pool.blame import MOST_DEATHS, Blame
from gossamer.web.pool.placement import Placement
from gossamer.web.pool.warcs import Warcs
from gossamer.web.pool.wire import OUT_OF_MEMORY
from gossamer.web.pool.workers import Inherited, Worker, Workers

BRIEF: Final = 0.025
"""Seconds for which results are gathered, at most, when something urgent has come."""
RESULTS_AT_ONCE: Final = 100
LINKS_AT_ONCE: Final = 20_000
"""A larger tick would keep the loop from polling for too long."""

_CODES: Final = {2: "H", 4: "I", 8: "Q"}


def _struct_of(*names: str) -> struct.Struct:
    """Reads these fields of a visit, whole numbers in the order of its bytes."""
    code, at = "<", 0
    for kind, offset in ((VISIT[name], int(VISIT.fields[name][1])) for name in names):  # type: ignore[index]
        code += f"{offset - at}x{_CODES[kind.itemsize]}"
        at = offset + kind.itemsize
    return struct.Struct(code)


_PLACE: Final = _struct_of("number", "warc_file", "warc_end")
_LINKS: Final = _struct_of("links")


class Pool:
    """Hands assignments to workers and collects their results. Its workers run as soon as it exists."""

    def __init__(
        self,
        settings: Settings,
        seed: int,
        lock_fd: int,
        shard: Path,
        next_warc: int,
        clock: Clock,
        payloads: Payloads | None = None,
        limited: bool = False,
        processors: Sequence[object] = (),
    ) -> None:
        """`lock_fd`: inherited by the workers, so that no second desk starts while one of them lives; -1: none.
        `payloads`: where workers look up whether a body was archived before. `limited`: what workers read is counted,
        and limited to what `grant` says. `processors`: plug-ins that see pages, each with its table.

        Workers die with the *thread* that started them (the kernel defines it so): the thread that calls `results`.
        """
        count = settings.harvester.workers or os.cpu_count() or 1
        self._clock = clock
        self._limiter = RateLimiter(count) if limited else None
        self._bell = Bell()
        """The workers ring it for a robots.txt or sitemap that leads to another: that may be at a site that is due."""
        inherited = Inherited(
            lock_fd,
            payloads.fileno() if payloads is not None else -1,
            self._limiter.fileno() if self._limiter is not None else -1,
            self._bell.fileno(),
        )
        self._warcs = Warcs(shard, next_warc, _said(settings, shard), settings.collection, clock.wall)
        self._epoll, self._urgent = select.epoll(), select.epoll()
        self._epoll.register(self._urgent.fileno(), select.EPOLLIN)
        self.register(self._bell.fileno())
        told = _told(settings, seed, processors)
        self._workers = Workers(told, inherited, self._warcs, self._epoll, clock, float(settings.gatherer.timeout))
        self._placement = Placement(self._workers.living, settings.harvester.connections, count)
        self._blame = Blame()
        self._open = 0
        self._returned: list[bytes] = []
        """Results that came, and did not fit into the tick."""
        self._fault: GossamerError | None = None
        self._stopping = False
        self._last = 0.0
        for number in range(count):
            self._workers.start(number)

    @property
    def open(self) -> int:
        """Assignments in flight, including results that wait for the next call of `results`."""
        return self._open

    def free(self) -> int:
        return 0 if self._stopping else self._placement.free(self.open)

    def pids(self) -> list[int]:
        return [w.pid for w in self._workers.living]

    def tell_time(self) -> None:
        self._workers.tell_time()

    def grant(self, speed: int) -> None:
        if self._limiter is not None:
            self._limiter.grant(speed)

    def received(self) -> int:
        return self._limiter.read() if self._limiter is not None else 0

    def register(self, fd: int) -> None:
        """Makes `results` return when `fd` becomes readable, too, however long it gathers. Its owner reads it."""
        self._urgent.register(fd, select.EPOLLIN)

    # --- out ----------------------------------------------------------------------------------------------------

    def assign(self, assignments: list[Assignment]) -> None:
        now = self._clock.monotonic()
        self._open += len(assignments)
        for assignment in assignments:
            if assignment.alone or self._blame.suspects(assignment.url):
                self._placement.wait(assignment._replace(alone=True))
            else:
                self._placement.give(assignment, now)
        self._placement.serve_waiting()
        self._workers.watch()
        self._placement.tidy(now)

    # --- back ---------------------------------------------------------------------------------------------------

    def results(self, timeout: float, gather: float = 0.0) -> Results:
        """At most `RESULTS_AT_ONCE`, and about `LINKS_AT_ONCE` links; the rest waits for the next call.

        Faults of the pool as a whole are raised by the call after the one that met them: what came is handed over.
        """
        if self._fault is not None and not self._returned:
            raise self._fault
        if gather and not self._returned:
            _ready(self._epoll, timeout)
            self._gather(gather)
            timeout = 0.0
        self._last = self._clock.monotonic()
        bodies = self._poll(0.0 if self._returned else timeout)
        links = 0
        for i, body in enumerate(bodies):
            links += _LINKS.unpack_from(body)[0]
            if links > LINKS_AT_ONCE or i + 1 == RESULTS_AT_ONCE:
                self._returned = bodies[i + 1 :]
                return self._handed_over(bodies[: i + 1])
        return self._handed_over(bodies)

    def _handed_over(self, bodies: list[bytes]) -> Results:
        self._open -= len(bodies)
        for body in bodies:
            _, file, end = _PLACE.unpack_from(body)
            if end:
                self._warcs.grew(file, end)
        return decode_results(bodies)

    def _gather(self, seconds: float) -> None:
        """Lets results come until `seconds` after the last call; if something urgent comes, until `BRIEF` after it."""
        if seconds > BRIEF and not _ready(self._urgent, self._last + seconds - self._clock.monotonic()):
            return
        time.sleep(max(0.0, self._last + min(seconds, BRIEF) - self._clock.monotonic()))

    def _poll(self, timeout: float) -> list[bytes]:
        ready = {fd for fd, _ in _ready(self._epoll, timeout)}
        if self._urgent.fileno() in ready:
            self._bell.hush()
        bodies, self._returned = self._returned, []
        for worker in list(self._workers.living):
            if worker.wire.fileno() in ready:
                worker.wire.flush()
                bodies += self._drain(worker)
                if worker.wire.ended:
                    bodies += self._bury(worker)
        self._placement.serve_waiting()
        self._workers.watch()
        self._workers.check()
        return bodies

    def _drain(self, worker: Worker) -> list[bytes]:
        """The results that have arrived from a worker."""
        bodies, now = [], self._clock.monotonic()
        for kind, body in worker.wire.receive():
            if kind is Type.RESULT:
                if self._take(worker, body, now):
                    bodies.append(body)
            elif kind is Type.FAULT:
                self._fault = self._fault or _fault(body)
        if bodies and self._warcs.is_full(worker.file) and not self._stopping:
            self._workers.open_archive(worker)
        return bodies

    def _take(self, worker: Worker, body: bytes, now: float) -> bool:
        """Ends the assignment of a result; False if the worker does not have it."""
        number, file, end = _PLACE.unpack_from(body)
        assignment = worker.open.pop(number, None)
        if assignment is None:
            return False
        self._placement.used(assignment.site, worker, now)
        if assignment is worker.reserved:
            worker.reserved = None
            self._blame.acquit(assignment.url)
        if end:
            self._warcs.came(file, end)
            while worker.files[0] != file:
                self._warcs.finish(worker.files.pop(0))
        return True

    # --- life and death of workers ------------------------------------------------------------------------------

    def _bury(self, worker: Worker) -> list[bytes]:
        """Replaces a worker whose wire has ended, and from which everything was taken; returns what it had in hand."""
        code = self._workers.end(worker)
        gathered = worker.named() if worker.hung is None else worker.hung
        blamed = not worker.open.keys().isdisjoint(gathered)
        bodies = self._give_up(worker, gathered, _cause(code) if worker.hung is None else worker.why)
        worker.heartbeat.close()
        self._workers.living.remove(worker)
        if self._stopping:
            return bodies
        if not blamed and self._blame.too_many_deaths(self._clock.monotonic()) and self._fault is None:
            self._fault = GossamerError(
                f"workers died {MOST_DEATHS + 1} times within a minute, the last: {_cause(code)}",
                "Their messages stand above; a signal (negative code) often means that memory is used up.",
            )
        self._workers.start(worker.number)
        return bodies

    def end(self, pid: int, why: str) -> None:
        """Ends a worker for a reason that the desk knows; what it has in hand comes back as if it had died."""
        for worker in self._workers.living:
            if worker.pid == pid:
                worker.give_up(why)

    def _give_up(self, worker: Worker, gathered: list[int], why: str) -> list[bytes]:
        """Results for what a dead worker had in hand; `gathered`: the pages that are to blame."""
        now = self._clock.monotonic()
        if worker.reserved is not None and worker.reserved.number not in worker.open:
            self._placement.wait(worker.reserved, first=True)
        outcomes = self._blame.outcomes(worker.open.values(), gathered)
        bodies = [_ended(assignment, outcome, now, why) for assignment, outcome in outcomes]
        worker.open.clear()
        return bodies

    def stop(self, grace: float) -> Results:
        """Open transfers end within `grace` seconds or come back as RETURNED; no worker is left."""
        if not self._stopping:
            self._stopping = True
            self._epoll.unregister(self._urgent.fileno())  # nobody reads what is registered there any more
        now = self._clock.monotonic()
        deadline = now + grace
        bodies = [_ended(a, Outcome.RETURNED, now, "stopped") for a in self._placement.take_back()]
        for worker in self._workers.living:
            worker.stop()
        self._workers.watch()
        while self._workers.living and (left := deadline - self._clock.monotonic()) > 0:
            bodies += self._poll(left)
        for worker in list(self._workers.living):
            worker.kill()
            while not worker.wire.ended:
                worker.wire.wait()
                bodies += self._drain(worker)
            bodies += self._bury(worker)
        return self._handed_over(bodies + self._returned)

    def close(self) -> None:
        """Ends the workers, if `stop` was not called; archive files are synced and closed."""
        if self._workers.living:
            self.stop(0.0)
        self._warcs.close()
        if self._limiter is not None:
            self._limiter.close()
        self._epoll.close()
        self._urgent.close()
        self._bell.close()

    # --- statistics and archive files ---------------------------------------------------------------------------

    def warc_lengths(self) -> dict[str, int]:
        return self._warcs.lengths()

    def sync_warc(self, names: Collection[str] | None = None) -> None:
        """Syncs archive files, by their names in `warc_lengths`; may be called by another thread."""
        self._warcs.sync(names)

    def cpu_seconds(self) -> float:
        """CPU time of the living workers; those that have ended count among the children of this process."""
        return sum(w.cpu_seconds() for w in self._workers.living)


def _said(settings: Settings, shard: Path) -> dict[str, str]:
    """What archive files say of the crawl: who crawls, as whom, by which rules, and which collection it is."""
    sent = dict(line.split(": ", 1) for line in request_fields(settings.harvester))
    return {
        "operator": settings.harvester.contact or settings.harvester.about,
        "http-header-user-agent": sent["User-Agent"],
        "http-header-from": sent.get("From", ""),
        "robots": "obey",
        "isPartOf": shard.resolve().parent.name,
    }


def _told(settings: Settings, seed: int, processors: Sequence[object]) -> bytes:
    """What every worker is told first."""
    return json.dumps({"settings": json.loads(to_json(settings)), "seed": seed, "processors": processors}).encode()


def _ready(epoll: select.epoll, timeout: float) -> list[tuple[int, int]]:
    """Waits for events. epoll counts in milliseconds and rounds up; a site may be due within the last of them, so that
    one is slept."""
    whole = int(max(0.0, timeout) * 1000) / 1000
    events = epoll.poll(whole)
    if not events and timeout > whole:
        time.sleep(timeout - whole)
        events = epoll.poll(0)
    return events


def _cause(code: int) -> str:
    """Why a worker died, by its exit code."""
    return "it used up the memory that a worker may use" if code == OUT_OF_MEMORY else f"exit code {code}"


def _ended(assignment: Assignment, outcome: Outcome, now: float, detail: str) -> bytes:
    """A result that no worker sent. Its request may have been made: it counts as a request that ended now."""
    visit = np.zeros((), VISIT)
    for name in ("number", "page", "origin", "site", "ask"):
        visit[name] = getattr(assignment, name)
    visit["outcome"], visit["duplicate_of"] = outcome, NONE
    visit["start"] = visit["end"] = now
    visit["retry_after"] = visit["delay"] = -1
    texts = [detail.encode() if name == "detail" else b"" for name in VISIT_TEXTS]
    return encode_result(visit, texts, Links.none())[HEAD.size :]


def _fault(body: bytes) -> GossamerError:
    message, _, cure = body[1:].decode(errors="replace").partition("\0")
    kind = StorageError if body[0] == StorageError.exit_code else GossamerError
    return kind(message, cure)
