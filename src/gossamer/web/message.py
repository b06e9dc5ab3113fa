"""The frames between desk and worker, and a tick of results as arrays.

Every frame is a uint32 length (of what follows), a uint8 `Type`, and the body, little-endian.

    desk to worker   SETTINGS  JSON: the settings a worker needs, fingerprint seed, scope
                     ARCHIVE   uint16 file number, path of the WARC file to append to from now on
                     ASSIGN    `ASSIGN` struct, then URL and address
                     STOP      finish what is open, then leave
    worker to desk   READY     empty: settings understood
                     RESULT    one `VISIT` record, its texts, then its links:
                               uint64 fingerprint[n], uint64 origin fingerprint[n], uint8 kind[n], uint8 flags[n],
                               uint16 length[n], texts
                     FAULT     uint8 exit code, what went wrong, a zero byte, what mends it: the worker can't go on

Every distinct link that may become a page crosses every time; the desk touches a text only when its fingerprint is
unknown. Links that are only counted do not cross: `VISIT["counted"]` has them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from gossamer.model import VISIT, VISIT_TEXTS, Ask, Assignment, Texts, Visits

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U64 = npt.NDArray[np.uint64]


class Type(IntEnum):
    SETTINGS = 1
    ARCHIVE = 2
    ASSIGN = 3
    STOP = 4
    READY = 5
    RESULT = 6
    FAULT = 7


HEAD: Final = struct.Struct("<IB")
ASSIGN: Final = struct.Struct("<QBQIIHBHH")  # number, ask, page, origin, site, port, alone, len(url), len(address)


def frame(kind: Type, *parts: bytes) -> bytes:
    return HEAD.pack(1 + sum(map(len, parts)), kind) + b"".join(parts)


def encode_assignment(a: Assignment) -> bytes:
    address = a.address.encode()
    fixed = ASSIGN.pack(a.number, a.ask, a.page, a.origin, a.site, a.port, a.alone, len(a.url), len(address))
    return frame(Type.ASSIGN, fixed, a.url, address)


def decode_assignment(body: bytes) -> Assignment:
    number, ask, page, origin, site, port, alone, url, address = ASSIGN.unpack_from(body)
    at = ASSIGN.size
    return Assignment(
        number, Ask(ask), page, origin, site, body[at : at + url], body[at + url : at + url + address].decode(),
        port, bool(alone),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one page, or of all pages of a tick one after the other."""

    fingerprint: U64
    origin: U64
    """Fingerprint of the target's origin."""
    kind: U8
    flags: U8
    texts: Texts

    def __len__(self) -> int:
        return len(self.fingerprint)

    @staticmethod
    def none() -> Links:
        u64, u8 = np.zeros(0, np.uint64), np.zeros(0, np.uint8)
        return Links(u64, u64, u8, u8, Texts(np.zeros(0, np.uint16), b""))


def encode_result(visit: Visits, texts: Sequence[bytes], links: Links) -> bytes:
    """`visit` is one record of `VISIT`; its `texts` and `links` lengths are filled in here."""
    visit["texts"] = [len(t) for t in texts]
    visit["links"] = len(links)
    return frame(
        Type.RESULT, visit.tobytes(), *texts, links.fingerprint.tobytes(), links.origin.tobytes(),
        links.kind.tobytes(), links.flags.tobytes(), links.texts.lengths.tobytes(), links.texts.buffer,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Results:
    """All results of a tick: visits in order of arrival; texts and links of all of them, one after the other."""

    visits: Visits
    texts: bytes
    """`VISIT_TEXTS` of the first visit, of the second, …"""
    links: Links
    """`visits["links"]` says how many belong to each."""

    def __len__(self) -> int:
        return len(self.visits)

    def text_of(self) -> list[dict[str, bytes]]:
        """Texts by name, visit by visit."""
        lengths = self.visits["texts"].reshape(-1)
        parts = iter(Texts(lengths, self.texts).split())
        return [{name: next(parts) for name in VISIT_TEXTS} for _ in range(len(self.visits))]


def decode_results(bodies: Sequence[bytes]) -> Results:
    """`bodies`: RESULT frames without their heads, in order of arrival."""
    if not bodies:
        return Results(np.zeros(0, VISIT), b"", Links.none())
    size = VISIT.itemsize
    visits = np.frombuffer(b"".join([b[:size] for b in bodies]), VISIT).copy()
    text_lengths = visits["texts"].sum(axis=1).tolist()
    texts, fingerprints, origins, kinds, flags, lengths, buffers = [], [], [], [], [], [], []
    for body, n_text, n in zip(bodies, text_lengths, visits["links"].tolist(), strict=True):
        at = size + n_text
        texts.append(body[size:at])
        fingerprints.append(body[at : at + 8 * n])
        origins.append(body[at + 8 * n : at + 16 * n])
        kinds.append(body[at + 16 * n : at + 17 * n])
        flags.append(body[at + 17 * n : at + 18 * n])
        lengths.append(body[at + 18 * n : at + 20 * n])
        buffers.append(body[at + 20 * n :])
    return Results(
        visits,
        b"".join(texts),
        Links(
            np.frombuffer(b"".join(fingerprints), np.uint64),
            np.frombuffer(b"".join(origins), np.uint64),
            np.frombuffer(b"".join(kinds), np.uint8),
            np.frombuffer(b"".join(flags), np.uint8),
            Texts(np.frombuffer(b"".join(lengths), np.uint16), b"".join(buffers)),
        ),
    )
