"""The CDXJ index of the archive: one line per response or revisit record, sorted; pywb and others replay from it.

The line of an answer that a page has not changed (304) has the date of the answer, and the place of the record with the
copy, which the record of the answer tells (`UNCHANGED`): so the copy is replayed, not an answer without a page.
`"revisit"` is the file of the answer's record. Records of earlier versions tell no place, and have no line.

    com,example)/page 20240131120000 {"url": …, "mime": …, "status": …, "digest": …, "length": …, "offset": …, …}

A line starts with the SURT key of the URL: the host reversed, the rest normalized so that spellings which usually mean
one page have one key. The reader computes the same key, so `surt` follows pywb's rules exactly, for URLs in our
canonical form. Invariant, a test of the same name: surt equals the common package.

Each segment has its own file, made when it is sealed from the parts of the archive that it covers; pywb reads the
folder. To replay a crawl, run `wayback -b 127.0.0.1` in a folder with this `config.yaml`:

    collections:
      crawl:
        index_paths: my-crawl/shard-000/cdx/
        archive_paths: my-crawl/shard-000/warc/
    enable_auto_colls: false

Cost: 34 µs per page of 25 KB that was transferred compressed (200 MB/s of archive), 70 µs for an uncompressed one
(110 MB/s), 50 of them for inflating: a gzip member does not contain its length. Memory is bounded, whatever the records
contain.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from isal import isal_zlib

from gossamer.base import disk
from gossamer.base.errors import StorageError

_READ: Final = 1 << 20
_FEED: Final = 1 << 14
"""Input of one call of inflate; small, because unused input is copied."""
_PIECE: Final = 1 << 17
"""Output of one call of inflate."""
_USUAL: Final = 1 << 16
"""Bytes within which a record mostly ends."""
HEADS: Final = 1 << 19
"""Bytes of a record that are kept: enough for its headers (libcurl refuses longer ones)."""
_InflateError: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # the stub declares an instance

_MIME: Final = re.compile(rb"\r\ncontent-type:[ \t]*([^\r\n;]*)", re.IGNORECASE)
_REVISIT: Final = "warc/revisit"
_304: Final = b"/server-not-modified"
UNCHANGED: Final = b"X-Crawler-Unchanged"
"""The field of the record of a 304 that says where the copy is: the fields of `Replayed`."""
_UNKNOWN: Final = "unk"

_URL: Final = re.compile(r"([a-z]+)://(?:[^/?#]*@)?(\[[^]]*\]|[^/?#:]*)(:\d+)?([^?#]*)(?:\?([^#]*))?")
_PLAIN: Final = re.compile(r'[!"$&-~]*').fullmatch
_SAFE: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_WWW: Final = re.compile(r"www\d*\.")
_PATH_SESSIONS: Final = tuple(
    re.compile(rf"^(.*/)\({form}\)/(?=[^?]+\.aspx)") for form in (r"(?:[a-z]\([0-9a-z]{24}\))+", "[0-9a-z]{24}")
)
_QUERY_SESSIONS: Final = tuple(
    re.compile(rf"^(.*){form}(?:&|$)")
    for form in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)


def lines(path: Path, start: int, end: int) -> list[bytes]:
    """The lines of the records between two offsets, in order; each offset is the start of a record or the end of the
    file."""
    made = (line_of(record, offset, size, path.name) for offset, size, record in members(path, start, end))
    return list(filter(None, made))


def members(path: Path, start: int, end: int, keep: int = HEADS) -> Iterator[tuple[int, int, bytes]]:
    """Offset and length of each gzip member, and the first `keep` bytes of its contents, or somewhat more.

    Each member is inflated to its end, so its checksum is verified.
    """
    with disk.naming("read", path), open(path, "rb", buffering=0) as file:
        window, base, at = memoryview(b""), start, start
        while at < end:
            begin, parts, kept = at, list[bytes](), 0
            stream = isal_zlib.decompressobj(wbits=31)
            while not stream.eof:
                if base + len(window) - at < _FEED and base + len(window) < end:
                    window, base = memoryview(os.pread(file.fileno(), min(_READ, end - at), at)), at
                fed = window[at - base : at - base + _FEED]
                try:
                    part = stream.decompress(fed, _PIECE)
                except _InflateError as error:
                    raise _damaged(path, begin, str(error)) from error
                if not (fed or part):
                    raise _damaged(path, begin, "it ends too early")
                at += len(fed) - len(stream.unused_data if stream.eof else stream.unconsumed_tail)
                if kept < keep:
                    parts.append(part)
                    kept += len(part)
            yield begin, at - begin, parts[0] if len(parts) == 1 else b"".join(parts)


def _damaged(path: Path, offset: int, how: str) -> StorageError:
    return StorageError(
        f"{path} cannot be read: the record at {offset} is damaged ({how})",
        "Restore the file from a backup; `gossamer verify` reports what else is damaged.",
    )


def line_of(record: bytes, offset: int, size: int, name: str) -> bytes:
    """The line of one member of the file `name`, as `members` returns it; empty for records that are not replayed."""
    behind = record.find(b"\r\n\r\n")
    head = record[: behind + 2]
    kind = _field(head, b"WARC-Type")
    if kind not in (b"response", b"revisit"):
        return b""
    by, told = "", b""
    if kind == b"revisit" and _field(head, b"WARC-Profile").endswith(_304):
        by, told = f', "revisit": {quoted(name)}', _field(head, UNCHANGED)
        if told.count(b" ") < 4:
            return b""
    place = Replayed.read(told) if told else Replayed.of(record, offset, size, name)
    url = _field(head, b"WARC-Target-URI").decode("latin-1")
    date = _field(head, b"WARC-Date")[:19].translate(None, b"-:T").decode()
    digest = _field(head, b"WARC-Payload-Digest").removeprefix(b"sha1:").decode()
    return (
        f'{surt(url)} {date} {{"url": {quoted(url)}, "mime": {quoted(place.mime)}, "status": "{place.status}", '
        f'"digest": "{digest}", "length": "{place.length}", "offset": "{place.offset}", '
        f'"filename": {quoted(place.file)}{by}}}\n'
    ).encode()


class Replayed(NamedTuple):
    """What a line says of the record that is replayed."""

    offset: str
    length: str
    status: str
    file: str
    mime: str

    @staticmethod
    def of(record: bytes, offset: int, size: int, name: str) -> Replayed:
        behind = record.find(b"\r\n\r\n")
        http = record[behind + 4 : record.find(b"\r\n\r\n", behind + 4) + 2]
        status = http[:20].split(b" ", 2)[1:2]
        code = status[0][:3].decode() if status and status[0][:3].isdigit() else "-"
        mime = _REVISIT if _field(record[: behind + 2], b"WARC-Type") == b"revisit" else _mime(http)
        return Replayed(str(offset), str(size), code, name, mime)

    @staticmethod
    def at(path: Path, offset: int) -> Replayed:
        """The record at this offset of an archive file. Raises StorageError."""
        end = path.stat().st_size
        try:
            _, size, record = next(members(path, offset, min(end, offset + _USUAL)))
        except StorageError:
            _, size, record = next(members(path, offset, end))
        return Replayed.of(record, offset, size, path.name)

    @staticmethod
    def read(text: bytes) -> Replayed:
        return Replayed(*text.decode("latin-1").split(" ", 4))

    def __bytes__(self) -> bytes:
        return " ".join(self).encode("latin-1")


def _field(head: bytes, name: bytes) -> bytes:
    """A field of a WARC header, which ends with the end of its last line; empty if it is missing."""
    at = head.find(b"\r\n" + name + b": ")
    if at < 0:
        return b""
    at += len(name) + 4
    return head[at : head.find(b"\r\n", at)]


def _mime(http: bytes) -> str:
    found = _MIME.search(http)
    return (found[1].strip().lower().decode("latin-1") if found else "") or _UNKNOWN


def surt(url: str) -> str:
    """The SURT key of a URL in canonical form; any other text is its own key."""
    parts = _URL.match(url)
    if parts is None:
        return url
    scheme, host, port, path, query = parts.groups()
    host = ",".join(reversed(_host(host).split(".")))
    if port and port != {"http": ":80", "https": ":443"}.get(scheme):
        host += port
    key = f"{host}){_path(path)}"
    query = _query(query) if query else ""
    return f"{key}?{query}" if query else key


def _host(host: str) -> str:
    host = host.lower().replace("..", ".").strip(".").strip("[]")
    www = _WWW.match(host)
    return host[www.end() :] if www else host


def _path(path: str) -> str:
    """The path in lower case, without dot segments, empty segments, session ids and the last slash."""
    path = _unescaped(path)
    if "//" in path or "/." in path:
        path = _without_dots(path)
    path = (_escaped(path) or "/").lower()
    if ".aspx" in path:
        for pattern in _PATH_SESSIONS:
            path = pattern.sub(r"\1", path)
    return path[:-1] if path.endswith("/") and len(path) > 1 else path


def _without_dots(path: str) -> str:
    kept: list[str] = []
    for part in path.split("/")[1:]:
        if part == ".." and kept:
            kept.pop()
        elif part != ".":
            kept.append(part)
    folders = "".join(f"{part}/" for part in kept[:-1] if part)
    return f"/{folders}{kept[-1]}" if kept else "/"


def _query(query: str) -> str:
    """The query in lower case, without session ids, its parameters sorted."""
    query = _escaped(_unescaped(query)).lower()
    if "id" in query:
        for pattern in _QUERY_SESSIONS:
            query = pattern.sub(r"\1", query)
    if "&" in query:
        query = "&".join(sorted(query.split("&"), key=lambda part: part.split("=", 1)))
    return query


def _unescaped(text: str) -> str:
    """The text percent-decoded until nothing changes; a byte is a character."""
    while "%" in text and (shorter := unquote_to_bytes(text.encode("latin-1")).decode("latin-1")) != text:
        text = shorter
    return text


def _escaped(text: str) -> str:
    return text if _PLAIN(text) else quote_from_bytes(text.encode("latin-1"), _SAFE)
