"""Makes images (snapshots of the desk) while the crawl runs.

At a clean stop the image is written from memory (`desk/snapshot.py`). While the crawl runs, a separate process makes
it,

    python -m gossamer.crawler.imager SHARD        (settings as JSON on standard input)

from the last image and the segments sealed since, with the code of recovery, never from live columns. It needs the
memory of a second desk while it runs. `Imager` starts it when a replay of everything after the last image would take
longer than `WORTH`, and waits at least ten times the duration of the last image in between.

An image made under another policy is not used, since its scores would be wrong. Segments are replayed instead.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import numpy.typing as npt

from gossamer import config
from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.base.process import Process
from gossamer.collection import image, manifest
from gossamer.collection.blocks import PER_BLOCK, Offsets, offsets_until
from gossamer.collection.layout import URL_FILE
from gossamer.collection.manifest import Contents, Line, replay_seconds
from gossamer.collection.store import Store
from gossamer.collection.versions import first_of, name_in
from gossamer.config.settings import Settings
from gossamer.crawler.apply import apply
from gossamer.crawler.parts import new_desk
from gossamer.desk.desk import Desk
from gossamer.desk.snapshot import NO_ENDS, Ends, dump, followed, load, usable
from gossamer.harvester.versions import Versions

Array = npt.NDArray[Any]

WORTH: Final = 1.0
"""An image is made if the replay would take at least this many seconds."""
REST: Final = 10


def make(shard: Path, settings: Settings) -> Line | None:
    """Makes an image of all sealed segments. Returns its manifest line; None if no segment is newer than the last
    image."""
    from gossamer.collection.tables import seal  # the desk imports this module, and needs no pyarrow

    contents = manifest.read(shard)
    lines = sorted(contents.segments.values(), key=lambda line: int(line["segment"]))
    if not lines or (contents.image and contents.image["record"] >= lines[-1]["last_record"]):
        return None
    desk = new_desk(settings, contents.meta.seed, shard)
    record, ends = _load_last(desk, shard, contents)
    for line in lines:
        if line["last_record"] <= record:
            continue
        for number, effects in enumerate(seal.effects_of(line, shard, contents.meta.shard), line["first_record"]):
            if number > record:
                apply(desk, effects)
                ends = followed(ends, effects)
    lengths: dict[str, int] = {}
    for line in lines:
        lengths |= line["lengths"]
    numbers = {"url": (URL_FILE, desk.columns.page.count)}
    if (name := name_in(lengths)) is not None:
        numbers["version"] = name, desk[Versions].count - first_of(name)
    found = {kind: _end(shard, file, lengths[file], count, *ends[kind]) for kind, (file, count) in numbers.items()}
    arrays, meta = dump(desk, {**NO_ENDS, **found})
    return image.write(shard, lines[-1]["last_tick"], lines[-1]["last_record"], arrays, meta)


def _end(
    shard: Path, file: str, length: int, count: int, known: Offsets, last: list[bytes]
) -> tuple[Offsets, list[bytes]]:
    """What the image holds of a block file with `count` texts: `known` are the first offsets, `last` the last texts."""
    offsets = offsets_until(shard / file, known, length)
    return offsets, last[len(last) - (count - PER_BLOCK * (len(offsets) - 1)) :]


def _load_last(desk: Desk, shard: Path, contents: Contents) -> tuple[int, Ends]:
    """Loads the last image, if it can be used. Returns its last record, and what it holds of the block files."""
    if contents.image is None:
        return 0, NO_ENDS
    try:
        found = image.read(shard, contents.image)
        if not usable(desk, found):
            return 0, NO_ENDS
        found.check()
    except GossamerError:
        return 0, NO_ENDS
    return found.record, load(desk, found)


class Imager:
    """Starts the process that makes images while the crawl runs: one at a time."""

    def __init__(self, store: Store, settings: Settings, clock: Clock) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._process: Process | None = None
        self._begun = -float("inf")
        self._took = 0.0
        self._looked = -1
        self.made = 0
        self.may_begin = True
        """Whether there is memory for a second desk."""
        self.warnings: list[str] = []

    def turn(self) -> None:
        """Called once per turn of the loop: takes a finished image, or begins one that is due."""
        if self._process is not None:
            if self._process.ended:
                self._take()
        elif self._store.segments != self._looked and not self._store.taking_image and self._rested():
            self._looked = self._store.segments
            if replay_seconds(self._store.manifest()) >= WORTH:
                self._begin()

    def _rested(self) -> bool:
        return self.may_begin and self._clock.monotonic() >= self._begun + REST * self._took

    def _begin(self) -> None:
        self._begun = self._clock.monotonic()
        settings, lock = config.to_json(self._settings).encode(), self._store.lock_fd
        try:
            self._process = Process("gossamer.crawler.imager", [str(self._store.shard)], settings, lock)
        except OSError as error:
            self.warnings.append(f"no image can be made while the crawl runs: {error.strerror}")

    def _take(self) -> None:
        """Takes the finished image. A failure is only a warning: the crawl goes on, and a later start takes longer."""
        assert self._process is not None
        process, self._process = self._process, None
        self._took = self._clock.monotonic() - self._begun
        if process.failure:
            self.warnings.append(f"no image could be made while the crawl runs: {process.failure}")
        elif process.output.strip():
            self._store.take_image(json.loads(process.output))
            self.made += 1

    def give_up(self) -> bool:
        """Stops the process; returns whether it was running."""
        making = self._process is not None
        self.close()
        return making

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


def main(shard: Path) -> int:
    """Makes an image and prints its manifest line; returns the exit code."""
    os.nice(10)
    try:
        line = make(shard, config.from_json(sys.stdin.read()))
    except GossamerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if line is not None:
        print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
