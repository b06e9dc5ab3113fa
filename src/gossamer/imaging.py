"""The desk's state as arrays for an image, and back; and images that are made while the crawl runs.

An image made under another policy is not used: its scores would be the other's. Segments are replayed instead.

At a clean stop the image is written from memory. While the crawl runs it is made by a process of its own,

    python -m gossamer.imaging SHARD        (settings as JSON on standard input)

from the last image and the segments sealed since, with the code of recovery, never from live columns. It takes the
memory of a second desk while it runs. `Imager` starts one when a replay of what came after the last image would take
longer than `WORTH`, and not before ten times what the last one took has passed.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer import config
from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.base.model import PageFlag, Texts
from gossamer.base.process import Process
from gossamer.collection import image, manifest
from gossamer.collection.blocks import PER_BLOCK, Offsets, offsets_until
from gossamer.collection.columns import Group
from gossamer.collection.image import Image, Parts
from gossamer.collection.layout import URL_FILE
from gossamer.collection.manifest import Contents, Line
from gossamer.collection.replay_cost import replay_seconds
from gossamer.collection.store import Store
from gossamer.collection.table import LAYOUT, Table
from gossamer.collection.tables import seal
from gossamer.config.settings import Settings
from gossamer.desk import Desk

Array = npt.NDArray[Any]

WORTH: Final = 1.0
"""Seconds of replay that are worth an image."""
REST: Final = 10


def dump(desk: Desk, urls: Offsets, last_urls: list[bytes]) -> tuple[dict[str, Array | Parts], dict[str, Any]]:
    """Views of what the desk has in memory, almost all of them: an image takes hardly any memory of its own.

    `urls` says where the blocks of URLs lie, `last_urls` are those that do not fill a block yet.
    """
    columns = desk.columns
    pages = columns.page
    names, tail = Texts.join([name.encode() for name in desk.names]), Texts.join(last_urls)
    arrays: dict[str, Array | Parts] = {
        "names": np.frombuffer(names.buffer, np.uint8),
        "name_lengths": names.lengths,
        "tail": np.frombuffer(tail.buffer, np.uint8),
        "tail_lengths": tail.lengths,
        "url_offsets": urls,
        "addresses": np.frombuffer(b"".join(desk.packed_addresses), np.uint8),
        "counts": desk.counts.reshape(-1),
        "totals": desk.totals,
        "outcomes": desk.outcomes,
        "speeds": desk.speeds.dump(len(desk.packed_addresses)),
        "ranking": columns.ranking,
        "credits": desk.credits.dump(),
        "probes": desk.probes.dump(),
        **desk.rules.dump(),
    }
    for name, group in _groups(desk).items():
        for column, values in group.used().items():
            arrays[f"{name}.{column}"] = values
    for name, table in _tables(desk).items():
        arrays[f"{name}.cells"] = table.cells()
        arrays[f"{name}.capacity"], arrays[f"{name}.used"] = table.arrays.capacity, table.arrays.used
    arrays["page.flags"] = pages.flags[: pages.count] & (0xFF ^ int(PageFlag.ASSIGNED))
    meta = {
        "tick": desk.tick,
        "wall": desk.wall,
        "policy": desk.settings.manager.policy,
        "boosts": _boosts(desk),
        "visits": desk.visits,
        "sitemaps": {site: {o: text.decode() for o, text in of.items()} for site, of in desk.sitemaps.items()},
        "spent": {site: sorted(spent) for site, spent in desk.spent_sitemaps.items()},
        "sitemap_visits": desk.sitemap_visits,
        "probe_visits": desk.probe_visits,
        "robots_visits": desk.robots_visits,
        "stored": desk.stored,
        "bytes": desk.bytes,
        "pages": pages.count,
        "sites": columns.site.count,
        "origins": columns.origin.count,
        "cells": LAYOUT,
    }
    return arrays, meta


def usable(desk: Desk, image: Image) -> bool:
    """Made under this policy and these boosts, by a version with these columns and tables, and within the limits."""
    meta, groups = image.meta, _groups(desk)
    columns = {f"{name}.{column}" for name, group in groups.items() for column in group.used()}
    return (
        meta["policy"] == desk.settings.manager.policy
        and meta.get("boosts") == _boosts(desk)
        and meta["cells"] == LAYOUT
        and columns <= set(image.arrays)
        and {"ranking", "credits", "probes", "rule_keys", "speeds"} <= set(image.arrays)
        and image.length("counts") == desk.counts.size
        and all(meta[f"{name}s"] <= group.limit for name, group in groups.items())
        and all(table.takes(image.array(f"{name}.capacity")) for name, table in _tables(desk).items())
    )


def load(desk: Desk, image: Image) -> list[bytes]:
    """Fills an empty desk, under its own settings. Returns the URL texts that were in memory only."""
    meta = image.meta
    for name, group in _groups(desk).items():
        for column in group.used():
            image.into(f"{name}.{column}", getattr(group, column))
        group.count = int(meta[f"{name}s"])
    for name, table in _tables(desk).items():
        cells = table.restore(image.array(f"{name}.capacity"), image.array(f"{name}.used"))
        image.into(f"{name}.cells", cells)
    desk.names = [name.decode() for name in _texts(image, "names", "name_lengths")]
    small, big = desk.rules.room(image.length("rules"), image.length("big_rules"))
    image.into("rules", small)
    image.into("big_rules", big)
    desk.rules.load(image.array("rule_keys"), image.array("rule_starts"), int(image.array("rules_kept")[0]))
    packed = image.array("addresses").tobytes()
    desk.set_addresses([packed[i : i + 16] for i in range(0, len(packed), 16)])
    desk.speeds.load(image.array("speeds"))
    image.into("counts", desk.counts.reshape(-1))
    image.into("totals", desk.totals)
    image.into("outcomes", desk.outcomes)
    image.into("ranking", desk.columns.ranking)
    desk.credits.load(image.array("credits"))
    desk.probes.load(image.array("probes"))
    desk.tick, desk.wall = meta["tick"], meta["wall"]
    desk.visits, desk.robots_visits = meta["visits"], meta["robots_visits"]
    desk.sitemap_visits, desk.probe_visits = meta["sitemap_visits"], meta["probe_visits"]
    desk.sitemaps = {
        int(site): {int(origin): text.encode() for origin, text in of.items()} for site, of in meta["sitemaps"].items()
    }
    desk.spent_sitemaps = {int(site): set(spent) for site, spent in meta.get("spent", {}).items()}
    desk.stored, desk.bytes = meta["stored"], meta["bytes"]
    desk.unjudged = True
    desk.refuse_long_delays()
    return _texts(image, "tail", "tail_lengths")


def _boosts(desk: Desk) -> list[list[Any]]:
    """In order: the first that matches counts."""
    return [list(item) for item in desk.settings.manager.boosts.items()]


def _groups(desk: Desk) -> dict[str, Group]:
    return {"page": desk.columns.page, "site": desk.columns.site, "origin": desk.columns.origin}


def _tables(desk: Desk) -> dict[str, Table]:
    columns = desk.columns
    return {"known": columns.known, "digests": columns.digests, "hosts": columns.hosts, "origins": columns.origins}


def _texts(image: Image, buffer: str, lengths: str) -> list[bytes]:
    return Texts(image.array(lengths), image.array(buffer).tobytes()).split()


def make(shard: Path, settings: Settings) -> Line | None:
    """An image of all sealed segments; None if there is nothing after the last one. Returns its manifest line."""
    contents = manifest.read(shard)
    lines = sorted(contents.segments.values(), key=lambda line: int(line["segment"]))
    if not lines or (contents.image and contents.image["record"] >= lines[-1]["last_record"]):
        return None
    desk = Desk(settings, contents.meta.seed, shard)
    record, offsets, last = _load_last(desk, shard, contents)
    for line in lines:
        if line["last_record"] <= record:
            continue
        for number, effects in enumerate(seal.effects_of(line, shard, contents.meta.shard), line["first_record"]):
            if number > record:
                desk.apply(effects)
                last.extend(effects.urls.last(PER_BLOCK))
    length = max(int(line["lengths"].get(URL_FILE, 0)) for line in lines)
    offsets = offsets_until(shard / URL_FILE, offsets, length)
    rest = desk.columns.page.count - PER_BLOCK * (len(offsets) - 1)
    arrays, meta = dump(desk, offsets, list(last)[len(last) - rest :])
    return image.write(shard, lines[-1]["last_tick"], lines[-1]["last_record"], arrays, meta)


def _load_last(desk: Desk, shard: Path, contents: Contents) -> tuple[int, Offsets | None, deque[bytes]]:
    """The last image, if it can be used: its last record, where its blocks of URLs lie, its last URLs."""
    last: deque[bytes] = deque(maxlen=2 * PER_BLOCK)
    if contents.image is None:
        return 0, None, last
    try:
        found = image.read(shard, contents.image)
        if not usable(desk, found):
            return 0, None, last
        found.check()
    except GossamerError:
        return 0, None, last
    last.extend(load(desk, found))
    return found.record, found.array("url_offsets"), last


class Imager:
    """Makes images while the crawl runs: one process at a time."""

    def __init__(self, store: Store, settings: Settings, clock: Clock) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._process: Process | None = None
        self._begun = -float("inf")
        self._took = 0.0
        self._looked = -1
        self.made = 0
        self.may_begin = True
        """There is memory for a second desk."""
        self.warnings: list[str] = []

    def turn(self) -> None:
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
        settings, lock = config.to_json(self._settings).encode(), self._store.lock.fileno()
        try:
            self._process = Process("gossamer.imaging", [str(self._store.shard)], settings, lock)
        except OSError as error:
            self.warnings.append(f"no image can be made while the crawl runs: {error.strerror}")

    def _take(self) -> None:
        """An image that could not be made is only said: the crawl goes on, and a later start takes longer."""
        assert self._process is not None
        process, self._process = self._process, None
        self._took = self._clock.monotonic() - self._begun
        if process.failure:
            self.warnings.append(f"no image could be made while the crawl runs: {process.failure}")
        elif process.output.strip():
            self._store.take_image(json.loads(process.output))
            self.made += 1

    def give_up(self) -> bool:
        """What is being made; whether there was anything."""
        making = self._process is not None
        self.close()
        return making

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


def main(shard: Path) -> int:
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
