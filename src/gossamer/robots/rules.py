"""The rules of a robots.txt that apply to us.

`Rules.parse` follows RFC 9309: it merges the groups that name our product token, or the groups of "*" if there are
none. Rules are ordered so that the first that matches decides: the longest first, Allow before Disallow of the same
length (2.2.2). They are stored in this order. Files with the same rules have the same bytes:

    uint8 format (1, or 2 if a rule is compared as text), then for each rule: uint8 kind; uint16 length; path in normal
    form

    kind: 1 = Allow, 0 = Disallow; plus 2 if the path has no wildcard and no escape, 4 if it is compared as text (with
    `TEXT_PERCENT` for "%"), 8 if it stands for rules that are too many (all three absent in older records)

Rules that forbid nothing are stored as no bytes, rules that are too many as `TOO_MANY`, which forbids everything.
Refused: protego (11 KB per site, patterns as regular expressions).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from gossamer.robots.parse import Group, product_token, read
from gossamer.robots.pattern import TEXT_PERCENT, Rule, is_plain, judged, rule
from gossamer.robots.preferences import bounded, usage

FORMAT: Final = 1
WITH_TEXT: Final = 2
"""The format of rules of which some are compared as text."""
MOST: Final = 2 << 20
"""Maximum bytes of compiled rules. Only a file in UTF-16 can have more: then its origin is forbidden."""
_HEAD: Final = struct.Struct("<BH")
_LONGEST: Final = 0xFFFF
_ALLOW, _PLAIN, _TEXT, _TOO_MANY = 1, 2, 4, 8
_PERCENT: Final = bytes([TEXT_PERCENT])
_ROBOTS: Final = b"/robots.txt"
_BEGIN: Final = (b"/", b"*")
_STARS: Final = re.compile(rb"\*+")
TOO_MANY: Final = bytes([FORMAT]) + _HEAD.pack(_PLAIN | _TOO_MANY, 1) + b"/"
"""Rules that stand for others that are too many: they forbid everything."""
_INSTEAD: Final = "Disallow: / # instead of rules that are too many to keep"
_COSTLY: Final = "Disallow: / # instead of rules that take too many steps to match"


@dataclass(frozen=True)
class Rules:
    """The rules of one robots.txt that apply to us."""

    delay: float | None = None
    """Crawl-delay in seconds: the longest of our groups."""
    named: bool = False
    """The Crawl-delay is for us by name, not for everyone."""
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
        delays = [delay for g in ours for delay in g.delays_of(name)]
        wishes = file.wishes + [line for g in ours for line in g.wishes_of(name)]
        named = bool(delays) and name != "*"
        return Rules(max(delays, default=None), named, tuple(file.sitemaps), bounded(wishes), _compile(ours))

    @staticmethod
    def from_compiled(compiled: bytes) -> Rules:
        return Rules(_compiled=bytes(compiled))

    def compiled(self) -> bytes:
        return self._compiled

    def allows(self, url: str) -> bool:
        """Whether a URL of the origin, or its path and query, may be fetched. /robots.txt is always allowed."""
        path = _path_of(url)
        return path == _ROBOTS or judged(self._rules, path)[0]

    def deciding(self, url: str) -> str | None:
        """The rule that decides about a URL, as a line of robots.txt; None if no rule matches: then it is allowed."""
        path = _path_of(url)
        allowed, found = judged(self._rules, path) if path != _ROBOTS else (True, None)
        if found is not None:
            return self._line(found)
        return None if allowed else _COSTLY

    def usage(self, url: str) -> str:
        """The preferences of Content-Usage for a URL, like "search=y, train-ai=n", or ""."""
        return usage(self.preferences, _path_of(url).decode(errors="surrogatepass"))

    def lines(self) -> list[str]:
        """All rules as lines of robots.txt, in the order in which they decide."""
        return [self._line(each) for each in self._rules]

    @cached_property
    def _rules(self) -> list[Rule]:
        return list(_each(self._compiled))

    def _line(self, found: Rule) -> str:
        if self._compiled == TOO_MANY:
            return _INSTEAD
        return f"{'Allow' if found.allow else 'Disallow'}: {found.path.decode('ascii', 'replace')}"


def _compile(groups: Iterable[Group]) -> bytes:
    rules = {_short(rule(allow, path)) for group in groups for allow, path in group.rules if path[:1] in _BEGIN}
    rules = {each for each in rules if len(each.path) <= _LONGEST}
    if all(each.allow for each in rules):
        return b""
    ordered = sorted(rules, key=lambda each: (-len(each.path), not each.allow, each.path, each.as_text))
    form = WITH_TEXT if any(each.as_text for each in rules) else FORMAT
    compiled = bytes([form]) + b"".join(_HEAD.pack(_kind(each), len(each.path)) + _stored(each) for each in ordered)
    return compiled if len(compiled) <= MOST else TOO_MANY


def _short(found: Rule) -> Rule:
    """A rule that is too long to be stored, with each run of stars as one, which means the same. What is still too long
    is longer than any URL."""
    return found if len(found.path) <= _LONGEST else found._replace(path=_STARS.sub(b"*", found.path))


def _kind(found: Rule) -> int:
    plain = is_plain(found.path) and not found.as_text
    return found.allow * _ALLOW | plain * _PLAIN | found.as_text * _TEXT


def _stored(found: Rule) -> bytes:
    return found.path.replace(b"%", _PERCENT) if found.as_text else found.path


def _each(compiled: bytes) -> Iterator[Rule]:
    at = 1
    while at < len(compiled):
        kind, length = _HEAD.unpack_from(compiled, at)
        at += _HEAD.size
        path, as_text = compiled[at : at + length], bool(kind & _TEXT)
        yield Rule(bool(kind & _ALLOW), path.replace(_PERCENT, b"%") if as_text else path, as_text)
        at += length


def _path_of(url: str) -> bytes:
    scheme, separator, rest = url.partition("://")
    if separator and "/" not in scheme:
        start = min((at for c in "/?#" if (at := rest.find(c)) >= 0), default=len(rest))
        url = rest[start:]
    url = url.partition("#")[0]
    return (url if url[:1] == "/" else "/" + url).encode(errors="surrogatepass")
