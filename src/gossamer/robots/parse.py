"""The lines of a robots.txt as groups (RFC 9309, 2.1 and 2.2).

Lines end in CR, LF or both; "#" begins a comment; a byte order mark is skipped; key and value are parted by ":", or by
white space if that leaves just two words. Lines that make no sense are skipped, and so are those of other keys: they
end no group (2.2.4). A Crawl-delay, which the RFC does not know, holds for the names of its group that stand above it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

LIMIT: Final = 500 * 1024
"""Bytes that are read (2.5); the line that this cuts is left out."""

_TOKEN: Final = re.compile(r"[A-Za-z_-]+")
_KEYS: Final = frozenset({b"user-agent", b"allow", b"disallow", b"crawl-delay", b"sitemap"})


@dataclass(slots=True)
class Group:
    agents: set[str] = field(default_factory=set)
    """Product tokens in lower case, or "*"."""
    rules: list[tuple[bool, bytes]] = field(default_factory=list)
    """(Allow?, path as written)."""
    delays: dict[str, float] = field(default_factory=dict)
    """Crawl-delay by agent."""


def groups_and_sitemaps(data: bytes) -> tuple[list[Group], tuple[str, ...]]:
    groups, sitemaps = list[Group](), dict[str, None]()
    in_rules = True
    for key, value in _lines(data):
        if key == b"sitemap":
            if value:
                sitemaps[value.decode(errors="replace")] = None
        elif key == b"user-agent":
            if in_rules:
                groups.append(Group())
                in_rules = False
            groups[-1].agents.add(_agent(value))
        elif not groups:
            continue
        elif key == b"crawl-delay":
            _add_delay(groups[-1], value)
        else:
            in_rules = True
            if value:
                groups[-1].rules.append((key == b"allow", value))
    return groups, tuple(sitemaps)


def product_token(text: str) -> str:
    """The leading letters, "_" and "-" (2.2.1) in lower case: what robots.txt files and crawlers have in common."""
    found = _TOKEN.match(text)
    return (found[0] if found else text).lower()


def _agent(value: bytes) -> str:
    text = value.decode("latin-1")
    return "*" if text.split()[:1] == ["*"] else product_token(text)


def _add_delay(group: Group, value: bytes) -> None:
    try:
        seconds = float(value)
    except ValueError:
        return
    if 0 <= seconds < math.inf:
        for agent in group.agents:
            group.delays[agent] = max(seconds, group.delays.get(agent, 0.0))


def _lines(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = re.split(rb"[\r\n]", data[:LIMIT])
    if len(data) > LIMIT and data[LIMIT : LIMIT + 1] not in b"\r\n":
        lines.pop()
    for line in lines:
        line = line.partition(b"#")[0].strip()
        key, colon, value = line.partition(b":")
        if not colon:
            words = line.split()
            if len(words) != 2:
                continue
            key, value = words
        key = key.strip().lower()
        if key in _KEYS:
            yield key, value.strip()
