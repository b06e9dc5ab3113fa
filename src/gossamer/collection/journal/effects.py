"""Effects: everything that one tick changes, as arrays. The unit of the journal and of recovery.

A tick is applied only from its effects. Live, the effects are computed, journalled and then applied; in recovery the
same `apply` gets the same arrays, from journal records or from sealed segments. So the state after a replay equals the
state before the kill: the same function made both.

*Asides* (`anchors`, `seen`, `hints`, `rows`) change no state: they pass through the journal into tables of their own
and are not read back. Recovery gets `Effects.essential`.

In a journal record an `Effects` is `HEAD` (tick number, wall and monotonic time, correction of the clock), then
sections: a uint8 id, a uint32 number of bytes, and the bytes. Empty sections are left out; an unknown id is an error of
format version.

Order of application: sites, origins, pages, robots, visits with their links, verdicts, site events, orders. Sites,
origins and pages are numbered in order: the first new number of a tick is the count before the tick.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np

from gossamer.base.arrays import U8, U16, U32, Array, Records
from gossamer.base.errors import GossamerError
from gossamer.base.model import VISIT, Texts, VisitTexts
from gossamer.base.outcomes import FOR_GOOD

HEAD: Final = struct.Struct("<QdddIII")
SECTION: Final = struct.Struct("<BI")

ORIGIN: Final = np.dtype([("site", "<u4"), ("port", "<u2"), ("secure", "u1")])

PAGE: Final = np.dtype(
    [
        ("fingerprint", "<u8"),
        ("site", "<u4"),
        ("origin", "<u4"),
        ("source", "<u4"),  # page it was found on, NONE for seeds
        ("depth", "u1"),
        ("flags", "u1"),  # PageFlag
        ("kind", "u1"),  # LinkKind it was found by
        ("state", "u1"),  # State: PENDING or EXCLUDED
        ("reason", "u1"),  # Reason
    ]
)

VERDICT: Final = np.dtype([("page", "<u4"), ("state", "u1"), ("reason", "u1"), ("judged", "u1")])
"""`judged`: VerdictFlag."""

HINT: Final = np.dtype([("page", "<u4"), ("lastmod", "<f8")])
"""A sitemap says that the page was last modified at this wall time."""

SITE_EVENT: Final = np.dtype(
    [
        ("site", "<u4"),
        ("event", "u1"),  # SiteEvent
        ("failures", "u1"),  # lookups that failed in a row; OWNED: where the proof was shown
        ("port", "<u2"),  # port to use instead of the origin's; 0: the origin's; ROBOTS_AWAY: that of the origin;
        # SESSION_PROVEN: place of the parameter
        ("time", "<f8"),  # wall
        ("until", "<f8"),  # wall: RESOLVED, MOVED: address valid until; others: site not requested before
        ("address", "u1", (16,)),  # IPv6, or IPv4 mapped
    ]
)


class SiteEvent(IntEnum):
    """What can happen to a site."""

    RESOLVED = 1
    NAME_FAILED = 2
    FORBIDDEN_ADDRESS = 3
    PATIENCE = 4
    """Not requested before `until`: learned from records behind the last commit mark."""
    RESPELLED = 5
    """Host alias switched: requested with `www.` from now on, or without it, since the other name did not work."""
    NAME_AGAIN = 6
    """Its name is looked up again at once: the settings under which it failed have changed."""
    ROBOTS_AWAY = 7
    """Not requested before `until`: its robots.txt has moved to a site that cannot be requested. For the origin with
    that port, robots.txt counts as unreadable."""
    MOVED = 8
    """As RESOLVED, and its name no longer has the former address. Verdicts of the same tick open the pages that were
    duplicates of its pages, and its own pages that were duplicates (A.2.4)."""
    SLOWED = 9
    """Its factor doubles once more, because of an answer behind the last commit mark. `until` as for PATIENCE."""
    SITEMAPS_READ = 10
    """Its sitemaps were read, or could not be read: they are not requested again before `until`."""
    SITEMAP_TAKEN = 11
    """All pages that one of its sitemaps lists are known: the sitemap is not requested again in this round. `address`
    begins with the fingerprint of its canonical URL."""
    DELAY_AGAIN = 12
    """The site asked for too long a delay, long ago: its robots.txt is read again."""
    SESSION_PROVEN = 13
    """Pairs of its pages prove that a parameter carries a session. `port` has its place in `seeder.session_ids`."""
    OWNED = 14
    """The site has proven to be the operator's, which counts until `until`. `address` begins with the first half of
    the proof, `failures` says where it was shown (`harvester/owned.py`)."""
    DISOWNED = 15
    """The site no longer proves to be the operator's, or was not asked in time. Like other sites, it is not requested
    before `until`."""
    FORGOTTEN = 16
    """The site is to be forgotten: it is not requested any more."""
    ADDRESS_REFUSED = 3
    """The name of FORBIDDEN_ADDRESS in the first tables of format 1: read, not written."""


_NO_ADDRESS: Final = (0,) * 16


class SiteNews(NamedTuple):
    """A site event before it becomes a row of an array. Each kind has a constructor that says what its fields mean."""

    site: int
    event: SiteEvent
    failures: int
    port: int
    time: float
    until: float
    address: Sequence[int] = _NO_ADDRESS

    @classmethod
    def resolved(cls, site: int, address: bytes, port: int, time: float, until: float, moved: bool) -> SiteNews:
        """The name has this address until `until`; `moved`: it no longer has the former address."""
        return cls(site, SiteEvent.MOVED if moved else SiteEvent.RESOLVED, 0, port, time, until, tuple(address))

    @classmethod
    def name_failed(cls, site: int, failures: int, time: float, until: float, forbidden: bool) -> SiteNews:
        """The name has no address, or only a `forbidden` address: the site is not requested before `until`."""
        event = SiteEvent.FORBIDDEN_ADDRESS if forbidden else SiteEvent.NAME_FAILED
        return cls(site, event, failures, 0, time, until)

    @classmethod
    def patience(cls, site: int, time: float, until: float) -> SiteNews:
        """The site is not requested before `until`."""
        return cls(site, SiteEvent.PATIENCE, 0, 0, time, until)

    @classmethod
    def slowed(cls, site: int, time: float, until: float) -> SiteNews:
        """The factor of the site doubles, and it is not requested before `until`."""
        return cls(site, SiteEvent.SLOWED, 0, 0, time, until)

    @classmethod
    def respelled(cls, site: int, time: float) -> SiteNews:
        """The site switches to its other name."""
        return cls(site, SiteEvent.RESPELLED, 0, 0, time, 0.0)

    @classmethod
    def name_again(cls, site: int, time: float) -> SiteNews:
        """The name of the site is looked up again at once."""
        return cls(site, SiteEvent.NAME_AGAIN, 0, 0, time, 0.0)

    @classmethod
    def robots_away(cls, site: int, port: int, time: float, until: float) -> SiteNews:
        """`port`: the port of the origin whose robots.txt has moved."""
        return cls(site, SiteEvent.ROBOTS_AWAY, 0, port, time, until)

    @classmethod
    def sitemaps_read(cls, site: int, time: float, until: float) -> SiteNews:
        """The sitemaps of the site are not requested again before `until`."""
        return cls(site, SiteEvent.SITEMAPS_READ, 0, 0, time, until)

    @classmethod
    def sitemap_taken(cls, site: int, fingerprint: int, time: float) -> SiteNews:
        """The fingerprint of the sitemap's canonical URL is stored in the field of the address."""
        stored = (*fingerprint.to_bytes(8, "little"), *_NO_ADDRESS[8:])
        return cls(site, SiteEvent.SITEMAP_TAKEN, 0, 0, time, 0.0, stored)

    @classmethod
    def delay_again(cls, site: int, time: float) -> SiteNews:
        """The robots.txt of the site, which asked for too long a delay, is read again."""
        return cls(site, SiteEvent.DELAY_AGAIN, 0, 0, time, 0.0)

    @classmethod
    def session_proven(cls, site: int, parameter: int, time: float) -> SiteNews:
        """`parameter`: its place in `seeder.session_ids`, stored in the field of the port."""
        return cls(site, SiteEvent.SESSION_PROVEN, 0, parameter, time, 0.0)

    @classmethod
    def owned(cls, site: int, place: int, proof: str, time: float, until: float) -> SiteNews:
        """The site has shown this proof at this place (`harvester/owned.py`). Half of it fits into the address."""
        return cls(site, SiteEvent.OWNED, place, 0, time, until, tuple(bytes.fromhex(proof)[:16]))

    @classmethod
    def disowned(cls, site: int, time: float, until: float) -> SiteNews:
        """The site has the waits of everybody's sites again, and is not requested before `until`."""
        return cls(site, SiteEvent.DISOWNED, 0, 0, time, until)

    @classmethod
    def forgotten(cls, site: int, time: float) -> SiteNews:
        """The site is not requested any more, until it is forgotten."""
        return cls(site, SiteEvent.FORGOTTEN, 0, 0, time, FOR_GOOD)


def taken_sitemap(event: Any) -> int:
    """The fingerprint in an event that `SiteNews.sitemap_taken` made."""
    return int.from_bytes(event["address"].tobytes()[:8], "little")


class Verdict(NamedTuple):
    """A decision on a page: its new state, and why."""

    page: int
    state: int
    reason: int
    judged: int
    """VerdictFlag."""


class _Id(IntEnum):
    """Ids of the sections of a journal record."""

    SITES = 1
    SITE_LENGTHS = 2
    ORIGINS = 3
    PAGES = 4
    URL_LENGTHS = 5
    URLS = 6
    VISITS_1 = 7
    """Visits of format 1: read, not written."""
    VISIT_TEXTS = 8
    LINK_TARGETS = 9
    LINK_KINDS = 10
    VERDICTS = 11
    SITE_EVENTS = 12
    LINK_TAGS = 13
    LINK_POSITIONS = 14
    ANCHOR_LENGTHS = 15
    ANCHORS = 16
    SEEN = 17
    SITES_WWW = 18
    VISITS_2 = 19
    """Without preferences: read, not written."""
    VISITS_3 = 20
    """Without traps: read, not written."""
    VISITS_4 = 21
    """Without changes: read, not written."""
    VISITS = 22
    HINTS = 40
    HINTED_BY = 41
    ROW_LENGTHS = 42
    ROWS = 43
    ORDER_LENGTHS = 44
    ORDERS = 45


def _older(without: tuple[str, ...] = (), **counts: int) -> np.dtype[np.void]:
    """An earlier layout of `VISIT`: `without` these fields, and with fewer classes (`counted`) or texts."""
    return np.dtype(
        [
            (name, VISIT[name].base, (counts[name],)) if name in counts else (name, VISIT[name])
            for name in VISIT.names or ()
            if name not in without
        ]
    )


_CHANGES: Final = ("lifetime", "change", "numberless", "validators")
_OLDER: Final = {
    _Id.VISITS_1: _older(("sketch", "payload", "seen", *_CHANGES), counted=13, texts=10),
    _Id.VISITS_2: _older(_CHANGES, counted=14, texts=12),
    _Id.VISITS_3: _older(_CHANGES, counted=14),
    _Id.VISITS_4: _older(_CHANGES),
}
"""Layouts of visits in older journals."""


def _renewed(old: Records) -> Records:
    """Visits of an older layout, in the current layout."""
    visits = np.zeros(len(old), VISIT)
    for name in old.dtype.names or ():
        if name in ("counted", "texts"):
            visits[name][:, : old[name].shape[1]] = old[name]
        else:
            visits[name] = old[name]
    return visits


def concatenated(records: Sequence[Records]) -> Records:
    """Like `np.concatenate`, which compares the types of all arrays field by field: 30 µs each, a quarter of the time
    that sealing takes."""
    return np.frombuffer(b"".join([each.tobytes() for each in records]), records[0].dtype)


_NO_TEXTS: Final = Texts(np.zeros(0, "<u2"), b"")


def _empty(dtype: np.dtype[np.void] | str) -> Callable[[], Array]:
    """Returns the same empty array every time: numpy takes 2 µs to make an array."""
    nothing = np.zeros(0, dtype)
    return lambda: nothing


@dataclass(slots=True)
class Effects:
    """Everything that one tick changes; see the top of this file."""

    tick: int
    wall: float
    monotonic: float
    first_site: int = 0
    first_origin: int = 0
    first_page: int = 0
    sites: Texts = _NO_TEXTS
    """Names of new sites."""
    origins: Records = field(default_factory=_empty(ORIGIN))
    pages: Records = field(default_factory=_empty(PAGE))
    urls: Texts = _NO_TEXTS
    """URLs of `pages`."""
    visits: Records = field(default_factory=_empty(VISIT))
    """Visits of pages, robots.txt, sitemaps and probes, in order of absorption."""
    visit_texts: bytes = b""
    link_targets: U32 = field(default_factory=_empty("<u4"))
    """Known pages that the visited pages link to; `visits["links"]` says how many belong to each visit."""
    link_kinds: U8 = field(default_factory=_empty("u1"))
    """LinkKind | LinkFlag << 4."""
    verdicts: Records = field(default_factory=_empty(VERDICT))
    site_events: Records = field(default_factory=_empty(SITE_EVENT))
    sites_www: U8 = field(default_factory=_empty("u1"))
    """For each new site: whether its host was written with `www.` when it was found."""
    link_tags: U8 = field(default_factory=_empty("u1"))
    """`Tag` of each link; an aside, together with `link_positions` and `anchors`."""
    link_positions: U16 = field(default_factory=_empty("<u2"))
    anchors: Texts = _NO_TEXTS
    """Texts of the links."""
    seen: bytes = b""
    """Lines on what the visits saw but did not fetch (`web/message.py`), `visits["seen"]` bytes each; an aside."""
    hints: Records = field(default_factory=_empty(HINT))
    """What a sitemap says about pages; an aside."""
    hinted_by: bytes = b""
    """URL of that sitemap."""
    rows: Texts = _NO_TEXTS
    """Lines with the rows that plug-ins returned (`plugins/rows.py`), for each visit; empty if none of them has any. An
    aside."""
    orders: Texts = _NO_TEXTS
    """Orders of the user (`collection/steering.py`)."""
    clock: float = 0.0
    """Seconds by which the clock is corrected after this tick: all stored times move as far. 0: it is not."""

    def essential(self) -> Effects:
        """The effects without the asides."""
        visits = self.visits.copy()
        visits["seen"] = 0
        nothing = Effects(self.tick, self.wall, self.monotonic)
        return replace(self, visits=visits, **{name: getattr(nothing, name) for name in _ASIDES})

    def texts(self) -> VisitTexts:
        """The texts of the visits."""
        return VisitTexts(self.visits, self.visit_texts)

    def __bool__(self) -> bool:
        texts = self.sites.lengths, self.orders.lengths
        changes = (*texts, self.origins, self.pages, self.visits, self.verdicts, self.site_events)
        return any(map(len, changes)) or self.clock != 0.0

    def encode(self) -> bytes:
        """The body of a journal record."""
        firsts = self.first_site, self.first_origin, self.first_page
        parts = [HEAD.pack(self.tick, self.wall, self.monotonic, self.clock, *firsts)]
        for name, (section, dtype, lengths) in _SECTIONS.items():
            value = getattr(self, name)
            if lengths is not None and len(value.lengths):
                raw = value.lengths.tobytes()
                parts += [SECTION.pack(lengths, len(raw)), raw]
            data = value.buffer if lengths is not None else value if dtype is None else value.tobytes()
            if data:
                parts += [SECTION.pack(section, len(data)), data]
        return b"".join(parts)

    @staticmethod
    def decode(body: bytes) -> Effects:
        """The effects in the body of a journal record; raises GossamerError if it is not such a body."""
        try:
            return Effects._decoded(body)
        except (struct.error, ValueError) as error:
            raise GossamerError(
                f"a journal record cannot be decoded: {error}", "Restore the file from a backup, and check the disk."
            ) from error

    @staticmethod
    def _decoded(body: bytes) -> Effects:
        tick, wall, monotonic, clock, *firsts = HEAD.unpack_from(body)
        found: dict[int, bytes] = {}
        at = HEAD.size
        while at < len(body):
            section, size = SECTION.unpack_from(body, at)
            at += SECTION.size
            found[section] = body[at : at + size]
            at += size
        unknown = set(found) - set(_Id)
        if unknown or at != len(body):
            raise GossamerError(
                f"the journal record of tick {tick} has sections that this version does not know: {sorted(unknown)}",
                "Use the version of Gossamer that wrote it, or a newer one.",
            )
        fields: dict[str, Any] = {"clock": clock}
        for name, (section, dtype, lengths) in _SECTIONS.items():
            raw = found.get(section, b"")
            if lengths is not None:
                fields[name] = Texts(np.frombuffer(found.get(lengths, b""), dtype), raw)
            else:
                fields[name] = raw if dtype is None else np.frombuffer(raw, dtype)
        for section, dtype in _OLDER.items():
            if section in found:
                fields["visits"] = _renewed(np.frombuffer(found[section], dtype))
        return Effects(tick, wall, monotonic, *firsts, **fields)


class _Section(NamedTuple):
    """How a field of `Effects` is stored."""

    id: _Id
    dtype: np.dtype[np.void] | str | None = None
    """Type of its elements, or of the lengths of its texts; None for bytes."""
    lengths: _Id | None = None
    """Section with the lengths of its texts, which comes first."""


_SECTIONS: Final = {
    "sites": _Section(_Id.SITES, "<u2", _Id.SITE_LENGTHS),
    "origins": _Section(_Id.ORIGINS, ORIGIN),
    "pages": _Section(_Id.PAGES, PAGE),
    "urls": _Section(_Id.URLS, "<u2", _Id.URL_LENGTHS),
    "visits": _Section(_Id.VISITS, VISIT),
    "visit_texts": _Section(_Id.VISIT_TEXTS),
    "link_targets": _Section(_Id.LINK_TARGETS, "<u4"),
    "link_kinds": _Section(_Id.LINK_KINDS, "u1"),
    "verdicts": _Section(_Id.VERDICTS, VERDICT),
    "site_events": _Section(_Id.SITE_EVENTS, SITE_EVENT),
    "link_tags": _Section(_Id.LINK_TAGS, "u1"),
    "link_positions": _Section(_Id.LINK_POSITIONS, "<u2"),
    "anchors": _Section(_Id.ANCHORS, "<u2", _Id.ANCHOR_LENGTHS),
    "seen": _Section(_Id.SEEN),
    "sites_www": _Section(_Id.SITES_WWW, "u1"),
    "hints": _Section(_Id.HINTS, HINT),
    "hinted_by": _Section(_Id.HINTED_BY),
    "rows": _Section(_Id.ROWS, "<u4", _Id.ROW_LENGTHS),
    "orders": _Section(_Id.ORDERS, "<u2", _Id.ORDER_LENGTHS),
}
"""Fields in the order in which they are written."""
_ASIDES: Final = ("link_tags", "link_positions", "anchors", "seen", "hints", "hinted_by", "rows")
