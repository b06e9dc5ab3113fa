"""The real Web, seen from the desk: worker processes behind one epoll.

Invariants, each a test of the same name: every assignment comes back in exactly one result, whatever dies; results come
by worker number, then in order of arrival; no worker holds more than its share; a site stays on its worker while that
has room and was used within a minute; a page that must run alone does; a worker that hangs is replaced.

A worker that dies: its wire is read to the end, its archive file cut to the end of the last whole result, what it had
in hand comes back as RETURNED, ended now. The page that it was gathering is asked for alone the next time; if it kills
again, that is its outcome. There may be two, one in its loop and one beside it: then both are asked for alone. When it
died without gathering anything, nobody knows which page it was: one that was on its way at `WITNESSED` such deaths
comes back as WORKER_LOST.

A worker that hangs (in native code, stopped, swapped out) is killed, and the rest is the same. It is known by its slot,
at which the desk looks every `LOOK` seconds: see `Worker.looked_at`. A look counts for two such times at most, so that
nobody is held to hang because the desk itself was stopped.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections import deque
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base import disk
from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError, StorageError
from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Assignment, Outcome
from gossamer.config import Settings, to_json
from gossamer.web.archive.bodies import Payloads
from gossamer.web.limit.bucket import Line
from gossamer.web.message import HEAD, Links, Results, Type, decode_results, encode_result
from gossamer.web.pool.handle import Worker
from gossamer.web.pool.warcs import Warcs

STAY: Final = 60.0
"""Seconds for which a site goes to the worker that asked it last: so long its connection may be open."""
MOST_DEATHS: Final = 10
"""Within a minute, for which no page is held responsible; more than that is no accident."""
WITNESSED: Final = 3
LOOK: Final = 1.0
_NUMBER: Final = struct.Struct("<Q")
_FILE: Final = struct.Struct("<H")
_NUMBER_AT, _FILE_AT, _END_AT, _LINKS_AT = (
    int(VISIT.fields[name][1])  # type: ignore[index]
    for name in ("number", "warc_file", "warc_end", "links")
)
RESULTS_AT_ONCE: Final = 100
LINKS_AT_ONCE: Final = 20_000
"""A tick of more would make the loop deaf for too long."""
_LINKS: Final = struct.Struct("<I")
_REMEMBERED: Final = 20_000


class Pool:
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
    ) -> None:
        """`lock_fd`: inherited by the workers, so that no second desk starts while one of them lives; -1: none.
        `payloads`: where they look up whether a body was archived before. `limited`: what they read is counted, and
        held to what `grant` says.

        Workers die with the *thread* that started them (so the kernel has it): the one that calls `results`.
        """
        self._clock = clock
        self._lock_fd = lock_fd
        self._payloads = payloads.fileno() if payloads is not None else -1
        count = settings.harvester.workers or os.cpu_count() or 1
        self._line = Line(count) if limited else None
        self._connections = settings.harvester.connections
        self._share = -(-self._connections // count)
        self._warc_size = settings.collection.warc_size
        self._most_still = float(settings.gatherer.timeout)
        self._looked = clock.monotonic()
        self._settings = json.dumps({"settings": json.loads(to_json(settings)), "seed": seed}).encode()
        self._warcs = Warcs(shard, next_warc, settings.harvester.contact or settings.harvester.about)
        self._epoll = select.epoll()
        self._workers: list[Worker] = []
        self._waiting: deque[Assignment] = deque()
        """Assignments that must run alone and have no worker yet."""
        self._sites: dict[int, tuple[int, float]] = {}
        """Site to worker and time of its last use."""
        self._suspects: set[bytes] = set()
        """URLs of pages that killed a worker once."""
        self._witnesses: dict[bytes, int] = {}
        """URLs that were on their way when a worker died for no known reason, and how often."""
        self._returned: list[bytes] = []
        """Results that came, and did not fit into the tick."""
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)
        self._fault: GossamerError | None = None
        self._stopping = False
        self._last = 0.0
        for number in range(count):
            self._workers.append(self._start(number))

    @property
    def open(self) -> int:
        """Also what has come back and waits for the next call of `results`."""
        return sum(len(w.open) for w in self._workers) + self._held() + len(self._returned)

    def _held(self) -> int:
        """Not with a worker yet."""
        unsent = sum(w.reserved is not None and w.reserved.number not in w.open for w in self._workers)
        return len(self._waiting) + unsent

    def free(self) -> int:
        if self._stopping or self._waiting:
            return 0
        room = sum(max(0, self._share - len(w.open)) for w in self._workers if w.reserved is None)
        return max(0, min(room, self._connections - self.open))

    def pids(self) -> list[int]:
        return [w.pid for w in self._workers]

    def grant(self, speed: int) -> None:
        """Bytes a second that all workers together may read from now on; 0: no limit."""
        if self._line is not None:
            self._line.grant(speed)

    def received(self) -> int:
        """Bytes that were read from sockets so far; 0 where that is not counted."""
        return self._line.read() if self._line is not None else 0

    def register(self, fd: int) -> None:
        """`results` returns when `fd` becomes readable, too; whoever owns it reads it."""
        self._epoll.register(fd, select.EPOLLIN)

    # --- out ----------------------------------------------------------------------------------------------------

    def assign(self, assignments: list[Assignment]) -> None:
        now = self._clock.monotonic()
        for assignment in assignments:
            if assignment.alone or assignment.url in self._suspects:
                self._waiting.append(replace(assignment, alone=True))
            else:
                worker = self._choose(assignment.site, now)
                self._sites[assignment.site] = (worker.number, now)
                worker.give(assignment)
        self._serve_waiting()
        self._watch()
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

    def _serve_waiting(self) -> None:
        """Reserves the emptiest worker for each that must run alone, and sends it once that worker has nothing else.

        With more than one worker, one is always left for the others.
        """
        unreserved = [w for w in self._workers if w.reserved is None]
        while self._waiting and (len(unreserved) > 1 or len(self._workers) == 1) and unreserved:
            worker = min(unreserved, key=lambda w: len(w.open))
            unreserved.remove(worker)
            worker.reserved = self._waiting.popleft()
        for worker in self._workers:
            if worker.reserved is not None and not worker.open:
                worker.give(worker.reserved)

    # --- back ---------------------------------------------------------------------------------------------------

    def results(self, timeout: float, gather: float = 0.0) -> Results:
        """At most `RESULTS_AT_ONCE`, and `LINKS_AT_ONCE` links or so; the rest waits for the next call.

        Faults of the pool as a whole are raised at the call after the one that met them: what came is handed over.
        """
        if self._fault is not None and not self._returned:
            raise self._fault
        if gather and not self._returned:
            self._ready(timeout)
            time.sleep(max(0.0, self._last + gather - self._clock.monotonic()))
            timeout = 0.0
        self._last = self._clock.monotonic()
        bodies = self._poll(0.0 if self._returned else timeout)
        links = 0
        for i, body in enumerate(bodies):
            links += _LINKS.unpack_from(body, _LINKS_AT)[0]
            if links > LINKS_AT_ONCE or i + 1 == RESULTS_AT_ONCE:
                self._returned = bodies[i + 1 :]
                return self._handed_over(bodies[: i + 1])
        return self._handed_over(bodies)

    def _handed_over(self, bodies: list[bytes]) -> Results:
        for body in bodies:
            end: int = _NUMBER.unpack_from(body, _END_AT)[0]
            if end:
                self._warcs.grew(_FILE.unpack_from(body, _FILE_AT)[0], end)
        return decode_results(bodies)

    def _ready(self, timeout: float) -> list[tuple[int, int]]:
        """epoll counts in milliseconds and rounds up. A site may be due within the last of them: that is slept."""
        whole = int(max(0.0, timeout) * 1000) / 1000
        found = self._epoll.poll(whole)
        if not found and timeout > whole:
            time.sleep(timeout - whole)
            found = self._epoll.poll(0)
        return found

    def _poll(self, timeout: float) -> list[bytes]:
        ready = {fd for fd, _ in self._ready(timeout)}
        bodies, self._returned = self._returned, []
        for worker in list(self._workers):
            if worker.wire.fileno() in ready:
                worker.wire.flush()
                bodies += self._drain(worker)
                if worker.wire.ended:
                    bodies += self._bury(worker)
        self._serve_waiting()
        self._watch()
        self._look()
        return bodies

    def _look(self) -> None:
        """For workers that hang; what they had in hand comes back when their wires end."""
        since = self._clock.monotonic() - self._looked
        if since < LOOK:
            return
        self._looked += since
        for worker in self._workers:
            worker.looked_at(min(since, 2 * LOOK), self._most_still)
            if worker.hung is not None:
                worker.kill()

    def _drain(self, worker: Worker) -> list[bytes]:
        bodies = []
        for kind, body in worker.wire.receive():
            if kind is Type.RESULT:
                if self._take(worker, body):
                    bodies.append(body)
            elif kind is Type.FAULT:
                self._fault = self._fault or _fault(body)
        if bodies and self._warcs.length(worker.file) >= self._warc_size and not self._stopping:
            self._open_archive(worker)
        return bodies

    def _take(self, worker: Worker, body: bytes) -> bool:
        number: int = _NUMBER.unpack_from(body, _NUMBER_AT)[0]
        assignment = worker.open.pop(number, None)
        if assignment is None:
            return False
        self._sites[assignment.site] = (worker.number, self._clock.monotonic())
        if assignment is worker.reserved:
            worker.reserved = None
            self._suspects.discard(assignment.url)
        end: int = _NUMBER.unpack_from(body, _END_AT)[0]
        if end:
            file: int = _FILE.unpack_from(body, _FILE_AT)[0]
            self._warcs.came(file, end)
            while worker.files[0] != file:
                self._warcs.finish(worker.files.pop(0))
        return True

    def _watch(self) -> None:
        """Writing is waited for only while something is unsent."""
        for worker in self._workers:
            mask = select.EPOLLIN | (select.EPOLLOUT if worker.wire.unsent else 0)
            if worker.mask != mask:
                worker.mask = mask
                self._epoll.modify(worker.wire.fileno(), mask)

    # --- life and death of workers ------------------------------------------------------------------------------

    def _start(self, number: int) -> Worker:
        """The file first: without it no process is started."""
        file, path = self._warcs.create()
        line = self._line.fileno() if self._line is not None else -1
        with disk.naming("start", "a worker"):
            worker = Worker(number, self._settings, self._lock_fd, self._payloads, line)
        worker.archive(file, str(path))
        worker.mask = select.EPOLLIN
        self._epoll.register(worker.wire.fileno(), worker.mask)
        return worker

    def _open_archive(self, worker: Worker) -> None:
        number, path = self._warcs.create()
        worker.archive(number, str(path))

    def _bury(self, worker: Worker) -> list[bytes]:
        """Its wire has ended and everything in it was taken."""
        self._epoll.unregister(worker.wire.fileno())
        worker.kill()
        code = worker.reap()
        for file in worker.files:
            self._warcs.cut(file)
        blamed = not worker.open.keys().isdisjoint(worker.named() if worker.hung is None else worker.hung)
        bodies = self._give_up(worker, f"exit code {code}" if worker.hung is None else "it hung")
        worker.slot.close()
        self._workers.remove(worker)
        if self._stopping:
            return bodies
        now = self._clock.monotonic()
        if not blamed and len(self._deaths) == MOST_DEATHS and now - self._deaths[0] < 60 and self._fault is None:
            self._fault = GossamerError(
                f"workers died {MOST_DEATHS + 1} times within a minute, the last with exit code {code}",
                "Their messages stand above; a signal (negative code) often means that memory is used up.",
            )
        if not blamed:
            self._deaths.append(now)
        self._workers.insert(worker.number, self._start(worker.number))
        return bodies

    def _give_up(self, worker: Worker, why: str) -> list[bytes]:
        """What it had in hand comes back; the page that it was gathering is held responsible."""
        now = self._clock.monotonic()
        named = worker.named() if worker.hung is None else worker.hung
        if worker.reserved is not None and worker.reserved.number not in worker.open:
            self._waiting.appendleft(worker.reserved)
        bodies = []
        for number, assignment in worker.open.items():
            outcome = Outcome.RETURNED if named or not self._seen_dying(assignment) else Outcome.WORKER_LOST
            if number in named and assignment.alone:
                outcome = Outcome.WORKER_DIED
                self._suspects.discard(assignment.url)
            elif number in named:
                self._suspects.add(assignment.url)
            bodies.append(_ended(assignment, outcome, now, why))
        worker.open.clear()
        return bodies

    def _seen_dying(self, assignment: Assignment) -> bool:
        """Too often for chance."""
        times = self._witnesses.pop(assignment.url, 0) + 1
        if times < WITNESSED:
            self._witnesses[assignment.url] = times
        return times >= WITNESSED

    def stop(self, grace: float) -> Results:
        """Open transfers end within `grace` seconds or come back as RETURNED; no worker is left."""
        self._stopping = True
        now = self._clock.monotonic()
        deadline = now + grace
        bodies = [_ended(a, Outcome.RETURNED, now, "stopped") for a in self._unsent()]
        for worker in self._workers:
            worker.stop()
        self._watch()
        while self._workers and (left := deadline - self._clock.monotonic()) > 0:
            bodies += self._poll(left)
        for worker in list(self._workers):
            worker.kill()
            while not worker.wire.ended:
                worker.wire.wait()
                bodies += self._drain(worker)
            bodies += self._bury(worker)
        return self._handed_over(bodies + self._returned)

    def _unsent(self) -> list[Assignment]:
        """Those that wait to run alone; they are forgotten here."""
        unsent = list(self._waiting)
        self._waiting.clear()
        for worker in self._workers:
            if worker.reserved is not None and worker.reserved.number not in worker.open:
                unsent.append(worker.reserved)
                worker.reserved = None
        return unsent

    def close(self) -> None:
        """Ends what is left, for whoever did not `stop`; archive files are synced and closed."""
        if self._workers:
            self.stop(0.0)
        self._warcs.close()
        if self._line is not None:
            self._line.close()
        if not self._epoll.closed:
            self._epoll.close()

    # --- what is asked about it ---------------------------------------------------------------------------------

    def warc_lengths(self) -> dict[str, int]:
        return self._warcs.lengths()

    def sync_warc(self, names: Collection[str] | None = None) -> None:
        """Archive files, by their names in `warc_lengths`; may be called by another thread."""
        self._warcs.sync(names)

    def cpu_seconds(self) -> float:
        """Of the workers that live; those that have ended count among the children of this process."""
        return sum(w.cpu_seconds() for w in self._workers)


def _ended(assignment: Assignment, outcome: Outcome, now: float, detail: str) -> bytes:
    """A result that no worker sent. Its request may have been made: it counts as one that ended now."""
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
