"""The frames between desk and worker, and a tick of results as arrays.

Every frame is a uint32 length (of what follows), a uint8 `Type`, and the body, little-endian.

    desk to worker   SETTINGS  JSON: the settings a worker needs, fingerprint seed, scope
                     ARCHIVE   uint16 file number, path of the WARC file to append to from now on
                     ASSIGN    `ASSIGN` struct, then URL, address and version
                     STOP      finish what is open, then exit
    worker to desk   READY     empty: settings understood
                     RESULT    one `VISIT` record, its texts, its links (`LINK` records, then their URLs, then
                               their anchor texts), then lines about links that were seen and are not fetched, then
                               lines with the rows of plug-ins (`plugins/rows.py`)
                     FAULT     uint8 exit code, message, a zero byte, cure: the worker cannot continue

Every distinct link that may become a page is sent every time; the desk touches its text only when its fingerprint is
unknown. Links that are only counted are not sent: `VISIT["counted"]` has their number by class, and the lines at the
end (class, extension, domain, number; separated by tabs) say where they lead.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise
from typing import Final

import numpy as np

from gossamer.base.arrays import I64, U8, U16, U64, Bools, Records
from gossamer.base.model import VISIT, VISIT_TEXTS, Ask, Assignment, Texts, Visits, VisitTexts


class Type(IntEnum):
    SETTINGS = 1
    ARCHIVE = 2
    ASSIGN = 3
    STOP = 4
    READY = 5
    RESULT = 6
    FAULT = 7
    CLOCK = 8


HEAD: Final = struct.Struct("<IB")
ASSIGN: Final = struct.Struct("<QBQIIHBQdQBHHH")
"""number, ask, page, origin, site, port, alone, cap, not_before, proven, conditions, len(url), len(address),
len(version)"""
_ASSIGN_FRAME, _ASSIGN = struct.Struct(HEAD.format + ASSIGN.format[1:]), int(Type.ASSIGN)


def frame(kind: Type, *parts: bytes) -> bytes:
    return HEAD.pack(1 + sum(map(len, parts)), kind) + b"".join(parts)


def encode_assignment(a: Assignment) -> bytes:
    address = a.address.encode()
    fixed = _ASSIGN_FRAME.pack(
        1 + ASSIGN.size + len(a.url) + len(address) + len(a.version),
        _ASSIGN,
        a.number,
        a.ask,
        a.page,
        a.origin,
        a.site,
        a.port,
        a.alone,
        a.cap,
        a.not_before,
        a.proven,
        a.conditions,
        len(a.url),
        len(address),
        len(a.version),
    )
    return fixed + a.url + address + a.version


def decode_assignment(body: bytes) -> Assignment:
    fixed = ASSIGN.unpack_from(body)
    number, ask, page, origin, site, port, alone, cap, not_before, proven, conditions, *sizes = fixed
    url_end = ASSIGN.size + sizes[0]
    end = url_end + sizes[1]
    url, address, version = body[ASSIGN.size : url_end], body[url_end:end].decode(), body[end : end + sizes[2]]
    place = (number, Ask(ask), page, origin, site, url, address, port)
    return Assignment(*place, bool(alone), cap, not_before, proven, version, conditions)


_DETAIL: Final = VISIT_TEXTS.index("detail")

LINK: Final = np.dtype(
    [
        ("fingerprint", "<u8"),
        ("origin", "<u8"),  # fingerprint of the target's origin
        ("kind", "u1"),  # LinkKind
        ("flags", "u1"),  # LinkFlag
        ("tag", "u1"),  # Tag
        ("position", "<u2"),  # ordinal of the element among those of its tag
        ("length", "<u2"),  # bytes of the URL
        ("anchor", "<u2"),  # bytes of the text of the link
    ]
)


@dataclass(frozen=True, slots=True)
class Links:
    """Links as columns: of one page, or of all pages of a tick one after the other."""

    fingerprint: U64
    origin: U64
    """Fingerprint of the target's origin."""
    kind: U8
    flags: U8
    texts: Texts
    tag: U8
    position: U16
    anchors: Texts
    """Anchor texts, in UTF-8; mostly empty."""

    def __len__(self) -> int:
        return len(self.fingerprint)

    @staticmethod
    def none() -> Links:
        return Links.of(np.zeros(0, LINK), b"", b"")

    @staticmethod
    def plain(fingerprint: U64, origin: U64, kind: U8, flags: U8, texts: Texts) -> Links:
        """Links without anchor texts, tags and positions."""
        n = len(fingerprint)
        nothing = Texts(np.zeros(n, np.uint16), b"")
        return Links(fingerprint, origin, kind, flags, texts, np.zeros(n, np.uint8), np.zeros(n, np.uint16), nothing)

    @staticmethod
    def of(records: Records, texts: bytes, anchors: bytes) -> Links:
        columns = (np.ascontiguousarray(records[name]) for name in LINK.names or ())
        fingerprint, origin, kind, flags, tag, position, lengths, anchor_lengths = columns
        text, anchor = Texts(lengths, texts), Texts(anchor_lengths, anchors)
        return Links(fingerprint, origin, kind, flags, text, tag, position, anchor)

    def where(self, mask: Bools) -> Links:
        """The links for which the mask is true."""
        return self._rows(mask, _selected(self.texts, mask), _selected(self.anchors, mask))

    def pieces(self, size: int) -> list[Links]:
        """The links in order, in pieces of at most `size`."""
        texts_at, anchors_at = self.texts.offsets(), self.anchors.offsets()
        parts = [slice(i, min(i + size, len(self))) for i in range(0, len(self), size)]
        return [
            self._rows(part, _part(self.texts, part, texts_at), _part(self.anchors, part, anchors_at)) for part in parts
        ]

    def _rows(self, rows: Bools | slice, texts: Texts, anchors: Texts) -> Links:
        columns = (self.fingerprint[rows], self.origin[rows], self.kind[rows], self.flags[rows])
        return Links(*columns, texts, self.tag[rows], self.position[rows], anchors)

    def records(self) -> Records:
        out = np.empty(len(self), LINK)
        for name in ("fingerprint", "origin", "kind", "flags", "tag", "position"):
            out[name] = getattr(self, name)
        out["length"], out["anchor"] = self.texts.lengths, self.anchors.lengths
        return out


def _packed(dtype: np.dtype[np.void]) -> struct.Struct:
    """A `Struct` that packs the values of one record: arrays value by value, arrays of octets as bytes. It takes a
    tenth of the time of numpy, which reads the values as objects."""
    codes = {"|u1": "B", "<u2": "H", "<u4": "I", "<u8": "Q", "<f4": "f", "<f8": "d"}
    parts = []
    for name in dtype.names or ():
        base, (count,) = dtype[name].base, dtype[name].shape or (1,)
        parts.append(f"{count}{'s' if dtype[name].shape and base.str == '|u1' else codes[base.str]}")
    return struct.Struct("<" + "".join(parts))


pack_visit: Final = _packed(VISIT).pack
"""Packs the values of a `VISIT` record into bytes."""
pack_link: Final = _packed(LINK).pack


def _selected(texts: Texts, mask: Bools) -> Texts:
    buffer = np.frombuffer(texts.buffer, np.uint8)[np.repeat(mask, texts.lengths)]
    return Texts(texts.lengths[mask], buffer.tobytes())


def _part(texts: Texts, rows: slice, offsets: I64) -> Texts:
    return Texts(texts.lengths[rows], texts.buffer[offsets[rows.start] : offsets[rows.stop]])


def encode_result(visit: Visits, texts: Sequence[bytes], links: Links, seen: bytes = b"", rows: bytes = b"") -> bytes:
    """A RESULT frame. `visit` is one record of `VISIT`; its `texts`, `links` and `seen` are filled in here."""
    visit["texts"] = [len(t) for t in texts]
    visit["links"] = len(links)
    visit["seen"] = len(seen)
    ends = links.records().tobytes(), links.texts.buffer, links.anchors.buffer
    return frame(Type.RESULT, visit.tobytes(), *texts, *ends, seen, rows)


NO_ROWS: Final = Texts(np.zeros(0, "<u4"), b"")


@dataclass(frozen=True, slots=True)
class Results:
    """All results of a tick: visits in order of arrival, and their texts and links one after the other."""

    visits: Visits
    texts: bytes
    """`VISIT_TEXTS` of the first visit, of the second, …"""
    links: Links
    """`visits["links"]` says how many belong to each visit."""
    seen: bytes = b""
    """Lines about links that were seen and are not fetched: `visits["seen"]` bytes of each visit."""
    rows: Texts = NO_ROWS
    """Lines with the rows of plug-ins, for each visit; empty if none of them has any."""

    def __len__(self) -> int:
        return len(self.visits)

    def visit_texts(self) -> VisitTexts:
        """The texts by visit and name."""
        return VisitTexts(self.visits, self.texts)

    def text(self, i: int, name: str) -> bytes:
        """One text of visit `i`."""
        return self.visit_texts().text(i, name)

    def detail_of(self, i: int) -> str:
        """What went wrong with visit `i`, in words."""
        return self.text(i, "detail").decode(errors="replace")

    def with_details(self, words: Mapping[int, bytes]) -> Results:
        """The same results with other details, given by index of the visit."""
        parts = Texts(self.visits["texts"].reshape(-1), self.texts).split()
        for i, text in words.items():
            parts[i * len(VISIT_TEXTS) + _DETAIL] = text
            self.visits["texts"][i, _DETAIL] = len(text)
        return replace(self, texts=b"".join(parts))


def decode_results(bodies: Sequence[bytes]) -> Results:
    """`bodies`: RESULT frames without their heads, in order of arrival."""
    if not bodies:
        return Results(np.zeros(0, VISIT), b"", Links.none())
    size = VISIT.itemsize
    # a bytearray, so that the records can be written to: copying them would go field by field
    visits = np.frombuffer(bytearray(b"".join([b[:size] for b in bodies])), VISIT)
    ends = (size + visits["texts"].sum(axis=1)).tolist()
    counts = visits["links"].tolist()
    links_end = [end + LINK.itemsize * count for end, count in zip(ends, counts, strict=True)]
    records = np.frombuffer(b"".join([b[a:z] for b, a, z in zip(bodies, ends, links_end, strict=True)]), LINK)
    urls, anchors = _per_visit(counts, records["length"]), _per_visit(counts, records["anchor"])
    texts, url_texts, anchor_texts, seen, rows = [], [], [], [], []
    lengths = visits["seen"].tolist()
    for body, end, at, n_url, n_anchor, n_seen in zip(bodies, ends, links_end, urls, anchors, lengths, strict=True):
        texts.append(body[size:end])
        url_texts.append(body[at : at + n_url])
        anchor_texts.append(body[at + n_url : (at := at + n_url + n_anchor)])
        seen.append(body[at : at + n_seen])
        rows.append(body[at + n_seen :])
    links = Links.of(records, b"".join(url_texts), b"".join(anchor_texts))
    of_plugins = Texts.join(rows) if any(rows) else NO_ROWS
    return Results(visits, b"".join(texts), links, b"".join(seen), of_plugins)


def _per_visit(counts: Sequence[int], lengths: U16) -> list[int]:
    """For each visit, the sum of `lengths` over its links."""
    totals = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return [end - before for before, end in pairwise((0, *totals[np.cumsum(counts)].tolist()))]
