"""A Web in memory: the links, the site and the size of each page, and the start pages of a crawl.

On disk it is an `.npz` file, which numpy and many others can read, with these arrays of integers of any type:

    offsets   pages + 1 numbers: the targets of page p are targets[offsets[p]:offsets[p + 1]]
    targets   the page that each link leads to
    site      the site of each page; if missing, all pages are of one site
    size      the size of each page in bytes; if missing, 10,000 each
    start     the pages with which a crawl begins; if missing, page 0

Invariant: `inconsistent_arrays_are_refused`: a `WebGraph` returned by `load` is consistent, so kernels index it without
checking bounds. The error names the wrong array and the cure.

Cost: 4 bytes per link and 16 per page in memory; a file of 690,000 pages and 13 million links is read in half a second,
most of it decompression. Refused: our own format (2 bytes per link instead of .7, and readable by us alone).
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

from gossamer.base import disk
from gossamer.base.arrays import I64, U32, Array
from gossamer.base.errors import UsageError
from gossamer.rank.graph import Csr

SIZE: Final = 10_000
"""Bytes of a page if the file has no sizes."""
SUFFIX: Final = ".npz"
_TOO_LARGE: Final = 1 << 32
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, KeyError, NotImplementedError, MemoryError)

Place = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class WebGraph:
    """The graph of a Web."""

    links: Csr
    site: U32
    """By page; sites are numbered from 0."""
    size: U32
    """By page, in bytes."""
    start: U32
    """The start pages of a crawl, in order."""
    name: str = ""

    @property
    def pages(self) -> int:
        return self.links.pages

    @property
    def sites(self) -> int:
        return int(self.site.max(initial=0)) + 1 if len(self.site) else 0

    def arrays(self) -> dict[str, Any]:
        """The arrays of its file."""
        offsets, targets = self.links.offsets, self.links.targets
        return {"offsets": offsets, "targets": targets, "site": self.site, "size": self.size, "start": self.start}


def load(path: Place) -> WebGraph:
    path = Path(path)
    arrays = _read(path)
    for name in ("offsets", "targets"):
        if name not in arrays:
            raise UsageError(f"{path} has no array `{name}`", f"It has: {', '.join(arrays) or 'none'}. {_FORMAT}")
    whole = {name: _whole(path, name, values) for name, values in arrays.items()}
    offsets, targets = whole["offsets"], whole["targets"]
    _check_offsets(path, offsets, len(targets))
    pages = len(offsets) - 1
    site, start = whole.get("site", np.zeros(pages, np.uint32)), whole.get("start", np.zeros(1, np.uint32))
    size = whole.get("size", np.full(pages, SIZE, np.uint32))
    for name, values in (("targets", targets), ("site", site), ("start", start)):
        _check_below(path, name, values, pages)
    _check_below(path, "size", size, _TOO_LARGE)
    for name, values in (("site", site), ("size", size)):
        if len(values) != pages:
            raise UsageError(
                f"{path}: `{name}` has {len(values)} numbers for {pages} pages",
                f"`{name}` needs one number per page, and `offsets` one more than there are pages.",
            )
    if not len(start):
        raise UsageError(f"{path}: `start` is empty", "Name at least one start page, or leave `start` out for page 0.")
    links = Csr(offsets.astype(np.int64, copy=False), _u32(targets))
    return WebGraph(links, _u32(site), _u32(size), _u32(start), path.stem)


def check_name(path: Place) -> None:
    """Checks the name of the output before long work: a file with another suffix could not be opened again."""
    if Path(path).suffix != SUFFIX:
        raise UsageError(f"{path} does not end in {SUFFIX}", f"Name the graph as in web{SUFFIX}.")
    if not Path(path).absolute().parent.is_dir():
        raise UsageError(f"there is no folder {Path(path).parent}", "Create it first, or name another.")


def save(path: Place, graph: WebGraph) -> None:
    """Writes the file atomically: after an interruption a reader finds the old file or all of the new one."""
    path = Path(path)
    arrays = graph.arrays()
    if arrays["offsets"][-1] < _TOO_LARGE:
        arrays["offsets"] = arrays["offsets"].astype(np.uint32)
    sink = io.BytesIO()
    np.savez_compressed(sink, **arrays)
    try:
        disk.write_atomic(path, sink.getbuffer())
    except BaseException:
        disk.remove(path.with_name(path.name + disk.TEMPORARY))
        raise


_FORMAT: Final = "A graph is an .npz file with the arrays offsets and targets, and optionally site, size and start."


def missing(path: Path) -> UsageError:
    return UsageError(f"there is no file {path}", "Name a graph, or make one with `gossamer graph make`.")


def _read(path: Path) -> Mapping[str, Array]:
    wanted = ("offsets", "targets", "site", "size", "start")
    try:
        with open(path, "rb") as file:
            found = np.load(file, allow_pickle=False)
            if not isinstance(found, np.lib.npyio.NpzFile):
                raise ValueError("a single array")
            return {name: found[name] for name in wanted if name in found.files}
    except FileNotFoundError:
        raise missing(path) from None
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
            "Every array of a graph has one dimension and holds integers: store it as uint32 or int64.",
        )
    return values


def _check_offsets(path: Path, offsets: Array, links: int) -> None:
    if len(offsets) < 2:
        raise UsageError(f"{path} has no pages: `offsets` has {len(offsets)} numbers", "It needs one more than pages.")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(falls):
        raise UsageError(
            f"{path}: `offsets` falls after page {falls[0]}, from {offsets[falls[0]]} to {offsets[falls[0] + 1]}",
            "The targets of a page end where the targets of the next page begin: offsets never decrease.",
        )
    if offsets[0] != 0 or offsets[-1] != links:
        raise UsageError(
            f"{path}: `offsets` runs from {offsets[0]} to {offsets[-1]}; `targets` has {links} numbers",
            "`offsets` must begin with 0 and end with the length of `targets`.",
        )


def _check_below(path: Path, name: str, values: Array, limit: int) -> None:
    """One pass for the minimum and one for the maximum; only a wrong array is searched for the bad value."""
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


def offsets_of(degrees: Array) -> I64:
    """Where the links of each page begin, and finally where the last ones end."""
    offsets = np.zeros(len(degrees) + 1, np.int64)
    np.cumsum(degrees, out=offsets[1:])
    return offsets
