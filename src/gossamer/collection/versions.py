"""Versions of pages: what a visit saw of a page, in some 80 bytes, so that the next visit can be compared with it.

Every visit that brings a page or its redirect adds a version: `HEAD` (digests, sketch, place in the archive), then the
validators ETag and Last-Modified as they came. Versions are numbered in the order in which visits are applied, so every
replay gives them the same numbers. The desk keeps the number of each page's last version (`harvester/versions.py`).

The texts are in a block file (`blocks.py`), whose name has the number of its first version: a collection of an earlier
version of Gossamer gets the file when it is opened, and the versions before that are numbered but not kept. Like URLs,
versions are in the segments or the journal too, from which `gossamer verify --repair` makes the file again.

Invariants, each a test of the same name: a replay gives the same versions; nothing that a server says breaks a version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
from xxhash import xxh3_64_intdigest

from gossamer.base.arrays import Array, Bools
from gossamer.base.model import NONE, VISIT_TEXTS, Ask, Change, Outcome, VisitFlag, Visits, VisitTexts
from gossamer.collection.blocks import BlockFile, Offsets
from gossamer.collection.journal.effects import Effects
from gossamer.collection.layout import VERSIONS

NEAR: Final = 3
"""Most bits, of 64, in which the sketches of two versions differ if the change is minor (Manku, Jain, Das Sarma)."""
HEAD: Final = np.dtype(
    [
        ("payload", "u1", (20,)),
        ("digest", "<u8"),  # of a redirect: of its target
        ("sketch", "<u8"),
        ("numberless", "<u8"),
        ("warc_file", "<u2"),
        ("warc_offset", "<u8"),  # 0: not archived
        ("redirect", "u1"),
        ("etag", "<u2"),  # bytes of the ETag; the rest is Last-Modified
    ]
)
_COPIED: Final = ("payload", "digest", "sketch", "numberless", "warc_file", "warc_offset")
_UNPACK: Final = Struct("<20sQQQHQBH").unpack_from
_BRING: Final = np.zeros(256, np.bool_)
_BRING[[Outcome.OK, Outcome.DUPLICATE, Outcome.REDIRECT, Outcome.FORGOTTEN]] = True
_REDIRECT, _PAGE, _RESPELLED = int(Outcome.REDIRECT), int(Ask.PAGE), int(VisitFlag.RESPELLED)
_ETAG: Final = VISIT_TEXTS.index("etag")
assert VISIT_TEXTS[_ETAG + 1] == "last_modified"
_NAME: Final = re.compile(rf"{VERSIONS}/(\d{{12}})\.blocks")
_NO_PAYLOAD: Final = bytes(20)


class Version(NamedTuple):
    """What a visit saw of a page."""

    payload: bytes = _NO_PAYLOAD
    """SHA-1 of the body as archived; zeros if it was not."""
    digest: int = 0
    sketch: int = 0
    numberless: int = 0
    warc_file: int = 0
    warc_offset: int = 0
    """Where its record is in the archive; 0: it is not."""
    redirect: bool = False
    etag: bytes = b""
    modified: bytes = b""
    """Last-Modified."""

    @staticmethod
    def read(text: bytes) -> Version:
        payload, digest, sketch, numberless, file, offset, redirect, length = _UNPACK(text)
        end = HEAD.itemsize + length
        etag, modified = text[HEAD.itemsize : end], text[end:]
        return Version(payload, digest, sketch, numberless, file, offset, bool(redirect), etag, modified)

    def change_to(self, now: Version) -> Change:
        """The change from this version to a later one."""
        if self.redirect or now.redirect:
            return Change.NONE if self.redirect == now.redirect and self.digest == now.digest else Change.MAJOR
        if _equal(self.payload, now.payload) or _equal(self.digest, now.digest):
            return Change.NONE
        if not (self.comparable and now.comparable):
            return Change.UNKNOWN
        near = self.sketch and now.sketch and (self.sketch ^ now.sketch).bit_count() <= NEAR
        return Change.MINOR if near or _equal(self.numberless, now.numberless) else Change.MAJOR

    @property
    def comparable(self) -> bool:
        return bool(self.numberless or self.digest) or self.payload != _NO_PAYLOAD


def _equal(one: bytes | int, other: bytes | int) -> bool:
    """Whether two digests are equal; zero is none."""
    return one == other and bool(one) and one != _NO_PAYLOAD


def target_digest(target: bytes) -> int:
    """The digest of a redirect's target."""
    return xxh3_64_intdigest(target)


def bring(visits: Visits) -> Bools:
    """Which visits bring a version of their page. A redirect to the same page under the site's other name does not.
    What was forgotten keeps the number of its version, so that all others keep theirs."""
    of_page = (visits["ask"] == _PAGE) & (visits["page"] != NONE) & (visits["flags"] & _RESPELLED == 0)
    found: Bools = of_page & _BRING[visits["outcome"]]
    return found


def versions_of(effects: Effects, most: int | None = None) -> list[bytes]:
    """The texts of the versions that the visits of a tick bring, in order; the last `most` of them."""
    visits = effects.visits
    rows = np.flatnonzero(bring(visits))
    if most is not None:
        rows = rows[len(rows) - most :] if len(rows) > most else rows
    if not len(rows):
        return []
    chosen, lengths = visits[rows], visits["texts"]
    heads = np.zeros(len(rows), HEAD)
    for name in _COPIED:
        heads[name] = chosen[name]
    heads["warc_offset"][chosen["warc_end"] == 0] = 0
    heads["etag"] = chosen["texts"][:, _ETAG]
    moved = np.flatnonzero(chosen["outcome"] == _REDIRECT)
    if len(moved):
        heads["redirect"][moved] = 1
        texts = VisitTexts(visits, effects.visit_texts)
        heads["digest"][moved] = [target_digest(texts.text(i, "redirect")) for i in rows[moved].tolist()]
    own = chosen["texts"].astype(np.int64)
    starts = np.cumsum(lengths.sum(axis=1, dtype=np.int64))[rows] - own[:, _ETAG:].sum(axis=1)
    ends = starts + own[:, _ETAG : _ETAG + 2].sum(axis=1)
    raw, size, buffer = heads.tobytes(), HEAD.itemsize, effects.visit_texts
    places = zip(range(0, len(raw), size), starts.tolist(), ends.tolist(), strict=True)
    return [raw[at : at + size] + buffer[a:b] for at, a, b in places]


class VersionFile:
    """The block file of versions: those from number `first` on."""

    def __init__(self, path: Path, offsets: Offsets | None = None) -> None:
        self.name, self.first = f"{VERSIONS}/{path.name}", int(path.name[:12])
        self.blocks = BlockFile(path, offsets)

    @staticmethod
    def open(
        shard: Path, lengths: Mapping[str, int], count: int, last: Sequence[bytes], offsets: Offsets
    ) -> VersionFile:
        """The file that the last mark names, or a new one. `count`: number of versions; `last`: the last of them, as
        many as do not fill a block yet, or more."""
        name = name_in(lengths)
        file = VersionFile(shard / (name or f"{VERSIONS}/{count:012d}.blocks"), offsets if name else None)
        kept = min(len(last), count - file.first)
        file.blocks.put(count - kept - file.first, last[len(last) - kept :])
        return file

    def read(self, numbers: Array) -> list[bytes]:
        """The texts of these versions; b"" for one that is not kept."""
        kept = numbers >= self.first
        texts = iter(self.blocks.read_many(numbers[kept] - self.first))
        return [next(texts) if here else b"" for here in kept.tolist()]

    def append(self, texts: Iterable[bytes]) -> None:
        self.blocks.append(texts)


def name_in(lengths: Mapping[str, int]) -> str | None:
    """The name of the file of versions among the files of a mark; None: there is none."""
    return next((name for name in lengths if _NAME.fullmatch(name)), None)


def first_of(name: str) -> int:
    """The number of the first version in a file of this name."""
    return int(name[-len("000000000000.blocks") :][:12])
