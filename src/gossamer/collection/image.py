"""Images: the desk's arrays as they were after a tick, so that a start need not replay everything since the first.

A folder `image/<tick>` has one file an array, raw, and `meta.json` with what the desk adds (`meta`) and the name, type,
length and checksums of each. An image is a cache: it is named in the manifest when it is whole and synced, the older
ones are removed then, and one that is missing or fails its checksum is left aside; segments have everything too.

Arrays are read into memory that is already reserved, not mapped: a page fault inside a compiled loop would stop it.
Checksums are xxh3 of every 16 MB, taken while the piece is still in the cache: 10^7 pages of 45 bytes take as long to
check as to read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xxhash

from gossamer import disk
from gossamer.collection.layout import IMAGES, image_name
from gossamer.collection.manifest import Line, Manifest
from gossamer.errors import GossamerError

Array = npt.NDArray[Any]

_META: Final = "meta.json"
_PIECE: Final = 1 << 24


class ImageDamagedError(GossamerError):
    """The image is not what was written; recovery goes on without it."""


def write(shard: Path, tick: int, record: int, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> Line:
    """Writes and syncs the state after `record` of `tick`; returns the line for the manifest (see `finish`)."""
    folder = shard / image_name(tick)
    beside = folder.with_name(folder.name + disk.TEMPORARY)
    disk.remove(beside)
    disk.make_directory(beside)
    said = {name: _write_array(beside / name, array) for name, array in arrays.items()}
    body = json.dumps({"tick": tick, "record": record, "meta": dict(meta), "arrays": said}).encode()
    disk.write_synced(beside / _META, body)
    disk.sync_directory(beside)
    disk.remove(folder)
    disk.rename(beside, folder)
    disk.sync_directory(folder.parent)
    size = sum(a.nbytes for a in arrays.values()) + len(body)
    return {"image": image_name(tick), "tick": tick, "record": record, "bytes": size,
            "checksum_of_meta": xxhash.xxh3_64_hexdigest(body)}  # fmt: skip


def finish(shard: Path, manifest: Manifest, line: Line) -> None:
    """The desk's part: the image counts from here on, and older ones are gone."""
    manifest.append(line)
    clean(shard, line)


def clean(shard: Path, newest: Line | None) -> None:
    """Removes every image but that one."""
    keep = Path(newest["image"]).name if newest else ""
    found = [p for p in (shard / IMAGES).iterdir() if p.name != keep]
    for path in found:
        disk.remove(path)
    if found:
        disk.sync_directory(shard / IMAGES)


def _write_array(path: Path, array: Array) -> dict[str, Any]:
    if array.ndim != 1 or not array.flags.c_contiguous:
        raise GossamerError(f"array {path.name} of an image must be one row of neighbouring values")
    raw = array.view(np.uint8).data
    disk.write_synced(path, raw)
    sums = [xxhash.xxh3_64_hexdigest(raw[at : at + _PIECE]) for at in range(0, len(raw), _PIECE)]
    return {"dtype": array.dtype.descr if array.dtype.names else array.dtype.str, "length": len(array), "sums": sums}


@dataclass(frozen=True, slots=True)
class Image:
    """An image as found; the arrays are still on disk."""

    folder: Path
    tick: int
    record: int
    """Number of the last journal record that is in it."""
    meta: dict[str, Any]
    arrays: dict[str, dict[str, Any]]

    def length(self, name: str) -> int:
        """Of an array, in values."""
        return int(self.arrays[name]["length"])

    def into(self, name: str, destination: Array) -> int:
        """Reads an array into the first values of `destination`, which may be longer. Returns its length."""
        said = self.arrays[name]
        dtype = _dtype(said["dtype"])
        if destination.dtype != dtype or len(destination) < said["length"]:
            raise GossamerError(
                f"{self.folder / name} has {said['length']} values of type {dtype}; "
                f"there is room for {len(destination)} of type {destination.dtype}"
            )
        if said["length"]:
            self._pieces(name, destination[: said["length"]].view(np.uint8).data)
        return int(said["length"])

    def array(self, name: str) -> Array:
        found = np.empty(self.length(name), _dtype(self.arrays[name]["dtype"]))
        self.into(name, found)
        return found

    def check(self) -> None:
        """Reads everything once, keeping nothing; ImageDamagedError if anything is not as it was written."""
        scratch = memoryview(bytearray(_PIECE))
        for name, said in self.arrays.items():
            self._pieces(name, scratch, said["length"] * _dtype(said["dtype"]).itemsize)

    def _pieces(self, name: str, into: memoryview, size: int | None = None) -> None:
        """Reads and checks piece by piece; with `size`, all into the same place."""
        path = self.folder / name
        total = len(into) if size is None else size
        with disk.naming("read", path), path.open("rb", buffering=0) as file:
            for at, checksum in zip(range(0, total, _PIECE), self.arrays[name]["sums"], strict=True):
                start = at if size is None else 0
                piece = into[start : start + min(_PIECE, total - at)]
                if not _fill(file, piece) or xxhash.xxh3_64_hexdigest(piece) != checksum:
                    raise ImageDamagedError(f"{path} is damaged near byte {at}")


def _fill(file: Any, piece: memoryview) -> bool:
    done = 0
    while done < len(piece):
        count = file.readinto(piece[done:])
        if not count:
            return False
        done += count
    return True


def _dtype(said: Any) -> np.dtype[Any]:
    """JSON makes lists of the pairs that numpy wants as tuples."""
    if isinstance(said, str):
        return np.dtype(said)
    return np.dtype([tuple(tuple(x) if isinstance(x, list) else x for x in field) for field in said])


def read(shard: Path, line: Line) -> Image:
    """The image of a manifest's line. ImageDamagedError if it is missing or its description is damaged; the arrays
    are checked as they are read, or all at once by `check`."""
    folder = shard / str(line["image"])
    try:
        body = (folder / _META).read_bytes()
    except OSError as error:
        raise ImageDamagedError(f"{folder} cannot be read: {error.strerror}") from error
    if xxhash.xxh3_64_hexdigest(body) != line["checksum_of_meta"]:
        raise ImageDamagedError(f"{folder / _META} is damaged")
    said = json.loads(body)
    return Image(folder, said["tick"], said["record"], said["meta"], said["arrays"])
