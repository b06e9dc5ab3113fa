"""Graphs from text files, the form of most public graphs: an edge list, and optionally a list of URLs.

    edges     one link per line: two page numbers, or two URLs, separated by tabs or blanks (or a comma for numbers)
    urls      one URL per line; the number of the line, from 0, is the number of the page

Empty lines and lines that begin with # are skipped; in the list of URLs they count, as every line has a number. Files
may be compressed (.gz). The site of a page is the host of its URL, in canonical form and without `www.`
(`gossamer.urls`); page numbers without URLs make one site. A crawl begins with the page "/" of each site, or with its
first page. A repeated link counts once.

Files are read as a stream. A kernel parses numbers, 16 MB at a time, about 20 million links per second. URLs are parsed
one by one, about 100,000 links per second, each distinct spelling once. Errors name the file and the line.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from isal import isal_zlib

from gossamer.base.arrays import U8, U32, Array
from gossamer.base.compiled import njit
from gossamer.base.errors import UsageError
from gossamer.laboratory.graphs.webgraph import SIZE, WebGraph
from gossamer.rank.graph import csr
from gossamer.urls import canonical, host

_CHUNK: Final = 1 << 24
_NONE: Final = -1
_MOST: Final = 1 << 32
_DIGITS: Final = b"0123456789"
_InflateError: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub says instance


def from_edges(edges: Path, urls: Path | None = None) -> WebGraph:
    """Reads `edges` as page numbers if `urls` is given or its first link begins with a digit, else as URLs."""
    name = edges.name.partition(".")[0]
    if urls is not None:
        sites = _Sites()
        for number, line in enumerate(_lines(urls)):
            sites.add(_url(urls, number, line))
        return _joined(*_numbers(edges, sites.count), sites.count, sites, name)
    first = next((line.strip() for line in _lines(edges) if _counts(line)), b"")
    if not first:
        raise _no_links(edges)
    if first[:1] in _DIGITS:
        sources, targets = _numbers(edges, _MOST)
        return _joined(sources, targets, int(max(sources.max(), targets.max())) + 1, None, name)
    sites = _Sites()
    found_sources, found_targets = array("I"), array("I")
    pages: dict[bytes, int] = {}
    for number, line in enumerate(_lines(edges)):
        if _counts(line):
            parts = line.split()
            if len(parts) != 2:
                raise _wrong(edges, number, f"{len(parts)} words", "a link is two URLs, separated by a tab or a blank")
            for part, found in zip(parts, (found_sources, found_targets), strict=True):
                page = pages.get(part)
                if page is None:
                    pages[part] = page = sites.add_once(_url(edges, number, part))
                found.append(page)
    return _joined(np.array(found_sources), np.array(found_targets), sites.count, sites, name)


class _Sites:
    """The pages by URL, the site of each page and the start page of each site."""

    def __init__(self) -> None:
        self.site = array("I")
        self.start: list[int] = []
        """The start page of each site."""
        self._sites: dict[str, int] = {}
        self._pages: dict[str, int] = {}

    @property
    def count(self) -> int:
        return len(self.site)

    def add(self, url: str) -> int:
        name, page = host(url), self.count
        site = self._sites.setdefault(name, len(self._sites))
        self.site.append(site)
        if site == len(self.start):
            self.start.append(page)
        elif url.endswith(f"//{name}/"):
            self.start[site] = page
        return page

    def add_once(self, url: str) -> int:
        """Adds a page unless its URL is known: two spellings of one URL are one page."""
        page = self._pages.get(url)
        if page is None:
            page = self._pages[url] = self.add(url)
        return page


def _joined(sources: Array, targets: Array, pages: int, sites: _Sites | None, name: str) -> WebGraph:
    if not pages:
        raise UsageError(f"{name} has no pages", "Give at least one link, or one URL.")
    site = np.array(sites.site, np.uint32) if sites else np.zeros(pages, np.uint32)
    start: U32 = np.array(sites.start if sites else [0], np.uint32)
    return WebGraph(csr(pages, sources, targets), site, np.full(pages, SIZE, np.uint32), start, name)


def _counts(line: bytes) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(b"#")


def _url(path: Path, number: int, text: bytes) -> str:
    try:
        url = canonical(text.strip().decode(), www=True)
    except UnicodeDecodeError:
        url = None
    if url is None:
        raise _wrong(path, number, f"{text[:80].decode(errors='replace').strip()!r}", "a page is an http or https URL")
    return url


def _wrong(path: Path, number: int, what: str, wanted: str) -> UsageError:
    return UsageError(f"{path}, line {number + 1}: {what}", f"Correct this line: {wanted}.")


def _no_links(path: Path) -> UsageError:
    return UsageError(f"{path} has no links", "An edge list has one link per line: two page numbers, or two URLs.")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if packed:
                from isal import igzip

                opened: Any = igzip.open
                with opened(file, "rb") as unpacked:
                    yield unpacked
            else:
                yield file
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}", "Name an edge list, and with --urls a list of URLs.") from None
    except (EOFError, zlib.error, _InflateError, OSError) as error:
        raise UsageError(f"cannot read {path}: {error}", "Is it complete? It must be text, or gzipped text.") from error


def _lines(path: Path) -> Iterator[bytes]:
    with _opened(path) as file:
        yield from file


def _chunks(path: Path) -> Iterator[bytes]:
    """Reads the file in chunks of whole lines."""
    with _opened(path) as file:
        rest = b""
        while piece := file.read(_CHUNK):
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield rest + piece[:cut]
                rest = piece[cut:]
            else:
                rest += piece
        if rest:
            yield rest


def _numbers(path: Path, limit: int) -> tuple[U32, U32]:
    """Sources and targets of all links, all below `limit`."""
    found: list[U32] = []
    before = 0
    for chunk in _chunks(path):
        raw = np.frombuffer(chunk, np.uint8)
        pairs = np.empty((chunk.count(b"\n") + 1, 2), np.uint32)
        count, lines, wrong = _parse(raw, limit, pairs)
        if wrong != _NONE:
            line = chunk.split(b"\n")[lines].decode(errors="replace").strip()[:80]
            known = f" below {limit}, the number of URLs" if limit < _MOST else ""
            raise _wrong(path, before + int(lines), repr(line), f"a link is two page numbers{known}")
        found.append(pairs[:count])
        before += int(lines)
    if not sum(map(len, found)):
        raise _no_links(path)
    every = np.concatenate(found)
    return every[:, 0], every[:, 1]


@njit
def _parse(raw: U8, limit: int, pairs: U32) -> tuple[int, int, int]:
    """Numbers of links and of lines read, and the first bad line or -1. A line has two numbers or none."""
    count = lines = at = 0
    while at < len(raw):
        fields, digits, value = 0, 0, 0
        wrong = comment = False
        while True:
            c = raw[at] if at < len(raw) else 10
            at += 1
            if 48 <= c <= 57 and not comment:
                value, digits = value * 10 + (c - 48), digits + 1
                wrong = wrong or value >= limit
            elif c in (9, 10, 13, 32, 44):
                if digits:
                    if fields < 2:
                        pairs[count, fields] = value
                    fields, digits, value = fields + 1, 0, 0
            elif c == 35 and not fields and not digits:
                comment = True
            elif not comment:
                wrong = True
            if wrong or c == 10:
                break
        if wrong or fields not in (0, 2):
            return count, lines, lines
        count += fields // 2
        lines += 1
    return count, lines, -1
