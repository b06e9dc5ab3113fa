"""Reads requests from the table `visits` and the journal: for a page, for a site, for robots.txt, sitemaps and
probes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from gossamer.base.model import NONE, VISIT_TEXTS, Ask, Outcome
from gossamer.collection.journal.effects import Effects
from gossamer.collection.layout import archive_name
from gossamer.read.explain.answers import Visit
from gossamer.read.explain.files import LOCAL, Files, plain

Array = npt.NDArray[Any]

COLUMNS: Final = (
    "time",
    "status",
    "outcome",
    "latency",
    "received",
    "links",
    "duplicate_of",
    "redirect",
    "address",
    "detail",
    "mime",
    "title",
    "warc_file",
    "warc_offset",
    "retry_after",
    "delay",
    "origin",
    "out_degree",
    "flags",
    "preferences",
)
_TEXTS: Final = ("redirect", "address", "detail", "mime", "title", "preferences")


def visits_of(files: Files, page: int) -> tuple[list[Visit], list[int]]:
    """Requests for a page, oldest first, and the pages that are duplicates of it."""
    requests: list[Visit] = []
    same: list[int] = []
    for path in files.tables("visits", page):
        files.read(path, ("page", "duplicate_of"))
        pages = files.numbers(path, "page") & LOCAL
        requests += _rows(files, path, np.flatnonzero(pages == page))
        same += pages[np.flatnonzero(files.numbers(path, "duplicate_of") & LOCAL == page)].tolist()
    for effects in files.journal:
        visits = effects.visits
        requests += _unsealed(effects, np.flatnonzero(visits["page"] == page))
        same += visits["page"][visits["duplicate_of"] == page].tolist()
    return requests, sorted(set(same) - {page})


def robots_of(files: Files, site: int) -> dict[int, Visit]:
    """The last request for the robots.txt of each origin of this site, by number of the origin."""
    return {visit["origin"]: visit for visit in _requests_of(files, site, Ask.ROBOTS)}


def sitemaps_of(files: Files, site: int) -> dict[str, Visit]:
    """The last request for each sitemap of this site, by its URL."""
    return {visit["title"]: visit for visit in _requests_of(files, site, Ask.SITEMAP) if visit["title"]}


def probes_of(files: Files, site: int) -> dict[str, Visit]:
    """The probes of this site (requests for pages that cannot exist), by URL."""
    probes = _requests_of(files, site, Ask.PROBE)
    return {visit["title"].partition(" ")[0]: visit for visit in probes if visit["title"]}


def _requests_of(files: Files, site: int, ask: Ask) -> Iterator[Visit]:
    """Requests to a site that were not for pages, oldest first."""
    for path in files.tables("visits"):
        files.read(path, ("page", "site"))
        rows = np.flatnonzero((files.numbers(path, "page") == NONE) & (files.numbers(path, "site") == site))
        if len(rows):
            codes, words = files.words(path, "ask")
            rows = rows[np.array([word == ask.name.lower() for word in words])[codes[rows]]]
        yield from _rows(files, path, rows)
    for effects in files.journal:
        visits = effects.visits
        yield from _unsealed(effects, np.flatnonzero((visits["ask"] == int(ask)) & (visits["site"] == site)))


def outcomes_of(files: Files, site: int) -> tuple[dict[str, int], int]:
    """Number of requests for pages of a site by outcome, and the bytes received from it, robots.txt included."""
    tally, received = np.zeros(len(Outcome), np.int64), 0
    for path in files.tables("visits"):
        files.read(path, ("page", "site"))
        rows = np.flatnonzero(files.numbers(path, "site") == site)
        if len(rows):
            received += int(files.numbers(path, "received")[rows].sum())
            codes, words = files.words(path, "outcome")
            of_pages = rows[files.numbers(path, "page")[rows] != NONE]
            for word, count in zip(words, np.bincount(codes[of_pages], minlength=len(words)).tolist(), strict=True):
                tally[Outcome[word.upper()]] += count
    for effects in files.journal:
        of_site = effects.visits[effects.visits["site"] == site]
        received += int(of_site["received"].sum())
        tally += np.bincount(of_site["outcome"][of_site["page"] != NONE], minlength=len(tally))
    return {outcome.word: int(tally[outcome]) for outcome in Outcome if tally[outcome]}, received


def _rows(files: Files, path: Path, rows: Array) -> list[Visit]:
    if not len(rows):
        return []
    columns = dict(zip(COLUMNS, files.read(path, COLUMNS), strict=True))
    visits = [{n: None if c is None else plain(c[row]) for n, c in columns.items()} for row in rows.tolist()]
    for visit in visits:
        if visit["duplicate_of"] is not None:
            visit["duplicate_of"] &= LOCAL
    return cast(list[Visit], visits)


def _unsealed(effects: Effects, rows: Array) -> Iterator[Visit]:
    if len(rows):
        lengths = effects.visits["texts"]
        sizes = lengths.sum(axis=1, dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        for row in rows.tolist():
            yield _visit(effects.visits[row], _texts(effects.visit_texts, int(starts[row]), lengths[row].tolist()))


def _texts(raw: bytes, start: int, lengths: Sequence[int]) -> dict[str, bytes]:
    texts = {}
    for name, length in zip(VISIT_TEXTS, lengths, strict=True):
        texts[name] = raw[start : start + length]
        start += length
    return texts


def _visit(visit: Any, texts: dict[str, bytes]) -> Visit:
    """The same as a row of the table `visits`."""
    duplicate = int(visit["duplicate_of"])
    row = {
        "time": float(visit["time"]),
        "status": int(visit["status"]) or None,
        "outcome": Outcome(int(visit["outcome"])).word,
        "latency": float(visit["first"]),
        "received": int(visit["received"]),
        "links": int(visit["links"]),
        "duplicate_of": None if duplicate == NONE else duplicate,
        **{name: texts[name].decode("utf-8", "replace") or None for name in _TEXTS},
        "warc_file": archive_name(int(visit["warc_file"])) if visit["warc_end"] else None,
        "warc_offset": int(visit["warc_offset"]),
        "retry_after": _positive(visit["retry_after"]),
        "delay": _positive(visit["delay"]),
        "origin": int(visit["origin"]),
        "out_degree": int(visit["out_degree"]),
        "flags": int(visit["flags"]),
    }
    return cast(Visit, row)


def _positive(value: Any) -> float | None:
    return float(value) if value >= 0 else None
