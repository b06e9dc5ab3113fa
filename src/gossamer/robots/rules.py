"""The rules of a robots.txt that apply to us.

`Rules.parse` follows RFC 9309: it merges the groups that name our product token, or the groups of "*" if there are
none. Rules are ordered so that the first that matches decides: the longest first, Allow before Disallow of the same
length (2.2.2). They are stored in this order. Files with the same rules have the same bytes:

    uint8 format (1), then for each rule: uint8 kind; uint16 length; path in normal form

    kind: 1 = Allow, 0 = Disallow; plus 2 if the path has no wildcard and no escape (absent in older records)

Rules that forbid nothing are stored as no bytes. Refused: protego (11 KB per site, patterns as regular expressions).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from gossamer.robots.parse import Group, product_token, read
from gossamer.robots.pattern import allows, is_plain, normalised
from gossamer.robots.preferences import bounded, usage

FORMAT: Final = 1
_HEAD: Final = struct.Struct("<BH")
_LONGEST: Final = 0xFFFF
_ALLOW, _PLAIN = 1, 2


@dataclass(frozen=True)
class Rules:
    """The rules of one robots.txt that apply to us."""

    delay: float | None = None
    """Crawl-delay in seconds: the longest of our groups."""
    sitemaps: tuple[str, ...] = ()
    """All sitemaps of the file, as written."""
    preferences: tuple[str, ...] = ()
    """Lines about the use of contents, as written: License lines of the whole file, Content-Signal and Content-Usage
    lines that apply to us; `robots.preferences` reads them."""
    _compiled: bytes = field(default=b"", repr=False)

    @staticmethod
    def parse(data: bytes, agent: str) -> Rules:
        """The rules of a robots.txt for the crawler `agent`."""
        file, token = read(data), product_token(agent)
        ours = [g for g in file.groups if token in g.agents] or [g for g in file.groups if "*" in g.agents]
        name = token if any(token in g.agents for g in ours) else "*"
        delays = [g.delays[name] for g in ours if name in g.delays]
        wishes = file.wishes + [line for g in ours for line in g.wishes.get(name, ())]
        return Rules(max(delays, default=None), tuple(file.sitemaps), bounded(wishes), _compile(ours))

    @staticmethod
    def from_compiled(compiled: bytes) -> Rules:
        return Rules(_compiled=bytes(compiled))

    def compiled(self) -> bytes:
        return self._compiled

    def allows(self, url: str) -> bool:
        """Whether a URL of the origin, or its path and query, may be fetched. /robots.txt is always allowed."""
        path = _path_of(url)
        if path == b"/robots.txt":
            return True
        return allows(self._rules, path)

    def deciding(self, url: str) -> str | None:
        """The rule that decides about a URL, as a line of robots.txt; None if no rule matches: then it is allowed."""
        path = _path_of(url)
        found = next((rule for rule in self._rules if not allows([(False, rule[1])], path)), None)
        if found is None or path == b"/robots.txt":
            return None
        return _line(*found)

    def usage(self, url: str) -> str:
        """The preferences of Content-Usage for a URL, like "search=y, train-ai=n", or ""."""
        return usage(self.preferences, _path_of(url).decode(errors="surrogatepass"))

    def lines(self) -> list[str]:
        """All rules as lines of robots.txt, in the order in which they decide."""
        return [_line(allow, path) for allow, path in self._rules]

    @cached_property
    def _rules(self) -> list[tuple[bool, bytes]]:
        return list(_each(self._compiled))


def _compile(groups: Iterable[Group]) -> bytes:
    rules = {(allow, normalised(path)) for group in groups for allow, path in group.rules}
    rules = {(allow, path) for allow, path in rules if path[:1] in (b"/", b"*") and len(path) <= _LONGEST}
    if all(allow for allow, _ in rules):
        return b""
    ordered = sorted(rules, key=lambda rule: (-len(rule[1]), not rule[0], rule[1]))
    return bytes([FORMAT]) + b"".join(
        _HEAD.pack(allow * _ALLOW | is_plain(path) * _PLAIN, len(path)) + path for allow, path in ordered
    )


def _each(compiled: bytes) -> Iterator[tuple[bool, bytes]]:
    at = 1
    while at < len(compiled):
        kind, length = _HEAD.unpack_from(compiled, at)
        at += _HEAD.size
        yield bool(kind & _ALLOW), compiled[at : at + length]
        at += length


def _line(allow: bool, path: bytes) -> str:
    return f"{'Allow' if allow else 'Disallow'}: {path.decode('ascii', 'replace')}"


def _path_of(url: str) -> bytes:
    scheme, separator, rest = url.partition("://")
    if separator and "/" not in scheme:
        start = min((at for c in "/?#" if (at := rest.find(c)) >= 0), default=len(rest))
        url = rest[start:]
    url = url.partition("#")[0]
    return (url if url[:1] == "/" else "/" + url).encode(errors="surrogatepass")
