"""Writes the desk's state as arrays for an image, and reads it back: a loop over groups, tables and parts.

An image that was made under another strategy or other boosts is not used, since its scores would be wrong: segments
are replayed instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.base.model import PageFlag, Texts
from gossamer.collection.blocks import PER_BLOCK, Offsets
from gossamer.collection.image import Image, Parts
from gossamer.collection.journal.effects import Effects
from gossamer.collection.versions import versions_of
from gossamer.desk.desk import Desk
from gossamer.desk.table import LAYOUT

Array = npt.NDArray[Any]
Ends = Mapping[str, tuple[Offsets, list[bytes]]]
"""What an image holds of the block files, by kind of text (url, version): the offsets of the blocks, and the last
texts, which do not fill a block yet."""
_TAILS: Final = {"url": "tail", "version": "version_tail"}
_NO_OFFSETS: Final = np.zeros(0, np.uint64)
NO_ENDS: Final[Ends] = {kind: (_NO_OFFSETS, []) for kind in _TAILS}
_KEPT: Final = 2 * PER_BLOCK


def dump(desk: Desk, ends: Ends) -> tuple[dict[str, Array | Parts], dict[str, Any]]:
    """The arrays and the metadata of an image. Almost all are views of memory: an image needs hardly any memory of its
    own."""
    columns, arrays = desk.columns, dict[str, Array | Parts]()
    for kind, (offsets, last) in ends.items():
        tail, name = Texts.join(last), _TAILS[kind]
        arrays[name], arrays[f"{name}_lengths"] = np.frombuffer(tail.buffer, np.uint8), tail.lengths
        arrays[f"{kind}_offsets"] = offsets
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


def followed(ends: Ends, effects: Effects) -> Ends:
    """The ends after a tick, in a replay: some more texts than do not fill a block, and the same offsets."""
    (offsets, urls), (version_offsets, versions) = ends["url"], ends["version"]
    if len(effects.pages):
        urls = [*urls, *effects.urls.last(PER_BLOCK)][-_KEPT:]
    if len(effects.visits):
        versions = [*versions, *versions_of(effects, PER_BLOCK)][-_KEPT:]
    return {"url": (offsets, urls), "version": (version_offsets, versions)}


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


def load(desk: Desk, image: Image) -> Ends:
    """Fills an empty desk from an image, under the desk's settings."""
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
    tails = {kind: Texts(image.array(f"{name}_lengths"), image.array(name).tobytes()) for kind, name in _TAILS.items()}
    return {kind: (image.array(f"{kind}_offsets"), tail.split()) for kind, tail in tails.items()}
