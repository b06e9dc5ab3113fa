"""A Web held in memory: who links to whom, which site each page is of, how large it is, and where a crawl begins.

On disk it is an `.npz` file, which numpy and everyone else can read, with these arrays of whole numbers of any type:

    offsets   pages + 1 numbers: the targets of page p are targets[offsets[p]:offsets[p + 1]]
    targets   a page each
    site      of each page; left out: all pages are of one site
    size      of each page in bytes; left out: 10,000 each
    start     the pages a crawl begins with; left out: page 0

Invariant: a `WebGraph` that `load` returns fits itself, so kernels may index by it and look at no bounds. Of a file
that does not fit it says which array is wrong, and what would mend it.

Cost: 4 bytes a link and 16 a page in memory; a file of 690,000 pages and 13 million links is read in half a second,
most of it decompression. Refused: a format of our own (2 bytes a link instead of .7, but nobody else could read it).
"""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.base import disk
from gossamer.base.arrays import I64, U32
from gossamer.base.errors import UsageError
from gossamer.rank.graph import Csr

SIZE: Final = 10_000
"""Bytes of a page where the file does not say."""
SUFFIX: Final = ".npz"
_TOO_LARGE: Final = 1 << 32
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError, NotImplementedError, MemoryError)

Array = npt.NDArray[Any]
Place = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class WebGraph:
    links: Csr
    site: U32
    """By page; numbers from 0 on."""
    size: U32
    """By page, in bytes."""
    start: U32
    """The pages a crawl begins with, in their order."""
    name: str = ""

    @property
    def pages(self) -> int:
        return self.links.pages

    @property
    def sites(self) -> int:
        return int(self.site.max(initial=0)) + 1 if len(self.site) else 0


def load(path: Place) -> WebGraph:
    path = Path(path)
    arrays = _read(path)
    for name in ("offsets", "targets"):
        if name not in arrays:
            raise UsageError(f"{path} has no array `{name}`", f"It has: {', '.join(arrays) or 'none'}. {_FORMAT}")
    offsets, targets = (_whole(path, name, arrays[name]) for name in ("offsets", "targets"))
    _check_offsets(path, offsets, len(targets))
    pages = len(offsets) - 1
    site = _whole(path, "site", arrays["site"]) if "site" in arrays else np.zeros(pages, np.uint32)
    size = _whole(path, "size", arrays["size"]) if "size" in arrays else np.full(pages, SIZE, np.uint32)
    start = _whole(path, "start", arrays["start"]) if "start" in arrays else np.zeros(1, np.uint32)
    for name, values, limit in (("targets", targets, pages), ("site", site, pages), ("start", start, pages)):
        _check_below(path, name, values, limit)
    _check_below(path, "size", size, _TOO_LARGE)
    for name, values in (("site", site), ("size", size)):
        if len(values) != pages:
            raise UsageError(
                f"{path}: `{name}` has {len(values)} numbers for {pages} pages",
                f"`{name}` needs one number a page, and `offsets` one more than there are pages.",
            )
    if not len(start):
        raise UsageError(f"{path}: `start` is empty", "Name at least one start page, or leave `start` out for page 0.")
    links = Csr(offsets.astype(np.int64, copy=False), _u32(targets))
    return WebGraph(links, _u32(site), _u32(size), _u32(start), path.stem)


def check_name(path: Place) -> None:
    """Before long work: what is written under another name could not be opened again."""
    if Path(path).suffix != SUFFIX:
        raise UsageError(f"{path} does not end in {SUFFIX}", f"Name the graph as in web{SUFFIX}.")
    if not Path(path).absolute().parent.is_dir():
        raise UsageError(f"there is no folder {Path(path).parent}", "Make it first, or name another.")


def save(path: Place, graph: WebGraph) -> None:
    """Whoever opens the file, whenever this is interrupted, finds the old one or all of the new one."""
    path = Path(path)
    offsets: Array = graph.links.offsets
    if offsets[-1] < _TOO_LARGE:
        offsets = offsets.astype(np.uint32)
    sink = io.BytesIO()
    np.savez_compressed(
        sink, offsets=offsets, targets=graph.links.targets, site=graph.site, size=graph.size, start=graph.start
    )
    try:
        disk.write_atomic(path, sink.getbuffer())
    except BaseException:
        disk.remove(path.with_name(path.name + disk.TEMPORARY))
        raise


_FORMAT: Final = "A graph is an .npz file with arrays offsets, targets and, if you like, site, size, start."


def _read(path: Path) -> Mapping[str, Array]:
    wanted = ("offsets", "targets", "site", "size", "start")
    try:
        with open(path, "rb") as file:
            found = np.load(file, allow_pickle=False)
            if not isinstance(found, np.lib.npyio.NpzFile):
                raise ValueError("one array alone")
            return {name: found[name] for name in wanted if name in found.files}
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}", "Name a graph, or make one with `gossamer graph make`.") from None
    except _DAMAGED as error:
        raise UsageError(f"{path} is not a graph, or damaged: {error}", _FORMAT) from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}", _FORMAT) from error


def _whole(path: Path, name: str, values: Array) -> Array:
    if values.shape == (0,):
        return np.zeros(0, np.uint32)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise UsageError(
            f"{path}: `{name}` is an array of {values.ndim} dimensions of {values.dtype}",
            "Every array of a graph is one row of whole numbers: store it as uint32 or int64.",
        )
    return values


def _check_offsets(path: Path, offsets: Array, links: int) -> None:
    if len(offsets) < 2:
        raise UsageError(f"{path} has no pages: `offsets` has {len(offsets)} numbers", "It needs one more than pages.")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(falls):
        raise UsageError(
            f"{path}: `offsets` falls after page {falls[0]}, from {offsets[falls[0]]} to {offsets[falls[0] + 1]}",
            "The targets of a page end where those of the next begin: offsets never fall.",
        )
    if offsets[0] != 0 or offsets[-1] != links:
        raise UsageError(
            f"{path}: `offsets` runs from {offsets[0]} to {offsets[-1]}; `targets` has {links} numbers",
            "`offsets` has to begin with 0 and to end with the length of `targets`.",
        )


def _check_below(path: Path, name: str, values: Array, limit: int) -> None:
    """One pass for the smallest and one for the largest; only a wrong array is looked at more closely."""
    if not len(values) or (values.min() >= 0 and int(values.max()) < limit):
        return
    at = int(np.flatnonzero((values < 0) | (values >= limit))[0])
    raise UsageError(
        f"{path}: `{name}` number {at} is {values[at]}, out of range",
        f"Numbers in `{name}` lie between 0 and {limit - 1}"
        + ("." if name == "size" else f", as there are {limit} pages."),
    )


def _u32(values: Array) -> U32:
    return np.ascontiguousarray(values, np.uint32)


def offsets_of(degrees: npt.NDArray[np.integer[Any]]) -> I64:
    """Where the links of each page begin, and at last where all end."""
    offsets = np.zeros(len(degrees) + 1, np.int64)
    np.cumsum(degrees, out=offsets[1:])
    return offsets
