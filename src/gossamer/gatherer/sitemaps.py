"""Reads the entries of a sitemap (sitemaps.org; RSS, Atom and plain text, as that protocol allows).

    urlset        entries `url`, each with `loc` and perhaps `lastmod`
    sitemapindex  entries `sitemap`: further sitemaps
    rss, rdf      entries `item`, with `link`, or else `guid`, and perhaps `pubDate` or `date`
    feed          entries `entry`, with `link href` and perhaps `updated`
    text          one URL per line

The text is searched for these tags and no others; there is no tree. Broken files are read as far as possible: an
unclosed tag, a bare "&" or an invalid byte damages only its own entry; a missing end damages only what follows. Only
tags with the prefix of the root count, so `image:loc` is not a page. Each `loc` of an entry counts, also with a `url`
around its address, and so does an address that stands in an entry without `loc`.

Invariants, each a property test of the same name:

- anything can be read: no bytes raise an error, and reading ends
- no entity is expanded: except the five of XML and numeric ones, references stay as they are, whatever is declared;
  nothing is ever fetched from outside
- the limits hold: `MOST_BYTES`, `MOST_ENTRIES`, `MOST_MARKS`, `MOST_TAGS`, `MOST_ODD`, and `MOST_LISTED` for the
  resulting links
- every format and charset is read: the entries of a correct file are read as written
- a cut file is read as far as it goes: the beginning of a file gives the beginning of its entries

The file is read as bytes of UTF-8, and only what an entry says becomes text: a single character beyond the Basic
Multilingual Plane would make a text of 50 MB one of 200 MB. Time is linear in the size, because no pattern reads past
the next "<" and every search resumes where the last one ended, and the work is counted: the worst file of 50 MB takes
about 1 s (`bench/costs.py`).
Refused: expat and lxml. The first stops at the first unescaped "&", which is the most common error of all; the second
continues, but builds nodes, and must be configured not to fetch, not to expand and not to grow.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from io import BytesIO
from itertools import accumulate, islice
from typing import Final, NamedTuple

from gossamer.base.dates import http_date, w3c_date
from gossamer.base.model import LinkKind, Tag
from gossamer.gatherer.charset import REPLACEMENT, codec, decode, in_pieces
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.links import Kinds, Link, Seen, judged, merged, resolved
from gossamer.urls import Scope, canonical

MOST_ENTRIES: Final = 50_000
"""Maximum entries of one sitemap (the limit of the protocol); the rest is not read."""
MOST_BYTES: Final = 52_428_800
"""Maximum bytes of one decompressed sitemap (the limit of the protocol)."""
MOST_MARKS: Final = 2_000_000
"""Maximum "<" of one sitemap; what follows is not read. 50,000 entries with ten alternates each have 700,000."""
MOST_TAGS: Final = 400_000
"""Maximum tags that are looked at: those of the elements that are read, comments and CDATA sections. 50,000 entries
have 200,000. Of plain text, this is the maximum number of lines."""
MOST_ODD: Final = 50_000
"""Maximum dates that cannot be read, and references other than `&amp;`, that are looked at: each takes ten times as
long as a tag. Later dates do not count, and later references stay as they are."""
MOST_LISTED: Final = 16 << 20
"""Maximum bytes of all URLs made from the entries of one sitemap; the rest is dropped. A relative address counts at
least as many bytes as the URL of the sitemap, and each byte that is no letter, digit or one of `/.-_~:` counts
`ODD` more: 240 bytes of escapes, marks or IRIs take five times as long as an ordinary URL of that length."""
ODD: Final = 3
LONGEST: Final = 16_384
"""Maximum characters of an address."""
_MOST_ATTRIBUTES: Final = 8
_MOST_DATES: Final = 4
"""Attributes of a link and dates of an entry that are looked at."""
EARLIEST: Final = 631_152_000.0
"""1990-01-01: there were no pages before."""
LONGEST_DATE: Final = 64
"""Maximum characters of a date."""


class Format(StrEnum):
    """The format of a sitemap, named by its root element."""

    URLSET = "urlset"
    INDEX = "sitemapindex"
    RSS = "rss"
    ATOM = "feed"
    TEXT = "text"
    NONE = "none"
    """Not a sitemap: most often an error page."""


class Entry(NamedTuple):
    """One entry of a sitemap."""

    address: str
    """As written, with references resolved and without white space around it."""
    lastmod: float | None = None
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The content of a sitemap."""

    format: Format
    entries: list[Entry]
    """Pages, or sitemaps if it is an index."""
    whole: bool
    """False if it ended too early or a limit was reached."""


class _Shape(NamedTuple):
    """The elements of a format that are read, by local names in lower case."""

    format: Format
    entry: str
    address: str
    dates: tuple[str, ...]
    spare: str = ""
    """Has the address if the other element is missing."""


_SHAPES: Final = {
    "urlset": _Shape(Format.URLSET, "url", "loc", ("lastmod",)),
    "sitemapindex": _Shape(Format.INDEX, "sitemap", "loc", ("lastmod",)),
    "rss": _Shape(Format.RSS, "item", "link", ("pubdate", "date"), "guid"),
    "rdf": _Shape(Format.RSS, "item", "link", ("date", "pubdate"), "guid"),
    "feed": _Shape(Format.ATOM, "entry", "link", ("updated", "published", "modified")),
}
_NAME: Final = rb"[A-Za-z_\x80-\xff][\w.\x80-\xff-]{0,99}+"
_ROOT: Final = re.compile(rb"<(?:(" + _NAME + rb"):)?(" + _NAME + rb")")
_DECLARED: Final = re.compile(rb"<\?xml[^<>]{0,200}?encoding\s*=\s*[\"']\s*([A-Za-z0-9_.:-]{1,40})")
_REFERENCE: Final = re.compile(r"&(?:#(\d{1,8})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ATTRIBUTE: Final = re.compile(r"(?:^|\s)(href|rel)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_WHITE: Final = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\0\ufeff\u200b\u200e\u200f\u2060"
"""White space of Unicode, and characters that cannot be seen."""
_BARE: Final = ("http://", "https://")
_PLAIN: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/.-_~:"
_NESTED: Final = re.compile(rb"<(?:" + _NAME + rb":)?url\s*+>", re.IGNORECASE)
_NESTED_END: Final = re.compile(rb"</(?:" + _NAME + rb":)?url\s*+>", re.IGNORECASE)
_NO_ADDRESS: Final = re.compile(r"isPermaLink\s*=\s*[\"']?\s*false", re.IGNORECASE)
_HEAD: Final = 100_000
"""Bytes that tell markup from text, and the charset."""
_PIECE: Final = 1 << 20
_END_OF_TYPE: Final = re.compile(rb"[>\[]")
"""Where the name of a document type ends: at its end, or where its declarations begin."""
_LINE: Final = re.compile(
    rb"((?:[^\r\n\f\v\x1c-\x1e\xc2\xe2]++|\xc2(?!\x85)|\xe2(?!\x80[\xa8\xa9]))++)"
    rb"(?:[\r\n\f\v\x1c-\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9])*+"
)
"""A line, and what ends it."""
_MARK_ENDS: Final = {b"!-": b"-->", b"![": b"]]>"}
_MARK, _ENTRY, _ADDRESS, _DATE, _SPARE, _END = range(1, 7)
"""Kinds of tags, the groups of `_tags_of`: comment, CDATA section or document type; start or end of an entry; and so on
to the end of the root."""


@lru_cache(maxsize=64)
def _tags_of(shape: _Shape, prefix: bytes) -> re.Pattern[bytes]:
    """Finds the tags that are read: only those with the prefix of the root, but `date` and the end of `rdf` with any.
    Others cost nothing but the search for the next "<"."""
    own, other = re.escape(prefix) + (b":" if prefix else b""), rb"(?:" + _NAME + rb":)?"
    dates = [(other if name == "date" else own) + name.encode() for name in shape.dates]
    kinds = (
        rb"/?" + own + shape.entry.encode(),
        own + shape.address.encode(),
        b"(?:" + b"|".join(dates) + b")",
        own + shape.spare.encode() if shape.spare else rb"(?!)",
        rb"/(?:" + own + shape.format.encode() + rb"|" + other + rb"rdf)",
    )
    tags = b"|".join(rb"(" + kind + rb"(?=[\s/>])[^<>]*+>)" for kind in kinds)
    return re.compile(rb"<(?:(!--|!\[CDATA\[|!DOCTYPE)|" + tags + rb")", re.IGNORECASE)


def read(body: bytes, declared: str, now: float) -> Sitemap:
    """Read a sitemap. `body` is decompressed; `declared` is the charset of the header, or ""; `now` is the wall time:
    later modification dates are ignored."""
    text, within = _bounded_text(body, declared)
    if not text[:_HEAD].decode(errors="replace").lstrip(_WHITE).startswith("<"):
        entries, whole = _lines(text)
        return Sitemap(Format.TEXT, entries, within and whole)
    start = _after_head(text)
    root = _ROOT.search(text, start) if start is not None else None
    name = root[2].decode(errors="replace").lower() if root else ""
    shape = _SHAPES.get(name)
    if root is None or shape is None:
        return Sitemap(Format.NONE, [], within)
    prefix = root[1] or b"" if name != "rdf" else b""
    reader = _Reader(text, root.start(), shape, prefix.lower(), now)
    entries = list(reader.entries())
    return Sitemap(shape.format, entries, within and reader.ended)


def listed(sitemap: Sitemap, url: str, scope: Scope, proven: int = 0) -> Gathered:
    """The pages of a sitemap as links, judged like links of a page; nothing for an index. The text of each link is its
    modification time. `url`: the canonical URL of the sitemap."""
    if sitemap.format is Format.INDEX:
        return Gathered()
    seen, references, room = Seen(), Kinds(), MOST_LISTED
    for address, when in sitemap.entries:
        raw = address.encode(errors="replace")
        room -= len(raw) + ODD * len(raw.translate(None, _PLAIN)) + (0 if "//" in address[:9] else len(url))
        if room < 0:
            break
        found = (LinkKind.SITEMAP, 0, "" if when is None else str(int(when)), 0, Tag.OTHER)
        references[address] = merged(references[address], found) if address in references else found
    targets = resolved(references, scope.proving(scope.joiner(url), url, proven), seen)
    links = _bounded(judged(targets, url, scope, seen))
    return Gathered(out_degree=len(targets), links=links, counted=seen.counted, seen=seen.lines())


def _bounded(links: list[Link]) -> list[Link]:
    """The first links, up to `MOST_LISTED` bytes: percent-encoding may have made URLs longer."""
    ends = list(accumulate(len(link.url) for link in links))
    return links[: bisect_right(ends, MOST_LISTED)]


def further(sitemap: Sitemap, url: str, most: int) -> tuple[str, ...]:
    """The first `most` sitemaps that an index names, in canonical form."""
    if sitemap.format is not Format.INDEX:
        return ()
    named = (canonical(entry.address, url) for entry in sitemap.entries[: 10 * most])
    return tuple(dict.fromkeys(target for target in named if target is not None))[:most]


def _bounded_text(body: bytes, declared: str) -> tuple[bytes, bool]:
    """The text in UTF-8, up to the limits of bytes and of "<", and whether that is all of it."""
    text, within = _utf_8(body, declared)
    at, left = 0, MOST_MARKS
    while at < len(text) and (marks := text.count(b"<", at, at + _PIECE)) <= left:
        at, left = at + _PIECE, left - marks
    if at >= len(text):
        return text, within
    for _ in range(left):
        at = text.index(b"<", at) + 1
    return text[:at], False


def _utf_8(body: bytes, declared: str) -> tuple[bytes, bool]:
    """The bytes themselves, if they are UTF-8 or nearly so. The XML declaration counts if there is no header; UTF-16 is
    recognised by its first bytes."""
    if not declared and body[:2] in (b"<\0", b"\0<"):
        declared = "utf-16-le" if body[1] == 0 else "utf-16-be"
    found = None if declared else _DECLARED.search(body, 0, 300)
    if found:
        name = codec(found[1].decode("ascii"))
        declared = "utf-8" if name.startswith("utf-16") else name
    name = decode(body[:_HEAD], declared)[1]
    if name == "utf-8" and len(body) > _HEAD and (odd := _first_odd(body)) is not None:
        name = decode(body[: _HEAD // 10] + body[odd : odd + _HEAD], declared)[1]
    if name == "utf-8":
        text = body.removeprefix(codecs.BOM_UTF8) if len(body) <= MOST_BYTES else body[:MOST_BYTES]
        return text, len(body) <= MOST_BYTES
    if name == REPLACEMENT:
        return b"", True
    made = BytesIO()
    for piece in in_pieces(body[:MOST_BYTES], name, _PIECE):
        made.write((piece if made.tell() else piece.removeprefix("\ufeff")).encode(errors="replace"))
        if made.tell() > MOST_BYTES:
            made.truncate(MOST_BYTES)
            return made.getvalue(), False
    return made.getvalue(), len(body) <= MOST_BYTES


def _first_odd(body: bytes) -> int | None:
    """A place near the first bytes that are no UTF-8; None if there are none."""
    check = codecs.getincrementaldecoder("utf-8")().decode
    for at in range(0, min(len(body), MOST_BYTES), _PIECE):
        try:
            check(body[at : at + _PIECE])
        except UnicodeDecodeError as error:
            return max(0, at + error.start - 100)
    return None


def _lines(text: bytes) -> tuple[list[Entry], bool]:
    """The lines that are URLs, and whether no limit was reached. It reads one line at a time: a list of all lines would
    take twenty times the memory of the text."""
    entries = list[Entry]()
    for number, found in enumerate(_LINE.finditer(text)):
        if number == MOST_TAGS:
            return entries, False
        start, end = found.span(1)
        if not 8 < end - start <= 8 * LONGEST:
            continue
        line = found[1].decode(errors="replace").strip(_WHITE)
        if line[:8].lower().startswith(_BARE) and len(line) <= LONGEST:
            if len(entries) == MOST_ENTRIES:
                return entries, False
            entries.append(Entry(line))
    return entries, True


def _after_head(text: bytes) -> int | None:
    """Where the root element begins, after declarations, comments and the document type; None without a root."""
    at = 0
    while (at := text.find(b"<", at)) >= 0:
        after = _skipped(text, at)
        if after == at:
            return at
        if after < 0:
            return None
        at = after
    return None


def _skipped(text: bytes, at: int) -> int:
    """The end of a comment or declaration that begins at `at`; `at` if it is an element, -1 if it does not end."""
    if text.startswith(b"<!--", at):
        return _behind(text, b"-->", at)
    if text.startswith(b"<?", at):
        return _behind(text, b"?>", at)
    if text[at : at + 9].upper() == b"<!DOCTYPE":
        end = _END_OF_TYPE.search(text, at)
        if end is None:
            return -1
        return end.end() if end[0] == b">" else _behind(text, b"]", end.end())
    return _behind(text, b">", at) if text.startswith(b"<!", at) else at


def _behind(text: bytes, mark: bytes, at: int) -> int:
    end = text.find(mark, at)
    return end + len(mark) if end >= 0 else -1


class _Reader:
    """Reads the entries of a markup sitemap, tag by tag."""

    def __init__(self, text: bytes, at: int, shape: _Shape, prefix: bytes, now: float) -> None:
        self._text, self._at, self._shape, self._now = text, at, shape, now
        self._search = _tags_of(shape, prefix).search
        self._tags, self._odd = MOST_TAGS, MOST_ODD
        """How many may still be looked at."""
        self.ended = False
        """Whether the root was closed and no limit was reached."""

    def entries(self) -> Iterator[Entry]:
        """The dates of an entry are parsed when it ends, and only if it has an address: most of the work is for what
        `MOST_ENTRIES` counts."""
        text, search, left, inside = self._text, self._search, MOST_ENTRIES, False
        locs = self._shape.address == "loc"
        addresses, dates, spare = list[str](), list[bytes](), ""
        while self._tags > 0 and (found := search(text, self._at)):
            self._tags -= 1
            self._at, kind = found.end(), found.lastindex
            if kind == _ENTRY:
                if addresses or spare:
                    when = self._lastmod(dates)
                    for address in addresses or [spare]:
                        if not left:
                            return
                        yield Entry(address, when)
                        left -= 1
                    addresses, spare = [], ""
                dates, inside = [], _opens(found)
                if inside and locs and (bare := self._bare()):
                    addresses.append(bare)
            elif kind == _MARK:
                self._at = _skipped_mark(text, found)
                if self._at < 0:
                    break
            elif kind == _END:
                self.ended = True
                break
            elif not inside:
                continue
            elif kind == _ADDRESS:
                if (locs or not addresses) and len(addresses) <= left and (address := self._address(found)):
                    addresses.append(address)
            elif kind == _SPARE:
                spare = spare or self._spare(found)
            elif len(dates) < _MOST_DATES:
                dates.append(self._date())
        when = self._lastmod(dates) if addresses or spare else None
        yield from [Entry(address, when) for address in addresses or [spare] if address][:left]

    def _lastmod(self, dates: list[bytes]) -> float | None:
        for raw in dates:
            if not self._odd:
                return None
            when = lastmod(self._resolved(raw), self._now)
            if when is not None:
                return when
            self._odd -= 1
        return None

    def _date(self) -> bytes:
        """What a date says, up to the next tag."""
        end = self._text.find(b"<", self._at)
        if self._text.startswith(b"<!", end):
            return self._content().encode()
        raw = self._text[self._at : min(end if end >= 0 else len(self._text), self._at + 4 * LONGEST_DATE)]
        self._at = end if end >= 0 else len(self._text)
        return raw

    def _bare(self) -> str:
        """The address right in an entry, without an element of its own."""
        if self._text.startswith(b"<", self._at):
            return ""
        beginning = self._text[self._at : self._at + 4 * LONGEST_DATE].decode(errors="replace").lstrip(_WHITE)
        return self._content() if beginning[:8].lower().startswith(_BARE) else ""

    def _spare(self, found: re.Match[bytes]) -> str:
        """The address in a `guid`, which may be another kind of name."""
        if not _opens(found) or _NO_ADDRESS.search(_text(found[0][:LONGEST])):
            return ""
        text = self._content()
        return text if text[:8].lower().startswith(_BARE) else ""

    def _address(self, found: re.Match[bytes]) -> str:
        """The address of the element that was just opened."""
        if self._shape.format is not Format.ATOM:
            text = self._content() if _opens(found) else ""
            if not text and (nested := _NESTED.match(self._text, self._at)):
                self._at, self._tags = nested.end(), self._tags - 1
                text = self._content()
                end = _NESTED_END.match(self._text, self._at)
                self._at = end.end() if end else self._at
            return text
        attributes = islice(_ATTRIBUTE.finditer(_text(found[0][: 4 * LONGEST])), _MOST_ATTRIBUTES)
        said = {name.lower(): one or other for name, one, other in (each.groups("") for each in attributes)}
        is_page = said.get("rel", "alternate").strip().lower() == "alternate"
        return self._resolved(said.get("href", "").encode(errors="replace")) if is_page else ""

    def _content(self) -> str:
        """The text up to the next tag, without comments and with CDATA unchanged. Reading resumes after it."""
        text, at, parts, size = self._text, self._at, list[str](), 0
        if text.startswith(b"</", at):
            return ""
        while size <= LONGEST:
            end = text.find(b"<", at)
            end = len(text) if end < 0 else end
            parts.append(self._resolved(text[at : min(end, at + 4 * LONGEST + 1)]))
            size += len(parts[-1]) if parts[-1] or end - at < 4 * LONGEST else LONGEST + 1
            if not text.startswith(b"<!", end):
                break
            self._tags -= 1
            if text.startswith(b"<!--", end):
                at = _behind(text, b"-->", end)
            elif text.startswith(b"<![CDATA[", end):
                at = _behind(text, b"]]>", end)
                parts.append(_text(text[end + 9 : max(end + 9, min(at - 3, end + 9 + 4 * LONGEST + 1))]))
                size += len(parts[-1])
            else:
                break
            if at < 0 or self._tags <= 0:
                self._at = len(text) if at < 0 else at
                return ""
        self._at = end
        whole = "".join(parts).strip(_WHITE) if len(parts) > 1 else parts[0]
        return whole if len(whole) <= LONGEST else ""

    def _resolved(self, raw: bytes) -> str:
        """The text without white space around it, and with its references resolved."""
        if b"&" in raw:
            marks = raw.count(b"&")
            if marks == raw.count(b"&amp;"):
                raw = raw.replace(b"&amp;", b"&")
            elif marks <= self._odd:
                self._odd -= marks
                text = _REFERENCE.sub(_meant, _text(raw))
                return text.strip(_WHITE) if len(text) <= LONGEST else ""
        text = _text(raw)
        return text.strip(_WHITE) if len(text) <= LONGEST else ""


def _opens(found: re.Match[bytes]) -> bool:
    """Whether a tag opens an element that has contents."""
    text, start, end = found.string, found.start(), found.end()
    return text[start + 1] != _SLASH and text[end - 2] != _SLASH


_SLASH: Final = ord("/")


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _skipped_mark(text: bytes, found: re.Match[bytes]) -> int:
    """The end of a comment, CDATA section or document type; -1 if it does not end."""
    end = _MARK_ENDS.get(found[1][:2])
    return _behind(text, end, found.end()) if end else _skipped(text, found.start())


def _meant(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    if name:
        return _NAMED[name]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else found[0]


def lastmod(text: str, now: float) -> float | None:
    """Seconds since 1970; None if the text is not a usable date: invalid, before the Web, or in the future.

    It is a W3C date of any precision, another ISO date, or a mail date (RSS), and only a hint.
    """
    text = text.strip()
    if not text or len(text) > LONGEST_DATE:
        return None
    when = w3c_date(text)
    if when is None:
        when = http_date(text)
    return when if when is not None and EARLIEST <= when <= now else None
