"""Logs of one site become counts of sessions: reads all lines, leaves out robots and attackers, traces the others.

Memory is bounded: a block of lines, the views that wait in memory (`spool.LIMIT`), one bucket of them, and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Final

import numpy as np

from gossamer.base.arrays import F64, I64, Array, Bools, Records
from gossamer.base.errors import UsageError
from gossamer.config import Settings
from gossamer.laboratory.sessions.counts import Counts
from gossamer.laboratory.sessions.formats import Fields, Reader, reader_of
from gossamer.laboratory.sessions.judge import COUNTED, OUTSIDE, Judge, Left, host_number, hosts_of
from gossamer.laboratory.sessions.lines import Log
from gossamer.laboratory.sessions.spool import Spool
from gossamer.laboratory.sessions.trace import NO_SITE, TIMEOUT, Site, pair, trace

Show = Callable[[str, float], object]
MANY_VIEWS: Final = 200
SHOWN: Final = 5
"""Bad lines that are named."""
LOOKED_AT: Final = 200_000
"""Lines of which the names of the site's hosts are learned."""
MANY: Final = 5
"""Views without an image, style or Referer from which on a client is no browser."""
FAST, QUICK = 20, 2.0
"""Views at a mean distance of fewer seconds, within sessions, are not read by a person."""
ENDLESS: Final = 500
"""Views without a pause of half an hour."""
SCANS: Final = 20
"""Requests, nearly all of which found no page, that are a search for holes."""


class Client(IntEnum):
    """What a client is, and why its views are left out."""

    ATTACKER = 0
    ROBOTS_TXT = 1
    NAMED = 2
    HEADS = 3
    BLIND = 4
    PRETENDING = 5
    QUICK = 6
    ENDLESS = 7
    USER = 8


OF_CLIENTS: Final = {
    Client.ATTACKER: "clients that attack, or look for pages that are missing",
    Client.ROBOTS_TXT: "robots: have asked for robots.txt",
    Client.NAMED: "robots: by User-Agent",
    Client.HEADS: "robots: most requests are HEAD",
    Client.BLIND: f"robots: {MANY} pages or more, and no image, no style, no Referer",
    Client.PRETENDING: "robots: no image, no style; Referers name only pages of the site that were never asked for",
    Client.QUICK: f"robots: {FAST} pages or more, one each {QUICK:g} seconds or faster",
    Client.ENDLESS: f"robots: {ENDLESS} pages or more without a pause",
    Client.USER: "users",
}


@dataclass
class Gathered:
    """What the logs of one site say."""

    name: str
    formats: list[str] = field(default_factory=list)
    lines: int = 0
    bytes: int = 0
    first: int = 0
    """When the first view was, in seconds since 1970."""
    last: int = 0
    left: I64 = field(default_factory=lambda: np.zeros(len(Left), np.int64))
    clients: I64 = field(default_factory=lambda: np.zeros(len(Client), np.int64))
    """Clients by what they are."""
    views: I64 = field(default_factory=lambda: np.zeros(len(Client), np.int64))
    """Their views."""
    shared: int = 0
    """Addresses with several User-Agents."""
    addresses: int = 0
    hosts: dict[str, int] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)
    """Bad lines, by file and number: the first ones."""
    cut: list[str] = field(default_factory=list)
    """Files that could not be read to their ends."""
    counts: Counts = field(default_factory=Counts)
    has_referers: bool = False
    minutes: Bools = field(default_factory=lambda: np.zeros(60, np.bool_))
    """Minutes of the hour in which views were."""
    precision: int = 1

    @property
    def only_one_minute(self) -> bool:
        """Whether the times were tampered with: many views over hours, all of them in the same minute."""
        many = int(self.views.sum()) > MANY_VIEWS and self.last - self.first > 4 * 3600
        return many and self.precision < 3600 and int(self.minutes.sum()) == 1


@dataclass(frozen=True, slots=True)
class Asked:
    """What to read, and how."""

    hosts: Sequence[str] = ()
    """Names of the site; learned from the first lines if there are none."""
    ignored: Sequence[str] = ()
    timeout: int = TIMEOUT
    precision: int = 1
    """Seconds to which times are exact: lines within keep their order."""
    settings: Settings = field(default_factory=Settings)
    site: Callable[[Sequence[str]], Site] = lambda hosts: NO_SITE
    """Links of the site with these names."""


def labels(groups: Sequence[Sequence[Path]]) -> list[str]:
    """A name for each site: that of its first log, without endings, and with a number where names are equal."""
    names = [group[0].name.partition(".log")[0].partition(".gz")[0] or "log" for group in groups]
    names = ["standard input" if name == "-" else name for name in names]
    return [name if names.count(name) == 1 else f"{name} ({at + 1})" for at, name in enumerate(names)]


def gather(paths: Sequence[Path], name: str, asked: Asked | None = None, show: Show = lambda *_: None) -> Gathered:
    """The sessions of the users of one site."""
    asked = asked or Asked()
    found = Gathered(name, precision=asked.precision)
    with Spool() as spool:
        judge = _read(paths, asked, spool, found, show)
        found.left = judge.counts
        if not found.lines:
            raise UsageError(f"{' and '.join(map(str, paths))}: no line", "Name an access log with some lines.")
        site = asked.site(list(found.hosts))
        embeds = bool(judge.counts[Left.PART] * 20 > judge.counts.sum())
        for number, (hits, tallies) in enumerate(spool.buckets()):
            show("sessions", number / 256)
            _bucket(hits, tallies, embeds, site, asked, found)
    return found


def _read(paths: Sequence[Path], asked: Asked, spool: Spool, found: Gathered, show: Show) -> Judge:
    judge = Judge({host_number(host) for host in asked.hosts}, settings=asked.settings, ignored=asked.ignored)
    found.hosts = dict.fromkeys(asked.hosts, 0)
    begun = False
    for path in paths:
        log = Log(path)
        found.bytes += log.size
        read: Reader | None = None
        for block in log.blocks():
            if read is None:
                form, read = reader_of(block)
                found.formats.append(form)
            for fields in read(block):
                if not begun and len(fields.line):
                    begun = True
                    _learn(judge, fields, asked, found)
                hits, tallies, bad = judge.judge(fields)
                spool.add(hits, tallies)
                _note(found, path, fields, bad, hits)
            show(f"reading {path.name}: {found.lines:,} lines", log.part)
        if log.cut:
            found.cut.append(f"{path}: {log.cut}")
    return judge


def _learn(judge: Judge, fields: Fields, asked: Asked, found: Gathered) -> None:
    """The names of the site, and whether there are User-Agents."""
    few = Fields(fields.line, fields.bad, {name: each.take(slice(0, LOOKED_AT)) for name, each in fields.texts.items()})
    agent = few.texts["agent"]
    judge.agents = bool((agent.end > agent.begin).any())
    if not asked.hosts:
        found.hosts = hosts_of(few, asked.settings)
        judge.hosts = {host_number(host) for host in found.hosts}


def _note(found: Gathered, path: Path, fields: Fields, bad: I64, hits: Records) -> None:
    found.lines += len(fields.line) + len(fields.bad)
    wrong = [*fields.bad[:SHOWN].tolist(), *bad[:SHOWN].tolist()]
    found.bad += [f"{path}, line {line}" for line in wrong[: SHOWN - len(found.bad)]]
    if len(hits):
        first, last = int(hits["time"].min()), int(hits["time"].max())
        found.first = min(found.first or first, first)
        found.last = max(found.last, last)
        found.minutes[hits["time"] // 60 % 60] = True
        found.has_referers |= bool((hits["referer"] != 0).any())


def _bucket(hits: Records, tallies: Records, embeds: bool, site: Site, asked: Asked, found: Gathered) -> None:
    hits["time"] -= hits["time"] % asked.precision
    hits = hits[np.lexsort((hits["time"], hits["client"]))]
    clients, tallied, address = _added(tallies)
    at = np.searchsorted(clients, hits["client"])
    kind = _kinds(tallied, _pace(hits, at, len(clients), asked), _pretended(hits, at, len(clients)), embeds)
    found.clients += np.bincount(kind, minlength=len(Client))
    found.views += np.bincount(kind[at], minlength=len(Client))
    _, users = np.unique(address[kind == Client.USER], return_counts=True)
    found.addresses += len(users)
    found.shared += int((users > 1).sum())
    kept = hits[kind[at] == Client.USER]
    sessions = trace(kept, found.has_referers, site, asked.timeout)
    counts, first = found.counts, kept[sessions.first]
    counts.add(sessions)
    counts.home += int(np.where(sessions.added, first["from_home"], first["home"]).sum())
    counts.pages.add(kept["page"], kept["directories"])
    counts.entries.add(
        np.where(sessions.added, first["referer"], first["page"]),
        np.where(sessions.added, first["from_directories"], first["directories"]),
    )


def _added(tallies: Records) -> tuple[Array, dict[str, F64], Array]:
    """The clients, what each has asked for in all, and its address."""
    clients, first, place = np.unique(tallies["client"], return_index=True, return_inverse=True)
    sums = {name: np.asarray(np.bincount(place, tallies[name], len(clients)), np.float64) for name in COUNTED}
    return clients, sums, tallies["address"][first]


def _pace(hits: Records, at: I64, clients: int, asked: Asked) -> tuple[F64, F64, I64]:
    """By client: seconds between views that follow within a session, their number, the longest run of such views."""
    gap = np.diff(hits["time"], prepend=0)
    follows = (np.diff(at, prepend=-1) == 0) & (gap <= asked.timeout)
    run = np.cumsum(~follows)
    longest = np.zeros(clients, np.int64)
    if len(hits):
        np.maximum.at(longest, at, np.bincount(run)[run])
    gap += asked.precision - 1  # what is not known of a distance is no haste
    seconds = np.asarray(np.bincount(at[follows], gap[follows], clients), np.float64)
    return seconds, np.bincount(at[follows], minlength=clients).astype(np.float64), longest


def _pretended(hits: Records, at: I64, clients: int) -> Bools:
    """By client whether its views name pages of the site as Referers, and none that it has asked for."""
    inside = hits["referer"] > OUTSIDE
    asked = pair(hits["client"], hits["page"])
    true = inside & np.isin(pair(hits["client"], hits["referer"]), asked)
    found = (np.bincount(at[inside], minlength=clients) > 0) & (np.bincount(at[true], minlength=clients) == 0)
    return np.asarray(found)


def _kinds(tallied: dict[str, F64], pace: tuple[F64, F64, I64], pretended: Bools, embeds: bool) -> I64:
    """By client what it is: the first that holds."""
    seconds, steps, run = pace
    requests, views = tallied["requests"], tallied["views"]
    rules: list[Bools] = [
        (tallied["attacks"] > 0) | ((requests >= SCANS) & (tallied["errors"] > 0.9 * requests)),
        tallied["robots_txt"] > 0,
        tallied["named"] > 0,
        tallied["heads"] > 0.5 * requests,
        embeds & (views >= MANY) & (tallied["parts"] == 0) & (tallied["referers"] == 0),
        embeds & (tallied["parts"] == 0) & pretended,
        (views >= FAST) & (steps >= 0.5 * views) & (seconds <= QUICK * steps),
        run >= ENDLESS,
    ]
    return np.select(rules, list(range(len(rules))), Client.USER).astype(np.int64)
