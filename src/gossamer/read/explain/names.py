"""Reads the addresses that the name of a site has had, from the table `events` and the journal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from gossamer.collection.journal.effects import SiteEvent
from gossamer.read.explain.answers import NameAddress
from gossamer.read.explain.files import Files, plain
from gossamer.web.addresses import unpack

_FOUND: Final = (SiteEvent.RESOLVED, SiteEvent.MOVED)
_WORDS: Final = tuple(event.name.lower() for event in _FOUND)


def addresses_of(files: Files, site: int) -> list[NameAddress]:
    """The addresses of a site, each with the times of its first and last lookup; the most recent is last."""
    addresses: dict[str, NameAddress] = {}
    for address, time in _lookups(files, site):
        new = NameAddress(address=address, first_seen=time, last_seen=time, lookups=0)
        known = addresses.setdefault(address, new)
        known["last_seen"] = max(known["last_seen"], time)
        known["lookups"] += 1
    return sorted(addresses.values(), key=lambda known: known["last_seen"])


def _lookups(files: Files, site: int) -> Iterator[tuple[str, float]]:
    for path in files.tables("events"):
        rows = np.flatnonzero(files.numbers(path, "site") == site).tolist()
        if rows:
            events, addresses, times = files.read(path, ("event", "address", "time"))
            yield from ((addresses[row].as_py(), plain(times[row])) for row in rows if events[row].as_py() in _WORDS)
    for effects in files.journal:
        for event in effects.site_events[effects.site_events["site"] == site]:
            if event["event"] in _FOUND:
                yield unpack(event["address"].tobytes()), float(event["time"])
