"""Reads from tables and journal the requests for a page, for a site, for robots.txt, sitemaps and probes, and the
addresses that the name of a site has had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from gossamer.base.arrays import Array
from gossamer.base.model import NONE, VISIT_TEXTS, Ask, Change, Outcome
from gossamer.collection.journal.effects import Effects, SiteEvent
from gossamer.collection.layout import archive_name
from gossamer.read.explain.answers import NameAddress, Visit
from gossamer.read.explain.files import LOCAL, Files, plain
from gossamer.web.addresses import unpack

COLUMNS: Final = tuple(name for name in Visit.__annotations__ if name != "sentence")
_TEXTS: Final = ("redirect", "address", "detail", "mime", "title", "preferences")
_RESOLVED: Final = (SiteEvent.RESOLVED, SiteEvent.MOVED)
_RESOLVED_WORDS: Final = tuple(event.name.lower() for event in _RESOLVED)


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


def addresses_of(files: Files, site: int) -> list[NameAddress]:
    """The addresses of a site, each with the times of its first and last lookup; the most recent is last."""
    addresses: dict[str, NameAddress] = {}
    for address, time in _lookups(files, site):
        new = NameAddress(address=address, first_seen=time, last_seen=time, lookups=0)
        known = addresses.setdefault(address, new)
        known["last_seen"] = max(known["last_seen"], time)
        known["lookups"] += 1
    return sorted(addresses.values(), key=lambda known: known["last_seen"])


def _lookups(files: Files, site: int) -> Iterator[tuple[str, float]]:
    for path in files.tables("events"):
        rows = np.flatnonzero(files.numbers(path, "site") == site).tolist()
        if rows:
            events, addresses, times = files.read(path, ("event", "address", "time"))
            yield from (
                (addresses[row].as_py(), plain(times[row])) for row in rows if events[row].as_py() in _RESOLVED_WORDS
            )
    for effects in files.journal:
        for event in effects.site_events[effects.site_events["site"] == site]:
            if event["event"] in _RESOLVED:
                yield unpack(event["address"].tobytes()), float(event["time"])


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
        ends = np.cumsum(effects.visits["texts"], dtype=np.int64).reshape(-1, len(VISIT_TEXTS))
        for row in rows.tolist():
            lengths = effects.visits["texts"][row]
            starts = (ends[row] - lengths).tolist()
            texts = [effects.visit_texts[a:b] for a, b in zip(starts, ends[row].tolist(), strict=True)]
            yield _visit(effects.visits[row], dict(zip(VISIT_TEXTS, texts, strict=True)))


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
        "change": Change(int(visit["change"])).name.lower(),
    }
    return cast(Visit, row)


def _positive(value: Any) -> float | None:
    return float(value) if value >= 0 else None
