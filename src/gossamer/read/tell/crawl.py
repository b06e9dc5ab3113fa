"""What becomes of a crawl itself, for those who watch it (`gossamer watch DIR crawl:`).

    stalled    for 15 minutes nothing was requested, though pages are pending and no site has to rest; or the crawl
               does not answer
    blocked    of the last 50 requests or more, more than half were refused
    disk_low   less is free than 1 GB, or than the crawl receives in an hour at its present speed
    ended      it has ended, for whatever reason, or was killed

Each is told when it begins, once, and again only after it was over. What began is kept in `told/crawl.json`, so nothing
is told twice or forgotten, whoever tells next. Messages are sent like those about pages: signed, and tried again.

Invariants, each a property test of the same name: a state is told once until it is over; what begins gets the next
number.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from gossamer import config
from gossamer.base import disk
from gossamer.base.errors import GossamerError, StorageError
from gossamer.base.escape import for_json
from gossamer.base.outcomes import Outcome
from gossamer.base.units import human_size, human_time, plural
from gossamer.collection import manifest
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.collection.watches import CRAWL, TOLD, Standing, Watch, read_standing, write_standing
from gossamer.config.settings import Settings
from gossamer.observe.crawl_status import CrawlStatus, read_crawl_status
from gossamer.observe.statistics import Statistics
from gossamer.read.changes.events import iso
from gossamer.read.tell.message import Message
from gossamer.read.tell.send import NotToldError, send
from gossamer.read.tell.teller import paused

FILE: Final = "crawl.json"
STALLED: Final = 900.0
"""Seconds without a request after which a crawl has stalled."""
ENOUGH: Final = 50
"""Requests from which it is judged whether a crawl is blocked."""
LEAST_FREE: Final = 1 << 30
"""Bytes below which a disk is almost full."""
AHEAD: Final = 3600.0
KEPT: Final = 100
"""Events that are kept for watches that could not be told."""
REFUSALS: Final = frozenset(
    (
        Outcome.REFUSED,
        Outcome.CHALLENGED,
        Outcome.TOO_MANY_REQUESTS,
        Outcome.PAYMENT_REQUIRED,
        Outcome.FORBIDDEN_ADDRESS,
    )
)
KINDS: Final = ("stalled", "blocked", "disk_low", "ended")


class Began(NamedTuple):
    """Something that became of the crawl."""

    number: int
    kind: str
    time: float
    words: str


@dataclass(frozen=True, slots=True)
class Told:
    """What began, and what lasts."""

    began: tuple[Began, ...] = ()
    lasting: tuple[str, ...] = ()
    """Kinds that have begun and are not over."""

    @property
    def last(self) -> int:
        return self.began[-1].number if self.began else 0

    def now(self, found: dict[str, str], wall: float, figures: float = 0.0) -> Told:
        """With what holds now: words by kind. `figures`: time of the last figures, which is that of an end."""
        ended = max((each.time for each in self.began if each.kind == "ended"), default=0.0)
        lasting = {kind for kind in self.lasting if kind != "ended" or figures <= ended}
        new = [kind for kind in KINDS if kind in found and kind not in lasting]
        times = {"ended": figures}
        began = [Began(self.last + 1 + n, kind, times.get(kind, wall), found[kind]) for n, kind in enumerate(new)]
        return Told((*self.began, *began)[-KEPT:], tuple(kind for kind in KINDS if kind in found))


class Look:
    """What holds of a crawl, from one look to the next."""

    def __init__(self, told: Told | None = None) -> None:
        """`told`: what another look has found before; it lasts until it is seen to be over."""
        words = {} if told is None else {each.kind: each.words for each in told.began if each.kind in told.lasting}
        self._visits, self._since, self._stalled = -1, 0.0, words.get("stalled", "")
        """Requests so far (-1: not known yet), since when there are no more, and the words for it."""
        self._judged = self._refused = 0
        """Requests, and refusals among them, up to which it was judged whether the crawl is blocked."""
        self._blocked = words.get("blocked", "")

    def found(self, status: CrawlStatus, free: int | None, now: float) -> dict[str, str]:
        """Words for each kind that holds."""
        statistics = status.statistics
        said = {"blocked": self._is_blocked(statistics), "disk_low": _disk_low(statistics, free)}
        if status.ending:
            said = {"ended": status.ending}
            self._visits, self._stalled = -1, ""
        else:
            said["stalled"] = self._has_stalled(statistics, now)
        return {kind: words for kind, words in said.items() if words}

    def _has_stalled(self, statistics: Statistics, now: float) -> str:
        visits, awaited = statistics.requests.visits, statistics.run.awaited
        silent = now - statistics.time
        resting = awaited.sites and awaited.seconds > silent
        held = awaited.quiet_until > now or awaited.paused
        if self._visits not in (-1, visits) or resting or held or not statistics.pages.pending:
            self._since, self._stalled = now, ""
        elif self._visits == -1:
            self._since = now
        elif now - self._since >= STALLED:
            fault = statistics.run.names_fault
            why = f": names are not looked up ({fault})" if fault else ""
            self._stalled = f"nothing was requested for {human_time(now - self._since)}{why}"
        self._visits = visits
        return self._stalled if silent < STALLED else f"it has written no figures for {human_time(silent)}"

    def _is_blocked(self, statistics: Statistics) -> str:
        outcomes = statistics.requests.outcomes
        visits, refused = statistics.requests.visits, sum(outcomes.get(each.word, 0) for each in REFUSALS)
        new, newly = visits - self._judged, refused - self._refused
        if new < 0 or not self._judged:
            self._judged, self._refused = max(1, visits), refused
        elif new >= ENOUGH:
            self._judged, self._refused = visits, refused
            self._blocked = f"{newly:,} of the last {plural(new, 'request')} were refused" if 2 * newly > new else ""
        return self._blocked


def _disk_low(statistics: Statistics, free: int | None) -> str:
    least = max(float(LEAST_FREE), AHEAD * statistics.progress.rates.bytes)
    return f"{human_size(free)} are free" if free is not None and free < least else ""


class CrawlTeller:
    """Tells the watches of a crawl."""

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] = time.time,
        say: Callable[[str], None] = lambda line: None,
        sender: Callable[[Watch, Message, Settings, float], None] = send,
    ) -> None:
        """`clock`: wall time."""
        self._folder, self._clock, self._say, self._send = folder, clock, say, sender
        self._look: Look | None = None

    def turn(self, watches: Iterable[Watch]) -> bool:
        """Tells what is due; returns whether something was told. Nothing is looked at if nobody watches the crawl."""
        asked = [watch for watch in watches if watch.target == CRAWL and (watch.webhook or watch.command)]
        if not asked:
            return False
        try:
            status = read_crawl_status(self._folder)
        except StorageError:
            raise
        except GossamerError:  # it never ran for a second
            return False
        before, now = read_told(self._folder), self._clock()
        self._look = self._look or Look(before)
        told = before.now(self._look.found(status, _free(self._folder), now), now, status.statistics.time)
        if told != before:
            _write_told(self._folder, told)
        return [self._tell(watch, told, status.statistics, now) for watch in asked].count(True) > 0

    def _tell(self, watch: Watch, told: Told, statistics: Statistics, now: float) -> bool:
        before = read_standing(self._folder, watch)
        due = [each for each in told.began if each.number > before.tick and each.time >= watch.added]
        if not due or before.next > now:
            return False
        try:
            self._send(watch, message(watch, self._folder, due, statistics), config.load(self._folder / SETTINGS), now)
        except NotToldError as error:
            after, words = paused(before, str(error), now)
            self._say(f"watch {watch.number}: {words}")
        else:
            after = Standing(due[-1].number, 0, before.told + len(due), now)
            self._say(f"watch {watch.number}: told {', '.join(each.kind for each in due)}")
        write_standing(self._folder, watch.number, after)
        return not after.failures


def message(watch: Watch, folder: Path, due: Iterable[Began], statistics: Statistics) -> Message:
    """The message about these events, with the figures of the moment."""
    figures = {
        "visits": statistics.requests.visits,
        "stored": statistics.requests.stored,
        "known": statistics.pages.known,
        "pending": statistics.pages.pending,
    }
    events: list[dict[str, Any]] = [
        {"id": f"crawl/{each.number}", "kind": each.kind, "time": iso(each.time), "words": each.words} for each in due
    ]
    about = {"watch": watch.number, "target": watch.target, "collection": folder.resolve().name, "crawl": figures}
    return Message(for_json({**about, "events": events}).encode(), ())


def read_told(folder: Path) -> Told:
    """What began so far; nothing if the file is missing or damaged: better twice than never."""
    path, line = shard_folder(folder) / TOLD / FILE, None
    if path.exists():
        with disk.naming("read", path):
            line = manifest.decode(path.read_bytes())
    if line is None:
        return Told()
    return Told(tuple(Began(*each) for each in line["began"]), tuple(line["lasting"]))


def _write_told(folder: Path, told: Told) -> None:
    path = shard_folder(folder) / TOLD / FILE
    disk.make_directory(path.parent)
    disk.write_atomic(path, manifest.encode({"began": [list(each) for each in told.began], "lasting": told.lasting}))


def _free(folder: Path) -> int | None:
    with suppress(OSError):
        return shutil.disk_usage(folder).free
    return None
