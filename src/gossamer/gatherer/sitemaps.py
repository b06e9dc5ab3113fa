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
- the limits hold: `MOST_BYTES`, `MOST_ENTRIES`, `MOST_TAGS`, and `MOST_LISTED` for the resulting links
- every format and charset is read: the entries of a correct file are read as written
- a cut file is read as far as it goes: the beginning of a file gives the beginning of its entries

The time is linear in the size: no pattern reads past the next "<", and every search resumes where the last one ended.
Refused: expat and lxml. The first stops at the first unescaped "&", which is the most common error of all; the second
continues, but builds nodes, and must be configured not to fetch, not to expand and not to grow.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import Final, NamedTuple

from gossamer.base.dates import http_date, w3c_date
from gossamer.base.model import LinkKind, Tag
from gossamer.gatherer.charset import codec, decode
from gossamer.gatherer.gathered import Gathered
from gossamer.gatherer.links import Kinds, Link, Seen, judged, merged, resolved
from gossamer.urls import Scope, canonical

MOST_ENTRIES: Final = 50_000
"""Maximum entries of one sitemap (the limit of the protocol); the rest is not read."""
MOST_BYTES: Final = 52_428_800
"""Maximum bytes of one decompressed sitemap (the limit of the protocol)."""
MOST_TAGS: Final = 1_000_000
"""Maximum tags that are looked at: a second of work. Of plain text, this is the maximum number of lines."""
MOST_LISTED: Final = 16 << 20
"""Maximum bytes of all URLs made from the entries of one sitemap; the rest is dropped. A relative address counts at
least as many bytes as the URL of the sitemap."""
LONGEST: Final = 16_384
"""Maximum characters of an address."""
_MOST_DATES: Final = 4
"""Dates of one entry that are looked at."""
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
_TAG: Final = re.compile(
    r"<!--|<!\[CDATA\[|<!DOCTYPE|<(/?)(?:([A-Za-z_][\w.-]*):)?"
    r"(urlset|sitemapindex|url|sitemap|loc|lastmod|rss|rdf|item|link|guid|pubDate|date|feed|entry|updated|published|modified)"
    r"(?=[\s/>])([^<>]*)>",
    re.IGNORECASE,
)
_ROOT: Final = re.compile(r"<(?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*)")
_DECLARED: Final = re.compile(rb"<\?xml[^<>]{0,200}?encoding\s*=\s*[\"']\s*([A-Za-z0-9_.:-]{1,40})")
_REFERENCE: Final = re.compile(r"&(?:#(\d{1,8})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ATTRIBUTE: Final = re.compile(r"(?:^|\s)(href|rel)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_SKIPPED: Final = {"<!--": "-->", "<![cdata[": "]]>"}
_WHITE: Final = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\0\ufeff\u200b\u200e\u200f\u2060"
"""White space of Unicode, and characters that cannot be seen."""
_BARE: Final = re.compile(rf"[{_WHITE}]*+https?://", re.IGNORECASE)
_NESTED: Final = re.compile(r"<(?:[A-Za-z_][\w.-]*:)?url\s*>", re.IGNORECASE)
_NESTED_END: Final = re.compile(r"</(?:[A-Za-z_][\w.-]*:)?url\s*>", re.IGNORECASE)
_NO_ADDRESS: Final = re.compile(r"isPermaLink\s*=\s*[\"']?\s*false", re.IGNORECASE)
_MARKUP: Final = re.compile(rf"[{_WHITE}]*+<")
_END_OF_TYPE: Final = re.compile(r"[>\[]")
"""Where the name of a document type ends: at its end, or where its declarations begin."""
_LINE: Final = re.compile(r"[^\r\n\f\v\x1c-\x1e\x85\u2028\u2029]+")


def read(body: bytes, declared: str, now: float) -> Sitemap:
    """Read a sitemap. `body` is decompressed; `declared` is the charset of the header, or ""; `now` is the wall time:
    later modification dates are ignored."""
    text = _text(body[:MOST_BYTES], declared)
    within = len(body) <= MOST_BYTES
    if not _MARKUP.match(text):
        entries, whole = _lines(text)
        return Sitemap(Format.TEXT, entries, within and whole)
    start = _after_head(text)
    root = _ROOT.search(text, start) if start is not None else None
    shape = _SHAPES.get(root[2].lower()) if root else None
    if root is None or shape is None:
        return Sitemap(Format.NONE, [], within)
    prefix = root[1] or "" if root[2].lower() != "rdf" else ""
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
        room -= len(address) + (0 if "//" in address[:9] else len(url))
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


def _text(body: bytes, declared: str) -> str:
    """The decoded text. The XML declaration counts if there is no header; UTF-16 is recognised by its first bytes."""
    if not declared and body[:2] in (b"<\0", b"\0<"):
        declared = "utf-16-le" if body[1] == 0 else "utf-16-be"
    found = None if declared else _DECLARED.search(body, 0, 300)
    if found:
        name = codec(found[1].decode("ascii"))
        declared = "utf-8" if name.startswith("utf-16") else name
    return decode(body, declared)[0]


def _lines(text: str) -> tuple[list[Entry], bool]:
    """The lines that are URLs, and whether no limit was reached. It reads one line at a time: a list of all lines would
    take twenty times the memory of the text."""
    entries = list[Entry]()
    for number, found in enumerate(_LINE.finditer(text)):
        if number == MOST_TAGS:
            return entries, False
        if found.end() - found.start() > 2 * LONGEST:
            continue
        line = found[0].strip(_WHITE)
        if line[:8].lower().startswith(("http://", "https://")) and len(line) <= LONGEST:
            if len(entries) == MOST_ENTRIES:
                return entries, False
            entries.append(Entry(line))
    return entries, True


def _after_head(text: str) -> int | None:
    """Where the root element begins, after declarations, comments and the document type; None without a root."""
    at = 0
    while (at := text.find("<", at)) >= 0:
        after = _skipped(text, at)
        if after == at:
            return at
        if after < 0:
            return None
        at = after
    return None


def _skipped(text: str, at: int) -> int:
    """The end of a comment or declaration that begins at `at`; `at` if it is an element, -1 if it does not end."""
    if text.startswith("<!--", at):
        return _behind(text, "-->", at)
    if text.startswith("<?", at):
        return _behind(text, "?>", at)
    if text[at : at + 9].upper() == "<!DOCTYPE":
        end = _END_OF_TYPE.search(text, at)
        if end is None:
            return -1
        return end.end() if end[0] == ">" else _behind(text, "]", end.end())
    return _behind(text, ">", at) if text.startswith("<!", at) else at


def _behind(text: str, mark: str, at: int) -> int:
    end = text.find(mark, at)
    return end + len(mark) if end >= 0 else -1


@dataclass(slots=True)
class _Found:
    """What was found in an entry so far."""

    addresses: list[str] = field(default_factory=list)
    spare: str = ""
    dates: list[str] = field(default_factory=list)

    def add(self, address: str, most: int) -> None:
        """`most`: one address more than this is enough to see that there are too many."""
        if address and len(self.addresses) <= most:
            self.addresses.append(address)

    def entries(self, now: float) -> list[Entry]:
        addresses = self.addresses or ([self.spare] if self.spare else [])
        when = None
        for text in self.dates if addresses else ():
            when = lastmod(text, now)
            if when is not None:
                break
        return [Entry(address, when) for address in addresses]


class _Reader:
    """Reads the entries of a markup sitemap, tag by tag."""

    def __init__(self, text: str, at: int, shape: _Shape, prefix: str, now: float) -> None:
        self._text, self._at, self._shape, self._prefix, self._now = text, at, shape, prefix, now
        self.ended = False
        """Whether the root was closed and no limit was reached."""

    def entries(self) -> Iterator[Entry]:
        """The dates of an entry are parsed when it ends, and only if it has an address: most of the work is for what
        `MOST_ENTRIES` counts."""
        shape, left = self._shape, MOST_ENTRIES
        found, inside = _Found(), False
        for closing, name, more in self._tags():
            if name == shape.entry:
                for entry in found.entries(self._now):
                    if not left:
                        return
                    yield entry
                    left -= 1
                found, inside = _Found(), not closing and not more.endswith("/")
                if inside and shape.address == "loc" and _BARE.match(self._text, self._at):
                    found.add(self._content(), left)
            elif closing or not inside:
                continue
            elif name == shape.address:
                if shape.address == "loc" or not found.addresses:
                    found.add(self._address(more), left)
            elif name == shape.spare:
                found.spare = found.spare or self._spare(more)
            elif name in shape.dates and len(found.dates) < _MOST_DATES:
                found.dates.append(self._content())
        yield from found.entries(self._now)[:left]

    def _tags(self) -> Iterator[tuple[bool, str, str]]:
        """The relevant tags in order: whether it is an end tag, its name, the rest of the tag."""
        text, root = self._text, self._shape.format.value
        for _ in range(MOST_TAGS):
            found = _TAG.search(text, self._at)
            if found is None:
                return
            self._at = found.end()
            name = (found[3] or "").lower()
            if not name:
                self._at = _skipped_mark(text, found)
                if self._at < 0:
                    return
            elif self._counts(found[2] or "", name):
                if found[1] and name in (root, "rdf"):
                    self.ended = True
                    return
                yield bool(found[1]), name, found[4]

    def _counts(self, prefix: str, name: str) -> bool:
        return prefix.lower() == self._prefix or name in ("rdf", "date")

    def _spare(self, more: str) -> str:
        """The address in a `guid`, which may be another kind of name."""
        text = "" if more.endswith("/") or _NO_ADDRESS.search(more) else self._content()
        return text if _BARE.match(text) else ""

    def _address(self, more: str) -> str:
        """The address of the element that was just opened."""
        if self._shape.format is not Format.ATOM:
            text = "" if more.endswith("/") else self._content()
            if not text and (nested := _NESTED.match(self._text, self._at)):
                self._at = nested.end()
                text = self._content()
                end = _NESTED_END.match(self._text, self._at)
                self._at = end.end() if end else self._at
            return text
        found = {name.lower(): one or other for name, one, other in _ATTRIBUTE.findall(more)}
        is_page = found.get("rel", "alternate").strip().lower() == "alternate"
        return _resolved(found.get("href", "")) if is_page else ""

    def _content(self) -> str:
        """The text up to the next tag, without comments and with CDATA unchanged. Reading resumes after it."""
        text, at, parts, size = self._text, self._at, list[str](), 0
        while size <= LONGEST:
            end = text.find("<", at)
            end = len(text) if end < 0 else end
            parts.append(_resolved(text[at : min(end, at + LONGEST + 1)]))
            size += end - at
            if text.startswith("<!--", end):
                at = _behind(text, "-->", end)
                size += at - end
            elif text.startswith("<![CDATA[", end):
                at = _behind(text, "]]>", end)
                parts.append(text[end + 9 : max(end + 9, min(at - 3, end + 9 + LONGEST + 1))])
                size += len(parts[-1])
            else:
                self._at = end
                whole = "".join(parts).strip(_WHITE)
                return whole if len(whole) <= LONGEST else ""
            if at < 0:
                self._at = len(text)
                return ""
        self._at = end
        return ""


def _skipped_mark(text: str, found: re.Match[str]) -> int:
    """The end of a comment, CDATA section or document type; -1 if it does not end."""
    end = _SKIPPED.get(found[0].lower())
    return _behind(text, end, found.end()) if end else _skipped(text, found.start())


def _resolved(text: str) -> str:
    if "&" not in text:
        return text.strip(_WHITE) if len(text) <= LONGEST else ""
    return _REFERENCE.sub(_meant, text).strip(_WHITE) if len(text) <= LONGEST else ""


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
