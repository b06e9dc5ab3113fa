"""The desk's state as arrays for an image, and back.

An image made under another policy is not used: its scores would be the other's. Segments are replayed instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.collection.blocks import BlockFile
from gossamer.collection.columns import Group
from gossamer.collection.image import Image, Parts
from gossamer.collection.table import LAYOUT, Table
from gossamer.desk import Desk
from gossamer.model import PageFlag, Texts

Array = npt.NDArray[Any]


def dump(desk: Desk, urls: BlockFile) -> tuple[dict[str, Array | Parts], dict[str, Any]]:
    """Views of what the desk has in memory, almost all of them: an image takes hardly any memory of its own."""
    columns = desk.columns
    pages = columns.page
    names, tail = Texts.join([name.encode() for name in desk.names]), Texts.join(urls.tail())
    rules, places = desk.rules.dump()
    arrays: dict[str, Array | Parts] = {
        "names": np.frombuffer(names.buffer, np.uint8), "name_lengths": names.lengths,
        "tail": np.frombuffer(tail.buffer, np.uint8), "tail_lengths": tail.lengths, "url_offsets": urls.offsets(),
        "rules": rules, "rule_places": places.reshape(-1),
        "addresses": np.frombuffer(b"".join(desk.addresses), np.uint8),
        "counts": desk.counts, "totals": desk.totals, "outcomes": desk.outcomes,
    }  # fmt: skip
    for name, group in _groups(desk).items():
        for column, values in group.used().items():
            arrays[f"{name}.{column}"] = values
    for name, table in _tables(desk).items():
        arrays[f"{name}.cells"] = table.cells()
        arrays[f"{name}.capacity"], arrays[f"{name}.used"] = table.arrays.capacity, table.arrays.used
    arrays["page.flags"] = pages.flags[: pages.count] & (0xFF ^ int(PageFlag.ASSIGNED))
    meta = {
        "tick": desk.tick, "wall": desk.wall, "policy": desk.settings.manager.policy, "visits": desk.visits,
        "robots_visits": desk.robots_visits, "stored": desk.stored, "bytes": desk.bytes,
        "pages": pages.count, "sites": columns.site.count, "origins": columns.origin.count, "cells": LAYOUT,
    }  # fmt: skip
    return arrays, meta


def usable(desk: Desk, image: Image) -> bool:
    """Made under this policy, by a version with these columns and tables, and within the limits."""
    meta, groups = image.meta, _groups(desk)
    columns = {f"{name}.{column}" for name, group in groups.items() for column in group.used()}
    return (
        meta["policy"] == desk.settings.manager.policy
        and meta["cells"] == LAYOUT
        and columns <= set(image.arrays)
        and all(meta[f"{name}s"] <= group.limit for name, group in groups.items())
        and all(table.takes(image.array(f"{name}.capacity")) for name, table in _tables(desk).items())
    )


def load(desk: Desk, image: Image) -> list[bytes]:
    """Fills an empty desk. Returns the URL texts that were in memory only."""
    meta = image.meta
    for name, group in _groups(desk).items():
        for column in group.used():
            image.into(f"{name}.{column}", getattr(group, column))
        group.count = int(meta[f"{name}s"])
    for name, table in _tables(desk).items():
        cells = table.restore(image.array(f"{name}.capacity"), image.array(f"{name}.used"))
        image.into(f"{name}.cells", cells)
    desk.names = [name.decode() for name in _texts(image, "names", "name_lengths")]
    desk.rules.load(image.array("rules"), image.array("rule_places").reshape(-1, 2))
    packed = image.array("addresses").tobytes()
    desk.set_addresses([packed[i : i + 16] for i in range(0, len(packed), 16)])
    image.into("counts", desk.counts)
    image.into("totals", desk.totals)
    image.into("outcomes", desk.outcomes)
    desk.tick, desk.wall = meta["tick"], meta["wall"]
    desk.visits, desk.robots_visits = meta["visits"], meta["robots_visits"]
    desk.stored, desk.bytes = meta["stored"], meta["bytes"]
    desk.unjudged = True
    return _texts(image, "tail", "tail_lengths")


def _groups(desk: Desk) -> dict[str, Group]:
    return {"page": desk.columns.page, "site": desk.columns.site, "origin": desk.columns.origin}


def _tables(desk: Desk) -> dict[str, Table]:
    columns = desk.columns
    return {"known": columns.known, "digests": columns.digests, "hosts": columns.hosts, "origins": columns.origins}


def _texts(image: Image, buffer: str, lengths: str) -> list[bytes]:
    return Texts(image.array(lengths), image.array(buffer).tobytes()).split()
