"""Images: snapshots of the desk's arrays after a tick, so that a start need not replay everything since the first tick.

A folder `image/<tick>` has one raw file per array, and `meta.json` with what the desk adds (`meta`) and the name, type,
lengths and checksums of each array. An array may come in parts that are not adjacent in memory; in the file they are.
An image is a cache: the manifest names it once it is complete and synced, and then the older ones are removed. An image
that is missing or fails its checksum is ignored; the segments have everything too.

Arrays are read into memory that is already reserved, not mapped: a page fault would stop a compiled loop. Writing and
reading take no memory besides the arrays. Checksums are xxh3 of every part, or of every 16 MB of a longer part:
computed while the piece is still in the processor's cache, so that checking takes no longer than reading.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import xxhash

from gossamer.base import disk
from gossamer.base.arrays import Array
from gossamer.base.errors import GossamerError
from gossamer.collection.layout import IMAGES, image_name
from gossamer.collection.manifest import Line, Manifest

_META: Final = "meta.json"
_PIECE: Final = 1 << 24
CURE: Final = "Remove the folder of the image: the next start reads the segments instead, and takes longer."


class ImageDamagedError(GossamerError):
    """The image is not what was written; recovery continues without it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, CURE)


class ImageMissingError(ImageDamagedError):
    """The folder of the image is missing: a newer image has replaced it, or it was removed. That is allowed, because
    an image is only a cache. A folder without its description is damage."""


Parts = Sequence[Array]
"""An array in parts that are not adjacent in memory."""


def write(shard: Path, tick: int, record: int, arrays: Mapping[str, Array | Parts], meta: Mapping[str, Any]) -> Line:
    """Writes and syncs the state after `record` of `tick`; returns its line for the manifest (see `finish`)."""
    name = image_name(tick)
    if (shard / name).exists():  # nothing happened since; it stays until the manifest names the new one
        name += "-again"
    folder = shard / name
    temporary = folder.with_name(folder.name + disk.TEMPORARY)
    disk.remove(temporary)
    disk.make_directory(temporary)
    descriptions = {name: _write_array(temporary / name, _parts(array)) for name, array in arrays.items()}
    body = json.dumps({"tick": tick, "record": record, "meta": dict(meta), "arrays": descriptions}).encode()
    disk.write_synced(temporary / _META, body)
    disk.sync_directory(temporary)
    disk.rename(temporary, folder)
    disk.sync_directory(folder.parent)
    size = sum(part.nbytes for array in arrays.values() for part in _parts(array)) + len(body)
    checksum = xxhash.xxh3_64_hexdigest(body)
    return {"image": name, "tick": tick, "record": record, "bytes": size, "checksum_of_meta": checksum}


def finish(shard: Path, manifest: Manifest, line: Line) -> None:
    """The desk's part: names the image in the manifest, and removes the older ones."""
    manifest.append(line)
    clean(shard, line)


def clean(shard: Path, newest: Line | None) -> None:
    """Removes every image except `newest`."""
    keep = Path(newest["image"]).name if newest else ""
    found = [p for p in (shard / IMAGES).iterdir() if p.name != keep]
    for path in found:
        disk.remove(path)
    if found:
        disk.sync_directory(shard / IMAGES)


def _parts(array: Array | Parts) -> Parts:
    return [array] if isinstance(array, np.ndarray) else array


def _write_array(path: Path, parts: Parts) -> dict[str, Any]:
    dtype = parts[0].dtype
    if any(part.ndim != 1 or not part.flags.c_contiguous or part.dtype != dtype for part in parts):
        raise GossamerError(f"array {path.name} of an image must be one-dimensional, contiguous and of one type")
    raw = [part.view(np.uint8).data for part in parts]
    disk.write_synced(path, *raw)
    sums = [xxhash.xxh3_64_hexdigest(piece) for part in raw for piece in _pieces(part)]
    kind = dtype.descr if dtype.names else dtype.str
    return {"dtype": kind, "parts": [len(part) for part in parts], "sums": sums}


def _pieces(part: memoryview) -> Iterator[memoryview]:
    return (part[at : at + _PIECE] for at in range(0, len(part), _PIECE))


@dataclass(frozen=True, slots=True)
class Image:
    """An image on disk: its description is in memory, its arrays are not."""

    folder: Path
    tick: int
    record: int
    """Number of the last journal record that it covers."""
    meta: dict[str, Any]
    arrays: dict[str, dict[str, Any]]

    def length(self, name: str) -> int:
        """Number of values of an array."""
        return sum(self.arrays[name]["parts"])

    def into(self, name: str, destination: Array | Parts) -> int:
        """Reads an array into the first values of `destination`, which may be longer; each part into the part given for
        it. Returns the array's length."""
        description = self.arrays[name]
        dtype, lengths, places = _dtype(description["dtype"]), description["parts"], _parts(destination)
        fits = len(places) == len(lengths) and all(len(p) >= n for p, n in zip(places, lengths, strict=True))
        if not fits or any(place.dtype != dtype for place in places):
            raise GossamerError(
                f"{self.folder / name} has {sum(lengths)} values of type {dtype}; "
                f"there is room for {sum(map(len, places))} of type {places[0].dtype}"
            )
        raw = [place[:n].view(np.uint8).data for place, n in zip(places, lengths, strict=True)]
        self._read(name, (piece for part in raw for piece in _pieces(part)))
        return self.length(name)

    def array(self, name: str) -> Array:
        """Reads an array that was written in one part."""
        found = np.empty(self.length(name), _dtype(self.arrays[name]["dtype"]))
        self.into(name, found)
        return found

    def check(self) -> None:
        """Reads everything once, keeping nothing; raises ImageDamagedError if anything is not as it was written."""
        scratch = memoryview(bytearray(_PIECE))
        for name in self.arrays:
            self.check_array(name, scratch)

    def check_array(self, name: str, scratch: memoryview | None = None) -> None:
        """The same for one array."""
        description = self.arrays[name]
        width = _dtype(description["dtype"]).itemsize
        sizes = [length * width for length in description["parts"]]
        room = memoryview(bytearray(min(_PIECE, max(sizes, default=0)))) if scratch is None else scratch
        self._read(name, (room[: size - at] for size in sizes for at in range(0, size, _PIECE)))

    def _read(self, name: str, pieces: Iterator[memoryview]) -> None:
        """Fills and checks each piece."""
        path = self.folder / name
        with disk.naming("read", path), path.open("rb") as file:
            for number, (piece, checksum) in enumerate(zip(pieces, self.arrays[name]["sums"], strict=True)):
                if file.readinto(piece) < len(piece) or xxhash.xxh3_64_hexdigest(piece) != checksum:
                    raise ImageDamagedError(f"{path} is damaged in piece {number}")


def _dtype(description: Any) -> np.dtype[Any]:
    """The type described in `meta.json`: JSON turned numpy's tuples into lists."""
    if isinstance(description, str):
        return np.dtype(description)
    return np.dtype([tuple(tuple(x) if isinstance(x, list) else x for x in field) for field in description])


def read(shard: Path, line: Line) -> Image:
    """The image that a line of the manifest names. Raises ImageDamagedError if it is missing or its description is
    damaged; the arrays are checked as they are read, or all at once by `check`."""
    folder = shard / str(line["image"])
    try:
        body = (folder / _META).read_bytes()
    except OSError as error:
        if not folder.exists():
            raise ImageMissingError(f"{folder} is missing") from error
        raise ImageDamagedError(f"{folder / _META} cannot be read: {error.strerror}") from error
    if xxhash.xxh3_64_hexdigest(body) != line["checksum_of_meta"]:
        raise ImageDamagedError(f"{folder / _META} is damaged")
    description = json.loads(body)
    return Image(folder, description["tick"], description["record"], description["meta"], description["arrays"])
