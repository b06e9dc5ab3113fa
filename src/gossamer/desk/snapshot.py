"""Writes the desk's state as arrays for an image, and reads it back: a loop over groups, tables and parts.

An image that was made under another strategy or other boosts is not used, since its scores would be wrong: segments
are replayed instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.base.model import PageFlag, Texts
from gossamer.collection.blocks import Offsets
from gossamer.collection.image import Image, Parts
from gossamer.desk.desk import Desk
from gossamer.desk.table import LAYOUT

Array = npt.NDArray[Any]


def dump(desk: Desk, urls: Offsets, last_urls: list[bytes]) -> tuple[dict[str, Array | Parts], dict[str, Any]]:
    """The arrays and the metadata of an image. Almost all are views of memory: an image needs hardly any memory of its
    own.

    `urls`: the offsets of the blocks of URLs. `last_urls`: the URLs that do not fill a block yet.
    """
    columns, tail = desk.columns, Texts.join(last_urls)
    arrays: dict[str, Array | Parts] = {
        "tail": np.frombuffer(tail.buffer, np.uint8),
        "tail_lengths": tail.lengths,
        "url_offsets": urls,
    }
    meta: dict[str, Any] = {"tick": desk.tick, "wall": desk.wall, "corrected": desk.corrected, "cells": LAYOUT}
    for name, group in columns.groups().items():
        meta[f"{name}s"] = group.count
        arrays |= {f"{name}.{column}": values for column, values in group.used().items()}
    arrays["page.flags"] = columns.page.flags[: columns.page.count] & (0xFF ^ int(PageFlag.ASSIGNED))
    for name, table in columns.tables().items():
        arrays[f"{name}.cells"] = table.cells()
        arrays[f"{name}.capacity"], arrays[f"{name}.used"] = table.arrays.capacity, table.arrays.used
    for part in desk.parts:
        arrays |= part.arrays()
        meta |= part.meta()
    return arrays, meta


def usable(desk: Desk, image: Image) -> bool:
    """Whether the image fits the desk: same settings, same columns, tables and parts, and within the limits."""
    meta, groups = image.meta, desk.columns.groups()
    columns = {f"{name}.{column}" for name, group in groups.items() for column in group.used()}
    return (
        meta["cells"] == LAYOUT
        and columns <= set(image.arrays)
        and all(meta[f"{name}s"] <= group.limit for name, group in groups.items())
        and all(part.fits(image) for part in desk.parts)
        and all(table.takes(image.array(f"{name}.capacity")) for name, table in desk.columns.tables().items())
    )


def load(desk: Desk, image: Image) -> list[bytes]:
    """Fills an empty desk from an image, under the desk's settings. Returns the URLs that were only in memory."""
    for name, group in desk.columns.groups().items():
        for column in group.used():
            image.into(f"{name}.{column}", getattr(group, column))
        group.count = int(image.meta[f"{name}s"])
    for name, table in desk.columns.tables().items():
        cells = table.restore(image.array(f"{name}.capacity"), image.array(f"{name}.used"))
        image.into(f"{name}.cells", cells)
    desk.tick, desk.wall = image.meta["tick"], image.meta["wall"]
    desk.corrected = image.meta.get("corrected", 0.0)
    for part in desk.parts:
        part.load(image)
    return Texts(image.array("tail_lengths"), image.array("tail").tobytes()).split()
