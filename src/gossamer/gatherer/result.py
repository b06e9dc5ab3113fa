"""A result: a fetched response and what was read from it, encoded as a RESULT frame for the desk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from xxhash import xxh3_64_intdigest

from gossamer.base.model import NONE, Ask, Assignment, Outcome, Texts, VisitFlag
from gossamer.collection.versions import Version, target_digest
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.links import Link
from gossamer.gatherer.preferences import lines, of_headers
from gossamer.robots import Rules
from gossamer.urls import fingerprint, origin
from gossamer.web.archive.archive import Place
from gossamer.web.fetch.caching import compared, lifetime
from gossamer.web.fetch.decode import Decoded
from gossamer.web.fetch.fetch import Fetched
from gossamer.web.fetch.response import mime, retry_after
from gossamer.web.message import LINK, Type, frame, pack_link, pack_visit

_LONGEST_TEXT: Final = 300
"""Maximum bytes of a header field that is sent to the desk."""
_ORIGINS: Final = 1 << 16
_LONGEST_ROOT: Final = 300
"""Characters of a root that is remembered."""
_NO_PAYLOAD: Final = bytes(20)
_CUT, _STORED, _REUSED = int(VisitFlag.CUT), int(VisitFlag.STORED), int(VisitFlag.REUSED)
_REPEATED, _TEXT = int(VisitFlag.REPEATED), int(VisitFlag.TEXT)
_UNVERIFIED, _HELD = int(VisitFlag.UNVERIFIED), int(VisitFlag.HELD)


class Result(NamedTuple):
    """A fetched response and what was read from it: a result without its place in the archive."""

    fetched: Fetched
    outcome: Outcome
    flags: int
    decoded: Decoded
    gathered: Gathered
    rules: Rules
    sitemaps: tuple[str, ...]
    target: str
    links: bytes
    """The links of `gathered`, encoded."""
    kept: bool
    """Whether it may be stored in the archive."""
    rows: bytes = b""
    """Lines with the rows of processors (`plugins/rows.py`)."""


def encode(result: Result, place: Place | None, number: int) -> bytes:
    """The RESULT frame. `place`: its place in archive file `number`, if it is stored."""
    fetched, decoded, gathered, rules = result.fetched, result.decoded, result.gathered, result.rules
    assignment, headers, traffic = fetched.assignment, fetched.headers, fetched.traffic
    flags = result.flags | (_CUT if fetched.cut else 0) | (_REUSED if traffic.reused else 0)
    flags |= (_UNVERIFIED if fetched.unverified else 0) | (_HELD if fetched.held else 0)
    file, offset, end, payload = 0, 0, 0, _NO_PAYLOAD
    if place is not None:
        file, offset, end, payload = number, place.offset, place.end, place.payload
        flags |= (_STORED if fetched.body else 0) | (_TEXT if place.text else 0)
        flags |= _REPEATED if place.repeated else 0
    wait = -1.0
    if "retry-after" in headers:  # without a Date header, a date counts from the end of the response, like seconds
        ended = time.time() - (time.monotonic() - fetched.end)
        wait = retry_after(headers["retry-after"], ended, headers.get("date", ""))
    etag, modified = _field(headers, "etag"), _field(headers, "last-modified")
    change, validators = 0, 0
    if assignment.version:
        now = _version(result, payload, etag, modified)
        change, validators = compared(assignment, now, result.outcome is Outcome.NOT_MODIFIED)
    texts = _texts(result, etag, modified)
    visit = pack_visit(
        assignment.number,
        assignment.page,
        assignment.origin,
        assignment.site,
        assignment.ask,
        result.outcome,
        fetched.status,
        flags,
        0.0,
        fetched.start,
        traffic.connect,
        traffic.first,
        fetched.end,
        traffic.received,
        traffic.sent,
        len(decoded.data),
        gathered.text_length,
        gathered.digest,
        gathered.sketch,
        gathered.numberless,
        payload,
        NONE,
        gathered.out_degree,
        len(gathered.links),
        wait,
        -1.0 if rules.delay is None else rules.delay,
        lifetime(headers),
        change,
        validators,
        file,
        offset,
        end,
        *[min(n, 0xFFFF) for n in gathered.counted],
        len(gathered.seen),
        *map(len, texts),
    )
    return frame(Type.RESULT, visit, *texts, result.links, gathered.seen, gathered.rows, result.rows)


def _texts(result: Result, etag: bytes, modified: bytes) -> tuple[bytes, ...]:
    """The texts of a visit, in the order of its record."""
    fetched, gathered, rules = result.fetched, result.gathered, result.rules
    preferences = [*of_headers(fetched.headers), *gathered.preferences, *_pairs(rules.preferences)]
    return (
        mime(fetched.headers).encode(),
        gathered.charset.encode(),
        etag,
        modified,
        result.target.encode(),
        _title(fetched.assignment, gathered),
        fetched.assignment.address.encode(),
        _detail(fetched, result.outcome)[:_LONGEST_TEXT],
        rules.compiled(),
        "\n".join(result.sitemaps).encode(errors="replace"),
        gathered.language.encode(),
        gathered.description.encode(errors="replace"),
        lines(preferences).encode(errors="replace"),
    )


def _version(result: Result, payload: bytes, etag: bytes, modified: bytes) -> Version | None:
    """The version of the page that the response brings; None if it brings none."""
    gathered = result.gathered
    if result.outcome is Outcome.OK:
        digests = payload, gathered.digest, gathered.sketch, gathered.numberless
        return Version(*digests, etag=etag, modified=modified)
    if result.outcome is Outcome.REDIRECT and not result.flags & VisitFlag.RESPELLED:
        digest = target_digest(result.target.encode())
        return Version(digest=digest, redirect=True, etag=etag, modified=modified)
    return None


def encode_links(links: list[Link], seed: int, known: dict[str, int]) -> bytes:
    """The records, URLs and texts of links. (The canonical form is ASCII: characters are bytes.) `known`: a cache of
    the fingerprints of origins, by root."""
    if not links:
        return b""
    root, number = "-", 0
    targets, kinds, flags, texts, positions, tags = zip(*links, strict=True)
    origins = []
    for url in targets:
        if not url.startswith(root):
            root = url[: url.index("/", 8) + 1]
            cached = known.get(root)  # another thread may clear the cache at any time
            if cached is None:
                cached = fingerprint(origin(root), seed)
                if len(root) <= _LONGEST_ROOT:
                    if len(known) >= _ORIGINS:
                        known.clear()
                    known[root] = cached
            number = cached
        origins.append(number)
    urls, anchors = [url.encode() for url in targets], "".join(texts).encode(errors="replace")
    lengths = list(map(len, texts))
    if sum(lengths) != len(anchors):
        lengths = [len(text.encode(errors="replace")) for text in texts]
    if max(positions) > 0xFFFF:
        positions = tuple(min(position, 0xFFFF) for position in positions)
    keys = [xxh3_64_intdigest(url, seed) for url in urls]
    records = map(pack_link, keys, origins, kinds, flags, tags, positions, map(len, urls), lengths)
    return b"".join((*records, *urls, anchors))


def urls_of_links(raw: bytes, count: int) -> list[str]:
    """The URLs of encoded links."""
    lengths = np.frombuffer(raw, LINK, count)["length"]
    return [url.decode() for url in Texts(lengths, raw[count * LINK.itemsize :]).split()]


def _pairs(preferences: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for line in preferences:
        name, _, value = line.partition(":")
        yield name, value


def _title(assignment: Assignment, gathered: Gathered) -> bytes:
    """The title field of a visit: sitemaps and proofs have their URL there, and a probe its URL before the title."""
    title = gathered.title.encode(errors="replace")
    if assignment.ask == Ask.PROBE:
        return assignment.url + b" " + title
    return assignment.url if assignment.ask in (Ask.SITEMAP, Ask.PROOF) else title


def _detail(fetched: Fetched, outcome: Outcome) -> bytes:
    """What went wrong, or what the server asks for, in words."""
    price = fetched.headers.get("crawler-price") if outcome is Outcome.PAYMENT_REQUIRED else None
    detail = fetched.detail if price is None else f"crawler-price: {price}"
    return " ".join(detail.split()).encode(errors="replace")


def _field(headers: dict[str, str], name: str) -> bytes:
    """A header field, or b"" if it is too long: half a validator is useless."""
    value = headers.get(name, "").encode("latin-1")
    return value if len(value) <= _LONGEST_TEXT else b""
