"""An image of the columns, opened read-only: arrays are mapped, so only the rows that are needed are read.

An array is compared with its checksums before its first use (`collection/checked.py`): a damaged one is an error.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from gossamer.base.errors import StorageError
from gossamer.base.model import NONE
from gossamer.collection import image, manifest
from gossamer.collection.checked import Checked
from gossamer.collection.image import Image, ImageDamagedError, ImageMissingError
from gossamer.collection.layout import BIG_RULES
from gossamer.collection.manifest import Line
from gossamer.collection.steering import InForce, told
from gossamer.manager.revisits.shown import Told, Trusted
from gossamer.manager.value import TOTAL
from gossamer.observe.status import Explaining
from gossamer.web.addresses import unpack

Array = npt.NDArray[Any]


def open_image(shard: Path, line: Line | None, checked: Checked) -> Mapped | None:
    """The newest image; None if there is none, or its version lacks one of these columns. A damaged image is an error:
    without it, answers would be others."""
    if line is None:
        return None
    try:
        return Mapped(image.read(shard, line), checked)
    except (ImageMissingError, KeyError, AttributeError):
        return None
    except (FileNotFoundError, ImageDamagedError):
        if replaced(shard, line):
            return None
        raise


def replaced(shard: Path, line: Line | None) -> bool:
    """Whether the crawl has made a newer image than this one, and so may have removed it."""
    return manifest.read(shard).image != line


class _Group:
    """Columns of equal length, mapped at first access."""

    def __init__(self, mapped: Mapped, name: str, count: int) -> None:
        self._mapped, self._name, self.count = mapped, name, count

    def __getattr__(self, column: str) -> Array:
        array = self._mapped.array(f"{self._name}.{column}")
        self.__dict__[column] = array
        return array


class Ordered:
    """What the part `orders` tells."""

    name = "orders"

    def __init__(self, in_force: InForce, columns: Any, names: Callable[[int], str]) -> None:
        self._in_force, self._columns, self._names = in_force, columns, names

    def explain_page(self, page: int) -> Mapping[str, object]:
        return self.explain_site(int(self._columns.origin.site[self._columns.page.origin[page]]))

    def explain_site(self, site: int) -> Mapping[str, object]:
        return told(self._in_force.about(self._names(site)))


class Mapped:
    """The image as `observe/status.py` reads it."""

    ranked = True
    """Whether it has link scores, if any were computed."""
    parts: Iterable[Explaining]

    def __init__(self, opened: Image, checked: Checked) -> None:
        self._image, self._checked = opened, checked
        self.record, self.wall = opened.record, float(opened.meta["wall"])
        self.columns = SimpleNamespace(
            **{name: _Group(self, name, int(opened.meta[f"{name}s"])) for name in ("page", "site", "origin")},
            ranking=self.array("ranking"),
            habits=self.array("habits"),
        )
        in_force = InForce.from_json(opened.meta.get("orders", {}))
        self.parts = (
            Told(self.columns.page),
            Trusted(self.columns.page, self.columns.site),
            Ordered(in_force, self.columns, self.site_name),
        )
        self.array("site.doubt")  # the newest column: if it is there, all are
        self.issued = int(self.array("totals")[TOTAL])
        self._names = np.cumsum(self.array("name_lengths"), dtype=np.int64)

    def array(self, name: str) -> Array:
        if name not in self._image.arrays:
            raise AttributeError(name)
        length = self._image.length(name)
        kind = np.dtype(self._image.arrays[name]["dtype"])
        if not length:
            return np.zeros(0, kind)
        path, sums = self._image.folder / name, ",".join(self._image.arrays[name]["sums"])
        try:
            self._checked.require_by(path, sums, lambda: self._image.check_array(name))
            return np.memmap(path, kind, "r", shape=(length,))
        except (StorageError, OSError, ValueError) as error:
            if not path.exists():
                raise FileNotFoundError(errno.ENOENT, "No such file", str(path)) from error
            raise ImageDamagedError(f"{path} cannot be read: {error}") from error

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
