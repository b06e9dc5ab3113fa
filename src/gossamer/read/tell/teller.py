"""The teller: reads new events, and tells each watch those that match, in order.

A turn takes each watch once: events after its mark are read from what the crawl has committed, those that match are
bundled into one message, and the mark is moved when the message was accepted, durably and before anything else. So an
event is told at least once, whatever is killed; it is told again only if the kill came between the answer and the mark.
Nothing is queued: what was not told is read again, so a receiver may be away for days.

After a failure the watch waits, twice as long each time, up to an hour; others go on. After a day, `gossamer status`
shows it.

Invariants, each a property test of the same name: every event that matches is told, in order; nothing is told again
once its mark is written.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from gossamer import config
from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.base.units import plural
from gossamer.collection import watches as kept
from gossamer.collection.layout import SETTINGS, shard_folder
from gossamer.collection.watches import CRAWL, Noticed, Standing, Watch, read_standing, write_standing
from gossamer.config.settings import Settings
from gossamer.read.changes.events import Event, Mark, reading
from gossamer.read.tell.message import MOST_EVENTS, Message, message
from gossamer.read.tell.send import NotToldError, send

FIRST_PAUSE: Final = 10.0
LONGEST_PAUSE: Final = 3_600.0
"""Seconds after the first failure, and at most."""
CHUNK: Final = 5_000
"""Events that are read at once."""
_LINES: Final = 40
"""Lines of a changed page in a message."""

Sender = Callable[[Watch, Message, Settings, float], None]


class Source(Protocol):
    """What events are read from (`read.changes.events.Events`)."""

    def after(self, mark: Mark, most: int) -> list[Event]: ...
    def last(self) -> Mark: ...
    def with_lines(self, events: list[Event], most: int = ...) -> Iterable[Event]: ...


class Teller:
    """Tells the watches of one collection."""

    def __init__(
        self, folder: Path, clock: Callable[[], float], say: Callable[[str], None], sender: Sender = send
    ) -> None:
        """`clock`: wall time."""
        self._folder, self._clock, self._say, self._send = folder, clock, say, sender
        self._noticed = Noticed(folder, say)
        self._standings = dict[int, Standing]()
        self._committed: object = None

    @property
    def watches(self) -> tuple[Watch, ...]:
        return self._noticed.now().watches

    def turn(self) -> bool:
        """Tells what is due; returns whether there is more to tell at once."""
        due = self._due()
        state = _state(self._folder)
        if not due or (state == self._committed and not any(self._standing(w).failures for w in due)):
            return False
        with reading(self._folder) as events:
            more = self.tell(due, events, config.load(self._folder / SETTINGS))
        self._committed = None if more else state
        return more

    def _due(self) -> list[Watch]:
        now = self._clock()
        watches = [w for w in self.watches if w.target != CRAWL and (w.webhook or w.command)]
        if new := {w.number for w in watches} - set(self._standings):
            self._committed = None
            self._standings |= {w.number: read_standing(self._folder, w) for w in watches if w.number in new}
        return [w for w in watches if self._standing(w).next <= now]

    def _standing(self, watch: Watch) -> Standing:
        if watch.number not in self._standings:
            self._standings[watch.number] = read_standing(self._folder, watch)
        return self._standings[watch.number]

    def tell(self, watches: Iterable[Watch], source: Source, settings: Settings) -> bool:
        """One message for each of these watches, if there is something to tell."""
        read, last, more = dict[Mark, list[Event]](), source.last(), False
        for watch in watches:
            before = self._standing(watch)
            mark = Mark(before.tick, before.number)
            if mark not in read:
                read[mark] = source.after(mark, CHUNK)
            matching = [event for event in read[mark] if watch.matches(event.url)]
            end = max(mark, read[mark][-1].mark if len(read[mark]) == CHUNK else last)
            after, left = self._told(watch, before, source, matching, end, settings)
            more = more or (not after.failures and (left or len(read[mark]) == CHUNK))
            if after != before:
                write_standing(self._folder, watch.number, after)
                self._standings[watch.number] = after
        return more

    def _told(
        self, watch: Watch, before: Standing, source: Source, events: list[Event], end: Mark, settings: Settings
    ) -> tuple[Standing, bool]:
        """How the watch stands after a message with the first of these events, and whether some are left."""
        if not events:
            return replace(before, tick=end.tick, number=end.number), False
        bundle = message(watch, self._folder.resolve().name, source.with_lines(events[:MOST_EVENTS], _LINES))
        now = self._clock()
        try:
            self._send(watch, bundle, settings, now)
        except NotToldError as error:
            return self._failed(watch, before, str(error), now), False
        count, left = len(bundle.events), len(bundle.events) < len(events)
        mark = bundle.events[-1].mark if left else end
        self._say(f"watch {watch.number}: told {plural(count, 'event')} of {watch.target}")
        return Standing(mark.tick, mark.number, before.told + count, now), left

    def _failed(self, watch: Watch, before: Standing, error: str, now: float) -> Standing:
        after, words = paused(before, error, now)
        self._say(f"watch {watch.number}: {words}")
        return after


def paused(before: Standing, error: str, now: float) -> tuple[Standing, str]:
    """How a watch stands after a message that was not accepted, and the words for it."""
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(30, before.failures))
    failed = {"failures": before.failures + 1, "since": before.since or now, "next": now + pause, "error": error}
    return replace(before, **failed), f"{error}; it is tried again in {pause:.0f} s"  # type: ignore[arg-type]


def _state(folder: Path) -> object:
    """Changes whenever the crawl has committed something: sizes and times of manifest and journal."""
    shard = shard_folder(folder)
    files = [shard / "manifest.jsonl", *sorted((shard / "journal").glob("*.log"))]
    found = []
    for path in files:
        try:
            stat = path.stat()
            found.append((path.name, stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except FileNotFoundError:
            found.append((path.name, 0, 0, 0))
    return found


class Only:
    """The right to tell the watches of a collection: one process has it at a time."""

    def __init__(self, folder: Path) -> None:
        """UsageError if another process has it."""
        place = shard_folder(folder) / kept.TOLD
        disk.make_directory(place)
        self._fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise UsageError(
                f"the watches of {folder} are told by another process", "A running crawl does that by itself."
            ) from None

    def close(self) -> None:
        os.close(self._fd)
