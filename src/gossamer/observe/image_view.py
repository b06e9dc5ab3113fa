"""An image of the columns, opened read-only: arrays are mapped, so only the rows that are needed are read.

Checksums of arrays are not checked: that would read all of them. A crawl that starts from the image checks them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.base.model import NONE
from gossamer.collection import image
from gossamer.collection.image import Image, ImageDamagedError
from gossamer.collection.layout import BIG_RULES
from gossamer.collection.manifest import Line
from gossamer.manager.value import TOTAL
from gossamer.observe.status import Explaining
from gossamer.web.addresses import unpack

Array = npt.NDArray[Any]


def open_image(shard: Path, line: Line | None) -> Mapped | None:
    """The newest image; None if there is none, it cannot be read, or its version lacks one of these columns."""
    if line is None:
        return None
    try:
        return Mapped(image.read(shard, line))
    except (ImageDamagedError, KeyError, ValueError, OSError, AttributeError):
        return None


class _Group:
    """Columns of equal length, mapped at first access."""

    def __init__(self, mapped: Mapped, name: str, count: int) -> None:
        self._mapped, self._name, self.count = mapped, name, count

    def __getattr__(self, column: str) -> Array:
        array = self._mapped.array(f"{self._name}.{column}")
        self.__dict__[column] = array
        return array


class Mapped:
    """The image as `observe/status.py` reads it."""

    ranked = True
    """It has link scores, if any were computed."""
    parts: Iterable[Explaining] = ()

    def __init__(self, opened: Image) -> None:
        self._image = opened
        self.record, self.wall = opened.record, float(opened.meta["wall"])
        self.columns = SimpleNamespace(
            **{name: _Group(self, name, int(opened.meta[f"{name}s"])) for name in ("page", "site", "origin")},
            ranking=self.array("ranking"),
        )
        self.array("origin.unreachable")  # the newest column: if it is there, all are
        self.issued = int(self.array("totals")[TOTAL])
        self._names = np.cumsum(self.array("name_lengths"), dtype=np.int64)

    def array(self, name: str) -> Array:
        if name not in self._image.arrays:
            raise AttributeError(name)
        length = self._image.length(name)
        kind = np.dtype(self._image.arrays[name]["dtype"])
        if not length:
            return np.zeros(0, kind)
        return np.memmap(self._image.folder / name, kind, "r", shape=(length,))

    def site_name(self, site: int) -> str:
        start = int(self._names[site - 1]) if site else 0
        return self.array("names")[start : int(self._names[site])].tobytes().decode()

    def site_number(self, name: str) -> int:
        """NONE when no site has this name."""
        lengths, wanted = self.array("name_lengths"), name.encode()
        buffer = self.array("names").tobytes()
        for site in np.flatnonzero(lengths == len(wanted)).tolist():
            if buffer.startswith(wanted, int(self._names[site]) - len(wanted)):
                return int(site)
        return NONE

    def address_of(self, site: int) -> str | None:
        number = int(self.columns.site.address[site])
        packed = self.array("addresses")[16 * number : 16 * number + 16].tobytes() if number != NONE else b""
        return unpack(packed) if len(packed) == 16 else None

    def speeds_of(self, site: int) -> list[float]:
        row = int(self.columns.site.address[site]) + 1
        try:
            return [float(speed) for speed in self.array("speeds")[48 * row : 48 * row + 48]]
        except AttributeError:  # an image of an earlier version
            return []

    def rules_of(self, origin: int) -> bytes:
        origins = self.columns.origin
        start, end = int(origins.rules_start[origin]), int(origins.rules_end[origin])
        if start < BIG_RULES:
            return self.array("rules")[start:end].tobytes()
        return self.array("big_rules")[start - BIG_RULES : end - BIG_RULES].tobytes()
