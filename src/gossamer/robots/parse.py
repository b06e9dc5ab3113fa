"""The lines of a robots.txt as groups (RFC 9309, 2.1 and 2.2).

Lines end in CR, LF or both; "#" begins a comment; a byte order mark is skipped; key and value are parted by ":", or by
white space if that leaves just two words. Lines that make no sense are skipped, and so are those of other keys: they
end no group (2.2.4). A Crawl-delay, a Content-Usage or a Content-Signal, which the RFC does not know, holds for the
names of its group that stand above it; a Content-Signal or Content-Usage above all groups, and a License, for everyone.
Of a Crawl-delay the number that it begins with counts, in seconds, whatever stands behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

LIMIT: Final = 500 * 1024
"""Bytes that are read (2.5), a byte order mark included; the line that this cuts is left out."""

_TOKEN: Final = re.compile(r"[A-Za-z_-]+")
_WISHES: Final = {b"content-usage": "Content-Usage", b"content-signal": "Content-Signal", b"license": "License"}
"""Lines about what becomes of the contents, by key."""
_DELAY: Final = re.compile(rb"\+?((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?\b)", re.I)
_LONGEST_DELAY: Final = 1e9
"""Longer than anyone waits: what is said without end, too."""
_KEYS: Final = frozenset({b"user-agent", b"allow", b"disallow", b"crawl-delay", b"sitemap", *_WISHES})


@dataclass(slots=True)
class Group:
    agents: set[str] = field(default_factory=set)
    """Product tokens in lower case, or "*"."""
    rules: list[tuple[bool, bytes]] = field(default_factory=list)
    """(Allow?, path as written)."""
    delays: dict[str, float] = field(default_factory=dict)
    """Crawl-delay by agent."""
    wishes: dict[str, list[str]] = field(default_factory=dict)
    """Lines about the use of contents, by agent."""


@dataclass(slots=True)
class File:
    groups: list[Group] = field(default_factory=list)
    sitemaps: dict[str, None] = field(default_factory=dict)
    """As written, each once."""
    wishes: list[str] = field(default_factory=list)
    """Lines about the use of contents that are for everyone."""


def read(data: bytes) -> File:
    file = File()
    groups, in_rules = file.groups, True
    for key, value in _lines(data):
        if key == b"sitemap":
            if value:
                file.sitemaps[value.decode(errors="replace")] = None
        elif key in _WISHES:
            if value:
                line = f"{_WISHES[key]}: {value.decode(errors='replace')}"
                _add_wish(file, None if key == b"license" or not groups else groups[-1], line)
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
    return file


def product_token(text: str) -> str:
    """The leading letters, "_" and "-" (2.2.1) in lower case: what robots.txt files and crawlers have in common."""
    found = _TOKEN.match(text)
    return (found[0] if found else text).lower()


def _agent(value: bytes) -> str:
    text = value.decode("latin-1")
    return "*" if text.split()[:1] == ["*"] else product_token(text)


def _add_delay(group: Group, value: bytes) -> None:
    found = _DELAY.match(value)
    if found:
        seconds = min(float(found[1]), _LONGEST_DELAY)
        for agent in group.agents:
            group.delays[agent] = max(seconds, group.delays.get(agent, 0.0))


def _add_wish(file: File, group: Group | None, line: str) -> None:
    if group is None:
        file.wishes.append(line)
    else:
        for agent in group.agents:
            group.wishes.setdefault(agent, []).append(line)


def _lines(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    lines = re.split(rb"[\r\n]", data[:LIMIT].removeprefix(b"\xef\xbb\xbf"))
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
