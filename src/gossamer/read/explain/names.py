"""What the files say about a site's name, from the table `events` and the journal: the addresses that it has had."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from gossamer.collection.journal.effects import SiteEvent
from gossamer.read.explain.files import Files, plain
from gossamer.web.addresses import unpack

Said = dict[str, Any]

_FOUND: Final = (SiteEvent.RESOLVED, SiteEvent.MOVED)
_WORDS: Final = tuple(event.name.lower() for event in _FOUND)


def addresses_of(files: Files, site: int) -> list[Said]:
    """Each with the times when its name was first and last found to lead there, the latest last."""
    found: dict[str, Said] = {}
    for address, time in _lookups(files, site):
        said = found.setdefault(address, {"address": address, "first_seen": time, "last_seen": time, "lookups": 0})
        said["last_seen"] = max(said["last_seen"], time)
        said["lookups"] += 1
    return sorted(found.values(), key=lambda said: float(said["last_seen"]))


def _lookups(files: Files, site: int) -> Iterator[tuple[str, float]]:
    for path in files.tables("events"):
        rows = np.flatnonzero(files.numbers(path, "site") == site).tolist()
        if rows:
            event, address, time = files.read(path, ("event", "address", "time"))
            yield from ((address[row].as_py(), plain(time[row])) for row in rows if event[row].as_py() in _WORDS)
    for effects in files.journal:
        for each in effects.site_events[effects.site_events["site"] == site]:
            if each["event"] in _FOUND:
                yield unpack(each["address"].tobytes()), float(each["time"])
